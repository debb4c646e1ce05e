// Runs a model with any number of variables through the C ABI, every variable given and returned, and compares each bit
// with a plain loop over the model's own functions (model/recursion.hpp), which tests/model verifies by themselves.
#ifndef SYNFIRE_TESTS_CAPI_RECURSION_RIG_HPP
#define SYNFIRE_TESTS_CAPI_RECURSION_RIG_HPP

#include <synfire/model/update.hpp>

#include <algorithm>

#include "support.hpp"

namespace synfire_test {

template <class Model, class R>
class RecursionRig {
 public:
  static constexpr int n_states = Model::n_states;

  struct Choice {
    Shape shape;
    int32_t tape = SYNFIRE_TAPE_RECOMPUTE;
    bool soft_reset = false, detach_reset = false, as_graph = false;
  };

  RecursionRig(synfire_context context, int32_t model, const Choice& choice, uint64_t seed = 3)
      : context_(context), choice_(choice), random_(seed) {
    synfire_layer_desc desc = describe(choice.shape, dtype_of<R>);
    desc.model = model;
    desc.reset = choice.soft_reset ? SYNFIRE_RESET_SOFT : SYNFIRE_RESET_HARD;
    desc.detach_reset = choice.detach_reset ? 1 : 0;
    layer_ = make_layer(context, desc);
    const size_t row = choice.shape.row(), all = choice.shape.sequence();
    x_ = random_.values<R>(all, -1.5, 2.5);
    grad_spike_ = random_.values<R>(all, -1, 1);
    for (int i = 0; i < n_states; ++i) {
      start_[i] = random_.values<R>(row, -0.4, 0.4);
      grad_seq_[i] = random_.values<R>(all, -1, 1);
      grad_final_[i] = random_.values<R>(row, -1, 1);
    }
  }

  void run() {
    compute_expected();
    pass();
    const auto expect = [](const char* what, int i, const std::vector<R>& is, const std::vector<R>& wanted) {
      EXPECT_TRUE(same_bits(is, wanted)) << what << " of variable " << i;
    };
    expect("spikes", 0, spikes_, expected_.spikes);
    expect("dL/dX", 0, grad_x_, expected_.grad_x);
    for (int i = 0; i < n_states; ++i) {
      expect("sequence", i, seq_[i], expected_.seq[i]);
      expect("final", i, final_[i],
             slice(expected_.seq[i], choice_.shape.sequence() - choice_.shape.row(), choice_.shape.row()));
      expect("gradient of the start", i, grad_start_[i], expected_.grad_start[i]);
    }
    for (int p = 0; p < Model::n_parameters; ++p)
      EXPECT_NEAR(static_cast<double>(gradients_[static_cast<size_t>(p)]), expected_.gradients[p],
                  1e-5 * (1 + std::fabs(expected_.gradients[p])))
          << Model::parameters[p].name;
  }

 private:
  // The name of a variable beyond W, or null.
  static const char* name_of(int i) { return i > 1 ? synfire::model::state_name<Model>(i) : nullptr; }

  void pass() {
    const Shape& shape = choice_.shape;
    const size_t row = shape.row(), all = shape.sequence();
    const auto empty = [&](size_t count) { return make_buffer(context_, dtype_of<R>, count); };
    const Buffer x = make_buffer_of(context_, x_), spikes = empty(all),
                 grad_spike = make_buffer_of(context_, grad_spike_), grad_x = empty(all);
    Buffer start[n_states], seq[n_states], last[n_states], grad_seq[n_states], grad_final[n_states],
        grad_start[n_states];
    for (int i = 0; i < n_states; ++i) {
      start[i] = make_buffer_of(context_, start_[i]);
      grad_seq[i] = make_buffer_of(context_, grad_seq_[i]);
      grad_final[i] = make_buffer_of(context_, grad_final_[i]);
      seq[i] = empty(all), last[i] = empty(row), grad_start[i] = empty(row);
    }
    const auto list = [](Buffer(&buffers)[n_states]) {
      std::vector<synfire_state_buffer> entries;
      for (int i = n_states - 1; i > 1; --i) entries.push_back({name_of(i), buffers[i]});  // in any order
      return entries;
    };
    const auto starts = list(start), lasts = list(last), seqs = list(seq), grad_seqs = list(grad_seq),
               grad_finals = list(grad_final), grad_starts = list(grad_start);
    const auto w = [](Buffer(&buffers)[n_states]) { return n_states > 1 ? buffers[1 % n_states].get() : nullptr; };
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.tape = choice_.tape;
    forward.x = x, forward.spikes = spikes, forward.v_init = start[0], forward.v_final = last[0],
    forward.v_seq = seq[0];
    forward.w_init = w(start), forward.w_final = w(last), forward.w_seq = w(seq);
    forward.state_init = starts.data(), forward.n_state_init = starts.size();
    forward.state_final = lasts.data(), forward.n_state_final = lasts.size();
    forward.state_seq = seqs.data(), forward.n_state_seq = seqs.size();
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = grad_spike, backward.grad_x_seq = grad_x;
    backward.grad_v_seq = grad_seq[0], backward.grad_v_final = grad_final[0], backward.grad_v_init = grad_start[0];
    backward.grad_w_seq = w(grad_seq), backward.grad_w_final = w(grad_final), backward.grad_w_init = w(grad_start);
    backward.grad_state_seq = grad_seqs.data(), backward.n_grad_state_seq = grad_seqs.size();
    backward.grad_state_final = grad_finals.data(), backward.n_grad_state_final = grad_finals.size();
    backward.grad_state_init = grad_starts.data(), backward.n_grad_state_init = grad_starts.size();
    std::vector<Buffer> sums;
    std::vector<synfire_parameter_gradient> gradients;
    for (int p = 0; p < Model::n_parameters; ++p) {
      sums.push_back(empty(1));
      gradients.push_back({Model::parameters[p].name, sums.back()});
    }
    backward.parameter_gradients = gradients.data(), backward.n_parameter_gradients = gradients.size();

    if (choice_.as_graph) {
      const Graph graph = make_graph(context_);
      ASSERT_OK(synfire_graph_record_forward(graph, layer_, &forward));
      ASSERT_OK(synfire_graph_record_backward(graph, layer_, &backward));
      ASSERT_OK(synfire_graph_instantiate(graph));
      replay(graph);
    } else {
      ASSERT_OK(synfire_layer_forward(layer_, &forward, nullptr));
      ASSERT_OK(synfire_layer_backward(layer_, &backward, nullptr));
      ASSERT_OK(synfire_context_synchronize(context_));
    }
    spikes_ = download<R>(spikes, all);
    grad_x_ = download<R>(grad_x, all);
    for (int i = 0; i < n_states; ++i) {
      seq_[i] = download<R>(seq[i], all);
      final_[i] = download<R>(last[i], row);
      grad_start_[i] = download<R>(grad_start[i], row);
    }
    for (const Buffer& sum : sums) gradients_.push_back(download<R>(sum, 1)[0]);
  }

  void compute_expected() {
    using namespace synfire::model;
    const Shape& shape = choice_.shape;
    const size_t row = shape.row(), all = shape.sequence();
    const Rules rules = {choice_.soft_reset, choice_.detach_reset};
    constexpr int n_constants = first_model_constant + Model::n_constants;
    double parameters[max_parameters], constants[n_constants], slopes[max_slope_rows * max_model_constants];
    for (int p = 0; p < Model::n_parameters; ++p) parameters[p] = Model::parameters[p].default_value;
    parameters[Model::n_parameters] = 1.0;
    parameters[Model::n_parameters + 1] = Model::default_v_reset;
    derive_own<Model>(parameters, false, constants);
    derive_slopes<Model>(parameters, false, slopes);
    const double alpha = Sigmoid::parameters[0].default_value;
    double shape_constants[Sigmoid::n_constants];
    Sigmoid::derive(&alpha, shape_constants);
    R c[n_constants], along[max_slope_rows * max_model_constants], sigmoid[Sigmoid::n_constants];
    for (int k = 0; k < n_constants; ++k) c[k] = static_cast<R>(constants[k]);
    for (int k = 0; k < max_slope_rows * max_model_constants; ++k) along[k] = static_cast<R>(slopes[k]);
    for (int k = 0; k < Sigmoid::n_constants; ++k) sigmoid[k] = static_cast<R>(shape_constants[k]);

    expected_ = {};
    expected_.spikes.resize(all);
    expected_.grad_x.resize(all);
    for (int i = 0; i < n_states; ++i) expected_.seq[i].resize(all), expected_.grad_start[i].resize(row);
    for (size_t n = 0; n < row; ++n) {
      std::vector<StateOf<Model, R>> before;
      std::vector<R> h;
      StateOf<Model, R> state = {};
      state.v = start_[0][n];
      for (int i = 1; i < n_states; ++i) state.w[i - 1] = start_[i][n];
      for (size_t at = n; at < all; at += row) {
        before.push_back(state);
        h.push_back(charge<Model>(c, state, x_[at]));
        const bool spike = fires<Model>(c, h.back());
        state = advance<Model>(c, rules, state, x_[at], h.back(), spike);
        expected_.spikes[at] = spike ? R(1) : R(0);
        expected_.seq[0][at] = state.v;
        for (int i = 1; i < n_states; ++i) expected_.seq[i][at] = state.w[i - 1];
      }
      StateOf<Model, R> carried = {};
      carried.v = grad_final_[0][n];
      for (int i = 1; i < n_states; ++i) carried.w[i - 1] = grad_final_[i][n];
      for (size_t t = before.size(); t-- > 0;) {
        const size_t at = t * row + n;
        IncomingOf<Model, R> in = {};
        in.spike = grad_spike_[at];
        in.v = grad_seq_[0][at] + carried.v;
        for (int i = 1; i < n_states; ++i) in.w[i - 1] = grad_seq_[i][at] + carried.w[i - 1];
        const R g = Sigmoid::derivative(static_cast<const R*>(sigmoid), h[t] - c[constant_v_threshold]);
        const auto step = backward_step<Model>(c, rules, before[t], x_[at], h[t], g, in);
        for (int p = 0; p < Model::n_parameters; ++p)
          expected_.gradients[p] += static_cast<double>(parameter_gradient<Model>(
              c, static_cast<const R*>(along + p * max_model_constants), before[t], x_[at], h[t], step, in));
        expected_.grad_x[at] = step.x;
        carried = step.before;
      }
      expected_.grad_start[0][n] = carried.v;
      for (int i = 1; i < n_states; ++i) expected_.grad_start[i][n] = carried.w[i - 1];
    }
  }

  struct Expected {
    std::vector<R> spikes, grad_x, seq[n_states], grad_start[n_states];
    double gradients[synfire::model::max_parameters];
  };

  synfire_context context_;
  Choice choice_;
  Random random_;
  Layer layer_;
  std::vector<R> x_, grad_spike_, start_[n_states], grad_seq_[n_states], grad_final_[n_states];
  std::vector<R> spikes_, grad_x_, seq_[n_states], final_[n_states], grad_start_[n_states], gradients_;
  Expected expected_;
};

// Every rule and tape, as eager calls and as a graph.
template <class Model, class R>
void expect_recursion(synfire_context context, int32_t model) {
  for (const int64_t n_steps : {int64_t{1}, int64_t{5}, int64_t{33}, int64_t{70}})
    for (const int32_t tape : {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE})
      for (const int rules : {0, 1, 2, 3})
        for (const bool as_graph : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << "T " << n_steps << ", tape " << tape << ", rules " << rules << ", graph " << as_graph);
          RecursionRig<Model, R>(context, model, {{n_steps, 2, 19}, tape, (rules & 1) != 0, (rules & 2) != 0, as_graph})
              .run();
        }
}

}  // namespace synfire_test

#endif
