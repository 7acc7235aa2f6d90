// pycobre._native: one binder per subject, each in its own file.
#include "module.hpp"

NB_MODULE(_native, m) {
    // A daemon thread amid a call has objects when the interpreter ends; that is no mistake to be told of.
    nanobind::set_leak_warnings(false);
    bind_shm(m);
    bind_tcp(m);
    bind_remembered(m);
    bind_stage(m);
    bind_dense(m);
    bind_cuts(m);
}
