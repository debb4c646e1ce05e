// A synapse: weights [N, K] and a bias [N] between K inputs and N outputs, what is derived from them for the products,
// and their gradients. The operations on synapses are in operations/synapse.
#ifndef SYNFIRE_SYNAPSE_SYNAPSE_HPP
#define SYNFIRE_SYNAPSE_SYNAPSE_HPP

#include "synapse_spec.hpp"

#include <base/context.hpp>
#include <base/shared_order.hpp>
#include <base/versioned.hpp>
#include <base/view.hpp>

namespace synfire::core {

class Synapse final : public SharedObject, public Versioned {
 public:
  // All weights are 0. `mask` has a byte for each weight, or is null.
  Synapse(Context& context, const SynapseSpec& spec, const uint8_t* mask);

  const SynapseSpec& spec() const noexcept { return spec_; }

  // ---- memory, as operands
  View weights() noexcept { return own(weights_, spec_.weight_bytes(), spec_.dtype); }
  View bias() noexcept { return own(bias_, spec_.bias_bytes(), spec_.dtype); }
  View mask() noexcept { return own(mask_, spec_.mask_bytes(), SYNFIRE_DTYPE_U32); }
  // The weights on their grid, once as [K, N] (`table`: integers of an exact synapse, else numbers) and once as [N, K]
  // (`rows`: integers, numbers in f64), with padded rows.
  View table() noexcept { return own(table_, spec_.table_bytes(), spec_.dtype); }
  View rows() noexcept { return own(rows_, spec_.rows_bytes(), spec_.dtype); }
  // [N]: the grid of each output's weights as an exponent, and, of an exact synapse, the bias on it. Absent in f64.
  View grid() noexcept { return own(grid_, spec_.grid_bytes(), SYNFIRE_DTYPE_U32); }
  View bias_on_grid() noexcept { return own(bias_on_grid_, spec_.grid_bytes(), SYNFIRE_DTYPE_U32); }
  // On CUDA: the byte planes of both. Absent on the host.
  View table_planes() noexcept { return own(table_planes_, spec_.table_planes_bytes(), SYNFIRE_DTYPE_U8); }
  View rows_planes() noexcept { return own(rows_planes_, spec_.rows_planes_bytes(), SYNFIRE_DTYPE_U8); }
  // Null until prepare_gradients().
  View weight_gradient() noexcept { return own(weight_gradient_, spec_.weight_bytes(), spec_.dtype); }
  View bias_gradient() noexcept { return own(bias_gradient_, spec_.bias_bytes(), spec_.dtype); }

  // The version is that of weights and bias: of all memory that products read, and of no gradient.
  Versioned* versioned() noexcept override { return this; }
  bool counts(const View& memory) const noexcept override {
    return memory.data != weight_gradient_ && memory.data != bias_gradient_;
  }

  // Allocates the gradients, which are 0 then. Throws WRONG_ORDER if the synapse is frozen.
  void prepare_gradients();

  // ---- by name: "weight", "bias", "weight_gradient", "bias_gradient"
  // The array [N, K] or [N]. Throws INVALID_ARGUMENT for a name or a size that the synapse does not have.
  View find(const char* name, const void* values, uint64_t bytes);
  void read(const char* name, void* values, uint64_t bytes);

 private:
  ~Synapse() override;
  void release_memory() noexcept;
  void* allocate(uint64_t bytes);
  void upload_mask(const uint8_t* mask);
  View own(void* data, uint64_t bytes, int32_t dtype) noexcept {
    View view;
    view.data = data;
    view.bytes = data ? bytes : 0;
    view.dtype = dtype;
    view.owner = this;
    return view;
  }

  const SynapseSpec spec_;
  void *weights_ = nullptr, *bias_ = nullptr, *mask_ = nullptr;
  void *table_ = nullptr, *rows_ = nullptr, *grid_ = nullptr, *bias_on_grid_ = nullptr;
  void *table_planes_ = nullptr, *rows_planes_ = nullptr;
  Mutex gradients_mutex_;
  void *weight_gradient_ = nullptr, *bias_gradient_ = nullptr;
};

}  // namespace synfire::core

#endif
