// A stage as a program describes it: all by names. The kinds say what the names mean.
#ifndef SYNFIRE_NETWORK_ADD_STAGE_HPP
#define SYNFIRE_NETWORK_ADD_STAGE_HPP

#include "design.hpp"

namespace synfire::network {

// Adds a stage and returns its number. Texts of the descriptor that must be given are there, and
// its lists are not too long. Names of models and
// surrogates may be those of code that was loaded into the context. Throws INVALID_ARGUMENT, WRONG_ORDER or
// OUT_OF_MEMORY, and changes nothing then.
size_t add_stage(Design& design, const synfire_stage_desc& desc, const core::Context& context);

}  // namespace synfire::network

#endif
