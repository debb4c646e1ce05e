// The caller's job system instead of the library's threads: a pool of the test's own, and incorrect systems.
#include "parallel_work.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace synfire_test {
namespace {

constexpr Shape shape = Work::shape;

// The functions that the library calls, and how this system implements them.
struct JobSystem {
  // Runs all items of a task and returns the handle for finish().
  std::function<void*(synfire_task task, void* argument, int32_t n_items)> enqueue;
  std::function<void(void* handle)> finish = [](void*) {};
  std::atomic<int> n_enqueued{0}, n_finished{0};
  std::atomic<int32_t> most_items{0}, least_range{INT32_MAX};
  std::thread::id caller;
  std::atomic<bool> called_elsewhere{false};

  explicit JobSystem(std::function<void*(synfire_task, void*, int32_t)> how)
      : enqueue(std::move(how)), caller(std::this_thread::get_id()) {}

  synfire_context_desc describe(int32_t n_threads) {
    synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
    desc.backend = backend();
    desc.n_threads = n_threads;
    desc.job_system = this;
    desc.enqueue_task = [](void* user, synfire_task task, void* argument, int32_t n_items, int32_t min_range) -> void* {
      JobSystem& self = *static_cast<JobSystem*>(user);
      ++self.n_enqueued;
      self.note_caller();
      self.most_items = std::max<int32_t>(self.most_items, n_items);
      self.least_range = std::min<int32_t>(self.least_range, min_range);
      return self.enqueue(task, argument, n_items);
    };
    desc.finish_task = [](void* user, void* handle) {
      JobSystem& self = *static_cast<JobSystem*>(user);
      ++self.n_finished;
      self.note_caller();
      self.finish(handle);
    };
    return desc;
  }
  Context make(int32_t n_threads = 4) {
    const synfire_context_desc desc = describe(n_threads);
    synfire_context context = nullptr;
    EXPECT_OK(synfire_context_create(&desc, &context));
    return Context(context);
  }

 private:
  void note_caller() {
    if (std::this_thread::get_id() != caller) called_elsewhere = true;
  }
};

// Threads that take parts of tasks from a list, as in a game engine.
class Pool {
 public:
  explicit Pool(int n_threads) {
    for (int i = 0; i < n_threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // Parts of `range` items, last part first.
  void* enqueue(synfire_task task, void* argument, int32_t n_items, int32_t range) {
    auto* const left = new std::atomic<int32_t>(n_items);
    {
      const std::lock_guard lock(mutex_);
      for (int32_t end = n_items; end > 0; end -= range)
        parts_.push_back({task, argument, std::max(end - range, 0), end, left});
    }
    changed_.notify_all();
    return left;
  }
  void finish(void* handle) {
    auto* const left = static_cast<std::atomic<int32_t>*>(handle);
    while (left->load(std::memory_order_acquire) > 0)
      if (!run_one()) std::this_thread::yield();
    delete left;
  }
  int n_run_elsewhere() const { return n_run_elsewhere_; }

 private:
  struct Part {
    synfire_task task;
    void* argument;
    int32_t first, end;
    std::atomic<int32_t>* left;
  };

  bool run_one() {
    Part part;
    {
      const std::lock_guard lock(mutex_);
      if (parts_.empty()) return false;
      part = parts_.front();
      parts_.pop_front();
    }
    part.task(part.argument, part.first, part.end);
    part.left->fetch_sub(part.end - part.first, std::memory_order_release);
    return true;
  }
  void work() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ending_ || !parts_.empty(); });
        if (ending_) return;
      }
      if (run_one()) ++n_run_elsewhere_;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Part> parts_;
  bool ending_ = false;
  std::atomic<int> n_run_elsewhere_{0};
  std::vector<std::thread> threads_;
};

TEST(JobSystem, SameBitsAsTheLibrarysThreadsAndAsOne) {
  const Work::Results one = Work::run(make_context(1), true);
  Work::expect_same(one, Work::run(make_context(4), true));
  Work::expect_same(one, Work::run(make_context(4), false));
  for (const int32_t range : {1, 3, 1000}) {
    Pool pool(3);
    JobSystem jobs(
        [&](synfire_task task, void* argument, int32_t n) { return pool.enqueue(task, argument, n, range); });
    jobs.finish = [&](void* handle) { pool.finish(handle); };
    Work::expect_same(one, Work::run(jobs.make(), true));
    Work::expect_same(one, Work::run(jobs.make(), false));
    EXPECT_EQ(jobs.n_enqueued, on_host() ? 16 : 0) << "a graph's replays: 12, eager calls: 4";
    EXPECT_EQ(jobs.n_finished, jobs.n_enqueued);
    if (!on_host()) continue;
    EXPECT_GT(jobs.most_items, 1);
    EXPECT_LE(jobs.most_items, 16) << "4 for each of 4 threads";
    EXPECT_GE(jobs.least_range, 1);
    EXPECT_FALSE(jobs.called_elsewhere);
  }
}

TEST(JobSystem, MayRunTheTaskInPlace) {
  const Work::Results one = Work::run(make_context(1), true);
  int here = 0;
  for (void* const handle : {static_cast<void*>(nullptr), static_cast<void*>(&here)}) {
    JobSystem jobs([&](synfire_task task, void* argument, int32_t n_items) {
      for (int32_t item = n_items; item-- > 0;) task(argument, item, item + 1);
      return handle;
    });
    Work::expect_same(one, Work::run(jobs.make(), true));
    EXPECT_EQ(jobs.n_finished, handle ? jobs.n_enqueued.load() : 0) << "null: nothing is left to wait for";
  }
}

TEST(JobSystem, HasTheCallersFloatingPointEnvironment) {
  int n_called = 0;
  JobSystem jobs([&](synfire_task task, void* argument, int32_t n_items) {
    n_called += std::fegetround() == FE_UPWARD;
    task(argument, 0, n_items);
    n_called += std::fegetround() == FE_UPWARD;
    return nullptr;
  });
  const Context context = jobs.make();
  std::fesetround(FE_UPWARD);
  Work::run(context, true);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(n_called, 2 * jobs.n_enqueued);
  EXPECT_EQ(n_called > 0, on_host());
}

TEST(JobSystem, IsNotCalledForSmallWorkNorForOneThread) {
  JobSystem jobs([](synfire_task task, void* argument, int32_t n_items) {
    task(argument, 0, n_items);
    return nullptr;
  });
  Work::run(jobs.make(1), true);
  EXPECT_EQ(jobs.n_enqueued, 0);
  const Context context = jobs.make(4);
  const Layer layer = make_layer(context, describe({16, 1, 100}, SYNFIRE_DTYPE_F32));
  const Buffer x = make_buffer(context, SYNFIRE_DTYPE_F32, 1600),
               spikes = make_buffer(context, SYNFIRE_DTYPE_F32, 1600);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.spikes = spikes;
  EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
  EXPECT_EQ(jobs.n_enqueued, 0);
}

TEST(JobSystem, HasTheThreadsThatTheDescriptionSays) {
  JobSystem jobs([](synfire_task, void*, int32_t) { return nullptr; });
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  ASSERT_OK(synfire_context_get_properties(jobs.make(7), &properties));
  EXPECT_EQ(properties.n_threads, on_host() ? 7 : 0);
  ASSERT_OK(synfire_context_get_properties(jobs.make(0), &properties));
  EXPECT_GE(properties.n_threads, on_host() ? 1 : 0);
}

TEST(JobSystem, SeveralLaunchesAtOnce) {
  const Work::Results one = Work::run(make_context(1), true);
  Pool pool(2);
  JobSystem jobs([&](synfire_task task, void* argument, int32_t n) { return pool.enqueue(task, argument, n, 1); });
  jobs.finish = [&](void* handle) { pool.finish(handle); };
  const Context context = jobs.make();
  std::vector<std::thread> threads;
  std::vector<Work::Results> results(3);
  for (Work::Results& result : results) threads.emplace_back([&] { result = Work::run(context, true); });
  for (std::thread& thread : threads) thread.join();
  for (const Work::Results& result : results) Work::expect_same(one, result);
}

TEST(JobSystem, BothFunctionsOrNeither) {
  JobSystem jobs([](synfire_task, void*, int32_t) { return nullptr; });
  for (const bool enqueue : {false, true}) {
    synfire_context_desc desc = jobs.describe(2);
    if (enqueue)
      desc.finish_task = nullptr;
    else
      desc.enqueue_task = nullptr;
    synfire_context context = nullptr;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-CONTEXT-JOBS", "enqueue_task", "finish_task"),
                 synfire_context_create(&desc, &context));
    EXPECT_EQ(context, nullptr);
  }
}

// ---- Incorrect systems ----------------------------------------------------------------------------------------------

// One large forward, with X and a graph.
struct Rig {
  Context context;
  Layer layer;
  Buffer x, spikes;
  Graph graph;

  explicit Rig(JobSystem& jobs)
      : context(jobs.make()),
        layer(make_layer(context, describe(shape, SYNFIRE_DTYPE_F32))),
        x(make_buffer_of(context, random_inputs<float>(shape, 7).x)),
        spikes(make_buffer(context, SYNFIRE_DTYPE_BITS, shape.words())),
        graph(make_graph(context)) {
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    forward.spikes = spikes;
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &forward));
    EXPECT_OK(synfire_graph_instantiate(graph));
  }
  synfire_status launch() {
    EXPECT_OK(synfire_layer_reset_state(layer, nullptr));
    return synfire_graph_launch(graph, nullptr, nullptr);
  }
  synfire_status forward() {
    EXPECT_OK(synfire_layer_reset_state(layer, nullptr));
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = x;
    desc.spikes = spikes;
    return synfire_layer_forward(layer, &desc, nullptr);
  }
};

class WrongJobSystem : public testing::Test {
 protected:
  void SetUp() override {
    if (!on_host()) GTEST_SKIP() << "only the host backend uses job systems";
  }
  // The same with a correct system afterwards.
  static void expect_recovers(Rig& rig, JobSystem& jobs) {
    jobs.enqueue = [](synfire_task task, void* argument, int32_t n_items) {
      task(argument, 0, n_items);
      return nullptr;
    };
    EXPECT_OK(rig.launch());
    const std::vector<uint32_t> spikes = download<uint32_t>(rig.spikes, shape.words());
    JobSystem right(jobs.enqueue);
    Rig other(right);
    EXPECT_OK(other.launch());
    EXPECT_EQ(spikes, download<uint32_t>(other.spikes, shape.words()));
  }
};

TEST_F(WrongJobSystem, LeavesItemsOut) {
  JobSystem jobs([](synfire_task task, void* argument, int32_t n_items) {
    task(argument, 0, n_items - 1);
    return nullptr;
  });
  Rig rig(jobs);
  EXPECT_FAILS(SYNFIRE_ERROR_CALLBACK, WORDS("SYN-TASK-MISSING", "15", "16"), rig.launch());
  EXPECT_FAILS(SYNFIRE_ERROR_CALLBACK, WORDS("SYN-TASK-MISSING", "15", "16"), rig.forward());
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  const Buffer gradient = make_buffer(rig.context, SYNFIRE_DTYPE_F32, shape.sequence());
  backward.grad_spike_seq = rig.x;
  backward.grad_x_seq = gradient;
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("SYN-TAPE-NONE"), synfire_layer_backward(rig.layer, &backward, nullptr));
  expect_recovers(rig, jobs);
}

TEST_F(WrongJobSystem, RunsItemsTwice) {
  JobSystem jobs([](synfire_task task, void* argument, int32_t n_items) {
    task(argument, 0, n_items);
    task(argument, 3, 5);
    return nullptr;
  });
  Rig rig(jobs);
  EXPECT_FAILS(SYNFIRE_ERROR_CALLBACK, WORDS("SYN-TASK-TWICE"), rig.launch());
  EXPECT_FAILS(SYNFIRE_ERROR_CALLBACK, WORDS("SYN-TASK-TWICE"), rig.forward());
  expect_recovers(rig, jobs);
}

TEST_F(WrongJobSystem, AsksForItemsThatThereAreNot) {
  const std::pair<int32_t, int32_t> wrong[] = {{-1, 1}, {0, 17}, {5, 4}, {INT32_MIN, INT32_MAX}};
  for (const auto& [first, end] : wrong) {
    JobSystem jobs([first = first, end = end](synfire_task task, void* argument, int32_t n_items) {
      task(argument, first, end);
      task(argument, 0, n_items);
      return nullptr;
    });
    Rig rig(jobs);
    EXPECT_FAILS(SYNFIRE_ERROR_CALLBACK, WORDS("SYN-TASK-RANGE"), rig.launch());
    expect_recovers(rig, jobs);
  }
}

TEST_F(WrongJobSystem, RunsPartsAfterItSaidThatItIsDone) {
  synfire_task late = nullptr;
  void* its_argument = nullptr;
  JobSystem jobs([&](synfire_task task, void* argument, int32_t n_items) {
    late = task;
    its_argument = argument;
    task(argument, 0, n_items / 2);
    return nullptr;
  });
  Rig rig(jobs);
  EXPECT_FAILS(SYNFIRE_ERROR_CALLBACK, WORDS("SYN-TASK-MISSING"), rig.launch());
  const std::vector<uint32_t> before = download<uint32_t>(rig.spikes, shape.words());
  late(its_argument, 8, 16);
  EXPECT_EQ(before, download<uint32_t>(rig.spikes, shape.words())) << "the part has no effect";
  expect_recovers(rig, jobs);
}

TEST_F(WrongJobSystem, ReturnsWhileThePartsRun) {
  std::vector<std::thread> threads;
  JobSystem jobs([&](synfire_task task, void* argument, int32_t n_items) {
    for (int32_t item = 0; item < n_items; ++item) threads.emplace_back([=] { task(argument, item, item + 1); });
    return nullptr;  // no handle: all items are done
  });
  Rig rig(jobs);
  const synfire_status status = rig.launch();
  EXPECT_TRUE(status == SYNFIRE_OK || status == SYNFIRE_ERROR_CALLBACK) << status;
  for (std::thread& thread : threads) thread.join();
  expect_recovers(rig, jobs);
}

}  // namespace
}  // namespace synfire_test
