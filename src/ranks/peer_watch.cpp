#include "peer_watch.hpp"

#include <base/error.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

namespace synfire::ranks {

using namespace synfire::core;

namespace {

// A rank says that it is alive every second; one that has said nothing for so long is lost. Together less than 10
// seconds.
constexpr auto between_words = std::chrono::seconds(1), longest_silence = std::chrono::seconds(8);
constexpr uint64_t never = UINT64_MAX;

struct Hello {
  uint64_t token;
  int64_t rank;
};

class Socket {
 public:
  explicit Socket(int number) noexcept : number_(number) {}
  ~Socket() {
    if (number_ >= 0) ::close(number_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

int new_socket() {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-COMMUNICATOR-MPI", "the system has no socket for the communicator: %s",
         std::strerror(errno));
  return made;
}

sockaddr_in address_of(uint32_t host, uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = host;
  address.sin_port = port;
  return address;
}

// Milliseconds until then, 0 at least.
int left_until(PeerWatch::Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - PeerWatch::Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1000));
}

bool wait_for(int socket, short events, PeerWatch::Clock::time_point deadline) {
  do {
    pollfd one = {socket, events, 0};
    if (::poll(&one, 1, left_until(deadline)) > 0) return true;
  } while (PeerWatch::Clock::now() < deadline);
  return false;
}

// All bytes or none.
bool receive(int socket, void* data, size_t bytes, PeerWatch::Clock::time_point deadline) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    if (!wait_for(socket, POLLIN, deadline)) return false;
    const ssize_t n = ::recv(socket, at, bytes, 0);
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

bool send_all(int socket, const void* data, size_t bytes) {
  return ::send(socket, data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

[[noreturn]] void fail_missing(size_t n_there, int32_t size) {
  fail(SYNFIRE_ERROR_PEER_LOST, "SYN-COMMUNICATOR-TIMEOUT",
       "%zu of %d ranks were there when desc.timeout_ns had passed", n_there, size);
}

// Lists the addresses by which other machines reach this one, and after them its own loopback address.
void list_addresses(WatchAddress& to) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) all = nullptr;
  for (const bool local : {false, true})
    for (const ifaddrs* one = all; one && to.n_addresses < WatchAddress::most_addresses; one = one->ifa_next) {
      if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_UP) == 0) continue;
      if (((one->ifa_flags & IFF_LOOPBACK) != 0) != local) continue;
      to.addresses[to.n_addresses++] = reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr;
    }
  if (all) ::freeifaddrs(all);
}

}  // namespace

PeerWatch::PeerWatch(const Place& place, std::function<void()> on_loss)
    : place_(place), on_loss_(std::move(on_loss)), left_(static_cast<size_t>(place.size), never) {
  if (place.rank != 0 || place.size == 1) return;
  Socket made(new_socket());
  sockaddr_in any = address_of(htonl(INADDR_ANY), 0);
  socklen_t length = sizeof any;
  if (::bind(made.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) != 0 || ::listen(made.get(), place.size) != 0 ||
      ::getsockname(made.get(), reinterpret_cast<sockaddr*>(&any), &length) != 0)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-COMMUNICATOR-MPI", "the system gives the communicator no port: %s",
         std::strerror(errno));
  std::random_device random;
  address_.token = uint64_t{random()} << 32 | random();
  address_.port = any.sin_port;
  list_addresses(address_);
  listener_ = made.release();
}

PeerWatch::~PeerWatch() {
  ends_ = true;
  if (process_ != fork_generation()) {
    if (thread_.joinable()) thread_.detach();  // the parent's
  } else if (thread_.joinable()) {
    thread_.join();
  }
  for (const Peer& peer : peers_) ::close(peer.socket);
  if (listener_ >= 0) ::close(listener_);
}

// ---- meeting --------------------------------------------------------------------------------------------------------

void PeerWatch::accept_all(Clock::time_point deadline) {
  std::vector<uint8_t> is_there(static_cast<size_t>(place_.size));
  while (peers_.size() + 1 < is_there.size()) {
    if (!wait_for(listener_, POLLIN, deadline)) fail_missing(peers_.size() + 1, place_.size);
    Socket made(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
    Hello hello = {};
    if (made.get() < 0 || !receive(made.get(), &hello, sizeof hello, std::min(deadline, Clock::now() + between_words)))
      continue;
    const bool fits = hello.token == address_.token && hello.rank > 0 && hello.rank < place_.size &&
                      is_there[static_cast<size_t>(hello.rank)] == 0;
    if (!fits || !send_all(made.get(), &hello, sizeof hello)) continue;
    is_there[static_cast<size_t>(hello.rank)] = 1;
    peers_.push_back({made.release(), static_cast<int32_t>(hello.rank), Clock::now(), {}});
  }
}

void PeerWatch::connect_first(const WatchAddress& of_first, Clock::time_point deadline) {
  const Hello hello = {of_first.token, place_.rank};
  do {
    for (uint32_t i = 0; i < of_first.n_addresses; ++i) {
      Socket made(new_socket());
      ::fcntl(made.get(), F_SETFL, O_NONBLOCK);
      const sockaddr_in to = address_of(of_first.addresses[i], static_cast<uint16_t>(of_first.port));
      const auto soon = std::min(deadline, Clock::now() + between_words);
      const int connected = ::connect(made.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
      if (connected != 0 && (errno != EINPROGRESS || !wait_for(made.get(), POLLOUT, soon))) continue;
      Hello answer = {};
      if (!send_all(made.get(), &hello, sizeof hello) || !receive(made.get(), &answer, sizeof answer, deadline) ||
          answer.token != hello.token)
        continue;
      peers_.push_back({made.release(), 0, Clock::now(), {}});
      return;
    }
  } while (Clock::now() < deadline);
  fail(SYNFIRE_ERROR_PEER_LOST, "SYN-COMMUNICATOR-TIMEOUT",
       "rank %d reached none of the %u addresses of rank 0 before desc.timeout_ns had passed", place_.rank,
       of_first.n_addresses);
}

void PeerWatch::begin(const WatchAddress& of_first, Clock::time_point deadline) {
  if (place_.size == 1) return;
  if (place_.rank == 0)
    accept_all(deadline);
  else
    connect_first(of_first, deadline);
  for (const Peer& peer : peers_) {
    const int yes = 1;
    ::setsockopt(peer.socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ::fcntl(peer.socket, F_SETFL, O_NONBLOCK);
  }
  thread_ = std::thread([this] { watch(); });
}

// ---- watching -------------------------------------------------------------------------------------------------------

int32_t PeerWatch::missing(uint64_t number) const noexcept {
  if (!any_gone_.load(std::memory_order_acquire)) return -1;
  const std::lock_guard lock(mutex_);
  if (lost_ >= 0) return lost_;
  for (size_t rank = 0; rank < left_.size(); ++rank)
    if (left_[rank] < number) return static_cast<int32_t>(rank);
  return -1;
}

void PeerWatch::send_to_all(const Message& message, const Peer* but) noexcept {
  const std::lock_guard lock(mutex_);
  // A message that does not fit into the system's buffers is lost with its receiver, which does not listen.
  for (const Peer& peer : peers_)
    if (&peer != but && peer.socket >= 0) send_all(peer.socket, &message, sizeof message);
}

// Rank 0 passes on what it hears, because the others have no connection with each other.
void PeerWatch::take(const Message& message, const Peer* from) noexcept {
  if (message.kind == Kind::alive || message.rank < 0 || message.rank >= place_.size) return;
  {
    const std::lock_guard lock(mutex_);
    if (message.kind == Kind::left) left_[static_cast<size_t>(message.rank)] = message.number;
    if (message.kind == Kind::lost && lost_ < 0) lost_ = message.rank;
  }
  any_gone_.store(true, std::memory_order_release);
  if (message.kind == Kind::lost) on_loss_();
  if (place_.rank == 0) send_to_all(message, from);
}

// Returns false if the connection has ended.
bool PeerWatch::hear(Peer& peer) {
  char bytes[64 * sizeof(Message)];
  const ssize_t n = ::recv(peer.socket, bytes, sizeof bytes, 0);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return false;
  if (n < 0) return true;
  peer.heard = Clock::now();
  peer.half.insert(peer.half.end(), bytes, bytes + n);
  size_t at = 0;
  for (; peer.half.size() - at >= sizeof(Message); at += sizeof(Message)) {
    Message message;
    std::memcpy(&message, &peer.half[at], sizeof message);
    take(message, &peer);
  }
  peer.half.erase(peer.half.begin(), peer.half.begin() + static_cast<ptrdiff_t>(at));
  return true;
}

void PeerWatch::watch() noexcept {
  std::vector<pollfd> sockets(peers_.size());
  auto next_word = Clock::now();
  while (!ends_) {
    for (size_t i = 0; i < peers_.size(); ++i) sockets[i] = {peers_[i].socket, POLLIN, 0};
    ::poll(sockets.data(), sockets.size(), 50);
    for (size_t i = 0; i < peers_.size(); ++i) {
      Peer& peer = peers_[i];
      if (peer.socket < 0) continue;
      bool is_there = true;
      try {
        if (sockets[i].revents != 0) is_there = hear(peer);
      } catch (...) {
        is_there = false;  // without memory, the group ends
      }
      if (is_there && Clock::now() - peer.heard < longest_silence) continue;
      bool has_left = false;
      {
        const std::lock_guard lock(mutex_);
        has_left = left_[static_cast<size_t>(peer.rank)] != never;
        ::close(std::exchange(peer.socket, -1));
      }
      if (!has_left) take({Kind::lost, peer.rank, 0}, &peer);
    }
    if (Clock::now() < next_word) continue;
    send_to_all({Kind::alive, place_.rank, 0});
    next_word = Clock::now() + between_words;
  }
}

void PeerWatch::leave(uint64_t n_exchanges) noexcept {
  send_to_all({Kind::left, place_.rank, n_exchanges});
}

void PeerWatch::wait_for_others() const noexcept {
  const auto is_over = [&] {
    const std::lock_guard lock(mutex_);
    if (lost_ >= 0 || peers_.empty() || (place_.rank != 0 && left_.front() != never)) return true;
    for (size_t rank = 0; rank < left_.size(); ++rank)
      if (left_[rank] == never && rank != static_cast<size_t>(place_.rank)) return false;
    return true;
  };
  while (!is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void PeerWatch::give_up() noexcept {
  take({Kind::lost, place_.rank, 0}, nullptr);
  if (place_.rank != 0) send_to_all({Kind::lost, place_.rank, 0});
}

}  // namespace synfire::ranks
