// The one-to-one kind: each output has one input, y = fma(w, x, b). Its object, and its operations. Element i of a row
// has entry i mod E of weight and bias, where E is the number of neurons, of channels, or 1.
//
// Gradients of weight and bias in f32 are sums of integers on a grid, one for each entry (operations/sum_entry.hpp): of
// dL/dy for spikes; of contributions for values, one f32 for each element of a batch row, which is a sum over the
// steps. In f64 they are sums in a fixed order (model/grid.hpp), whose terms are ordered by step, by active row, and by
// element.
#ifndef SYNFIRE_SYNAPSES_ONE_TO_ONE_ONE_TO_ONE_HPP
#define SYNFIRE_SYNAPSES_ONE_TO_ONE_ONE_TO_ONE_HPP

#include <base/extents.hpp>
#include <graph/graph.hpp>
#include <operations/kind.hpp>
#include <operations/row_sums/row_sums.hpp>
#include <synapses/synapse.hpp>

namespace synfire::operations {

extern const core::SynapseKind one_to_one_kind;

// ---- the object -----------------------------------------------------------------------------------------------------

// A descriptor with its defaults filled in and every field checked.
struct OneToOneSpec {
  core::SynapseShape shape;
  core::Scope scope;
  bool has_bias;
  int gradient_bits;  // of the grid of exact gradients of spikes: 24 or 32
  double initial_weight;

  explicit OneToOneSpec(const synfire_one_to_one_desc& desc);
  // Gradients that are exact sums of dL/dy.
  bool is_exact() const { return shape.dtype == SYNFIRE_DTYPE_F32 && shape.input.elements == core::Elements::spikes; }
  // Gradients that are sums of contributions.
  bool has_contributions() const {
    return shape.dtype == SYNFIRE_DTYPE_F32 && shape.input.elements == core::Elements::values;
  }
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
  // The arrays between the entries of a sum of integers; scratch memory if one operation does everything. Of spikes:
  // u32 [E], the largest magnitudes as bits, and i64 [2, E], the sums for weight and bias. Of values: as RowSums has
  // them, for weight and bias.
  View largest, totals;
  View contributions;  // likewise, of values: f32 [2, B, N], for weight and bias
  View arrived;        // scratch of values on CUDA: u32 [2, tiles]
  View blocks;         // scratch of a sum in the fixed order: f64 [2, blocks, E]
  SumEntry entry = SumEntry::all;

  static constexpr const char* name = "one-to-one gradient";
  static void operands(OneToOneGradient& op, OperandVisitor visit) {
    const Access access = op.add ? Access::update : Access::write;
    const core::SynapseOperandNames& names = core::operand_names(op.layer_active);
    visit({names.taped_n_active, op.n_active, Access::read});
    visit({"the layer's active rows", op.layer_active, Access::read});
    if (op.entry != SumEntry::finish) {
      visit({names.grad_output, op.grad_output, Access::read});
      visit({names.taped_input, op.input, Access::read});
    }
    if (does(op.entry, SumEntry::finish)) {
      visit({"the synapse's weight gradient", op.weight_gradient, access});
      visit({"the synapse's bias gradient", op.bias_gradient, access});
    }
    visit({"the largest gradients of a synapse", op.largest, access_of_maxima(op.entry)});
    visit({"the sums of a synapse's gradients", op.totals, access_of_sums(op.entry)});
    visit({"the contributions to a synapse's gradients", op.contributions, access_of_maxima(op.entry)});
    visit({"scratch memory", op.arrived, Access::scratch});
    visit({"scratch memory", op.blocks, Access::scratch});
  }
};

// The sums of the contributions for weight (0) or bias (1).
RowSums row_sums_of(const OneToOneGradient& op, int which);

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
