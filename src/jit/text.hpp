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
  ModelText(TextKind kind, const synfire_load_desc& desc);
};

// Gives a source the file <synfire/loaded_models.hpp> with these. Either may be null: then it is the one of the lists
// that `listed` names ("Lif", "Sigmoid"), or there is none.
void give_lists(Source& source, const ModelText* model, const ModelText* surrogate);

// The sentences of a compiler's output that tell what is wrong, in one line, those about the user's text first.
std::string errors_in(const std::string& output, const std::string& known_as);

}  // namespace synfire::jit

#endif
