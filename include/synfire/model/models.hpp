// The lists of all models and surrogates: the built-in ones (built_in.hpp), followed by those that an application's build
// adds (added.hpp). Backends and core iterate over these lists. A text that is compiled at run time (src/jit) brings lists of its own, of what it needs.
#ifndef SYNFIRE_MODEL_MODELS_HPP
#define SYNFIRE_MODEL_MODELS_HPP

#if defined(SYNFIRE_LOADED)
#include <synfire/loaded_models.hpp>  // made at run time
#else

#include "added.hpp"
#include "built_in.hpp"
#include "list.hpp"
#include "recursion.hpp"
#include "ruled.hpp"

SYNFIRE_MODEL_BEGIN

using Models = Concatenated<BuiltInModels, AddedModels>;
using Surrogates = Concatenated<BuiltInSurrogates, AddedSurrogates>;

static_assert(are_distinct<Models, Surrogates>(AddedModels{}) && are_distinct<Surrogates, Models>(AddedSurrogates{}));

SYNFIRE_MODEL_END

#endif

#endif
