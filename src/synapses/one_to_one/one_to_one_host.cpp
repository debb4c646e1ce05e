// One-to-one synapses on processors. Work is divided into items: a few rows, or terms of sums, of up to `tile`
// elements. Results do not depend on how items are shared: integers have no order, and each block of terms of a sum in
// the fixed order belongs to one item.
#include "one_to_one.hpp"
#include "one_to_one_host_kernels.hpp"

#include <backends/host/atomic_merge.hpp>
#include <backends/host/host_launcher.hpp>
#include <synapses/passes/host_inputs.hpp>

#include <synfire/model/grid.hpp>

#include <algorithm>
#include <limits>

namespace synfire::operations {

using namespace synfire::core;

namespace {

constexpr int tile = 256;
constexpr int64_t rows_of_item = 64;
// With fewer elements the calling thread works alone.
constexpr double least_work_for_threads = 1 << 17;

template <class R>
const host::OneToOneLoops<R>& loops() {
  if constexpr (sizeof(R) == 4)
    return SYNFIRE_SELECT_LEVEL(one_to_one_kernels).f32;
  else
    return SYNFIRE_SELECT_LEVEL(one_to_one_kernels).f64;
}

template <class Op>
bool is_shared_by_all(const Op& op) {
  return op.synapse->spec().n_entries() == 1;
}

template <class Op, class R>
Numbers<R> input_of(const Op& op, const KeptInputs<R>& all) {
  return Numbers<R>(op.input, op.extents, op.synapse->reads_spikes(), all);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// The entries of an array for elements `first` and up, `count` of them: in place, or copied.
template <class R>
const R* entries_of(const View& array, int64_t n_entries, int64_t first, int count, R (&copy)[tile]) {
  const auto* const entries = static_cast<const R*>(array.data);
  if (n_entries == 1) return entries;
  if (first % n_entries + count <= n_entries) return entries + first % n_entries;
  for (int i = 0; i < count; ++i) copy[i] = entries[(first + i) % n_entries];
  return copy;
}

// Calls f(first row, end, first element, count) for all items.
template <class Op, class F>
void for_each_item(const Op& op, host::Launcher& launcher, F f) {
  const Extents& e = op.extents;
  const int64_t n_tiles = pieces(e.n_neurons, tile), n_rows = e.n_steps * e.batch;
  launcher.for_each_range(pieces(n_rows, rows_of_item) * n_tiles, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % n_tiles * tile, row = item / n_tiles * rows_of_item;
      f(row, std::min(row + rows_of_item, n_rows), first,
        static_cast<int>(std::min<int64_t>(tile, e.n_neurons - first)));
    }
  });
}

template <class R>
void multiply(const OneToOneProduct& op, host::Launcher& launcher) {
  const Extents& e = op.extents;
  const int64_t active = active_rows(op), n_entries = op.synapse->spec().n_entries();
  const bool shared = is_shared_by_all(op);
  const KeptInputs<R> all({}, e);
  const Numbers<R> input = input_of(op, all);
  for_each_item(op, launcher, [&](int64_t begin, int64_t end, int64_t first, int count) {
    R weight_copy[tile], bias_copy[tile] = {}, numbers[tile];
    const R* const weight = entries_of(op.weight, n_entries, first, count, weight_copy);
    const R* const bias = op.bias ? entries_of(op.bias, n_entries, first, count, bias_copy) : bias_copy;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t t = row / e.batch, b = row % e.batch;
      R* const to = row_of<R>(op.output, t, b, e.n_neurons) + first;
      if (b >= active) {
        std::fill_n(to, count, R(0));
        continue;
      }
      input.read(t, b, first, count, numbers);
      loops<R>().product(to, numbers, weight, bias, shared, count);
    }
  });
}

template <class R>
void scale_gradients(const OneToOneInputGradient& op, host::Launcher& launcher) {
  const Extents& e = op.extents;
  const int64_t active = active_rows(op), n_entries = op.synapse->spec().n_entries();
  const bool shared = is_shared_by_all(op);
  for_each_item(op, launcher, [&](int64_t begin, int64_t end, int64_t first, int count) {
    R copy[tile];
    const R* const weight = entries_of(op.weight, n_entries, first, count, copy);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t t = row / e.batch, b = row % e.batch;
      R* const to = row_of<R>(op.grad_input, t, b, e.n_neurons) + first;
      if (b < active)
        loops<R>().input_gradient(to, row_of<const R>(op.grad_output, t, b, e.n_neurons) + first, weight, shared,
                                  op.add, count);
      else if (!op.add)
        std::fill_n(to, count, R(0));
    }
  });
}

// ---- sums -----------------------------------------------------------------------------------------------------------

template <class R>
void write_gradient(const View& to, int64_t entry, R gradient, bool add) {
  R& held = static_cast<R*>(to.data)[entry];
  held = add ? held + gradient : gradient;
}

// The terms of the entries: term q of entry e is element q % S * E + e of active row q / S.
class Terms {
 public:
  explicit Terms(const OneToOneGradient& op)
      : op_(op),
        active_(active_rows(op)),
        n_entries_(op.synapse->spec().n_entries()),
        n_shares_(op.synapse->spec().n_shares()) {}

  int64_t count() const { return op_.extents.n_steps * active_ * n_shares_; }
  int64_t n_blocks() const { return pieces(count(), model::block_length); }
  int64_t n_entries() const { return n_entries_; }

  // Calls f(block, first entry, number of entries) for all blocks of terms and tiles of entries.
  template <class F>
  void for_each_item(host::Launcher& launcher, F f) const {
    const int64_t n_tiles = pieces(n_entries_, tile);
    launcher.for_each_range(n_blocks() * n_tiles, wants_threads(op_), [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t first = item % n_tiles * tile;
        f(item / n_tiles, first, static_cast<int>(std::min<int64_t>(tile, n_entries_ - first)));
      }
    });
  }

  // Calls f(gradients, t, b, element, count) for terms [begin, end), at most `tile`, of entries `first` and up: term by
  // term, or, where all elements have one entry, as far as they are in one row.
  template <class R, class F>
  void for_each_run(int64_t begin, int64_t end, int64_t first, int n_entries, F f) const {
    for (int64_t q = begin; q < end;) {
      const int64_t row = q / n_shares_, share = q % n_shares_, t = row / active_, b = row % active_;
      const int64_t length = n_entries_ == 1 ? std::min(end - q, n_shares_ - share) : 1;
      const int64_t element = share * n_entries_ + first;
      f(row_of<const R>(op_.grad_output, t, b, op_.extents.n_neurons) + element, t, b, element,
        n_entries_ == 1 ? static_cast<int>(length) : n_entries);
      q += length;
    }
  }

 private:
  const OneToOneGradient& op_;
  const int64_t active_, n_entries_, n_shares_;
};

void sum_in_order(const OneToOneGradient& op, host::Launcher& launcher) {
  using R = double;
  const host::OneToOneKernels& kernels = SYNFIRE_SELECT_LEVEL(one_to_one_kernels);
  const Terms terms(op);
  const bool one = terms.n_entries() == 1;
  const KeptInputs<R> all({}, op.extents);
  const Numbers<R> input = input_of(op, all);
  R* const sums[] = {static_cast<R*>(op.blocks.data),
                     static_cast<R*>(op.blocks.data) + terms.n_blocks() * terms.n_entries()};
  terms.for_each_item(launcher, [&](int64_t block, int64_t first, int n_entries) {
    R numbers[tile], chains[2][tile], blocks[2][tile] = {};
    const int64_t end = std::min((block + 1) * model::block_length, terms.count());
    for (int64_t q = block * model::block_length; q < end; q += model::chain_length) {
      for (auto& chain : chains) std::fill_n(chain, n_entries, R(0));
      terms.for_each_run<R>(q, std::min<int64_t>(q + model::chain_length, end), first, n_entries,
                            [&](const R* gradients, int64_t t, int64_t b, int64_t element, int count) {
                              input.read(t, b, element, count, numbers);
                              (one ? kernels.add_chain : kernels.add_terms)(chains[0], chains[1], gradients, numbers,
                                                                            count);
                            });
      for (int which = 0; which < 2; ++which)
        for (int i = 0; i < n_entries; ++i) blocks[which][i] += chains[which][i];
    }
    for (int which = 0; which < 2; ++which)
      std::copy_n(blocks[which], n_entries, sums[which] + block * terms.n_entries() + first);
  });
  launcher.for_each_range(terms.n_entries(), wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t entry = begin; entry < end; ++entry) {
      double totals[2] = {};
      for (int64_t block = 0; block < terms.n_blocks(); ++block)
        for (int which = 0; which < 2; ++which) totals[which] += sums[which][block * terms.n_entries() + entry];
      write_gradient(op.weight_gradient, entry, totals[0], op.add);
      if (op.bias_gradient) write_gradient(op.bias_gradient, entry, totals[1], op.add);
    }
  });
}

// The contributions of each element of each active row: sums over the steps, from the last one back, in f64.
void find_contributions(const OneToOneGradient& op, host::Launcher& launcher) {
  const host::OneToOneKernels& kernels = SYNFIRE_SELECT_LEVEL(one_to_one_kernels);
  const Extents& e = op.extents;
  const int64_t n_tiles = pieces(e.n_neurons, tile);
  const KeptInputs<float> all({}, e);
  const Numbers<float> input = input_of(op, all);
  auto* const weights = static_cast<float*>(op.contributions.data);
  float* const biases = op.synapse->spec().has_bias ? weights + e.row() : nullptr;
  launcher.for_each_range(active_rows(op) * n_tiles, wants_threads(op), [&](int64_t begin, int64_t end) {
    float numbers[tile];
    for (int64_t item = begin; item < end; ++item) {
      const int64_t b = item / n_tiles, first = item % n_tiles * tile;
      const int count = static_cast<int>(std::min<int64_t>(tile, e.n_neurons - first));
      double sums[2][tile] = {};
      for (int64_t t = e.n_steps - 1; t >= 0; --t) {
        input.read(t, b, first, count, numbers);
        kernels.add_contributions(sums[0], sums[1], row_of<const float>(op.grad_output, t, b, e.n_neurons) + first,
                                  numbers, count);
      }
      const int64_t at = b * e.n_neurons + first;
      for (int i = 0; i < count; ++i) weights[at + i] = static_cast<float>(sums[0][i]);
      for (int i = 0; i < count && biases; ++i) biases[at + i] = static_cast<float>(sums[1][i]);
    }
  });
}

void sum_contributions(const OneToOneGradient& op, host::Launcher& launcher) {
  if (does(op.entry, SumEntry::maxima)) find_contributions(op, launcher);
  for (int which = 0; which < (op.synapse->spec().has_bias ? 2 : 1); ++which)
    run_row_sums(row_sums_of(op, which), op.entry, wants_threads(op), launcher);
}

int32_t grid_of_entry(const OneToOneGradient& op, uint32_t largest) {
  return model::grid_of_sum(
      largest, op.synapse->spec().gradient_bits == 32 ? model::largest_on_grid_32 : model::largest_on_grid_24);
}

void sum_exactly(const OneToOneGradient& op, host::Launcher& launcher) {
  const host::OneToOneKernels& kernels = SYNFIRE_SELECT_LEVEL(one_to_one_kernels);
  const Terms terms(op);
  const bool one = terms.n_entries() == 1;
  const KeptInputs<float> all({}, op.extents);
  const Numbers<float> input = input_of(op, all);
  auto* const largest = static_cast<uint32_t*>(op.largest.data);
  int64_t* const totals[] = {static_cast<int64_t*>(op.totals.data),
                             static_cast<int64_t*>(op.totals.data) + terms.n_entries()};
  // Runs of at most `tile` terms of a block.
  const auto for_each_run = [&](int64_t block, int64_t first, int n_entries, auto f) {
    const int64_t end = std::min((block + 1) * model::block_length, terms.count());
    for (int64_t q = block * model::block_length; q < end; q += tile)
      terms.for_each_run<float>(q, std::min<int64_t>(q + tile, end), first, n_entries, f);
  };
  if (does(op.entry, SumEntry::maxima)) {
    std::fill_n(largest, terms.n_entries(), 0u);
    terms.for_each_item(launcher, [&](int64_t block, int64_t first, int n_entries) {
      uint32_t found[tile] = {};
      for_each_run(block, first, n_entries, [&](const float* gradients, int64_t, int64_t, int64_t, int count) {
        kernels.largest(found, gradients, one, count);
      });
      for (int i = 0; i < n_entries; ++i) host::merge(largest[first + i], found[i]);
    });
  }
  const auto add = [&](int64_t block, int64_t first, int n_entries) {
    float numbers[tile];
    int32_t grid[tile];
    int64_t sums[2][tile] = {};
    for (int i = 0; i < n_entries; ++i) grid[i] = grid_of_entry(op, largest[first + i]);
    for_each_run(block, first, n_entries,
                 [&](const float* gradients, int64_t t, int64_t b, int64_t element, int count) {
                   input.read(t, b, element, count, numbers);
                   kernels.add_exact(sums[0], sums[1], gradients, numbers, grid, one, count);
                 });
    for (int which = 0; which < 2; ++which)
      for (int i = 0; i < n_entries; ++i) host::merge(totals[which][first + i], sums[which][i]);
  };
  if (does(op.entry, SumEntry::sums)) {
    std::fill_n(totals[0], 2 * terms.n_entries(), 0);
    terms.for_each_item(launcher, add);
  }
  if (!does(op.entry, SumEntry::finish)) return;
  for (int64_t entry = 0; entry < terms.n_entries(); ++entry) {
    const double scale = largest[entry] < 0x7F800000u ? model::wide_power_of_two(grid_of_entry(op, largest[entry]))
                                                      : std::numeric_limits<double>::quiet_NaN();
    const auto gradient = [&](int which) {
      return static_cast<float>(static_cast<double>(totals[which][entry]) * scale);
    };
    write_gradient(op.weight_gradient, entry, gradient(0), op.add);
    if (op.bias_gradient) write_gradient(op.bias_gradient, entry, gradient(1), op.add);
  }
}

template <class Op>
bool is_long(const Op& op) {
  return work_of(op) >= least_work_for_threads;
}

}  // namespace

bool wants_threads(const OneToOneProduct& op) {
  return is_long(op);
}
bool wants_threads(const OneToOneGradient& op) {
  return is_long(op);
}
bool wants_threads(const OneToOneInputGradient& op) {
  return is_long(op);
}

void run(const OneToOneProduct& op, host::Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return multiply<double>(op, launcher);
  multiply<float>(op, launcher);
}

void run(const OneToOneGradient& op, host::Launcher& launcher) {
  if (op.synapse->spec().is_exact()) return sum_exactly(op, launcher);
  if (op.synapse->spec().has_contributions()) return sum_contributions(op, launcher);
  sum_in_order(op, launcher);
}

void run(const OneToOneInputGradient& op, host::Launcher& launcher) {
  if (op.synapse->dtype() == SYNFIRE_DTYPE_F64) return scale_gradients<double>(op, launcher);
  scale_gradients<float>(op, launcher);
}

}  // namespace synfire::operations
