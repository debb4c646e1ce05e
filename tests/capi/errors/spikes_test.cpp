// Conversions and counts of spikes that are refused, eagerly and while recording.
#include "errors.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;

class SpikeErrors : public Errors {
 protected:
  SpikeErrors() {
    convert.n_steps = count.n_steps = shape.n_steps;
    convert.n_neurons = count.n_neurons = shape.n_neurons;
    convert.batch = count.batch = shape.batch;
    convert.source = count.spikes = dense;
    convert.destination = bits;
    count.counts = counts;
    upload(bits, std::vector<uint32_t>(shape.words(), 77));
    upload(counts, std::vector<uint32_t>(shape.row(), 77));
  }
  void TearDown() override {
    EXPECT_TRUE(all_are(download<uint32_t>(bits, shape.words()), 77u)) << "a refused call wrote";
    EXPECT_TRUE(all_are(download<uint32_t>(counts, shape.row()), 77u)) << "a refused call wrote";
    EXPECT_OK(synfire_convert_spikes(context, &convert, nullptr));
    EXPECT_OK(synfire_graph_record_convert_spikes(graph, &convert));
    EXPECT_OK(synfire_count_spikes(context, &count, nullptr));
    EXPECT_OK(synfire_graph_record_count_spikes(graph, &count));
    expect_usable();
  }

  template <typename Change>
  void expect_bad(synfire_status expected, const char* rule, std::string_view word, Change change) {
    const auto check = [&](synfire_status result) {
      EXPECT_TRUE(fails_with(result, expected, {word}));
      EXPECT_EQ(last_error_text().rfind(std::string("[") + rule + "]", 0), 0u) << last_error_text();
      poison_last_error();
    };
    poison_last_error();
    if constexpr (std::is_invocable_v<Change, synfire_convert_spikes_desc&>) {
      synfire_convert_spikes_desc desc = convert;
      change(desc);
      check(synfire_convert_spikes(context, &desc, nullptr));
      check(synfire_graph_record_convert_spikes(graph, &desc));
    }
    if constexpr (std::is_invocable_v<Change, synfire_count_spikes_desc&>) {
      synfire_count_spikes_desc desc = count;
      change(desc);
      check(synfire_count_spikes(context, &desc, nullptr));
      check(synfire_graph_record_count_spikes(graph, &desc));
    }
  }
  Buffer make(int32_t dtype, uint64_t n_elements) { return make_buffer(context, dtype, n_elements); }
  Buffer make_pitched(int32_t dtype, uint64_t n_elements, uint64_t pitch) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = n_elements;
    desc.row_pitch = pitch;
    synfire_buffer handle = nullptr;
    EXPECT_OK(synfire_buffer_create(context, &desc, &handle));
    return Buffer(handle);
  }

  const Buffer dense = make(SYNFIRE_DTYPE_F32, shape.sequence()), bits = make(SYNFIRE_DTYPE_BITS, shape.words()),
               counts = make(SYNFIRE_DTYPE_U32, shape.row());
  synfire_convert_spikes_desc convert = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
  synfire_count_spikes_desc count = SYNFIRE_COUNT_SPIKES_DESC_INIT;
};

TEST_F(SpikeErrors, Shapes) {
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    expect_bad(refused, "SYN-SPIKES-SHAPE", "n_steps", [&](auto& desc) { desc.n_steps = bad; });
    expect_bad(refused, "SYN-SPIKES-SHAPE", "n_neurons", [&](auto& desc) { desc.n_neurons = bad; });
    if (bad < 0) expect_bad(refused, "SYN-SPIKES-SHAPE", "batch", [&](auto& desc) { desc.batch = bad; });
  }
  for (const int64_t huge : {int64_t{1} << 59, std::numeric_limits<int64_t>::max()}) {
    expect_bad(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-SPIKES-OVERFLOW", "n_steps", [&](auto& desc) { desc.n_steps = huge; });
    expect_bad(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-SPIKES-OVERFLOW", "n_neurons",
               [&](auto& desc) { desc.n_neurons = huge; });
    expect_bad(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-SPIKES-OVERFLOW", "batch", [&](auto& desc) { desc.batch = huge; });
  }
}

TEST_F(SpikeErrors, BuffersThatAreTooSmall) {
  const int64_t time_words = (shape.n_steps + 31) / 32;
  const std::pair<int32_t, uint64_t> sizes[] = {
      {SYNFIRE_DTYPE_F32, shape.sequence()},
      {SYNFIRE_DTYPE_F64, shape.sequence()},
      {SYNFIRE_DTYPE_BF16, shape.sequence()},
      {SYNFIRE_DTYPE_U8, shape.sequence()},
      {SYNFIRE_DTYPE_BITS, shape.words()},
      {SYNFIRE_DTYPE_TIME_BITS, static_cast<uint64_t>(time_words) * shape.row()}};
  for (const auto& [dtype, n_elements] : sizes) {
    const Buffer small = make(dtype, n_elements - 1);
    expect_bad(refused, "SYN-BUFFER-SIZE", "desc.source",
               [&](synfire_convert_spikes_desc& desc) { desc.source = small; });
    expect_bad(refused, "SYN-BUFFER-SIZE", "desc.destination",
               [&](synfire_convert_spikes_desc& desc) { desc.destination = small; });
    expect_bad(refused, "SYN-BUFFER-SIZE", "desc.spikes",
               [&](synfire_count_spikes_desc& desc) { desc.spikes = small; });
  }
  for (const int32_t type : {SYNFIRE_DTYPE_U32, SYNFIRE_DTYPE_U64})
    for (const auto& [kind, length] :
         {std::pair{SYNFIRE_COUNT_PER_NEURON, shape.row()}, {SYNFIRE_COUNT_PER_STEP, size_t{4}}}) {
      const Buffer small = make(type, length - 1);
      expect_bad(refused, "SYN-BUFFER-SIZE", "desc.counts", [&, kind = kind](synfire_count_spikes_desc& desc) {
        desc.counts = small;
        desc.kind = kind;
      });
    }
}

TEST_F(SpikeErrors, Pitches) {
  const Buffer narrow = make_pitched(SYNFIRE_DTYPE_U8, 1000, shape.row() - 1);
  expect_bad(refused, "SYN-BUFFER-PITCH", "desc.source",
             [&](synfire_convert_spikes_desc& desc) { desc.source = narrow; });
  expect_bad(refused, "SYN-BUFFER-PITCH", "desc.destination",
             [&](synfire_convert_spikes_desc& desc) { desc.destination = narrow; });
  expect_bad(refused, "SYN-BUFFER-PITCH", "desc.spikes",
             [&](synfire_count_spikes_desc& desc) { desc.spikes = narrow; });
  const Buffer wide = make_pitched(SYNFIRE_DTYPE_U8, 1000, 999);
  expect_bad(refused, "SYN-BUFFER-SIZE", "desc.source", [&](synfire_convert_spikes_desc& desc) { desc.source = wide; });
}

TEST_F(SpikeErrors, Types) {
  for (const int32_t type : {SYNFIRE_DTYPE_U32, SYNFIRE_DTYPE_U64}) {
    const Buffer numbers = make(type, shape.sequence());
    expect_bad(refused, "SYN-BUFFER-TYPE", "desc.source",
               [&](synfire_convert_spikes_desc& desc) { desc.source = numbers; });
    expect_bad(refused, "SYN-BUFFER-TYPE", "desc.destination",
               [&](synfire_convert_spikes_desc& desc) { desc.destination = numbers; });
    expect_bad(refused, "SYN-BUFFER-TYPE", "desc.spikes",
               [&](synfire_count_spikes_desc& desc) { desc.spikes = numbers; });
    // They are not accepted as sequences or spikes of a layer either.
    synfire_forward_desc forward = rig.forward_desc();
    forward.x = numbers;
    EXPECT_FAILS(refused, WORDS("x"), synfire_layer_forward(rig.layer, &forward, nullptr));
    forward = rig.forward_desc();
    forward.spikes = numbers;
    EXPECT_FAILS(refused, WORDS("spikes"), synfire_layer_forward(rig.layer, &forward, nullptr));
  }
  for (int32_t type = SYNFIRE_DTYPE_F32; type <= SYNFIRE_DTYPE_TIME_BITS; ++type) {
    const Buffer no_counts = make(type, 1000);
    expect_bad(refused, "SYN-BUFFER-TYPE", "u32 or u64",
               [&](synfire_count_spikes_desc& desc) { desc.counts = no_counts; });
  }
}

TEST_F(SpikeErrors, KindsAndRanges) {
  for (const int32_t bad : {-1, 3, std::numeric_limits<int32_t>::max()})
    expect_bad(refused, "SYN-COUNT-KIND", "kind", [&](synfire_count_spikes_desc& desc) { desc.kind = bad; });
  const int64_t many = int64_t{1} << 32;
  expect_bad(refused, "SYN-COUNT-RANGE", "desc.counts", [&](synfire_count_spikes_desc& desc) { desc.n_steps = many; });
  expect_bad(refused, "SYN-COUNT-RANGE", "desc.counts", [&](synfire_count_spikes_desc& desc) {
    desc.kind = SYNFIRE_COUNT_PER_STEP;
    desc.n_neurons = many / shape.batch;
  });
  expect_bad(refused, "SYN-COUNT-RANGE", "desc.counts", [&](synfire_count_spikes_desc& desc) {
    desc.kind = SYNFIRE_COUNT_TOTAL;
    desc.n_neurons = many / shape.batch / shape.n_steps;
  });
}

TEST_F(SpikeErrors, Overlaps) {
  const Buffer large = make(SYNFIRE_DTYPE_F32, 3 * shape.sequence());
  const uint64_t bytes = shape.sequence() * sizeof(float);
  const Buffer first = make_window(context, large, SYNFIRE_DTYPE_F32, 0, shape.sequence());
  const Buffer last_of_it = make_window(context, large, SYNFIRE_DTYPE_BITS, bytes - 4, shape.words());
  const Buffer counted = make_window(context, large, SYNFIRE_DTYPE_U32, bytes - 4, shape.row());
  expect_bad(refused, "SYN-BUFFER-OVERLAP", "desc.destination",
             [&](synfire_convert_spikes_desc& desc) { desc.destination = dense; });
  expect_bad(refused, "SYN-BUFFER-OVERLAP", "desc.source", [&](synfire_convert_spikes_desc& desc) {
    desc.source = first;
    desc.destination = last_of_it;
  });
  expect_bad(refused, "SYN-BUFFER-OVERLAP", "desc.counts", [&](synfire_count_spikes_desc& desc) {
    desc.spikes = first;
    desc.counts = counted;
  });
}

TEST_F(SpikeErrors, Handles) {
  const auto bad_handle = SYNFIRE_ERROR_INVALID_HANDLE;
  Buffer gone = make(SYNFIRE_DTYPE_F32, shape.sequence());
  const synfire_buffer stale = gone;
  gone.reset();
  const Context other = make_context();
  const Buffer foreign = make_buffer(other, SYNFIRE_DTYPE_F32, shape.sequence());
  const auto field = [&](const char* rule, synfire_buffer bad) {
    expect_bad(bad_handle, rule, "desc.source", [&](synfire_convert_spikes_desc& desc) { desc.source = bad; });
    expect_bad(bad_handle, rule, "desc.destination",
               [&](synfire_convert_spikes_desc& desc) { desc.destination = bad; });
    expect_bad(bad_handle, rule, "desc.spikes", [&](synfire_count_spikes_desc& desc) { desc.spikes = bad; });
    expect_bad(bad_handle, rule, "desc.counts", [&](synfire_count_spikes_desc& desc) { desc.counts = bad; });
  };
  field("SYN-HANDLE-NULL", nullptr);
  field("SYN-HANDLE-STALE", stale);
  field("SYN-HANDLE-STALE", as<synfire_buffer>(rig.layer.get()));
  field("SYN-HANDLE-FOREIGN", foreign);
  for (const auto& [what, bad] :
       bad_handles<synfire_context>(nullptr, {value_of(rig.layer), value_of(rig.x), value_of(graph)})) {
    SCOPED_TRACE(what);
    EXPECT_FAILS(bad_handle, WORDS("context"), synfire_convert_spikes(bad, &convert, nullptr));
    EXPECT_FAILS(bad_handle, WORDS("context"), synfire_count_spikes(bad, &count, nullptr));
  }
  EXPECT_FAILS(bad_handle, WORDS("desc.source"), synfire_convert_spikes(other, &convert, nullptr));
  for (const auto& [what, bad] :
       bad_handles<synfire_graph>(nullptr, {value_of(rig.layer), value_of(rig.x), value_of(context)})) {
    SCOPED_TRACE(what);
    EXPECT_FAILS(bad_handle, WORDS("graph"), synfire_graph_record_convert_spikes(bad, &convert));
    EXPECT_FAILS(bad_handle, WORDS("graph"), synfire_graph_record_count_spikes(bad, &count));
  }
}

TEST_F(SpikeErrors, Descriptors) {
  expect_bad(refused, "SYN-RESERVED", "reserved", [&](synfire_convert_spikes_desc& desc) { desc.reserved = 1; });
  for (const uint32_t size : {0u, 1u, static_cast<uint32_t>(sizeof(synfire_convert_spikes_desc) - 1)})
    expect_bad(SYNFIRE_ERROR_STRUCT_SIZE, "SYN-STRUCT-SMALL", "struct_size",
               [&](auto& desc) { desc.struct_size = size; });
  expect_bad(SYNFIRE_ERROR_STRUCT_SIZE, "SYN-STRUCT-SIZE", "struct_size", [&](auto& desc) { desc.struct_size = 4097; });
  EXPECT_FAILS(refused, WORDS("desc"), synfire_convert_spikes(context, nullptr, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_graph_record_convert_spikes(graph, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_count_spikes(context, nullptr, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_graph_record_count_spikes(graph, nullptr));
}

TEST_F(SpikeErrors, StreamsOrderAndMemory) {
  if (on_host()) {
    const auto stream = as<synfire_stream>(uintptr_t{1});
    EXPECT_FAILS(refused, WORDS("stream"), synfire_convert_spikes(context, &convert, stream));
    EXPECT_FAILS(refused, WORDS("stream"), synfire_count_spikes(context, &count, stream));
  } else {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.memory = SYNFIRE_MEMORY_HOST;
    desc.n_elements = shape.sequence();
    synfire_buffer handle = nullptr;
    ASSERT_OK(synfire_buffer_create(context, &desc, &handle));
    const Buffer pageable(handle);
    expect_bad(refused, "SYN-BUFFER-KIND", "desc.source", [&](synfire_convert_spikes_desc& d) { d.source = pageable; });
    expect_bad(refused, "SYN-BUFFER-KIND", "desc.spikes", [&](synfire_count_spikes_desc& d) { d.spikes = pageable; });
  }
  const Graph done = make_graph(context);
  const synfire_forward_desc forward = rig.forward_desc();
  EXPECT_OK(synfire_graph_record_forward(done, rig.layer, &forward));
  EXPECT_OK(synfire_graph_instantiate(done));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_convert_spikes(done, &convert));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_count_spikes(done, &count));
}

// Buffers of counts hold integers, as buffers of bytes do.
TEST_F(SpikeErrors, FillsOfCounts) {
  const Buffer wide = make(SYNFIRE_DTYPE_U64, 2);
  for (const double bad : {-1.0, 0.5, nan, infinity}) {
    EXPECT_FAILS(refused, WORDS("value"), synfire_buffer_fill(counts, bad));
    EXPECT_FAILS(refused, WORDS("value"), synfire_buffer_fill(wide, bad));
  }
  EXPECT_FAILS(refused, WORDS("value"), synfire_buffer_fill(counts, 4294967296.0));
  EXPECT_FAILS(refused, WORDS("value"), synfire_buffer_fill(wide, 18446744073709551616.0));
  EXPECT_OK(synfire_buffer_fill(wide, 4294967296.0));
  EXPECT_EQ(download<uint64_t>(wide, 2), std::vector<uint64_t>(2, uint64_t{1} << 32));
  EXPECT_OK(synfire_buffer_fill(wide, 18446744073709549568.0));
  EXPECT_EQ(download<uint64_t>(wide, 1), std::vector<uint64_t>(1, ~uint64_t{0} - 2047));
}

}  // namespace
}  // namespace synfire_test
