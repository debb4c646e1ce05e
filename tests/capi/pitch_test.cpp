// Row pitches and alignments: steps with padding, matrices side by side, arrays at any offset.
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

class Pitch : public testing::Test {
 protected:
  const Context context = make_context();
};

// The rig fills gaps between rows and around arrays with ones and checks that they stay.
TEST_F(Pitch, SpacedOutAndMisalignedArraysGiveTheSame) {
  const Placement placements[] = {{0, 1}, {0, 13}, {1, 0}, {1, 1}, {3, 5}, {0, 32}};
  Sample cases;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})
    for (const int32_t model : {SYNFIRE_MODEL_LIF, SYNFIRE_MODEL_IZHIKEVICH})
      for (const Shape& shape : {Shape{35, 2, 37}, Shape{33, 1, 64}, Shape{1, 1, 5}})
        for (const int32_t spikes :
             std::initializer_list<int32_t>{dtype, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS}) {
          if (!cases.next()) continue;
          synfire_layer_desc desc = describe(shape, dtype);
          desc.model = model;
          const StorageInputs in = storage_inputs(shape, 1, dtype);
          StorageChoice choice;
          choice.types.spikes = spikes;
          const StorageOutputs wanted = StorageRig(context, desc, choice).run(in);
          for (const Placement& placement : placements) {
            SCOPED_TRACE(testing::Message() << shape << " spikes " << spikes << " lead " << placement.lead
                                            << " padding " << placement.padding);
            choice.placement = placement;
            StorageRig rig(context, desc, choice);
            EXPECT_TRUE(same_bits(rig.run(in), wanted)) << name_of(desc);
            EXPECT_TRUE(same_bits(rig.replayed(in), wanted)) << name_of(desc) << ", replayed";
          }
        }
}

TEST_F(Pitch, TapesOfSpacedOutX) {
  const Shape shape{70, 2, 21};
  for (const int32_t tape : {SYNFIRE_TAPE_STORE, SYNFIRE_TAPE_STORE_NARROW})
    for (const bool in_place : {false, true}) {
      const int32_t dtype = tape == SYNFIRE_TAPE_STORE ? SYNFIRE_DTYPE_F32 : SYNFIRE_DTYPE_F16;
      const synfire_layer_desc desc = describe(shape, dtype);
      const StorageInputs in = storage_inputs(shape, 2, dtype);
      StorageChoice choice;
      choice.tape = tape;
      choice.parameter_gradients = false;
      const StorageOutputs wanted = StorageRig(context, desc, choice).run(in);
      choice.placement = {1, 7};
      choice.in_place_h = in_place;
      choice.in_place_gradient = in_place;
      StorageRig rig(context, desc, choice);
      EXPECT_TRUE(same_bits(rig.run(in), wanted)) << "tape " << tape << " in place " << in_place;
      (void)rig.x->get();  // checks the gaps between its rows
    }
}

// Rows long enough for wide accesses: first aligned, then offset by one element, then with an odd pitch.
TEST_F(Pitch, WideRowsThatAreNotAligned) {
  const Shape shape{2, 1, 272384};
  for (const int32_t dtype :
       sample_of(std::vector<int32_t>{SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})) {
    const synfire_layer_desc desc = describe(shape, dtype);
    const StorageInputs in = storage_inputs(shape, 3, dtype);
    StorageChoice choice;
    choice.only_spikes = true;
    const StorageOutputs wanted = StorageRig(context, desc, choice).run(in);
    for (const Placement& placement : {Placement{1, 0}, Placement{0, 1}, Placement{0, 8}}) {
      choice.placement = placement;
      EXPECT_TRUE(same_bits(StorageRig(context, desc, choice).run(in), wanted))
          << name_of(desc) << " lead " << placement.lead << " padding " << placement.padding;
    }
  }
}

// One matrix [T, 3N] with X, V and dL/dX side by side.
TEST_F(Pitch, ColumnsOfOneMatrix) {
  const Shape shape{20, 1, 18};
  const size_t n = shape.row(), pitch = 3 * n, steps = 20;
  const StorageInputs in = storage_inputs(shape, 4, SYNFIRE_DTYPE_F32);
  StorageChoice choice;
  choice.parameter_gradients = false;
  const synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
  StorageRig rig(context, desc, choice);
  const StorageOutputs wanted = rig.run(in);

  const Buffer matrix = make_buffer(context, SYNFIRE_DTYPE_F32, (steps + 1) * pitch);
  void* data = nullptr;
  ASSERT_OK(synfire_buffer_get_data(matrix, &data, nullptr));
  const auto column = [&](size_t index, size_t columns) {
    synfire_buffer_desc window = SYNFIRE_BUFFER_DESC_INIT;
    window.data = static_cast<char*>(data) + index * sizeof(float);
    window.n_elements = (steps + 1) * pitch - index;
    window.row_pitch = columns;
    synfire_buffer handle = nullptr;
    EXPECT_OK(synfire_buffer_create(context, &window, &handle));
    return Buffer(handle);
  };
  const Buffer x = column(0, pitch), v = column(n, pitch), grad_x = column(2 * n, pitch);
  std::vector<float> image(steps * pitch, 7);
  for (size_t t = 0; t < steps; ++t)
    for (size_t i = 0; i < n; ++i) image[t * pitch + i] = static_cast<float>(in.x[t * n + i]);
  upload(matrix, image);
  synfire_forward_desc forward = rig.forward_desc();
  forward.x = x;
  forward.v_seq = v;
  ASSERT_OK(synfire_layer_forward(rig.layer, &forward, nullptr));
  synfire_backward_desc backward = rig.backward_desc();
  backward.grad_x_seq = grad_x;
  ASSERT_OK(synfire_layer_backward(rig.layer, &backward, nullptr));
  const std::vector<float> result = download<float>(matrix, steps * pitch);
  for (size_t t = 0; t < steps; ++t)
    for (size_t i = 0; i < n; ++i) {
      EXPECT_EQ(result[t * pitch + i], static_cast<float>(in.x[t * n + i]));
      EXPECT_EQ(result[t * pitch + n + i], static_cast<float>(wanted.v_seq[t * n + i]));
      EXPECT_EQ(result[t * pitch + 2 * n + i], static_cast<float>(wanted.grad_x_seq[t * n + i]));
    }

  // Columns that share an element, and columns of another pitch, overlap.
  for (const auto& [index, columns] : {std::pair{n - 1, pitch}, std::pair{2 * n + 1, pitch}, std::pair{n, pitch - 1}}) {
    const Buffer wrong = column(index, columns);
    forward.v_seq = wrong;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("desc.v_seq", "desc.x"),
                 synfire_layer_forward(rig.layer, &forward, nullptr));
    EXPECT_EQ(last_error_text().rfind("[SYN-BUFFER-OVERLAP]", 0), 0u) << last_error_text();
  }
}

TEST_F(Pitch, TheLastRowNeedsNoPadding) {
  const Shape shape{4, 1, 10};
  const Layer layer = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.row_pitch = 16;
  for (const uint64_t n_elements : {58u, 57u}) {
    desc.n_elements = n_elements;
    synfire_buffer handle = nullptr;
    ASSERT_OK(synfire_buffer_create(context, &desc, &handle));
    const Buffer x(handle);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    if (n_elements == 58) {
      EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
      continue;
    }
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("desc.x", "57", "58", "row_pitch"),
                 synfire_layer_forward(layer, &forward, nullptr));
  }
}

TEST_F(Pitch, RowsThatWouldOverlapAreRefusedWithAWayOut) {
  const Shape shape{4, 1, 10};
  const Layer layer = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  const Buffer x = make_buffer(context, SYNFIRE_DTYPE_F32, 40);
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.n_elements = 40;
  for (const uint64_t pitch : {1u, 9u}) {
    desc.row_pitch = pitch;
    synfire_buffer handle = nullptr;
    ASSERT_OK(synfire_buffer_create(context, &desc, &handle));
    const Buffer narrow(handle);
    for (const bool as_x : {true, false}) {
      synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
      forward.x = as_x ? narrow : x;
      forward.v_seq = as_x ? nullptr : narrow.get();
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT,
                   WORDS(as_x ? "desc.x" : "desc.v_seq", "row_pitch", "copy", "synfire_buffer_upload"),
                   synfire_layer_forward(layer, &forward, nullptr));
      EXPECT_EQ(last_error_text().rfind("[SYN-BUFFER-PITCH]", 0), 0u) << last_error_text();
    }
  }
  synfire_buffer handle = nullptr;
  desc.row_pitch = 41;  // more than all elements: for one step only
  ASSERT_OK(synfire_buffer_create(context, &desc, &handle));
  const Buffer wide(handle);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = wide;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-SIZE", "desc.x", "40", "133", "row_pitch"),
               synfire_layer_forward(layer, &forward, nullptr));
  desc.row_pitch = std::numeric_limits<uint64_t>::max();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("desc.row_pitch"), synfire_buffer_create(context, &desc, &handle));
}

// With one step there is no next one, so what the pitch would be does not matter: not to the size of the buffer, with
// its shape or without, and not to the results.
TEST_F(Pitch, AnyPitchIsGoodForOneStep) {
  constexpr uint64_t n = 33;
  const Layer layer = make_layer(context, describe(Shape{1, 1, n}, SYNFIRE_DTYPE_F32));
  std::vector<float> values(n), v(n), expected;
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i) / 16;
  for (const bool has_shape : {false, true})
    for (const uint64_t pitch : {uint64_t{0}, uint64_t{20}, n, uint64_t{40}, uint64_t{1} << 59}) {
      SCOPED_TRACE(testing::Message() << "pitch " << pitch << (has_shape ? ", a shape" : ""));
      synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
      desc.row_pitch = pitch;
      if (!has_shape) desc.n_elements = n;
      if (has_shape) std::copy_n(std::begin({uint64_t{1}, uint64_t{1}, n}), 3, desc.shape);
      synfire_buffer x = nullptr, v_seq = nullptr;
      ASSERT_OK(synfire_buffer_create(context, &desc, &x));
      const Buffer x_owner(x);
      ASSERT_OK(synfire_buffer_create(context, &desc, &v_seq));
      const Buffer v_owner(v_seq);
      ASSERT_OK(synfire_buffer_upload(x, 0, values.data(), n * sizeof(float)));
      synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
      forward.x = x;
      forward.v_seq = v_seq;
      ASSERT_OK(synfire_layer_reset_state(layer, nullptr));
      ASSERT_OK(synfire_layer_forward(layer, &forward, nullptr));
      ASSERT_OK(synfire_buffer_download(v_seq, 0, v.data(), n * sizeof(float)));
      if (expected.empty()) expected = v;
      EXPECT_EQ(v, expected);
    }
}

// All rows but the last take just below 2^64 bytes, and the last one exceeds the limit.
TEST_F(Pitch, SizesThatWrapAreRefused) {
  constexpr int64_t n_steps = 46'114'554'456'552, n_neurons = 6'186;
  synfire_buffer_desc spaced = SYNFIRE_BUFFER_DESC_INIT;
  spaced.n_elements = spaced.row_pitch = 100'005;
  const auto make = [&](int32_t dtype) {
    spaced.dtype = dtype;
    synfire_buffer handle = nullptr;
    EXPECT_OK(synfire_buffer_create(context, &spaced, &handle));
    return Buffer(handle);
  };
  const Buffer x = make(SYNFIRE_DTYPE_F32), other = make(SYNFIRE_DTYPE_F32);
  const Buffer count = make_buffer(context, SYNFIRE_DTYPE_U64, 1);
  const Layer layer = make_layer(context, describe({n_steps, 1, n_neurons}, SYNFIRE_DTYPE_F32));
  const Graph graph = make_graph(context);
  const auto too_small = WORDS("elements");
  const auto expect_too_small = [&](synfire_status status) {
    EXPECT_TRUE(fails_with(status, SYNFIRE_ERROR_INVALID_ARGUMENT, too_small));
    EXPECT_EQ(last_error_text().rfind("[SYN-BUFFER-SIZE]", 0), 0u) << last_error_text();
    poison_last_error();
  };
  poison_last_error();

  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.tape = SYNFIRE_TAPE_NONE;
  expect_too_small(synfire_layer_forward(layer, &forward, nullptr));
  expect_too_small(synfire_graph_record_forward(graph, layer, &forward));

  synfire_convert_spikes_desc convert = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
  convert.n_steps = n_steps;
  convert.n_neurons = n_neurons;
  convert.source = x;
  convert.destination = other;
  expect_too_small(synfire_convert_spikes(context, &convert, nullptr));
  expect_too_small(synfire_graph_record_convert_spikes(graph, &convert));

  synfire_count_spikes_desc counting = SYNFIRE_COUNT_SPIKES_DESC_INIT;
  counting.kind = SYNFIRE_COUNT_TOTAL;
  counting.n_steps = n_steps;
  counting.n_neurons = n_neurons;
  counting.spikes = x;
  counting.counts = count;
  expect_too_small(synfire_count_spikes(context, &counting, nullptr));
  expect_too_small(synfire_graph_record_count_spikes(graph, &counting));
}

}  // namespace
}  // namespace synfire_test
