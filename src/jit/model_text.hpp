// A user's text of a model or a surrogate: checks without a compiler, and the lists that replace those of
// model/models.hpp when it is compiled.
#ifndef SYNFIRE_JIT_MODEL_TEXT_HPP
#define SYNFIRE_JIT_MODEL_TEXT_HPP

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

  // Reads and checks the caller's text. Throws SYN-MODEL-TEXT, SYN-MODEL-STRUCT or SYN-FILE-*.
  ModelText(TextKind of, const synfire_load_desc& desc);
};

// Gives a source the file <synfire/loaded_models.hpp> with these; one of them is null.
void give_lists(Source& source, const ModelText* model, const ModelText* surrogate);

// As give_lists(), for kernels of a model and a surrogate. Null: the listed one with the id; 0: no surrogate.
void give_kernel_lists(Source& source, const ModelText* model, int32_t model_id, const ModelText* surrogate,
                       int32_t surrogate_id);

// The errors of a compiler's output in one line, those about the user's text first.
std::string errors_in(const std::string& output, const std::string& known_as);

}  // namespace synfire::jit

#endif
