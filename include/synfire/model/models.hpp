// The list of built-in models and surrogates: the one place where a new one is entered. Backends and core walk these
// lists; the ids are those of synfire.h.
#ifndef SYNFIRE_MODEL_MODELS_HPP
#define SYNFIRE_MODEL_MODELS_HPP

#include "eif.hpp"
#include "if.hpp"
#include "izhikevich.hpp"
#include "lif.hpp"
#include "qif.hpp"
#include "recursion.hpp"
#include "surrogates.hpp"

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

using Models = List<Entry<1, If>, Entry<2, Lif>, Entry<3, Plif, Lif>, Entry<4, Qif>, Entry<5, Eif>, Entry<6, Izhikevich>>;
using Surrogates =
    List<Entry<1, Sigmoid>, Entry<2, Atan>, Entry<3, PiecewiseQuadratic>, Entry<4, PiecewiseExp>, Entry<5, SoftSign>,
         Entry<6, SuperSpike>, Entry<7, Erf>, Entry<8, PiecewiseLeakyRelu>, Entry<9, S2nn>, Entry<10, QPseudoSpike>,
         Entry<11, LeakyKRelu>, Entry<12, FakeNumericalGradient>, Entry<13, LogTailedRelu>,
         Entry<14, NonzeroSignLogAbs>, Entry<15, SquarewaveFourierSeries>, Entry<16, Rect>>;

// Calls f with the entry of this id; returns false when the list has none.
template <class F, class... Entries>
bool visit(List<Entries...>, int id, F f) {
  return ((Entries::id == id ? (f(Entries{}), true) : false) || ...);
}

SYNFIRE_MODEL_END

#endif
