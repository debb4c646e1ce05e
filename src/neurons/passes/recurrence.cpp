#include "recurrence.hpp"

#include <base/error.hpp>
#include <graph/transients.hpp>
#include <operations/combine/combine.hpp>
#include <operations/elementwise/fill.hpp>
#include <operations/elementwise/scale_add.hpp>
#include <operations/last_steps/last_steps.hpp>
#include <operations/spikes/convert_spikes.hpp>
#include <synapses/passes/synapse_passes.hpp>

namespace synfire::operations {

using namespace synfire::core;

// ---- checks ---------------------------------------------------------------------------------------------------------

namespace {

// Each step is entries of its own.
constexpr int64_t most_recurrent_steps = 4096;

void check_synapse(const LayerSpec& spec, const Synapse& synapse) {
  const int64_t n_neurons = spec.extents.n_neurons;
  if (spec.model->never_fires)
    fail_argument("SYN-LAYER-NO-SPIKES", "desc.recurrent_synapse is given; model \"%s\" never fires, null is needed",
                  spec.model->name);
  if (!synapse.reads_spikes())
    fail_argument("SYN-FORWARD-RECURRENT", "desc.recurrent_synapse reads %s; it must read spikes",
                  synapse.reads_counts() ? "counts" : "values");
  if (synapse.shape().history_steps > 0)
    fail_argument("SYN-FORWARD-RECURRENT",
                  "desc.recurrent_synapse is of the kind \"%s\" and has delays of its own; one without is needed",
                  synapse.kind().name);
  if (synapse.n_inputs() != n_neurons || synapse.n_outputs() != n_neurons)
    fail_argument("SYN-SYNAPSE-CHAIN",
                  "desc.recurrent_synapse has %lld inputs and %lld outputs; the layer has %lld neurons, which it reads "
                  "and writes",
                  static_cast<long long>(synapse.n_inputs()), static_cast<long long>(synapse.n_outputs()),
                  static_cast<long long>(n_neurons));
  if (synapse.dtype() != spec.arithmetic())
    fail_argument("SYN-SYNAPSE-CHAIN",
                  "desc.recurrent_synapse is of %s; %s is needed, the type of the layer's arithmetic",
                  name_of_dtype(synapse.dtype()), name_of_dtype(spec.arithmetic()));
}

}  // namespace

void check_recurrence(const LayerSpec& spec, const ForwardRequest& request) {
  const Recurrence& recurrent = request.recurrent;
  if (!recurrent.synapse) {
    const char* const given = recurrent.delay != 0   ? "desc.recurrent_delay"
                              : request.spikes_init  ? "desc.spikes_init"
                              : request.spikes_final ? "desc.spikes_final"
                                                     : nullptr;
    if (given) fail_argument("SYN-FORWARD-RECURRENT", "%s is given and desc.recurrent_synapse is null", given);
    return;
  }
  check_synapse(spec, *recurrent.synapse);
  if (recurrent.delay < 1 || recurrent.delay > spec.history_steps)
    fail_argument("SYN-FORWARD-DELAY",
                  "desc.recurrent_delay is %lld; it must be at least 1 and at most %lld, the steps "
                  "that the layer keeps (history_steps of its descriptor)",
                  static_cast<long long>(recurrent.delay), static_cast<long long>(spec.history_steps));
  if (spec.extents.n_steps > most_recurrent_steps)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-FORWARD-STEPS",
         "desc.recurrent_synapse is given; the layer has %lld steps, and at most %lld are recorded one by one",
         static_cast<long long>(spec.extents.n_steps), static_cast<long long>(most_recurrent_steps));
  if (request.in_place)
    fail_argument("SYN-FORWARD-IN-PLACE", "desc.in_place is 1; with desc.recurrent_synapse, H has memory of its own");
  if (!request.v_init != !request.spikes_init)
    fail_argument(
        "SYN-FORWARD-INIT", "%s is given and %s is null; a forward begins from both or from the layer's state",
        request.v_init ? "desc.v_init" : "desc.spikes_init", request.v_init ? "desc.spikes_init" : "desc.v_init");
}

void check_recurrence(const BackwardRequest& request, const TapeShape& shape) {
  if (!shape.recurrent.synapse) {
    const char* const given = request.grad_spikes_final  ? "desc.grad_spikes_final"
                              : request.grad_spikes_init ? "desc.grad_spikes_init"
                                                         : nullptr;
    if (given)
      fail_argument("SYN-BACKWARD-RECURRENT",
                    "%s is given; the forward to which this backward belongs had no recurrent synapse", given);
    return;
  }
  if (request.in_place)
    fail_argument(
        "SYN-BACKWARD-RECURRENT",
        "desc.in_place is 1; the forward had a recurrent synapse, whose backward reads desc.grad_spike_seq first");
}

// ---- parts of arrays ------------------------------------------------------------------------------------------------

namespace {

// Numbers of the transient arrays of a list; passes_make.cpp has the first three.
constexpr int32_t transient_spikes = 4, transient_product = 5, transient_grad_spikes = 6, transient_carried = 7,
                  transient_time_words = 8;
static_assert(transient_time_words <= most_of_a_list);

// Some steps of an array; what is not given stays so.
View steps_of(View array, int64_t first, int64_t count) {
  if (!array.data) return array;
  const auto element = static_cast<int64_t>(bytes_of_dtype(array.dtype));
  array.data = static_cast<char*>(array.data) + first * array.pitch * element;
  array.shape[0] = count;
  array.bytes = static_cast<uint64_t>(((count - 1) * array.pitch + array.row()) * element);
  return array;
}
// One step, which takes any place of the array's shape: the whole array may be rebound to one of the same shape.
View step_of(const View& array, int64_t step) {
  View one = steps_of(array, step, 1);
  one.rank = 0;
  return one;
}

// V and further variables between a step and the next one, in turn: [2 * n_states, B, N].
class Carried {
 public:
  explicit Carried(const LayerSpec& spec)
      : n_states_(spec.model->n_states),
        rows_(transient_array(transient_carried, spec.arithmetic(),
                              {2 * int64_t{n_states_}, spec.extents.batch, spec.extents.n_neurons})) {}
  // Before a step.
  View before(int64_t step, int variable) const { return step_of(rows_, step % 2 * n_states_ + variable); }
  int n_further() const { return n_states_ - 1; }

 private:
  int n_states_;
  View rows_;
};

View active_of(Layer& layer) {
  return layer.own(const_cast<int64_t*>(layer.active()), sizeof(int64_t), SYNFIRE_DTYPE_U64);
}

SynapsePass recurrent_pass(Layer& layer, const Recurrence& recurrent, const View& n_active, const View& input) {
  SynapsePass pass = {{recurrent.synapse}, input.shape[0], layer.spec().extents.batch};
  pass.input = input;
  pass.n_active = n_active;
  pass.layer_active = active_of(layer);
  return pass;
}

// The spikes that a step reads.
View read_at(const LayerSpec& spec, const Recurrence& recurrent, const View& spikes, int64_t step) {
  return step_of(spikes, spec.history_steps + step - recurrent.delay);
}

Extents of_one_step(const Extents& extents) {
  return {1, extents.batch, extents.n_neurons};
}

// A copy from or to an array of the caller's, by the name that the caller knows.
LastSteps from_caller(LastSteps copy, const char* name) {
  copy.source_name = name;
  return copy;
}
LastSteps to_caller(LastSteps copy, const char* name) {
  copy.destination_name = name;
  return copy;
}

}  // namespace

View passing_spikes(const LayerSpec& spec) {
  return transient_array(transient_spikes, SYNFIRE_DTYPE_BITS,
                         {spec.recurrent_spike_steps(), spec.extents.batch, spec.extents.words_per_row()});
}

// ---- forward --------------------------------------------------------------------------------------------------------

namespace {

class ForwardSteps {
 public:
  ForwardSteps(Layer& layer, const Forward& pass, const RecurrentForward& recurrence, OperationList& operations)
      : layer_(layer), pass_(pass), recurrence_(recurrence), operations_(operations), carried_(layer.spec()) {}

  void add() {
    const View& spikes = recurrence_.spikes;
    const View before = recurrence_.spikes_init ? recurrence_.spikes_init : layer_.history_memory();
    const int64_t n_before = before.shape[0];
    operations_.emplace_back(
        from_caller(last_steps(extents().n_neurons, {}, before, steps_of(spikes, history_steps() - n_before, n_before)),
                    recurrence_.spikes_init ? "desc.spikes_init" : "the layer's history"));
    for (int64_t t = 0; t < extents().n_steps; ++t) {
      add_product(t);
      add_sum(t);
      operations_.emplace_back(step(t));
      if (pass_.spike_format == SpikeFormat::dense)
        operations_.emplace_back(ConvertSpikes{of_one_step(extents()), dense_step(t), own_step(t)});
    }
    hand_out_spikes();
    if (recurrence_.spikes_final) keep(spikes, recurrence_.spikes_final, "desc.spikes_final");
    if (!recurrence_.spikes_init) keep(spikes, layer_.history_memory(), "the layer's history");
  }

 private:
  const Extents& extents() const { return pass_.extents; }
  int64_t history_steps() const { return layer_.spec().history_steps; }
  View own_step(int64_t t) const { return step_of(recurrence_.spikes, history_steps() + t); }
  View dense_step(int64_t t) const {
    View dense = step_of(pass_.spikes, t);
    dense.passed_on = true;
    return dense;
  }
  View product() const {
    return transient_array(transient_product, layer_.spec().arithmetic(), {1, extents().batch, extents().n_neurons});
  }

  void add_product(int64_t t) {
    const View input = read_at(layer_.spec(), recurrence_.recurrent, recurrence_.spikes, t);
    const SynapsePass pass = recurrent_pass(layer_, recurrence_.recurrent, recurrence_.n_active, input);
    append(operations_, recurrence_.recurrent.synapse->kind().product(pass, product()));
  }

  // X[t] = what comes before + the recurrent product.
  void add_sum(int64_t t) {
    const View x = step_of(pass_.x, t);
    if (!recurrence_.x) {
      operations_.emplace_back(ScaleAdd{product(), x, 1, 1});
      return;
    }
    Combine sum = {};
    sum.kind = CombineKind::sum;
    sum.extents = of_one_step(extents());
    sum.n_sources = 2;
    sum.sources[0] = step_of(recurrence_.x, t);
    sum.sources[1] = product();
    sum.bounds[0] = sum.bounds[1] = 1;
    sum.destination = x;
    operations_.emplace_back(sum);
  }

  Forward step(int64_t t) const {
    const bool dense = pass_.spike_format == SpikeFormat::dense, own_state = pass_.v_out.data;
    const bool is_first = t == 0, is_last = t + 1 == extents().n_steps;
    Forward op = pass_;
    op.extents.n_steps = 1;
    op.synapse = recurrence_.recurrent.synapse;
    op.x = step_of(pass_.x, t);
    op.spike_format = dense ? SpikeFormat::dense : SpikeFormat::bits;
    op.spikes = dense ? dense_step(t) : own_step(t);
    op.v_seq = step_of(pass_.v_seq, t);
    op.h_seq = step_of(pass_.h_seq, t);
    op.tape = step_of(pass_.tape, t);
    op.tape_h = step_of(pass_.tape_h, t);
    op.tape_spikes = step_of(pass_.tape_spikes, t);
    if (!own_state && !is_first) op.v_in = carried_.before(t, 0);
    if (!is_last) op.v_final = own_state ? View{} : carried_.before(t + 1, 0);
    for (int k = 0; k < carried_.n_further(); ++k) {
      op.w_seq[k] = step_of(pass_.w_seq[k], t);
      if (!own_state && !is_first) op.w_in[k] = carried_.before(t, k + 1);
      if (!is_last) op.w_final[k] = own_state ? View{} : carried_.before(t + 1, k + 1);
    }
    return op;
  }

  // The last steps of rows that are active.
  void keep(const View& from, const View& to, const char* name) {
    operations_.emplace_back(to_caller(last_steps(extents().n_neurons, active_of(layer_), from, to), name));
  }
  void hand_out_spikes() {
    if (pass_.spike_format == SpikeFormat::bits) keep(recurrence_.spikes, pass_.spikes, "desc.spikes");
    if (pass_.spike_format != SpikeFormat::time_bits) return;
    const View words = transient_array(transient_time_words, SYNFIRE_DTYPE_TIME_BITS,
                                       {layer_.spec().time_words(), extents().batch, extents().n_neurons});
    operations_.emplace_back(
        ConvertSpikes{extents(), steps_of(recurrence_.spikes, history_steps(), extents().n_steps), words});
    keep(words, pass_.spikes, "desc.spikes");
  }

  Layer& layer_;
  const Forward& pass_;
  const RecurrentForward& recurrence_;
  OperationList& operations_;
  Carried carried_;
};

}  // namespace

void add_steps(Layer& layer, const Forward& pass, const RecurrentForward& recurrence, OperationList& operations) {
  ForwardSteps(layer, pass, recurrence, operations).add();
}

void add_touched(const RecurrentForward& recurrence, OperationList& operations) {
  if (recurrence.spikes_init)
    operations.emplace_back(
        from_caller(last_steps(1, {}, recurrence.spikes_init, recurrence.spikes), "desc.spikes_init"));
  if (recurrence.spikes_final)
    operations.emplace_back(
        to_caller(last_steps(1, {}, recurrence.spikes, recurrence.spikes_final), "desc.spikes_final"));
}

// ---- backward -------------------------------------------------------------------------------------------------------

namespace {

class BackwardSteps {
 public:
  BackwardSteps(Layer& layer, const Backward& pass, const RecurrentBackward& recurrence, OperationList& operations)
      : layer_(layer),
        pass_(pass),
        recurrence_(recurrence),
        operations_(operations),
        carried_(layer.spec()),
        grad_spikes_(transient_array(
            transient_grad_spikes, layer.spec().arithmetic(),
            {recurrence.recurrent.delay + pass.extents.n_steps, pass.extents.batch, pass.extents.n_neurons})) {}

  void add() {
    begin();
    for (int64_t t = extents().n_steps; t-- > 0;) {
      add_step(t);
      // Step t has read what is `delay` steps before it.
      if (t < delay() && !recurrence_.grad_spikes_init) continue;
      const View input = read_at(layer_.spec(), recurrence_.recurrent, recurrence_.spikes, t);
      const SynapsePass pass = recurrent_pass(layer_, recurrence_.recurrent, recurrence_.n_active, input);
      append(operations_, recurrence_.recurrent.synapse->kind().input_gradient(pass, step_of(pass_.grad_x, t),
                                                                               step_of(grad_spikes_, t), true));
    }
    if (recurrence_.grad_spikes_init)
      operations_.emplace_back(to_caller(last_steps(extents().n_neurons, active_of(layer_),
                                                    steps_of(grad_spikes_, 0, delay()), recurrence_.grad_spikes_init),
                                         "desc.grad_spikes_init"));
  }

 private:
  const Extents& extents() const { return pass_.extents; }
  int64_t delay() const { return recurrence_.recurrent.delay; }

  // dL/dS without what goes back through the recurrent synapse.
  void begin() {
    const bool given = pass_.grad_spike.data;
    operations_.emplace_back(Fill{given ? steps_of(grad_spikes_, 0, delay()) : grad_spikes_, 0});
    if (given) add_given(pass_.grad_spike, steps_of(grad_spikes_, delay(), extents().n_steps), false);
    if (recurrence_.grad_spikes_final)
      add_given(recurrence_.grad_spikes_final, steps_of(grad_spikes_, extents().n_steps, delay()), true);
  }
  void add_given(const View& from, const View& to, bool add) {
    CombineBackward copy = {};
    copy.kind = CombineKind::sum;
    copy.extents = {to.shape[0], extents().batch, extents().n_neurons};
    copy.add = add;
    copy.grad_destination = from;
    copy.grad_source = to;
    operations_.emplace_back(copy);
  }

  Backward step(int64_t t) const {
    const bool is_first = t == 0, is_last = t + 1 == extents().n_steps;
    Backward op = pass_;
    op.extents.n_steps = 1;
    op.synapse = recurrence_.recurrent.synapse;
    op.x = step_of(pass_.x, t);
    op.tape = step_of(pass_.tape, t);
    op.tape_h = step_of(pass_.tape_h, t);
    op.tape_spikes = step_of(pass_.tape_spikes, t);
    op.grad_spike = step_of(grad_spikes_, delay() + t);
    op.grad_v_seq = step_of(pass_.grad_v_seq, t);
    op.grad_x = step_of(pass_.grad_x, t);
    if (!is_last) op.grad_v_final = carried_.before(t + 1, 0);
    if (!is_first) op.grad_v_init = carried_.before(t, 0);
    for (int k = 0; k < carried_.n_further(); ++k) {
      op.grad_w_seq[k] = step_of(pass_.grad_w_seq[k], t);
      if (!is_last) op.grad_w_final[k] = carried_.before(t + 1, k + 1);
      if (!is_first) op.grad_w_init[k] = carried_.before(t, k + 1);
    }
    return op;
  }
  void add_step(int64_t t) {
    if (recurrence_.sums.empty()) {
      operations_.emplace_back(step(t));
      return;
    }
    const bool add = recurrence_.add_gradients || t + 1 < extents().n_steps;
    add_gradient_sums(layer_, step(t), recurrence_.sums, add, recurrence_.scratch, nullptr, operations_);
  }

  Layer& layer_;
  const Backward& pass_;
  const RecurrentBackward& recurrence_;
  OperationList& operations_;
  Carried carried_;
  View grad_spikes_;  // [delay + T, B, N]
};

}  // namespace

void add_steps(Layer& layer, const Backward& pass, const RecurrentBackward& recurrence, OperationList& operations) {
  BackwardSteps(layer, pass, recurrence, operations).add();
}

void add_recurrent_gradients(Layer& layer, const RecurrentBackward& recurrence, const View& grad_x, bool add,
                             OperationList& operations) {
  const LayerSpec& spec = layer.spec();
  const View input = steps_of(recurrence.spikes, spec.history_steps - recurrence.recurrent.delay, spec.extents.n_steps);
  const SynapsePass pass = recurrent_pass(layer, recurrence.recurrent, recurrence.n_active, input);
  append(operations, recurrence.recurrent.synapse->kind().gradients(pass, grad_x, add));
}

void add_touched(const RecurrentBackward& recurrence, OperationList& operations) {
  if (recurrence.grad_spikes_final)
    operations.emplace_back(
        from_caller(last_steps(1, {}, recurrence.grad_spikes_final, recurrence.spikes), "desc.grad_spikes_final"));
  if (recurrence.grad_spikes_init)
    operations.emplace_back(
        to_caller(last_steps(1, {}, recurrence.spikes, recurrence.grad_spikes_init), "desc.grad_spikes_init"));
}

}  // namespace synfire::operations
