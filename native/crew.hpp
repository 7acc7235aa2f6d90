// Threads that wait for work, shared by all problems of the process: starting one takes as long as some problems.
#pragma once
#include <functional>

// Calls work(member) for member 0 on the calling thread and for up to members - 1 others at once, and waits for all.
// While another call has the threads, the caller is alone: work must be such that any number of members finish it.
void run_crew(int members, const std::function<void(int)> &work);
