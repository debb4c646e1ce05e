#include "pack_exchanges.hpp"

#include <graph/branches.hpp>
#include <graph/operands.hpp>
#include <operations/all_reduce/all_reduce.hpp>

#include <algorithm>
#include <utility>

namespace synfire::network {

using namespace synfire::core;
using operations::AllReduce;
using operations::Message;

namespace {

constexpr ranks::Join maxima_first[] = {ranks::Join::largest, ranks::Join::sum};

class Packing {
 public:
  Packing(OperationList&& entries, std::vector<uint32_t>&& owners, uint64_t most_held)
      : entries_(std::move(entries)),
        owners_(std::move(owners)),
        most_held_(most_held),
        after_(dependencies(entries_)),
        state_(entries_.size(), State::waits) {
    list.reserve(entries_.size());
    owners_of_list.reserve(entries_.size());
    while (place_what_can_be() || exchange()) {
    }
  }

  OperationList list;
  std::vector<uint32_t> owners_of_list;
  ExchangeCounts counts;

 private:
  enum class State : uint8_t { waits, will_be_exchanged, is_exchanged, is_placed };
  enum class Waits { for_nothing, for_message, for_next_message, for_others };

  // An entry that waits for several things waits for the one that is last in the list above.
  Waits what_for(size_t entry) const {
    Waits waits = Waits::for_nothing;
    for (const uint32_t earlier : after_[entry]) {
      constexpr Waits of_state[] = {Waits::for_others, Waits::for_next_message, Waits::for_message, Waits::for_nothing};
      waits = std::max(waits, of_state[static_cast<size_t>(state_[earlier])]);
    }
    return waits;
  }
  // It counts arrays that have memory only while they are needed.
  uint64_t bytes_held_by(size_t entry) const {
    uint64_t bytes = 0;
    for_each_operand(entries_[entry], [&](const Operand<const View>& operand) {
      if (operand.view.transient != 0 && operand.is_read()) bytes += operand.view.bytes;
    });
    return bytes;
  }
  void place(size_t entry) {
    state_[entry] = State::is_placed;
    list.push_back(std::move(entries_[entry]));
    owners_of_list.push_back(owners_[entry]);
  }

  // One pass over the entries that are left. Returns true if a message has begun, so that there may be more to place.
  bool place_what_can_be() {
    while (first_ < state_.size() && state_[first_] == State::is_placed) ++first_;
    uint64_t held = 0;
    for (size_t i = first_; i < state_.size(); ++i) {
      if (state_[i] != State::waits) continue;
      const Waits waits = what_for(i);
      if (waits == Waits::for_nothing) {
        const auto* const exchanged = entries_[i].as<AllReduce>();
        if (!exchanged) {
          place(i);
          continue;
        }
        pending_[static_cast<size_t>(exchanged->how)].push_back(i);
        state_[i] = State::will_be_exchanged;
      }
      if (waits == Waits::for_next_message) held += bytes_held_by(i);
      if (held <= most_held_ || (pending_[0].empty() && pending_[1].empty())) continue;
      end();
      begin();
      return true;
    }
    return false;
  }

  // Nothing else can be computed. Returns false if nothing is left.
  bool exchange() {
    if (end()) return true;
    if (!begin()) return false;
    return end();
  }

  AllReduce message(Message part) const {
    AllReduce made = *entries_[in_flight_.front()].as<AllReduce>();
    made.arrays.clear();
    for (const size_t entry : in_flight_) {
      const std::vector<View>& arrays = entries_[entry].as<AllReduce>()->arrays;
      made.arrays.insert(made.arrays.end(), arrays.begin(), arrays.end());
    }
    made.message = part;
    return made;
  }
  bool begin() {
    for (const ranks::Join how : maxima_first) {
      std::vector<size_t>& pending = pending_[static_cast<size_t>(how)];
      if (pending.empty()) continue;
      in_flight_ = std::exchange(pending, {});
      for (const size_t entry : in_flight_) state_[entry] = State::is_exchanged;
      begun_at_ = list.size();
      list.emplace_back(message(Message::begin));
      owners_of_list.push_back(owners_[in_flight_.front()]);
      ++counts.n_messages;
      return true;
    }
    return false;
  }
  bool end() {
    if (in_flight_.empty()) return false;
    counts.n_arrays += in_flight_.size();
    if (list.size() == begun_at_ + 1) {
      list.back() = message(Message::whole);
    } else {
      list.emplace_back(message(Message::end));
      owners_of_list.push_back(owners_[in_flight_.front()]);
    }
    for (const size_t entry : in_flight_) state_[entry] = State::is_placed;
    in_flight_.clear();
    return true;
  }

  OperationList entries_;
  const std::vector<uint32_t> owners_;
  const uint64_t most_held_;
  const EarlierEntries after_;
  std::vector<State> state_;
  size_t first_ = 0;                // all before it are placed
  std::vector<size_t> pending_[2];  // exchanges that can begin, of each ranks::Join
  std::vector<size_t> in_flight_;   // those of the message that has begun
  size_t begun_at_ = 0;             // in the list
};

}  // namespace

ExchangeCounts pack_exchanges(OperationList& entries, std::vector<uint32_t>& owners, uint64_t most_held) {
  Packing packing(std::move(entries), std::move(owners), most_held);
  entries = std::move(packing.list);
  owners = std::move(packing.owners_of_list);
  return packing.counts;
}

}  // namespace synfire::network
