// Upsampling and borders on processors. A thread has whole images, a step of a batch row each.
#include "resize.hpp"

#include <backends/host/host_launcher.hpp>
#include <operations/images.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// With fewer elements the calling thread works alone.
constexpr int64_t least_resize_for_threads = 1 << 17;
// Channels at once.
constexpr int64_t resize_tile = 256;

template <class Op, class F>
void for_each_resized(const Op& op, const host::Launcher& launcher, F f) {
  const int64_t batch = op.extents.batch;
  launcher.for_each_range(op.extents.n_steps * batch, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) f(image / batch, image % batch);
  });
}

template <class E>
void copy_places(const Resize& op, host::Launcher& launcher) {
  const ResizeShape& shape = op.shape;
  const Images source = images_of(op.source, shape.n_inputs()),
               destination = images_of(op.destination, shape.n_outputs());
  for_each_resized(op, launcher, [&](int64_t t, int64_t b) {
    const E* const from = source.image<const E>(t, b);
    E* const to = destination.image<E>(t, b);
    for (int64_t place = 0; place < shape.places(); ++place) {
      const int64_t at = shape.source_of(place);
      if (at < 0)
        std::fill_n(to + place * shape.channels, shape.channels, E(0));
      else
        std::copy_n(from + at * shape.channels, shape.channels, to + place * shape.channels);
    }
  });
}

void copy_bits(const Resize& op, host::Launcher& launcher) {
  const Images source = images_of(op.source, op.shape.n_inputs()),
               destination = images_of(op.destination, op.shape.n_outputs());
  for_each_resized(op, launcher, [&](int64_t t, int64_t b) {
    uint32_t* const to = destination.image<uint32_t>(t, b);
    for (int64_t word = 0; word < destination.length; ++word)
      to[word] = word_of_copies(op.shape, source.image<const uint32_t>(t, b), word);
  });
}

template <class R>
void add_copies(const ResizeBackward& op, host::Launcher& launcher) {
  const ResizeShape& shape = op.shape;
  const Images from = images_of(op.grad_destination, shape.n_outputs()),
               to = images_of(op.grad_source, shape.n_inputs());
  for_each_resized(op, launcher, [&](int64_t t, int64_t b) {
    for (int64_t place = 0; place < shape.input_places(); ++place)
      for (int64_t c = 0; c < shape.channels; c += resize_tile) {
        const int64_t count = std::min(resize_tile, shape.channels - c);
        R sums[resize_tile] = {};
        for_each_copy(shape, place, [&](int64_t copy) {
          const R* const gradients = from.image<const R>(t, b) + copy * shape.channels + c;
          for (int64_t i = 0; i < count; ++i) sums[i] = sums[i] + gradients[i];
        });
        R* const result = to.image<R>(t, b) + place * shape.channels + c;
        for (int64_t i = 0; i < count; ++i) result[i] = op.accumulate ? result[i] + sums[i] : sums[i];
      }
  });
}

}  // namespace

bool wants_threads(const Resize& op) {
  return op.extents.n_steps * op.extents.batch * std::max(op.shape.n_inputs(), op.shape.n_outputs()) >=
         least_resize_for_threads;
}
bool wants_threads(const ResizeBackward& op) {
  return op.extents.n_steps * op.extents.batch * std::max(op.shape.n_inputs(), op.shape.n_outputs()) >=
         least_resize_for_threads;
}

void run(const Resize& op, host::Launcher& launcher) {
  switch (op.source.dtype) {
    case SYNFIRE_DTYPE_BITS:
      return copy_bits(op, launcher);
    case SYNFIRE_DTYPE_U8:
      return copy_places<uint8_t>(op, launcher);
    case SYNFIRE_DTYPE_F64:
      return copy_places<double>(op, launcher);
    default:
      return copy_places<float>(op, launcher);
  }
}

void run(const ResizeBackward& op, host::Launcher& launcher) {
  if (op.grad_source.dtype == SYNFIRE_DTYPE_F64) return add_copies<double>(op, launcher);
  add_copies<float>(op, launcher);
}

}  // namespace synfire::operations
