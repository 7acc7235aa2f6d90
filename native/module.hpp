#pragma once
#include <nanobind/nanobind.h>

void bind_shm(nanobind::module_ &m);    // shm_bind.cpp: collectives over shared memory
void bind_tcp(nanobind::module_ &m);    // tcp_meet.cpp: meetings over sockets as they nearly always go
void bind_remembered(nanobind::module_ &m);  // remembered.cpp: whether a call is the last one again
void bind_stage(nanobind::module_ &m);  // stage_bind.cpp: batches of stage problems on HiGHS
void bind_dense(nanobind::module_ &m);  // dense_bind.cpp: the same on our own dual simplex
void bind_cuts(nanobind::module_ &m);   // cuts.cpp: cuts of what a following node's problems came to
