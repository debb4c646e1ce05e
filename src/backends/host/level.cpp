#include "level.hpp"

#include <cstdlib>
#include <cstring>

namespace synfire::host {
namespace {

Level find_level() noexcept {
#if SYNFIRE_HOST_X86_LEVELS
  const char* wanted = std::getenv("SYNFIRE_HOST_LEVEL");
  const auto allowed = [wanted](Level level) {
#if defined(SYNFIRE_HOST_ONLY_LEVEL)
    if (level != Level::SYNFIRE_HOST_ONLY_LEVEL) return false;
#endif
    return !wanted || std::strcmp(wanted, name_of_level(level)) == 0;
  };
  __builtin_cpu_init();
  // The sets of the x86-64-v4 and x86-64-v3 levels that the kernels are compiled for.
  const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  if (has_v4 && allowed(Level::avx512)) return Level::avx512;
  if (has_v3 && allowed(Level::avx2)) return Level::avx2;
#endif
  return Level::baseline;
}

}  // namespace

const char* name_of_level(Level level) noexcept {
  return level == Level::avx512 ? "avx512" : level == Level::avx2 ? "avx2" : "baseline";
}

Level level() noexcept {
  static const Level found = find_level();
  return found;
}

}  // namespace synfire::host
