// Every bad input: the status it answers, a text that names the argument and begins with a rule id, and that it changed
// nothing: out-handles are null, values keep what they were, the objects still work.
// What does not live here: tapes (tape_test.cpp), order of destruction (lifetime_test.cpp).
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <thread>

#include "support.hpp"

namespace synfire_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

const Shape shape{4, 2, 5};

// A context with one of everything, f32, and a graph that is not instantiated.
class Errors : public testing::Test {
 protected:
  Context context = make_context();
  Rig<float> rig{context, describe(shape, SYNFIRE_DTYPE_F32)};
  Graph graph = make_graph(context);

  // The objects still do what they are for: forward and backward run, and the graph records, runs and gives the same.
  void expect_usable() {
    rig.load(random_inputs<float>(shape, 1));
    const ForwardOutputs<float> forward = rig.forward();
    const BackwardOutputs<float> backward = rig.backward();
    const synfire_forward_desc forward_desc = rig.forward_desc();
    const synfire_backward_desc backward_desc = rig.backward_desc();
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward_desc));
    EXPECT_OK(synfire_graph_record_backward(graph, rig.layer, &backward_desc));
    EXPECT_OK(synfire_graph_instantiate(graph));
    rig.poison();
    replay(graph);
    EXPECT_TRUE(same_bits(rig.forward_outputs(), forward));
    EXPECT_TRUE(same_bits(rig.backward_outputs(), backward));
  }
};

// Any non-null value to see an out-handle being nulled.
template <typename Handle>
Handle some_handle() {
  return reinterpret_cast<Handle>(uintptr_t{0x1234});
}

// ---- Handles --------------------------------------------------------------------------------------------------------

template <typename Handle, typename Other>
Handle as(Other other) {
  return reinterpret_cast<Handle>(other);
}

int address_taken = 0;

// What may not stand where a live handle of a type is needed.
template <typename Handle>
std::vector<std::pair<std::string, Handle>> bad_handles(Handle stale, const std::vector<uintptr_t>& other_types) {
  std::vector<std::pair<std::string, Handle>> handles = {{"null", nullptr},
                                                         {"stale", stale},
                                                         {"all ones", as<Handle>(~uintptr_t{0})},
                                                         {"one", as<Handle>(uintptr_t{1})},
                                                         {"an address", as<Handle>(std::addressof(address_taken))}};
  for (const uintptr_t other : other_types) handles.emplace_back("another type", as<Handle>(other));
  return handles;
}

template <typename Handle>
uintptr_t value_of(const Owned<Handle>& handle) {
  return reinterpret_cast<uintptr_t>(handle.get());
}

TEST_F(Errors, EveryFunctionRefusesABadContext) {
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  synfire_buffer_desc buffer_desc = SYNFIRE_BUFFER_DESC_INIT;
  buffer_desc.n_elements = 1;
  const synfire_layer_desc layer_desc = describe(shape, SYNFIRE_DTYPE_F32);
  Context gone = make_context();
  const synfire_context stale = gone;
  gone.reset();
  for (const auto& [what, bad] : bad_handles(stale, {value_of(rig.layer), value_of(rig.x), value_of(graph)})) {
    SCOPED_TRACE(what);
    if (bad != nullptr) {  // null means the whole process here
      uint64_t still_queued = 77;
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("context"), synfire_context_reclaim(bad, &still_queued));
      EXPECT_EQ(still_queued, 77u);
    }
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("context"), synfire_context_synchronize(bad));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("context"), synfire_context_get_properties(bad, &properties));
    EXPECT_EQ(properties.name[0], '\0');
    synfire_buffer buffer = some_handle<synfire_buffer>();
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("context"), synfire_buffer_create(bad, &buffer_desc, &buffer));
    EXPECT_EQ(buffer, nullptr);
    synfire_layer layer = some_handle<synfire_layer>();
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("context"), synfire_layer_create(bad, &layer_desc, &layer));
    EXPECT_EQ(layer, nullptr);
    synfire_graph new_graph = some_handle<synfire_graph>();
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("context"), synfire_graph_create(bad, nullptr, &new_graph));
    EXPECT_EQ(new_graph, nullptr);
  }
  expect_usable();
}

TEST_F(Errors, EveryFunctionRefusesABadBuffer) {
  Buffer gone = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  const synfire_buffer stale = gone;
  gone.reset();
  for (const auto& [what, bad] : bad_handles(stale, {value_of(context), value_of(rig.layer), value_of(graph)})) {
    SCOPED_TRACE(what);
    void* data = this;
    uint64_t bytes = 77;
    float value = 5;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("buffer"), synfire_buffer_get_data(bad, &data, &bytes));
    EXPECT_EQ(data, this);
    EXPECT_EQ(bytes, 77u);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("buffer"), synfire_buffer_upload(bad, 0, &value, 4));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("buffer"), synfire_buffer_download(bad, 0, &value, 4));
    EXPECT_EQ(value, 5);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("buffer"), synfire_buffer_fill(bad, 1));
  }
  expect_usable();
}

TEST_F(Errors, EveryFunctionRefusesABadLayer) {
  Layer gone = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  const synfire_layer stale = gone;
  gone.reset();
  const synfire_forward_desc forward = rig.forward_desc();
  const synfire_backward_desc backward = rig.backward_desc();
  EXPECT_OK(rig.run_forward());
  rig.poison();
  for (const auto& [what, bad] : bad_handles(stale, {value_of(context), value_of(rig.x), value_of(graph)})) {
    SCOPED_TRACE(what);
    double value = 5;
    std::vector<float> state(shape.row(), 5);
    const uint64_t bytes = state.size() * sizeof(float);
    synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_set_parameter(bad, "tau", &value, 1));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_get_parameter(bad, "tau", &value, 1));
    EXPECT_EQ(value, 5);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_get_parameter_info(bad, 0, &info));
    EXPECT_EQ(info.name, nullptr);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_reset_state(bad, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_read_state(bad, "v", state.data(), bytes));
    EXPECT_TRUE(all_are(state, 5.0f));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"),
                 synfire_layer_write_state(bad, "v", state.data(), bytes));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_forward(bad, &forward, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_layer_backward(bad, &backward, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_graph_record_forward(graph, bad, &forward));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"), synfire_graph_record_backward(graph, bad, &backward));
  }
  EXPECT_TRUE(rig.untouched());
  expect_usable();
}

TEST_F(Errors, EveryFunctionRefusesABadGraph) {
  Graph gone = make_graph(context);
  const synfire_graph stale = gone;
  gone.reset();
  const synfire_forward_desc forward = rig.forward_desc();
  const synfire_backward_desc backward = rig.backward_desc();
  synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
  copy.source = rig.x;
  copy.destination = rig.spikes;
  for (const auto& [what, bad] : bad_handles(stale, {value_of(context), value_of(rig.x), value_of(rig.layer)})) {
    SCOPED_TRACE(what);
    uint64_t ticket = 77;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_record_forward(bad, rig.layer, &forward));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"),
                 synfire_graph_record_backward(bad, rig.layer, &backward));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_record_copy(bad, &copy));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_instantiate(bad));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_launch(bad, nullptr, &ticket));
    EXPECT_EQ(ticket, 77u);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_wait(bad, 1, SYNFIRE_WAIT_SPIN, 0));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_poll(bad, 1));
  }
  expect_usable();
}

// Each buffer of a descriptor in turn, by its name.
using ForwardField = std::pair<const char*, synfire_buffer synfire_forward_desc::*>;
const ForwardField forward_fields[] = {
    {"x", &synfire_forward_desc::x},           {"spikes", &synfire_forward_desc::spikes},
    {"v_init", &synfire_forward_desc::v_init}, {"v_final", &synfire_forward_desc::v_final},
    {"v_seq", &synfire_forward_desc::v_seq},   {"h_seq", &synfire_forward_desc::h_seq},
};
using BackwardField = std::pair<const char*, synfire_buffer synfire_backward_desc::*>;
const BackwardField backward_fields[] = {
    {"grad_spike_seq", &synfire_backward_desc::grad_spike_seq}, {"grad_v_seq", &synfire_backward_desc::grad_v_seq},
    {"grad_v_final", &synfire_backward_desc::grad_v_final},     {"grad_x_seq", &synfire_backward_desc::grad_x_seq},
    {"grad_v_init", &synfire_backward_desc::grad_v_init},
};

class BadBuffers : public Errors {
 protected:
  void SetUp() override {
    rig.load(random_inputs<float>(shape, 2));
    EXPECT_OK(rig.run_forward());  // a tape, so that only the buffer under test is wrong
    const synfire_forward_desc desc = rig.forward_desc();
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
    state = read_state<float>(rig.layer, shape.row());
    rig.poison();
  }
  void TearDown() override {
    EXPECT_TRUE(rig.untouched()) << "a refused call wrote an output";
    EXPECT_TRUE(same_bits(read_state<float>(rig.layer, shape.row()), state)) << "a refused call moved the state";
    expect_usable();
  }

  // Puts `bad` into one field after the other, eagerly and recording, and expects each to be refused by name.
  void expect_refused_everywhere(synfire_status status,
                                 const std::function<synfire_buffer(std::string_view)>& bad_for) {
    for (const auto& [name, field] : forward_fields) {
      SCOPED_TRACE(name);
      for (const bool own_state : {false, true}) {
        synfire_forward_desc desc = rig.forward_desc({.v_init = !own_state});
        desc.*field = bad_for(name);
        EXPECT_FAILS(status, WORDS(name), synfire_layer_forward(rig.layer, &desc, nullptr));
        EXPECT_FAILS(status, WORDS(name), synfire_graph_record_forward(graph, rig.layer, &desc));
      }
    }
    for (const auto& [name, field] : backward_fields) {
      SCOPED_TRACE(name);
      synfire_backward_desc desc = rig.backward_desc();
      desc.*field = bad_for(name);
      EXPECT_FAILS(status, WORDS(name), synfire_layer_backward(rig.layer, &desc, nullptr));
      EXPECT_FAILS(status, WORDS(name), synfire_graph_record_backward(graph, rig.layer, &desc));
    }
  }

  Buffer make(int32_t dtype, uint64_t n_elements) { return make_buffer(context, dtype, n_elements); }
  static bool is_row(std::string_view name) {
    return name == "v_init" || name == "v_final" || name == "grad_v_final" || name == "grad_v_init";
  }

  std::vector<float> state;
};

TEST_F(BadBuffers, Stale) {
  synfire_buffer stale = nullptr;
  {
    const Buffer gone = make(SYNFIRE_DTYPE_F32, shape.sequence());
    stale = gone;
  }
  expect_refused_everywhere(SYNFIRE_ERROR_INVALID_HANDLE, [&](std::string_view) { return stale; });
}

TEST_F(BadBuffers, OfAnotherType) {
  for (const uintptr_t other : {value_of(context), value_of(rig.layer), value_of(graph), ~uintptr_t{0}})
    expect_refused_everywhere(SYNFIRE_ERROR_INVALID_HANDLE,
                              [&](std::string_view) { return as<synfire_buffer>(other); });
}

TEST_F(BadBuffers, OfAnotherContext) {
  const Context other = make_context();
  const Buffer foreign = make_buffer(other, SYNFIRE_DTYPE_F32, shape.sequence());
  expect_refused_everywhere(SYNFIRE_ERROR_INVALID_HANDLE, [&](std::string_view) { return foreign.get(); });
}

TEST_F(BadBuffers, TooSmall) {
  const Buffer sequence = make(SYNFIRE_DTYPE_F32, shape.sequence() - 1), row = make(SYNFIRE_DTYPE_F32, shape.row() - 1);
  expect_refused_everywhere(SYNFIRE_ERROR_INVALID_ARGUMENT,
                            [&](std::string_view name) { return is_row(name) ? row.get() : sequence.get(); });
}

TEST_F(BadBuffers, BitsTooSmall) {
  const Buffer bits = make(SYNFIRE_DTYPE_BITS, shape.words() - 1);
  synfire_forward_desc desc = rig.forward_desc();
  desc.spikes = bits;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("spikes"), synfire_layer_forward(rig.layer, &desc, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("spikes"), synfire_graph_record_forward(graph, rig.layer, &desc));
}

TEST_F(BadBuffers, OfTheOtherFloatType) {
  const Buffer wide = make(SYNFIRE_DTYPE_F64, shape.sequence());
  expect_refused_everywhere(SYNFIRE_ERROR_INVALID_ARGUMENT, [&](std::string_view) { return wide.get(); });
}

TEST_F(BadBuffers, BitsWhereNumbersAreNeeded) {
  const Buffer bits = make(SYNFIRE_DTYPE_BITS, shape.sequence());
  const Buffer too_few = make(SYNFIRE_DTYPE_BITS, 1);
  expect_refused_everywhere(SYNFIRE_ERROR_INVALID_ARGUMENT, [&](std::string_view name) {
    return name == "spikes" ? too_few.get() : bits.get();  // spikes may be bits: there they are too few
  });
}

TEST_F(BadBuffers, PageableMemoryOnAGpu) {
  if (on_host()) GTEST_SKIP() << "on a host context all memory is ordinary memory";
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = SYNFIRE_MEMORY_HOST;
  desc.n_elements = shape.sequence();
  synfire_buffer handle = nullptr;
  ASSERT_OK(synfire_buffer_create(context, &desc, &handle));
  const Buffer pageable(handle);
  expect_refused_everywhere(SYNFIRE_ERROR_INVALID_ARGUMENT, [&](std::string_view) { return pageable.get(); });
  synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
  copy.source = pageable;
  copy.destination = rig.spikes;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("source"), synfire_graph_record_copy(graph, &copy));
}

TEST_F(BadBuffers, AbsentWhereOneIsNeeded) {
  synfire_forward_desc forward = rig.forward_desc();
  forward.x = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("x"), synfire_layer_forward(rig.layer, &forward, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("x"), synfire_graph_record_forward(graph, rig.layer, &forward));
  const synfire_backward_desc backward = rig.backward_desc({.grad_x_seq = false, .grad_v_init = false});
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("grad_x_seq", "grad_v_init"),
               synfire_layer_backward(rig.layer, &backward, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("grad_x_seq", "grad_v_init"),
               synfire_graph_record_backward(graph, rig.layer, &backward));
}

TEST_F(Errors, ALayerOfAnotherContextIsNotRecorded) {
  const Context other = make_context();
  Rig<float> foreign(other, describe(shape, SYNFIRE_DTYPE_F32));
  EXPECT_OK(foreign.run_forward());
  const synfire_forward_desc forward = foreign.forward_desc();
  const synfire_backward_desc backward = foreign.backward_desc();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"),
               synfire_graph_record_forward(graph, foreign.layer, &forward));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("layer"),
               synfire_graph_record_backward(graph, foreign.layer, &backward));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_instantiate(graph));  // still empty
  expect_usable();
}

TEST_F(Errors, Copies) {
  const Context other = make_context();
  const Buffer foreign = make_buffer(other, SYNFIRE_DTYPE_F32, 100), small = make_buffer(context, SYNFIRE_DTYPE_F32, 3);
  Buffer gone = make_buffer(context, SYNFIRE_DTYPE_F32, 100);
  const synfire_buffer stale = gone;
  gone.reset();
  const auto copy = [&](synfire_buffer source, synfire_buffer destination, uint64_t source_offset = 0,
                        uint64_t destination_offset = 0, uint64_t bytes = 0) {
    synfire_copy_desc desc = SYNFIRE_COPY_DESC_INIT;
    desc.source = source;
    desc.destination = destination;
    desc.source_offset = source_offset;
    desc.destination_offset = destination_offset;
    desc.bytes = bytes;
    return synfire_graph_record_copy(graph, &desc);
  };
  for (const synfire_buffer bad :
       {synfire_buffer{nullptr}, stale, foreign.get(), as<synfire_buffer>(rig.layer.get())}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("source"), copy(bad, rig.x));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("destination"), copy(rig.x, bad));
  }
  const uint64_t bytes = shape.sequence() * sizeof(float);
  const synfire_status refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
  EXPECT_FAILS(refused, WORDS("destination"), copy(rig.x, small));
  EXPECT_FAILS(refused, WORDS("source", "bytes"), copy(small, rig.x, 0, 0, 16));
  EXPECT_FAILS(refused, WORDS("source_offset"), copy(rig.x, rig.spikes, bytes + 4));
  EXPECT_FAILS(refused, WORDS("source_offset"), copy(rig.x, rig.spikes, 4, 0, bytes));
  EXPECT_FAILS(refused, WORDS("source_offset"), copy(rig.x, rig.spikes, ~uint64_t{0} - 3, 0, 8));
  EXPECT_FAILS(refused, WORDS("destination_offset"), copy(rig.x, rig.spikes, 0, bytes + 4, 4));
  EXPECT_FAILS(refused, WORDS("destination_offset"), copy(rig.x, rig.spikes, 0, 4));
  EXPECT_FAILS(refused, WORDS("destination_offset"), copy(rig.x, rig.spikes, 0, ~uint64_t{0} - 3, 8));
  EXPECT_FAILS(refused, WORDS("bytes"), copy(rig.x, rig.spikes, 0, 0, ~uint64_t{0}));
  EXPECT_FAILS(refused, WORDS("source", "destination"), copy(rig.x, rig.x));
  EXPECT_FAILS(refused, WORDS("source", "destination"), copy(rig.x, rig.x, 0, 4, 8));
  const Buffer window = make_window(context, rig.x, SYNFIRE_DTYPE_F32, 4, 2);
  EXPECT_FAILS(refused, WORDS("source", "destination"), copy(window, rig.x));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_instantiate(graph));  // nothing was recorded
  expect_usable();
}

// ---- Descriptors ----------------------------------------------------------------------------------------------------

template <typename Desc>
struct Larger {
  Desc known;
  unsigned char tail[24];
};

// Sizes that are too small, tails that are not zero, and a tail that is. `call` must succeed with `good`.
template <typename Desc>
void check_struct_size(const Desc& good, const std::function<synfire_status(Desc*)>& call) {
  for (const uint32_t size : {0u, 1u, 4u, static_cast<uint32_t>(sizeof(Desc) - 1)}) {
    SCOPED_TRACE(size);
    Desc desc = good;
    desc.struct_size = size;
    EXPECT_FAILS(SYNFIRE_ERROR_STRUCT_SIZE, WORDS("struct_size"), call(&desc));
  }
  for (const size_t position : {size_t{0}, size_t{5}, sizeof(Larger<Desc>::tail) - 1}) {
    SCOPED_TRACE(position);
    Larger<Desc> larger = {};
    larger.known = good;
    larger.known.struct_size = static_cast<uint32_t>(sizeof larger);
    larger.tail[position] = 1;
    EXPECT_FAILS(SYNFIRE_ERROR_STRUCT_SIZE, WORDS("struct_size|desc|properties|memory|info"), call(&larger.known));
  }
  Larger<Desc> larger = {};
  larger.known = good;
  larger.known.struct_size = static_cast<uint32_t>(sizeof larger);
  EXPECT_GE(call(&larger.known), 0) << "a larger descriptor with a zero tail: " << last_error_text();
  EXPECT_EQ(larger.known.struct_size, sizeof larger);
  for (const unsigned char byte : larger.tail) EXPECT_EQ(byte, 0);
}

TEST_F(Errors, StructSizes) {
  synfire_context_desc context_desc = SYNFIRE_CONTEXT_DESC_INIT;
  context_desc.backend = backend();
  check_struct_size<synfire_context_desc>(context_desc, [&](synfire_context_desc* desc) {
    synfire_context handle = some_handle<synfire_context>();
    const synfire_status status = synfire_context_create(desc, &handle);
    EXPECT_EQ(status < 0, handle == nullptr);
    synfire_context_destroy(handle);
    return status;
  });
  check_struct_size<synfire_context_properties>(
      SYNFIRE_CONTEXT_PROPERTIES_INIT,
      [&](synfire_context_properties* properties) { return synfire_context_get_properties(context, properties); });
  synfire_buffer_desc buffer_desc = SYNFIRE_BUFFER_DESC_INIT;
  buffer_desc.n_elements = 3;
  check_struct_size<synfire_buffer_desc>(buffer_desc, [&](synfire_buffer_desc* desc) {
    synfire_buffer handle = some_handle<synfire_buffer>();
    const synfire_status status = synfire_buffer_create(context, desc, &handle);
    EXPECT_EQ(status < 0, handle == nullptr);
    synfire_buffer_destroy(handle);
    return status;
  });
  const synfire_layer_desc layer_desc = describe(shape, SYNFIRE_DTYPE_F32);
  check_struct_size<synfire_layer_desc>(layer_desc, [&](synfire_layer_desc* desc) {
    synfire_layer handle = some_handle<synfire_layer>();
    const synfire_status status = synfire_layer_create(context, desc, &handle);
    EXPECT_EQ(status < 0, handle == nullptr);
    synfire_layer_destroy(handle);
    return status;
  });
  check_struct_size<synfire_layer_desc>(layer_desc, [&](synfire_layer_desc* desc) {
    synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
    const synfire_status status = synfire_layer_query_memory(desc, &memory);
    EXPECT_EQ(status < 0, memory.state_bytes == 0);
    return status;
  });
  check_struct_size<synfire_layer_memory>(SYNFIRE_LAYER_MEMORY_INIT, [&](synfire_layer_memory* memory) {
    return synfire_layer_query_memory(&layer_desc, memory);
  });
  check_struct_size<synfire_parameter_info>(SYNFIRE_PARAMETER_INFO_INIT, [&](synfire_parameter_info* info) {
    return synfire_layer_get_parameter_info(rig.layer, 0, info);
  });
  check_struct_size<synfire_forward_desc>(
      rig.forward_desc(), [&](synfire_forward_desc* desc) { return synfire_layer_forward(rig.layer, desc, nullptr); });
  check_struct_size<synfire_backward_desc>(rig.backward_desc(), [&](synfire_backward_desc* desc) {
    return synfire_layer_backward(rig.layer, desc, nullptr);
  });
  check_struct_size<synfire_graph_desc>(SYNFIRE_GRAPH_DESC_INIT, [&](synfire_graph_desc* desc) {
    synfire_graph handle = some_handle<synfire_graph>();
    const synfire_status status = synfire_graph_create(context, desc, &handle);
    EXPECT_EQ(status < 0, handle == nullptr);
    synfire_graph_destroy(handle);
    return status;
  });
  const Graph scratch = make_graph(context);
  check_struct_size<synfire_forward_desc>(rig.forward_desc(), [&](synfire_forward_desc* desc) {
    return synfire_graph_record_forward(scratch, rig.layer, desc);
  });
  check_struct_size<synfire_backward_desc>(rig.backward_desc(), [&](synfire_backward_desc* desc) {
    return synfire_graph_record_backward(scratch, rig.layer, desc);
  });
  synfire_copy_desc copy_desc = SYNFIRE_COPY_DESC_INIT;
  copy_desc.source = rig.x;
  copy_desc.destination = rig.spikes;
  check_struct_size<synfire_copy_desc>(
      copy_desc, [&](synfire_copy_desc* desc) { return synfire_graph_record_copy(scratch, desc); });
  expect_usable();
}

TEST_F(Errors, ReservedFieldsMustBeZero) {
  const auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
  synfire_context_desc context_desc = SYNFIRE_CONTEXT_DESC_INIT;
  context_desc.backend = backend();
  context_desc.reserved = 1;
  synfire_context new_context = some_handle<synfire_context>();
  EXPECT_FAILS(refused, WORDS("reserved"), synfire_context_create(&context_desc, &new_context));
  EXPECT_EQ(new_context, nullptr);
  synfire_buffer_desc buffer_desc = SYNFIRE_BUFFER_DESC_INIT;
  buffer_desc.n_elements = 3;
  buffer_desc.reserved = 0x80000000u;
  synfire_buffer buffer = some_handle<synfire_buffer>();
  EXPECT_FAILS(refused, WORDS("reserved"), synfire_buffer_create(context, &buffer_desc, &buffer));
  EXPECT_EQ(buffer, nullptr);
  synfire_layer_desc layer_desc = describe(shape, SYNFIRE_DTYPE_F32);
  layer_desc.reserved = 1;
  synfire_layer layer = some_handle<synfire_layer>();
  EXPECT_FAILS(refused, WORDS("reserved"), synfire_layer_create(context, &layer_desc, &layer));
  EXPECT_EQ(layer, nullptr);
  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  EXPECT_FAILS(refused, WORDS("reserved"), synfire_layer_query_memory(&layer_desc, &memory));
  EXPECT_EQ(memory.state_bytes, 0u);
  synfire_graph_desc graph_desc = SYNFIRE_GRAPH_DESC_INIT;
  graph_desc.reserved = 1;
  synfire_graph new_graph = some_handle<synfire_graph>();
  EXPECT_FAILS(refused, WORDS("reserved"), synfire_graph_create(context, &graph_desc, &new_graph));
  EXPECT_EQ(new_graph, nullptr);
  EXPECT_OK(rig.run_forward());
  rig.poison();
  synfire_backward_desc backward_desc = rig.backward_desc();
  backward_desc.in_place = 2;
  EXPECT_FAILS(refused, WORDS("in_place", "2"), synfire_layer_backward(rig.layer, &backward_desc, nullptr));
  EXPECT_FAILS(refused, WORDS("in_place", "2"), synfire_graph_record_backward(graph, rig.layer, &backward_desc));
  synfire_forward_desc forward_desc = rig.forward_desc();
  forward_desc.reserved = 1;
  EXPECT_FAILS(refused, WORDS("reserved"), synfire_layer_forward(rig.layer, &forward_desc, nullptr));
  EXPECT_FAILS(refused, WORDS("reserved"), synfire_graph_record_forward(graph, rig.layer, &forward_desc));
  synfire_copy_desc copy_desc = SYNFIRE_COPY_DESC_INIT;
  copy_desc.source = rig.x;
  copy_desc.destination = rig.spikes;
  copy_desc.reserved = 1;
  EXPECT_FAILS(refused, WORDS("reserved"), synfire_graph_record_copy(graph, &copy_desc));
  EXPECT_TRUE(rig.untouched());
  expect_usable();
}

TEST_F(Errors, NullPointersWhereSomethingIsNeeded) {
  const auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
  synfire_context_desc context_desc = SYNFIRE_CONTEXT_DESC_INIT;
  context_desc.backend = backend();
  EXPECT_FAILS(refused, WORDS("context"), synfire_context_create(&context_desc, nullptr));
  EXPECT_FAILS(refused, WORDS("properties"), synfire_context_get_properties(context, nullptr));
  synfire_buffer_desc buffer_desc = SYNFIRE_BUFFER_DESC_INIT;
  buffer_desc.n_elements = 3;
  synfire_buffer buffer = some_handle<synfire_buffer>();
  EXPECT_FAILS(refused, WORDS("desc"), synfire_buffer_create(context, nullptr, &buffer));
  EXPECT_EQ(buffer, nullptr);
  EXPECT_FAILS(refused, WORDS("buffer"), synfire_buffer_create(context, &buffer_desc, nullptr));
  EXPECT_FAILS(refused, WORDS("source"), synfire_buffer_upload(rig.x, 0, nullptr, 4));
  EXPECT_FAILS(refused, WORDS("destination"), synfire_buffer_download(rig.x, 0, nullptr, 4));
  EXPECT_OK(synfire_buffer_get_data(rig.x, nullptr, nullptr));
  const synfire_layer_desc layer_desc = describe(shape, SYNFIRE_DTYPE_F32);
  synfire_layer layer = some_handle<synfire_layer>();
  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  EXPECT_FAILS(refused, WORDS("desc"), synfire_layer_query_memory(nullptr, &memory));
  EXPECT_FAILS(refused, WORDS("memory"), synfire_layer_query_memory(&layer_desc, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_layer_create(context, nullptr, &layer));
  EXPECT_EQ(layer, nullptr);
  EXPECT_FAILS(refused, WORDS("layer"), synfire_layer_create(context, &layer_desc, nullptr));
  double value = 3;
  std::vector<float> state(shape.row(), 5);
  const uint64_t bytes = state.size() * sizeof(float);
  EXPECT_FAILS(refused, WORDS("name"), synfire_layer_set_parameter(rig.layer, nullptr, &value, 1));
  EXPECT_FAILS(refused, WORDS("values"), synfire_layer_set_parameter(rig.layer, "tau", nullptr, 1));
  EXPECT_FAILS(refused, WORDS("name"), synfire_layer_get_parameter(rig.layer, nullptr, &value, 1));
  EXPECT_FAILS(refused, WORDS("values"), synfire_layer_get_parameter(rig.layer, "tau", nullptr, 1));
  EXPECT_FAILS(refused, WORDS("info"), synfire_layer_get_parameter_info(rig.layer, 0, nullptr));
  EXPECT_FAILS(refused, WORDS("name"), synfire_layer_read_state(rig.layer, nullptr, state.data(), bytes));
  EXPECT_FAILS(refused, WORDS("values"), synfire_layer_read_state(rig.layer, "v", nullptr, bytes));
  EXPECT_FAILS(refused, WORDS("name"), synfire_layer_write_state(rig.layer, nullptr, state.data(), bytes));
  EXPECT_FAILS(refused, WORDS("values"), synfire_layer_write_state(rig.layer, "v", nullptr, bytes));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_layer_forward(rig.layer, nullptr, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_layer_backward(rig.layer, nullptr, nullptr));
  EXPECT_FAILS(refused, WORDS("graph"), synfire_graph_create(context, nullptr, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_graph_record_forward(graph, rig.layer, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_graph_record_backward(graph, rig.layer, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_graph_record_copy(graph, nullptr));
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  EXPECT_TRUE(all_are(read_state<float>(rig.layer, shape.row()), 0.0f));
  expect_usable();
}

// ---- Contexts -------------------------------------------------------------------------------------------------------

synfire_status create_context(const synfire_context_desc& desc) {
  synfire_context handle = some_handle<synfire_context>();
  const synfire_status status = synfire_context_create(&desc, &handle);
  EXPECT_EQ(status < 0, handle == nullptr);
  synfire_context_destroy(handle);
  return status;
}

bool gpu_answers() {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_CUDA;
  return create_context(desc) == SYNFIRE_OK;
}

TEST(ContextErrors, UnknownBackend) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  for (const int32_t bad : {-1, 3, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
    desc.backend = bad;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("backend"), create_context(desc));
  }
}

TEST(ContextErrors, Threads) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_HOST;
  for (const int32_t bad : {-1, 1025, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
    desc.n_threads = bad;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("n_threads"), create_context(desc));
  }
  desc.n_threads = 1024;
  EXPECT_OK(create_context(desc));
}

TEST(ContextErrors, TheHostHasOneDevice) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_HOST;
  for (const int32_t bad : {-1, 1, std::numeric_limits<int32_t>::max()}) {
    desc.device = bad;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("device"), create_context(desc));
  }
}

TEST(ContextErrors, ADeviceThatDoesNotExist) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_CUDA;
  desc.device = 4096;
  EXPECT_FAILS(SYNFIRE_ERROR_NO_DEVICE, WORDS(gpu_answers() ? "device" : "backend"), create_context(desc));
  desc.device = -1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("device"), create_context(desc));
}

TEST(ContextErrors, CudaWithoutAGpu) {
  if (gpu_answers()) GTEST_SKIP() << "a GPU answers on this machine";
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_CUDA;
  EXPECT_FAILS(SYNFIRE_ERROR_NO_DEVICE, WORDS("backend"), create_context(desc));
}

TEST(ContextErrors, AutomaticSelectionSaysWhyItEndedOnTheHost) {
  synfire_context handle = nullptr;
  const synfire_status status = synfire_context_create(nullptr, &handle);
  const Context context(handle);
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  ASSERT_OK(synfire_context_get_properties(context, &properties));
  EXPECT_STRNE(properties.name, "");
  if (gpu_answers()) {
    EXPECT_EQ(status, SYNFIRE_OK);
    EXPECT_EQ(properties.backend, SYNFIRE_BACKEND_CUDA);
    EXPECT_EQ(properties.device, 0);
    EXPECT_EQ(properties.fallback_reason, SYNFIRE_FALLBACK_NONE);
    EXPECT_EQ(properties.n_threads, 0);
    EXPECT_GT(properties.n_multiprocessors, 0);
    EXPECT_GT(properties.memory_bytes, 0u);
  } else {
    EXPECT_EQ(status, SYNFIRE_HOST_FALLBACK);
    EXPECT_EQ(properties.backend, SYNFIRE_BACKEND_HOST);
    EXPECT_EQ(properties.device, -1);
    EXPECT_NE(properties.fallback_reason, SYNFIRE_FALLBACK_NONE);
    EXPECT_GE(properties.n_threads, 1);
    EXPECT_EQ(properties.n_multiprocessors, 0);
    EXPECT_EQ(properties.compute_major, 0);
    EXPECT_EQ(properties.memory_bytes, 0u);
    EXPECT_NE(std::string_view(properties.name).find("host"), std::string_view::npos);
  }
  EXPECT_OK(synfire_context_synchronize(context));
}

TEST(ContextErrors, AChosenHostIsNoFallback) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_HOST;
  desc.n_threads = 3;
  synfire_context handle = nullptr;
  ASSERT_OK(synfire_context_create(&desc, &handle));
  const Context context(handle);
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  ASSERT_OK(synfire_context_get_properties(context, &properties));
  EXPECT_EQ(properties.fallback_reason, SYNFIRE_FALLBACK_NONE);
  EXPECT_EQ(properties.struct_size, sizeof properties);
  EXPECT_TRUE(properties.n_threads == 3 || properties.n_threads == 1) << "3, or 1 in a build without threads";
}

// ---- Buffers --------------------------------------------------------------------------------------------------------

TEST_F(Errors, BufferDescriptions) {
  const auto create = [&](auto change) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.n_elements = 4;
    change(desc);
    synfire_buffer handle = some_handle<synfire_buffer>();
    const synfire_status status = synfire_buffer_create(context, &desc, &handle);
    EXPECT_EQ(status < 0, handle == nullptr);
    synfire_buffer_destroy(handle);
    return status;
  };
  for (const int32_t bad : {-1, 3, std::numeric_limits<int32_t>::max()})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("memory"), create([&](auto& desc) { desc.memory = bad; }));
  for (const int32_t bad : {-1, 7, std::numeric_limits<int32_t>::max()})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("dtype"), create([&](auto& desc) { desc.dtype = bad; }));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("n_elements"), create([](auto& desc) { desc.n_elements = 0; }));
  for (const uint64_t huge : {~uint64_t{0}, uint64_t{1} << 63, uint64_t{1} << 62, (uint64_t{1} << 61) + 1}) {
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_BITS}) {
      EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("n_elements"), create([&](auto& desc) {
                     desc.n_elements = huge;
                     desc.dtype = dtype;
                   }));
    }
  }
  void* data = nullptr;
  ASSERT_OK(synfire_buffer_get_data(rig.x, &data, nullptr));
  const auto borrow = [&](int32_t dtype, int offset) {
    return create([&](auto& desc) {
      desc.dtype = dtype;
      desc.data = static_cast<char*>(data) + offset;
    });
  };
  for (const int offset : {1, 2, 3}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("data"), borrow(SYNFIRE_DTYPE_F32, offset));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("data"), borrow(SYNFIRE_DTYPE_BITS, offset));
  }
  for (const int offset : {1, 2, 4, 7})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("data"), borrow(SYNFIRE_DTYPE_F64, offset));
  EXPECT_OK(borrow(SYNFIRE_DTYPE_F32, 4));
  expect_usable();
}

TEST_F(Errors, MoreMemoryThanThereIs) {
#ifdef SYNFIRE_TEST_SANITIZED
  GTEST_SKIP() << "the sanitizer's allocator ends the process instead of refusing";
#endif
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.n_elements = uint64_t{1} << 48;  // 1 PiB: representable, never available
  for (const int32_t memory : {SYNFIRE_MEMORY_DEVICE, SYNFIRE_MEMORY_PINNED, SYNFIRE_MEMORY_HOST}) {
    desc.memory = memory;
    synfire_buffer handle = some_handle<synfire_buffer>();
    EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS(), synfire_buffer_create(context, &desc, &handle));
    EXPECT_EQ(handle, nullptr);
  }
  const synfire_layer_desc layer_desc = describe(Shape{1, 1, int64_t{1} << 48}, SYNFIRE_DTYPE_F32);
  synfire_layer layer = some_handle<synfire_layer>();
  EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS(), synfire_layer_create(context, &layer_desc, &layer));
  EXPECT_EQ(layer, nullptr);
  expect_usable();
}

TEST_F(Errors, UploadsAndDownloadsBeyondTheBuffer) {
  const std::vector<float> before = {1, 2, 3, 4};
  const Buffer buffer = make_buffer_of(context, before);
  std::vector<float> values(5, 9);
  for (const auto& [offset, bytes] : {std::pair<uint64_t, uint64_t>{0, 17},
                                      {0, 20},
                                      {4, 13},
                                      {16, 1},
                                      {17, 0},
                                      {~uint64_t{0}, 4},
                                      {~uint64_t{0} - 3, 8},
                                      {8, ~uint64_t{0}},
                                      {8, ~uint64_t{0} - 7}}) {
    SCOPED_TRACE(testing::Message() << "offset " << offset << ", bytes " << bytes);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("offset", "bytes"),
                 synfire_buffer_upload(buffer, offset, values.data(), bytes));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("offset", "bytes"),
                 synfire_buffer_download(buffer, offset, values.data(), bytes));
  }
  EXPECT_TRUE(all_are(values, 9.0f));
  EXPECT_TRUE(same_bits(download<float>(buffer, 4), before));
}

TEST_F(Errors, FillingBits) {
  const Buffer bits = make_buffer(context, SYNFIRE_DTYPE_BITS, 3);
  EXPECT_OK(synfire_buffer_fill(bits, 4294967295.0));
  for (const double bad : {-1.0, 0.5, 4294967296.0, 1e300, nan, infinity, -infinity})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("value"), synfire_buffer_fill(bits, bad));
  EXPECT_TRUE(all_are(download<uint32_t>(bits, 3), 0xFFFFFFFFu));
  EXPECT_OK(synfire_buffer_fill(bits, 0));
  EXPECT_TRUE(all_are(download<uint32_t>(bits, 3), 0u));
  EXPECT_OK(synfire_buffer_fill(rig.v_final, 0.1));
  EXPECT_TRUE(all_are(download<float>(rig.v_final, shape.row()), 0.1f));
}

// ---- Layers ---------------------------------------------------------------------------------------------------------

class LayerErrors : public Errors {
 protected:
  // The description is refused by create and by query_memory alike.
  void expect_refused(synfire_status status, std::string_view word,
                      const std::function<void(synfire_layer_desc&)>& change) {
    SCOPED_TRACE(word);
    synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
    change(desc);
    synfire_layer layer = some_handle<synfire_layer>();
    EXPECT_FAILS(status, WORDS(word), synfire_layer_create(context, &desc, &layer));
    EXPECT_EQ(layer, nullptr);
    synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
    EXPECT_FAILS(status, WORDS(word), synfire_layer_query_memory(&desc, &memory));
    EXPECT_EQ(memory.state_bytes, 0u);
  }
};

TEST_F(LayerErrors, UnknownIds) {
  for (const int32_t bad : {-1, 1000, std::numeric_limits<int32_t>::min()}) {
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "model", [&](auto& desc) { desc.model = bad; });
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "surrogate", [&](auto& desc) { desc.surrogate = bad; });
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "reset", [&](auto& desc) { desc.reset = bad; });
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "dtype", [&](auto& desc) { desc.dtype = bad; });
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "detach_reset", [&](auto& desc) { desc.detach_reset = bad; });
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "undecayed_input", [&](auto& desc) { desc.undecayed_input = bad; });
  }
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "dtype", [&](auto& desc) { desc.dtype = SYNFIRE_DTYPE_BITS; });
  expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "undecayed_input", [&](auto& desc) {
    desc.model = SYNFIRE_MODEL_IF;  // has no input decay to switch off
    desc.undecayed_input = 1;
  });
  expect_usable();
}

TEST_F(LayerErrors, Extents) {
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "n_steps", [&](auto& desc) { desc.n_steps = bad; });
    expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "n_neurons", [&](auto& desc) { desc.n_neurons = bad; });
    if (bad != 0) expect_refused(SYNFIRE_ERROR_INVALID_ARGUMENT, "batch", [&](auto& desc) { desc.batch = bad; });
  }
  expect_usable();
}

TEST_F(LayerErrors, ExtentsWhoseBytesOverflow) {
  constexpr int64_t two = 2;
  const std::string_view any = "n_steps|n_neurons|batch";
  for (const Shape huge :
       {Shape{std::numeric_limits<int64_t>::max(), 1, 1}, Shape{1, std::numeric_limits<int64_t>::max(), 1},
        Shape{1, 1, std::numeric_limits<int64_t>::max()}, Shape{two << 61, 1, 1}, Shape{1, 1, two << 61},
        Shape{1, two << 61, 1}, Shape{two << 39, 1, two << 39}, Shape{two << 30, two << 30, two << 30},
        Shape{two << 20, two << 20, two << 20}, Shape{two << 31, 1, two << 31}, Shape{3, 3, two << 59}}) {
    SCOPED_TRACE(testing::Message() << huge);
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64})
      expect_refused(SYNFIRE_ERROR_OUT_OF_MEMORY, any, [&](auto& desc) { desc = describe(huge, dtype); });
  }
  expect_usable();
}

TEST_F(LayerErrors, ABatchOfZeroMeansOne) {
  synfire_layer_desc desc = describe(Shape{3, 0, 5}, SYNFIRE_DTYPE_F32);
  const Layer layer = make_layer(context, desc);
  EXPECT_EQ(read_state<float>(layer, 5).size(), 5u);  // exactly B·N elements are accepted
  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  EXPECT_OK(synfire_layer_query_memory(&desc, &memory));
  EXPECT_EQ(memory.state_bytes, 256u);  // 5 f32, rounded up
}

TEST_F(LayerErrors, QueryTellsTheDocumentedSizes) {
  synfire_layer_desc desc = describe(Shape{100, 3, 7}, SYNFIRE_DTYPE_F64);
  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  EXPECT_OK(synfire_layer_query_memory(&desc, &memory));
  EXPECT_EQ(memory.struct_size, sizeof memory);
  EXPECT_EQ(memory.checkpoint_interval, 32u);
  EXPECT_EQ(memory.state_bytes, 256u);  // 3 x 7 f64, rounded up
  EXPECT_EQ(memory.tape_bytes, 4 * 3 * 7 * sizeof(double));
  EXPECT_GT(memory.parameter_bytes, 0u);
  EXPECT_GE(memory.per_neuron_parameter_bytes, 7 * sizeof(double));
}

// ---- Parameters -----------------------------------------------------------------------------------------------------

class ParameterErrors : public Errors {
 protected:
  synfire_parameter_info info_of(uint32_t index) const {
    synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
    EXPECT_OK(synfire_layer_get_parameter_info(rig.layer, index, &info));
    return info;
  }
  double one(const char* name) const {
    double value = nan;
    EXPECT_OK(synfire_layer_get_parameter(rig.layer, name, &value, 1));
    return value;
  }
  synfire_status set(const char* name, const std::vector<double>& values) {
    return synfire_layer_set_parameter(rig.layer, name, values.data(), values.size());
  }
};

TEST_F(ParameterErrors, DocumentedDefaults) {
  const std::array<std::pair<std::string, double>, 5> lif = {
      {{"tau", 2}, {"v_rest", 0}, {"v_threshold", 1}, {"v_reset", 0}, {"alpha", 4}}};
  for (uint32_t i = 0; i < lif.size(); ++i) {
    const synfire_parameter_info info = info_of(i);
    EXPECT_EQ(info.name, lif[i].first);
    EXPECT_EQ(info.default_value, lif[i].second);
    EXPECT_EQ(one(info.name), lif[i].second);
    EXPECT_EQ(info.length, 1u);
    EXPECT_LT(info.minimum, info.maximum);
    EXPECT_EQ(info.struct_size, sizeof info);
  }
  EXPECT_EQ(info_of(0).minimum, 0);
  EXPECT_EQ(info_of(0).open_range, 1);
  synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
  info.length = 77;
  for (const uint32_t past : {5u, 6u, 0xFFFFFFFFu}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("index"),
                 synfire_layer_get_parameter_info(rig.layer, past, &info));
    EXPECT_EQ(info.length, 77u);
    EXPECT_EQ(info.name, nullptr);
  }
}

TEST_F(ParameterErrors, DefaultsOfTheOtherModelAndSurrogate) {
  synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F64);
  desc.model = SYNFIRE_MODEL_IF;
  desc.surrogate = SYNFIRE_SURROGATE_ATAN;
  const Layer layer = make_layer(context, desc);
  const std::array<std::pair<std::string, double>, 3> expected = {{{"v_threshold", 1}, {"v_reset", 0}, {"alpha", 2}}};
  synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
  for (uint32_t i = 0; i < expected.size(); ++i) {
    ASSERT_OK(synfire_layer_get_parameter_info(layer, i, &info));
    EXPECT_EQ(info.name, expected[i].first);
    EXPECT_EQ(info.default_value, expected[i].second);
  }
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("index"), synfire_layer_get_parameter_info(layer, 3, &info));
  const double tau = 3;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name", "tau"),
               synfire_layer_set_parameter(layer, "tau", &tau, 1));
}

TEST_F(ParameterErrors, ValuesThatAreNoNumbers) {
  for (const char* const name : {"tau", "v_rest", "v_threshold", "v_reset", "alpha"}) {
    SCOPED_TRACE(name);
    EXPECT_OK(set(name, {3.25}));
    for (const double bad : {nan, infinity, -infinity}) {
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values", name), set(name, {bad}));
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values", name), set(name, {1, 2, bad, 4, 5}));
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values", name), set(name, {1, 2, 3, 4, bad}));
      EXPECT_EQ(one(name), 3.25) << "the refused value was taken over";
    }
  }
  for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(info_of(i).length, 1u);
  expect_usable();
}

TEST_F(ParameterErrors, ValuesOutsideTheirRange) {
  for (const double bad : {0.0, -0.0, -1.0, -1e-300, -1e300})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values", "tau"), set("tau", {bad}));
  EXPECT_EQ(one("tau"), 2);
  for (const double good : {0.25, 1.0, 1e-3, 1e6}) {
    EXPECT_OK(set("tau", {good}));
    EXPECT_EQ(one("tau"), good);
  }
  for (uint32_t i = 0; i < 5; ++i) {  // the stated range is the one that is enforced
    const synfire_parameter_info info = info_of(i);
    SCOPED_TRACE(info.name);
    const double before = one(info.name);
    const double below = info.open_range != 0 ? info.minimum : std::nextafter(info.minimum, -infinity);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values", info.name), set(info.name, {below}));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values", info.name),
                 set(info.name, {std::nextafter(info.maximum, infinity)}));
    EXPECT_EQ(one(info.name), before);
    const double smallest = info.open_range != 0 ? std::nextafter(info.minimum, infinity) : info.minimum;
    if (set(info.name, {smallest}) == SYNFIRE_OK) {
      EXPECT_EQ(one(info.name), smallest);
    } else {  // in range, but what follows from it, such as 1/tau, is no number of the layer's type
      EXPECT_NE(last_error_text().find("[SYN-PARAMETER-OVERFLOW]"), std::string::npos) << last_error_text();
      EXPECT_EQ(one(info.name), before);
    }
    EXPECT_OK(set(info.name, {info.default_value}));
  }
  expect_usable();
}

TEST_F(ParameterErrors, NamesAndCounts) {
  double values[6] = {1, 2, 3, 4, 5, 6};
  for (const char* const name : {"", "Tau", "tau ", "tau_m", "v", "beta"}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"),
                 synfire_layer_set_parameter(rig.layer, name, values, 1));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"),
                 synfire_layer_get_parameter(rig.layer, name, values, 1));
  }
  const std::string long_name(100000, 'x');
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"),
               synfire_layer_set_parameter(rig.layer, long_name.c_str(), values, 1));
  for (const uint64_t bad : {uint64_t{0}, uint64_t{2}, uint64_t{4}, uint64_t{6}, uint64_t{10}, ~uint64_t{0}}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("count"),
                 synfire_layer_set_parameter(rig.layer, "tau", values, bad));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("count"),
                 synfire_layer_get_parameter(rig.layer, "tau", values, bad));
  }
  EXPECT_EQ(one("tau"), 2);
  EXPECT_EQ(values[0], 1) << "a refused read wrote";

  EXPECT_OK(synfire_layer_set_parameter(rig.layer, "tau", values, 5));
  EXPECT_EQ(info_of(0).length, 5u);
  double back[5] = {};
  EXPECT_OK(synfire_layer_get_parameter(rig.layer, "tau", back, 5));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(back[i], values[i]);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("count"), synfire_layer_get_parameter(rig.layer, "tau", back, 1));
  EXPECT_OK(set("tau", {7.5}));  // and back to one number
  EXPECT_EQ(info_of(0).length, 1u);
  EXPECT_OK(synfire_layer_get_parameter(rig.layer, "tau", back, 5));
  for (const double value : back) EXPECT_EQ(value, 7.5) << "one number held is repeated";
  expect_usable();
}

TEST_F(ParameterErrors, ARefusedPerNeuronValueKeepsThePerNeuronValues) {
  const std::vector<double> taus = {2, 3, 4, 5, 6};
  EXPECT_OK(set("tau", taus));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values"), set("tau", {7, 7, 7, 7, 0}));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("values"), set("tau", {-7}));
  std::vector<double> back(5);
  EXPECT_OK(synfire_layer_get_parameter(rig.layer, "tau", back.data(), 5));
  EXPECT_EQ(back, taus);
}

// ---- State ----------------------------------------------------------------------------------------------------------

TEST_F(Errors, StateNamesAndSizes) {
  std::vector<float> written(shape.row()), values(shape.row() + 1, 9);
  for (size_t i = 0; i < written.size(); ++i) written[i] = static_cast<float>(i);
  const uint64_t bytes = written.size() * sizeof(float);
  EXPECT_OK(synfire_layer_write_state(rig.layer, "v", written.data(), bytes));
  for (const char* const name : {"", "w", "V", "v_init"}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"),
                 synfire_layer_read_state(rig.layer, name, values.data(), bytes));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"),
                 synfire_layer_write_state(rig.layer, name, values.data(), bytes));
  }
  for (const uint64_t bad : {uint64_t{0}, bytes - 4, bytes - 1, bytes + 1, bytes + 4, ~uint64_t{0}}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("bytes"),
                 synfire_layer_read_state(rig.layer, "v", values.data(), bad));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("bytes"),
                 synfire_layer_write_state(rig.layer, "v", values.data(), bad));
  }
  EXPECT_TRUE(all_are(values, 9.0f));
  EXPECT_TRUE(same_bits(read_state<float>(rig.layer, shape.row()), written));
  expect_usable();
}

// ---- Passes and streams ---------------------------------------------------------------------------------------------

TEST_F(BadBuffers, UnknownTape) {
  for (const int32_t bad : {-1, 4, std::numeric_limits<int32_t>::min()}) {
    synfire_forward_desc desc = rig.forward_desc({.v_init = false});
    desc.tape = bad;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("tape"), synfire_layer_forward(rig.layer, &desc, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("tape"), synfire_graph_record_forward(graph, rig.layer, &desc));
  }
}

TEST_F(BadBuffers, AStreamOnTheHost) {
  if (!on_host()) GTEST_SKIP() << "a GPU has streams";
  const auto stream = as<synfire_stream>(uintptr_t{1});
  const synfire_forward_desc forward = rig.forward_desc({.v_init = false});
  const synfire_backward_desc backward = rig.backward_desc();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("stream"), synfire_layer_forward(rig.layer, &forward, stream));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("stream"), synfire_layer_backward(rig.layer, &backward, stream));
  const Graph other = make_graph(context);
  EXPECT_OK(synfire_graph_record_forward(other, rig.layer, &forward));
  EXPECT_OK(synfire_graph_instantiate(other));
  uint64_t ticket = 77;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("stream"), synfire_graph_launch(other, stream, &ticket));
  EXPECT_EQ(ticket, 77u);
  const Layer fresh = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("stream"), synfire_layer_reset_state(fresh, stream));
}

// ---- Order of graph calls -------------------------------------------------------------------------------------------

TEST_F(Errors, AnEmptyGraphIsNotInstantiated) {
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_instantiate(graph));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_instantiate(graph));
  expect_usable();
}

TEST_F(Errors, NothingRunsBeforeInstantiate) {
  uint64_t ticket = 77;
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_launch(graph, nullptr, &ticket));
  const synfire_forward_desc desc = rig.forward_desc();
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
  rig.poison();
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_launch(graph, nullptr, &ticket));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_wait(graph, 1, SYNFIRE_WAIT_SPIN, 0));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_poll(graph, 1));
  EXPECT_EQ(ticket, 77u);
  EXPECT_TRUE(rig.untouched());
  expect_usable();
}

TEST_F(Errors, NothingIsRecordedAfterInstantiate) {
  expect_usable();
  const synfire_forward_desc forward = rig.forward_desc();
  const synfire_backward_desc backward = rig.backward_desc();
  synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
  copy.source = rig.x;
  copy.destination = rig.spikes;
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_forward(graph, rig.layer, &forward));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_backward(graph, rig.layer, &backward));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_copy(graph, &copy));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_instantiate(graph));
  rig.poison();
  replay(graph);  // the old list, unchanged: spikes are no copy of x
  EXPECT_FALSE(same_bits(download<float>(rig.spikes, shape.sequence()), download<float>(rig.x, shape.sequence())));
  EXPECT_FALSE(rig.untouched());
}

TEST_F(Errors, TicketsAndPolicies) {
  const synfire_forward_desc desc = rig.forward_desc();
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
  EXPECT_OK(synfire_graph_instantiate(graph));
  for (const uint64_t unknown : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ticket"), synfire_graph_poll(graph, unknown));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ticket"),
                 synfire_graph_wait(graph, unknown, SYNFIRE_WAIT_YIELD, -1));
  }
  uint64_t ticket = 0;
  EXPECT_OK(synfire_graph_launch(graph, nullptr, &ticket));
  EXPECT_EQ(ticket, 1u);
  for (const uint64_t unknown : {uint64_t{0}, uint64_t{2}, ~uint64_t{0}}) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ticket"), synfire_graph_poll(graph, unknown));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ticket"),
                 synfire_graph_wait(graph, unknown, SYNFIRE_WAIT_BLOCK, -1));
  }
  for (const int32_t bad : {-1, 3, std::numeric_limits<int32_t>::max()})
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("policy"), synfire_graph_wait(graph, 1, bad, -1));
  EXPECT_OK(synfire_graph_wait(graph, 1, SYNFIRE_WAIT_BLOCK, -1));
}

// ---- The text itself ------------------------------------------------------------------------------------------------

TEST_F(Errors, TheTextIsCutToTheCallersBuffer) {
  EXPECT_LT(synfire_buffer_fill(nullptr, 0), 0);
  const std::string whole = last_error_text();
  ASSERT_GT(whole.size(), 10u);
  const uint64_t needed = whole.size() + 1;
  std::vector<char> buffer(needed + 8, '#');
  for (const uint64_t capacity : {uint64_t{1}, uint64_t{2}, uint64_t{10}, needed - 1, needed, needed + 8}) {
    buffer.assign(needed + 8, '#');
    int32_t cuda_error = 77;
    EXPECT_EQ(synfire_last_error(buffer.data(), capacity, &cuda_error), needed);
    EXPECT_EQ(cuda_error, 0);
    EXPECT_EQ(std::string(buffer.data()), whole.substr(0, capacity - 1));
    for (size_t i = capacity; i < buffer.size(); ++i) EXPECT_EQ(buffer[i], '#');
  }
  buffer.assign(needed + 8, '#');
  EXPECT_EQ(synfire_last_error(buffer.data(), 0, nullptr), needed);
  EXPECT_EQ(buffer[0], '#');
}

TEST_F(Errors, TheTextStaysUntilTheNextFailure) {
  EXPECT_LT(synfire_buffer_fill(nullptr, 0), 0);
  const std::string before = last_error_text();
  expect_usable();
  EXPECT_EQ(last_error_text(), before) << "a successful call touched the text";
  synfire_buffer_destroy(as<synfire_buffer>(uintptr_t{5}));
  synfire_layer_destroy(nullptr);
  graph.reset();
  rig.x.reset();
  EXPECT_EQ(last_error_text(), before) << "a destroy touched the text";
}

TEST_F(Errors, EveryThreadHasItsOwnText) {
  EXPECT_LT(synfire_buffer_fill(nullptr, 0), 0);
  const std::string before = last_error_text();
  std::string fresh = "?", other;
  std::thread([&] {
    fresh = last_error_text();
    EXPECT_LT(synfire_graph_poll(nullptr, 3), 0);
    other = last_error_text();
  }).join();
  EXPECT_EQ(fresh, "") << "a thread without an error has no text";
  EXPECT_NE(other, before);
  EXPECT_EQ(last_error_text(), before);
}

TEST(Version, AgreesWithTheHeader) {
  EXPECT_EQ(synfire_abi_version(), SYNFIRE_ABI_VERSION);
  EXPECT_NE(std::string_view(synfire_version_string()).find('.'), std::string_view::npos);
}

TEST(Version, EveryStatusHasItsName) {
#define EXPECT_NAME(status) EXPECT_STREQ(synfire_status_name(status), #status)
  EXPECT_NAME(SYNFIRE_OK);
  EXPECT_NAME(SYNFIRE_PENDING);
  EXPECT_NAME(SYNFIRE_HOST_FALLBACK);
  EXPECT_NAME(SYNFIRE_ERROR_INVALID_ARGUMENT);
  EXPECT_NAME(SYNFIRE_ERROR_INVALID_HANDLE);
  EXPECT_NAME(SYNFIRE_ERROR_STRUCT_SIZE);
  EXPECT_NAME(SYNFIRE_ERROR_OUT_OF_MEMORY);
  EXPECT_NAME(SYNFIRE_ERROR_NO_DEVICE);
  EXPECT_NAME(SYNFIRE_ERROR_BUSY);
  EXPECT_NAME(SYNFIRE_ERROR_CAPTURING);
  EXPECT_NAME(SYNFIRE_ERROR_STALE_TAPE);
  EXPECT_NAME(SYNFIRE_ERROR_WRONG_ORDER);
  EXPECT_NAME(SYNFIRE_ERROR_DEVICE_LOST);
  EXPECT_NAME(SYNFIRE_ERROR_UNSUPPORTED);
  EXPECT_NAME(SYNFIRE_ERROR_CUDA);
  EXPECT_NAME(SYNFIRE_ERROR_INTERNAL);
#undef EXPECT_NAME
  for (const synfire_status unknown : {3, 100, -13, -98, -100, std::numeric_limits<int32_t>::min()})
    EXPECT_STREQ(synfire_status_name(unknown), "SYNFIRE_UNKNOWN_STATUS");
}

}  // namespace
}  // namespace synfire_test
