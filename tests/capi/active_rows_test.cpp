// Inactive batch rows are neither read nor written, and the results of the active ones equal those of a layer that has
// only these.
#include "recording_support.hpp"

namespace synfire_test {
namespace {

template <typename Scalar>
class ActiveRows : public testing::Test {
 protected:
  const Context context_ = make_context();

  static synfire_layer_desc describe_neuron(const Shape& shape, int32_t model, int32_t dtype = dtype_of<Scalar>) {
    synfire_layer_desc desc = describe(shape, dtype);
    desc.model = model;
    return desc;
  }
  // The first `rows` of each step of a sequence [T, B, N].
  template <typename Element>
  static std::vector<Element> active(const std::vector<Element>& sequence, const Shape& shape, int64_t rows,
                                     size_t per_row) {
    std::vector<Element> result;
    const size_t step = static_cast<size_t>(shape.batch) * per_row;
    for (size_t first = 0; first < sequence.size(); first += step)
      result.insert(result.end(), sequence.begin() + static_cast<std::ptrdiff_t>(first),
                    sequence.begin() + static_cast<std::ptrdiff_t>(first + static_cast<size_t>(rows) * per_row));
    return result;
  }
  template <typename Element>
  static std::vector<Element> rest(const std::vector<Element>& sequence, const Shape& shape, int64_t rows,
                                   size_t per_row) {
    std::vector<Element> result;
    const size_t step = static_cast<size_t>(shape.batch) * per_row;
    for (size_t first = 0; first < sequence.size(); first += step)
      result.insert(result.end(),
                    sequence.begin() + static_cast<std::ptrdiff_t>(first + static_cast<size_t>(rows) * per_row),
                    sequence.begin() + static_cast<std::ptrdiff_t>(first + step));
    return result;
  }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(ActiveRows, Scalars);

TYPED_TEST(ActiveRows, ForwardAndBackwardOfTheFirstRowsAlone) {
  using Scalar = TypeParam;
  Random random(1);
  const Scalar nan = std::numeric_limits<Scalar>::quiet_NaN();
  for (const Shape shape : {Shape{5, 4, 35}, Shape{40, 3, 64}, Shape{7, 6, 700}, Shape{33, 2, 1}})
    for (const bool per_neuron : {false, true})
      for (int64_t rows = 0; rows <= shape.batch; ++rows) {
        SCOPED_TRACE(testing::Message() << shape << ", " << rows << " active, per neuron " << per_neuron);
        const auto n = static_cast<size_t>(shape.n_neurons), words = shape.words_per_row();
        Rig<Scalar> rig(this->context_, this->describe_neuron(shape, SYNFIRE_MODEL_LIF));
        Inputs<Scalar> inputs = random_inputs<Scalar>(shape, random.next());
        const std::vector<double> tau =
            per_neuron ? random.values<double>(n, 1.5, 4) : std::vector<double>{random.uniform(1.5, 4)};
        set_parameter(rig.layer, "tau", tau);
        const Graph graph = make_graph(this->context_);
        const Buffer one = make_buffer(this->context_, dtype_of<Scalar>, 1),
                     each = make_buffer(this->context_, dtype_of<Scalar>, n);
        const synfire_forward_desc forward = rig.forward_desc(),
                                   bits = rig.forward_desc({.spikes = Spikes::bits, .v_init = false});
        synfire_backward_desc backward = rig.backward_desc();
        const synfire_parameter_gradient gradients[2] = {{"v_threshold", one}, {"tau", each}};
        backward.parameter_gradients = gradients;
        backward.n_parameter_gradients = 2;
        EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &bits));
        EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
        EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
        EXPECT_OK(synfire_graph_instantiate(graph));
        // The contents of inactive rows must not matter.
        Inputs<Scalar> poisoned = inputs;
        for (auto* sequence :
             {&poisoned.x, &poisoned.v_init, &poisoned.grad_spike_seq, &poisoned.grad_v_seq, &poisoned.grad_v_final})
          for (size_t i = 0; i < sequence->size(); ++i)
            if (i % shape.row() >= static_cast<size_t>(rows) * n) (*sequence)[i] = nan;
        rig.load(poisoned);
        const std::vector<Scalar> state = random.values<Scalar>(shape.row(), -0.5, 0.5);
        EXPECT_OK(synfire_layer_write_state(rig.layer, "v", state.data(), state.size() * sizeof(Scalar)));
        rig.poison();
        EXPECT_OK(synfire_layer_set_n_active(rig.layer, rows));
        replay(graph);
        const ForwardOutputs<Scalar> out = rig.forward_outputs();
        const BackwardOutputs<Scalar> back = rig.backward_outputs();
        const std::vector<Scalar> after = read_state<Scalar>(rig.layer, shape.row());

        // Inactive rows are untouched.
        for (const std::vector<Scalar>* sequence :
             {&out.spikes, &out.v_seq, &out.h_seq, &out.v_final, &back.grad_x_seq, &back.grad_v_init})
          EXPECT_TRUE(all_are(this->rest(*sequence, shape, rows, n), nan));
        EXPECT_TRUE(all_are(this->rest(out.spike_bits, shape, rows, words), 0xFFFFFFFFu));
        EXPECT_TRUE(same_bits(this->rest(after, shape, rows, n), this->rest(state, shape, rows, n)));
        if (rows == 0) {
          EXPECT_TRUE(all_are(download<Scalar>(each, n), Scalar(0)));
          EXPECT_TRUE(all_are(download<Scalar>(one, 1), Scalar(0)));
          continue;
        }
        // Active rows equal those of a smaller layer.
        const Shape small{shape.n_steps, rows, shape.n_neurons};
        Rig<Scalar> reference(this->context_, this->describe_neuron(small, SYNFIRE_MODEL_LIF));
        set_parameter(reference.layer, "tau", tau);
        reference.load({this->active(inputs.x, shape, rows, n), this->active(inputs.v_init, shape, rows, n),
                        this->active(inputs.grad_spike_seq, shape, rows, n),
                        this->active(inputs.grad_v_seq, shape, rows, n),
                        this->active(inputs.grad_v_final, shape, rows, n)});
        const std::vector<Scalar> small_state = this->active(state, shape, rows, n);
        EXPECT_OK(
            synfire_layer_write_state(reference.layer, "v", small_state.data(), small_state.size() * sizeof(Scalar)));
        reference.poison();
        EXPECT_OK(reference.run_forward({.spikes = Spikes::bits, .v_init = false}));
        EXPECT_TRUE(same_bits(this->active(out.spike_bits, shape, rows, words),
                              download<uint32_t>(reference.spike_bits, small.words())));
        EXPECT_TRUE(same_bits(this->active(after, shape, rows, n), read_state<Scalar>(reference.layer, small.row())));
        EXPECT_OK(reference.run_forward());
        const Buffer small_one = make_buffer(this->context_, dtype_of<Scalar>, 1),
                     small_each = make_buffer(this->context_, dtype_of<Scalar>, n);
        synfire_backward_desc small_backward = reference.backward_desc();
        const synfire_parameter_gradient small_gradients[2] = {{"v_threshold", small_one}, {"tau", small_each}};
        small_backward.parameter_gradients = small_gradients;
        small_backward.n_parameter_gradients = 2;
        EXPECT_OK(synfire_layer_backward(reference.layer, &small_backward, nullptr));
        const ForwardOutputs<Scalar> expected = reference.forward_outputs();
        const BackwardOutputs<Scalar> expected_back = reference.backward_outputs();
        EXPECT_TRUE(same_bits(this->active(out.spikes, shape, rows, n), expected.spikes));
        EXPECT_TRUE(same_bits(this->active(out.v_seq, shape, rows, n), expected.v_seq));
        EXPECT_TRUE(same_bits(this->active(out.h_seq, shape, rows, n), expected.h_seq));
        EXPECT_TRUE(same_bits(this->active(out.v_final, shape, rows, n), expected.v_final));
        EXPECT_TRUE(same_bits(this->active(back.grad_x_seq, shape, rows, n), expected_back.grad_x_seq));
        EXPECT_TRUE(same_bits(this->active(back.grad_v_init, shape, rows, n), expected_back.grad_v_init));
        EXPECT_TRUE(same_bits(download<Scalar>(each, n), download<Scalar>(small_each, n)));
        EXPECT_TRUE(same_bits(download<Scalar>(one, 1), download<Scalar>(small_one, 1)));
        if (this->HasFailure()) return;
      }
}

// Rows that were active earlier leave nothing in the sums of gradients: shared and per neuron, eager and replayed, of
// every parameter, and of more elements than are summed at a time.
TYPED_TEST(ActiveRows, GradientsForgetRowsThatWereActive) {
  using Scalar = TypeParam;
  for (const Shape shape : {Shape{4, 5, 33}, Shape{3, 4, 1500}}) {
    const auto n = static_cast<size_t>(shape.n_neurons);
    const char* const names[] = {"tau", "v_rest", "v_threshold", "v_reset"};
    const auto make_gradients = [&](std::vector<Buffer>& buffers, bool per_neuron) {
      std::vector<synfire_parameter_gradient> gradients;
      for (const char* name : names) {
        buffers.push_back(make_buffer(this->context_, dtype_of<Scalar>, per_neuron ? n : 1));
        gradients.push_back({name, buffers.back()});
      }
      return gradients;
    };
    const Inputs<Scalar> inputs = random_inputs<Scalar>(shape, 6);
    for (const bool per_neuron : {false, true})
      for (const bool replayed : {false, true}) {
        SCOPED_TRACE(testing::Message() << shape << ", per neuron " << per_neuron << ", replayed " << replayed);
        Rig<Scalar> rig(this->context_, this->describe_neuron(shape, SYNFIRE_MODEL_LIF));
        rig.load(inputs);
        std::vector<Buffer> buffers;
        const std::vector<synfire_parameter_gradient> gradients = make_gradients(buffers, per_neuron);
        const synfire_forward_desc forward = rig.forward_desc();
        synfire_backward_desc backward = rig.backward_desc();
        backward.parameter_gradients = gradients.data();
        backward.n_parameter_gradients = gradients.size();
        const Graph graph = make_graph(this->context_);
        EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
        EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
        EXPECT_OK(synfire_graph_instantiate(graph));
        for (const int64_t rows : {shape.batch, int64_t{1}, int64_t{3}, int64_t{2}, int64_t{0}, shape.batch}) {
          SCOPED_TRACE(testing::Message() << rows << " active");
          EXPECT_OK(synfire_layer_set_n_active(rig.layer, rows));
          if (replayed) {
            replay(graph);
          } else {
            EXPECT_OK(synfire_layer_forward(rig.layer, &forward, nullptr));
            EXPECT_OK(synfire_layer_backward(rig.layer, &backward, nullptr));
          }
          if (rows == 0) {
            for (const Buffer& buffer : buffers)
              EXPECT_TRUE(all_are(download<Scalar>(buffer, per_neuron ? n : 1), Scalar(0)));
            continue;
          }
          const Shape small{shape.n_steps, rows, shape.n_neurons};
          Rig<Scalar> reference(this->context_, this->describe_neuron(small, SYNFIRE_MODEL_LIF));
          reference.load({this->active(inputs.x, shape, rows, n), this->active(inputs.v_init, shape, rows, n),
                          this->active(inputs.grad_spike_seq, shape, rows, n),
                          this->active(inputs.grad_v_seq, shape, rows, n),
                          this->active(inputs.grad_v_final, shape, rows, n)});
          std::vector<Buffer> small_buffers;
          const std::vector<synfire_parameter_gradient> small_gradients = make_gradients(small_buffers, per_neuron);
          EXPECT_OK(reference.run_forward());
          synfire_backward_desc small_backward = reference.backward_desc();
          small_backward.parameter_gradients = small_gradients.data();
          small_backward.n_parameter_gradients = small_gradients.size();
          EXPECT_OK(synfire_layer_backward(reference.layer, &small_backward, nullptr));
          for (size_t i = 0; i < buffers.size(); ++i)
            EXPECT_TRUE(same_bits(download<Scalar>(buffers[i], per_neuron ? n : 1),
                                  download<Scalar>(small_buffers[i], per_neuron ? n : 1)))
                << names[i];
        }
      }
  }
}

TYPED_TEST(ActiveRows, TimePackedSpikesAndStoredTapes) {
  using Scalar = TypeParam;
  const Shape shape{40, 3, 21};
  const auto n = static_cast<size_t>(shape.n_neurons);
  const Layer layer = make_layer(this->context_, this->describe_neuron(shape, SYNFIRE_MODEL_IZHIKEVICH));
  const Buffer x = make_buffer_of(this->context_, random_inputs<Scalar>(shape, 3).x);
  const Buffer words = make_buffer(this->context_, SYNFIRE_DTYPE_TIME_BITS, 2 * shape.row());
  const Buffer grad = make_buffer_of(this->context_, random_inputs<Scalar>(shape, 4).grad_spike_seq);
  const Buffer grad_x = make_buffer(this->context_, dtype_of<Scalar>, shape.sequence());
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.spikes = words;
  forward.tape = SYNFIRE_TAPE_STORE;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_spike_seq = grad;
  backward.grad_x_seq = grad_x;
  std::vector<uint32_t> all;
  std::vector<Scalar> all_grad;
  for (const int64_t rows : {3, 2}) {
    EXPECT_OK(synfire_layer_reset_state(layer, nullptr));
    EXPECT_OK(synfire_layer_set_n_active(layer, rows));
    EXPECT_OK(synfire_buffer_fill(words, 4294967295.0));
    EXPECT_OK(synfire_buffer_fill(grad_x, 9));
    EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
    EXPECT_OK(synfire_layer_backward(layer, &backward, nullptr));
    const auto spikes = download<uint32_t>(words, 2 * shape.row());
    const auto gradient = download<Scalar>(grad_x, shape.sequence());
    if (rows == 3) {
      all = spikes;
      all_grad = gradient;
      continue;
    }
    EXPECT_EQ(this->active(spikes, shape, rows, n), this->active(all, shape, rows, n));
    EXPECT_TRUE(all_are(this->rest(spikes, shape, rows, n), 0xFFFFFFFFu));
    EXPECT_TRUE(same_bits(this->active(gradient, shape, rows, n), this->active(all_grad, shape, rows, n)));
    EXPECT_TRUE(all_are(this->rest(gradient, shape, rows, n), Scalar(9)));
  }
}

// Several replays in flight, each with the number of active rows at its launch.
TYPED_TEST(ActiveRows, TheNumberBelongsToTheLaunch) {
  constexpr uint32_t n_slots = 4;
  const Shape shape{2, 4, 8};
  for (const bool updated : {false, true}) {
    const Layer layer = make_layer(this->context_, this->describe_neuron(shape, SYNFIRE_MODEL_LIF));
    const Buffer x = make_buffer(this->context_, dtype_of<TypeParam>, shape.sequence());
    EXPECT_OK(synfire_buffer_fill(x, 1));
    const Buffer h = make_frame(this->context_, shape.sequence(), SYNFIRE_MEMORY_PINNED, dtype_of<TypeParam>);
    const Buffer gradient = make_buffer_of(this->context_, std::vector<TypeParam>{0});
    EXPECT_OK(synfire_buffer_fill(h, 7));
    const Graph graph = make_slotted_graph(this->context_, n_slots);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    forward.h_seq = h;
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
    if (updated) record_update(graph, layer, "tau", gradient, 1);  // the parameter block is then written on the device
    EXPECT_OK(synfire_graph_instantiate(graph));
    uint64_t tickets[n_slots];
    for (uint32_t k = 0; k < n_slots; ++k) {
      EXPECT_OK(synfire_layer_set_n_active(layer, k));
      tickets[k] = launch(graph);
    }
    for (uint32_t k = 0; k < n_slots; ++k) {
      wait(graph, tickets[k]);
      void* data = nullptr;
      EXPECT_OK(synfire_graph_get_slot(graph, tickets[k], h, &data, nullptr));
      for (size_t b = 0; b < 4; ++b) EXPECT_EQ(static_cast<TypeParam*>(data)[b * 8] == 7, b >= k) << k << ", row " << b;
    }
  }
}

TYPED_TEST(ActiveRows, ChangesMakeTapesStaleAndBadInputChangesNothing) {
  const Shape shape{3, 2, 4};
  Rig<TypeParam> rig(this->context_, describe(shape, dtype_of<TypeParam>));
  rig.load(random_inputs<TypeParam>(shape, 5));
  EXPECT_OK(rig.run_forward());
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("n_rows"), synfire_layer_set_n_active(rig.layer, 3));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("n_rows"), synfire_layer_set_n_active(rig.layer, -1));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_set_n_active(nullptr, 1));
  EXPECT_OK(synfire_layer_set_n_active(rig.layer, 2));
  EXPECT_OK(rig.run_backward()) << "it was 2 before";
  EXPECT_OK(synfire_layer_set_n_active(rig.layer, 1));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("parameter|rows"), rig.run_backward());
  EXPECT_OK(rig.run_forward());
  EXPECT_OK(rig.run_backward());
}

}  // namespace
}  // namespace synfire_test
