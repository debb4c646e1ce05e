#include "communicator.hpp"

#include <base/error.hpp>

namespace synfire::ranks {

using namespace synfire::core;

namespace {

// Beside the number of a call.
constexpr uint64_t has_failed = uint64_t{1} << 32;

const char* name_of(uint64_t call) {
  switch (static_cast<Call>(call)) {
    case Call::barrier:
      return "synfire_communicator_barrier";
    case Call::build:
      return "synfire_network_build";
    case Call::training_data:
      return "a function that sets training data";
    case Call::evaluation_data:
      return "a function that sets evaluation data";
    case Call::train:
      return "synfire_network_train";
    case Call::evaluate:
      return "synfire_network_evaluate";
  }
  return "another function";
}

}  // namespace

Communicator::Use::Use(Communicator& communicator) : in_use_(communicator.in_use_) {
  bool nobody = false;
  if (!in_use_.compare_exchange_strong(nobody, true, std::memory_order_acquire, std::memory_order_relaxed))
    fail(SYNFIRE_ERROR_BUSY, "SYN-COMMUNICATOR-BUSY", "the communicator is in use on another thread");
}

void Communicator::begin_parts(Join how) {
  ++n_messages_;
  try {
    reached_->begin(how, parts_);
  } catch (...) {
    parts_.clear();
    throw;
  }
}

void Communicator::end() {
  reached_->end();
  parts_.clear();
}

// All ranks have the arrays of those that are waiting until they have read them, or know that one has given up.
void Communicator::give_up_message() noexcept {
  give_up();
  if (parts_.empty()) return;
  try {
    end();
  } catch (...) {
    parts_.clear();
  }
}

// The sum of arrays that are 0 but for one's own elements.
// Without memory for it, this rank gives up, because the others wait for what it cannot send.
std::vector<Communicator::Report> Communicator::exchange(const Report& own) {
  static_assert(sizeof(Report) == 2 * sizeof(uint64_t));
  try {
    const Place at = place();
    std::vector<Report> all(static_cast<size_t>(at.size), Report{0, 0});
    all[static_cast<size_t>(at.rank)] = own;
    join(Join::sum, all.data(), 2 * all.size());
    return all;
  } catch (...) {
    give_up();
    throw;
  }
}

std::vector<uint64_t> Communicator::gather(uint64_t own) {
  const Place at = place();
  std::vector<uint64_t> all(static_cast<size_t>(at.size));
  all[static_cast<size_t>(at.rank)] = own;
  join(Join::sum, all.data(), all.size());
  return all;
}

void Communicator::agree(Call call, uint64_t contents, const char* what) {
  const auto own = static_cast<uint64_t>(call);
  const std::vector<Report> all = exchange({own, contents});
  for (size_t rank = 0; rank < all.size(); ++rank)
    if ((all[rank].call & ~has_failed) != own)
      fail_argument("SYN-COMMUNICATOR-CALL", "rank %zu has called %s, and this one %s; all must make the same calls",
                    rank, name_of(all[rank].call & ~has_failed), name_of(own));
  for (size_t rank = 0; rank < all.size(); ++rank)
    if ((all[rank].call & has_failed) != 0)
      fail_argument("SYN-COMMUNICATOR-FAILED", "the call has failed on rank %zu; the error of that rank says why",
                    rank);
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank].contents != all.front().contents)
      fail_argument("SYN-COMMUNICATOR-OTHER", "rank %zu has other %s than rank 0; all must have the same", rank, what);
}

void Communicator::report_failure(Call call) noexcept {
  try {
    exchange({static_cast<uint64_t>(call) | has_failed, 0});
  } catch (...) {
    give_up();
  }
}

void Communicator::barrier() {
  const Use use(*this);
  agree(Call::barrier, 0, "");
}

}  // namespace synfire::ranks
