// Batches gathered from a data set, against the definition: every element type, shapes and alignments of all kinds,
// rows that do not exist, and data sets in pinned memory.
#include <algorithm>
#include <cstdlib>

#include "graph_support.hpp"
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
const int32_t every_type[] = {SYNFIRE_DTYPE_F32,  SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16,
                              SYNFIRE_DTYPE_BF16, SYNFIRE_DTYPE_U8,  SYNFIRE_DTYPE_BITS,
                              SYNFIRE_DTYPE_U32,  SYNFIRE_DTYPE_U64, SYNFIRE_DTYPE_TIME_BITS};
const Placement placements[] = {{0, 0}, {1, 0}, {0, 3}, {3, 5}, {2, 16}};

struct Case {
  int32_t dtype = SYNFIRE_DTYPE_F32;
  int64_t n_rows = 1, n_steps = 1, n_elements = 1, batch = 1;

  // As stored: packed spikes have words.
  size_t steps() const { return static_cast<size_t>(dtype == SYNFIRE_DTYPE_TIME_BITS ? (n_steps + 31) / 32 : n_steps); }
  size_t elements() const {
    return static_cast<size_t>(dtype == SYNFIRE_DTYPE_BITS ? (n_elements + 31) / 32 : n_elements);
  }
  size_t row() const { return steps() * elements(); }
  size_t rows() const { return static_cast<size_t>(n_rows); }
  size_t size() const { return static_cast<size_t>(batch) * row(); }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << "dtype " << c.dtype << " [" << c.n_rows << ", " << c.n_steps << ", " << c.n_elements << "] batch "
             << c.batch;
}

synfire_gather_rows_desc describe(const Case& c, synfire_buffer source, synfire_buffer indices, synfire_buffer into,
                                  synfire_buffer n_active = nullptr, synfire_buffer lengths = nullptr) {
  synfire_gather_rows_desc desc = SYNFIRE_GATHER_ROWS_DESC_INIT;
  desc.n_rows = c.n_rows;
  desc.n_steps = c.n_steps == 1 ? 0 : c.n_steps;
  desc.n_elements = c.n_elements;
  desc.batch = c.batch == 1 ? 0 : c.batch;
  desc.source = source;
  desc.indices = indices;
  desc.n_active = n_active;
  desc.destination = into;
  desc.lengths = lengths;
  return desc;
}

// [T, B, N] by definition, from the source's elements.
std::vector<double> expected(const Case& c, const std::vector<double>& source, const std::vector<uint32_t>& indices,
                             uint64_t n_active = ~uint64_t{0}) {
  std::vector<double> batch;
  for (size_t t = 0; t < c.steps(); ++t)
    for (size_t b = 0; b < indices.size(); ++b)
      for (size_t n = 0; n < c.elements(); ++n) {
        const bool exists = b < n_active && indices[b] < c.rows();
        batch.push_back(exists ? source[indices[b] * c.row() + t * c.elements() + n] : 0);
      }
  return batch;
}

// Integers from 1 on, which every type represents.
std::vector<double> elements_of(const Case& c, uint64_t seed) {
  Random random(seed);
  std::vector<double> values(c.rows() * c.row());
  for (double& value : values) value = static_cast<double>(random.whole(1, 255));
  return values;
}

std::vector<uint32_t> random_indices(const Case& c, uint64_t seed) {
  Random random(seed);
  std::vector<uint32_t> indices(static_cast<size_t>(c.batch));
  for (uint32_t& index : indices) index = static_cast<uint32_t>(random.whole(0, c.n_rows - 1));
  return indices;
}

Buffer numbers(synfire_context context, const std::vector<uint32_t>& values, int32_t memory = SYNFIRE_MEMORY_DEVICE) {
  Buffer buffer = make_frame(context, values.size(), memory, SYNFIRE_DTYPE_U32);
  upload(buffer, values);
  return buffer;
}

Rows batch_rows(synfire_context context, const Case& c, Placement placement = {}) {
  return Rows(context, c.dtype, c.steps(), static_cast<size_t>(c.batch) * c.elements(), placement);
}

int32_t record(synfire_graph graph, const synfire_gather_rows_desc& desc) {
  EXPECT_OK(synfire_graph_record_gather_rows(graph, &desc));
  int32_t operation = -1;
  EXPECT_OK(synfire_graph_get_last_operation(graph, &operation));
  return operation;
}

class GatherRows : public testing::Test {
 protected:
  Rows source_of(const Case& c, const std::vector<double>& values, Placement placement = {}) {
    Rows rows(context, c.dtype, c.rows(), c.row(), placement);
    rows.put(values);
    return rows;
  }

  const Context context = make_context();
};

TEST_F(GatherRows, EveryTypeShapeAndAlignment) {
  uint64_t count = 0;
  for (const int32_t dtype : every_type)
    for (const int64_t n_steps : {1, 2, 33})
      for (const int64_t n_elements : {1, 3, 4, 7, 16, 33, 129, 700})
        for (const int64_t batch : {1, 5, 32}) {
          if (!sampled(count++)) continue;
          const Case c{dtype, 1 + static_cast<int64_t>(count % 9), n_steps, n_elements, batch};
          const Placement from = placements[count % 5], to = placements[count / 5 % 5];
          SCOPED_TRACE(testing::Message() << c << " lead " << from.lead << ", " << to.lead << " padding "
                                          << from.padding << ", " << to.padding);
          const std::vector<double> values = elements_of(c, count);
          const std::vector<uint32_t> indices = random_indices(c, count);
          const Rows source = source_of(c, values, from);
          const Buffer chosen = numbers(context, indices);
          Rows into = batch_rows(context, c, to);
          const auto desc = describe(c, source, chosen, into);
          ASSERT_OK(synfire_gather_rows(context, &desc, nullptr));
          ASSERT_TRUE(same_bits(into.get(), expected(c, values, indices)));
          const Graph graph = make_graph(context);
          record(graph, desc);
          ASSERT_OK(synfire_graph_instantiate(graph));
          into.poison();
          replay(graph);
          ASSERT_TRUE(same_bits(into.get(), expected(c, values, indices))) << "in a graph";
        }
}

// Rows of bytes at every position within a word, on both sides.
TEST_F(GatherRows, BytesAtAnyAddress) {
  for (size_t from = 0; from < 5; ++from)
    for (size_t to = 0; to < 5; ++to)
      for (const int64_t n_elements : {1, 2, 3, 5, 6, 13, 130, 513, 1027}) {
        const Case c{SYNFIRE_DTYPE_U8, 4, 2, n_elements, 3};
        const std::vector<double> values = elements_of(c, from * 7 + to);
        const std::vector<uint32_t> indices = {3, 0, 2};
        const Rows source = source_of(c, values, {from, to}), into = batch_rows(context, c, {to, from});
        const Buffer chosen = numbers(context, indices);
        const auto desc = describe(c, source, chosen, into);
        ASSERT_OK(synfire_gather_rows(context, &desc, nullptr));
        ASSERT_TRUE(same_bits(into.get(), expected(c, values, indices))) << c << " from " << from << " to " << to;
      }
}

// A copy, not an assignment of numbers: the payload of a NaN and the sign of a zero stay.
TEST_F(GatherRows, BitsAreCopied) {
  const std::vector<uint32_t> bits = {0x7F800001, 0xFFC12345, 0x80000000, 0x00000001};
  const Buffer source = make_buffer(context, SYNFIRE_DTYPE_F32, 4), into = make_buffer(context, SYNFIRE_DTYPE_F32, 4);
  upload(source, bits);
  const Buffer chosen = numbers(context, {3, 2, 1, 0});
  const auto desc = describe({SYNFIRE_DTYPE_F32, 4, 1, 1, 4}, source, chosen, into);
  ASSERT_OK(synfire_gather_rows(context, &desc, nullptr));
  EXPECT_EQ(download<uint32_t>(into, 4), std::vector<uint32_t>(bits.rbegin(), bits.rend()));
}

TEST_F(GatherRows, RowsThatDoNotExistAreZero) {
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_BITS})
    for (const int64_t n_elements : {1, 5, 128}) {
      const Case c{dtype, 10, 3, n_elements, 6};
      const std::vector<double> values = elements_of(c, 5);
      const std::vector<uint32_t> indices = {9, 10, 0, 0xFFFFFFFF, 0x80000000, 4};
      const Rows source = source_of(c, values);
      const Buffer chosen = numbers(context, indices), n_active = make_buffer(context, SYNFIRE_DTYPE_U32, 1);
      Rows into = batch_rows(context, c);
      const Graph graph = make_graph(context);
      const auto desc = describe(c, source, chosen, into, n_active);
      record(graph, desc);
      ASSERT_OK(synfire_graph_instantiate(graph));
      for (const uint32_t active : {0u, 1u, 5u, 6u, 7u, 0xFFFFFFFFu}) {
        upload(n_active, std::vector<uint32_t>{active});
        into.poison();
        ASSERT_OK(synfire_gather_rows(context, &desc, nullptr));
        EXPECT_TRUE(same_bits(into.get(), expected(c, values, indices, active))) << c << " active " << active;
        into.poison();
        replay(graph);
        EXPECT_TRUE(same_bits(into.get(), expected(c, values, indices, active))) << c << " active " << active;
      }
    }
}

// Steps from the length of a row on are zero in every format, even where rows do not exist, whatever the source holds.
TEST_F(GatherRows, StepsBeyondTheLengthAreZero) {
  uint64_t count = 0;
  for (const int32_t dtype : every_type)
    for (const int64_t n_steps : {1, 2, 31, 32, 33, 70})
      for (const int64_t n_elements : {1, 3, 4, 16, 129}) {
        ++count;
        const Case c{dtype, 4, n_steps, n_elements, 9};
        const Placement from = placements[count % 5], to = placements[count / 5 % 5];
        SCOPED_TRACE(testing::Message() << c << " lead " << from.lead << ", " << to.lead);
        std::vector<double> values = elements_of(c, count);
        if (is_packed(dtype))
          for (double& value : values) value = 4294967295.0 - value;
        const std::vector<uint32_t> indices = {3, 0, 2, 2, 1, 4, 0, 3, 1},
                                    lengths = {0, 1, 31, 32, 33, 70, 64, 5, 0xFFFFFFFF};
        std::vector<double> kept = expected(c, values, indices);
        for (size_t t = 0; t < c.steps(); ++t)
          for (size_t b = 0; b < indices.size(); ++b)
            for (size_t n = 0; n < c.elements(); ++n) {
              double& value = kept[(t * indices.size() + b) * c.elements() + n];
              if (dtype != SYNFIRE_DTYPE_TIME_BITS) {
                value = t < lengths[b] ? value : 0;
                continue;
              }
              uint64_t word = 0;
              for (size_t k = 0; k < 32; ++k)
                if (32 * t + k < lengths[b]) word |= static_cast<uint64_t>(value) & (uint64_t{1} << k);
              value = static_cast<double>(word);
            }
        const Rows source = source_of(c, values, from);
        const Buffer chosen = numbers(context, indices), steps = numbers(context, lengths);
        Rows into = batch_rows(context, c, to);
        const auto desc = describe(c, source, chosen, into, nullptr, steps);
        ASSERT_OK(synfire_gather_rows(context, &desc, nullptr));
        ASSERT_TRUE(same_bits(into.get(), kept));
        const Graph graph = make_graph(context);
        record(graph, desc);
        ASSERT_OK(synfire_graph_instantiate(graph));
        into.poison();
        replay(graph);
        ASSERT_TRUE(same_bits(into.get(), kept)) << "in a graph";
      }
}

// Enough for several threads on the host: by bytes, and by the number of short rows.
TEST_F(GatherRows, AnyNumberOfThreadsGivesTheSame) {
  for (const Case& c : {Case{SYNFIRE_DTYPE_F32, 50, 20, 701, 40}, Case{SYNFIRE_DTYPE_U8, 1000, 1, 1, 70'001},
                        Case{SYNFIRE_DTYPE_F16, 33, 999, 1, 64}}) {
    const std::vector<double> values = elements_of(c, 8);
    const std::vector<uint32_t> indices = random_indices(c, 9);
    for (const int32_t n_threads : {1, 2, 4}) {
      const Context threads = make_context(n_threads);
      Rows source(threads, c.dtype, c.rows(), c.row());
      source.put(values);
      const Rows into = batch_rows(threads, c);
      const Buffer chosen = numbers(threads, indices);
      const auto desc = describe(c, source, chosen, into);
      ASSERT_OK(synfire_gather_rows(threads, &desc, nullptr));
      EXPECT_TRUE(same_bits(into.get(), expected(c, values, indices))) << c << " on " << n_threads << " threads";
    }
  }
}

// Labels: one number per row.
TEST_F(GatherRows, ShapesOfBuffersAreChecked) {
  const auto shaped = [&](int32_t dtype, std::initializer_list<uint64_t> lengths) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    std::copy(lengths.begin(), lengths.end(), desc.shape);
    synfire_buffer handle = nullptr;
    EXPECT_OK(synfire_buffer_create(context, &desc, &handle));
    return Buffer(handle);
  };
  const Buffer chosen = numbers(context, {1, 0});
  const auto gathers = [&](const Case& c, const Buffer& source, const Buffer& into) {
    const auto desc = describe(c, source, chosen, into);
    return synfire_gather_rows(context, &desc, nullptr);
  };
  const Case c{SYNFIRE_DTYPE_F32, 4, 3, 5, 2}, bits{SYNFIRE_DTYPE_BITS, 4, 3, 70, 2},
      time_bits{SYNFIRE_DTYPE_TIME_BITS, 4, 65, 5, 2}, labels{SYNFIRE_DTYPE_U32, 4, 1, 1, 2};
  EXPECT_OK(gathers(c, shaped(c.dtype, {4, 3, 5}), shaped(c.dtype, {3, 2, 5})));
  EXPECT_OK(gathers(bits, shaped(bits.dtype, {4, 3, 3}), shaped(bits.dtype, {3, 2, 3})));
  EXPECT_OK(gathers(time_bits, shaped(time_bits.dtype, {4, 3, 5}), shaped(time_bits.dtype, {3, 2, 5})));
  EXPECT_OK(gathers(labels, shaped(labels.dtype, {4}), shaped(labels.dtype, {2})));
  EXPECT_FAILS(refused, WORDS("SYN-BUFFER-SHAPE", "desc.source"),
               gathers(c, shaped(c.dtype, {3, 4, 5}), shaped(c.dtype, {3, 2, 5})));
  EXPECT_FAILS(refused, WORDS("SYN-BUFFER-SHAPE", "desc.destination"),
               gathers(c, shaped(c.dtype, {4, 3, 5}), shaped(c.dtype, {2, 3, 5})));
}

// ---- In graphs ------------------------------------------------------------------------------------------------------

class GatherReplays : public GatherRows {
 protected:
  const Case c{SYNFIRE_DTYPE_F32, 12, 4, 9, 3};
  const std::vector<double> values = elements_of(c, 3);
  const std::vector<uint32_t> indices = {7, 2, 11};
};

TEST_F(GatherReplays, ADisabledOneLeavesTheBatch) {
  const Rows source = source_of(c, values);
  const Buffer chosen = numbers(context, indices);
  Rows into = batch_rows(context, c);
  const Graph graph = make_graph(context);
  const int32_t operation = record(graph, describe(c, source, chosen, into));
  ASSERT_OK(synfire_graph_instantiate(graph));
  const std::vector<double> poison = into.get();
  EXPECT_OK(synfire_graph_set_enabled(graph, operation, 0));
  replay(graph);
  EXPECT_TRUE(same_bits(into.get(), poison));
  EXPECT_OK(synfire_graph_set_enabled(graph, operation, 1));
  replay(graph);
  EXPECT_TRUE(same_bits(into.get(), expected(c, values, indices)));
}

TEST_F(GatherReplays, OtherBuffers) {
  const std::vector<double> other_values = elements_of(c, 4);
  const Rows source = source_of(c, values), other_source = source_of(c, other_values);
  const Buffer chosen = numbers(context, indices), other_chosen = numbers(context, {0, 1, 99});
  const Rows into = batch_rows(context, c), other_into = batch_rows(context, c);
  const Graph graph = make_graph(context);
  record(graph, describe(c, source, chosen, into));
  ASSERT_OK(synfire_graph_instantiate(graph));
  ASSERT_OK(synfire_graph_rebind(graph, source, other_source));
  replay(graph);
  EXPECT_TRUE(same_bits(into.get(), expected(c, other_values, indices)));
  ASSERT_OK(synfire_graph_rebind(graph, chosen, other_chosen));
  ASSERT_OK(synfire_graph_rebind(graph, into, other_into));
  replay(graph);
  EXPECT_TRUE(same_bits(other_into.get(), expected(c, other_values, {0, 1, 99})));
  EXPECT_TRUE(same_bits(into.get(), expected(c, other_values, indices))) << "no longer written";
}

TEST_F(GatherReplays, DotShowsIt) {
  const Rows source = source_of(c, values), into = batch_rows(context, c);
  const Graph graph = make_graph(context);
  record(graph, describe(c, source, numbers(context, indices), into));
  char text[4096] = "";
  uint64_t bytes = sizeof text;
  ASSERT_OK(synfire_graph_write_dot(graph, text, &bytes));
  EXPECT_NE(std::string_view(text).find("gather rows"), std::string_view::npos) << text;
  EXPECT_NE(std::string_view(text).find("[4, 3, 9] of 12 rows"), std::string_view::npos) << text;
}

// The data set is read where it is: slots have no copies of it, and what the host changes there the next replay sees.
TEST_F(GatherReplays, APinnedDataSetIsReadInPlace) {
  for (const uint32_t n_slots : {0u, 1u, 3u, static_cast<uint32_t>(SYNFIRE_SLOTS_SHARED)}) {
    const Buffer source = make_frame(context, values.size()), into = make_frame(context, c.size());
    const Buffer chosen = numbers(context, indices, SYNFIRE_MEMORY_PINNED);
    std::copy(values.begin(), values.end(), data_of(source));
    const Graph graph = make_slotted_graph(context, n_slots);
    record(graph, describe(c, source, chosen, into));
    ASSERT_OK(synfire_graph_instantiate(graph));
    for (uint64_t i = 0; i < 5; ++i) {
      std::vector<double> now = values;
      for (size_t k = 0; k < now.size(); ++k) data_of(source)[k] = static_cast<float>(now[k] += static_cast<double>(i));
      const uint64_t ticket = launch(graph);
      wait(graph, ticket);
      const float* const got = slot_of(graph, ticket, into);
      EXPECT_TRUE(same_bits(std::vector<double>(got, got + c.size()), expected(c, now, indices)))
          << n_slots << " slots, replay " << i;
      EXPECT_EQ(slot_of(graph, ticket, source), data_of(source));
    }
  }
}

// With no other pinned buffer, any number of replays may be in flight.
TEST_F(GatherReplays, APinnedDataSetDoesNotLimitReplays) {
  const Buffer source = make_frame(context, values.size());
  std::copy(values.begin(), values.end(), data_of(source));
  const Rows into = batch_rows(context, c);
  const Graph graph = make_graph(context);
  record(graph, describe(c, source, numbers(context, indices), into));
  ASSERT_OK(synfire_graph_instantiate(graph));
  uint64_t ticket = 0;
  for (int i = 0; i < 20; ++i) ticket = launch(graph);
  wait(graph, ticket);
  EXPECT_TRUE(same_bits(into.get(), expected(c, values, indices)));
}

// Used by another operation as well, the buffer has copies; the gather reads the buffer's own memory all the same.
TEST_F(GatherReplays, APinnedDataSetThatIsAlsoCopied) {
  const Buffer source = make_frame(context, values.size()), copied = make_frame(context, values.size());
  const Rows into = batch_rows(context, c);
  std::copy(values.begin(), values.end(), data_of(source));
  const Graph graph = make_slotted_graph(context, 2);
  record_copy(graph, source, copied);
  record(graph, describe(c, source, numbers(context, indices), into));
  ASSERT_OK(synfire_graph_instantiate(graph));
  for (int i = 0; i < 3; ++i) {
    float* const mine = slot_of(graph, 0, source);
    EXPECT_EQ(mine == data_of(source), i % 2 == 0);
    if (i % 2 == 1) std::fill_n(mine, values.size(), -1.0f);
    replay(graph);
    EXPECT_TRUE(same_bits(into.get(), expected(c, values, indices))) << "replay " << i;
  }
}

// Gathers rows that an earlier operation writes in the same replay.
TEST_F(GatherReplays, AfterTheDataSetWasWritten) {
  const Rows source = source_of(c, values);
  const Buffer chosen = numbers(context, {0, 0, 0}), fresh = numbers(context, indices);
  const Rows into = batch_rows(context, c);
  const Graph graph = make_graph(context);
  record_copy(graph, fresh, chosen);
  record(graph, describe(c, source, chosen, into));
  ASSERT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  EXPECT_TRUE(same_bits(into.get(), expected(c, values, indices)));
}

// ---- What is refused ------------------------------------------------------------------------------------------------

class GatherErrors : public GatherReplays {
 protected:
  template <typename Change>
  void expect_bad(synfire_status status, std::initializer_list<std::string_view> words, Change change) {
    auto desc = describe(c, source, chosen, into, n_active);
    change(desc);
    EXPECT_FAILS(status, words, synfire_gather_rows(context, &desc, nullptr));
    EXPECT_FAILS(status, words, synfire_graph_record_gather_rows(graph, &desc));
  }
  void TearDown() override {
    EXPECT_TRUE(same_bits(into.get(), poison)) << "a refused call wrote";
    record(graph, describe(c, source, chosen, into, n_active));
    ASSERT_OK(synfire_graph_instantiate(graph));
    replay(graph);
    EXPECT_TRUE(same_bits(into.get(), expected(c, values, indices, 2))) << "the graph, after all";
  }

  const Rows source = source_of(c, values), into = batch_rows(context, c);
  const std::vector<double> poison = into.get();
  const Buffer chosen = numbers(context, indices), n_active = numbers(context, {2});
  const Graph graph = make_graph(context);
};

TEST_F(GatherErrors, Lengths) {
  for (const int64_t bad : {int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    expect_bad(refused, {"SYN-GATHER-SHAPE", "n_rows"}, [&](auto& desc) { desc.n_rows = bad; });
    expect_bad(refused, {"SYN-GATHER-SHAPE", "n_steps"}, [&](auto& desc) { desc.n_steps = bad; });
    expect_bad(refused, {"SYN-GATHER-SHAPE", "n_elements"}, [&](auto& desc) { desc.n_elements = bad; });
    expect_bad(refused, {"SYN-GATHER-SHAPE", "batch"}, [&](auto& desc) { desc.batch = bad; });
  }
  expect_bad(refused, {"SYN-GATHER-SHAPE", "n_rows"}, [&](auto& desc) { desc.n_rows = 0; });
  expect_bad(refused, {"SYN-GATHER-SHAPE", "n_elements"}, [&](auto& desc) { desc.n_elements = 0; });
  const auto memory = SYNFIRE_ERROR_OUT_OF_MEMORY;
  expect_bad(memory, {"SYN-GATHER-OVERFLOW", "n_rows"}, [](auto& desc) { desc.n_rows = int64_t{1} << 60; });
  expect_bad(memory, {"SYN-GATHER-OVERFLOW", "batch"}, [](auto& desc) { desc.batch = int64_t{1} << 60; });
  expect_bad(refused, {"SYN-RESERVED"}, [](auto& desc) { desc.reserved = 1; });
}

TEST_F(GatherErrors, Types) {
  for (const int32_t type : every_type) {
    const Buffer wrong = make_buffer(context, type, 1000);
    if (type != c.dtype) {
      expect_bad(refused, {"SYN-GATHER-TYPE", "desc.source"}, [&](auto& desc) { desc.source = wrong; });
      expect_bad(refused, {"SYN-GATHER-TYPE", "desc.destination"}, [&](auto& desc) { desc.destination = wrong; });
    }
    if (type == SYNFIRE_DTYPE_U32) continue;
    expect_bad(refused, {"SYN-BUFFER-TYPE", "desc.indices"}, [&](auto& desc) { desc.indices = wrong; });
    expect_bad(refused, {"SYN-BUFFER-TYPE", "desc.n_active"}, [&](auto& desc) { desc.n_active = wrong; });
    expect_bad(refused, {"SYN-BUFFER-TYPE", "desc.lengths"}, [&](auto& desc) { desc.lengths = wrong; });
  }
}

TEST_F(GatherErrors, Sizes) {
  const Buffer small_source = make_buffer(context, c.dtype, values.size() - 1),
               small_into = make_buffer(context, c.dtype, c.size() - 1),
               small_chosen = make_buffer(context, SYNFIRE_DTYPE_U32, 2);
  expect_bad(refused, {"SYN-BUFFER-SIZE", "desc.source"}, [&](auto& desc) { desc.source = small_source; });
  expect_bad(refused, {"SYN-BUFFER-SIZE", "desc.destination"}, [&](auto& desc) { desc.destination = small_into; });
  expect_bad(refused, {"SYN-BUFFER-SIZE", "desc.indices"}, [&](auto& desc) { desc.indices = small_chosen; });
  synfire_buffer_desc narrow = SYNFIRE_BUFFER_DESC_INIT;
  narrow.n_elements = 10 * values.size();
  narrow.row_pitch = 26;  // a row of the source has 36, a step of the destination 27
  synfire_buffer handle = nullptr;
  ASSERT_OK(synfire_buffer_create(context, &narrow, &handle));
  const Buffer overlapping(handle);
  expect_bad(refused, {"SYN-BUFFER-PITCH", "desc.source"}, [&](auto& desc) { desc.source = overlapping; });
  expect_bad(refused, {"SYN-BUFFER-PITCH", "desc.destination"}, [&](auto& desc) { desc.destination = overlapping; });
}

TEST_F(GatherErrors, Overlaps) {
  const Buffer large = make_buffer(context, SYNFIRE_DTYPE_F32, 1000);
  const Buffer front = make_window(context, large, SYNFIRE_DTYPE_F32, 0, values.size()),
               inside = make_window(context, large, SYNFIRE_DTYPE_F32, 4 * (values.size() - 1), c.size()),
               words = make_window(context, large, SYNFIRE_DTYPE_U32, 4 * values.size(), 3);
  expect_bad(refused, {"SYN-BUFFER-OVERLAP", "desc.destination"}, [&](auto& desc) {
    desc.source = front;
    desc.destination = inside;
  });
  expect_bad(refused, {"SYN-BUFFER-OVERLAP", "desc.destination"}, [&](auto& desc) {
    desc.indices = words;
    desc.destination = inside;
  });
  expect_bad(refused, {"SYN-BUFFER-OVERLAP", "desc.destination"}, [&](auto& desc) {
    desc.n_active = words;
    desc.destination = inside;
  });
}

TEST_F(GatherErrors, HandlesDescriptorsAndMemory) {
  const auto bad_handle = SYNFIRE_ERROR_INVALID_HANDLE;
  const Context elsewhere = make_context();
  const Buffer foreign = make_buffer(elsewhere, SYNFIRE_DTYPE_F32, values.size());
  using Field = synfire_buffer synfire_gather_rows_desc::*;
  const std::pair<const char*, Field> fields[] = {{"desc.source", &synfire_gather_rows_desc::source},
                                                  {"desc.indices", &synfire_gather_rows_desc::indices},
                                                  {"desc.n_active", &synfire_gather_rows_desc::n_active},
                                                  {"desc.lengths", &synfire_gather_rows_desc::lengths},
                                                  {"desc.destination", &synfire_gather_rows_desc::destination}};
  for (const auto& one : fields) {
    const char* const name = one.first;
    const Field field = one.second;
    expect_bad(bad_handle, {"SYN-HANDLE-FOREIGN", name}, [&](auto& desc) { desc.*field = foreign; });
    if (field == &synfire_gather_rows_desc::n_active || field == &synfire_gather_rows_desc::lengths) continue;
    expect_bad(bad_handle, {"SYN-HANDLE-NULL", name}, [&](auto& desc) { desc.*field = nullptr; });
  }
  for (const uint32_t size : {0u, 71u})
    expect_bad(SYNFIRE_ERROR_STRUCT_SIZE, {"SYN-STRUCT-SMALL"}, [&](auto& desc) { desc.struct_size = size; });
  EXPECT_FAILS(refused, WORDS("desc"), synfire_gather_rows(context, nullptr, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_graph_record_gather_rows(graph, nullptr));
  if (on_host()) return;
  const Buffer pageable = make_frame(context, values.size(), SYNFIRE_MEMORY_HOST);
  expect_bad(refused, {"SYN-BUFFER-KIND", "desc.source"}, [&](auto& desc) { desc.source = pageable; });
}

}  // namespace
}  // namespace synfire_test
