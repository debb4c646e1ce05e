// A handle of one type that names the live slot of another type's object, with the right generation. Every function
// refuses it as any argument, and destroys nothing. Other invalid handles are in handles_test.cpp.
#include <atomic>
#include <cmath>
#include <memory>
#include <thread>

#include "../call_watch.hpp"
#include "errors.hpp"

namespace synfire_test {
namespace {

template <typename Handle>
using Calls = std::vector<std::pair<const char*, std::function<synfire_status(Handle)>>>;

class ForgedHandles : public Errors {
 public:
  static void SetUpTestSuite() { watch = std::make_unique<CallWatch>(); }
  // Every place of the interface has had a forged handle, if no test was left out.
  static void TearDownTestSuite() {
    const auto* const suite = testing::UnitTest::GetInstance()->current_test_suite();
    if (CallWatch::is_possible && suite->test_to_run_count() == suite->total_test_count())
      for (const std::string& place : watch->places_not_seen()) ADD_FAILURE() << "no forged handle in " << place;
    watch.reset();
  }

 protected:
  static inline std::unique_ptr<CallWatch> watch;

  // forged(), for a call that is noted.
  template <typename Handle>
  static Handle forge(Handle of_this_type, uintptr_t other) {
    const Handle bad = forged(of_this_type, other);
    watch->look_for(reinterpret_cast<uintptr_t>(bad));
    return bad;
  }

  const synfire_forward_desc forward = rig.forward_desc();
  const synfire_backward_desc backward = rig.backward_desc();
  const synfire_state_desc rows = SYNFIRE_STATE_DESC_INIT;
  const Buffer number = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  const Buffer mask = make_buffer(context, SYNFIRE_DTYPE_BITS, 1);
  const Buffer words = make_buffer(context, SYNFIRE_DTYPE_U32, shape.sequence());
  const Buffer long_words = make_buffer(context, SYNFIRE_DTYPE_U64, 1);
  double value = 1;
  float element = 1;
  uint64_t bytes = sizeof element;
  void* data = nullptr;

  static synfire_status no_callback(void*, const synfire_native_call*) { return SYNFIRE_OK; }

  template <typename Desc>
  static Desc of_shape(Desc desc) {
    desc.n_steps = shape.n_steps;
    desc.batch = shape.batch;
    desc.n_neurons = shape.n_neurons;
    return desc;
  }
  synfire_convert_spikes_desc convert() const {
    synfire_convert_spikes_desc desc = of_shape<synfire_convert_spikes_desc>(SYNFIRE_CONVERT_SPIKES_DESC_INIT);
    desc.source = rig.x;
    desc.destination = rig.spikes;
    return desc;
  }
  synfire_count_spikes_desc count() const {
    synfire_count_spikes_desc desc = of_shape<synfire_count_spikes_desc>(SYNFIRE_COUNT_SPIKES_DESC_INIT);
    desc.kind = SYNFIRE_COUNT_TOTAL;
    desc.spikes = rig.spikes;
    desc.counts = words;
    return desc;
  }
  synfire_encode_bernoulli_desc encode() const {
    synfire_encode_bernoulli_desc desc = of_shape<synfire_encode_bernoulli_desc>(SYNFIRE_ENCODE_BERNOULLI_DESC_INIT);
    desc.rates = rig.x;
    desc.spikes = rig.spikes;
    return desc;
  }
  synfire_gather_rows_desc gather() const {
    synfire_gather_rows_desc desc = SYNFIRE_GATHER_ROWS_DESC_INIT;
    desc.n_rows = desc.n_elements = 1;
    desc.source = rig.x;
    desc.indices = words;
    desc.n_active = words;
    desc.destination = rig.spikes;
    return desc;
  }
  synfire_replace_nonfinite_desc replace_nonfinite() const {
    synfire_replace_nonfinite_desc desc = SYNFIRE_REPLACE_NONFINITE_DESC_INIT;
    desc.n_elements = 1;
    desc.source = rig.x;
    desc.count = long_words;
    desc.destination = rig.spikes;
    return desc;
  }
  synfire_dropout_desc dropout() const {
    synfire_dropout_desc desc = SYNFIRE_DROPOUT_DESC_INIT;
    desc.n_neurons = 1;
    desc.mask = mask;
    desc.scale = rig.v_final;
    return desc;
  }
  synfire_shuffle_desc shuffle() const {
    synfire_shuffle_desc desc = SYNFIRE_SHUFFLE_DESC_INIT;
    desc.n_rows = 1;
    desc.indices = words;
    desc.n_active = words;
    return desc;
  }
  synfire_reduce_desc reduce() const {
    synfire_reduce_desc desc = of_shape<synfire_reduce_desc>(SYNFIRE_REDUCE_DESC_INIT);
    desc.source = rig.x;
    desc.destination = rig.v_final;
    desc.lengths = desc.n_active = words;
    return desc;
  }
  synfire_reduce_backward_desc reduce_backward() const {
    synfire_reduce_backward_desc desc = of_shape<synfire_reduce_backward_desc>(SYNFIRE_REDUCE_BACKWARD_DESC_INIT);
    desc.reduction = SYNFIRE_REDUCE_MAX;
    desc.grad_destination = rig.v_final;
    desc.source = rig.x;
    desc.lengths = desc.n_active = words;
    desc.grad_source = rig.grad_spike_seq;
    return desc;
  }
  synfire_rate_loss_desc rate_loss() const {
    synfire_rate_loss_desc desc = of_shape<synfire_rate_loss_desc>(SYNFIRE_RATE_LOSS_DESC_INIT);
    desc.spikes = rig.spikes;
    desc.lengths = desc.n_active = words;
    desc.loss = rig.v_final;
    desc.grad_spike_seq = rig.grad_spike_seq;
    return desc;
  }
  synfire_loss_desc loss() const {
    synfire_loss_desc desc = SYNFIRE_LOSS_DESC_INIT;
    desc.n_classes = 1;
    desc.source = rig.x;
    desc.labels = words;
    desc.gradient = rig.spikes;
    return desc;
  }
  synfire_scale_add_desc scale_add() const {
    synfire_scale_add_desc desc = SYNFIRE_SCALE_ADD_DESC_INIT;
    desc.source = rig.x;
    desc.destination = rig.spikes;
    return desc;
  }
  synfire_copy_desc copy() const {
    synfire_copy_desc desc = SYNFIRE_COPY_DESC_INIT;
    desc.source = rig.x;
    desc.destination = rig.spikes;
    return desc;
  }
  synfire_fill_desc fill(synfire_buffer buffer) const {
    synfire_fill_desc desc = SYNFIRE_FILL_DESC_INIT;
    desc.buffer = buffer;
    return desc;
  }
  synfire_update_parameter_desc update(synfire_buffer gradient) const {
    synfire_update_parameter_desc desc = SYNFIRE_UPDATE_PARAMETER_DESC_INIT;
    desc.name = "tau";
    desc.gradient = gradient;
    return desc;
  }
  synfire_state_desc rows_in(synfire_buffer buffer) const {
    synfire_state_desc desc = SYNFIRE_STATE_DESC_INIT;
    desc.name = "v";
    desc.buffer = buffer;
    return desc;
  }
  synfire_copy_rows_desc copy_rows(synfire_layer source) const {
    synfire_copy_rows_desc desc = SYNFIRE_COPY_ROWS_DESC_INIT;
    desc.source = source;
    return desc;
  }
  synfire_native_desc native(const synfire_buffer* reads, const synfire_buffer* writes) const {
    synfire_native_desc desc = SYNFIRE_NATIVE_DESC_INIT;
    desc.callback = no_callback;
    desc.reads = reads;
    desc.n_reads = reads ? 1 : 0;
    desc.writes = writes;
    desc.n_writes = writes ? 1 : 0;
    return desc;
  }

  // ---- Every function that takes handles, and every handle that it takes
  // ----------------------------------------------

  Calls<synfire_context> calls_of_contexts() {
    return {{"reclaim", [](auto bad) { return synfire_context_reclaim(bad, nullptr); }},
            {"synchronize", [](auto bad) { return synfire_context_synchronize(bad); }},
            {"get_properties",
             [](auto bad) {
               synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
               return synfire_context_get_properties(bad, &properties);
             }},
            {"buffer_create",
             [](auto bad) {
               synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
               desc.n_elements = 1;
               synfire_buffer buffer = nullptr;
               return synfire_buffer_create(bad, &desc, &buffer);
             }},
            {"layer_create",
             [](auto bad) {
               const synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
               synfire_layer layer = nullptr;
               return synfire_layer_create(bad, &desc, &layer);
             }},
            {"graph_create",
             [](auto bad) {
               synfire_graph made = nullptr;
               return synfire_graph_create(bad, nullptr, &made);
             }},
            {"optimizer_create",
             [](auto bad) {
               const synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
               synfire_optimizer made = nullptr;
               return synfire_optimizer_create(bad, &desc, &made);
             }},
            {"model_load",
             [](auto bad) {
               const synfire_load_desc desc = SYNFIRE_LOAD_DESC_INIT;
               synfire_model made = nullptr;
               return synfire_model_load(bad, &desc, &made);
             }},
            {"surrogate_load",
             [](auto bad) {
               const synfire_load_desc desc = SYNFIRE_LOAD_DESC_INIT;
               synfire_surrogate made = nullptr;
               return synfire_surrogate_load(bad, &desc, &made);
             }},
            {"network_create",
             [](auto bad) {
               synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
               desc.n_steps = 1;
               synfire_network made = nullptr;
               return synfire_network_create(bad, &desc, &made);
             }},
            {"network_create_from_file",
             [](auto bad) {
               synfire_network made = nullptr;
               return synfire_network_create_from_file(bad, "nowhere.safetensors", nullptr, &made);
             }},
            {"network_create_from_memory",
             [this](auto bad) {
               synfire_network made = nullptr;
               return synfire_network_create_from_memory(bad, &element, bytes, nullptr, &made);
             }},
            {"convert_spikes",
             [this](auto bad) {
               const auto desc = convert();
               return synfire_convert_spikes(bad, &desc, nullptr);
             }},
            {"count_spikes",
             [this](auto bad) {
               const auto desc = count();
               return synfire_count_spikes(bad, &desc, nullptr);
             }},
            {"encode_bernoulli",
             [this](auto bad) {
               const auto desc = encode();
               return synfire_encode_bernoulli(bad, &desc, nullptr);
             }},
            {"gather_rows",
             [this](auto bad) {
               const auto desc = gather();
               return synfire_gather_rows(bad, &desc, nullptr);
             }},
            {"replace_nonfinite",
             [this](auto bad) {
               const auto desc = replace_nonfinite();
               return synfire_replace_nonfinite(bad, &desc, nullptr);
             }},
            {"dropout",
             [this](auto bad) {
               const auto desc = dropout();
               return synfire_dropout(bad, &desc, nullptr);
             }},
            {"shuffle",
             [this](auto bad) {
               const auto desc = shuffle();
               return synfire_shuffle(bad, &desc, nullptr);
             }},
            {"reduce",
             [this](auto bad) {
               const auto desc = reduce();
               return synfire_reduce(bad, &desc, nullptr);
             }},
            {"reduce_backward",
             [this](auto bad) {
               const auto desc = reduce_backward();
               return synfire_reduce_backward(bad, &desc, nullptr);
             }},
            {"rate_loss",
             [this](auto bad) {
               const auto desc = rate_loss();
               return synfire_rate_loss(bad, &desc, nullptr);
             }},
            {"loss",
             [this](auto bad) {
               const auto desc = loss();
               return synfire_loss(bad, &desc, nullptr);
             }},
            {"scale_add", [this](auto bad) {
               const auto desc = scale_add();
               return synfire_scale_add(bad, &desc, nullptr);
             }}};
  }

  // A descriptor with the bad buffer in one field, passed to the eager call and to recording.
  template <typename Desc, typename Eager, typename Record>
  void add_field(Calls<synfire_buffer>& calls, Desc desc, synfire_buffer Desc::*field, Eager eager, Record record) {
    calls.emplace_back("a field, at once", [=](synfire_buffer bad) {
      Desc with_bad = desc;
      with_bad.*field = bad;
      return eager(&with_bad);
    });
    calls.emplace_back("a field, recorded", [=](synfire_buffer bad) {
      Desc with_bad = desc;
      with_bad.*field = bad;
      return record(&with_bad);
    });
  }

  // A descriptor with a list of one named buffer.
  template <typename Desc, typename Entry, typename Call>
  static void add_list(Calls<synfire_buffer>& calls, const Desc& desc, const Entry* Desc::*list, uint64_t Desc::*length,
                       const char* name, Call call) {
    calls.emplace_back("a list", [=](synfire_buffer bad) {
      const Entry entry = {name, bad};
      Desc with_bad = desc;
      with_bad.*list = &entry;
      with_bad.*length = 1;
      return call(&with_bad);
    });
  }
  void add_lists(Calls<synfire_buffer>& calls) {
    using Forward = synfire_forward_desc;
    using Backward = synfire_backward_desc;
    const synfire_layer layer = rig.layer;
    const synfire_graph recording = graph;
    const auto run = [=](const Forward* desc) { return synfire_layer_forward(layer, desc, nullptr); };
    const auto record = [=](const Forward* desc) { return synfire_graph_record_forward(recording, layer, desc); };
    const auto run_back = [=](const Backward* desc) { return synfire_layer_backward(layer, desc, nullptr); };
    const auto record_back = [=](const Backward* desc) {
      return synfire_graph_record_backward(recording, layer, desc);
    };
    for (const auto& [list, length] : {std::pair(&Forward::state_init, &Forward::n_state_init),
                                       std::pair(&Forward::state_final, &Forward::n_state_final),
                                       std::pair(&Forward::state_seq, &Forward::n_state_seq)}) {
      add_list(calls, forward, list, length, "w", run);
      add_list(calls, forward, list, length, "w", record);
    }
    for (const auto& [list, length] : {std::pair(&Backward::grad_state_seq, &Backward::n_grad_state_seq),
                                       std::pair(&Backward::grad_state_final, &Backward::n_grad_state_final),
                                       std::pair(&Backward::grad_state_init, &Backward::n_grad_state_init)}) {
      add_list(calls, backward, list, length, "w", run_back);
      add_list(calls, backward, list, length, "w", record_back);
    }
    const auto gradients = &Backward::parameter_gradients;
    add_list(calls, backward, gradients, &Backward::n_parameter_gradients, "tau", run_back);
    add_list(calls, backward, gradients, &Backward::n_parameter_gradients, "tau", record_back);
  }

  Calls<synfire_buffer> calls_of_buffers() {
    const synfire_layer layer = rig.layer;
    const synfire_graph recording = graph;
    const synfire_context owner = context;
    Calls<synfire_buffer> calls = {
        {"get_data", [](auto bad) { return synfire_buffer_get_data(bad, nullptr, nullptr); }},
        {"get_desc",
         [](auto bad) {
           synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
           return synfire_buffer_get_desc(bad, &desc);
         }},
        {"upload", [this](auto bad) { return synfire_buffer_upload(bad, 0, &element, bytes); }},
        {"download", [this](auto bad) { return synfire_buffer_download(bad, 0, &element, bytes); }},
        {"fill", [](auto bad) { return synfire_buffer_fill(bad, 1); }},
        {"mark_written", [](auto bad) { return synfire_buffer_mark_written(bad); }},
        {"the old one of a rebind", [this](auto bad) { return synfire_graph_rebind(graph, bad, rig.x); }},
        {"the new one of a rebind", [this](auto bad) { return synfire_graph_rebind(graph, rig.x, bad); }},
        {"get_slot", [this](auto bad) { return synfire_graph_get_slot(graph, 0, bad, &data, nullptr); }},
        {"record_fill",
         [this](auto bad) {
           const auto desc = fill(bad);
           return synfire_graph_record_fill(graph, &desc);
         }},
        {"record_update_parameter",
         [this](auto bad) {
           const auto desc = update(bad);
           return synfire_graph_record_update_parameter(graph, rig.layer, &desc);
         }},
        {"reads of a native node",
         [this](auto bad) {
           const auto desc = native(&bad, nullptr);
           return synfire_graph_record_native(graph, &desc);
         }},
        {"writes of a native node",
         [this](auto bad) {
           const auto desc = native(nullptr, &bad);
           return synfire_graph_record_native(graph, &desc);
         }},
        {"rows of the state to restore", [this](auto bad) {
           const auto desc = rows_in(bad);
           return synfire_layer_restore(rig.layer, &desc, &element, bytes);
         }}};
    using Rows = synfire_status (*)(synfire_layer, const synfire_state_desc*, synfire_stream);
    for (const Rows function : {synfire_layer_reset_rows, synfire_layer_read_rows, synfire_layer_write_rows})
      calls.emplace_back("rows of the state, at once", [this, function](synfire_buffer bad) {
        const auto desc = rows_in(bad);
        return function(rig.layer, &desc, nullptr);
      });
    using RecordRows = synfire_status (*)(synfire_graph, synfire_layer, const synfire_state_desc*);
    for (const RecordRows function :
         {synfire_graph_record_reset_rows, synfire_graph_record_read_rows, synfire_graph_record_write_rows,
          synfire_graph_record_snapshot, synfire_graph_record_restore})
      calls.emplace_back("rows of the state, recorded", [this, function](synfire_buffer bad) {
        const auto desc = rows_in(bad);
        return function(graph, rig.layer, &desc);
      });
    add_lists(calls);
    calls.emplace_back("snapshot", [this](synfire_buffer bad) {
      const auto desc = rows_in(bad);
      uint64_t size = 0;
      return synfire_layer_snapshot(rig.layer, &desc, nullptr, &size);
    });
    using Forward = synfire_forward_desc;
    for (const auto field : {&Forward::x, &Forward::spikes, &Forward::v_init, &Forward::v_final, &Forward::v_seq,
                             &Forward::h_seq, &Forward::w_init, &Forward::w_final, &Forward::w_seq, &Forward::n_active})
      add_field(
          calls, forward, field, [=](const auto* desc) { return synfire_layer_forward(layer, desc, nullptr); },
          [=](const auto* desc) { return synfire_graph_record_forward(recording, layer, desc); });
    using Backward = synfire_backward_desc;
    for (const auto field : {&Backward::grad_spike_seq, &Backward::grad_v_seq, &Backward::grad_v_final,
                             &Backward::grad_x_seq, &Backward::grad_v_init, &Backward::grad_w_seq,
                             &Backward::grad_w_final, &Backward::grad_w_init, &Backward::grad_synapse_input})
      add_field(
          calls, backward, field, [=](const auto* desc) { return synfire_layer_backward(layer, desc, nullptr); },
          [=](const auto* desc) { return synfire_graph_record_backward(recording, layer, desc); });
    for (const auto field : {&synfire_convert_spikes_desc::source, &synfire_convert_spikes_desc::destination})
      add_field(
          calls, convert(), field, [=](const auto* desc) { return synfire_convert_spikes(owner, desc, nullptr); },
          [=](const auto* desc) { return synfire_graph_record_convert_spikes(recording, desc); });
    for (const auto field : {&synfire_count_spikes_desc::spikes, &synfire_count_spikes_desc::counts})
      add_field(
          calls, count(), field, [=](const auto* desc) { return synfire_count_spikes(owner, desc, nullptr); },
          [=](const auto* desc) { return synfire_graph_record_count_spikes(recording, desc); });
    for (const auto field : {&synfire_encode_bernoulli_desc::rates, &synfire_encode_bernoulli_desc::spikes})
      add_field(
          calls, encode(), field, [=](const auto* desc) { return synfire_encode_bernoulli(owner, desc, nullptr); },
          [=](const auto* desc) { return synfire_graph_record_encode_bernoulli(recording, desc); });
    for (const auto field :
         {&synfire_gather_rows_desc::source, &synfire_gather_rows_desc::indices, &synfire_gather_rows_desc::n_active,
          &synfire_gather_rows_desc::destination, &synfire_gather_rows_desc::lengths})
      add_field(
          calls, gather(), field, [=](const auto* desc) { return synfire_gather_rows(owner, desc, nullptr); },
          [=](const auto* desc) { return synfire_graph_record_gather_rows(recording, desc); });
    for (const auto field : {&synfire_replace_nonfinite_desc::source, &synfire_replace_nonfinite_desc::count,
                             &synfire_replace_nonfinite_desc::destination})
      add_field(
          calls, replace_nonfinite(), field,
          [=](const auto* desc) { return synfire_replace_nonfinite(owner, desc, nullptr); },
          [=](const auto* desc) { return synfire_graph_record_replace_nonfinite(recording, desc); });
    for (const auto field : {&synfire_dropout_desc::mask, &synfire_dropout_desc::scale})
      add_field(
          calls, dropout(), field, [=](const auto* desc) { return synfire_dropout(owner, desc, nullptr); },
          [=](const auto* desc) { return synfire_graph_record_dropout(recording, desc); });
    for (const auto field : {&synfire_shuffle_desc::indices, &synfire_shuffle_desc::n_active})
      add_field(
          calls, shuffle(), field, [=](const auto* desc) { return synfire_shuffle(owner, desc, nullptr); },
          [=](const auto* desc) { return synfire_graph_record_shuffle(recording, desc); });
    for (const auto field : {&synfire_reduce_desc::source, &synfire_reduce_desc::destination,
                             &synfire_reduce_desc::lengths, &synfire_reduce_desc::n_active})
      add_field(
          calls, reduce(), field, [=](const auto* desc) { return synfire_reduce(owner, desc, nullptr); },
          [=](const auto* desc) { return synfire_graph_record_reduce(recording, desc); });
    for (const auto field : {&synfire_reduce_backward_desc::grad_destination, &synfire_reduce_backward_desc::source,
                             &synfire_reduce_backward_desc::lengths, &synfire_reduce_backward_desc::n_active,
                             &synfire_reduce_backward_desc::grad_source})
      add_field(
          calls, reduce_backward(), field,
          [=](const auto* desc) { return synfire_reduce_backward(owner, desc, nullptr); },
          [=](const auto* desc) { return synfire_graph_record_reduce_backward(recording, desc); });
    for (const auto field :
         {&synfire_rate_loss_desc::spikes, &synfire_rate_loss_desc::lengths, &synfire_rate_loss_desc::n_active,
          &synfire_rate_loss_desc::loss, &synfire_rate_loss_desc::grad_spike_seq})
      add_field(
          calls, rate_loss(), field, [=](const auto* desc) { return synfire_rate_loss(owner, desc, nullptr); },
          [=](const auto* desc) { return synfire_graph_record_rate_loss(recording, desc); });
    using Loss = synfire_loss_desc;
    for (const auto field : {&Loss::source, &Loss::labels, &Loss::targets, &Loss::lengths, &Loss::n_active,
                             &Loss::sample_weights, &Loss::class_weights, &Loss::loss, &Loss::losses, &Loss::n_correct,
                             &Loss::n_counted, &Loss::predictions, &Loss::gradient})
      add_field(
          calls, loss(), field, [=](const auto* desc) { return synfire_loss(owner, desc, nullptr); },
          [=](const auto* desc) { return synfire_graph_record_loss(recording, desc); });
    for (const auto field : {&synfire_scale_add_desc::source, &synfire_scale_add_desc::destination})
      add_field(
          calls, scale_add(), field, [=](const auto* desc) { return synfire_scale_add(owner, desc, nullptr); },
          [=](const auto* desc) { return synfire_graph_record_scale_add(recording, desc); });
    for (const auto field : {&synfire_copy_desc::source, &synfire_copy_desc::destination})
      add_field(
          calls, copy(), field, [=](const auto* desc) { return synfire_graph_record_copy(recording, desc); },
          [=](const auto* desc) { return synfire_graph_record_copy(recording, desc); });
    return calls;
  }

  Calls<synfire_layer> calls_of_layers() {
    return {{"set_parameter", [this](auto bad) { return synfire_layer_set_parameter(bad, "tau", &value, 1); }},
            {"set_parameters",
             [this](auto bad) {
               const synfire_parameter_values list = {"tau", &value, 1};
               return synfire_layer_set_parameters(bad, &list, 1);
             }},
            {"get_desc",
             [](auto bad) {
               synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
               return synfire_layer_get_desc(bad, &desc);
             }},
            {"source", [this](auto bad) { return synfire_layer_source(bad, nullptr, &bytes); }},
            {"set_n_active", [](auto bad) { return synfire_layer_set_n_active(bad, 1); }},
            {"get_parameter", [this](auto bad) { return synfire_layer_get_parameter(bad, "tau", &value, 1); }},
            {"get_parameter_info",
             [](auto bad) {
               synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
               return synfire_layer_get_parameter_info(bad, 0, &info);
             }},
            {"reset_state", [](auto bad) { return synfire_layer_reset_state(bad, nullptr); }},
            {"read_state", [this](auto bad) { return synfire_layer_read_state(bad, "v", &element, bytes); }},
            {"write_state", [this](auto bad) { return synfire_layer_write_state(bad, "v", &element, bytes); }},
            {"forward", [this](auto bad) { return synfire_layer_forward(bad, &forward, nullptr); }},
            {"backward", [this](auto bad) { return synfire_layer_backward(bad, &backward, nullptr); }},
            {"reset_rows", [this](auto bad) { return synfire_layer_reset_rows(bad, &rows, nullptr); }},
            {"read_rows", [this](auto bad) { return synfire_layer_read_rows(bad, &rows, nullptr); }},
            {"write_rows", [this](auto bad) { return synfire_layer_write_rows(bad, &rows, nullptr); }},
            {"copy_rows to it",
             [this](auto bad) {
               const auto desc = copy_rows(rig.layer);
               return synfire_layer_copy_rows(bad, &desc, nullptr);
             }},
            {"copy_rows from it",
             [this](auto bad) {
               const auto desc = copy_rows(bad);
               return synfire_layer_copy_rows(rig.layer, &desc, nullptr);
             }},
            {"snapshot", [this](auto bad) { return synfire_layer_snapshot(bad, nullptr, nullptr, &bytes); }},
            {"restore", [this](auto bad) { return synfire_layer_restore(bad, nullptr, &element, bytes); }},
            {"record_forward", [this](auto bad) { return synfire_graph_record_forward(graph, bad, &forward); }},
            {"record_backward", [this](auto bad) { return synfire_graph_record_backward(graph, bad, &backward); }},
            {"record_reset_rows", [this](auto bad) { return synfire_graph_record_reset_rows(graph, bad, &rows); }},
            {"record_read_rows", [this](auto bad) { return synfire_graph_record_read_rows(graph, bad, &rows); }},
            {"record_write_rows", [this](auto bad) { return synfire_graph_record_write_rows(graph, bad, &rows); }},
            {"record_snapshot", [this](auto bad) { return synfire_graph_record_snapshot(graph, bad, &rows); }},
            {"record_restore", [this](auto bad) { return synfire_graph_record_restore(graph, bad, &rows); }},
            {"record_copy_rows to it",
             [this](auto bad) {
               const auto desc = copy_rows(rig.layer);
               return synfire_graph_record_copy_rows(graph, bad, &desc);
             }},
            {"record_copy_rows from it",
             [this](auto bad) {
               const auto desc = copy_rows(bad);
               return synfire_graph_record_copy_rows(graph, rig.layer, &desc);
             }},
            {"record_update_parameter", [this](auto bad) {
               const auto desc = update(number);
               return synfire_graph_record_update_parameter(graph, bad, &desc);
             }}};
  }

  Calls<synfire_graph> calls_of_graphs() {
    return {{"record_forward", [this](auto bad) { return synfire_graph_record_forward(bad, rig.layer, &forward); }},
            {"record_backward", [this](auto bad) { return synfire_graph_record_backward(bad, rig.layer, &backward); }},
            {"record_copy",
             [this](auto bad) {
               const auto desc = copy();
               return synfire_graph_record_copy(bad, &desc);
             }},
            {"record_convert_spikes",
             [this](auto bad) {
               const auto desc = convert();
               return synfire_graph_record_convert_spikes(bad, &desc);
             }},
            {"record_count_spikes",
             [this](auto bad) {
               const auto desc = count();
               return synfire_graph_record_count_spikes(bad, &desc);
             }},
            {"record_encode_bernoulli",
             [this](auto bad) {
               const auto desc = encode();
               return synfire_graph_record_encode_bernoulli(bad, &desc);
             }},
            {"record_gather_rows",
             [this](auto bad) {
               const auto desc = gather();
               return synfire_graph_record_gather_rows(bad, &desc);
             }},
            {"record_replace_nonfinite",
             [this](auto bad) {
               const auto desc = replace_nonfinite();
               return synfire_graph_record_replace_nonfinite(bad, &desc);
             }},
            {"record_dropout",
             [this](auto bad) {
               const auto desc = dropout();
               return synfire_graph_record_dropout(bad, &desc);
             }},
            {"record_shuffle",
             [this](auto bad) {
               const auto desc = shuffle();
               return synfire_graph_record_shuffle(bad, &desc);
             }},
            {"record_reduce",
             [this](auto bad) {
               const auto desc = reduce();
               return synfire_graph_record_reduce(bad, &desc);
             }},
            {"record_reduce_backward",
             [this](auto bad) {
               const auto desc = reduce_backward();
               return synfire_graph_record_reduce_backward(bad, &desc);
             }},
            {"record_rate_loss",
             [this](auto bad) {
               const auto desc = rate_loss();
               return synfire_graph_record_rate_loss(bad, &desc);
             }},
            {"record_loss",
             [this](auto bad) {
               const auto desc = loss();
               return synfire_graph_record_loss(bad, &desc);
             }},
            {"record_scale_add",
             [this](auto bad) {
               const auto desc = scale_add();
               return synfire_graph_record_scale_add(bad, &desc);
             }},
            {"record_fill",
             [this](auto bad) {
               const auto desc = fill(rig.x);
               return synfire_graph_record_fill(bad, &desc);
             }},
            {"record_native",
             [this](auto bad) {
               const auto desc = native(nullptr, nullptr);
               return synfire_graph_record_native(bad, &desc);
             }},
            {"record_update_parameter",
             [this](auto bad) {
               const auto desc = update(number);
               return synfire_graph_record_update_parameter(bad, rig.layer, &desc);
             }},
            {"record_reset_rows", [this](auto bad) { return synfire_graph_record_reset_rows(bad, rig.layer, &rows); }},
            {"record_read_rows", [this](auto bad) { return synfire_graph_record_read_rows(bad, rig.layer, &rows); }},
            {"record_write_rows", [this](auto bad) { return synfire_graph_record_write_rows(bad, rig.layer, &rows); }},
            {"record_snapshot", [this](auto bad) { return synfire_graph_record_snapshot(bad, rig.layer, &rows); }},
            {"record_restore", [this](auto bad) { return synfire_graph_record_restore(bad, rig.layer, &rows); }},
            {"record_copy_rows",
             [this](auto bad) {
               const auto desc = copy_rows(rig.layer);
               return synfire_graph_record_copy_rows(bad, rig.layer, &desc);
             }},
            {"get_last_operation",
             [](auto bad) {
               int32_t operation = 0;
               return synfire_graph_get_last_operation(bad, &operation);
             }},
            {"instantiate", [](auto bad) { return synfire_graph_instantiate(bad); }},
            {"set_enabled", [](auto bad) { return synfire_graph_set_enabled(bad, 0, 0); }},
            {"rebind", [this](auto bad) { return synfire_graph_rebind(bad, rig.x, rig.spikes); }},
            {"set_value", [](auto bad) { return synfire_graph_set_value(bad, 0, "value", 1); }},
            {"launch", [](auto bad) { return synfire_graph_launch(bad, nullptr, nullptr); }},
            {"wait", [](auto bad) { return synfire_graph_wait(bad, 1, SYNFIRE_WAIT_SPIN, 0); }},
            {"poll", [](auto bad) { return synfire_graph_poll(bad, 1); }},
            {"get_slot", [this](auto bad) { return synfire_graph_get_slot(bad, 0, rig.x, &data, nullptr); }},
            {"write_dot", [this](auto bad) { return synfire_graph_write_dot(bad, nullptr, &bytes); }},
            {"get_statistics",
             [](auto bad) {
               synfire_graph_statistics statistics = SYNFIRE_GRAPH_STATISTICS_INIT;
               return synfire_graph_get_statistics(bad, &statistics);
             }},
            {"reset_statistics", [](auto bad) { return synfire_graph_reset_statistics(bad); }}};
  }

  // Handles of one type, forged from the objects of the other types.
  template <typename Handle>
  void expect_refused(Handle of_this_type, const std::vector<uintptr_t>& others, const Calls<Handle>& calls,
                      void (*destroy)(Handle)) {
    for (const uintptr_t other : others) {
      const Handle bad = forge(of_this_type, other);
      for (const auto& [what, call] : calls) {
        SCOPED_TRACE(testing::Message() << what << " with " << bad);
        EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("SYN-HANDLE-STALE"), call(bad));
        if (HasFailure()) return;
      }
      destroy(bad);
    }
  }
};

TEST_F(ForgedHandles, AreRefusedByEveryFunction) {
  const uintptr_t a_context = value_of(context), a_buffer = value_of(rig.x), a_layer = value_of(rig.layer),
                  a_graph = value_of(graph);
  expect_refused<synfire_context>(context, {a_buffer, a_layer, a_graph}, calls_of_contexts(),
                                  [](auto bad) { synfire_context_destroy(bad); });
  expect_refused<synfire_buffer>(rig.x, {a_context, a_layer, a_graph}, calls_of_buffers(),
                                 [](auto bad) { synfire_buffer_destroy(bad); });
  expect_refused<synfire_layer>(rig.layer, {a_context, a_buffer, a_graph}, calls_of_layers(),
                                [](auto bad) { synfire_layer_destroy(bad); });
  expect_refused<synfire_graph>(graph, {a_context, a_buffer, a_layer}, calls_of_graphs(),
                                [](auto bad) { synfire_graph_destroy(bad); });
  // There need be no model: a handle of that type names the slot of another object.
  synfire_load_info info = SYNFIRE_LOAD_INFO_INIT;
  synfire_check_report report = SYNFIRE_CHECK_REPORT_INIT;
  constexpr int tag_shift = 56;
  expect_refused<synfire_model>(as<synfire_model>(uintptr_t{0x59} << tag_shift),
                                {a_context, a_buffer, a_layer, a_graph},
                                {{"get_info", [&](auto bad) { return synfire_model_get_info(bad, &info); }},
                                 {"check", [&](auto bad) { return synfire_model_check(bad, 1, 1, &report); }}},
                                [](auto bad) { synfire_model_destroy(bad); });
  expect_refused<synfire_surrogate>(as<synfire_surrogate>(uintptr_t{0x5a} << tag_shift),
                                    {a_context, a_buffer, a_layer, a_graph},
                                    {{"get_info", [&](auto bad) { return synfire_surrogate_get_info(bad, &info); }},
                                     {"check", [&](auto bad) { return synfire_surrogate_check(bad, 1, 1, &report); }}},
                                    [](auto bad) { synfire_surrogate_destroy(bad); });
  EXPECT_OK(synfire_context_synchronize(context));
  expect_usable();  // nothing was destroyed
}

TEST_F(ForgedHandles, OfOptimizersAreRefused) {
  const synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
  synfire_optimizer optimizer = nullptr;
  ASSERT_OK(synfire_optimizer_create(context, &desc, &optimizer));
  synfire_synapse_desc of_synapse = SYNFIRE_SYNAPSE_DESC_INIT;
  of_synapse.n_inputs = of_synapse.n_outputs = 2;
  synfire_synapse synapse = nullptr;
  ASSERT_OK(synfire_synapse_create(context, &of_synapse, &synapse));
  const synfire_layer layer = rig.layer;
  const synfire_graph recording = graph;
  const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  const double unbounded = HUGE_VAL;
  const auto parameter = [&](synfire_optimizer to, synfire_layer of, synfire_buffer gradient) {
    return synfire_optimizer_add_parameter(to, of, "tau", gradient, 1, 0, -unbounded, unbounded);
  };
  const Calls<synfire_optimizer> calls = {
      {"add_weights", [&](auto bad) { return synfire_optimizer_add_weights(bad, synapse, 1, 1); }},
      {"add_bias", [&](auto bad) { return synfire_optimizer_add_bias(bad, synapse, 1, 0); }},
      {"add_array", [&](auto bad) { return synfire_optimizer_add_array(bad, synapse, "weight", 1, 0); }},
      {"add_parameter", [&](auto bad) { return parameter(bad, layer, number); }},
      {"query_memory",
       [](auto bad) {
         synfire_optimizer_memory memory = SYNFIRE_OPTIMIZER_MEMORY_INIT;
         return synfire_optimizer_query_memory(bad, &memory);
       }},
      {"read", [&](auto bad) { return synfire_optimizer_read(bad, -1, "step_count", &value, sizeof value); }},
      {"write", [&](auto bad) { return synfire_optimizer_write(bad, -1, "step_count", &value, sizeof value); }},
      {"step", [&](auto bad) { return synfire_optimizer_step(bad, &step, nullptr); }},
      {"record", [&](auto bad) { return synfire_graph_record_optimizer_step(recording, bad, &step); }}};
  const uintptr_t a_buffer = value_of(rig.x), a_layer = value_of(rig.layer),
                  a_synapse = reinterpret_cast<uintptr_t>(synapse);
  expect_refused<synfire_optimizer>(optimizer, {value_of(context), a_buffer, a_layer, value_of(graph), a_synapse},
                                    calls, [](auto bad) { synfire_optimizer_destroy(bad); });
  const uintptr_t an_optimizer = reinterpret_cast<uintptr_t>(optimizer);
  const auto expect_stale = [](synfire_status status) { EXPECT_EQ(status, SYNFIRE_ERROR_INVALID_HANDLE); };
  expect_stale(synfire_optimizer_add_weights(optimizer, forge(synapse, an_optimizer), 1, 1));
  expect_stale(synfire_optimizer_add_bias(optimizer, forge(synapse, a_buffer), 1, 1));
  expect_stale(synfire_optimizer_add_array(optimizer, forge(synapse, a_buffer), "weight", 1, 1));
  expect_stale(parameter(optimizer, forge(layer, an_optimizer), number));
  expect_stale(parameter(optimizer, layer, forge(number.get(), a_synapse)));
  expect_stale(synfire_graph_record_optimizer_step(forge(recording, an_optimizer), optimizer, &step));
  synfire_optimizer_destroy(optimizer);
  synfire_synapse_destroy(synapse);
  expect_usable();
}

TEST_F(ForgedHandles, OfSynapsesAreRefused) {
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  desc.n_inputs = desc.n_outputs = shape.n_neurons;
  synfire_synapse synapse = nullptr;
  ASSERT_OK(synfire_synapse_create(context, &desc, &synapse));
  const auto shaped = [](auto of) {
    of.n_steps = shape.n_steps;
    of.batch = shape.batch;
    return of;
  };
  auto product = shaped(synfire_synapse_forward_desc(SYNFIRE_SYNAPSE_FORWARD_DESC_INIT));
  product.input = rig.x;
  product.output = rig.spikes;
  product.n_active = words;
  auto gradients = shaped(synfire_synapse_backward_desc(SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT));
  gradients.grad_output = rig.x;
  gradients.input = rig.spikes;
  gradients.grad_input = rig.grad_x_seq;
  gradients.n_active = words;
  const synfire_layer layer = rig.layer;
  const synfire_graph recording = graph;
  const auto with_synapse = [&](synfire_synapse bad, synfire_buffer input) {
    synfire_forward_desc of = forward;
    of.x = nullptr;
    of.synapse = bad;
    of.synapse_input = input;
    return of;
  };
  std::vector<float> weights(static_cast<size_t>(shape.n_neurons * shape.n_neurons));
  const uint64_t size = weights.size() * sizeof(float);
  synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
  synfire_synapse_array_info array_info = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
  synfire_synapse_rounding rounding = SYNFIRE_SYNAPSE_ROUNDING_INIT;
  const Calls<synfire_synapse> calls = {
      {"read", [&](auto bad) { return synfire_synapse_read(bad, "weight", weights.data(), size); }},
      {"write", [&](auto bad) { return synfire_synapse_write(bad, "weight", weights.data(), size); }},
      {"get info", [&](auto bad) { return synfire_synapse_get_info(bad, &info); }},
      {"get array info", [&](auto bad) { return synfire_synapse_get_array_info(bad, 0, &array_info); }},
      {"get rounding", [&](auto bad) { return synfire_synapse_get_rounding(bad, -1, &rounding); }},
      {"forward", [&](auto bad) { return synfire_synapse_forward(bad, &product, nullptr); }},
      {"backward", [&](auto bad) { return synfire_synapse_backward(bad, &gradients, nullptr); }},
      {"record forward", [&](auto bad) { return synfire_graph_record_synapse_forward(recording, bad, &product); }},
      {"record backward", [&](auto bad) { return synfire_graph_record_synapse_backward(recording, bad, &gradients); }},
      {"of a layer",
       [&](auto bad) {
         const synfire_forward_desc of = with_synapse(bad, rig.x);
         return synfire_layer_forward(layer, &of, nullptr);
       }},
      {"of a recorded layer", [&](auto bad) {
         const synfire_forward_desc of = with_synapse(bad, rig.x);
         return synfire_graph_record_forward(recording, layer, &of);
       }}};
  const uintptr_t a_context = value_of(context), a_buffer = value_of(rig.x), a_layer = value_of(rig.layer),
                  a_synapse = reinterpret_cast<uintptr_t>(synapse);
  expect_refused<synfire_synapse>(synapse, {a_context, a_buffer, a_layer, value_of(graph)}, calls,
                                  [](auto bad) { synfire_synapse_destroy(bad); });
  // Each of their buffers.
  const auto expect_stale = [](synfire_status status) { EXPECT_EQ(status, SYNFIRE_ERROR_INVALID_HANDLE); };
  for (const auto member : {&synfire_synapse_forward_desc::input, &synfire_synapse_forward_desc::output,
                            &synfire_synapse_forward_desc::n_active, &synfire_synapse_forward_desc::input_mask,
                            &synfire_synapse_forward_desc::input_scale})
    for (const uintptr_t bad : {a_synapse, a_layer}) {
      synfire_synapse_forward_desc of = product;
      of.*member = forge(number.get(), bad);
      expect_stale(synfire_synapse_forward(synapse, &of, nullptr));
      expect_stale(synfire_graph_record_synapse_forward(recording, synapse, &of));
    }
  for (const auto member : {&synfire_synapse_backward_desc::grad_output, &synfire_synapse_backward_desc::input,
                            &synfire_synapse_backward_desc::grad_input, &synfire_synapse_backward_desc::n_active,
                            &synfire_synapse_backward_desc::input_mask, &synfire_synapse_backward_desc::input_scale})
    for (const uintptr_t bad : {a_synapse, a_context}) {
      synfire_synapse_backward_desc of = gradients;
      of.*member = forge(number.get(), bad);
      expect_stale(synfire_synapse_backward(synapse, &of, nullptr));
      expect_stale(synfire_graph_record_synapse_backward(recording, synapse, &of));
    }
  const synfire_forward_desc bad_input = with_synapse(synapse, forge(number.get(), a_synapse));
  expect_stale(synfire_layer_forward(layer, &bad_input, nullptr));
  expect_stale(synfire_graph_record_forward(recording, layer, &bad_input));
  expect_stale(synfire_graph_record_synapse_forward(forge(recording, a_synapse), synapse, &product));
  expect_stale(synfire_graph_record_synapse_backward(forge(recording, a_synapse), synapse, &gradients));
  synfire_synapse created = nullptr;
  expect_stale(synfire_synapse_create(forge(synfire_context(context), a_synapse), &desc, &created));
  synfire_one_to_one_desc one_to_one = SYNFIRE_ONE_TO_ONE_DESC_INIT;
  one_to_one.channels = shape.n_neurons;
  expect_stale(synfire_synapse_create_one_to_one(forge(synfire_context(context), a_synapse), &one_to_one, &created));
  synfire_synapse_destroy(synapse);
  expect_usable();
}

TEST_F(ForgedHandles, OfNetworksAreRefused) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 1;
  synfire_network network = nullptr;
  ASSERT_OK(synfire_network_create(context, &desc, &network));
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  synfire_network_memory memory = SYNFIRE_NETWORK_MEMORY_INIT;
  const uint8_t byte[1] = {1};
  synfire_synapse synapse = nullptr;
  synfire_layer layer = nullptr;
  synfire_buffer buffer = nullptr;
  synfire_graph of_network = nullptr;
  synfire_optimizer optimizer = nullptr;
  const auto set_data = [&](synfire_network of, synfire_buffer inputs, synfire_buffer labels) {
    return synfire_network_set_data(of, SYNFIRE_DATA_TRAINING, 1, inputs, labels, nullptr, nullptr, nullptr);
  };
  const Calls<synfire_network> calls = {
      {"add_input", [](auto bad) { return synfire_network_add_input(bad, "a", SYNFIRE_NETWORK_INPUT_RATES, 1); }},
      {"add_dropout", [](auto bad) { return synfire_network_add_dropout(bad, "a", 0.5); }},
      {"add_synapse", [](auto bad) { return synfire_network_add_synapse(bad, "a", 1); }},
      {"add_neurons", [](auto bad) { return synfire_network_add_neurons(bad, "a", SYNFIRE_MODEL_LIF); }},
      {"add_readout", [](auto bad) { return synfire_network_add_readout(bad, "a", SYNFIRE_READOUT_SUM, 0); }},
      {"add_loss", [](auto bad) { return synfire_network_add_loss(bad, "a", SYNFIRE_LOSS_CROSS_ENTROPY); }},
      {"add_optimizer",
       [](auto bad) { return synfire_network_add_optimizer(bad, "a", SYNFIRE_OPTIMIZER_KIND_ADAM, 0); }},
      {"set_value", [](auto bad) { return synfire_network_set_value(bad, "a", "seed", 1); }},
      {"get_value", [&](auto bad) { return synfire_network_get_value(bad, "a", "seed", &value); }},
      {"train_parameter", [](auto bad) { return synfire_network_train_parameter(bad, "a", "tau", 0, 1, 0, 1, 2); }},
      {"set_mask", [&](auto bad) { return synfire_network_set_mask(bad, "a", byte, 1); }},
      {"set_class_weights", [&](auto bad) { return synfire_network_set_class_weights(bad, "a", &element, 1); }},
      {"query_memory", [&](auto bad) { return synfire_network_query_memory(bad, &memory); }},
      {"write_summary", [&](auto bad) { return synfire_network_write_summary(bad, nullptr, &bytes); }},
      {"write_dot", [&](auto bad) { return synfire_network_write_dot(bad, nullptr, &bytes); }},
      {"build", [](auto bad) { return synfire_network_build(bad); }},
      {"set_data", [&](auto bad) { return set_data(bad, rig.x, rig.x); }},
      {"train", [&](auto bad) { return synfire_network_train(bad, 0, &result); }},
      {"evaluate", [&](auto bad) { return synfire_network_evaluate(bad, &result); }},
      {"infer", [this](auto bad) { return synfire_network_infer(bad, rig.x, 1, rig.x); }},
      {"reset_state", [](auto bad) { return synfire_network_reset_state(bad); }},
      {"save", [](auto bad) { return synfire_network_save(bad, "nowhere.safetensors"); }},
      {"save_to_memory", [&](auto bad) { return synfire_network_save_to_memory(bad, nullptr, &bytes); }},
      {"load", [](auto bad) { return synfire_network_load(bad, "nowhere.safetensors"); }},
      {"load_from_memory", [&](auto bad) { return synfire_network_load_from_memory(bad, byte, 1); }},
      {"get_synapse", [&](auto bad) { return synfire_network_get_synapse(bad, "a", &synapse); }},
      {"get_layer", [&](auto bad) { return synfire_network_get_layer(bad, "a", &layer); }},
      {"get_optimizer", [&](auto bad) { return synfire_network_get_optimizer(bad, "a", &optimizer); }},
      {"get_graph", [&](auto bad) { return synfire_network_get_graph(bad, 0, &of_network); }},
      {"get_buffer", [&](auto bad) { return synfire_network_get_buffer(bad, "input", &buffer); }}};
  expect_refused<synfire_network>(network, {value_of(context), value_of(rig.x), value_of(rig.layer), value_of(graph)},
                                  calls, [](auto bad) { synfire_network_destroy(bad); });

  // A built network refuses forged buffers.
  ASSERT_OK(synfire_network_add_input(network, "a", SYNFIRE_NETWORK_INPUT_RATES, 1));
  ASSERT_OK(synfire_network_add_synapse(network, "b", 1));
  ASSERT_OK(synfire_network_add_neurons(network, "c", SYNFIRE_MODEL_LIF));
  ASSERT_OK(synfire_network_add_readout(network, "d", SYNFIRE_READOUT_SUM, 0));
  ASSERT_OK(synfire_network_add_loss(network, "e", SYNFIRE_LOSS_CROSS_ENTROPY));
  ASSERT_OK(synfire_network_add_optimizer(network, "f", SYNFIRE_OPTIMIZER_KIND_ADAM, 0));
  ASSERT_OK(synfire_network_build(network));
  const synfire_buffer forgery = forge(rig.x.get(), reinterpret_cast<uintptr_t>(network));
  const Buffer one = make_buffer(context, SYNFIRE_DTYPE_F32, 1), label = make_buffer(context, SYNFIRE_DTYPE_U32, 1);
  for (const synfire_status status :
       {set_data(network, forgery, label), set_data(network, one, forgery),
        synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 1, one, nullptr, forgery, nullptr, nullptr),
        synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 1, one, label, nullptr, forgery, nullptr),
        synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 1, one, label, nullptr, nullptr, forgery),
        synfire_network_infer(network, forgery, 1, one), synfire_network_infer(network, one, 1, forgery)})
    EXPECT_EQ(status, SYNFIRE_ERROR_INVALID_HANDLE);
  EXPECT_OK(set_data(network, one, label));
  synfire_network_destroy(network);
  expect_usable();
}

// Slots get other objects, and objects of other types, while forged handles are looked up.
TEST_F(ForgedHandles, AreRefusedWhileTheirSlotChangesHands) {
  std::atomic<uintptr_t> newest{value_of(rig.x)};
  std::atomic<bool> stop{false};
  std::atomic<int> taken{0};
  const synfire_layer layer = rig.layer;
  const synfire_graph some_graph = graph;
  std::thread user([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      const uintptr_t now = newest.load(std::memory_order_relaxed);
      if (synfire_layer_set_n_active(forged(layer, now), 1) != SYNFIRE_ERROR_INVALID_HANDLE) taken.fetch_add(1);
      if (synfire_graph_poll(forged(some_graph, now), 1) != SYNFIRE_ERROR_INVALID_HANDLE) taken.fetch_add(1);
      synfire_layer_destroy(forged(layer, now));
    }
  });
  for (int i = 0; i < 2000; ++i) {
    const Buffer buffer = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
    newest.store(value_of(buffer), std::memory_order_relaxed);
    EXPECT_OK(synfire_buffer_fill(buffer, 1));
    const Context other = make_context();
    newest.store(value_of(other), std::memory_order_relaxed);
    EXPECT_OK(synfire_context_synchronize(other));
  }
  stop.store(true);
  user.join();
  EXPECT_EQ(taken.load(), 0);
  expect_usable();
}

}  // namespace
}  // namespace synfire_test
