// Round trip of a cache line between two threads, in nanoseconds: what no barrier can be faster than.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

int main() {
    constexpr int kTrips = 200'000;
    alignas(128) static std::atomic<int> there{0}, back{0};
    std::thread other([] {
        for (int trip = 1; trip <= kTrips; ++trip) {
            while (there.load(std::memory_order_acquire) != trip) {
            }
            back.store(trip, std::memory_order_release);
        }
    });
    const auto start = std::chrono::steady_clock::now();
    for (int trip = 1; trip <= kTrips; ++trip) {
        there.store(trip, std::memory_order_release);
        while (back.load(std::memory_order_acquire) != trip) {
        }
    }
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    other.join();
    std::printf("%.0f\n", taken.count() / kTrips);
}
