// Spikes that a stage of maps reads as bits. Those in any other format are packed first.
#ifndef SYNFIRE_NETWORK_STAGES_PACKED_SPIKES_HPP
#define SYNFIRE_NETWORK_STAGES_PACKED_SPIKES_HPP

#include <network/parts.hpp>
#include <network/stage_recorder.hpp>

namespace synfire::network {

class PackedSpikes {
 public:
  // It packs what the stage reads. Without spikes to be read as bits, it leaves arrays as they are.
  PackedSpikes(const StageMaker& maker, bool reads_bits);

  // The array as bits, which it records if they must be made; and the same later in a graph.
  Buffer& pack(StageRecorder& recorder, Buffer& source) const;
  Buffer& packed(Buffer& source) const noexcept {
    return bits_ && source.dtype() != SYNFIRE_DTYPE_BITS ? *bits_ : source;
  }

 private:
  const core::Flow flow_;
  Ref<Buffer> bits_;  // [T, B, N]
};

}  // namespace synfire::network

#endif
