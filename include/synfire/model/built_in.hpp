// The lists of the models and surrogates that are built in, with the ids of synfire.h. A new surrogate is entered only
// here; a new model that fires and has dynamics of its own also has a file of its kernels for the GPU,
// src/neurons/passes/cuda/few_*.cu.
#ifndef SYNFIRE_MODEL_BUILT_IN_HPP
#define SYNFIRE_MODEL_BUILT_IN_HPP

#include "alif.hpp"
#include "cuba.hpp"
#include "eif.hpp"
#include "if.hpp"
#include "izhikevich.hpp"
#include "li.hpp"
#include "lif.hpp"
#include "lif_exact.hpp"
#include "list.hpp"
#include "qif.hpp"
#include "surrogates.hpp"

SYNFIRE_MODEL_BEGIN

using BuiltInModels =
    List<Entry<1, If, Lif>, Entry<2, Lif>, Entry<3, Plif, Lif>, Entry<4, Qif>, Entry<5, Eif>, Entry<6, Izhikevich>,
         Entry<7, Li>, Entry<8, LifExact, Lif>, Entry<9, LiExact, Li>, Entry<10, CubaLif>, Entry<11, CubaLi, CubaLif>,
         Entry<12, Alif>, Entry<13, CubaLifExact, CubaLif>, Entry<14, CubaLiExact, CubaLif>, Entry<15, Integrator, Li>>;
// Models that share the kernels of one file.
using CubaModels = List<Entry<10, CubaLif>, Entry<11, CubaLi, CubaLif>, Entry<13, CubaLifExact, CubaLif>,
                        Entry<14, CubaLiExact, CubaLif>>;
using BuiltInSurrogates =
    List<Entry<1, Sigmoid>, Entry<2, Atan>, Entry<3, PiecewiseQuadratic>, Entry<4, PiecewiseExp>, Entry<5, SoftSign>,
         Entry<6, SuperSpike>, Entry<7, Erf>, Entry<8, PiecewiseLeakyRelu>, Entry<9, S2nn>, Entry<10, QPseudoSpike>,
         Entry<11, LeakyKRelu>, Entry<12, FakeNumericalGradient>, Entry<13, LogTailedRelu>,
         Entry<14, NonzeroSignLogAbs>, Entry<15, SquarewaveFourierSeries>, Entry<16, Rect>, Entry<17, MultiGaussian>>;

SYNFIRE_MODEL_END

#endif
