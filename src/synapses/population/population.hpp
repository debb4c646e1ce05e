// The population kind: each input has P cells, y = exp(-z * z / 2) with z = (x - mu) / sigma. Its object, and its
// operations. Output n belongs to input n / P, and has entry n of mu and sigma.
//
// Gradients of mu and sigma are sums over the rows of contributions, one for each output of a batch row, which is a sum
// over the steps. In f32 they are sums of integers on a grid (operations/sum_entry.hpp), in f64 they are added in the
// order of the rows.
#ifndef SYNFIRE_SYNAPSES_POPULATION_POPULATION_HPP
#define SYNFIRE_SYNAPSES_POPULATION_POPULATION_HPP

#include <base/extents.hpp>
#include <operations/kind.hpp>
#include <operations/row_sums/row_sums.hpp>
#include <synapses/synapse.hpp>

namespace synfire::operations {

extern const core::SynapseKind population_kind;

// ---- the object -----------------------------------------------------------------------------------------------------

// A descriptor with its defaults filled in and every field checked.
struct PopulationSpec {
  core::SynapseShape shape;
  int64_t n_cells;             // of each input
  double lower, upper, sigma;  // at the start

  explicit PopulationSpec(const synfire_population_desc& desc);
  int64_t n_inputs() const { return shape.input.n_features(); }
  int64_t n_outputs() const { return shape.output.n_features(); }
  double mu(int64_t cell) const;  // at the start
  uint64_t array_bytes() const;   // of mu and sigma
};

class PopulationSynapse final : public core::Synapse {
 public:
  // With its initial mu and sigma.
  PopulationSynapse(core::Context& context, const PopulationSpec& spec);

  const PopulationSpec& spec() const noexcept { return spec_; }
  View mu() noexcept { return arrays()[0].values; }
  View sigma() noexcept { return arrays()[1].values; }
  View mu_gradient() noexcept { return arrays()[0].gradient; }
  View sigma_gradient() noexcept { return arrays()[1].gradient; }

 private:
  ~PopulationSynapse() override = default;

  const PopulationSpec spec_;
};

// ---- its operations -------------------------------------------------------------------------------------------------

// y for every step and batch row. Rows that are not active give +0.
struct PopulationProduct {
  PopulationSynapse* synapse;
  core::Extents extents;  // of the input
  View input;             // [T, B, K]
  View output;            // [T, B, N]
  View n_active;          // u32 [1], or absent
  View layer_active;      // SynapsePass::layer_active
  View mu, sigma;         // [K, P]

  static constexpr const char* name = "population";
  static void operands(PopulationProduct& op, OperandVisitor visit) {
    const core::SynapseOperandNames& names = core::operand_names(op.layer_active);
    visit({names.input, op.input, Access::read});
    visit({names.output, op.output, Access::write});
    visit({names.n_active, op.n_active, Access::read});
    visit({"the layer's active rows", op.layer_active, Access::read});
    visit({"the synapse's mu", op.mu, Access::read});
    visit({"the synapse's sigma", op.sigma, Access::read});
  }
};

// dL/dmu and dL/dsigma, from dL/dy and the input.
struct PopulationGradient {
  PopulationSynapse* synapse;
  core::Extents extents;  // of the input
  View grad_output;       // [T, B, N]
  View input;             // [T, B, K]
  View n_active, layer_active;
  View mu, sigma;                    // [K, P]
  View mu_gradient, sigma_gradient;  // [K, P]
  bool add;                          // to what the gradients hold
  // The arrays between the entries of a sum of integers; scratch memory if one operation does everything. The maxima
  // and the sums are absent in f64, which has no other entry.
  View contributions;    // [2, B, N], for mu and sigma
  View largest, totals;  // as RowSums has them, for mu and sigma
  View arrived;          // scratch on CUDA: u32 [2, tiles]
  SumEntry entry = SumEntry::all;

  static constexpr const char* name = "population gradient";
  static void operands(PopulationGradient& op, OperandVisitor visit) {
    const Access access = op.add ? Access::update : Access::write;
    const core::SynapseOperandNames& names = core::operand_names(op.layer_active);
    visit({names.taped_n_active, op.n_active, Access::read});
    visit({"the layer's active rows", op.layer_active, Access::read});
    if (does(op.entry, SumEntry::maxima)) {
      visit({names.grad_output, op.grad_output, Access::read});
      visit({names.taped_input, op.input, Access::read});
      visit({"the synapse's mu", op.mu, Access::read});
      visit({"the synapse's sigma", op.sigma, Access::read});
    }
    if (does(op.entry, SumEntry::finish)) {
      visit({"the gradient of the synapse's mu", op.mu_gradient, access});
      visit({"the gradient of the synapse's sigma", op.sigma_gradient, access});
    }
    visit({"the contributions to a synapse's gradients", op.contributions, access_of_maxima(op.entry)});
    visit({"the largest gradients of a synapse", op.largest, access_of_maxima(op.entry)});
    visit({"the sums of a synapse's gradients", op.totals, access_of_sums(op.entry)});
    visit({"scratch memory", op.arrived, Access::scratch});
  }
};

// The sums of the contributions for mu (0) or sigma (1), in f32.
RowSums row_sums_of(const PopulationGradient& op, int which);

// dL/dx, a sum over the cells of an input. Rows that are not active give +0.
struct PopulationInputGradient {
  PopulationSynapse* synapse;
  core::Extents extents;   // of the input
  View grad_output;        // [T, B, N]
  View input, grad_input;  // [T, B, K]
  View n_active, layer_active;
  View mu, sigma;  // [K, P]
  bool add;        // to what grad_input holds

  static constexpr const char* name = "population input gradient";
  static void operands(PopulationInputGradient& op, OperandVisitor visit) {
    const core::SynapseOperandNames& names = core::operand_names(op.layer_active);
    visit({names.grad_output, op.grad_output, Access::read});
    visit({names.taped_input, op.input, Access::read});
    visit({names.grad_input, op.grad_input, op.add ? Access::update : Access::write});
    visit({names.taped_n_active, op.n_active, Access::read});
    visit({"the layer's active rows", op.layer_active, Access::read});
    visit({"the synapse's mu", op.mu, Access::read});
    visit({"the synapse's sigma", op.sigma, Access::read});
  }
};

#define SYNFIRE_POPULATION_FUNCTIONS(Kind)                  \
  OperationLabel label(const Kind& op);                     \
  bool wants_threads(const Kind& op);                       \
  void run(const Kind& op, host::Launcher& launcher);       \
  cuda::Hints hints(const Kind& op, const cuda::GpuShape&); \
  void enqueue(const Kind& op, cuda::Launcher& launcher)
SYNFIRE_POPULATION_FUNCTIONS(PopulationProduct);
SYNFIRE_POPULATION_FUNCTIONS(PopulationGradient);
SYNFIRE_POPULATION_FUNCTIONS(PopulationInputGradient);
#undef SYNFIRE_POPULATION_FUNCTIONS

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(PopulationProduct);
SYNFIRE_DECLARE_KIND(PopulationGradient);
SYNFIRE_DECLARE_KIND(PopulationInputGradient);

#endif
