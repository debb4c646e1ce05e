#include "file_io.hpp"

#include <base/error.hpp>
#include <base/text.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

namespace synfire::files {
namespace {

constexpr size_t most_bytes = size_t{1} << 30;  // in one call; systems have limits just above

std::string shown_path(const std::string& path) {
  return core::quoted(path, 400);
}

[[noreturn]] void fail_system(const char* rule, const std::string& path, const char* what, int error) {
  core::fail_argument(rule, "%s cannot be %s: %s", shown_path(path).c_str(), what,
                      std::generic_category().message(error).c_str());
}

[[noreturn]] void fail_kind(const char* rule, const std::string& path) {
  core::fail_argument(rule, "%s is a folder or a device; a regular file is needed", shown_path(path).c_str());
}

template <class Call>
auto repeated(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

void close_file(intptr_t file) noexcept {
  if (file >= 0) ::close(static_cast<int>(file));
}

// Follows all symbolic links in the path. The file at their end need not exist yet.
std::string without_links(const std::string& path) {
  std::string at = path;
  constexpr int most_links = 40;  // as Linux follows
  for (int i = 0; i < most_links; ++i) {
    const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(at.c_str(), nullptr), &std::free);
    if (resolved) return resolved.get();
    std::string to(PATH_MAX, '\0');
    const ssize_t n = ::readlink(at.c_str(), to.data(), to.size());
    if (n < 0) return at;  // no link, or nothing
    to.resize(static_cast<size_t>(n));
    if (!to.starts_with('/')) to.insert(0, at, 0, at.rfind('/') + 1);
    at = std::move(to);
  }
  fail_system("SYN-FILE-WRITE", path, "written", ELOOP);
}

// Writing beyond the largest size of files (RLIMIT_FSIZE) raises SIGXFSZ, which ends an unprepared process. While this
// object lives, the calling thread does not get the signal, and the write fails with EFBIG.
class WithoutSizeSignal {
 public:
  WithoutSizeSignal() noexcept {
    sigset_t pending;
    ::sigemptyset(&pending);
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGXFSZ) == 1;
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    is_blocked_ = ::pthread_sigmask(SIG_BLOCK, &signal_, &before_) == 0;
  }
  WithoutSizeSignal(const WithoutSizeSignal&) = delete;
  WithoutSizeSignal& operator=(const WithoutSizeSignal&) = delete;
  ~WithoutSizeSignal() {
    if (!is_blocked_) return;
    const int error = errno;
    sigset_t pending;
    ::sigemptyset(&pending);
    ::sigpending(&pending);
    // Discards the signal if the write raised it. One that was pending before stays pending.
    if (!was_pending_ && ::sigismember(&pending, SIGXFSZ) == 1) take();
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  void take() noexcept {
#if defined(__APPLE__)
    int taken = 0;
    ::sigwait(&signal_, &taken);
#else
    constexpr timespec at_once = {};
    repeated([&] { return ::sigtimedwait(&signal_, nullptr, &at_once); });
#endif
  }

  sigset_t signal_, before_;
  bool was_pending_, is_blocked_;
};

}  // namespace

InputFile::InputFile(const char* path) : path_(path) {
  // O_NONBLOCK: does not wait for a writer of a named pipe.
  const int file = repeated([&] { return ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  if (file < 0) fail_system("SYN-FILE-OPEN", path_, "opened", errno);
  struct stat status = {};
  const int error = ::fstat(file, &status) == 0 ? 0 : errno;
  if (error == 0 && S_ISREG(status.st_mode)) {
    file_ = file;
    size_ = static_cast<uint64_t>(status.st_size);
    return;
  }
  ::close(file);
  if (error != 0) fail_system("SYN-FILE-OPEN", path_, "opened", error);
  fail_kind("SYN-FILE-OPEN", path_);
}

InputFile::~InputFile() {
  close_file(file_);
}

void InputFile::read(std::span<std::byte> to) {
  while (!to.empty()) {
    const size_t n = std::min(to.size(), most_bytes);
    const ssize_t n_read = repeated([&] { return ::read(static_cast<int>(file_), to.data(), n); });
    if (n_read < 0) fail_system("SYN-FILE-READ", path_, "read", errno);
    if (n_read == 0) fail_shorter();
    to = to.subspan(static_cast<size_t>(n_read));
  }
}

void InputFile::read_at(uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const size_t n = std::min(to.size(), most_bytes);
    const ssize_t n_read =
        repeated([&] { return ::pread(static_cast<int>(file_), to.data(), n, static_cast<off_t>(offset)); });
    if (n_read < 0) fail_system("SYN-FILE-READ", path_, "read", errno);
    if (n_read == 0) fail_shorter();
    offset += static_cast<uint64_t>(n_read);
    to = to.subspan(static_cast<size_t>(n_read));
  }
}

void InputFile::fail_shorter() const {
  core::fail_argument("SYN-FILE-READ", "%s became shorter than its %llu bytes while it was read",
                      shown_path(path_).c_str(), static_cast<unsigned long long>(size_));
}

ReplacementFile::ReplacementFile(const char* path, int first) : path_(path) {
  target_ = without_links(path_);  // the target of a symbolic link is replaced or made, not the link
  mode_t mode = 0666;
  struct stat status = {};
  if (::stat(target_.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) fail_kind("SYN-FILE-WRITE", path_);
    // Renaming would replace a file that is protected from writing.
    if (::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0)
      fail_system("SYN-FILE-WRITE", path_, "written", errno);
    mode = status.st_mode & 0777;  // nobody gains access to the file
  }
  const std::string folder = target_.substr(0, target_.rfind('/') + 1);
  constexpr int most_tries = 1000;  // files that earlier processes of this number left when they were killed
  for (int i = 0; file_ < 0; ++i) {
    std::string name = folder + ".synfire-" + std::to_string(::getpid()) + "-" + std::to_string(first + i) + ".tmp";
    file_ = repeated([&] { return ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode); });
    if (file_ >= 0)
      temporary_ = std::move(name);
    else if (errno != EEXIST || i == most_tries)
      fail_system("SYN-FILE-WRITE", path_, "written, because its folder takes no temporary file", errno);
  }
}

ReplacementFile::~ReplacementFile() {
  close_file(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void ReplacementFile::write(std::span<const std::byte> bytes) {
  const WithoutSizeSignal quiet;
  while (!bytes.empty()) {
    const size_t n = std::min(bytes.size(), most_bytes);
    const ssize_t written = repeated([&] { return ::write(static_cast<int>(file_), bytes.data(), n); });
    if (written <= 0) fail_system("SYN-FILE-WRITE", path_, "written", written < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void ReplacementFile::finish() {
  if (file_ < 0) return;
  if (repeated([&] { return ::fsync(static_cast<int>(file_)); }) != 0)
    fail_system("SYN-FILE-WRITE", path_, "written", errno);
  close_file(file_);
  file_ = -1;
}

void ReplacementFile::commit() {
  finish();
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail_system("SYN-FILE-WRITE", path_, "replaced", errno);
  temporary_.clear();
  // The name should outlast a power loss too. Not all file systems support this, and the file is in place already.
  const std::string folder = target_.substr(0, target_.rfind('/') + 1);
  const int opened = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  ::fsync(opened);
  ::close(opened);
}

}  // namespace synfire::files
