// The order in which numbers are added up, the same on both backends: sums in f64 over chunks of reduction_chunk values,
// each by reduction_lanes running sums that a binary tree then joins; the sums of the chunks are added up in the same way.
// No sum depends on the number of threads.
#ifndef SYNFIRE_MODEL_REDUCTION_HPP
#define SYNFIRE_MODEL_REDUCTION_HPP

namespace synfire::model {

inline constexpr int reduction_lanes = 128;
inline constexpr int reduction_chunk = 1024;

}  // namespace synfire::model

#endif
