// The order of summation, the same on both backends. Values are summed in f64 in chunks of reduction_chunk values. Each
// chunk has reduction_lanes running sums, which a binary tree then joins; the sums of the chunks are summed in the same
// way. No sum depends on the number of threads.
#ifndef SYNFIRE_MODEL_REDUCTION_HPP
#define SYNFIRE_MODEL_REDUCTION_HPP

namespace synfire::model {

inline constexpr int reduction_lanes = 128;
inline constexpr int reduction_chunk = 1024;

}  // namespace synfire::model

#endif
