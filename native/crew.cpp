#include "crew.hpp"

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "processor.hpp"

namespace {

constexpr uint64_t kSpin = 500'000;  // nanoseconds: an idle processor of a virtual machine takes 200 µs to wake up

// Waits a while for something that is about to come, giving way to whoever needs the processor.
template <class Came>
void wait_a_while(const Came &came) {
    for (const uint64_t start = now_ns(); !came() && now_ns() - start < kSpin;) sched_yield();
}

class Crew {
  public:
    void run(int members, const std::function<void(int)> &work) {
        std::unique_lock<std::mutex> lock(gate_);
        for (; hired_ < members - 1; ++hired_) std::thread(&Crew::serve, this, hired_ + 1).detach();
        work_ = &work;
        wanted_ = members - 1;
        left_ = members - 1;
        ++round_;
        if (asleep_ > 0) begin_.notify_all();
        lock.unlock();
        work(0);
        wait_a_while([&] { return left_ == 0; });
        lock.lock();
        end_.wait(lock, [&] { return left_ == 0; });
    }

    std::mutex in_use;

  private:
    void serve(int member) {
        for (long seen = 0;;) {
            wait_a_while([&] { return round_ != seen; });
            std::unique_lock<std::mutex> lock(gate_);
            ++asleep_;
            begin_.wait(lock, [&] { return round_ != seen; });
            --asleep_;
            seen = round_;
            if (member > wanted_) continue;
            const std::function<void(int)> &work = *work_;
            lock.unlock();
            work(member);
            lock.lock();
            if (--left_ == 0) end_.notify_one();
        }
    }

    std::mutex gate_;
    std::condition_variable begin_, end_;
    const std::function<void(int)> *work_ = nullptr;
    int hired_ = 0, wanted_ = 0, asleep_ = 0;
    std::atomic<int> left_{0};
    std::atomic<long> round_{0};
};

// Never destroyed, since its threads wait until the process ends. A forked child has none of them, and gets a new one.
Crew &crew() {
    static std::mutex making;
    static Crew *current = nullptr;
    static pid_t owner = 0;
    const std::lock_guard<std::mutex> lock(making);
    if (!current || owner != getpid()) {
        current = new Crew;
        owner = getpid();
    }
    return *current;
}

}  // namespace

void run_crew(int members, const std::function<void(int)> &work) {
    if (members > 1) {
        Crew &all = crew();
        const std::unique_lock<std::mutex> mine(all.in_use, std::try_to_lock);
        if (mine.owns_lock()) return all.run(members, work);
    }
    work(0);
}
