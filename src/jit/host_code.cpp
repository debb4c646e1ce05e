#include "host_code.hpp"

#include "embedded.hpp"

#include "process.hpp"
#include "temporary_folder.hpp"

#include <backends/host/level.hpp>
#include <base/error.hpp>
#include <base/text.hpp>

#if !defined(_WIN32)
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <system_error>

namespace synfire::jit {
namespace {

using core::fail;

constexpr const char* source_name = "model.cpp";
constexpr const char* object_name = "model.so";

#if !defined(_WIN32)

// ---- the compiler ---------------------------------------------------------------------------------------------------

std::string compiler() {
  if (const char* const given = std::getenv("SYNFIRE_CXX"); given && *given) {
    std::string found = find_program(given);
    if (found.empty())
      fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-MODEL-COMPILER",
           "the environment variable SYNFIRE_CXX is %s, which is not a program that can be run",
           core::quoted(given, 300).c_str());
    return found;
  }
  for (const char* const name : {"c++", "g++", "clang++"})
    if (std::string found = find_program(name); !found.empty()) return found;
  fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-MODEL-COMPILER",
       "models are compiled for the host by a C++ compiler, and there is none in PATH (c++, g++, clang++); install g++ "
       "12 or clang 14 or newer (Debian and Ubuntu: apt-get install g++), or name one in the environment variable "
       "SYNFIRE_CXX");
}

// As in src/CMakeLists.txt for the kernels of this level.
std::vector<std::string> options(HostParts parts) {
  std::vector<std::string> all = {"-std=c++20",
                                  parts == HostParts::formula ? "-O1" : "-O3",
                                  "-fPIC",
                                  "-shared",
                                  "-w",
                                  "-ffp-contract=off",
                                  "-fno-math-errno",
                                  "-fno-trapping-math",
                                  "-fvisibility=hidden",
                                  "-fvisibility-inlines-hidden",
                                  "-Wl,--as-needed",
                                  "-DSYNFIRE_LOADED=1",
                                  "-DSYNFIRE_MODEL_LEVEL=loaded"};
  if (host::level() == host::Level::avx2) all.insert(all.end(), {"-march=x86-64-v3"});
  if (host::level() == host::Level::avx512) all.insert(all.end(), {"-march=x86-64-v4", "-mprefer-vector-width=512"});
  return all;
}

Source source_of(const ModelText& text, HostParts parts) {
  Source source(Source::Marks::lines, Source::Standard::kept);
  give_lists(source, text.kind == TextKind::model ? &text : nullptr,
             text.kind == TextKind::surrogate ? &text : nullptr);
  source.add(parts == HostParts::formula ? "neurons/passes/loaded/loaded_formula.cpp"
                                         : "neurons/passes/loaded/loaded_host.cpp");
  return source;
}

// The key includes the compiler, so that replacing it compiles again.
Key key_of(const std::string& compiler_path, const std::string& source, HostParts parts) {
  Key key = key_of_library();
  key.add("host, with counts of loops");
  key.add(source);
  for (const std::string& option : options(parts)) key.add(option);
  key.add(compiler_path);
  struct stat status = {};
  if (::stat(compiler_path.c_str(), &status) == 0) {
    key.add(static_cast<uint64_t>(status.st_size));
    key.add(static_cast<uint64_t>(status.st_mtime));
  }
  return key;
}

// Runs the compiler in the folder. Throws unless it ends by itself.
ProcessResult run_in(const TemporaryFolder& folder, const std::vector<std::string>& arguments, Progress& progress) {
  ProcessResult result = run_process(arguments, {"LC_ALL=C", "TMPDIR=" + folder.path()}, progress.left(),
                                     [&] { return progress.is_cancelled(); });
  progress.use(result.used);
  if (result.end == ProcessResult::End::out_of_time)
    progress.fail_late(result.idle ? Progress::Late::idle : Progress::Late::at_work);
  if (result.end == ProcessResult::End::cancelled) Progress::fail_cancelled();
  if (result.end == ProcessResult::End::not_started)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-MODEL-COMPILER", "the compiler %s could not be started: %s",
         arguments.front().c_str(), std::generic_category().message(result.code).c_str());
  return result;
}

// True for clang, which has other options; `c++` may be either.
bool is_clang(const std::string& path, const TemporaryFolder& folder, Progress& progress) {
  return run_in(folder, {path, "--version"}, progress).output.find("clang") != std::string::npos;
}

// Compiles in the folder and returns the compiler's output. Throws unless it succeeds.
std::string run_compiler(const std::string& path, HostParts parts, const TemporaryFolder& folder, const ModelText& text,
                         Progress& progress) {
  std::vector<std::string> arguments = {path};
  for (std::string& option : options(parts)) arguments.push_back(std::move(option));
  if (parts == HostParts::formula_and_kernels) {
    // Both report which loops they vectorise. gcc needs the other options for loops of several variables
    // (src/CMakeLists.txt), clang its warnings to print remarks.
    if (is_clang(path, folder, progress)) {
      std::erase(arguments, "-w");
      arguments.insert(arguments.end(), {"-Wno-everything", "-Rpass=loop-vectorize", "-fno-caret-diagnostics"});
    } else {
      arguments.insert(arguments.end(), {"-fno-thread-jumps", "--param=vect-max-version-for-alias-checks=200",
                                         "-fstack-clash-protection", "-fopt-info-vec-optimized"});
    }
  }
  arguments.insert(arguments.end(), {folder / source_name, "-o", folder / object_name});
  const ProcessResult result = run_in(folder, arguments, progress);
  if (result.end != ProcessResult::End::signalled && result.code == 0) return result.output;
  // A program that is not a compiler, or an incomplete one, may fail without output.
  const bool is_silent = result.output.find_first_not_of(" \t\r\n") == std::string::npos;
  const std::string errors = is_silent ? "it printed nothing" : errors_in(result.output, text.known_as);
  if (result.end == ProcessResult::End::signalled)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-MODEL-COMPILER", "the compiler %s was ended by signal %d: %.700s",
         path.c_str(), result.code, errors.c_str());
  if (is_silent || result.output.find("internal compiler error") != std::string::npos || result.code >= 126)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-MODEL-COMPILER", "the compiler %s failed with status %d: %.800s", path.c_str(),
         result.code, errors.c_str());
  throw core::Failure{SYNFIRE_ERROR_INVALID_ARGUMENT, 0, "SYN-MODEL-COMPILE", errors};
}

#endif

}  // namespace

// ---- loading --------------------------------------------------------------------------------------------------------

#if defined(_WIN32)

HostCode::HostCode(const std::string&) {}
HostCode::~HostCode() = default;

#else

namespace {

// A file in memory, so that it can be loaded even if no disk may execute programs; else one in a private folder.
int file_in_memory(const std::string& bytes) {
  const int file = ::memfd_create("synfire-model", MFD_CLOEXEC);
  if (file < 0) return -1;
  for (size_t written = 0; written < bytes.size();) {
    const ssize_t n = ::write(file, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      ::close(file);
      return -1;
    }
    written += static_cast<size_t>(n);
  }
  return file;
}

}  // namespace

HostCode::HostCode(const std::string& object) {
  file_ = file_in_memory(object);
  if (file_ >= 0) library_ = ::dlopen(("/proc/self/fd/" + std::to_string(file_)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) {
    const TemporaryFolder folder;
    folder.write(object_name, object);
    library_ = ::dlopen((folder / object_name).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (library_)
    if (const void* const symbol = ::dlsym(library_, operations::loaded_table_symbol))
      table_ = *static_cast<const operations::LoadedTable* const*>(symbol);
  if (table_ && table_->description->bytes == static_cast<int>(sizeof(model::Description))) return;
  const char* const error = library_ ? "it was made for another version of this library" : ::dlerror();
  const std::string text = error ? error : "unknown";
  const HostCode released = std::move(*this);  // what there is, when this function ends
  fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-MODEL-LOADED", "the compiled text cannot be loaded into this process: %s",
       text.c_str());
}

HostCode::~HostCode() {
  if (library_) ::dlclose(library_);
  if (file_ >= 0) ::close(file_);
}

#endif

HostCode::HostCode(HostCode&& other) noexcept
    : library_(std::exchange(other.library_, nullptr)),
      file_(std::exchange(other.file_, -1)),
      table_(std::exchange(other.table_, nullptr)) {}

HostCode& HostCode::operator=(HostCode&& other) noexcept {
  std::swap(library_, other.library_);
  std::swap(file_, other.file_);
  std::swap(table_, other.table_);
  return *this;
}

// ---- vectorised loops -----------------------------------------------------------------------------------------------

#if !defined(_WIN32)

namespace {

struct Loop {
  const char* path;      // of the file that has it
  const char* function;  // its line there is followed by the loop's
  const char* known_as;
  int n_instances;  // f32 and f64, shared constants and one set per neuron
  TextKind kind;
};
constexpr const char* rows_path = "neurons/passes/host/host_rows.hpp";
constexpr const char* backward_path = "neurons/passes/host/host_backward.cpp";
constexpr Loop known_loops[] = {
    {rows_path, "void forward_row(", "forward", 4, TextKind::model},
    {backward_path, "void adjoint_row(const R* __restrict v,", "backward", 4, TextKind::model},
    {backward_path, "void surrogate_row_of(", "surrogate", 4, TextKind::surrogate}};

// The line of the first `for` after the function's name in the embedded file.
int line_of(std::string_view file, std::string_view function) {
  const size_t at = file.find(function);
  if (at == std::string_view::npos) return 0;
  const size_t loop = file.find("    source", file.find("for (int i = 0;", at)) == std::string_view::npos
                          ? std::string_view::npos
                          : file.find("for (int i = 0;", at);
  if (loop == std::string_view::npos) return 0;
  return 1 + static_cast<int>(std::count(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(loop), '\n'));
}

// Counts the remarks that the loop at this place, "file:line:", was vectorised. If clang cannot find the line of a
// loop, it puts the remark at the function and the line into a note after it. gcc has a remark of its own for the
// remainder loop with shorter vectors: only those of the longest count.
int count_vectorized(const std::string& output, const std::string& place) {
  constexpr std::string_view unknown_place = "could not determine the original source location for ",
                             of_gcc = ": optimized: loop vectorized using ";
  int count = 0;
  long longest = 0;        // bytes of gcc's vectors
  bool elsewhere = false;  // the last remark was at another place
  for (size_t at = 0; at < output.size();) {
    const size_t end = std::min(output.find('\n', at), output.size());
    const std::string_view line = std::string_view(output).substr(at, end - at);
    at = end + 1;
    if (const size_t bytes_at = line.find(of_gcc); bytes_at != std::string_view::npos) {
      if (!line.starts_with(place)) continue;
      const long bytes = std::strtol(line.data() + bytes_at + of_gcc.size(), nullptr, 10);
      if (bytes > longest) count = 0;
      longest = std::max(longest, bytes);
      if (bytes == longest) ++count;
    } else if (line.find(": remark: vectorized loop") != std::string_view::npos) {
      elsewhere = !line.starts_with(place);
      if (!elsewhere) ++count;
    } else if (const size_t note = line.find(unknown_place); note != std::string_view::npos) {
      if (elsewhere && line.substr(note + unknown_place.size()).starts_with(place)) ++count;
      elsewhere = false;
    }
  }
  return count;
}

using LoopCounts = std::array<int32_t, std::size(known_loops)>;

LoopCounts count_loops(const std::string& output) {
  LoopCounts counts = {};
  for (size_t i = 0; i < counts.size(); ++i) {
    const Loop& loop = known_loops[i];
    std::string_view file;
    for (const EmbeddedFile& each : embedded_files())
      if (each.path == loop.path) file = each.text;
    if (const int line = line_of(file, loop.function); line != 0)
      counts[i] = std::min(loop.n_instances,
                           count_vectorized(output, std::string(loop.path) + ":" + std::to_string(line) + ":"));
  }
  return counts;
}

Vectorized described(const LoopCounts& counts, TextKind kind) {
  Vectorized result;
  for (size_t i = 0; i < counts.size(); ++i) {
    const Loop& loop = known_loops[i];
    if (loop.kind != kind) continue;
    result.n_loops += loop.n_instances;
    result.n_vectorized += counts[i];
    if (counts[i] < loop.n_instances)
      result.text.append(result.text.empty() ? "" : ", ")
          .append(std::to_string(loop.n_instances - counts[i]))
          .append(" of ")
          .append(std::to_string(loop.n_instances))
          .append(" ")
          .append(loop.known_as)
          .append(" loops are not vectorised");
  }
  return result;
}

std::string with_counts(const LoopCounts& counts, const std::string& object) {
  std::string entry(sizeof counts, 0);
  std::memcpy(entry.data(), counts.data(), sizeof counts);
  return entry + object;
}

}  // namespace

#endif

// ---- both -----------------------------------------------------------------------------------------------------------

CompiledHostCode compile_for_host(const ModelText& text, HostParts parts, const Cache& cache, Progress& progress) {
#if defined(_WIN32)
  static_cast<void>(text);
  static_cast<void>(parts);
  static_cast<void>(cache);
  static_cast<void>(progress);
  fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-MODEL-PLATFORM",
       "models are not compiled at run time on Windows; add this one to a build of the library (synfire_add_model)");
#else
  const std::string path = compiler();
  const std::string source = source_of(text, parts).text();
  const Key key = key_of(path, source, parts);
  const bool has_kernels = parts == HostParts::formula_and_kernels;
  LoopCounts counts = {};
  if (const std::optional<std::string> found = cache.find(key); found && found->size() > sizeof counts) {
    progress.enter(SYNFIRE_LOAD_FINISH);
    std::memcpy(counts.data(), found->data(), sizeof counts);
    try {
      return {HostCode(found->substr(sizeof counts)), true, has_kernels ? described(counts, text.kind) : Vectorized()};
    } catch (const core::Failure&) {  // it is compiled again
    }
  }
  progress.enter(SYNFIRE_LOAD_COMPILE);
  std::string object;
  {
    const TemporaryFolder folder;
    folder.write(source_name, source);
    const std::string output = run_compiler(path, parts, folder, text, progress);
    if (has_kernels) counts = count_loops(output);
    object = folder.read(object_name);
  }
  progress.enter(SYNFIRE_LOAD_FINISH);
  CompiledHostCode compiled = {HostCode(object), false, has_kernels ? described(counts, text.kind) : Vectorized()};
  cache.store(key, with_counts(counts, object));
  return compiled;
#endif
}

}  // namespace synfire::jit
