// A network's graphs launched on one thread while another calls the network: one of the two gets BUSY, and what
// succeeds is whole. ThreadSanitizer sees what must not be done at the same time.
#include <atomic>
#include <functional>
#include <thread>

#include "network_file.hpp"

namespace synfire_test {
namespace {

class NetworkThreads : public testing::Test {
 protected:
  NetworkThreads() { plan.dropout = 0.2; }
  Network built() const {
    Network network = make_stages(context, plan);
    require_ok(synfire_network_build(network));
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
    set_data(network, SYNFIRE_DATA_EVALUATION, plan.n_rows, data);
    return network;
  }
  static Graph graph_of(synfire_network network, int32_t kind) {
    synfire_graph graph = nullptr;
    require_ok(synfire_network_get_graph(network, kind, &graph));
    return Graph(graph);
  }
  // Calls the network while another thread launches the graph, until both have succeeded often enough. Returns how
  // often the graph was launched.
  int64_t race(synfire_graph graph, int n_calls, const std::function<synfire_status()>& call) const {
    std::atomic<bool> done = false;
    std::atomic<int64_t> n_launched = 0;
    std::thread launcher([&] {
      while (!done || n_launched < 20) {
        uint64_t ticket = 0;
        const synfire_status status = synfire_graph_launch(graph, nullptr, &ticket);
        if (status == SYNFIRE_ERROR_BUSY) {
          std::this_thread::yield();
          continue;
        }
        ASSERT_OK(status);
        ASSERT_OK(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_YIELD, -1));
        ++n_launched;
        if (n_launched % 4 == 0) std::this_thread::yield();
      }
    });
    for (int n_ok = 0; n_ok < n_calls;) {
      const synfire_status status = call();
      if (status == SYNFIRE_ERROR_BUSY) {
        std::this_thread::yield();
        continue;
      }
      EXPECT_OK(status);
      ++n_ok;
    }
    done = true;
    launcher.join();
    return n_launched;
  }

  Context context = make_context(2);
  StagePlan plan;
  Data data = make_data(context, plan, plan.n_rows, 3);
};

// However the calls and the launches take turns, all batches are learnt one after the other.
TEST_F(NetworkThreads, BatchesAreWholeWhoeverLaunchesThem) {
  const Network network = built(), alone = built();
  const Graph graph = graph_of(network, SYNFIRE_NETWORK_GRAPH_TRAINING);
  const Buffer outputs = make_buffer(context, SYNFIRE_DTYPE_F32, static_cast<uint64_t>(plan.n_rows) * 4);
  int64_t n_trained = 0;
  int turn = 0;
  const int64_t n_launched = race(graph, 60, [&] {
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    switch (turn++ % 6) {
      case 0: {
        const synfire_status status = synfire_network_train(network, 2, &result);
        if (status != SYNFIRE_OK) return status;
        n_trained += 2;
        EXPECT_EQ(result.n_batches, 2u);
        EXPECT_LE(result.n_counted, 2 * static_cast<uint64_t>(plan.batch)) << "batches of others were counted";
        return status;
      }
      case 1: {
        const synfire_status status = synfire_network_evaluate(network, &result);
        if (status == SYNFIRE_OK) {
          EXPECT_EQ(result.n_counted, static_cast<uint64_t>(plan.n_rows));
        }
        return status;
      }
      case 2:
        return synfire_network_infer(network, data.inputs, plan.n_rows, outputs);
      case 3:
        return synfire_network_reset_state(network);
      case 4:
        return synfire_network_set_value(network, "optimizer", "learning_rate", plan.rate);
      default:
        return synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data.inputs, data.labels, nullptr,
                                        nullptr, nullptr);
    }
  });
  trained(alone, n_trained + n_launched);
  EXPECT_OK(synfire_network_infer(alone, data.inputs, plan.n_rows, outputs));
  EXPECT_OK(synfire_network_reset_state(network));
  EXPECT_OK(synfire_network_reset_state(alone));
  EXPECT_EQ(saved(network), saved(alone));
}

// A file is that of one moment, and a load is not mixed with a launch.
TEST_F(NetworkThreads, FilesAreWhole) {
  const Network network = built(), other = built();
  trained(other, 7);
  const File file = saved(other);
  const Graph graph = graph_of(network, SYNFIRE_NETWORK_GRAPH_INFERENCE);
  const Network copy = built();
  int turn = 0;
  race(graph, 40, [&] {
    if (turn++ % 2 == 0) return load(network, file);
    uint64_t bytes = file.size() + 1024;  // positions and counts have as many digits as they need
    File now(bytes);
    const synfire_status status = synfire_network_save_to_memory(network, now.data(), &bytes);
    if (status == SYNFIRE_OK) {
      now.resize(bytes);
      EXPECT_OK(load(copy, now));
    }
    return status;
  });
  EXPECT_OK(load(network, file));
  EXPECT_EQ(saved(network), file);
}

// A graph that the network has replaced still uses its synapses, its layers and its sums.
TEST_F(NetworkThreads, AReplacedGraphIsHeldToo) {
  const Network network = built();
  const Graph before = graph_of(network, SYNFIRE_NETWORK_GRAPH_TRAINING);
  const int64_t n_rows = plan.n_rows - 3;
  set_data(network, SYNFIRE_DATA_TRAINING, n_rows, make_data(context, plan, n_rows, 4));
  race(before, 40, [&] {
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    const synfire_status status = synfire_network_train(network, 1, &result);
    if (status == SYNFIRE_OK) {
      EXPECT_LE(result.n_counted, static_cast<uint64_t>(plan.batch));
    }
    return status;
  });
}

// The program's job system runs inside of a training: whatever it calls there finds the network in use.
TEST_F(NetworkThreads, ATrainingRefusesLaunchesInside) {
  if (!on_host()) GTEST_SKIP() << "only the host uses a job system";
  struct Inside {
    synfire_graph graphs[3] = {};
    int n_refused = 0, n_others = 0;
  } inside;
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = backend();
  desc.n_threads = 4;
  desc.job_system = &inside;
  desc.enqueue_task = [](void* user, synfire_task task, void* argument, int32_t n_items, int32_t) -> void* {
    Inside& all = *static_cast<Inside*>(user);
    for (const synfire_graph graph : all.graphs) {
      if (!graph) continue;
      const bool refused = synfire_graph_launch(graph, nullptr, nullptr) == SYNFIRE_ERROR_BUSY &&
                           synfire_graph_set_value(graph, 0, "seed", 1) == SYNFIRE_ERROR_BUSY;
      ++(refused ? all.n_refused : all.n_others);
    }
    task(argument, 0, n_items);
    return nullptr;
  };
  desc.finish_task = [](void*, void*) {};
  synfire_context made = nullptr;
  ASSERT_OK(synfire_context_create(&desc, &made));
  const Context with_jobs(made);
  StagePlan wide = plan;
  wide.sizes = {200, 300, 40};  // enough weights for several threads
  const Network network = make_stages(with_jobs, wide);
  ASSERT_OK(synfire_network_build(network));
  const Data rows = make_data(with_jobs, wide, wide.n_rows, 3);
  set_data(network, SYNFIRE_DATA_TRAINING, wide.n_rows, rows);
  set_data(network, SYNFIRE_DATA_EVALUATION, wide.n_rows, rows);
  const Graph inference = graph_of(network, SYNFIRE_NETWORK_GRAPH_INFERENCE),
              training = graph_of(network, SYNFIRE_NETWORK_GRAPH_TRAINING),
              evaluation = graph_of(network, SYNFIRE_NETWORK_GRAPH_EVALUATION);
  inside.graphs[0] = inference;
  inside.graphs[1] = training;
  inside.graphs[2] = evaluation;
  trained(network, 2);
  EXPECT_GT(inside.n_refused, 0);
  EXPECT_EQ(inside.n_others, 0);
}

}  // namespace
}  // namespace synfire_test
