// The list of built-in models and surrogates: the one place where a new one is entered. Backends and core walk these
// lists; the ids are those of synfire.h.
#ifndef SYNFIRE_MODEL_MODELS_HPP
#define SYNFIRE_MODEL_MODELS_HPP

#include "if.hpp"
#include "lif.hpp"
#include "recursion.hpp"
#include "surrogates.hpp"

SYNFIRE_MODEL_BEGIN

template <int Id, class T>
struct Entry {
  static constexpr int id = Id;
  using type = T;
};

template <class... Entries>
struct List {};

using Models = List<Entry<1, If>, Entry<2, Lif>>;
using Surrogates = List<Entry<1, Sigmoid>, Entry<2, Atan>>;

// Calls f with the entry of this id; returns false when the list has none.
template <class F, class... Entries>
bool visit(List<Entries...>, int id, F f) {
  return ((Entries::id == id ? (f(Entries{}), true) : false) || ...);
}

SYNFIRE_MODEL_END

#endif
