// Normalisations on processors. In f32, threads share the elements; in f64, whose sums have an order, the channels.
#include "normalize.hpp"
#include "normalize_host_kernels.hpp"
#include "normalize_work_of.hpp"

#include <backends/host/atomic_merge.hpp>
#include <backends/host/host_launcher.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// With fewer elements the calling thread works alone.
constexpr int64_t least_normalized_for_threads = 1 << 16;
constexpr int normalize_tile = 256;
constexpr int64_t lines_of_item = 64;

const host::NormalizeKernels& normalize_kernels() {
  return SYNFIRE_SELECT_LEVEL(normalize_kernels);
}
template <class R>
const host::NormalizeLoops<R>& normalize_loops() {
  if constexpr (sizeof(R) == sizeof(float))
    return normalize_kernels().f32;
  else
    return normalize_kernels().f64;
}

// Images as lines of up to normalize_tile neighbouring elements: of several places side by side if there are few
// channels, or of some of the channels of a place.
struct ChannelLines {
  const ChannelShape& shape;
  int64_t width;    // of a line: a multiple of the channels
  int64_t n_lines;  // of an image
  int64_t n_tiles;  // of a line

  explicit ChannelLines(const ChannelShape& of)
      : shape(of),
        width(of.channels >= normalize_tile ? of.channels : of.channels * (normalize_tile / of.channels)),
        n_lines((of.image() + width - 1) / width),
        n_tiles((width + normalize_tile - 1) / normalize_tile) {}

  struct Tile {
    int64_t column;  // the first one; column c has channel c mod channels
    int n_columns;
  };

  // Calls start(tile), which makes what the lines of a thread share; then its line(t, b, first element, count) for each
  // line that counts, its skip() of the same for others, and finish().
  template <class Start>
  void for_each(const Counting& counting, bool share, const host::Launcher& launcher, Start start) const {
    const int64_t rows = counting.rows(shape.batch), all = shape.n_steps * shape.batch * n_lines;
    const auto run_items = [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t column = item % n_tiles * normalize_tile, first = item / n_tiles * lines_of_item;
        const Tile tile = {column, static_cast<int>(std::min<int64_t>(normalize_tile, width - column))};
        auto work = start(tile);
        for (int64_t line = first; line < std::min(first + lines_of_item, all); ++line) {
          const int64_t image = line / n_lines, t = image / shape.batch, b = image % shape.batch,
                        at = line % n_lines * width + column;
          const auto count = static_cast<int>(std::min<int64_t>(tile.n_columns, shape.image() - at));
          if (b < rows && counting.counts(t, b))
            work.line(t, b, at, count);
          else
            work.skip(t, b, at, count);
        }
        work.finish();
      }
    };
    launcher.for_each_range((all + lines_of_item - 1) / lines_of_item * n_tiles, share, run_items);
  }
};

// An array [C] for the columns of a tile.
template <class E>
struct OfColumns {
  E values[normalize_tile];

  template <class Read>
  OfColumns(const ChannelShape& shape, const ChannelLines::Tile& tile, Read read) : values() {
    for (int i = 0; i < tile.n_columns; ++i)
      values[i] = i < shape.channels ? read((tile.column + i) % shape.channels) : values[i - shape.channels];
  }
};

// ---- sums -----------------------------------------------------------------------------------------------------------

struct LargestOfTile {
  const IntegerSums& sums;
  int which;
  ChannelLines::Tile tile;
  uint32_t found[normalize_tile] = {};

  void line(int64_t t, int64_t b, int64_t at, int count) {
    const Images& images = which == 0 ? sums.first : sums.second;
    normalize_kernels().find_largest(found, images.image<const float>(t, b) + at, count);
  }
  void skip(int64_t, int64_t, int64_t, int) {}
  void finish() const {
    for (int i = 0; i < tile.n_columns; ++i)
      host::merge(sums.largest[which][(tile.column + i) % sums.shape.channels], found[i]);
  }
};

struct IntegersOfTile {
  const IntegerSums& sums;
  ChannelLines::Tile tile;
  OfColumns<int32_t> first_grid, second_grid;
  int64_t totals[normalize_tile] = {}, high[normalize_tile] = {}, low[normalize_tile] = {};

  IntegersOfTile(const IntegerSums& given, const ChannelLines::Tile& of)
      : sums(given),
        tile(of),
        first_grid(given.shape, of, [&](int64_t c) { return given.first_grid(given.largest[0][c]); }),
        second_grid(given.shape, of,
                    [&](int64_t c) { return given.second_grid(given.largest[given.squares ? 0 : 1][c], c); }) {}
  void line(int64_t t, int64_t b, int64_t at, int count) {
    const float* const second = sums.second.data ? sums.second.image<const float>(t, b) + at : nullptr;
    normalize_kernels().add_integers(totals, high, low, sums.first.image<const float>(t, b) + at, first_grid.values,
                                     second, second_grid.values, count);
  }
  void skip(int64_t, int64_t, int64_t, int) {}
  void finish() const {
    for (int i = 0; i < tile.n_columns; ++i) {
      const int64_t channel = (tile.column + i) % sums.shape.channels;
      host::merge(sums.totals[channel], totals[i]);
      host::merge(sums.high[channel], high[i]);
      host::merge(sums.low[channel], low[i]);
    }
  }
};

void find_sums(const IntegerSums& sums, SumEntry entry, bool share, const host::Launcher& launcher) {
  const ChannelLines lines(sums.shape);
  const int64_t channels = sums.shape.channels;
  for (int which = 0; does(entry, SumEntry::maxima) && which < 2; ++which) {
    std::fill_n(sums.largest[which], channels, 0u);
    if (which == 1 && !sums.finds_second()) break;
    lines.for_each(sums.counting, share, launcher, [&](const ChannelLines::Tile& tile) {
      return LargestOfTile{sums, which, tile};
    });
  }
  if (!does(entry, SumEntry::sums)) return;
  for (int64_t* const to : {sums.totals, sums.high, sums.low}) std::fill_n(to, channels, 0);
  lines.for_each(sums.counting, share, launcher,
                 [&](const ChannelLines::Tile& tile) { return IntegersOfTile(sums, tile); });
}

// Calls f(first element of some channels of `images`, the same of `others`) in the order of steps, batch rows and
// places.
template <class F>
void for_each_place(const OrderedSums& sums, int64_t channel, F f) {
  const ChannelShape& shape = sums.shape;
  for (int64_t t = 0; t < shape.n_steps; ++t)
    for (int64_t b = 0; b < sums.counting.rows(shape.batch); ++b) {
      if (!sums.counting.counts(t, b)) continue;
      const double* const first = sums.first.image<const double>(t, b) + channel;
      const double* const second = sums.second.data ? sums.second.image<const double>(t, b) + channel : nullptr;
      for (int64_t place = 0; place < shape.places; ++place)
        f(first + place * shape.channels, second + (second ? place * shape.channels : 0));
    }
}

void find_sums(const OrderedSums& sums, SumEntry, bool share, const host::Launcher& launcher) {
  const int64_t channels = sums.shape.channels, n_tiles = (channels + normalize_tile - 1) / normalize_tile;
  const auto n = static_cast<double>(n_counted(sums.shape, sums.counting));
  launcher.for_each_range(n_tiles, share, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t channel = tile * normalize_tile;
      const auto count = static_cast<int>(std::min<int64_t>(normalize_tile, channels - channel));
      double* const totals = sums.totals + channel;
      double* const products = sums.products + channel;
      std::fill_n(totals, count, 0.0);
      std::fill_n(products, count, 0.0);
      for_each_place(sums, channel,
                     [&](const double* first, const double*) { normalize_kernels().add(totals, first, count); });
      double means[normalize_tile];
      for (int i = 0; i < count; ++i) means[i] = sums.saved ? model::from_bits(sums.saved[channel + i]) : totals[i] / n;
      if (sums.saved && !sums.second.data) continue;
      for_each_place(sums, channel, [&](const double* first, const double* second) {
        if (second)
          normalize_kernels().add_products(products, first, second, means, count);
        else
          normalize_kernels().add_squares(products, first, means, count);
      });
    }
  });
}

// ---- elements -------------------------------------------------------------------------------------------------------

template <class R>
struct ResultsOfTile {
  const NormalizeWork<R>& work;
  OfColumns<R> factor, addend;

  ResultsOfTile(const NormalizeWork<R>& given, const ChannelLines::Tile& tile)
      : work(given),
        factor(given.sums.shape, tile, [&](int64_t c) { return given.factor[c]; }),
        addend(given.sums.shape, tile, [&](int64_t c) { return given.addend[c]; }) {}
  void line(int64_t t, int64_t b, int64_t at, int count) const {
    normalize_loops<R>().apply(work.destination.template image<R>(t, b) + at,
                               work.sums.first.template image<const R>(t, b) + at, factor.values, addend.values, count);
  }
  void skip(int64_t t, int64_t b, int64_t at, int count) const {
    std::fill_n(work.destination.template image<R>(t, b) + at, count, R(0));
  }
  void finish() const {}
};

template <class R>
struct GradientsOfTile {
  const NormalizeGradientWork<R>& work;
  OfColumns<R> factor, of_source, constant;

  GradientsOfTile(const NormalizeGradientWork<R>& given, const ChannelLines::Tile& tile)
      : work(given),
        factor(given.sums.shape, tile, [&](int64_t c) { return given.factor[c]; }),
        of_source(given.sums.shape, tile, [&](int64_t c) { return given.evaluation ? R(0) : given.of_source[c]; }),
        constant(given.sums.shape, tile, [&](int64_t c) { return given.evaluation ? R(0) : given.constant[c]; }) {}
  void line(int64_t t, int64_t b, int64_t at, int count) const {
    normalize_loops<R>().apply_gradient(work.grad_source.template image<R>(t, b) + at,
                                        work.sums.first.template image<const R>(t, b) + at,
                                        work.evaluation ? nullptr : work.sums.second.template image<const R>(t, b) + at,
                                        factor.values, of_source.values, constant.values, work.accumulate, count);
  }
  void skip(int64_t t, int64_t b, int64_t at, int count) const {
    if (!work.accumulate) std::fill_n(work.grad_source.template image<R>(t, b) + at, count, R(0));
  }
  void finish() const {}
};

template <class R>
void run_normalize(const Normalize& op, const host::Launcher& launcher) {
  const NormalizeWork<R> work = work_of<R>(op);
  const bool share = wants_threads(op);
  if (!op.evaluation) find_sums(work.sums, op.entry, share, launcher);
  if (op.entry == SumEntry::sums) {
    auto* const totals = static_cast<int64_t*>(op.totals.data);
    if (op.evaluation) std::fill_n(totals, 3 * op.shape.channels, 0);
    totals[3 * op.shape.channels] = n_counted(op.shape, work.sums.counting);
  }
  if (!does(op.entry, SumEntry::finish)) return;
  for (int64_t channel = 0; channel < op.shape.channels; ++channel) finish_channel(work, channel);
  ChannelLines(op.shape).for_each(work.sums.counting, share, launcher,
                                  [&](const ChannelLines::Tile& tile) { return ResultsOfTile<R>(work, tile); });
}

template <class R>
void run_normalize_backward(const NormalizeBackward& op, const host::Launcher& launcher) {
  const NormalizeGradientWork<R> work = work_of<R>(op);
  const bool share = wants_threads(op);
  if (work.has_sums) find_sums(work.sums, op.entry, share, launcher);
  if (!does(op.entry, SumEntry::finish)) return;
  for (int64_t channel = 0; channel < op.shape.channels; ++channel) finish_gradient(work, channel);
  if (!op.grad_source) return;
  ChannelLines(op.shape).for_each(work.sums.counting, share, launcher,
                                  [&](const ChannelLines::Tile& tile) { return GradientsOfTile<R>(work, tile); });
}

int64_t elements_of(const ChannelShape& shape) {
  return shape.n_steps * shape.batch * shape.image();
}

}  // namespace

bool wants_threads(const Normalize& op) {
  return elements_of(op.shape) >= least_normalized_for_threads;
}
bool wants_threads(const NormalizeBackward& op) {
  return elements_of(op.shape) >= least_normalized_for_threads;
}

void run(const Normalize& op, host::Launcher& launcher) {
  if (op.source.dtype == SYNFIRE_DTYPE_F64) return run_normalize<double>(op, launcher);
  run_normalize<float>(op, launcher);
}
void run(const NormalizeBackward& op, host::Launcher& launcher) {
  if (op.grad_destination.dtype == SYNFIRE_DTYPE_F64) return run_normalize_backward<double>(op, launcher);
  run_normalize_backward<float>(op, launcher);
}

}  // namespace synfire::operations
