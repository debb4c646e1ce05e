// A layer of any model with a buffer for each array of its passes, W and the gradients of parameters included.
// One-variable passes without gradients of parameters need only Rig (support.hpp).
#ifndef SYNFIRE_TESTS_CAPI_FULL_RIG_HPP
#define SYNFIRE_TESTS_CAPI_FULL_RIG_HPP

#include <string>
#include <vector>

#include "support.hpp"

namespace synfire_test {

/// Arrays of W are empty for models with one variable.
template <typename Scalar>
struct FullInputs {
  std::vector<Scalar> x, v_init, w_init, grad_spike_seq, grad_v_seq, grad_v_final, grad_w_seq, grad_w_final;
};

template <typename Scalar>
struct FullOutputs {
  std::vector<Scalar> spikes, h_seq, v_seq, w_seq, v_final, w_final, grad_x_seq, grad_v_init, grad_w_init;
};

template <typename Scalar>
testing::AssertionResult same_bits(const FullOutputs<Scalar>& a, const FullOutputs<Scalar>& b) {
  using Array = std::vector<Scalar> FullOutputs<Scalar>::*;
  const std::pair<const char*, Array> arrays[] = {
      {"spikes", &FullOutputs<Scalar>::spikes},
      {"h_seq", &FullOutputs<Scalar>::h_seq},
      {"v_seq", &FullOutputs<Scalar>::v_seq},
      {"w_seq", &FullOutputs<Scalar>::w_seq},
      {"v_final", &FullOutputs<Scalar>::v_final},
      {"w_final", &FullOutputs<Scalar>::w_final},
      {"grad_x_seq", &FullOutputs<Scalar>::grad_x_seq},
      {"grad_v_init", &FullOutputs<Scalar>::grad_v_init},
      {"grad_w_init", &FullOutputs<Scalar>::grad_w_init},
  };
  for (const auto& [name, array] : arrays)
    if (auto result = same_bits(a.*array, b.*array); !result) return result << " (" << name << ")";
  return testing::AssertionSuccess();
}

/// A parameter gradient to request.
struct Asked {
  std::string name;
  bool per_neuron = false;
};

template <typename Scalar>
class FullRig {
 public:
  FullRig(synfire_context context, const synfire_layer_desc& desc)
      : shape{desc.n_steps, desc.batch == 0 ? 1 : desc.batch, desc.n_neurons},
        two_variables(desc.model == SYNFIRE_MODEL_IZHIKEVICH || desc.model == SYNFIRE_MODEL_CUBA_LIF ||
                      desc.model == SYNFIRE_MODEL_CUBA_LIF_EXACT),
        layer(make_layer(context, desc)),
        context_(context) {
    const auto make = [&](size_t count) { return make_buffer(context, dtype_of<Scalar>, count); };
    for (Buffer* sequence : {&x, &spikes, &h_seq, &v_seq, &grad_spike_seq, &grad_v_seq, &grad_x_seq})
      *sequence = make(shape.sequence());
    for (Buffer* row : {&v_init, &v_final, &grad_v_final, &grad_v_init}) *row = make(shape.row());
    if (!two_variables) return;
    for (Buffer* sequence : {&w_seq, &grad_w_seq}) *sequence = make(shape.sequence());
    for (Buffer* row : {&w_init, &w_final, &grad_w_final, &grad_w_init}) *row = make(shape.row());
  }

  void load(const FullInputs<Scalar>& inputs) {
    upload(x, inputs.x);
    upload(v_init, inputs.v_init);
    upload(grad_spike_seq, inputs.grad_spike_seq);
    upload(grad_v_seq, inputs.grad_v_seq);
    upload(grad_v_final, inputs.grad_v_final);
    if (!two_variables) return;
    upload(w_init, inputs.w_init);
    upload(grad_w_seq, inputs.grad_w_seq);
    upload(grad_w_final, inputs.grad_w_final);
  }

  /// The parameter gradients that backward_desc() requests, each in its own buffer.
  void ask(const std::vector<Asked>& asked) {
    asked_ = asked;
    gradients_.clear();
    entries_.clear();
    for (const Asked& one : asked_) {
      gradients_.push_back(make_buffer(context_, dtype_of<Scalar>, length(one)));
      entries_.push_back({one.name.c_str(), gradients_.back()});
    }
  }

  synfire_forward_desc forward_desc() const {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = x;
    desc.spikes = spikes;
    desc.v_init = v_init;
    desc.v_final = v_final;
    desc.v_seq = v_seq;
    desc.h_seq = h_seq;
    desc.w_init = w_init;
    desc.w_final = w_final;
    desc.w_seq = w_seq;
    return desc;
  }
  synfire_backward_desc backward_desc() const {
    synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
    desc.grad_spike_seq = grad_spike_seq;
    desc.grad_v_seq = grad_v_seq;
    desc.grad_v_final = grad_v_final;
    desc.grad_x_seq = grad_x_seq;
    desc.grad_v_init = grad_v_init;
    desc.grad_w_seq = grad_w_seq;
    desc.grad_w_final = grad_w_final;
    desc.grad_w_init = grad_w_init;
    desc.parameter_gradients = entries_.empty() ? nullptr : entries_.data();
    desc.n_parameter_gradients = entries_.size();
    return desc;
  }

  synfire_status run_forward() {
    const synfire_forward_desc desc = forward_desc();
    return synfire_layer_forward(layer, &desc, nullptr);
  }
  synfire_status run_backward() {
    const synfire_backward_desc desc = backward_desc();
    return synfire_layer_backward(layer, &desc, nullptr);
  }

  /// One forward and one backward, recorded and instantiated.
  Graph graph() const {
    Graph recorded = make_graph(context_);
    const synfire_forward_desc forward = forward_desc();
    const synfire_backward_desc backward = backward_desc();
    EXPECT_OK(synfire_graph_record_forward(recorded, layer, &forward));
    EXPECT_OK(synfire_graph_record_backward(recorded, layer, &backward));
    EXPECT_OK(synfire_graph_instantiate(recorded));
    return recorded;
  }

  /// Fills every output with NaN.
  void poison() {
    for (const synfire_buffer output : outputs_written())
      EXPECT_OK(synfire_buffer_fill(output, std::numeric_limits<double>::quiet_NaN()));
  }
  /// True if no output has been written since the last poison().
  testing::AssertionResult untouched() const {
    for (const synfire_buffer output : outputs_written()) {
      uint64_t bytes = 0;
      EXPECT_OK(synfire_buffer_get_data(output, nullptr, &bytes));
      const auto values = download<Scalar>(output, bytes / sizeof(Scalar));
      if (auto result = all_are(values, std::numeric_limits<Scalar>::quiet_NaN()); !result) return result;
    }
    return testing::AssertionSuccess();
  }

  /// Poisons the outputs, runs both passes and reads back.
  FullOutputs<Scalar> run() {
    poison();
    EXPECT_OK(run_forward());
    EXPECT_OK(run_backward());
    return outputs();
  }

  FullOutputs<Scalar> outputs() const {
    FullOutputs<Scalar> out;
    out.spikes = download<Scalar>(spikes, shape.sequence());
    out.h_seq = download<Scalar>(h_seq, shape.sequence());
    out.v_seq = download<Scalar>(v_seq, shape.sequence());
    out.v_final = download<Scalar>(v_final, shape.row());
    out.grad_x_seq = download<Scalar>(grad_x_seq, shape.sequence());
    out.grad_v_init = download<Scalar>(grad_v_init, shape.row());
    if (!two_variables) return out;
    out.w_seq = download<Scalar>(w_seq, shape.sequence());
    out.w_final = download<Scalar>(w_final, shape.row());
    out.grad_w_init = download<Scalar>(grad_w_init, shape.row());
    return out;
  }

  /// The requested gradients, in order.
  std::vector<std::vector<Scalar>> gradients() const {
    std::vector<std::vector<Scalar>> all;
    for (size_t i = 0; i < gradients_.size(); ++i) all.push_back(download<Scalar>(gradients_[i], length(asked_[i])));
    return all;
  }

  Shape shape;
  bool two_variables;
  Layer layer;
  Buffer x, v_init, w_init, spikes, h_seq, v_seq, w_seq, v_final, w_final;
  Buffer grad_spike_seq, grad_v_seq, grad_v_final, grad_w_seq, grad_w_final, grad_x_seq, grad_v_init, grad_w_init;

 private:
  size_t length(const Asked& one) const { return one.per_neuron ? static_cast<size_t>(shape.n_neurons) : 1; }

  std::vector<synfire_buffer> outputs_written() const {
    std::vector<synfire_buffer> all;
    for (const Buffer* output :
         {&spikes, &h_seq, &v_seq, &w_seq, &v_final, &w_final, &grad_x_seq, &grad_v_init, &grad_w_init})
      if (output->get() != nullptr) all.push_back(output->get());
    for (const Buffer& gradient : gradients_) all.push_back(gradient.get());
    return all;
  }

  synfire_context context_;
  std::vector<Asked> asked_;
  std::vector<Buffer> gradients_;
  std::vector<synfire_parameter_gradient> entries_;
};

}  // namespace synfire_test

#endif
