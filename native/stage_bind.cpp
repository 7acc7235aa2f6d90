#include "module.hpp"

void bind_stage(nanobind::module_ &) {}
