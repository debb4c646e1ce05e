#include "cache.hpp"

#include <base/error.hpp>
#include <base/log.hpp>
#include <base/text.hpp>
#include <files/file_io.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <span>
#include <system_error>
#include <vector>

namespace synfire::jit {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t default_bytes = uint64_t{256} << 20;
// A larger file is not an entry: compiled texts have a few hundred KiB.
constexpr int64_t most_entry_bytes = int64_t{64} << 20;
// Temporary files of processes that were killed while they wrote.
constexpr time_t forgotten_seconds = 3600;

struct Header {
  char magic[8];
  uint64_t low, high;  // the key
  uint64_t bytes;      // after the header
  uint64_t sum_low, sum_high;
};
constexpr char magic[8] = {'S', 'Y', 'N', 'F', 'J', 'I', 'T', '1'};

Key sum_of(std::string_view bytes) {
  Key sum;
  sum.add(bytes);
  return sum;
}

// Makes a folder and its parents, for this user alone. Returns what is wrong with it, or nothing.
std::string made(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return std::generic_category().message(errno);
    if (end == std::string::npos) break;
  }
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return std::generic_category().message(errno);
  if (!S_ISDIR(status.st_mode)) return "it is not a folder";
  if (status.st_uid != ::geteuid()) return "it belongs to another user";
  if ((status.st_mode & 022) != 0) return "others may write to it";
  if (::access(path.c_str(), W_OK | X_OK) != 0) return std::generic_category().message(errno);
  return {};
}

std::string folder_of_environment() {
  if (const char* const own = std::getenv("SYNFIRE_CACHE")) return own;
  if (const char* const shared = std::getenv("XDG_CACHE_HOME"); shared && *shared == '/')
    return std::string(shared) + "/synfire";
  if (const char* const home = std::getenv("HOME"); home && *home == '/') return std::string(home) + "/.cache/synfire";
  return {};
}

// File times of the system itself advance in steps of milliseconds, within which several entries can be used.
struct timespec now_exactly() {
  struct timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

// The bytes of a regular file of this user, not a link; empty if there is none, or it cannot be read.
std::string own_file(const std::string& path) {
  std::string bytes;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return bytes;
  struct stat status = {};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
      status.st_size <= most_entry_bytes) {
    bytes.resize(static_cast<size_t>(status.st_size));
    size_t n_read = 0;
    while (n_read < bytes.size()) {
      const ssize_t n = ::read(file, bytes.data() + n_read, bytes.size() - n_read);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      n_read += static_cast<size_t>(n);
    }
    bytes.resize(n_read);
    const struct timespec now = now_exactly(), times[2] = {now, now};
    ::futimens(file, times);  // it was used now
  }
  ::close(file);
  return bytes;
}

}  // namespace

Cache Cache::open(const char* wanted, uint64_t most_bytes) {
  Cache cache;
  cache.wanted_ = wanted != nullptr;
  cache.most_bytes_ = most_bytes == 0 ? default_bytes : most_bytes;
  std::string folder = wanted ? wanted : folder_of_environment();
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  const std::string fault = folder.empty() || folder.front() != '/' ? "an absolute path is needed" : made(folder);
  if (fault.empty())
    cache.folder_ = std::move(folder);
  else if (wanted)
    core::fail_argument("SYN-MODEL-CACHE", "desc.cache is %s, which cannot be used: %s",
                        core::quoted(wanted, 300).c_str(), fault.c_str());
  else
    core::log_message(SYNFIRE_LOG_WARNING,
                      "model: compiled code is not kept, because the folder of the cache cannot be used: %s",
                      fault.c_str());
  return cache;
}

std::optional<std::string> Cache::find(const Key& key) const {
  if (folder_.empty()) return std::nullopt;
  std::string bytes = own_file(path_of(key));
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.erase(0, sizeof header);
  const Key sum = sum_of(bytes);
  const bool whole = std::memcmp(header.magic, magic, sizeof magic) == 0 && header.low == key.low() &&
                     header.high == key.high() && header.bytes == bytes.size() && header.sum_low == sum.low() &&
                     header.sum_high == sum.high();
  return whole ? std::optional(std::move(bytes)) : std::nullopt;
}

void Cache::store(const Key& key, const std::string& bytes) const {
  if (folder_.empty()) return;
  const Key sum = sum_of(bytes);
  Header header = {{}, key.low(), key.high(), bytes.size(), sum.low(), sum.high()};
  std::memcpy(header.magic, magic, sizeof magic);
  const std::string path = path_of(key);
  try {
    // Removes, and never writes through, a link or an object of another user. A folder that is not empty stays.
    struct stat status = {};
    if (::lstat(path.c_str(), &status) == 0) {
      if (S_ISDIR(status.st_mode)) {
        if (::rmdir(path.c_str()) != 0) return;
      } else if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) {
        ::unlink(path.c_str());
      }
    }
    files::ReplacementFile file(path.c_str());
    file.write(std::as_bytes(std::span(&header, 1)));
    file.write(std::as_bytes(std::span(bytes.data(), bytes.size())));
    file.commit();
    const struct timespec now = now_exactly(), times[2] = {now, now};
    ::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW);
  } catch (core::Failure& failure) {
    if (!wanted_) return;
    failure.rule = "SYN-MODEL-CACHE";
    failure.text = "the compiled code cannot be stored in desc.cache: " + failure.text;
    throw;
  }
  make_room();
}

void Cache::make_room() const noexcept {
  try {
    struct Entry {
      std::string path;
      uint64_t bytes;
      struct timespec used;
    };
    std::vector<Entry> entries;
    uint64_t total = 0;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
      const std::string path = entry.path().string(), name = entry.path().filename().string();
      struct stat status = {};
      if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
      if (name.starts_with(".synfire-") && name.ends_with(".tmp")) {
        if (::time(nullptr) - status.st_mtime > forgotten_seconds) ::unlink(path.c_str());
      } else if (name.ends_with(".synfire")) {
        entries.push_back({path, static_cast<uint64_t>(status.st_size), status.st_mtim});
        total += static_cast<uint64_t>(status.st_size);
      }
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
    });
    for (size_t i = 0; i + 1 < entries.size() && total > most_bytes_; ++i) {
      ::unlink(entries[i].path.c_str());
      total -= entries[i].bytes;
    }
  } catch (...) {  // out of memory: the next one makes room
  }
}

}  // namespace synfire::jit
