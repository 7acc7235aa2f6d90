#include "opening_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

OpeningOrder::OpeningOrder(int count, const double *noises, const std::vector<double> &weight, const double *of_start)
    : noises_(noises), weight_(weight), is_left_(count, 1), distance_(count, kInfinity), nearest_(count, kInfinity) {
    if (of_start) measure(of_start);
}

// Distances of all openings from a noise.
void OpeningOrder::measure(const double *from) {
    const size_t width = weight_.size();
    for (size_t k = 0; k < distance_.size(); ++k) {
        distance_[k] = 0.0;
        for (size_t i = 0; i < width; ++i) distance_[k] += weight_[i] * std::abs(noises_[k * width + i] - from[i]);
    }
}

int OpeningOrder::next() {
    const int count = static_cast<int>(is_left_.size());
    if (now_ >= 0) solved_.push_back(now_);
    for (int k = 0; k < count; ++k) nearest_[k] = std::min(nearest_[k], distance_[k]);
    now_ = -1;
    for (int k = 0; k < count; ++k)
        if (is_left_[k] && (now_ < 0 || nearest_[k] < nearest_[now_])) now_ = k;
    if (now_ < 0) return now_;
    is_left_[now_] = 0;
    measure(noises_ + static_cast<size_t>(now_) * weight_.size());
    return now_;
}

int OpeningOrder::best_start() const {
    if (solved_.empty()) return -1;
    const double most = *std::max_element(promised_.begin(), promised_.end());
    double distances = 0.0, shortfalls = 0.0;
    for (size_t k = 0; k < solved_.size(); ++k) {
        distances += distance_[solved_[k]];
        shortfalls += most - promised_[k];
    }
    const auto badness = [&](size_t k) {  // each by its mean
        return (distances > 0.0 ? distance_[solved_[k]] / distances : 0.0) +
               (shortfalls > 0.0 ? (most - promised_[k]) / shortfalls : 0.0);
    };
    size_t best = 0;
    for (size_t k = 1; k < solved_.size(); ++k)
        if (badness(k) < badness(best)) best = k;
    return solved_[best];
}
