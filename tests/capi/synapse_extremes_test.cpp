// Synapses with numbers at the ends of their range: gradients that are all 0, huge, heavy-tailed or not finite, and
// weights from the smallest number to the largest. Against the references of the rig.
#include <cmath>
#include <limits>

#include "graph_support.hpp"
#include "synapse_rig.hpp"

namespace synfire_test {
namespace {

constexpr float largest = std::numeric_limits<float>::max();
constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

class SynapseExtremes : public SynapseTest {};

// ---- Gradients ------------------------------------------------------------------------------------------------------

// Rows (t, b) whose gradients are all 0, of either sign, beside others: dL/dx is +0 there, for weights of either sign.
TEST_F(SynapseExtremes, GradientsThatAreAllZeroGivePositiveZero) {
  for (const Product& p : {Product{6, 3, 70, 33}, Product{35, 4, 33, 130, 3}})
    for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES}) {
      SCOPED_TRACE(testing::Message() << p << " kind " << kind);
      const Weights w = random_weights(p, false, 1);
      std::vector<float> grad = Random(2).values<float>(p.rows() * p.outputs(), -1, 1);
      for (size_t m = 0; m < p.rows(); ++m)
        for (size_t n = 0; n < p.outputs() && m % 3 != 0; ++n)
          grad[m * p.outputs() + n] = m % 3 == 1 ? 0.0f : n % 2 == 0 ? -0.0f : 0.0f;
      const Synapse synapse = make_synapse(context, describe(p, false, SYNFIRE_DTYPE_F32, kind));
      set(synapse, w);
      const Buffer active = active_buffer(p);
      Rows grad_output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
      grad_output.put(as_doubles(grad));
      const Rows grad_input = rows_for_input(context, SYNFIRE_DTYPE_F32, p);
      const auto desc = backward(p, grad_output, nullptr, grad_input, active);
      ASSERT_OK(synfire_synapse_backward(synapse, &desc, nullptr));
      const std::vector<double> dx = grad_input.get();
      EXPECT_TRUE(same_bits(dx, as_doubles(exact_input_gradient(p, w, grad))));
      EXPECT_TRUE(all_are(slice(dx, p.inputs(), p.inputs()), 0.0)) << "the second row";
    }
}

// Huge gradients of an output that has one that is not finite must not reach the integers of the others, nor overflow.
TEST_F(SynapseExtremes, HugeGradientsBesideOneThatIsNotFinite) {
  for (const int32_t bits : {24, 32})
    for (const float bad : {nan, infinity, -infinity}) {
      SCOPED_TRACE(testing::Message() << bits << " bits, " << bad);
      const Product p = {40, 9, 70, 37};
      const std::vector<double> spikes = random_spikes(p, 0.9, 1);
      std::vector<float> grad = Random(2).values<float>(p.rows() * p.outputs(), -1, 1);
      for (size_t m = 0; m < p.rows(); ++m)
        for (const size_t n : {size_t{0}, size_t{5}, size_t{36}})
          grad[m * p.outputs() + n] = m == 7 ? bad : m % 2 == 0 ? largest : m % 3 == 0 ? -largest : 0x1p31f;
      auto described = describe(p, true);
      described.gradient_bits = bits;
      const Synapse synapse = make_synapse(context, described);
      const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, spikes);
      Rows grad_output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
      grad_output.put(as_doubles(grad));
      const auto desc = backward(p, grad_output, input, nullptr, nullptr);
      ASSERT_OK(synfire_synapse_backward(synapse, &desc, nullptr));
      const Gradients<float> expected = exact_gradients(p, grad, spikes, bits);
      ASSERT_TRUE(std::isnan(expected.bias[0]) && std::isfinite(expected.bias[1]));
      EXPECT_TRUE(same_bits(read<float>(synapse, "weight_gradient", p.inputs() * p.outputs()), expected.weight));
      EXPECT_TRUE(same_bits(read<float>(synapse, "bias_gradient", p.outputs()), expected.bias));
    }
}

}  // namespace
}  // namespace synfire_test
