# SYNFIRE_PRECOMPILE parses what most files include once for each target instead of once for each file. That saves processor
# time in a build from nothing. It is off by default, because ccache does not keep what is compiled with it, and because a file that
# lacks an include is not found. The headers of the repository are in it too, so a changed one compiles the whole target anew.
option(SYNFIRE_PRECOMPILE "Precompile common headers: less time from nothing, more after a changed header" OFF)

if(SYNFIRE_PRECOMPILE)
  set(synfire_standard_headers <algorithm> <array> <atomic> <bit> <cmath> <cstdint> <cstdio> <cstdlib> <cstring> <functional>
    <limits> <map> <memory> <mutex> <new> <optional> <span> <string> <string_view> <thread> <type_traits> <utility> <vector>)
  # Only C++ files of these targets; the kernels (SYNFIRE_LEVEL_TARGETS) include little and have options of their own.
  target_precompile_headers(synfire_core PRIVATE ${synfire_standard_headers} "${PROJECT_SOURCE_DIR}/src/base/error.hpp")
  foreach(target IN ITEMS synfire_host synfire_operations synfire_network synfire)
    target_precompile_headers(${target} PRIVATE ${synfire_standard_headers} "${PROJECT_SOURCE_DIR}/src/graph/graph.hpp"
      "${PROJECT_SOURCE_DIR}/src/layer/layer.hpp" "${PROJECT_SOURCE_DIR}/src/base/view_checks.hpp")
  endforeach()
endif()
