// Setting, reading and updating parameters. While each parameter is one number that only the host sets, the constants
// go to the device with a launch (layer.cpp). Once replays update a parameter, or one has a number per channel or
// neuron, the values live on the device, where the constants are derived; the host keeps those that it last set or
// read. The device has a number for each neuron of both kinds: those of a channel stay equal.
#include "layer.hpp"

#include <base/error.hpp>
#include <base/host_memory.hpp>

#include <string>
#include <vector>

namespace synfire::core {

ParameterTarget Layer::target() const noexcept {
  return {master_,
          spec_.extents.n_neurons,
          spec_.model->kernel_id(),
          spec_.surrogate->kernel_id(),
          spec_.undecayed_input,
          spec_.loaded_model ? spec_.loaded_model->formula() : nullptr,
          spec_.loaded_surrogate ? spec_.loaded_surrogate->formula() : nullptr};
}

// Parameters (a bit for each) with changed values per neuron: the next refresh takes them from their rows.
uint32_t Layer::staged() const noexcept {
  uint32_t mask = 0;
  for (uint32_t p = 0; p < parameters_.size(); ++p)
    if (parameters_.scope(p) != Scope::layer) mask |= changed_ & uint32_t{1} << p;
  return mask;
}

ParameterUpload Layer::upload() const {
  ParameterUpload a = {};
  a.target = target();
  a.block = block_;
  a.per_neuron = parameters_.per_neuron() ? per_neuron_ : nullptr;
  a.slopes_per_neuron = a.per_neuron ? slopes_per_neuron_ : nullptr;
  a.active = n_active_ * spec_.extents.n_neurons;
  a.changed = changed_;
  for (uint32_t p = 0; p < parameters_.size(); ++p) {
    const bool per_neuron = parameters_.scope(p) != Scope::layer;
    a.rows[p] = per_neuron ? rows_[p] : nullptr;
    a.staged[p] = per_neuron ? staging_->row(p) : nullptr;
    a.values[p] = parameters_.values(p)[0];
  }
  a.number = staging_->number();
  a.read_number = staged() != 0 ? staging_->read_number() : nullptr;
  return a;
}

// ---- setting --------------------------------------------------------------------------------------------------------

void Layer::provide_slopes() {
  if (wants_gradients_ && n_slope_rows(*spec_.model) > 0 && !slopes_per_neuron_)
    slopes_per_neuron_ = device().allocate(SYNFIRE_MEMORY_DEVICE, spec_.slope_bytes());
}

// Allocates all memory that a parameter with this many values lacks.
void Layer::prepare_values(uint32_t index, size_t count) {
  if (count == 1) return;
  begin_updates();
  if (!rows_[index]) rows_[index] = static_cast<double*>(device().allocate(SYNFIRE_MEMORY_DEVICE, spec_.value_bytes()));
  if (!per_neuron_) per_neuron_ = device().allocate(SYNFIRE_MEMORY_DEVICE, spec_.per_neuron_bytes());
  provide_slopes();
  staging_->prepare(index);
}

void Layer::set_parameters(std::span<const ParameterValues> list) {
  const auto lock = lock_parameters();
  check_list(list);
  std::vector<std::vector<double>> next;
  next.reserve(list.size());
  for (const ParameterValues& entry : list) {
    next.push_back(parameters_.checked(entry.name, entry.values));
    const uint32_t index = entry.name.index;
    if (updaters_[index] > 0 && next.back().size() != parameters_.values(index).size())
      fail_argument("SYN-UPDATE-LENGTH",
                    "count is %zu; \"%s\" holds %zu, and a graph updates it with a gradient of that length",
                    next.back().size(), parameters_.spec(index).name, parameters_.values(index).size());
  }
  const auto exchange = [&] {
    for (size_t i = 0; i < list.size(); ++i) parameters_.exchange(list[i].name.index, next[i]);
  };
  exchange();
  try {
    for (const ParameterValues& entry : list) parameters_.check_constants(entry.name, largest_constant());
    for (const ParameterValues& entry : list) prepare_values(entry.name.index, entry.values.size());
  } catch (...) {
    exchange();
    throw;
  }
  uint32_t mask = 0;
  for (const ParameterValues& entry : list) {
    const auto values = parameters_.values(entry.name.index);
    if (values.size() > 1) staging_->write(entry.name.index, values);
    mask |= uint32_t{1} << entry.name.index;
  }
  changed_ |= mask;
  on_device_.fetch_and(~mask, std::memory_order_relaxed);
  count_change();
}

// ---- reading --------------------------------------------------------------------------------------------------------

size_t Layer::n_values(ParameterName name) const {
  const auto lock = lock_parameters();
  return parameters_.values(name.index).size();
}

void Layer::get_parameter(ParameterName name, const char* known_as, std::span<double> values) {
  const auto lock = lock_parameters();
  const uint32_t index = name.index, bit = uint32_t{1} << index;
  const size_t length = parameters_.values(index).size();
  const auto n_neurons = static_cast<uint64_t>(spec_.extents.n_neurons);
  if (values.size() != n_neurons && values.size() != length)
    fail_argument("SYN-PARAMETER-COUNT", "count is %llu; \"%s\" holds %s, so %s%llu is allowed",
                  static_cast<unsigned long long>(values.size()), known_as,
                  length == 1           ? "one number"
                  : length == n_neurons ? "one number per neuron"
                                        : "one number per channel",
                  length == n_neurons ? "" : std::to_string(length).append(" or ").c_str(),
                  static_cast<unsigned long long>(n_neurons));
  const uint32_t newer = on_device_.load(std::memory_order_relaxed) | captured_.load(std::memory_order_relaxed);
  if ((newer & ~changed_ & bit) != 0) {
    // Cleared first, because an update launched from here on sets it again.
    on_device_.fetch_and(~bit, std::memory_order_relaxed);
    try {
      wait_for_replays();
      require_host_memory(length * sizeof(double), Paging::pageable);
      std::vector<double> now(length);
      device().download(now.data(), length > 1 ? rows_[index] : &master_->shared[index], length * sizeof(double));
      parameters_.set(index, std::move(now));
    } catch (...) {
      on_device_.fetch_or(bit, std::memory_order_relaxed);
      throw;
    }
  }
  const auto held = parameters_.values(index);
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = held[i % length];
    values[i] = name.reciprocal ? 1.0 / value : value;
  }
}

// ---- updates --------------------------------------------------------------------------------------------------------

// The values move to the device. No parameter is per neuron yet; the first one that is leads here.
void Layer::begin_updates() {
  if (master_) return;
  staging_ = std::make_unique<ValueStaging>(device(), spec_.extents.n_neurons);
  master_ = reinterpret_cast<ParameterMaster*>(static_cast<char*>(block_) + spec_.master_offset());
  changed_ = (uint32_t{1} << parameters_.size()) - 1;
  upload_again();  // the next refresh brings the values to the device
  sender_.load(*this);
}

void Layer::drop_update(uint32_t parameter) noexcept {
  if (const EnteredScope scope(mutex_); scope) --updaters_[parameter];
}

void Layer::prepare_gradients() {
  const auto lock = lock_parameters();
  if (wants_gradients_) return;
  wants_gradients_ = true;
  try {
    if (parameters_.per_neuron()) provide_slopes();
  } catch (...) {
    wants_gradients_ = false;
    throw;
  }
  upload_again();  // the block must name the slopes
}

double* Layer::provide_gradient_sums() {
  const auto lock = lock_parameters();
  if (!gradient_sums_)
    gradient_sums_ = static_cast<double*>(device().allocate(SYNFIRE_MEMORY_DEVICE, spec_.gradient_bytes()));
  return gradient_sums_;
}

}  // namespace synfire::core
