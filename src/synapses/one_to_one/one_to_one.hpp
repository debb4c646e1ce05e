// The one-to-one kind: each output has one input, y = fma(w, x, b). Its object, and its operations. Element i of a row
// has entry i mod E of weight and bias, where E is the number of neurons, of channels, or 1.
//
// Gradients of weight and bias of spikes in f32 are exact sums on a grid, one for each entry; all others are sums in a
// fixed order (model/grid.hpp). The terms of an entry are ordered by step, by active row, and by element.
#ifndef SYNFIRE_SYNAPSES_ONE_TO_ONE_ONE_TO_ONE_HPP
#define SYNFIRE_SYNAPSES_ONE_TO_ONE_ONE_TO_ONE_HPP

#include <base/extents.hpp>
#include <graph/graph.hpp>
#include <operations/kind.hpp>
#include <synapses/synapse.hpp>

namespace synfire::operations {

extern const core::SynapseKind one_to_one_kind;

// ---- the object -----------------------------------------------------------------------------------------------------

// A descriptor with its defaults filled in and every field checked.
struct OneToOneSpec {
  core::SynapseShape shape;
  core::Scope scope;
  bool has_bias;
  int gradient_bits;  // of the grid of exact gradients: 24 or 32
  double initial_weight;

  explicit OneToOneSpec(const synfire_one_to_one_desc& desc);
  // Gradients that are exact sums of integers.
  bool is_exact() const { return shape.dtype == SYNFIRE_DTYPE_F32 && shape.input.elements == core::Elements::spikes; }
  int64_t n_neurons() const { return shape.input.n_features(); }
  int64_t n_entries() const { return core::n_entries(scope, n_neurons(), shape.input.channels); }
  int64_t n_shares() const { return n_neurons() / n_entries(); }  // elements of a row that have the same entry
  uint64_t array_bytes() const;                                   // of weight and bias
};

class OneToOneSynapse final : public core::Synapse {
 public:
  // With its initial weights.
  OneToOneSynapse(core::Context& context, const OneToOneSpec& spec);

  const OneToOneSpec& spec() const noexcept { return spec_; }
  View weight() noexcept { return arrays()[0].values; }
  View bias() noexcept { return spec_.has_bias ? arrays()[1].values : View{}; }
  View weight_gradient() noexcept { return arrays()[0].gradient; }
  View bias_gradient() noexcept { return spec_.has_bias ? arrays()[1].gradient : View{}; }

 private:
  ~OneToOneSynapse() override = default;

  const OneToOneSpec spec_;
};

// ---- its operations -------------------------------------------------------------------------------------------------

// y = fma(w, x, b) for every step and batch row. Rows that are not active give +0.
struct OneToOneProduct {
  OneToOneSynapse* synapse;
  core::Extents extents;
  View input, output;  // [T, B, N]
  View n_active;       // u32 [1], or absent
  View layer_active;   // SynapsePass::layer_active
  View weight, bias;   // [E]

  static constexpr const char* name = "one-to-one";
  static void operands(OneToOneProduct& op, OperandVisitor visit) {
    const core::SynapseOperandNames& names = core::operand_names(op.layer_active);
    visit({names.input, op.input, Access::read});
    visit({names.output, op.output, Access::write});
    visit({names.n_active, op.n_active, Access::read});
    visit({"the layer's active rows", op.layer_active, Access::read});
    visit({"the synapse's weight", op.weight, Access::read});
    visit({"the synapse's bias", op.bias, Access::read});
  }
};

// dL/dw and dL/db, from dL/dy and the input.
struct OneToOneGradient {
  OneToOneSynapse* synapse;
  core::Extents extents;
  View grad_output, input;  // [T, B, N]
  View n_active, layer_active;
  View weight_gradient, bias_gradient;  // [E]
  bool add;                             // to what the gradients hold
  View largest;                         // scratch of an exact sum: u32 [E], the largest magnitudes as bits
  View totals;                          // scratch of an exact sum: i64 [2, E], of weight and bias
  View blocks;                          // scratch of a sum in the fixed order: [2, blocks, E]

  static constexpr const char* name = "one-to-one gradient";
  static void operands(OneToOneGradient& op, OperandVisitor visit) {
    const Access access = op.add ? Access::update : Access::write;
    const core::SynapseOperandNames& names = core::operand_names(op.layer_active);
    visit({names.grad_output, op.grad_output, Access::read});
    visit({names.taped_input, op.input, Access::read});
    visit({names.taped_n_active, op.n_active, Access::read});
    visit({"the layer's active rows", op.layer_active, Access::read});
    visit({"the synapse's weight gradient", op.weight_gradient, access});
    visit({"the synapse's bias gradient", op.bias_gradient, access});
    visit({"scratch memory", op.largest, Access::scratch});
    visit({"scratch memory", op.totals, Access::scratch});
    visit({"scratch memory", op.blocks, Access::scratch});
  }
};

// dL/dx = w * dL/dy. Rows that are not active give +0.
struct OneToOneInputGradient {
  OneToOneSynapse* synapse;
  core::Extents extents;
  View grad_output, grad_input;  // [T, B, N]
  View n_active, layer_active;
  View weight;  // [E]
  bool add;     // to what grad_input holds

  static constexpr const char* name = "one-to-one input gradient";
  static void operands(OneToOneInputGradient& op, OperandVisitor visit) {
    const core::SynapseOperandNames& names = core::operand_names(op.layer_active);
    visit({names.grad_output, op.grad_output, Access::read});
    visit({names.grad_input, op.grad_input, op.add ? Access::update : Access::write});
    visit({names.taped_n_active, op.n_active, Access::read});
    visit({"the layer's active rows", op.layer_active, Access::read});
    visit({"the synapse's weight", op.weight, Access::read});
  }
};

#define SYNFIRE_ONE_TO_ONE_FUNCTIONS(Kind)                  \
  OperationLabel label(const Kind& op);                     \
  bool wants_threads(const Kind& op);                       \
  void run(const Kind& op, host::Launcher& launcher);       \
  cuda::Hints hints(const Kind& op, const cuda::GpuShape&); \
  void enqueue(const Kind& op, cuda::Launcher& launcher)
SYNFIRE_ONE_TO_ONE_FUNCTIONS(OneToOneProduct);
SYNFIRE_ONE_TO_ONE_FUNCTIONS(OneToOneGradient);
SYNFIRE_ONE_TO_ONE_FUNCTIONS(OneToOneInputGradient);
#undef SYNFIRE_ONE_TO_ONE_FUNCTIONS

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(OneToOneProduct);
SYNFIRE_DECLARE_KIND(OneToOneGradient);
SYNFIRE_DECLARE_KIND(OneToOneInputGradient);

#endif
