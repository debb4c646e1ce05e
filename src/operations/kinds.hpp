// The list of kinds. A new kind is a folder and a line here.
#ifndef SYNFIRE_OPERATIONS_KINDS_HPP
#define SYNFIRE_OPERATIONS_KINDS_HPP

#include "check_elements/check_elements.hpp"
#include "dropout/dropout.hpp"
#include "elementwise/copy.hpp"
#include "elementwise/fill.hpp"
#include "elementwise/scale_add.hpp"
#include "encode/encode_bernoulli.hpp"
#include "gather_rows/gather_rows.hpp"
#include "gradients/sum_gradient.hpp"
#include "loss/loss.hpp"
#include "native/native.hpp"
#include "neuron/backward.hpp"
#include "neuron/forward.hpp"
#include "optimizer/optimizer.hpp"
#include "parameters/set_parameters.hpp"
#include "parameters/update_parameter.hpp"
#include "rate_loss/rate_loss.hpp"
#include "reduce/reduce.hpp"
#include "replace_nonfinite/replace_nonfinite.hpp"
#include "shuffle/shuffle.hpp"
#include "spikes/convert_spikes.hpp"
#include "spikes/count_spikes.hpp"
#include "stack/stack.hpp"
#include "state/reset_state.hpp"
#include "state/snapshot.hpp"

#include <synapses/dense/dense.hpp>

// clang-format off
#define SYNFIRE_OPERATION_KINDS(KIND) \
  KIND(Forward)                       \
  KIND(Backward)                      \
  KIND(Stack)                         \
  KIND(StackBackward)                 \
  KIND(Readout)                       \
  KIND(SumGradient)                   \
  KIND(Copy)                          \
  KIND(Fill)                          \
  KIND(ScaleAdd)                      \
  KIND(ConvertSpikes)                 \
  KIND(CountSpikes)                   \
  KIND(EncodeBernoulli)               \
  KIND(Dropout)                       \
  KIND(GatherRows)                    \
  KIND(Shuffle)                       \
  KIND(PrepareDense)                  \
  KIND(DenseProduct)                  \
  KIND(DenseWeightGradient)           \
  KIND(DenseInputGradient)            \
  KIND(Reduce)                        \
  KIND(ReduceBackward)                \
  KIND(RateLoss)                      \
  KIND(Loss)                          \
  KIND(ReplaceNonfinite)              \
  KIND(CheckElements)                 \
  KIND(ResetState)                    \
  KIND(WriteBytes)                    \
  KIND(GuardedCopy)                   \
  KIND(SetParameters)                 \
  KIND(UpdateParameter)               \
  KIND(OptimizerStep)                 \
  KIND(Native)
// clang-format on

#endif
