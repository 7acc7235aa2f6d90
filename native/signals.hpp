// What lets a signal's handler run, and end a long call by what it raises: Python runs handlers on its main thread
// alone, and only while that has the interpreter.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>

class Signals {
  public:
    Signals();  // on the thread that Python called
    // Whether a handler has raised, so that the call is to end. From any thread; on the one that Python called it runs,
    // from time to time, the handlers that are due.
    bool raised() {
        if (raised_.load(std::memory_order_relaxed)) return true;
        return looks_ && pthread_equal(caller_, pthread_self()) && look();
    }
    void rethrow();  // what was raised, if it was, on the thread that Python called

  private:
    bool look();
    bool looks_;
    pthread_t caller_;
    uint64_t due_ns_;
    std::atomic<bool> raised_{false};
};
