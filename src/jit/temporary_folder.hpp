// A private folder for a compiler, with everything that it leaves there; gone with the object.
#ifndef SYNFIRE_JIT_TEMPORARY_FOLDER_HPP
#define SYNFIRE_JIT_TEMPORARY_FOLDER_HPP

#include <string>

namespace synfire::jit {

class TemporaryFolder {
 public:
  // In TMPDIR, else /tmp; mode 0700. Throws a Failure: SYN-MODEL-FILES.
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::string& path() const noexcept { return path_; }
  std::string operator/(const char* name) const { return path_ + "/" + name; }
  // Both throw a Failure: SYN-MODEL-FILES.
  void write(const char* name, const std::string& bytes) const;
  std::string read(const char* name) const;

 private:
  std::string path_;
};

}  // namespace synfire::jit

#endif
