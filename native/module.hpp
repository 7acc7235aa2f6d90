#pragma once
#include <nanobind/nanobind.h>

void bind_shm(nanobind::module_ &m);    // shm_bind.cpp: collectives over shared memory
void bind_tcp(nanobind::module_ &m);    // tcp_swap.cpp: the first attempt of a meeting over sockets
void bind_stage(nanobind::module_ &m);  // stage_bind.cpp: batches of stage problems on HiGHS
void bind_dense(nanobind::module_ &m);  // dense_bind.cpp: the same on our own dual simplex
void bind_cuts(nanobind::module_ &m);   // cuts.cpp: cuts of what a following node's problems came to
