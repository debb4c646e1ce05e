#include "temporary_folder.hpp"

#include <base/error.hpp>
#include <base/text.hpp>
#include <files/file_io.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

namespace synfire::jit {
namespace {

namespace fs = std::filesystem;

// Turns a failure into one of this room.
template <class Body>
void as_own_failure(Body body) {
  try {
    body();
  } catch (core::Failure& failure) {
    failure.rule = "SYN-MODEL-FILES";
    failure.text = "compiling needs temporary files: " + failure.text;
    throw;
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  const char* const given = std::getenv("TMPDIR");
  std::string name = std::string(given && *given == '/' ? given : "/tmp") + "/synfire-XXXXXX";
#if defined(_WIN32)
  const bool made = false;
  errno = ENOSYS;
#else
  const bool made = ::mkdtemp(name.data()) != nullptr;  // with mode 0700
#endif
  if (!made)
    core::fail_argument("SYN-MODEL-FILES", "compiling needs a temporary folder %s, which cannot be made: %s",
                        core::quoted(name, 300).c_str(), std::generic_category().message(errno).c_str());
  path_ = std::move(name);
}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void TemporaryFolder::write(const char* name, const std::string& bytes) const {
  as_own_failure([&] {
    files::ReplacementFile file((*this / name).c_str());
    file.write(std::as_bytes(std::span(bytes.data(), bytes.size())));
    file.commit();
  });
}

std::string TemporaryFolder::read(const char* name) const {
  std::string bytes;
  as_own_failure([&] {
    files::InputFile file((*this / name).c_str());
    bytes.resize(file.size());
    file.read(std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
  });
  return bytes;
}

}  // namespace synfire::jit
