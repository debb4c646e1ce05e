// Models with three and four variables that an application adds: passes, gradients, states by name, snapshots,
// refusals.
#include "cascade.hpp"

#include "../../docs/examples/models/conductance_based_lif.hpp"
#include "../capi/recursion_rig.hpp"

namespace synfire_test {
namespace {

using synfire::model::Cascade;
using synfire::model::ConductanceBasedLif;

int32_t id_of(const char* name) {
  int32_t id = -1;
  EXPECT_OK(synfire_model_id(name, &id));
  return id;
}

synfire_layer_desc desc_of(const char* name, const Shape& shape = {4, 2, 3}, int32_t dtype = SYNFIRE_DTYPE_F32) {
  synfire_layer_desc desc = describe(shape, dtype);
  desc.model = id_of(name);
  return desc;
}

TEST(FurtherStates, ThreeVariablesInF32) {
  const Context context = make_context();
  expect_recursion<ConductanceBasedLif, float>(context, id_of("conductance_based_lif"));
}
TEST(FurtherStates, ThreeVariablesInF64) {
  const Context context = make_context();
  expect_recursion<ConductanceBasedLif, double>(context, id_of("conductance_based_lif"));
}
TEST(FurtherStates, FourVariablesInF32) {
  const Context context = make_context();
  expect_recursion<Cascade, float>(context, id_of("cascade"));
}
TEST(FurtherStates, FourVariablesInF64) {
  const Context context = make_context();
  expect_recursion<Cascade, double>(context, id_of("cascade"));
}

TEST(FurtherStates, AreReadAndWrittenByName) {
  const Context context = make_context();
  const Layer layer = make_layer(context, desc_of("conductance_based_lif"));
  const std::vector<float> g_e = {1, 2, 3, 4, 5, 6}, g_i = {7, 8, 9, 10, 11, 12};
  std::vector<float> read(6);
  ASSERT_OK(synfire_layer_write_state(layer, "g_e", g_e.data(), 24));
  ASSERT_OK(synfire_layer_write_state(layer, "g_i", g_i.data(), 24));
  ASSERT_OK(synfire_layer_read_state(layer, "w", read.data(), 24));
  EXPECT_EQ(read, g_e);
  ASSERT_OK(synfire_layer_read_state(layer, "g_i", read.data(), 24));
  EXPECT_EQ(read, g_i);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-STATE-NAME", "g_x", "v", "g_e", "g_i"),
               synfire_layer_read_state(layer, "g_x", read.data(), 24));
  const Layer lif = make_layer(context, describe({4, 2, 3}, SYNFIRE_DTYPE_F32));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-STATE-NAME", "w"),
               synfire_layer_read_state(lif, "w", read.data(), 24));
}

TEST(FurtherStates, AreResetCopiedAndSnapshot) {
  const Context context = make_context();
  const Layer a = make_layer(context, desc_of("cascade")), b = make_layer(context, desc_of("cascade"));
  const char* const names[] = {"v", "w", "u", "z"};
  Random random(5);
  std::vector<float> values[4], read(6);
  for (int i = 0; i < 4; ++i) {
    values[i] = random.values<float>(6, -1, 1);
    ASSERT_OK(synfire_layer_write_state(a, names[i], values[i].data(), 24));
  }
  const auto expect_state = [&](synfire_layer layer, bool zero) {
    for (int i = 0; i < 4; ++i) {
      ASSERT_OK(synfire_layer_read_state(layer, names[i], read.data(), 24));
      EXPECT_EQ(read, zero ? std::vector<float>(6) : values[i]) << names[i];
    }
  };
  synfire_copy_rows_desc copy = SYNFIRE_COPY_ROWS_DESC_INIT;
  copy.source = a;
  ASSERT_OK(synfire_layer_copy_rows(b, &copy, nullptr));
  expect_state(b, false);
  uint64_t bytes = 0;
  ASSERT_OK(synfire_layer_snapshot(a, nullptr, nullptr, &bytes));
  std::vector<unsigned char> snapshot(bytes);
  ASSERT_OK(synfire_layer_snapshot(a, nullptr, snapshot.data(), &bytes));
  ASSERT_OK(synfire_layer_reset_state(a, nullptr));
  ASSERT_OK(synfire_context_synchronize(context));
  expect_state(a, true);
  ASSERT_OK(synfire_layer_restore(a, nullptr, snapshot.data(), bytes));
  expect_state(a, false);
}

// A forward continues where the last one ended, in every variable.
TEST(FurtherStates, ContinueFromTheLayersState) {
  const Context context = make_context();
  const Shape both = {8, 1, 5}, half = {4, 1, 5};
  for (const char* const name : {"conductance_based_lif", "cascade"}) {
    const Layer whole = make_layer(context, desc_of(name, both)), parts = make_layer(context, desc_of(name, half));
    const std::vector<float> x = Random(9).values<float>(both.sequence(), -1, 2);
    const Buffer all = make_buffer_of(context, x), v = make_buffer(context, SYNFIRE_DTYPE_F32, 5),
                 v_parts = make_buffer(context, SYNFIRE_DTYPE_F32, 5);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = all, forward.v_final = v;
    ASSERT_OK(synfire_layer_forward(whole, &forward, nullptr));
    for (const size_t first : {size_t{0}, half.sequence()}) {
      const Buffer part = make_buffer_of(context, slice(x, first, half.sequence()));
      forward.x = part, forward.v_final = v_parts;
      ASSERT_OK(synfire_layer_forward(parts, &forward, nullptr));
      ASSERT_OK(synfire_context_synchronize(context));
    }
    EXPECT_TRUE(same_bits(download<float>(v_parts, 5), download<float>(v, 5))) << name;
  }
}

TEST(FurtherStates, FourLeaveNoRoomForACountdown) {
  const Context context = make_context();
  synfire_layer_desc desc = desc_of("cascade");
  synfire_layer layer = nullptr;
  desc.refractory_steps = 1;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-LAYER-COUNTDOWN", "cascade"),
               synfire_layer_create(context, &desc, &layer));
  desc = desc_of("cascade");
  desc.reset = SYNFIRE_RESET_SOFT_DELAYED;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-LAYER-COUNTDOWN", "cascade"),
               synfire_layer_create(context, &desc, &layer));
  EXPECT_EQ(layer, nullptr);
}

TEST(FurtherStates, RefuseBadLists) {
  const Context context = make_context();
  const Layer layer = make_layer(context, desc_of("conductance_based_lif"));
  const Buffer x = make_buffer(context, SYNFIRE_DTYPE_F32, 24), row = make_buffer(context, SYNFIRE_DTYPE_F32, 6),
               other = make_buffer(context, SYNFIRE_DTYPE_F32, 6), third = make_buffer(context, SYNFIRE_DTYPE_F32, 6);
  const auto refused = [&](auto words, auto change) {
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    change(forward);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, words, synfire_layer_forward(layer, &forward, nullptr));
  };
  synfire_state_buffer list[4] = {{"g_i", row}, {"g_i", other}, {nullptr, row}, {"v", row}};
  refused(WORDS("SYN-STATE-TWICE", "g_i"), [&](synfire_forward_desc& f) { f.state_final = list, f.n_state_final = 2; });
  refused(WORDS("SYN-ARGUMENT-NULL", "name"),
          [&](synfire_forward_desc& f) { f.state_final = list + 2, f.n_state_final = 1; });
  refused(WORDS("SYN-ARGUMENT-NULL", "state_seq"), [&](synfire_forward_desc& f) { f.n_state_seq = 1; });
  refused(WORDS("SYN-STATE-NAME", "v"),
          [&](synfire_forward_desc& f) { f.state_final = list + 3, f.n_state_final = 1; });
  refused(WORDS("SYN-STATE-LIST", "4"), [&](synfire_forward_desc& f) { f.state_final = list, f.n_state_final = 4; });
  refused(WORDS("SYN-STATE-TWICE", "w_final"), [&](synfire_forward_desc& f) {
    list[0].name = "g_e";
    f.w_final = other, f.state_final = list, f.n_state_final = 1;
  });
  refused(WORDS("SYN-FORWARD-INIT", "g_i"), [&](synfire_forward_desc& f) { f.v_init = row, f.w_init = other; });
  refused(WORDS("SYN-BUFFER-SIZE", "state_seq"), [&](synfire_forward_desc& f) {
    list[0] = {"g_i", row};
    f.state_seq = list, f.n_state_seq = 1;
  });
  refused(WORDS("SYN-BUFFER-OVERLAP"), [&](synfire_forward_desc& f) {
    list[0] = {"g_i", row};
    f.v_final = row, f.state_final = list, f.n_state_final = 1;
  });
  // H does not tell the conductances, so it cannot replace X.
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x, forward.in_place = 1, forward.tape = SYNFIRE_TAPE_STORE;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("in_place", "conductance_based_lif"),
               synfire_layer_forward(layer, &forward, nullptr));
}

TEST(FurtherStates, CountInTheMemoryQuery) {
  const auto memory_of = [](const char* name) {
    synfire_layer_desc desc = desc_of(name, {64, 2, 100});
    synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
    EXPECT_OK(synfire_layer_query_memory(&desc, &memory));
    return memory;
  };
  EXPECT_EQ(memory_of("cascade").tape_bytes, 4 * memory_of("lif").tape_bytes);
  EXPECT_EQ(memory_of("conductance_based_lif").state_bytes, 3 * memory_of("lif").state_bytes);
}

}  // namespace
}  // namespace synfire_test
