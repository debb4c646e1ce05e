// Networks that several ranks of one process train together, each on its own thread: what one rank alone has learnt
// from the same batches, bit for bit, and the errors of ranks that differ, give up or do not come.
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "../random_seed.hpp"
#include "held.hpp"
#include "random_graphs.hpp"
#include "row_files.hpp"

#include <graph/operands.hpp>
#include <network/pack_exchanges.hpp>
#include <operations/all_reduce/all_reduce.hpp>
#include <operations/elementwise/copy.hpp>
#include <operations/elementwise/scale_add.hpp>

namespace synfire_test {
namespace {

std::string new_group() {
  static std::atomic<int> n{0};
  return "group " + std::to_string(n++);
}

synfire_status create(synfire_context context, const std::string& group, int32_t rank, int32_t size, Communicator& made,
                      int64_t timeout_ns = 0) {
  synfire_communicator_desc desc = SYNFIRE_COMMUNICATOR_DESC_INIT;
  desc.transport = SYNFIRE_TRANSPORT_LOOPBACK;
  desc.rank = rank;
  desc.size = size;
  desc.id = group.c_str();
  desc.timeout_ns = timeout_ns;
  synfire_communicator handle = nullptr;
  const synfire_status status = synfire_communicator_create(context, &desc, &handle);
  made = Communicator(handle);
  return status;
}

// One of the ranks, in its thread.
struct Rank {
  Context context;
  Communicator together;
  int32_t rank;
};

// Calls the function in a thread of each rank.
void on_ranks(int32_t size, const std::function<void(Rank&)>& body) {
  const std::string group = new_group();
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      Rank one = {make_context_on(SYNFIRE_BACKEND_HOST, 1 + rank % 2), {}, rank};  // of one thread or two
      const synfire_status status = create(one.context, group, rank, size, one.together);
      EXPECT_EQ(status, SYNFIRE_OK) << last_error_text();
      if (status == SYNFIRE_OK) body(one);
    });
  for (std::thread& thread : threads) thread.join();
}

// ---- the same bits --------------------------------------------------------------------------------------------------

// The results of a rank.
struct Outcome {
  File file;
  synfire_network_result trained = SYNFIRE_NETWORK_RESULT_INIT, evaluated = SYNFIRE_NETWORK_RESULT_INIT;
};

void expect_same(const Outcome& one, const Outcome& other) {
  EXPECT_TRUE(one.file == other.file);
  const auto results = [](const Outcome& of) {
    return std::vector<double>{of.trained.loss, of.trained.rate_loss, of.evaluated.loss, of.evaluated.rate_loss};
  };
  EXPECT_TRUE(same_bits(results(one), results(other)));
  for (const auto which : {&Outcome::trained, &Outcome::evaluated}) {
    const synfire_network_result &here = one.*which, &there = other.*which;
    EXPECT_EQ(here.n_counted, there.n_counted);
    EXPECT_EQ(here.n_correct, there.n_correct);
    EXPECT_EQ(here.n_batches, there.n_batches);
    EXPECT_EQ(here.n_skipped, there.n_skipped);
    EXPECT_EQ(here.n_replaced, there.n_replaced);
    EXPECT_EQ(here.epoch, there.epoch);
    EXPECT_EQ(here.batch, there.batch);
  }
}

// None if nothing of the graph learns: it is refused then, on all ranks.
using Run = std::function<std::optional<Outcome>(synfire_context, synfire_communicator)>;

// Returns false if there is nothing to compare.
bool check_ranks(int32_t size, const Run& run) {
  const Context context = make_context_on(SYNFIRE_BACKEND_HOST);
  const std::optional<Outcome> alone = run(context, nullptr);
  on_ranks(size, [&](Rank& one) {
    const std::optional<Outcome> outcome = run(one.context, one.together);
    EXPECT_EQ(outcome.has_value(), alone.has_value());
    if (outcome && alone) expect_same(*outcome, *alone);
  });
  return alone.has_value();
}

constexpr int32_t sizes[] = {2, 3, 5, 1};

struct DrawnNetwork {
  Network network;
  std::vector<DrawnArray> data;
};
// The rates of some neurons are drawn to a target.
std::optional<DrawnNetwork> make_drawn_together(synfire_context context, synfire_communicator together,
                                                const DrawnGraph& graph, uint64_t seed) {
  DrawnNetwork made = {make_drawn(context, graph, 0, together), draw_data(context, graph, seed)};
  if (seed % 3 == 0)
    for (const size_t i : graph.of_kind("neurons"))
      if (graph.stages[i].word != "li") {
        require_ok(synfire_network_set_value(made.network, graph.stages[i].name.c_str(), "rate_target", 0.25));
        require_ok(synfire_network_set_value(made.network, graph.stages[i].name.c_str(), "rate_strength", 0.5));
      }
  const synfire_status status = synfire_network_build(made.network);
  if (status == SYNFIRE_ERROR_WRONG_ORDER) return std::nullopt;
  require_ok(status);
  for (const int32_t set : {SYNFIRE_DATA_TRAINING, SYNFIRE_DATA_EVALUATION})
    require_ok(set_arrays(made.network, set, graph.n_rows, given_arrays(graph, made.data)));
  return made;
}

DrawnGraph drawn_with_rows(uint64_t seed, int64_t batch, int64_t n_rows) {
  DrawnGraph graph = GraphDrawing(seed, SYNFIRE_DTYPE_F32, false).draw();
  graph.batch = batch;
  graph.n_rows = n_rows;
  return graph;
}

// The ranks are those of the host backend, whatever backend is tested. The last batch of an epoch is smaller, so that
// some ranks have few of its rows and others none.
TEST(Ranks, LearnWhatOneAloneLearns) {
  int n_compared = 0;
  for (uint64_t seed = 0; n_compared < (!on_host() ? 2 : is_sanitized() ? 5 : 50); ++seed) {
    const int64_t batch = 5 + static_cast<int64_t>(seed % 4);
    const DrawnGraph graph = drawn_with_rows(seed, batch, 2 * batch + 1 + static_cast<int64_t>(seed % 3));
    SCOPED_TRACE(testing::Message() << "seed " << seed << "\n" << text_of(graph));
    const int64_t n_batches = n_compared % 10 == 0 && !is_sanitized() ? 100 : 5;
    const bool compared = check_ranks(sizes[seed % 4], [&](synfire_context context, synfire_communicator together) {
      std::optional<Outcome> outcome;
      const std::optional<DrawnNetwork> made = make_drawn_together(context, together, graph, seed);
      if (!made) return outcome;
      outcome.emplace();
      require_ok(synfire_network_train(made->network, n_batches, &outcome->trained));
      require_ok(synfire_network_evaluate(made->network, &outcome->evaluated));
      outcome->file = saved(made->network);
      return outcome;
    });
    if (compared) ++n_compared;
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

// Stopped on 2 ranks and resumed on 5, from one file.
TEST(Ranks, GoOnWithAnotherNumber) {
  int n_compared = 0;
  for (uint64_t seed = 100; n_compared < (on_host() && !is_sanitized() ? 8 : 1); ++seed) {
    const DrawnGraph graph = drawn_with_rows(seed, 6, 15);
    SCOPED_TRACE(testing::Message() << "seed " << seed << "\n" << text_of(graph));
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    const Context context = make_context_on(SYNFIRE_BACKEND_HOST);
    const std::optional<DrawnNetwork> alone = make_drawn_together(context, nullptr, graph, seed);
    if (!alone) continue;
    require_ok(synfire_network_train(alone->network, 7, &result));
    const File expected = saved(alone->network);
    File stopped;
    on_ranks(2, [&](Rank& one) {
      synfire_network_result of_rank = SYNFIRE_NETWORK_RESULT_INIT;
      const std::optional<DrawnNetwork> made = make_drawn_together(one.context, one.together, graph, seed);
      require_ok(synfire_network_train(made->network, 4, &of_rank));
      if (one.rank == 1) stopped = saved(made->network);
    });
    on_ranks(5, [&](Rank& one) {
      synfire_network_result of_rank = SYNFIRE_NETWORK_RESULT_INIT;
      const std::optional<DrawnNetwork> made = make_drawn_together(one.context, one.together, graph, seed);
      require_ok(load(made->network, stopped));
      require_ok(synfire_network_train(made->network, 3, &of_rank));
      EXPECT_TRUE(saved(made->network) == expected) << "rank " << one.rank;
    });
    ASSERT_FALSE(testing::Test::HasFailure());
    ++n_compared;
  }
}

// ---- what counts by row ---------------------------------------------------------------------------------------------

struct Written {
  int64_t batch = 7, n_rows = 17, n_steps = 9, n_features = 37;
  int32_t drop_last = 0;
  bool targets = false;  // and transient arrays
  bool delays = false;   // in place of the second dropout and synapse
};

// Rates that are encoded, dropout, parameters that are trained, lengths, weights of rows and of classes.
Network make_written(synfire_context context, synfire_communicator together, const Written& w) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = w.n_steps;
  desc.batch = w.batch;
  desc.seed = 3;
  desc.drop_last = w.drop_last;
  desc.transient_arrays = w.targets ? 1 : 0;
  desc.communicator = together;
  synfire_network handle = nullptr;
  require_ok(synfire_network_create(context, &desc, &handle));
  Network network(handle);
  require_ok(add_stage(network, "input", "in",
                       {text("kind", "rates"), number("n_features", static_cast<double>(w.n_features))}));
  require_ok(add_stage(network, "dropout", "drop", {number("probability", 0.25)}));
  require_ok(add_stage(network, "synapse", "first", {number("n_outputs", 33), number("gain", 4)}));
  require_ok(add_stage(network, "neurons", "hidden", {text("model", "lif")}));
  if (w.delays) {
    require_ok(
        add_stage(network, "delayed", "second",
                  {number("n_outputs", 5), number("max_delay", 3), number("learn_delays", 1), number("gain", 4)}));
  } else {
    require_ok(add_stage(network, "dropout", "drop2", {number("probability", 0.5)}));
    require_ok(add_stage(network, "synapse", "second", {number("n_outputs", 5), number("gain", 4)}));
  }
  require_ok(add_stage(network, "neurons", "out", {text("model", "lif")}));
  require_ok(add_stage(network, "readout", "read", {text("reduction", "mean")}, {reads("out", "v")}));
  require_ok(add_stage(network, "loss", "loss",
                       {text("kind", w.targets ? "mean_squared_error" : "cross_entropy"),
                        number("label_smoothing", w.targets ? 0 : 0.125)}));
  require_ok(add_stage(network, "optimizer", "adam", {text("kind", "adam"), number("learning_rate", 0.01)}));
  require_ok(synfire_network_train_parameter(network, "hidden", "tau", 1, 1, 0, std::nan(""), std::nan("")));
  require_ok(synfire_network_train_parameter(network, "out", "tau", 0, 1, 0, std::nan(""), std::nan("")));
  const float of_classes[] = {1, 0.5f, 2, 0.25f, 3};
  require_ok(synfire_network_set_class_weights(network, "loss", of_classes, 5));
  return network;
}

struct WrittenData {
  Buffer rates, labels, targets, lengths, weights;
};
WrittenData written_data(synfire_context context, const Written& w, uint64_t seed) {
  Random random(seed);
  const auto n = static_cast<size_t>(w.n_rows);
  WrittenData data;
  data.rates = make_buffer_of(context, random.values<float>(n * static_cast<size_t>(w.n_features), 0, 1));
  std::vector<uint32_t> labels(n), lengths(n);
  for (size_t i = 0; i < n; ++i) {
    labels[i] = static_cast<uint32_t>(random.whole(0, 4));
    lengths[i] = static_cast<uint32_t>(random.whole(1, w.n_steps));
  }
  data.labels = make_buffer(context, SYNFIRE_DTYPE_U32, n);
  upload(data.labels, labels);
  data.lengths = make_buffer(context, SYNFIRE_DTYPE_U32, n);
  upload(data.lengths, lengths);
  data.targets = make_buffer_of(context, random.values<float>(n * 5, -1, 1));
  data.weights = make_buffer_of(context, random.values<float>(n, 0.1, 4));
  return data;
}
synfire_status set_written(synfire_network network, int32_t set, const Written& w, const WrittenData& data) {
  return synfire_network_set_data(network, set, w.n_rows, data.rates, w.targets ? nullptr : data.labels.get(),
                                  w.targets ? data.targets.get() : nullptr, data.lengths, data.weights);
}

TEST(Ranks, CountRandomNumbersByTheRowsOfTheBatch) {
  for (const int32_t variant : {0, 1, 2})
    for (const int32_t size : sizes) {
      if (is_sanitized() && size != 3) continue;
      SCOPED_TRACE(testing::Message() << size << " ranks, variant " << variant);
      Written w;
      w.targets = variant == 1;
      w.delays = variant == 2;
      check_ranks(size, [&](synfire_context context, synfire_communicator together) {
        Outcome outcome;
        const Network network = make_written(context, together, w);
        require_ok(synfire_network_build(network));
        const WrittenData data = written_data(context, w, 1);
        for (const int32_t set : {SYNFIRE_DATA_TRAINING, SYNFIRE_DATA_EVALUATION})
          require_ok(set_written(network, set, w, data));
        require_ok(synfire_network_train(network, 0, &outcome.trained));
        require_ok(synfire_network_train(network, 20, &outcome.trained));
        require_ok(synfire_network_evaluate(network, &outcome.evaluated));
        outcome.file = saved(network);
        return std::optional<Outcome>(std::move(outcome));
      });
    }
}

// ---- messages -------------------------------------------------------------------------------------------------------

// It runs lists of operations, with numbers that stand for the contents of arrays.
class Symbols {
 public:
  void run(const synfire::core::OperationList& list) {
    for (const synfire::core::Operation& one : list) run(one);
    EXPECT_TRUE(under_way_.empty());
  }
  const std::map<const void*, uint64_t>& arrays() const { return arrays_; }

 private:
  using AllReduce = synfire::operations::AllReduce;
  using Message = synfire::operations::Message;

  void run(const synfire::core::Operation& one) {
    const auto* const exchange = one.as<AllReduce>();
    if (exchange && exchange->message != Message::whole) {
      EXPECT_EQ(exchange->message == Message::begin, under_way_.empty());  // one after the other
      if (exchange->message == Message::begin) return begin(*exchange);
      EXPECT_EQ(exchange->arrays.size(), under_way_.size());
      under_way_.clear();
    }
    uint64_t read = exchange ? static_cast<uint64_t>(exchange->how) + 1 : 0;
    synfire::core::for_each_operand(one, [&](const auto& operand) {
      EXPECT_EQ(std::ranges::count(under_way_, operand.view.data), 0) << "it is being exchanged";
      if (operand.is_read() && !exchange) read = random_seed(read, "", std::to_string(arrays_[operand.view.data]));
    });
    synfire::core::for_each_operand(one, [&](const auto& operand) {
      uint64_t& array = arrays_[operand.view.data];
      if (operand.is_written()) array = exchange ? random_seed(array, "joined", std::to_string(read)) : read;
    });
  }
  void begin(const AllReduce& exchange) {
    for (const synfire::core::View& array : exchange.arrays) under_way_.push_back(array.data);
  }

  std::map<const void*, uint64_t> arrays_;
  std::vector<const void*> under_way_;
};

synfire::core::View array_of_list(uint64_t number) {
  synfire::core::View view;
  view.data = reinterpret_cast<void*>((number + 1) << 12);
  view.bytes = 64;
  view.transient = static_cast<int32_t>(number) + 1;
  return view;
}

TEST(Exchanges, LeaveWhatAListComputes) {
  namespace inside = synfire::operations;
  size_t all_arrays = 0, all_messages = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const auto any_array = [&] { return array_of_list(static_cast<uint64_t>(random.whole(0, 9))); };
    synfire::core::OperationList list;
    std::vector<uint32_t> owners;
    owners.reserve(40);
    size_t n_arrays = 0;
    for (uint32_t i = 0; i < 40; ++i) {
      const int64_t kind = random.whole(0, 3);
      n_arrays += kind == 0 ? 1 : 0;
      owners.push_back(i);
      if (kind == 0)
        list.emplace_back(inside::AllReduce{
            {}, random.whole(0, 1) != 0 ? synfire::ranks::Join::sum : synfire::ranks::Join::largest, {any_array()}});
      else if (kind == 1)
        list.emplace_back(inside::Copy{any_array(), any_array()});
      else
        list.emplace_back(inside::ScaleAdd{any_array(), any_array(), 1, 1});
    }
    Symbols expected;
    expected.run(list);
    for (const uint64_t most_held : {uint64_t{0}, uint64_t{300}, UINT64_MAX}) {
      synfire::core::OperationList packed = list;
      std::vector<uint32_t> owners_of_packed = owners;
      const synfire::network::ExchangeCounts counts =
          synfire::network::pack_exchanges(packed, owners_of_packed, most_held);
      EXPECT_EQ(counts.n_arrays, n_arrays);
      EXPECT_LE(counts.n_messages, n_arrays);
      EXPECT_EQ(packed.size(), owners_of_packed.size());
      if (most_held == UINT64_MAX) {
        all_arrays += n_arrays;
        all_messages += counts.n_messages;
      }
      Symbols found;
      found.run(packed);
      EXPECT_EQ(found.arrays(), expected.arrays()) << "seed " << seed << ", " << most_held << " bytes";
    }
  }
  EXPECT_LT(all_messages, all_arrays * 3 / 4);
}

// Layers of neurons, one after the other.
Network make_deep(synfire_context context, synfire_communicator together, int64_t n_layers, int64_t width,
                  int64_t n_steps, int64_t batch) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = n_steps;
  desc.batch = batch;
  desc.seed = 5;
  desc.transient_arrays = 1;
  desc.communicator = together;
  synfire_network handle = nullptr;
  require_ok(synfire_network_create(context, &desc, &handle));
  Network network(handle);
  require_ok(add_stage(network, "input", "in", {text("kind", "rates"), number("n_features", 16)}));
  for (int64_t i = 0; i < n_layers; ++i) {
    const std::string layer = std::to_string(i);
    require_ok(add_stage(network, "synapse", ("synapse" + layer).c_str(),
                         {number("n_outputs", static_cast<double>(width)), number("gain", 4)}));
    require_ok(add_stage(network, "neurons", ("neurons" + layer).c_str(), {text("model", "lif")}));
  }
  require_ok(add_stage(network, "readout", "read", {text("reduction", "mean")}));
  require_ok(add_stage(network, "loss", "loss", {text("kind", "cross_entropy")}));
  require_ok(add_stage(network, "optimizer", "adam", {text("kind", "adam")}));
  require_ok(synfire_network_build(network));
  Random random(1);
  std::vector<uint32_t> classes(static_cast<size_t>(batch));
  for (uint32_t& one : classes) one = static_cast<uint32_t>(random.whole(0, width - 1));
  const Buffer rates = make_buffer_of(context, random.values<float>(static_cast<size_t>(batch) * 16, 0, 1)),
               labels = make_buffer(context, SYNFIRE_DTYPE_U32, classes.size());
  upload(labels, classes);
  require_ok(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, batch, rates, labels, nullptr, nullptr, nullptr));
  return network;
}

uint64_t messages_of(synfire_network network, synfire_communicator together, int64_t n_batches) {
  const uint64_t before = synfire::capi::held(together)->n_messages();
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  require_ok(synfire_network_train(network, n_batches, &result));
  return synfire::capi::held(together)->n_messages() - before;
}

// However many layers there are: the maxima and the sums of the losses' shares, then those of all losses and gradients.
TEST(Exchanges, AreFourMessagesForEachBatch) {
  on_ranks(1, [](Rank& one) {
    const Written w;
    const Network few = make_written(one.context, one.together, w);
    require_ok(synfire_network_build(few));
    require_ok(set_written(few, SYNFIRE_DATA_TRAINING, w, written_data(one.context, w, 1)));
    const Network deep = make_deep(one.context, one.together, 9, 8, 3, 4);
    for (const Network* const network : {&few, &deep}) {
      const uint64_t of_call = messages_of(*network, one.together, 1) - 4;
      EXPECT_EQ(messages_of(*network, one.together, 5), of_call + 20);
    }
  });
}

// Large arrays are not held back: the backward of the layers before runs while they are exchanged.
TEST(Exchanges, AreUnderWayDuringTheBackward) {
  if (!on_host() || is_sanitized()) GTEST_SKIP() << "ranks are those of the host backend; a sanitizer takes long";
  const auto run = [](synfire_context context, synfire_communicator together) {
    Outcome outcome;
    const Network network = make_deep(context, together, 6, 64, 256, 64);
    const auto n_messages = [&] { return together ? synfire::capi::held(together)->n_messages() : 0; };
    const uint64_t before = n_messages();
    require_ok(synfire_network_train(network, 1, &outcome.trained));
    // One that compares; and the maxima of gradients are two, of which one is under way.
    EXPECT_EQ(n_messages() - before, together ? 1 + 5 : 0);
    outcome.file = saved(network);
    return std::optional<Outcome>(std::move(outcome));
  };
  check_ranks(2, run);
}

// A message of one rank that is under way when another one gives up.
TEST(Exchanges, EndIfARankGivesUp) {
  on_ranks(3, [](Rank& one) {
    const auto together = synfire::capi::held(one.together.get());
    const synfire::ranks::Communicator::Use use(*together);
    std::vector<uint64_t> array(1000, 1);
    for (int i = 0; i < 10; ++i) {
      together->begin(synfire::ranks::Join::sum, {{array.data(), 600}, {array.data() + 600, 400}});
      together->end();
    }
    EXPECT_EQ(array, std::vector<uint64_t>(1000, 59049));
    const auto give = [&] { together->begin(synfire::ranks::Join::sum, {{array.data(), array.size()}}); };
    if (one.rank == 0) {
      give();
      together->give_up_message();
    } else {
      EXPECT_ANY_THROW({
        for (int i = 0; i < 2; ++i) {
          give();
          together->end();
        }
      });
    }
    EXPECT_ANY_THROW(give());
  });
}

// ---- data in files --------------------------------------------------------------------------------------------------

// A file with all rows of a data set, which a rank opens.
class RowFile {
 public:
  RowFile(const std::string& name, synfire_context context, const Written& w) : path_(test_path(name)), n_(w.n_rows) {
    const WrittenData data = written_data(context, w, 1);
    const auto n = static_cast<uint64_t>(n_);
    rates = rows_of(data.rates, "F32", "<f4", 4, n, {static_cast<uint64_t>(w.n_features)});
    labels = rows_of(data.labels, "U32", "<u4", 4, n, {});
    lengths_ = rows_of(data.lengths, "U32", "<u4", 4, n, {});
    weights_ = rows_of(data.weights, "F32", "<f4", 4, n, {});
    write();
  }
  ~RowFile() { std::remove(path_.c_str()); }
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;

  void write() const {
    const auto n = static_cast<uint64_t>(n_);
    write_bytes(path_, safetensors_of({{"labels", &labels, 0, n},
                                       {"lengths", &lengths_, 0, n},
                                       {"weights", &weights_, 0, n},
                                       {"rates", &rates, 0, n}}));
  }
  const std::string& path() const { return path_; }
  synfire_status open(synfire_network network, int32_t set, const synfire_network_data_desc& desc) const {
    const synfire_data_file files[] = {{path_.c_str(), "rates", nullptr, SYNFIRE_ARRAY_INPUTS, 0},
                                       {path_.c_str(), "labels", nullptr, SYNFIRE_ARRAY_LABELS, 0},
                                       {path_.c_str(), "lengths", nullptr, SYNFIRE_ARRAY_LENGTHS, 0},
                                       {path_.c_str(), "weights", nullptr, SYNFIRE_ARRAY_SAMPLE_WEIGHTS, 0}};
    return synfire_network_open_data(network, set, files, 4, &desc);
  }

  RowBytes rates, labels;

 private:
  const std::string path_;
  const int64_t n_;
  RowBytes lengths_, weights_;
};

synfire_network_data_desc blocks_of(int64_t block_rows, int64_t window_blocks, uint32_t n_readers) {
  synfire_network_data_desc desc = SYNFIRE_NETWORK_DATA_DESC_INIT;
  desc.block_rows = block_rows;
  desc.window_blocks = window_blocks;
  desc.n_readers = n_readers;
  return desc;
}

Network make_reading(synfire_context context, synfire_communicator together, const Written& w, const RowFile& file,
                     const synfire_network_data_desc& desc) {
  Network network = make_written(context, together, w);
  require_ok(synfire_network_build(network));
  for (const int32_t set : {SYNFIRE_DATA_TRAINING, SYNFIRE_DATA_EVALUATION}) require_ok(file.open(network, set, desc));
  return network;
}

TEST(Ranks, ReadTheirRowsOfFiles) {
  struct Case {
    int32_t size;
    int64_t block_rows, window_blocks;
    uint32_t n_readers;
    int32_t drop_last;
    int64_t n_features;
  };
  // With 1,100 features, a rank leaves out rows of others; with 37, it reads them as well.
  const Case cases[] = {{2, 4, 3, 2, 0, 1100}, {3, 1, 1, 0, 1, 1100}, {5, 2, 2, 1, 0, 1100},
                        {5, 7, 2, 3, 1, 37},   {1, 3, 2, 0, 0, 37},   {3, 45, 1, 0, 0, 1100}};
  for (const Case& one : cases) {
    if (one.size != 5 && (is_sanitized() || !on_host())) continue;
    SCOPED_TRACE(testing::Message() << one.size << " ranks, blocks " << one.block_rows << ", windows "
                                    << one.window_blocks);
    Written w;
    w.n_rows = 45;
    w.n_features = one.n_features;
    w.drop_last = one.drop_last;
    const Context context = make_context_on(SYNFIRE_BACKEND_HOST);
    const RowFile file("all.safetensors", context, w);
    const synfire_network_data_desc desc = blocks_of(one.block_rows, one.window_blocks, one.n_readers);
    const auto run = [&](const Network& network) {
      Outcome outcome;
      require_ok(synfire_network_train(network, 0, &outcome.trained));
      require_ok(synfire_network_train(network, 9, &outcome.trained));
      require_ok(synfire_network_evaluate(network, &outcome.evaluated));
      outcome.file = saved(network);
      return outcome;
    };
    check_ranks(one.size, [&](synfire_context of_rank, synfire_communicator together) {
      return std::optional<Outcome>(run(make_reading(of_rank, together, w, file, desc)));
    });
    if (one.block_rows * one.window_blocks < w.n_rows) continue;
    // One window has the order of rows in memory.
    const Network in_memory = make_written(context, nullptr, w);
    require_ok(synfire_network_build(in_memory));
    const WrittenData data = written_data(context, w, 1);
    for (const int32_t set : {SYNFIRE_DATA_TRAINING, SYNFIRE_DATA_EVALUATION})
      require_ok(set_written(in_memory, set, w, data));
    expect_same(run(make_reading(context, nullptr, w, file, desc)), run(in_memory));
  }
}

// The file of each rank has nothing where the others have their rows of the first epoch, but for rows that are compared
// when it is opened. A run is stopped on two ranks, in the middle of the epoch, and goes on with three.
TEST(Ranks, ReadNoOthersRows) {
  Written w;
  w.n_rows = 131;
  w.n_features = 1100;
  const synfire_network_data_desc desc = blocks_of(5, 4, 1);
  const Context context = make_context_on(SYNFIRE_BACKEND_HOST);
  const RowFile whole("whole.safetensors", context, w);
  const Network alone = make_reading(context, nullptr, w, whole, desc);
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  require_ok(synfire_network_train(alone, 0, &result));
  const File expected = saved(alone);
  const std::vector<uint32_t> order = epoch_order(131, 5, 4, random_seed(3, "", "order"), 0);
  std::vector<uint8_t> is_compared(131);
  for (size_t i = 0; i < 64; ++i) is_compared[i * 130 / 63] = 1;
  File stopped;
  for (const int32_t size : {2, 3})
    on_ranks(size, [&](Rank& one) {
      RowFile own("of_rank_" + std::to_string(one.rank) + ".safetensors", one.context, w);
      int32_t n_left_out = 0;
      for (size_t at = 0; at < order.size(); ++at) {
        const size_t row = order[at], in_batch = at % 7, rank = static_cast<size_t>(one.rank);
        const bool is_own =
            in_batch >= rank * 7 / static_cast<size_t>(size) && in_batch < (rank + 1) * 7 / static_cast<size_t>(size);
        if (is_own || is_compared[row] != 0) continue;
        own.rates.bytes.replace(row * own.rates.row_bytes, own.rates.row_bytes,
                                std::string(own.rates.row_bytes, '\xFF'));
        ++n_left_out;
      }
      EXPECT_GT(n_left_out, 20);
      own.write();
      const Network network = make_written(one.context, one.together, w);
      require_ok(synfire_network_build(network));
      require_ok(own.open(network, SYNFIRE_DATA_TRAINING, desc));
      if (size == 3) require_ok(load(network, stopped));
      synfire_network_result of_rank = SYNFIRE_NETWORK_RESULT_INIT;
      require_ok(synfire_network_train(network, size == 2 ? 8 : 0, &of_rank));
      EXPECT_OK(synfire_communicator_barrier(one.together));
      if (size == 2 && one.rank == 1) stopped = saved(network);
      EXPECT_TRUE(size == 2 || saved(network) == expected) << "rank " << one.rank;
    });
}

// A file that one rank cannot open or read is an error on all, and nobody waits.
TEST(Ranks, FailTogetherWhereOneCannotRead) {
  Written w;
  w.n_rows = 45;
  w.n_features = 1100;
  const synfire_network_data_desc desc = blocks_of(3, 2, 1);
  on_ranks(3, [&](Rank& one) {
    const bool odd = one.rank == 1;
    RowFile own("own_" + std::to_string(one.rank) + ".safetensors", one.context, w);
    const Network network = make_written(one.context, one.together, w);
    require_ok(synfire_network_build(network));
    const auto open = [&](const synfire_network_data_desc& with) {
      return own.open(network, SYNFIRE_DATA_TRAINING, with);
    };
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("rank 1 has other data"), open(odd ? blocks_of(2, 2, 1) : desc));
    const RowBytes rates = own.rates;
    own.rates.bytes.replace(44 * rates.row_bytes, 4, std::string(4, '\0'));
    if (odd) own.write();
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("rank 1 has other data"), open(desc));
    own.rates = rates;
    own.write();
    if (odd) std::filesystem::remove(own.path());
    if (odd)
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-FILE-OPEN"), open(desc));
    else
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-COMMUNICATOR-FAILED", "rank 1"), open(desc));
    own.write();
    require_ok(open(desc));
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    require_ok(synfire_network_train(network, 1, &result));
    // A disk that is full is one rank's own trouble.
    if (odd) {
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-FILE-WRITE"),
                   synfire_network_save(network, "/nowhere/a"));
    }
    EXPECT_OK(synfire_communicator_barrier(one.together));
    if (odd) std::filesystem::resize_file(own.path(), std::filesystem::file_size(own.path()) - 40 * rates.row_bytes);
    if (odd)
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-FILE-READ", "became shorter", "launched before"),
                   synfire_network_train(network, 0, &result));
    else
      EXPECT_FAILS(SYNFIRE_ERROR_PEER_LOST, WORDS("SYN-COMMUNICATOR-LOST", "rank 1"),
                   synfire_network_train(network, 0, &result));
    EXPECT_FAILS(SYNFIRE_ERROR_PEER_LOST, WORDS("destroyed"), synfire_communicator_barrier(one.together));
  });
}

// ---- errors ---------------------------------------------------------------------------------------------------------

TEST(Ranks, MustHaveTheSame) {
  on_ranks(3, [](Rank& one) {
    const Written w;
    const bool odd = one.rank == 1;
    {
      const Network other = make_written(one.context, one.together, w);
      if (odd) require_ok(synfire_network_set_value(other, "drop", "probability", 0.375));
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-COMMUNICATOR-OTHER", "rank 1 has other stages or values"),
                   synfire_network_build(other));
    }
    const Network network = make_written(one.context, one.together, w);
    require_ok(synfire_network_build(network));
    WrittenData data = written_data(one.context, w, odd ? 2 : 1);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("rank 1 has other data"),
                 set_written(network, SYNFIRE_DATA_TRAINING, w, data));
    data = written_data(one.context, w, 1);
    // One rank alone makes a mistake: it has its own error, and the others do not wait for it.
    if (odd)
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("labels"),
                   synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, w.n_rows, data.rates, nullptr, nullptr,
                                            nullptr, nullptr));
    else
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-COMMUNICATOR-FAILED", "failed on rank 1"),
                   set_written(network, SYNFIRE_DATA_TRAINING, w, data));
    require_ok(set_written(network, SYNFIRE_DATA_TRAINING, w, data));
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT, no_result = SYNFIRE_NETWORK_RESULT_INIT;
    no_result.struct_size = 1;
    // Arguments that are refused before the network looks at them.
    const auto wrong = [&](int which) {
      const synfire_data_file file = {"none", nullptr, nullptr, odd ? 99 : SYNFIRE_ARRAY_INPUTS, 0};
      const synfire_network_array array = {nullptr, odd ? 99 : SYNFIRE_ARRAY_INPUTS, 0, data.rates.get()};
      switch (which) {
        case 0:
          return synfire_network_train(network, 1, odd ? &no_result : &result);
        case 1:
          return synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, w.n_rows, odd ? nullptr : data.rates.get(),
                                          data.labels, nullptr, data.lengths, data.weights);
        case 2:
          return synfire_network_set_arrays(network, SYNFIRE_DATA_EVALUATION, w.n_rows, &array, 1);
        case 3:
          return synfire_network_open_data(network, SYNFIRE_DATA_TRAINING, &file, 1, nullptr);
        default:
          return synfire_network_evaluate(network, odd ? nullptr : &result);
      }
    };
    for (const int which : {0, 1, 2, 3, 4}) {
      EXPECT_LT(wrong(which), 0);  // the last three are wrong on all ranks
      EXPECT_EQ(last_error_text().find("failed on rank 1") != std::string::npos, !odd && which < 2);
    }
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("another number of batches"),
                 synfire_network_train(network, odd ? 2 : 3, &result));
    if (odd)
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-COMMUNICATOR-CALL"),
                   synfire_communicator_barrier(one.together));
    else
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("rank 1 has called synfire_communicator_barrier"),
                   synfire_network_train(network, 1, &result));
    // Nobody has learnt anything, and nothing is lost.
    EXPECT_OK(synfire_communicator_barrier(one.together));
    EXPECT_OK(synfire_network_train(network, 2, &result));
    EXPECT_EQ(result.n_batches, 2u);
    synfire_graph graph = nullptr;
    EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-NETWORK-RANKS", "not given out"),
                 synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_TRAINING, &graph));
  });
}

TEST(Ranks, RefuseWhatHasAnOrder) {
  const Context context = make_context_on(SYNFIRE_BACKEND_HOST);
  Communicator alone;
  ASSERT_OK(create(context, new_group(), 0, 1, alone));
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 2;
  desc.communicator = alone;
  synfire_network network = nullptr;
  desc.dtype = SYNFIRE_DTYPE_F64;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-NETWORK-ORDERED"),
               synfire_network_create(context, &desc, &network));
  desc.dtype = 0;
  desc.own_loss = SYNFIRE_OWN_LOSS_STARTS;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("own_loss"), synfire_network_create(context, &desc, &network));
  desc.own_loss = 0;
  const Context other = make_context_on(SYNFIRE_BACKEND_HOST);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("desc.communicator"),
               synfire_network_create(other, &desc, &network));
  on_ranks(2, [](Rank& one) {
    synfire_network_desc of_two = SYNFIRE_NETWORK_DESC_INIT;
    of_two.n_steps = 2;
    of_two.communicator = one.together;
    synfire_network made = nullptr;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-RANKS", "each needs a row"),
                 synfire_network_create(one.context, &of_two, &made));
  });
  // Counts over replays are not joined.
  const Network monitored = make_written(context, alone, {});
  ASSERT_OK(synfire_network_keep(monitored, "hidden.monitor"));
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("tally"), synfire_network_build(monitored));
}

TEST(Ranks, AreFewerAfterALoss) {
  on_ranks(3, [](Rank& one) {
    const Written w;
    const Network network = make_written(one.context, one.together, w);
    require_ok(synfire_network_build(network));
    require_ok(set_written(network, SYNFIRE_DATA_TRAINING, w, written_data(one.context, w, 1)));
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    require_ok(synfire_network_train(network, 3, &result));
    const File before = saved(network);
    if (one.rank == 2) {
      EXPECT_OK(synfire_communicator_abort(one.together));
      return;
    }
    EXPECT_FAILS(SYNFIRE_ERROR_PEER_LOST, WORDS("SYN-COMMUNICATOR-LOST", "rank 2"),
                 synfire_network_train(network, 3, &result));
    EXPECT_FAILS(SYNFIRE_ERROR_PEER_LOST, WORDS("destroyed"), synfire_communicator_barrier(one.together));
    // The network is as it was before.
    EXPECT_TRUE(saved(network) == before);
  });
  // One that was destroyed.
  on_ranks(2, [](Rank& one) {
    if (one.rank == 1) {
      one.together.reset();
      while (still_queued(one.context) > 0) std::this_thread::yield();
      return;
    }
    EXPECT_FAILS(SYNFIRE_ERROR_PEER_LOST, WORDS("rank 1"), synfire_communicator_barrier(one.together));
  });
  // One whose thread has ended with all of its objects, and nobody calls the library any more but those that wait.
  on_ranks(2, [](Rank& one) {
    if (one.rank == 1) return;
    EXPECT_FAILS(SYNFIRE_ERROR_PEER_LOST, WORDS("rank 1"), synfire_communicator_barrier(one.together));
  });
}

TEST(Ranks, ComeOrAreMissed) {
  const Context context = make_context_on(SYNFIRE_BACKEND_HOST);
  Communicator made;
  const std::string group = new_group();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("ranks are 0 to 1"), create(context, group, 2, 2, made));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-COMMUNICATOR-RANK"), create(context, group, -1, 2, made));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-COMMUNICATOR-SIZE"), create(context, group, 0, -1, made));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-COMMUNICATOR-RANK"), create(context, group, 1, 0, made));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-COMMUNICATOR-ID"),
               create(context, std::string(65, 'x'), 0, 1, made));
  EXPECT_FAILS(SYNFIRE_ERROR_PEER_LOST, WORDS("SYN-COMMUNICATOR-TIMEOUT", "1 of 2 ranks"),
               create(context, group, 0, 2, made, 1'000'000));
  // One rank comes twice, and one says that the group is larger.
  Communicator waits;
  std::thread first([&] {
    synfire_status status = SYNFIRE_OK;
    while ((status = create(context, group, 1, 2, waits, INT64_MAX)) == SYNFIRE_ERROR_INVALID_ARGUMENT)
      std::this_thread::yield();
    EXPECT_OK(status);
  });
  Communicator other;
  synfire_status status = SYNFIRE_OK;
  while ((status = create(context, group, 1, 2, other, 1'000)) == SYNFIRE_ERROR_PEER_LOST) std::this_thread::yield();
  EXPECT_EQ(status, SYNFIRE_ERROR_INVALID_ARGUMENT);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("say 2"), create(context, group, 2, 3, other));
  EXPECT_OK(create(context, group, 0, 2, made));
  first.join();
  synfire_communicator_properties is = SYNFIRE_COMMUNICATOR_PROPERTIES_INIT;
  EXPECT_OK(synfire_communicator_get_properties(waits, &is));
  EXPECT_EQ(is.transport, SYNFIRE_TRANSPORT_LOOPBACK);
  EXPECT_EQ(is.rank, 1);
  EXPECT_EQ(is.size, 2);
}

TEST(Ranks, AreOfOneThreadAndOfProcessors) {
  const Context context = make_context_on(SYNFIRE_BACKEND_HOST);
  on_ranks(2, [](Rank& one) {
    if (one.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      EXPECT_OK(synfire_communicator_barrier(one.together));
      return;
    }
    std::thread waits([&] { EXPECT_OK(synfire_communicator_barrier(one.together)); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FAILS(SYNFIRE_ERROR_BUSY, WORDS("SYN-COMMUNICATOR-BUSY"), synfire_communicator_barrier(one.together));
    waits.join();
  });
  synfire_communicator_desc desc = SYNFIRE_COMMUNICATOR_DESC_INIT;
  desc.size = 1;
  desc.transport = 7;
  synfire_communicator made = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-COMMUNICATOR-TRANSPORT"),
               synfire_communicator_create(context, &desc, &made));
  // Ranks that MPI starts are in tests/ranks.
  ASSERT_TRUE(set_environment("SYNFIRE_MPI", "/nowhere/libsynfire_mpi.so"));
  desc.transport = SYNFIRE_TRANSPORT_AUTO;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-COMMUNICATOR-MPI"),
               synfire_communicator_create(context, &desc, &made));
  ASSERT_TRUE(set_environment("SYNFIRE_MPI", nullptr));
  if (on_host()) return;
  desc.transport = SYNFIRE_TRANSPORT_LOOPBACK;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-COMMUNICATOR-DEVICE"),
               synfire_communicator_create(make_context(), &desc, &made));
}

TEST(Ranks, AreThoseOfTheEnvironment) {
  const Context context = make_context_on(SYNFIRE_BACKEND_HOST);
  Communicator made;
  const std::string group = new_group();
  const auto with = [&](const char* rank, const char* size) {
    EXPECT_TRUE(set_environment("SYNFIRE_RANK", rank) && set_environment("SYNFIRE_WORLD_SIZE", size));
    return create(context, group, 0, 0, made);
  };
  EXPECT_OK(with("0", "1"));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYNFIRE_WORLD_SIZE=0"), with("0", "0"));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-COMMUNICATOR-ENVIRONMENT", "SYNFIRE_RANK=3"), with("3", "3"));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("\"many\""), with("0", "many"));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYNFIRE_RANK"), with("-1", "3"));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("no SYNFIRE_RANK"), with(nullptr, "3"));
  with(nullptr, nullptr);
}

}  // namespace
}  // namespace synfire_test
