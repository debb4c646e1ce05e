// Every rule that the library enforces on either backend, broken once: checks the status and the id at the start of
// the text. One row for each way to break a rule. Rules that only CUDA can enforce are in tests/fault/rules_test.cpp;
// the words of the texts are tested in the other files of this folder.
#include <span>

#include "../recording_support.hpp"
#include "errors.hpp"

namespace synfire_test {
namespace {

constexpr synfire_status argument = SYNFIRE_ERROR_INVALID_ARGUMENT, handle = SYNFIRE_ERROR_INVALID_HANDLE,
                         size = SYNFIRE_ERROR_STRUCT_SIZE, memory = SYNFIRE_ERROR_OUT_OF_MEMORY,
                         order = SYNFIRE_ERROR_WRONG_ORDER, stale = SYNFIRE_ERROR_STALE_TAPE,
                         unsupported = SYNFIRE_ERROR_UNSUPPORTED;

// The objects that a row uses to break a rule: one of each kind, fresh for every row.
class World {
 public:
  Context context = make_context();
  Rig<float> rig{context, describe(shape, SYNFIRE_DTYPE_F32)};
  Graph graph = make_graph(context);

  World() { rig.load(random_inputs<float>(shape, 1)); }

  synfire_layer layer() const { return rig.layer; }
  Buffer make(int32_t dtype, uint64_t n_elements) const { return make_buffer(context, dtype, n_elements); }
  Layer layer_of(int32_t model, int32_t dtype = SYNFIRE_DTYPE_F32) const {
    synfire_layer_desc desc = describe(shape, dtype);
    desc.model = model;
    return make_layer(context, desc);
  }
  // The calls that most rows make, with a description modified by the row.
  template <typename Change>
  synfire_status create_context(Change change) const {
    synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
    desc.backend = backend();
    change(desc);
    synfire_context made = nullptr;
    const synfire_status status = synfire_context_create(&desc, &made);
    synfire_context_destroy(made);
    return status;
  }
  template <typename Change>
  synfire_status create_buffer(Change change) const {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.n_elements = 4;
    change(desc);
    synfire_buffer made = nullptr;
    const synfire_status status = synfire_buffer_create(context, &desc, &made);
    synfire_buffer_destroy(made);
    return status;
  }
  template <typename Change>
  synfire_status create_layer(Change change) const {
    synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
    change(desc);
    synfire_layer made = nullptr;
    const synfire_status status = synfire_layer_create(context, &desc, &made);
    synfire_layer_destroy(made);
    return status;
  }
  template <typename Change>
  synfire_status forward(Change change, synfire_layer of = nullptr) const {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = rig.x;
    change(desc);
    return synfire_layer_forward(of ? of : layer(), &desc, nullptr);
  }
  template <typename Change>
  synfire_status backward(Change change, synfire_layer of = nullptr) const {
    synfire_backward_desc desc = rig.backward_desc();
    change(desc);
    return synfire_layer_backward(of ? of : layer(), &desc, nullptr);
  }
  // A gradient of one parameter, after a forward.
  synfire_status gradient(const char* name, uint64_t n_elements, int32_t in_place = 0) const {
    const synfire_status before = forward([&](auto& desc) {
      desc.tape = SYNFIRE_TAPE_STORE;
      desc.in_place = in_place;
    });
    if (before != SYNFIRE_OK) return before;
    const Buffer buffer = make(SYNFIRE_DTYPE_F32, n_elements);
    const synfire_parameter_gradient asked = {name, buffer};
    return backward([&](auto& desc) {
      desc.parameter_gradients = &asked;
      desc.n_parameter_gradients = 1;
    });
  }
  template <typename Change>
  synfire_status update(Change change) const {
    const Buffer one = make(SYNFIRE_DTYPE_F32, 1);
    synfire_update_parameter_desc desc = update_desc("tau", one, 1);
    change(desc);
    return synfire_graph_record_update_parameter(graph, layer(), &desc);
  }
  synfire_status set(const char* name, const std::vector<double>& values) const {
    return synfire_layer_set_parameter(layer(), name, values.data(), values.size());
  }
  synfire_status rows(int64_t first, int64_t count, const char* name = nullptr) const {
    const synfire_state_desc desc = rows_desc(first, count, rig.v_final, name);
    return synfire_layer_read_rows(layer(), &desc, nullptr);
  }
  synfire_status scale_add(synfire_buffer source, synfire_buffer destination, double scale = 1) const {
    const synfire_scale_add_desc desc = scale_add_desc(source, destination, scale, 1);
    return synfire_scale_add(context, &desc, nullptr);
  }
  template <typename Change>
  synfire_status count(Change change) const {
    const Buffer counts = make(SYNFIRE_DTYPE_U32, 4096);
    synfire_count_spikes_desc desc = SYNFIRE_COUNT_SPIKES_DESC_INIT;
    desc.n_steps = desc.n_neurons = 1;
    desc.spikes = rig.spikes;
    desc.counts = counts;
    change(desc);
    return synfire_count_spikes(context, &desc, nullptr);
  }
  template <typename Change>
  synfire_status encode(Change change) const {
    synfire_encode_bernoulli_desc desc = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
    desc.n_steps = desc.n_neurons = 1;
    desc.rates = rig.x;
    desc.spikes = rig.spikes;
    change(desc);
    return synfire_encode_bernoulli(context, &desc, nullptr);
  }
  template <typename Change>
  synfire_status gather(Change change) const {
    const Buffer indices = make(SYNFIRE_DTYPE_U32, 1);
    synfire_gather_rows_desc desc = SYNFIRE_GATHER_ROWS_DESC_INIT;
    desc.n_rows = desc.n_elements = 1;
    desc.source = rig.x;
    desc.indices = indices;
    desc.destination = rig.spikes;
    change(desc);
    return synfire_gather_rows(context, &desc, nullptr);
  }
  template <typename Change>
  synfire_status dropout(Change change) const {
    const Buffer mask = make(SYNFIRE_DTYPE_BITS, 1), scale = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
    synfire_dropout_desc desc = SYNFIRE_DROPOUT_DESC_INIT;
    desc.n_neurons = 1;
    desc.mask = mask;
    desc.scale = scale;
    change(desc);
    return synfire_dropout(context, &desc, nullptr);
  }
  template <typename Change>
  synfire_status shuffle(Change change) const {
    const Buffer indices = make(SYNFIRE_DTYPE_U32, 1);
    synfire_shuffle_desc desc = SYNFIRE_SHUFFLE_DESC_INIT;
    desc.n_rows = 1;
    desc.indices = indices;
    change(desc);
    return synfire_shuffle(context, &desc, nullptr);
  }
  template <typename Change>
  synfire_status reduce(Change change) const {
    synfire_reduce_desc desc = SYNFIRE_REDUCE_DESC_INIT;
    desc.n_steps = desc.n_neurons = 1;
    desc.source = rig.x;
    desc.destination = rig.v_final;
    change(desc);
    return synfire_reduce(context, &desc, nullptr);
  }
  template <typename Change>
  synfire_status reduce_backward(Change change) const {
    synfire_reduce_backward_desc desc = SYNFIRE_REDUCE_BACKWARD_DESC_INIT;
    desc.n_steps = desc.n_neurons = 1;
    desc.grad_destination = rig.v_final;
    desc.grad_source = rig.grad_spike_seq;
    change(desc);
    return synfire_reduce_backward(context, &desc, nullptr);
  }
  template <typename Change>
  synfire_status rate_loss(Change change) const {
    synfire_rate_loss_desc desc = SYNFIRE_RATE_LOSS_DESC_INIT;
    desc.n_steps = desc.n_neurons = 1;
    desc.spikes = rig.spikes;
    desc.grad_spike_seq = rig.grad_spike_seq;
    change(desc);
    return synfire_rate_loss(context, &desc, nullptr);
  }
  template <typename Change>
  synfire_status loss(Change change) const {
    const Buffer labels = make(SYNFIRE_DTYPE_U32, 1), loss = make(SYNFIRE_DTYPE_F32, 1);
    synfire_loss_desc desc = SYNFIRE_LOSS_DESC_INIT;
    desc.n_classes = 1;
    desc.source = rig.x;
    desc.labels = labels;
    desc.loss = loss;
    change(desc);
    return synfire_loss(context, &desc, nullptr);
  }
  std::vector<uint8_t> snapshot() const {
    uint64_t bytes = 0;
    EXPECT_OK(synfire_layer_snapshot(layer(), nullptr, nullptr, &bytes));
    std::vector<uint8_t> data(bytes);
    EXPECT_OK(synfire_layer_snapshot(layer(), nullptr, data.data(), &bytes));
    return data;
  }
  synfire_status restore(const std::vector<uint8_t>& data) const {
    return synfire_layer_restore(layer(), nullptr, data.data(), data.size());
  }
  // A graph of a forward, optionally with a backward, that has been launched.
  void record_forward(int32_t tape = SYNFIRE_TAPE_RECOMPUTE) const {
    const synfire_forward_desc desc = rig.forward_desc({.tape = tape});
    EXPECT_OK(synfire_graph_record_forward(graph, layer(), &desc));
  }
  synfire_status record_backward() const {
    const synfire_backward_desc desc = rig.backward_desc();
    return synfire_graph_record_backward(graph, layer(), &desc);
  }
  void instantiate() const { EXPECT_OK(synfire_graph_instantiate(graph)); }
  synfire_status launch() const { return synfire_graph_launch(graph, nullptr, nullptr); }
  // A graph that copies one pinned buffer to another.
  std::pair<Buffer, Buffer> record_frames(uint32_t n_slots) {
    std::pair<Buffer, Buffer> frames = {make_frame(context, 4), make_frame(context, 4)};
    graph = make_slotted_graph(context, n_slots);
    record_copy(graph, frames.first, frames.second);
    instantiate();
    return frames;
  }
  synfire_status slot(uint64_t ticket, synfire_buffer buffer) const {
    void* data = nullptr;
    return synfire_graph_get_slot(graph, ticket, buffer, &data, nullptr);
  }
};

struct Rule {
  const char* id;
  synfire_status status;
  synfire_status (*broken)(World&);
};

const Rule of_every_call[] = {
    {"SYN-ARGUMENT-NULL", argument, [](World& w) { return synfire_buffer_upload(w.rig.x, 0, nullptr, 4); }},
    {"SYN-HANDLE-NULL", handle, [](World&) { return synfire_buffer_fill(nullptr, 0); }},
    {"SYN-HANDLE-STALE", handle,
     [](World& w) {
       const synfire_buffer gone = w.rig.x.get();
       w.rig.x.reset();
       return synfire_buffer_fill(gone, 0);
     }},
    {"SYN-HANDLE-FOREIGN", handle,
     [](World& w) {
       const Context elsewhere = make_context();
       const Buffer foreign = make_buffer(elsewhere, SYNFIRE_DTYPE_F32, 4096);
       return w.forward([&](auto& desc) { desc.x = foreign; });
     }},
    {"SYN-STRUCT-SMALL", size, [](World& w) { return w.forward([](auto& desc) { desc.struct_size = 8; }); }},
    {"SYN-STRUCT-SIZE", size, [](World& w) { return w.forward([](auto& desc) { desc.struct_size = 4097; }); }},
    {"SYN-STRUCT-NEW", size,
     [](World& w) {
       struct {
         synfire_context_desc known;
         uint64_t later[4];
       } desc = {SYNFIRE_CONTEXT_DESC_INIT, {0, 0, 0, 1}};
       desc.known.struct_size = sizeof desc;
       synfire_context made = nullptr;
       (void)w;
       return synfire_context_create(&desc.known, &made);
     }},
    {"SYN-RESERVED", argument, [](World& w) { return w.forward([](auto& desc) { desc.reserved = 1; }); }},
};

const Rule of_contexts[] = {
    {"SYN-CONTEXT-BACKEND", argument, [](World& w) { return w.create_context([](auto& desc) { desc.backend = 3; }); }},
    {"SYN-CONTEXT-DEVICE", argument, [](World& w) { return w.create_context([](auto& desc) { desc.device = -1; }); }},
    {"SYN-CONTEXT-DEVICE", argument,
     [](World& w) {
       return w.create_context([](auto& desc) {
         desc.backend = SYNFIRE_BACKEND_HOST;
         desc.device = 1;
       });
     }},
    {"SYN-CONTEXT-THREADS", argument,
     [](World& w) {
       return w.create_context([](auto& desc) {
         desc.backend = SYNFIRE_BACKEND_HOST;
         desc.n_threads = -1;
       });
     }},
    {"SYN-STREAM-HOST", argument,
     [](World&) {
       const Context host = make_context_on(SYNFIRE_BACKEND_HOST);
       const Layer layer = make_layer(host, describe(shape, SYNFIRE_DTYPE_F32));
       return synfire_layer_reset_state(layer, reinterpret_cast<synfire_stream>(uintptr_t{1}));
     }},
};

const Rule of_buffers[] = {
    {"SYN-BUFFER-MEMORY", argument, [](World& w) { return w.create_buffer([](auto& desc) { desc.memory = 4; }); }},
    {"SYN-BUFFER-DTYPE", argument, [](World& w) { return w.create_buffer([](auto& desc) { desc.dtype = 9; }); }},
    {"SYN-BUFFER-EMPTY", argument, [](World& w) { return w.create_buffer([](auto& desc) { desc.n_elements = 0; }); }},
    {"SYN-BUFFER-OVERFLOW", memory,
     [](World& w) { return w.create_buffer([](auto& desc) { desc.n_elements = ~uint64_t{0}; }); }},
    {"SYN-BUFFER-PITCH", argument,
     [](World& w) { return w.create_buffer([](auto& desc) { desc.row_pitch = uint64_t{1} << 62; }); }},
    {"SYN-BUFFER-PITCH", argument,
     [](World& w) {
       synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
       desc.n_elements = 4096;
       desc.row_pitch = 3;
       synfire_buffer made = nullptr;
       EXPECT_OK(synfire_buffer_create(w.context, &desc, &made));
       const Buffer narrow(made);
       return w.forward([&](auto& forward) { forward.x = narrow; });
     }},
    {"SYN-BUFFER-SHAPE", argument, [](World& w) { return w.create_buffer([](auto& desc) { desc.shape[1] = 5; }); }},
    {"SYN-BUFFER-ALIGNMENT", argument,
     [](World& w) {
       void* data = nullptr;
       EXPECT_OK(synfire_buffer_get_data(w.rig.x, &data, nullptr));
       return w.create_buffer([&](auto& desc) { desc.data = static_cast<char*>(data) + 1; });
     }},
    {"SYN-BUFFER-RANGE", argument,
     [](World& w) {
       const float value = 0;
       return synfire_buffer_upload(w.rig.x, ~uint64_t{0}, &value, sizeof value);
     }},
    {"SYN-BUFFER-FILL", argument, [](World& w) { return synfire_buffer_fill(w.rig.spike_bits, 0.5); }},
    {"SYN-BUFFER-SIZE", argument, [](World& w) { return w.forward([&](auto& desc) { desc.x = w.rig.v_final; }); }},
    {"SYN-BUFFER-TYPE", argument,
     [](World& w) {
       const Buffer words = w.make(SYNFIRE_DTYPE_U32, 4096);
       return w.forward([&](auto& desc) { desc.x = words; });
     }},
    {"SYN-BUFFER-OVERLAP", argument, [](World& w) { return w.forward([&](auto& desc) { desc.v_seq = w.rig.x; }); }},
    {"SYN-SCALE-ADD-TYPE", argument,
     [](World& w) { return w.scale_add(w.rig.x, w.make(SYNFIRE_DTYPE_F64, shape.sequence())); }},
    {"SYN-SCALE-ADD-SIZE", argument, [](World& w) { return w.scale_add(w.rig.x, w.rig.v_final); }},
    {"SYN-SCALAR-RANGE", argument, [](World& w) { return w.scale_add(w.rig.x, w.rig.v_seq, nan); }},
    {"SYN-SCALAR-RANGE", argument,
     [](World& w) { return w.update([](auto& desc) { desc.learning_rate = infinity; }); }},
    {"SYN-COPY-RANGE", argument,
     [](World& w) {
       synfire_copy_desc desc = SYNFIRE_COPY_DESC_INIT;
       desc.source = w.rig.x;
       desc.destination = w.rig.v_final;
       return synfire_graph_record_copy(w.graph, &desc);
     }},
    {"SYN-MEMORY-HOST", memory,
     [](World& w) {
       return w.create_buffer([](auto& desc) {
         desc.memory = SYNFIRE_MEMORY_HOST;
         desc.n_elements = uint64_t{1} << 57;
       });
     }},
};

const Rule of_layers[] = {
    {"SYN-MODEL-NAME", argument,
     [](World&) {
       int32_t id = 0;
       return synfire_model_id("nonsense", &id);
     }},
    {"SYN-SURROGATE-NAME", argument,
     [](World&) {
       int32_t id = 0;
       return synfire_surrogate_id("nonsense", &id);
     }},
    {"SYN-LAYER-MODEL", argument, [](World& w) { return w.create_layer([](auto& desc) { desc.model = 999; }); }},
    {"SYN-LAYER-SURROGATE", argument,
     [](World& w) { return w.create_layer([](auto& desc) { desc.surrogate = 999; }); }},
    {"SYN-LAYER-STEPS", argument, [](World& w) { return w.create_layer([](auto& desc) { desc.n_steps = 0; }); }},
    {"SYN-LAYER-NEURONS", argument, [](World& w) { return w.create_layer([](auto& desc) { desc.n_neurons = 0; }); }},
    {"SYN-LAYER-BATCH", argument, [](World& w) { return w.create_layer([](auto& desc) { desc.batch = -1; }); }},
    {"SYN-LAYER-DTYPE", argument,
     [](World& w) { return w.create_layer([](auto& desc) { desc.dtype = SYNFIRE_DTYPE_U8; }); }},
    {"SYN-LAYER-RESET", argument, [](World& w) { return w.create_layer([](auto& desc) { desc.reset = 3; }); }},
    {"SYN-LAYER-REFRACTORY", argument,
     [](World& w) { return w.create_layer([](auto& desc) { desc.refractory_steps = -1; }); }},
    {"SYN-LAYER-FLAG", argument, [](World& w) { return w.create_layer([](auto& desc) { desc.detach_reset = 2; }); }},
    {"SYN-LAYER-INPUT-DECAY", argument,
     [](World& w) {
       return w.create_layer([](auto& desc) {
         desc.model = SYNFIRE_MODEL_IF;
         desc.undecayed_input = 1;
       });
     }},
    {"SYN-LAYER-THREADS", argument,
     [](World& w) { return w.create_layer([](auto& desc) { desc.threads_per_block = 33; }); }},
    {"SYN-LAYER-OVERFLOW", memory,
     [](World& w) { return w.create_layer([](auto& desc) { desc.n_neurons = int64_t{1} << 60; }); }},
    {"SYN-LAYER-ACTIVE", argument, [](World& w) { return synfire_layer_set_n_active(w.layer(), shape.batch + 1); }},
    {"SYN-PARAMETER-NAME", argument, [](World& w) { return w.set("nonsense", {1}); }},
    {"SYN-PARAMETER-INDEX", argument,
     [](World& w) {
       synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
       return synfire_layer_get_parameter_info(w.layer(), 1000, &info);
     }},
    {"SYN-PARAMETER-COUNT", argument,
     [](World& w) {
       return w.set("tau", {2, 3});
     }},
    {"SYN-PARAMETER-RANGE", argument, [](World& w) { return w.set("tau", {-1}); }},
    {"SYN-PARAMETER-OVERFLOW", argument, [](World& w) { return w.set("tau", {1e-300}); }},
    {"SYN-PARAMETER-LIST", argument,
     [](World& w) {
       const synfire_parameter_values none = {};
       return synfire_layer_set_parameters(w.layer(), &none, 0);
     }},
    {"SYN-PARAMETER-TWICE", argument,
     [](World& w) {
       const double value = 2;
       const synfire_parameter_values list[] = {{"tau", &value, 1}, {"tau", &value, 1}};
       return synfire_layer_set_parameters(w.layer(), list, 2);
     }},
    {"SYN-UPDATE-BOUNDS", argument, [](World& w) { return w.update([](auto& desc) { desc.bounds = 4; }); }},
    {"SYN-UPDATE-BOUNDS", argument,
     [](World& w) {
       return w.update([](auto& desc) {
         desc.bounds = SYNFIRE_BOUND_UPPER;
         desc.upper = -1;
       });
     }},
    {"SYN-UPDATE-LENGTH", argument,
     [](World& w) { return w.update([&](auto& desc) { desc.gradient = w.rig.v_final; }); }},
    {"SYN-UPDATE-LENGTH", argument,
     [](World& w) {
       EXPECT_OK(w.update([](auto&) {}));
       return w.set("tau", std::vector<double>(static_cast<size_t>(shape.n_neurons), 2));
     }},
    {"SYN-STATE-NAME", argument, [](World& w) { return w.rows(0, 0, "w"); }},
    {"SYN-STATE-SIZE", argument,
     [](World& w) {
       float value = 0;
       return synfire_layer_read_state(w.layer(), "v", &value, sizeof value);
     }},
    {"SYN-STATE-ROWS", argument, [](World& w) { return w.rows(shape.batch, 0); }},
    {"SYN-STATE-LAYOUT", argument,
     [](World& w) {
       const Layer other = w.layer_of(SYNFIRE_MODEL_IF);
       synfire_copy_rows_desc desc = SYNFIRE_COPY_ROWS_DESC_INIT;
       desc.source = other;
       return synfire_layer_copy_rows(w.layer(), &desc, nullptr);
     }},
    {"SYN-STATE-BUFFER", argument,
     [](World& w) {
       const synfire_state_desc desc = rows_desc(0, 0, w.rig.x);
       uint64_t bytes = 0;
       return synfire_layer_snapshot(w.layer(), &desc, nullptr, &bytes);
     }},
    {"SYN-SNAPSHOT-SIZE", argument,
     [](World& w) {
       uint8_t data[8];
       uint64_t bytes = sizeof data;
       return synfire_layer_snapshot(w.layer(), nullptr, data, &bytes);
     }},
    {"SYN-SNAPSHOT-FOREIGN", argument, [](World& w) { return w.restore(std::vector<uint8_t>(4096, 7)); }},
    {"SYN-SNAPSHOT-LAYOUT", argument,
     [](World& w) {
       const std::vector<uint8_t> data = w.snapshot();
       return synfire_layer_restore(w.layer_of(SYNFIRE_MODEL_IF), nullptr, data.data(), data.size());
     }},
    {"SYN-SNAPSHOT-DAMAGED", argument,
     [](World& w) {
       std::vector<uint8_t> data = w.snapshot();
       data.back() ^= 1;
       return w.restore(data);
     }},
    {"SYN-SNAPSHOT-DAMAGED", argument,
     [](World& w) {
       std::vector<uint8_t> data = w.snapshot();
       data.pop_back();
       return w.restore(data);
     }},
    {"SYN-SNAPSHOT-DAMAGED", argument, [](World& w) { return w.restore(std::vector<uint8_t>(8, 0)); }},
};

const Rule of_passes[] = {
    {"SYN-FORWARD-INIT", argument,
     [](World& w) {
       return w.forward([&](auto& desc) { desc.v_init = w.rig.v_init; }, w.layer_of(SYNFIRE_MODEL_IZHIKEVICH));
     }},
    {"SYN-LAYER-NO-W", argument, [](World& w) { return w.forward([&](auto& desc) { desc.w_seq = w.rig.v_seq; }); }},
    {"SYN-LAYER-NO-SPIKES", argument,
     [](World& w) { return w.forward([&](auto& desc) { desc.spikes = w.rig.spikes; }, w.layer_of(SYNFIRE_MODEL_LI)); }},
    {"SYN-FORWARD-TAPE", argument, [](World& w) { return w.forward([](auto& desc) { desc.tape = 4; }); }},
    {"SYN-FORWARD-IN-PLACE", argument, [](World& w) { return w.forward([](auto& desc) { desc.in_place = 1; }); }},
    {"SYN-IN-PLACE", argument, [](World& w) { return w.forward([](auto& desc) { desc.in_place = 2; }); }},
    {"SYN-IN-PLACE", argument,
     [](World& w) {
       EXPECT_OK(w.rig.run_forward());
       return w.backward([](auto& desc) { desc.in_place = -1; });
     }},
    {"SYN-GRADIENT-ADD", argument,
     [](World& w) {
       EXPECT_OK(w.rig.run_forward());
       return w.backward([](auto& desc) { desc.add_parameter_gradients = 2; });
     }},
    {"SYN-BACKWARD-FORWARD", argument,
     [](World& w) {
       EXPECT_OK(w.rig.run_forward());
       return w.backward([](auto& desc) { desc.forward = 1; });
     }},
    {"SYN-TAPE-NARROW", unsupported,
     [](World& w) { return w.forward([](auto& desc) { desc.tape = SYNFIRE_TAPE_STORE_NARROW; }); }},
    {"SYN-GRADIENT-COUNT", argument,
     [](World& w) {
       EXPECT_OK(w.rig.run_forward());
       std::vector<Buffer> buffers;
       std::vector<synfire_parameter_gradient> asked;
       for (int i = 0; i < 40; ++i) {
         buffers.push_back(w.make(SYNFIRE_DTYPE_F32, 1));
         asked.push_back({"tau", buffers.back()});
       }
       return w.backward([&](auto& desc) {
         desc.parameter_gradients = asked.data();
         desc.n_parameter_gradients = asked.size();
       });
     }},
    {"SYN-GRADIENT-LENGTH", argument, [](World& w) { return w.gradient("tau", 2); }},
    {"SYN-GRADIENT-SURROGATE", argument, [](World& w) { return w.gradient("alpha", 1); }},
    {"SYN-GRADIENT-IN-PLACE", argument, [](World& w) { return w.gradient("tau", 1, 1); }},
    {"SYN-BACKWARD-OUTPUT", argument,
     [](World& w) {
       EXPECT_OK(w.rig.run_forward());
       return w.backward([](auto& desc) { desc.grad_x_seq = desc.grad_v_init = nullptr; });
     }},
    {"SYN-TAPE-NONE", stale, [](World& w) { return w.rig.run_backward(); }},
    {"SYN-TAPE-NONE", stale, [](World& w) { return w.record_backward(); }},
    {"SYN-TAPE-INFERENCE", stale,
     [](World& w) {
       w.record_forward(SYNFIRE_TAPE_NONE);
       return w.record_backward();
     }},
    {"SYN-TAPE-PARAMETERS", stale,
     [](World& w) {
       EXPECT_OK(w.rig.run_forward());
       EXPECT_OK(w.set("tau", {3}));
       return w.rig.run_backward();
     }},
    {"SYN-TAPE-PARAMETERS", stale,
     [](World& w) {
       w.record_forward();
       EXPECT_OK(w.update([](auto&) {}));
       return w.record_backward();
     }},
    {"SYN-TAPE-WRITTEN", stale,
     [](World& w) {
       EXPECT_OK(w.rig.run_forward());
       EXPECT_OK(synfire_buffer_mark_written(w.rig.x));
       return w.rig.run_backward();
     }},
    {"SYN-TAPE-WRITTEN", stale,
     [](World& w) {
       w.record_forward();
       record_fill(w.graph, w.rig.x, 0);
       return w.record_backward();
     }},
    {"SYN-TAPE-INPUT", stale,
     [](World& w) {
       EXPECT_OK(w.rig.run_forward());
       EXPECT_OK(w.record_backward());
       w.instantiate();
       EXPECT_OK(w.forward([&](auto& desc) { desc.x = w.rig.grad_v_seq; }));
       return w.launch();
     }},
    {"SYN-TAPE-MODE", stale,
     [](World& w) {
       EXPECT_OK(w.rig.run_forward());
       EXPECT_OK(w.record_backward());
       w.instantiate();
       EXPECT_OK(w.rig.run_forward({.tape = SYNFIRE_TAPE_STORE}));
       return w.launch();
     }},
    {"SYN-TAPE-DISABLED", stale,
     [](World& w) {
       EXPECT_OK(w.update([](auto&) {}));
       w.record_forward();
       EXPECT_OK(w.record_backward());
       EXPECT_OK(synfire_graph_set_enabled(w.graph, 1, 0));
       w.instantiate();
       return w.launch();
     }},
    {"SYN-TRANSIENT-MEMORY", argument,
     [](World& w) { return synfire_buffer_fill(make_frame(w.context, 4, SYNFIRE_MEMORY_TRANSIENT), 0); }},
    {"SYN-TRANSIENT-DATA", argument,
     [](World& w) {
       float value = 0;
       return w.create_buffer([&](auto& desc) { desc.memory = SYNFIRE_MEMORY_TRANSIENT, desc.data = &value; });
     }},
    {"SYN-TRANSIENT-EAGER", argument,
     [](World& w) {
       const Buffer transient = make_frame(w.context, 4, SYNFIRE_MEMORY_TRANSIENT), other = make_frame(w.context, 4);
       const synfire_scale_add_desc desc = scale_add_desc(other, transient, 1, 0);
       return synfire_scale_add(w.context, &desc, nullptr);
     }},
    {"SYN-TRANSIENT-OVERFLOW", memory,
     [](World& w) {
       return w.create_buffer([](auto& desc) {
         desc.memory = SYNFIRE_MEMORY_TRANSIENT;
         desc.n_elements = uint64_t{1} << 60;  // 2^62 bytes
       });
     }},
    {"SYN-TRANSIENT-DISABLED", order,
     [](World& w) {
       const Buffer transient = make_frame(w.context, 4, SYNFIRE_MEMORY_TRANSIENT), other = make_frame(w.context, 4);
       record_fill(w.graph, transient, 1);
       record_copy(w.graph, transient, other);
       EXPECT_OK(synfire_graph_set_enabled(w.graph, 0, 0));
       w.instantiate();
       return w.launch();
     }},
    {"SYN-REBIND-TRANSIENT", argument,
     [](World& w) {
       const Buffer transient = make_frame(w.context, 4, SYNFIRE_MEMORY_TRANSIENT), other = make_frame(w.context, 4);
       record_fill(w.graph, transient, 1);
       return synfire_graph_rebind(w.graph, transient, other);
     }},
    {"SYN-SPIKES-SHAPE", argument, [](World& w) { return w.count([](auto& desc) { desc.n_steps = 0; }); }},
    {"SYN-SPIKES-OVERFLOW", memory,
     [](World& w) { return w.count([](auto& desc) { desc.n_steps = int64_t{1} << 60; }); }},
    {"SYN-COUNT-KIND", argument, [](World& w) { return w.count([](auto& desc) { desc.kind = 3; }); }},
    {"SYN-COUNT-RANGE", argument,
     [](World& w) { return w.count([](auto& desc) { desc.n_steps = int64_t{1} << 33; }); }},
    {"SYN-ENCODE-RATES", argument, [](World& w) { return w.encode([](auto& desc) { desc.rates_per_step = 2; }); }},
    {"SYN-ENCODE-SHAPE", SYNFIRE_ERROR_UNSUPPORTED,
     [](World& w) { return w.encode([](auto& desc) { desc.n_neurons = int64_t{1} << 35; }); }},
    {"SYN-DROPOUT-SHAPE", unsupported,
     [](World& w) { return w.dropout([](auto& desc) { desc.n_neurons = int64_t{1} << 35; }); }},
    {"SYN-DROPOUT-PROBABILITY", argument, [](World& w) { return w.dropout([](auto& desc) { desc.probability = 1; }); }},
    {"SYN-GATHER-SHAPE", argument, [](World& w) { return w.gather([](auto& desc) { desc.n_rows = 0; }); }},
    {"SYN-GATHER-OVERFLOW", memory,
     [](World& w) { return w.gather([](auto& desc) { desc.n_steps = int64_t{1} << 60; }); }},
    {"SYN-GATHER-TYPE", argument,
     [](World& w) {
       const Buffer other = w.make(SYNFIRE_DTYPE_F16, 1);
       return w.gather([&](auto& desc) { desc.source = other; });
     }},
    {"SYN-SHUFFLE-SHAPE", argument, [](World& w) { return w.shuffle([](auto& desc) { desc.n_rows = 0; }); }},
    {"SYN-SHUFFLE-EMPTY", argument,
     [](World& w) {
       return w.shuffle([](auto& desc) {
         desc.batch = 2;
         desc.drop_last = 1;
       });
     }},
    {"SYN-SHUFFLE-FLAG", argument, [](World& w) { return w.shuffle([](auto& desc) { desc.in_order = 2; }); }},
    {"SYN-REDUCE-KIND", argument, [](World& w) { return w.reduce([](auto& desc) { desc.reduction = 4; }); }},
    {"SYN-REDUCE-AXIS", argument, [](World& w) { return w.reduce([](auto& desc) { desc.axis = 2; }); }},
    {"SYN-REDUCE-TYPE", argument,
     [](World& w) {
       const Buffer wide = make_buffer(w.context, SYNFIRE_DTYPE_F64, 1);
       return w.reduce([&](auto& desc) { desc.destination = wide; });
     }},
    {"SYN-REDUCE-SOURCE", argument,
     [](World& w) { return w.reduce_backward([](auto& desc) { desc.reduction = SYNFIRE_REDUCE_MAX; }); }},
    {"SYN-REDUCE-ACCUMULATE", argument,
     [](World& w) { return w.reduce_backward([](auto& desc) { desc.accumulate = 2; }); }},
    {"SYN-RATE-FLAG", argument, [](World& w) { return w.rate_loss([](auto& desc) { desc.whole_layer = 2; }); }},
    {"SYN-RATE-OUTPUT", argument,
     [](World& w) { return w.rate_loss([](auto& desc) { desc.grad_spike_seq = nullptr; }); }},
    {"SYN-LOSS-KIND", argument, [](World& w) { return w.loss([](auto& desc) { desc.kind = 2; }); }},
    {"SYN-LOSS-FLAG", argument, [](World& w) { return w.loss([](auto& desc) { desc.sum = 2; }); }},
    {"SYN-LOSS-SHAPE", argument, [](World& w) { return w.loss([](auto& desc) { desc.n_classes = 0; }); }},
    {"SYN-LOSS-OVERFLOW", memory,
     [](World& w) {
       return w.loss([](auto& desc) {
         desc.batch = int64_t{1} << 31;
         desc.n_classes = int64_t{1} << 30;
       });
     }},
    {"SYN-LOSS-TARGET", argument, [](World& w) { return w.loss([](auto& desc) { desc.labels = nullptr; }); }},
    {"SYN-LOSS-LABELS", argument,
     [](World& w) {
       return w.loss([](auto& desc) {
         desc.targets = desc.source;
         desc.labels = nullptr;
         desc.ignores_label = 1;
       });
     }},
    {"SYN-LOSS-OUTPUT", argument, [](World& w) { return w.loss([](auto& desc) { desc.loss = nullptr; }); }},
    {"SYN-LOSS-SMOOTHING", argument, [](World& w) { return w.loss([](auto& desc) { desc.label_smoothing = 2; }); }},
};

const Rule of_graphs[] = {
    {"SYN-GRAPH-SLOT-COUNT", argument,
     [](World& w) {
       synfire_graph_desc desc = SYNFIRE_GRAPH_DESC_INIT;
       desc.n_slots = 65;
       synfire_graph made = nullptr;
       return synfire_graph_create(w.context, &desc, &made);
     }},
    {"SYN-GRAPH-EMPTY", order, [](World& w) { return synfire_graph_instantiate(w.graph); }},
    {"SYN-GRAPH-EMPTY", order,
     [](World& w) {
       int32_t operation = 0;
       return synfire_graph_get_last_operation(w.graph, &operation);
     }},
    {"SYN-GRAPH-INSTANTIATED", order,
     [](World& w) {
       w.record_forward();
       w.instantiate();
       return synfire_graph_instantiate(w.graph);
     }},
    {"SYN-GRAPH-NOT-INSTANTIATED", order, [](World& w) { return w.launch(); }},
    {"SYN-GRAPH-NOT-INSTANTIATED", order, [](World& w) { return synfire_graph_poll(w.graph, 1); }},
    {"SYN-GRAPH-TICKET", argument,
     [](World& w) {
       w.record_forward();
       w.instantiate();
       return synfire_graph_poll(w.graph, 1);
     }},
    {"SYN-GRAPH-OPERATION", argument, [](World& w) { return synfire_graph_set_enabled(w.graph, 0, 1); }},
    {"SYN-GRAPH-VALUE", argument,
     [](World& w) {
       w.record_forward();
       return synfire_graph_set_value(w.graph, 0, "value", 1);
     }},
    {"SYN-GRAPH-ENABLED", argument,
     [](World& w) {
       w.record_forward();
       return synfire_graph_set_enabled(w.graph, 0, 2);
     }},
    {"SYN-GRAPH-SLOT-TAKEN", argument,
     [](World& w) {
       const auto frames = w.record_frames(1);
       for (int i = 0; i < 2; ++i) replay(w.graph);
       return w.slot(1, frames.first);
     }},
    {"SYN-GRAPH-SLOT-BUFFER", argument,
     [](World& w) {
       const auto frames = w.record_frames(1);
       return w.slot(0, make_frame(w.context, 4));
     }},
    {"SYN-GRAPH-SLOT-BUFFER", argument,
     [](World& w) {
       const auto frames = w.record_frames(1);
       return w.slot(0, w.rig.x);
     }},
    {"SYN-GRAPH-SLOT-TAPE", unsupported,
     [](World& w) {
       const Buffer frame = make_frame(w.context, shape.sequence());
       EXPECT_OK(w.forward([&](auto& desc) { desc.x = frame; }));
       w.graph = make_slotted_graph(w.context, 2);
       EXPECT_OK(w.record_backward());
       return synfire_graph_instantiate(w.graph);
     }},
    {"SYN-REBIND-UNKNOWN", argument,
     [](World& w) {
       w.record_forward();
       return synfire_graph_rebind(w.graph, w.rig.grad_v_seq, w.rig.grad_x_seq);
     }},
    {"SYN-REBIND-SHAPE", argument,
     [](World& w) {
       w.record_forward();
       return synfire_graph_rebind(w.graph, w.rig.x, w.rig.grad_v_final);
     }},
    {"SYN-GRAPH-NATIVE", SYNFIRE_ERROR_CALLBACK,
     [](World& w) {
       synfire_native_desc desc = SYNFIRE_NATIVE_DESC_INIT;
       desc.callback = [](void*, const synfire_native_call*) -> synfire_status { return -1; };
       EXPECT_OK(synfire_graph_record_native(w.graph, &desc));
       const synfire_status status = synfire_graph_instantiate(w.graph);  // on CUDA this calls it
       return status == SYNFIRE_OK ? w.launch() : status;
     }},
    {"SYN-GRAPH-NATIVE-COUNT", argument,
     [](World& w) {
       const std::vector<synfire_buffer> buffers(65, w.rig.x.get());
       synfire_native_desc desc = SYNFIRE_NATIVE_DESC_INIT;
       desc.callback = [](void*, const synfire_native_call*) -> synfire_status { return SYNFIRE_OK; };
       desc.reads = buffers.data();
       desc.n_reads = buffers.size();
       return synfire_graph_record_native(w.graph, &desc);
     }},
    {"SYN-TEXT-SIZE", argument,
     [](World& w) {
       char text[4];
       uint64_t bytes = sizeof text;
       return synfire_graph_write_dot(w.graph, text, &bytes);
     }},
    {"SYN-WAIT-POLICY", argument, [](World& w) { return synfire_graph_wait(w.graph, 1, 3, 0); }},
};

void expect_all(std::span<const Rule> rules) {
  for (const Rule& rule : rules) {
    if (is_sanitized() && std::string_view(rule.id) == "SYN-MEMORY-HOST")
      continue;  // its allocator ends the program instead
    SCOPED_TRACE(rule.id);
    World world;
    EXPECT_FAILS(rule.status, WORDS(rule.id), rule.broken(world));
  }
}

TEST(Rules, OfEveryCall) {
  expect_all(of_every_call);
}
TEST(Rules, OfContextsAndStreams) {
  expect_all(of_contexts);
}
TEST(Rules, OfBuffersAndElements) {
  expect_all(of_buffers);
}
TEST(Rules, OfLayersParametersAndStates) {
  expect_all(of_layers);
}
TEST(Rules, OfPassesTapesAndSpikes) {
  expect_all(of_passes);
}
TEST(Rules, OfGraphs) {
  expect_all(of_graphs);
}

// The callback runs inside a launch of its graph.
TEST(Rules, AGraphInUseIsBusy) {
  if (!on_host()) GTEST_SKIP() << "callbacks are called by launches on the host";
  World world;
  synfire_native_desc desc = SYNFIRE_NATIVE_DESC_INIT;
  desc.callback = [](void* graph, const synfire_native_call*) -> synfire_status {
    EXPECT_FAILS(SYNFIRE_ERROR_BUSY, WORDS("SYN-GRAPH-BUSY"),
                 synfire_graph_launch(static_cast<synfire_graph>(graph), nullptr, nullptr));
    return SYNFIRE_OK;
  };
  desc.user = world.graph.get();
  EXPECT_OK(synfire_graph_record_native(world.graph, &desc));
  world.instantiate();
  EXPECT_OK(world.launch());
}

}  // namespace
}  // namespace synfire_test
