// Who of a group is still there. Each rank has a connection to rank 0, whose end tells that a process has ended; a
// machine that has gone is silent. A thread looks at the connections of the rank.
#ifndef SYNFIRE_RANKS_PEER_WATCH_HPP
#define SYNFIRE_RANKS_PEER_WATCH_HPP

#include "transport.hpp"

#include <platform/fork.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace synfire::ranks {

// Where rank 0 listens: up to most_addresses of its machine, in network order.
struct WatchAddress {
  static constexpr int most_addresses = 8;
  uint64_t token;  // by which the ranks of one group know each other
  uint32_t port, n_addresses;
  uint32_t addresses[most_addresses];
};

class PeerWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // Rank 0 listens from here on; address() is to be sent to the others. Throws OUT_OF_MEMORY or UNSUPPORTED if the
  // system has no sockets left.
  // `on_loss` is called on any thread, once or more often.
  PeerWatch(const Place& place, std::function<void()> on_loss);
  ~PeerWatch();
  const WatchAddress& address() const noexcept { return address_; }
  // Connects with rank 0, or on rank 0 waits for the others; and begins to watch. Throws PEER_LOST at the deadline.
  void begin(const WatchAddress& of_first, Clock::time_point deadline);

  // The rank without which exchange `number` cannot end, counted from 1; -1: there is none.
  int32_t missing(uint64_t number) const noexcept;
  // Tells the others that this rank has left after so many exchanges, or that it gives up.
  void leave(uint64_t n_exchanges) noexcept;
  void give_up() noexcept;
  // Waits until all have left, or one is lost, or nobody tells of them any more.
  void wait_for_others() const noexcept;

 private:
  enum class Kind : uint32_t { alive, lost, left };
  struct Message {
    Kind kind;
    int32_t rank;
    uint64_t number;  // of exchanges
  };
  struct Peer {
    int socket;
    int32_t rank;
    Clock::time_point heard;
    std::vector<char> half;  // of a message
  };

  void accept_all(Clock::time_point deadline);
  void connect_first(const WatchAddress& of_first, Clock::time_point deadline);
  void watch() noexcept;
  bool hear(Peer& peer);
  void take(const Message& message, const Peer* from) noexcept;
  void send_to_all(const Message& message, const Peer* but = nullptr) noexcept;

  const Place place_;
  const uint32_t process_ = core::fork_generation();  // at its creation
  const std::function<void()> on_loss_;
  WatchAddress address_ = {};
  int listener_ = -1;
  std::vector<Peer> peers_;
  mutable std::mutex mutex_;  // of sending, and of what follows
  int32_t lost_ = -1;
  std::vector<uint64_t> left_;  // of each rank, after how many exchanges; none: it has not
  std::atomic<bool> any_gone_{false}, ends_{false};
  std::thread thread_;
};

}  // namespace synfire::ranks

#endif
