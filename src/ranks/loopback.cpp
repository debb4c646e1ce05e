// Ranks of one process, each on its own thread. All wait until everybody's arrays are known; then each joins a share of
// the elements and writes it to the arrays of all; and all wait again.
#include "transport.hpp"

#include <base/error.hpp>
#include <base/object.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace synfire::ranks {

using namespace synfire::core;

namespace {

struct Shared {
  Join how;
  std::span<const Part> parts;

  bool fits(const Shared& other) const {
    return how == other.how && std::equal(parts.begin(), parts.end(), other.parts.begin(), other.parts.end(),
                                          [](const Part& a, const Part& b) { return a.count == b.count; });
  }
};

// The ranks of one name. It lives as long as one of them.
struct Group : std::enable_shared_from_this<Group> {
  Group(const std::string& its_name, int32_t size)
      : name(its_name), is_there(static_cast<size_t>(size)), shared(static_cast<size_t>(size)) {}

  const std::string name;

  // Guarded by the mutex of all groups.
  Group* next = nullptr;          // in their list, while it is not complete
  std::vector<uint8_t> is_there;  // whether each rank has come
  size_t n_there = 0;
  std::condition_variable complete;

  // Guarded by this one.
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Shared> shared;  // what each rank gives
  size_t n_arrived = 0;
  uint64_t round = 0;  // how often all ranks have arrived
  int32_t lost = -1;   // the first rank that gave up; -1: none

  size_t size() const { return shared.size(); }
};

[[noreturn]] void fail_lost(int32_t rank) {
  fail(SYNFIRE_ERROR_PEER_LOST, "SYN-COMMUNICATOR-LOST",
       "rank %d of the communicator has ended or given up; it can only be destroyed", rank);
}

// Joins what one of the ranks joins: its share of each array.
template <class E, class Of>
void join_share(const std::vector<Shared>& shared, size_t rank, Of of) {
  const std::span<const Part> own = shared[rank].parts;
  for (size_t part = 0; part < own.size(); ++part) {
    const uint64_t count = own[part].count, end = count * (rank + 1) / shared.size();
    for (uint64_t i = count * rank / shared.size(); i < end; ++i) {
      const auto element = [&](const Shared& one) -> E& { return static_cast<E*>(one.parts[part].elements)[i]; };
      E joined = element(shared.front());
      for (size_t r = 1; r < shared.size(); ++r) joined = of(joined, element(shared[r]));
      for (const Shared& one : shared) element(one) = joined;
    }
  }
}

class Loopback final : public Transport {
 public:
  Loopback(std::shared_ptr<Group> group, const Place& place) : group_(std::move(group)), place_(place) {}

  ~Loopback() override {
    if (is_complete_) Loopback::give_up();
  }

  void begin() noexcept { is_complete_ = true; }
  Place place() const noexcept override { return place_; }

  void begin(Join how, std::span<const Part> parts) override {
    Group& group = *group_;
    std::unique_lock lock(group.mutex);
    if (group.lost >= 0) fail_lost(group.lost);
    group.shared[static_cast<size_t>(place_.rank)] = {how, parts};
    arrive(lock);
  }

  void end() override {
    Group& group = *group_;
    std::unique_lock lock(group.mutex);
    const auto rank = static_cast<size_t>(place_.rank);
    wait_for_all(lock, true);
    // Nobody gives anything else before all have read this.
    const bool fits = std::all_of(group.shared.begin(), group.shared.end(),
                                  [&](const Shared& one) { return one.fits(group.shared.front()); });
    lock.unlock();
    if (fits) {
      if (group.shared[rank].how == Join::largest)
        join_share<uint32_t>(group.shared, rank, [](uint32_t a, uint32_t b) { return std::max(a, b); });
      else
        join_share<uint64_t>(group.shared, rank, [](uint64_t a, uint64_t b) { return a + b; });
    }
    lock.lock();
    arrive(lock);
    wait_for_all(lock, false);
    lock.unlock();
    if (!fits)
      fail(SYNFIRE_ERROR_INTERNAL, "SYN-INTERNAL", "the ranks of a communicator exchange arrays of different lengths");
  }

  void give_up() noexcept override {
    {
      const std::lock_guard lock(group_->mutex);
      if (group_->lost < 0) group_->lost = place_.rank;
    }
    group_->changed.notify_all();
  }

 private:
  void arrive(std::unique_lock<std::mutex>& lock) {
    Group& group = *group_;
    round_ = group.round;
    if (++group.n_arrived < group.size()) return;
    group.n_arrived = 0;
    ++group.round;
    lock.unlock();
    group.changed.notify_all();
    lock.lock();
  }
  // Between the two waits of a message, everybody comes: only the first one can be given up, and then nobody is beyond
  // it.
  // A rank that the program has destroyed is freed by a later call of the process. If all of its threads wait here,
  // there is none.
  void wait_for_all(std::unique_lock<std::mutex>& lock, bool may_end) const {
    constexpr auto between_frees = std::chrono::seconds(1);
    Group& group = *group_;
    const auto is_over = [&] { return group.round != round_ || (may_end && group.lost >= 0); };
    while (!group.changed.wait_for(lock, between_frees, is_over)) {
      lock.unlock();
      drain();
      lock.lock();
    }
    if (group.round == round_) fail_lost(group.lost);
  }

  const std::shared_ptr<Group> group_;
  const Place place_;
  uint64_t round_ = 0;  // of the last arrival
  bool is_complete_ = false;
};

// Groups that are not complete. It has no memory that must be freed, because nothing may run at the end of the process.
struct Known {
  std::mutex mutex;
  Group* first = nullptr;

  Group* find(const std::string& name) const {
    Group* group = first;
    while (group && group->name != name) group = group->next;
    return group;
  }
  void add(Group& group) {
    group.next = first;
    first = &group;
  }
  void remove(Group& group) {
    Group** at = &first;
    while (*at != &group) at = &(*at)->next;
    *at = group.next;
  }
};
Known& known() {
  alignas(Known) static std::byte memory[sizeof(Known)];
  static Known* const all = new (memory) Known;
  return *all;
}

}  // namespace

std::unique_ptr<Transport> join_loopback(const std::string& group, const Place& place, int64_t timeout_ns) {
  Known& all = known();
  const auto rank = static_cast<size_t>(place.rank);
  std::unique_lock lock(all.mutex);
  Group* const found = all.find(group);
  const std::shared_ptr<Group> joined = found ? found->shared_from_this() : std::make_shared<Group>(group, place.size);
  if (joined->size() != static_cast<size_t>(place.size))
    fail_argument("SYN-COMMUNICATOR-SIZE", "desc.size is %d; other ranks of the group \"%s\" say %zu", place.size,
                  group.c_str(), joined->size());
  if (joined->is_there[rank] != 0)
    fail_argument("SYN-COMMUNICATOR-RANK", "desc.rank is %d, which is in the group \"%s\" already", place.rank,
                  group.c_str());
  auto made = std::make_unique<Loopback>(joined, place);
  if (!found) all.add(*joined);
  joined->is_there[rank] = 1;
  const auto is_complete = [&] { return joined->n_there == joined->size(); };
  if (++joined->n_there == joined->size()) {
    all.remove(*joined);  // the next ranks of this name are those of another group
    joined->complete.notify_all();
  } else if (timeout_ns < 0) {
    joined->complete.wait(lock, is_complete);
  } else {
    joined->complete.wait_for(lock, std::chrono::nanoseconds(timeout_ns), is_complete);
  }
  if (is_complete()) {
    made->begin();
    return made;
  }
  const size_t n_there = joined->n_there--;
  joined->is_there[rank] = 0;
  if (joined->n_there == 0) all.remove(*joined);
  fail(SYNFIRE_ERROR_PEER_LOST, "SYN-COMMUNICATOR-TIMEOUT",
       "%zu of %d ranks of the group \"%s\" were there when desc.timeout_ns had passed", n_there, place.size,
       group.c_str());
}

}  // namespace synfire::ranks
