// The list of kinds. A new kind is a folder and a line here.
#ifndef SYNFIRE_KINDS_KINDS_HPP
#define SYNFIRE_KINDS_KINDS_HPP

#include <fusion/stack.hpp>
#include <neurons/parameters/set_parameters.hpp>
#include <neurons/parameters/update_parameter.hpp>
#include <neurons/passes/backward.hpp>
#include <neurons/passes/forward.hpp>
#include <neurons/state/reset_state.hpp>
#include <neurons/state/snapshot.hpp>
#include <neurons/sum_gradient/sum_gradient.hpp>
#include <operations/check_elements/check_elements.hpp>
#include <operations/combine/combine.hpp>
#include <operations/dropout/dropout.hpp>
#include <operations/elementwise/copy.hpp>
#include <operations/elementwise/fill.hpp>
#include <operations/elementwise/scale_add.hpp>
#include <operations/encode/encode_bernoulli.hpp>
#include <operations/gather_rows/gather_rows.hpp>
#include <operations/group_mean/group_mean.hpp>
#include <operations/keep_inputs/keep_inputs.hpp>
#include <operations/loss/loss.hpp>
#include <operations/native/native.hpp>
#include <operations/normalize/normalize.hpp>
#include <operations/pool/pool.hpp>
#include <operations/rate_loss/rate_loss.hpp>
#include <operations/reduce/reduce.hpp>
#include <operations/replace_nonfinite/replace_nonfinite.hpp>
#include <operations/resize/resize.hpp>
#include <operations/shuffle/shuffle.hpp>
#include <operations/spikes/convert_spikes.hpp>
#include <operations/spikes/count_spikes.hpp>
#include <operations/sum_steps/sum_steps.hpp>
#include <optimizer/optimizer.hpp>
#include <synapses/conv2d/conv2d.hpp>
#include <synapses/dense/dense.hpp>
#include <synapses/one_to_one/one_to_one.hpp>

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
  KIND(Conv2dProduct)                 \
  KIND(Conv2dWeightGradient)          \
  KIND(Conv2dInputGradient)           \
  KIND(OneToOneProduct)               \
  KIND(OneToOneGradient)              \
  KIND(OneToOneInputGradient)         \
  KIND(Pool)                          \
  KIND(PoolBackward)                  \
  KIND(Normalize)                     \
  KIND(NormalizeBackward)             \
  KIND(Resize)                        \
  KIND(ResizeBackward)                \
  KIND(Reduce)                        \
  KIND(ReduceBackward)                \
  KIND(RateLoss)                      \
  KIND(Combine)                       \
  KIND(CombineBackward)               \
  KIND(GroupMean)                     \
  KIND(GroupMeanBackward)             \
  KIND(KeepInputs)                    \
  KIND(SumSteps)                      \
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
