// A private folder for a compiler, removed with all its contents when the object is destroyed.
#ifndef SYNFIRE_JIT_TEMPORARY_FOLDER_HPP
#define SYNFIRE_JIT_TEMPORARY_FOLDER_HPP

#include <string>

namespace synfire::jit {

class TemporaryFolder {
 public:
  // Made in TMPDIR, else /tmp, with mode 0700. Throws SYN-MODEL-FILES.
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::string& path() const noexcept { return path_; }
  std::string operator/(const char* name) const { return path_ + "/" + name; }
  // Both throw SYN-MODEL-FILES.
  void write(const char* name, const std::string& bytes) const;
  std::string read(const char* name) const;

 private:
  std::string path_;
};

}  // namespace synfire::jit

#endif
