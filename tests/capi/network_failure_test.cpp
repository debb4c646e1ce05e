// Calls on a network that work in several launches, and fail in any of them: nothing has changed, or the call says what
// has. What fails here is the program's job system, which runs no items of one of its tasks.
#include <functional>

#include "network_file.hpp"

namespace synfire_test {
namespace {

// A job system that runs its tasks at once, but for one.
class OneTaskFails {
 public:
  Context make() {
    synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
    desc.backend = backend();
    desc.n_threads = 4;
    desc.job_system = this;
    desc.enqueue_task = [](void* user, synfire_task task, void* argument, int32_t n_items, int32_t) -> void* {
      auto& self = *static_cast<OneTaskFails*>(user);
      if (self.n_run_++ != self.failing_) task(argument, 0, n_items);
      return nullptr;
    };
    desc.finish_task = [](void*, void*) {};
    synfire_context context = nullptr;
    require_ok(synfire_context_create(&desc, &context));
    return Context(context);
  }
  // The call, with its task number n failing.
  synfire_status call(int n, const std::function<synfire_status()>& body) {
    n_run_ = 0;
    failing_ = n;
    const synfire_status status = body();
    failing_ = -1;
    return status;
  }

 private:
  int n_run_ = 0, failing_ = -1;
};

class NetworkFailure : public testing::Test {
 protected:
  NetworkFailure() {
    plan.n_steps = 24;
    plan.batch = 8;
    plan.n_rows = 20;
    plan.sizes = {300, 400, 10};  // enough for several threads in every pass
  }
  void SetUp() override {
    if (!on_host()) GTEST_SKIP() << "only the host uses a job system";
    context = jobs.make();
    data = make_data(context, plan, plan.n_rows, 3);
  }
  Network built() const {
    Network network = make_stages(context, plan);
    require_ok(synfire_network_build(network));
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
    set_data(network, SYNFIRE_DATA_EVALUATION, plan.n_rows, data);
    return network;
  }
  // A loop that is between two frames: the states of its neurons and its random numbers are not those of the start.
  void run_frames(synfire_network network, int n_frames) const {
    synfire_graph handle = nullptr;
    require_ok(synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_INFERENCE, &handle));
    const Graph graph(handle);
    synfire_buffer input = nullptr;
    require_ok(synfire_network_get_buffer(network, "input", &input));
    const Buffer owned(input);
    require_ok(synfire_buffer_fill(input, 0.4));
    for (int i = 0; i < n_frames; ++i) {
      uint64_t ticket = 0;
      require_ok(synfire_graph_launch(graph, nullptr, &ticket));
      require_ok(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_YIELD, -1));
    }
  }
  // Every task of the call fails once; the network is then as it was.
  void expect_unchanged(synfire_network network, const std::function<synfire_status()>& body, int at_least) {
    const File before = saved(network);
    int n = 0;
    for (; jobs.call(n, body) != SYNFIRE_OK; ++n) {
      ASSERT_NE(last_error_text().find("SYN-TASK-MISSING"), std::string::npos) << last_error_text();
      ASSERT_EQ(saved(network), before) << "task " << n;
      ASSERT_LT(n, 10000);
    }
    EXPECT_GE(n, at_least) << "the call has fewer tasks than launches";
  }

  StagePlan plan;
  OneTaskFails jobs;
  Context context;
  Data data;
};

TEST_F(NetworkFailure, InferenceChangesNothing) {
  const Network network = built();
  trained(network, 2);
  run_frames(network, 3);
  const Buffer outputs = make_buffer(context, SYNFIRE_DTYPE_F32, static_cast<uint64_t>(plan.n_rows) * 10);
  expect_unchanged(
      network, [&] { return synfire_network_infer(network, data.inputs, plan.n_rows, outputs); }, 3);
}

TEST_F(NetworkFailure, EvaluationChangesNothing) {
  const Network network = built();
  run_frames(network, 3);
  expect_unchanged(
      network,
      [&] {
        synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
        return synfire_network_evaluate(network, &result);
      },
      3);
}

// Whole batches have been learnt, and the call says how many. The training goes on with the one that failed, unless its
// step had begun, which the call says too.
TEST_F(NetworkFailure, TrainingSaysWhatItHasLearnt) {
  constexpr int64_t n_batches = 3;
  const Network network = built();
  const File before = saved(network);
  std::vector<File> after;  // that many batches, with the states of neurons as they were
  for (int64_t n = 0; n <= n_batches; ++n) {
    const Network alone = built();
    if (n > 0) trained(alone, n);
    after.push_back(saved(alone));
  }
  std::vector<int> n_failures(n_batches, 0);
  int n_in_part = 0;
  for (int n = 0;; ++n) {
    ASSERT_LT(n, 10000);
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    const synfire_status status = jobs.call(n, [&] { return synfire_network_train(network, n_batches, &result); });
    if (status == SYNFIRE_OK) break;
    const std::string text = last_error_text();
    const size_t at = text.find(" of 3 batches had been launched before");
    ASSERT_NE(at, std::string::npos) << text;
    const auto n_done = static_cast<size_t>(text[at - 1] - '0');
    ASSERT_LT(n_done, n_failures.size()) << text;
    ++n_failures[n_done];
    if (text.find("learnt in part") != std::string::npos) {
      ++n_in_part;
    } else {
      ASSERT_EQ(saved(network), after[n_done]) << text;
      trained(network, n_batches - static_cast<int64_t>(n_done));
      ASSERT_EQ(saved(network), after.back());
    }
    require_ok(load(network, before));
  }
  for (const int each : n_failures) EXPECT_GT(each, 0);
  EXPECT_GT(n_in_part, 0);
  EXPECT_EQ(saved(network), after.back());
}

// A value that a built network refuses leaves no trace in it.
TEST_F(NetworkFailure, ARefusedValueLeavesNoTrace) {
  const Network network = built();
  const File before = saved(network);
  EXPECT_LT(synfire_network_set_value(network, "n0", "tau", -1), 0);
  EXPECT_LT(synfire_network_set_value(network, "n0", "tau", 1e-300), 0);
  EXPECT_LT(synfire_network_set_value(network, "n0", "rate_strength", 1), 0);
  EXPECT_EQ(saved(network), before);
}

}  // namespace
}  // namespace synfire_test
