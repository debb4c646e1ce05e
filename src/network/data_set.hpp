#ifndef SYNFIRE_NETWORK_DATA_SET_HPP
#define SYNFIRE_NETWORK_DATA_SET_HPP

#include "data_needs.hpp"
#include "design.hpp"
#include "given_arrays.hpp"

#include <vector>

namespace synfire::network {

// Arrays that are not given are null.
struct DataSet {
  int64_t n_rows = 0;               // R; 0: there is none
  std::vector<Ref<Buffer>> arrays;  // R rows each, one for each of Design::data_needs()
  Ref<Buffer> lengths;              // u32 [R]
  Ref<Buffer> sample_weights;       // f32 [R]
  bool is_mixed = false;            // some arrays hold new rows and others old ones, because a copy failed

  // True if it has the memory of the other one.
  bool is_in(const DataSet& other) const noexcept {
    return !arrays.empty() && !other.arrays.empty() && arrays.front().get() == other.arrays.front().get();
  }
  uint64_t bytes() const noexcept;
};

RowShape length_row();
RowShape weight_row();

// Copies arrays into memory of the network: that of `before` if the number of rows and the given arrays are the same,
// else new memory. If it throws, nothing has changed unless a copy into `before` failed, which the error says.
DataSet copy_data(const Design& design, core::Context& context, int64_t n_rows, const NeededArrays& arrays,
                  DataSet& before);

}  // namespace synfire::network

#endif
