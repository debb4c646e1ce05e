// The delayed kind: weights [N, K] and a bias [N] between K inputs and N outputs, and a delay for each connection,
// which is fixed or learnt, or a fixed one for each input or each output. Its object and its operations. What is
// multiplied is what a dense synapse multiplies: the inputs of all delays side by side, with planes of weights
// [N, M + 1, padded K], which are derived from weights and delays; or, with one plane, delayed inputs, or all inputs
// for outputs that arrive later (delayed_elements.hpp).
#ifndef SYNFIRE_SYNAPSES_DELAYED_DELAYED_HPP
#define SYNFIRE_SYNAPSES_DELAYED_DELAYED_HPP

#include "delayed_spec.hpp"

#include <base/extents.hpp>
#include <operations/kind.hpp>
#include <synapses/dense/dense.hpp>
#include <synapses/synapse.hpp>

namespace synfire::operations {

extern const core::SynapseKind delayed_kind;

// ---- the object -----------------------------------------------------------------------------------------------------

class DelayedSynapse final : public core::Synapse {
 public:
  // All weights and delays are 0. `mask` has a byte for each connection, or is null.
  DelayedSynapse(core::Context& context, const DelayedSpec& spec, const uint8_t* mask);

  const DelayedSpec& spec() const noexcept { return spec_; }
  View weights() noexcept { return arrays()[0].values; }
  View delays() noexcept { return arrays()[1].values; }
  View bias() noexcept { return spec_.weights.has_bias ? arrays()[2].values : View{}; }
  View width() noexcept { return spec_.learns ? arrays().back().values : View{}; }
  View mask() noexcept { return own(mask_, spec_.weights.mask_bytes(), SYNFIRE_DTYPE_U32); }
  View weight_gradient() noexcept { return arrays()[0].gradient; }
  View delays_of(DelaysOf what) noexcept { return spec_.delays_of == what ? delays() : View{}; }
  View delay_gradient() noexcept { return spec_.learns ? arrays()[1].gradient : View{}; }
  View bias_gradient() noexcept { return spec_.weights.has_bias ? arrays()[2].gradient : View{}; }

  // The planes: with rounded delays, and with the width of learnt ones.
  DenseSynapse& whole() noexcept { return *whole_; }
  DenseSynapse& spread() noexcept { return spread_ ? *spread_ : *whole_; }
  bool has_spread() const noexcept { return static_cast<bool>(spread_); }
  // Makes this synapse the owner of memory of the planes that operations have as operands.
  void own_planes(core::OperationList& operations) noexcept;

  // Writes the arrays of the start, with these delays or, if they are null, drawn ones, and derives the planes.
  void initialize(const double* delays);
  void check_values(const core::SynapseArray& array, const void* values) const override;

 private:
  ~DelayedSynapse() override = default;
  void upload_mask(const uint8_t* mask);

  const DelayedSpec spec_;
  void* mask_;
  core::Ref<DenseSynapse> whole_, spread_;
};

// Creates a synapse with its initial arrays; the caller takes the reference.
DelayedSynapse* make_delayed(core::Context& context, const synfire_delayed_desc& desc);

// ---- its operations -------------------------------------------------------------------------------------------------

// The spikes of all delays, side by side; or of the delay of each input; or of the steps before too.
struct DelayedInputs {
  DelayedSynapse* synapse;
  core::Extents extents;  // of the input
  View input;             // [T, B, K] in any format
  View packed;            // the same as words [T, B, W], if it is stored otherwise
  View history;           // words [M, B, W], or absent
  View of_inputs;         // the delays of inputs, or absent
  View delayed;           // words [T, B, taps W], or [M + T, B, W] with delays of outputs

  const View& words() const noexcept { return packed ? packed : input; }

  static constexpr const char* name = "delayed inputs";
  static void operands(DelayedInputs& op, OperandVisitor visit) {
    visit({"desc.input", op.input, Access::read});
    visit({"the packed inputs", op.packed, Access::write});
    visit({"desc.history", op.history, Access::read});
    visit({"the synapse's delays", op.of_inputs, Access::read});
    visit({"the delayed inputs", op.delayed, Access::write});
  }
};

// The last steps of the pass, for the pass after it.
struct DelayedHistory {
  DelayedSynapse* synapse;
  core::Extents extents;  // of the input
  View input;             // words [T, B, W]
  View history;           // words [M, B, W], or absent
  View next;              // words [M, B, W]
  View n_active;          // u32 [1], or absent

  static constexpr const char* name = "delayed history";
  static void operands(DelayedHistory& op, OperandVisitor visit) {
    visit({"desc.input", op.input, Access::read});
    visit({"desc.history", op.history, Access::read});
    visit({"desc.next_history", op.next, Access::write});
    visit({"desc.n_active", op.n_active, Access::read});
  }
};

// Gives outputs later, each by its delay, or takes their gradients back.
struct DelayedOutputs {
  DelayedSynapse* synapse;
  core::Extents extents;  // of what is written
  bool back;
  int64_t first_step;  // back: of what is written, in steps of the pass
  int64_t n_steps_read;
  View delays, from, to;

  static constexpr const char* name = "delayed outputs";
  static void operands(DelayedOutputs& op, OperandVisitor visit) {
    visit({"the synapse's delays", op.delays, Access::read});
    visit({op.back ? "desc.grad_output" : "the product", op.from, Access::read});
    visit({op.back ? "the gradient of the product" : "desc.output", op.to, Access::write});
  }
};

// Derives the planes, sets masked weights to 0, and brings delays that were trained back to their bounds.
struct PrepareDelayed {
  DelayedSynapse* synapse;
  View weights, delays, bias, width, mask;  // without delays if connections share them
  View whole, whole_bias;
  View spread, spread_bias;  // absent with fixed delays

  static constexpr const char* name = "prepare delays";
  static void operands(PrepareDelayed& op, OperandVisitor visit) {
    visit({"the synapse's weights", op.weights, Access::update});
    visit({"the synapse's delays", op.delays, Access::update});
    visit({"the synapse's bias", op.bias, Access::read});
    visit({"the synapse's width", op.width, Access::read});
    visit({"the synapse's mask", op.mask, Access::read});
    visit({"the synapse's planes", op.whole, Access::write});
    visit({"the bias of the synapse's planes", op.whole_bias, Access::write});
    visit({"the synapse's planes", op.spread, Access::write});
    visit({"the bias of the synapse's planes", op.spread_bias, Access::write});
  }
};

// Gradients of the arrays from those of the planes.
struct DelayedGradient {
  DelayedSynapse* synapse;
  View of_planes, of_plane_bias;      // [N, taps, padded K], [N]
  View weights, delays, width, mask;  // without delays if connections share them
  View weight_gradient, delay_gradient, bias_gradient;
  bool add;  // to what the gradients hold

  static constexpr const char* name = "delay gradient";
  static void operands(DelayedGradient& op, OperandVisitor visit) {
    const Access access = op.add ? Access::update : Access::write;
    visit({"the gradient of the synapse's planes", op.of_planes, Access::read});
    visit({"the gradient of the bias of the synapse's planes", op.of_plane_bias, Access::read});
    visit({"the synapse's weights", op.weights, Access::read});
    visit({"the synapse's delays", op.delays, Access::read});
    visit({"the synapse's width", op.width, Access::read});
    visit({"the synapse's mask", op.mask, Access::read});
    visit({"the synapse's weight gradient", op.weight_gradient, access});
    visit({"the synapse's delay gradient", op.delay_gradient, access});
    visit({"the synapse's bias gradient", op.bias_gradient, access});
  }
};

// Adds the gradients of the delayed inputs of a few steps to those of the inputs.
struct DelayedInputGradient {
  DelayedSynapse* synapse;
  core::Extents extents;  // of the input
  int64_t first_step, n_steps;
  View of_inputs;   // the delays of inputs, or absent
  View of_delayed;  // [n_steps, B, taps, padded K]
  View grad_input;  // [T, B, K]
  View n_active;
  bool add;  // to what grad_input held before the pass

  static constexpr const char* name = "delayed input gradient";
  static void operands(DelayedInputGradient& op, OperandVisitor visit) {
    // The first of several parts reads nothing, and those after it write what is left.
    const Access access = op.add || op.first_step > 0 ? Access::update : Access::write;
    visit({"the synapse's delays", op.of_inputs, Access::read});
    visit({"the gradient of the delayed inputs", op.of_delayed, Access::read});
    visit({"desc.grad_input", op.grad_input, access});
    visit({"desc.n_active", op.n_active, Access::read});
  }
};

#define SYNFIRE_DELAYED_FUNCTIONS(Kind)                     \
  OperationLabel label(const Kind& op);                     \
  bool wants_threads(const Kind& op);                       \
  void run(const Kind& op, host::Launcher& launcher);       \
  cuda::Hints hints(const Kind& op, const cuda::GpuShape&); \
  void enqueue(const Kind& op, cuda::Launcher& launcher)
SYNFIRE_DELAYED_FUNCTIONS(DelayedInputs);
SYNFIRE_DELAYED_FUNCTIONS(DelayedHistory);
SYNFIRE_DELAYED_FUNCTIONS(DelayedOutputs);
SYNFIRE_DELAYED_FUNCTIONS(PrepareDelayed);
SYNFIRE_DELAYED_FUNCTIONS(DelayedGradient);
SYNFIRE_DELAYED_FUNCTIONS(DelayedInputGradient);
#undef SYNFIRE_DELAYED_FUNCTIONS

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(DelayedInputs);
SYNFIRE_DECLARE_KIND(DelayedHistory);
SYNFIRE_DECLARE_KIND(DelayedOutputs);
SYNFIRE_DECLARE_KIND(PrepareDelayed);
SYNFIRE_DECLARE_KIND(DelayedGradient);
SYNFIRE_DECLARE_KIND(DelayedInputGradient);

#endif
