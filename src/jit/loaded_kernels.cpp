#include "loaded_kernels.hpp"

#include "kernel_source.hpp"

#include "load_model.hpp"
#include "nvrtc.hpp"

#include <base/error.hpp>

#if SYNFIRE_HAVE_CUDA
#include <backends/cuda/api.hpp>
#endif

namespace synfire::jit {

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

std::string packed(const DeviceCode& code) {
  return code.names.at(0) + '\n' + code.code;
}

}  // namespace

Kernels::Entry* Kernels::compile(const core::KernelRequest& request) const {
  const std::string source = kernel_source(text_of(request.model), request.model.id,
                                           request.surrogate ? text_of(*request.surrogate) : nullptr,
                                           request.surrogate ? request.surrogate->id : 0, request.header,
                                           Source::Marks::lines),
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
