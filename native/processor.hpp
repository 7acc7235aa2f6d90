// The clock, and the processor that a thread runs on.
#pragma once
#include <cstdint>

uint64_t now_ns();  // monotonic
uint64_t coarse_now_ns();  // the same to some milliseconds, in a fifth of the time

// Leaves this processor to whoever is waited for and shares it, while others may be idle: two that wait for each other
// by turns look to the kernel like two that have nothing to do, and it leaves them together.
void leave_processor();
