// The CUDA C++ of a layer's kernels as one text that needs nothing but nvcc, to be read or used without the library.
#ifndef SYNFIRE_JIT_LAYER_SOURCE_HPP
#define SYNFIRE_JIT_LAYER_SOURCE_HPP

#include <neurons/layer.hpp>

#include <string>

namespace synfire::jit {

// Returns it for the current shape, rules and constants. Throws UNSUPPORTED for models of synfire_add_model().
std::string layer_source(core::Layer& layer);

}  // namespace synfire::jit

#endif
