// The collectives. Each begins with a meeting that compares everyone's call: after it all ranks agree on
// kind, dtype, lengths and root, and no rank is still reading what came before.
#pragma once
#include "shm_fold.hpp"
#include "shm_group.hpp"

namespace shm {

uint32_t digest(const uint64_t *values, size_t count);

bool barrier(Turn &turn);
// counts and displs in bytes; *call* describes them in elements.
bool allgatherv(Turn &turn, const Call &call, const uint8_t *send, uint8_t *recv, const size_t *counts,
                const size_t *displs);
bool allreduce(Turn &turn, const Call &call, const uint8_t *send, uint8_t *recv, size_t count);
bool broadcast(Turn &turn, const Call &call, uint8_t *buffer, size_t bytes, int root);

}  // namespace shm
