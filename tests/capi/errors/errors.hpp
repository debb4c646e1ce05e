// Every bad input is refused with a status and a text that names the argument and begins with a rule id. A refused
// call changes nothing: out-handles are null, values stay the same, and objects still work. This file has what the
// tests share: one object of each kind, values that are not live handles, and bad buffers for every field.
#ifndef SYNFIRE_TESTS_CAPI_ERRORS_ERRORS_HPP
#define SYNFIRE_TESTS_CAPI_ERRORS_ERRORS_HPP

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../support.hpp"

namespace synfire_test {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline const Shape shape{4, 2, 5};

// A context with one object of each kind, in f32, and a graph that is not instantiated.
class Errors : public testing::Test {
 protected:
  Context context = make_context();
  Rig<float> rig{context, describe(shape, SYNFIRE_DTYPE_F32)};
  Graph graph = make_graph(context);

  // All objects still work: forward and backward run, and the graph records, runs and gives the same results.
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

// Any non-null value, to see that an out-handle is set to null.
template <typename Handle>
Handle some_handle() {
  return reinterpret_cast<Handle>(uintptr_t{0x1234});
}

// ---- Handles --------------------------------------------------------------------------------------------------------

template <typename Handle, typename Other>
Handle as(Other other) {
  return reinterpret_cast<Handle>(other);
}

// The handle that names the slot of another type's object: only the type tag is changed.
template <typename Handle>
Handle forged(Handle of_this_type, uintptr_t other) {
  constexpr int tag_shift = 56;
  return as<Handle>((as<uintptr_t>(of_this_type) >> tag_shift << tag_shift) |
                    (other & ((uintptr_t{1} << tag_shift) - 1)));
}

inline int address_taken = 0;

// Values to pass instead of a live handle of a type.
template <typename Handle>
std::vector<std::pair<std::string, Handle>> bad_handles(Handle stale, const std::vector<uintptr_t>& other_types) {
  std::vector<std::pair<std::string, Handle>> handles = {{"null", nullptr},
                                                         {"stale", stale},
                                                         {"all ones", as<Handle>(~uintptr_t{0})},
                                                         {"one", as<Handle>(uintptr_t{1})},
                                                         {"an address", as<Handle>(std::addressof(address_taken))}};
  for (const uintptr_t other : other_types) {
    handles.emplace_back("another type", as<Handle>(other));
    handles.emplace_back("the slot of another type", forged(stale, other));
  }
  return handles;
}

template <typename Handle>
uintptr_t value_of(const Owned<Handle>& handle) {
  return reinterpret_cast<uintptr_t>(handle.get());
}

// ---- Buffers --------------------------------------------------------------------------------------------------------

// Each buffer of a descriptor in turn, by its name.
using ForwardField = std::pair<const char*, synfire_buffer synfire_forward_desc::*>;
inline const ForwardField forward_fields[] = {
    {"x", &synfire_forward_desc::x},           {"spikes", &synfire_forward_desc::spikes},
    {"v_init", &synfire_forward_desc::v_init}, {"v_final", &synfire_forward_desc::v_final},
    {"v_seq", &synfire_forward_desc::v_seq},   {"h_seq", &synfire_forward_desc::h_seq},
};
using BackwardField = std::pair<const char*, synfire_buffer synfire_backward_desc::*>;
inline const BackwardField backward_fields[] = {
    {"grad_spike_seq", &synfire_backward_desc::grad_spike_seq}, {"grad_v_seq", &synfire_backward_desc::grad_v_seq},
    {"grad_v_final", &synfire_backward_desc::grad_v_final},     {"grad_x_seq", &synfire_backward_desc::grad_x_seq},
    {"grad_v_init", &synfire_backward_desc::grad_v_init},
};

class BadBuffers : public Errors {
 protected:
  void SetUp() override {
    rig.load(random_inputs<float>(shape, 2));
    EXPECT_OK(rig.run_forward());  // leaves a tape, so that only the buffer under test is wrong
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

  // Puts `bad` into one field after the other, eagerly and while recording. Each must be refused by name.
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

}  // namespace synfire_test

#endif
