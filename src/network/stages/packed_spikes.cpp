#include "packed_spikes.hpp"

#include <operations/combine/combine.hpp>

namespace synfire::network {

// Inputs have the program's format, and other stages make bits or numbers.
PackedSpikes::PackedSpikes(const StageMaker& maker, bool reads_bits) : flow_(maker.stage().flow()) {
  const Design& design = maker.parts().design;
  const Edge from = design.source(maker.stage().edge());
  if (!reads_bits || flow_.elements != core::Elements::spikes) return;
  if (design.stages()[from.from].makes == signal::input || design.wants_numbers(from.from, from.port))
    bits_ = maker.passed_on_array(SYNFIRE_DTYPE_BITS, flow_);
}

Buffer& PackedSpikes::pack(StageRecorder& recorder, Buffer& source) const {
  Buffer& bits = packed(source);
  if (&bits == &source) return source;
  Buffer* const sources[] = {&source};
  const int64_t channels[] = {flow_.n_features()};
  recorder.append([&] {
    return operations::combine(
        {operations::CombineKind::concatenate, recorder.extents(flow_), sources, channels, {}, &bits});
  });
  return bits;
}

}  // namespace synfire::network
