// The program's own functions for host memory and for messages, and how much memory objects hold. The functions here
// count every block, compare what is asked for with what is given back, and refuse at the n-th request.
#include <algorithm>
#include <cfenv>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "graph_support.hpp"
#include "network_file.hpp"

namespace synfire_test {
namespace {

class Heap {
 public:
  enum class At { nowhere, refuses, misaligns };

  synfire_memory_desc desc() {
    synfire_memory_desc desc = SYNFIRE_MEMORY_DESC_INIT;
    desc.allocate = [](void* user, uint64_t bytes, uint64_t alignment, int32_t tag) {
      return static_cast<Heap*>(user)->allocate(bytes, alignment, tag);
    };
    desc.release = [](void* user, void* memory, uint64_t bytes, uint64_t alignment, int32_t tag) {
      static_cast<Heap*>(user)->release(memory, {bytes, alignment, tag});
    };
    desc.user = this;
    return desc;
  }

  uint64_t bytes() const {
    const std::lock_guard lock(mutex_);
    uint64_t sum = 0;
    for (const auto& [memory, block] : blocks_) sum += block.bytes;
    return sum;
  }
  uint64_t bytes_of(int32_t tag) const {
    const std::lock_guard lock(mutex_);
    uint64_t sum = 0;
    for (const auto& [memory, block] : blocks_) sum += block.tag == tag ? block.bytes : 0;
    return sum;
  }
  uint64_t n_blocks() const {
    const std::lock_guard lock(mutex_);
    return blocks_.size();
  }
  uint64_t n_requests() const {
    const std::lock_guard lock(mutex_);
    return n_requests_;
  }
  // The n-th request from now on, and all after it.
  void fail(At how, uint64_t nth) {
    const std::lock_guard lock(mutex_);
    fails_ = how;
    left_ = nth;
  }
  bool has_failed() const {
    const std::lock_guard lock(mutex_);
    return fails_ != At::nowhere && left_ == 0;
  }
  int rounding() const { return rounding_; }

 private:
  struct Block {
    uint64_t bytes, alignment;
    int32_t tag;
    bool operator==(const Block&) const = default;
  };

  void* allocate(uint64_t bytes, uint64_t alignment, int32_t tag) {
    const std::lock_guard lock(mutex_);
    rounding_ = std::fegetround();
    EXPECT_GE(bytes, 1u);
    EXPECT_GE(alignment, 16u);
    EXPECT_TRUE(std::has_single_bit(alignment));
    EXPECT_TRUE(tag >= SYNFIRE_TAG_LIBRARY && tag <= SYNFIRE_TAG_MODEL) << tag;
    ++n_requests_;
    const bool fails = fails_ != At::nowhere && (left_ == 0 || --left_ == 0);
    if (fails && fails_ == At::refuses) return nullptr;
    // 16 bytes more, so that an address that is off by 8 has room.
    char* memory = static_cast<char*>(::operator new (bytes + alignment, std::align_val_t{alignment}));
    std::memset(memory, 0xCD, bytes);
    if (fails) memory += 8;
    EXPECT_TRUE(blocks_.emplace(memory, Block{bytes, alignment, tag}).second);
    return memory;
  }
  void release(void* memory, const Block& told) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(memory);
    ASSERT_NE(found, blocks_.end()) << "given back twice, or never given";
    EXPECT_EQ(found->second, told);
    blocks_.erase(found);
    char* const first =
        static_cast<char*>(memory) - (reinterpret_cast<uintptr_t>(memory) % told.alignment == 0 ? 0 : 8);
    std::memset(first, 0xDD, told.bytes);
    ::operator delete (first, std::align_val_t{told.alignment});
  }

  mutable std::mutex mutex_;
  std::map<void*, Block> blocks_;
  uint64_t n_requests_ = 0, left_ = 0;
  At fails_ = At::nowhere;
  int rounding_ = 0;
};

synfire_memory_use use_of_library() {
  synfire_memory_use use = SYNFIRE_MEMORY_USE_INIT;
  EXPECT_OK(synfire_memory_get_use(&use));
  return use;
}
synfire_memory_use use_of(synfire_context context) {
  synfire_memory_use use = SYNFIRE_MEMORY_USE_INIT;
  EXPECT_OK(synfire_context_get_memory_use(context, &use));
  return use;
}
synfire_memory_use use_of(synfire_layer layer) {
  synfire_memory_use use = SYNFIRE_MEMORY_USE_INIT;
  EXPECT_OK(synfire_layer_get_memory_use(layer, &use));
  return use;
}
synfire_memory_use use_of(synfire_graph graph) {
  synfire_memory_use use = SYNFIRE_MEMORY_USE_INIT;
  EXPECT_OK(synfire_graph_get_memory_use(graph, &use));
  return use;
}
synfire_memory_use use_of(synfire_network network) {
  synfire_memory_use use = SYNFIRE_MEMORY_USE_INIT;
  EXPECT_OK(synfire_network_get_memory_use(network, &use));
  return use;
}

uint64_t sum_of_kinds(const synfire_memory_use& use) {
  return use.library_bytes + use.context_bytes + use.buffer_bytes + use.layer_bytes + use.graph_bytes +
         use.synapse_bytes + use.optimizer_bytes + use.network_bytes + use.model_bytes;
}
uint64_t sum_of_memory(const synfire_memory_use& use) {
  return use.host_bytes + use.pinned_bytes + use.device_bytes;
}

const Shape shape{5, 3, 37};

// A layer with an eager forward and backward, and a graph of both with frames.
class LayerAndGraph {
 public:
  explicit LayerAndGraph(synfire_context context)
      : layer(make_layer(context, describe(shape, SYNFIRE_DTYPE_F32))), graph(make_slotted_graph(context, 2)) {
    x = make_frame(context, shape.sequence());
    spikes = make_frame(context, shape.sequence());
    grad_x = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
    grad_tau = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  }
  void run_now() const {
    const synfire_forward_desc forward = forward_desc();
    require_ok(synfire_layer_forward(layer, &forward, nullptr));
    const synfire_parameter_gradient of_tau = {"tau", grad_tau};
    synfire_backward_desc backward = backward_desc();
    backward.parameter_gradients = &of_tau;
    backward.n_parameter_gradients = 1;
    require_ok(synfire_layer_backward(layer, &backward, nullptr));
  }
  void record() const {
    const synfire_forward_desc forward = forward_desc();
    require_ok(synfire_graph_record_forward(graph, layer, &forward));
    const synfire_backward_desc backward = backward_desc();
    require_ok(synfire_graph_record_backward(graph, layer, &backward));
    require_ok(synfire_graph_instantiate(graph));
  }

  Layer layer;
  Graph graph;
  Buffer x, spikes, grad_x, grad_tau;

 private:
  synfire_forward_desc forward_desc() const {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = x;
    desc.spikes = spikes;
    return desc;
  }
  synfire_backward_desc backward_desc() const {
    synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
    desc.grad_spike_seq = spikes;
    desc.grad_x_seq = grad_x;
    return desc;
  }
};

class HostMemory : public testing::Test {
 protected:
  void SetUp() override {
    still_queued();
    const synfire_memory_desc desc = heap.desc();
    ASSERT_OK(synfire_memory_set_functions(&desc));
  }
  void TearDown() override {
    still_queued();
    EXPECT_EQ(heap.bytes(), 0u);
    const synfire_memory_use use = use_of_library();
    EXPECT_EQ(use.host_blocks, 0u);
    EXPECT_EQ(sum_of_memory(use), 0u);
    EXPECT_OK(synfire_memory_set_functions(nullptr));
  }
  // The library counts what the functions gave.
  void expect_counted() const {
    const synfire_memory_use use = use_of_library();
    EXPECT_EQ(use.host_bytes, heap.bytes());
    EXPECT_EQ(use.host_blocks, heap.n_blocks());
    EXPECT_EQ(sum_of_kinds(use), sum_of_memory(use));
    if (!on_host()) return;
    EXPECT_EQ(use.library_bytes, heap.bytes_of(SYNFIRE_TAG_LIBRARY));
    EXPECT_EQ(use.context_bytes, heap.bytes_of(SYNFIRE_TAG_CONTEXT));
    EXPECT_EQ(use.buffer_bytes, heap.bytes_of(SYNFIRE_TAG_BUFFER));
    EXPECT_EQ(use.layer_bytes, heap.bytes_of(SYNFIRE_TAG_LAYER));
    EXPECT_EQ(use.graph_bytes, heap.bytes_of(SYNFIRE_TAG_GRAPH));
    EXPECT_EQ(use.synapse_bytes, heap.bytes_of(SYNFIRE_TAG_SYNAPSE));
    EXPECT_EQ(use.optimizer_bytes, heap.bytes_of(SYNFIRE_TAG_OPTIMIZER));
    EXPECT_EQ(use.network_bytes, heap.bytes_of(SYNFIRE_TAG_NETWORK));
    EXPECT_EQ(use.model_bytes, heap.bytes_of(SYNFIRE_TAG_MODEL));
  }

  Heap heap;
};

// ---- balanced -------------------------------------------------------------------------------------------------------

TEST_F(HostMemory, AContextALayerAndAGraphGiveEverythingBack) {
  {
    const Context context = make_context(3);
    expect_counted();
    const uint64_t empty = use_of(context).host_bytes;
    {
      const LayerAndGraph both(context);
      both.run_now();
      both.record();
      replay(both.graph);
      expect_counted();
    }
    still_queued();
    EXPECT_EQ(use_of(context).host_bytes, empty) << "the objects are gone, and some of their memory is not";
    expect_counted();
  }
  EXPECT_GT(heap.n_requests(), use_of_library().has_containers ? 10u : 2u);
}

// The context is destroyed first, the buffers of the graph before it.
TEST_F(HostMemory, TheOrderOfDestructionDoesNotMatter) {
  Context context = make_context();
  LayerAndGraph both(context);
  both.record();
  context.reset();
  both.x.reset();
  both.layer.reset();
  still_queued();
  expect_counted();
  replay(both.graph);
  both.graph.reset();
  still_queued();
  expect_counted();
}

TEST_F(HostMemory, ANetworkGivesEverythingBack) {
  const Context context = make_context(2);
  const StagePlan plan;
  const Data data = make_data(context, plan, plan.n_rows, 3);
  still_queued();
  const uint64_t before = use_of(context).host_bytes;
  {
    Network network = make_stages(context, plan);
    require_ok(synfire_network_build(network));
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
    trained(network, 3);
    expect_counted();
    const Network copy = created(context, saved(network));
    expect_counted();
  }
  still_queued();
  EXPECT_EQ(use_of(context).host_bytes, before);
}

TEST_F(HostMemory, ALaunchAsksForNothing) {
  const Context context = make_context(2);
  const LayerAndGraph both(context);
  both.record();
  replay(both.graph);
  const uint64_t before = heap.n_requests();
  for (int i = 0; i < 50; ++i) replay(both.graph);
  EXPECT_EQ(heap.n_requests(), before);
}

TEST_F(HostMemory, FromManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int turn = 0; turn < 4; ++turn) {
        const Context context = make_context(2);
        const LayerAndGraph both(context);
        both.run_now();
        both.record();
        replay(both.graph);
        still_queued();
      }
    });
  for (std::thread& thread : threads) thread.join();
  still_queued();
  expect_counted();
}

TEST_F(HostMemory, MoreHandlesThanTheTableHasAtFirst) {
  const Context context = make_context();
  std::vector<Buffer> buffers;
  for (int i = 0; i < 5000; ++i) buffers.push_back(make_buffer(context, SYNFIRE_DTYPE_F32, 1));
  expect_counted();
}

TEST_F(HostMemory, TheFunctionsRunInTheCallersFloatEnvironment) {
  std::fesetround(FE_UPWARD);
  synfire_context made = nullptr;
  const synfire_status status = synfire_context_create(nullptr, &made);
  std::fesetround(FE_TONEAREST);
  const Context context(made);
  EXPECT_TRUE(status >= 0) << last_error_text();
  EXPECT_EQ(heap.rounding(), FE_UPWARD);
}

// ---- numbers --------------------------------------------------------------------------------------------------------

TEST_F(HostMemory, PartsCountInWhatTheyBelongTo) {
  const Context context = make_context(), other = make_context();
  const synfire_memory_use empty = use_of(context), of_other = use_of(other);
  EXPECT_EQ(empty.layer_bytes + empty.graph_bytes + empty.buffer_bytes, 0u);
  const LayerAndGraph both(context);
  const synfire_memory_use layer = use_of(both.layer), graph = use_of(both.graph);
  both.run_now();
  both.record();
  synfire_layer_memory needs = SYNFIRE_LAYER_MEMORY_INIT;
  const synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
  EXPECT_OK(synfire_layer_query_memory(&desc, &needs));
  const auto on_device = [](const synfire_memory_use& use) { return on_host() ? use.host_bytes : use.device_bytes; };
  EXPECT_GE(on_device(layer), needs.state_bytes + needs.parameter_bytes);
  EXPECT_GE(on_device(use_of(both.layer)), on_device(layer) + needs.tape_bytes + needs.gradient_bytes);
  EXPECT_GE(on_device(use_of(both.graph)), on_device(graph) + needs.tape_bytes);
  const synfire_memory_use whole = use_of(context);
  // The counts themselves take memory of their object too, but are not among them.
  EXPECT_NEAR(static_cast<double>(whole.layer_bytes), static_cast<double>(use_of(both.layer).layer_bytes), 512);
  EXPECT_NEAR(static_cast<double>(whole.graph_bytes), static_cast<double>(use_of(both.graph).graph_bytes), 512);
  EXPECT_GE(whole.buffer_bytes, 3 * shape.sequence() * sizeof(float));
  EXPECT_EQ(sum_of_kinds(whole), sum_of_memory(whole));
  const synfire_memory_use of_layer = use_of(both.layer);
  EXPECT_EQ(of_layer.layer_bytes, sum_of_memory(of_layer));
  EXPECT_EQ(sum_of_memory(use_of(other)), sum_of_memory(of_other)) << "another context";
}

TEST_F(HostMemory, ANetworkCountsWhatItConsistsOf) {
  const Context context = make_context();
  const StagePlan plan;
  const Network network = make_stages(context, plan);
  synfire_network_memory needs = SYNFIRE_NETWORK_MEMORY_INIT;
  require_ok(synfire_network_query_memory(network, &needs));
  require_ok(synfire_network_build(network));
  const synfire_memory_use use = use_of(network);
  EXPECT_GE(use.synapse_bytes, needs.synapse_bytes);
  EXPECT_GE(use.layer_bytes, needs.layer_bytes);
  EXPECT_GT(use.graph_bytes, 0u);
  EXPECT_GT(use.network_bytes, 0u);
  EXPECT_EQ(use.context_bytes, 0u);
  EXPECT_EQ(sum_of_kinds(use), sum_of_memory(use));
  EXPECT_EQ(use_of(context).synapse_bytes, use.synapse_bytes);
  synfire_graph graph = nullptr;
  require_ok(synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_INFERENCE, &graph));
  const Graph owned(graph);
  EXPECT_LE(use_of(owned.get()).graph_bytes, use.graph_bytes);
  EXPECT_GT(use_of(owned.get()).graph_bytes, 0u);
}

// ---- a budget, and bad functions ------------------------------------------------------------------------------------

class Refused : public HostMemory {
 protected:
  // Repeats the call with each n-th request failing, until it succeeds: every `stride`-th where there are many. What a
  // failed call leaves is what was there before it.
  void expect_all_or_nothing(Heap::At how, uint64_t stride, const std::function<synfire_status()>& call) {
    const char* const rule = how == Heap::At::refuses ? "SYN-MEMORY-HOST" : "SYN-MEMORY-ALIGNMENT";
    still_queued();
    for (uint64_t nth = 1; nth < 1000000; nth += stride) {
      const uint64_t before = heap.bytes();
      heap.fail(how, nth);
      const synfire_status status = call();
      const bool has_failed = heap.has_failed();
      heap.fail(Heap::At::nowhere, 0);
      if (status >= 0) {
        EXPECT_FALSE(has_failed) << "request " << nth << " failed, and the call did not";
        EXPECT_GT(nth, 1u);
        return;
      }
      EXPECT_EQ(status, SYNFIRE_ERROR_OUT_OF_MEMORY) << "request " << nth;
      EXPECT_NE(last_error_text().find(rule), std::string::npos) << "request " << nth << ": " << last_error_text();
      still_queued();
      ASSERT_EQ(heap.bytes(), before) << "request " << nth;
    }
    FAIL() << "it never succeeded";
  }
};

TEST_F(Refused, CreatingRecordingAndBuilding) {
  for (const Heap::At how : {Heap::At::refuses, Heap::At::misaligns}) {
    Context context;
    expect_all_or_nothing(how, 1, [&] {
      synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
      desc.backend = backend();
      desc.n_threads = 2;
      synfire_context made = nullptr;
      const synfire_status status = synfire_context_create(&desc, &made);
      context = Context(made);
      return status;
    });
    Buffer buffer;
    expect_all_or_nothing(how, 1, [&] {
      synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
      desc.memory = SYNFIRE_MEMORY_HOST;
      desc.n_elements = uint64_t{5} << 20;  // 20 MiB: a large block
      synfire_buffer made = nullptr;
      const synfire_status status = synfire_buffer_create(context, &desc, &made);
      buffer = Buffer(made);
      return status;
    });
    // Zero-filled, whatever the function left there.
    for (const float value : download<float>(buffer, 1000)) ASSERT_EQ(value, 0.0F);
    Layer layer;
    expect_all_or_nothing(how, 1, [&] {
      const synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
      synfire_layer made = nullptr;
      const synfire_status status = synfire_layer_create(context, &desc, &made);
      layer = Layer(made);
      return status;
    });
    const Buffer x = make_frame(context, shape.sequence());
    Graph graph = make_slotted_graph(context, 3);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    // A graph keeps room that it made for a call that failed, so only the result is compared.
    for (uint64_t nth = 1;; ++nth) {
      heap.fail(how, nth);
      const synfire_status status = synfire_graph_record_forward(graph, layer, &forward);
      const synfire_status instantiated = status >= 0 ? synfire_graph_instantiate(graph) : status;
      heap.fail(Heap::At::nowhere, 0);
      if (instantiated >= 0) break;
      ASSERT_EQ(instantiated, SYNFIRE_ERROR_OUT_OF_MEMORY);
      if (status >= 0) {  // recorded: begin again
        graph = make_slotted_graph(context, 3);
      }
    }
    replay(graph);
  }
}

TEST_F(Refused, ANetworkIsBuiltOrAsItWas) {
  const Context context = make_context();
  StagePlan plan;
  for (const Heap::At how : {Heap::At::refuses, Heap::At::misaligns}) {
    Network network;
    expect_all_or_nothing(how, 97, [&]() -> synfire_status {
      Network made;
      try {
        made = make_stages(context, plan);
      } catch (const std::exception&) {
        return SYNFIRE_ERROR_OUT_OF_MEMORY;
      }
      const synfire_status status = synfire_network_build(made);
      if (status >= 0) network = std::move(made);
      return status;
    });
    require_ok(synfire_network_reset_state(network));
  }
}

TEST(HostMemoryFunctions, AreRefusedWhileTheLibraryHoldsMemory) {
  still_queued();
  Heap heap;
  const synfire_memory_desc desc = heap.desc();
  Context context = make_context();
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-MEMORY-IN-USE"), synfire_memory_set_functions(&desc));
  context.reset();  // the call frees what is queued
  EXPECT_OK(synfire_memory_set_functions(&desc));
  context = make_context();
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-MEMORY-IN-USE"), synfire_memory_set_functions(nullptr));
  context.reset();
  EXPECT_OK(synfire_memory_set_functions(nullptr));
  EXPECT_EQ(heap.bytes(), 0u);
  EXPECT_GT(heap.n_requests(), 0u);
}

TEST(HostMemoryFunctions, BadDescriptions) {
  Heap heap;
  synfire_memory_desc desc = heap.desc();
  desc.release = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MEMORY-FUNCTIONS", "desc.release"),
               synfire_memory_set_functions(&desc));
  desc = heap.desc();
  desc.allocate = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-MEMORY-FUNCTIONS", "desc.allocate"),
               synfire_memory_set_functions(&desc));
  desc = heap.desc();
  desc.reserved = 1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-RESERVED"), synfire_memory_set_functions(&desc));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-ARGUMENT-NULL", "use"), synfire_memory_get_use(nullptr));
}

// ---- messages -------------------------------------------------------------------------------------------------------

class Log {
 public:
  explicit Log(int32_t level = 0) {
    synfire_log_desc desc = SYNFIRE_LOG_DESC_INIT;
    desc.level = level;
    desc.log = [](void* user, int32_t of, const char* text) {
      auto& log = *static_cast<Log*>(user);
      const std::lock_guard lock(log.mutex_);
      log.lines_.emplace_back(of, text);
    };
    desc.user = this;
    EXPECT_OK(synfire_log_set_function(&desc));
  }
  ~Log() { EXPECT_OK(synfire_log_set_function(nullptr)); }

  size_t count() const { return lines_.size(); }
  bool has(int32_t level, std::string_view beginning) const {
    return std::any_of(lines_.begin(), lines_.end(), [&](const std::pair<int32_t, std::string>& line) {
      return line.first == level && line.second.starts_with(beginning);
    });
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<int32_t, std::string>> lines_;
};

TEST(Messages, SayWhatWasChosenButNotInALaunch) {
  const Log log;
  const Context context = make_context();
  EXPECT_TRUE(log.has(SYNFIRE_LOG_CHOICE, on_host() ? "context: host" : "context: "));
  const LayerAndGraph both(context);
  both.record();
  EXPECT_TRUE(log.has(SYNFIRE_LOG_CHOICE, "graph: 2 operations, 2 slots"));
  const size_t before = log.count();
  for (int i = 0; i < 5; ++i) replay(both.graph);
  EXPECT_EQ(log.count(), before);
  const Network network = make_stages(context, StagePlan());
  require_ok(synfire_network_build(network));
  EXPECT_TRUE(log.has(SYNFIRE_LOG_CHOICE, "network: "));
}

TEST(Messages, AreHeardUpToTheLevel) {
  {
    const Log log(SYNFIRE_LOG_WARNING);
    synfire_context made = nullptr;
    const synfire_status status = synfire_context_create(nullptr, &made);
    const Context context(made);
    EXPECT_EQ(log.count(), status == SYNFIRE_HOST_FALLBACK ? 1u : 0u);
    EXPECT_EQ(log.has(SYNFIRE_LOG_WARNING, "context: no GPU is used: "), status == SYNFIRE_HOST_FALLBACK);
  }
  synfire_log_desc desc = SYNFIRE_LOG_DESC_INIT;
  for (const int32_t level : {-1, 3}) {
    desc.level = level;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-LOG-LEVEL", "desc.level"), synfire_log_set_function(&desc));
  }
  const Context silent = make_context();
}

}  // namespace
}  // namespace synfire_test
