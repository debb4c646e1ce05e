#include "nvrtc.hpp"

#include "compiler_thread.hpp"
#include "model_text.hpp"

#include <base/error.hpp>
#include <base/text.hpp>

#if !defined(_WIN32)
#include <dlfcn.h>
#endif

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

namespace synfire::jit {
namespace {

using core::fail;

// Declared as in nvrtc.h, which a build does not need.
using Program = struct ProgramS*;
struct Nvrtc {
  int (*version)(int* major, int* minor) = nullptr;
  int (*get_num_supported)(int* count) = nullptr;
  int (*get_supported)(int* architectures) = nullptr;
  int (*create)(Program*, const char* source, const char* name, int n_headers, const char* const* headers,
                const char* const* names) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int n_options, const char* const* options) = nullptr;
  int (*add_name)(Program, const char* expression) = nullptr;
  int (*lowered_name)(Program, const char* expression, const char** name) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*ptx_size)(Program, size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*set_flow_callback)(Program, int (*)(void*, void*), void*) = nullptr;  // since CUDA 12.9; else null
  std::string fault;                                                          // why it cannot be used, or nothing
};

#if defined(_WIN32)

Nvrtc found_nvrtc() {
  Nvrtc n;
  n.fault = "it is not looked for on Windows";
  return n;
}

#else

template <class Function>
bool resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Nvrtc found_nvrtc() {
  Nvrtc n;
  void* library = nullptr;
  const char* const given = std::getenv("SYNFIRE_NVRTC");
  if (given && *given) {
    library = ::dlopen(given, RTLD_NOW | RTLD_LOCAL);
  } else {
    for (const char* const name :
         {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"})
      if ((library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
  }
  if (!library) {
    const char* const error = ::dlerror();
    n.fault = error ? error : "it was not found";
    return n;
  }
  const bool all =
      resolve(library, "nvrtcVersion", n.version) &&
      resolve(library, "nvrtcGetNumSupportedArchs", n.get_num_supported) &&
      resolve(library, "nvrtcGetSupportedArchs", n.get_supported) && resolve(library, "nvrtcCreateProgram", n.create) &&
      resolve(library, "nvrtcDestroyProgram", n.destroy) && resolve(library, "nvrtcCompileProgram", n.compile) &&
      resolve(library, "nvrtcAddNameExpression", n.add_name) &&
      resolve(library, "nvrtcGetLoweredName", n.lowered_name) &&
      resolve(library, "nvrtcGetProgramLogSize", n.log_size) && resolve(library, "nvrtcGetProgramLog", n.log) &&
      resolve(library, "nvrtcGetCUBINSize", n.cubin_size) && resolve(library, "nvrtcGetCUBIN", n.cubin) &&
      resolve(library, "nvrtcGetPTXSize", n.ptx_size) && resolve(library, "nvrtcGetPTX", n.ptx) &&
      resolve(library, "nvrtcGetErrorString", n.error_text);
  resolve(library, "nvrtcSetFlowCallback", n.set_flow_callback);
  int major = 0, minor = 0;
  if (!all || n.version(&major, &minor) != 0 || major < 12) n.fault = "it is older than CUDA 12";
  return n;
}

#endif

// Runs on its own thread, as compilations do: loading a library runs its code.
std::unique_ptr<Nvrtc> found_on_own_thread() {
  std::unique_ptr<Nvrtc> found;
  CompilerThread thread([&found] {
    try {
      found = std::make_unique<Nvrtc>(found_nvrtc());
    } catch (...) {  // out of memory
    }
  });
  thread.join();
  if (!found) throw std::bad_alloc();
  return found;
}

// Loaded once and never unloaded. A failure is tried again: the library may be installed meanwhile.
const Nvrtc& nvrtc() {
  static std::mutex mutex;
  static const Nvrtc* loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (!loaded) {
    std::unique_ptr<Nvrtc> found = found_on_own_thread();
    if (!found->fault.empty())
      fail(
          SYNFIRE_ERROR_UNSUPPORTED, "SYN-MODEL-COMPILER",
          "models are compiled for a GPU by NVRTC, which cannot be loaded (%.300s); install libnvrtc of CUDA 12 or "
          "newer with its builtins (Debian and Ubuntu: cuda-nvrtc-13-0 of NVIDIA's repository), or name the library in "
          "the environment variable SYNFIRE_NVRTC",
          core::printable(found->fault).c_str());
    loaded = found.release();
  }
  return *loaded;
}

// The GPU's own architecture, or the newest one that the compiler knows and the GPU runs.
struct Target {
  std::string option;
  bool exact;
};
Target target_of(const Nvrtc& n, int compute_major, int compute_minor) {
  int count = 0;
  n.get_num_supported(&count);
  std::vector<int> known(static_cast<size_t>(std::max(count, 1)));
  n.get_supported(known.data());
  const int wanted = 10 * compute_major + compute_minor;
  int best = 0;
  for (const int each : known)
    if (each <= wanted) best = std::max(best, each);
  if (best == 0)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-MODEL-COMPILER",
         "this NVRTC makes no code for GPUs of compute capability %d.%d", compute_major, compute_minor);
  const bool exact = best == wanted;
  return {(exact ? "--gpu-architecture=sm_" : "--gpu-architecture=compute_") + std::to_string(best), exact};
}

// A compilation on its own thread, which outlives a caller that no longer waits.
struct Job {
  Job(const Nvrtc& compiler, std::string text, std::vector<std::string> names, Target wanted)
      : n(compiler), source(std::move(text)), expressions(std::move(names)), target(std::move(wanted)) {}

  const Nvrtc& n;
  std::string source;
  std::vector<std::string> expressions;
  Target target;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::atomic<bool> cancelled{false};
  int error = 0;
  std::string log;
  DeviceCode code;

  void run() noexcept {
    try {
      compile();
    } catch (...) {
      error = -1;
    }
    const std::lock_guard lock(mutex);
    done = true;
    ended.notify_all();
  }

  void compile() {
    Program program = nullptr;
    if ((error = n.create(&program, source.c_str(), "model.cu", 0, nullptr, nullptr)) != 0) return;
    for (const std::string& expression : expressions)
      if (error == 0) error = n.add_name(program, expression.c_str());
    if (error == 0 && n.set_flow_callback)
      n.set_flow_callback(
          program, [](void* job, void*) { return static_cast<const Job*>(job)->cancelled.load() ? 1 : 0; }, this);
    const char* const options[] = {target.option.c_str(), "--std=c++20", "--fmad=false", "-default-device", "-w"};
    if (error == 0) error = n.compile(program, 5, options);
    size_t bytes = 0;
    if (n.log_size(program, &bytes) == 0 && bytes > 1) {
      log.resize(bytes);
      n.log(program, log.data());
      log.resize(bytes - 1);
    }
    if (error == 0) {
      error = target.exact ? n.cubin_size(program, &bytes) : n.ptx_size(program, &bytes);
      code.code.resize(bytes);
      if (error == 0) error = target.exact ? n.cubin(program, code.code.data()) : n.ptx(program, code.code.data());
    }
    for (const std::string& expression : expressions) {
      const char* name = nullptr;
      if (error == 0) error = n.lowered_name(program, expression.c_str(), &name);
      if (error == 0) code.names.emplace_back(name);
    }
    n.destroy(&program);
  }
};

}  // namespace

void require_nvrtc() {
  nvrtc();
}

std::string nvrtc_target(int compute_major, int compute_minor) {
  const Nvrtc& n = nvrtc();
  int major = 0, minor = 0;
  n.version(&major, &minor);
  return "nvrtc " + std::to_string(major) + "." + std::to_string(minor) + " " +
         target_of(n, compute_major, compute_minor).option;
}

DeviceCode compile_for_gpu(const std::string& source, const std::vector<std::string>& expressions, int compute_major,
                           int compute_minor, const std::string& known_as, Progress& progress) {
  const Nvrtc& n = nvrtc();
  const auto job = std::make_shared<Job>(n, source, expressions, target_of(n, compute_major, compute_minor));
  CompilerThread thread([job] { job->run(); });
  CompilerThread::Used used;
  bool late = false, cancelled = false;
  {
    std::unique_lock lock(job->mutex);
    while (!job->done && !late && !cancelled) {
      job->ended.wait_for(lock, std::chrono::milliseconds(100));
      if (job->done) break;
      used = thread.look();
      late = used.total() >= progress.left();
      cancelled = !late && progress.is_cancelled();
    }
  }
  if (late || cancelled) {
    job->cancelled.store(true);
    // A working compiler with the callback ends soon; the late result of another is dropped.
    if (n.set_flow_callback && !used.is_idle)
      thread.join();
    else
      thread.detach();
    if (late) progress.fail_late(used.idle > used.processor ? Progress::Late::idle : Progress::Late::at_work);
    Progress::fail_cancelled();
  }
  thread.join();
  progress.use(used.total());
  if (job->error == 0) return std::move(job->code);
  const std::string errors = errors_in(job->log, known_as);
  if (job->log.empty())
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-MODEL-COMPILER", "NVRTC failed: %s",
         job->error > 0 ? n.error_text(job->error) : "out of memory");
  throw core::Failure{SYNFIRE_ERROR_INVALID_ARGUMENT, 0, "SYN-MODEL-COMPILE", errors};
}

}  // namespace synfire::jit
