#include "shm_trial.hpp"

#include <algorithm>

#include "processor.hpp"
#include "shm_group.hpp"

namespace shm {

namespace {
constexpr uint32_t kRow = 32, kLeastRow = 16;  // of the smallest of these messages, and of any
}

uint64_t Trial::Way::best() const { return *std::min_element(took, took + kTries); }

void Trial::learn(uint64_t took) {
    if (calls_ == 0) {
        ends_ = row;
    } else {
        Way &way = ways_[before_];
        way.took[way.calls++ % kTries] = took;
    }
    before_ = direct_;
    ++calls_;
    if (calls_ < ends_ && !is_hopeless()) return;
    const bool knows_both = ways_[0].calls > 0 && ways_[1].calls > 0;
    const bool is_better = knows_both && ways_[direct_].best() <= ways_[!direct_].best();
    if (is_better && rows_ < rests_) {
        ++rows_;
    } else {
        if (is_better) rests_ = std::min(kRests, 2 * rests_);
        rows_ = 0;
        direct_ = !direct_;
        began_ = calls_;
    }
    ends_ = calls_ + row;
}

bool Trial::is_hopeless() const {
    return calls_ - began_ > kTries && ways_[direct_].best() / kHopeless > ways_[!direct_].best();
}

bool Turn::direct(size_t bytes) {
    if (!group.readable || bytes < kDirect) return false;
    if (group.always_direct) return true;
    const int size = std::min(63 - __builtin_clzll(bytes / kDirect), kTrialSizes - 1);
    trial_ = &group.trials[static_cast<int>(kind) - static_cast<int>(Kind::allgatherv)][size];
    trial_->row = std::max(kLeastRow, kRow >> size);
    Large &mine = slot(group.rank).large;
    mine.entered = trial_->entered;
    mine.left = trial_->left;
    trial_->entered = now_ns();
    return trial_->direct();
}

// From when the last one came to when the last one had all: a rank alone may sleep while others work, or leave
// when its data are in the ring.
void Turn::learn() {
    uint64_t entered = 0, left = 0;
    for (int rank = 0; rank < group.size; ++rank) {
        const Large &theirs = group.block(rank).slot[group.turn & 1].large;
        entered = std::max(entered, theirs.entered);
        left = std::max(left, theirs.left);
    }
    trial_->learn(left - entered);
}

void Turn::end_trial() { trial_->left = now_ns(); }

}  // namespace shm
