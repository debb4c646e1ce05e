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
  void join(Join how, void* elements, uint64_t count) {
    begin(how, {{elements, count}});
    end();
  }
  // The same of several arrays in one message, which is under way until end(). One at a time. Allocates nothing if
  // there is room for as many.
  template <class PartAt>
  void begin(Join how, size_t n_parts, PartAt part_at) {
    parts_.clear();
    parts_.reserve(n_parts);
    for (size_t i = 0; i < n_parts; ++i) parts_.push_back(part_at(i));
    begin_parts(how);
  }
  void begin(Join how, std::initializer_list<Part> parts) {
    begin(how, parts.size(), [&](size_t i) { return parts.begin()[i]; });
  }
  void make_room(size_t n_parts) { parts_.reserve(n_parts); }
  void end();
  // The numbers of all ranks, by rank.
  std::vector<uint64_t> gather(uint64_t own);
  // Every rank makes the call of this name. Throws INVALID_ARGUMENT, on all ranks, if they make different calls, if one
  // of them has failed, or unless their contents are the same: `what` says of what.
  void agree(Call call, uint64_t contents, const char* what);
  // The same for a rank that has failed: the others throw, and it does not.
  void report_failure(Call call) noexcept;

  void barrier();
  void give_up() noexcept { reached_->give_up(); }
  // The same where a message of this thread may be under way, which nobody waits for any more.
  void give_up_message() noexcept;
  // How many messages have been begun.
  uint64_t n_messages() const noexcept { return n_messages_; }

 private:
  ~Communicator() override = default;
  struct Report {
    uint64_t call, contents;
  };
  std::vector<Report> exchange(const Report& own);
  void begin_parts(Join how);

  const int32_t transport_;
  const std::unique_ptr<Transport> reached_;
  std::atomic<bool> in_use_{false};
  std::vector<Part> parts_;  // of the message that is under way
  uint64_t n_messages_ = 0;
};

}  // namespace synfire::ranks

#endif
