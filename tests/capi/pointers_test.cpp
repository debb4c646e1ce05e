// Passes over addresses: the bits of passes over buffers, with fewer steps and batch rows than the layer has, several
// forwards waiting for their backwards, and the stamps that tell when one waits for nothing.
#include <functional>

#include "storage_rig.hpp"

namespace synfire_test {
namespace {

void* address_of(synfire_buffer buffer) {
  void* data = nullptr;
  if (buffer) {
    EXPECT_OK(synfire_buffer_get_data(buffer, &data, nullptr));
  }
  return data;
}

// Memory of the size that a pass over addresses needs, and its stamp.
struct Tape {
  Buffer memory, scratch;
  synfire_tape_stamp stamp = {};
  uint64_t tape_bytes = 0, scratch_bytes = 0;

  Tape(synfire_context context, synfire_layer layer, int32_t mode, const Shape& shape, uint64_t n_gradients) {
    EXPECT_OK(synfire_layer_get_run_memory(layer, mode, shape.n_steps, shape.batch, n_gradients, &tape_bytes,
                                           &scratch_bytes));
    if (tape_bytes > 0) memory = make_buffer(context, SYNFIRE_DTYPE_U8, tape_bytes);
    if (scratch_bytes > 0) scratch = make_buffer(context, SYNFIRE_DTYPE_U8, scratch_bytes);
  }
};

// The passes of a rig over the addresses of its buffers, on another layer.
struct Pointers {
  synfire_pointers_desc desc = SYNFIRE_POINTERS_DESC_INIT;
  std::vector<synfire_gradient_pointer> gradients;

  Pointers(const StorageRig& rig, const StorageChoice& choice, Tape& tape) {
    const synfire_forward_desc f = rig.forward_desc();
    const synfire_backward_desc b = rig.backward_desc();
    desc.tape = choice.tape;
    desc.n_steps = rig.shape.n_steps;
    desc.batch = rig.shape.batch;
    desc.spike_dtype = choice.types.spikes == as_the_layer ? 0 : choice.types.spikes;
    desc.x = address_of(f.x);
    desc.spikes = address_of(f.spikes);
    desc.v_init = address_of(f.v_init);
    desc.v_final = address_of(f.v_final);
    desc.v_seq = address_of(f.v_seq);
    desc.h_seq = address_of(f.h_seq);
    desc.w_init = address_of(f.w_init);
    desc.w_final = address_of(f.w_final);
    desc.w_seq = address_of(f.w_seq);
    desc.tape_memory = address_of(tape.memory);
    desc.tape_bytes = tape.tape_bytes;
    desc.stamp = &tape.stamp;
    desc.grad_spike_seq = address_of(b.grad_spike_seq);
    desc.grad_v_seq = address_of(b.grad_v_seq);
    desc.grad_v_final = address_of(b.grad_v_final);
    desc.grad_x_seq = address_of(b.grad_x_seq);
    desc.grad_v_init = address_of(b.grad_v_init);
    desc.grad_w_seq = address_of(b.grad_w_seq);
    desc.grad_w_final = address_of(b.grad_w_final);
    desc.grad_w_init = address_of(b.grad_w_init);
    desc.scratch = address_of(tape.scratch);
    desc.scratch_bytes = tape.scratch_bytes;
    for (uint64_t i = 0; i < b.n_parameter_gradients; ++i) {
      synfire_buffer_desc held = SYNFIRE_BUFFER_DESC_INIT;
      EXPECT_OK(synfire_buffer_get_desc(b.parameter_gradients[i].gradient, &held));
      gradients.push_back(
          {b.parameter_gradients[i].name, address_of(b.parameter_gradients[i].gradient), held.n_elements});
    }
    desc.gradient_pointers = gradients.empty() ? nullptr : gradients.data();
    desc.n_gradient_pointers = gradients.size();
  }
};

uint64_t n_gradients_of(const StorageRig& rig) {
  return rig.backward_desc().n_parameter_gradients;
}

class PointersTest : public testing::Test {
 protected:
  const Context context = make_context();
  const Shape whole{70, 3, 19};

  synfire_layer_desc wide(synfire_layer_desc desc) const {
    desc.n_steps = whole.n_steps;
    desc.batch = whole.batch;
    return desc;
  }

  // Both passes over addresses, on a layer of more steps and batch rows, against a layer of this shape with buffers.
  void expect_same_bits(const synfire_layer_desc& desc, const StorageChoice& choice, uint64_t seed) const {
    const Shape shape{desc.n_steps, desc.batch, desc.n_neurons};
    const StorageInputs in = storage_inputs(shape, seed, desc.dtype);
    const StorageOutputs wanted = StorageRig(context, desc, choice).run(in);
    StorageRig rig(context, desc, choice);
    rig.load(in);
    const Layer layer = make_layer(context, wide(desc));
    Tape tape(context, layer, choice.tape, shape, n_gradients_of(rig));
    const Pointers pointers(rig, choice, tape);
    EXPECT_OK(synfire_layer_run_forward(layer, &pointers.desc, nullptr));
    EXPECT_OK(synfire_layer_run_backward(layer, &pointers.desc, nullptr));
    EXPECT_OK(synfire_context_synchronize(context));
    EXPECT_TRUE(same_bits(rig.outputs(), wanted))
        << name_of(desc) << " T " << shape.n_steps << " B " << shape.batch << " tape " << choice.tape;
  }
};

TEST_F(PointersTest, BitsOfBuffersWithFewerStepsAndRows) {
  const Shape shapes[] = {{1, 1, 19}, {5, 2, 19}, {32, 1, 19}, {33, 3, 19}, {70, 3, 19}};
  uint64_t seed = 1;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})
    for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model) {
      const Shape& shape = shapes[seed % std::size(shapes)];
      synfire_layer_desc desc = describe(shape, dtype);
      desc.model = model;
      desc.reset = model % 2 == 0 ? SYNFIRE_RESET_HARD : SYNFIRE_RESET_SOFT;
      StorageChoice choice;
      for (const int32_t tape : {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE, SYNFIRE_TAPE_STORE_NARROW}) {
        if (tape == SYNFIRE_TAPE_STORE_NARROW && !is_narrow(dtype)) continue;
        choice.tape = tape;
        const int32_t formats[] = {as_the_layer, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8};
        choice.types.spikes = formats[seed % std::size(formats)];
        choice.only_spikes = seed % 3 == 0;
        expect_same_bits(desc, choice, seed++);
      }
    }
}

TEST_F(PointersTest, GradientsWithParametersOfNeuronsAndRowsThatAreNotActive) {
  const Shape shape{7, 2, 19};
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64}) {
    const synfire_layer_desc desc = describe(shape, dtype);
    const StorageInputs in = storage_inputs(shape, 5, dtype);
    StorageRig with_buffers(context, desc), rig(context, desc);
    const Layer layer = make_layer(context, wide(desc));
    for (const synfire_layer one : {with_buffers.layer.get(), layer.get()}) {
      set_parameter(one, "tau", Random(6).values<double>(19, 1.5, 3.0));
      EXPECT_OK(synfire_layer_set_n_active(one, 1));
    }
    // Elements that are not computed stay as they were, in both.
    const StorageOutputs wanted = with_buffers.run(in);
    rig.load(in);
    Tape tape(context, layer, SYNFIRE_TAPE_RECOMPUTE, shape, n_gradients_of(rig));
    const Pointers pointers(rig, {}, tape);
    EXPECT_OK(synfire_layer_run_forward(layer, &pointers.desc, nullptr));
    EXPECT_OK(synfire_layer_run_backward(layer, &pointers.desc, nullptr));
    EXPECT_OK(synfire_context_synchronize(context));
    EXPECT_TRUE(same_bits(rig.outputs(), wanted));
  }
}

TEST_F(PointersTest, ForwardsWaitForTheirBackwardsInAnyOrder) {
  const Shape shape{9, 2, 19};
  const synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
  const Layer layer = make_layer(context, wide(desc));
  const StorageInputs inputs[] = {storage_inputs(shape, 11, desc.dtype), storage_inputs(shape, 12, desc.dtype)};
  StorageRig rigs[] = {StorageRig(context, desc), StorageRig(context, desc)};
  Tape tapes[] = {Tape(context, layer, SYNFIRE_TAPE_RECOMPUTE, shape, n_gradients_of(rigs[0])),
                  Tape(context, layer, SYNFIRE_TAPE_RECOMPUTE, shape, n_gradients_of(rigs[0]))};
  const Pointers pointers[] = {Pointers(rigs[0], {}, tapes[0]), Pointers(rigs[1], {}, tapes[1])};
  for (size_t i = 0; i < 2; ++i) {
    rigs[i].load(inputs[i]);
    EXPECT_OK(synfire_layer_run_forward(layer, &pointers[i].desc, nullptr));
  }
  for (const size_t i : {size_t{0}, size_t{1}, size_t{0}})
    EXPECT_OK(synfire_layer_run_backward(layer, &pointers[i].desc, nullptr));
  EXPECT_OK(synfire_context_synchronize(context));
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(rigs[i].outputs(), StorageRig(context, desc).run(inputs[i])));
}

TEST_F(PointersTest, StateOfTheLayerAdvancesAndItsOwnTapeStays) {
  const Shape shape{4, 2, 19};
  const synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
  Rig<float> own(context, desc);
  const Inputs<float> in = random_inputs<float>(shape, 21);
  own.load(in);
  // An eager forward with a tape, then a pass over addresses from the layer's state, then the backward of the first.
  const Layer other = make_layer(context, desc);
  EXPECT_OK(own.run_forward());
  Tape tape(context, own.layer, SYNFIRE_TAPE_RECOMPUTE, shape, 0);
  synfire_pointers_desc pass = SYNFIRE_POINTERS_DESC_INIT;
  pass.x = address_of(own.x);
  pass.v_seq = address_of(own.v_seq);
  pass.tape_memory = address_of(tape.memory);
  pass.tape_bytes = tape.tape_bytes;
  pass.stamp = &tape.stamp;
  EXPECT_OK(synfire_layer_run_forward(own.layer, &pass, nullptr));
  EXPECT_OK(synfire_layer_run_forward(own.layer, &pass, nullptr));
  const std::vector<float> v_seq = download<float>(own.v_seq, shape.sequence());
  EXPECT_TRUE(same_bits(read_state<float>(own.layer, shape.row()), slice(v_seq, 3 * shape.row(), shape.row())));
  const BackwardOutputs<float> after = own.backward();
  EXPECT_OK(own.run_forward());
  EXPECT_TRUE(same_bits(after, own.backward()));
}

TEST_F(PointersTest, WithoutATapeNothingIsNeededBesideX) {
  const Shape shape{33, 1, 19};
  const synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
  Rig<float> rig(context, desc);
  rig.load(random_inputs<float>(shape, 31));
  const ForwardOutputs<float> wanted = rig.forward();
  rig.poison();
  synfire_pointers_desc pass = SYNFIRE_POINTERS_DESC_INIT;
  pass.tape = SYNFIRE_TAPE_NONE;
  pass.x = address_of(rig.x);
  pass.v_init = address_of(rig.v_init);
  pass.spikes = address_of(rig.spikes);
  EXPECT_OK(synfire_layer_run_forward(rig.layer, &pass, nullptr));
  EXPECT_TRUE(same_bits(download<float>(rig.spikes, shape.sequence()), wanted.spikes));
  uint64_t tape_bytes = 1, scratch_bytes = 1;
  EXPECT_OK(synfire_layer_get_run_memory(rig.layer, SYNFIRE_TAPE_NONE, 0, 0, 0, &tape_bytes, &scratch_bytes));
  EXPECT_EQ(tape_bytes + scratch_bytes, 0u);
}

TEST_F(PointersTest, RefusesWithoutChangingAnything) {
  using Change = std::function<void(synfire_pointers_desc&)>;
  const Shape shape{6, 2, 19};
  const synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
  StorageRig rig(context, desc);
  const StorageInputs in = storage_inputs(shape, 41, desc.dtype);
  rig.load(in);
  Tape tape(context, rig.layer, SYNFIRE_TAPE_RECOMPUTE, shape, n_gradients_of(rig));
  const Pointers pointers(rig, {}, tape);
  const auto changed = [&](const Change& change, bool backward) {
    synfire_pointers_desc pass = pointers.desc;
    change(pass);
    return backward ? synfire_layer_run_backward(rig.layer, &pass, nullptr)
                    : synfire_layer_run_forward(rig.layer, &pass, nullptr);
  };
  constexpr synfire_status argument = SYNFIRE_ERROR_INVALID_ARGUMENT, stale = SYNFIRE_ERROR_STALE_TAPE;
  EXPECT_FAILS(stale, WORDS("SYN-TAPE-NONE"), changed([](auto&) {}, true));
  const synfire_gradient_pointer nameless = {nullptr, pointers.gradients[0].gradient, 1},
                                 wrong_length = {"tau", pointers.gradients[0].gradient, 2};
  float other_memory = 0;
  const struct {
    synfire_status status;
    std::initializer_list<std::string_view> words;
    bool backward;
    Change change;
  } rows[] = {
      {argument, {"SYN-RUN-X", "x"}, false, [](auto& d) { d.x = nullptr; }},
      {argument, {"SYN-RUN-LENGTH", "n_steps", "7"}, false, [](auto& d) { d.n_steps = 7; }},
      {argument, {"SYN-RUN-LENGTH", "batch"}, false, [](auto& d) { d.batch = -1; }},
      {argument, {"SYN-RUN-DTYPE", "spike_dtype"}, false, [](auto& d) { d.spike_dtype = SYNFIRE_DTYPE_U64; }},
      {argument, {"SYN-RUN-ALIGNMENT", "x"}, false, [](auto& d) { d.x = static_cast<const char*>(d.x) + 1; }},
      {argument, {"SYN-RUN-MEMORY", "tape_memory"}, false, [](auto& d) { d.tape_memory = nullptr; }},
      {argument, {"SYN-RUN-MEMORY", "tape_memory"}, false, [](auto& d) { --d.tape_bytes; }},
      {argument, {"SYN-RUN-STAMP", "stamp"}, false, [](auto& d) { d.stamp = nullptr; }},
      {argument, {"SYN-FORWARD-TAPE", "tape"}, false, [](auto& d) { d.tape = 4; }},
      {SYNFIRE_ERROR_UNSUPPORTED, {"SYN-TAPE-NARROW"}, false, [](auto& d) { d.tape = SYNFIRE_TAPE_STORE_NARROW; }},
      {argument, {"SYN-LAYER-NO-W", "w_init"}, false, [](auto& d) { d.w_init = d.x; }},
      {argument, {"SYN-GRADIENT-ADD"}, false, [](auto& d) { d.add_parameter_gradients = 2; }},
      {SYNFIRE_ERROR_STRUCT_SIZE, {"SYN-STRUCT-SMALL"}, false, [](auto& d) { d.struct_size = 8; }},
      {argument,
       {"SYN-BACKWARD-OUTPUT"},
       true,
       [](auto& d) {
         d.grad_x_seq = d.grad_v_init = nullptr;
         d.n_gradient_pointers = 0;
       }},
      {argument, {"SYN-RUN-MEMORY", "scratch"}, true, [](auto& d) { d.scratch = nullptr; }},
      {argument, {"SYN-RUN-GRADIENT"}, true, [](auto& d) { d.gradient_pointers = nullptr; }},
      {argument, {"SYN-RUN-GRADIENT", "name"}, true, [&](auto& d) { d.gradient_pointers = &nameless; }},
      {argument, {"SYN-GRADIENT-LENGTH"}, true, [&](auto& d) { d.gradient_pointers = &wrong_length; }},
      {argument, {"SYN-GRADIENT-COUNT"}, true, [](auto& d) { d.n_gradient_pointers = 99; }},
      {stale, {"SYN-TAPE-STAMP", "n_steps"}, true, [](auto& d) { d.n_steps = 5; }},
      {stale, {"SYN-TAPE-STAMP", "batch"}, true, [](auto& d) { d.batch = 1; }},
      {stale, {"SYN-TAPE-STAMP", "tape"}, true, [](auto& d) { d.tape = SYNFIRE_TAPE_STORE; }},
      {stale, {"SYN-TAPE-STAMP", "x"}, true, [&](auto& d) { d.x = &other_memory; }},
      {stale, {"SYN-TAPE-STAMP", "tape_memory"}, true, [&](auto& d) { d.tape_memory = &other_memory; }},
      {stale, {"SYN-TAPE-NONE"}, true, [](auto& d) { d.tape = SYNFIRE_TAPE_NONE; }},
  };
  for (const auto& row : rows) {
    if (!row.backward) {
      EXPECT_FAILS(row.status, row.words, changed(row.change, false));
    }
  }
  EXPECT_OK(changed([](auto&) {}, false));
  for (const auto& row : rows) {
    if (row.backward) {
      EXPECT_FAILS(row.status, row.words, changed(row.change, true));
    }
  }
  EXPECT_OK(changed([](auto&) {}, true));
  EXPECT_OK(synfire_context_synchronize(context));
  EXPECT_TRUE(same_bits(rig.outputs(), StorageRig(context, desc).run(in)));

  // Another layer, and a parameter that changed.
  const Layer other = make_layer(context, desc);
  EXPECT_FAILS(stale, WORDS("SYN-TAPE-STAMP", "layer"), synfire_layer_run_backward(other, &pointers.desc, nullptr));
  set_parameter(rig.layer, "tau", {3.0});
  EXPECT_FAILS(stale, WORDS("SYN-TAPE-PARAMETERS"), changed([](auto&) {}, true));

  // Without a tape, whose size depends on the model.
  synfire_pointers_desc pass = pointers.desc;
  pass.tape = SYNFIRE_TAPE_NONE;
  synfire_layer_desc izhikevich = desc;
  izhikevich.model = SYNFIRE_MODEL_IZHIKEVICH;
  const Layer two = make_layer(context, izhikevich);
  EXPECT_FAILS(argument, WORDS("SYN-FORWARD-INIT", "w_init"), synfire_layer_run_forward(two, &pass, nullptr));
  synfire_layer_desc li = desc;
  li.model = SYNFIRE_MODEL_LI;
  const Layer silent = make_layer(context, li);
  EXPECT_FAILS(argument, WORDS("SYN-LAYER-NO-SPIKES"), synfire_layer_run_forward(silent, &pass, nullptr));
}

}  // namespace
}  // namespace synfire_test
