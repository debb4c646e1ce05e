#ifndef SYNFIRE_NETWORK_DATA_SET_HPP
#define SYNFIRE_NETWORK_DATA_SET_HPP

#include "data_needs.hpp"
#include "design.hpp"
#include "given_arrays.hpp"
#include "row_order.hpp"

#include <memory>
#include <vector>

namespace synfire::network {

class DataStream;

// Arrays that are not given are null.
struct DataSet {
  int64_t n_rows = 0;               // R; 0: there is none
  std::vector<Ref<Buffer>> arrays;  // R rows each, one for each of Design::data_needs()
  Ref<Buffer> lengths;              // u32 [R]
  Ref<Buffer> sample_weights;       // f32 [R]
  bool is_mixed = false;            // some arrays hold new rows and others old ones, because a copy failed

  // With rows in files, the arrays hold some of them, and the next batches are prepared (data_stream.hpp).
  std::shared_ptr<DataStream> stream;  // null: the arrays hold all rows
  RowBlocks blocks;
  int64_t n_in_memory = 0, n_prepared = 0;  // rows of the arrays; batches
  Ref<Buffer> indices, n_active;            // u32 [n_prepared, B], [n_prepared]
  Ref<Buffer> drawn;                        // u32 [1]: which of these a replay has

  // True if it has the memory of the other one.
  bool is_in(const DataSet& other) const noexcept {
    return !arrays.empty() && !other.arrays.empty() && arrays.front().get() == other.arrays.front().get();
  }
  uint64_t bytes() const noexcept;
};

RowShape length_row();
RowShape weight_row();

// Throws unless a data set can have as many rows of this shape.
void check_rows(int64_t n_rows, const RowShape& widest);
Ref<Buffer> make_rows(core::Context& context, const RowShape& row, int64_t n_rows, int32_t memory);

// Copies arrays into memory of the network: that of `before` if the number of rows and the given arrays are the same,
// else new memory. If it throws, nothing has changed unless a copy into `before` failed, which the error says.
DataSet copy_data(const Design& design, core::Context& context, int64_t n_rows, const NeededArrays& arrays,
                  DataSet& before);

}  // namespace synfire::network

#endif
