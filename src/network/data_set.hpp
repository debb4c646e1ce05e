// Data sets: rows of inputs with labels or targets, in memory of the network, and the shapes that a design gives them.
#ifndef SYNFIRE_NETWORK_DATA_SET_HPP
#define SYNFIRE_NETWORK_DATA_SET_HPP

#include "design.hpp"

#include <base/buffer.hpp>

namespace synfire::network {

using core::Buffer;
using core::Ref;

// What is not given is null.
struct DataSet {
  int64_t n_rows = 0;          // R; 0: there is none
  Ref<Buffer> inputs;          // R rows as the input stage says
  Ref<Buffer> labels;          // u32 [R] or [R, T]
  Ref<Buffer> targets;         // [R, C] or [R, T, C]
  Ref<Buffer> lengths;         // u32 [R]
  Ref<Buffer> sample_weights;  // f32 [R]
  bool is_mixed = false;       // some arrays hold new rows and others old ones, because a copy failed
};

// One row of an array: `n_steps` steps of `width` elements, which packed formats store in fewer words.
struct RowShape {
  int32_t dtype;
  int64_t n_steps, width;
  bool has_lengths = false;  // its steps are those of the network, of which a row may have fewer

  int64_t stored_steps() const noexcept { return dtype == SYNFIRE_DTYPE_TIME_BITS ? (n_steps + 31) / 32 : n_steps; }
  int64_t stored_width() const noexcept { return dtype == SYNFIRE_DTYPE_BITS ? (width + 31) / 32 : width; }
  uint64_t bytes() const noexcept;  // of a row; checked when the design was
};

RowShape input_row(const Design& design);
RowShape label_row(const Design& design);
RowShape target_row(const Design& design);
RowShape length_row();
RowShape weight_row();

// The caller's arrays; null where they are not given.
struct DataArrays {
  Buffer *inputs, *labels, *targets, *lengths, *sample_weights;
};
// Copies arrays into memory of the network: that of `before` where the number of rows and the arrays given are the
// same, else new memory. If it throws, it has changed nothing, except that `before` is mixed if a copy into its memory
// failed. The error then says so.
DataSet copy_data(const Design& design, core::Context& context, int64_t n_rows, const DataArrays& arrays,
                  DataSet& before);

}  // namespace synfire::network

#endif
