// Host time of every change between replays.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "step_support.hpp"

namespace synfire_test {
namespace {

template <typename Scalar>
class ChangeCost : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(ChangeCost, Scalars);

// Printed, and bounded.
TYPED_TEST(ChangeCost, IsWhatAFrameCanSpare) {
  const Context context = make_context();
  const auto make = [&](int64_t n_neurons) {
    return make_layer(context, describe(Shape{4, 2, n_neurons}, dtype_of<TypeParam>));
  };
  const Layer layer = make(5), plain = make(5), wide = make(1024);
  const Buffer grad = make_buffer_of(context, std::vector<TypeParam>{TypeParam(0)});
  const Graph graph = make_graph(context);
  record_update(graph, layer, "tau", grad, 1);
  const int32_t fill = record_fill(graph, grad, 0);
  EXPECT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  const auto measure = [](const char* what, int64_t allowed_ns, auto body) {
    using clock = std::chrono::steady_clock;
    std::vector<int64_t> ns;
    for (int i = 0; i < 1001; ++i) {
      const auto start = clock::now();
      const synfire_status status = body(i);
      ns.push_back(std::chrono::nanoseconds(clock::now() - start).count());
      EXPECT_OK(status);
    }
    std::nth_element(ns.begin(), ns.begin() + 500, ns.end());
    testing::Test::RecordProperty(std::string(what) + "_ns", std::to_string(ns[500]));
    std::printf("median of 1001: %s %lld ns\n", what, static_cast<long long>(ns[500]));
#ifndef SYNFIRE_TEST_SANITIZED
    EXPECT_LE(ns[500], allowed_ns) << what;
#else
    static_cast<void>(allowed_ns);
#endif
  };
  constexpr int64_t allowed = 5000;
  for (const Layer* each : {&plain, &layer})
    measure(each == &plain ? "set_parameter" : "set_parameter_updated", allowed, [&](int i) {
      const double value = 2 + i * 1e-3;
      return synfire_layer_set_parameter(*each, "tau", &value, 1);
    });
  measure("set_surrogate_parameter", allowed, [&](int i) {
    const double value = 2 + i * 1e-3;
    return synfire_layer_set_parameter(plain, "alpha", &value, 1);
  });
  measure("set_three_parameters", allowed, [&](int i) {
    const double tau = 2 + i * 1e-3, alpha = 3 + i * 1e-3, rest = i * 1e-4;
    const synfire_parameter_values list[] = {{"tau", &tau, 1}, {"alpha", &alpha, 1}, {"v_rest", &rest, 1}};
    return synfire_layer_set_parameters(plain, list, 3);
  });
  measure("set_n_active", allowed, [&](int i) { return synfire_layer_set_n_active(plain, i % 3); });
  measure("set_value", allowed, [&](int i) { return synfire_graph_set_value(graph, 0, "learning_rate", i); });
  measure("set_enabled", allowed, [&](int i) { return synfire_graph_set_enabled(graph, fill, i % 2); });
  std::vector<double> values(1024);
  measure("set_parameter_of_1024_neurons", allowed, [&](int i) {
    std::fill(values.begin(), values.end(), 2 + i * 1e-3);
    return synfire_layer_set_parameter(wide, "tau", values.data(), values.size());
  });
}

}  // namespace
}  // namespace synfire_test
