// A layer that occurs several times in a graph: each forward has its own tape, each backward says which one it reads,
// windows continue one another, and gradients of parameters add up.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "recording_support.hpp"

namespace synfire_test {
namespace {

// Odd on purpose, to cover partial words and vectors.
constexpr int64_t n_steps = 7, batch = 2, n_neurons = 37;
constexpr uint64_t row = static_cast<uint64_t>(batch * n_neurons), sequence = static_cast<uint64_t>(n_steps) * row;

template <typename Scalar>
constexpr int32_t dtype_of = sizeof(Scalar) == 8 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;

template <typename Scalar>
class SharedLayer : public testing::Test {
 protected:
  Layer layer_of(int64_t steps) const {
    synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
    desc.model = SYNFIRE_MODEL_PLIF;
    desc.n_steps = steps;
    desc.n_neurons = n_neurons;
    desc.batch = batch;
    desc.dtype = dtype_of<Scalar>;
    return make_layer(context, desc);
  }
  std::vector<Scalar> numbers(uint64_t count, unsigned seed, double low, double high) const {
    return Random(seed).values<Scalar>(count, low, high);
  }
  Buffer filled(uint64_t count, unsigned seed, double low = -0.5, double high = 2) const {
    return make_buffer_of(context, numbers(count, seed, low, high));
  }
  Buffer empty(uint64_t count) const { return make_buffer(context, dtype_of<Scalar>, count); }

  // A forward and a backward over a window, with separate buffers.
  struct Window {
    Buffer x, grad_spikes, spikes, grad_x, grad_v_init, gradient;
    int32_t forward = -1, backward = -1;
  };
  Window window(unsigned seed) const {
    return {filled(sequence, seed),
            filled(sequence, seed + 100, -1, 1),
            empty(sequence),
            empty(sequence),
            empty(row),
            empty(1)};
  }
  void record_forward(synfire_graph graph, synfire_layer layer, Window& window,
                      int32_t tape = SYNFIRE_TAPE_RECOMPUTE) const {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = window.x;
    desc.spikes = window.spikes;
    desc.tape = tape;
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &desc));
    window.forward = last_operation(graph);
  }
  synfire_backward_desc backward_desc(const Window& window, bool names = true) const {
    synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
    desc.grad_spike_seq = window.grad_spikes;
    desc.grad_x_seq = window.grad_x;
    desc.grad_v_init = window.grad_v_init;
    desc.forward = names ? static_cast<uint32_t>(window.forward) + 1 : 0;
    return desc;
  }
  void record_backward(synfire_graph graph, synfire_layer layer, Window& window, bool names = true) const {
    const synfire_backward_desc desc = backward_desc(window, names);
    EXPECT_OK(synfire_graph_record_backward(graph, layer, &desc));
    window.backward = last_operation(graph);
  }
  std::vector<Scalar> all_of(const Buffer& buffer, uint64_t count) const { return download<Scalar>(buffer, count); }
  // The result of a separate layer for this window, from a reset state.
  std::vector<Scalar> gradient_alone(const Window& like) const {
    const Layer layer = layer_of(n_steps);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = like.x;
    EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
    const Buffer grad_x = empty(sequence);
    synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
    desc.grad_spike_seq = like.grad_spikes;
    desc.grad_x_seq = grad_x;
    EXPECT_OK(synfire_layer_backward(layer, &desc, nullptr));
    EXPECT_OK(synfire_context_synchronize(context));
    return all_of(grad_x, sequence);
  }
  void expect_near(const std::vector<Scalar>& is, const std::vector<Scalar>& wanted) const {
    ASSERT_EQ(is.size(), wanted.size());
    for (size_t i = 0; i < is.size(); ++i)
      ASSERT_NEAR(is[i], wanted[i], (sizeof(Scalar) == 8 ? 1e-12 : 2e-5) * std::max(1.0, std::abs(double{wanted[i]})))
          << i;
  }

  Context context = make_context();
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(SharedLayer, Scalars);

// The same weights for two inputs. The state is reset before each, so each equals a separate layer.
TYPED_TEST(SharedLayer, EachBackwardReadsTheTapeOfItsForward) {
  for (const int32_t tape : {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE})
    for (const bool in_order : {true, false}) {
      SCOPED_TRACE(testing::Message() << "tape " << tape << " in order " << in_order);
      const Layer layer = this->layer_of(n_steps);
      const Graph graph = make_graph(this->context);
      auto first = this->window(1), second = this->window(2);
      const synfire_state_desc all_rows = rows_desc(0, 0);
      for (auto* const window : {&first, &second}) {
        EXPECT_OK(synfire_graph_record_reset_rows(graph, layer, &all_rows));
        this->record_forward(graph, layer, *window, tape);
      }
      for (auto* const window : {in_order ? &first : &second, in_order ? &second : &first})
        this->record_backward(graph, layer, *window);
      EXPECT_OK(synfire_graph_instantiate(graph));
      for (int replays = 0; replays < 3; ++replays) {
        replay(graph);
        EXPECT_TRUE(same_bits(this->all_of(first.grad_x, sequence), this->gradient_alone(first)));
        EXPECT_TRUE(same_bits(this->all_of(second.grad_x, sequence), this->gradient_alone(second)));
      }
    }
}

TYPED_TEST(SharedLayer, WithoutANameItIsTheNewest) {
  const Layer layer = this->layer_of(n_steps);
  const Graph graph = make_graph(this->context);
  auto first = this->window(3), second = this->window(4);
  const synfire_state_desc all_rows = rows_desc(0, 0);
  this->record_forward(graph, layer, first);
  EXPECT_OK(synfire_graph_record_reset_rows(graph, layer, &all_rows));
  this->record_forward(graph, layer, second);
  this->record_backward(graph, layer, second, false);
  EXPECT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  EXPECT_TRUE(same_bits(this->all_of(second.grad_x, sequence), this->gradient_alone(second)));
}

// Three windows unrolled in one graph equal one long sequence: spikes bit for bit, gradients up to rounding.
TYPED_TEST(SharedLayer, WindowsAreOneLongSequence) {
  using Scalar = TypeParam;
  constexpr uint64_t n_windows = 3;
  const Layer layer = this->layer_of(n_steps), whole = this->layer_of(n_steps * int64_t{n_windows});
  const Graph graph = make_graph(this->context);
  typename TestFixture::Window windows[n_windows];
  std::vector<Scalar> x, grad_spikes;
  for (unsigned i = 0; i < n_windows; ++i) {
    windows[i] = this->window(10 + i);
    this->record_forward(graph, layer, windows[i]);
    for (const auto& [buffer, all] : {std::pair{&windows[i].x, &x}, {&windows[i].grad_spikes, &grad_spikes}}) {
      const std::vector<Scalar> part = this->all_of(*buffer, sequence);
      all->insert(all->end(), part.begin(), part.end());
    }
  }
  const Buffer sum = this->empty(1);
  for (unsigned i = n_windows; i-- > 0;) {
    synfire_backward_desc desc = this->backward_desc(windows[i]);
    if (i + 1 < n_windows) desc.grad_v_final = windows[i + 1].grad_v_init;
    const synfire_parameter_gradient asked = {"reciprocal_tau", sum};
    desc.parameter_gradients = &asked;
    desc.n_parameter_gradients = 1;
    desc.add_parameter_gradients = i + 1 < n_windows ? 1 : 0;
    EXPECT_OK(synfire_graph_record_backward(graph, layer, &desc));
  }
  EXPECT_OK(synfire_graph_instantiate(graph));
  replay(graph);

  const Buffer whole_x = make_buffer_of(this->context, x),
               whole_grad_spikes = make_buffer_of(this->context, grad_spikes);
  const Buffer spikes = this->empty(n_windows * sequence), grad_x = this->empty(n_windows * sequence),
               gradient = this->empty(1);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = whole_x;
  forward.spikes = spikes;
  EXPECT_OK(synfire_layer_forward(whole, &forward, nullptr));
  const synfire_parameter_gradient asked = {"reciprocal_tau", gradient};
  synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
  desc.grad_spike_seq = whole_grad_spikes;
  desc.grad_x_seq = grad_x;
  desc.parameter_gradients = &asked;
  desc.n_parameter_gradients = 1;
  EXPECT_OK(synfire_layer_backward(whole, &desc, nullptr));
  EXPECT_OK(synfire_context_synchronize(this->context));
  const std::vector<Scalar> all_spikes = this->all_of(spikes, n_windows * sequence),
                            all_gradients = this->all_of(grad_x, n_windows * sequence);
  for (unsigned i = 0; i < n_windows; ++i) {
    SCOPED_TRACE(i);
    const auto part = [&](const std::vector<Scalar>& of) {
      return std::vector<Scalar>(of.begin() + static_cast<std::ptrdiff_t>(i * sequence),
                                 of.begin() + static_cast<std::ptrdiff_t>((i + 1) * sequence));
    };
    EXPECT_TRUE(same_bits(this->all_of(windows[i].spikes, sequence), part(all_spikes)));
    this->expect_near(this->all_of(windows[i].grad_x, sequence), part(all_gradients));
  }
  this->expect_near(this->all_of(sum, 1), this->all_of(gradient, 1));
}

// Eager and from replay to replay; also a gradient per neuron.
TYPED_TEST(SharedLayer, GradientsOfParametersAreAddedWhereThatIsAsked) {
  using Scalar = TypeParam;
  for (const uint64_t length : {uint64_t{1}, static_cast<uint64_t>(n_neurons)}) {
    SCOPED_TRACE(length);
    const Layer layer = this->layer_of(n_steps);
    auto window = this->window(20);
    const Buffer v = this->empty(row);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = window.x;
    forward.v_init = v;
    const Buffer replaced = this->empty(length), added = this->empty(length), replayed = this->empty(length);
    const auto ask = [&](const Buffer& into, int32_t add) {
      synfire_backward_desc desc = this->backward_desc(window, false);
      static synfire_parameter_gradient asked;
      asked = {"v_threshold", into};
      desc.parameter_gradients = &asked;
      desc.n_parameter_gradients = 1;
      desc.add_parameter_gradients = add;
      return desc;
    };
    EXPECT_OK(synfire_buffer_fill(added, 0.75));
    EXPECT_OK(synfire_buffer_fill(replaced, 0.75));
    EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
    synfire_backward_desc desc = ask(replaced, 0);
    EXPECT_OK(synfire_layer_backward(layer, &desc, nullptr));
    desc = ask(added, 1);
    EXPECT_OK(synfire_layer_backward(layer, &desc, nullptr));
    EXPECT_OK(synfire_context_synchronize(this->context));
    const std::vector<Scalar> gradient = this->all_of(replaced, length);
    EXPECT_TRUE(std::any_of(gradient.begin(), gradient.end(), [](Scalar g) { return g != 0; }));
    std::vector<Scalar> wanted(length, Scalar(0.75));
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] += gradient[i];
    this->expect_near(this->all_of(added, length), wanted);
    if (sizeof(Scalar) == 8) {
      EXPECT_TRUE(same_bits(this->all_of(added, length), wanted));
    }

    const Graph graph = make_graph(this->context);
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
    desc = ask(replayed, 1);
    EXPECT_OK(synfire_graph_record_backward(graph, layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(graph));
    EXPECT_OK(synfire_buffer_fill(replayed, 0));
    wanted.assign(length, 0);
    for (int replays = 0; replays < 4; ++replays) {
      replay(graph);
      for (size_t i = 0; i < wanted.size(); ++i) wanted[i] += gradient[i];
    }
    this->expect_near(this->all_of(replayed, length), wanted);
  }
}

// Forwards and backwards in four graphs: what runs in between does not invalidate a tape.
TYPED_TEST(SharedLayer, GraphsOfTheirOwnHaveTapesOfTheirOwn) {
  const Layer layer = this->layer_of(n_steps);
  typename TestFixture::Window windows[2] = {this->window(30), this->window(31)};
  const synfire_state_desc all_rows = rows_desc(0, 0);
  Graph forwards[2], backwards[2];
  for (int i = 0; i < 2; ++i) {
    forwards[i] = make_graph(this->context);
    EXPECT_OK(synfire_graph_record_reset_rows(forwards[i], layer, &all_rows));
    this->record_forward(forwards[i], layer, windows[i]);
    backwards[i] = make_graph(this->context);
    this->record_backward(backwards[i], layer, windows[i], false);
    EXPECT_OK(synfire_graph_instantiate(forwards[i]));
    EXPECT_OK(synfire_graph_instantiate(backwards[i]));
  }
  for (const Graph& graph : forwards) replay(graph);
  for (const Graph& graph : backwards) replay(graph);
  for (const auto& window : windows)
    EXPECT_TRUE(same_bits(this->all_of(window.grad_x, sequence), this->gradient_alone(window)));
  set_parameter(layer, "v_threshold", {1.5});
  for (const Graph& graph : backwards)
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-PARAMETERS"), synfire_graph_launch(graph, nullptr, nullptr));
}

TYPED_TEST(SharedLayer, OnlyAForwardOfTheLayerInTheGraphHasAName) {
  const Layer layer = this->layer_of(n_steps), other = this->layer_of(n_steps);
  const Graph graph = make_graph(this->context);
  auto window = this->window(40), others = this->window(41);
  this->record_forward(graph, other, others);
  this->record_forward(graph, layer, window);
  this->record_backward(graph, layer, window);
  synfire_backward_desc desc = this->backward_desc(window);
  for (const uint32_t wrong : {1u, 3u, 4u, 0xFFFFFFFFu}) {
    desc.forward = wrong;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BACKWARD-FORWARD", std::to_string(wrong - 1)),
                 synfire_graph_record_backward(graph, layer, &desc));
  }
  EXPECT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  desc.forward = 2;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BACKWARD-FORWARD"),
               synfire_layer_backward(layer, &desc, nullptr));
}

}  // namespace
}  // namespace synfire_test
