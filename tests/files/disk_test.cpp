// Files on the disk: they are replaced as a whole or not at all, whatever fails, and what is not a file is refused. The
// linker puts the functions at the end of "Failing calls" in place of the system's (--wrap).
#include "support.hpp"

#include <files/file_io.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

// ---- Failing calls --------------------------------------------------------------------------------------------------

namespace {

thread_local long calls_left = -1;     // until one fails; negative: none does
thread_local bool interrupts = false;  // every second call is interrupted, and at most 3 bytes are moved
thread_local bool ends_early = false;  // reading finds the end
thread_local unsigned n_calls = 0;

bool call_fails() {
  if (calls_left >= 0 && calls_left-- == 0) {
    errno = EIO;
    return true;
  }
  if (interrupts && ++n_calls % 2 == 1) {
    errno = EINTR;
    return true;
  }
  return false;
}

size_t moved(size_t bytes) {
  return interrupts ? std::min<size_t>(bytes, 3) : bytes;
}

}  // namespace

// The names that the linker's option gives. NOLINTBEGIN(clang-diagnostic-reserved-identifier)
extern "C" {
int __real_open(const char* path, int flags, ...);
int __real_fstat(int file, struct stat* status);
ssize_t __real_read(int file, void* to, size_t bytes);
ssize_t __real_write(int file, const void* from, size_t bytes);
int __real_fsync(int file);
int __real_rename(const char* from, const char* to);

int __wrap_open(const char* path, int flags, mode_t mode) {
  return call_fails() ? -1 : __real_open(path, flags, mode);
}
int __wrap_fstat(int file, struct stat* status) {
  return !interrupts && call_fails() ? -1 : __real_fstat(file, status);  // signals do not interrupt it
}
ssize_t __wrap_read(int file, void* to, size_t bytes) {
  if (ends_early) return 0;
  return call_fails() ? -1 : __real_read(file, to, moved(bytes));
}
ssize_t __wrap_write(int file, const void* from, size_t bytes) {
  return call_fails() ? -1 : __real_write(file, from, moved(bytes));
}
int __wrap_fsync(int file) {
  return call_fails() ? -1 : __real_fsync(file);
}
int __wrap_rename(const char* from, const char* to) {
  return !interrupts && call_fails() ? -1 : __real_rename(from, to);
}
}
// NOLINTEND(clang-diagnostic-reserved-identifier)

namespace synfire::files {
namespace {

namespace fs = std::filesystem;

// ---- A folder of its own for each test ------------------------------------------------------------------------------

class FilesOnDisk : public testing::Test {
 protected:
  FilesOnDisk() {
    std::string pattern = testing::TempDir() + "synfire files \xC3\xA9\xE2\x82\xAC XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    for (int i = 0; i < 100; ++i) values_.push_back(static_cast<float>(i));
    writer_.add("w", Dtype::f32, Shape{4, 25}, bytes_of_values(values_));
    writer_.add_filled("filled", Dtype::u8, Shape{3},
                       [](std::span<std::byte> to) { std::ranges::fill(to, std::byte{9}); });
    writer_.set_metadata("format", "synfire");
  }
  ~FilesOnDisk() override { fs::remove_all(folder_); }

  std::string path(const std::string& name = "model.safetensors") const { return (folder_ / name).string(); }
  static void put(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }
  static std::string text_at(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string written() const {
    const Bytes bytes = writer_.bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  size_t n_files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  testing::AssertionResult refuses_to_write(const std::string& path, std::initializer_list<std::string_view> words) {
    return refuses("[SYN-FILE-WRITE]", words, [&] { writer_.write_file(path.c_str()); });
  }
  static testing::AssertionResult refuses_to_open(const std::string& path,
                                                  std::initializer_list<std::string_view> words) {
    return refuses("[SYN-FILE-OPEN]", words, [&] { SafetensorsFile::from_file(path.c_str()); });
  }

  fs::path folder_;
  std::vector<float> values_;
  SafetensorsWriter writer_;
};

// Runs as a user whom permissions bind: root, for whom they do not, becomes nobody meanwhile. False if that is refused.
bool as_bound_user(const std::function<void()>& run) {
  constexpr uid_t nobody = 65534;
  if (::geteuid() != 0) {
    run();
    return true;
  }
  if (::seteuid(nobody) != 0) return false;
  run();
  return ::seteuid(0) == 0;
}

// ---- Written, replaced, read ----------------------------------------------------------------------------------------

TEST_F(FilesOnDisk, AreTheBytesThatMemoryGets) {
  writer_.write_file(path().c_str());
  EXPECT_EQ(text_at(path()), written());
  EXPECT_EQ(n_files(), 1u);
  SafetensorsFile read = SafetensorsFile::from_file(path().c_str());
  fs::remove(path());
  const SafetensorsFile moved = std::move(read);
  const auto bytes = moved.bytes("w", Dtype::f32, Shape{4, 25});
  EXPECT_TRUE(std::ranges::equal(bytes, bytes_of_values(values_))) << "the file is not needed any more";
  EXPECT_EQ(moved.metadata().at("format"), "synfire");
}

TEST_F(FilesOnDisk, WithoutTensorsOrInTheCurrentFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  SafetensorsWriter().write_file("empty file");
  fs::current_path(before);
  EXPECT_EQ(n_files(), 1u);
  EXPECT_TRUE(SafetensorsFile::from_file(path("empty file").c_str()).tensors().empty());
}

TEST_F(FilesOnDisk, TakeThePlaceOfAnotherWithItsPermissions) {
  put(path(), std::string(100'000, 'o'));
  ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
  writer_.write_file(path().c_str());
  EXPECT_EQ(text_at(path()), written());
  EXPECT_EQ(n_files(), 1u);
  struct stat status = {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(FilesOnDisk, ASymbolicLinkStaysOne) {
  fs::create_directory(folder_ / "run");
  put(path("run/model"), "old");
  fs::create_symlink("run/model", folder_ / "latest");
  writer_.write_file(path("latest").c_str());
  EXPECT_TRUE(fs::is_symlink(folder_ / "latest"));
  EXPECT_EQ(text_at(path("run/model")), written());
  EXPECT_EQ(SafetensorsFile::from_file(path("latest").c_str()).tensors().size(), 2u);
}

TEST_F(FilesOnDisk, ASymbolicLinkToNothingYetStaysOne) {
  fs::create_directory(folder_ / "run");
  fs::create_symlink("run/next", folder_ / "latest");
  fs::create_symlink(path("run/model"), folder_ / "run/next");
  for (int i = 0; i < 2; ++i) {  // made, then replaced
    writer_.write_file(path("latest").c_str());
    EXPECT_TRUE(fs::is_symlink(folder_ / "latest"));
    EXPECT_TRUE(fs::is_symlink(folder_ / "run/next"));
    EXPECT_FALSE(fs::is_symlink(folder_ / "run/model"));
    EXPECT_EQ(text_at(path("run/model")), written());
  }
  const fs::path before = fs::current_path();
  fs::current_path(folder_ / "run");
  fs::create_symlink("here", "link");
  writer_.write_file("link");
  fs::current_path(before);
  EXPECT_TRUE(fs::is_symlink(folder_ / "run/link"));
  EXPECT_EQ(text_at(path("run/here")), written());

  fs::create_symlink("nowhere/model", folder_ / "lost");
  EXPECT_TRUE(refuses_to_write(path("lost"), {"lost", "No such file"}));
  fs::create_symlink("circle", folder_ / "circle");
  EXPECT_TRUE(refuses_to_write(path("circle"), {"circle", "levels of symbolic links"}));
  EXPECT_TRUE(fs::is_symlink(folder_ / "lost") && fs::is_symlink(folder_ / "circle"));
  EXPECT_EQ(n_files(), 4u);
}

TEST_F(FilesOnDisk, TheLongestNameThatTheSystemAllows) {
  const std::string name(255, 'n');
  writer_.write_file(path(name).c_str());
  EXPECT_EQ(text_at(path(name)), written());
  EXPECT_TRUE(refuses_to_write(path(name + "n"), {"cannot be "}));
  EXPECT_EQ(n_files(), 1u);
}

TEST_F(FilesOnDisk, AreWholeAtAnyTime) {
  writer_.write_file(path().c_str());
  const std::string expected = written();
  std::atomic<int> at_work{2};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) writer_.write_file(path().c_str());
      --at_work;
    });
  while (at_work > 0) ASSERT_EQ(text_at(path()), expected);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(n_files(), 1u);
}

// ---- What is not a file ---------------------------------------------------------------------------------------------

TEST_F(FilesOnDisk, WhatCannotBeOpened) {
  EXPECT_TRUE(refuses_to_open(path(), {"model.safetensors", "No such file"}));
  EXPECT_TRUE(refuses_to_open("", {"No such file"}));
  EXPECT_TRUE(refuses_to_open(folder_.string(), {"regular file"}));
  EXPECT_TRUE(refuses_to_open("/dev/zero", {"/dev/zero", "regular file"}));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0666), 0);
  EXPECT_TRUE(refuses_to_open(path("pipe"), {"regular file"})) << "and nobody waits for a writer";
  EXPECT_TRUE(refuses_to_open(path(std::string(5000, 'x')), {"...", "too long"}));
}

TEST_F(FilesOnDisk, WhatCannotBeReplaced) {
  EXPECT_TRUE(refuses_to_write("", {"cannot be "}));
  EXPECT_TRUE(refuses_to_write(path("missing/model"), {"No such file"}));
  EXPECT_TRUE(refuses_to_write(folder_.string(), {"regular file"}));
  EXPECT_TRUE(refuses_to_write(path("model/"), {"model/"}));
  EXPECT_TRUE(refuses_to_write("/dev/full", {"/dev/full", "regular file"}));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_EQ(n_files(), 0u);
  put(path(), "old");
  EXPECT_TRUE(refuses_to_write(path("model.safetensors/model"), {"Not a directory"}));
  EXPECT_EQ(text_at(path()), "old");
}

TEST_F(FilesOnDisk, WithoutPermission) {
  put(path(), "old");
  put(path("secret"), "secret");
  ASSERT_EQ(::chmod(path().c_str(), 0444), 0);
  ASSERT_EQ(::chmod(path("secret").c_str(), 0), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  const bool bound = as_bound_user([&] {
    EXPECT_TRUE(refuses_to_write(path(), {"Permission denied"})) << "a protected file";
    EXPECT_TRUE(refuses_to_open(path("secret"), {"Permission denied"}));
    EXPECT_EQ(n_files(), 2u);
  });
  if (!bound) GTEST_SKIP() << "this process cannot give up its rights";
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  as_bound_user([&] { EXPECT_TRUE(refuses_to_write(path("new"), {"Permission denied", "temporary"})); });
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_EQ(text_at(path()), "old");
  EXPECT_EQ(n_files(), 2u);
}

// ---- Failures half way ----------------------------------------------------------------------------------------------

TEST_F(FilesOnDisk, AFullDiskLeavesTheOldFile) {
  put(path(), "old");
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const size_t whole = written().size();
  sigset_t blocked, blocked_before;
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &blocked_before), 0);
  ASSERT_EQ(::sigismember(&blocked_before, SIGXFSZ), 0);
  for (size_t limit = 0; limit < whole; limit += 50) {
    rlimit limited = before;
    limited.rlim_cur = limit;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
    const auto refused = refuses_to_write(path(), {"model.safetensors", "File too large"});
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_TRUE(refused) << limit;
    EXPECT_EQ(text_at(path()), "old");
    EXPECT_EQ(n_files(), 1u);
  }
  // The signal that such a write raises has ended nothing, and is as before.
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &blocked), 0);
  EXPECT_EQ(::sigismember(&blocked, SIGXFSZ), 0);
  EXPECT_EQ(std::signal(SIGXFSZ, SIG_DFL), SIG_DFL);
}

// A signal that was pending before the write stays pending.
TEST_F(FilesOnDisk, TheCallersOwnSignalStaysPending) {
  sigset_t size_signal, before, pending;
  ::sigemptyset(&size_signal);
  ::sigaddset(&size_signal, SIGXFSZ);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &size_signal, &before), 0);
  ASSERT_EQ(::pthread_kill(::pthread_self(), SIGXFSZ), 0);
  writer_.write_file(path().c_str());
  ASSERT_EQ(::sigpending(&pending), 0);
  EXPECT_EQ(::sigismember(&pending, SIGXFSZ), 1);
  constexpr timespec at_once = {};
  EXPECT_EQ(::sigtimedwait(&size_signal, nullptr, &at_once), SIGXFSZ);
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  EXPECT_EQ(text_at(path()), written());
}

TEST_F(FilesOnDisk, EachFailingCallLeavesTheOldFile) {
  long n_refused = 0;
  bool failed = true;
  for (long n = 0; failed; ++n) {
    put(path(), "old");
    bool refused = false;
    calls_left = n;
    try {
      writer_.write_file(path().c_str());
    } catch (const core::Failure& failure) {
      refused = true;
      EXPECT_STREQ(failure.rule, "SYN-FILE-WRITE");
      EXPECT_NE(failure.text.find("Input/output error"), std::string::npos) << failure.text;
    }
    failed = calls_left < 0;
    calls_left = -1;
    n_refused += refused ? 1 : 0;
    EXPECT_EQ(text_at(path()), refused ? "old" : written()) << "call " << n;
    EXPECT_EQ(n_files(), 1u) << "call " << n;
  }
  EXPECT_EQ(n_refused, 6) << "open, 3 times write, fsync, rename; not the two calls after it, about the folder";
}

// Shards are all on the disk before the first one is renamed. If a renaming fails, it is known that they do not belong
// together.
TEST_F(FilesOnDisk, EachFailingCallOfShardsLeavesTheOldOnesOrIsSeen) {
  const std::string index = path("model.safetensors.index.json");
  SafetensorsWriter other;
  other.add("w", Dtype::f32, Shape{4, 25}, bytes_of_values(values_));
  other.add("filled", Dtype::u8, Shape{3}, std::as_bytes(std::span("new", 3)));
  long n_refused = 0, n_mixed = 0;
  bool failed = true;
  for (long n = 0; failed; ++n) {
    ASSERT_EQ(other.write_shards(path().c_str(), 400), 2u);
    bool refused = false, is_mixed = false;
    calls_left = n;
    try {
      EXPECT_EQ(writer_.write_shards(path().c_str(), 400), 2u);
    } catch (const core::Failure& failure) {
      refused = true;
      EXPECT_STREQ(failure.rule, "SYN-FILE-WRITE");
    }
    failed = calls_left < 0;
    calls_left = -1;
    n_refused += refused ? 1 : 0;
    EXPECT_EQ(n_files(), 3u) << "call " << n;
    try {
      const SafetensorsFile read = SafetensorsFile::from_shards(index.c_str());
      EXPECT_EQ(read.tensors().size(), 2u);
      EXPECT_EQ(read.bytes("filled", Dtype::u8, Shape{3}).front(), refused ? std::byte{'n'} : std::byte{9});
    } catch (const core::Failure& failure) {
      is_mixed = true;
      EXPECT_STREQ(failure.rule, "SYN-FILE-SHARD");
    }
    EXPECT_TRUE(refused || !is_mixed) << "call " << n;
    n_mixed += is_mixed ? 1 : 0;
  }
  EXPECT_EQ(n_mixed, 2) << "the second shard or the index was not renamed";
  EXPECT_GE(n_refused, 3 * 4) << "of each file: open, write, fsync, rename";
}

TEST_F(FilesOnDisk, PlacesOfAFileAreReadByAnyThread) {
  put(path(), "0123456789");
  const InputFile file(path().c_str());
  char read[4] = {};
  file.read_at(3, std::as_writable_bytes(std::span(read)));
  EXPECT_EQ(std::string_view(read, 4), "3456");
  EXPECT_TRUE(refuses("[SYN-FILE-READ]", {"shorter than its 10"},
                      [&] { file.read_at(8, std::as_writable_bytes(std::span(read))); }));
}

TEST_F(FilesOnDisk, EachFailingCallOfReadingIsReported) {
  writer_.write_file(path().c_str());
  for (long n = 0; n < 5; ++n) {
    calls_left = n;
    const char* const rule = n < 2 ? "[SYN-FILE-OPEN]" : "[SYN-FILE-READ]";
    const auto refused = refuses(rule, {"Input/output error"}, [&] { SafetensorsFile::from_file(path().c_str()); });
    EXPECT_TRUE(refused) << "open, fstat, 3 times read: call " << n;
  }
  calls_left = 5;
  SafetensorsFile::from_file(path().c_str());
  EXPECT_EQ(calls_left, 0) << "there is no sixth call";
  calls_left = -1;
}

TEST_F(FilesOnDisk, InterruptedCallsGoOn) {
  interrupts = true;
  writer_.write_file(path().c_str());
  const size_t n_tensors = SafetensorsFile::from_file(path().c_str()).tensors().size();
  interrupts = false;
  EXPECT_EQ(n_tensors, 2u);
  EXPECT_EQ(text_at(path()), written());
}

TEST_F(FilesOnDisk, AFileThatBecomesShorterIsRefused) {
  writer_.write_file(path().c_str());
  ends_early = true;
  const auto refused = refuses("[SYN-FILE-READ]", {"shorter than its " + std::to_string(writer_.size())},
                               [&] { SafetensorsFile::from_file(path().c_str()); });
  ends_early = false;
  EXPECT_TRUE(refused);
}

TEST_F(FilesOnDisk, AFillThatFailsLeavesTheOldFile) {
  put(path(), "old");
  writer_.add_filled("failing", Dtype::u8, Shape{1}, [](std::span<std::byte>) { throw 7; });
  EXPECT_THROW(writer_.write_file(path().c_str()), int);
  EXPECT_EQ(text_at(path()), "old");
  EXPECT_EQ(n_files(), 1u);
}

// Files that a killed process leaves behind hinder nobody.
TEST_F(FilesOnDisk, AProcessKilledHalfWayLeavesTheOldFile) {
  put(path(), "old");
  writer_.add_filled("deadly", Dtype::u8, Shape{1}, [](std::span<std::byte>) { ::raise(SIGKILL); });
  const pid_t child = ::fork();
  if (child == 0) {
    writer_.write_file(path().c_str());
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(text_at(path()), "old");
  EXPECT_EQ(n_files(), 2u) << "its temporary file";
  fs::create_symlink(path(), path(".synfire-" + std::to_string(::getpid()) + "-0.tmp"));
  put(path(".synfire-" + std::to_string(::getpid()) + "-1.tmp"), "left");
  const SafetensorsWriter empty;
  empty.write_file(path().c_str());
  EXPECT_EQ(SafetensorsFile::from_file(path().c_str()).tensors().size(), 0u);
  EXPECT_EQ(text_at(path(".synfire-" + std::to_string(::getpid()) + "-1.tmp")), "left");
  EXPECT_EQ(n_files(), 4u);
}

// ---- Sizes ----------------------------------------------------------------------------------------------------------

// Files with holes, which claim more than any machine has.
TEST_F(FilesOnDisk, HugeFilesAreRefusedBeforeTheyAreRead) {
  constexpr uint64_t huge = uint64_t{1} << 42;
  const auto make = [&](const char* name, const std::string& start) {
    put(path(name), start);
    return ::truncate(path(name).c_str(), static_cast<off_t>(huge)) == 0;
  };
  const uint64_t length = 90'000'000;
  if (!make("zeros", "") || !make("header", std::string(reinterpret_cast<const char*>(&length), 8)))
    GTEST_SKIP() << "this file system has no files of 4 TiB";
  EXPECT_TRUE(refuses("[SYN-FILE-LENGTH]", {"0 bytes"}, [&] { SafetensorsFile::from_file(path("zeros").c_str()); }));
  EXPECT_TRUE(refuses("[SYN-FILE-JSON]", {"'{'"}, [&] { SafetensorsFile::from_file(path("header").c_str()); }));
  std::string header(128, ' ');
  const std::string size = std::to_string(huge - 8 - header.size());
  const std::string entry = R"({"w":{"dtype":"U8","shape":[)" + size + R"(],"data_offsets":[0,)" + size + "]}}";
  header.replace(0, entry.size(), entry);
  ASSERT_TRUE(make("whole", laid_out(header, "")));
  try {
    SafetensorsFile::from_file(path("whole").c_str());
    FAIL() << "a machine with " << huge << " bytes of memory";
  } catch (const core::Failure& failure) {
    EXPECT_EQ(failure.status, SYNFIRE_ERROR_OUT_OF_MEMORY) << failure.text;
  }
}

}  // namespace
}  // namespace synfire::files
