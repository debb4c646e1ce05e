// Files that networks refuse: damaged ones, those of other networks, and numbers that no network has. Whatever is
// refused changes nothing.
#include <cstdio>
#include <functional>
#include <thread>

#include "../network_file.hpp"
#include "errors.hpp"

namespace synfire_test {
namespace {

constexpr synfire_status argument = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr float nan_of_float = std::numeric_limits<float>::quiet_NaN();

class NetworkFileErrors : public testing::Test {
 protected:
  NetworkFileErrors() {
    plan.n_steps = 3;
    plan.sizes = {9, 5, 3};
    plan.dropout = 0.2;
    plan.train_tau = true;
    network = build(plan);
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, make_data(context, plan, plan.n_rows, 1));
    trained(network, 4);
    file = saved(network);
  }
  Network build(const StagePlan& of, const std::function<void(synfire_network)>& change = {}) const {
    Network made = make_stages(context, of);
    if (change) change(made);
    require_ok(synfire_network_build(made));
    return made;
  }
  FileParts parts() const { return FileParts(file); }

  void expect_unchanged() const { EXPECT_EQ(saved(network), file); }
  // Neither loaded nor made into a network.
  void expect_refused(const File& damaged, std::initializer_list<std::string_view> words) const {
    EXPECT_FAILS(argument, words, load(network, damaged));
    expect_unchanged();
    auto made = some_handle<synfire_network>();
    EXPECT_FAILS(argument, words,
                 synfire_network_create_from_memory(context, damaged.data(), damaged.size(), nullptr, &made));
    EXPECT_EQ(made, nullptr);
  }

  Context context = make_context(2);
  StagePlan plan;
  Network network;
  File file;
};

TEST_F(NetworkFileErrors, AFileCutAnywhereIsRefused) {
  for (size_t length = 0; length < file.size(); ++length) {
    // Memory of exactly this length, so that a sanitizer sees a byte too many.
    const File cut(file.begin(), file.begin() + static_cast<ptrdiff_t>(length));
    const std::byte nothing{};
    const void* const data = length == 0 ? &nothing : cut.data();
    ASSERT_EQ(synfire_network_load_from_memory(network, data, length), argument) << length;
    auto made = some_handle<synfire_network>();
    ASSERT_EQ(synfire_network_create_from_memory(context, data, length, nullptr, &made), argument) << length;
    ASSERT_EQ(made, nullptr);
  }
  File longer = file;
  longer.push_back({});
  expect_refused(longer, WORDS("SYN-FILE-OFFSETS"));
  expect_unchanged();
}

// Every byte of the header replaced by others: refused, or a network that can be saved again.
TEST_F(NetworkFileErrors, AFileChangedAnywhereIsRefusedOrWhole) {
  const size_t length = parts().header.size();
  for (size_t at = 0; at < 8 + length; ++at)
    for (const char to : {'9', '\xFF'}) {
      File changed = file;
      if (changed[at] == static_cast<std::byte>(to)) continue;
      changed[at] = static_cast<std::byte>(to);
      const synfire_status status = load(network, changed);
      if (status == SYNFIRE_OK) {
        saved(network);
        EXPECT_OK(load(network, file));
      } else {
        ASSERT_TRUE(status == argument || status == SYNFIRE_ERROR_OUT_OF_MEMORY) << at << " " << last_error_text();
      }
    }
  expect_unchanged();
}

// Words, numbers and braces put anywhere, pieces left out and doubled, some at once: refused, or a network that can be
// saved again. Random, but the same in every run.
TEST_F(NetworkFileErrors, FilesOfRandomChangesAreRefusedOrWhole) {
  const char* const pieces[] = {"0",
                                "1",
                                "-1",
                                "18446744073709551615",
                                "9223372036854775808",
                                "1e999",
                                "nan",
                                "inf",
                                " ",
                                "=",
                                ",",
                                "version=1",
                                "name=s0",
                                "width=5",
                                "model=lif",
                                "parameter.tau=2",
                                "trained.tau=neuron,1,1,1,2",
                                "has_mask=1",
                                "offset=3",
                                "\"",
                                "\\u0000",
                                "\\uD83D",
                                "{",
                                "}",
                                "[",
                                "]",
                                "kind=",
                                "synapse",
                                "neurons",
                                "\xC3\xA9",
                                "\xFF",
                                "F64",
                                "data_offsets"};
  Random random(17);
  const auto below = [&](size_t n) { return static_cast<size_t>(random.whole(0, static_cast<int64_t>(n) - 1)); };
  int n_loaded = 0;
  for (int i = 0; i < 3000; ++i) {
    FileParts changed(file);
    std::string& header = changed.header;
    for (size_t n = 1 + below(3); n-- > 0;) {
      const size_t at = below(header.size()), length = std::min(below(12), header.size() - at);
      const std::string piece = header.substr(at, length);
      switch (below(4)) {
        case 0:
          header.replace(at, length, pieces[below(std::size(pieces))]);
          break;
        case 1:
          header.insert(at, pieces[below(std::size(pieces))]);
          break;
        case 2:
          header.erase(at, length);
          break;
        default:
          header.insert(below(header.size()), piece);
      }
    }
    const synfire_status status = load(network, changed.whole());
    if (status == SYNFIRE_OK) {
      ++n_loaded;
      saved(network);
      ASSERT_OK(load(network, file));
    } else {
      ASSERT_TRUE(status == argument || status == SYNFIRE_ERROR_OUT_OF_MEMORY) << last_error_text() << header;
    }
  }
  EXPECT_GT(n_loaded, 0);
  expect_unchanged();
}

TEST_F(NetworkFileErrors, FilesThatAreNoNetworks) {
  expect_refused(FileParts(file).replace("synfire.network", "synfire.netwerk").whole(),
                 WORDS("SYN-NETWORK-FILE", "synfire.network"));
  for (const char* const version : {"version=0", "version=3"})
    expect_refused(FileParts(file).replace("version=1", version).whole(),
                   WORDS("SYN-NETWORK-FILE", std::string_view(version).substr(8), "versions 1 to 2"));
  expect_refused(FileParts(file).replace("version=1", "version=2").whole(), WORDS("SYN-NETWORK-FILE", "no \"inputs\""));
  expect_refused(FileParts(file).replace("version=1 ", "").whole(), WORDS("SYN-NETWORK-FILE", "version"));
  expect_refused(FileParts(file).replace("version=1", "version=1 version=1").whole(),
                 WORDS("SYN-NETWORK-FILE", "version", "twice"));
  expect_refused(FileParts(file).replace("version=1", "version=1 later=3").whole(), WORDS("SYN-NETWORK-FILE", "later"));
  expect_refused(FileParts(file).replace("version=1", "version=1 word").whole(),
                 WORDS("SYN-NETWORK-FILE", "word", "KEY"));
  expect_refused(FileParts(file).replace("n_stages=9", "n_stages=10").whole(), WORDS("SYN-NETWORK-FILE", "stage"));
  expect_refused(FileParts(file).replace("n_stages=9", "n_stages=8").whole(),
                 WORDS("SYN-NETWORK-FILE", "synfire.stage.8"));
  expect_refused(FileParts(file).replace("n_stages=9", "n_stages=4097").whole(),
                 WORDS("SYN-NETWORK-FILE", "4097", "4096"));
  expect_refused(FileParts(file).replace("next_batch=4", "next_batch=18446744073709551616").whole(),
                 WORDS("SYN-NETWORK-FILE", "18446744073709551616"));
  expect_refused(FileParts(file).replace("n_rows=10", "n_rows=-1").whole(), WORDS("SYN-NETWORK-FILE", "n_rows"));
  expect_refused(FileParts(file).replace("n_steps=3", "n_steps=18446744073709551619").whole(),
                 WORDS("SYN-NETWORK-FILE", "n_steps"));
  expect_refused(FileParts(file).replace("n_steps=3", "n_steps=0").whole(), WORDS("SYN-NETWORK-STEPS"));
  expect_refused(FileParts(file).replace("dtype=f32", "dtype=f16").whole(), WORDS("SYN-NETWORK-FILE", "f16"));
  expect_refused(FileParts(file).replace("kind=readout", "kind=output").whole(), WORDS("SYN-NETWORK-FILE", "output"));
  expect_refused(FileParts(file).replace("model=lif", "model=lof").whole(), WORDS("SYN-NETWORK-FILE", "lof"));
  expect_refused(FileParts(file).replace("model=lif", "model=lif beta=1").whole(), WORDS("SYN-NETWORK-FILE", "beta"));
  expect_refused(FileParts(file).replace("frozen=0", "frozen=nan").whole(), WORDS("SYN-NETWORK-FILE", "frozen"));
  expect_refused(FileParts(file).replace("frozen=0", "frozen=0x1").whole(), WORDS("SYN-NETWORK-FILE", "frozen"));
  expect_refused(FileParts(file).replace("trained.tau=neuron,0.5,0,1.1,inf", "trained.tau=neuron,0.5,0,1.1").whole(),
                 WORDS("SYN-NETWORK-FILE", "trained.tau"));
}

// With batches of another size, the epoch begins again: its number must be one that can be counted.
TEST_F(NetworkFileErrors, PositionsThatCannotBeCounted) {
  StagePlan smaller = plan;
  smaller.batch = 1;
  const Network other = build(smaller);
  const File before = saved(other);
  const File far = FileParts(file).replace("next_batch=4", "next_batch=18446744073709551614").whole();
  EXPECT_FAILS(argument, WORDS("SYN-NETWORK-FILE", "18446744073709551614", "1"), load(other, far));
  EXPECT_EQ(saved(other), before);
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  desc.batch = 1;
  auto made = some_handle<synfire_network>();
  EXPECT_FAILS(argument, WORDS("SYN-NETWORK-FILE", "18446744073709551614"),
               synfire_network_create_from_memory(context, far.data(), far.size(), &desc, &made));
  EXPECT_EQ(made, nullptr);
}

TEST_F(NetworkFileErrors, DesignsThatCannotBe) {
  expect_refused(FileParts(file).replace("frozen=0", "frozen=2").whole(), WORDS("SYN-NETWORK-VALUE", "frozen", "2"));
  expect_refused(FileParts(file).replace("probability=0.2", "probability=1").whole(), WORDS("SYN-NETWORK-VALUE"));
  expect_refused(FileParts(file).replace("trained.tau", "trained.tao").whole(), WORDS("SYN-PARAMETER-NAME", "tao"));
  expect_refused(FileParts(file).replace("model=lif", "model=lif parameter.tau=2 parameter.decay=3").whole(),
                 WORDS("SYN-NETWORK-VALUE", "decay"));
  expect_refused(FileParts(file).replace("name=s0", "name=drop").whole(), WORDS("SYN-NETWORK-NAME", "drop"));
  expect_refused(FileParts(file).replace("model=lif", "model=li").whole(), WORDS("SYN-NETWORK-CHAIN", "n0"));
  expect_refused(FileParts(file).replace("n_stages=9", "n_stages=3").whole(), WORDS("SYN-NETWORK-INCOMPLETE"));
  expect_refused(FileParts(file).replace("kind=neurons name=n0 width=5", "kind=neurons name=n0 width=6").whole(),
                 WORDS("SYN-NETWORK-WIDTH", "n0", "6", "5"));
  // A width is at most what there are weights for.
  expect_refused(FileParts(file).replace("kind=synapse name=s0 width=5", "kind=synapse name=s0 width=500000").whole(),
                 WORDS("SYN-FILE-SHAPE", "s0.weights"));
  EXPECT_LT(load(network, FileParts(file).replace("n_steps=3", "n_steps=9223372036854775807").whole()), 0);
  auto made = some_handle<synfire_network>();
  const File huge = FileParts(file).replace("n_steps=3", "n_steps=9007199254740992").whole();
  EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-NETWORK-OVERFLOW"),
               synfire_network_create_from_memory(context, huge.data(), huge.size(), nullptr, &made));
  EXPECT_EQ(made, nullptr);
}

TEST_F(NetworkFileErrors, TensorsThatAreMissingOrOthers) {
  for (const char* const name :
       {"s0.weights", "s1.bias", "n0.state.v", "n0.parameter.tau", "optimizer.s0.weights.moment1",
        "optimizer.step_count", "optimizer.n0.parameter.tau.moment2", "optimizer.beta1_power"})
    expect_refused(FileParts(file).replace(std::string("\"") + name + "\"", "\"other\"").whole(),
                   {"SYN-FILE-TENSOR", name});
  expect_refused(FileParts(file).replace("\"s0.bias\":{\"dtype\":\"F32\"", "\"s0.bias\":{\"dtype\":\"U32\"").whole(),
                 WORDS("SYN-FILE-DTYPE", "s0.bias", "U32"));
  expect_refused(FileParts(file).replace("\"shape\":[5,9]", "\"shape\":[9,5]").whole(), WORDS("SYN-FILE-SHAPE"));
}

TEST_F(NetworkFileErrors, NumbersThatNoNetworkHas) {
  expect_refused(FileParts(file).poke("s0.weights", 7, nan_of_float).whole(),
                 WORDS("SYN-NETWORK-NUMBER", "s0.weights", "7", "finite"));
  expect_refused(FileParts(file).poke("s1.bias", 2, -std::numeric_limits<float>::infinity()).whole(),
                 WORDS("SYN-NETWORK-NUMBER", "s1.bias", "2"));
  expect_refused(FileParts(file).poke("optimizer.s1.weights.moment1", 0, nan_of_float).whole(),
                 WORDS("SYN-NETWORK-NUMBER", "optimizer.s1.weights.moment1"));
  expect_refused(FileParts(file).poke("optimizer.s1.weights.moment2", 0, -1e-30F).whole(),
                 WORDS("SYN-NETWORK-NUMBER", "at least 0"));
  expect_refused(FileParts(file).poke("optimizer.beta2_power", 0, 1.5).whole(), WORDS("SYN-NETWORK-NUMBER", "1"));
  expect_refused(FileParts(file).poke("n0.parameter.tau", 3, std::nan("")).whole(), WORDS("SYN-PARAMETER-RANGE"));
  expect_refused(FileParts(file).poke("n0.parameter.tau", 3, -0.5).whole(), WORDS("SYN-PARAMETER-RANGE"));
}

TEST_F(NetworkFileErrors, AnotherNetworkSaysWhereItDiffers) {
  using Change = std::function<void(synfire_network)>;
  const auto refused = [&](const StagePlan& of, const Change& change, std::initializer_list<std::string_view> words) {
    const Network other = build(of, change);
    const File before = saved(other);
    EXPECT_FAILS(argument, words, load(other, file));
    EXPECT_EQ(saved(other), before);
  };
  const auto with = [&](auto change) {
    StagePlan of = plan;
    change(of);
    return of;
  };
  const auto value = [](const char* stage, const char* name, double to) {
    return [=](synfire_network of) { require_ok(synfire_network_set_value(of, stage, name, to)); };
  };
  refused(with([](StagePlan& of) { of.sizes[1] = 6; }), {}, WORDS("SYN-NETWORK-OTHER", "s0", "6", "5"));
  refused(with([](StagePlan& of) { of.sizes = {9, 5, 5, 3}; }), {}, WORDS("SYN-NETWORK-OTHER", "s1", "5", "3"));
  refused(with([](StagePlan& of) { of.dropout = 0; }), {}, WORDS("SYN-NETWORK-OTHER", "s0", "drop"));
  refused(with([](StagePlan& of) {
            of.hidden = SYNFIRE_MODEL_IF;
            of.train_tau = false;
          }),
          {}, WORDS("SYN-NETWORK-OTHER", "model", "if", "lif"));
  refused(with([](StagePlan& of) { of.readout = SYNFIRE_READOUT_SUM; }), {}, WORDS("SYN-NETWORK-OTHER", "readout"));
  refused(with([](StagePlan& of) { of.optimizer = SYNFIRE_OPTIMIZER_KIND_ADAMW; }), {},
          WORDS("SYN-NETWORK-OTHER", "optimizer"));
  refused(with([](StagePlan& of) { of.train_tau = false; }), {}, WORDS("SYN-NETWORK-OTHER", "n0", "trained"));
  refused(with([](StagePlan& of) { of.seed = 8; }), {}, WORDS("SYN-NETWORK-OTHER", "seed"));
  refused(with([](StagePlan& of) { of.drop_last = 1; }), {}, WORDS("SYN-NETWORK-OTHER", "drop_last"));
  refused(with([](StagePlan& of) { of.dtype = SYNFIRE_DTYPE_F64; }), {}, WORDS("SYN-NETWORK-OTHER", "dtype"));
  refused(plan, value("drop", "seed", 99), WORDS("SYN-NETWORK-OTHER", "drop", "seed", "99"));
  refused(plan, value("s1", "gradient_bits", 32), WORDS("SYN-NETWORK-OTHER", "s1", "gradient_bits", "32", "24"));
  refused(plan, value("n0", "reset", SYNFIRE_RESET_SOFT), WORDS("SYN-NETWORK-OTHER", "n0", "reset"));
  refused(plan, value("optimizer", "beta1", 0.8), WORDS("SYN-NETWORK-OTHER", "beta1", "0.8", "0.9"));
  const std::vector<uint8_t> mask(45, 1);
  refused(
      plan, [&](synfire_network of) { require_ok(synfire_network_set_mask(of, "s0", mask.data(), 45)); },
      WORDS("SYN-NETWORK-OTHER", "mask", "s0"));
  const std::vector<float> weights = {1, 2, 3};
  refused(
      plan, [&](synfire_network of) { require_ok(synfire_network_set_class_weights(of, "loss", weights.data(), 3)); },
      WORDS("SYN-NETWORK-OTHER", "class", "loss"));
  // Values without an effect on results may differ.
  for (const auto& change : {value("s0", "gain", 7), value("s0", "seed", 7), value("input", "pinned", 1),
                             value("s1", "initialization", SYNFIRE_INITIALIZATION_ZERO)}) {
    const Network other = build(plan, change);
    EXPECT_OK(load(other, file));
  }
  // A file without an optimiser has nothing for a network that has one.
  const Network inference = created(context, file, 0, 0, true);
  EXPECT_FAILS(argument, WORDS("SYN-NETWORK-OTHER", "loss"), load(network, saved(inference)));
  // Rates that were drawn to a target need a graph that does so.
  StagePlan with_rates = plan;
  with_rates.rate_strength = 0.1;
  EXPECT_FAILS(argument, WORDS("SYN-NETWORK-OTHER", "rate_strength", "n0"), load(network, saved(build(with_rates))));
  expect_unchanged();
}

// Bounds of a trained parameter are compared where both say them: a default is nothing that a network needs.
TEST_F(NetworkFileErrors, OnlyExplicitBoundsAreCompared) {
  StagePlan untrained = plan;
  untrained.train_tau = false;
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto with = [&](double lower, double upper) {
    return build(untrained, [=](synfire_network of) {
      require_ok(synfire_network_train_parameter(of, "n0", "tau", 1, 0.5, 0, lower, upper));
    });
  };
  const Network defaults = with(nan, nan);
  EXPECT_OK(load(defaults, file));  // 1.1, and none
  EXPECT_FAILS(argument, WORDS("SYN-NETWORK-OTHER", "lower", "tau", "1.2", "1.1"), load(with(1.2, nan), file));
  EXPECT_FAILS(argument, WORDS("SYN-NETWORK-OTHER", "upper", "tau"), load(with(nan, 9), file));
  const File of_defaults = saved(defaults);
  EXPECT_OK(load(network, of_defaults));
  EXPECT_OK(load(network, file));
  EXPECT_EQ(saved(created(context, of_defaults)), of_defaults);
  EXPECT_OK(load(with(-infinity, infinity), of_defaults));
  expect_unchanged();
}

TEST_F(NetworkFileErrors, ArgumentsOfFiles) {
  const Network open = make_stages(context, plan);
  uint64_t bytes = 7;
  std::vector<std::byte> memory(file.size());
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-NOT-BUILT"), load(open, file));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-NOT-BUILT"),
               synfire_network_save_to_memory(open, nullptr, &bytes));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-NOT-BUILT"), synfire_network_save(open, "never"));
  EXPECT_EQ(bytes, 7u);
  bytes = file.size() - 1;
  EXPECT_FAILS(argument, WORDS("SYN-FILE-CAPACITY"), synfire_network_save_to_memory(network, memory.data(), &bytes));
  EXPECT_EQ(bytes, file.size() - 1);
  EXPECT_EQ(memory, File(file.size()));
  EXPECT_FAILS(argument, WORDS("bytes"), synfire_network_save_to_memory(network, memory.data(), nullptr));
  EXPECT_FAILS(argument, WORDS("path"), synfire_network_save(network, nullptr));
  EXPECT_FAILS(argument, WORDS("path"), synfire_network_load(network, nullptr));
  EXPECT_FAILS(argument, WORDS("data"), synfire_network_load_from_memory(network, nullptr, 8));
  EXPECT_FAILS(argument, WORDS("SYN-FILE-OPEN"), synfire_network_load(network, "no-such-folder/no-such-file"));
  EXPECT_FAILS(argument, WORDS("SYN-FILE-WRITE"), synfire_network_save(network, "no-such-folder/network.safetensors"));
  EXPECT_FAILS(argument, WORDS("SYN-FILE-WRITE"), synfire_network_save(network, "."));

  const auto create = [&](auto change) {
    synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
    change(desc);
    auto made = some_handle<synfire_network>();
    poison_last_error();
    const synfire_status status = synfire_network_create_from_memory(context, file.data(), file.size(), &desc, &made);
    EXPECT_EQ(made, nullptr);
    return status;
  };
  EXPECT_TRUE(fails_with(create([](auto& desc) { desc.inference = 2; }), argument, WORDS("SYN-NETWORK-FLAG")));
  EXPECT_TRUE(fails_with(create([](auto& desc) { desc.n_steps = -1; }), argument, WORDS("SYN-NETWORK-STEPS")));
  EXPECT_TRUE(fails_with(create([](auto& desc) { desc.batch = -1; }), argument, WORDS("SYN-NETWORK-BATCH")));
  EXPECT_TRUE(fails_with(create([](auto& desc) { desc.n_slots = 65; }), argument, WORDS("SYN-GRAPH-SLOT-COUNT")));
  EXPECT_TRUE(fails_with(create([](auto& desc) { desc.replace_nonfinite = 2; }), argument, WORDS("SYN-NETWORK-FLAG")));
  EXPECT_TRUE(fails_with(create([](auto& desc) { desc.struct_size = 8; }), SYNFIRE_ERROR_STRUCT_SIZE, WORDS("desc")));
  EXPECT_TRUE(fails_with(create([](auto& desc) { desc.n_steps = std::numeric_limits<int64_t>::max(); }),
                         SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-NETWORK-OVERFLOW")));
  auto made = some_handle<synfire_network>();
  EXPECT_FAILS(argument, WORDS("path"), synfire_network_create_from_file(context, nullptr, nullptr, &made));
  EXPECT_EQ(made, nullptr);
  EXPECT_FAILS(argument, WORDS("network"),
               synfire_network_create_from_memory(context, file.data(), file.size(), nullptr, nullptr));
  expect_unchanged();
}

}  // namespace
}  // namespace synfire_test
