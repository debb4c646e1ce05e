// Arrays of rows that the stages of a network need of a data set, and their shapes.
#ifndef SYNFIRE_NETWORK_DATA_NEEDS_HPP
#define SYNFIRE_NETWORK_DATA_NEEDS_HPP

#include <base/buffer.hpp>

#include <cstddef>
#include <cstdint>

namespace synfire::network {

using core::Buffer;
using core::Ref;

// One row of an array: `n_steps` steps of `width` elements, which packed formats store in fewer words.
struct RowShape {
  int32_t dtype;
  int64_t n_steps, width;
  bool has_lengths = false;  // its steps are those of the network, of which a row may have fewer

  int64_t stored_steps() const noexcept { return dtype == SYNFIRE_DTYPE_TIME_BITS ? (n_steps + 31) / 32 : n_steps; }
  int64_t stored_width() const noexcept { return dtype == SYNFIRE_DTYPE_BITS ? (width + 31) / 32 : width; }
  uint64_t bytes() const noexcept;  // of a row; checked when the design was
};

enum class DataRole : int32_t {
  inputs = SYNFIRE_ARRAY_INPUTS,
  labels = SYNFIRE_ARRAY_LABELS,
  targets = SYNFIRE_ARRAY_TARGETS,
  lengths = SYNFIRE_ARRAY_LENGTHS,
  sample_weights = SYNFIRE_ARRAY_SAMPLE_WEIGHTS,
  outputs = SYNFIRE_ARRAY_OUTPUTS  // of inference, and no part of a data set
};
const char* name_of(DataRole role) noexcept;

// An array that a stage needs. Lengths and sample weights belong to the rows, and may be absent.
struct DataNeed {
  size_t stage;
  DataRole role;  // inputs, labels or targets
  RowShape row;
  bool pinned = false;  // a GPU reads the data set from page-locked memory
};

// The arrays of a data set by their roles alone.
struct DataArrays {
  Buffer *inputs, *labels, *targets, *lengths, *sample_weights;

  Buffer* of(DataRole role) const noexcept;
};

}  // namespace synfire::network

#endif
