// Weights that are a matrix [N, K] with a bias [N], and what products derive from them. Dense synapses have them, and
// convolutions, whose outputs have the K inputs that their kernel meets.
#ifndef SYNFIRE_SYNAPSES_DENSE_DENSE_MATRIX_HPP
#define SYNFIRE_SYNAPSES_DENSE_DENSE_MATRIX_HPP

#include "dense_spec.hpp"

#include <operations/kind.hpp>
#include <synapses/synapse.hpp>

namespace synfire::operations {

class MatrixSynapse : public core::Synapse {
 public:
  const DenseSpec& spec() const noexcept { return spec_; }
  // The factor on the weights before they are put on their grid.
  double weight_factor() const noexcept { return weight_factor_; }

  // ---- memory, as operands
  View weights() noexcept { return arrays()[0].values; }
  View bias() noexcept { return spec_.has_bias ? arrays()[1].values : own(nullptr, 0, spec_.dtype); }
  View mask() noexcept { return own(mask_, spec_.mask_bytes(), SYNFIRE_DTYPE_U32); }
  // With padded rows: [K, N] (`table`: integers of an exact synapse on their grid, else the weights as they are) and
  // [N, K] (`rows`: integers on their grid, numbers in f64).
  View table() noexcept { return own(table_, spec_.table_bytes() + slack_, spec_.dtype); }
  View rows() noexcept { return own(rows_, spec_.rows_bytes() + slack_, spec_.dtype); }
  // [N]: the grid of each output's weights as an exponent, and the bias of an exact synapse on it. Absent in f64.
  View grid() noexcept { return own(grid_, spec_.grid_bytes(), SYNFIRE_DTYPE_U32); }
  View bias_on_grid() noexcept { return own(bias_on_grid_, spec_.grid_bytes(), SYNFIRE_DTYPE_U32); }
  // On CUDA: the byte planes of both. Absent on the host.
  View table_planes() noexcept { return own(table_planes_, spec_.table_planes_bytes(), SYNFIRE_DTYPE_U8); }
  View rows_planes() noexcept { return own(rows_planes_, spec_.rows_planes_bytes(), SYNFIRE_DTYPE_U8); }
  View weight_gradient() noexcept { return arrays()[0].gradient; }
  View bias_gradient() noexcept { return spec_.has_bias ? arrays()[1].gradient : own(nullptr, 0, spec_.dtype); }

  // Writes the initial weights, and derives what products use.
  void initialize();

 protected:
  // All weights are 0. The array "weight" has these lengths. `mask` has a byte for each weight, or is null. After the
  // derived arrays there are `slack` bytes, for loops that read beyond the columns that they need.
  MatrixSynapse(core::Context& context, const core::SynapseKind& kind, const core::SynapseShape& shape,
                const DenseSpec& spec, std::initializer_list<int64_t> weight_lengths, const uint8_t* mask,
                double weight_factor = 1, uint64_t slack = 0);
  // With the weights of another one.
  MatrixSynapse(core::Context& context, const core::SynapseKind& kind, const core::SynapseShape& shape,
                const DenseSpec& spec, MatrixSynapse& lender)
      : Synapse(context, kind, shape, 0, &lender), spec_(spec), weight_factor_(lender.weight_factor_), slack_(0) {}
  ~MatrixSynapse() override = default;

 private:
  void upload_mask(const uint8_t* mask);

  const DenseSpec spec_;
  const double weight_factor_;
  const uint64_t slack_;
  void *mask_ = nullptr, *table_ = nullptr, *rows_ = nullptr, *grid_ = nullptr, *bias_on_grid_ = nullptr;
  void *table_planes_ = nullptr, *rows_planes_ = nullptr;
};

// Derives what the products use from the weights and the bias, and sets masked weights to 0.
struct PrepareDense {
  MatrixSynapse* synapse;
  View weights, bias, mask, table, rows, grid, bias_on_grid;
  View table_planes, rows_planes;  // on CUDA

  static constexpr const char* name = "prepare synapse";
  static void operands(PrepareDense& op, OperandVisitor visit) {
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
PrepareDense make_prepare(MatrixSynapse& synapse);
OperationLabel label(const PrepareDense& op);
bool wants_threads(const PrepareDense& op);
void run(const PrepareDense& op, host::Launcher& launcher);
cuda::Hints hints(const PrepareDense& op, const cuda::GpuShape&);
void enqueue(const PrepareDense& op, cuda::Launcher& launcher);

// How the rows `first` and up are rounded; nothing in f64.
std::optional<core::Rounding> rounding_of_rows(MatrixSynapse& synapse, int64_t first, int64_t count);

// SynapseKind::read_integers.
bool read_integers_of(core::Synapse& synapse, const char* name, std::span<int32_t> values);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(PrepareDense);

#endif
