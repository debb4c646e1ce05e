#include "kernels.hpp"

#include "load.hpp"
#include "nvrtc.hpp"

#include <base/error.hpp>

#if SYNFIRE_HAVE_CUDA
#include <cuda/api.hpp>
#endif

namespace synfire::jit {

// ---- source ---------------------------------------------------------------------------------------------------------

namespace {

// Integers without a standard header, and the library's text as that of one file: what it hides from other files has
// names that a kernel's expression can say.
constexpr const char* beginning = R"(#define SYNFIRE_LOADED 1
#define SYNFIRE_MODEL_LEVEL cuda
#if defined(__CUDACC_RTC__)
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;
using uintptr_t = unsigned long long;
#else
#include <cstdint>
#endif
)";

}  // namespace

std::string kernel_source(const core::ModelRow& model, const core::SurrogateRow* surrogate, const char* header,
                          Source::Marks marks) {
  Source source(marks, Source::Standard::dropped);
  give_kernel_lists(source, text_of(model), model.id, surrogate ? text_of(*surrogate) : nullptr,
                    surrogate ? surrogate->id : 0);
  source.add_text(beginning);
  source.add(header);
  std::string text = source.text();
  constexpr std::string_view hidden = "\nnamespace {\n", named = "\ninline namespace text {\n";
  for (size_t at = text.find(hidden); at != std::string::npos; at = text.find(hidden, at + named.size()))
    text.replace(at, hidden.size(), named);
  return text;
}

// ---- kernels --------------------------------------------------------------------------------------------------------

const void* Kernels::find(const core::KernelRequest& request) {
  const int32_t model = request.model.id, surrogate = request.surrogate ? request.surrogate->id : 0;
  std::atomic<Entry*>& slot = slots_[request.key];
  const auto found = [&]() -> const void* {
    for (const Entry* entry = slot.load(std::memory_order_acquire); entry; entry = entry->next)
      if (entry->model == model && entry->surrogate == surrogate) return entry->kernel;
    return nullptr;
  };
  if (const void* const kernel = found()) return kernel;
  const std::lock_guard lock(mutex_);
  if (const void* const kernel = found()) return kernel;
  Entry* const entry = compile(request);
  entry->next = slot.load(std::memory_order_relaxed);
  slot.store(entry, std::memory_order_release);
  return entry->kernel;
}

#if SYNFIRE_HAVE_CUDA

namespace {

// The cache holds the kernel's name and its code.
std::string packed(const DeviceCode& code) {
  return code.names.at(0) + '\n' + code.code;
}

}  // namespace

Kernels::Entry* Kernels::compile(const core::KernelRequest& request) const {
  const std::string source = kernel_source(request.model, request.surrogate, request.header, Source::Marks::lines),
                    expression = request.expression();
  Key key = key_of_library();
  key.add("gpu");
  key.add(source);
  key.add(expression);
  key.add(nvrtc_target(rules_.compute_major, rules_.compute_minor));
  std::optional<std::string> stored = rules_.cache.find(key);
  if (!stored || stored->find('\n') == std::string::npos) {
    Progress progress(nullptr, nullptr, rules_.time_out);
    const ModelText* const text = text_of(request.model) ? text_of(request.model) : text_of(*request.surrogate);
    stored = packed(
        compile_for_gpu(source, {expression}, rules_.compute_major, rules_.compute_minor, text->known_as, progress));
    rules_.cache.store(key, *stored);
  }
  const size_t end = stored->find('\n');
  const std::string name = stored->substr(0, end);
  stored->erase(0, end + 1);
  using namespace cuda;
  if (!resolve_library_calls())
    core::fail(SYNFIRE_ERROR_CUDA, "SYN-CUDA-DRIVER", "the driver has no cuLibraryLoadData; one of CUDA 12 is needed");
  DriverLibrary* library = nullptr;
  check(static_cast<cudaError_t>(
            api().library_load_data(&library, stored->data(), nullptr, nullptr, 0, nullptr, nullptr, 0)),
        "cuLibraryLoadData");
  cudaKernel_t kernel = nullptr;
  const int error = api().library_get_kernel(&kernel, library, name.c_str());
  if (error != 0) api().library_unload(library);
  check(static_cast<cudaError_t>(error), "cuLibraryGetKernel");
  return new Entry{request.model.id, request.surrogate ? request.surrogate->id : 0, kernel, library, nullptr};
}

Kernels::~Kernels() {
  bool finished = false;
  for (std::atomic<Entry*>& slot : slots_)
    for (Entry* entry = slot.load(std::memory_order_relaxed); entry;) {
      if (!finished) device_.finish();
      finished = true;
      cuda::api().library_unload(static_cast<cuda::DriverLibrary*>(entry->library));
      delete std::exchange(entry, entry->next);
    }
}

#else

Kernels::Entry* Kernels::compile(const core::KernelRequest&) const {
  core::fail(SYNFIRE_ERROR_INTERNAL, "SYN-INTERNAL", "a kernel is compiled in a library without CUDA");
}
Kernels::~Kernels() = default;

#endif

}  // namespace synfire::jit
