// Lists of models and surrogates as types, each entry with its id. The backends and core iterate over them. The entries
// are in models.hpp and, if not built in, in added.hpp.
#ifndef SYNFIRE_MODEL_LIST_HPP
#define SYNFIRE_MODEL_LIST_HPP

#include "platform.hpp"

SYNFIRE_MODEL_BEGIN

// Dynamics is a model with the same charge function, with which T shares its kernels.
template <int Id, class T, class Dynamics = T>
struct Entry {
  static constexpr int id = Id;
  using type = T;
  using dynamics = Dynamics;
};

template <class... Entries>
struct List {};

// Calls f with the entry of this id; returns false if there is none.
template <class F, class... Entries>
bool visit(List<Entries...>, int id, F f) {
  return ((Entries::id == id ? (f(Entries{}), true) : false) || ...);
}

// The type in the entry of this id.
template <class List, int id>
struct Find;
template <class First, class... Rest, int id>
struct Find<List<First, Rest...>, id> : Find<List<Rest...>, id> {};
template <class First, class... Rest, int id>
  requires(First::id == id)
struct Find<List<First, Rest...>, id> {
  using type = typename First::type;
};

template <class A, class B>
struct Concatenate;
template <class... A, class... B>
struct Concatenate<List<A...>, List<B...>> {
  using type = List<A..., B...>;
};
template <class A, class B>
using Concatenated = typename Concatenate<A, B>::type;

SYNFIRE_MODEL_END

#endif
