// The number of threads that "automatic" means.
#ifndef SYNFIRE_BACKENDS_HOST_PROCESSORS_HPP
#define SYNFIRE_BACKENDS_HOST_PROCESSORS_HPP

namespace synfire::host {

// Processors that the calling thread may run on, at least 1.
int usable_processors() noexcept;

// The environment variable OMP_NUM_THREADS, if it begins with a number of at least 1; else usable_processors().
int wanted_threads() noexcept;

}  // namespace synfire::host

#endif
