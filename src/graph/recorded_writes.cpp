#include "recorded_writes.hpp"

#include <base/make_room.hpp>

#include <utility>

namespace synfire::core {

void RecordedWrites::make_room(size_t n_more) {
  core::make_room(writes_, n_more);
  core::make_room(objects_, n_more);
  at_.make_room(n_more);
}

void RecordedWrites::add(Versioned& object, uint32_t operation, bool always) noexcept {
  uint32_t at = at_.find(&object);
  if (at == AddressIndex::none) {
    at = static_cast<uint32_t>(objects_.size());
    at_.set(&object, at);
    objects_.push_back({&object, AddressIndex::none, always, false, {}});
  }
  uint32_t& newest = objects_[at].newest;
  if (newest != AddressIndex::none && writes_[newest].operation == operation) return;
  writes_.push_back({operation, newest});
  newest = static_cast<uint32_t>(writes_.size()) - 1;
}

uint32_t RecordedWrites::merged(uint32_t a, uint32_t b) noexcept {
  uint32_t newest = AddressIndex::none;
  uint32_t* last = &newest;
  while (a != AddressIndex::none && b != AddressIndex::none) {
    uint32_t& next = writes_[a].operation > writes_[b].operation ? a : b;
    *last = next;
    last = &writes_[next].previous;
    next = *last;
  }
  *last = a != AddressIndex::none ? a : b;
  return newest;
}

void RecordedWrites::rebind(Versioned& before, Versioned& now) noexcept {
  const uint32_t at = at_.find(&before);
  if (at == AddressIndex::none) return;
  if (objects_[at].owned) before.writes().give_up();
  at_.set(&before, AddressIndex::none);
  const uint32_t other = at_.find(&now);
  if (other == AddressIndex::none) {
    objects_[at].object = &now;
    objects_[at].owned = claimed_ && now.writes().claim(claimed_);
    at_.set(&now, at);
    return;
  }
  objects_[other].newest = merged(objects_[other].newest, objects_[at].newest);
  objects_[at] = objects_.back();
  if (at + 1 < objects_.size()) at_.set(objects_[at].object, at);
  objects_.pop_back();
}

void RecordedWrites::claim(const void* graph) noexcept {
  claimed_ = graph;
  for (OfObject& of : objects_) of.owned = of.object->writes().claim(graph);
}

void RecordedWrites::give_up() noexcept {
  for (OfObject& of : objects_)
    if (std::exchange(of.owned, false)) of.object->writes().give_up();
}

void RecordedWrites::plan(std::span<const uint8_t> enabled, std::vector<CountedWrite>& counted) noexcept {
  counted.clear();
  for (OfObject& of : objects_) {
    of.enabled = {};
    if (!of.always)
      for (uint32_t at = of.newest; at != AddressIndex::none; at = writes_[at].previous)
        if (enabled[writes_[at].operation] != 0) of.enabled.add(writes_[at].operation);
    if (of.always || of.enabled.any) counted.push_back({&of.object->writes(), of.owned});
  }
}

const RecordedWrites::OfObject* RecordedWrites::find(const Versioned* object) const noexcept {
  const uint32_t at = object ? at_.find(object) : AddressIndex::none;
  return at == AddressIndex::none ? nullptr : &objects_[at];
}

bool RecordedWrites::any_after(const Versioned* object, uint32_t operation) const noexcept {
  const OfObject* const of = find(object);
  return of && writes_[of->newest].operation > operation;
}

bool RecordedWrites::any_between(const Versioned* object, uint32_t after, uint32_t before,
                                 std::span<const uint8_t> enabled) const noexcept {
  const OfObject* const of = find(object);
  uint32_t at = of ? of->newest : AddressIndex::none;
  for (; at != AddressIndex::none && writes_[at].operation > after; at = writes_[at].previous)
    if (writes_[at].operation < before && enabled[writes_[at].operation] != 0) return true;
  return false;
}

std::optional<uint32_t> RecordedWrites::first(const Versioned* object, std::optional<uint32_t> after) const noexcept {
  const OfObject* const of = find(object);
  std::optional<uint32_t> found;
  for (uint32_t at = of ? of->newest : AddressIndex::none;
       at != AddressIndex::none && (!after || writes_[at].operation > *after); at = writes_[at].previous)
    found = writes_[at].operation;
  return found;
}

OperationSpan RecordedWrites::enabled(const Versioned* object) const noexcept {
  const OfObject* const of = find(object);
  return of ? of->enabled : OperationSpan{};
}

}  // namespace synfire::core
