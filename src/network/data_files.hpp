// The arrays of a data set in files: opened and checked once, and read row by row.
#ifndef SYNFIRE_NETWORK_DATA_FILES_HPP
#define SYNFIRE_NETWORK_DATA_FILES_HPP

#include "given_arrays.hpp"

#include <files/file_io.hpp>

#include <memory>
#include <span>
#include <vector>

namespace synfire::network {

// An array of rows for a stage in a file, as a program names it.
struct GivenFile {
  const char *path, *tensor, *stage;  // null: of a file with one array; as GivenArray::stage
  DataRole role;
};

class DataFiles {
 public:
  // Rows of a tensor, as a part of those of an array.
  struct Piece {
    std::shared_ptr<const files::InputFile> file;
    uint64_t begin;  // of its first row in the file
    int64_t first_row, n_rows;
  };
  struct Array {
    RowShape row;
    std::vector<Piece> pieces = {};  // in the order of their rows
    int64_t n_rows = 0;
  };

  // Reads the headers. Throws INVALID_ARGUMENT unless the files have all arrays that the design needs, with as many
  // rows.
  DataFiles(const Design& design, std::span<const GivenFile> given);

  int64_t n_rows() const noexcept { return n_rows_; }
  // One for each of Design::data_needs(); those of the lengths and of the sample weights have no rows if there are
  // none.
  const std::vector<Array>& arrays() const noexcept { return arrays_; }
  const Array& lengths() const noexcept { return lengths_; }
  const Array& sample_weights() const noexcept { return sample_weights_; }

  // Reads rows of an array to memory. Any number of threads may call it at once.
  static void read(const Array& array, int64_t first_row, int64_t n_rows, void* to);

 private:
  std::vector<Array> arrays_;
  Array lengths_, sample_weights_;
  int64_t n_rows_ = 0;
};

}  // namespace synfire::network

#endif
