// As loaded_host.cpp, for layers on a GPU, which need no kernels for the host. These take most of the time to compile.
#include "loaded_table.hpp"

SYNFIRE_EXPORT_LOADED(nullptr)
