// list.hpp - what `synfire-golden --list` prints: every model, surrogate and parameter of this build of the library.
//
// All facts come from the library (synfire/model/models.hpp).
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_GOLDEN_LIST_HPP
#define SYNFIRE_TOOLS_GOLDEN_LIST_HPP

#include <string>

namespace synfire_golden {

/// As text: a table for each model and surrogate.
std::string list_as_text();

/// For the documentation: the tables of its pages as Markdown, each between `<!-- table NAME -->` and `<!-- end of
/// table -->`.
std::string list_as_markdown();

}  // namespace synfire_golden

#endif
