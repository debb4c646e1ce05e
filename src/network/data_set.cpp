#include "data_set.hpp"

#include "data_checks.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/eager_calls.hpp>
#include <operations/elementwise/copy.hpp>

#include <algorithm>
#include <new>

namespace synfire::network {

using namespace synfire::core;

// ---- shapes ---------------------------------------------------------------------------------------------------------

uint64_t RowShape::bytes() const noexcept {
  return static_cast<uint64_t>(stored_steps() * stored_width()) * bytes_of_dtype(dtype);
}

const char* name_of(DataRole role) noexcept {
  constexpr const char* names[] = {"inputs", "labels", "targets", "lengths", "sample_weights", "outputs"};
  return names[static_cast<size_t>(role)];
}

Buffer* DataArrays::of(DataRole role) const noexcept {
  Buffer* const list[] = {inputs, labels, targets, lengths, sample_weights, nullptr};
  return list[static_cast<size_t>(role)];
}

uint64_t DataSet::bytes() const noexcept {
  uint64_t bytes = 0;
  const auto count = [&](const Ref<Buffer>& array) {
    if (array) bytes += array->view().bytes;
  };
  for (const Ref<Buffer>& array : arrays) count(array);
  count(lengths);
  count(sample_weights);
  count(indices);
  count(n_active);
  count(drawn);
  return bytes;
}

RowShape length_row() {
  return {SYNFIRE_DTYPE_U32, 1, 1};
}

RowShape weight_row() {
  return {SYNFIRE_DTYPE_F32, 1, 1};
}

void check_rows(int64_t n_rows, const RowShape& widest) {
  constexpr int64_t most_rows = 0xFFFFFFFF;
  constexpr uint64_t most_bytes = uint64_t{1} << 62;
  if (n_rows < 1 || n_rows > most_rows)
    fail_argument("SYN-NETWORK-DATA", "n_rows is %lld; 1 to 2^32 - 1 are allowed", static_cast<long long>(n_rows));
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(n_rows), widest.bytes(), &bytes) || bytes > most_bytes)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-NETWORK-OVERFLOW", "n_rows is %lld; as many rows cannot be addressed",
         static_cast<long long>(n_rows));
}

Ref<Buffer> make_rows(Context& context, const RowShape& row, int64_t n_rows, int32_t memory) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = memory;
  desc.dtype = row.dtype;
  desc.shape[0] = static_cast<uint64_t>(n_rows);
  desc.shape[1] = static_cast<uint64_t>(row.stored_steps());
  desc.shape[2] = static_cast<uint64_t>(row.stored_width());
  return charged_as(SYNFIRE_TAG_BUFFER, [&] { return Ref<Buffer>::adopt(new Buffer(context, desc)); });
}

// ---- copying --------------------------------------------------------------------------------------------------------

namespace {

struct Array {
  const char* name;
  Buffer* source;
  RowShape row;
  const Buffer** checked;  // what check_elements() looks at
  Ref<Buffer>* before;     // null: there is none
  Ref<Buffer>* after;
};

View checked_rows(const Array& array, int64_t n_rows) {
  const Buffer& buffer = *array.source;
  check_type(buffer, array.name, array.row.dtype);
  buffer.check_has_memory(array.name);
  const View view =
      array_view(buffer, array.name, {n_rows, array.row.stored_steps(), array.row.stored_width()}, Memory::any);
  if (view.is_padded())
    fail_argument("SYN-BUFFER-PITCH", "%s has a row_pitch of %llu; rows without gaps are needed", array.name,
                  static_cast<unsigned long long>(buffer.row_pitch()));
  return view;
}

void copy_rows(const View& source, Buffer& destination, Context& context) {
  if (context.device().is_host() || source.memory != SYNFIRE_MEMORY_DEVICE)
    return destination.upload(0, source.data, source.bytes);
  run_now(context, {operations::Copy{source, destination.view()}}, nullptr);
  context.device().synchronize();
}

}  // namespace

DataSet copy_data(const Design& design, Context& context, int64_t n_rows, const NeededArrays& arrays, DataSet& before) {
  const std::vector<DataNeed> needs = design.data_needs();
  DataSet after;
  after.n_rows = n_rows;
  after.arrays.resize(needs.size());
  GivenArrays given = {{arrays.arrays.begin(), arrays.arrays.end()}, arrays.lengths, arrays.sample_weights};
  std::vector<Array> list;
  const bool has_before = before.arrays.size() == needs.size();
  for (size_t i = 0; i < needs.size(); ++i) {
    list.push_back({name_of(needs[i].role), arrays.arrays[i], needs[i].row, &given.arrays[i],
                    has_before ? &before.arrays[i] : nullptr, &after.arrays[i]});
  }
  if (arrays.lengths)
    list.push_back(
        {name_of(DataRole::lengths), arrays.lengths, length_row(), &given.lengths, &before.lengths, &after.lengths});
  if (arrays.sample_weights)
    list.push_back({name_of(DataRole::sample_weights), arrays.sample_weights, weight_row(), &given.sample_weights,
                    &before.sample_weights, &after.sample_weights});
  for (const Array& array : list) check_rows(n_rows, array.row);
  std::vector<View> sources;
  sources.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const auto check = [&] { sources.push_back(checked_rows(list[i], n_rows)); };
    if (i < needs.size())
      in_stage_of(design, needs[i], check);
    else
      check();
  }
  const auto as_before = [](const Buffer* array, const Ref<Buffer>& known) {
    return (array != nullptr) == (known.get() != nullptr);
  };
  const bool is_same = has_before && before.n_rows == n_rows && as_before(arrays.lengths, before.lengths) &&
                       as_before(arrays.sample_weights, before.sample_weights);
  const bool pinned = std::ranges::any_of(needs, &DataNeed::pinned);
  const int32_t memory = pinned ? SYNFIRE_MEMORY_PINNED : SYNFIRE_MEMORY_DEVICE;
  // A GPU checks elements at its memory's speed, so host memory is copied first if nobody uses the destination yet.
  const bool looks_at_copies = !context.device().is_host() && !is_same && memory == SYNFIRE_MEMORY_DEVICE;
  if (!looks_at_copies) check_elements(context, design, {n_rows}, given);
  // Everything is allocated before anything is copied.
  for (const Array& array : list)
    *array.after = is_same ? *array.before : make_rows(context, array.row, n_rows, memory);
  const auto copy = [&](bool from_host) {
    for (size_t i = 0; i < list.size(); ++i)
      if ((sources[i].memory != SYNFIRE_MEMORY_DEVICE) == from_host) copy_rows(sources[i], **list[i].after, context);
  };
  if (!is_same) {
    copy(true);
    if (looks_at_copies) {
      for (size_t i = 0; i < list.size(); ++i)
        if (sources[i].memory != SYNFIRE_MEMORY_DEVICE) *list[i].checked = list[i].after->get();
      check_elements(context, design, {n_rows}, given);
    }
    copy(false);
    return after;
  }
  constexpr const char* consequence = "; the network has no such data until synfire_network_set_data succeeds";
  before.is_mixed = true;
  try {
    copy(true);
    copy(false);
  } catch (Failure& failure) {
    failure.text.append(consequence);
    throw;
  } catch (const std::bad_alloc&) {
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-MEMORY-HOST", "host memory is exhausted%s", consequence);
  }
  before.is_mixed = false;
  return after;
}

}  // namespace synfire::network
