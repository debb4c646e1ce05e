#include "twin.hpp"

#include <operations/row_sums/row_sums_kernels.hpp>

#include <synfire/model/grid.hpp>

#include <algorithm>
#include <vector>

namespace synfire::cuda {
namespace {

using operations::RowSums;

// Calls f(contribution, entry, the slot of the block that has it).
template <class F>
void for_each_contribution(const RowSums& sums, bool wide, F f) {
  const int64_t n_entries = sums.shape.n_entries, period = sums.shape.period(), n_slots = sums.shape.n_slots();
  for (int64_t i = 0; i < sums.n_elements(); ++i)
    f(wide ? static_cast<float>(static_cast<const double*>(sums.contributions)[i])
           : static_cast<const float*>(sums.contributions)[i],
      i % n_entries, i / period / (row_sum_threads / 32) % n_slots);
}

void find_maxima(const RowSums& sums, bool wide) {
  std::fill_n(sums.largest, sums.shape.array_length(), 0u);
  for_each_contribution(sums, wide, [&](float x, int64_t entry, int64_t slot) {
    uint32_t& largest = sums.largest[slot * sums.shape.n_entries + entry];
    largest = std::max<uint32_t>(largest, model::magnitude_bits(x));
  });
}

uint32_t largest_of(const RowSums& sums, int64_t entry) {
  uint32_t largest = 0;
  for (int64_t slot = 0; slot < sums.shape.n_slots(); ++slot)
    largest = std::max(largest, sums.largest[slot * sums.shape.n_entries + entry]);
  return largest;
}

void add(const RowSums& sums, bool wide) {
  std::fill_n(sums.totals, sums.shape.array_length(), 0);
  std::vector<int32_t> grids;
  for (int64_t entry = 0; entry < sums.shape.n_entries; ++entry)
    grids.push_back(model::grid_of_sum(largest_of(sums, entry), model::largest_on_grid_32));
  for_each_contribution(sums, wide, [&](float x, int64_t entry, int64_t slot) {
    sums.totals[slot * sums.shape.n_entries + entry] += model::on_grid(x, grids[static_cast<size_t>(entry)]);
  });
}

void finish(const RowSums& sums) {
  for (int64_t entry = 0; entry < sums.shape.n_entries; ++entry) {
    int64_t total = 0;
    for (int64_t slot = 0; slot < sums.shape.n_slots(); ++slot)
      total += sums.totals[slot * sums.shape.n_entries + entry];
    const double sum = model::from_sum(total, largest_of(sums, entry));
    float& to = sums.output[entry];
    if (!sums.add)
      to = static_cast<float>(sum);
    else
      to = sums.adds_in_f64 ? static_cast<float>(static_cast<double>(to) + sum) : to + static_cast<float>(sum);
  }
}

enum Key : int64_t { key_maxima, key_sums, key_whole, key_finish };

}  // namespace

const void* row_maxima_kernel(bool wide) {
  return twin<RowSumLaunch>({key_maxima, wide}, [wide](const RowSumLaunch& launch) {
    for (int i = 0; i < launch.n_sums; ++i) find_maxima(launch.sums[i], wide);
  });
}

const void* row_sums_kernel(bool wide) {
  return twin<RowSumLaunch>({key_sums, wide}, [wide](const RowSumLaunch& launch) {
    for (int i = 0; i < launch.n_sums; ++i) {
      add(launch.sums[i], wide);
      if (launch.finishes) finish(launch.sums[i]);
    }
  });
}

const void* row_whole_kernel(bool wide) {
  return twin<RowSumLaunch>({key_whole, wide}, [wide](const RowSumLaunch& launch) {
    for (int i = 0; i < launch.n_sums; ++i) {
      RowSums sums = launch.sums[i];
      std::vector<int64_t> memory(static_cast<size_t>(operations::row_sum_bytes(sums.shape) / sizeof(int64_t)));
      operations::place_row_sums(sums, memory.data());
      find_maxima(sums, wide);
      add(sums, wide);
      finish(sums);
    }
  });
}

const void* row_finish_kernel() {
  return twin<RowSumLaunch>({key_finish}, [](const RowSumLaunch& launch) {
    for (int i = 0; i < launch.n_sums; ++i) finish(launch.sums[i]);
  });
}

}  // namespace synfire::cuda
