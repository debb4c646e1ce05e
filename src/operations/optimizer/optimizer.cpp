// The object: its specification, members and memory.
#include "optimizer.hpp"

#include <base/error.hpp>
#include <base/make_room.hpp>
#include <base/text.hpp>
#include <layer/parameter_bounds.hpp>
#include <operations/parameters/update_parameter.hpp>

#include <synfire/model/reduction.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>

namespace synfire::operations {

using namespace synfire::core;

// ---- specification --------------------------------------------------------------------------------------------------

namespace {

double checked(double value, double fallback, const char* name) {
  if (!std::isfinite(value) || value < 0)
    fail_argument("SYN-OPTIMIZER-NUMBER", "%s is %g; a finite number of at least 0 is needed", name, value);
  return value == 0 ? fallback : value;
}

double checked_beta(double value, double fallback, const char* name) {
  if (!(value >= 0 && value < 1))
    fail_argument("SYN-OPTIMIZER-NUMBER", "%s is %g; a number of at least 0 and below 1 is needed", name, value);
  return value == 0 ? fallback : value;
}

}  // namespace

OptimizerSpec::OptimizerSpec(const synfire_optimizer_desc& desc) {
  if (desc.kind < SYNFIRE_OPTIMIZER_KIND_SGD || desc.kind > SYNFIRE_OPTIMIZER_KIND_ADAMW)
    fail_argument("SYN-OPTIMIZER-KIND",
                  "desc.kind is %d; allowed are SYNFIRE_OPTIMIZER_KIND_SGD (0), _ADAM (1) and _ADAMW (2)", desc.kind);
  if (desc.nesterov != 0 && desc.nesterov != 1)
    fail_argument("SYN-OPTIMIZER-FLAG", "desc.nesterov is %d; allowed are 0 and 1", desc.nesterov);
  const bool adam = desc.kind != SYNFIRE_OPTIMIZER_KIND_SGD;
  rates.decoupled = desc.kind == SYNFIRE_OPTIMIZER_KIND_ADAMW;
  rates.momentum = adam ? 0 : checked(desc.momentum, 0, "desc.momentum");
  rates.nesterov = !adam && desc.nesterov == 1;
  rates.rule = adam ? OptimizerRule::adam : rates.momentum > 0 ? OptimizerRule::momentum : OptimizerRule::descent;
  if (rates.nesterov && rates.rule == OptimizerRule::descent)
    fail_argument("SYN-OPTIMIZER-NUMBER", "desc.momentum is 0; with desc.nesterov it must be positive");
  rates.beta1 = adam ? checked_beta(desc.beta1, 0.9, "desc.beta1") : 0;
  rates.beta2 = adam ? checked_beta(desc.beta2, 0.999, "desc.beta2") : 0;
  rates.epsilon = adam ? checked(desc.epsilon, 1e-8, "desc.epsilon") : 0;
  learning_rate = checked(desc.learning_rate, 1e-3, "desc.learning_rate");
  weight_decay = checked(desc.weight_decay, rates.decoupled ? 1e-2 : 0, "desc.weight_decay");
  clip_norm = checked(desc.clip_norm, 0, "desc.clip_norm");
}

// ---- life -----------------------------------------------------------------------------------------------------------

Optimizer::Optimizer(Context& context, const OptimizerSpec& spec)
    : SharedObject(ObjectType::optimizer, context, {"SYN-OPTIMIZER-SHARED", "an optimiser"}), spec_(spec) {
  OptimizerState state = {};
  state.beta1_power = state.beta2_power = 1;
  state_ = device().allocate(SYNFIRE_MEMORY_DEVICE, sizeof state);
  try {
    device().upload(state_, &state, sizeof state);
  } catch (...) {
    release_memory();
    throw;
  }
}

Optimizer::~Optimizer() {
  for (const OptimizerMember& member : members_)
    if (member.layer) member.layer->drop_update(member.parameter);
  release_memory();
}

void Optimizer::release_memory() noexcept {
  for (const OptimizerMember& member : members_)
    for (void* moments : member.moments)
      if (moments) device().release(SYNFIRE_MEMORY_DEVICE, moments);
  for (void* memory : {state_, table_, list_, sums_})
    if (memory) device().release(SYNFIRE_MEMORY_DEVICE, memory);
}

View Optimizer::state_memory() noexcept {
  View view;
  view.data = state_;
  view.bytes = sizeof(OptimizerState);
  view.dtype = SYNFIRE_DTYPE_U8;
  view.owner = this;
  return view;
}

// ---- members --------------------------------------------------------------------------------------------------------

void Optimizer::check_addable(const MemberFactors& factors) const {
  if (sealed_)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-OPTIMIZER-SEALED",
         "a step was taken or recorded; all members must be added before");
  for (const double* factor : {&factors.rate, &factors.decay})
    if (!std::isfinite(*factor) || *factor < 0)
      fail_argument("SYN-OPTIMIZER-NUMBER", "%s is %g; a finite number of at least 0 is needed",
                    factor == &factors.rate ? "learning_rate_factor" : "weight_decay_factor", *factor);
}

// The object that a member belongs to.
const Object* Optimizer::owner_of(const OptimizerMember& member) noexcept {
  return member.synapse ? static_cast<const Object*>(member.synapse.get()) : member.layer.get();
}

const OptimizerMember* Optimizer::find_member(const Synapse& synapse, OptimizerMember::Part part) const noexcept {
  for (uint32_t i = newest_.find(static_cast<const Object*>(&synapse)); i != AddressIndex::none;
       i = members_[i].previous)
    if (members_[i].part == part) return &members_[i];
  return nullptr;
}

void Optimizer::drop_newest() noexcept {
  const OptimizerMember& member = members_.back();
  for (void* moments : member.moments)
    if (moments) device().release(SYNFIRE_MEMORY_DEVICE, moments);
  newest_.set(owner_of(member), member.previous);
  members_.pop_back();
}

void Optimizer::add(OptimizerMember&& member) {
  make_room(members_, 1);
  newest_.make_room(1);
  const uint64_t bytes = static_cast<uint64_t>(member.count) * bytes_of_dtype(member.dtype);
  device().require(SYNFIRE_MEMORY_DEVICE, bytes * static_cast<uint64_t>(spec_.n_moments()));
  try {
    for (int i = 0; i < spec_.n_moments(); ++i) member.moments[i] = device().allocate(SYNFIRE_MEMORY_DEVICE, bytes);
  } catch (...) {
    for (void* moments : member.moments)
      if (moments) device().release(SYNFIRE_MEMORY_DEVICE, moments);
    throw;
  }
  member.previous = newest_.find(owner_of(member));
  newest_.set(owner_of(member), static_cast<uint32_t>(members_.size()));
  members_.push_back(std::move(member));
}

void Optimizer::add_array(OptimizerMember::Part part, Synapse& synapse, const MemberFactors& factors) {
  check_addable(factors);
  const bool weights = part == OptimizerMember::Part::weights;
  const SynapseSpec& spec = synapse.spec();
  if (spec.frozen)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-SYNAPSE-FROZEN",
         "the synapse is frozen (desc.frozen was 1), so it has no gradients of weights and bias");
  if (!weights && !spec.has_bias) fail_argument("SYN-OPTIMIZER-BIAS", "this synapse has no bias (desc.bias was 0)");
  if (find_member(synapse, part))
    fail_argument("SYN-OPTIMIZER-MEMBER", "the %s of this synapse %s a member already", weights ? "weights" : "bias",
                  weights ? "are" : "is");
  synapse.prepare_gradients();
  OptimizerMember member = {};
  member.part = part;
  member.synapse = Ref<Synapse>(&synapse);
  member.dtype = spec.dtype;
  member.count = weights ? spec.n_weights() : spec.n_outputs;
  member.factors = factors;
  add(std::move(member));
}

void Optimizer::add_parameter(Layer& layer, ParameterName name, Buffer& gradient, const MemberFactors& factors,
                              double lower, double upper) {
  check_addable(factors);
  for (uint32_t i = newest_.find(static_cast<const Object*>(&layer)); i != AddressIndex::none; i = members_[i].previous)
    if (members_[i].parameter == name.index)
      fail_argument("SYN-OPTIMIZER-MEMBER", "the parameter of this layer is a member already");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto lock = layer.lock_parameters();
  const ParameterBounds bounds = trained_bounds(layer.parameters(), name, {lower, upper});
  const UpdateRequest request = {name, &gradient, bounds.lower == -infinity ? nullptr : &bounds.lower,
                                 bounds.upper == infinity ? nullptr : &bounds.upper};
  OptimizerMember member = {};
  member.part = OptimizerMember::Part::parameter;
  member.descent = checked_descent(layer, request, "");
  member.layer = Ref<Layer>(&layer);
  member.gradient = Ref<Buffer>(&gradient);
  member.parameter = name.index;
  member.dtype = layer.spec().arithmetic();
  member.count = static_cast<int64_t>(layer.parameters().values(name.index).size());
  member.factors = factors;
  add(std::move(member));
  try {
    layer.add_update(name.index);  // keeps the length of the parameter
  } catch (...) {
    drop_newest();
    throw;
  }
}

// ---- what a step needs ----------------------------------------------------------------------------------------------

// Adds a synapse to the list, with those of its arrays that are members.
void Optimizer::list_synapse(Synapse& synapse) {
  const SynapseSpec& spec = synapse.spec();
  SynapseMembers s = {};
  s.n_inputs = spec.n_inputs;
  s.n_outputs = spec.n_outputs;
  for (uint32_t i = newest_.find(static_cast<const Object*>(&synapse)); i != AddressIndex::none;
       i = members_[i].previous) {
    const OptimizerMember& member = members_[i];
    const bool weights = member.part == OptimizerMember::Part::weights;
    const View values = weights ? synapse.weights() : synapse.bias();
    const View gradient = weights ? synapse.weight_gradient() : synapse.bias_gradient();
    (weights ? s.weights : s.bias) = {values.data, gradient.data, member.moments[0], member.moments[1], member.factors};
  }
  s.weights.values = synapse.weights().data;
  s.any_bias = spec.is_exact() ? static_cast<float*>(synapse.bias().data) : nullptr;
  s.mask = static_cast<const uint32_t*>(synapse.mask().data);
  s.rows = synapse.rows().data;
  s.rows_pitch = spec.rows_pitch();
  s.grid = static_cast<int32_t*>(synapse.grid().data);
  s.bias_on_grid = static_cast<int32_t*>(synapse.bias_on_grid().data);
  s.table = synapse.table().data;
  s.table_pitch = spec.table_pitch();
  s.table_planes = static_cast<uint8_t*>(synapse.table_planes().data);
  s.rows_planes = static_cast<uint8_t*>(synapse.rows_planes().data);
  s.table_words = SynapseSpec::even_words(spec.n_inputs);
  s.table_groups = SynapseSpec::padded_columns(spec.n_outputs) / 8;
  s.rows_words = spec.table_pitch() / 32;
  s.rows_groups = SynapseSpec::padded_columns(spec.n_inputs) / 8;
  s.is_f64 = spec.dtype == SYNFIRE_DTYPE_F64 ? 1 : 0;
  s.is_exact = spec.is_exact() ? 1 : 0;
  s.first_row = n_rows_;
  s.first_tile = n_tiles_;
  s.first_unit = n_units_;
  n_rows_ += spec.n_outputs;
  n_tiles_ += (spec.n_inputs + 31) / 32 * ((spec.n_outputs + 31) / 32);
  // As in prepare_planes: 8 bytes of each plane.
  if (s.table_planes) n_units_ += s.table_words * s.table_groups * 32;
  if (s.rows_planes) n_units_ += s.rows_words * s.rows_groups * 32;
  synapses_.push_back(s);
  owners_.push_back(&synapse);
}

void Optimizer::seal() {
  if (sealed_) return;
  if (members_.empty())
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-OPTIMIZER-EMPTY",
         "the optimiser has no members; add weights, biases or parameters first");
  synapses_.clear();
  owners_.clear();
  gradients_.clear();
  n_elements_ = n_chunks_ = n_rows_ = n_tiles_ = n_units_ = 0;
  int32_t n_parameters = 0;
  AddressIndex listed;
  listed.make_room(members_.size());
  for (const OptimizerMember& member : members_) {
    const bool is_parameter = member.part == OptimizerMember::Part::parameter;
    View gradient;
    if (!is_parameter)
      gradient = member.part == OptimizerMember::Part::weights ? member.synapse->weight_gradient()
                                                               : member.synapse->bias_gradient();
    gradients_.push_back({gradient.data, member.count, n_chunks_, is_parameter ? n_parameters++ : -1,
                          member.dtype == SYNFIRE_DTYPE_F64 ? 1 : 0});
    n_chunks_ += (member.count + model::reduction_chunk - 1) / model::reduction_chunk;
    n_elements_ += member.count;
    Synapse* const synapse = member.synapse.get();
    if (!synapse || listed.find(synapse) != AddressIndex::none) continue;
    listed.set(synapse, static_cast<uint32_t>(owners_.size()));
    list_synapse(*synapse);
  }
  const auto allocate = [&](void*& memory, uint64_t bytes) {
    if (!memory && bytes > 0) memory = device().allocate(SYNFIRE_MEMORY_DEVICE, bytes);
  };
  allocate(sums_, static_cast<uint64_t>(n_chunks_) * sizeof(double));
  if (!device().is_host()) {
    allocate(table_, synapses_.size() * sizeof(SynapseMembers));
    allocate(list_, gradients_.size() * sizeof(MemberGradient));
    if (table_) device().upload(table_, synapses_.data(), synapses_.size() * sizeof(SynapseMembers));
    device().upload(list_, gradients_.data(), gradients_.size() * sizeof(MemberGradient));
  }
  sealed_ = true;
}

void Optimizer::query_memory(synfire_optimizer_memory& memory) const noexcept {
  uint64_t n_chunks = 0, n_synapses = 0;
  for (const OptimizerMember& member : members_) {
    memory.moment_bytes +=
        static_cast<uint64_t>(member.count) * bytes_of_dtype(member.dtype) * static_cast<uint64_t>(spec_.n_moments());
    n_chunks += static_cast<uint64_t>((member.count + model::reduction_chunk - 1) / model::reduction_chunk);
    n_synapses += member.synapse ? 1 : 0;
  }
  memory.state_bytes = sizeof(OptimizerState) + n_chunks * sizeof(double);
  if (!device().is_host())
    memory.state_bytes += n_synapses * sizeof(SynapseMembers) + members_.size() * sizeof(MemberGradient);
}

void Optimizer::note_updated(bool captured) noexcept {
  for (const OptimizerMember& member : members_)
    if (member.layer) member.layer->note_updated(uint32_t{1} << member.parameter, captured);
}

// ---- reading and writing --------------------------------------------------------------------------------------------

Optimizer::Found Optimizer::find(int32_t member, const char* name) const {
  constexpr double largest = std::numeric_limits<double>::max();
  const std::string_view wanted = name;
  if (member < -1 || member >= static_cast<int64_t>(members_.size()))
    fail_argument("SYN-OPTIMIZER-MEMBER", "member is %d; this optimiser has %zu members, from 0 on, and -1 is itself",
                  member, members_.size());
  if (member == -1) {
    OptimizerState* const s = state();
    // Addresses in device memory: nothing is read here.
    if (wanted == "step_count") return {&s->step_count, 8, SYNFIRE_DTYPE_U64, 0, largest};
    if (wanted == "skipped") return {&s->skipped, 8, SYNFIRE_DTYPE_U64, 0, largest};
    if (wanted == "beta1_power") return {&s->beta1_power, 8, SYNFIRE_DTYPE_F64, 0, 1};
    if (wanted == "beta2_power") return {&s->beta2_power, 8, SYNFIRE_DTYPE_F64, 0, 1};
    if (wanted == "gradient_norm") return {&s->gradient_norm, 8, SYNFIRE_DTYPE_F64, 0, largest};
    constexpr std::string_view known[] = {"step_count", "skipped", "beta1_power", "beta2_power", "gradient_norm"};
    fail_argument(
        "SYN-OPTIMIZER-NAME",
        "name is \"%.64s\"%s; an optimiser has \"step_count\", \"skipped\", \"beta1_power\", \"beta2_power\" and "
        "\"gradient_norm\"",
        name, suggestion(wanted, known).c_str());
  }
  const OptimizerMember& found = members_[static_cast<size_t>(member)];
  const uint64_t bytes = static_cast<uint64_t>(found.count) * bytes_of_dtype(found.dtype);
  if (spec_.n_moments() == 1 && wanted == "momentum") return {found.moments[0], bytes, found.dtype, -largest, largest};
  if (spec_.n_moments() == 2 && wanted == "moment1") return {found.moments[0], bytes, found.dtype, -largest, largest};
  if (spec_.n_moments() == 2 && wanted == "moment2") return {found.moments[1], bytes, found.dtype, 0, largest};
  constexpr std::string_view moments[] = {"momentum", "moment1", "moment2"};
  const size_t first = spec_.n_moments() == 1 ? 0 : 1, count = static_cast<size_t>(spec_.n_moments());
  fail_argument("SYN-OPTIMIZER-NAME", "name is \"%.64s\"%s; a member of this optimiser has %s", name,
                suggestion(wanted, std::span(moments).subspan(first, count)).c_str(),
                spec_.n_moments() == 2   ? "\"moment1\" and \"moment2\""
                : spec_.n_moments() == 1 ? "\"momentum\""
                                         : "nothing");
}

Optimizer::Found Optimizer::find_checked(int32_t member, const char* name, const void* values, uint64_t bytes) const {
  const Found found = find(member, name);
  if (!values) fail_argument("SYN-ARGUMENT-NULL", "values is null");
  if (bytes != found.bytes)
    fail_argument("SYN-OPTIMIZER-SIZE", "bytes is %llu; exactly %llu are needed, %llu of %s",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(found.bytes),
                  static_cast<unsigned long long>(found.bytes / bytes_of_dtype(found.dtype)),
                  name_of_dtype(found.dtype));
  return found;
}

void Optimizer::read(int32_t member, const char* name, void* values, uint64_t bytes) {
  const Found found = find_checked(member, name, values, bytes);
  order().wait();
  device().download(values, found.data, bytes);
}

void Optimizer::write(int32_t member, const char* name, const void* values, uint64_t bytes) {
  const Found found = find_checked(member, name, values, bytes);
  const auto check = [&]<class R>(R) {
    for (uint64_t i = 0; i < bytes / sizeof(R); ++i) {
      R value;
      std::memcpy(&value, static_cast<const char*>(values) + i * sizeof(R), sizeof(R));
      const auto number = static_cast<double>(value);
      if (!(number >= found.lower && number <= found.upper))
        fail_argument("SYN-OPTIMIZER-FINITE", "values[%llu] of \"%s\" is %g; it must be finite%s",
                      static_cast<unsigned long long>(i), name, number,
                      found.upper == 1   ? ", and from 0 to 1"
                      : found.lower == 0 ? ", and at least 0"
                                         : "");
    }
  };
  if (found.dtype == SYNFIRE_DTYPE_F64) check(0.0);
  if (found.dtype == SYNFIRE_DTYPE_F32) check(0.0f);
  order().wait();
  device().upload(found.data, values, bytes);
}

}  // namespace synfire::operations
