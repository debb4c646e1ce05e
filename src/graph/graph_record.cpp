// Recording: each call appends one operation to the list of a graph, and checks everything that launches would
// otherwise have to check.
#include "graph.hpp"
#include "operands.hpp"

#include <base/make_room.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace synfire::core {

void Graph::check_recording() const {
  if (instantiated_.load(std::memory_order_acquire))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-INSTANTIATED",
         "the graph is already instantiated; record into a new graph");
}

int32_t Graph::last_operation() {
  const Exclusive exclusive(use_);
  if (enabled_.empty())
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-EMPTY", "the graph is empty; record at least one operation first");
  return static_cast<int32_t>(enabled_.size()) - 1;
}

// All of these stay within the room that append() has made.

void Graph::use(Replayed& object) noexcept {
  if (replayed_at_.find(&object) != AddressIndex::none) return;
  replayed_at_.set(&object, static_cast<uint32_t>(replayed_.size()));
  replayed_.emplace_back(&object);
}

void Graph::use(SharedObject& object, bool writes) noexcept {
  const uint32_t number = shared_at_.find(&object);
  if (number != AddressIndex::none) {
    shared_[number].written |= writes;
    return;
  }
  shared_at_.set(&object, static_cast<uint32_t>(shared_.size()));
  shared_.push_back({Ref<SharedObject>(&object), writes});
}

void Graph::keep(Buffer& buffer) noexcept {
  if (buffers_at_.find(&buffer) != AddressIndex::none) return;
  buffers_at_.set(&buffer, static_cast<uint32_t>(buffers_.size()));
  buffers_.emplace_back(&buffer);
}

// The only place where the list grows. Derives from the operands what an operation keeps alive and what it writes. All
// or nothing: all memory is allocated before anything changes.
void Graph::append(OperationList&& operations, const Recorder& recorder) {
  check_written(operations);
  transients_.number(operations);
  size_t n_operands = 0;
  for_each_operand(operations, [&](const Operand<const View>&) { ++n_operands; });
  make_room(operations_, operations.size());
  make_room(owners_, operations.size());
  make_room(enabled_, 1);
  make_room(replayed_, n_operands);
  make_room(shared_, n_operands + recorder.objects_.size());
  make_room(buffers_, n_operands + recorder.buffers_.size());
  replayed_at_.make_room(n_operands);
  shared_at_.make_room(n_operands + recorder.objects_.size());
  buffers_at_.make_room(n_operands + recorder.buffers_.size());
  writes_.make_room(n_operands);
  passed_on_.make_room(2 * n_operands, transients_.count());
  for_each_operand(operations, [&](const Operand<const View>& operand) {
    if (Replayed* const object = replayed_of(operand.view)) use(*object);
    if (SharedObject* const object = shared_of(operand.view)) use(*object, operand.is_written());
    Buffer* const buffer = buffer_of(operand.view);
    if (buffer) keep(*buffer);
    if (Versioned* const object = operand.is_written() ? versioned_of(operand.view) : nullptr)
      writes_.add(*object, recorder.number(), buffer != nullptr);
  });
  for (const Operation& entry : operations)
    for (const bool writes : {false, true})
      for_each_operand(entry, [&](const Operand<const View>& operand) {
        if (operand.view.transient != 0 && operand.view.owner && (writes ? operand.is_written() : operand.is_read()))
          passed_on_.add(operand.view.transient, recorder.number(), !writes, writes);
      });
  for (const Ref<Buffer>& buffer : recorder.buffers_) keep(*buffer);
  for (const Ref<SharedObject>& object : recorder.objects_) use(*object, false);
  std::move(operations.begin(), operations.end(), std::back_inserter(operations_));
  owners_.resize(operations_.size(), recorder.number());
  enabled_.push_back(1);
  for (TapeKeeper& keeper : keepers_) keeper.commit();
}

void Graph::give_up(const Recorder& recorder) noexcept {
  values_.drop_from(recorder.number());
  transients_.drop_from(recorder.n_transients_);
  for (TapeKeeper& keeper : keepers_) keeper.drop();
}

void Graph::record(FunctionRef<OperationList(Recorder&)> make) {
  const Charging charging(charge());
  const Exclusive exclusive(use_);
  check_recording();
  Recorder recorder(*this);
  try {
    OperationList operations = make(recorder);
    append(rewrite_ ? rewrite_(std::move(operations)) : std::move(operations), recorder);
  } catch (...) {
    give_up(recorder);
    throw;
  }
}

// ---- what an operation tells ----------------------------------------------------------------------------------------

Recorder::Recorder(Graph& graph) noexcept
    : graph_(graph), number_(static_cast<uint32_t>(graph.enabled_.size())), n_transients_(graph.transients_.count()) {}

const uint64_t* Recorder::value(const char* name, GraphValues::Kind kind, int32_t dtype, double value) {
  return graph_.values_.add(number_, name, kind, dtype, value);
}

const uint64_t* Recorder::whole(const char* name, uint64_t value) {
  return graph_.values_.add_whole(number_, name, value);
}

CountedValue Recorder::counted(const char* name, uint64_t value) {
  return graph_.values_.add_counted(number_, name, value);
}

}  // namespace synfire::core
