// Long chains of operations, each of which reads the output of the one before it. They are replayed many times without
// waiting, while operations are switched off and on. The backend under test and the host must end with the same bits.
// On a GPU a kernel may be launched before its predecessor has ended, and a missing wait would show here.
#include "recording_support.hpp"

#include <cstring>

namespace synfire_test {
namespace {

// A context with all objects of the chain.
class Chain {
 public:
  Chain(Context context, uint64_t n, bool copies)
      : n_(n),
        context_(std::move(context)),
        source_(make_frame(context_, n, SYNFIRE_MEMORY_DEVICE)),
        a_(make_frame(context_, n, SYNFIRE_MEMORY_DEVICE)),
        b_(make_frame(context_, n, SYNFIRE_MEMORY_DEVICE)),
        x_(make_frame(context_, n, SYNFIRE_MEMORY_DEVICE)),
        v_(make_frame(context_, n, SYNFIRE_MEMORY_DEVICE)),
        grad_(make_frame(context_, n, SYNFIRE_MEMORY_DEVICE)),
        grad_tau_(make_frame(context_, 1, SYNFIRE_MEMORY_DEVICE)),
        frame_(make_frame(context_, n)) {
    layer_ = make_layer(context_, describe(Shape{4, 1, static_cast<int64_t>(n / 4)}, SYNFIRE_DTYPE_F32));
    graph_ = make_slotted_graph(context_, SYNFIRE_SLOTS_SHARED);
    std::vector<float> begin(n);
    for (uint64_t i = 0; i < n; ++i) begin[i] = static_cast<float>(i % 97) / 97.0f;
    for (const Buffer* buffer : {&source_, &a_, &b_, &x_}) upload(*buffer, begin);
    record_scale_add(graph_, source_, a_, 0.5, 0.5);  // always on, so that values neither vanish nor grow
    for (int i = 0; i < 6; ++i) {
      switches_.push_back(record_scale_add(graph_, a_, b_, 0.5, 0.25));
      switches_.push_back(record_scale_add(graph_, b_, a_, 0.5, 0.5));
      if (copies) {
        record_copy(graph_, a_, frame_);
        switches_.push_back(last_operation(graph_));
      }
      switches_.push_back(record_scale_add(graph_, a_, x_, 0.75, 0.5));
    }
    if (copies) switches_.push_back(record_scale_add(graph_, frame_, x_, 0.25, 0.5));  // reads it again, across the bus
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x_;
    forward.v_seq = v_;
    EXPECT_OK(synfire_graph_record_forward(graph_, layer_, &forward));
    switches_.push_back(record_scale_add(graph_, v_, b_, 0.125, 0.875));
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_v_seq = b_;
    backward.grad_x_seq = grad_;
    const synfire_parameter_gradient gradient = {"tau", grad_tau_};
    backward.parameter_gradients = &gradient;
    backward.n_parameter_gradients = 1;
    EXPECT_OK(synfire_graph_record_backward(graph_, layer_, &backward));
    switches_.push_back(record_update(graph_, layer_, "tau", grad_tau_, 0x1p-12));
    switches_.push_back(record_scale_add(graph_, grad_, a_, 0.125, 0.5));
    EXPECT_OK(synfire_graph_instantiate(graph_));
  }

  size_t n_switches() const { return switches_.size(); }
  void set_enabled(size_t which, bool enabled) {
    EXPECT_OK(synfire_graph_set_enabled(graph_, switches_[which], enabled ? 1 : 0)) << which;
  }
  void launch_again() { last_ = launch(graph_); }
  void settle() { wait(graph_, last_); }
  std::vector<float> results() const {
    std::vector<float> all;
    for (const Buffer* buffer : {&a_, &b_, &x_, &v_, &grad_, &grad_tau_, &frame_}) {
      const std::vector<float> some = download<float>(*buffer, buffer == &grad_tau_ ? 1 : n_);
      all.insert(all.end(), some.begin(), some.end());
    }
    for (const double tau : get_parameter(layer_, "tau")) all.push_back(static_cast<float>(tau));
    return all;
  }

 private:
  uint64_t n_;
  Context context_;
  Buffer source_, a_, b_, x_, v_, grad_, grad_tau_, frame_;
  Layer layer_;
  Graph graph_;
  std::vector<int32_t> switches_;  // operations that may be disabled
  uint64_t last_ = 0;
};

void expect_equal(const Chain& tested, const Chain& reference) {
  const std::vector<float> found = tested.results(), wanted = reference.results();
  ASSERT_EQ(found.size(), wanted.size());
  size_t n_different = 0, n_moved = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    n_different += std::memcmp(&found[i], &wanted[i], sizeof(float)) != 0;
    n_moved += wanted[i] != 0;
  }
  EXPECT_EQ(n_different, 0u) << "of " << found.size();
  EXPECT_GT(n_moved, found.size() / 4);
}

void run(uint64_t n, bool copies, int n_rounds) {
  Chain tested(make_context(), n, copies), reference(make_context_on(SYNFIRE_BACKEND_HOST), n, copies);
  uint32_t random = 12345;
  std::vector<bool> enabled(tested.n_switches(), true);
  for (int round = 0; round < n_rounds; ++round) {
    for (int changes = 0; changes < 3; ++changes) {
      random = random * 1664525u + 1013904223u;
      const size_t which = (random >> 16) % enabled.size();
      enabled[which] = !enabled[which];
      tested.set_enabled(which, enabled[which]);
      reference.set_enabled(which, enabled[which]);
    }
    for (int replay = 0; replay < 3; ++replay) {
      tested.launch_again();
      reference.launch_again();
    }
    if (round % 8 != 7) continue;
    tested.settle();
    reference.settle();
    expect_equal(tested, reference);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Chains, OfManySmallKernelsKeepTheirOrder) {
  run(4096, false, 64);
}
TEST(Chains, OfLargeKernelsKeepTheirOrder) {
  run(262144, false, 16);
}
TEST(Chains, WithCopiesBetweenKernelsKeepTheirOrder) {
  run(4096, true, 64);
}

}  // namespace
}  // namespace synfire_test
