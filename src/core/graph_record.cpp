// Recording: each call appends one operation to the list of a graph, with everything checked that a launch would
// otherwise have to check. What the operations are made of is their own files' (layer_operations.cpp and the like).
#include "graph.hpp"

#include "array_checks.hpp"
#include "error.hpp"
#include "operands.hpp"
#include "text.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>

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

namespace {

// Room for so many more elements, so that adding them cannot fail. Grows as adding one by one would.
template <class T>
void make_room(std::vector<T>& list, size_t n_more) {
  if (list.capacity() - list.size() < n_more) list.reserve(std::max(list.size() + n_more, 2 * list.capacity()));
}

static_assert(std::is_nothrow_move_constructible_v<Operation>, "Graph::append() moves operations where nothing may fail");

}  // namespace

void Graph::use(Layer& layer) noexcept {
  for (const Ref<Layer>& known : layers_)
    if (known.get() == &layer) return;
  layers_.emplace_back(&layer);
}

void Graph::keep(Buffer& buffer) noexcept {
  for (const Ref<Buffer>& known : buffers_)
    if (known.get() == &buffer) return;
  buffers_.emplace_back(&buffer);
}

// A tape made of it before is worth nothing after.
void Graph::note_written(Buffer& buffer) noexcept {
  for (RecordedForward& forward : forwards_)
    if (forward.left.x == &buffer) forward.overwritten = true;
  const auto same = [&](const Written& written) { return written.buffer == &buffer; };
  if (std::none_of(written_.begin(), written_.end(), same)) written_.push_back({&buffer, false});
}

// The one place where the list grows, and where it is worked out from the operands what an operation keeps alive and
// what it writes. An operation is recorded whole or not at all: all memory is there before anything changes, and nothing
// after that can fail. `kept`: a buffer that must live as long as the graph, though no operand names it.
uint32_t Graph::append(OperationList&& operations, Buffer* kept) {
  size_t n_operands = 0;
  for_each_operand(operations, [&](const Operand<const Array>&) { ++n_operands; });
  make_room(operations_, operations.size());
  make_room(owners_, operations.size());
  make_room(enabled_, 1);
  make_room(layers_, n_operands);
  make_room(buffers_, n_operands + 1);
  make_room(written_, n_operands);
  const auto number = static_cast<uint32_t>(enabled_.size());
  for_each_operand(operations, [&](const Operand<const Array>& operand) {
    if (Layer* const layer = layer_of(operand.array)) use(*layer);
    if (Buffer* const buffer = buffer_of(operand.array)) {
      keep(*buffer);
      if (operand.is_written()) note_written(*buffer);
    }
  });
  if (kept) keep(*kept);
  std::move(operations.begin(), operations.end(), std::back_inserter(operations_));
  owners_.resize(operations_.size(), number);
  enabled_.push_back(1);
  return number;
}

// ---- operations -----------------------------------------------------------------------------------------------------

void Graph::record_forward(Layer& layer, const ForwardRequest& request) {
  const Exclusive exclusive(use_);
  check_recording();
  make_room(forwards_, 1);
  const TapeShape left =
      request.tape == Tape::none ? TapeShape{} : TapeShape{request.x, request.tape, request.in_place};
  const uint32_t number = append({layer.forward(request)});
  forwards_.push_back({&layer, number, left});
  layer.expect_tape(left);
}

void Graph::record_backward(Layer& layer, const BackwardRequest& request) {
  const Exclusive exclusive(use_);
  check_recording();
  const RecordedForward* inside = nullptr;
  for (const RecordedForward& forward : forwards_)
    if (forward.layer == &layer) inside = &forward;
  if (inside && !inside->left.x)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-INFERENCE",
         "the latest forward of the layer in this graph was recorded for inference (SYNFIRE_TAPE_NONE)");
  for (const RecordedUpdate& update : updates_)
    if (update.layer == &layer && (!inside || update.operation > inside->operation))
      fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-PARAMETERS",
           "operation %u of this graph updates a parameter of the layer after the forward whose tape this backward "
           "would read",
           update.operation);
  std::pair<TapeShape, Ref<Buffer>> expected;
  if (inside) expected = {inside->left, Ref<Buffer>(inside->left.x)};
  else expected = layer.expected_tape();
  const TapeShape& tape = expected.first;
  const bool reads_input = layer.reads_input(request, tape) || tape.in_place;
  if (inside && inside->overwritten && reads_input)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-WRITTEN",
         "an operation of this graph writes x after the forward that read it, and this backward reads it again");
  make_room(backwards_, 1);
  const auto index = inside ? std::optional<size_t>(inside - forwards_.data()) : std::nullopt;
  // It belongs to the forward of this x, also where it reads H only.
  const uint32_t number = append(layer.backward(request, tape), tape.x);
  backwards_.push_back({&layer, number, index, tape, reads_input});
}

void Graph::record_copy(Buffer& source, uint64_t source_offset, Buffer& destination, uint64_t destination_offset,
                        uint64_t bytes) {
  const Exclusive exclusive(use_);
  check_recording();
  Array from = source.array(), to = destination.array();
  for (const auto& [name, array] : {std::pair{"desc.source", &from}, std::pair{"desc.destination", &to}})
    if (!device().is_host() && array->memory == SYNFIRE_MEMORY_HOST)
      fail_argument("SYN-BUFFER-KIND",
                    "%s is a buffer of pageable host memory; a graph on a CUDA context copies between device and "
                    "pinned buffers",
                    name);
  if (source_offset > from.bytes)
    fail_argument("SYN-COPY-RANGE", "desc.source_offset is %llu; desc.source holds %llu bytes",
                  static_cast<unsigned long long>(source_offset), static_cast<unsigned long long>(from.bytes));
  if (bytes == 0) bytes = from.bytes - source_offset;
  if (bytes == 0) fail_argument("SYN-COPY-RANGE", "desc.source_offset is the size of desc.source: nothing to copy");
  if (bytes > from.bytes - source_offset)
    fail_argument("SYN-COPY-RANGE", "desc.bytes is %llu at desc.source_offset %llu; desc.source holds %llu bytes",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(source_offset),
                  static_cast<unsigned long long>(from.bytes));
  if (destination_offset > to.bytes || bytes > to.bytes - destination_offset)
    fail_argument("SYN-COPY-RANGE",
                  "%llu bytes do not fit at desc.destination_offset %llu; desc.destination holds %llu bytes",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(destination_offset),
                  static_cast<unsigned long long>(to.bytes));
  from.data = static_cast<char*>(from.data) + source_offset;
  to.data = static_cast<char*>(to.data) + destination_offset;
  from.bytes = to.bytes = bytes;
  OperationList operations = {CopyOperation{from, to}};
  check_overlap(operations);
  append(std::move(operations));
}

void Graph::record_convert_spikes(const ConvertSpikesRequest& request) {
  const Exclusive exclusive(use_);
  check_recording();
  append(convert_spikes(request, device().is_host()));
}

void Graph::record_count_spikes(const CountSpikesRequest& request) {
  const Exclusive exclusive(use_);
  check_recording();
  append(count_spikes(request, device().is_host()));
}

void Graph::record_native(const NativeRequest& request) {
  const Exclusive exclusive(use_);
  check_recording();
  NativeOperation operation = {
      static_cast<uint32_t>(enabled_.size()), printable(request.name ? request.name : ""), request.callback, request.user, {}, {}};
  const auto arrays_of = [&](const std::vector<Buffer*>& buffers, const char* field, std::vector<Array>& arrays) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      const std::string name = std::string("desc.").append(field).append("[").append(std::to_string(i)).append("]");
      check_memory(*buffers[i], name.c_str(), device().is_host());
      arrays.push_back(buffers[i]->array());
    }
  };
  arrays_of(request.reads, "reads", operation.reads);
  arrays_of(request.writes, "writes", operation.writes);
  OperationList operations;
  operations.emplace_back(std::move(operation));
  append(std::move(operations));
}

void Graph::record(OperationList&& operations) {
  const Exclusive exclusive(use_);
  check_recording();
  append(std::move(operations));
}

void Graph::drop_updates_from(uint32_t operation) noexcept {
  while (!updates_.empty() && updates_.back().operation >= operation) {
    updates_.back().layer->drop_update(updates_.back().parameter);
    updates_.pop_back();
  }
}

template <class Make>
void Graph::record_with_values(Make make) {
  const Exclusive exclusive(use_);
  check_recording();
  const auto number = static_cast<uint32_t>(enabled_.size());
  try {
    append(make(number));
  } catch (...) {
    values_.drop_from(number);
    drop_updates_from(number);
    throw;
  }
}

void Graph::record_fill(Buffer& buffer, double value) {
  record_with_values([&](uint32_t number) {
    OperationList operations = fill(buffer, value, device().is_host());
    std::get<FillOperation>(operations[0]).bits =
        values_.add(number, "value", GraphValues::Kind::fill, buffer.dtype(), value);
    return operations;
  });
}

void Graph::record_scale_add(const ScaleAddRequest& request) {
  record_with_values([&](uint32_t number) {
    OperationList operations = scale_add(request, device().is_host());
    auto& operation = std::get<ScaleAddOperation>(operations[0]);
    const auto number_at = [&](const char* name, double value) {
      return reinterpret_cast<const double*>(
          values_.add(number, name, GraphValues::Kind::number, SYNFIRE_DTYPE_F64, value));
    };
    operation.scale_value = number_at("scale", request.scale);
    operation.keep_value = number_at("keep", request.keep);
    return operations;
  });
}

void Graph::record_update(Layer& layer, const UpdateRequest& request, double learning_rate) {
  record_with_values([&](uint32_t number) {
    make_room(updates_, 1);
    const uint64_t* const rate =
        values_.add(number, "learning_rate", GraphValues::Kind::number, SYNFIRE_DTYPE_F64, learning_rate);
    const UpdateParameterOperation operation = layer.update(request, reinterpret_cast<const double*>(rate));
    updates_.push_back({&layer, number, request.parameter.index});
    return OperationList{operation};
  });
}

}  // namespace synfire::core
