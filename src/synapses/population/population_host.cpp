// Population codes on processors. Work is divided into items: a few rows of up to `tile` cells. Results do not depend
// on how items are shared, because each sum over steps or cells belongs to one item, and integers have no order.
#include "population.hpp"
#include "population_arithmetic.hpp"
#include "population_host_kernels.hpp"

#include <backends/host/host_launcher.hpp>
#include <synapses/passes/host_inputs.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;

namespace {

constexpr int tile = 256;
constexpr int64_t rows_of_item = 64;
// With fewer operations the calling thread works alone.
constexpr double least_work_for_threads = 1 << 17;

template <class R>
const host::PopulationLoops<R>& loops() {
  if constexpr (sizeof(R) == 4)
    return SYNFIRE_SELECT_LEVEL(population_kernels).f32;
  else
    return SYNFIRE_SELECT_LEVEL(population_kernels).f64;
}

// Reads the input of each cell, in numbers of the synapse's type.
template <class R, class Op>
class CellInputs {
 public:
  explicit CellInputs(const Op& op)
      : n_cells_(op.synapse->spec().n_cells),
        all_({}, op.extents),
        input_(op.input, op.extents, false, all_),
        mu_(static_cast<const R*>(op.mu.data)),
        sigma_(static_cast<const R*>(op.sigma.data)) {}

  const R* mu(int64_t first) const { return mu_ + first; }
  const R* sigma(int64_t first) const { return sigma_ + first; }
  // The inputs of cells [first, first + count) of a row, count <= tile.
  void read(int64_t t, int64_t b, int64_t first, int count, R* to) const {
    R inputs[tile];
    const int64_t begin = first / n_cells_, end = (first + count - 1) / n_cells_ + 1;
    input_.read(t, b, begin, static_cast<int>(end - begin), inputs);
    int i = 0;
    for (int64_t k = begin; k < end; ++k) {
      const int64_t cells_end = std::min((k + 1) * n_cells_ - first, int64_t{count});
      for (; i < cells_end; ++i) to[i] = inputs[k - begin];
    }
  }

 private:
  int64_t n_cells_;
  KeptInputs<R> all_;
  Numbers<R> input_;
  const R *mu_, *sigma_;
};

template <class R>
void find_activities(const PopulationProduct& op, host::Launcher& launcher) {
  const Extents& e = op.extents;
  const int64_t n_outputs = op.synapse->n_outputs(), active = active_rows(op), n_rows = e.n_steps * e.batch;
  const int64_t n_tiles = pieces(n_outputs, tile);
  const CellInputs<R, PopulationProduct> cells(op);
  const auto run_row = [&](int64_t row, int64_t first, int count) {
    const int64_t t = row / e.batch, b = row % e.batch;
    R* const to = row_of<R>(op.output, t, b, n_outputs) + first;
    if (b >= active) {
      std::fill_n(to, count, R(0));
      return;
    }
    R inputs[tile];
    cells.read(t, b, first, count, inputs);
    loops<R>().product(to, inputs, cells.mu(first), cells.sigma(first), count);
  };
  launcher.for_each_range(pieces(n_rows, rows_of_item) * n_tiles, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % n_tiles * tile, row = item / n_tiles * rows_of_item;
      const int count = static_cast<int>(std::min<int64_t>(tile, n_outputs - first));
      for (int64_t r = row; r < std::min(row + rows_of_item, n_rows); ++r) run_row(r, first, count);
    }
  });
}

// The contributions of each output of each active row: sums over the steps, from the last one back, in f64.
template <class R>
void find_contributions(const PopulationGradient& op, host::Launcher& launcher) {
  const Extents& e = op.extents;
  const int64_t n_outputs = op.synapse->n_outputs(), n_tiles = pieces(n_outputs, tile);
  const CellInputs<R, PopulationGradient> cells(op);
  auto* const of_mu = static_cast<R*>(op.contributions.data);
  R* const of_sigma = of_mu + e.batch * n_outputs;
  launcher.for_each_range(active_rows(op) * n_tiles, wants_threads(op), [&](int64_t begin, int64_t end) {
    R inputs[tile], slopes[2][tile];
    for (int64_t item = begin; item < end; ++item) {
      const int64_t b = item / n_tiles, first = item % n_tiles * tile;
      const int count = static_cast<int>(std::min<int64_t>(tile, n_outputs - first));
      double sums[2][tile] = {};
      for (int64_t t = e.n_steps - 1; t >= 0; --t) {
        const R* const gradients = row_of<const R>(op.grad_output, t, b, n_outputs) + first;
        cells.read(t, b, first, count, inputs);
        loops<R>().slopes(slopes[0], slopes[1], inputs, cells.mu(first), cells.sigma(first), count);
        for (int which = 0; which < 2; ++which) loops<R>().add(sums[which], gradients, slopes[which], count);
      }
      const int64_t at = b * n_outputs + first;
      for (int i = 0; i < count; ++i) of_mu[at + i] = static_cast<R>(sums[0][i]);
      for (int i = 0; i < count; ++i) of_sigma[at + i] = static_cast<R>(sums[1][i]);
    }
  });
}

// f64: the contributions of an output, in the order of the rows.
void sum_in_order(const PopulationGradient& op, host::Launcher& launcher) {
  const int64_t n_outputs = op.synapse->n_outputs(), active = active_rows(op), length = op.extents.batch * n_outputs;
  const auto* const contributions = static_cast<const double*>(op.contributions.data);
  const View* const gradients[] = {&op.mu_gradient, &op.sigma_gradient};
  launcher.for_each_range(2 * n_outputs, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t which = i / n_outputs, n = i % n_outputs;
      double sum = 0;
      for (int64_t b = 0; b < active; ++b) sum = sum + contributions[which * length + b * n_outputs + n];
      double& held = static_cast<double*>(gradients[which]->data)[n];
      held = op.add ? held + sum : sum;
    }
  });
}

template <class R>
void find_input_gradients(const PopulationInputGradient& op, host::Launcher& launcher) {
  const Extents& e = op.extents;
  const int64_t n_cells = op.synapse->spec().n_cells, n_outputs = op.synapse->n_outputs(), active = active_rows(op);
  // Several inputs at a time where their cells fit a tile; otherwise one, tile by tile.
  const int64_t n_together = std::max<int64_t>(1, tile / n_cells), n_groups = pieces(e.n_neurons, n_together);
  const CellInputs<R, PopulationInputGradient> cells(op);
  const auto run_group = [&](int64_t row, int64_t first, int64_t last) {
    const int64_t t = row / e.batch, b = row % e.batch;
    R* const to = row_of<R>(op.grad_input, t, b, e.n_neurons);
    if (b >= active) {
      if (!op.add) std::fill(to + first, to + last, R(0));
      return;
    }
    R inputs[tile], slopes[2][tile];
    double sums[tile] = {};
    for (int64_t n = first * n_cells; n < last * n_cells; n += tile) {
      const R* const gradients = row_of<const R>(op.grad_output, t, b, n_outputs) + n;
      const int count = static_cast<int>(std::min<int64_t>(tile, last * n_cells - n));
      cells.read(t, b, n, count, inputs);
      loops<R>().slopes(slopes[0], slopes[1], inputs, cells.mu(n), cells.sigma(n), count);
      for (int i = 0; i < count; ++i) {
        double& sum = sums[(n + i) / n_cells - first];
        sum = add_slope(sum, -gradients[i], slopes[0][i]);
      }
    }
    for (int64_t k = first; k < last; ++k) {
      const R gradient = static_cast<R>(sums[k - first]);
      to[k] = op.add ? to[k] + gradient : gradient;
    }
  };
  launcher.for_each_range(e.n_steps * e.batch * n_groups, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % n_groups * n_together;
      run_group(item / n_groups, first, std::min(first + n_together, e.n_neurons));
    }
  });
}

template <class Op>
bool is_long(const Op& op) {
  return work_of(op) >= least_work_for_threads;
}

}  // namespace

bool wants_threads(const PopulationProduct& op) {
  return is_long(op);
}
bool wants_threads(const PopulationGradient& op) {
  return is_long(op);
}
bool wants_threads(const PopulationInputGradient& op) {
  return is_long(op);
}

void run(const PopulationProduct& op, host::Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return find_activities<double>(op, launcher);
  find_activities<float>(op, launcher);
}

void run(const PopulationGradient& op, host::Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) {
    find_contributions<double>(op, launcher);
    return sum_in_order(op, launcher);
  }
  if (does(op.entry, SumEntry::maxima)) find_contributions<float>(op, launcher);
  for (int which = 0; which < 2; ++which) run_row_sums(row_sums_of(op, which), op.entry, wants_threads(op), launcher);
}

void run(const PopulationInputGradient& op, host::Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return find_input_gradients<double>(op, launcher);
  find_input_gradients<float>(op, launcher);
}

}  // namespace synfire::operations
