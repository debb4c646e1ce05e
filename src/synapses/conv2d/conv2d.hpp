// The kind of convolutions, transposed ones too: a kernel of weights for each output channel, which meets the inputs
// around every place of a map. Its object and its operations. Weights are a matrix (dense/dense_matrix.hpp): what is
// computed is what a dense synapse computes whose rows are the inputs that the kernel meets, with three differences.
// Gradients of weights add over all places; inputs are counts too, and values have a grid for each input channel;
// and the gradient of the input has one grid for a batch row and step. A dense synapse of counts is a convolution of
// one place, whose weights have the shape of a dense one's.
#ifndef SYNFIRE_SYNAPSES_CONV2D_CONV2D_HPP
#define SYNFIRE_SYNAPSES_CONV2D_CONV2D_HPP

#include "conv2d_spec.hpp"

#include <base/extents.hpp>
#include <graph/graph.hpp>
#include <operations/kind.hpp>
#include <operations/sum_entry.hpp>
#include <synapses/dense/dense_matrix.hpp>

#include <vector>

namespace synfire::operations {

extern const core::SynapseKind conv2d_kind, dense_of_counts_kind;

// ---- the object -----------------------------------------------------------------------------------------------------

class Conv2dSynapse final : public MatrixSynapse {
 public:
  // All weights are 0. `mask` has a byte for each weight, or is null. The caller takes the reference.
  static Conv2dSynapse* make(core::Context& context, const Conv2dSpec& spec, const uint8_t* mask);

  const Conv2dSpec& conv() const noexcept { return conv_; }
  const Conv2dShape& map() const noexcept { return conv_.shape; }

  // The same kernel on another map: a synapse without memory of its own, which lives as long as this one. Its
  // operations have this one's memory as operands.
  Conv2dSynapse& on_map(const Conv2dSpec& spec);
  // The one whose weights it has.
  Conv2dSynapse& kernel() noexcept { return lender_ ? *lender_ : *this; }

 private:
  Conv2dSynapse(core::Context& context, const core::SynapseKind& kind, const Conv2dSpec& spec,
                std::initializer_list<int64_t> weight_lengths, const uint8_t* mask);
  Conv2dSynapse(Conv2dSynapse& lender, const Conv2dSpec& spec);
  ~Conv2dSynapse() override = default;

  const Conv2dSpec conv_;
  Conv2dSynapse* const lender_ = nullptr;
  std::vector<core::Ref<Conv2dSynapse>> on_maps_;
};

// Creates a synapse with its initial weights; `mask` has a byte for each weight, or is null. The caller takes the
// reference.
Conv2dSynapse* make_conv2d(core::Context& context, const Conv2dSpec& spec, const uint8_t* mask);

// Dense synapses of any input, those of counts among them: the matrix of a checked descriptor; an object with its
// initial weights, or with weights of 0 and no mask. The caller takes the reference.
DenseSpec dense_matrix_of(const synfire_synapse_desc& desc);
core::Synapse* make_any_dense(core::Context& context, const synfire_synapse_desc& desc);
core::Synapse* make_empty_dense(core::Context& context, const synfire_synapse_desc& desc);

// ---- its operations -------------------------------------------------------------------------------------------------

// With dropout, an entry before them has made those inputs +0 that are dropped (operations/keep_inputs), and the
// operations multiply by the factor.

// Rows that are not active give +0.
struct Conv2dProduct {
  Conv2dSynapse* synapse;
  core::Extents extents;  // of the input: n_neurons is H * W * C
  View input;             // [T, B, n_inputs]
  View output;            // [T, B, n_outputs]
  View n_active;          // u32 [1], or absent
  View layer_active;      // SynapsePass::layer_active
  View table, bias, grid, bias_on_grid;
  View converted;     // scratch: spikes of an exact synapse as bits, if they are stored otherwise
  View host_places;   // scratch, on the host
  View planes = {};   // on CUDA, where places are rows
  View patches = {};  // scratch, likewise: the spikes that the places of steps_at_once steps meet
  int64_t steps_at_once = 1;
  View active_places = {};  // scratch, likewise, if not all rows count: u32 [1]
  View scale = {};          // of dropout: [1], or absent

  static constexpr const char* name = "convolution";
  static void operands(Conv2dProduct& op, OperandVisitor visit) {
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
    visit({"scratch memory", op.patches, Access::scratch});
    visit({"scratch memory", op.active_places, Access::scratch});
    visit({"scratch memory", op.host_places, Access::scratch});
    visit({"desc.input_scale", op.scale, Access::read});
  }
};

struct Conv2dWeightGradient {
  Conv2dSynapse* synapse;
  core::Extents extents;
  View grad_output;  // [T, B, n_outputs]
  View input;        // [T, B, n_inputs]
  View n_active, layer_active;
  View weight_gradient, bias_gradient, mask;
  bool add;  // to what the gradients hold
  // In f32, the arrays between the entries: scratch memory if one operation does everything. `largest`: u32 [N], then
  // of values [C], the largest magnitudes of dL/dy and of the inputs as bits. `total`: i64. On the host of spikes and
  // counts [K + 1, N], rows padded, the last row is the bias's; of values [N, K], rows padded, twice (high and low
  // parts), and [N] for the bias. On CUDA [N, K + 1], the last column is the bias's; of values twice; where places are
  // rows [N, K], rows padded, and [N] for the bias.
  View largest, total;
  View grad_on_grid;   // scratch, on the host: i32 [T * B * places, N], rows padded; on CUDA, where places are rows,
                       // byte planes of steps_at_once steps
  View gradient_grid;  // scratch, on the host: i32 [N]
  View input_on_grid;  // scratch, of values: i32 [T, B, n_inputs] on the host, on CUDA the inputs in f32, if they are
                       // stored otherwise
  View converted;      // scratch, as in Conv2dProduct
  View host_places;    // scratch, on the host
  View patches;        // scratch, on CUDA, where places are rows: spikes in words of 32 places, of steps_at_once steps
  int64_t steps_at_once = 1;
  View active_places = {};  // scratch, likewise, if not all rows count: u32 [1]
  View scale = {};          // of dropout: [1], or absent
  SumEntry entry = SumEntry::all;

  static constexpr const char* name = "convolution gradient";
  static void operands(Conv2dWeightGradient& op, OperandVisitor visit) {
    const Access access = op.add ? Access::update : Access::write;
    const core::SynapseOperandNames& names = core::operand_names(op.layer_active);
    visit({names.taped_n_active, op.n_active, Access::read});
    visit({"the layer's active rows", op.layer_active, Access::read});
    if (op.entry != SumEntry::finish) {
      visit({names.grad_output, op.grad_output, Access::read});
      visit({names.taped_input, op.input, Access::read});
    }
    if (does(op.entry, SumEntry::finish)) {
      visit({"the synapse's mask", op.mask, Access::read});
      visit({"the synapse's weight gradient", op.weight_gradient, access});
      visit({"the synapse's bias gradient", op.bias_gradient, access});
      visit({"desc.input_scale", op.scale, Access::read});
    }
    visit({"the largest gradients of a synapse", op.largest, access_of_maxima(op.entry)});
    visit({"the sums of a synapse's gradients", op.total, access_of_sums(op.entry)});
    visit({"scratch memory", op.grad_on_grid, Access::scratch});
    visit({"scratch memory", op.gradient_grid, Access::scratch});
    visit({"scratch memory", op.input_on_grid, Access::scratch});
    visit({"scratch memory", op.converted, Access::scratch});
    visit({"scratch memory", op.patches, Access::scratch});
    visit({"scratch memory", op.active_places, Access::scratch});
    visit({"scratch memory", op.host_places, Access::scratch});
  }
};

// dL/dx, from dL/dy and the weights on their grid. Rows that are not active give +0.
struct Conv2dInputGradient {
  Conv2dSynapse* synapse;
  core::Extents extents;
  View grad_output;  // [T, B, n_outputs]
  View grad_input;   // [T, B, n_inputs]
  View n_active, layer_active;
  View rows, grid;
  bool add;           // to what grad_input holds
  View grad_on_grid;  // scratch, but in f64: i32 [T, B, n_outputs]
  View row_grid;      // likewise: the grid of each row [T, B], as an exponent
  View host_places;   // scratch, on the host
  View row_largest;   // scratch, on CUDA but in f64: u64 [T, B], the largest of each row
  core::Kept kept = {};
  View planes = {};   // on CUDA, where places are rows
  View patches = {};  // scratch, likewise: byte planes of the gradients on their grid that the places of images_at_once
                      // images of steps_at_once steps meet
  View patch_grid = {};  // scratch, likewise: the grid of each of these places
  int64_t steps_at_once = 1, images_at_once = 1;
  View active_places = {};  // scratch, likewise, if not all rows count: u32 for each images_at_once images of a step

  static constexpr const char* name = "convolution input gradient";
  static void operands(Conv2dInputGradient& op, OperandVisitor visit) {
    const core::SynapseOperandNames& names = core::operand_names(op.layer_active);
    visit({names.grad_output, op.grad_output, Access::read});
    visit({names.grad_input, op.grad_input, op.add ? Access::update : Access::write});
    visit({names.taped_n_active, op.n_active, Access::read});
    visit({"the layer's active rows", op.layer_active, Access::read});
    visit({"the synapse's weights on their grid", op.rows, Access::read});
    visit({"the synapse's grid", op.grid, Access::read});
    visit({"scratch memory", op.grad_on_grid, Access::scratch});
    visit({"the synapse's byte planes", op.planes, Access::read});
    visit({"scratch memory", op.row_grid, Access::scratch});
    visit({"scratch memory", op.row_largest, Access::scratch});
    visit({"scratch memory", op.patches, Access::scratch});
    visit({"scratch memory", op.patch_grid, Access::scratch});
    visit({"scratch memory", op.active_places, Access::scratch});
    visit({"scratch memory", op.host_places, Access::scratch});
    visit({"desc.input_mask", op.kept.mask, Access::read});
    visit({"desc.input_scale", op.kept.scale, Access::read});
  }
};

// True if places are rows on a GPU. Kernels of rows take the factor of dropout only with a mask of the rows.
inline bool has_rows(const Conv2dProduct& op) {
  return op.synapse->conv().has_rows() && !op.scale;
}
inline bool has_rows(const Conv2dWeightGradient& op) {
  return op.synapse->conv().has_rows();
}
// Words of the mask of dropout are those of whole places.
inline bool has_rows(const Conv2dInputGradient& op) {
  return op.synapse->conv().has_input_rows() && (!op.kept.mask || op.synapse->map().channels % 32 == 0);
}

// The elements of `largest` and `total` for an entry of a weight gradient in f32.
struct Conv2dSumLengths {
  int64_t largest, total;
};
Conv2dSumLengths sum_lengths(const Conv2dSpec& spec, bool on_host);

// Scratch memory on the host. Called once all other members are set.
View host_places_of(const core::Device& device, const Conv2dProduct& op);
View host_places_of(const core::Device& device, const Conv2dWeightGradient& op);
View host_places_of(const core::Device& device, const Conv2dInputGradient& op);

#define SYNFIRE_CONV2D_FUNCTIONS(Kind)                      \
  OperationLabel label(const Kind& op);                     \
  bool wants_threads(const Kind& op);                       \
  void run(const Kind& op, host::Launcher& launcher);       \
  cuda::Hints hints(const Kind& op, const cuda::GpuShape&); \
  void enqueue(const Kind& op, cuda::Launcher& launcher)
SYNFIRE_CONV2D_FUNCTIONS(Conv2dProduct);
SYNFIRE_CONV2D_FUNCTIONS(Conv2dWeightGradient);
SYNFIRE_CONV2D_FUNCTIONS(Conv2dInputGradient);
#undef SYNFIRE_CONV2D_FUNCTIONS

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Conv2dProduct);
SYNFIRE_DECLARE_KIND(Conv2dWeightGradient);
SYNFIRE_DECLARE_KIND(Conv2dInputGradient);

#endif
