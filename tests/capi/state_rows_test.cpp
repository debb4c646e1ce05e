// The state of a layer by batch rows: reset (also by a mask), reading and writing, copies between layers, snapshots;
// eager and in graphs.
#include <algorithm>

#include "recording_support.hpp"

namespace synfire_test {
namespace {

template <typename Scalar>
class StateRows : public testing::Test {
 protected:
  static constexpr int64_t batch = 5, n_neurons = 37;
  static constexpr size_t row = static_cast<size_t>(n_neurons), all = static_cast<size_t>(batch * n_neurons);
  const Context context_ = make_context();

  Layer make(int32_t model = SYNFIRE_MODEL_IZHIKEVICH, int64_t b = batch, int64_t n = n_neurons,
             int32_t dtype = dtype_of<Scalar>, int32_t reset = SYNFIRE_RESET_HARD) const {
    synfire_layer_desc desc = describe(Shape{3, b, n}, dtype);
    desc.model = model;
    desc.reset = reset;
    return make_layer(context_, desc);
  }
  std::vector<Scalar> read(synfire_layer layer, const char* name, size_t count = all) const {
    std::vector<Scalar> values(count);
    EXPECT_OK(synfire_layer_read_state(layer, name, values.data(), count * sizeof(Scalar)));
    return values;
  }
  // Fills V and W with distinct numbers.
  std::pair<std::vector<Scalar>, std::vector<Scalar>> scramble(synfire_layer layer, uint64_t seed,
                                                               size_t count = all) const {
    Random random(seed);
    const auto v = random.values<Scalar>(count, -1, 1), w = random.values<Scalar>(count, -1, 1);
    EXPECT_OK(synfire_layer_write_state(layer, "v", v.data(), count * sizeof(Scalar)));
    EXPECT_OK(synfire_layer_write_state(layer, "w", w.data(), count * sizeof(Scalar)));
    return {v, w};
  }
  // Runs an operation eagerly, then in a replay.
  template <typename Eager, typename Record, typename Body>
  void both_ways(Eager eager, Record record, Body body) const {
    {
      SCOPED_TRACE("at once");
      body([&] { EXPECT_OK(eager()); });
    }
    SCOPED_TRACE("replayed");
    const Graph graph = make_graph(context_);
    EXPECT_OK(record(graph.get()));
    EXPECT_OK(synfire_graph_instantiate(graph));
    body([&] { replay(graph); });
  }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(StateRows, Scalars);

// ---- reset ----------------------------------------------------------------------------------------------------------

TYPED_TEST(StateRows, ResetOfARange) {
  const Layer layer = this->make();
  set_parameter(layer, "v_reset", {-0.25});
  for (const auto& rows : {std::pair<int64_t, int64_t>{0, 0}, {2, 0}, {1, 3}, {4, 1}, {0, 5}}) {
    const int64_t first = rows.first, count = rows.second;
    SCOPED_TRACE(testing::Message() << first << ", " << count);
    const synfire_state_desc desc = rows_desc(first, count);
    this->both_ways([&] { return synfire_layer_reset_rows(layer, &desc, nullptr); },
                    [&](synfire_graph graph) { return synfire_graph_record_reset_rows(graph, layer, &desc); },
                    [&](auto run) {
                      auto [v, w] = this->scramble(layer, 1);
                      run();
                      const int64_t end = count == 0 ? this->batch : first + count;
                      for (auto i = static_cast<size_t>(first) * this->row; i < static_cast<size_t>(end) * this->row;
                           ++i) {
                        v[i] = TypeParam(-0.25);
                        w[i] = 0;
                      }
                      EXPECT_TRUE(same_bits(this->read(layer, "v"), v));
                      EXPECT_TRUE(same_bits(this->read(layer, "w"), w));
                    });
  }
}

TYPED_TEST(StateRows, ResetByAMask) {
  const Layer layer = this->make();
  Random random(3);
  std::vector<double> v_reset = random.values<double>(this->row, -1, 0);
  set_parameter(layer, "v_reset", v_reset);
  for (const int32_t memory : {SYNFIRE_MEMORY_DEVICE, SYNFIRE_MEMORY_PINNED}) {
    const Buffer mask = make_frame(this->context_, static_cast<uint64_t>(this->batch), memory, SYNFIRE_DTYPE_U8);
    for (const std::vector<uint8_t>& bytes :
         {std::vector<uint8_t>{0, 1, 0, 255, 0}, {1, 1, 1, 1, 1}, {0, 0, 0, 0, 0}, {1, 0, 0, 0, 8}})
      for (const auto& rows : {std::pair<int64_t, int64_t>{0, 0}, {1, 3}}) {
        const int64_t first = rows.first, count = rows.second;
        SCOPED_TRACE(testing::Message() << testing::PrintToString(bytes) << first);
        const synfire_state_desc desc = rows_desc(first, count, mask);
        this->both_ways([&] { return synfire_layer_reset_rows(layer, &desc, nullptr); },
                        [&](synfire_graph graph) { return synfire_graph_record_reset_rows(graph, layer, &desc); },
                        [&](auto run) {
                          EXPECT_OK(synfire_buffer_upload(mask, 0, bytes.data(), bytes.size()));
                          auto [v, w] = this->scramble(layer, 2);
                          run();
                          const int64_t end = count == 0 ? this->batch : first + count;
                          for (int64_t b = first; b < end; ++b)
                            for (size_t i = 0; i < this->row && bytes[static_cast<size_t>(b)] != 0; ++i) {
                              v[static_cast<size_t>(b) * this->row + i] = static_cast<TypeParam>(v_reset[i]);
                              w[static_cast<size_t>(b) * this->row + i] = 0;
                            }
                          EXPECT_TRUE(same_bits(this->read(layer, "v"), v));
                          EXPECT_TRUE(same_bits(this->read(layer, "w"), w));
                        });
      }
  }
}

// Every replay reads the mask anew, as agents come and go.
TYPED_TEST(StateRows, AMaskChangesFromReplayToReplay) {
  const Layer layer =
      this->make(SYNFIRE_MODEL_LIF, this->batch, this->n_neurons, dtype_of<TypeParam>, SYNFIRE_RESET_SOFT);
  const Buffer mask =
      make_frame(this->context_, static_cast<uint64_t>(this->batch), SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_U8);
  void* data = nullptr;
  EXPECT_OK(synfire_buffer_get_data(mask, &data, nullptr));
  const Graph graph = make_graph(this->context_);
  const synfire_state_desc desc = rows_desc(0, 0, mask);
  EXPECT_OK(synfire_graph_record_reset_rows(graph, layer, &desc));
  EXPECT_OK(synfire_graph_instantiate(graph));
  std::vector<TypeParam> v(this->all, 1);
  EXPECT_OK(synfire_layer_write_state(layer, "v", v.data(), v.size() * sizeof(TypeParam)));
  for (size_t b = 0; b < static_cast<size_t>(this->batch); ++b) {
    std::fill_n(static_cast<uint8_t*>(data), this->batch, uint8_t{0});
    static_cast<uint8_t*>(data)[b] = 1;
    replay(graph);
    std::fill_n(v.begin() + static_cast<std::ptrdiff_t>(b * this->row), this->row, TypeParam(0));
    EXPECT_TRUE(same_bits(this->read(layer, "v"), v)) << b;
  }
}

// ---- reading and writing --------------------------------------------------------------------------------------------

TYPED_TEST(StateRows, ReadingARange) {
  const Layer layer = this->make();
  const auto [v, w] = this->scramble(layer, 4);
  for (const int32_t memory : {SYNFIRE_MEMORY_DEVICE, SYNFIRE_MEMORY_PINNED})
    for (const char* name : {static_cast<const char*>(nullptr), "v", "w"}) {
      const Buffer buffer = make_frame(this->context_, 3 * this->row + 2, memory, dtype_of<TypeParam>);
      const synfire_state_desc desc = rows_desc(1, 3, buffer, name);
      const auto& state = name && *name == 'w' ? w : v;
      this->both_ways([&] { return synfire_layer_read_rows(layer, &desc, nullptr); },
                      [&](synfire_graph graph) { return synfire_graph_record_read_rows(graph, layer, &desc); },
                      [&](auto run) {
                        EXPECT_OK(synfire_buffer_fill(buffer, 9));
                        run();
                        EXPECT_TRUE(same_bits(download<TypeParam>(buffer, 3 * this->row + 2),
                                              joined(slice(state, this->row, 3 * this->row), {9, 9})));
                      });
    }
}

TYPED_TEST(StateRows, WritingARange) {
  const Layer layer = this->make();
  Random random(5);
  const std::vector<TypeParam> values = random.values<TypeParam>(2 * this->row, -1, 1);
  for (const int32_t memory : {SYNFIRE_MEMORY_DEVICE, SYNFIRE_MEMORY_PINNED})
    for (const char* name : {"v", "w"}) {
      const Buffer buffer = make_frame(this->context_, 2 * this->row, memory, dtype_of<TypeParam>);
      upload(buffer, values);
      const synfire_state_desc desc = rows_desc(3, 0, buffer, name);
      this->both_ways([&] { return synfire_layer_write_rows(layer, &desc, nullptr); },
                      [&](synfire_graph graph) { return synfire_graph_record_write_rows(graph, layer, &desc); },
                      [&](auto run) {
                        auto [v, w] = this->scramble(layer, 6);
                        run();
                        auto& written = *name == 'w' ? w : v;
                        std::copy(values.begin(), values.end(),
                                  written.begin() + 3 * static_cast<std::ptrdiff_t>(this->row));
                        EXPECT_TRUE(same_bits(this->read(layer, "v"), v));
                        EXPECT_TRUE(same_bits(this->read(layer, "w"), w));
                      });
    }
}

TYPED_TEST(StateRows, ReadingAHalfPrecisionLayerGivesF32) {
  const Layer layer = this->make(SYNFIRE_MODEL_LIF, this->batch, this->n_neurons, SYNFIRE_DTYPE_F16);
  const Buffer buffer = make_buffer(this->context_, SYNFIRE_DTYPE_F32, this->all);
  const synfire_state_desc desc = rows_desc(0, 0, buffer);
  EXPECT_OK(synfire_layer_read_rows(layer, &desc, nullptr));
  EXPECT_TRUE(all_are(download<float>(buffer, this->all), 0.0f));
}

// ---- From layer to layer --------------------------------------------------------------------------------------------

TYPED_TEST(StateRows, CopyBetweenLayers) {
  const Layer source = this->make(), destination = this->make(SYNFIRE_MODEL_IZHIKEVICH, 3);
  const size_t three = 3 * this->row;
  synfire_copy_rows_desc desc = SYNFIRE_COPY_ROWS_DESC_INIT;
  desc.source = source;
  desc.first_row = 3;
  desc.destination_row = 1;  // rows 3 and 4 to rows 1 and 2
  this->both_ways([&] { return synfire_layer_copy_rows(destination, &desc, nullptr); },
                  [&](synfire_graph graph) { return synfire_graph_record_copy_rows(graph, destination, &desc); },
                  [&](auto run) {
                    const auto [v, w] = this->scramble(source, 7);
                    const auto [v_before, w_before] = this->scramble(destination, 8, three);
                    run();
                    EXPECT_TRUE(same_bits(this->read(destination, "v", three),
                                          joined(slice(v_before, 0, this->row), slice(v, three, 2 * this->row))));
                    EXPECT_TRUE(same_bits(this->read(destination, "w", three),
                                          joined(slice(w_before, 0, this->row), slice(w, three, 2 * this->row))));
                    EXPECT_TRUE(same_bits(this->read(source, "v"), v));
                  });
  // Within one layer: row 0 to row 4.
  const auto [v, w] = this->scramble(source, 9);
  desc.first_row = 0;
  desc.n_rows = 1;
  desc.destination_row = 4;
  EXPECT_OK(synfire_layer_copy_rows(source, &desc, nullptr));
  EXPECT_TRUE(same_bits(this->read(source, "w"), joined(slice(w, 0, 4 * this->row), slice(w, 0, this->row))));
}

// The ranges of rows may be adjacent on either side, but may not overlap.
TYPED_TEST(StateRows, CopyBetweenRowsOfOneLayer) {
  const Layer layer = this->make();
  const auto [v, w] = this->scramble(layer, 20);
  for (int64_t count = 1; count <= this->batch; ++count)
    for (int64_t from = 0; from + count <= this->batch; ++from)
      for (int64_t to = 0; to + count <= this->batch; ++to) {
        SCOPED_TRACE(testing::Message() << count << " rows from " << from << " to " << to);
        synfire_copy_rows_desc desc = SYNFIRE_COPY_ROWS_DESC_INIT;
        desc.source = layer;
        desc.first_row = from;
        desc.n_rows = count;
        desc.destination_row = to;
        const Graph graph = make_graph(this->context_);
        EXPECT_OK(synfire_layer_write_state(layer, "v", v.data(), v.size() * sizeof(TypeParam)));
        EXPECT_OK(synfire_layer_write_state(layer, "w", w.data(), w.size() * sizeof(TypeParam)));
        if (from < to + count && to < from + count) {
          EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-STATE-ROWS", "rows"),
                       synfire_layer_copy_rows(layer, &desc, nullptr));
          EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-STATE-ROWS", "rows"),
                       synfire_graph_record_copy_rows(graph, layer, &desc));
          EXPECT_TRUE(same_bits(this->read(layer, "v"), v));
          continue;
        }
        const auto copied = [&](std::vector<TypeParam> state) {
          for (size_t i = 0; i < static_cast<size_t>(count) * this->row; ++i)
            state[static_cast<size_t>(to) * this->row + i] = state[static_cast<size_t>(from) * this->row + i];
          return state;
        };
        EXPECT_OK(synfire_graph_record_copy_rows(graph, layer, &desc));
        EXPECT_OK(synfire_layer_copy_rows(layer, &desc, nullptr));
        EXPECT_TRUE(same_bits(this->read(layer, "v"), copied(v)));
        EXPECT_TRUE(same_bits(this->read(layer, "w"), copied(w)));
      }
}

// ---- snapshots ------------------------------------------------------------------------------------------------------

template <typename Scalar>
std::vector<uint8_t> snapshot_of(synfire_layer layer, const synfire_state_desc* desc = nullptr) {
  uint64_t bytes = 0;
  EXPECT_OK(synfire_layer_snapshot(layer, desc, nullptr, &bytes));
  std::vector<uint8_t> data(bytes + 8, 0xEE);
  EXPECT_OK(synfire_layer_snapshot(layer, desc, data.data(), &bytes));
  EXPECT_EQ(bytes + 8, data.size());
  EXPECT_EQ(std::vector<uint8_t>(data.end() - 8, data.end()), std::vector<uint8_t>(8, 0xEE)) << "written past the end";
  data.resize(bytes);
  return data;
}

TYPED_TEST(StateRows, ASnapshotBringsTheStateBack) {
  const Layer layer = this->make(), other = this->make();
  const auto [v, w] = this->scramble(layer, 10);
  const std::vector<uint8_t> data = snapshot_of<TypeParam>(layer);
  for (synfire_layer each : {layer.get(), other.get()}) {
    this->scramble(each, 11);
    EXPECT_OK(synfire_layer_restore(each, nullptr, data.data(), data.size()));
    EXPECT_TRUE(same_bits(this->read(each, "v"), v));
    EXPECT_TRUE(same_bits(this->read(each, "w"), w));
  }
  EXPECT_EQ(snapshot_of<TypeParam>(other), data) << "the same state, the same snapshot";
  // Rows 1 and 2 into rows 3 and 4.
  const synfire_state_desc from = rows_desc(1, 2), to = rows_desc(3, 2);
  const std::vector<uint8_t> rows = snapshot_of<TypeParam>(layer, &from);
  EXPECT_LT(rows.size(), data.size());
  EXPECT_OK(synfire_layer_restore(layer, &to, rows.data(), rows.size()));
  EXPECT_TRUE(
      same_bits(this->read(layer, "w"), joined(slice(w, 0, 3 * this->row), slice(w, this->row, 2 * this->row))));
}

TYPED_TEST(StateRows, ForeignOrDamagedSnapshotsAreRefused) {
  const Layer layer = this->make();
  const auto [v, w] = this->scramble(layer, 12);
  const std::vector<uint8_t> good = snapshot_of<TypeParam>(layer);
  this->scramble(layer, 13);
  const auto before = this->read(layer, "v");
  const auto refuses = [&](std::initializer_list<std::string_view> words, std::vector<uint8_t> data,
                           const synfire_state_desc* desc = nullptr) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, words, synfire_layer_restore(layer, desc, data.data(), data.size()));
  };
  // Every single bit of the header, and some bits of the values.
  for (size_t bit = 0; bit < good.size() * 8; bit += bit < 96 * 8 ? 1 : 997) {
    std::vector<uint8_t> damaged = good;
    damaged[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    SCOPED_TRACE(bit);
    refuses({"data"}, damaged);
    if (this->HasFailure()) return;
  }
  refuses({"data"}, std::vector<uint8_t>(good.begin(), good.end() - 1));
  refuses({"data"}, std::vector<uint8_t>(good.begin(), good.begin() + 20));
  refuses({"data"}, std::vector<uint8_t>(500, 0));
  refuses({"data"}, joined(good, std::vector<uint8_t>(1, 0)));
  const synfire_state_desc fewer = rows_desc(0, 2);
  refuses({"data", "rows"}, good, &fewer);
  const Layer other_model = this->make(SYNFIRE_MODEL_LIF),
              other_shape = this->make(SYNFIRE_MODEL_IZHIKEVICH, this->batch, 36);
  const Layer other_type = this->make(SYNFIRE_MODEL_IZHIKEVICH, this->batch, this->n_neurons,
                                      dtype_of<TypeParam> == SYNFIRE_DTYPE_F32 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32);
  refuses({"lif", "izhikevich"}, snapshot_of<TypeParam>(other_model));
  refuses({"36", "37"}, snapshot_of<TypeParam>(other_shape));
  refuses({"f32", "f64"}, snapshot_of<TypeParam>(other_type));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("data"), synfire_layer_restore(layer, nullptr, nullptr, 5));
  EXPECT_TRUE(same_bits(this->read(layer, "v"), before)) << "a refused call changes nothing";
  EXPECT_OK(synfire_layer_restore(layer, nullptr, good.data(), good.size()));
  EXPECT_TRUE(same_bits(this->read(layer, "v"), v));
  uint64_t bytes = good.size() - 1;
  std::vector<uint8_t> small(good.size(), 0xEE);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("bytes"),
               synfire_layer_snapshot(layer, nullptr, small.data(), &bytes));
  EXPECT_EQ(bytes, good.size() - 1);
  EXPECT_EQ(small, std::vector<uint8_t>(good.size(), 0xEE));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("bytes"),
               synfire_layer_snapshot(layer, nullptr, small.data(), nullptr));
}

// Every byte counts, including the last, even if the values do not fill whole words of the checksum. Any number of
// rows and variables.
TYPED_TEST(StateRows, EveryByteOfASnapshotIsUnderItsChecksum) {
  for (const int32_t model : {SYNFIRE_MODEL_LIF, SYNFIRE_MODEL_IZHIKEVICH})
    for (const int64_t n : {1, 2, 3})
      for (const int64_t rows : {1, 2, 3}) {
        SCOPED_TRACE(testing::Message() << "model " << model << ", " << rows << " rows of " << n);
        const Layer layer = this->make(model, 3, n);
        const auto count = static_cast<size_t>(3 * n);
        const std::vector<TypeParam> v = Random(21).values<TypeParam>(count, -1, 1);
        EXPECT_OK(synfire_layer_write_state(layer, "v", v.data(), count * sizeof(TypeParam)));
        const synfire_state_desc desc = rows_desc(0, rows);
        const std::vector<uint8_t> good = snapshot_of<TypeParam>(layer, &desc);
        for (size_t byte = 0; byte < good.size(); ++byte)
          for (const uint8_t change : {uint8_t{1}, uint8_t{0x80}}) {
            std::vector<uint8_t> damaged = good;
            damaged[byte] ^= change;
            EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("data"),
                         synfire_layer_restore(layer, &desc, damaged.data(), damaged.size()))
                << "byte " << byte << " of " << good.size();
          }
        EXPECT_TRUE(same_bits(this->read(layer, "v", count), v));
        EXPECT_OK(synfire_layer_restore(layer, &desc, good.data(), good.size()));
        if (this->HasFailure()) return;
      }
}

TYPED_TEST(StateRows, SnapshotsInReplays) {
  const Layer layer = this->make();
  const synfire_state_desc rows = rows_desc(1, 3);
  uint64_t bytes = 0;
  EXPECT_OK(synfire_layer_snapshot(layer, &rows, nullptr, &bytes));
  for (const int32_t memory : {SYNFIRE_MEMORY_DEVICE, SYNFIRE_MEMORY_PINNED}) {
    SCOPED_TRACE(memory);
    const Buffer buffer = make_frame(this->context_, bytes + 4, memory, SYNFIRE_DTYPE_U8);
    const synfire_state_desc desc = rows_desc(1, 3, buffer);
    const Graph saves = make_graph(this->context_), restores = make_graph(this->context_);
    EXPECT_OK(synfire_graph_record_snapshot(saves, layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(saves));
    EXPECT_OK(synfire_graph_record_restore(restores, layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(restores));
    EXPECT_OK(synfire_buffer_fill(buffer, 7));
    // Without a snapshot the state is unchanged.
    const auto [v_early, w_early] = this->scramble(layer, 14);
    replay(restores);
    EXPECT_TRUE(same_bits(this->read(layer, "v"), v_early));
    const auto [v, w] = this->scramble(layer, 15);
    replay(saves);
    const std::vector<uint8_t> taken = download<uint8_t>(buffer, bytes + 4);
    EXPECT_EQ(std::vector<uint8_t>(taken.end() - 4, taken.end()), std::vector<uint8_t>(4, 7));
    const auto [v_later, w_later] = this->scramble(layer, 16);
    replay(restores);
    const auto restored = [&](const std::vector<TypeParam>& saved, const std::vector<TypeParam>& later) {
      return joined(joined(slice(later, 0, this->row), slice(saved, this->row, 3 * this->row)),
                    slice(later, 4 * this->row, this->row));
    };
    EXPECT_TRUE(same_bits(this->read(layer, "v"), restored(v, v_later)));
    EXPECT_TRUE(same_bits(this->read(layer, "w"), restored(w, w_later)));
    // The host function accepts it too.
    this->scramble(layer, 17);
    EXPECT_OK(synfire_layer_restore(layer, &rows, taken.data(), bytes));
    EXPECT_TRUE(same_bits(slice(this->read(layer, "w"), this->row, 3 * this->row), slice(w, this->row, 3 * this->row)));
    // A snapshot of another layout is refused by the replay.
    std::vector<uint8_t> foreign = taken;
    foreign[16] ^= 1;
    upload(buffer, foreign);
    const auto [v_last, w_last] = this->scramble(layer, 18);
    replay(restores);
    EXPECT_TRUE(same_bits(this->read(layer, "v"), v_last));
    EXPECT_TRUE(same_bits(this->read(layer, "w"), w_last));
  }
}

// ---- Bad input ------------------------------------------------------------------------------------------------------

TYPED_TEST(StateRows, BadInput) {
  const Layer layer = this->make(), lif = this->make(SYNFIRE_MODEL_LIF),
              narrow = this->make(SYNFIRE_MODEL_IZHIKEVICH, this->batch, 36);
  const Buffer rows = make_buffer(this->context_, dtype_of<TypeParam>, this->all);
  const Buffer other = make_buffer(this->context_, SYNFIRE_DTYPE_F16, this->all),
               tiny = make_buffer(this->context_, dtype_of<TypeParam>, 3);
  const Buffer mask = make_buffer(this->context_, SYNFIRE_DTYPE_U8, static_cast<uint64_t>(this->batch));
  const Buffer short_mask = make_buffer(this->context_, SYNFIRE_DTYPE_U8, static_cast<uint64_t>(this->batch) - 1);
  const Graph graph = make_graph(this->context_);
  const auto [v, w] = this->scramble(layer, 19);
  using Eager = synfire_status (*)(synfire_layer, const synfire_state_desc*, synfire_stream);
  using Record = synfire_status (*)(synfire_graph, synfire_layer, const synfire_state_desc*);
  const std::vector<std::pair<Eager, Record>> functions = {
      {&synfire_layer_reset_rows, &synfire_graph_record_reset_rows},
      {&synfire_layer_read_rows, &synfire_graph_record_read_rows},
      {&synfire_layer_write_rows, &synfire_graph_record_write_rows},
      {nullptr, &synfire_graph_record_snapshot},
      {nullptr, &synfire_graph_record_restore}};
  const auto refuses = [&](size_t function, std::initializer_list<std::string_view> words,
                           const synfire_state_desc& desc, synfire_status status = SYNFIRE_ERROR_INVALID_ARGUMENT) {
    SCOPED_TRACE(function);
    const auto [eager, record] = functions[function];
    if (eager) {
      EXPECT_FAILS(status, words, eager(layer, &desc, nullptr));
    }
    EXPECT_FAILS(status, words, record(graph, layer, &desc));
  };
  for (size_t function = 0; function < functions.size(); ++function) {
    const Buffer& fitting = function == 0 ? mask : rows;
    refuses(function, {"first_row"}, rows_desc(-1, 0, fitting));
    refuses(function, {"first_row"}, rows_desc(5, 0, fitting));
    refuses(function, {"n_rows"}, rows_desc(0, 6, fitting));
    refuses(function, {"n_rows"}, rows_desc(4, 2, fitting));
    refuses(function, {"n_rows"}, rows_desc(0, -1, fitting));
    refuses(function, {"n_rows"}, rows_desc(1, std::numeric_limits<int64_t>::max(), fitting));
    if (function > 0) {
      refuses(function, {"buffer"}, rows_desc(0, 0, nullptr));
    }
    refuses(function, {"buffer"}, rows_desc(0, 0, other));
    if (functions[function].first) {
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("desc"), functions[function].first(layer, nullptr, nullptr));
      const synfire_state_desc desc = rows_desc(0, 0, fitting);
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), functions[function].first(nullptr, &desc, nullptr));
    }
    synfire_state_desc reserved = rows_desc(0, 0, fitting);
    reserved.reserved = 1;
    refuses(function, {"reserved"}, reserved);
  }
  refuses(0, {"buffer"}, rows_desc(0, 0, short_mask));
  refuses(1, {"buffer"}, rows_desc(0, 0, tiny));
  refuses(2, {"buffer"}, rows_desc(0, 0, tiny));
  refuses(3, {"buffer"}, rows_desc(0, 0, mask));
  refuses(4, {"buffer"}, rows_desc(0, 0, mask));
  refuses(1, {"name", "u"}, rows_desc(0, 0, rows, "u"));
  const synfire_state_desc second = rows_desc(0, 0, rows, "w");
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name", "lif"), synfire_layer_read_rows(lif, &second, nullptr));
  const synfire_state_desc with_buffer = rows_desc(0, 0, mask);
  uint64_t bytes = 0;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-STATE-BUFFER", "buffer"),
               synfire_layer_snapshot(layer, &with_buffer, nullptr, &bytes));
  const std::vector<uint8_t> good = snapshot_of<TypeParam>(layer);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-STATE-BUFFER", "buffer"),
               synfire_layer_restore(layer, &with_buffer, good.data(), good.size()));

  const auto refuses_copy = [&](std::initializer_list<std::string_view> words, synfire_layer source, int64_t first,
                                int64_t count, int64_t to, synfire_status status = SYNFIRE_ERROR_INVALID_ARGUMENT) {
    synfire_copy_rows_desc desc = SYNFIRE_COPY_ROWS_DESC_INIT;
    desc.source = source;
    desc.first_row = first;
    desc.n_rows = count;
    desc.destination_row = to;
    EXPECT_FAILS(status, words, synfire_layer_copy_rows(layer, &desc, nullptr));
    EXPECT_FAILS(status, words, synfire_graph_record_copy_rows(graph, layer, &desc));
  };
  refuses_copy({"lif", "izhikevich"}, lif, 0, 0, 0);
  refuses_copy({"36", "37"}, narrow, 0, 0, 0);
  refuses_copy({"rows"}, layer, 0, 3, 2);
  refuses_copy({"destination_row"}, layer, 0, 1, 5);
  refuses_copy({"destination_row|n_rows"}, layer, 0, 2, 4);
  refuses_copy({"first_row"}, layer, 5, 0, 0);
  refuses_copy({"source"}, nullptr, 0, 0, 0, SYNFIRE_ERROR_INVALID_HANDLE);
  const Context elsewhere = make_context();
  const Layer foreign = make_layer(elsewhere, describe(Shape{3, this->batch, this->n_neurons}, dtype_of<TypeParam>));
  refuses_copy({"source"}, foreign, 0, 0, 0, SYNFIRE_ERROR_INVALID_HANDLE);
  EXPECT_TRUE(same_bits(this->read(layer, "v"), v));
  EXPECT_TRUE(same_bits(this->read(layer, "w"), w));
  int32_t operation = 0;
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("empty|record"), synfire_graph_get_last_operation(graph, &operation));
}

}  // namespace
}  // namespace synfire_test
