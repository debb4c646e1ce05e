// Linux's file "stat" of a process or a thread. Other systems have none.
#ifndef SYNFIRE_JIT_PROCESS_STAT_HPP
#define SYNFIRE_JIT_PROCESS_STAT_HPP

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

namespace synfire::jit {

struct ProcessStat {
  char state = 0;
  uint64_t ticks = 0;  // of processor time, with that of children that have ended

  // True if it runs, wants to run, waits for a disk, or was stopped.
  bool is_busy() const noexcept { return std::strchr("RDTt", state) != nullptr; }
};

// Empty if there is no such file, or it cannot be read.
inline std::optional<ProcessStat> stat_at(const char* path) noexcept {
  char text[1024];
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  const ssize_t n = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (n <= 0) return std::nullopt;
  text[n] = 0;
  // The second field, the program's name in parentheses, may have any characters.
  const char* const rest = std::strrchr(text, ')');
  ProcessStat stat;
  unsigned long long user = 0, system = 0;
  long long user_of_children = 0, system_of_children = 0;
  if (!rest || std::sscanf(rest + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld", &stat.state,
                           &user, &system, &user_of_children, &system_of_children) != 5)
    return std::nullopt;
  stat.ticks = user + system + static_cast<uint64_t>(user_of_children + system_of_children);
  return stat;
}

}  // namespace synfire::jit

#endif
