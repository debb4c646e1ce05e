#include "synapse.hpp"

#include <base/error.hpp>
#include <base/text.hpp>

#include <mutex>
#include <string_view>
#include <vector>

namespace synfire::core {

Synapse::Synapse(Context& context, const SynapseSpec& spec, const uint8_t* mask)
    : SharedObject(ObjectType::synapse, context, {"SYN-SYNAPSE-SHARED", "a synapse"}), spec_(spec) {
  try {
    const bool has_planes = !device().is_host();
    device().require(SYNFIRE_MEMORY_DEVICE,
                     spec_.weight_bytes() + spec_.table_bytes() + spec_.rows_bytes() +
                         (has_planes ? spec_.table_planes_bytes() + spec_.rows_planes_bytes() : 0));
    weights_ = allocate(spec_.weight_bytes());
    bias_ = allocate(spec_.bias_bytes());
    mask_ = allocate(spec_.mask_bytes());
    table_ = allocate(spec_.table_bytes());
    rows_ = allocate(spec_.rows_bytes());
    grid_ = allocate(spec_.grid_bytes());
    bias_on_grid_ = allocate(spec_.grid_bytes());
    if (has_planes) {
      table_planes_ = allocate(spec_.table_planes_bytes());
      rows_planes_ = allocate(spec_.rows_planes_bytes());
    }
    if (mask) upload_mask(mask);
  } catch (...) {
    release_memory();
    throw;
  }
}

Synapse::~Synapse() {
  release_memory();
}

void* Synapse::allocate(uint64_t bytes) {
  return bytes == 0 ? nullptr : device().allocate(SYNFIRE_MEMORY_DEVICE, bytes);
}

void Synapse::release_memory() noexcept {
  for (void* memory : {weights_, bias_, mask_, table_, rows_, grid_, bias_on_grid_, table_planes_, rows_planes_,
                       weight_gradient_, bias_gradient_})
    if (memory) device().release(SYNFIRE_MEMORY_DEVICE, memory);
}

// A bit for each weight, words [N, ceil(K/32)].
void Synapse::upload_mask(const uint8_t* mask) {
  const int64_t per_row = spec_.mask_words();
  std::vector<uint32_t> words(static_cast<size_t>(spec_.n_outputs * per_row));
  for (int64_t n = 0; n < spec_.n_outputs; ++n)
    for (int64_t k = 0; k < spec_.n_inputs; ++k) {
      const uint8_t connected = mask[n * spec_.n_inputs + k];
      if (connected > 1)
        fail_argument("SYN-SYNAPSE-MASK", "desc.mask[%lld] is %u; allowed are 0 and 1",
                      static_cast<long long>(n * spec_.n_inputs + k), connected);
      words[static_cast<size_t>(n * per_row + k / 32)] |= static_cast<uint32_t>(connected) << k % 32;
    }
  device().upload(mask_, words.data(), spec_.mask_bytes());
}

void Synapse::prepare_gradients() {
  if (spec_.frozen)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-SYNAPSE-FROZEN",
         "the synapse is frozen (desc.frozen was 1), so it has no gradients of weights and bias");
  const std::lock_guard lock(gradients_mutex_);
  if (weight_gradient_) return;
  void* const bias = allocate(spec_.bias_bytes());
  try {
    weight_gradient_ = allocate(spec_.weight_bytes());
  } catch (...) {
    if (bias) device().release(SYNFIRE_MEMORY_DEVICE, bias);
    throw;
  }
  bias_gradient_ = bias;
}

View Synapse::find(const char* name, const void* values, uint64_t bytes) {
  // A file has the weights of its synapses as "weights".
  const std::string_view wanted = name == std::string_view("weights") ? "weight" : name;
  const bool of_weights = wanted == "weight" || wanted == "weight_gradient";
  const bool is_gradient = wanted == "weight_gradient" || wanted == "bias_gradient";
  if (!of_weights && wanted != "bias" && wanted != "bias_gradient") {
    constexpr std::string_view known[] = {"weight", "bias", "weight_gradient", "bias_gradient"};
    fail_argument("SYN-SYNAPSE-NAME",
                  "name is \"%.64s\"%s; a synapse has \"weight\", \"bias\", \"weight_gradient\" and \"bias_gradient\"",
                  name, suggestion(wanted, known).c_str());
  }
  if (!of_weights && !spec_.has_bias)
    fail_argument("SYN-SYNAPSE-NAME", "name is \"%.64s\"; this synapse has no bias (desc.bias was 0)", name);
  if (is_gradient) prepare_gradients();
  if (!values) fail_argument("SYN-ARGUMENT-NULL", "values is null");
  const View found = wanted == "weight" ? weights()
                     : wanted == "bias" ? bias()
                     : of_weights       ? weight_gradient()
                                        : bias_gradient();
  if (bytes != found.bytes)
    fail_argument("SYN-SYNAPSE-SIZE", "bytes is %llu; exactly %llu, %s, are needed",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(found.bytes),
                  spec_.shape_text(of_weights).c_str());
  return found;
}

void Synapse::read(const char* name, void* values, uint64_t bytes) {
  const View found = find(name, values, bytes);
  order().wait();
  device().download(values, found.data, bytes);
}

}  // namespace synfire::core
