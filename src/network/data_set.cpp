#include "data_set.hpp"

#include "data_checks.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/eager_calls.hpp>
#include <operations/elementwise/copy.hpp>

#include <new>

namespace synfire::network {

using namespace synfire::core;

// ---- shapes ---------------------------------------------------------------------------------------------------------

uint64_t RowShape::bytes() const noexcept {
  return static_cast<uint64_t>(stored_steps() * stored_width()) * bytes_of_dtype(dtype);
}

RowShape input_row(const Design& design) {
  const Stage& input = design.input();
  const bool is_one_step = input.choice == SYNFIRE_NETWORK_INPUT_RATES && !input.flag("per_step");
  return {input.whole("dtype"), is_one_step ? 1 : design.rules().n_steps, input.width, !is_one_step};
}

namespace {

// A row of labels or targets: one entry, or one for each step.
RowShape loss_row(const Design& design, int32_t dtype, int64_t width) {
  const bool per_step = design.only(StageKind::loss)->flag("per_step");
  return {dtype, per_step ? design.rules().n_steps : 1, width, per_step};
}

}  // namespace

RowShape label_row(const Design& design) {
  return loss_row(design, SYNFIRE_DTYPE_U32, 1);
}

RowShape target_row(const Design& design) {
  return loss_row(design, design.rules().dtype, design.only(StageKind::readout)->width);
}

RowShape length_row() {
  return {SYNFIRE_DTYPE_U32, 1, 1};
}

RowShape weight_row() {
  return {SYNFIRE_DTYPE_F32, 1, 1};
}

// ---- copying --------------------------------------------------------------------------------------------------------

namespace {

// An array of the caller's that becomes one of the network.
struct Array {
  const char* name;
  Buffer* source;
  RowShape row;
  Buffer* DataArrays::*place;
  const Ref<Buffer>* before;
  Ref<Buffer>* after;
};

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

void check_given(const Design& design, const DataArrays& arrays) {
  const Stage* const loss = design.only(StageKind::loss);
  if (!loss)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-INCOMPLETE",
         "the network has no loss, without which it has no use for data");
  const bool wants_targets = loss->flag("targets");
  if ((arrays.targets != nullptr) != wants_targets || (arrays.labels != nullptr) == wants_targets)
    fail_argument("SYN-NETWORK-DATA", "labels are %s and targets %s; stage \"%s\" needs %s, by its value \"targets\"",
                  arrays.labels ? "given" : "null", arrays.targets ? "given" : "null", loss->name.c_str(),
                  wants_targets ? "targets" : "labels");
}

// The rows of the caller's array, which must follow each other without gaps.
View checked_rows(const Array& array, int64_t n_rows) {
  const Buffer& buffer = *array.source;
  if (buffer.dtype() != array.row.dtype)
    fail_argument("SYN-BUFFER-TYPE", "%s holds %s; %s is needed", array.name, name_of_dtype(buffer.dtype()),
                  name_of_dtype(array.row.dtype));
  constexpr bool any_memory = true;
  const View view =
      array_view(buffer, array.name, {n_rows, array.row.stored_steps(), array.row.stored_width()}, any_memory);
  if (view.is_padded())
    fail_argument("SYN-BUFFER-PITCH", "%s has a row_pitch of %llu; rows without gaps are needed", array.name,
                  static_cast<unsigned long long>(buffer.row_pitch()));
  return view;
}

Ref<Buffer> make_rows(Context& context, const RowShape& row, int64_t n_rows, int32_t memory) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = memory;
  desc.dtype = row.dtype;
  desc.shape[0] = static_cast<uint64_t>(n_rows);
  desc.shape[1] = static_cast<uint64_t>(row.stored_steps());
  desc.shape[2] = static_cast<uint64_t>(row.stored_width());
  return Ref<Buffer>::adopt(new Buffer(context, desc));
}

void copy_rows(const View& source, Buffer& destination, Context& context) {
  // Host memory of any kind is copied by the processor.
  if (context.device().is_host() || source.memory != SYNFIRE_MEMORY_DEVICE)
    return destination.upload(0, source.data, source.bytes);
  run_now(context, {operations::Copy{source, destination.view()}}, nullptr);
  context.device().synchronize();
}

}  // namespace

DataSet copy_data(const Design& design, Context& context, int64_t n_rows, const DataArrays& arrays, DataSet& before) {
  check_given(design, arrays);
  DataSet after;
  after.n_rows = n_rows;
  std::vector<Array> list;
  const auto add = [&](const char* name, Buffer* DataArrays::*place, const RowShape& row, Ref<Buffer> DataSet::*array) {
    list.push_back({name, arrays.*place, row, place, &(before.*array), &(after.*array)});
  };
  add("inputs", &DataArrays::inputs, input_row(design), &DataSet::inputs);
  if (arrays.labels) add("labels", &DataArrays::labels, label_row(design), &DataSet::labels);
  if (arrays.targets) add("targets", &DataArrays::targets, target_row(design), &DataSet::targets);
  if (arrays.lengths) add("lengths", &DataArrays::lengths, length_row(), &DataSet::lengths);
  if (arrays.sample_weights) add("sample_weights", &DataArrays::sample_weights, weight_row(), &DataSet::sample_weights);
  for (const Array& array : list) check_rows(n_rows, array.row);
  std::vector<View> sources;
  sources.reserve(list.size());
  for (const Array& array : list) sources.push_back(checked_rows(array, n_rows));
  const auto given = [](const Buffer* array, const Ref<Buffer>& known) {
    return (array != nullptr) == (known.get() != nullptr);
  };
  const bool is_same = before.n_rows == n_rows && given(arrays.labels, before.labels) &&
                       given(arrays.targets, before.targets) && given(arrays.lengths, before.lengths) &&
                       given(arrays.sample_weights, before.sample_weights);
  const int32_t memory = design.input().flag("pinned") ? SYNFIRE_MEMORY_PINNED : SYNFIRE_MEMORY_DEVICE;
  // A GPU looks at elements at the speed of its memory. So what comes from host memory is copied first, if nobody has
  // the memory that it is copied to yet.
  const bool looks_at_copies = !context.device().is_host() && !is_same && memory == SYNFIRE_MEMORY_DEVICE;
  if (!looks_at_copies) check_elements(context, design, n_rows, arrays);
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
      DataArrays on_device = arrays;
      for (size_t i = 0; i < list.size(); ++i)
        if (sources[i].memory != SYNFIRE_MEMORY_DEVICE) on_device.*list[i].place = list[i].after->get();
      check_elements(context, design, n_rows, on_device);
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
