// In which order the openings of a unit of work are solved, and from which optimum each of them may start.
//
// The fewest pivots lie between optima that share most of their basis, which nothing tells beforehand. How far two noises
// are apart does in part, and how high a dual bound an optimum promises does too; which of the two does better hangs on
// the study, and both together do as well as the better one.
#pragma once
#include <vector>

class OpeningOrder {
  public:
    // Of `count` openings with noises (count, width), each of which counts by its weight (width); of the basis that
    // the unit starts from, the noise whose optimum it is, or null.
    OpeningOrder(int count, const double *noises, const std::vector<double> &weight, const double *of_start);

    // The opening to solve now, those before it being solved: whichever is nearest to any of these, at first to the
    // noise of the start, or the first one if that has none. -1 if none is left.
    int next();
    // The solved opening that it should start from, by distance and promise alike; -1 if there is none.
    // promise(opening): the dual bound that its optimum promises the one to solve.
    template <class Promise> int start(const Promise &promise) {
        promised_.clear();
        for (int opening : solved_) promised_.push_back(promise(opening));
        return best_start();
    }

  private:
    int best_start() const;
    void measure(const double *from);
    const double *noises_;
    const std::vector<double> &weight_;
    int now_ = -1;
    std::vector<char> is_left_;
    std::vector<int> solved_;       // in the order in which they were
    std::vector<double> promised_;  // by each of these
    std::vector<double> distance_;  // by opening: from the one to solve now, or the start's noise
    std::vector<double> nearest_;   // by opening: the least of the distances before
};
