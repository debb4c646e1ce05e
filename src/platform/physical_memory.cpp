#include "physical_memory.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>
#elif defined(_WIN32)
#include <windows.h>
#elif defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace synfire::core {

#if defined(__linux__)

namespace {

// Empty if the file does not exist or cannot be read.
std::string read_text(const std::string& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  try {
    char block[4096];
    for (;;) {
      const ssize_t n = ::read(file, block, sizeof block);
      if (n <= 0) break;
      text.append(block, static_cast<size_t>(n));
    }
  } catch (...) {
    ::close(file);
    throw;
  }
  ::close(file);
  return text;
}

// Removes and returns the text up to the separator.
std::string_view take(std::string_view& text, char separator) {
  const std::string_view front = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), front.size() + 1));
  return front;
}

bool lists(std::string_view names, std::string_view name) {
  while (!names.empty())
    if (take(names, ',') == name) return true;
  return false;
}

std::optional<uint64_t> number_in(std::string_view text) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t")));
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) return UINT64_MAX;
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

// The number after the key that begins a line, or 0.
uint64_t number_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = take(text, '\n');
    if (line.starts_with(key)) return number_in(line.substr(key.size())).value_or(0);
  }
  return 0;
}

std::optional<uint64_t> number_at(const std::string& path) {
  return number_in(read_text(path));
}

uint64_t sum(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
uint64_t rest(uint64_t whole, uint64_t part) {
  return whole > part ? whole - part : 0;
}

void lower(MemoryBound& bound, uint64_t bytes) {
  if (bytes < bound.bytes) bound = {bytes, true};
}

struct Machine {
  uint64_t memory, swap, free_swap;
};

// A control group of version 2. Swap has a limit of its own.
void bound_by_unified(PhysicalMemory& memory, const std::string& group, Paging paging, const Machine& machine) {
  const std::optional<uint64_t> limit = number_at(group + "/memory.max");
  if (!limit || *limit >= machine.memory) return;  // the rest is slow to read
  const std::string statistics = read_text(group + "/memory.stat");
  const uint64_t reclaimable = sum(number_of(statistics, "file "), number_of(statistics, "slab_reclaimable "));
  uint64_t total = *limit;
  uint64_t available = rest(*limit, rest(number_at(group + "/memory.current").value_or(0), reclaimable));
  if (paging == Paging::pageable) {
    const uint64_t most = number_at(group + "/memory.swap.max").value_or(UINT64_MAX);
    const uint64_t used = number_at(group + "/memory.swap.current").value_or(0);
    total = sum(total, std::min(most, machine.swap));
    available = sum(available, std::min(rest(most, used), machine.free_swap));
  }
  lower(memory.total, total);
  lower(memory.available, available);
}

// A control group of version 1, which may limit memory and swap together.
void bound_by_legacy(PhysicalMemory& memory, const std::string& group, Paging paging, const Machine& machine) {
  const std::optional<uint64_t> limit = number_at(group + "/memory.limit_in_bytes");
  if (!limit || *limit >= machine.memory) return;
  const uint64_t reclaimable = number_of(read_text(group + "/memory.stat"), "total_cache ");
  uint64_t total = *limit;
  uint64_t available = rest(*limit, rest(number_at(group + "/memory.usage_in_bytes").value_or(0), reclaimable));
  if (paging == Paging::pageable) {
    const uint64_t both = number_at(group + "/memory.memsw.limit_in_bytes").value_or(UINT64_MAX);
    const uint64_t used = number_at(group + "/memory.memsw.usage_in_bytes").value_or(0);
    total = std::min(sum(total, machine.swap), both);
    available = std::min(sum(available, machine.free_swap), rest(both, rest(used, reclaimable)));
  }
  lower(memory.total, total);
  lower(memory.available, available);
}

// The group of this process and its parents, up to the mount point. `path` is the path of the group from the root of
// all groups, `root` that of the group mounted at `mount`; they differ inside containers.
template <class Bound>
void walk(std::string_view path, std::string_view root, std::string_view mount, Bound bound) {
  if (root == "/") root = {};
  std::string_view below = path.starts_with(root) ? path.substr(root.size()) : std::string_view();
  if (below.starts_with("/..")) below = {};  // a group outside the mounted part
  while (below.ends_with('/')) below.remove_suffix(1);
  for (;;) {
    bound(std::string(mount).append(below));
    if (below.empty()) return;
    below = below.substr(0, below.rfind('/'));
  }
}

void bound_by_groups(PhysicalMemory& memory, Paging paging, const Machine& machine) {
  const std::string own = read_text("/proc/self/cgroup");
  if (own.empty()) return;
  const std::string mounts = read_text("/proc/self/mountinfo");
  for (std::string_view groups = own; !groups.empty();) {
    // "4:memory:/path" in version 1, "0::/path" in version 2
    std::string_view group = take(groups, '\n');
    take(group, ':');
    const std::string_view controllers = take(group, ':');
    const bool unified = controllers.empty();
    if (!unified && !lists(controllers, "memory")) continue;
    for (std::string_view lines = mounts; !lines.empty();) {
      // "35 31 0:32 /root /mount options ... - type source options"
      std::string_view line = take(lines, '\n');
      for (int i = 0; i < 3; ++i) take(line, ' ');
      const std::string_view root = take(line, ' '), mount = take(line, ' ');
      const size_t dash = line.find(" - ");
      if (dash == std::string_view::npos) continue;
      line.remove_prefix(dash + 3);
      const std::string_view type = take(line, ' ');
      take(line, ' ');
      if (unified && type == "cgroup2")
        walk(group, root, mount, [&](const std::string& at) { bound_by_unified(memory, at, paging, machine); });
      if (!unified && type == "cgroup" && lists(line, "memory"))
        walk(group, root, mount, [&](const std::string& at) { bound_by_legacy(memory, at, paging, machine); });
    }
  }
}

}  // namespace

PhysicalMemory read_physical_memory(Paging paging) {
  PhysicalMemory memory;
  const std::string system = read_text("/proc/meminfo"), process = read_text("/proc/self/status");
  const auto bytes = [](std::string_view text, std::string_view key) { return number_of(text, key) * 1024; };
  memory.resident = bytes(process, "VmRSS:") + bytes(process, "VmSwap:");
  Machine machine = {bytes(system, "MemTotal:"), bytes(system, "SwapTotal:"), bytes(system, "SwapFree:")};
  if (machine.memory > 0) {
    // MemAvailable estimates the memory that is available without swapping.
    uint64_t available = bytes(system, "MemFree:") + bytes(system, "Buffers:") + bytes(system, "Cached:") +
                         bytes(system, "SReclaimable:");
    available = std::min(std::max(available, bytes(system, "MemAvailable:")), machine.memory);
    const bool swaps = paging == Paging::pageable;
    memory.total.bytes = machine.memory + (swaps ? machine.swap : 0);
    memory.available.bytes = available + (swaps ? machine.free_swap : 0);
  } else {
    machine.memory = UINT64_MAX;  // there is no /proc
  }
  bound_by_groups(memory, paging, machine);
  return memory;
}

#elif defined(_WIN32)

PhysicalMemory read_physical_memory(Paging paging) {
  PhysicalMemory memory;
  MEMORYSTATUSEX status = {};
  status.dwLength = sizeof status;
  if (!GlobalMemoryStatusEx(&status)) return memory;
  const bool pages = paging == Paging::pageable;
  memory.total.bytes = pages ? status.ullTotalPageFile : status.ullTotalPhys;
  memory.available.bytes = pages ? status.ullAvailPageFile : status.ullAvailPhys;
  return memory;
}

#else

PhysicalMemory read_physical_memory(Paging) {
  PhysicalMemory memory;
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  if (pages > 0 && size > 0) memory.total.bytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(size);
#endif
  return memory;
}

#endif

}  // namespace synfire::core
