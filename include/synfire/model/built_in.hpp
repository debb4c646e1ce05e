// The lists of the models and surrogates that are built in, with the ids of synfire.h. A new surrogate is entered only
// here; a new model that fires also has a file of its kernels for the GPU, src/neurons/passes/cuda/few_*.cu.
#ifndef SYNFIRE_MODEL_BUILT_IN_HPP
#define SYNFIRE_MODEL_BUILT_IN_HPP

#include "eif.hpp"
#include "if.hpp"
#include "izhikevich.hpp"
#include "li.hpp"
#include "lif.hpp"
#include "list.hpp"
#include "qif.hpp"
#include "surrogates.hpp"

SYNFIRE_MODEL_BEGIN

using BuiltInModels = List<Entry<1, If, Lif>, Entry<2, Lif>, Entry<3, Plif, Lif>, Entry<4, Qif>, Entry<5, Eif>,
                           Entry<6, Izhikevich>, Entry<7, Li>>;
using BuiltInSurrogates =
    List<Entry<1, Sigmoid>, Entry<2, Atan>, Entry<3, PiecewiseQuadratic>, Entry<4, PiecewiseExp>, Entry<5, SoftSign>,
         Entry<6, SuperSpike>, Entry<7, Erf>, Entry<8, PiecewiseLeakyRelu>, Entry<9, S2nn>, Entry<10, QPseudoSpike>,
         Entry<11, LeakyKRelu>, Entry<12, FakeNumericalGradient>, Entry<13, LogTailedRelu>,
         Entry<14, NonzeroSignLogAbs>, Entry<15, SquarewaveFourierSeries>, Entry<16, Rect>>;

SYNFIRE_MODEL_END

#endif
