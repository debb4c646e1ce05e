// The kernels of normalisations, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_NORMALIZE_NORMALIZE_KERNELS_HPP
#define SYNFIRE_OPERATIONS_NORMALIZE_NORMALIZE_KERNELS_HPP

#include "normalize_arithmetic.hpp"

namespace synfire::cuda {

// A block has 32 elements of the period and a share of the lines; a warp has every eighth of those.
inline constexpr int normalize_threads = 256;

// Work with the lines of maps, divided among n_slots blocks for each tile. A GPU divides 64-bit integers slowly.
template <class Work>
struct LinesLaunch {
  Work work;
  operations::ChannelShape shape;
  operations::Counting counting;
  int64_t period, n_lines, n_tiles, n_slots;

  LinesLaunch(const Work& given, const operations::ChannelShape& of, const operations::Counting& with, int64_t slots)
      : work(given),
        shape(of),
        counting(with),
        period(of.period()),
        n_lines(of.lines()),
        n_tiles(of.n_tiles()),
        n_slots(slots) {}
};

// A block for each tile and slot.
const void* channel_maxima_kernel();  // LinesLaunch<IntegerSums>
const void* channel_sums_kernel();
// A thread for each channel: OrderedSums.
const void* ordered_sums_kernel();
// A thread for each channel: NormalizeWork, NormalizeGradientWork.
template <class R>
const void* finish_channels_kernel();
template <class R>
const void* finish_gradients_kernel();
// A block for each tile and slot: LinesLaunch of these.
template <class R>
const void* normalize_kernel();
template <class R>
const void* normalize_backward_kernel();

}  // namespace synfire::cuda

#endif
