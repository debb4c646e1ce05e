#include "select.hpp"

#include <backends/host/host_device.hpp>
#include <backends/host/job_system.hpp>
#include <base/error.hpp>

#if SYNFIRE_HAVE_CUDA
#include <backends/cuda/cuda_device.hpp>
#include <kinds/operations_for_machines.hpp>
#endif

namespace synfire::capi {
namespace {

std::unique_ptr<core::Device> host_device(const synfire_context_desc& desc) {
  if (desc.n_threads < 0 || desc.n_threads > host::max_threads)
    core::fail_argument("SYN-CONTEXT-THREADS", "desc.n_threads is %d; allowed are 0 (automatic) to %d", desc.n_threads,
                        host::max_threads);
  return host::make_device(desc.n_threads, {desc.enqueue_task, desc.finish_task, desc.job_system});
}

#if SYNFIRE_HAVE_CUDA
std::unique_ptr<core::Device> cuda_device(const synfire_context_desc& desc) {
  return cuda::make_device(desc.device, desc.stream_priority, operations::machine_operations);
}
#endif

}  // namespace

std::unique_ptr<core::Device> select_device(const synfire_context_desc& desc, int32_t& fallback_reason) {
  if (desc.backend < SYNFIRE_BACKEND_AUTO || desc.backend > SYNFIRE_BACKEND_CUDA)
    core::fail_argument("SYN-CONTEXT-BACKEND",
                        "desc.backend is %d; allowed are SYNFIRE_BACKEND_AUTO (0), _HOST (1) and _CUDA (2)",
                        desc.backend);
  if (!desc.enqueue_task != !desc.finish_task)
    core::fail_argument(
        "SYN-CONTEXT-JOBS", "desc.%s is given and desc.%s is null; a job system has both, or neither is given",
        desc.enqueue_task ? "enqueue_task" : "finish_task", desc.enqueue_task ? "finish_task" : "enqueue_task");
  if (desc.device < 0)
    core::fail_argument("SYN-CONTEXT-DEVICE", "desc.device is %d; device numbers begin at 0", desc.device);
  if (desc.backend == SYNFIRE_BACKEND_HOST) {
    if (desc.device != 0)
      core::fail_argument("SYN-CONTEXT-DEVICE", "desc.device is %d; the host backend has only device 0", desc.device);
    return host_device(desc);
  }
#if SYNFIRE_HAVE_CUDA
  const cuda::Probe probe = cuda::probe();
  if (probe.n_devices > 0) {
    if (desc.device >= probe.n_devices)
      core::fail(SYNFIRE_ERROR_NO_DEVICE, "SYN-CONTEXT-DEVICE", "desc.device is %d; visible devices are 0 to %d",
                 desc.device, probe.n_devices - 1);
    if (desc.backend == SYNFIRE_BACKEND_CUDA) return cuda_device(desc);
    try {
      return cuda_device(desc);
    } catch (const core::Failure&) {
      fallback_reason = SYNFIRE_FALLBACK_DEVICE_FAILED;
      return host_device(desc);
    }
  }
  if (desc.backend == SYNFIRE_BACKEND_CUDA)
    throw core::Failure{SYNFIRE_ERROR_NO_DEVICE, probe.cuda_error, "SYN-CONTEXT-NO-DEVICE",
                        std::string("desc.backend is SYNFIRE_BACKEND_CUDA (2), but ") + probe.explanation};
  fallback_reason = probe.fallback_reason;
#else
  if (desc.backend == SYNFIRE_BACKEND_CUDA)
    core::fail(SYNFIRE_ERROR_NO_DEVICE, "SYN-CONTEXT-NO-DEVICE",
               "desc.backend is SYNFIRE_BACKEND_CUDA (2), but this library was built without CUDA");
  fallback_reason = SYNFIRE_FALLBACK_NOT_BUILT;
#endif
  return host_device(desc);
}

const char* version_string() noexcept {
  return SYNFIRE_VERSION
#if SYNFIRE_HAVE_CUDA
      " (cuda " SYNFIRE_CUDA_VERSION
#else
      " (no cuda"
#endif
      "; host: " SYNFIRE_HOST_THREADING ")";
}

}  // namespace synfire::capi
