#include "process.hpp"

#include "process_stat.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace synfire::jit {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t most_output = size_t{256} << 10;
constexpr int poll_milliseconds = 100;

// Both ends of a pipe, not inherited by other programs that this process starts.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) ends_[0] = ends_[1] = -1;
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(0);
    close(1);
  }
  void close(int end) {
    if (ends_[end] >= 0) ::close(std::exchange(ends_[end], -1));
  }
  int operator[](int end) const { return ends_[end]; }

 private:
  int ends_[2];
};

// Null-terminated array of pointers to the strings.
std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> merged_environment(const std::vector<std::string>& entries) {
  std::vector<std::string> merged = entries;
  for (char** entry = environ; entry && *entry; ++entry) {
    const char* const end = std::strchr(*entry, '=');
    if (!end) continue;
    const auto length = static_cast<size_t>(end + 1 - *entry);
    if (std::none_of(entries.begin(), entries.end(),
                     [&](const std::string& own) { return own.compare(0, length, *entry, length) == 0; }))
      merged.emplace_back(*entry);
  }
  return merged;
}

// Starts the program in its own process group, with default signal handling. Returns 0 or an errno.
int start(const std::vector<std::string>& arguments, const std::vector<std::string>& environment, int output,
          pid_t& process) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (const int error = ::posix_spawn_file_actions_init(&actions)) return error;
  int error = ::posix_spawnattr_init(&attributes);
  if (error == 0) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    const std::vector<std::string> merged = merged_environment(environment);
    std::vector<char*> argument_list = pointers_to(arguments), environment_list = pointers_to(merged);
    error = ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (error == 0) error = ::posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (error == 0) error = ::posix_spawn_file_actions_adddup2(&actions, output, 2);
    if (error == 0) error = ::posix_spawnattr_setpgroup(&attributes, 0);
    if (error == 0) error = ::posix_spawnattr_setsigmask(&attributes, &none);
    if (error == 0) error = ::posix_spawnattr_setsigdefault(&attributes, &all);
    if (error == 0)
      error = ::posix_spawnattr_setflags(&attributes,
                                         POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (error == 0)
      error = ::posix_spawn(&process, arguments.front().c_str(), &actions, &attributes, argument_list.data(),
                            environment_list.data());
    ::posix_spawnattr_destroy(&attributes);
  }
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Reads the available output. Returns false at its end.
bool read_output(int from, std::string& output) {
  char bytes[4096];
  const ssize_t n = ::read(from, bytes, sizeof bytes);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  output.append(bytes, std::min(static_cast<size_t>(n), most_output - std::min(output.size(), most_output)));
  return true;
}

// ---- the time of a program ------------------------------------------------------------------------------------------

std::optional<ProcessStat> stat_of(pid_t process) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
  return stat_at(path);
}

// The children of a process's main thread; a compiler has no others.
std::vector<pid_t> children_of(pid_t process) {
  char path[64], text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", static_cast<int>(process), static_cast<int>(process));
  std::vector<pid_t> children;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return children;
  const ssize_t n = ::read(file, text, sizeof text - 1);
  ::close(file);
  text[std::max<ssize_t>(n, 0)] = 0;
  for (char *at = text, *end = nullptr;; at = end) {
    const long child = std::strtol(at, &end, 10);
    if (end == at) return children;
    children.push_back(static_cast<pid_t>(child));
  }
}

// The time of a program that counts towards its limit.
class UsedTime {
 public:
  explicit UsedTime(pid_t process) noexcept : process_(process) {}

  void look() {
    const Clock::time_point now = Clock::now();
    bool busy = false;
    uint64_t ticks = 0;
    if (add(process_, busy, ticks, 0)) {
      ticks_ = std::max(ticks_, ticks);
    } else {
      busy = false;  // the system does not say: all time counts
    }
    if (!busy) idle_ += now - last_;
    last_ = now;
  }
  std::chrono::nanoseconds total() const { return processor_time() + idle_; }
  bool is_mostly_idle() const { return idle_ > processor_time(); }

 private:
  // Adds the processor time of a process and its children. Sets `busy` if one is. Returns false if it is unknown.
  static bool add(pid_t process, bool& busy, uint64_t& ticks, int depth) {
    const std::optional<ProcessStat> stat = stat_of(process);
    if (!stat) return false;
    busy |= stat->is_busy();
    ticks += stat->ticks;
    if (depth < 8)
      for (const pid_t child : children_of(process)) add(child, busy, ticks, depth + 1);
    return true;
  }
  std::chrono::nanoseconds processor_time() const {
    static const int64_t per_second = std::max<int64_t>(::sysconf(_SC_CLK_TCK), 1);
    return std::chrono::nanoseconds(static_cast<int64_t>(ticks_) * (1'000'000'000 / per_second));
  }

  const pid_t process_;
  uint64_t ticks_ = 0;
  std::chrono::nanoseconds idle_{0};
  Clock::time_point last_ = Clock::now();
};

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                          std::chrono::nanoseconds limit, core::FunctionRef<bool()> cancelled) {
  using End = ProcessResult::End;
  ProcessResult result = {End::exited, 0, {}, {}, false};
  Pipe pipe;
  if (pipe[0] < 0) return {End::not_started, errno, {}, {}, false};
  pid_t process = -1;
  if (const int error = start(arguments, environment, pipe[1], process))
    return {End::not_started, error, {}, {}, false};
  pipe.close(1);
  ::fcntl(pipe[0], F_SETFL, O_NONBLOCK);
  UsedTime used(process);
  Clock::time_point next_look = Clock::now();
  // Waits until the program has closed its output and ended; grandchildren may keep the output open.
  bool open = true;
  int status = 0;
  for (;;) {
    pollfd wanted = {pipe[0], POLLIN, 0};
    const bool readable = ::poll(&wanted, open ? 1 : 0, poll_milliseconds / (open ? 1 : 10)) > 0;
    if (readable) open = read_output(pipe[0], result.output);
    const pid_t waited = ::waitpid(process, &status, WNOHANG);
    if (waited == process || (waited < 0 && errno == ECHILD)) break;  // ECHILD: the program ignores SIGCHLD
    if (const Clock::time_point now = Clock::now(); now >= next_look) {
      used.look();
      next_look = now + std::chrono::milliseconds(poll_milliseconds / 2);
    }
    const bool late = used.total() >= limit;
    if (!late && (readable || !cancelled())) continue;
    ::kill(-process, SIGKILL);
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    result.end = late ? End::out_of_time : End::cancelled;
    result.used = used.total();
    result.idle = used.is_mostly_idle();
    return result;
  }
  result.used = used.total();
  while (open) {
    pollfd wanted = {pipe[0], POLLIN, 0};
    if (::poll(&wanted, 1, 0) <= 0) break;
    open = read_output(pipe[0], result.output);
  }
  ::kill(-process, SIGKILL);  // what it left behind in its group
  if (WIFSIGNALED(status)) {
    result.end = End::signalled;
    result.code = WTERMSIG(status);
  } else {
    result.code = WEXITSTATUS(status);
  }
  return result;
}

std::string find_program(const std::string& name) {
  const auto usable = [](const std::string& path) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return usable(name) ? name : std::string();
  const char* const list = std::getenv("PATH");
  std::string left = list ? list : "/usr/local/bin:/usr/bin:/bin";
  while (!left.empty()) {
    const size_t end = left.find(':');
    const std::string folder = left.substr(0, end);
    left = end == std::string::npos ? std::string() : left.substr(end + 1);
    // An empty entry is the current folder, from which no compiler is taken.
    if (folder.empty() || folder.front() != '/') continue;
    if (std::string path = std::string(folder).append("/").append(name); usable(path)) return path;
  }
  return {};
}

}  // namespace synfire::jit
