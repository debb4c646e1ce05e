// A synapse connects two layers: it reads a map, makes one, and has arrays by name, their gradients, and a kind, a
// table of functions. Layers, optimisers, networks and the C ABI know this interface; each kind has a folder here.
#ifndef SYNFIRE_SYNAPSES_SYNAPSE_HPP
#define SYNFIRE_SYNAPSES_SYNAPSE_HPP

#include <base/context.hpp>
#include <base/flow.hpp>
#include <base/shared_order.hpp>
#include <base/versioned.hpp>
#include <base/view.hpp>
#include <graph/operation.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace synfire::core {

class Synapse;

// A use of a synapse. Weights may be shared, but the data of each use are its own.
struct SynapseUse {
  Synapse* synapse;
  // Memory that this use carries from replay to replay, such as spikes under way; absent if the kind has none.
  View state = {};
};

// Dropout of the input: the mask, and the factor on the product. Absent: all inputs, and no factor.
struct Kept {
  View mask;   // words [B, ceil(K / 32)], perhaps a transient array
  View scale;  // [1], in the type of the synapse
};

// The operations of one pass through a synapse share this. Views are checked.
struct SynapsePass {
  SynapseUse use;
  int64_t n_steps, batch;
  // [T, B, K], u8 if they are counts; absent where only the gradient of the input is computed, unless that reads it.
  View input = {};
  View n_active = {};      // u32 [1], or absent
  Kept kept = {};          // of a kind that takes dropout
  View layer_active = {};  // of the layer whose X the output is: i64 [1], the active elements of a row [B, N]
  // Words [M, B, ceil(K / 32)] for a synapse with a history (SynapseShape::history_steps): the steps before the first,
  // and those before the next pass; absent if there were none, or nobody asks for them.
  View history = {}, next_history = {};
  bool rounded = false;  // the product takes learnt delays rounded
};

// Names of operands in error texts, for a synapse alone and as a part of a layer's pass.
struct SynapseOperandNames {
  const char *input, *output, *n_active;                                // of the product
  const char *grad_output, *taped_input, *taped_n_active, *grad_input;  // of its gradients
};
inline constexpr SynapseOperandNames names_alone = {"desc.input", "desc.output",   "desc.n_active",  "desc.grad_output",
                                                    "desc.input", "desc.n_active", "desc.grad_input"};
inline constexpr SynapseOperandNames names_in_layer = {
    "desc.synapse_input",          "the layer's X",          "desc.n_active",          "desc.grad_x_seq",
    "the forward's synapse_input", "the forward's n_active", "desc.grad_synapse_input"};
inline const SynapseOperandNames& operand_names(const View& layer_active) noexcept {
  return layer_active ? names_in_layer : names_alone;
}

// How far weights are from the grid on which products add them: sums and maxima over outputs.
struct Rounding {
  uint64_t n_weights = 0;                            // that are not 0
  uint64_t n_lost = 0;                               // of these, that become 0
  double largest_error = 0, largest_bias_error = 0;  // relative
  int64_t output = 0;                                // the first one with the largest error of a weight
};

// A kind of synapse. The functions return operations of ordinary kinds, which graphs record and fusions see.
struct SynapseKind {
  const char* name;                     // "dense"
  std::span<const char* const> arrays;  // the names that arrays of the kind may have
  bool takes_mask;                      // of connections, when a synapse is created
  bool takes_dropout;                   // of its input: SynapsePass::kept
  // Pairs of a multiplication and an addition in the product of one row: the cost in plans.
  int64_t (*row_operations)(const Synapse& synapse);
  // Throws UNSUPPORTED if gradients over this many rows, of the arrays or of the input, cannot be computed.
  void (*check_gradients)(const Synapse& synapse, int64_t n_steps, int64_t batch, bool of_arrays, bool of_input);
  // Writes [T, B, N]. Rows that are not active give +0.
  OperationList (*product)(const SynapsePass& pass, const View& output);
  // Gradients of the arrays from [T, B, N] and the input, added to the old ones or not, after prepare_gradients().
  OperationList (*gradients)(const SynapsePass& pass, const View& grad_output, bool add);
  // The gradient of the input [T, B, K]. Rows that are not active give +0.
  OperationList (*input_gradient)(const SynapsePass& pass, const View& grad_output, const View& grad_input, bool add);
  // Derives what products read from arrays that were written or trained; empty if products read the arrays. The
  // operations have no scratch memory.
  OperationList (*derive)(Synapse& synapse);
  // Outputs from `first` on: how their weights are rounded. Null where no output of the kind has a grid; otherwise it
  // returns nothing if those of this synapse have none.
  std::optional<Rounding> (*rounding)(Synapse& synapse, int64_t first, int64_t count);
  // Reads "weight", "exponent" or "bias": the integers that products add. Null where no output of the kind has a grid;
  // otherwise it returns false, and changes nothing, if those of this synapse have none.
  bool (*read_integers)(Synapse& synapse, const char* name, std::span<int32_t> values);
  bool input_gradient_reads_input = false;
  // A kind with a history (SynapseShape::history_steps) has these two, for passes whose steps are products of their
  // own. The first writes `next_history`, from the words of all steps. The second adds to the gradient of all inputs
  // [T, B, K] what one step of [T, B, N] gives, from the last step to the first: after it, its own input is complete.
  OperationList (*keep_history)(const SynapsePass& pass) = nullptr;
  OperationList (*input_gradient_of_step)(const SynapsePass& pass, int64_t step, const View& grad_output,
                                          const View& grad_input) = nullptr;
};

struct SynapseArray {
  const char* name;
  const char* file_name;  // another name, which files use
  int32_t dtype;
  bool trained;  // by gradients; else the synapse changes it as it runs
  int32_t rank;
  int64_t shape[View::max_rank];
  View values;
  View gradient;  // no data until prepare_gradients()

  int64_t count() const noexcept;
  uint64_t bytes() const noexcept { return values.bytes; }
  std::span<const int64_t> lengths() const noexcept { return {shape, static_cast<size_t>(rank)}; }
};

// All kinds have these.
struct SynapseShape {
  Flow input, output;     // of one step of one row
  int32_t dtype;          // of outputs and gradients: f32 or f64
  bool frozen;            // no gradients of arrays
  int gradient_bits;      // of the grid of dL/dy in gradients of arrays in f32: 24 or 32
  int weight_bits = 0;    // of weights on their grid: 8, 16 or 24; 0 if they have none
  bool has_mask = false;  // of connections
  // M: products read spikes of this many steps before the first one of a pass. No pass of a layer takes such a synapse.
  int64_t history_steps = 0;
};

class Synapse : public SharedObject, public Versioned {
 public:
  const SynapseKind& kind() const noexcept { return kind_; }
  const SynapseShape& shape() const noexcept { return shape_; }
  int64_t n_inputs() const noexcept { return shape_.input.n_features(); }
  int64_t n_outputs() const noexcept { return shape_.output.n_features(); }
  int32_t dtype() const noexcept { return shape_.dtype; }
  bool reads_spikes() const noexcept { return shape_.input.elements == Elements::spikes; }
  bool reads_counts() const noexcept { return shape_.input.elements == Elements::counts; }
  bool is_frozen() const noexcept { return shape_.frozen; }
  int64_t row_operations() const { return kind_.row_operations(*this); }

  // The version of the weights, which may be another synapse's.
  uint64_t version() const noexcept { return lender_ ? lender_->version() : Versioned::version(); }

  // ---- arrays
  std::span<SynapseArray> arrays() noexcept { return arrays_; }
  std::span<const SynapseArray> arrays() const noexcept { return arrays_; }
  // By either name; null if there is none. An index into arrays() is stable.
  SynapseArray* find_array(const char* name) noexcept;
  // Allocates all gradients, which are then 0. Throws WRONG_ORDER if the synapse is frozen.
  void prepare_gradients();
  [[noreturn]] void fail_array(const char* name) const;

  // ---- by name: arrays, and "<array>_gradient"
  // Throws INVALID_ARGUMENT for a name or a size that the synapse does not have.
  View find(const char* name, const void* values, uint64_t bytes);
  void read(const char* name, void* values, uint64_t bytes);
  // Replaces an array or a gradient, and derives what products read. Waits for replays that use the synapse.
  void write(const char* name, const void* values, uint64_t bytes);
  // Throws INVALID_ARGUMENT for finite values that the array cannot have. They may have any address.
  virtual void check_values(const SynapseArray&, const void* /*values*/) const {}
  void derive();
  // Describes one output, or all if it is -1. Throws INVALID_ARGUMENT for others. Waits for replays that use the
  // synapse.
  std::optional<Rounding> rounding(int64_t output);
  // The integers that products add, by name. Throws UNSUPPORTED if there are none, and INVALID_ARGUMENT for a name or a
  // number of them that the synapse does not have. Waits for replays that use the synapse.
  void read_integers(const char* name, std::span<int32_t> values);

  // The version covers all memory that products read, and no gradient.
  Versioned* versioned() noexcept override { return this; }
  bool counts(const View& memory) const noexcept override;

 protected:
  // `most_arrays` may be added. All memory is 0. With a lender, the synapse has no memory of its own; the lender keeps
  // it.
  Synapse(Context& context, const SynapseKind& kind, const SynapseShape& shape, size_t most_arrays,
          Synapse* lender = nullptr);
  ~Synapse() override;
  SynapseArray& add_array(const char* name, const char* file_name, bool trained,
                          std::initializer_list<int64_t> lengths);
  // Memory that lives as long as the synapse; null for no bytes.
  void* allocate(uint64_t bytes);
  View own(void* data, uint64_t bytes, int32_t dtype) noexcept;

 private:
  const SynapseKind& kind_;
  const SynapseShape shape_;
  Synapse* const lender_;
  std::vector<SynapseArray> arrays_;
  std::vector<void*> memory_;
  Mutex gradients_mutex_;
  bool has_gradients_ = false;  // under the mutex
};

std::string shape_text(const SynapseArray& array);

}  // namespace synfire::core

#endif
