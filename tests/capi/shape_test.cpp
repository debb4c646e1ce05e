// Buffers with a shape: which can be created, and which operations accept them.
#include <array>

#include "graph_support.hpp"

namespace synfire_test {
namespace {

constexpr int64_t n_steps = 20, batch = 3, n_neurons = 70;
constexpr uint64_t T = n_steps, B = batch, N = n_neurons, words = 3, time_words = 1;

using Lengths = std::array<uint64_t, 4>;

class Shapes : public testing::Test {
 protected:
  synfire_status create(synfire_buffer_desc desc, Buffer& buffer) {
    synfire_buffer made = nullptr;
    const synfire_status status = synfire_buffer_create(context, &desc, &made);
    buffer = Buffer(made);
    return status;
  }
  synfire_buffer_desc described(const Lengths& shape, int32_t dtype = SYNFIRE_DTYPE_F32) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    for (size_t i = 0; i < shape.size(); ++i) desc.shape[i] = shape[i];
    return desc;
  }
  Buffer shaped(const Lengths& shape, int32_t dtype = SYNFIRE_DTYPE_F32, uint64_t row_pitch = 0) {
    synfire_buffer_desc desc = described(shape, dtype);
    desc.row_pitch = row_pitch;
    Buffer buffer;
    EXPECT_OK(create(desc, buffer));
    return buffer;
  }
  uint64_t bytes_of(synfire_buffer buffer) {
    uint64_t bytes = 0;
    EXPECT_OK(synfire_buffer_get_data(buffer, nullptr, &bytes));
    return bytes;
  }
  // Replaces one buffer by another, eagerly and while recording.
  template <typename Desc>
  synfire_status pass(synfire_buffer Desc::*field, synfire_buffer buffer) {
    if constexpr (std::is_same_v<Desc, synfire_forward_desc>) {
      synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
      desc.x = x;
      desc.*field = buffer;
      const synfire_status now = synfire_layer_forward(layer, &desc, nullptr);
      const Graph graph = make_graph(context);
      EXPECT_EQ(synfire_graph_record_forward(graph, layer, &desc), now);
      return now;
    } else {
      synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
      desc.grad_x_seq = grad_x;
      desc.*field = buffer;
      const synfire_status now = synfire_layer_backward(layer, &desc, nullptr);
      const Graph graph = make_graph(context);
      EXPECT_EQ(synfire_graph_record_backward(graph, layer, &desc), now);
      return now;
    }
  }

  Context context = make_context();
  Layer layer = make_layer(context, describe({n_steps, batch, n_neurons}, SYNFIRE_DTYPE_F32));
  Buffer x = shaped({T, B, N}), grad_x = shaped({T, B, N});
};

// ---- Creation -------------------------------------------------------------------------------------------------------

TEST_F(Shapes, GiveTheNumberOfElements) {
  EXPECT_EQ(bytes_of(shaped({T, B, N})), T * B * N * 4);
  EXPECT_EQ(bytes_of(shaped({7})), 7u * 4);
  EXPECT_EQ(bytes_of(shaped({2, 3, 5, 7}, SYNFIRE_DTYPE_F16)), 210u * 2);
  EXPECT_EQ(bytes_of(shaped({T, N}, SYNFIRE_DTYPE_F64, 96)), ((T - 1) * 96 + N) * 8);
  EXPECT_EQ(bytes_of(shaped({1, N}, SYNFIRE_DTYPE_F32, 40)), N * 4) << "one step has no pitch";
}

TEST_F(Shapes, AreHeldAgainstTheNumberOfElements) {
  Buffer buffer;
  synfire_buffer_desc desc = described({T, N});
  desc.n_elements = T * N;
  EXPECT_OK(create(desc, buffer));
  for (const uint64_t other : {T * N - 1, T * N + 1, ~uint64_t{0}}) {
    desc.n_elements = other;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "[20, 70]", "1400", std::to_string(other)),
                 create(desc, buffer));
    EXPECT_EQ(buffer.get(), nullptr);
  }
  desc.row_pitch = 96;
  for (const uint64_t held : {(T - 1) * 96 + N, T * 96}) {
    desc.n_elements = held;
    EXPECT_OK(create(desc, buffer));
    EXPECT_EQ(bytes_of(buffer), held * 4);
  }
  for (const uint64_t other : {(T - 1) * 96 + N - 1, T * 96 + 1}) {
    desc.n_elements = other;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "[20, 70]", "row_pitch"),
                 create(desc, buffer));
  }
  desc.n_elements = 0;
  desc.row_pitch = N - 1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-PITCH", "69", "[20, 70]"), create(desc, buffer));
}

TEST_F(Shapes, ThatAreNoneAreRefused) {
  Buffer buffer;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-EMPTY", "desc.n_elements", "desc.shape"),
               create(described({}), buffer));
  for (const Lengths& gap : {Lengths{0, 5}, Lengths{5, 0, 5}, Lengths{5, 5, 0, 5}})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "desc.shape"),
                 create(described(gap), buffer));
  constexpr uint64_t large = uint64_t{1} << 31, most = ~uint64_t{0};
  for (const Lengths& wrapping : {Lengths{large, large}, Lengths{large, large, large, large}, Lengths{most},
                                  Lengths{most, most}, Lengths{3, most / 2}, Lengths{uint64_t{1} << 63, 2}})
    EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-BUFFER-OVERFLOW"), create(described(wrapping), buffer));
  for (const uint64_t pitch : {uint64_t{1} << 62, most, most / 2 + 2}) {
    synfire_buffer_desc desc = described({3, 4});
    desc.row_pitch = pitch;
    EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-BUFFER-OVERFLOW"), create(desc, buffer));
  }
  EXPECT_EQ(buffer.get(), nullptr);
}

// ---- Passes ---------------------------------------------------------------------------------------------------------

TEST_F(Shapes, ATransposedSequenceIsRefused) {
  const Layer wide = make_layer(context, describe({20, 1, 64}, SYNFIRE_DTYPE_F32));
  const Buffer transposed = shaped({64, 20}), right = shaped({20, 64}), plain = make_buffer(context, 0, 1280);
  synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
  desc.x = transposed;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "desc.x", "[64, 20]", "f32", "[20, 1, 64]"),
               synfire_layer_forward(wide, &desc, nullptr));
  for (const Buffer* fitting : {&right, &plain}) {
    desc.x = *fitting;
    EXPECT_OK(synfire_layer_forward(wide, &desc, nullptr));
  }
}

TEST_F(Shapes, LengthsOfOneAreIgnored) {
  const Layer one_row = make_layer(context, describe({20, 1, 64}, SYNFIRE_DTYPE_F32));
  for (const Lengths& fitting :
       {Lengths{20, 64}, Lengths{20, 1, 64}, Lengths{1, 20, 64, 1}, Lengths{1280}, Lengths{1, 1280, 1}}) {
    const Buffer buffer = shaped(fitting);
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = buffer;
    EXPECT_OK(synfire_layer_forward(one_row, &desc, nullptr));
  }
  // The same number of elements in other shapes.
  for (const Lengths& other : {Lengths{40, 32}, Lengths{2, 10, 64}, Lengths{2, 640}, Lengths{64, 1, 20}}) {
    const Buffer buffer = shaped(other);
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = buffer;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "[20, 1, 64]"),
                 synfire_layer_forward(one_row, &desc, nullptr));
  }
  // A sequence with more steps than the layer is refused, not truncated.
  const Buffer longer = shaped({21, 64});
  synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
  desc.x = longer;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "[21, 64]", "[20, 1, 64]"),
               synfire_layer_forward(one_row, &desc, nullptr));
}

TEST_F(Shapes, EveryBufferOfAForwardIsChecked) {
  using Desc = synfire_forward_desc;
  for (synfire_buffer Desc::*field : {&Desc::x, &Desc::spikes, &Desc::v_seq, &Desc::h_seq}) {
    EXPECT_OK(pass(field, shaped({T, B, N})));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "[3, 20, 70]", "[20, 3, 70]"),
                 pass(field, shaped({B, T, N})));
  }
  for (synfire_buffer Desc::*field : {&Desc::v_init, &Desc::v_final}) {
    EXPECT_OK(pass(field, shaped({B, N})));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "[70, 3]", "[3, 70]"),
                 pass(field, shaped({N, B})));
  }
}

TEST_F(Shapes, EveryBufferOfABackwardIsChecked) {
  using Desc = synfire_backward_desc;
  EXPECT_OK(pass(&synfire_forward_desc::x, x));
  for (synfire_buffer Desc::*field : {&Desc::grad_spike_seq, &Desc::grad_v_seq, &Desc::grad_x_seq}) {
    EXPECT_OK(pass(field, shaped({T, B, N})));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "[70, 3, 20]", "[20, 3, 70]"),
                 pass(field, shaped({N, B, T})));
  }
  for (synfire_buffer Desc::*field : {&Desc::grad_v_final, &Desc::grad_v_init}) {
    EXPECT_OK(pass(field, shaped({B, N})));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "[70, 3]", "[3, 70]"),
                 pass(field, shaped({N, B})));
  }
  const Buffer square = shaped({7, 10}), plain = shaped({N});
  for (const Buffer* buffer : {&square, &plain}) {
    const synfire_parameter_gradient gradient = {"tau", *buffer};
    Desc desc = SYNFIRE_BACKWARD_DESC_INIT;
    desc.parameter_gradients = &gradient;
    desc.n_parameter_gradients = 1;
    if (buffer == &plain) {
      EXPECT_OK(synfire_layer_backward(layer, &desc, nullptr));
    } else {
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT,
                   WORDS("SYN-BUFFER-SHAPE", "desc.parameter_gradients[0].gradient", "[7, 10]", "[70]"),
                   synfire_layer_backward(layer, &desc, nullptr));
    }
  }
}

TEST_F(Shapes, PackedSpikesCountWords) {
  using Desc = synfire_forward_desc;
  EXPECT_OK(pass(&Desc::spikes, shaped({T, B, words}, SYNFIRE_DTYPE_BITS)));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "bits", "[20, 3, 70]", "[20, 3, 3 words]"),
               pass(&Desc::spikes, shaped({T, B, N}, SYNFIRE_DTYPE_BITS)));
  EXPECT_OK(pass(&Desc::spikes, shaped({time_words, B, N}, SYNFIRE_DTYPE_TIME_BITS)));
  EXPECT_OK(pass(&Desc::spikes, shaped({B, N}, SYNFIRE_DTYPE_TIME_BITS)));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT,
               WORDS("SYN-BUFFER-SHAPE", "time-packed", "[20, 3, 70]", "[1 words, 3, 70]"),
               pass(&Desc::spikes, shaped({T, B, N}, SYNFIRE_DTYPE_TIME_BITS)));
}

TEST_F(Shapes, WithAPitchAreThoseOfTheElements) {
  EXPECT_OK(pass(&synfire_forward_desc::x, shaped({T, B, N}, SYNFIRE_DTYPE_F32, B * N + 6)));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "[20, 3, 76]", "[20, 3, 70]"),
               pass(&synfire_forward_desc::x, shaped({T, B, N + 6})));
}

// ---- Other operations -----------------------------------------------------------------------------------------------

TEST_F(Shapes, ConversionsCountsAndEncodingsAreChecked) {
  const Buffer bits = shaped({T, B, words}, SYNFIRE_DTYPE_BITS), swapped = shaped({B, T, N});
  synfire_convert_spikes_desc convert = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
  convert.n_steps = n_steps, convert.n_neurons = n_neurons, convert.batch = batch;
  convert.source = x, convert.destination = bits;
  EXPECT_OK(synfire_convert_spikes(context, &convert, nullptr));
  convert.source = swapped;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "desc.source", "[3, 20, 70]", "[20, 3, 70]"),
               synfire_convert_spikes(context, &convert, nullptr));

  synfire_count_spikes_desc count = SYNFIRE_COUNT_SPIKES_DESC_INIT;
  count.n_steps = n_steps, count.n_neurons = n_neurons, count.batch = batch;
  count.spikes = bits;
  const Buffer per_neuron = shaped({B, N}, SYNFIRE_DTYPE_U32), turned = shaped({N, B}, SYNFIRE_DTYPE_U32),
               per_step = shaped({T}, SYNFIRE_DTYPE_U32), folded = shaped({4, 5}, SYNFIRE_DTYPE_U32);
  count.counts = per_neuron;
  EXPECT_OK(synfire_count_spikes(context, &count, nullptr));
  count.counts = turned;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "desc.counts", "[70, 3]", "[3, 70]"),
               synfire_count_spikes(context, &count, nullptr));
  count.kind = SYNFIRE_COUNT_PER_STEP;
  count.counts = per_step;
  EXPECT_OK(synfire_count_spikes(context, &count, nullptr));
  count.counts = folded;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "desc.counts", "[4, 5]", "[20]"),
               synfire_count_spikes(context, &count, nullptr));

  synfire_encode_bernoulli_desc encode = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
  encode.n_steps = n_steps, encode.n_neurons = n_neurons, encode.batch = batch;
  const Buffer rates = shaped({B, N}), turned_rates = shaped({N, B});
  encode.rates = rates, encode.spikes = bits;
  EXPECT_OK(synfire_encode_bernoulli(context, &encode, nullptr));
  encode.rates = turned_rates;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "desc.rates", "[70, 3]", "[3, 70]"),
               synfire_encode_bernoulli(context, &encode, nullptr));
}

TEST_F(Shapes, RowsOfAStateAreChecked) {
  synfire_state_desc desc = SYNFIRE_STATE_DESC_INIT;
  desc.n_rows = 2;
  const Buffer rows = shaped({2, N}), turned = shaped({N, 2}), mask = shaped({3}, SYNFIRE_DTYPE_U8),
               table = shaped({3, 2}, SYNFIRE_DTYPE_U8);
  desc.buffer = rows;
  EXPECT_OK(synfire_layer_read_rows(layer, &desc, nullptr));
  EXPECT_OK(synfire_layer_write_rows(layer, &desc, nullptr));
  desc.buffer = turned;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "desc.buffer", "[70, 2]", "[2, 70]"),
               synfire_layer_read_rows(layer, &desc, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "desc.buffer", "[70, 2]", "[2, 70]"),
               synfire_layer_write_rows(layer, &desc, nullptr));
  desc.n_rows = 0;
  desc.buffer = mask;
  EXPECT_OK(synfire_layer_reset_rows(layer, &desc, nullptr));
  desc.buffer = table;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "desc.buffer", "[3, 2]", "[3]"),
               synfire_layer_reset_rows(layer, &desc, nullptr));
}

TEST_F(Shapes, SumsAndUpdatesAreChecked) {
  const Buffer transposed = shaped({N, T}), same = shaped({T, N}), other = shaped({T, N}),
               plain = make_buffer(context, SYNFIRE_DTYPE_F32, T * N);
  synfire_scale_add_desc sum = SYNFIRE_SCALE_ADD_DESC_INIT;
  sum.scale = 1;
  sum.destination = same;
  for (const Buffer* source : {&other, &plain}) {
    sum.source = *source;
    EXPECT_OK(synfire_scale_add(context, &sum, nullptr));
  }
  sum.source = transposed;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT,
               WORDS("SYN-BUFFER-SHAPE", "desc.source", "[70, 20]", "desc.destination", "[20, 70]"),
               synfire_scale_add(context, &sum, nullptr));

  set_parameter(layer, "tau", std::vector<double>(N, 3.0));
  const Buffer square = shaped({7, 10});
  synfire_update_parameter_desc update = SYNFIRE_UPDATE_PARAMETER_DESC_INIT;
  update.name = "tau";
  update.gradient = square;
  const Graph graph = make_graph(context);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SHAPE", "desc.gradient", "[7, 10]", "[70]"),
               synfire_graph_record_update_parameter(graph, layer, &update));
}

TEST_F(Shapes, CopiesAndFillsTakeAny) {
  const Buffer transposed = shaped({N, T});
  const Graph graph = make_graph(context);
  synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
  copy.source = transposed;
  copy.destination = x;
  EXPECT_OK(synfire_graph_record_copy(graph, &copy));
  synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
  fill.buffer = transposed;
  EXPECT_OK(synfire_graph_record_fill(graph, &fill));
}

TEST_F(Shapes, ARebindIsChecked) {
  const Graph graph = make_graph(context);
  synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
  desc.x = x;
  ASSERT_OK(synfire_graph_record_forward(graph, layer, &desc));
  ASSERT_OK(synfire_graph_instantiate(graph));
  const Buffer swapped = shaped({B, T, N}), same = shaped({T, B, N}),
               plain = make_buffer(context, SYNFIRE_DTYPE_F32, T * B * N);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-REBIND-SHAPE", "[3, 20, 70]", "[20, 3, 70]"),
               synfire_graph_rebind(graph, x, swapped));
  replay(graph);  // unchanged
  EXPECT_OK(synfire_graph_rebind(graph, x, same));
  EXPECT_OK(synfire_graph_rebind(graph, same, plain));
  replay(graph);
}

}  // namespace
}  // namespace synfire_test
