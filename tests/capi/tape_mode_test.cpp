#include "storage_rig.hpp"
