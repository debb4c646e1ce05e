// The shapes of `synfire-bench shapes`, their references and the bounds, of known numbers.
#include "shape_bounds.hpp"
#include "shape_list.hpp"
#include "shape_report.hpp"
#include "shape_work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

namespace {

using namespace synfire_bench;

const Dtype& dtype_named(std::string_view name) {
  return *std::find_if(std::begin(dtypes), std::end(dtypes), [&](const Dtype& dtype) { return dtype.name == name; });
}

Job job_of(const Shape& shape, const char* dtype = "f32") {
  return {shape, &models.front(), &surrogates.front(), &dtype_named(dtype), &spike_formats[0], &tapes[0]};
}

TEST(ShapeList, HasAtLeastSixtyShapesWhoseSourcesAreWrittenDown) {
  std::set<std::string_view> keys, used;
  for (const ShapeSource& source : shape_sources()) {
    EXPECT_TRUE(keys.insert(source.key).second) << source.key;
    EXPECT_FALSE(source.title.empty() || source.where.empty()) << source.key;
  }
  std::set<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> shapes;
  std::size_t published = 0;
  for (const PlacedShape& placed : listed_shapes()) {
    EXPECT_TRUE(keys.count(placed.source)) << placed.source;
    used.insert(placed.source);
    if (placed.source == "compared") continue;
    EXPECT_FALSE(placed.layer.empty());
    published += shapes.insert({placed.shape.batch, placed.shape.neurons, placed.shape.steps}).second ? 1 : 0;
  }
  EXPECT_GE(published, 60U);
  EXPECT_EQ(used, keys);
}

TEST(ShapeList, HasEveryShapeOfThePeer) {
  const std::vector<PlacedShape> listed = listed_shapes();
  for (const PeerTime& time : peer_times()) {
    EXPECT_TRUE(std::any_of(listed.begin(), listed.end(),
                            [&](const PlacedShape& placed) {
                              const Shape& shape = placed.shape;
                              return shape.batch == time.batch && shape.neurons == time.neurons &&
                                     shape.steps == time.steps;
                            }))
        << time.batch << " " << time.neurons << " " << time.steps;
  }
}

TEST(ShapeList, RandomShapesAreOddAndRepeat) {
  constexpr std::uint64_t most = std::uint64_t{1} << 20;
  const std::vector<PlacedShape> shapes = random_shapes(7, 200, most), again = random_shapes(7, 200, most),
                                 other = random_shapes(8, 200, most);
  std::size_t padded = 0, displaced = 0, batched = 0, large = 0, different = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Shape& shape = shapes[i].shape;
    EXPECT_EQ(shape.steps % 2, 1U);
    EXPECT_EQ(shape.batch % 2, 1U);
    EXPECT_EQ(shape.neurons % 2, 1U);
    // One more step and one more row than drawn at most.
    EXPECT_LE(shape.elements(), 4 * most);
    padded += shapes[i].padding % 2;
    displaced += shapes[i].offsets[0] % 2;
    batched += shape.batch > 1 ? 1 : 0;
    large += shape.elements() > most / 64 ? 1 : 0;
    EXPECT_EQ(shape.neurons, again[i].shape.neurons);
    EXPECT_TRUE(std::equal(std::begin(shapes[i].offsets), std::end(shapes[i].offsets), again[i].offsets));
    different += shape.neurons != other[i].shape.neurons ? 1 : 0;
  }
  EXPECT_GT(padded, 40U);
  EXPECT_GT(displaced, 60U);
  EXPECT_GT(batched, 60U);
  EXPECT_GT(large, 20U);
  EXPECT_GT(different, 100U);
}

TEST(ShapeBounds, ReferenceIsOneRowOfWholeBlocks) {
  const auto expect = [](Shape shape, std::uint64_t steps, std::uint64_t neurons) {
    const Shape reference = reference_of(shape);
    EXPECT_EQ(reference.batch, 1U);
    EXPECT_EQ(reference.steps, steps);
    EXPECT_EQ(reference.neurons, neurons);
  };
  expect({1, 1, 1}, 8, 128);
  expect({8, 1, 128}, 8, 128);
  expect({9, 1, 129}, 16, 256);
  expect({20, 256, 784}, 24, 200704);
}

TEST(ShapeBounds, SmallestReferenceHasAsManyStepsAndOneBlockOrVector) {
  for (const Dtype& dtype : dtypes) {
    for (const Shape shape : {Shape{1, 1, 1}, Shape{50, 1, 2}, Shape{311, 128, 2700}}) {
      const Shape on_gpu = smallest_reference_of(shape, dtype, false),
                  on_host = smallest_reference_of(shape, dtype, true);
      EXPECT_EQ(on_gpu.steps, reference_of(shape).steps);
      EXPECT_EQ(on_host.steps, reference_of(shape).steps);
      EXPECT_EQ(on_gpu.batch * on_host.batch, 1U);
      EXPECT_EQ(on_gpu.neurons, 128U);
      EXPECT_EQ(on_host.neurons, dtype.name == "f64" ? 8U : 16U);
    }
  }
}

TEST(ShapeBounds, AreThoseOfTheDocumentation) {
  EXPECT_DOUBLE_EQ(scaled_reference(10e-6, 300, 400), 7.5e-6);
  EXPECT_DOUBLE_EQ(bound_by_bytes(10e-6, 1, false), 12e-6);
  EXPECT_DOUBLE_EQ(bound_by_bytes(10e-6, 2, false), 13e-6);
  EXPECT_DOUBLE_EQ(bound_by_bytes(10e-6, 1, true), 12.5e-6);
  EXPECT_DOUBLE_EQ(bound_by_latency(2e-6, false), 2.2e-6);
  EXPECT_DOUBLE_EQ(bound_by_latency(2e-6, true), 2.3e-6);
  EXPECT_DOUBLE_EQ(bound_of_one_step_less(10e-6), 10.4e-6);
  EXPECT_EQ(passes_of(Direction::forward), 1);
  EXPECT_EQ(passes_of(Direction::both), 2);
}

TEST(ShapeBounds, OfThePeer) {
  EXPECT_DOUBLE_EQ(peer_seconds({16, 1, 2097151}, "f32", Direction::forward), 82.4e-6);
  EXPECT_DOUBLE_EQ(peer_seconds({20, 256, 784}, "f16", Direction::both), 29.6e-6);
  EXPECT_EQ(peer_seconds({20, 256, 784}, "f16", Direction::backward), 0);
  EXPECT_EQ(peer_seconds({20, 256, 785}, "f16", Direction::both), 0);
  EXPECT_EQ(peer_seconds({20, 256, 784}, "f64", Direction::both), 0);
  // Two thirds of it both ways, from 2^20 elements and 4 steps on.
  EXPECT_DOUBLE_EQ(bound_by_peer(30e-6, {4, 1, 1 << 18}, Direction::both), 20e-6);
  EXPECT_DOUBLE_EQ(bound_by_peer(30e-6, {4, 1, 1 << 18}, Direction::forward), 30e-6);
  EXPECT_DOUBLE_EQ(bound_by_peer(30e-6, {3, 1, 1 << 20}, Direction::both), 30e-6);
  EXPECT_DOUBLE_EQ(bound_by_peer(30e-6, {4, 1, (1 << 18) - 1}, Direction::both), 30e-6);
  EXPECT_TRUE(is_device_of_peer("NVIDIA H200"));
  EXPECT_FALSE(is_device_of_peer("NVIDIA H100 80GB HBM3"));
}

TEST(ShapeBytes, CountSequencesStateAndTapeWithoutRounding) {
  const Job job = job_of({33, 3, 5});
  // X, a word for each row, V in and out, and two checkpoints.
  EXPECT_EQ(shape_traffic(job, Direction::forward).sequences, 33U * 3 * 5 * 4 + 33 * 3 * 4);
  EXPECT_EQ(shape_traffic(job, Direction::forward).all, 33U * 3 * 5 * 4 + 33 * 3 * 4 + 4 * 15 * 4);
  // X, dL/dS and dL/dX, and the checkpoints.
  EXPECT_EQ(shape_traffic(job, Direction::backward).all, 3U * 33 * 3 * 5 * 4 + 2 * 15 * 4);
  EXPECT_EQ(shape_traffic(job, Direction::both).all,
            shape_traffic(job, Direction::forward).all + shape_traffic(job, Direction::backward).all);
  // The state of a 16-bit layer is f32.
  EXPECT_EQ(shape_traffic(job_of({1, 1, 8}, "f16"), Direction::forward).all, 8U * 2 + 4 + 3 * 8 * 4);
}

ShapeResult result_of(const PlacedShape& placed, std::uint64_t bytes = 1000, std::uint64_t reference_bytes = 2000) {
  ShapeResult result;
  result.placed = &placed;
  result.job = job_of(placed.shape);
  result.traffic = {bytes, bytes};
  result.reference_traffic = {reference_bytes, reference_bytes};
  result.reference_seconds = 20e-6;
  result.smallest_reference_seconds = 1.5e-6;
  result.seconds = 11.9e-6;
  return result;
}

// Two neurons over 50 steps: their bytes are 1/50 of the reference's, which is also the smallest one.
TEST(ShapeResult, TinyShapesAreBoundByLatency) {
  PlacedShape placed{};
  placed.shape = {50, 1, 2};
  ShapeResult result = result_of(placed, 640, 32000);
  result.reference_seconds = result.smallest_reference_seconds = 2.4e-6;
  result.seconds = 2.6e-6;
  EXPECT_DOUBLE_EQ(result.scaled_seconds(), 0.048e-6);
  EXPECT_DOUBLE_EQ(result.bytes_bound(), 1.0528e-6);
  EXPECT_DOUBLE_EQ(result.bound(), 2.64e-6);
  EXPECT_TRUE(result.is_bound_by_latency());
  EXPECT_EQ(result.passed_bounds(), "");
  // It does not excuse more than a tenth more than that; on the host, for more than 15 %.
  result.seconds = 2.65e-6;
  EXPECT_EQ(result.passed_bounds(), "reference");
  result.host = true;
  EXPECT_EQ(result.passed_bounds(), "");
  result.seconds = 2.77e-6;
  EXPECT_EQ(result.passed_bounds(), "reference");
  // Nor for more than the reference itself allows.
  result.reference_seconds = 2.2e-6;
  EXPECT_DOUBLE_EQ(result.latency_bound(), 1.15 * 2.2e-6);
  // Both ways there are two passes in the smallest reference as well: 1 us is not added to it.
  result = result_of(placed, 640, 32000);
  result.direction = Direction::both;
  result.reference_seconds = result.smallest_reference_seconds = 10e-6;
  EXPECT_DOUBLE_EQ(result.bytes_bound(), 2.22e-6);
  EXPECT_DOUBLE_EQ(result.bound(), 11e-6);
}

TEST(ShapeResult, LatencyChangesNothingWhereBytesAllowMore) {
  PlacedShape placed{};
  placed.shape = {1, 1, 2097152};
  // A large shape of one step, whose reference has eight.
  ShapeResult result = result_of(placed, 16, 100);
  result.reference_seconds = 50e-6;
  result.smallest_reference_seconds = 1.8e-6;
  result.seconds = 20e-6;
  EXPECT_DOUBLE_EQ(result.bound(), result.bytes_bound());
  EXPECT_DOUBLE_EQ(result.bound(), 9.8e-6);
  EXPECT_FALSE(result.is_bound_by_latency());
  EXPECT_EQ(result.passed_bounds(), "reference");
  // Both bounds are the same at the limit, so a little more or less of the latency moves the bound no further.
  result.smallest_reference_seconds = result.bytes_bound() / 1.10;
  EXPECT_NEAR(result.bound(), 9.8e-6, 1e-18);
  result.smallest_reference_seconds *= 1.001;
  EXPECT_TRUE(result.is_bound_by_latency());
  EXPECT_NEAR(result.bound(), 9.8e-6, 0.01e-6);
  result.smallest_reference_seconds *= 0.998;
  EXPECT_FALSE(result.is_bound_by_latency());
  EXPECT_DOUBLE_EQ(result.bound(), 9.8e-6);
  // More bytes than the reference, such as a packed word for each row of one neuron: bytes bind, and nothing is less
  // than they allow.
  result.traffic = {150, 150};
  result.smallest_reference_seconds = 50e-6;
  EXPECT_DOUBLE_EQ(result.bound(), 1.10 * 75e-6 + 1e-6);
}

TEST(ShapeResult, NamesTheBoundsThatArePassed) {
  PlacedShape placed{};
  placed.shape = {20, 256, 784};
  ShapeResult result = result_of(placed);
  EXPECT_DOUBLE_EQ(result.ratio(), 1.19);
  EXPECT_EQ(result.passed_bounds(), "");
  result.seconds = 12.1e-6;
  EXPECT_EQ(result.passed_bounds(), "reference");
  result.host = true;
  EXPECT_EQ(result.passed_bounds(), "");
  result.host = false;
  result.one_step_less_seconds = 12.6e-6;
  EXPECT_EQ(result.passed_bounds(), "reference,T-1");
  // Both ways there are two passes, and two thirds of the peer's time.
  result = result_of(placed);
  result.direction = Direction::both;
  result.peer_seconds = 17e-6;
  EXPECT_EQ(result.passed_bounds(), "");
  result.peer_counts = true;
  EXPECT_EQ(result.passed_bounds(), "peer");
  result.peer_seconds = 18e-6;
  EXPECT_EQ(result.passed_bounds(), "");
}

TEST(ShapePicture, HasAPanelForEachDirectionAndOneForThePeer) {
  PlacedShape placed{};
  placed.shape = {20, 256, 784};
  std::vector<ShapeResult> results = {result_of(placed), result_of(placed)};
  results[1].direction = Direction::backward;
  results[1].seconds = 15e-6;
  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  const std::string picture = draw_shapes("Every shape", "a <device>", results);
  EXPECT_EQ(picture.compare(0, 5, "<svg "), 0);
  EXPECT_EQ(count(picture, "class=\"panel\""), 2U);
  EXPECT_EQ(count(picture, "a &lt;device&gt;"), 1U);
  EXPECT_EQ(count(picture, "stroke=\"#c00000\""), 1U);  // the one that passes its bound
  // Beyond the bound by bytes, but bound by latency.
  results[1].smallest_reference_seconds = 14e-6;
  const std::string pale = draw_shapes("Every shape", "", results);
  EXPECT_EQ(count(pale, "stroke=\"#c00000\""), 0U);
  EXPECT_EQ(count(picture, "fill-opacity=\"0.25\""), 0U);
  EXPECT_EQ(count(pale, "fill-opacity=\"0.25\""), 1U);
  results[0].peer_seconds = 6.8e-6;
  EXPECT_EQ(count(draw_shapes("Every shape", "", results), "class=\"panel\""), 3U);
}

}  // namespace
