// The lists of models and surrogates, with the checks of what was added, as src/neurons/parameters.cpp includes them.
#include <synfire/model/models.hpp>
