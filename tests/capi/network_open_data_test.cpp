// Data sets that stay in files: the bits of rows in memory in the documented order, whatever files, blocks and threads
// there are; runs that are stopped and go on; files that change, and files that nobody should have written.
#include <filesystem>

#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "row_files.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;

struct Blocks {
  uint32_t block_rows, window_blocks, n_readers;
};

synfire_network_data_desc desc_of(const Blocks& blocks) {
  synfire_network_data_desc desc = SYNFIRE_NETWORK_DATA_DESC_INIT;
  desc.block_rows = blocks.block_rows;
  desc.window_blocks = blocks.window_blocks;
  desc.n_readers = blocks.n_readers;
  return desc;
}

class OpenData : public testing::Test {
 protected:
  struct Entry {
    std::string path, tensor;
    int32_t role;
  };

  OpenData() {
    plan.n_steps = 4;
    plan.batch = 7;
    plan.sizes = {9, 6, 4};
    plan.input = SYNFIRE_NETWORK_INPUT_VALUES;
    plan.lengths = plan.sample_weights = true;
    plan.dropout = 0.2;
    plan.n_rows = 45;
  }
  ~OpenData() override {
    for (const std::string& path : paths_) std::remove(path.c_str());
  }

  uint32_t n_rows() const { return static_cast<uint32_t>(plan.n_rows); }
  uint64_t order_seed() const { return random_seed(plan.seed, "", "order"); }

  void make_rows() {
    const Data data = make_data(context, plan, plan.n_rows, 3);
    const auto rows = static_cast<uint64_t>(plan.n_rows);
    const uint64_t steps = static_cast<uint64_t>(plan.n_steps), width = static_cast<uint64_t>(plan.sizes.front());
    inputs = rows_of(data.inputs, "F32", "<f4", 4, rows, {steps, width});
    labels = rows_of(data.labels, "U32", "<u4", 4, rows, {});
    lengths = rows_of(data.lengths, "U32", "<u4", 4, rows, {});
    weights = rows_of(data.sample_weights, "F32", "<f4", 4, rows, {1});
  }
  std::string write(const std::string& name, const std::string& bytes) {
    const std::string path = test_path(name);
    write_bytes(path, bytes);
    if (std::find(paths_.begin(), paths_.end(), path) == paths_.end()) paths_.push_back(path);
    return path;
  }
  // All rows in five files, whose borders are those of no block.
  std::vector<Entry> write_files() {
    make_rows();
    const uint64_t n = n_rows(), first = n / 2, second = first + 1;
    const std::string a = write("a.safetensors",
                                safetensors_of({{"x", &inputs, 0, first}, {"labels", &labels, 0, first}})),
                      b = write("b.npy", npy_of(inputs, first, 1)),
                      c = write("c.safetensors",
                                safetensors_of({{"w", &weights, 0, n}, {"x", &inputs, second, n - second}})),
                      d = write("d.npy", npy_of(labels, first, n - first)), e = write("e.npy", npy_of(lengths, 0, n));
    return {{c, "w", SYNFIRE_ARRAY_SAMPLE_WEIGHTS}, {a, "x", SYNFIRE_ARRAY_INPUTS}, {b, "", SYNFIRE_ARRAY_INPUTS},
            {a, "labels", SYNFIRE_ARRAY_LABELS},    {c, "x", SYNFIRE_ARRAY_INPUTS}, {d, "", SYNFIRE_ARRAY_LABELS},
            {e, "", SYNFIRE_ARRAY_LENGTHS}};
  }
  static synfire_status open(synfire_network network, int32_t set, const std::vector<Entry>& entries,
                             const synfire_network_data_desc* desc = nullptr) {
    std::vector<synfire_data_file> files;
    for (const Entry& one : entries)
      files.push_back({one.path.c_str(), one.tensor.empty() ? nullptr : one.tensor.c_str(), nullptr, one.role, 0});
    return synfire_network_open_data(network, set, files.data(), files.size(), desc);
  }
  static void require_open(synfire_network network, const std::vector<Entry>& entries, const Blocks& blocks) {
    const synfire_network_data_desc desc = desc_of(blocks);
    require_ok(open(network, SYNFIRE_DATA_TRAINING, entries, &desc));
  }
  // The same rows in memory, in this order.
  void set_rows(synfire_network network, int32_t set, const std::vector<uint32_t>& order) const {
    require_ok(synfire_network_set_data(network, set, static_cast<int64_t>(order.size()),
                                        buffer_of_rows(context, SYNFIRE_DTYPE_F32, 4, inputs, order),
                                        buffer_of_rows(context, SYNFIRE_DTYPE_U32, 4, labels, order), nullptr,
                                        buffer_of_rows(context, SYNFIRE_DTYPE_U32, 4, lengths, order),
                                        buffer_of_rows(context, SYNFIRE_DTYPE_F32, 4, weights, order)));
  }
  std::vector<uint32_t> in_order() const {
    std::vector<uint32_t> order(n_rows());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    return order;
  }
  Network build() const {
    Network network = make_stages(context, plan);
    require_ok(synfire_network_build(network));
    return network;
  }
  static std::string tensors_of(synfire_network network) { return FileParts(saved(network)).data; }

  // Trains for some epochs on files and on the rows in memory.
  void compare(const Blocks& blocks) {
    SCOPED_TRACE(testing::Message() << plan << " blocks " << blocks.block_rows << " windows " << blocks.window_blocks
                                    << " readers " << blocks.n_readers);
    const std::vector<Entry> entries = write_files();
    const Network network = build(), expected = build();
    require_open(network, entries, blocks);
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      const std::vector<uint32_t> order =
          epoch_order(n_rows(), std::min(blocks.block_rows, n_rows()), blocks.window_blocks, order_seed(), epoch);
      set_rows(expected, SYNFIRE_DATA_TRAINING, arranged(order, order_seed(), epoch));
      const synfire_network_result here = trained(network, 0), there = trained(expected, 0);
      EXPECT_EQ(here.loss, there.loss);
      EXPECT_EQ(here.n_counted, there.n_counted);
      EXPECT_EQ(here.n_correct, there.n_correct);
      EXPECT_EQ(here.epoch, epoch + 1);
      EXPECT_EQ(here.batch, 0u);
      EXPECT_EQ(tensors_of(network), tensors_of(expected));
    }
  }

  Context context = make_context(2);
  StagePlan plan;
  RowBytes inputs, labels, lengths, weights;

 private:
  std::vector<std::string> paths_;
};

// ---- the same bits --------------------------------------------------------------------------------------------------

TEST_F(OpenData, HasTheBitsOfRowsInMemoryInTheSameOrder) {
  for (const Blocks& blocks : {Blocks{4, 3, 2}, Blocks{1, 1, 1}, Blocks{7, 2, 3}, Blocks{11, 4, 1}, Blocks{45, 1, 1},
                               Blocks{2, 22, 0}, Blocks{100, 9, 2}, Blocks{44, 1, 1}})
    compare(blocks);
  plan.drop_last = 1;
  compare({4, 3, 2});
  compare({1, 1, 2});  // no batch has the last three windows
  plan.batch = 45;
  compare({8, 1, 2});
  plan.drop_last = 0;
  plan.batch = 1;
  compare({6, 2, 2});
  plan.batch = 64;  // more than there are rows
  compare({3, 2, 1});
  plan.n_rows = 3;
  compare({1, 2, 1});
}

// Where the library has no threads of its own, or has the program's, the calling thread reads.
TEST_F(OpenData, NeedsNoThreads) {
  const auto n_threads = [] {
#if defined(__linux__)
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
#else
    return 0;
#endif
  };
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = backend();
  desc.n_threads = 4;
  desc.enqueue_task = [](void*, synfire_task task, void* argument, int32_t n_items, int32_t) -> void* {
    task(argument, 0, n_items);
    return nullptr;
  };
  desc.finish_task = [](void*, void*) {};
  synfire_context with_jobs = nullptr;
  require_ok(synfire_context_create(&desc, &with_jobs));
  std::vector<Context> contexts;
  contexts.push_back(make_context(1));
  contexts.emplace_back(with_jobs);
  for (Context& one : contexts) {
    context = std::move(one);
    const std::vector<Entry> entries = write_files();
    const Network network = build();
    const auto before = n_threads();
    require_open(network, entries, {4, 3, 0});
    if (backend() == SYNFIRE_BACKEND_HOST) {
      EXPECT_EQ(n_threads(), before);
    }
    compare({4, 3, 0});
    compare({45, 1, 0});
  }
}

TEST_F(OpenData, EvaluatesInTheOrderOfTheFiles) {
  const std::vector<Entry> entries = write_files();
  const Network network = build(), expected = build();
  set_rows(expected, SYNFIRE_DATA_EVALUATION, in_order());
  synfire_network_result there = SYNFIRE_NETWORK_RESULT_INIT;
  require_ok(synfire_network_evaluate(expected, &there));
  for (const Blocks& blocks : {Blocks{4, 3, 2}, Blocks{0, 0, 0}, Blocks{1, 1, 1}}) {
    const synfire_network_data_desc desc = desc_of(blocks);
    ASSERT_OK(open(network, SYNFIRE_DATA_EVALUATION, entries, &desc));
    for (int i = 0; i < 3; ++i) {
      synfire_network_result here = SYNFIRE_NETWORK_RESULT_INIT;
      ASSERT_OK(synfire_network_evaluate(network, &here));
      EXPECT_EQ(here.loss, there.loss);
      EXPECT_EQ(here.n_counted, there.n_counted);
      EXPECT_EQ(here.n_correct, there.n_correct);
      EXPECT_EQ(here.n_batches, there.n_batches);
    }
  }
}

// Packed spikes, where elements are words, and an array of a map, whose axes are those of its elements.
TEST_F(OpenData, TakesEveryTypeAndTheAxesOfMaps) {
  plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
  for (const int32_t dtype : {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8}) {
    plan.input_dtype = dtype;
    const Network network = build(), expected = build();
    const Data data = make_data(context, plan, plan.n_rows, 5);
    set_data(expected, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
    const bool is_u8 = dtype == SYNFIRE_DTYPE_U8;
    const std::vector<uint64_t> row = dtype == SYNFIRE_DTYPE_BITS ? std::vector<uint64_t>{4, 1}
                                      : is_u8                     ? std::vector<uint64_t>{4, 3, 1, 3}
                                                                  : std::vector<uint64_t>{9};
    const RowBytes spikes =
        rows_of(data.inputs, is_u8 ? "U8" : "U32", is_u8 ? "|u1" : "<u4", is_u8 ? 1 : 4, n_rows(), row);
    const RowBytes targets = rows_of(data.labels, "U32", "<u4", 4, n_rows(), {1, 1});
    const RowBytes counts = rows_of(data.lengths, "U32", "<u4", 4, n_rows(), {});
    const RowBytes factors = rows_of(data.sample_weights, "F32", "<f4", 4, n_rows(), {});
    const std::string path = write("types.safetensors", safetensors_of({{"labels", &targets, 0, n_rows()},
                                                                        {"lengths", &counts, 0, n_rows()},
                                                                        {"weights", &factors, 0, n_rows()}}));
    ASSERT_OK(open(network, SYNFIRE_DATA_TRAINING,
                   {{write("types.npy", npy_of(spikes, 0, n_rows())), "", SYNFIRE_ARRAY_INPUTS},
                    {path, "labels", SYNFIRE_ARRAY_LABELS},
                    {path, "lengths", SYNFIRE_ARRAY_LENGTHS},
                    {path, "weights", SYNFIRE_ARRAY_SAMPLE_WEIGHTS}}));
    trained(network, 9);
    trained(expected, 9);
    EXPECT_EQ(saved(network), saved(expected));
  }
}

// ---- runs that go on ------------------------------------------------------------------------------------------------

TEST_F(OpenData, OneWindowIsTheOrderOfRowsInMemory) {
  const std::vector<Entry> entries = write_files();
  const Network network = build(), expected = build();
  set_rows(expected, SYNFIRE_DATA_TRAINING, in_order());
  ASSERT_OK(open(network, SYNFIRE_DATA_TRAINING, entries));
  trained(network, 10);
  trained(expected, 10);
  EXPECT_EQ(saved(network), saved(expected));
  // The two may take each other's place within an epoch.
  set_rows(network, SYNFIRE_DATA_TRAINING, in_order());
  ASSERT_OK(open(expected, SYNFIRE_DATA_TRAINING, entries));
  EXPECT_EQ(trained(network, 6).batch, trained(expected, 6).batch);
  EXPECT_EQ(saved(network), saved(expected));
}

TEST_F(OpenData, AStoppedRunGoesOnToTheBit) {
  const std::vector<Entry> entries = write_files();
  const Blocks blocks = {4, 3, 2};
  for (const int64_t stop : {2, 7, 10}) {
    const Network through = build();
    require_open(through, entries, blocks);
    trained(through, stop);
    const File file = saved(through);
    const synfire_network_result expected = trained(through, 9);
    const File at_end = saved(through);
    std::vector<Network> others;
    others.push_back(build());  // the file first, then the rows
    ASSERT_OK(load(others.back(), file));
    EXPECT_EQ(saved(others.back()), file);
    require_open(others.back(), entries, blocks);
    others.push_back(build());  // the rows first, which were used otherwise, by another number of threads
    require_open(others.back(), entries, {4, 3, 1});
    trained(others.back(), 5);
    ASSERT_OK(load(others.back(), file));
    others.push_back(created(context, file));
    require_open(others.back(), entries, {4, 3, 7});
    for (const Network& other : others) {
      EXPECT_EQ(saved(other), file);
      const synfire_network_result result = trained(other, 9);
      EXPECT_EQ(result.loss, expected.loss);
      EXPECT_EQ(result.epoch, expected.epoch);
      EXPECT_EQ(result.batch, expected.batch);
      EXPECT_EQ(saved(other), at_end);
    }
  }
}

#if defined(__linux__)
// A child lacks the threads that were reading. It reads by itself, and goes on with the same bits.
TEST_F(OpenData, AChildAfterForkReadsByItself) {
  if (backend() != SYNFIRE_BACKEND_HOST) GTEST_SKIP() << "a child has no GPU";
  const std::vector<Entry> entries = write_files();
  const Network expected = build();
  Network network = build();
  for (const synfire_network one : {static_cast<synfire_network>(expected), static_cast<synfire_network>(network)}) {
    require_open(one, entries, {2, 3, 3});
    trained(one, 3);
  }
  trained(expected, 8);
  const File at_end = saved(expected);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    trained(network, 8);
    const bool is_same = saved(network) == at_end;
    network = Network();  // without waiting for threads that it lacks
    synfire_context_reclaim(context, nullptr);
    ::_exit(is_same ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  trained(network, 8);
  EXPECT_EQ(saved(network), at_end);
}
#endif

// A place in one order means nothing in another.
TEST_F(OpenData, AnotherOrderBeginsWithTheFirstBatch) {
  const std::vector<Entry> entries = write_files();
  const Network network = build();
  require_open(network, entries, {4, 3, 1});
  trained(network, 5);
  const File file = saved(network);
  require_open(network, entries, {4, 3, 1});  // the same order
  EXPECT_EQ(trained(network, 1).batch, 6u);
  require_open(network, entries, {4, 2, 1});
  EXPECT_EQ(trained(network, 1).batch, 1u);
  set_rows(network, SYNFIRE_DATA_TRAINING, in_order());
  EXPECT_EQ(trained(network, 1).batch, 1u);
  ASSERT_OK(load(network, file));  // of windows, into one of rows in memory
  EXPECT_EQ(trained(network, 1).batch, 1u);
  const Network other = build();
  ASSERT_OK(load(other, file));
  require_open(other, entries, {3, 4, 1});
  EXPECT_EQ(trained(other, 1).batch, 1u);
}

TEST_F(OpenData, GraphsAreNotGivenOut) {
  const std::vector<Entry> entries = write_files();
  const Network network = build();
  ASSERT_OK(open(network, SYNFIRE_DATA_TRAINING, entries));
  ASSERT_OK(open(network, SYNFIRE_DATA_EVALUATION, entries));
  synfire_graph graph = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("[SYN-NETWORK-DATA]", "training data are in files"),
               synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_TRAINING, &graph));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("[SYN-NETWORK-DATA]", "evaluation data are in files"),
               synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_EVALUATION, &graph));
  set_rows(network, SYNFIRE_DATA_TRAINING, in_order());
  ASSERT_OK(synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_TRAINING, &graph));
  synfire_graph_destroy(graph);
}

TEST_F(OpenData, WhatIsInMemoryIsCounted) {
  plan.n_rows = 450;
  const std::vector<Entry> entries = write_files();
  const Network network = build();
  const auto data_bytes = [&] {
    synfire_network_memory memory = SYNFIRE_NETWORK_MEMORY_INIT;
    require_ok(synfire_network_query_memory(network, &memory));
    return memory.data_bytes;
  };
  const uint64_t row_bytes = inputs.row_bytes + labels.row_bytes + lengths.row_bytes + weights.row_bytes;
  require_open(network, entries, {4, 3, 1});
  EXPECT_GE(data_bytes(), 36 * row_bytes);
  EXPECT_LT(data_bytes(), 36 * row_bytes + 512);
  require_open(network, entries, {500, 3, 1});
  EXPECT_GE(data_bytes(), 450 * row_bytes);
  EXPECT_LT(data_bytes(), 450 * row_bytes + 512);
}

// ---- files that change ----------------------------------------------------------------------------------------------

// A file that is cut off stops the training before the batch that needs what is missing, and nothing is lost.
TEST_F(OpenData, AFileThatBecomesShorterStopsTheTraining) {
  const std::vector<Entry> entries = write_files();
  const std::string& path = entries[4].path;
  for (const uint32_t n_readers : {1u, 2u}) {
    const Network network = build(), expected = build();
    require_open(network, entries, {2, 2, n_readers});
    require_open(expected, entries, {2, 2, n_readers});
    trained(expected, 0);
    trained(network, 1);
    const uint64_t size = std::filesystem::file_size(path);
    std::filesystem::resize_file(path, size - 10 * inputs.row_bytes);
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    for (int i = 0; i < 2; ++i)  // it stays as it is
      EXPECT_FAILS(refused, WORDS("[SYN-FILE-READ]", "became shorter", "batches had been launched before"),
                   synfire_network_train(network, 0, &result));
    EXPECT_FAILS(refused, WORDS("[SYN-FILE-READ]", "0 of 3 batches"), synfire_network_train(network, 3, &result));
    std::filesystem::resize_file(path, size);
    {
      std::fstream again(path, std::ios::binary | std::ios::in | std::ios::out);
      again << safetensors_of({{"w", &weights, 0, n_rows()}, {"x", &inputs, 23, n_rows() - 23}});
    }
    EXPECT_EQ(trained(network, 0).epoch, 1u);
    EXPECT_EQ(saved(network), saved(expected));
  }
}

TEST_F(OpenData, WhatCannotBeMeantIsRefusedWhenItIsRead) {
  write_files();
  const float not_a_number = std::numeric_limits<float>::quiet_NaN();
  lengths.bytes.replace(37 * 4, 4, std::string("\4\0\0\0", 4));
  inputs.bytes.replace(37 * inputs.row_bytes + (2 * 9 + 5) * 4, 4,
                       std::string(reinterpret_cast<const char*>(&not_a_number), 4));
  const std::string path = write("bad.safetensors", safetensors_of({{"x", &inputs, 0, n_rows()},
                                                                    {"labels", &labels, 0, n_rows()},
                                                                    {"lengths", &lengths, 0, n_rows()}}));
  const std::vector<Entry> entries = {{path, "x", SYNFIRE_ARRAY_INPUTS},
                                      {path, "labels", SYNFIRE_ARRAY_LABELS},
                                      {path, "lengths", SYNFIRE_ARRAY_LENGTHS}};
  const Network network = build();
  require_open(network, entries, {3, 2, 2});
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  EXPECT_FAILS(refused, WORDS("[SYN-NETWORK-INPUT]", "nan in row 37, step 2, element 5", "launched before"),
               synfire_network_train(network, 0, &result));
  const synfire_network_data_desc desc = desc_of({3, 2, 2});
  ASSERT_OK(open(network, SYNFIRE_DATA_EVALUATION, entries, &desc));
  EXPECT_FAILS(refused, WORDS("[SYN-NETWORK-INPUT]", "row 37"), synfire_network_evaluate(network, &result));
  // Beyond the row's length it counts for nothing.
  lengths.bytes.replace(37 * 4, 4, std::string("\2\0\0\0", 4));
  write("bad.safetensors",
        safetensors_of(
            {{"x", &inputs, 0, n_rows()}, {"labels", &labels, 0, n_rows()}, {"lengths", &lengths, 0, n_rows()}}));
  require_open(network, entries, {3, 2, 2});
  EXPECT_OK(synfire_network_train(network, 0, &result));
}

// ---- what is refused ------------------------------------------------------------------------------------------------

TEST_F(OpenData, RefusesWhatIsNoDataSet) {
  const std::vector<Entry> good = write_files();
  const Network network = build();
  set_rows(network, SYNFIRE_DATA_TRAINING, in_order());
  const File before = saved(network);
  const auto refuses = [&](std::initializer_list<std::string_view> words, auto change) {
    std::vector<Entry> entries = good;
    change(entries);
    EXPECT_FAILS(refused, words, open(network, SYNFIRE_DATA_TRAINING, entries));
  };
  refuses({"[SYN-NETWORK-ARRAY]", "files has no inputs"}, [](auto& entries) {
    std::erase_if(entries, [](const Entry& one) { return one.role == SYNFIRE_ARRAY_INPUTS; });
  });
  refuses({"[SYN-NETWORK-DATA]", "45 rows of inputs and 22 of labels"},
          [](auto& entries) { entries.erase(entries.begin() + 5); });
  refuses({"[SYN-NETWORK-DATA]", "90 of lengths"}, [](auto& entries) { entries.push_back(entries.back()); });
  refuses({"[SYN-NETWORK-ARRAY]", "files[1] has targets"},
          [](auto& entries) { entries[1].role = SYNFIRE_ARRAY_TARGETS; });
  refuses({"[SYN-NETWORK-KIND]", "files[2].role"}, [](auto& entries) { entries[2].role = SYNFIRE_ARRAY_OUTPUTS; });
  refuses({"[SYN-FILE-TENSOR]", "files[1]", "no tensor \"X\"", "\"x\""},
          [](auto& entries) { entries[1].tensor = "X"; });
  refuses({"[SYN-NETWORK-TENSOR]", "files[2]", "has one array"}, [](auto& entries) { entries[2].tensor = "x"; });
  refuses({"[SYN-NETWORK-TENSOR]", "files[1]", "null"}, [](auto& entries) { entries[1].tensor = ""; });
  refuses({"[SYN-FILE-DTYPE]", "files[3]", "F32", "U32 is needed"}, [](auto& entries) {
    entries[3] = {entries[0].path, "w", SYNFIRE_ARRAY_LABELS};
  });
  refuses({"[SYN-FILE-SHAPE]", "files[1]", "[45, 1]", "[4, 9]"}, [](auto& entries) {
    entries[1] = {entries[0].path, "w", SYNFIRE_ARRAY_INPUTS};
  });
  refuses({"[SYN-FILE-OPEN]", "files[0]", "nowhere"}, [](auto& entries) { entries[0].path = "nowhere.safetensors"; });
  refuses({"[SYN-FILE-NPY]", "files[0]"}, [&](auto& entries) {
    entries[0] = {write("no.npy", "no array"), "", SYNFIRE_ARRAY_INPUTS};
  });
  refuses({"[SYN-FILE-LENGTH]", "files[0]"}, [&](auto& entries) { entries[0].path = write("no.safetensors", "no"); });
  // Rows of [K, T] have as many numbers as those of [T, K].
  RowBytes turned = inputs;
  turned.row = {9, 4};
  refuses({"[SYN-FILE-SHAPE]", "[45, 9, 4]"}, [&](auto& entries) {
    entries[1] = {write("turned.npy", npy_of(turned, 0, n_rows())), "", SYNFIRE_ARRAY_INPUTS};
  });
  std::vector<synfire_data_file> files(1, {nullptr, nullptr, nullptr, 0, 0});
  const auto call = [&](uint64_t n, const synfire_network_data_desc* desc) {
    return synfire_network_open_data(network, SYNFIRE_DATA_TRAINING, files.data(), n, desc);
  };
  EXPECT_FAILS(refused, WORDS("files[0].path"), call(1, nullptr));
  files[0] = {"x.npy", nullptr, nullptr, 0, 1};
  EXPECT_FAILS(refused, WORDS("files[0].reserved"), call(1, nullptr));
  files[0].reserved = 0;
  EXPECT_FAILS(refused, WORDS("n_files is 0"), call(0, nullptr));
  EXPECT_FAILS(refused, WORDS("n_files", "65536"), call(65537, nullptr));
  files[0].stage = "nobody";
  EXPECT_FAILS(refused, WORDS("nobody"), call(1, nullptr));
  for (const auto& [field, change] : std::map<std::string, void (*)(synfire_network_data_desc&)>{
           {"desc.n_readers is 65", [](synfire_network_data_desc& desc) { desc.n_readers = 65; }},
           {"desc.block_rows is -1", [](synfire_network_data_desc& desc) { desc.block_rows = -1; }},
           {"desc.window_blocks is 4294967296",
            [](synfire_network_data_desc& desc) { desc.window_blocks = int64_t{1} << 32; }}}) {
    synfire_network_data_desc desc = SYNFIRE_NETWORK_DATA_DESC_INIT;
    change(desc);
    EXPECT_FAILS(refused, WORDS("[SYN-NETWORK-DATA]", field), open(network, SYNFIRE_DATA_TRAINING, good, &desc));
  }
  synfire_network_data_desc desc = SYNFIRE_NETWORK_DATA_DESC_INIT;
  desc.struct_size = 3;
  EXPECT_FAILS(SYNFIRE_ERROR_STRUCT_SIZE, WORDS("desc"), open(network, SYNFIRE_DATA_TRAINING, good, &desc));
  EXPECT_FAILS(refused, WORDS("set is 2"), open(network, 2, good));
  EXPECT_EQ(saved(network), before);
  EXPECT_EQ(trained(network, 1).batch, 1u);  // on the rows in memory, as before

  const Network not_built = make_stages(context, plan);
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("[SYN-NETWORK-NOT-BUILT]"),
               open(not_built, SYNFIRE_DATA_TRAINING, good));
  plan.drop_last = 1;
  plan.batch = 46;
  EXPECT_FAILS(refused, WORDS("[SYN-NETWORK-DATA]", "drop_last"), open(build(), SYNFIRE_DATA_TRAINING, good));
}

// ---- shards ---------------------------------------------------------------------------------------------------------

class Shards : public OpenData {
 protected:
  ~Shards() override { std::filesystem::remove_all(folder_); }
  std::string in_folder(const std::string& name) const { return folder_ + "/" + name; }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& one : std::filesystem::directory_iterator(folder_)) all.push_back(one.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
  }
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    make_rows();
  }
  Network trained_network() const {
    Network network = build();
    set_rows(network, SYNFIRE_DATA_TRAINING, in_order());
    trained(network, 3);
    return network;
  }

 private:
  const std::string folder_ = test_path("shards");
};

TEST_F(Shards, HaveTheTensorsOfOneFile) {
  const Network network = trained_network();
  const File file = saved(network);
  const std::string path = in_folder("net.safetensors"), index = path + ".index.json";
  uint64_t n_shards = 0;
  ASSERT_OK(synfire_network_save_shards(network, path.c_str(), 400, &n_shards));
  EXPECT_GT(n_shards, 2u);
  std::vector<std::string> expected = {"net.safetensors.index.json"};
  for (uint64_t i = n_shards; i > 0; --i) {
    char name[64];
    std::snprintf(name, sizeof name, "net-%05d-of-%05d.safetensors", static_cast<int>(i), static_cast<int>(n_shards));
    expected.insert(expected.begin(), name);
  }
  EXPECT_EQ(names(), expected);
  EXPECT_NE(read(index).find("\"weight_map\":{"), std::string::npos);
  std::vector<Network> others;
  others.push_back(build());
  ASSERT_OK(synfire_network_load(others.back(), index.c_str()));
  synfire_network made = nullptr;
  ASSERT_OK(synfire_network_create_from_file(context, index.c_str(), nullptr, &made));
  others.emplace_back(made);
  for (const Network& other : others) EXPECT_EQ(saved(other), file);
  // The same network gives the same bytes, and arrays are loaded by name.
  const std::string first = read(in_folder(expected.front())), text = read(index);
  ASSERT_OK(synfire_network_save_shards(others.back(), path.c_str(), 400, nullptr));
  EXPECT_EQ(read(in_folder(expected.front())), first);
  EXPECT_EQ(read(index), text);
  const Network other = build();
  synfire_array_source sources[] = {{"s0.weights", nullptr, nullptr, 0, 0}, {"s1.weights", nullptr, nullptr, 0, 0}};
  ASSERT_OK(synfire_network_load_arrays(other, index.c_str(), sources, 2, 0));
  EXPECT_EQ(sources[1].is_loaded, 1);
}

TEST_F(Shards, AreOneFileUpToTheirSize) {
  const Network network = trained_network();
  const std::string path = in_folder("net.safetensors");
  const File file = saved(network);
  const uint64_t tensors = FileParts(file).data.size();
  uint64_t n_shards = 0;
  for (const uint64_t size : {uint64_t{0}, tensors}) {
    ASSERT_OK(synfire_network_save_shards(network, path.c_str(), size, &n_shards));
    EXPECT_EQ(n_shards, 1u);
    EXPECT_EQ(names(), std::vector<std::string>{"net.safetensors"});
    const std::string bytes = read(path);
    ASSERT_EQ(bytes.size(), file.size());
    EXPECT_EQ(std::memcmp(bytes.data(), file.data(), file.size()), 0);
  }
  ASSERT_OK(synfire_network_save_shards(network, path.c_str(), tensors - 1, &n_shards));
  EXPECT_EQ(n_shards, 2u);
  EXPECT_FAILS(refused, WORDS("[SYN-FILE-NAME]", ".safetensors"),
               synfire_network_save_shards(network, in_folder("net.bin").c_str(), 1, &n_shards));
  EXPECT_FAILS(refused, WORDS("[SYN-FILE-WRITE]"),
               synfire_network_save_shards(network, in_folder("nowhere/net.safetensors").c_str(), 1, &n_shards));
}

TEST_F(Shards, AreRefusedIfTheyAreNotTheOnesOfTheIndex) {
  const Network network = trained_network(), other = build();
  const File before = saved(other);
  const std::string path = in_folder("net.safetensors"), index = path + ".index.json";
  uint64_t n_shards = 0;
  require_ok(synfire_network_save_shards(network, path.c_str(), 400, &n_shards));
  const std::string second = in_folder(names()[1]), earlier = read(second);
  const auto refuses = [&](std::initializer_list<std::string_view> words) {
    EXPECT_FAILS(refused, words, synfire_network_load(other, index.c_str()));
    EXPECT_EQ(saved(other), before);
  };
  // A shard of an earlier save of the same network.
  trained(network, 1);
  require_ok(synfire_network_save_shards(network, path.c_str(), 400, &n_shards));
  const std::string text = read(index), bytes = read(second);
  write_bytes(second, earlier);
  refuses({"[SYN-FILE-SHARD]", "shard \"net-00002", "save again"});
  std::filesystem::remove(second);
  refuses({"[SYN-FILE-OPEN]", "net-00002"});
  write_bytes(second, bytes.substr(0, bytes.size() - 1));
  refuses({"[SYN-FILE-OFFSETS]", "shard \"net-00002"});
  write_bytes(second, bytes);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string now = text;
    now.replace(now.find(from), from.size(), to);
    write_bytes(index, now);
  };
  const std::string name = "\"net-00001-of-";
  for (const char* const elsewhere :
       {"\"../net-00001-of-", "\"/net-00001-of-", "\"a\\\\net-00001-of-", "\"c:net-00001-of-"}) {
    changed(name, elsewhere);
    refuses({"[SYN-FILE-INDEX]", "name of a file in the folder"});
  }
  changed("\"weight_map\"", "\"weight_maps\"");
  refuses({"[SYN-FILE-INDEX]", "weight_map"});
  changed("\"weight_map\":{", "\"weight_map\":{\"nobody.weights\":" + ('"' + names()[0] + '"') + ",");
  refuses({"[SYN-FILE-SHARD]", "nobody.weights"});
  changed("{", "[");
  refuses({"[SYN-FILE-JSON]"});
}

// Rows may be in the shards of an index too.
TEST_F(Shards, HoldRows) {
  const uint64_t n = n_rows();
  write_bytes(in_folder("one.safetensors"), safetensors_of({{"x", &inputs, 0, n}}));
  write_bytes(in_folder("two.safetensors"), safetensors_of({{"labels", &labels, 0, n}, {"other", &labels, 0, n}}));
  const std::string index = in_folder("rows.json");
  write_bytes(
      index,
      R"({"metadata": {"total_size": 1.5e3, "more": [null, true, {"a": "b"}]}, "weight_map": {"x": "one.safetensors", "labels": "two.safetensors", "lengths": "two.safetensors"}})");
  const Network network = build(), expected = build();
  ASSERT_OK(open(network, SYNFIRE_DATA_TRAINING,
                 {{index, "x", SYNFIRE_ARRAY_INPUTS}, {index, "labels", SYNFIRE_ARRAY_LABELS}}));
  require_ok(synfire_network_set_data(
      expected, SYNFIRE_DATA_TRAINING, plan.n_rows, buffer_of_rows(context, SYNFIRE_DTYPE_F32, 4, inputs, in_order()),
      buffer_of_rows(context, SYNFIRE_DTYPE_U32, 4, labels, in_order()), nullptr, nullptr, nullptr));
  trained(network, 8);
  trained(expected, 8);
  EXPECT_EQ(saved(network), saved(expected));
  EXPECT_FAILS(refused, WORDS("[SYN-FILE-TENSOR]", "index has no tensor \"other\""),
               open(network, SYNFIRE_DATA_TRAINING,
                    {{index, "x", SYNFIRE_ARRAY_INPUTS}, {index, "other", SYNFIRE_ARRAY_LABELS}}));
  EXPECT_FAILS(refused, WORDS("[SYN-FILE-TENSOR]", "no tensor \"lengths\""),
               open(network, SYNFIRE_DATA_TRAINING,
                    {{index, "x", SYNFIRE_ARRAY_INPUTS}, {index, "lengths", SYNFIRE_ARRAY_LABELS}}));
  // An array of NumPy is not a shard, even one that is open already.
  write_bytes(in_folder("x.npy"), npy_of(inputs, 0, n));
  write_bytes(index, R"({"weight_map": {"labels": "x.npy"}})");
  EXPECT_FAILS(refused, WORDS("[SYN-FILE-LENGTH]", "files[1]"),
               open(network, SYNFIRE_DATA_TRAINING,
                    {{in_folder("x.npy"), "", SYNFIRE_ARRAY_INPUTS}, {index, "labels", SYNFIRE_ARRAY_LABELS}}));
}

}  // namespace
}  // namespace synfire_test
