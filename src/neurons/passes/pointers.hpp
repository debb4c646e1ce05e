// Passes over addresses: the caller's memory for every array, the tape included, for as many steps and batch rows as
// the layer has, or fewer.
#ifndef SYNFIRE_NEURONS_PASSES_POINTERS_HPP
#define SYNFIRE_NEURONS_PASSES_POINTERS_HPP

#include <neurons/layer.hpp>

namespace synfire::operations {

struct RunMemory {
  uint64_t tape_bytes, scratch_bytes;
};
// 0 for n_steps or batch: the layer's. All throw INVALID_ARGUMENT or UNSUPPORTED.
RunMemory run_memory(const core::Layer& layer, core::TapeMode tape, int64_t n_steps, int64_t batch,
                     uint64_t n_gradients);
// `identity` is a number that no other layer has had. Both return true if the caller captured the pass. Nothing keeps
// the memory alive. run_backward() also throws STALE_TAPE.
bool run_forward(core::Layer& layer, uint64_t identity, const synfire_pointers_desc& desc, synfire_stream stream);
bool run_backward(core::Layer& layer, uint64_t identity, const synfire_pointers_desc& desc, synfire_stream stream);

}  // namespace synfire::operations

#endif
