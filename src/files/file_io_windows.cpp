#include "file_io.hpp"

#include <base/error.hpp>
#include <base/text.hpp>

#include <windows.h>

#include <algorithm>
#include <memory>
#include <type_traits>

namespace synfire::files {
namespace {

constexpr size_t most_bytes = size_t{1} << 30;  // in one call, which counts in 32 bits

std::string shown_path(const std::string& path) {
  return core::quoted(path, 400);
}

// Returns the error's text in English and UTF-8, whatever the language of the system.
std::string text_of(DWORD error) {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
      return "No such file or directory";
    case ERROR_ACCESS_DENIED:
      return "Permission denied";
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
      return "Another program uses it";
    case ERROR_WRITE_PROTECT:
      return "The medium is protected from writing";
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return "No space left on device";
    case ERROR_INVALID_NAME:
      return "Not a name of a file";
    case ERROR_NO_UNICODE_TRANSLATION:
      return "The name is not UTF-8";
    default:
      return "Windows error " + std::to_string(error);
  }
}

[[noreturn]] void fail_system(const char* rule, const std::string& path, const char* what, DWORD error) {
  core::fail_argument(rule, "%s cannot be %s: %s", shown_path(path).c_str(), what, text_of(error).c_str());
}

[[noreturn]] void fail_kind(const char* rule, const std::string& path) {
  core::fail_argument(rule, "%s is a folder or a device; a regular file is needed", shown_path(path).c_str());
}

// Returns an empty text, with the system's last error set, if the text is not UTF-8.
std::wstring wide(const std::string& text) {
  const int bytes = static_cast<int>(std::min<size_t>(text.size(), 0x7FFFFFFF));
  const int n = bytes ? MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), bytes, nullptr, 0) : 0;
  if (n <= 0) return {};
  std::wstring result(static_cast<size_t>(n), L'\0');
  MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), bytes, result.data(), n);
  return result;
}

// An absolute path in the form without the limit of 260 characters. Throws under `rule`.
std::wstring system_path(const char* rule, const std::string& path, const char* what) {
  SetLastError(ERROR_INVALID_NAME);
  const std::wstring given = wide(path);
  if (given.empty()) fail_system(rule, path, what, GetLastError());
  if (given.starts_with(L"\\\\?\\") || given.starts_with(L"\\\\.\\")) return given;
  std::wstring full(MAX_PATH, L'\0');
  for (;;) {
    const DWORD n = GetFullPathNameW(given.c_str(), static_cast<DWORD>(full.size()), full.data(), nullptr);
    if (n == 0) fail_system(rule, path, what, GetLastError());
    const bool fits = n < full.size();
    full.resize(n);
    if (fits) break;
  }
  if (full.starts_with(L"\\\\.\\")) return full;  // a device
  return full.starts_with(L"\\\\") ? L"\\\\?\\UNC\\" + full.substr(2) : L"\\\\?\\" + full;
}

struct Closed {
  void operator()(HANDLE file) const noexcept { CloseHandle(file); }
};
using File = std::unique_ptr<std::remove_pointer_t<HANDLE>, Closed>;

File opened(const std::wstring& path, DWORD access, DWORD how, DWORD flags) {
  constexpr DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  const HANDLE file = CreateFileW(path.c_str(), access, shared, nullptr, how, flags, nullptr);
  return File(file == INVALID_HANDLE_VALUE ? nullptr : file);
}

bool is_regular(HANDLE file) {
  FILE_ATTRIBUTE_TAG_INFO info = {};
  return GetFileType(file) == FILE_TYPE_DISK &&
         GetFileInformationByHandleEx(file, FileAttributeTagInfo, &info, sizeof info) &&
         (info.FileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
}

// True if the path itself, not its target, is a symbolic link or another reparse point.
bool is_link(const std::wstring& path) noexcept {
  const DWORD attributes = GetFileAttributesW(path.c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
}

HANDLE handle_of(intptr_t file) noexcept {
  return reinterpret_cast<HANDLE>(file);
}

void close_file(intptr_t file) noexcept {
  if (file != -1) CloseHandle(handle_of(file));
}

// These members are UTF-8 on every system.
std::string narrow(const std::wstring& text) {
  const int length = static_cast<int>(text.size());
  const int n = WideCharToMultiByte(CP_UTF8, 0, text.data(), length, nullptr, 0, nullptr, nullptr);
  std::string result(static_cast<size_t>(std::max(n, 0)), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text.data(), length, result.data(), n, nullptr, nullptr);
  return result;
}

}  // namespace

InputFile::InputFile(const char* path) : path_(path) {
  const std::wstring name = system_path("SYN-FILE-OPEN", path_, "opened");
  // A folder opens with this flag only, and is then recognised.
  File file = opened(name, GENERIC_READ, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
  if (!file) fail_system("SYN-FILE-OPEN", path_, "opened", GetLastError());
  if (!is_regular(file.get())) fail_kind("SYN-FILE-OPEN", path_);
  LARGE_INTEGER size = {};
  if (!GetFileSizeEx(file.get(), &size)) fail_system("SYN-FILE-OPEN", path_, "opened", GetLastError());
  size_ = static_cast<uint64_t>(size.QuadPart);
  file_ = reinterpret_cast<intptr_t>(file.release());
}

InputFile::~InputFile() {
  close_file(file_);
}

void InputFile::read(std::span<std::byte> to) {
  while (!to.empty()) {
    DWORD n_read = 0;
    if (!ReadFile(handle_of(file_), to.data(), static_cast<DWORD>(std::min(to.size(), most_bytes)), &n_read, nullptr))
      fail_system("SYN-FILE-READ", path_, "read", GetLastError());
    if (n_read == 0) fail_shorter();
    to = to.subspan(n_read);
  }
}

void InputFile::read_at(uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    OVERLAPPED place = {};  // of a file that is not opened for it: where to read, and the call returns when it has
    place.Offset = static_cast<DWORD>(offset);
    place.OffsetHigh = static_cast<DWORD>(offset >> 32);
    DWORD n_read = 0;
    if (!ReadFile(handle_of(file_), to.data(), static_cast<DWORD>(std::min(to.size(), most_bytes)), &n_read, &place) &&
        GetLastError() != ERROR_HANDLE_EOF)
      fail_system("SYN-FILE-READ", path_, "read", GetLastError());
    if (n_read == 0) fail_shorter();
    offset += n_read;
    to = to.subspan(n_read);
  }
}

void InputFile::fail_shorter() const {
  core::fail_argument("SYN-FILE-READ", "%s became shorter than its %llu bytes while it was read",
                      shown_path(path_).c_str(), static_cast<unsigned long long>(size_));
}

ReplacementFile::ReplacementFile(const char* path, int first) : path_(path) {
  std::wstring target = system_path("SYN-FILE-WRITE", path_, "written");
  if (const File old = opened(target, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS)) {
    if (!is_regular(old.get())) fail_kind("SYN-FILE-WRITE", path_);
    // The target of a symbolic link is replaced, not the link.
    std::wstring resolved(MAX_PATH, L'\0');
    for (;;) {
      const DWORD n = GetFinalPathNameByHandleW(old.get(), resolved.data(), static_cast<DWORD>(resolved.size()), 0);
      const bool fits = n < resolved.size();
      resolved.resize(n);
      if (fits) break;
    }
    if (!resolved.empty()) target = resolved;
    // Renaming would replace a file that is protected from writing.
    if (const File writable = opened(target, GENERIC_WRITE, OPEN_EXISTING, 0); !writable)
      fail_system("SYN-FILE-WRITE", path_, "written", GetLastError());
  } else if (is_link(target)) {
    core::fail_argument("SYN-FILE-WRITE", "%s is a link whose target does not exist; make a file there first",
                        shown_path(path_).c_str());
  }
  const std::wstring folder = target.substr(0, target.find_last_of(L"\\/") + 1);
  constexpr int most_tries = 1000;  // files that earlier processes of this number left when they were killed
  for (int i = 0; file_ == -1; ++i) {
    const std::wstring name =
        folder + L".synfire-" + std::to_wstring(GetCurrentProcessId()) + L"-" + std::to_wstring(first + i) + L".tmp";
    temporary_ = narrow(name);
    if (File file = opened(name, GENERIC_WRITE, CREATE_NEW, FILE_ATTRIBUTE_NORMAL)) {
      file_ = reinterpret_cast<intptr_t>(file.release());
    } else if (const DWORD error = GetLastError(); error != ERROR_FILE_EXISTS || i == most_tries) {
      fail_system("SYN-FILE-WRITE", path_, "written, because its folder takes no temporary file", error);
    }
  }
  target_ = narrow(target);
}

ReplacementFile::~ReplacementFile() {
  close_file(file_);
  if (temporary_.empty()) return;
  try {
    DeleteFileW(wide(temporary_).c_str());
  } catch (...) {
    // No memory for the name: the file stays, and later ones avoid it.
  }
}

void ReplacementFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    DWORD written = 0;
    if (!WriteFile(handle_of(file_), bytes.data(), static_cast<DWORD>(std::min(bytes.size(), most_bytes)), &written,
                   nullptr))
      fail_system("SYN-FILE-WRITE", path_, "written", GetLastError());
    if (written == 0) fail_system("SYN-FILE-WRITE", path_, "written", ERROR_DISK_FULL);
    bytes = bytes.subspan(written);
  }
}

void ReplacementFile::finish() {
  if (file_ == -1) return;
  if (!FlushFileBuffers(handle_of(file_))) fail_system("SYN-FILE-WRITE", path_, "written", GetLastError());
  close_file(file_);
  file_ = -1;
}

// The new file gets its folder's access rights. ReplaceFileW() would keep the old file's, but can fail when half done.
void ReplacementFile::commit() {
  finish();  // an open file cannot be renamed
  const std::wstring from = wide(temporary_), to = wide(target_);
  if (!MoveFileExW(from.c_str(), to.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
    fail_system("SYN-FILE-WRITE", path_, "replaced", GetLastError());
  temporary_.clear();
}

}  // namespace synfire::files
