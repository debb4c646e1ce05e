// Optimisers: the object, and the operation that takes one step. A step reads the gradients of all members, and changes
// nothing if one is not finite; otherwise it updates arrays and parameters, and derives from them.
#ifndef SYNFIRE_OPTIMIZER_OPTIMIZER_HPP
#define SYNFIRE_OPTIMIZER_OPTIMIZER_HPP

#include "fused_steps.hpp"
#include "optimizer_arguments.hpp"

#include <graph/graph.hpp>
#include <neurons/layer.hpp>
#include <operations/kind.hpp>
#include <synapses/synapse.hpp>

#include <synfire/model/layout.hpp>

#include <memory>
#include <vector>

namespace synfire::operations {

using core::Synapse;

// ---- the object -----------------------------------------------------------------------------------------------------

// A descriptor with its defaults filled in and every field checked.
struct OptimizerSpec {
  OptimizerRates rates;
  double learning_rate, weight_decay, clip_norm;

  explicit OptimizerSpec(const synfire_optimizer_desc& desc);
  int n_moments() const {
    return rates.rule == OptimizerRule::adam ? 2 : rates.rule == OptimizerRule::momentum ? 1 : 0;
  }
  // How many arrays of its size a member takes.
  int n_arrays() const { return n_moments() + (rates.batches_per_step > 1 ? 1 : 0); }
};

struct OptimizerMember {
  core::Ref<Synapse> synapse;
  uint32_t array;  // of the synapse
  core::Ref<core::Layer> layer;
  core::Ref<core::Buffer> gradient;
  void* accumulated;   // the mean of gradients over batches, or null
  uint32_t parameter;  // of the layer
  model::Descent descent;
  int32_t dtype;
  int64_t count;
  int64_t copies;  // of its moments one after another: each neuron of a channel has its own
  MemberFactors factors;
  void* moments[2];
  uint32_t previous;  // the member of the same synapse or layer before it, or core::AddressIndex::none
};

// A synapse with arrays that are members.
struct OptimizerSynapse {
  Synapse* synapse;
  std::vector<MemberArray> arrays;  // all of them; those that are not members have no gradient
  core::OperationList derive;       // what products read
  bool is_fused;                    // both are launches of the kind's own
};

class Optimizer final : public core::SharedObject {
 public:
  Optimizer(core::Context& context, const OptimizerSpec& spec);

  const OptimizerSpec& spec() const noexcept { return spec_; }
  const std::vector<OptimizerMember>& members() const noexcept { return members_; }
  // Prepared by seal(). On a GPU, the arrays of a synapse are stepped by its kind or are among arrays().
  struct Fused {
    const FusedKind* kind;
    std::unique_ptr<FusedSteps> steps;
    void* table;  // in device memory
  };
  const std::vector<OptimizerSynapse>& synapses() const noexcept { return synapses_; }
  const std::vector<Fused>& fused() const noexcept { return fused_; }
  const std::vector<SteppedArray>& arrays() const noexcept { return arrays_; }
  const SteppedArray* arrays_on_device() const noexcept { return static_cast<const SteppedArray*>(table_); }
  int64_t n_pieces() const noexcept { return n_pieces_; }
  double largest_norm() const noexcept { return largest_norm_; }
  const std::vector<MemberGradient>& gradients() const noexcept { return gradients_; }
  // In device memory, one for each member; prepared by seal() too.
  const MemberFactors* factors() const noexcept { return static_cast<const MemberFactors*>(factors_); }
  bool accumulates() const noexcept { return spec_.rates.batches_per_step > 1; }
  const MemberGradient* gradients_on_device() const noexcept { return static_cast<const MemberGradient*>(list_); }
  OptimizerState* state() const noexcept { return static_cast<OptimizerState*>(state_); }
  int64_t n_elements() const noexcept { return n_elements_; }
  int64_t n_chunks() const noexcept { return n_chunks_; }
  double* chunk_sums() const noexcept { return static_cast<double*>(sums_); }
  core::View state_memory() noexcept;

  void add_array(Synapse& synapse, const char* name, const MemberFactors& factors);
  void add_parameter(core::Layer& layer, core::ParameterName name, core::Buffer& gradient, const MemberFactors& factors,
                     double lower, double upper);
  // Prepares the data of a step. No member can be added afterwards.
  void seal();
  // Waits for steps before, and holds for those after.
  void set_factors(int32_t member, const MemberFactors& factors);
  void query_memory(synfire_optimizer_memory& memory) const noexcept;
  void read(int32_t member, const char* name, void* values, uint64_t bytes);
  void write(int32_t member, const char* name, const void* values, uint64_t bytes);
  // A step was enqueued: the host's copies of parameters are old.
  void note_updated(bool captured) noexcept;

 private:
  struct Found {
    void* data;
    uint64_t bytes;
    int32_t dtype;
    double lower, upper;
    int64_t copies = 1;
    bool any = false;  // also numbers that are not finite
  };
  ~Optimizer() override;
  void release_memory() noexcept;
  void check_addable(const MemberFactors& factors) const;
  void check_member(int32_t member) const;
  void add(OptimizerMember&& member);
  static const core::Object* owner_of(const OptimizerMember& member) noexcept;
  const OptimizerMember* find_member(const Synapse& synapse, uint32_t array) const noexcept;
  void release_member(const OptimizerMember& member) const noexcept;
  void drop_newest() noexcept;
  void release_tables() noexcept;
  void list_members();
  void list_synapse(Synapse& synapse);
  void list_on_device(OptimizerSynapse& member);
  void provide_tables();
  Found find_own(const char* name) const;
  Found find(int32_t member, const char* name) const;
  Found find_checked(int32_t member, const char* name, const void* values, uint64_t bytes) const;

  const OptimizerSpec spec_;
  std::vector<OptimizerMember> members_;
  core::AddressIndex newest_;  // the newest member of a synapse or layer
  bool sealed_ = false;
  std::vector<OptimizerSynapse> synapses_;
  std::vector<Fused> fused_;
  std::vector<SteppedArray> arrays_;
  std::vector<MemberGradient> gradients_;
  void *state_ = nullptr, *factors_ = nullptr, *table_ = nullptr, *list_ = nullptr, *sums_ = nullptr;
  int64_t n_elements_ = 0, n_chunks_ = 0, n_pieces_ = 0;
  double largest_norm_ = largest_norm_f64;
};

// ---- the operation --------------------------------------------------------------------------------------------------

struct ParameterStep {
  size_t member;
  View gradient, parameters;
};

struct OptimizerStep {
  Optimizer* optimizer;
  StepValues values;
  View state;                 // of the optimiser
  std::vector<View> updated;  // of synapses: arrays, and what is derived from them
  std::vector<View> read;     // of synapses: gradients and masks
  std::vector<ParameterStep> parameters;

  static constexpr const char* name = "optimizer step";
  static void operands(OptimizerStep& op, OperandVisitor visit) {
    visit({"the optimiser's memory", op.state, Access::update});
    for (View& view : op.updated) visit({"a synapse's weights", view, Access::update});
    for (View& view : op.read) visit({"a synapse's gradient", view, Access::read});
    for (ParameterStep& step : op.parameters) {
      visit({"a parameter's gradient", step.gradient, Access::read});
      visit({"the layer's parameters", step.parameters, Access::update});
    }
  }
};
OperationLabel label(const OptimizerStep& op);
bool wants_threads(const OptimizerStep& op);
void run(const OptimizerStep& op, host::Launcher& launcher);
cuda::Hints hints(const OptimizerStep& op, const cuda::GpuShape& gpu);
void enqueue(const OptimizerStep& op, cuda::Launcher& launcher);

// ---- requests -------------------------------------------------------------------------------------------------------

struct OptimizerStepRequest {
  double learning_rate, weight_decay, clip_norm;  // 0: the optimiser's
  int32_t schedule = SYNFIRE_SCHEDULE_CONSTANT;
  int64_t warmup_steps = 0, schedule_steps = 0;
  double schedule_factor = 0;
};
// Throws INVALID_ARGUMENT unless the schedule, SYNFIRE_SCHEDULE_*, can have these numbers.
void check_schedule(int32_t schedule, int64_t warmup_steps, int64_t schedule_steps, double factor);
// Takes a step now. Returns true if it became part of the caller's capture.
bool step_now(Optimizer& optimizer, const OptimizerStepRequest& request, synfire_stream stream);
void record_optimizer_step(core::Graph& graph, Optimizer& optimizer, const OptimizerStepRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(OptimizerStep);

#endif
