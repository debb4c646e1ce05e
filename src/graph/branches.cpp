#include "branches.hpp"

#include "operands.hpp"

#include <algorithm>
#include <map>

namespace synfire::core {

namespace {

constexpr uint32_t no_number = UINT32_MAX;

// Who has used ranges of memory so far: the last writer of each, and its readers since.
class UsedMemory {
 public:
  // Calls visit(entry) for those that an access must wait for, and notes it.
  template <class Visit>
  void access(uintptr_t begin, uintptr_t end, uint32_t entry, bool writes, Visit visit) {
    split(begin);
    split(end);
    uintptr_t at = begin;
    for (auto range = ranges_.lower_bound(begin); at < end;) {
      if (range == ranges_.end() || range->first > at) {
        const uintptr_t until = range == ranges_.end() ? end : std::min(end, range->first);
        range = ranges_.emplace_hint(range, at, Range{until, no_number, {}});
      }
      Range& one = range->second;
      if (one.writer != no_number && one.writer != entry) visit(one.writer);
      if (writes) {
        for (const uint32_t reader : one.readers)
          if (reader != entry) visit(reader);
        one.writer = entry;
        one.readers.clear();
      } else if (one.readers.empty() || one.readers.back() != entry) {
        one.readers.push_back(entry);
      }
      at = one.end;
      ++range;
    }
  }

 private:
  struct Range {
    uintptr_t end;
    uint32_t writer;
    std::vector<uint32_t> readers;
  };
  // So that a range begins here if one has this address inside.
  void split(uintptr_t at) {
    auto range = ranges_.upper_bound(at);
    if (range == ranges_.begin()) return;
    --range;
    if (range->first == at || range->second.end <= at) return;
    Range rest = range->second;
    range->second.end = at;
    ranges_.emplace(at, std::move(rest));
  }

  std::map<uintptr_t, Range> ranges_;
};

}  // namespace

EarlierEntries dependencies(std::span<const Operation> entries) {
  EarlierEntries after(entries.size());
  UsedMemory memory;
  uint32_t barrier = no_number;
  for (uint32_t entry = 0; entry < entries.size(); ++entry) {
    std::vector<uint32_t>& own = after[entry];
    if (barrier != no_number) own.push_back(barrier);
    if (entries[entry].kind().calls_back) {
      for (uint32_t before = barrier == no_number ? 0 : barrier + 1; before < entry; ++before) own.push_back(before);
      barrier = entry;
    }
    for_each_operand(entries[entry], [&](const Operand<const View>& operand) {
      const auto begin = reinterpret_cast<uintptr_t>(operand.view.data);
      memory.access(begin, begin + operand.view.bytes, entry, operand.access != Access::read,
                    [&](uint32_t before) { own.push_back(before); });
    });
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return after;
}

// ---- branches -------------------------------------------------------------------------------------------------------

namespace {

// For each entry a number for each branch.
class Rows {
 public:
  Rows(size_t n_entries, uint32_t n_branches) : n_branches_(n_branches), numbers_(n_entries * n_branches) {}
  std::span<uint32_t> operator[](size_t entry) { return std::span(numbers_).subspan(entry * n_branches_, n_branches_); }
  void raise(size_t entry, size_t to) {
    const std::span<uint32_t> row = (*this)[entry], other = (*this)[to];
    for (size_t branch = 0; branch < n_branches_; ++branch) row[branch] = std::max(row[branch], other[branch]);
  }

 private:
  const size_t n_branches_;
  std::vector<uint32_t> numbers_;
};

EarlierEntries reduced(EarlierEntries after, std::span<const uint32_t> of, uint32_t count) {
  Rows ended(after.size(), count);  // how many entries of each branch have ended when this entry has
  std::vector<uint32_t> place(after.size()), length(count), last(count, no_number);
  for (uint32_t entry = 0; entry < after.size(); ++entry) {
    const uint32_t branch = of[entry];
    std::vector<uint32_t>& own = after[entry];
    if (last[branch] != no_number) own.push_back(last[branch]);
    std::sort(own.begin(), own.end());
    // The latest first: what it waits for is known then.
    std::vector<uint32_t> kept;
    for (size_t i = own.size(); i-- > 0;) {
      const uint32_t before = own[i];
      if (ended[entry][of[before]] > place[before]) continue;
      kept.push_back(before);
      ended.raise(entry, before);
    }
    own.assign(kept.rbegin(), kept.rend());
    place[entry] = length[branch]++;
    ended[entry][branch] = length[branch];
    last[branch] = entry;
  }
  return after;
}

// The branches of the entries that leave room; `no_number` for others.
class Division {
 public:
  Division(const EarlierEntries& after, std::span<const uint8_t> leaves_room)
      : of(after.size(), no_number), before_(after.size(), most_branches) {
    for (uint32_t entry = 0; entry < after.size(); ++entry) {
      for (const uint32_t earlier : after[entry]) before_.raise(entry, earlier);
      if (leaves_room[entry]) add(entry);
    }
  }

  std::vector<uint32_t> of;
  uint32_t count = 0;

 private:
  // A branch whose last entry this one waits for, a new one, or the shortest.
  void add(uint32_t entry) {
    const std::span<uint32_t> own = before_[entry];
    uint32_t branch = 0;
    while (branch < count && own[branch] != length_[branch]) ++branch;
    if (branch == most_branches) {
      branch = static_cast<uint32_t>(std::min_element(length_, length_ + most_branches) - length_);
      before_.raise(entry, last_[branch]);
    }
    count = std::max(count, branch + 1);
    own[branch] = ++length_[branch];
    last_[branch] = entry;
    of[entry] = branch;
  }

  uint32_t length_[most_branches] = {}, last_[most_branches] = {};
  Rows before_;  // how many entries of each branch an entry waits for, itself included
};

}  // namespace

Branches find_branches(std::span<const Operation> entries, std::span<const uint8_t> leaves_room) {
  if (std::count(leaves_room.begin(), leaves_room.end(), 0) + 2 > static_cast<std::ptrdiff_t>(entries.size()))
    return {};
  EarlierEntries after = dependencies(entries);
  Division division(after, leaves_room);
  if (division.count < 2) return {};
  // The first entry that leaves room and needs this one, and the last one that it needs.
  std::vector<uint32_t> first(entries.size(), no_number), last(entries.size(), no_number);
  for (size_t entry = entries.size(); entry-- > 0;)
    for (const uint32_t earlier : after[entry])
      first[earlier] = std::min(first[earlier], leaves_room[entry] ? static_cast<uint32_t>(entry) : first[entry]);
  for (size_t entry = 0; entry < entries.size(); ++entry) {
    for (const uint32_t earlier : after[entry]) {
      const uint32_t one = leaves_room[earlier] ? earlier : last[earlier];
      if (one != no_number && (last[entry] == no_number || one > last[entry])) last[entry] = one;
    }
    if (leaves_room[entry]) continue;
    const uint32_t with = first[entry] != no_number ? first[entry] : last[entry];
    division.of[entry] = with == no_number ? 0 : division.of[with];
  }
  Branches branches = {division.count, std::move(division.of), {}};
  branches.after = reduced(std::move(after), branches.of, branches.count);
  return branches;
}

}  // namespace synfire::core
