// pycobre._native: one binder per subject, each in its own file.
#include "module.hpp"

NB_MODULE(_native, m) {
    bind_shm(m);
    bind_tcp(m);
    bind_remembered(m);
    bind_stage(m);
    bind_dense(m);
}
