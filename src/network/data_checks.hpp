// Checks every element of the arrays of a data set before the network uses any.
#ifndef SYNFIRE_NETWORK_DATA_CHECKS_HPP
#define SYNFIRE_NETWORK_DATA_CHECKS_HPP

#include "data_set.hpp"

#include <operations/check_elements/check_elements.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace synfire::network {

// The rows of the arrays that are looked at: all of them, or a part of arrays in memory that processors can read.
struct CheckedRows {
  int64_t n_rows;
  int64_t first = 0;         // in the arrays
  int64_t first_number = 0;  // its number in the data set
  bool is_part = false;      // the calling thread looks, without any other
};

// Finds elements that are not allowed, where the arrays are: on a GPU in its own memory, without a copy; the processor
// checks host memory of any kind.
class DataFinder {
 public:
  // Arrays have these rows, with these lengths, or null.
  DataFinder(core::Context& context, const CheckedRows& rows, const Buffer* lengths)
      : context_(context), rows_(rows), lengths_(lengths) {}

  // The index, in the rows, of the first element that is not allowed, if there is one. Steps beyond a row's length may
  // hold anything.
  std::optional<int64_t> find(const Buffer& array, const RowShape& row, const operations::AllowedElements& allowed);
  // "inputs has 0.5 in row 3, step 0, element 17".
  std::string found_text(const char* name, const Buffer& array, const RowShape& row, int64_t index) const;

 private:
  bool is_of_device(const Buffer& array) const noexcept;
  std::optional<int64_t> find_on_device(operations::CheckElements op);
  Ref<Buffer> make_array(int32_t dtype, uint64_t n_elements) const;
  core::View lengths_for_device();
  void* lengths_for_processor();

  core::Context& context_;
  const CheckedRows rows_;
  const Buffer* const lengths_;
  Ref<Buffer> result_;  // what is found, and a workspace
  Ref<Buffer> lengths_copy_;
  std::vector<uint32_t> downloaded_;
};

// The arrays of a data set: those that the stages need, and those of the rows, or null.
struct GivenArrays {
  std::vector<const Buffer*> arrays;  // one for each of Design::data_needs()
  const Buffer *lengths, *sample_weights;
};

// Throws INVALID_ARGUMENT for the first invalid element of an array, with its row and its value: labels that are not
// classes, spikes that are neither 0 nor 1, rates outside 0 to 1, and other numbers that are not finite, unless the
// stages allow them. Steps beyond a row's length may hold anything. The arrays have their types, and rows without gaps.
void check_elements(core::Context& context, const Design& design, const CheckedRows& rows, const GivenArrays& given);

}  // namespace synfire::network

#endif
