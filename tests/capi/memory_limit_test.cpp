// Requests beyond the memory of the machine, of a control group or of the address space. They are refused before a
// page is touched, even if the operating system would grant them and kill the process later. Linux only: other systems
// report their own limits.
#include "graph_support.hpp"

#if defined(__linux__)

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace synfire_test {
namespace {

constexpr uint64_t mebibyte = uint64_t{1} << 20;
constexpr uint64_t tebibyte = uint64_t{1} << 40;

// A number of kibibytes from a file of /proc, in bytes.
uint64_t bytes_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return std::stoull(line.substr(key.size())) * 1024;
  ADD_FAILURE() << path << " has no " << key;
  return 0;
}
uint64_t machine_bytes() {
  return bytes_of("/proc/meminfo", "MemTotal:") + bytes_of("/proc/meminfo", "SwapTotal:");
}
uint64_t resident_bytes() {
  return bytes_of("/proc/self/status", "VmRSS:");
}

// By how much a piece of work raises this process's peaks of mapped and touched memory.
class Footprint {
 public:
  uint64_t touched() const { return grown("VmHWM:", touched_); }
  uint64_t mapped() const { return grown("VmPeak:", mapped_); }

 private:
  static uint64_t now(const char* key) { return bytes_of("/proc/self/status", key); }
  // The kernel updates the peak of touched memory in batches, so it may appear to shrink.
  static uint64_t grown(const char* key, uint64_t before) { return std::max(now(key), before) - before; }
  uint64_t touched_ = now("VmHWM:"), mapped_ = now("VmPeak:");
};

synfire_status create(synfire_context context, int32_t memory, uint64_t bytes, Buffer& buffer) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = memory;
  desc.dtype = SYNFIRE_DTYPE_U8;
  desc.n_elements = bytes;
  synfire_buffer made = reinterpret_cast<synfire_buffer>(uintptr_t{1});
  const synfire_status status = synfire_buffer_create(context, &desc, &made);
  buffer = Buffer(made);
  return status;
}

// Kinds of memory that are host memory.
std::vector<int32_t> kinds() {
  if (on_host()) return {SYNFIRE_MEMORY_DEVICE, SYNFIRE_MEMORY_PINNED, SYNFIRE_MEMORY_HOST};
  return {SYNFIRE_MEMORY_PINNED, SYNFIRE_MEMORY_HOST};
}

void expect_works(synfire_context context) {
  Buffer small;
  EXPECT_OK(create(context, SYNFIRE_MEMORY_PINNED, 4 * mebibyte, small));
  EXPECT_OK(synfire_buffer_fill(small, 3));
  EXPECT_EQ(download<uint8_t>(small, 1, 4 * mebibyte - 1)[0], 3);
}

TEST(MemoryLimits, ABufferBeyondTheMachineIsRefusedAndNothingIsTouched) {
  const Context context = make_context();
  expect_works(context);
  const Footprint footprint;
  for (const int32_t memory : kinds())
    for (const uint64_t bytes :
         {machine_bytes() + 1, machine_bytes() * 2, 4 * tebibyte, 1024 * tebibyte, uint64_t{1} << 61}) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes of memory " << memory);
      Buffer buffer;
      EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-MEMORY-HOST", std::to_string(bytes), "machine|group", "has"),
                   create(context, memory, bytes, buffer));
      EXPECT_EQ(buffer.get(), nullptr);
    }
  EXPECT_LT(footprint.touched(), 4 * mebibyte);
  EXPECT_LT(footprint.mapped(), 64 * mebibyte);
  expect_works(context);
}

TEST(MemoryLimits, ALayerBeyondTheMachineIsRefusedAndNothingIsTouched) {
  if (!on_host()) GTEST_SKIP() << "a layer's memory is on the device, where CUDA counts it";
  const Context context = make_context();
  const Footprint footprint;
  for (const int64_t n_neurons : {static_cast<int64_t>(machine_bytes() / 4 + 1), int64_t{1} << 42})
    for (const int64_t batch : {1, 64}) {
      synfire_layer_desc desc = describe(Shape{1, batch, n_neurons}, SYNFIRE_DTYPE_F32);
      synfire_layer layer = nullptr;
      EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-MEMORY-HOST", "machine|group"),
                   synfire_layer_create(context, &desc, &layer));
      EXPECT_EQ(layer, nullptr);
    }
  EXPECT_LT(footprint.touched(), 4 * mebibyte);
  EXPECT_LT(footprint.mapped(), 64 * mebibyte);
  expect_works(context);
}

// Untouched memory is reserved, not yet taken. All reservations together must stay within the machine's memory.
TEST(MemoryLimits, BuffersThatFitOneByOneAreRefusedWhereTheirSumDoesNotFit) {
  if (is_sanitized()) GTEST_SKIP() << "sanitizers touch additional memory for each block";
  if (!on_host()) GTEST_SKIP() << "page-locked memory is taken at once";
  const Context context = make_context();
  const Footprint footprint;
  const uint64_t total = machine_bytes(), share = total / 20;
  std::vector<Buffer> granted;
  synfire_status status = SYNFIRE_OK;
  while (granted.size() <= 20) {
    Buffer buffer;
    status = create(context, SYNFIRE_MEMORY_HOST, share, buffer);
    if (status != SYNFIRE_OK) break;
    granted.push_back(std::move(buffer));
  }
  EXPECT_TRUE(fails_with(status, SYNFIRE_ERROR_OUT_OF_MEMORY,
                         WORDS("SYN-MEMORY-HOST", std::to_string(share), "machine|group")));
  EXPECT_LE(granted.size() * share, total);
  EXPECT_LT(footprint.touched(), 16 * mebibyte);
  if (granted.empty()) GTEST_SKIP() << "less than a twentieth of the machine is left";
  granted.pop_back();
  EXPECT_OK(synfire_context_reclaim(context, nullptr));
  Buffer again;
  EXPECT_OK(create(context, SYNFIRE_MEMORY_HOST, share, again));
}

TEST(MemoryLimits, ALargeBufferIsZeroAndAlignedAndTouchedByWhoeverWritesIt) {
  const Context context = make_context();
  for (int round = 0; round < 2; ++round)
    for (const int32_t memory : kinds())
      for (const uint64_t bytes :
           {mebibyte + 1, 16 * mebibyte - 1, 16 * mebibyte, 16 * mebibyte + 4097, 33 * mebibyte}) {
        SCOPED_TRACE(testing::Message() << "round " << round << ", memory " << memory << ", " << bytes << " bytes");
        Buffer buffer;
        ASSERT_OK(create(context, memory, bytes, buffer));
        void* data = nullptr;
        EXPECT_OK(synfire_buffer_get_data(buffer, &data, nullptr));
        EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 256, 0u);
        const auto* const first = static_cast<const uint8_t*>(data);
        EXPECT_TRUE(std::all_of(first, first + bytes, [](uint8_t byte) { return byte == 0; }));
        EXPECT_OK(synfire_buffer_fill(buffer, 255));  // later buffers may get the same memory
        buffer.reset();
        EXPECT_OK(synfire_context_reclaim(context, nullptr));
      }
  if (is_sanitized()) return;
  const uint64_t before = resident_bytes(), bytes = machine_bytes() / 64;
  Buffer buffer;
  if (create(context, SYNFIRE_MEMORY_HOST, bytes, buffer) != SYNFIRE_OK) return;
  EXPECT_LT(resident_bytes(), before + 4 * mebibyte) << bytes << " bytes";
}

TEST(MemoryLimits, SlotsBeyondTheMachineAreRefused) {
  if (is_sanitized()) GTEST_SKIP() << "sanitizers touch additional memory for each block";
  if (!on_host()) GTEST_SKIP() << "page-locked memory is taken at once, and this takes a fortieth of the machine's";
  const Context context = make_context();
  const Footprint footprint;
  Buffer frame, other;
  const uint64_t bytes = machine_bytes() / 40;
  if (create(context, SYNFIRE_MEMORY_PINNED, bytes, frame) != SYNFIRE_OK ||
      create(context, SYNFIRE_MEMORY_DEVICE, bytes, other) != SYNFIRE_OK)
    GTEST_SKIP() << "less than a twentieth of the machine is left";
  const Graph graph = make_slotted_graph(context, 64);
  record_copy(graph, frame, other);
  EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-MEMORY-HOST", "machine|group"),
               synfire_graph_instantiate(graph));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("instantiated"), synfire_graph_launch(graph, nullptr, nullptr));
  EXPECT_LT(footprint.touched(), 16 * mebibyte);
  const Graph single = make_slotted_graph(context, 1);
  record_copy(single, frame, other);
  EXPECT_OK(synfire_graph_instantiate(single));
  expect_works(context);
}

// ---- In a process of its own ----------------------------------------------------------------------------------------

// Runs `work` in a child process. Fails with its output unless it exits normally and without failures.
template <class Work>
void in_child(Work work) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    work();
    std::cout.flush();
    fflush(stdout);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  close(ends[1]);
  std::string text;
  char block[512];
  for (ssize_t n = 0; (n = read(ends[0], block, sizeof block)) > 0;) text.append(block, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status << "\n" << text;
}

TEST(MemoryLimits, AnAddressSpaceThatIsUsedUpIsOutOfMemory) {
  if (is_sanitized()) GTEST_SKIP() << "sanitizers reserve additional address space";
  if (!on_host()) GTEST_SKIP() << "CUDA reserves additional address space";
  in_child([] {
    const Context context = make_context();
    expect_works(context);
    const rlim_t most = bytes_of("/proc/self/status", "VmSize:") + 200 * mebibyte;
    const rlimit limit = {most, most};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    std::vector<Buffer> granted;
    for (const uint64_t bytes : {256 * mebibyte, 64 * mebibyte, 17 * mebibyte, mebibyte / 2})
      for (;;) {
        Buffer buffer;
        const synfire_status status = create(context, SYNFIRE_MEMORY_HOST, bytes, buffer);
        if (status == SYNFIRE_OK) {
          granted.push_back(std::move(buffer));
          ASSERT_LT(granted.size(), 600u);
          continue;
        }
        EXPECT_TRUE(fails_with(status, SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-MEMORY-HOST")));
        break;
      }
    synfire_layer_desc desc = describe(Shape{1, 1, 64 << 20}, SYNFIRE_DTYPE_F32);
    synfire_layer layer = nullptr;
    EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-MEMORY-HOST"), synfire_layer_create(context, &desc, &layer));
    EXPECT_GT(granted.size(), 2u);
    granted.clear();
    EXPECT_OK(synfire_context_reclaim(context, nullptr));
    expect_works(context);
  });
}

// A control group with a limit below that of this process, and in it one without a limit for the child. None if this
// process may not create them.
class ControlGroup {
 public:
  explicit ControlGroup(uint64_t bytes) {
    std::ifstream own("/proc/self/cgroup");
    for (std::string line; path_.empty() && std::getline(own, line);) {
      const size_t first = line.find(':'), second = line.find(':', first + 1);
      const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
      const bool unified = controllers.empty();
      if (!unified && controllers != "memory") continue;
      const char* const limit = unified ? "/memory.max" : "/memory.limit_in_bytes";
      const std::string mount = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
      for (const std::string& above : {mount + group, mount}) {
        const std::string made = above + "/synfire-test-" + std::to_string(getpid());
        if (mkdir(made.c_str(), 0755) != 0) continue;
        if (write(made + limit, std::to_string(bytes)) && mkdir((made + inner).c_str(), 0755) == 0) {
          path_ = made;
          break;
        }
        rmdir(made.c_str());
      }
    }
  }
  ~ControlGroup() {
    if (path_.empty()) return;
    rmdir((path_ + inner).c_str());
    rmdir(path_.c_str());
  }
  explicit operator bool() const { return !path_.empty(); }
  bool enter() const { return write(path_ + inner + "/cgroup.procs", std::to_string(getpid())); }

 private:
  static bool write(const std::string& path, const std::string& text) {
    const int file = open(path.c_str(), O_WRONLY);
    if (file < 0) return false;
    const bool done = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(file);
    return done;
  }
  static constexpr const char* inner = "/inner";
  std::string path_;
};

TEST(MemoryLimits, TheLimitOfAControlGroupCounts) {
  if (is_sanitized()) GTEST_SKIP() << "sanitizers touch additional memory";
  if (!on_host()) GTEST_SKIP() << "CUDA allocates memory of its own";
  const ControlGroup group(512 * mebibyte);
  if (!group) GTEST_SKIP() << "this process may not create a control group with a memory limit";
  in_child([&] {
    ASSERT_TRUE(group.enter());
    const Context context = make_context();
    for (const int32_t memory : kinds()) {
      Buffer buffer;
      EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-MEMORY-HOST", "1073741824", "group"),
                   create(context, memory, 1024 * mebibyte, buffer));
    }
    synfire_layer_desc desc = describe(Shape{1, 1, 256 << 20}, SYNFIRE_DTYPE_F32);
    synfire_layer layer = nullptr;
    EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-MEMORY-HOST", "group"),
                 synfire_layer_create(context, &desc, &layer));
    // Touched memory is no longer available; untouched memory is reserved.
    for (const bool touches : {true, false}) {
      SCOPED_TRACE(touches);
      std::vector<Buffer> granted;
      synfire_status status = SYNFIRE_OK;
      while (granted.size() < 16) {
        Buffer buffer;
        status = create(context, SYNFIRE_MEMORY_HOST, 64 * mebibyte, buffer);
        if (status != SYNFIRE_OK) break;
        if (touches) {
          EXPECT_OK(synfire_buffer_fill(buffer, 1));
        }
        granted.push_back(std::move(buffer));
      }
      EXPECT_TRUE(fails_with(status, SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-MEMORY-HOST", "group")));
      EXPECT_GE(granted.size(), 4u);
      EXPECT_LE(granted.size(), 8u);
      granted.clear();
      EXPECT_OK(synfire_context_reclaim(context, nullptr));
    }
    expect_works(context);
  });
}

}  // namespace
}  // namespace synfire_test

#endif
