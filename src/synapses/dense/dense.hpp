// The dense kind: weights [N, K] and a bias [N] between K inputs and N outputs; its object and its operations. An exact
// synapse adds weights on a grid, one for each output, as integers; so do the input gradients of all but f64 synapses.
// Their weight gradients are sums of integers over rows (operations/sum_entry.hpp). All other products are sums in a
// fixed order. model/grid.hpp has the arithmetic.
#ifndef SYNFIRE_SYNAPSES_DENSE_DENSE_HPP
#define SYNFIRE_SYNAPSES_DENSE_DENSE_HPP

#include "dense_matrix.hpp"

#include <base/extents.hpp>
#include <graph/graph.hpp>
#include <operations/kind.hpp>
#include <operations/sum_entry.hpp>
#include <synapses/synapse.hpp>

namespace synfire::operations {

using core::Kept;

extern const core::SynapseKind dense_kind;

// ---- the object -----------------------------------------------------------------------------------------------------

class DenseSynapse final : public MatrixSynapse {
 public:
  // All weights are 0. `mask` has a byte for each weight, or is null.
  DenseSynapse(core::Context& context, const DenseSpec& spec, const uint8_t* mask);

 private:
  ~DenseSynapse() override = default;
};

// SynapseKind::rounding.
std::optional<core::Rounding> rounding_of(core::Synapse& synapse, int64_t first, int64_t count);

// Creates a synapse with its initial weights; the caller takes the reference.
DenseSynapse* make_dense(core::Context& context, const DenseSpec& spec, const uint8_t* mask);

// ---- its operations -------------------------------------------------------------------------------------------------

// y = W · input + bias for every step and batch row. Rows that are not active give +0.
struct DenseProduct {
  DenseSynapse* synapse;
  core::Extents extents;  // of the input: n_neurons is K
  View input;             // [T, B, K]
  View output;            // [T, B, N]
  View n_active;          // u32 [1], or absent
  View table, bias, grid, bias_on_grid;
  View planes;     // on CUDA, of an exact synapse
  View converted;  // scratch, on CUDA: spikes as bits, values in the type of the synapse; where they are stored
                   // otherwise, or values are dropped
  Kept kept = {};
  View layer_active = {};  // of the layer whose X the output is: i64 [1], the active elements of a row [B, N]
  View host_places = {};   // scratch, on the host, of an exact synapse: lists of spikes, or sums

  static constexpr const char* name = "synapse";
  static void operands(DenseProduct& op, OperandVisitor visit) {
    const core::SynapseOperandNames& names = core::operand_names(op.layer_active);
    visit({names.input, op.input, Access::read});
    visit({names.output, op.output, Access::write});
    visit({names.n_active, op.n_active, Access::read});
    visit({"the layer's active rows", op.layer_active, Access::read});
    visit({"the synapse's weights on their grid", op.table, Access::read});
    visit({"the synapse's bias", op.bias, Access::read});
    visit({"the synapse's grid", op.grid, Access::read});
    visit({"the synapse's bias on its grid", op.bias_on_grid, Access::read});
    visit({"the synapse's byte planes", op.planes, Access::read});
    visit({"scratch memory", op.converted, Access::scratch});
    visit({"scratch memory", op.host_places, Access::scratch});
    visit({"desc.input_mask", op.kept.mask, Access::read});
    visit({"desc.input_scale", op.kept.scale, Access::read});
  }
};

struct DenseWeightGradient {
  DenseSynapse* synapse;
  core::Extents extents;
  View grad_output;  // [T, B, N]
  View input;        // [T, B, K]
  View n_active;
  View weight_gradient, bias_gradient, mask;
  bool add;  // to what the gradients hold
  // In f32, the arrays between the entries: scratch memory if one operation does everything. `largest`: u32 [N], then
  // of values [K], the largest magnitudes of dL/dy and of the inputs as bits; on CUDA, if one operation does
  // everything, they are at the end of `total`. `total`: i64. Of spikes on the host [K + 1, N], rows padded, the last
  // row is the bias's; of spikes on CUDA [N, K], rows padded, and [N] for the bias; of values [N, K], rows padded,
  // twice (high and low parts), and [N] for the bias.
  View largest, total;
  View grad_on_grid;   // scratch: i32 [T, B, N], rows padded; byte planes on CUDA
  View input_on_grid;  // scratch, of values: i32 [T, B, K], rows padded; byte planes on CUDA
  View partial;        // scratch, of spikes: i32 [K, N], rows padded; absent on CUDA
  View gradient_grid;  // scratch: i32 [N], then of values [K], both padded; absent on CUDA
  View converted;      // scratch, on CUDA: as in DenseProduct
  View packed;         // scratch of an exact synapse, on CUDA: words [M / 32, K] of 32 rows (t, b) each, rows padded
  Kept kept = {};
  View layer_active = {};  // as in DenseProduct
  View host_places = {};   // scratch, on the host: inputs as numbers in f64, sums of products of values
  SumEntry entry = SumEntry::all;

  static constexpr const char* name = "synapse gradient";
  static void operands(DenseWeightGradient& op, OperandVisitor visit) {
    const Access access = op.add ? Access::update : Access::write;
    const core::SynapseOperandNames& names = core::operand_names(op.layer_active);
    visit({names.taped_n_active, op.n_active, Access::read});
    visit({"the layer's active rows", op.layer_active, Access::read});
    if (op.entry != SumEntry::finish) {
      visit({names.grad_output, op.grad_output, Access::read});
      visit({names.taped_input, op.input, Access::read});
      visit({"desc.input_mask", op.kept.mask, Access::read});
    }
    if (does(op.entry, SumEntry::finish)) {
      visit({"the synapse's mask", op.mask, Access::read});
      visit({"the synapse's weight gradient", op.weight_gradient, access});
      visit({"the synapse's bias gradient", op.bias_gradient, access});
      visit({"desc.input_scale", op.kept.scale, Access::read});
    }
    visit({"the largest gradients of a synapse", op.largest, access_of_maxima(op.entry)});
    visit({"the sums of a synapse's gradients", op.total, access_of_sums(op.entry)});
    visit({"scratch memory", op.grad_on_grid, Access::scratch});
    visit({"scratch memory", op.input_on_grid, Access::scratch});
    visit({"scratch memory", op.partial, Access::scratch});
    visit({"scratch memory", op.gradient_grid, Access::scratch});
    visit({"scratch memory", op.converted, Access::scratch});
    visit({"scratch memory", op.packed, Access::scratch});
    visit({"scratch memory", op.host_places, Access::scratch});
  }
};

// dL/dx, from dL/dy and the weights on their grid. Rows that are not active give +0.
struct DenseInputGradient {
  DenseSynapse* synapse;
  core::Extents extents;
  View grad_output;  // [T, B, N]
  View grad_input;   // [T, B, K]
  View n_active;
  View rows, grid;
  View planes;        // on CUDA, but in f64
  bool add;           // to what grad_input holds
  View grad_on_grid;  // scratch, but in f64: i32 [T, B, N], rows padded; byte planes on CUDA
  View row_grid;      // likewise: the grid of each row [T, B], as an exponent
  Kept kept = {};
  View layer_active = {};  // as in DenseProduct

  static constexpr const char* name = "synapse input gradient";
  static void operands(DenseInputGradient& op, OperandVisitor visit) {
    const core::SynapseOperandNames& names = core::operand_names(op.layer_active);
    visit({names.grad_output, op.grad_output, Access::read});
    visit({names.grad_input, op.grad_input, op.add ? Access::update : Access::write});
    visit({names.taped_n_active, op.n_active, Access::read});
    visit({"the layer's active rows", op.layer_active, Access::read});
    visit({"the synapse's weights on their grid", op.rows, Access::read});
    visit({"the synapse's grid", op.grid, Access::read});
    visit({"the synapse's byte planes", op.planes, Access::read});
    visit({"scratch memory", op.grad_on_grid, Access::scratch});
    visit({"scratch memory", op.row_grid, Access::scratch});
    visit({"desc.input_mask", op.kept.mask, Access::read});
    visit({"desc.input_scale", op.kept.scale, Access::read});
  }
};

// The bytes of `largest` and `total` for an entry of a weight gradient in f32.
struct SumArrayBytes {
  uint64_t largest, total;
};
SumArrayBytes sum_array_bytes(const DenseSpec& spec, bool on_host);

#define SYNFIRE_SYNAPSE_FUNCTIONS(Kind)                     \
  OperationLabel label(const Kind& op);                     \
  bool wants_threads(const Kind& op);                       \
  void run(const Kind& op, host::Launcher& launcher);       \
  cuda::Hints hints(const Kind& op, const cuda::GpuShape&); \
  void enqueue(const Kind& op, cuda::Launcher& launcher)
// Scratch memory on the host. Called once all other members are set.
View host_places_of(const core::Device& device, const DenseProduct& op);
View host_places_of(const core::Device& device, const DenseWeightGradient& op);
SYNFIRE_SYNAPSE_FUNCTIONS(DenseProduct);
SYNFIRE_SYNAPSE_FUNCTIONS(DenseWeightGradient);
SYNFIRE_SYNAPSE_FUNCTIONS(DenseInputGradient);
#undef SYNFIRE_SYNAPSE_FUNCTIONS

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(DenseProduct);
SYNFIRE_DECLARE_KIND(DenseWeightGradient);
SYNFIRE_DECLARE_KIND(DenseInputGradient);

#endif
