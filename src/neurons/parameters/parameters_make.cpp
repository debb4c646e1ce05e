#include "parameters_arguments_of.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <neurons/graph_tapes.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace synfire::operations {

using namespace synfire::core;

constinit const ValueSender value_sender = {
    [](Layer& layer) {
      const Operation operation = SetParameters{&layer, layer.parameter_memory()};
      layer.context()->device().load({&operation, 1});
    },
    [](Layer& layer, synfire_stream stream) {
      const Operation operation = SetParameters{&layer, layer.parameter_memory()};
      layer.context()->device().execute({&operation, 1}, stream);
    }};

OperationLabel label(const UpdateParameter& op) {
  return {op.layer, op.layer->parameters().spec(op.parameter).name};
}

model::Descent checked_descent(const Layer& layer, const UpdateRequest& request, const char* place) {
  const auto& spec = layer.parameters().spec(request.parameter.index);
  const bool reciprocal = request.parameter.reciprocal;
  const char* const known_as = reciprocal ? spec.reciprocal_name : spec.name;
  const std::string name = std::string(place).append("gradient");
  layer.parameters().gradient_row(request.parameter,
                                  std::string(place).append("name").c_str());  // refuses the surrogate's
  const Buffer& gradient = *request.gradient;
  check_type(gradient, name.c_str(), layer.spec().arithmetic());
  const uint64_t held = gradient.view().bytes / layer.spec().element_bytes(),
                 length = layer.parameters().values(request.parameter.index).size();
  if (held != length)
    fail_argument("SYN-UPDATE-LENGTH", "%s holds %llu elements; \"%s\" holds %llu, and both must be the same",
                  name.c_str(), static_cast<unsigned long long>(held), known_as,
                  static_cast<unsigned long long>(length));
  const int64_t lengths[] = {static_cast<int64_t>(held)};
  check_shape(gradient, name.c_str(), lengths,
              std::string(name_of_dtype(gradient.dtype())).append(" ").append(lengths_text(lengths)));
  check_memory(gradient, name.c_str());

  model::Descent descent = {};
  descent.reciprocal = reciprocal;
  descent.minimum =
      spec.open_range ? std::nextafter(spec.minimum, std::numeric_limits<double>::infinity()) : spec.minimum;
  descent.maximum = spec.maximum;
  const auto largest = std::numeric_limits<double>::max();
  descent.lower = reciprocal ? 1.0 / descent.maximum : descent.minimum;
  descent.upper = reciprocal ? std::min(largest, 1.0 / descent.minimum) : descent.maximum;
  for (const double* const bound : {request.lower, request.upper})
    if (bound && !std::isfinite(*bound))
      fail_argument("SYN-UPDATE-BOUNDS", "%s%s is %g; it must be finite", place,
                    bound == request.lower ? "lower" : "upper", *bound);
  if (request.lower) descent.lower = std::max(descent.lower, *request.lower);
  if (request.upper) descent.upper = std::min(descent.upper, *request.upper);
  if (descent.lower > descent.upper)
    fail_argument("SYN-UPDATE-BOUNDS",
                  "from %slower to %supper, and in the range of \"%s\", there is no value: %g to %g", place, place,
                  known_as, descent.lower, descent.upper);
  return descent;
}

namespace {

UpdateParameter make_update(Recorder& recorder, Layer& layer, const UpdateRequest& request, double learning_rate) {
  const auto lock = layer.lock_parameters();
  const model::Descent descent = checked_descent(layer, request, "desc.");
  const double* const rate = recorder.number("learning_rate", learning_rate);
  GraphTapes::of(recorder).updates(recorder, layer, request.parameter.index);
  return {&layer,
          request.parameter.index,
          descent,
          request.gradient->view(),
          static_cast<int64_t>(layer.parameters().values(request.parameter.index).size()),
          rate,
          layer.parameter_memory()};
}

}  // namespace

void record_update(Graph& graph, Layer& layer, const UpdateRequest& request, double learning_rate) {
  graph.record([&](Recorder& recorder) {
    check_scalar(learning_rate, "learning_rate");
    return OperationList{make_update(recorder, layer, request, learning_rate)};
  });
}

}  // namespace synfire::operations
