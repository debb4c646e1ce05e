// Turns requests about the state of layers into checked operations.
#include "state_rows.hpp"

#include "reset_state.hpp"
#include "snapshot.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <operations/elementwise/copy.hpp>
#include <operations/last_steps/last_steps.hpp>

#include <cstdio>
#include <cstring>
#include <string_view>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// ---- rows of a state ------------------------------------------------------------------------------------------------

RowRange checked(const LayerSpec& spec, RowRange rows, const char* first = "desc.first_row",
                 const char* count = "desc.n_rows") {
  const int64_t batch = spec.extents.batch;
  if (rows.first_row < 0 || rows.first_row >= batch)
    fail_argument("SYN-STATE-ROWS", "%s is %lld; the layer has batch rows 0 to %lld", first,
                  static_cast<long long>(rows.first_row), static_cast<long long>(batch - 1));
  if (rows.n_rows == 0) rows.n_rows = batch - rows.first_row;
  if (rows.n_rows < 0 || rows.n_rows > batch - rows.first_row)
    fail_argument("SYN-STATE-ROWS", "%s is %lld from row %lld on; the layer has %lld batch rows", count,
                  static_cast<long long>(rows.n_rows), static_cast<long long>(rows.first_row),
                  static_cast<long long>(batch));
  return rows;
}

uint64_t bytes_of(const LayerSpec& spec, int64_t rows) {
  return static_cast<uint64_t>(rows * spec.extents.n_neurons) * spec.element_bytes();
}

View state_rows(Layer& layer, int variable, RowRange rows) {
  const LayerSpec& spec = layer.spec();
  if (variable >= spec.model->n_states) return {};
  return layer.own(static_cast<char*>(layer.state(variable)) + bytes_of(spec, rows.first_row),
                   {rows.n_rows, spec.extents.n_neurons}, spec.arithmetic());
}

int find_variable(const Layer& layer, const char* name) {
  return find_state(*layer.spec().model, name ? name : "v", "desc.name");
}

// [n_rows, N] at the beginning of a buffer.
View values(const Layer& layer, RowRange rows, const Buffer& buffer) {
  const LayerSpec& spec = layer.spec();
  check_type(buffer, "desc.buffer", spec.arithmetic());
  const int64_t lengths[] = {rows.n_rows, spec.extents.n_neurons};
  const std::string shape = std::string(name_of_dtype(spec.arithmetic())).append(" ").append(lengths_text(lengths));
  check_shape(buffer, "desc.buffer", lengths, shape);
  check_memory(buffer, "desc.buffer");
  View array = buffer.view();
  const uint64_t needed = bytes_of(spec, rows.n_rows);
  if (array.bytes < needed)
    fail_argument("SYN-BUFFER-SIZE", "desc.buffer holds %llu elements; %s has %llu",
                  static_cast<unsigned long long>(array.bytes / spec.element_bytes()), shape.c_str(),
                  static_cast<unsigned long long>(needed / spec.element_bytes()));
  array.bytes = needed;
  return array;
}

// ---- snapshots ------------------------------------------------------------------------------------------------------

// The first bytes of a snapshot, little-endian. The layout is a hash of everything that two states must share.
struct SnapshotHeader {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t layout;
  int32_t arithmetic;
  int32_t n_states;
  int64_t n_rows;
  int64_t n_neurons;
  uint64_t payload_bytes;
  uint64_t checksum;  // of the header before it and the data after it; 0 in a snapshot that a graph took
  char model[32];     // for people and error texts
};
static_assert(sizeof(SnapshotHeader) == 96 && sizeof(SnapshotHeader) % 8 == 0);

constexpr char magic[8] = {'S', 'Y', 'N', 'F', 'S', 'N', 'A', 'P'};
constexpr uint32_t snapshot_version = 1;

// The bytes of all values: variables, and the history.
uint64_t payload_bytes(const LayerSpec& spec, int64_t n_rows) {
  return static_cast<uint64_t>(spec.model->n_states) * bytes_of(spec, n_rows) +
         static_cast<uint64_t>(n_rows) * spec.history_row_bytes();
}

// FNV-1a over words. Every round is a bijection, so changing one word changes the sum.
class Hash {
 public:
  void add(uint64_t word) { value_ = (value_ ^ word) * 0x100000001B3u; }
  void add(const void* data, uint64_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (; bytes >= 8; bytes -= 8, at += 8) {
      uint64_t word;
      std::memcpy(&word, at, 8);
      add(word);
    }
    for (; bytes > 0; --bytes, ++at) add(uint64_t{*at});
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xCBF29CE484222325u;
};

SnapshotHeader header_of(const LayerSpec& spec, RowRange rows) {
  SnapshotHeader header = {};
  std::memcpy(header.magic, magic, sizeof magic);
  header.version = snapshot_version;
  header.header_bytes = sizeof header;
  header.arithmetic = spec.arithmetic();
  header.n_states = spec.model->n_states;
  header.n_rows = rows.n_rows;
  header.n_neurons = spec.extents.n_neurons;
  header.payload_bytes = payload_bytes(spec, rows.n_rows);
  std::snprintf(header.model, sizeof header.model, "%s", spec.model->name);
  Hash hash;
  hash.add(spec.model->name, std::strlen(spec.model->name));
  for (const int64_t part : {int64_t{header.arithmetic}, int64_t{header.n_states}, header.n_rows, header.n_neurons})
    hash.add(static_cast<uint64_t>(part));
  if (spec.rules.count_down()) hash.add(static_cast<uint64_t>(spec.rules.refractory_steps));
  if (spec.history_steps > 0) hash.add(~static_cast<uint64_t>(spec.history_steps));
  header.layout = hash.value();
  return header;
}

uint64_t checksum_of(const SnapshotHeader& header, const void* payload) {
  Hash hash;
  hash.add(&header, offsetof(SnapshotHeader, checksum));
  hash.add(header.model, sizeof header.model);
  hash.add(payload, header.payload_bytes);
  return hash.value() == 0 ? 1 : hash.value();
}

// The parts of a buffer that hold a snapshot: the header and each variable.
View snapshot_part(const Buffer& buffer, uint64_t offset, uint64_t bytes) {
  View part = buffer.view();
  part.data = static_cast<char*>(part.data) + offset;
  part.bytes = bytes;
  return part;
}

// The history of some rows in a buffer, after the variables: [D, n_rows, words].
View snapshot_history(const LayerSpec& spec, RowRange rows, const Buffer& buffer) {
  const uint64_t offset =
      sizeof(SnapshotHeader) + static_cast<uint64_t>(spec.model->n_states) * bytes_of(spec, rows.n_rows);
  View history = snapshot_part(buffer, offset, static_cast<uint64_t>(rows.n_rows) * spec.history_row_bytes());
  history.dtype = SYNFIRE_DTYPE_BITS;
  history = history.shaped({spec.history_steps, rows.n_rows, spec.extents.words_per_row()});
  history.pitch = history.row();
  return history;
}

void check_snapshot_buffer(const Layer& layer, RowRange rows, const Buffer& buffer) {
  check_type(buffer, "desc.buffer", SYNFIRE_DTYPE_U8);
  check_memory(buffer, "desc.buffer");
  const uint64_t needed = snapshot_bytes(layer, rows);
  if (buffer.view().bytes < needed)
    fail_argument("SYN-BUFFER-SIZE", "desc.buffer holds %llu bytes; the snapshot takes %llu",
                  static_cast<unsigned long long>(buffer.view().bytes), static_cast<unsigned long long>(needed));
  if (reinterpret_cast<uintptr_t>(buffer.view().data) % 8 != 0)
    fail_argument("SYN-BUFFER-ALIGNMENT", "desc.buffer is at %p; a snapshot needs an address that is a multiple of 8",
                  buffer.view().data);
}

// Calls f(memory, bytes) for what is contiguous in a history: all of it, or the rows of each step.
template <class F>
void for_each_stretch(const View& history, F f) {
  if (!history) return;
  const uint64_t step = static_cast<uint64_t>(history.row()) * sizeof(uint32_t);
  if (!history.is_padded()) return f(history.data, history.bytes);
  for (int64_t i = 0; i < history.shape[0]; ++i) f(static_cast<uint32_t*>(history.data) + i * history.pitch, step);
}

std::array<unsigned char, 128> bytes_of(const SnapshotHeader& header) {
  std::array<unsigned char, 128> bytes = {};
  static_assert(sizeof header <= sizeof bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

}  // namespace

// ---- operations -----------------------------------------------------------------------------------------------------

OperationList reset_rows(Layer& layer, RowRange rows, Buffer* mask) {
  rows = checked(layer.spec(), rows);
  ResetState operation = {&layer,
                          rows.first_row,
                          rows.n_rows,
                          state_rows(layer, 0, rows),
                          {state_rows(layer, 1, rows), state_rows(layer, 2, rows), state_rows(layer, 3, rows)},
                          layer.parameter_memory()};
  if (mask) {
    const auto batch = static_cast<uint64_t>(layer.spec().extents.batch);
    check_type(*mask, "desc.buffer", SYNFIRE_DTYPE_U8);
    const int64_t lengths[] = {layer.spec().extents.batch};
    check_shape(*mask, "desc.buffer", lengths, std::string("a mask u8 ").append(lengths_text(lengths)));
    check_memory(*mask, "desc.buffer");
    operation.mask = mask->view();
    if (operation.mask.bytes < batch)
      fail_argument("SYN-BUFFER-SIZE", "desc.buffer holds %llu elements; a mask has one for each of %llu batch rows",
                    static_cast<unsigned long long>(operation.mask.bytes), static_cast<unsigned long long>(batch));
    operation.mask.bytes = batch;
  }
  OperationList operations = {operation};
  if (const View history = layer.history_memory()) {
    LastSteps clear = last_steps(1, {}, {}, history);
    clear.first_row = rows.first_row;
    clear.n_rows = rows.n_rows;
    clear.mask = operation.mask;
    operations.emplace_back(clear);
  }
  return operations;
}

OperationList read_rows(Layer& layer, const char* name, RowRange rows, Buffer& destination) {
  rows = checked(layer.spec(), rows);
  const View state = state_rows(layer, find_variable(layer, name), rows);
  return {Copy{state, values(layer, rows, destination)}};
}

OperationList write_rows(Layer& layer, const char* name, RowRange rows, Buffer& source) {
  rows = checked(layer.spec(), rows);
  const View state = state_rows(layer, find_variable(layer, name), rows);
  return {Copy{values(layer, rows, source), state}};
}

OperationList copy_rows(Layer& source, RowRange rows, Layer& destination, int64_t destination_row) {
  const LayerSpec &from = source.spec(), &to = destination.spec();
  if (from.rules.count_down() != to.rules.count_down() || from.rules.refractory_steps != to.rules.refractory_steps)
    fail_argument("SYN-STATE-LAYOUT",
                  "desc.source counts down %d refractory steps%s, layer %d%s; the states of the two differ in meaning",
                  from.rules.refractory_steps, from.rules.count_down() ? "" : " (no countdown)",
                  to.rules.refractory_steps, to.rules.count_down() ? "" : " (no countdown)");
  if (from.model != to.model || from.arithmetic() != to.arithmetic() || from.extents.n_neurons != to.extents.n_neurons)
    fail_argument(
        "SYN-STATE-LAYOUT",
        "desc.source is of model \"%s\" with %lld neurons in %s, layer of model \"%s\" with %lld in %s; the states "
        "of the two differ in layout",
        from.model->name, static_cast<long long>(from.extents.n_neurons), name_of_dtype(from.arithmetic()),
        to.model->name, static_cast<long long>(to.extents.n_neurons), name_of_dtype(to.arithmetic()));
  if (from.history_steps != to.history_steps)
    fail_argument(
        "SYN-STATE-LAYOUT",
        "desc.source keeps the spikes of %lld steps, layer those of %lld; the states of the two differ in layout",
        static_cast<long long>(from.history_steps), static_cast<long long>(to.history_steps));
  rows = checked(from, rows);
  const RowRange target = checked(to, {destination_row, rows.n_rows}, "desc.destination_row");
  if (&source == &destination && rows.first_row < target.first_row + rows.n_rows &&
      target.first_row < rows.first_row + rows.n_rows)
    fail_argument("SYN-STATE-ROWS", "rows %lld to %lld of the layer are to be copied onto themselves in part",
                  static_cast<long long>(rows.first_row), static_cast<long long>(rows.first_row + rows.n_rows - 1));
  OperationList operations;
  for (int variable = 0; variable < from.model->n_states; ++variable)
    operations.emplace_back(Copy{state_rows(source, variable, rows), state_rows(destination, variable, target)});
  if (from.history_steps > 0)
    operations.emplace_back(last_steps(1, {}, source.history_memory(rows.first_row, rows.n_rows),
                                       destination.history_memory(target.first_row, target.n_rows)));
  return operations;
}

OperationList snapshot_rows(Layer& layer, RowRange rows, Buffer& destination) {
  rows = checked(layer.spec(), rows);
  check_snapshot_buffer(layer, rows, destination);
  const SnapshotHeader header = header_of(layer.spec(), rows);
  OperationList operations;
  operations.emplace_back(WriteBytes{snapshot_part(destination, 0, sizeof header), bytes_of(header), sizeof header});
  const uint64_t part = bytes_of(layer.spec(), rows.n_rows);
  for (int variable = 0; variable < header.n_states; ++variable)
    operations.emplace_back(
        Copy{state_rows(layer, variable, rows),
             snapshot_part(destination, sizeof header + static_cast<uint64_t>(variable) * part, part)});
  if (const View history = layer.history_memory(rows.first_row, rows.n_rows))
    operations.emplace_back(last_steps(1, {}, history, snapshot_history(layer.spec(), rows, destination)));
  return operations;
}

OperationList restore_rows(Layer& layer, RowRange rows, Buffer& source) {
  rows = checked(layer.spec(), rows);
  check_snapshot_buffer(layer, rows, source);
  const SnapshotHeader header = header_of(layer.spec(), rows);
  // Up to the checksum, which a snapshot taken by a graph does not have.
  constexpr uint64_t compared = offsetof(SnapshotHeader, checksum);
  OperationList operations;
  const uint64_t part = bytes_of(layer.spec(), rows.n_rows);
  for (int variable = 0; variable < header.n_states; ++variable)
    operations.emplace_back(
        GuardedCopy{snapshot_part(source, sizeof header + static_cast<uint64_t>(variable) * part, part),
                    state_rows(layer, variable, rows), snapshot_part(source, 0, compared), bytes_of(header), compared});
  if (const View history = layer.history_memory(rows.first_row, rows.n_rows))
    operations.emplace_back(GuardedCopy{snapshot_history(layer.spec(), rows, source), history,
                                        snapshot_part(source, 0, compared), bytes_of(header), compared});
  return operations;
}

// ---- snapshots in memory of the host --------------------------------------------------------------------------------

uint64_t snapshot_bytes(const Layer& layer, RowRange rows) {
  rows = checked(layer.spec(), rows);
  return sizeof(SnapshotHeader) + payload_bytes(layer.spec(), rows.n_rows);
}

void take_snapshot(Layer& layer, RowRange rows, void* data) {
  rows = checked(layer.spec(), rows);
  SnapshotHeader header = header_of(layer.spec(), rows);
  char* const payload = static_cast<char*>(data) + sizeof header;
  char* at = payload;
  for (int variable = 0; variable < header.n_states; ++variable) {
    const View state = state_rows(layer, variable, rows);
    layer.context()->device().download(at, state.data, state.bytes);
    at += state.bytes;
  }
  for_each_stretch(layer.history_memory(rows.first_row, rows.n_rows), [&](void* history, uint64_t bytes) {
    layer.context()->device().download(at, history, bytes);
    at += bytes;
  });
  header.checksum = checksum_of(header, payload);
  std::memcpy(data, &header, sizeof header);
}

void put_snapshot(Layer& layer, RowRange rows, const void* data, uint64_t bytes) {
  rows = checked(layer.spec(), rows);
  const SnapshotHeader expected = header_of(layer.spec(), rows);
  SnapshotHeader header;
  if (bytes < sizeof header)
    fail_argument("SYN-SNAPSHOT-DAMAGED", "data has %llu bytes; a snapshot has at least %zu",
                  static_cast<unsigned long long>(bytes), sizeof header);
  std::memcpy(&header, data, sizeof header);
  if (std::memcmp(header.magic, magic, sizeof magic) != 0)
    fail_argument("SYN-SNAPSHOT-FOREIGN", "data does not begin with \"SYNFSNAP\": it is not a snapshot");
  if (header.version != snapshot_version || header.header_bytes != sizeof header)
    fail_argument("SYN-SNAPSHOT-FOREIGN", "data is a snapshot of version %u; this library reads version %u",
                  header.version, snapshot_version);
  if (header.layout != expected.layout || header.n_rows != expected.n_rows || header.n_neurons != expected.n_neurons ||
      header.arithmetic != expected.arithmetic || header.n_states != expected.n_states ||
      header.payload_bytes != expected.payload_bytes)
    fail_argument("SYN-SNAPSHOT-LAYOUT",
                  "data is a snapshot of model \"%.31s\", %lld rows of %lld neurons in %s with %d variables; this is "
                  "model \"%s\", %lld rows of %lld neurons in %s with %d, and %d refractory_steps and %lld "
                  "history_steps, as the snapshot must have too",
                  header.model, static_cast<long long>(header.n_rows), static_cast<long long>(header.n_neurons),
                  name_of_dtype(header.arithmetic), header.n_states, expected.model,
                  static_cast<long long>(expected.n_rows), static_cast<long long>(expected.n_neurons),
                  name_of_dtype(expected.arithmetic), expected.n_states, layer.spec().rules.refractory_steps,
                  static_cast<long long>(layer.spec().history_steps));
  if (bytes != sizeof header + header.payload_bytes)
    fail_argument("SYN-SNAPSHOT-DAMAGED", "data has %llu bytes; this snapshot has %llu",
                  static_cast<unsigned long long>(bytes),
                  static_cast<unsigned long long>(sizeof header + header.payload_bytes));
  const char* at = static_cast<const char*>(data) + sizeof header;
  if (header.checksum != 0 && header.checksum != checksum_of(header, at))
    fail_argument("SYN-SNAPSHOT-DAMAGED", "data has changed since the snapshot was taken: its checksum does not match");
  for (int variable = 0; variable < header.n_states; ++variable) {
    const View state = state_rows(layer, variable, rows);
    layer.context()->device().upload(state.data, at, state.bytes);
    at += state.bytes;
  }
  for_each_stretch(layer.history_memory(rows.first_row, rows.n_rows), [&](void* history, uint64_t bytes_of_stretch) {
    layer.context()->device().upload(history, at, bytes_of_stretch);
    at += bytes_of_stretch;
  });
}

}  // namespace synfire::operations
