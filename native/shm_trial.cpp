#include "shm_trial.hpp"

#include <algorithm>

#include "processor.hpp"
#include "shm_group.hpp"

namespace shm {

namespace {
// Of the smallest of these messages; of others; of those that fill all places by themselves.
constexpr uint32_t kLongRow = 32, kRow = 16, kShortRow = 4;
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
    const uint32_t since = calls_ - began_;
    const bool is_clear = (since >= kFirst && is_slower(kHopeless)) || (since >= kMore && is_slower(kMuch));
    if (calls_ < ends_ && !is_clear) return;
    const bool is_better = ways_[!direct_].calls > 0 && !is_slower(1.0);
    if (is_better && rows_ < rests_) {
        ++rows_;
    } else {
        // The other way comes next: ever more rarely as long as it is the slower one, more so if it is by far.
        if (is_better || is_slower(kMuch)) rests_ = std::min(kRests, 2 * rests_);
        rows_ = 0;
        direct_ = !direct_;
        began_ = calls_;
    }
    ends_ = calls_ + row;
}

bool Trial::is_slower(double times) const {
    const Way &own = ways_[direct_], &other = ways_[!direct_];
    return other.calls > 0 && static_cast<double>(own.best()) > times * static_cast<double>(other.best());
}

bool Turn::direct(size_t bytes) {
    if (!group.readable || bytes < kDirect) return false;
    if (group.always_direct) return true;
    const int size = std::min(63 - __builtin_clzll(bytes / kDirect), kTrialSizes - 1);
    trial_ = &group.trials[static_cast<int>(kind) - static_cast<int>(Kind::allgatherv)][size];
    trial_->row = size == 0 ? kLongRow : bytes < group.layout.depth * kPiece ? kRow : kShortRow;
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
