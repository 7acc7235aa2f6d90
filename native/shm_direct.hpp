// Large messages without a copy in between: every rank reads what it needs in the memory of the others, where
// the system lets it. Nobody writes into another's memory: a call that failed there may have given it back.
#pragma once
#include "shm_fold.hpp"
#include "shm_group.hpp"

namespace shm {

// The collectives of shm_collect.hpp, for groups whose ranks may read each other.
bool direct_allgatherv(Turn &turn, const Call &call, const uint8_t *send, uint8_t *recv, const size_t *counts,
                       const size_t *displs);
bool direct_allreduce(Turn &turn, const Call &call, const uint8_t *send, uint8_t *recv, size_t bytes,
                      Fold fold);
bool direct_broadcast(Turn &turn, const Call &call, uint8_t *buffer, size_t bytes, int root);

}  // namespace shm
