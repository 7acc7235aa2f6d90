#include "dense_inside.hpp"

#include <cmath>
#include <utility>

namespace {

// The part of `all` in rows that `place` keeps, under their new numbers.
Triplets kept_part(const Triplets &all, const std::vector<int> &place) {
    Triplets part;
    for (size_t k = 0; k < all.row.size(); ++k) {
        if (place[all.row[k]] < 0) continue;
        part.row.push_back(place[all.row[k]]);
        part.column.push_back(all.column[k]);
        part.value.push_back(all.value[k]);
    }
    return part;
}

}  // namespace

Inside::Inside(StageData &data) : columns_(data.columns()), rows_(data.rows()), planes_(data.planes.count()) {
    std::vector<char> is_noisy(rows_, 0);
    for (int row : data.row_noise.row) is_noisy[row] = 1;
    std::vector<int> place(rows_, -1), plane(rows_, -1);
    for (int row = 0; row < rows_; ++row) {
        const bool has_lower = std::isfinite(data.row_lower[row]), has_upper = std::isfinite(data.row_upper[row]);
        if (has_lower == has_upper || is_noisy[row]) {
            place[row] = static_cast<int>(kept_.size());
            kept_.push_back(row);
        } else {
            plane[row] = planes_ + static_cast<int>(apart_.size());
            apart_.push_back(row);
            is_lower_.push_back(has_lower);
        }
    }
    if (apart_.empty()) return;

    Planes &planes = data.planes;
    std::vector<std::vector<std::pair<int, double>>> entries(apart_.size());
    std::vector<int> start(1, 0), index;
    std::vector<double> value;
    for (int j = 0; j < columns_; ++j) {
        for (int k = data.start[j]; k < data.start[j + 1]; ++k) {
            const int row = data.index[k];
            if (place[row] >= 0) {
                index.push_back(place[row]);
                value.push_back(data.value[k]);
            } else {
                const int apart = plane[row] - planes_;
                entries[apart].emplace_back(j, is_lower_[apart] ? -data.value[k] : data.value[k]);
            }
        }
        start.push_back(static_cast<int>(index.size()));
    }
    data.start = std::move(start);
    data.index = std::move(index);
    data.value = std::move(value);
    for (size_t apart = 0; apart < apart_.size(); ++apart) {
        const int row = apart_[apart];
        planes.column.push_back(-1);  // it limits no column alone
        planes.upper.push_back(is_lower_[apart] ? -data.row_lower[row] : data.row_upper[row]);
        for (const auto &[column, coefficient] : entries[apart]) {
            planes.index.push_back(column);
            planes.value.push_back(coefficient);
        }
        planes.start.push_back(static_cast<int>(planes.index.size()));
    }
    const Triplets moved = kept_part(data.row_state, plane);
    for (size_t k = 0; k < moved.row.size(); ++k) {
        planes.state.row.push_back(moved.row[k]);
        planes.state.column.push_back(moved.column[k]);
        planes.state.value.push_back(is_lower_[moved.row[k] - planes_] ? -moved.value[k] : moved.value[k]);
    }
    data.row_state = kept_part(data.row_state, place);
    data.row_noise = kept_part(data.row_noise, place);
    std::vector<double> lower, upper;
    for (int row : kept_) {
        lower.push_back(data.row_lower[row]);
        upper.push_back(data.row_upper[row]);
    }
    data.row_lower = std::move(lower);
    data.row_upper = std::move(upper);
}
