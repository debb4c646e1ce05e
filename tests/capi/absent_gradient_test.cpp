// An absent gradient adds nothing, not even to the sign of a zero: the backward gives the same bits as with a gradient
// of -0 in its place.
#include <cmath>

#include "support.hpp"

namespace synfire_test {
namespace {

template <typename Scalar>
class AbsentGradient : public testing::Test {
 protected:
  static inline const Shape shape{3, 2, 19};
  const Context context_ = make_context();

  struct Outputs {
    std::vector<Scalar> grad_x_seq, grad_v_init, grad_w_init;
  };

  // A backward of neurons at rest. All gradients that are passed are -0.
  Outputs run(int32_t model, int32_t reset, bool detach, bool given) const {
    synfire_layer_desc desc = describe(shape, dtype_of<Scalar>);
    desc.model = model;
    desc.reset = reset;
    desc.detach_reset = detach ? 1 : 0;
    const Layer layer = make_layer(context_, desc);
    const auto sequence = [&] { return make_buffer_of(context_, std::vector<Scalar>(shape.sequence(), Scalar(-0.0))); };
    const auto row = [&] { return make_buffer_of(context_, std::vector<Scalar>(shape.row(), Scalar(-0.0))); };
    const Buffer x = make_buffer_of(context_, Random(1).values<Scalar>(shape.sequence(), -0.2, 0.2));
    const Buffer grad_spike = sequence(), grad_v = sequence(), grad_w = sequence(), grad_x = sequence();
    const Buffer grad_v_final = row(), grad_w_final = row(), grad_v_init = row(), grad_w_init = row();
    const bool two = model == SYNFIRE_MODEL_IZHIKEVICH;
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = grad_spike;
    backward.grad_v_final = grad_v_final;
    backward.grad_x_seq = grad_x;
    backward.grad_v_init = grad_v_init;
    if (given) backward.grad_v_seq = grad_v;
    if (two) {
      backward.grad_w_final = grad_w_final;
      backward.grad_w_init = grad_w_init;
      if (given) backward.grad_w_seq = grad_w;
    }
    for (const Buffer* output : {&grad_x, &grad_v_init, &grad_w_init}) EXPECT_OK(synfire_buffer_fill(*output, 9));
    EXPECT_OK(synfire_layer_backward(layer, &backward, nullptr));
    return {download<Scalar>(grad_x, shape.sequence()), download<Scalar>(grad_v_init, shape.row()),
            two ? download<Scalar>(grad_w_init, shape.row()) : std::vector<Scalar>()};
  }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(AbsentGradient, Scalars);

TYPED_TEST(AbsentGradient, IsNoChangeOfSignOfAZero) {
  for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model)
    for (const int32_t reset : {SYNFIRE_RESET_HARD, SYNFIRE_RESET_SOFT})
      for (const bool detach : {false, true}) {
        SCOPED_TRACE(testing::Message() << "model " << model << ", reset " << reset << ", detached " << detach);
        const auto absent = this->run(model, reset, detach, false), given = this->run(model, reset, detach, true);
        EXPECT_TRUE(same_bits(absent.grad_x_seq, given.grad_x_seq));
        EXPECT_TRUE(same_bits(absent.grad_v_init, given.grad_v_init));
        EXPECT_TRUE(same_bits(absent.grad_w_init, given.grad_w_init));
        // For these two, all factors are positive, so a sum of negative zeros stays negative.
        if (detach && model <= SYNFIRE_MODEL_PLIF) {
          EXPECT_TRUE(all_are(absent.grad_x_seq, TypeParam(-0.0)));
          EXPECT_TRUE(all_are(absent.grad_v_init, TypeParam(-0.0)));
        }
      }
}

}  // namespace
}  // namespace synfire_test
