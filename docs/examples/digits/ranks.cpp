// ranks.cpp - see ranks.hpp.
//
// SPDX-License-Identifier: MIT
#include "ranks.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace digits {
namespace {

// Ranks compute on processors.
synfire::Context make_context(const Options& options, std::int32_t n_threads) {
  const bool chooses = options.backend == SYNFIRE_BACKEND_AUTO && (options.ranks > 1 || options.mpi);
  synfire_context_desc desc =
      synfire::context_desc(chooses ? std::int32_t{SYNFIRE_BACKEND_HOST} : options.backend, n_threads);
  desc.device = options.device;
  return synfire::Context(desc);
}

void work_together(const synfire::Context& context, synfire::Communicator& together,
                   const std::function<void(const Rank&)>& work) {
  try {
    work({context, together.get(), together.properties().rank == 0});
  } catch (...) {
    together.abort();  // or the others would wait for this rank
    throw;
  }
}

// Each thread is a rank, with a share of the processors.
void on_threads(const Options& options, const std::function<void(const Rank&)>& work) {
  const int size = options.ranks;
  const int share = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / size);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  threads.reserve(failures.size());
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        const synfire::Context context = make_context(options, options.threads == 0 ? share : options.threads);
        synfire::Communicator together(context, synfire::communicator_desc(SYNFIRE_TRANSPORT_LOOPBACK, rank, size));
        work_together(context, together, work);
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  // The others have been told by the one that failed.
  std::exception_ptr told;
  for (const std::exception_ptr& failure : failures) {
    if (!failure) continue;
    try {
      std::rethrow_exception(failure);
    } catch (const synfire::error& error) {
      if (error.status() != SYNFIRE_ERROR_PEER_LOST) throw;
      told = failure;
    }
  }
  if (told) std::rethrow_exception(told);
}

}  // namespace

void on_ranks(const Options& options, const std::function<void(const Rank&)>& work) {
  if (options.ranks > 1) {
    on_threads(options, work);
    return;
  }
  const synfire::Context context = make_context(options, options.threads);
  if (!options.mpi) {
    work({context, nullptr, true});
    return;
  }
  synfire::Communicator together(context, synfire::communicator_desc(SYNFIRE_TRANSPORT_MPI));
  work_together(context, together, work);
}

}  // namespace digits
