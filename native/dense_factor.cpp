// DenseNode: the inverse from scratch.
#include "dense_node.hpp"

#include <algorithm>
#include <cmath>

namespace {

constexpr double kSingular = 1e-11;

}  // namespace

// Rows whose own variable is basic are columns of the identity: only the block of the other rows and of the
// columns that are basic is inverted, in place, by Gauss and Jordan with the largest pivot of each column.
bool DenseNode::factor(const DenseData &data) {
    const int columns = data.columns(), rows = data.rows(), count = size();
    stride_ = padded(count + 3);
    std::vector<int> inner(count, -1), place_of(columns, -1), tight, positions;
    std::vector<int> position_of_row(count, -1);
    for (int p = 0; p < count; ++p) {
        if (head[p] >= columns) {
            position_of_row[head[p] - columns] = p;
        } else {
            place_of[head[p]] = static_cast<int>(positions.size());
            positions.push_back(p);
        }
    }
    for (int i = 0; i < count; ++i)
        if (position_of_row[i] < 0) {
            inner[i] = static_cast<int>(tight.size());
            tight.push_back(i);
        }
    const int k = static_cast<int>(tight.size());
    if (static_cast<int>(positions.size()) != k) return false;
    const int width = padded(k);
    std::vector<double> block(static_cast<size_t>(k) * width, 0.0);
    std::vector<double> coefficients;
    for (int r = 0; r < k; ++r) {
        double *line = block.data() + static_cast<size_t>(r) * width;
        if (tight[r] < rows) {
            for (int e = data.row_start[tight[r]]; e < data.row_start[tight[r] + 1]; ++e)
                if (place_of[data.row_index[e]] >= 0) line[place_of[data.row_index[e]]] = data.row_value[e];
        } else {
            basic_part(data, extras[tight[r] - rows], coefficients);
            for (int c = 0; c < k; ++c) line[c] = coefficients[positions[c]];
        }
    }
    std::vector<int> swapped(k);
    for (int c = 0; c < k; ++c) {
        int best = -1;
        double largest = kSingular;
        for (int r = c; r < k; ++r) {
            const double value = std::abs(block[static_cast<size_t>(r) * width + c]);
            if (value > largest) {
                largest = value;
                best = r;
            }
        }
        if (best < 0) return false;
        swapped[c] = best;
        double *pivot_line = block.data() + static_cast<size_t>(c) * width;
        if (best != c)
            std::swap_ranges(pivot_line, pivot_line + width, block.data() + static_cast<size_t>(best) * width);
        const double scale = 1.0 / pivot_line[c];
        pivot_line[c] = 1.0;
        for (int e = 0; e < width; ++e) pivot_line[e] *= scale;
        for (int r = 0; r < k; ++r) {
            double *__restrict__ line = block.data() + static_cast<size_t>(r) * width;
            const double factor = line[c];
            if (r == c || factor == 0.0) continue;
            const double *__restrict__ from = pivot_line;
            line[c] = 0.0;
            for (int e = 0; e < width; ++e) line[e] -= factor * from[e];
        }
    }
    for (int c = k - 1; c >= 0; --c)  // what lines were swapped are columns of the inverse
        if (swapped[c] != c)
            for (int r = 0; r < k; ++r) {
                double *line = block.data() + static_cast<size_t>(r) * width;
                std::swap(line[c], line[swapped[c]]);
            }
    inverse_.assign(static_cast<size_t>(count) * stride_, 0.0);
    for (int c = 0; c < k; ++c) {
        double *column = column_of_inverse(tight[c]);
        for (int r = 0; r < k; ++r) column[positions[r]] = block[static_cast<size_t>(r) * width + c];
        for (int i = 0; i < rows; ++i) {
            if (inner[i] >= 0) continue;
            double sum = 0.0;
            for (int e = data.row_start[i]; e < data.row_start[i + 1]; ++e) {
                const int at = place_of[data.row_index[e]];
                if (at >= 0) sum += data.row_value[e] * block[static_cast<size_t>(at) * width + c];
            }
            column[position_of_row[i]] = sum;
        }
    }
    for (int i = 0; i < count; ++i)
        if (inner[i] < 0) column_of_inverse(i)[position_of_row[i]] = -1.0;
    updates = 0;
    weigh();
    return true;
}
