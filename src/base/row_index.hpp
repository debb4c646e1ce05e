// Indices of two dimensions from one of both, as host code, kernels and their twins find them.
#ifndef SYNFIRE_BASE_ROW_INDEX_HPP
#define SYNFIRE_BASE_ROW_INDEX_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::core {

struct RowIndex {
  int64_t t, b;
};

// Divides in 32 bits where that is enough, because a division in 64 bits takes much longer.
SYNFIRE_MODEL_FN RowIndex row_index(int64_t row, int64_t batch) {
  if (static_cast<uint64_t>(row | batch) >> 32 == 0) {
    const uint32_t t = static_cast<uint32_t>(row) / static_cast<uint32_t>(batch);
    return {t, static_cast<uint32_t>(row) - t * static_cast<uint32_t>(batch)};
  }
  return {row / batch, row % batch};
}

}  // namespace synfire::core

#endif
