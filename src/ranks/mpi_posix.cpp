// The processes of MPI_COMM_WORLD, through a small library that belongs to one MPI (mpi_shim.h) and is loaded by the
// first communicator. MPI itself neither ends a wait for a process that is gone nor tells of it: PeerWatch does.
#include "mpi_shim.h"
#include "peer_watch.hpp"

#include <base/error.hpp>
#include <platform/fork.hpp>

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

namespace synfire::ranks {

using namespace synfire::core;

namespace {

constexpr const char* shim_name = "libsynfire_mpi.so";

// The folder of this library, with a slash; empty if it is linked into the program.
std::string own_folder() {
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || !info.dli_fname) return {};
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

void* open_shim(std::string& tried) {
  const char* const given = std::getenv("SYNFIRE_MPI");
  // MPI loads parts of itself that look for its symbols.
  const auto open = [&](const std::string& path) {
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) tried = ::dlerror();
    return library;
  };
  if (given && *given) return open(given);
  if (void* const library = open(own_folder() + shim_name)) return library;
  return open(shim_name);
}

const synfire_mpi_shim& shim() {
  static const synfire_mpi_shim* loaded = nullptr;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (loaded) return *loaded;
  std::string tried;
  void* const library = open_shim(tried);
  if (!library)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-COMMUNICATOR-MPI",
         "%s cannot be loaded (%.400s); it is built where mpicc is found, and SYNFIRE_MPI may have its path", shim_name,
         tried.c_str());
  const auto get = reinterpret_cast<synfire_mpi_get>(::dlsym(library, "synfire_mpi"));
  const synfire_mpi_shim* const found = get ? get() : nullptr;
  if (!found || found->version != SYNFIRE_MPI_SHIM_VERSION)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-COMMUNICATOR-MPI", "%s is of another version of Synfire", shim_name);
  loaded = found;
  return *loaded;
}

void check(int error, const char* what) {
  if (error == 0) return;
  char text[256] = "";
  shim().text(error, text, sizeof text);
  fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-COMMUNICATOR-MPI", "%s failed in MPI: %.200s", what, text);
}

class Mpi;

// Those that are there at the end of the process. It ends MPI then, which waits for all ranks; so the others are told
// first, or they would wait for this rank while it waits for them.
struct Living {
  std::mutex mutex;
  std::vector<Mpi*> all;

  void add(Mpi& one);
  void remove(Mpi& one) {
    const std::lock_guard lock(mutex);
    std::erase(all, &one);
  }
};
Living& living() {
  alignas(Living) static std::byte memory[sizeof(Living)];
  static Living* const one = new (memory) Living;
  return *one;
}

class Mpi final : public Transport {
 public:
  using Clock = PeerWatch::Clock;

  Mpi(const std::optional<Place>& expected, Clock::time_point deadline) : deadline_(deadline) {
    {
      const std::lock_guard lock(in_mpi());
      check(shim().begin(&place_.rank, &place_.size, &state_), "the beginning of the communicator");
    }
    wait();
    if (expected && (expected->rank != place_.rank || expected->size != place_.size)) {
      shim().end(state_);
      fail_argument("SYN-COMMUNICATOR-MPI",
                    "rank %d of %d is expected, and MPI (%s) says %d of %d; mpirun must be that of the same MPI",
                    expected->rank, expected->size, shim().library, place_.rank, place_.size);
    }
    watch_ = std::make_unique<PeerWatch>(place_, [state = state_] { shim().abandon(state); });
    WatchAddress of_first = watch_->address();
    static_assert(sizeof of_first % sizeof(uint64_t) == 0);
    const Part parts[] = {{&of_first, sizeof of_first / sizeof(uint64_t)}};  // 0 of all ranks but the first
    Mpi::begin(Join::sum, parts);
    Mpi::end();
    watch_->begin(of_first, deadline);
    is_watched_ = true;
    living().add(*this);
  }
  ~Mpi() override {
    living().remove(*this);
    if (is_lost_ || !is_watched_ || is_from_before_fork()) return;
    if (!parts_.empty()) {
      abandon();
      return;
    }
    watch_->leave(n_exchanges_);
    shim().end(state_);
  }

  Place place() const noexcept override { return place_; }
  // At the end of the process, of all communicators before the process waits for the others of any: those that were
  // made by several threads are in another order on each rank. Any thread.
  void leave() noexcept {
    if (!is_from_before_fork()) watch_->leave(n_ended_);
  }
  void wait_for_others() const noexcept {
    if (!is_from_before_fork()) watch_->wait_for_others();
  }

  void begin(Join how, std::span<const Part> parts) override {
    if (is_lost_) fail_lost(lost_rank_);
    if (is_from_before_fork())
      fail(SYNFIRE_ERROR_PEER_LOST, "SYN-COMMUNICATOR-LOST",
           "the communicator is one of the parent process; it can only be destroyed");
    ++n_exchanges_;
    check_missing();  // one that has given up, this rank too, may not let the others go on
    how_ = how;
    uint64_t count = 0;
    for (const Part& part : parts) count += part.count;
    if (count * element_bytes() > capacity_) {
      buffer_.reset(new char[count * element_bytes()]);
      capacity_ = count * element_bytes();
    }
    char* at = buffer_.get();
    for (const Part& part : parts) at = std::copy_n(static_cast<const char*>(part.elements), bytes_of(part), at);
    n_started_ = 0;
    n_left_ = count;
    start_next();
    parts_ = parts;
  }

  void end() override {
    if (is_lost_) fail_lost(lost_rank_);
    wait();
    while (n_left_ > 0) {
      start_next();
      wait();
    }
    const char* at = buffer_.get();
    for (const Part& part : parts_) {
      std::copy_n(at, bytes_of(part), static_cast<char*>(part.elements));
      at += bytes_of(part);
    }
    parts_ = {};
    n_ended_ = n_exchanges_;
  }

  void give_up() noexcept override {
    if (is_watched_ && !is_from_before_fork()) watch_->give_up();
  }

 private:
  // MPI allows calls of any thread, but one at a time: also of several communicators.
  static std::mutex& in_mpi() {
    static std::mutex mutex;
    return mutex;
  }
  bool is_from_before_fork() const noexcept { return process_ != fork_generation(); }

  uint64_t element_bytes() const noexcept { return how_ == Join::sum ? sizeof(uint64_t) : sizeof(uint32_t); }
  uint64_t bytes_of(const Part& part) const noexcept { return part.count * element_bytes(); }

  // MPI counts in `int`, so that a very long message is several calls. They are in memory that is never freed if MPI
  // may still write to it.
  void start_next() {
    constexpr uint64_t most = uint64_t{1} << 26;
    const uint64_t count = std::min(most, n_left_);
    int error = 0;
    {
      const std::lock_guard lock(in_mpi());
      error = shim().start(state_, how_ == Join::sum ? 1 : 0, buffer_.get() + n_started_ * element_bytes(),
                           static_cast<int>(count));
    }
    check_exchange(error);
    n_started_ += count;
    n_left_ -= count;
  }

  // Many tests in a row, because exchanges are short; then others get the processor. MPI gives it to them in each test
  // if it knows that there are more ranks than processors, so a thousand tests can take seconds.
  void wait() {
    constexpr int at_once = 1000;
    for (uint64_t n = 1;; ++n) {
      int error = 0, done = 0;
      {
        const std::lock_guard lock(in_mpi());
        error = shim().test(state_, &done);
      }
      check_exchange(error);
      if (done != 0) return;
      check_missing();
      if (n % at_once == 0) ::sched_yield();
    }
  }
  void check_missing() {
    const int32_t missing = is_watched_ ? watch_->missing(n_exchanges_) : -1;
    if (missing >= 0) lose(missing);
    if (!is_watched_ && Clock::now() > deadline_) lose(-1);
  }
  // MPI may find it first.
  void check_exchange(int error) {
    if (error != 0) lose(-1);
  }
  [[noreturn]] void lose(int32_t rank) {
    is_lost_ = true;
    lost_rank_ = rank;
    abandon();
    give_up();
    fail_lost(rank);
  }
  void abandon() noexcept {
    shim().abandon(state_);
    static_cast<void>(buffer_.release());
    capacity_ = 0;
    parts_ = {};
  }
  [[noreturn]] void fail_lost(int32_t rank) const {
    if (rank >= 0)
      fail(SYNFIRE_ERROR_PEER_LOST, "SYN-COMMUNICATOR-LOST",
           "rank %d of the communicator has ended or given up; it can only be destroyed", rank);
    if (is_watched_)
      fail(SYNFIRE_ERROR_PEER_LOST, "SYN-COMMUNICATOR-LOST",
           "an exchange between the ranks has failed in MPI; the communicator can only be destroyed");
    fail(SYNFIRE_ERROR_PEER_LOST, "SYN-COMMUNICATOR-TIMEOUT",
         "not all ranks were there when desc.timeout_ns had passed");
  }

  Place place_ = {};
  void* state_ = nullptr;
  Clock::time_point deadline_;
  std::unique_ptr<PeerWatch> watch_;
  std::unique_ptr<char[]> buffer_;
  Join how_ = Join::sum;
  std::span<const Part> parts_;          // of the message that is under way
  uint64_t n_started_ = 0, n_left_ = 0;  // its elements
  uint64_t capacity_ = 0, n_exchanges_ = 0;
  std::atomic<uint64_t> n_ended_{0};  // exchanges
  int32_t lost_rank_ = -1;
  const uint32_t process_ = fork_generation();  // at its creation
  bool is_watched_ = false, is_lost_ = false;
};

void Living::add(Mpi& one) {
  static const bool is_told = std::atexit([] {  // runs before that of the shim, which was registered earlier
                                const std::lock_guard lock(living().mutex);
                                for (Mpi* const left : living().all) left->leave();
                                for (const Mpi* const left : living().all) left->wait_for_others();
                              }) == 0;
  static_cast<void>(is_told);
  const std::lock_guard lock(mutex);
  all.push_back(&one);
}

}  // namespace

std::unique_ptr<Transport> join_mpi(const std::optional<Place>& expected, int64_t timeout_ns) {
  using Clock = PeerWatch::Clock;
  const auto deadline = timeout_ns < 0 ? Clock::time_point::max() : Clock::now() + std::chrono::nanoseconds(timeout_ns);
  return std::make_unique<Mpi>(expected, deadline);
}

}  // namespace synfire::ranks
