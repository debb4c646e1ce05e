// The source of a GPU kernel: the library's text after the lists of a model and a surrogate.
#ifndef SYNFIRE_JIT_KERNEL_SOURCE_HPP
#define SYNFIRE_JIT_KERNEL_SOURCE_HPP

#include "model_text.hpp"

namespace synfire::jit {

// `header` is the library's file with the kernel's template. If a text is null, the model or surrogate is the listed
// one with the id; 0: no surrogate.
std::string kernel_source(const ModelText* model, int32_t model_id, const ModelText* surrogate, int32_t surrogate_id,
                          const char* header, Source::Marks marks);

}  // namespace synfire::jit

#endif
