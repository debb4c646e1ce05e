// A call on a network that all ranks of its communicator make. They compare what they have, so that none goes on alone;
// and if one of them fails, the others are told, so that none waits for it.
#ifndef SYNFIRE_NETWORK_RANK_CALL_HPP
#define SYNFIRE_NETWORK_RANK_CALL_HPP

#include <ranks/communicator.hpp>

#include <optional>

namespace synfire::network {

class RankCall {
 public:
  // Null: the program is alone, and nothing happens. Throws BUSY.
  RankCall(ranks::Communicator* communicator, ranks::Call call) : ranks_(communicator), call_(call) {
    if (ranks_) use_.emplace(*ranks_);
  }
  ~RankCall();
  RankCall(const RankCall&) = delete;
  RankCall& operator=(const RankCall&) = delete;

  explicit operator bool() const noexcept { return ranks_ != nullptr; }
  // Throws INVALID_ARGUMENT on all ranks unless all have come to this point with the same contents.
  void agree(uint64_t contents, const char* what);
  // The same where there is nothing left to do that can fail.
  void agree_last() {
    agree(0, "");
    ended_ = true;
  }
  // From here on, the ranks exchange arrays: a rank that fails gives up the group.
  void begin_exchanges() noexcept { exchanges_ = true; }
  // The call has done what other ranks can wait for.
  void end() noexcept { ended_ = true; }
  uint64_t sum(uint64_t own) const;

 private:
  ranks::Communicator* const ranks_;
  const ranks::Call call_;
  std::optional<ranks::Communicator::Use> use_;
  bool exchanges_ = false, ended_ = false;
};

}  // namespace synfire::network

#endif
