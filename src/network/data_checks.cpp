#include "data_checks.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>
#include <base/host_memory.hpp>
#include <graph/eager_calls.hpp>
#include <operations/check_elements/check_elements.hpp>

#include <bit>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace synfire::network {

using namespace synfire::core;
using operations::AllowedElements;
using operations::CheckElements;
using operations::CheckElementsArguments;

namespace {

// ---- finding --------------------------------------------------------------------------------------------------------

// Finds elements that are not allowed, where the arrays are: on a GPU those in its memory, which are not copied; the
// processor looks at those in host memory of any kind.
class Finder {
 public:
  // Of this many rows; the lengths of which, or null.
  Finder(Context& context, int64_t n_rows, const Buffer* lengths)
      : context_(context), n_rows_(n_rows), lengths_(lengths) {}

  // The index of the first element that is not allowed, if there is one. Steps beyond a row's length may hold anything.
  std::optional<int64_t> find(const Buffer& array, const RowShape& row, const AllowedElements& allowed) {
    CheckElements op = {allowed, array.view().shaped({n_rows_, row.stored_steps(), row.stored_width()}), {}, {}, {}};
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

 private:
  // Where the operation runs.
  bool is_of_device(const Buffer& array) const noexcept {
    return context_.device().is_host() || array.view().memory == SYNFIRE_MEMORY_DEVICE;
  }

  std::optional<int64_t> find_on_device(CheckElements op) {
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

  Ref<Buffer> make_array(int32_t dtype, uint64_t n_elements) const {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = n_elements;
    return Ref<Buffer>::adopt(new Buffer(context_, desc));
  }

  // A GPU reads the few lengths that it needs from page-locked memory.
  View lengths_for_device() {
    const View& given = lengths_->view();
    if (context_.device().is_host() || given.memory != SYNFIRE_MEMORY_HOST) return given;
    if (!lengths_copy_) {
      lengths_copy_ = make_array(SYNFIRE_DTYPE_U32, static_cast<uint64_t>(n_rows_));
      lengths_copy_->upload(0, given.data, lengths_copy_->view().bytes);
    }
    return lengths_copy_->view();
  }
  void* lengths_for_processor() {
    const View& given = lengths_->view();
    if (given.memory != SYNFIRE_MEMORY_DEVICE) return given.data;
    if (downloaded_.empty()) {
      const uint64_t bytes = static_cast<uint64_t>(n_rows_) * sizeof(uint32_t);
      require_host_memory(bytes, Paging::pageable);
      downloaded_.resize(static_cast<size_t>(n_rows_));
      lengths_->download(0, downloaded_.data(), bytes);
    }
    return downloaded_.data();
  }

  Context& context_;
  const int64_t n_rows_;
  const Buffer* const lengths_;
  Ref<Buffer> result_;  // what is found, and a workspace
  Ref<Buffer> lengths_copy_;
  std::vector<uint32_t> downloaded_;
};

// ---- texts ----------------------------------------------------------------------------------------------------------

double number_of(int32_t dtype, uint64_t bits) {
  switch (dtype) {
    case SYNFIRE_DTYPE_F64:
      return std::bit_cast<double>(bits);
    case SYNFIRE_DTYPE_F32:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case SYNFIRE_DTYPE_BF16:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits << 16)));
    case SYNFIRE_DTYPE_F16: {
      const auto fraction = static_cast<double>(bits & 0x3FF);
      const int exponent = static_cast<int>(bits >> 10 & 31);
      const double magnitude = exponent == 31  ? (fraction != 0 ? std::nan("") : HUGE_VAL)
                               : exponent == 0 ? std::ldexp(fraction, -24)
                                               : std::ldexp(fraction + 1024, exponent - 25);
      return (bits & 0x8000) != 0 ? -magnitude : magnitude;
    }
    default:
      return static_cast<double>(bits);
  }
}

// "inputs has 0.5 in row 3, step 0, element 17".
std::string found_text(const char* name, const Buffer& array, const RowShape& row, int64_t index) {
  uint64_t bits = 0;
  const uint64_t element = bytes_of_dtype(row.dtype);
  array.download(static_cast<uint64_t>(index) * element, &bits, element);
  const int64_t width = row.stored_width(), per_row = row.stored_steps() * width, in_row = index % per_row;
  char text[160];
  int length = std::snprintf(text, sizeof text, "%s has %.10g in row %lld", name, number_of(row.dtype, bits),
                             static_cast<long long>(index / per_row));
  const auto append = [&](const char* what, int64_t number) {
    length += std::snprintf(text + length, sizeof text - static_cast<size_t>(length), ", %s %lld", what,
                            static_cast<long long>(number));
  };
  if (row.n_steps > 1) append("step", in_row / width);
  if (row.width > 1) append("element", in_row % width);
  return text;
}

// ---- what each array may hold -----------------------------------------------------------------------------------

class Checks {
 public:
  Checks(Context& context, const Design& design, int64_t n_rows, const Buffer* lengths)
      : design_(design), finder_(context, n_rows, lengths) {}

  void check_inputs(const Buffer& inputs) {
    const Stage& stage = design_.input();
    if (stage.flag("any_number")) return;
    const RowShape row = input_row(design_);
    const bool or_not_finite = stage.flag("replace_nonfinite");
    const auto check = [&](const AllowedElements& allowed, const char* rule, const char* needed,
                           const char* otherwise) {
      const std::optional<int64_t> found = finder_.find(inputs, row, allowed);
      if (found)
        fail_argument(rule, "%s; %s (with the value \"any_number\" of stage \"%s\", %s)",
                      found_text("inputs", inputs, row, *found).c_str(), needed, stage.name.c_str(), otherwise);
    };
    switch (stage.choice) {
      case SYNFIRE_NETWORK_INPUT_SPIKES:
        if (is_packed(row.dtype)) return;
        return check(operations::allowed_spikes(row.dtype, or_not_finite), "SYN-NETWORK-SPIKE",
                     "a spike is 1, and no spike is 0", "all that is not 0 counts as 1");
      case SYNFIRE_NETWORK_INPUT_RATES:
        return check(operations::allowed_rates(row.dtype, or_not_finite), "SYN-NETWORK-RATE", "rates are from 0 to 1",
                     "less than 0 and NaN count as 0, more than 1 as 1");
      default:
        if (or_not_finite) return;
        return check(operations::allowed_finite(row.dtype), "SYN-NETWORK-INPUT", "values are finite",
                     "they are taken as they are, and with \"replace_nonfinite\" they are replaced by 0 and counted");
    }
  }

  void check_labels(const Buffer& labels) {
    const Stage& loss = *design_.only(StageKind::loss);
    const RowShape row = label_row(design_);
    const auto n_classes = static_cast<uint64_t>(design_.only(StageKind::readout)->width);
    const bool has_ignored = loss.flag("ignores_label");
    const auto ignored = static_cast<uint32_t>(loss.value("ignored_label"));
    const std::optional<int64_t> found =
        finder_.find(labels, row, operations::allowed_labels(n_classes, has_ignored ? &ignored : nullptr));
    if (!found) return;
    const std::string also = has_ignored ? ", and " + std::to_string(ignored) + ", which is ignored" : std::string();
    fail_argument("SYN-NETWORK-LABEL", "%s; the labels of %llu classes are 0 to %llu%s",
                  found_text("labels", labels, row, *found).c_str(), static_cast<unsigned long long>(n_classes),
                  static_cast<unsigned long long>(n_classes - 1), also.c_str());
  }

  void check_targets(const Buffer& targets) {
    check_finite(targets, "targets", "SYN-NETWORK-TARGET", target_row(design_));
  }
  void check_weights(const Buffer& weights) {
    check_finite(weights, "sample_weights", "SYN-NETWORK-WEIGHT", weight_row());
  }

 private:
  void check_finite(const Buffer& array, const char* name, const char* rule, const RowShape& row) {
    const Stage& loss = *design_.only(StageKind::loss);
    if (loss.flag("any_number")) return;
    const std::optional<int64_t> found = finder_.find(array, row, operations::allowed_finite(row.dtype));
    if (found)
      fail_argument(rule, "%s; it must be finite, or the value \"any_number\" of stage \"%s\" be 1",
                    found_text(name, array, row, *found).c_str(), loss.name.c_str());
  }

  const Design& design_;
  Finder finder_;
};

}  // namespace

void check_elements(Context& context, const Design& design, int64_t n_rows, const DataArrays& arrays) {
  Checks checks(context, design, n_rows, arrays.lengths);
  if (arrays.labels) checks.check_labels(*arrays.labels);
  if (arrays.targets) checks.check_targets(*arrays.targets);
  checks.check_inputs(*arrays.inputs);
  if (arrays.sample_weights) checks.check_weights(*arrays.sample_weights);
}

}  // namespace synfire::network
