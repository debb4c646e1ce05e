// As loaded_host.cpp, for layers on a GPU: they need the description and the formula of the parameters, but no kernels
// for the host, which take most of the time to compile.
#include "loaded_table.hpp"

SYNFIRE_EXPORT_LOADED(nullptr)
