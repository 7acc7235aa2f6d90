// Dual simplex for many right-hand sides at once, from one start basis.
//
// Which variable enters depends on the basis, the row that leaves and how many breakpoints the long step passes:
// right-hand sides that agree so far share their bases, a tree of pivots. Each has numbers of its own along its
// path, so what it ends with is a function of the problem, the start basis and itself, whoever goes with it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "dense_data.hpp"
#include "dense_node.hpp"

// An optimum: duals y of rows and d of columns, values of all columns, primal and dual objective, scaled.
struct Optimum {
    const DenseNode &node;
    const std::vector<double> &y, &d, &columns, &carried;
    double primal, dual;
};

class DenseSearch {
  public:
    using Found = std::function<void(int side, const Optimum &)>;
    // Solves `sides[k]` for k in `which`, all from `start`, which has its inverse and is dual feasible.
    // Of one without a clean optimum nothing is heard.
    void run(const DenseData &data, const DenseNode &start, const std::vector<Side> &sides,
             const std::vector<int> &which, const Found &found);
    int64_t pivots = 0;  // of single right-hand sides

  private:
    struct Walker {  // a right-hand side under way
        const Side *side = nullptr;
        std::vector<double> x;  // of basic variables
        int steps = 0;
        std::vector<int> violated;  // the worst planes, when all were looked at last
        int looked = 0;             // pivots since
        bool is_exact = false;  // x was just computed from scratch, with this result:
        bool is_accurate = false;
    };
    struct Leaving {
        int position, extra, direction;  // position -1: an extra that joins; direction 1: above its upper bound
        double excess;
        int member;
    };
    struct Candidate {
        double ratio, tie_ratio, slope, range, alpha;
        int variable;
    };
    bool choose(const DenseNode &node, int member, Leaving &leaving);
    DenseData::Violation most_violated_plane(Walker &walker);
    bool settle(const DenseNode &node, int member, const Found &found);
    void again(const DenseNode &node, const std::vector<int> &members);
    void fresh_numbers(DenseNode &node, const std::vector<int> &members);
    void find_candidates(const DenseNode &node, const Leaving &leaving, double most);
    void order_candidates(double most);
    int entering(int passed) const;
    bool is_reliable(const DenseNode &node, const Leaving &leaving, int entering);
    void pivot(DenseNode &child, const Leaving &leaving, int entering, const std::vector<int> &members);
    void branch(std::unique_ptr<DenseNode> node, std::vector<Leaving> &all, std::vector<int> &unclear);
    std::unique_ptr<DenseNode> copy_of(const DenseNode &node);

    const DenseData *data_ = nullptr;
    std::vector<Walker> walkers_;
    std::vector<std::unique_ptr<DenseNode>> stack_, spare_;
    std::vector<Candidate> candidates_;
    std::vector<double> part_, rho_, row_, full_, weights_, column_, amounts_, flipped_, exact_y_, exact_d_;
    bool has_exact_duals_ = false;
};
