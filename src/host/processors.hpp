// How many threads "automatic" means.
#ifndef SYNFIRE_HOST_PROCESSORS_HPP
#define SYNFIRE_HOST_PROCESSORS_HPP

namespace synfire::host {

// Processors that the calling thread may run on, at least 1.
int usable_processors() noexcept;

// What the environment variable OMP_NUM_THREADS asks for, where it begins with a number from 1 on; else the above.
int wanted_threads() noexcept;

}  // namespace synfire::host

#endif
