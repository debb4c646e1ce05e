// A layer that reads its own spikes: its passes step by step. What is checked for all steps at once becomes an entry
// for each step, after the product of the recurrent synapse or before the gradient of what that reads.
#ifndef SYNFIRE_NEURONS_PASSES_RECURRENCE_HPP
#define SYNFIRE_NEURONS_PASSES_RECURRENCE_HPP

#include "backward.hpp"
#include "forward.hpp"
#include "gradient_sums.hpp"

namespace synfire::operations {

// Throws INVALID_ARGUMENT, or UNSUPPORTED for too many steps.
void check_recurrence(const core::LayerSpec& spec, const ForwardRequest& request);
void check_recurrence(const BackwardRequest& request, const core::TapeShape& shape);

// ---- forward --------------------------------------------------------------------------------------------------------

struct RecurrentForward {
  core::Recurrence recurrent;
  View x;             // [T, B, N] without the recurrent product; not given: the X of the pass holds it
  View spikes;        // [D + T, B, words], of the history and of all steps
  View spikes_init;   // [delay, B, words]; not given: the layer's history, which advances
  View spikes_final;  // likewise
  View n_active;
};
// Spikes of a forward that keeps no tape.
View passing_spikes(const core::LayerSpec& spec);
// Adds the steps of a pass whose X holds what comes before the recurrent product, or will hold the sum.
void add_steps(core::Layer& layer, const Forward& pass, const RecurrentForward& recurrence,
               core::OperationList& operations);

// ---- backward -------------------------------------------------------------------------------------------------------

struct RecurrentBackward {
  core::Recurrence recurrent;
  View spikes;             // as of the forward
  View grad_spikes_final;  // [delay, B, N]
  View grad_spikes_init;   // likewise
  View n_active;
  std::vector<GradientSum> sums;      // of parameters
  bool add_gradients;                 // of parameters, to what their arrays hold
  core::FunctionRef<View()> scratch;  // n_gradient_sums()
};
// Adds the steps of a pass, from the last to the first, with the gradients of its initial spikes.
void add_steps(core::Layer& layer, const Backward& pass, const RecurrentBackward& recurrence,
               core::OperationList& operations);
// Adds the gradients of the weights over all steps, after those.
void add_recurrent_gradients(core::Layer& layer, const RecurrentBackward& recurrence, const View& grad_x, bool add,
                             core::OperationList& operations);

// Adds entries of all steps with the arrays besides those of the pass, for the check of overlap.
void add_touched(const RecurrentForward& recurrence, core::OperationList& operations);
void add_touched(const RecurrentBackward& recurrence, core::OperationList& operations);

}  // namespace synfire::operations

#endif
