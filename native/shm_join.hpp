// How a segment comes to life, and how a rank enters and leaves it.
#pragma once
#include "shm_group.hpp"

namespace shm {

// Writes the header of a fresh segment, the ready word last. False with errno set when it can't be mapped.
bool format_segment(int descriptor, int size, uint64_t job, bool crowded);

// Maps the segment, takes the place of *group.rank* and waits for the others. On failure it raises
// InitializationFailed, leaves nothing mapped and returns false. Ranks that may read
// each other's memory do so never (*direct* is 0), with every large array (1), or where it is quicker (-1).
bool join(Group &group, int descriptor, uint64_t job, double join_seconds, int direct);

// Leaves: the others learn at once whether by close() (*as* is closed) or otherwise (ended).
void depart(Group &group, Presence as);
void unmap(Group &group);

// Ends this process when the launcher does, whatever it is busy with.
bool watch_launcher(int pipe, int launcher);

}  // namespace shm
