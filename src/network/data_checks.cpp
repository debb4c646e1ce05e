#include "data_checks.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>
#include <base/host_memory.hpp>
#include <graph/eager_calls.hpp>

#include <cstdio>
#include <cstring>

namespace synfire::network {

using namespace synfire::core;
using operations::AllowedElements;
using operations::CheckElements;
using operations::CheckElementsArguments;

// ---- finding --------------------------------------------------------------------------------------------------------

std::optional<int64_t> DataFinder::find(const Buffer& array, const RowShape& row, const AllowedElements& allowed) {
  View elements = array.view().shaped({rows_.n_rows, row.stored_steps(), row.stored_width()});
  elements.data = static_cast<char*>(elements.data) + static_cast<uint64_t>(rows_.first) * row.bytes();
  CheckElements op = {allowed, elements, {}, {}, {}};
  const bool has_lengths = row.has_lengths && lengths_;
  if (is_of_device(array)) {
    if (has_lengths) op.lengths = lengths_for_device();
    return find_on_device(op);
  }
  if (has_lengths) op.lengths.data = lengths_for_processor();
  const CheckElementsArguments arguments = operations::arguments_of(op);
  const int64_t found = operations::first_refused(arguments, 0, arguments.n_elements);
  if (found == arguments.n_elements) return std::nullopt;
  return found;
}

// True on the device on which the operation runs.
bool DataFinder::is_of_device(const Buffer& array) const noexcept {
  return !rows_.is_part && (context_.device().is_host() || array.view().memory == SYNFIRE_MEMORY_DEVICE);
}

std::optional<int64_t> DataFinder::find_on_device(CheckElements op) {
  constexpr uint64_t result_bytes = 256;  // the workspace is aligned
  const bool on_host = context_.device().is_host();
  if (!result_) {
    const uint64_t bytes = on_host ? sizeof(uint64_t) : result_bytes + operations::check_elements_workspace_bytes;
    result_ = make_array(SYNFIRE_DTYPE_U64, bytes / sizeof(uint64_t));
  }
  op.found = op.workspace = result_->view();
  op.found.bytes = sizeof(uint64_t);
  if (on_host) {
    op.workspace = {};
  } else {
    op.workspace.data = static_cast<char*>(op.workspace.data) + result_bytes;
    op.workspace.bytes -= result_bytes;
  }
  run_now(context_, {op}, nullptr);
  uint64_t found = 0;
  result_->download(0, &found, sizeof found);  // waits
  if (found == operations::nothing_refused) return std::nullopt;
  return static_cast<int64_t>(found);
}

Ref<Buffer> DataFinder::make_array(int32_t dtype, uint64_t n_elements) const {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.dtype = dtype;
  desc.n_elements = n_elements;
  return charged_as(SYNFIRE_TAG_BUFFER, [&] { return Ref<Buffer>::adopt(new Buffer(context_, desc)); });
}

// A GPU reads the few lengths that it needs from page-locked memory.
View DataFinder::lengths_for_device() {
  const View& given = lengths_->view();
  if (context_.device().is_host() || given.memory != SYNFIRE_MEMORY_HOST) return given;
  if (!lengths_copy_) {
    lengths_copy_ = make_array(SYNFIRE_DTYPE_U32, static_cast<uint64_t>(rows_.n_rows));
    lengths_copy_->upload(0, given.data, lengths_copy_->view().bytes);
  }
  return lengths_copy_->view();
}
void* DataFinder::lengths_for_processor() {
  const View& given = lengths_->view();
  if (rows_.is_part) return static_cast<uint32_t*>(given.data) + rows_.first;
  if (given.memory != SYNFIRE_MEMORY_DEVICE) return given.data;
  if (downloaded_.empty()) {
    const uint64_t bytes = static_cast<uint64_t>(rows_.n_rows) * sizeof(uint32_t);
    require_host_memory(bytes, Paging::pageable);
    downloaded_.resize(static_cast<size_t>(rows_.n_rows));
    lengths_->download(0, downloaded_.data(), bytes);
  }
  return downloaded_.data();
}

// ---- texts ----------------------------------------------------------------------------------------------------------

std::string DataFinder::found_text(const char* name, const Buffer& array, const RowShape& row, int64_t index) const {
  uint64_t bits = 0;
  const uint64_t element = bytes_of_dtype(row.dtype);
  const uint64_t at = static_cast<uint64_t>(rows_.first) * row.bytes() + static_cast<uint64_t>(index) * element;
  if (rows_.is_part)
    std::memcpy(&bits, static_cast<const char*>(array.view().data) + at, element);
  else
    array.download(at, &bits, element);
  const int64_t width = row.stored_width(), per_row = row.stored_steps() * width, in_row = index % per_row;
  char text[160];
  int length = std::snprintf(text, sizeof text, "%s has %.10g in row %lld", name, element_value(row.dtype, bits),
                             static_cast<long long>(rows_.first_number + index / per_row));
  const auto append = [&](const char* what, int64_t number) {
    length += std::snprintf(text + length, sizeof text - static_cast<size_t>(length), ", %s %lld", what,
                            static_cast<long long>(number));
  };
  if (row.n_steps > 1) append("step", in_row / width);
  if (row.width > 1) append("element", in_row % width);
  return text;
}

// ---- what each array may hold ---------------------------------------------------------------------------------------

void check_elements(Context& context, const Design& design, const CheckedRows& rows, const GivenArrays& given) {
  DataFinder finder(context, rows, given.lengths);
  const std::vector<DataNeed> needs = design.data_needs();
  const auto check = [&](size_t stage, DataRole role, const Buffer& array) {
    design.stages()[stage].kind->check_elements(design.view(stage), role, array, finder);
  };
  // Labels and targets are smaller than inputs, and wrong more often.
  for (const bool of_inputs : {false, true})
    for (size_t i = 0; i < needs.size(); ++i)
      if ((needs[i].role == DataRole::inputs) == of_inputs)
        in_stage_of(design, needs[i], [&] { check(needs[i].stage, needs[i].role, *given.arrays[i]); });
  if (given.sample_weights)
    for (size_t i = 0; i < design.stages().size(); ++i) check(i, DataRole::sample_weights, *given.sample_weights);
}

}  // namespace synfire::network
