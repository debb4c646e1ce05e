#include "dense_steps.hpp"

#include <backends/cuda/cuda_launcher.hpp>

#include <vector>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

class DenseSteps final : public FusedSteps {
 public:
  void add(Synapse& added, std::span<const MemberArray> arrays) override {
    auto& synapse = static_cast<DenseSynapse&>(added);
    const DenseSpec& spec = synapse.spec();
    DenseMembers s = {};
    s.n_inputs = spec.n_inputs;
    s.n_outputs = spec.n_outputs;
    s.weights = arrays[0];
    if (spec.has_bias) s.bias = arrays[1];
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
    s.table_words = DenseSpec::even_words(spec.n_inputs);
    s.table_groups = DenseSpec::padded_columns(spec.n_outputs) / 8;
    s.rows_words = spec.table_pitch() / 32;
    s.rows_groups = DenseSpec::padded_columns(spec.n_inputs) / 8;
    s.is_f64 = spec.dtype == SYNFIRE_DTYPE_F64 ? 1 : 0;
    s.is_exact = spec.is_exact() ? 1 : 0;
    s.dropped_bits = spec.dropped_bits();
    s.first_row = n_rows_;
    s.first_tile = n_tiles_;
    s.first_unit = n_units_;
    n_rows_ += spec.n_outputs;
    n_tiles_ += (spec.n_inputs + 31) / 32 * ((spec.n_outputs + 31) / 32);
    // As in prepare_planes: 8 bytes of each plane.
    if (s.table_planes) n_units_ += s.table_words * s.table_groups * 32;
    if (s.rows_planes) n_units_ += s.rows_words * s.rows_groups * 32;
    synapses_.push_back(s);
  }

  std::span<const std::byte> table() const override { return std::as_bytes(std::span(synapses_)); }

  void enqueue(const void* table_on_device, const OptimizerState* state, const OptimizerRates& rates,
               Launcher& launcher) const override {
    const DenseStepLaunch launch = {static_cast<const DenseMembers*>(table_on_device),
                                    static_cast<int32_t>(synapses_.size()),
                                    n_rows_,
                                    n_tiles_,
                                    n_units_,
                                    state,
                                    rates};
    constexpr auto threads = static_cast<uint32_t>(prepare_threads);
    launcher.launch(step_rows_kernel(launch.rates.rule), launcher.over_pieces(launch.n_rows, threads), launch);
    const int64_t of_units = (launch.n_units + prepare_threads - 1) / prepare_threads;
    launcher.launch(derive_kernel(), launcher.over_pieces(launch.n_tiles + of_units, threads), launch);
  }

 private:
  std::vector<DenseMembers> synapses_;
  int64_t n_rows_ = 0, n_tiles_ = 0, n_units_ = 0;
};

}  // namespace

std::unique_ptr<FusedSteps> make_dense_steps() {
  return std::make_unique<DenseSteps>();
}

}  // namespace synfire::operations
