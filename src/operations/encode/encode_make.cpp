#include "encode_bernoulli.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
#include <operations/spikes/spike_views.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Limits: the counter's words for the neuron and the batch row.
void check_counted(const Extents& e) {
  constexpr int64_t most_neurons = int64_t{1} << 34, most_rows = int64_t{1} << 32;
  if (e.n_neurons > most_neurons || e.batch > most_rows)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-ENCODE-SHAPE",
         "desc.n_neurons is %lld and desc.batch %lld; at most 2^34 neurons and 2^32 batch rows can be encoded",
         static_cast<long long>(e.n_neurons), static_cast<long long>(e.batch));
}

View rates_of(const EncodeBernoulliRequest& request, const Extents& e) {
  const Buffer& rates = *request.rates;
  const int32_t dtype = rates.dtype();
  check_type(rates, "desc.rates", f32_number_dtypes);
  char text[128];
  if (request.rates_per_step)
    std::snprintf(text, sizeof text, "%s [%lld, %lld, %lld]", name_of_dtype(dtype), static_cast<long long>(e.n_steps),
                  static_cast<long long>(e.batch), static_cast<long long>(e.n_neurons));
  else
    std::snprintf(text, sizeof text, "%s [%lld, %lld]", name_of_dtype(dtype), static_cast<long long>(e.batch),
                  static_cast<long long>(e.n_neurons));
  return stepped(rates, "desc.rates", {request.rates_per_step ? e.n_steps : 1, e.batch, e.n_neurons}, text);
}

}  // namespace

OperationLabel label(const EncodeBernoulli& op) {
  return {nullptr, shape_text(op.extents)};
}

OperationList encode_bernoulli(const EncodeBernoulliRequest& request) {
  const Extents e = checked_extents(request.extents);
  check_counted(e);
  EncodeBernoulli op = {e,
                        request.rates_per_step,
                        rates_of(request, e),
                        spike_view(*request.spikes, "desc.spikes", e),
                        request.seed,
                        request.offset};
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

void record_encode_bernoulli(Graph& graph, const EncodeBernoulliRequest& request) {
  graph.record([&](Recorder& recorder) {
    const OperationList operations = encode_bernoulli(request);
    EncodeBernoulli op = *operations.front().as<EncodeBernoulli>();
    op.seed_value = recorder.whole("seed", request.seed);
    op.offset_value = recorder.counted("offset", request.offset);
    return OperationList{op};
  });
}

}  // namespace synfire::operations
