// What reading and writing whole files needs of an operating system. file_io_posix.cpp has it for POSIX; nothing else
// in this room calls a system.
#ifndef SYNFIRE_FILES_FILE_IO_HPP
#define SYNFIRE_FILES_FILE_IO_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace synfire::files {

// A file that is read from its start. Paths are UTF-8. Throws a Failure: SYN-FILE-OPEN, SYN-FILE-READ.
class InputFile {
 public:
  explicit InputFile(const char* path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  uint64_t size() const noexcept { return size_; }  // when it was opened
  // The next bytes, all of them.
  void read(std::span<std::byte> to);

 private:
  std::string path_;
  intptr_t file_ = -1;
  uint64_t size_ = 0;
};

// A file that takes the place of the one at `path`, or of none, with commit(). Until then its bytes are in a temporary
// file in the same folder, named ".synfire-PROCESS-NUMBER.tmp", which the destructor removes. Throws a Failure:
// SYN-FILE-WRITE.
class ReplacementFile {
 public:
  explicit ReplacementFile(const char* path);
  ReplacementFile(const ReplacementFile&) = delete;
  ReplacementFile& operator=(const ReplacementFile&) = delete;
  ~ReplacementFile();

  void write(std::span<const std::byte> bytes);
  // On the disk before it takes the place, so that a loss of power leaves the old file or the new one.
  void commit();

 private:
  std::string path_, target_, temporary_;  // as given; without symbolic links; empty if there is none
  intptr_t file_ = -1;
};

}  // namespace synfire::files

#endif
