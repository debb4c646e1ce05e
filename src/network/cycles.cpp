#include "cycles.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace synfire::network {

namespace {

// Tarjan's search for strongly connected components, with a stack of its own: a design may have thousands of stages in
// a row. It gives each stage the number of its component.
class ComponentSearch {
 public:
  explicit ComponentSearch(const Design& design)
      : design_(design), marks_(design.stages().size()), component_(marks_.size(), none) {}

  std::vector<uint32_t> run() {
    for (uint32_t i = 0; i < marks_.size(); ++i)
      if (marks_[i].order == 0) search(i);
    return std::move(component_);
  }
  uint32_t count() const noexcept { return n_components_; }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  struct Mark {
    uint32_t order = 0;  // in which the search has come to the stage, from 1 on; 0: it has not
    uint32_t low = 0;    // the smallest order that it reaches
    size_t next = 0;     // the reader that comes next
  };

  void enter(uint32_t stage) {
    marks_[stage].order = marks_[stage].low = ++n_entered_;
    path_.push_back(stage);
    open_.push_back(stage);
  }
  void search(uint32_t first) {
    enter(first);
    while (!path_.empty()) {
      const uint32_t stage = path_.back();
      Mark& mark = marks_[stage];
      const std::span<const Edge> readers = design_.readers(stage);
      if (mark.next < readers.size()) {
        const uint32_t reader = readers[mark.next++].from;
        if (marks_[reader].order == 0)
          enter(reader);
        else if (component_[reader] == none)
          mark.low = std::min(mark.low, marks_[reader].order);
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) marks_[path_.back()].low = std::min(marks_[path_.back()].low, mark.low);
      if (mark.low == mark.order) close(stage);
    }
  }
  void close(uint32_t stage) {
    for (uint32_t other = none; other != stage;) {
      other = open_.back();
      open_.pop_back();
      component_[other] = n_components_;
    }
    ++n_components_;
  }

  const Design& design_;
  std::vector<Mark> marks_;
  std::vector<uint32_t> component_, path_, open_;
  uint32_t n_entered_ = 0, n_components_ = 0;
};

}  // namespace

Cycles::Cycles(const Design& design) : has(design.stages().size()) {
  ComponentSearch search(design);
  const std::vector<uint32_t> component = search.run();
  std::vector<std::vector<uint32_t>> members(search.count());
  for (uint32_t i = 0; i < component.size(); ++i) members[component[i]].push_back(i);
  // The number of edges from other components, of which none has been placed yet.
  std::vector<uint32_t> n_missing(members.size());
  for (uint32_t i = 0; i < component.size(); ++i) {
    for (const Edge& reader : design.readers(i)) {
      if (component[reader.from] != component[i])
        ++n_missing[component[reader.from]];
      else
        has[i] = has[reader.from] = 1;
    }
  }
  // The unit with the first stage comes next, among those that can be placed.
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (const std::vector<uint32_t>& one : members)
    if (n_missing[component[one.front()]] == 0) ready.push(one.front());
  while (!ready.empty()) {
    const std::vector<uint32_t>& one = members[component[ready.top()]];
    ready.pop();
    units.push_back(one);
    for (const uint32_t stage : one)
      for (const Edge& reader : design.readers(stage)) {
        const uint32_t other = component[reader.from];
        if (other != component[stage] && --n_missing[other] == 0) ready.push(members[other].front());
      }
  }
}

bool Cycles::any() const noexcept {
  return std::ranges::any_of(has, [](uint8_t in_cycle) { return in_cycle != 0; });
}

}  // namespace synfire::network
