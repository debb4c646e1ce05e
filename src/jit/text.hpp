// A user's text of a model or a surrogate: the checks that need no compiler, and the lists that stand in for those of
// model/models.hpp when it is compiled.
#ifndef SYNFIRE_JIT_TEXT_HPP
#define SYNFIRE_JIT_TEXT_HPP

#include "source.hpp"

#include <synfire/synfire.h>

#include <string>

namespace synfire::jit {

enum class TextKind { model, surrogate };

struct ModelText {
  TextKind kind;
  std::string text;
  std::string known_as;  // of which messages of a compiler speak
  std::string type;      // the struct

  // Reads and checks what a caller describes. Throws a Failure: SYN-MODEL-TEXT, SYN-MODEL-STRUCT, SYN-FILE-*.
  ModelText(TextKind of, const synfire_load_desc& desc);
};

// Gives a source the file <synfire/loaded_models.hpp> with these; one of the two is null.
void give_lists(Source& source, const ModelText* model, const ModelText* surrogate);

// The same for kernels of a GPU, of a model and a surrogate of which either may be one of the lists, by its id. No
// surrogate: 0.
void give_kernel_lists(Source& source, const ModelText* model, int32_t model_id, const ModelText* surrogate,
                       int32_t surrogate_id);

// The sentences of a compiler's output that tell what is wrong, in one line, those about the user's text first.
std::string errors_in(const std::string& output, const std::string& known_as);

}  // namespace synfire::jit

#endif
