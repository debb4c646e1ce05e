// The host time of every change between replays: printed, and judged where SYNFIRE_TEST_TIMES asks for it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "../times.hpp"
#include "recording_support.hpp"

namespace synfire_test {
namespace {

template <typename Scalar>
class ChangeCost : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(ChangeCost, Scalars);

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
  std::vector<double> values(1024), quotients(1024);
  // The work of the library per value: a check and a division. Slow or busy machines slow it down too.
  const auto reference = [&](int i) {
    std::fill(values.begin(), values.end(), 2 + i * 1e-3);
    for (size_t n = 0; n < values.size(); ++n) quotients[n] = std::isfinite(values[n]) ? 1 / values[n] : 0;
    return quotients[static_cast<size_t>(i) % quotients.size()] > 0 ? SYNFIRE_OK : SYNFIRE_ERROR_INTERNAL;
  };
  const auto median_ns = [](auto body) {
    using clock = std::chrono::steady_clock;
    std::vector<int64_t> ns;
    for (int i = 0; i < 1001; ++i) {
      const auto start = clock::now();
      const synfire_status status = body(i);
      ns.push_back(std::chrono::nanoseconds(clock::now() - start).count());
      EXPECT_OK(status);
    }
    std::nth_element(ns.begin(), ns.begin() + 500, ns.end());
    return ns[500];
  };
  const auto measure = [&](const char* what, auto body) {
    // 5 us, or five times the reference if that takes more than 1 us. Three attempts.
    int64_t ns = 0, allowed_ns = 0;
    const int n_attempts = judges_times() ? 3 : 1;
    for (int attempt = 0; attempt < n_attempts && ns >= allowed_ns; ++attempt) {
      const int64_t reference_ns = median_ns(reference);
      ns = median_ns(body);
      allowed_ns = std::max<int64_t>(5000, 5 * reference_ns);
      std::printf("median of 1001: %s %lld ns (reference %lld ns)\n", what, static_cast<long long>(ns),
                  static_cast<long long>(reference_ns));
    }
    testing::Test::RecordProperty(std::string(what) + "_ns", std::to_string(ns));
    if (judges_times()) {
      EXPECT_LE(ns, allowed_ns) << what;
    }
  };
  for (const Layer* each : {&plain, &layer})
    measure(each == &plain ? "set_parameter" : "set_parameter_updated", [&](int i) {
      const double value = 2 + i * 1e-3;
      return synfire_layer_set_parameter(*each, "tau", &value, 1);
    });
  measure("set_surrogate_parameter", [&](int i) {
    const double value = 2 + i * 1e-3;
    return synfire_layer_set_parameter(plain, "alpha", &value, 1);
  });
  measure("set_three_parameters", [&](int i) {
    const double tau = 2 + i * 1e-3, alpha = 3 + i * 1e-3, rest = i * 1e-4;
    const synfire_parameter_values list[] = {{"tau", &tau, 1}, {"alpha", &alpha, 1}, {"v_rest", &rest, 1}};
    return synfire_layer_set_parameters(plain, list, 3);
  });
  measure("set_n_active", [&](int i) { return synfire_layer_set_n_active(plain, i % 3); });
  measure("set_value", [&](int i) { return synfire_graph_set_value(graph, 0, "learning_rate", i); });
  measure("set_enabled", [&](int i) { return synfire_graph_set_enabled(graph, fill, i % 2); });
  measure("set_parameter_of_1024_neurons", [&](int i) {
    std::fill(values.begin(), values.end(), 2 + i * 1e-3);
    return synfire_layer_set_parameter(wide, "tau", values.data(), values.size());
  });
}

}  // namespace
}  // namespace synfire_test
