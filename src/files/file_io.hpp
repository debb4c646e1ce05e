// The operating system's part of reading and writing whole files: file_io_posix.cpp and file_io_windows.cpp. Nothing
// else in this room calls a system.
#ifndef SYNFIRE_FILES_FILE_IO_HPP
#define SYNFIRE_FILES_FILE_IO_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace synfire::files {

// A file that is read from its start, or anywhere. Paths are UTF-8. Throws SYN-FILE-OPEN or SYN-FILE-READ.
class InputFile {
 public:
  explicit InputFile(const char* path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  uint64_t size() const noexcept { return size_; }  // when it was opened
  void read(std::span<std::byte> to);
  // Any number of threads may call it at once.
  void read_at(uint64_t offset, std::span<std::byte> to) const;

 private:
  [[noreturn]] void fail_shorter() const;

  std::string path_;
  intptr_t file_ = -1;
  uint64_t size_ = 0;
};

// A file that replaces the one at `path`, if any, with commit(). Until then its bytes are in a temporary file in the
// same folder, ".synfire-PROCESS-NUMBER.tmp", which the destructor removes. The number is `first`, or a later one where
// files of these names are there. Throws SYN-FILE-WRITE.
class ReplacementFile {
 public:
  explicit ReplacementFile(const char* path, int first = 0);
  ReplacementFile(const ReplacementFile&) = delete;
  ReplacementFile& operator=(const ReplacementFile&) = delete;
  ~ReplacementFile();

  void write(std::span<const std::byte> bytes);
  // Flushes the new file to the disk and closes it.
  void finish();
  // Finishes the new file before renaming it, so a power loss leaves either the old file or the new one.
  void commit();

 private:
  std::string path_, target_, temporary_;  // as given; without symbolic links; empty if there is none
  intptr_t file_ = -1;
};

}  // namespace synfire::files

#endif
