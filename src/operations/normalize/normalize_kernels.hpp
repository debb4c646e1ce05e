// The kernels of normalisations, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_NORMALIZE_NORMALIZE_KERNELS_HPP
#define SYNFIRE_OPERATIONS_NORMALIZE_NORMALIZE_KERNELS_HPP

#include "normalize_arithmetic.hpp"

namespace synfire::cuda {

// A GPU takes an image line by line: neighbouring elements are those of neighbouring threads, one or four of a thread.
// A line has all channels or, where there are few, some places side by side. A block has a tile of the columns of a
// line, those of 32 threads, and a share of the lines of all images; a warp has every eighth of those.
inline constexpr int normalize_threads = 256;
inline constexpr int normalize_width = 4;

// The work, and how it is divided. A GPU divides 64-bit integers slowly.
template <class Work>
struct LinesLaunch {
  Work work;
  operations::ChannelShape shape;
  operations::Counting counting;
  int64_t period;   // elements of a line
  int64_t n_lines;  // of an image
  int64_t n_tiles, n_shares;

  LinesLaunch(const Work& given, const operations::ChannelShape& of, const operations::Counting& with, int width)
      : work(given), shape(of), counting(with), n_shares(1) {
    const int64_t columns = int64_t{32} * width;
    period = of.channels >= columns ? of.channels : of.channels * (columns / of.channels);
    n_lines = (of.image() + period - 1) / period;
    n_tiles = (period + columns - 1) / columns;
  }
  int64_t all_lines() const { return shape.n_steps * shape.batch * n_lines; }
};

// A block for each tile and share; `width` elements for each thread. They add to the sums and maxima, 0 before.
const void* channel_maxima_kernel(int width);  // LinesLaunch<IntegerSums>
const void* channel_sums_kernel(int width);
// A thread for each channel: OrderedSums.
const void* ordered_sums_kernel();
// A thread for each channel: NormalizeWork, NormalizeGradientWork.
template <class R>
const void* finish_channels_kernel();
template <class R>
const void* finish_gradients_kernel();
// A block for each tile and share: LinesLaunch of these.
template <class R>
const void* normalize_kernel(int width);
template <class R>
const void* normalize_backward_kernel(int width);

}  // namespace synfire::cuda

#endif
