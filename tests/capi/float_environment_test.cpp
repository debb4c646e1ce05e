// The caller's floating-point mode: results do not depend on it, and it is left as found. Game engines set
// flush-to-zero, numeric programs set other rounding modes.
#include <cfenv>

#include "oracle.hpp"
#include "recording_support.hpp"

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#define SYNFIRE_TEST_HAS_MXCSR 1
#endif

namespace synfire_test {
namespace {

// Everything except the sticky exception flags, which any arithmetic may raise.
#ifdef SYNFIRE_TEST_HAS_MXCSR
constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040, exception_flags = 0x003F;
unsigned control_word() {
  return _mm_getcsr() & ~exception_flags;
}
#elif defined(__aarch64__)
constexpr uint64_t flush_to_zero = uint64_t{1} << 24;
uint64_t control_word() {
  uint64_t word = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(word));
  return word;
}
#else
int control_word() {
  return std::fegetround();
}
#endif

// Sets a mode for a scope.
class Mode {
 public:
  explicit Mode(int rounding, bool flush = false) {
    std::fegetenv(&saved_);
    std::fesetround(rounding);
    if (flush) set_flush();
  }
  ~Mode() {
    std::fesetenv(&saved_);
#if defined(_WIN32)
    _mm_setcsr(sse_);  // mingw-w64's fesetenv() leaves flush-to-zero on
#endif
  }
  Mode(const Mode&) = delete;
  Mode& operator=(const Mode&) = delete;

 private:
  static void set_flush() {
#ifdef SYNFIRE_TEST_HAS_MXCSR
    _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(control_word() | flush_to_zero));
#endif
  }
  std::fenv_t saved_;
#if defined(_WIN32)
  const unsigned sse_ = _mm_getcsr();
#endif
};

template <typename Scalar>
class FloatEnvironment : public testing::Test {
 protected:
  struct Everything {
    ForwardOutputs<Scalar> forward, replayed;
    BackwardOutputs<Scalar> backward;
    std::vector<Scalar> reset_state;
    std::vector<Scalar> between;  // written by the operations between the passes
    std::vector<uint16_t> narrow;
    std::vector<double> parameters;
  };

  // Sets parameters and runs a layer, eagerly and as a graph, in the current mode. Checks after every call that the
  // mode is still the caller's.
  static Everything live(const Neuron& neuron, const Shape& shape, const Inputs<Scalar>& inputs, int32_t n_threads,
                         bool per_neuron) {
    const auto mode = control_word();
    const auto expect_mode = [&](const char* call) { EXPECT_EQ(control_word(), mode) << "after " << call; };
    const Context context = make_context(n_threads);
    expect_mode("synfire_context_create");
    Rig<Scalar> rig(context, describe(neuron, shape, dtype_of<Scalar>));
    expect_mode("synfire_layer_create");
    Parameters parameters;  // 1/tau, v_rest/tau and the conversions to f32 round differently in every mode
    parameters.tau = {3.3};
    parameters.v_rest = {0.1};
    parameters.v_reset = {-0.1};
    parameters.alpha = {3.7};
    if (per_neuron) {
      parameters.tau.assign(static_cast<size_t>(shape.n_neurons), 3.3);
      for (size_t n = 0; n < parameters.tau.size(); n += 3) parameters.tau[n] = 1.7;
    }
    set_parameters(rig.layer, neuron, parameters);
    expect_mode("synfire_layer_set_parameter");
    rig.load(inputs);
    expect_mode("synfire_buffer_upload");
    Everything result;
    EXPECT_OK(rig.run_forward());
    expect_mode("synfire_layer_forward");
    result.forward = rig.forward_outputs();
    EXPECT_OK(rig.run_backward());
    expect_mode("synfire_layer_backward");
    result.backward = rig.backward_outputs();
    const Graph graph = make_graph(context);
    const synfire_forward_desc desc = rig.forward_desc({.spikes = Spikes::bits});
    EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &desc));
    EXPECT_OK(synfire_graph_instantiate(graph));
    expect_mode("synfire_graph_instantiate");
    uint64_t ticket = 0;
    EXPECT_OK(synfire_graph_launch(graph, nullptr, &ticket));
    expect_mode("synfire_graph_launch");
    EXPECT_OK(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_YIELD, -1));
    expect_mode("synfire_graph_wait");
    result.replayed = rig.forward_outputs();
    EXPECT_OK(synfire_layer_reset_state(rig.layer, nullptr));
    expect_mode("synfire_layer_reset_state");
    result.reset_state = read_state<Scalar>(rig.layer, shape.row());
    if (!per_neuron) between_the_passes(context, rig, inputs, result, expect_mode);
    return result;
  }

  // All other operations that compute: scale-and-add, fills, sums of gradients, setting and updating several
  // parameters.
  template <typename ExpectMode>
  static void between_the_passes(synfire_context context, Rig<Scalar>& rig, const Inputs<Scalar>& inputs,
                                 Everything& result, ExpectMode expect_mode) {
    const auto n = static_cast<size_t>(rig.shape.n_neurons);
    const auto add = [&](std::vector<Scalar> values) {
      result.between.insert(result.between.end(), values.begin(), values.end());
    };
    // A PLIF layer, whose tau is stored as its reciprocal, with several parameters set together.
    synfire_layer_desc desc = describe(rig.shape, dtype_of<Scalar>);
    desc.model = SYNFIRE_MODEL_PLIF;
    std::vector<double> tau(n, 3.6875), v_rest = {0.1};
    for (size_t i = 0; i < n; ++i) tau[i] += 0.0625 * static_cast<double>(i % 17);  // exact, whatever the mode
    for (const size_t count : {size_t{1}, n}) {
      const Layer plif = make_layer(context, desc);
      const synfire_parameter_values list[] = {{"v_rest", v_rest.data(), 1}, {"tau", tau.data(), count}};
      EXPECT_OK(synfire_layer_set_parameters(plif, list, 2));
      expect_mode("synfire_layer_set_parameters");
      const std::vector<double> stored = get_parameter(plif, "reciprocal_tau", n);
      result.parameters.insert(result.parameters.end(), stored.begin(), stored.end());
      // Its gradients, summed over all neurons and per neuron, and one update.
      const Buffer one = make_buffer(context, dtype_of<Scalar>, 1), each = make_buffer(context, dtype_of<Scalar>, n);
      synfire_forward_desc forward = rig.forward_desc();
      synfire_backward_desc backward = rig.backward_desc();
      const synfire_parameter_gradient gradients[] = {{"v_threshold", one},
                                                      {"reciprocal_tau", count == 1 ? one : each}};
      backward.parameter_gradients = count == 1 ? gradients : gradients + 1;
      backward.n_parameter_gradients = 1;
      EXPECT_OK(synfire_layer_forward(plif, &forward, nullptr));
      EXPECT_OK(synfire_layer_backward(plif, &backward, nullptr));
      expect_mode("synfire_layer_backward with gradients of parameters");
      add(download<Scalar>(one, 1));
      add(download<Scalar>(each, n));
      const Graph graph = make_graph(context);
      EXPECT_OK(synfire_graph_record_forward(graph, plif, &forward));
      EXPECT_OK(synfire_graph_record_backward(graph, plif, &backward));
      const int32_t update = record_update(graph, plif, "reciprocal_tau", count == 1 ? one : each, 0.1);
      expect_mode("synfire_graph_record_update_parameter");
      EXPECT_OK(synfire_graph_instantiate(graph));
      EXPECT_OK(synfire_graph_set_value(graph, update, "learning_rate", 1e-3));
      expect_mode("synfire_graph_set_value");
      replay(graph);
      replay(graph);
      expect_mode("a replay");
      add(download<Scalar>(one, 1));
      add(download<Scalar>(each, n));
      const std::vector<double> updated = get_parameter(plif, "reciprocal_tau", n);
      result.parameters.insert(result.parameters.end(), updated.begin(), updated.end());
    }
    // Scale-and-add, eager and replayed with another factor, to the layer's type and to 16-bit types.
    const uint64_t count = rig.shape.sequence();
    const Buffer sum = make_buffer(context, dtype_of<Scalar>, count);
    const synfire_scale_add_desc scale_add = scale_add_desc(rig.x, sum, 0.3, 0.7);
    upload(sum, inputs.grad_v_seq);
    EXPECT_OK(synfire_scale_add(context, &scale_add, nullptr));
    expect_mode("synfire_scale_add");
    add(download<Scalar>(sum, count));
    const Graph graph = make_graph(context);
    const int32_t added = record_scale_add(graph, rig.x, sum, 0.3, 0.7);
    const Buffer narrow = make_buffer(context, SYNFIRE_DTYPE_BF16, count),
                 half = make_buffer(context, SYNFIRE_DTYPE_F16, 2);
    if (dtype_of<Scalar> == SYNFIRE_DTYPE_F32) record_scale_add(graph, rig.x, narrow, 0.3, 0);
    const int32_t filled = record_fill(graph, half, 0.1);
    EXPECT_OK(synfire_graph_instantiate(graph));
    EXPECT_OK(synfire_graph_set_value(graph, added, "scale", 0.1));
    EXPECT_OK(synfire_graph_set_value(graph, filled, "value", 0.7));
    replay(graph);
    add(download<Scalar>(sum, count));
    result.narrow = joined(download<uint16_t>(narrow, count), download<uint16_t>(half, 2));
    EXPECT_OK(synfire_buffer_fill(half, 0.3));
    expect_mode("synfire_buffer_fill");
    result.narrow = joined(result.narrow, download<uint16_t>(half, 2));
    EXPECT_OK(synfire_buffer_fill(sum, 0.3));
    add(download<Scalar>(sum, 1));
  }

  static void expect_same(const Everything& a, const Everything& b) {
    EXPECT_TRUE(same_bits(a.forward, b.forward));
    EXPECT_TRUE(same_bits(a.replayed, b.replayed));
    EXPECT_TRUE(same_bits(a.backward, b.backward));
    EXPECT_TRUE(same_bits(a.reset_state, b.reset_state));
    EXPECT_TRUE(same_bits(a.between, b.between)) << "between the passes";
    EXPECT_EQ(a.narrow, b.narrow);
    EXPECT_TRUE(same_bits(a.parameters, b.parameters));
  }

  // A third of these inputs is denormal, so that flush-to-zero would show.
  static Inputs<Scalar> inputs_with_denormals(const Shape& shape) {
    Inputs<Scalar> inputs = random_inputs<Scalar>(shape, 1);
    const Scalar tiny = std::numeric_limits<Scalar>::denorm_min();
    for (std::vector<Scalar>* array : {&inputs.x, &inputs.v_init, &inputs.grad_spike_seq, &inputs.grad_v_seq})
      for (size_t i = 0; i < array->size(); i += 3) (*array)[i] = tiny * static_cast<Scalar>(i % 1000 + 1);
    return inputs;
  }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(FloatEnvironment, Scalars);

TYPED_TEST(FloatEnvironment, ResultsDoNotDependOnIt) {
  // Small work stays on the calling thread, in every mode. Large work goes to other threads, which do not inherit the
  // mode: there one rounding and flush-to-zero, because what a thread sets for itself sets every mode alike.
  Sample cases;
  for (const auto& [shape, n_threads] : {std::pair{Shape{6, 2, 33}, 1}, std::pair{Shape{16, 1, 33000}, 4}}) {
    const Inputs<TypeParam> inputs = this->inputs_with_denormals(shape);
    for (const bool per_neuron : {false, true}) {
      const Neuron neuron;
      const auto usual = this->live(neuron, shape, inputs, n_threads, per_neuron);
      for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        for (const bool flush : {false, true}) {
          if (n_threads > 1 && (rounding != FE_UPWARD || !flush)) continue;
          if (n_threads == 1 && !cases.next()) continue;
          SCOPED_TRACE(testing::Message() << shape << ", " << n_threads << " threads, per neuron " << per_neuron
                                          << ", rounding " << rounding << ", flush " << flush);
          const Mode mode(rounding, flush);
          const auto unusual = this->live(neuron, shape, inputs, n_threads, per_neuron);
          this->expect_same(unusual, usual);
          if (this->HasFailure()) return;
        }
      }
    }
  }
}

// Denormals count as numbers: IF adds them up exactly.
TYPED_TEST(FloatEnvironment, DenormalsAreKept) {
  const TypeParam tiny = std::numeric_limits<TypeParam>::denorm_min();
  const Context context = make_context();
  Neuron neuron;
  neuron.model = SYNFIRE_MODEL_IF;
  const Shape shape{4, 1, 3};
  for (const bool flush : {false, true}) {
    SCOPED_TRACE(flush);
    Rig<TypeParam> rig(context, describe(neuron, shape, dtype_of<TypeParam>));
    upload(rig.x, std::vector<TypeParam>(shape.sequence(), tiny));
    const Mode mode(FE_TONEAREST, flush);
    EXPECT_OK(rig.run_forward());
    const std::vector<TypeParam> v = download<TypeParam>(rig.v_final, 3);
    for (const TypeParam value : v) EXPECT_EQ(bits_of(value), 4u) << "four times the smallest denormal";
  }
}

}  // namespace
}  // namespace synfire_test
