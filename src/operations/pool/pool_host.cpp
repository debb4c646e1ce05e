// Pools on processors. A thread has whole images, a step of a batch row each, so that every element of a gradient is
// added up in the order of its windows.
#include "pool.hpp"
#include "pool_host_kernels.hpp"

#include <backends/host/host_launcher.hpp>
#include <operations/host_places.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// With fewer elements the calling thread works alone.
constexpr int64_t least_work_for_threads = 1 << 17;
// Channels at once.
constexpr int pool_tile = 256;

template <class R>
const host::PoolLoops<R>& loops() {
  if constexpr (sizeof(R) == 4)
    return SYNFIRE_SELECT_LEVEL(pool_kernels).f32;
  else
    return SYNFIRE_SELECT_LEVEL(pool_kernels).f64;
}

template <class E>
E* image_of(const View& sequence, int64_t t, int64_t b, int64_t length) {
  return static_cast<E*>(sequence.data) + t * sequence.pitch + b * length;
}
int64_t words_of(int64_t n) {
  return (n + 31) / 32;
}

template <class Op, class F>
void for_each_image(const Op& op, host::Launcher& launcher, F f) {
  const int64_t batch = op.extents.batch;
  launcher.for_each_placed_range(op.extents.n_steps * batch, wants_threads(op),
                                 [&](int64_t begin, int64_t end, int64_t place) {
                                   for (int64_t image = begin; image < end; ++image)
                                     f(image / batch, image % batch, place);
                                 });
}

// Calls f(place, first channel, number of channels).
template <class F>
void for_each_tile(const PoolShape& shape, F f) {
  for (int64_t place = 0; place < shape.places(); ++place)
    for (int64_t c = 0; c < shape.channels; c += pool_tile)
      f(place, c, static_cast<int>(std::min<int64_t>(pool_tile, shape.channels - c)));
}

// ---- forward --------------------------------------------------------------------------------------------------------

// The maxima of channels, and the places that have them. `read(at, to)` gives the numbers of an input place.
template <class R, class Read>
void find_maxima(const PoolShape& shape, int64_t place, int count, R* most, int64_t* places, Read read) {
  bool first = true;
  for_each_candidate(shape, place, [&](int64_t at) {
    R copy[pool_tile];
    const R* const values = read(at, copy);
    if (first) {
      std::copy_n(values, count, most);
      std::fill_n(places, count, at);
      first = false;
    } else {
      loops<R>().take_larger(most, places, values, at, count);
    }
  });
}

template <class R>
void pool_values(const Pool& op, const R* from, R* to) {
  const PoolShape& shape = op.shape;
  for_each_tile(shape, [&](int64_t place, int64_t c, int count) {
    R* const result = to + place * shape.channels + c;
    if (op.kind == PoolKind::max) {
      int64_t places[pool_tile];
      find_maxima<R>(shape, place, count, result, places,
                     [&](int64_t at, R*) { return from + at * shape.channels + c; });
      return;
    }
    std::fill_n(result, count, R(0));
    for_each_candidate(shape, place,
                       [&](int64_t at) { loops<R>().add(result, from + at * shape.channels + c, count); });
    if (op.kind == PoolKind::mean) loops<R>().divide(result, static_cast<R>(shape.window()), count);
  });
}

// Spikes of a tile of channels as bytes.
const uint8_t* bytes_at(const uint32_t* words, int64_t first, int count, uint8_t* to) {
  for (int i = 0; i < count; i += 32) {
    const int now = std::min(32, count - i);
    const uint32_t bits = bits_at(words, first + i, now);
    for (int j = 0; j < now; ++j) to[i + j] = static_cast<uint8_t>(bits >> j & 1u);
  }
  return to;
}

// Sums and means of spikes (words) or counts (bytes), and maxima of counts.
void pool_counts(const Pool& op, const uint32_t* words, const uint8_t* bytes, void* to) {
  const PoolShape& shape = op.shape;
  for_each_tile(shape, [&](int64_t place, int64_t c, int count) {
    const int64_t at_result = place * shape.channels + c;
    int32_t sums[pool_tile] = {};
    for_each_candidate(shape, place, [&](int64_t at) {
      uint8_t copy[pool_tile];
      const uint8_t* const counts =
          words ? bytes_at(words, at * shape.channels + c, count, copy) : bytes + at * shape.channels + c;
      if (op.kind == PoolKind::max)
        for (int i = 0; i < count; ++i) sums[i] = std::max(sums[i], bounded(counts[i], op.bound));
      else
        SYNFIRE_SELECT_LEVEL(pool_kernels).add_counts(sums, counts, op.bound, count);
    });
    if (op.destination.dtype == SYNFIRE_DTYPE_U8) {
      for (int i = 0; i < count; ++i) static_cast<uint8_t*>(to)[at_result + i] = static_cast<uint8_t>(sums[i]);
      return;
    }
    float* const result = static_cast<float*>(to) + at_result;
    for (int i = 0; i < count; ++i) result[i] = static_cast<float>(sums[i]);
    if (op.kind == PoolKind::mean) loops<float>().divide(result, static_cast<float>(shape.window()), count);
  });
}

// ---- backward -------------------------------------------------------------------------------------------------------

// Inputs of a tile of channels as numbers; spikes and counts too.
template <class R>
const R* numbers_at(const PoolBackward& op, int64_t t, int64_t b, int64_t at, int count, R* to) {
  const int64_t n = op.extents.n_neurons;
  switch (op.source.dtype) {
    case SYNFIRE_DTYPE_BITS: {
      const uint32_t* const words = image_of<const uint32_t>(op.source, t, b, words_of(n));
      for (int i = 0; i < count; ++i) to[i] = static_cast<R>(bits_at(words, at + i, 1));
      return to;
    }
    case SYNFIRE_DTYPE_U8: {
      const uint8_t* const counts = image_of<const uint8_t>(op.source, t, b, n) + at;
      for (int i = 0; i < count; ++i) to[i] = static_cast<R>(bounded(counts[i], op.bound));
      return to;
    }
    case SYNFIRE_DTYPE_F64: {
      const double* const values = image_of<const double>(op.source, t, b, n) + at;
      if constexpr (sizeof(R) == sizeof(double)) return values;
      for (int i = 0; i < count; ++i) to[i] = static_cast<R>(values[i]);
      return to;
    }
    default: {
      const float* const values = image_of<const float>(op.source, t, b, n) + at;
      if constexpr (sizeof(R) == sizeof(float)) return values;
      for (int i = 0; i < count; ++i) to[i] = static_cast<R>(values[i]);
      return to;
    }
  }
}

template <class R>
void spread(const PoolBackward& op, int64_t t, int64_t b, R* sums) {
  const PoolShape& shape = op.shape;
  const R* const gradients = image_of<const R>(op.grad_destination, t, b, shape.n_outputs());
  std::fill_n(sums, shape.n_inputs(), R(0));
  for_each_tile(shape, [&](int64_t place, int64_t c, int count) {
    R given[pool_tile];
    std::copy_n(gradients + place * shape.channels + c, count, given);
    if (op.kind == PoolKind::max) {
      // f64 holds the numbers of every source.
      double most[pool_tile];
      int64_t places[pool_tile];
      find_maxima<double>(shape, place, count, most, places, [&](int64_t at, double* to) {
        return numbers_at<double>(op, t, b, at * shape.channels + c, count, to);
      });
      for (int i = 0; i < count; ++i) {
        R& sum = sums[places[i] * shape.channels + c + i];
        sum = sum + given[i];
      }
      return;
    }
    if (op.kind == PoolKind::mean) loops<R>().divide(given, static_cast<R>(shape.window()), count);
    for_each_candidate(shape, place, [&](int64_t at) { loops<R>().add(sums + at * shape.channels + c, given, count); });
  });
}

template <class R>
void run_backward(const PoolBackward& op, host::Launcher& launcher) {
  const int64_t n = op.extents.n_neurons;
  for_each_image(op, launcher, [&](int64_t t, int64_t b, int64_t place) {
    R* const to = image_of<R>(op.grad_source, t, b, n);
    if (!op.accumulate) return spread(op, t, b, to);
    R* const sums = place_of<R>(op.host_places, place, static_cast<uint64_t>(n) * sizeof(R));
    spread(op, t, b, sums);
    loops<R>().add(to, sums, n);
  });
}

}  // namespace

bool wants_threads(const Pool& op) {
  return op.extents.n_steps * op.extents.row() >= least_work_for_threads;
}
bool wants_threads(const PoolBackward& op) {
  return op.extents.n_steps * op.extents.row() >= least_work_for_threads;
}

View host_places_of(const Device& device, const PoolBackward& op) {
  if (!op.accumulate) return {};
  return places_for(device, op.extents.n_steps * op.extents.batch, wants_threads(op),
                    static_cast<uint64_t>(op.extents.n_neurons) * bytes_of_dtype(op.grad_source.dtype));
}

void run(const Pool& op, host::Launcher& launcher) {
  const int64_t n_inputs = op.shape.n_inputs(), n_outputs = op.shape.n_outputs();
  for_each_image(op, launcher, [&](int64_t t, int64_t b, int64_t) {
    switch (op.source.dtype) {
      case SYNFIRE_DTYPE_F32:
        return pool_values(op, image_of<const float>(op.source, t, b, n_inputs),
                           image_of<float>(op.destination, t, b, n_outputs));
      case SYNFIRE_DTYPE_F64:
        return pool_values(op, image_of<const double>(op.source, t, b, n_inputs),
                           image_of<double>(op.destination, t, b, n_outputs));
      default:
        break;
    }
    const bool are_bits = op.source.dtype == SYNFIRE_DTYPE_BITS;
    const uint32_t* const words = are_bits ? image_of<const uint32_t>(op.source, t, b, words_of(n_inputs)) : nullptr;
    const uint8_t* const bytes = are_bits ? nullptr : image_of<const uint8_t>(op.source, t, b, n_inputs);
    if (op.destination.dtype == SYNFIRE_DTYPE_BITS) {
      uint32_t* const to = image_of<uint32_t>(op.destination, t, b, words_of(n_outputs));
      for (int64_t word = 0; word < words_of(n_outputs); ++word) to[word] = word_of_maxima(op.shape, words, word);
    } else if (op.destination.dtype == SYNFIRE_DTYPE_U8) {
      pool_counts(op, words, bytes, image_of<uint8_t>(op.destination, t, b, n_outputs));
    } else {
      pool_counts(op, words, bytes, image_of<float>(op.destination, t, b, n_outputs));
    }
  });
}

void run(const PoolBackward& op, host::Launcher& launcher) {
  if (op.grad_source.dtype == SYNFIRE_DTYPE_F64) return run_backward<double>(op, launcher);
  run_backward<float>(op, launcher);
}

}  // namespace synfire::operations
