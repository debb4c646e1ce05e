// Instruction levels. A file of an operation's folder can be compiled once for each (level_kernels in CMake): it
// defines its functions and one constant table of them in `synfire::host::SYNFIRE_MODEL_LEVEL`, which its header
// declares by SYNFIRE_LEVEL_TABLES. All levels give the same bits.
#ifndef SYNFIRE_BACKENDS_HOST_LEVEL_HPP
#define SYNFIRE_BACKENDS_HOST_LEVEL_HPP

namespace synfire::host {

enum class Level { baseline, avx2, avx512 };

// The best compiled level that this processor has, or the one that SYNFIRE_HOST_LEVEL names if it is among them.
Level level() noexcept;
const char* name_of_level(Level level) noexcept;

#if SYNFIRE_HOST_X86_LEVELS
#define SYNFIRE_LEVEL_TABLES(Table, name) \
  namespace baseline {                    \
  extern const Table name;                \
  }                                       \
  namespace avx2 {                        \
  extern const Table name;                \
  }                                       \
  namespace avx512 {                      \
  extern const Table name;                \
  }
// The table of this processor's level, by its name in host. A build for one machine (SYNFIRE_HOST_ONLY_LEVEL) has that
// machine's level, and the baseline for all others.
#if defined(SYNFIRE_HOST_ONLY_LEVEL)
#define SYNFIRE_SELECT_LEVEL(name)                                                                \
  (::synfire::host::level() == ::synfire::host::Level::baseline ? ::synfire::host::baseline::name \
                                                                : ::synfire::host::SYNFIRE_HOST_ONLY_LEVEL::name)
#else
#define SYNFIRE_SELECT_LEVEL(name)                                                            \
  (::synfire::host::level() == ::synfire::host::Level::avx512 ? ::synfire::host::avx512::name \
   : ::synfire::host::level() == ::synfire::host::Level::avx2 ? ::synfire::host::avx2::name   \
                                                              : ::synfire::host::baseline::name)
#endif
#else
#define SYNFIRE_LEVEL_TABLES(Table, name) \
  namespace baseline {                    \
  extern const Table name;                \
  }
#define SYNFIRE_SELECT_LEVEL(name) (::synfire::host::baseline::name)
#endif

}  // namespace synfire::host

#endif
