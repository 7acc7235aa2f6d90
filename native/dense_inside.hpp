// The rows of a stage problem as the dense dual simplex has them inside.
//
// A row with one bound is a row only while it binds, like a plane: it stands with the planes, behind the problem's
// own, one with a lower bound negated. Bases that come and go know nothing of that.
#pragma once
#include <cstdint>
#include <vector>

#include "stage_problem.hpp"

class Inside {
  public:
    // Takes the rows with one bound out of the core of `data`; those that noise moves stay.
    explicit Inside(StageData &data);

    int rows() const { return rows_; }      // core rows of the problem
    int planes() const { return planes_; }  // its own
    int cut_place(int cut) const { return columns_ + rows_ + planes_ + cut; }
    // Places in a basis (columns, core rows, planes, cuts) of a core row inside, and of an extra.
    int row_place(int row) const { return columns_ + kept_[row]; }
    int extra_place(int extra) const {
        if (extra < planes_) return columns_ + rows_ + extra;
        const int apart = extra - planes_;
        return apart < static_cast<int>(apart_.size()) ? columns_ + apart_[apart]
                                                       : cut_place(apart - static_cast<int>(apart_.size()));
    }
    bool is_row(int extra) const { return extra >= planes_ && extra < planes_ + static_cast<int>(apart_.size()); }
    bool is_negated(int extra) const { return is_row(extra) && is_lower_[extra - planes_]; }
    int row_of(int extra) const { return apart_[extra - planes_]; }
    int row_of_kept(int row) const { return kept_[row]; }

  private:
    int columns_, rows_, planes_;
    std::vector<int> kept_;   // core row of each row inside
    std::vector<int> apart_;  // core row of each plane behind the problem's own
    std::vector<char> is_lower_;
};
