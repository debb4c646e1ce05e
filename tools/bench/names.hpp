// names.hpp - the names that synfire-bench accepts: dtypes, spike formats, tapes, models, surrogates.
//
// One table each, made from the library's own lists where there is one (../names/names.hpp). Support for something new
// in the library is one more row, or a row whose `not_built` is replaced.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_NAMES_HPP
#define SYNFIRE_TOOLS_BENCH_NAMES_HPP

#include <synfire/synfire.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "../names/names.hpp"

namespace synfire_bench {

/// The id of names that are known but not supported by this version of the library; they are refused.
inline constexpr std::int32_t not_built = -1;

/// The id of a spike format whose elements have the dtype of the layer.
inline constexpr std::int32_t dtype_of_layer = -2;

struct Shape {
  std::uint64_t steps = 32, batch = 1, neurons = 2097152;
  std::uint64_t elements() const { return steps * batch * neurons; }
  std::uint64_t rows() const { return steps * batch; }
};

// ---- Dtypes ---------------------------------------------------------------------------------------------------------

template <typename Scalar>
void store_as(const float* from, void* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) static_cast<Scalar*>(to)[i] = static_cast<Scalar>(from[i]);
}

template <typename Scalar>
void load_from(const void* from, double* to, std::size_t count) {
  using Number = std::conditional_t<sizeof(Scalar) == 8, double, float>;
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<Number>(static_cast<const Scalar*>(from)[i]);
}

struct Dtype {
  std::string_view name;
  std::int32_t id;
  std::uint32_t bytes = 0;
  void (*store)(const float* from, void* to, std::size_t count) = nullptr;  ///< inputs are generated in f32
  void (*load)(const void* from, double* to, std::size_t count) = nullptr;
};

inline constexpr Dtype dtypes[] = {
    {"f32", SYNFIRE_DTYPE_F32, 4, store_as<float>, load_from<float>},
    {"f64", SYNFIRE_DTYPE_F64, 8, store_as<double>, load_from<double>},
    {"f16", SYNFIRE_DTYPE_F16, 2, store_as<synfire::f16>, load_from<synfire::f16>},
    {"bf16", SYNFIRE_DTYPE_BF16, 2, store_as<synfire::bf16>, load_from<synfire::bf16>},
};

// ---- Spikes ---------------------------------------------------------------------------------------------------------

inline std::uint64_t one_per_neuron(const Shape& shape) {
  return shape.elements();
}
inline std::uint64_t words_along_neurons(const Shape& shape) {
  return shape.rows() * ((shape.neurons + 31) / 32);
}
inline std::uint64_t words_along_time(const Shape& shape) {
  return (shape.steps + 31) / 32 * shape.batch * shape.neurons;
}

inline std::uint64_t count_ones(const unsigned char* bytes, std::size_t count, std::uint32_t) {
  std::uint64_t spikes = 0;
  for (std::size_t i = 0; i < count; ++i) spikes += static_cast<std::uint64_t>(std::popcount(bytes[i]));
  return spikes;
}
inline std::uint64_t count_nonzero(const unsigned char* bytes, std::size_t count, std::uint32_t element_bytes) {
  static constexpr unsigned char zeros[16] = {};
  std::uint64_t spikes = 0;
  for (std::size_t i = 0; i < count; i += element_bytes) spikes += std::memcmp(bytes + i, zeros, element_bytes) != 0;
  return spikes;
}

struct SpikeFormat {
  std::string_view name;
  std::int32_t id;                  ///< the buffer's dtype, or dtype_of_layer
  std::uint32_t element_bytes = 0;  ///< unused with dtype_of_layer
  std::uint64_t (*elements)(const Shape& shape) = nullptr;
  std::uint64_t (*count)(const unsigned char* bytes, std::size_t count, std::uint32_t element_bytes) = nullptr;
};

inline constexpr SpikeFormat spike_formats[] = {
    {"bits", SYNFIRE_DTYPE_BITS, 4, words_along_neurons, count_ones},
    {"dense", dtype_of_layer, 0, one_per_neuron, count_nonzero},
    {"u8", SYNFIRE_DTYPE_U8, 1, one_per_neuron, count_nonzero},
    {"time-bits", SYNFIRE_DTYPE_TIME_BITS, 4, words_along_time, count_ones},
};

// ---- Tapes ----------------------------------------------------------------------------------------------------------

struct Tape {
  std::string_view name;
  std::int32_t id;
  bool allows_backward = false;
};

inline constexpr Tape tapes[] = {
    {"recompute", SYNFIRE_TAPE_RECOMPUTE, true},
    {"none", SYNFIRE_TAPE_NONE, false},
    {"store", SYNFIRE_TAPE_STORE, true},
    {"store-narrow", SYNFIRE_TAPE_STORE_NARROW, true},
};

// ---- Models ---------------------------------------------------------------------------------------------------------

struct Model {
  std::string_view name;
  std::int32_t id;
  float x_low, x_high;  ///< X is uniform in [x_low, x_high]; chosen so that 10 to 50 % of all neuron-steps spike
};

// The default comes first, then the library's other models in order, except those that have no spikes to measure. IF
// has no leak, so it needs less input; a current is slow, so it needs more.
inline constexpr std::size_t n_firing_models = [] {
  std::size_t count = 0;
  for (const synfire_tools::NamedId& entry : synfire_tools::models) count += synfire_tools::is_silent(entry.id) ? 0 : 1;
  return count;
}();
inline constexpr auto models = [] {
  std::array<Model, n_firing_models> rows{};
  std::size_t next = 1;
  for (const synfire_tools::NamedId& entry : synfire_tools::models) {
    if (synfire_tools::is_silent(entry.id)) continue;
    Model& row = entry.id == SYNFIRE_MODEL_LIF ? rows[0] : rows[next++];
    const bool is_slow = entry.id == SYNFIRE_MODEL_CUBA_LIF || entry.id == SYNFIRE_MODEL_CUBA_LIF_EXACT;
    row = {entry.name, entry.id, -0.3F, entry.id == SYNFIRE_MODEL_IF ? 0.9F : is_slow ? 4.5F : 2.2F};
  }
  return rows;
}();

// ---- Surrogates -----------------------------------------------------------------------------------------------------

using Surrogate = synfire_tools::NamedId;
using synfire_tools::surrogates;

// ---- Options of a layer ---------------------------------------------------------------------------------------------

enum class Direction { forward, backward, both };

struct DirectionName {
  std::string_view name;
  std::int32_t id;
  Direction direction;
};

inline constexpr DirectionName directions[] = {
    {"forward", 0, Direction::forward},
    {"backward", 1, Direction::backward},
    {"both", 2, Direction::both},
};

struct NetworkMode {
  std::string_view name;
  std::int32_t id;
  bool inference, training;
};

inline constexpr NetworkMode network_modes[] = {
    {"both", 0, true, true},
    {"inference", 1, true, false},
    {"training", 2, false, true},
};

// ---- Convolutions ---------------------------------------------------------------------------------------------------

/// A square kernel over a map, in every step of every batch row.
struct Conv2dShape {
  std::uint64_t height, width, channels, output_channels, kernel, stride, padding, groups, steps, batch;

  std::uint64_t rows() const { return steps * batch; }
  std::uint64_t inputs() const { return height * width * channels; }
  std::uint64_t outputs() const { return output_height() * output_width() * output_channels; }
  std::uint64_t output_height() const { return (height + 2 * padding - kernel) / stride + 1; }
  std::uint64_t output_width() const { return (width + 2 * padding - kernel) / stride + 1; }

  /// The product has as many as each gradient.
  double multiply_adds() const {
    const std::uint64_t terms = kernel * kernel * (channels / groups);
    return static_cast<double>(rows() * outputs()) * static_cast<double>(terms);
  }
};

struct NamedConv2d {
  std::string_view name;
  std::int32_t id;
  Conv2dShape shape;
};

// Layers of published networks (docs/pages/benchmarking.md), and one that is odd in everything.
inline constexpr NamedConv2d conv2d_shapes[] = {
    {"events", 0, {48, 48, 2, 64, 3, 1, 1, 1, 10, 16}},     {"vgg2", 1, {48, 48, 64, 128, 3, 1, 1, 1, 10, 16}},
    {"vgg4", 2, {24, 24, 256, 256, 3, 1, 1, 1, 10, 16}},    {"vgg8", 3, {6, 6, 512, 512, 3, 1, 1, 1, 10, 16}},
    {"gesture", 4, {64, 64, 128, 128, 3, 1, 1, 1, 16, 16}}, {"residual", 5, {56, 56, 64, 64, 3, 1, 1, 1, 4, 32}},
    {"shortcut", 6, {56, 56, 64, 128, 1, 2, 0, 1, 4, 32}},  {"depthwise", 7, {28, 28, 192, 192, 7, 1, 3, 192, 4, 8}},
    {"odd", 8, {31, 45, 19, 33, 3, 1, 1, 1, 5, 7}},         {"nmnist", 9, {34, 34, 2, 16, 5, 2, 1, 1, 1, 1}},
};

using ShapesPart = synfire_tools::NamedId;
inline constexpr ShapesPart shapes_parts[] = {{"list", 0}, {"random", 1}, {"kinds", 2}, {"all", 3}};

enum class Cache { hot, cold };

struct CacheName {
  std::string_view name;
  std::int32_t id;
  Cache cache;
};

inline constexpr CacheName caches[] = {{"hot", 0, Cache::hot}, {"cold", 1, Cache::cold}};

// ---- How a replay is waited for, and under what load ----------------------------------------------------------------

using Policy = synfire_tools::NamedId;
inline constexpr Policy policies[] = {
    {"spin", SYNFIRE_WAIT_SPIN}, {"yield", SYNFIRE_WAIT_YIELD}, {"block", SYNFIRE_WAIT_BLOCK}};

using LoadName = synfire_tools::NamedId;
inline constexpr LoadName loads[] = {{"none", 0}, {"busy", 1}};

using PriorityName = synfire_tools::NamedId;
inline constexpr PriorityName priorities[] = {{"default", 0}, {"high", 1}};

using Backend = synfire_tools::NamedId;
using synfire_tools::backends;

}  // namespace synfire_bench

#endif
