// Layers that read their own spikes: against the same steps apart, bit for bit; against an oracle in f64 and its
// central differences; the history as state; and what cannot work is refused.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;

enum class Back { dense, masked, no_self, one_to_one, convolution, as_input };

struct Case {
  int64_t n_steps = 9, batch = 3, n_inputs = 13, n_neurons = 37, delay = 1, history = 0;  // 0: as the delay
  int32_t dtype = SYNFIRE_DTYPE_F32, model = SYNFIRE_MODEL_LIF, reset = SYNFIRE_RESET_HARD;
  int32_t tape = SYNFIRE_TAPE_RECOMPUTE, surrogate = SYNFIRE_SURROGATE_DEFAULT, refractory_steps = 0;
  int32_t spikes = as_the_layer;
  Back back = Back::dense;
  int64_t active = -1, layer_active = -1;  // batch rows; -1: all
  bool detach = false, given_x = false, own_state = false, graph = true, frozen = false, add = false;
  Placement placement = {};

  int32_t wide() const { return arithmetic_of(dtype); }
  Shape shape() const { return {n_steps, batch, n_neurons}; }
  size_t steps() const { return static_cast<size_t>(n_steps); }
  size_t row() const { return shape().row(); }
  size_t few() const { return static_cast<size_t>(delay); }
  int64_t kept() const { return history == 0 ? delay : history; }
  // Variables beside V.
  size_t n_further() const {
    const bool second = model == SYNFIRE_MODEL_IZHIKEVICH || model == SYNFIRE_MODEL_CUBA_LIF ||
                        model == SYNFIRE_MODEL_ALIF || model == SYNFIRE_MODEL_CUBA_LIF_EXACT;
    return (second ? 1U : 0U) + (reset == SYNFIRE_RESET_SOFT_DELAYED || refractory_steps > 0 ? 1U : 0U);
  }
  double rounded(double value) const { return dtype == SYNFIRE_DTYPE_F64 ? value : static_cast<float>(value); }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << "T " << c.n_steps << " B " << c.batch << " N " << c.n_neurons << " delay " << c.delay << " of "
             << c.kept() << " type " << c.dtype << " model " << c.model << " reset " << c.reset << " tape " << c.tape
             << " spikes " << c.spikes << " back " << static_cast<int>(c.back) << " active " << c.active << " layer's "
             << c.layer_active << " detach " << c.detach << " refractory " << c.refractory_steps << " x " << c.given_x
             << " own state " << c.own_state << " graph " << c.graph << " frozen " << c.frozen << " add " << c.add;
}

using Numbers = std::vector<double>;

// ---- objects --------------------------------------------------------------------------------------------------------

Synapse synapse_of(synfire_context context, const synfire_synapse_desc& desc) {
  synfire_synapse handle = nullptr;
  if (synfire_synapse_create(context, &desc, &handle) != SYNFIRE_OK) throw std::runtime_error(last_error_text());
  return Synapse(handle);
}

Synapse input_synapse(synfire_context context, const Case& c) {
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  desc.n_inputs = c.n_inputs;
  desc.n_outputs = c.n_neurons;
  desc.dtype = c.wide();
  desc.bias = 1;
  desc.gain = 9;
  desc.seed = 5;
  return synapse_of(context, desc);
}

Synapse back_synapse(synfire_context context, const Case& c) {
  if (c.back == Back::convolution) {
    synfire_conv2d_desc desc = SYNFIRE_CONV2D_DESC_INIT;
    desc.channels = desc.output_channels = 1;
    desc.height = 1;
    desc.width = c.n_neurons;
    desc.kernel_height = 1;
    desc.kernel_width = 3;
    desc.padding_x = 1;
    desc.dtype = c.wide();
    desc.gain = 4;
    synfire_synapse handle = nullptr;
    EXPECT_OK(synfire_synapse_create_conv2d(context, &desc, &handle));
    return Synapse(handle);
  }
  if (c.back == Back::one_to_one) {
    synfire_one_to_one_desc desc = SYNFIRE_ONE_TO_ONE_DESC_INIT;
    desc.channels = c.n_neurons;
    desc.dtype = c.wide();
    desc.initial_weight = -1.5;
    synfire_synapse handle = nullptr;
    EXPECT_OK(synfire_synapse_create_one_to_one(context, &desc, &handle));
    return Synapse(handle);
  }
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  desc.n_inputs = desc.n_outputs = c.n_neurons;
  desc.dtype = c.wide();
  desc.gain = 4;
  desc.seed = 8;
  desc.frozen = c.frozen ? 1 : 0;
  desc.no_self_connections = c.back == Back::no_self ? 1 : 0;
  const auto n_weights = static_cast<size_t>(c.n_neurons * c.n_neurons);
  std::vector<uint8_t> mask(n_weights);
  for (size_t i = 0; i < n_weights; ++i) mask[i] = i % 3 == 0 ? 0 : 1;
  if (c.back == Back::masked) {
    desc.mask = mask.data();
    desc.mask_length = mask.size();
  }
  return synapse_of(context, desc);
}

synfire_layer_desc layer_desc(const Case& c, int64_t n_steps) {
  synfire_layer_desc desc = describe({n_steps, c.batch, c.n_neurons}, c.dtype);
  desc.model = c.model;
  desc.reset = c.reset;
  desc.surrogate = c.surrogate;
  desc.detach_reset = c.detach ? 1 : 0;
  desc.refractory_steps = c.refractory_steps;
  return desc;
}

Layer layer_of(synfire_context context, const Case& c, const synfire_layer_desc& desc) {
  Layer layer = make_layer(context, desc);
  if (c.layer_active >= 0) {
    EXPECT_OK(synfire_layer_set_n_active(layer, c.layer_active));
  }
  return layer;
}

Numbers weights_of(synfire_synapse synapse, const char* name, const Case& c, size_t count) {
  if (c.wide() == SYNFIRE_DTYPE_F64) {
    Numbers values(count);
    EXPECT_OK(synfire_synapse_read(synapse, name, values.data(), count * sizeof(double)));
    return values;
  }
  std::vector<float> values(count);
  EXPECT_OK(synfire_synapse_read(synapse, name, values.data(), count * sizeof(float)));
  return {values.begin(), values.end()};
}

size_t n_weights_back(const Case& c) {
  if (c.back == Back::as_input) return static_cast<size_t>(c.n_neurons * c.n_inputs);
  if (c.back == Back::convolution) return 3;
  return static_cast<size_t>(c.back == Back::one_to_one ? c.n_neurons : c.n_neurons * c.n_neurons);
}

// Words [steps, B, words] of spikes [steps, B, N], as numbers.
Numbers packed(const Numbers& spikes, int64_t n) {
  const auto length = static_cast<size_t>(n), n_words = (length + 31) / 32;
  Numbers words(spikes.size() / length * n_words);
  for (size_t i = 0; i < spikes.size(); ++i)
    if (spikes[i] != 0)
      words[i / length * n_words + i % length / 32] += std::ldexp(1.0, static_cast<int>(i % length % 32));
  return words;
}
Numbers unpacked(const std::vector<uint32_t>& words, int64_t n, bool by_time, size_t n_steps) {
  const auto length = static_cast<size_t>(n), n_words = (length + 31) / 32;
  Numbers spikes;
  if (!by_time) {
    for (size_t row = 0; row < words.size() / n_words; ++row)
      for (size_t i = 0; i < length; ++i) spikes.push_back(words[row * n_words + i / 32] >> i % 32 & 1U);
    return spikes;
  }
  const size_t row = words.size() / ((n_steps + 31) / 32);
  for (size_t t = 0; t < n_steps; ++t)
    for (size_t i = 0; i < row; ++i) spikes.push_back(words[t / 32 * row + i] >> t % 32 & 1U);
  return spikes;
}

Numbers part(const Numbers& all, size_t first, size_t count) {
  return slice(all, first, count);
}

// ---- what both read -------------------------------------------------------------------------------------------------

struct Given {
  Numbers input, x, grad_spikes, grad_v, spikes_before, grad_spikes_final;
  std::vector<Numbers> init, grad_final;  // of each variable

  Given(const Case& c, uint64_t seed) {
    Random random(seed);
    const auto spikes = [&](size_t count, double rate) {
      Numbers values(count);
      for (double& value : values) value = random.uniform(0, 1) < rate ? 1 : 0;
      return values;
    };
    const size_t sequence = c.shape().sequence();
    input = spikes(c.steps() * static_cast<size_t>(c.batch * c.n_inputs), 0.4);
    x = stored_as(c.dtype, random.values<double>(sequence, -0.5, 3));
    grad_spikes = stored_as(c.dtype, random.values<double>(sequence, -1, 1));
    grad_v = stored_as(c.dtype, random.values<double>(sequence, -1, 1));
    spikes_before = spikes(c.few() * c.row(), 0.5);
    grad_spikes_final = stored_as(c.wide(), random.values<double>(c.few() * c.row(), -1, 1));
    for (size_t k = 0; k <= c.n_further(); ++k) {
      // A countdown is an integer.
      const bool counts =
          k > 0 && k == c.n_further() && (c.reset == SYNFIRE_RESET_SOFT_DELAYED || c.refractory_steps > 0);
      init.push_back(counts ? Numbers(c.row()) : stored_as(c.wide(), random.values<double>(c.row(), -0.3, 0.9)));
      grad_final.push_back(stored_as(c.wide(), random.values<double>(c.row(), -1, 1)));
    }
  }
};

struct Results {
  std::vector<std::pair<std::string, Numbers>> all;
  void add(const std::string& name, const Numbers& values) { all.emplace_back(name, values); }
};

// A layer of some steps and the arrays of its passes.
class Pass {
 public:
  Pass(synfire_context context, const Case& c, int64_t n_steps, int32_t x_dtype, const synfire_layer_desc& desc)
      : c_(c),
        layer(layer_of(context, c, desc)),
        x(rows(context, x_dtype, n_steps)),
        spikes(spike_rows(context, n_steps)),
        v_seq(rows(context, c.dtype, n_steps)),
        h_seq(rows(context, c.dtype, n_steps)),
        grad_spikes(rows(context, x_dtype, n_steps)),
        grad_v(rows(context, c.dtype, n_steps)),
        grad_x(rows(context, c.wide(), n_steps)) {
    for (Rows* const written : {&spikes, &v_seq, &h_seq, &grad_x}) clear(*written);
    for (size_t k = 0; k <= c.n_further(); ++k)
      for (auto* const list : {&init, &final, &grad_init, &grad_final}) {
        list->push_back(std::make_unique<Rows>(context, c.wide(), 1, c.row()));
        clear(*list->back());
      }
  }

  synfire_forward_desc forward() {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.tape = c_.tape;
    desc.x = x;
    desc.spikes = spikes;
    desc.v_seq = v_seq;
    desc.h_seq = h_seq;
    desc.v_init = *init[0];
    desc.v_final = *final[0];
    if (c_.n_further() > 0) {
      desc.w_init = *init[1];
      desc.w_final = *final[1];
    }
    if (c_.n_further() > 1) {
      third_init_ = {"countdown", *init[2]};
      third_final_ = {"countdown", *final[2]};
      desc.state_init = &third_init_;
      desc.state_final = &third_final_;
      desc.n_state_init = desc.n_state_final = 1;
    }
    return desc;
  }
  synfire_backward_desc backward(const Rows& threshold) {
    synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
    desc.grad_spike_seq = grad_spikes;
    desc.grad_v_seq = grad_v;
    desc.grad_x_seq = grad_x;
    desc.grad_v_init = *grad_init[0];
    desc.grad_v_final = *grad_final[0];
    if (c_.n_further() > 0) {
      desc.grad_w_init = *grad_init[1];
      desc.grad_w_final = *grad_final[1];
    }
    if (c_.n_further() > 1) {
      third_grad_init_ = {"countdown", *grad_init[2]};
      third_grad_final_ = {"countdown", *grad_final[2]};
      desc.grad_state_init = &third_grad_init_;
      desc.grad_state_final = &third_grad_final_;
      desc.n_grad_state_init = desc.n_grad_state_final = 1;
    }
    gradient_ = {"v_threshold", threshold};
    desc.parameter_gradients = &gradient_;
    desc.n_parameter_gradients = 1;
    return desc;
  }

 private:
  Rows rows(synfire_context context, int32_t dtype, int64_t n_steps) const {
    return Rows(context, dtype, static_cast<size_t>(n_steps), c_.row(), c_.placement);
  }
  Rows spike_rows(synfire_context context, int64_t n_steps) const {
    const auto steps = static_cast<size_t>(n_steps);
    if (c_.spikes == SYNFIRE_DTYPE_BITS)
      return Rows(context, c_.spikes, steps, static_cast<size_t>(c_.batch) * c_.shape().words_per_row(), c_.placement);
    if (c_.spikes == SYNFIRE_DTYPE_TIME_BITS)
      return Rows(context, c_.spikes, (steps + 31) / 32, c_.row(), c_.placement);
    return rows(context, c_.spikes == as_the_layer ? c_.dtype : c_.spikes, n_steps);
  }
  static void clear(Rows& written) { written.put(Numbers(written.get().size())); }

  const Case c_;
  synfire_state_buffer third_init_ = {}, third_final_ = {}, third_grad_init_ = {}, third_grad_final_ = {};
  synfire_parameter_gradient gradient_ = {};

 public:
  Layer layer;
  Rows x, spikes, v_seq, h_seq, grad_spikes, grad_v, grad_x;
  std::vector<std::unique_ptr<Rows>> init, final, grad_init, grad_final;
};

Buffer active_rows(synfire_context context, int64_t active) {
  if (active < 0) return {};
  Buffer buffer = make_buffer(context, SYNFIRE_DTYPE_U32, 1);
  upload(buffer, std::vector<uint32_t>{static_cast<uint32_t>(active)});
  return buffer;
}

Rows bit_rows(synfire_context context, const Case& c, size_t n_steps, int64_t n) {
  return Rows(context, SYNFIRE_DTYPE_BITS, n_steps, static_cast<size_t>(c.batch * ((n + 31) / 32)));
}

// ---- together -------------------------------------------------------------------------------------------------------

class Together {
 public:
  Together(synfire_context context, const Case& c)
      : c_(c),
        context_(context),
        synapse(input_synapse(context, c)),
        back(c.back == Back::as_input ? Synapse() : back_synapse(context, c)),
        pass_(context, c, c.n_steps, c.dtype, desc_of(c)),
        input_(bit_rows(context, c, c.steps(), c.n_inputs)),
        before_(bit_rows(context, c, c.few(), c.n_neurons)),
        after_(bit_rows(context, c, c.few(), c.n_neurons)),
        grad_input_(context, c.wide(), c.steps(), static_cast<size_t>(c.batch * c.n_inputs)),
        grad_before_(context, c.wide(), c.few(), c.row()),
        grad_after_(context, c.wide(), c.few(), c.row()),
        threshold_(context, c.wide(), 1, static_cast<size_t>(c.n_neurons)),
        n_active_(active_rows(context, c.active)) {
    after_.put(Numbers(after_.get().size()));
    grad_before_.put(Numbers(c.few() * c.row()));
    threshold_.put(Numbers(static_cast<size_t>(c.n_neurons), 0.25));
  }

  static synfire_layer_desc desc_of(const Case& c) {
    synfire_layer_desc desc = layer_desc(c, c.n_steps);
    desc.history_steps = c.kept();
    return desc;
  }
  synfire_synapse recurrent() const { return c_.back == Back::as_input ? synapse.get() : back.get(); }
  Pass& pass() { return pass_; }
  const Rows& threshold() const { return threshold_; }

  void load(const Given& given) {
    input_.put(packed(given.input, c_.n_inputs));
    pass_.x.put(given.x);
    pass_.grad_spikes.put(given.grad_spikes);
    pass_.grad_v.put(given.grad_v);
    before_.put(packed(given.spikes_before, c_.n_neurons));
    grad_after_.put(given.grad_spikes_final);
    for (size_t k = 0; k <= c_.n_further(); ++k) {
      pass_.init[k]->put(given.init[k]);
      pass_.grad_final[k]->put(given.grad_final[k]);
    }
  }
  synfire_forward_desc forward() {
    synfire_forward_desc desc = pass_.forward();
    if (!c_.given_x) {
      desc.x = nullptr;
      desc.synapse = synapse;
      desc.synapse_input = input_;
      desc.n_active = n_active_;
    }
    desc.recurrent_synapse = recurrent();
    desc.recurrent_delay = c_.delay;
    desc.spikes_init = before_;
    desc.spikes_final = after_;
    if (!c_.own_state) return desc;
    desc.v_init = desc.w_init = desc.spikes_init = nullptr;
    desc.state_init = nullptr;
    desc.n_state_init = 0;
    return desc;
  }
  synfire_backward_desc backward() {
    synfire_backward_desc desc = pass_.backward(threshold_);
    if (!c_.given_x) desc.grad_synapse_input = grad_input_;
    desc.grad_spikes_init = grad_before_;
    desc.grad_spikes_final = grad_after_;
    desc.add_parameter_gradients = desc.add_synapse_gradients = c_.add ? 1 : 0;
    return desc;
  }
  bool trains() const { return c_.tape != SYNFIRE_TAPE_NONE; }

  void run(const Given& given) {
    load(given);
    const synfire_forward_desc fd = forward();
    const synfire_backward_desc bd = backward();
    if (!c_.graph) {
      ASSERT_OK(synfire_layer_forward(pass_.layer, &fd, nullptr));
      if (!trains()) return;
      ASSERT_OK(synfire_layer_backward(pass_.layer, &bd, nullptr));
      return;
    }
    if (!graph_.get()) {
      graph_ = make_graph(context_);
      ASSERT_OK(synfire_graph_record_forward(graph_, pass_.layer, &fd));
      if (trains()) {
        ASSERT_OK(synfire_graph_record_backward(graph_, pass_.layer, &bd));
      }
      ASSERT_OK(synfire_graph_instantiate(graph_));
    }
    replay(graph_);
  }

  Results results() const {
    Results results;
    const bool packs = is_packed(pass_.spikes.dtype());
    results.add("spikes",
                packs ? unpacked(pass_.spikes.words(), c_.n_neurons, c_.spikes == SYNFIRE_DTYPE_TIME_BITS, c_.steps())
                      : pass_.spikes.get());
    results.add("spikes_final", unpacked(after_.words(), c_.n_neurons, false, 0));
    results.add("v_seq", pass_.v_seq.get());
    results.add("h_seq", pass_.h_seq.get());
    for (size_t k = 0; k <= c_.n_further(); ++k) results.add("final " + std::to_string(k), pass_.final[k]->get());
    if (!trains()) return results;
    results.add("grad_x", pass_.grad_x.get());
    for (size_t k = 0; k <= c_.n_further(); ++k)
      results.add("grad_init " + std::to_string(k), pass_.grad_init[k]->get());
    results.add("threshold", threshold_.get());
    results.add("grad_spikes_init", grad_before_.get());
    if (!c_.given_x) {
      results.add("grad_input", grad_input_.get());
      results.add("weights",
                  weights_of(synapse, "weight_gradient", c_, static_cast<size_t>(c_.n_inputs * c_.n_neurons)));
      results.add("bias", weights_of(synapse, "bias_gradient", c_, static_cast<size_t>(c_.n_neurons)));
    }
    if (!c_.frozen) results.add("recurrent", weights_of(recurrent(), "weight_gradient", c_, n_weights_back(c_)));
    return results;
  }

 private:
  const Case c_;
  synfire_context context_;

 public:
  Synapse synapse, back;

 private:
  Pass pass_;
  Rows input_, before_, after_, grad_input_, grad_before_, grad_after_, threshold_;
  Buffer n_active_;
  Graph graph_;
};

// ---- apart ----------------------------------------------------------------------------------------------------------

// The same with a layer of one step for each step, products of synapses of their own, and additions here.
class Apart {
 public:
  Apart(synfire_context context, const Case& c)
      : c_(c),
        context_(context),
        synapse_(input_synapse(context, c)),
        back_(c.back == Back::as_input ? Synapse() : back_synapse(context, c)),
        threshold_(context, c.wide(), 1, static_cast<size_t>(c.n_neurons)),
        n_active_(active_rows(context, active())) {
    threshold_.put(Numbers(static_cast<size_t>(c.n_neurons), 0.25));
    Case one = c;
    one.spikes = as_the_layer;
    one.placement = {};
    for (int64_t t = 0; t < c.n_steps; ++t)
      passes_.push_back(std::make_unique<Pass>(context, one, 1, c.wide(), layer_desc(c, 1)));
    past_.assign(c.few(), Numbers(c.row()));
    for (size_t k = 0; k <= c.n_further(); ++k) state_.emplace_back(c.row());
    if (c.wide() == SYNFIRE_DTYPE_F64) {
      state_[0] = read_state<double>(passes_[0]->layer, c.row());
    } else {
      const std::vector<float> v = read_state<float>(passes_[0]->layer, c.row());
      state_[0].assign(v.begin(), v.end());
    }
  }

  Results run(const Given& given) {
    Results results;
    if (!c_.own_state) {
      state_ = given.init;
      past_.clear();
      for (size_t i = 0; i < c_.few(); ++i) past_.push_back(part(given.spikes_before, i * c_.row(), c_.row()));
    }
    const size_t first = past_.size() - c_.few();  // the spikes of step 0 read these
    const Numbers x = c_.given_x ? given.x : product(synapse_, given.input, c_.n_inputs, c_.steps());
    Numbers spikes, v_seq, h_seq;
    for (size_t t = 0; t < c_.steps(); ++t) {
      const Numbers again = product(recurrent(), past_[first + t], c_.n_neurons, 1);
      Numbers sum(c_.row());
      for (size_t i = 0; i < sum.size(); ++i) sum[i] = c_.rounded(x[t * c_.row() + i] + again[i]);
      Pass& pass = *passes_[t];
      pass.x.put(sum);
      for (size_t k = 0; k <= c_.n_further(); ++k) pass.init[k]->put(state_[k]);
      const synfire_forward_desc desc = pass.forward();
      EXPECT_OK(synfire_layer_forward(pass.layer, &desc, nullptr));
      past_.push_back(pass.spikes.get());
      spikes = joined(spikes, past_.back());
      v_seq = joined(v_seq, pass.v_seq.get());
      h_seq = joined(h_seq, pass.h_seq.get());
      for (size_t k = 0; k <= c_.n_further(); ++k) keep_active(state_[k], pass.final[k]->get());
    }
    results.add("spikes", spikes);
    Numbers last;
    for (size_t i = past_.size() - c_.few(); i < past_.size(); ++i) last = joined(last, past_[i]);
    results.add("spikes_final", of_active(last));
    results.add("v_seq", v_seq);
    results.add("h_seq", h_seq);
    for (size_t k = 0; k <= c_.n_further(); ++k)
      results.add("final " + std::to_string(k), passes_.back()->final[k]->get());
    if (c_.tape != SYNFIRE_TAPE_NONE) go_back(given, first, results);
    return results;
  }

 private:
  synfire_synapse recurrent() const { return c_.back == Back::as_input ? synapse_.get() : back_.get(); }
  // Rows that count in the products: those of both numbers.
  int64_t active() const {
    if (c_.active < 0) return c_.layer_active;
    return c_.layer_active < 0 ? c_.active : std::min(c_.active, c_.layer_active);
  }
  Numbers of_active(Numbers rows) const {
    const auto end = static_cast<size_t>((c_.layer_active < 0 ? c_.batch : c_.layer_active) * c_.n_neurons);
    for (size_t i = 0; i < rows.size(); ++i)
      if (i % c_.row() >= end) rows[i] = 0;
    return rows;
  }
  void keep_active(Numbers& state, const Numbers& now) const {
    const auto end = static_cast<size_t>((c_.layer_active < 0 ? c_.batch : c_.layer_active) * c_.n_neurons);
    std::copy_n(now.begin(), end, state.begin());
  }

  Numbers product(synfire_synapse synapse, const Numbers& spikes, int64_t n_inputs, size_t n_steps) const {
    Rows input = bit_rows(context_, c_, n_steps, n_inputs);
    input.put(packed(spikes, n_inputs));
    const Rows output(context_, c_.wide(), n_steps, c_.row());
    synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
    desc.n_steps = static_cast<int64_t>(n_steps);
    desc.batch = c_.batch;
    desc.input = input;
    desc.output = output;
    desc.n_active = n_active_;
    EXPECT_OK(synfire_synapse_forward(synapse, &desc, nullptr));
    return output.get();
  }
  // Gradients of the weights if there are spikes, and of the input, if it is asked for.
  Numbers gradients(synfire_synapse synapse, const Numbers* spikes, int64_t n_inputs, const Numbers& grad,
                    size_t n_steps, bool of_input, bool add) const {
    Rows input = bit_rows(context_, c_, n_steps, n_inputs);
    Rows grad_output(context_, c_.wide(), n_steps, c_.row());
    const Rows grad_input(context_, c_.wide(), n_steps, static_cast<size_t>(c_.batch * n_inputs));
    grad_output.put(grad);
    synfire_synapse_backward_desc desc = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
    desc.n_steps = static_cast<int64_t>(n_steps);
    desc.batch = c_.batch;
    desc.grad_output = grad_output;
    desc.n_active = n_active_;
    desc.add_gradients = add ? 1 : 0;
    if (of_input) desc.grad_input = grad_input;
    if (spikes) {
      input.put(packed(*spikes, n_inputs));
      desc.input = input;
    }
    EXPECT_OK(synfire_synapse_backward(synapse, &desc, nullptr));
    return grad_input.get();
  }

  void go_back(const Given& given, size_t first, Results& results) {
    const size_t row = c_.row(), few = c_.few(), steps = c_.steps();
    // dL/dS of the steps before the first and of all steps.
    Numbers grad_spikes = joined(Numbers(few * row), given.grad_spikes);
    for (size_t i = 0; i < few * row; ++i)
      grad_spikes[steps * row + i] = c_.rounded(grad_spikes[steps * row + i] + given.grad_spikes_final[i]);
    std::vector<Numbers> grad_state = given.grad_final;
    Numbers grad_x(steps * row);
    for (size_t t = steps; t-- > 0;) {
      Pass& pass = *passes_[t];
      pass.grad_spikes.put(part(grad_spikes, (few + t) * row, row));
      pass.grad_v.put(part(given.grad_v, t * row, row));
      for (size_t k = 0; k <= c_.n_further(); ++k) pass.grad_final[k]->put(grad_state[k]);
      synfire_backward_desc desc = pass.backward(threshold_);
      desc.add_parameter_gradients = c_.add || t + 1 < steps ? 1 : 0;
      EXPECT_OK(synfire_layer_backward(pass.layer, &desc, nullptr));
      const Numbers of_step = pass.grad_x.get();
      std::copy(of_step.begin(), of_step.end(), grad_x.begin() + static_cast<std::ptrdiff_t>(t * row));
      for (size_t k = 0; k <= c_.n_further(); ++k) grad_state[k] = pass.grad_init[k]->get();
      const Numbers back = gradients(recurrent(), nullptr, c_.n_neurons, of_step, 1, true, false);
      for (size_t i = 0; i < row; ++i) grad_spikes[t * row + i] = c_.rounded(grad_spikes[t * row + i] + back[i]);
    }
    results.add("grad_x", grad_x);
    for (size_t k = 0; k <= c_.n_further(); ++k) results.add("grad_init " + std::to_string(k), grad_state[k]);
    results.add("threshold", threshold_.get());
    results.add("grad_spikes_init", of_active(part(grad_spikes, 0, few * row)));
    if (!c_.given_x) {
      results.add("grad_input", gradients(synapse_, &given.input, c_.n_inputs, grad_x, steps, true, c_.add));
      results.add("weights",
                  weights_of(synapse_, "weight_gradient", c_, static_cast<size_t>(c_.n_inputs * c_.n_neurons)));
      results.add("bias", weights_of(synapse_, "bias_gradient", c_, static_cast<size_t>(c_.n_neurons)));
    }
    if (c_.frozen) return;
    Numbers read;
    for (size_t t = 0; t < steps; ++t) read = joined(read, past_[first + t]);
    gradients(recurrent(), &read, c_.n_neurons, grad_x, steps, false, c_.add || c_.back == Back::as_input);
    results.add("recurrent", weights_of(recurrent(), "weight_gradient", c_, n_weights_back(c_)));
    if (c_.back != Back::as_input) return;
    for (auto& [name, values] : results.all)
      if (name == "weights")
        values = results.all.back().second;
      else if (name == "bias")
        values = weights_of(synapse_, "bias_gradient", c_, static_cast<size_t>(c_.n_neurons));
  }

  const Case c_;
  synfire_context context_;
  Synapse synapse_, back_;
  std::vector<std::unique_ptr<Pass>> passes_;
  std::vector<Numbers> past_, state_;
  Rows threshold_;
  Buffer n_active_;
};

class RecurrentLayer : public testing::Test {
 protected:
  void expect_same(const Case& c) {
    SCOPED_TRACE(testing::Message() << c);
    Together together(context, c);
    Apart apart(context, c);
    double fired = 0, back = 0;
    for (uint64_t round = 0; round < (c.own_state || c.add ? 2 : 1); ++round) {
      const Given given(c, 3 + round);
      ASSERT_NO_FATAL_FAILURE(together.run(given));
      const Results expected = apart.run(given), got = together.results();
      ASSERT_EQ(got.all.size(), expected.all.size());
      for (size_t i = 0; i < got.all.size(); ++i) {
        ASSERT_EQ(got.all[i].first, expected.all[i].first);
        EXPECT_TRUE(same_bits(got.all[i].second, expected.all[i].second)) << got.all[i].first << " round " << round;
        for (const double value : got.all[i].second) {
          if (i == 0) fired += value;
          if (got.all[i].first == "recurrent") back += std::fabs(value);
        }
      }
    }
    if (c.active == 0 || c.layer_active == 0 || c.model != SYNFIRE_MODEL_LIF) return;
    EXPECT_GT(fired, 0);
    EXPECT_TRUE(back > 0 || c.frozen || c.tape == SYNFIRE_TAPE_NONE);
  }

  const Context context = make_context(2);
};

TEST_F(RecurrentLayer, HasTheBitsOfItsStepsApart) {
  Case c;
  int i = 0;
  for (const int32_t model :
       {SYNFIRE_MODEL_IF, SYNFIRE_MODEL_LIF, SYNFIRE_MODEL_PLIF, SYNFIRE_MODEL_QIF, SYNFIRE_MODEL_EIF,
        SYNFIRE_MODEL_IZHIKEVICH, SYNFIRE_MODEL_LIF_EXACT, SYNFIRE_MODEL_CUBA_LIF, SYNFIRE_MODEL_ALIF})
    for (const int32_t reset : {SYNFIRE_RESET_HARD, SYNFIRE_RESET_SOFT, SYNFIRE_RESET_SOFT_DELAYED}) {
      ++i;
      c.model = model;
      c.reset = reset;
      c.detach = i % 2 == 0;
      c.refractory_steps = i % 5 == 3 ? 2 : 0;
      c.graph = i % 3 != 0;
      c.delay = 1 + i % 4;
      c.tape = i % 4 == 0 ? SYNFIRE_TAPE_STORE : SYNFIRE_TAPE_RECOMPUTE;
      c.given_x = i % 5 == 1;
      c.own_state = i % 3 == 1;
      expect_same(c);
    }
}

TEST_F(RecurrentLayer, HasTheBitsOfItsStepsApartInEveryTypeAndTape) {
  int i = 0;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})
    for (const int32_t tape :
         {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_NONE, SYNFIRE_TAPE_STORE, SYNFIRE_TAPE_STORE_NARROW}) {
      if (tape == SYNFIRE_TAPE_STORE_NARROW && !is_narrow(dtype)) continue;
      for (const bool given_x : {false, true}) {
        Case c;
        c.dtype = dtype;
        c.tape = tape;
        c.given_x = given_x;
        c.graph = ++i % 2 == 0;
        c.add = i % 3 == 0;
        expect_same(c);
      }
    }
}

TEST_F(RecurrentLayer, HasTheBitsOfItsStepsApartInEveryShape) {
  struct Sizes {
    int64_t n_steps, batch, n_neurons, delay, history;
  };
  int i = 0;
  for (const Sizes& sizes : std::vector<Sizes>{{1, 1, 1, 1, 1},
                                               {1, 3, 37, 1, 4},
                                               {1, 2, 33, 5, 5},
                                               {4, 1, 31, 7, 9},
                                               {33, 2, 32, 1, 1},
                                               {41, 5, 65, 3, 40},
                                               {5, 1, 1, 2, 2}})
    for (const int32_t spikes :
         std::vector<int32_t>{SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8, as_the_layer}) {
      Case c;
      c.n_steps = sizes.n_steps;
      c.batch = sizes.batch;
      c.n_neurons = sizes.n_neurons;
      c.delay = sizes.delay;
      c.history = sizes.history;
      c.spikes = spikes;
      c.own_state = ++i % 2 == 0;
      c.graph = i % 3 != 0;
      c.dtype = i % 4 == 0 ? SYNFIRE_DTYPE_F16 : SYNFIRE_DTYPE_F32;
      if (i % 5 == 0) c.placement = {32, 32};
      // Few neurons may be silent.
      if (sizes.n_neurons * sizes.n_steps < 40) c.model = SYNFIRE_MODEL_IF;
      expect_same(c);
    }
}

TEST_F(RecurrentLayer, HasTheBitsOfItsStepsApartOverAnySynapse) {
  for (const Back back :
       {Back::dense, Back::masked, Back::no_self, Back::one_to_one, Back::convolution, Back::as_input})
    for (const bool graph : {false, true}) {
      Case c;
      c.back = back;
      c.graph = graph;
      c.frozen = graph && back == Back::dense;
      c.add = back == Back::masked;
      if (back == Back::as_input) c.n_inputs = c.n_neurons;
      expect_same(c);
    }
}

TEST_F(RecurrentLayer, LeavesOutRowsThatAreNotActive) {
  for (const int32_t spikes : std::vector<int32_t>{SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, as_the_layer})
    for (const bool own_state : {false, true})
      for (const std::pair<int64_t, int64_t>& rows :
           std::vector<std::pair<int64_t, int64_t>>{{2, -1}, {-1, 2}, {2, 1}, {0, 0}}) {
        Case c;
        c.delay = 2;
        c.spikes = spikes;
        c.own_state = own_state;
        c.active = rows.first;
        c.layer_active = rows.second;
        c.graph = own_state;
        expect_same(c);
      }
}

// A NaN never fires, so it stays in its neuron; what goes back through it is as apart.
TEST_F(RecurrentLayer, KeepsNaNInItsNeuron) {
  Case c;
  c.given_x = true;
  Together together(context, c);
  Apart apart(context, c);
  Given given(c, 3);
  const size_t row = c.row(), n = static_cast<size_t>(c.n_neurons), bad = n + 4;  // of batch row 1
  given.x[2 * row + bad] = std::numeric_limits<double>::quiet_NaN();
  ASSERT_NO_FATAL_FAILURE(together.run(given));
  const Results expected = apart.run(given), got = together.results();
  for (size_t i = 0; i < got.all.size(); ++i)
    EXPECT_TRUE(same_bits(got.all[i].second, expected.all[i].second)) << got.all[i].first;
  const auto result = [&](const char* name) {
    return std::find_if(got.all.begin(), got.all.end(), [&](const auto& one) { return one.first == name; })->second;
  };
  const Numbers v = result("v_seq"), spikes = result("spikes");
  for (size_t i = 0; i < v.size(); ++i) {
    const bool is_bad = i % row == bad && i / row >= 2;
    EXPECT_EQ(std::isnan(v[i]), is_bad) << i;
    EXPECT_TRUE(!is_bad || spikes[i] == 0);
  }
}

// ---- an oracle ------------------------------------------------------------------------------------------------------

// LIF neurons in f64 whose spikes are those of a run before, and change with the surrogate's antiderivative from there
// on: its derivative is the gradient through surrogates, which central differences find.
struct Oracle {
  int64_t n_steps = 8, batch = 2, n_inputs = 4, n_neurons = 5, delay = 1;
  bool soft = false, detach = false;
  double tau = 2, v_rest = 0, v_reset = 0, v_threshold = 1, alpha = 4;
  Numbers weights, bias, recurrent;              // [N, K], [N], [N, N]
  Numbers input, x, before, v_init;              // [T, B, K], added to X [T, B, N], [delay, B, N], [B, N]
  Numbers of_spikes, of_v, of_v_final, of_last;  // dL/d of them
  Numbers fixed_spikes, fixed_h;                 // [T, B, N]; none: the spikes are those of this run

  double sigma(double h) const { return 1 / (1 + std::exp(-alpha * (h - v_threshold))); }

  struct Run {
    Numbers spikes, v, h;  // [T, B, N]
    double loss = 0;
  };
  Run run() const {
    const auto b_of = static_cast<size_t>(batch), n_of = static_cast<size_t>(n_neurons);
    const auto k_of = static_cast<size_t>(n_inputs), d = static_cast<size_t>(delay), row = b_of * n_of;
    Run out;
    Numbers all = before, v = v_init;
    for (size_t t = 0; t < static_cast<size_t>(n_steps); ++t)
      for (size_t i = 0; i < row; ++i) {
        const size_t b = i / n_of, n = i % n_of, at = t * row + i;
        double sum = x[at] + bias[n];
        for (size_t k = 0; k < k_of; ++k) sum += weights[n * k_of + k] * input[(t * b_of + b) * k_of + k];
        for (size_t j = 0; j < n_of; ++j) sum += recurrent[n * n_of + j] * all[t * row + b * n_of + j];
        const double h = v[i] + (sum - (v[i] - v_rest)) / tau;
        double spike = h >= v_threshold ? 1 : 0;
        if (!fixed_h.empty()) spike = fixed_spikes[at] + sigma(h) - sigma(fixed_h[at]);
        const double in_reset = detach && !fixed_h.empty() ? fixed_spikes[at] : spike;
        v[i] = soft ? h - v_threshold * in_reset : h + in_reset * (v_reset - h);
        all.push_back(spike);
        out.h.push_back(h);
        out.v.push_back(v[i]);
        out.loss += of_spikes[at] * spike + of_v[at] * v[i];
      }
    for (size_t i = 0; i < row; ++i) out.loss += of_v_final[i] * v[i];
    for (size_t i = 0; i < d * row; ++i) out.loss += of_last[i] * all[all.size() - d * row + i];
    out.spikes = part(all, d * row, out.v.size());
    return out;
  }
  // dL/d of each of some numbers of this oracle.
  Numbers differences(Numbers Oracle::*of) {
    constexpr double step = 1e-5;
    Numbers found;
    for (size_t i = 0; i < (this->*of).size(); ++i) {
      const double number = (this->*of)[i];
      (this->*of)[i] = number + step;
      const double above = run().loss;
      (this->*of)[i] = number - step;
      const double below = run().loss;
      (this->*of)[i] = number;
      found.push_back((above - below) / (2 * step));
    }
    return found;
  }
};

testing::AssertionResult close(const Numbers& a, const Numbers& b, double tolerance) {
  if (a.size() != b.size()) return testing::AssertionFailure() << a.size() << " elements against " << b.size();
  for (size_t i = 0; i < a.size(); ++i)
    if (!(std::fabs(a[i] - b[i]) <= tolerance * (1 + std::fabs(b[i]))))
      return testing::AssertionFailure() << "element " << i << ": " << a[i] << " against " << b[i];
  return testing::AssertionSuccess();
}

TEST_F(RecurrentLayer, AgreesWithAnOracleAndItsCentralDifferences) {
  for (const int64_t delay : std::vector<int64_t>{1, 2, 5, 11})
    for (const int rules : {0, 1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << "delay " << delay << " rules " << rules);
      Oracle oracle;
      oracle.delay = delay;
      oracle.soft = (rules & 1) != 0;
      oracle.detach = (rules & 2) != 0;
      Case c;
      c.n_steps = oracle.n_steps;
      c.batch = oracle.batch;
      c.n_inputs = oracle.n_inputs;
      c.n_neurons = oracle.n_neurons;
      c.delay = delay;
      c.dtype = SYNFIRE_DTYPE_F64;
      c.reset = oracle.soft ? SYNFIRE_RESET_SOFT : SYNFIRE_RESET_HARD;
      c.detach = oracle.detach;
      c.graph = rules % 2 == 0;
      Together together(context, c);
      const synfire_layer layer = together.pass().layer;
      const std::pair<const char*, double*> parameters[] = {{"tau", &oracle.tau},
                                                            {"v_rest", &oracle.v_rest},
                                                            {"v_reset", &oracle.v_reset},
                                                            {"v_threshold", &oracle.v_threshold},
                                                            {"alpha", &oracle.alpha}};
      for (const auto& parameter : parameters)
        ASSERT_OK(synfire_layer_get_parameter(layer, parameter.first, parameter.second, 1));
      const Given given(c, 40 + static_cast<uint64_t>(rules));
      const size_t n_weights = static_cast<size_t>(c.n_inputs * c.n_neurons);
      oracle.weights = weights_of(together.synapse, "weight", c, n_weights);
      oracle.bias = weights_of(together.synapse, "bias", c, static_cast<size_t>(c.n_neurons));
      oracle.recurrent = weights_of(together.back, "weight", c, n_weights_back(c));
      oracle.input = given.input;
      oracle.x = Numbers(c.shape().sequence());
      oracle.before = given.spikes_before;
      oracle.v_init = given.init[0];
      oracle.of_spikes = given.grad_spikes;
      oracle.of_v = given.grad_v;
      oracle.of_v_final = given.grad_final[0];
      oracle.of_last = given.grad_spikes_final;
      const Oracle::Run plain = oracle.run();
      ASSERT_NO_FATAL_FAILURE(together.run(given));
      const Results results = together.results();
      const auto result = [&](const char* name) {
        return std::find_if(results.all.begin(), results.all.end(), [&](const auto& one) { return one.first == name; })
            ->second;
      };
      EXPECT_TRUE(same_bits(result("spikes"), plain.spikes));
      EXPECT_TRUE(close(result("v_seq"), plain.v, 1e-12));
      EXPECT_TRUE(close(result("h_seq"), plain.h, 1e-12));
      oracle.fixed_spikes = plain.spikes;
      oracle.fixed_h = plain.h;
      EXPECT_TRUE(close(result("recurrent"), oracle.differences(&Oracle::recurrent), 1e-6));
      EXPECT_TRUE(close(result("weights"), oracle.differences(&Oracle::weights), 1e-6));
      EXPECT_TRUE(close(result("bias"), oracle.differences(&Oracle::bias), 1e-6));
      EXPECT_TRUE(close(result("grad_x"), oracle.differences(&Oracle::x), 1e-6));
      EXPECT_TRUE(close(result("grad_input"), oracle.differences(&Oracle::input), 1e-6));
      EXPECT_TRUE(close(result("grad_spikes_init"), oracle.differences(&Oracle::before), 1e-6));
      EXPECT_TRUE(close(result("grad_init 0"), oracle.differences(&Oracle::v_init), 1e-6));
      EXPECT_FALSE(all_are(result("recurrent"), 0.0));
    }
}

// ---- windows --------------------------------------------------------------------------------------------------------

// The parts of a sequence of rows.
Numbers steps(const Numbers& all, const Case& c, size_t first, size_t count) {
  const size_t row = all.size() / c.steps();
  return part(all, first * row, count * row);
}

// Windows that hand on V and spikes, and their gradients, are one piece; so are windows of the layer's own state.
TEST_F(RecurrentLayer, TakesASequenceInWindows) {
  for (const int64_t delay : std::vector<int64_t>{1, 3, 5})
    for (const int64_t length : std::vector<int64_t>{1, 4}) {
      SCOPED_TRACE(testing::Message() << "delay " << delay << " windows of " << length);
      Case whole;
      whole.n_steps = 12;
      whole.delay = delay;
      Case window = whole;
      window.n_steps = length;
      const Given given(whole, 6);
      Together piece(context, whole);
      ASSERT_NO_FATAL_FAILURE(piece.run(given));
      const Results expected = piece.results();
      const auto result = [](const Results& results, const char* name) {
        return std::find_if(results.all.begin(), results.all.end(), [&](const auto& one) { return one.first == name; })
            ->second;
      };
      // Each window has its tape.
      const size_t count = static_cast<size_t>(length), n_windows = 12 / count;
      std::vector<std::unique_ptr<Together>> windows;
      std::vector<Given> parts;
      for (size_t i = 0; i < n_windows; ++i) {
        Given of_window(window, 1);
        of_window.input = steps(given.input, whole, i * count, count);
        of_window.grad_spikes = steps(given.grad_spikes, whole, i * count, count);
        of_window.grad_v = steps(given.grad_v, whole, i * count, count);
        of_window.init = given.init;
        of_window.spikes_before = given.spikes_before;
        if (i > 0) {
          const Results before = windows.back()->results();
          of_window.init[0] = result(before, "final 0");
          of_window.spikes_before = result(before, "spikes_final");
        }
        windows.push_back(std::make_unique<Together>(context, window));
        ASSERT_NO_FATAL_FAILURE(windows.back()->run(of_window));
        parts.push_back(of_window);
      }
      Numbers spikes, grad_x;
      for (size_t i = n_windows; i-- > 0;) {
        parts[i].grad_final = given.grad_final;
        parts[i].grad_spikes_final = given.grad_spikes_final;
        if (i + 1 < n_windows) {
          const Results after = windows[i + 1]->results();
          parts[i].grad_final[0] = result(after, "grad_init 0");
          parts[i].grad_spikes_final = result(after, "grad_spikes_init");
        }
        ASSERT_NO_FATAL_FAILURE(windows[i]->run(parts[i]));
        const Results results = windows[i]->results();
        spikes = joined(result(results, "spikes"), spikes);
        grad_x = joined(result(results, "grad_x"), grad_x);
      }
      const Results first = windows[0]->results();
      EXPECT_TRUE(same_bits(spikes, result(expected, "spikes")));
      EXPECT_TRUE(same_bits(grad_x, result(expected, "grad_x")));
      EXPECT_TRUE(same_bits(result(first, "grad_spikes_init"), result(expected, "grad_spikes_init")));
      EXPECT_TRUE(same_bits(result(first, "grad_init 0"), result(expected, "grad_init 0")));
    }
}

// Other arrays of the same shape take the place of those of a graph, whose steps are read one by one.
TEST_F(RecurrentLayer, ReadsWhatItIsReboundTo) {
  Case c;
  c.given_x = true;
  c.own_state = true;
  const Given first(c, 1), second(c, 2);
  const auto shaped = [&](const Numbers& values) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.n_elements = values.size();
    desc.shape[0] = static_cast<uint64_t>(c.n_steps);
    desc.shape[1] = static_cast<uint64_t>(c.batch);
    desc.shape[2] = static_cast<uint64_t>(c.n_neurons);
    synfire_buffer handle = nullptr;
    EXPECT_OK(synfire_buffer_create(context, &desc, &handle));
    Buffer buffer(handle);
    upload(buffer, std::vector<float>(values.begin(), values.end()));
    return buffer;
  };
  Together loop(context, c), other(context, c);
  const Buffer x = shaped(first.x), next = shaped(second.x), v = shaped(Numbers(first.x.size())),
               now = shaped(Numbers(first.x.size()));
  synfire_forward_desc fd = loop.forward();
  fd.x = x;
  fd.v_seq = v;
  const Graph graph = make_graph(context);
  ASSERT_OK(synfire_graph_record_forward(graph, loop.pass().layer, &fd));
  ASSERT_OK(synfire_graph_instantiate(graph));
  ASSERT_OK(synfire_graph_rebind(graph, x, next));
  ASSERT_OK(synfire_graph_rebind(graph, v, now));
  replay(graph);
  ASSERT_NO_FATAL_FAILURE(other.run(second));
  const std::vector<float> got = download<float>(now, first.x.size());
  EXPECT_TRUE(same_bits(Numbers(got.begin(), got.end()), other.pass().v_seq.get()));
  EXPECT_TRUE(all_are(download<float>(v, first.x.size()), 0.0F));
}

// ---- the history as state -------------------------------------------------------------------------------------------

class History : public RecurrentLayer {
 protected:
  History() {
    c.n_steps = 4;
    c.delay = 3;
    c.history = 5;
    c.own_state = true;
    c.tape = SYNFIRE_TAPE_NONE;
    c.graph = false;
  }
  Numbers run(Together& loop, uint64_t seed) {
    loop.run(Given(c, seed));
    return loop.results().all[0].second;
  }
  // The spikes of one batch row.
  Numbers row(const Numbers& spikes, size_t b) const {
    const auto n = static_cast<size_t>(c.n_neurons);
    Numbers of_row;
    for (size_t at = b * n; at < spikes.size(); at += c.row()) of_row = joined(of_row, part(spikes, at, n));
    return of_row;
  }
  std::vector<unsigned char> snapshot(synfire_layer layer, int64_t first = 0, int64_t count = 0) {
    synfire_state_desc desc = SYNFIRE_STATE_DESC_INIT;
    desc.first_row = first;
    desc.n_rows = count;
    uint64_t bytes = 0;
    EXPECT_OK(synfire_layer_snapshot(layer, &desc, nullptr, &bytes));
    std::vector<unsigned char> data(bytes);
    EXPECT_OK(synfire_layer_snapshot(layer, &desc, data.data(), &bytes));
    return data;
  }
  synfire_status restore(synfire_layer layer, const std::vector<unsigned char>& data, int64_t first = 0,
                         int64_t count = 0) {
    synfire_state_desc desc = SYNFIRE_STATE_DESC_INIT;
    desc.first_row = first;
    desc.n_rows = count;
    return synfire_layer_restore(layer, &desc, data.data(), data.size());
  }

  Case c;
};

TEST_F(History, GoesOnFromRunToRunInAnyWindows) {
  Case whole = c;
  whole.n_steps = 12;
  const Given given(whole, 2);
  Together piece(context, whole);
  ASSERT_NO_FATAL_FAILURE(piece.run(given));
  for (const int64_t length : std::vector<int64_t>{1, 2, 6}) {
    Case window = c;
    window.n_steps = length;
    window.graph = length == 2;
    Together loop(context, window);
    Numbers spikes;
    for (size_t at = 0; at < 12; at += window.steps()) {
      Given of_window(window, 1);
      of_window.input = steps(given.input, whole, at, window.steps());
      ASSERT_NO_FATAL_FAILURE(loop.run(of_window));
      spikes = joined(spikes, loop.results().all[0].second);
    }
    EXPECT_TRUE(same_bits(spikes, piece.results().all[0].second)) << length;
  }
  // Passes with arrays of their own, and others without a recurrent synapse, leave it as it is.
  Together loop(context, c);
  run(loop, 3);
  const auto before = snapshot(loop.pass().layer);
  synfire_forward_desc own = loop.forward();
  own.v_init = *loop.pass().init[0];
  const Rows spikes_before = bit_rows(context, c, c.few(), c.n_neurons);
  own.spikes_init = spikes_before;
  ASSERT_OK(synfire_layer_forward(loop.pass().layer, &own, nullptr));
  EXPECT_EQ(snapshot(loop.pass().layer), before);
}

TEST_F(History, IsInSnapshotsAndCopies) {
  Together loop(context, c), other(context, c);
  run(loop, 1);
  run(loop, 2);
  const synfire_layer layer = loop.pass().layer, to = other.pass().layer;
  const auto all = snapshot(layer), one = snapshot(layer, 1, 1);
  const Numbers on = run(loop, 3);
  ASSERT_OK(restore(layer, all));
  EXPECT_EQ(snapshot(layer), all);
  EXPECT_TRUE(same_bits(run(loop, 3), on));
  EXPECT_FALSE(same_bits(run(other, 3), on));

  // A row goes on in another row of another layer, which is given that row's input.
  ASSERT_OK(restore(to, all));
  ASSERT_OK(restore(to, one, 2, 1));
  EXPECT_EQ(snapshot(to, 2, 1), one);
  EXPECT_EQ(snapshot(to, 0, 2), [&] {
    EXPECT_OK(restore(layer, all));
    return snapshot(layer, 0, 2);
  }());

  synfire_copy_rows_desc copy = SYNFIRE_COPY_ROWS_DESC_INIT;
  copy.source = layer;
  copy.first_row = 0;
  copy.n_rows = 2;
  copy.destination_row = 1;
  for (const bool graph : {false, true}) {
    ASSERT_OK(synfire_layer_reset_state(to, nullptr));
    const auto fresh = snapshot(to, 0, 1);
    if (graph) {
      const Graph copies = make_graph(context);
      ASSERT_OK(synfire_graph_record_copy_rows(copies, to, &copy));
      ASSERT_OK(synfire_graph_instantiate(copies));
      replay(copies);
    } else {
      ASSERT_OK(synfire_layer_copy_rows(to, &copy, nullptr));
    }
    EXPECT_EQ(snapshot(to, 1, 2), snapshot(layer, 0, 2));
    EXPECT_EQ(snapshot(to, 0, 1), fresh);
  }

  // In a graph: a snapshot of some rows, and what it restores.
  synfire_state_desc rows = SYNFIRE_STATE_DESC_INIT;
  rows.first_row = 1;
  rows.n_rows = 2;
  const auto expected = snapshot(layer, 1, 2);
  const Buffer kept = make_buffer(context, SYNFIRE_DTYPE_U8, expected.size());
  rows.buffer = kept;
  const Graph takes = make_graph(context), puts = make_graph(context);
  ASSERT_OK(synfire_graph_record_snapshot(takes, layer, &rows));
  ASSERT_OK(synfire_graph_record_restore(puts, layer, &rows));
  for (const Graph* const graph : {&takes, &puts}) ASSERT_OK(synfire_graph_instantiate(*graph));
  replay(takes);
  run(loop, 7);
  EXPECT_NE(snapshot(layer, 1, 2), expected);
  const auto first_row = snapshot(layer, 0, 1);
  replay(puts);
  EXPECT_EQ(snapshot(layer, 1, 2), expected);
  EXPECT_EQ(snapshot(layer, 0, 1), first_row);

  // Another length.
  Case longer = c;
  longer.history = 6;
  Together wide(context, longer);
  EXPECT_FAILS(refused, WORDS("SYN-SNAPSHOT-LAYOUT", "history_steps"), restore(wide.pass().layer, all));
  copy.destination_row = 0;
  EXPECT_FAILS(refused, WORDS("SYN-STATE-LAYOUT", "5", "6"),
               synfire_layer_copy_rows(wide.pass().layer, &copy, nullptr));
  auto damaged = all;
  damaged.back() = static_cast<unsigned char>(damaged.back() ^ 1U);
  EXPECT_FAILS(refused, WORDS("SYN-SNAPSHOT-DAMAGED"), restore(layer, damaged));
  EXPECT_EQ(snapshot(layer, 1, 2), expected);
}

TEST_F(History, IsResetByRows) {
  const auto state_after = [&](const std::function<void(synfire_layer)>& reset) {
    Together loop(context, c);
    run(loop, 1);
    reset(loop.pass().layer);
    std::vector<std::vector<unsigned char>> of_rows;
    for (int64_t b = 0; b < c.batch; ++b) of_rows.push_back(snapshot(loop.pass().layer, b, 1));
    return of_rows;
  };
  const auto kept = state_after([](synfire_layer) {});
  const auto fresh = state_after([](synfire_layer layer) { EXPECT_OK(synfire_layer_reset_state(layer, nullptr)); });
  for (size_t b = 0; b < 3; ++b) EXPECT_NE(kept[b], fresh[b]);
  synfire_state_desc rows = SYNFIRE_STATE_DESC_INIT;
  rows.first_row = 1;
  rows.n_rows = 1;
  const auto one =
      state_after([&](synfire_layer layer) { EXPECT_OK(synfire_layer_reset_rows(layer, &rows, nullptr)); });
  EXPECT_EQ(one, (std::vector<std::vector<unsigned char>>{kept[0], fresh[1], kept[2]}));
  const Buffer mask = make_buffer(context, SYNFIRE_DTYPE_U8, 3);
  upload(mask, std::vector<uint8_t>{1, 0, 7});
  rows.first_row = rows.n_rows = 0;
  rows.buffer = mask;
  const auto masked = state_after([&](synfire_layer layer) {
    const Graph graph = make_graph(context);
    EXPECT_OK(synfire_graph_record_reset_rows(graph, layer, &rows));
    EXPECT_OK(synfire_graph_instantiate(graph));
    replay(graph);
  });
  EXPECT_EQ(masked, (std::vector<std::vector<unsigned char>>{fresh[0], kept[1], fresh[2]}));
}

TEST_F(History, HasMemoryThatIsKnownBefore) {
  synfire_layer_desc desc = describe({10, 3, 65}, SYNFIRE_DTYPE_F32);
  synfire_layer_memory plain = SYNFIRE_LAYER_MEMORY_INIT, kept = SYNFIRE_LAYER_MEMORY_INIT;
  ASSERT_OK(synfire_layer_query_memory(&desc, &plain));
  EXPECT_EQ(plain.recurrent_tape_bytes, 0U);
  desc.history_steps = 7;
  ASSERT_OK(synfire_layer_query_memory(&desc, &kept));
  EXPECT_EQ(kept.state_bytes, plain.state_bytes + 256);  // 7 * 3 * 3 words
  EXPECT_EQ(kept.recurrent_tape_bytes, 2 * 10 * 3 * 65 * 4U + (7 + 10) * 3 * 3 * 4U);
  const Layer layer = make_layer(context, desc);
  synfire_layer_desc got = SYNFIRE_LAYER_DESC_INIT;
  ASSERT_OK(synfire_layer_get_desc(layer, &got));
  EXPECT_EQ(got.history_steps, 7);
}

// ---- what cannot work -----------------------------------------------------------------------------------------------

TEST_F(RecurrentLayer, BadRequestsAreRefused) {
  synfire_layer handle = nullptr;
  for (const int64_t steps : std::vector<int64_t>{-1, 65536}) {
    synfire_layer_desc desc = describe({3, 2, 5}, SYNFIRE_DTYPE_F32);
    desc.history_steps = steps;
    EXPECT_FAILS(refused, WORDS("SYN-LAYER-HISTORY", "history_steps"), synfire_layer_create(context, &desc, &handle));
    desc.history_steps = 1;
    desc.model = SYNFIRE_MODEL_LI;
    EXPECT_FAILS(refused, WORDS("SYN-LAYER-NO-SPIKES"), synfire_layer_create(context, &desc, &handle));
  }
  Case c;
  c.delay = 2;
  Together loop(context, c);
  loop.load(Given(c, 1));
  const synfire_layer layer = loop.pass().layer;
  const Graph graph = make_graph(context);
  const auto expect = [&](const char* rule, const std::function<void(synfire_forward_desc&)>& change,
                          synfire_status status = refused) {
    synfire_forward_desc desc = loop.forward();
    change(desc);
    EXPECT_FAILS(status, WORDS(rule), synfire_layer_forward(layer, &desc, nullptr));
    EXPECT_FAILS(status, WORDS(rule), synfire_graph_record_forward(graph, layer, &desc));
  };
  expect("SYN-FORWARD-DELAY", [](auto& desc) { desc.recurrent_delay = 0; });
  expect("SYN-FORWARD-DELAY", [](auto& desc) { desc.recurrent_delay = 3; });
  expect("SYN-FORWARD-DELAY", [](auto& desc) { desc.recurrent_delay = -1; });
  expect("SYN-FORWARD-RECURRENT", [](auto& desc) { desc.recurrent_synapse = nullptr; });
  expect("SYN-FORWARD-RECURRENT", [](auto& desc) { desc.recurrent_synapse = nullptr, desc.recurrent_delay = 0; });
  expect("SYN-FORWARD-INIT", [](auto& desc) { desc.spikes_init = nullptr; });
  expect("SYN-FORWARD-INIT", [](auto& desc) { desc.v_init = nullptr; });
  expect("SYN-BUFFER-TYPE", [&](auto& desc) { desc.spikes_init = loop.pass().v_seq; });
  expect("desc.spikes_final is written and overlaps desc.spikes_init",
         [](auto& desc) { desc.spikes_final = desc.spikes_init; });
  expect("SYN-FORWARD-IN-PLACE", [](auto& desc) { desc.in_place = 1, desc.tape = SYNFIRE_TAPE_STORE; });
  const Rows few(context, SYNFIRE_DTYPE_BITS, 1, 6);
  expect("SYN-BUFFER-SIZE", [&](auto& desc) { desc.spikes_final = few; });
  Case wider = c;
  wider.n_neurons = 38;
  const Synapse too_wide = back_synapse(context, wider), not_square = input_synapse(context, c);
  expect("SYN-SYNAPSE-CHAIN", [&](auto& desc) { desc.recurrent_synapse = too_wide; });
  expect("SYN-SYNAPSE-CHAIN", [&](auto& desc) { desc.recurrent_synapse = not_square; });
  Case of_f64 = c;
  of_f64.dtype = SYNFIRE_DTYPE_F64;
  const Synapse double_weights = back_synapse(context, of_f64);
  expect("SYN-SYNAPSE-CHAIN", [&](auto& desc) { desc.recurrent_synapse = double_weights; });
  synfire_synapse_desc values = SYNFIRE_SYNAPSE_DESC_INIT;
  values.input_kind = SYNFIRE_INPUT_VALUES;
  values.n_inputs = values.n_outputs = c.n_neurons;
  const Synapse of_values = synapse_of(context, values);
  expect("SYN-FORWARD-RECURRENT", [&](auto& desc) { desc.recurrent_synapse = of_values; });
  synfire_delayed_desc delayed = SYNFIRE_DELAYED_DESC_INIT;
  delayed.n_inputs = delayed.n_outputs = c.n_neurons;
  delayed.max_delay = 3;
  synfire_synapse made = nullptr;
  ASSERT_OK(synfire_synapse_create_delayed(context, &delayed, &made));
  const Synapse of_delays(made);
  expect("SYN-FORWARD-RECURRENT", [&](auto& desc) { desc.recurrent_synapse = of_delays; });
  const Context other = make_context();
  const Synapse foreign = back_synapse(other, c);
  expect(
      "SYN-HANDLE-FOREIGN", [&](auto& desc) { desc.recurrent_synapse = foreign; }, SYNFIRE_ERROR_INVALID_HANDLE);

  Case longest = c;
  longest.n_steps = 4097;
  longest.batch = longest.n_neurons = longest.n_inputs = 1;
  Together many(context, longest);
  const synfire_forward_desc of_many = many.forward();
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-FORWARD-STEPS", "4096"),
               synfire_layer_forward(many.pass().layer, &of_many, nullptr));

  const synfire_forward_desc fd = loop.forward();
  ASSERT_OK(synfire_layer_forward(layer, &fd, nullptr));
  const auto expect_back = [&](const char* rule, const std::function<void(synfire_backward_desc&)>& change) {
    synfire_backward_desc desc = loop.backward();
    change(desc);
    EXPECT_FAILS(refused, WORDS(rule), synfire_layer_backward(layer, &desc, nullptr));
  };
  expect_back("SYN-BACKWARD-RECURRENT", [](auto& desc) { desc.in_place = 1; });
  expect_back("desc.grad_spikes_init is written and overlaps desc.grad_spikes_final",
              [](auto& desc) { desc.grad_spikes_init = desc.grad_spikes_final; });
  expect_back("SYN-BUFFER-TYPE", [&](auto& desc) { desc.grad_spikes_init = few; });
  expect_back("SYN-BUFFER-OVERLAP", [](auto& desc) { desc.grad_x_seq = desc.grad_v_seq; });
  // Weights that have changed since the forward.
  const std::vector<float> zeros(n_weights_back(c));
  ASSERT_OK(synfire_synapse_write(loop.back, "weight", zeros.data(), zeros.size() * sizeof(float)));
  synfire_backward_desc stale = loop.backward();
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WEIGHTS"), synfire_layer_backward(layer, &stale, nullptr));
  // A forward that reads nothing again.
  synfire_forward_desc plain = loop.pass().forward();
  ASSERT_OK(synfire_layer_forward(layer, &plain, nullptr));
  for (const bool of_init : {false, true}) {
    synfire_backward_desc desc = loop.pass().backward(loop.threshold());
    (of_init ? desc.grad_spikes_init : desc.grad_spikes_final) = few;
    EXPECT_FAILS(refused, WORDS("SYN-BACKWARD-RECURRENT"), synfire_layer_backward(layer, &desc, nullptr));
  }
}

TEST_F(RecurrentLayer, SelfConnectionsStayAway) {
  constexpr size_t n = 19;
  const auto is_self = [](size_t i) { return i / n == i % n; };
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64})
    for (const bool masked : {false, true}) {
      Case c;
      c.dtype = dtype;
      c.n_neurons = n;
      synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
      desc.n_inputs = desc.n_outputs = n;
      desc.dtype = dtype;
      desc.no_self_connections = 1;
      std::vector<uint8_t> mask(n * n);
      for (size_t i = 0; i < n * n; ++i) mask[i] = i % 4 == 0 ? 0 : 1;
      const auto is_there = [&](size_t i) { return !is_self(i) && (!masked || mask[i] == 1); };
      if (masked) {
        desc.mask = mask.data();
        desc.mask_length = mask.size();
      }
      const Synapse synapse = synapse_of(context, desc);
      synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
      ASSERT_OK(synfire_synapse_get_info(synapse, &info));
      EXPECT_EQ(info.has_mask, 1);
      const auto check = [&](const char* name) {
        const Numbers values = weights_of(synapse, name, c, n * n);
        for (size_t i = 0; i < n * n; ++i) EXPECT_EQ(values[i] != 0, is_there(i)) << name << " " << i;
      };
      check("weight");
      const Numbers ones(n * n, 1);
      if (dtype == SYNFIRE_DTYPE_F64) {
        ASSERT_OK(synfire_synapse_write(synapse, "weight", ones.data(), n * n * sizeof(double)));
      } else {
        const std::vector<float> narrow(n * n, 1);
        ASSERT_OK(synfire_synapse_write(synapse, "weight", narrow.data(), n * n * sizeof(float)));
      }
      check("weight");
      // All inputs are active, so every connection has a gradient.
      Rows input = bit_rows(context, c, 2, n), grad(context, c.wide(), 2, 3 * n);
      input.put(packed(Numbers(2 * 3 * n, 1), n));
      grad.put(Numbers(2 * 3 * n, 0.5));
      synfire_synapse_backward_desc back = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
      back.n_steps = 2;
      back.batch = 3;
      back.input = input;
      back.grad_output = grad;
      ASSERT_OK(synfire_synapse_backward(synapse, &back, nullptr));
      check("weight_gradient");
      synfire_synapse refused_one = nullptr;
      desc.n_inputs = n + 1;
      desc.mask = nullptr;
      desc.mask_length = 0;
      EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-SELF", "20", "19"),
                   synfire_synapse_create(context, &desc, &refused_one));
      desc.no_self_connections = 2;
      EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-FLAG"), synfire_synapse_create(context, &desc, &refused_one));
    }
}

}  // namespace
}  // namespace synfire_test
