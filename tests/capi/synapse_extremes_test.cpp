// Synapses with numbers at the ends of their range. Against the references of the rig.
#include "graph_support.hpp"
#include "synapse_rig.hpp"

namespace synfire_test {
namespace {

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

}  // namespace
}  // namespace synfire_test
