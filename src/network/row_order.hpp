// The order of the rows of a data set in files: blocks, windows of blocks, and the rows of a window
// (synfire_network_data_desc states it).
#ifndef SYNFIRE_NETWORK_ROW_ORDER_HPP
#define SYNFIRE_NETWORK_ROW_ORDER_HPP

#include <cstdint>

namespace synfire::network {

// The order of an epoch depends on this, its number and the seed. One window with all rows is 0, as for a data set in
// memory.
struct RowBlocks {
  uint64_t block_rows = 0, window_blocks = 0;

  friend bool operator==(const RowBlocks&, const RowBlocks&) = default;
};

// A window of an epoch.
struct RowWindow {
  uint64_t first_row = 0;  // in the epoch
  uint32_t n_rows = 0;
  uint32_t short_block = 0;  // the place in it of the last block of the data set; the number of its blocks: none

  uint64_t end_row() const noexcept { return first_row + n_rows; }
};

class RowOrder {
 public:
  // All at least 1; n_rows is 2^32 - 1 at most.
  RowOrder(uint64_t n_rows, uint64_t block_rows, uint64_t window_blocks, bool in_order) noexcept;

  uint64_t n_rows() const noexcept { return n_rows_; }
  uint32_t block_rows() const noexcept { return block_rows_; }
  uint32_t window_blocks() const noexcept { return window_blocks_; }  // of a full window
  uint64_t window_rows() const noexcept { return uint64_t{block_rows_} * window_blocks_; }
  uint32_t n_blocks() const noexcept { return n_blocks_; }
  uint32_t n_windows() const noexcept { return n_windows_; }
  RowBlocks blocks() const noexcept;
  uint32_t rows_of_block(uint32_t block) const noexcept;
  // The blocks at these places of a window: fewer in the last one.
  uint32_t blocks_of_window(uint32_t window) const noexcept;
  // The block at a place of the epoch.
  uint32_t block_at(uint64_t seed, uint64_t epoch, uint32_t place) const noexcept;
  // The window in which the row at this place of the epoch is.
  uint32_t window_at(uint64_t seed, uint64_t epoch, uint64_t row) const noexcept;
  RowWindow window(uint64_t seed, uint64_t epoch, uint32_t number) const noexcept;

  // Rows of a window in their order. Sets up once for all.
  class Rows {
   public:
    Rows(const RowOrder& order, uint64_t seed, uint64_t epoch, uint32_t window, const RowWindow& its) noexcept;
    // A row is in a block of the window, which has a place there, and has its own place in the block.
    struct Place {
      uint32_t block, row;
    };
    Place at(uint32_t place) const noexcept;
    // The inverse.
    uint32_t place_of(const Place& row) const noexcept;

   private:
    const RowOrder& order_;
    uint32_t n_rows_, n_columns_, n_lines_;
    uint32_t short_block_, short_rows_;
    uint32_t keys_[32];
  };

 private:
  uint32_t place_of_last_block(uint64_t seed, uint64_t epoch) const noexcept;
  uint64_t first_row_of(uint32_t window, uint32_t place_of_last) const noexcept;

  uint64_t n_rows_;
  uint32_t block_rows_, window_blocks_, n_blocks_, n_windows_;
  bool in_order_;
};

}  // namespace synfire::network

#endif
