// Every way in which the library writes a buffer, eager and in replays, makes a tape stale if the buffer is its X. One
// list of ways, and one list of checks after each.
#include <functional>

#include "recording_support.hpp"

namespace synfire_test {
namespace {

const Shape shape{3, 1, 8};
constexpr uint64_t n = 24;  // elements of that shape, and neurons of the layer whose gradient has as many

// Objects that the ways to write need beside X: layers of other models that have left a tape, and a source to read
// from.
struct Surroundings {
  explicit Surroundings(synfire_context in)
      : context(in),
        two_variables(make_layer(context, describe_model(SYNFIRE_MODEL_IZHIKEVICH, shape))),
        over_x(make_layer(context, describe_model(SYNFIRE_MODEL_IF, shape))),
        wide(make_layer(context, describe_model(SYNFIRE_MODEL_LIF, {1, 1, static_cast<int64_t>(n)}))),
        source(make_buffer_of(context, std::vector<float>(n, 0.5f))) {
    for (synfire_layer layer : {two_variables.get(), wide.get()}) {
      synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
      forward.x = source;
      EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
    }
  }
  static synfire_layer_desc describe_model(int32_t model, const Shape& of) {
    synfire_layer_desc desc = describe(of, SYNFIRE_DTYPE_F32);
    desc.model = model;
    return desc;
  }

  synfire_context context;
  Layer two_variables, over_x, wide;
  Buffer source;
};

// Writes to x now, or records the write if a graph is given.
using Write = std::function<synfire_status(const Surroundings&, synfire_buffer x, synfire_graph)>;
struct Way {
  const char* name;
  bool at_once, recorded;
  Write write;
};

Way forward_output(const char* name, synfire_buffer synfire_forward_desc::*output) {
  return {name, true, true, [output](const Surroundings& with, synfire_buffer x, synfire_graph graph) {
            synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
            desc.x = with.source;
            desc.*output = x;
            return graph ? synfire_graph_record_forward(graph, with.two_variables, &desc)
                         : synfire_layer_forward(with.two_variables, &desc, nullptr);
          }};
}

Way backward_output(const char* name, synfire_buffer synfire_backward_desc::*output) {
  return {name, true, true, [output](const Surroundings& with, synfire_buffer x, synfire_graph graph) {
            synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
            desc.grad_spike_seq = with.source;
            desc.*output = x;
            return graph ? synfire_graph_record_backward(graph, with.two_variables, &desc)
                         : synfire_layer_backward(with.two_variables, &desc, nullptr);
          }};
}

synfire_status SYNFIRE_CALL do_nothing(void*, const synfire_native_call*) {
  return SYNFIRE_OK;
}

std::vector<Way> ways() {
  std::vector<Way> all = {
      forward_output("spikes of a forward", &synfire_forward_desc::spikes),
      forward_output("v_final of a forward", &synfire_forward_desc::v_final),
      forward_output("v_seq of a forward", &synfire_forward_desc::v_seq),
      forward_output("h_seq of a forward", &synfire_forward_desc::h_seq),
      forward_output("w_final of a forward", &synfire_forward_desc::w_final),
      forward_output("w_seq of a forward", &synfire_forward_desc::w_seq),
      backward_output("grad_x_seq of a backward", &synfire_backward_desc::grad_x_seq),
      backward_output("grad_v_init of a backward", &synfire_backward_desc::grad_v_init),
      backward_output("grad_w_init of a backward", &synfire_backward_desc::grad_w_init),
  };
  all.push_back({"H over the x of another layer", true, true,
                 [](const Surroundings& with, synfire_buffer x, synfire_graph graph) {
                   synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
                   desc.x = x;
                   desc.tape = SYNFIRE_TAPE_STORE;
                   desc.in_place = 1;
                   return graph ? synfire_graph_record_forward(graph, with.over_x, &desc)
                                : synfire_layer_forward(with.over_x, &desc, nullptr);
                 }});
  all.push_back({"gradient over the gradient that it is of", true, true,
                 [](const Surroundings& with, synfire_buffer x, synfire_graph graph) {
                   synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
                   desc.grad_spike_seq = desc.grad_x_seq = x;
                   desc.in_place = 1;
                   return graph ? synfire_graph_record_backward(graph, with.two_variables, &desc)
                                : synfire_layer_backward(with.two_variables, &desc, nullptr);
                 }});
  all.push_back(
      {"gradient of a parameter", true, true, [](const Surroundings& with, synfire_buffer x, synfire_graph graph) {
         synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
         desc.grad_spike_seq = with.source;
         const synfire_parameter_gradient gradient = {"tau", x};
         desc.parameter_gradients = &gradient;
         desc.n_parameter_gradients = 1;
         return graph ? synfire_graph_record_backward(graph, with.wide, &desc)
                      : synfire_layer_backward(with.wide, &desc, nullptr);
       }});
  all.push_back(
      {"conversion of spikes", true, true, [](const Surroundings& with, synfire_buffer x, synfire_graph graph) {
         synfire_convert_spikes_desc desc = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
         desc.n_steps = shape.n_steps;
         desc.n_neurons = shape.n_neurons;
         desc.source = with.source;
         desc.destination = x;
         return graph ? synfire_graph_record_convert_spikes(graph, &desc)
                      : synfire_convert_spikes(with.context, &desc, nullptr);
       }});
  all.push_back({"encoding of rates", true, true, [](const Surroundings& with, synfire_buffer x, synfire_graph graph) {
                   synfire_encode_bernoulli_desc desc = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
                   desc.n_steps = shape.n_steps;
                   desc.n_neurons = shape.n_neurons;
                   desc.rates = with.source;
                   desc.spikes = x;
                   return graph ? synfire_graph_record_encode_bernoulli(graph, &desc)
                                : synfire_encode_bernoulli(with.context, &desc, nullptr);
                 }});
  all.push_back({"scale-and-add", true, true, [](const Surroundings& with, synfire_buffer x, synfire_graph graph) {
                   const synfire_scale_add_desc desc = scale_add_desc(with.source, x, 1, 1);
                   return graph ? synfire_graph_record_scale_add(graph, &desc)
                                : synfire_scale_add(with.context, &desc, nullptr);
                 }});
  all.push_back({"reading of a state", true, true, [](const Surroundings& with, synfire_buffer x, synfire_graph graph) {
                   const synfire_state_desc desc = rows_desc(0, 0, x);
                   return graph ? synfire_graph_record_read_rows(graph, with.over_x, &desc)
                                : synfire_layer_read_rows(with.over_x, &desc, nullptr);
                 }});
  all.push_back({"fill", true, true, [](const Surroundings&, synfire_buffer x, synfire_graph graph) {
                   synfire_fill_desc desc = SYNFIRE_FILL_DESC_INIT;
                   desc.buffer = x;
                   return graph ? synfire_graph_record_fill(graph, &desc) : synfire_buffer_fill(x, 0);
                 }});
  all.push_back({"copy", false, true, [](const Surroundings& with, synfire_buffer x, synfire_graph graph) {
                   synfire_copy_desc desc = SYNFIRE_COPY_DESC_INIT;
                   desc.source = with.source;
                   desc.destination = x;
                   desc.bytes = 4;
                   return synfire_graph_record_copy(graph, &desc);
                 }});
  if (on_host())  // on CUDA a callback must enqueue work
    all.push_back({"native node", false, true, [](const Surroundings&, synfire_buffer x, synfire_graph graph) {
                     synfire_native_desc desc = SYNFIRE_NATIVE_DESC_INIT;
                     desc.callback = do_nothing;
                     desc.writes = &x;
                     desc.n_writes = 1;
                     return synfire_graph_record_native(graph, &desc);
                   }});
  all.push_back({"upload", true, false, [](const Surroundings&, synfire_buffer x, synfire_graph) {
                   const float value = 1;
                   return synfire_buffer_upload(x, 8, &value, sizeof value);
                 }});
  all.push_back({"reported write", true, false,
                 [](const Surroundings&, synfire_buffer x, synfire_graph) { return synfire_buffer_mark_written(x); }});
  return all;
}

class WritesToX : public testing::Test {
 protected:
  Context context = make_context();
  Surroundings with{context};
  Layer layer = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
  Buffer x = make_buffer(context, SYNFIRE_DTYPE_F32, n), grad_x = make_buffer(context, SYNFIRE_DTYPE_F32, n);

  synfire_forward_desc forward_desc(int32_t tape = SYNFIRE_TAPE_RECOMPUTE) const {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = x;
    desc.tape = tape;
    return desc;
  }
  synfire_backward_desc backward_desc() const {
    synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
    desc.grad_spike_seq = with.source;
    desc.grad_x_seq = grad_x;
    return desc;
  }
  void forward(int32_t tape = SYNFIRE_TAPE_RECOMPUTE) const {
    const synfire_forward_desc desc = forward_desc(tape);
    EXPECT_OK(synfire_layer_forward(layer, &desc, nullptr));
  }
  synfire_status backward() const {
    const synfire_backward_desc desc = backward_desc();
    return synfire_layer_backward(layer, &desc, nullptr);
  }
  void expect_stale() const { EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WRITTEN", "x"), backward()); }
  Graph recorded(const Way& way) const {
    Graph graph = make_graph(context);
    EXPECT_OK(way.write(with, x, graph));
    EXPECT_OK(synfire_graph_instantiate(graph));
    return graph;
  }
};

TEST_F(WritesToX, AtOnceMakeATapeStale) {
  for (const Way& way : ways()) {
    if (!way.at_once) continue;
    SCOPED_TRACE(way.name);
    forward();
    EXPECT_OK(backward());
    EXPECT_OK(way.write(with, x, nullptr));
    expect_stale();
  }
}

TEST_F(WritesToX, InReplaysMakeATapeStale) {
  for (const Way& way : ways()) {
    if (!way.recorded) continue;
    SCOPED_TRACE(way.name);
    const Graph graph = recorded(way);
    forward();
    EXPECT_OK(backward());
    for (int time = 0; time < 2; ++time) {
      replay(graph);
      expect_stale();
      forward();
      EXPECT_OK(backward());
    }
    // The same for a graph with only the backward.
    const Graph only_backward = make_graph(context);
    const synfire_backward_desc desc = backward_desc();
    EXPECT_OK(synfire_graph_record_backward(only_backward, layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(only_backward));
    replay(only_backward);
    replay(graph);
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WRITTEN", "x"),
                 synfire_graph_launch(only_backward, nullptr, nullptr));
  }
}

// A stored H does not need X.
TEST_F(WritesToX, LeaveAStoredTapeAlone) {
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    EXPECT_OK(synfire_buffer_fill(x, 1.25));
    forward(SYNFIRE_TAPE_STORE);
    EXPECT_OK(backward());
    const std::vector<float> expected = download<float>(grad_x, n);
    EXPECT_OK(synfire_buffer_fill(grad_x, 9));
    if (way.at_once) {
      EXPECT_OK(way.write(with, x, nullptr));
    }
    if (way.recorded) replay(recorded(way));
    EXPECT_OK(backward());
    EXPECT_TRUE(same_bits(download<float>(grad_x, n), expected));
  }
}

// Between a forward and its backward in one graph, and after a forward whose backward comes later.
TEST_F(WritesToX, BehindAForwardOfTheSameGraph) {
  for (const Way& way : ways()) {
    if (!way.recorded) continue;
    SCOPED_TRACE(way.name);
    const synfire_forward_desc recomputed = forward_desc(), stored = forward_desc(SYNFIRE_TAPE_STORE);
    const synfire_backward_desc desc = backward_desc();
    const Graph graph = make_graph(context);
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &recomputed));
    EXPECT_OK(way.write(with, x, graph));
    EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-WRITTEN", "x"),
                 synfire_graph_record_backward(graph, layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(graph));
    replay(graph);
    expect_stale();
    const Graph of_h = make_graph(context);
    EXPECT_OK(synfire_graph_record_forward(of_h, layer, &stored));
    EXPECT_OK(way.write(with, x, of_h));
    EXPECT_OK(synfire_graph_record_backward(of_h, layer, &desc));
  }
}

}  // namespace
}  // namespace synfire_test
