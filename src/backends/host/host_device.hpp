// The host backend: runs operation lists on the processors of this machine.
#ifndef SYNFIRE_BACKENDS_HOST_HOST_DEVICE_HPP
#define SYNFIRE_BACKENDS_HOST_HOST_DEVICE_HPP

#include <base/device.hpp>

#include <memory>

namespace synfire::host {

inline constexpr int max_threads = 1024;

struct JobCallbacks;

// n_threads: 1 is the calling thread only, 0 automatic. The callbacks are both null or both given.
std::unique_ptr<core::Device> make_device(int n_threads, const JobCallbacks& job_system);

}  // namespace synfire::host

#endif
