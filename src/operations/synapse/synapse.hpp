// The operations on synapses: the weights on their grid, the product with an input, and its gradients.
//
// An exact synapse adds weights that lie on a grid, one for each output, as integers; so do the input gradients of all
// but f64 synapses. All other products are sums in a fixed order. model/grid.hpp has the arithmetic.
#ifndef SYNFIRE_OPERATIONS_SYNAPSE_SYNAPSE_HPP
#define SYNFIRE_OPERATIONS_SYNAPSE_SYNAPSE_HPP

#include <base/extents.hpp>
#include <graph/graph.hpp>
#include <operations/kind.hpp>
#include <synapse/synapse.hpp>

namespace synfire::operations {

using core::Synapse;

// Derives what the products use from the weights and the bias, and sets weights that the mask leaves out to 0.
struct PrepareSynapse {
  Synapse* synapse;
  View weights, bias, mask, table, rows, grid, bias_on_grid;
  View table_planes, rows_planes;  // on CUDA

  static constexpr const char* name = "prepare synapse";
  static void operands(PrepareSynapse& op, OperandVisitor visit) {
    visit({"the synapse's weights", op.weights, Access::update});
    visit({"the synapse's bias", op.bias, Access::read});
    visit({"the synapse's mask", op.mask, Access::read});
    visit({"the synapse's weights on their grid", op.table, Access::write});
    visit({"the synapse's weights on their grid", op.rows, Access::write});
    visit({"the synapse's grid", op.grid, Access::write});
    visit({"the synapse's bias on its grid", op.bias_on_grid, Access::write});
    visit({"the synapse's byte planes", op.table_planes, Access::write});
    visit({"the synapse's byte planes", op.rows_planes, Access::write});
  }
};
PrepareSynapse make_prepare(Synapse& synapse);

// Dropout of the input: which of it counts, and the factor on the product. Absent: all of it, and none.
struct Kept {
  View mask;   // words [B, ceil(K / 32)]
  View scale;  // [1], in the type of the synapse
};

// y = W · input + bias for every step and batch row. Rows that are not active give +0.
struct SynapseForward {
  Synapse* synapse;
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
  static void operands(SynapseForward& op, OperandVisitor visit) {
    visit({op.layer_active ? "desc.synapse_input" : "desc.input", op.input, Access::read});
    visit({op.layer_active ? "the layer's X" : "desc.output", op.output, Access::write});
    visit({"desc.n_active", op.n_active, Access::read});
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

// dL/dW and dL/db, from dL/dy and the input.
struct SynapseWeightGradient {
  Synapse* synapse;
  core::Extents extents;
  View grad_output;  // [T, B, N]
  View input;        // [T, B, K]
  View n_active;
  View weight_gradient, bias_gradient, mask;
  bool add;            // to what the gradients hold
  View grad_on_grid;   // scratch of an exact synapse: i32 [T, B, N], rows padded; byte planes on CUDA
  View partial;        // likewise: i32 [K, N], rows padded; absent on CUDA
  View total;          // likewise: i64 [K + 1, N], rows padded, the last row is the bias's; on CUDA [N, K],
                       // [N] for the bias and u32 [N], the largest magnitudes as bits
  View gradient_grid;  // likewise: u32 [N], padded: the largest magnitudes as bits, then the grids; absent on CUDA
  View converted;      // scratch, on CUDA: as in SynapseForward
  View packed;         // scratch of an exact synapse, on CUDA: words [M / 32, K] of 32 rows (t, b) each, rows padded
  Kept kept = {};
  View layer_active = {};  // as in SynapseForward
  View host_places = {};   // scratch, on the host, of a synapse that is not exact: inputs as numbers

  static constexpr const char* name = "synapse gradient";
  static void operands(SynapseWeightGradient& op, OperandVisitor visit) {
    const Access access = op.add ? Access::update : Access::write;
    visit({op.layer_active ? "desc.grad_x_seq" : "desc.grad_output", op.grad_output, Access::read});
    visit({op.layer_active ? "the forward's synapse_input" : "desc.input", op.input, Access::read});
    visit({op.layer_active ? "the forward's n_active" : "desc.n_active", op.n_active, Access::read});
    visit({"the layer's active rows", op.layer_active, Access::read});
    visit({"the synapse's mask", op.mask, Access::read});
    visit({"the synapse's weight gradient", op.weight_gradient, access});
    visit({"the synapse's bias gradient", op.bias_gradient, access});
    visit({"scratch memory", op.grad_on_grid, Access::scratch});
    visit({"scratch memory", op.partial, Access::scratch});
    visit({"scratch memory", op.total, Access::scratch});
    visit({"scratch memory", op.gradient_grid, Access::scratch});
    visit({"scratch memory", op.converted, Access::scratch});
    visit({"scratch memory", op.packed, Access::scratch});
    visit({"scratch memory", op.host_places, Access::scratch});
    visit({"desc.input_mask", op.kept.mask, Access::read});
    visit({"desc.input_scale", op.kept.scale, Access::read});
  }
};

// dL/dx, from dL/dy and the weights on their grid. Rows that are not active give +0.
struct SynapseInputGradient {
  Synapse* synapse;
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
  View layer_active = {};  // as in SynapseForward

  static constexpr const char* name = "synapse input gradient";
  static void operands(SynapseInputGradient& op, OperandVisitor visit) {
    visit({op.layer_active ? "desc.grad_x_seq" : "desc.grad_output", op.grad_output, Access::read});
    visit({op.layer_active ? "desc.grad_synapse_input" : "desc.grad_input", op.grad_input,
           op.add ? Access::update : Access::write});
    visit({op.layer_active ? "the forward's n_active" : "desc.n_active", op.n_active, Access::read});
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

#define SYNFIRE_SYNAPSE_FUNCTIONS(Kind)                     \
  OperationLabel label(const Kind& op);                     \
  bool wants_threads(const Kind& op);                       \
  void run(const Kind& op, host::Launcher& launcher);       \
  cuda::Hints hints(const Kind& op, const cuda::GpuShape&); \
  void enqueue(const Kind& op, cuda::Launcher& launcher)
// Scratch memory on the host. Called once all other members are set.
View host_places_of(const core::Device& device, const SynapseForward& op);
View host_places_of(const core::Device& device, const SynapseWeightGradient& op);
SYNFIRE_SYNAPSE_FUNCTIONS(PrepareSynapse);
SYNFIRE_SYNAPSE_FUNCTIONS(SynapseForward);
SYNFIRE_SYNAPSE_FUNCTIONS(SynapseWeightGradient);
SYNFIRE_SYNAPSE_FUNCTIONS(SynapseInputGradient);
#undef SYNFIRE_SYNAPSE_FUNCTIONS

// ---- objects --------------------------------------------------------------------------------------------------------

// Creates a synapse with its initial weights; the caller takes the reference.
Synapse* make_synapse(core::Context& context, const core::SynapseSpec& spec, const uint8_t* mask);
// Replaces "weight" or "bias". Waits for replays that use the synapse.
void write_synapse(Synapse& synapse, const char* name, const void* values, uint64_t bytes);

// ---- requests -------------------------------------------------------------------------------------------------------

struct SynapseForwardRequest {
  int64_t n_steps, batch;
  core::Buffer *input, *output, *n_active;  // n_active may be null
  core::Buffer *input_mask, *input_scale;   // may be null
};
core::OperationList synapse_forward(Synapse& synapse, const SynapseForwardRequest& request, bool on_host);
void record_synapse_forward(core::Graph& graph, Synapse& synapse, const SynapseForwardRequest& request);

struct SynapseBackwardRequest {
  int64_t n_steps, batch;
  core::Buffer *grad_output, *input, *grad_input, *n_active;  // all but the first may be null
  bool add_gradients, add_input_gradient;
  core::Buffer *input_mask, *input_scale;  // may be null
};
core::OperationList synapse_backward(Synapse& synapse, const SynapseBackwardRequest& request, bool on_host);
void record_synapse_backward(core::Graph& graph, Synapse& synapse, const SynapseBackwardRequest& request);

// ---- as a part of a layer's passes ----------------------------------------------------------------------------------

// What makes the X of a layer, and the rows that the layer computes.
struct SynapseOfLayer {
  Synapse& synapse;
  core::Extents extents;           // of X
  core::Buffer *input, *n_active;  // n_active may be null
  const char* input_name;          // for error texts
  View layer_active;
  bool on_host;
};
// Checks that the synapse makes X of such a layer.
void check_chain(const Synapse& synapse, const core::Extents& extents, int32_t arithmetic);
SynapseForward product_of(const SynapseOfLayer& part, const View& x);
// Allocates the gradients of the synapse.
SynapseWeightGradient weight_gradient_of(const SynapseOfLayer& part, const View& grad_x, bool add);
SynapseInputGradient input_gradient_of(const SynapseOfLayer& part, const View& grad_x, const core::Buffer& grad_input,
                                       bool add);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(PrepareSynapse);
SYNFIRE_DECLARE_KIND(SynapseForward);
SYNFIRE_DECLARE_KIND(SynapseWeightGradient);
SYNFIRE_DECLARE_KIND(SynapseInputGradient);

#endif
