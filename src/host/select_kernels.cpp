// Which instruction level the host kernels run at.
#include "kernels.hpp"

#include <cstdlib>
#include <cstring>

namespace synfire::host {

const Kernels& select_kernels() noexcept {
#if SYNFIRE_HOST_X86_LEVELS
  const char* wanted = std::getenv("SYNFIRE_HOST_LEVEL");
  const auto allowed = [wanted](const char* level) { return !wanted || std::strcmp(wanted, level) == 0; };
  __builtin_cpu_init();
  // The sets are those of the x86-64-v4 and x86-64-v3 levels that the kernels are compiled for.
  const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  if (has_v4 && allowed("avx512")) return avx512::kernels;
  if (has_v3 && allowed("avx2")) return avx2::kernels;
#endif
  return baseline::kernels;
}

}  // namespace synfire::host
