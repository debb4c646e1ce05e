// One rank of a group that trains a network together. What the ranks exchange are maxima and sums of integers, which
// have no order, so that the results have the same bits for any number of ranks.
#ifndef SYNFIRE_RANKS_COMMUNICATOR_HPP
#define SYNFIRE_RANKS_COMMUNICATOR_HPP

#include "transport.hpp"

#include <base/context.hpp>

#include <atomic>
#include <vector>

namespace synfire::ranks {

// Calls that every rank makes.
enum class Call : int32_t { barrier, build, training_data, evaluation_data, train, evaluate };

class Communicator final : public core::Child {
 public:
  Communicator(core::Context& context, int32_t transport, std::unique_ptr<Transport> reached)
      : Child(core::ObjectType::communicator, context), transport_(transport), reached_(std::move(reached)) {}

  int32_t transport() const noexcept { return transport_; }
  Place place() const noexcept { return reached_->place(); }

  // One call that exchanges something, of one thread. Throws BUSY if there is another one.
  class Use {
   public:
    explicit Use(Communicator& communicator);
    ~Use() { in_use_.store(false, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    std::atomic<bool>& in_use_;
  };
  // All of these throw PEER_LOST. They are called in a Use.
  void join(Join how, void* elements, uint64_t count) { reached_->join(how, elements, count); }
  // The numbers of all ranks, by rank.
  std::vector<uint64_t> gather(uint64_t own);
  // Every rank makes the call of this name. Throws INVALID_ARGUMENT, on all ranks, if they make different calls, if one
  // of them has failed, or unless their contents are the same: `what` says of what.
  void agree(Call call, uint64_t contents, const char* what);
  // The same for a rank that has failed: the others throw, and it does not.
  void report_failure(Call call) noexcept;

  void barrier();
  void give_up() noexcept { reached_->give_up(); }

 private:
  ~Communicator() override = default;
  struct Report {
    uint64_t call, contents;
  };
  std::vector<Report> exchange(const Report& own);

  const int32_t transport_;
  const std::unique_ptr<Transport> reached_;
  std::atomic<bool> in_use_{false};
};

}  // namespace synfire::ranks

#endif
