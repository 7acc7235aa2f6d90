#include "module.hpp"

void bind_shm(nanobind::module_ &) {}
