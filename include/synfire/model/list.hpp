// Lists of models and surrogates as types, each entry with its id: what the backends and core walk.
#ifndef SYNFIRE_MODEL_LIST_HPP
#define SYNFIRE_MODEL_LIST_HPP

#include "platform.hpp"

SYNFIRE_MODEL_BEGIN

// Dynamics names another model with the same charge function, so that the two share their kernels.
template <int Id, class T, class Dynamics = T>
struct Entry {
  static constexpr int id = Id;
  using type = T;
  using dynamics = Dynamics;
};

template <class... Entries>
struct List {};

// Calls f with the entry of this id; returns false when the list has none.
template <class F, class... Entries>
bool visit(List<Entries...>, int id, F f) {
  return ((Entries::id == id ? (f(Entries{}), true) : false) || ...);
}

template <class A, class B>
struct Join;
template <class... A, class... B>
struct Join<List<A...>, List<B...>> {
  using type = List<A..., B...>;
};
template <class A, class B>
using Joined = typename Join<A, B>::type;

SYNFIRE_MODEL_END

#endif
