// The object: its specification, members and memory.
#include "optimizer.hpp"
#include "optimizer_arithmetic.hpp"

#include <base/error.hpp>
#include <base/make_room.hpp>
#include <base/text.hpp>
#include <neurons/parameter_bounds.hpp>
#include <neurons/parameters/update_parameter.hpp>

#include <synfire/model/reduction.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

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
  check_flag(desc.nesterov, "SYN-OPTIMIZER-FLAG", "desc.nesterov");
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
  rates.longest_ratio = adam ? longest_ratio_of(rates) : 0;
  constexpr uint32_t most_batches = 1U << 20;
  if (desc.batches_per_step > most_batches)
    fail_argument("SYN-OPTIMIZER-NUMBER", "desc.batches_per_step is %u; at most %u are allowed (0 means 1)",
                  desc.batches_per_step, most_batches);
  rates.batches_per_step = desc.batches_per_step == 0 ? 1 : desc.batches_per_step;
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
  for (const OptimizerMember& member : members_) release_member(member);
  release_tables();
  if (state_) device().release(SYNFIRE_MEMORY_DEVICE, state_);
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

namespace {

void check_factors(const MemberFactors& factors) {
  for (const double* factor : {&factors.rate, &factors.decay})
    if (!std::isfinite(*factor) || *factor < 0)
      fail_argument("SYN-OPTIMIZER-NUMBER", "%s is %g; a finite number of at least 0 is needed",
                    factor == &factors.rate ? "learning_rate_factor" : "weight_decay_factor", *factor);
}

}  // namespace

void Optimizer::check_addable(const MemberFactors& factors) const {
  if (sealed_)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-OPTIMIZER-SEALED",
         "a step was taken or recorded; all members must be added before");
  check_factors(factors);
}

void Optimizer::check_member(int32_t member) const {
  if (member < 0 || member >= static_cast<int64_t>(members_.size()))
    fail_argument("SYN-OPTIMIZER-MEMBER", "member is %d; this optimiser has %zu members, from 0 on", member,
                  members_.size());
}

const Object* Optimizer::owner_of(const OptimizerMember& member) noexcept {
  return member.synapse ? static_cast<const Object*>(member.synapse.get()) : member.layer.get();
}

const OptimizerMember* Optimizer::find_member(const Synapse& synapse, uint32_t array) const noexcept {
  for (uint32_t i = newest_.find(static_cast<const Object*>(&synapse)); i != AddressIndex::none;
       i = members_[i].previous)
    if (members_[i].array == array) return &members_[i];
  return nullptr;
}

void Optimizer::release_member(const OptimizerMember& member) const noexcept {
  for (void* memory : {member.moments[0], member.moments[1], member.accumulated})
    if (memory) device().release(SYNFIRE_MEMORY_DEVICE, memory);
}

void Optimizer::drop_newest() noexcept {
  const OptimizerMember& member = members_.back();
  release_member(member);
  newest_.set(owner_of(member), member.previous);
  members_.pop_back();
}

void Optimizer::add(OptimizerMember&& member) {
  make_room(members_, 1);
  newest_.make_room(1);
  const auto count = static_cast<uint64_t>(member.count), bytes = count * bytes_of_dtype(member.dtype),
             moment_bytes = bytes * static_cast<uint64_t>(member.copies);
  device().require(SYNFIRE_MEMORY_DEVICE,
                   moment_bytes * static_cast<uint64_t>(spec_.n_moments()) + (accumulates() ? bytes : 0));
  try {
    for (int i = 0; i < spec_.n_moments(); ++i)
      member.moments[i] = device().allocate(SYNFIRE_MEMORY_DEVICE, moment_bytes);
    if (accumulates()) member.accumulated = device().allocate(SYNFIRE_MEMORY_DEVICE, bytes);
  } catch (...) {
    release_member(member);
    throw;
  }
  member.previous = newest_.find(owner_of(member));
  newest_.set(owner_of(member), static_cast<uint32_t>(members_.size()));
  members_.push_back(std::move(member));
}

void Optimizer::add_array(Synapse& synapse, const char* name, const MemberFactors& factors) {
  check_addable(factors);
  if (synapse.is_frozen())
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-SYNAPSE-FROZEN",
         "the synapse is frozen (desc.frozen was 1), so it has no gradients of weights and bias");
  const SynapseArray* const array = synapse.find_array(name);
  if (!array && name == std::string_view("bias"))
    fail_argument("SYN-OPTIMIZER-BIAS", "this synapse has no bias (desc.bias was 0)");
  if (!array || !array->trained) synapse.fail_array(name);
  const auto index = static_cast<uint32_t>(array - synapse.arrays().data());
  if (find_member(synapse, index))
    fail_argument("SYN-OPTIMIZER-MEMBER", "\"%s\" of this synapse is a member already", array->name);
  synapse.prepare_gradients();
  OptimizerMember member = {};
  member.array = index;
  member.synapse = Ref<Synapse>(&synapse);
  member.dtype = array->dtype;
  member.count = array->count();
  member.copies = 1;
  member.factors = factors;
  add(std::move(member));
}

void Optimizer::add_parameter(Layer& layer, ParameterName name, Buffer& gradient, const MemberFactors& factors,
                              double lower, double upper) {
  check_addable(factors);
  gradient.check_has_memory("gradient");
  for (uint32_t i = newest_.find(static_cast<const Object*>(&layer)); i != AddressIndex::none; i = members_[i].previous)
    if (members_[i].parameter == name.index)
      fail_argument("SYN-OPTIMIZER-MEMBER", "the parameter of this layer is a member already");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto lock = layer.lock_parameters();
  const ParameterBounds bounds = trained_bounds(layer.parameters(), name, {lower, upper});
  const UpdateRequest request = {name, &gradient, bounds.lower == -infinity ? nullptr : &bounds.lower,
                                 bounds.upper == infinity ? nullptr : &bounds.upper};
  OptimizerMember member = {};
  member.descent = checked_descent(layer, request, "");
  member.layer = Ref<Layer>(&layer);
  member.gradient = Ref<Buffer>(&gradient);
  member.parameter = name.index;
  member.dtype = layer.spec().arithmetic();
  member.count = static_cast<int64_t>(layer.parameters().values(name.index).size());
  member.copies = member.count == 1 ? 1 : layer.spec().extents.n_neurons / member.count;
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

namespace {

const FusedKind* fused_kind_of(const Synapse& synapse) {
#if SYNFIRE_HAVE_CUDA
  if (!synapse.context()->device().is_host()) return find_fused(synapse.kind());
#else
  static_cast<void>(synapse);
#endif
  return nullptr;
}

}  // namespace

// Adds a synapse to the list, with those of its arrays that are members.
void Optimizer::list_synapse(Synapse& synapse) {
  OptimizerSynapse listed = {&synapse, {}, synapse.kind().derive(synapse), false};
  for (const SynapseArray& array : synapse.arrays())
    listed.arrays.push_back({array.values.data, nullptr, nullptr, nullptr, nullptr});
  for (uint32_t i = newest_.find(static_cast<const Object*>(&synapse)); i != AddressIndex::none;
       i = members_[i].previous) {
    const OptimizerMember& member = members_[i];
    MemberArray& array = listed.arrays[member.array];
    const void* const gradient = synapse.arrays()[member.array].gradient.data;
    array = {array.values, member.accumulated ? member.accumulated : gradient, member.moments[0], member.moments[1],
             factors() + i};
  }
  if (!device().is_host()) list_on_device(listed);
  synapses_.push_back(std::move(listed));
}

void Optimizer::list_on_device(OptimizerSynapse& member) {
  if (const FusedKind* const kind = fused_kind_of(*member.synapse)) {
    auto of_kind = std::find_if(fused_.begin(), fused_.end(), [&](const Fused& each) { return each.kind == kind; });
    if (of_kind == fused_.end()) of_kind = fused_.insert(fused_.end(), Fused{kind, kind->make(), nullptr});
    of_kind->steps->add(*member.synapse, member.arrays);
    member.is_fused = true;
    return;
  }
  for (size_t i = 0; i < member.arrays.size(); ++i) {
    if (!member.arrays[i].gradient) continue;
    const SynapseArray& array = member.synapse->arrays()[i];
    arrays_.push_back({member.arrays[i], array.count(), n_pieces_, array.dtype == SYNFIRE_DTYPE_F64 ? 1 : 0});
    n_pieces_ += (array.count() + step_piece - 1) / step_piece;
  }
}

void Optimizer::list_members() {
  synapses_.clear();
  fused_.clear();
  arrays_.clear();
  gradients_.clear();
  n_elements_ = n_chunks_ = n_pieces_ = 0;
  int32_t n_parameters = 0;
  AddressIndex listed;
  listed.make_room(members_.size());
  for (const OptimizerMember& member : members_) {
    Synapse* const synapse = member.synapse.get();
    const void* const gradient = synapse ? synapse->arrays()[member.array].gradient.data : nullptr;
    gradients_.push_back({gradient, member.count, n_chunks_, synapse ? -1 : n_parameters++,
                          member.dtype == SYNFIRE_DTYPE_F64 ? 1 : 0, member.accumulated,
                          factors() + gradients_.size()});
    n_chunks_ += (member.count + model::reduction_chunk - 1) / model::reduction_chunk;
    n_elements_ += member.count;
    if (member.dtype != SYNFIRE_DTYPE_F64) largest_norm_ = largest_norm_f32;
    if (!synapse || listed.find(synapse) != AddressIndex::none) continue;
    listed.set(synapse, static_cast<uint32_t>(synapses_.size()));
    list_synapse(*synapse);
  }
}

void Optimizer::provide_tables() {
  const auto provide = [&](void*& memory, std::span<const std::byte> table) {
    if (table.empty()) return;
    memory = device().allocate(SYNFIRE_MEMORY_DEVICE, table.size());
    device().upload(memory, table.data(), table.size());
  };
  std::vector<MemberFactors> factors;
  for (const OptimizerMember& member : members_) factors.push_back(member.factors);
  device().upload(factors_, factors.data(), factors.size() * sizeof(MemberFactors));
  sums_ = device().allocate(SYNFIRE_MEMORY_DEVICE, static_cast<uint64_t>(n_chunks_) * sizeof(double));
  if (device().is_host()) return;
  for (Fused& fused : fused_) provide(fused.table, fused.steps->table());
  provide(table_, std::as_bytes(std::span(arrays_)));
  provide(list_, std::as_bytes(std::span(gradients_)));
}

void Optimizer::release_tables() noexcept {
  const auto release = [&](void*& memory) {
    if (memory) device().release(SYNFIRE_MEMORY_DEVICE, std::exchange(memory, nullptr));
  };
  for (void** const memory : {&factors_, &table_, &list_, &sums_}) release(*memory);
  for (Fused& fused : fused_) release(fused.table);
}

void Optimizer::seal() {
  if (sealed_) return;
  if (members_.empty())
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-OPTIMIZER-EMPTY",
         "the optimiser has no members; add weights, biases or parameters first");
  factors_ = device().allocate(SYNFIRE_MEMORY_DEVICE, members_.size() * sizeof(MemberFactors));
  try {
    list_members();
    provide_tables();
  } catch (...) {
    release_tables();
    throw;
  }
  sealed_ = true;
}

void Optimizer::set_factors(int32_t member, const MemberFactors& factors) {
  check_member(member);
  check_factors(factors);
  if (sealed_) {
    order().wait();
    device().upload(static_cast<MemberFactors*>(factors_) + member, &factors, sizeof factors);
  }
  members_[static_cast<size_t>(member)].factors = factors;
}

void Optimizer::query_memory(synfire_optimizer_memory& memory) const noexcept {
  uint64_t n_chunks = 0, listed_bytes = 0;
  for (const OptimizerMember& member : members_) {
    const uint64_t bytes = static_cast<uint64_t>(member.count) * bytes_of_dtype(member.dtype);
    memory.moment_bytes += bytes * static_cast<uint64_t>(member.copies) * static_cast<uint64_t>(spec_.n_moments()) +
                           (accumulates() ? bytes : 0);
    n_chunks += static_cast<uint64_t>((member.count + model::reduction_chunk - 1) / model::reduction_chunk);
    listed_bytes += sizeof(MemberGradient);
    if (!member.synapse) continue;
    const FusedKind* const kind = fused_kind_of(*member.synapse);
    listed_bytes += kind ? kind->bytes_of_synapse : sizeof(SteppedArray);
  }
  memory.state_bytes = sizeof(OptimizerState) + n_chunks * sizeof(double) + members_.size() * sizeof(MemberFactors);
  if (!device().is_host()) memory.state_bytes += listed_bytes;
}

void Optimizer::note_updated(bool captured) noexcept {
  for (const OptimizerMember& member : members_)
    if (member.layer) member.layer->note_updated(uint32_t{1} << member.parameter, captured);
}

// ---- reading and writing --------------------------------------------------------------------------------------------

Optimizer::Found Optimizer::find_own(const char* name) const {
  constexpr double largest = std::numeric_limits<double>::max();
  const double most_batches = spec_.rates.batches_per_step - 1;
  OptimizerState& own = *state();
  const struct {
    const char* name;
    Found found;
  } known[] = {{"step_count", {&own.step_count, 8, SYNFIRE_DTYPE_U64, 0, largest}},
               {"skipped", {&own.skipped, 8, SYNFIRE_DTYPE_U64, 0, largest}},
               {"accumulated_batches", {&own.accumulated_batches, 8, SYNFIRE_DTYPE_U64, 0, most_batches}},
               {"beta1_power", {&own.beta1_power, 8, SYNFIRE_DTYPE_F64, 0, 1}},
               {"beta2_power", {&own.beta2_power, 8, SYNFIRE_DTYPE_F64, 0, 1}},
               {"gradient_norm", {&own.gradient_norm, 8, SYNFIRE_DTYPE_F64, 0, largest}},
               {"learning_rate", {&own.rate, 8, SYNFIRE_DTYPE_F64, 0, largest}}};
  for (const auto& one : known)
    if (std::string_view(name) == one.name) return one.found;  // training reads them, and allocates nothing
  std::vector<std::string_view> names;
  std::string list;
  for (const auto& one : known) {
    names.emplace_back(one.name);
    list.append(names.size() == 1 ? "\"" : names.size() == std::size(known) ? " and \"" : ", \"");
    list.append(one.name).append("\"");
  }
  fail_argument("SYN-OPTIMIZER-NAME", "name is \"%.64s\"%s; an optimiser has %s", name, suggestion(name, names).c_str(),
                list.c_str());
}

Optimizer::Found Optimizer::find(int32_t member, const char* name) const {
  constexpr double largest = std::numeric_limits<double>::max();
  const std::string_view wanted = name;
  if (member == -1) return find_own(name);
  if (member < -1 || member >= static_cast<int64_t>(members_.size()))
    fail_argument("SYN-OPTIMIZER-MEMBER", "member is %d; this optimiser has %zu members, from 0 on, and -1 is itself",
                  member, members_.size());
  const OptimizerMember& found = members_[static_cast<size_t>(member)];
  const uint64_t bytes = static_cast<uint64_t>(found.count) * bytes_of_dtype(found.dtype);
  std::vector<std::string_view> names;
  std::string list;
  const auto has = [&](const char* known) {
    names.emplace_back(known);
    list.append(list.empty() ? "\"" : ", \"").append(known).append("\"");
    return wanted == known;
  };
  if (spec_.n_moments() == 1 && has("momentum"))
    return {found.moments[0], bytes, found.dtype, -largest, largest, found.copies};
  if (spec_.n_moments() == 2 && has("moment1"))
    return {found.moments[0], bytes, found.dtype, -largest, largest, found.copies};
  if (spec_.n_moments() == 2 && has("moment2")) return {found.moments[1], bytes, found.dtype, 0, largest, found.copies};
  if (accumulates() && has("accumulated")) return {found.accumulated, bytes, found.dtype, 0, 0, 1, true};
  fail_argument("SYN-OPTIMIZER-NAME", "name is \"%.64s\"%s; a member of this optimiser has %s", name,
                suggestion(wanted, names).c_str(), list.empty() ? "nothing" : list.c_str());
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
  if (found.dtype == SYNFIRE_DTYPE_U64) {
    uint64_t count = 0;
    std::memcpy(&count, values, sizeof count);
    if (static_cast<double>(count) > found.upper)
      fail_argument("SYN-OPTIMIZER-NUMBER", "\"%s\" is %llu; at most %g is allowed", name,
                    static_cast<unsigned long long>(count), found.upper);
  }
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
  if (found.dtype == SYNFIRE_DTYPE_F64 && !found.any) check(0.0);
  if (found.dtype == SYNFIRE_DTYPE_F32 && !found.any) check(0.0f);
  order().wait();
  for (int64_t copy = 0; copy < found.copies; ++copy)
    device().upload(static_cast<char*>(found.data) + static_cast<uint64_t>(copy) * bytes, values, bytes);
}

}  // namespace synfire::operations
