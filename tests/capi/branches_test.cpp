// Graphs that branch: operations that do not depend on each other may run side by side on a GPU. The bits are those of
// the host, which runs one after the other, whether what they pass on has memory or not.
#include "recording_support.hpp"

#include <cstring>
#include <deque>

namespace synfire_test {
namespace {

constexpr int64_t n_steps = 64, n_neurons = 48;  // long passes on few multiprocessors, which leave room
constexpr uint64_t n = n_steps * n_neurons;

// A source, branches of two layers with their backwards, and the weighted sum of what they give.
class Fan {
 public:
  Fan(Context context, int n_branches, int32_t between)
      : context_(std::move(context)),
        source_(make_frame(context_, n)),
        ones_(make_frame(context_, n, SYNFIRE_MEMORY_DEVICE)),
        sum_(make_frame(context_, n, SYNFIRE_MEMORY_DEVICE)),
        result_(make_frame(context_, n)),
        graph_(make_graph(context_)) {
    EXPECT_OK(synfire_buffer_fill(ones_, 1));
    std::vector<Buffer> results;
    for (int i = 0; i < n_branches; ++i) {
      const auto array = [&] { return make_frame(context_, n, between); };
      const Buffer x = array(), y = array();
      Buffer z = array(), grad_y = array(), grad_x = array();
      record_fill(graph_, x, 0.25 * i);
      switches_.push_back(record_scale_add(graph_, source_, x, 1 + 0.125 * i, 1));
      const Layer &first = add_layer(), &second = add_layer();
      forward(first, x, y);
      forward(second, y, z);
      backward(second, ones_, grad_y);
      backward(first, grad_y, grad_x);
      results.push_back(std::move(z));
      results.push_back(std::move(grad_x));
    }
    record_fill(graph_, sum_, 0);
    for (const Buffer& one : results) switches_.push_back(record_scale_add(graph_, one, sum_, 0.5, 0.75));
    record_copy(graph_, sum_, result_);
    EXPECT_OK(synfire_graph_instantiate(graph_));
  }

  size_t n_switches() const { return switches_.size(); }
  void set_enabled(size_t which, bool enabled) {
    EXPECT_OK(synfire_graph_set_enabled(graph_, switches_[which], enabled ? 1 : 0)) << which;
  }
  std::vector<uint32_t> replay(uint64_t seed) {
    Random random(seed);
    for (uint64_t i = 0; i < n; ++i) data_of(source_)[i] = static_cast<float>(random.uniform(0, 2));
    wait(graph_, launch(graph_));
    std::vector<uint32_t> words(n);
    std::memcpy(words.data(), data_of(result_), n * sizeof(float));
    return words;
  }

 private:
  const Layer& add_layer() {
    layers_.push_back(make_layer(context_, describe(Shape{n_steps, 1, n_neurons}, SYNFIRE_DTYPE_F32)));
    return layers_.back();
  }
  void forward(const Layer& layer, synfire_buffer x, synfire_buffer v) {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = x;
    desc.v_seq = v;
    EXPECT_OK(synfire_graph_record_forward(graph_, layer, &desc));
  }
  void backward(const Layer& layer, synfire_buffer grad_v, synfire_buffer grad_x) {
    synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
    desc.grad_v_seq = grad_v;
    desc.grad_x_seq = grad_x;
    EXPECT_OK(synfire_graph_record_backward(graph_, layer, &desc));
  }

  Context context_;
  Buffer source_, ones_, sum_, result_;
  std::deque<Layer> layers_;
  Graph graph_;
  std::vector<int32_t> switches_;  // operations that may be disabled
};

class Branches : public testing::TestWithParam<int> {};

TEST_P(Branches, GiveTheBitsOfOneAfterTheOther) {
  Fan reference(make_context_on(SYNFIRE_BACKEND_HOST), GetParam(), SYNFIRE_MEMORY_DEVICE);
  Fan with_memory(make_context(), GetParam(), SYNFIRE_MEMORY_DEVICE);
  Fan transient(make_context(), GetParam(), SYNFIRE_MEMORY_TRANSIENT);
  Random random(static_cast<uint64_t>(GetParam()));
  std::vector<bool> enabled(reference.n_switches(), true);
  for (uint64_t replay = 0; replay < 12; ++replay) {
    SCOPED_TRACE(replay);
    const std::vector<uint32_t> expected = reference.replay(replay);
    if (replay == 0) {
      EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), [](uint32_t word) { return word != 0; }));
    }
    ASSERT_EQ(with_memory.replay(replay), expected);
    ASSERT_EQ(transient.replay(replay), expected);
    const size_t which = random.next() % enabled.size();
    enabled[which] = !enabled[which];
    for (Fan* const fan : {&reference, &with_memory, &transient}) fan->set_enabled(which, enabled[which]);
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, Branches, testing::Values(1, 2, 3, 11));

}  // namespace
}  // namespace synfire_test
