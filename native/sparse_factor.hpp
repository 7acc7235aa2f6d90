// L and U of a sparse square matrix.
#pragma once
#include <cstdint>
#include <vector>

// A sparse matrix by lines: rows, or columns.
struct Lines {
    std::vector<int> start{0}, index;
    std::vector<double> value;
    int count() const { return static_cast<int>(start.size()) - 1; }
    void clear() {
        start.resize(1);
        index.clear();
        value.clear();
    }
    void put(int at, double what) {
        index.push_back(at);
        value.push_back(what);
    }
    void close() { start.push_back(static_cast<int>(index.size())); }
};
Lines transposed(const Lines &lines, int count);  // with this many lines

// Rows and columns of the matrix in the order of their pivots: by rows that have one element left, by columns that
// have one, then the rest where few new elements come.
class SparseFactor {
  public:
    // False if the matrix is singular.
    bool factor(const Lines &columns);
    int size() const { return static_cast<int>(pivot_.size()); }
    // Overwrites amounts by row with what solves matrix · x = amounts, by column. What is 0 costs next to nothing.
    void solve(double *vector) const;
    // Overwrites costs by column with what solves y · matrix = costs, by row.
    void solve_transposed(double *vector) const;

  private:
    class Work;
    void take_singletons(const Lines &columns, const Lines &rows);
    bool take_rest(const Lines &columns);
    void take(int row, int column, double pivot);
    std::vector<int> row_, column_;            // of each pivot
    std::vector<int> row_step_, column_step_;  // pivot of each row and column
    std::vector<double> pivot_;                // reciprocals
    Lines lower_columns_, lower_rows_;         // multipliers by pivot
    Lines upper_columns_, upper_rows_;         // by pivot, without the pivots themselves
};
