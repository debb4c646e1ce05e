// shape_list.hpp - the shapes that `synfire-bench shapes` measures: those of published networks with their sources,
// and random ones.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_SHAPE_LIST_HPP
#define SYNFIRE_TOOLS_BENCH_SHAPE_LIST_HPP

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "names.hpp"

namespace synfire_bench {

/// Where shapes are from: a publication, or the code or documentation of a project.
struct ShapeSource {
  std::string_view key, title, where;
};
std::span<const ShapeSource> shape_sources();

/// A layer of a source, and how it lies in memory.
struct PlacedShape {
  Shape shape;
  std::string_view source;        ///< key of a ShapeSource; "random" if it was drawn
  std::string_view layer;         ///< which layer of the source
  std::uint64_t padding = 0;      ///< elements between two steps; for packed spikes words, modulo 4
  std::uint64_t offsets[4] = {};  ///< elements before X, spikes, dL/dS and dL/dX, from an address of 256 bytes
};

/// The written list.
std::vector<PlacedShape> listed_shapes();

/// `count` shapes of at most `most_elements` elements: odd T, B and N, odd distances between steps, and arrays that
/// begin at any element. The same seed gives the same shapes everywhere.
std::vector<PlacedShape> random_shapes(std::uint64_t seed, std::size_t count, std::uint64_t most_elements);

/// The shape that bounds the time of `shape`: one row of as many neurons, up to the next multiple of 128, and as many
/// steps, up to the next multiple of 8.
Shape reference_of(const Shape& shape);

/// The smallest reference of as many steps: one row of 128 neurons on a GPU, and of 16 on the host, or 8 in f64: one
/// vector of 64 bytes. Fewer neurons take no less, because a block or a vector takes the steps one after the other,
/// however few of its lanes are neurons.
Shape smallest_reference_of(const Shape& shape, const Dtype& dtype, bool host);

}  // namespace synfire_bench

#endif
