// What a kernel for a GPU is compiled from: the library's text behind the lists of a model and a surrogate.
#ifndef SYNFIRE_JIT_KERNEL_SOURCE_HPP
#define SYNFIRE_JIT_KERNEL_SOURCE_HPP

#include "text.hpp"

namespace synfire::jit {

// `header` is the file of the library's that has the kernel's template. Either text may be null: then it is the model
// or surrogate of the lists that has the id; no surrogate: 0.
std::string kernel_source(const ModelText* model, int32_t model_id, const ModelText* surrogate, int32_t surrogate_id,
                          const char* header, Source::Marks marks);

}  // namespace synfire::jit

#endif
