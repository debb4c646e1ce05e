#include "dropout.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
#include <operations/spikes/spike_views.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Limits: the counter's words for the neuron and the batch row.
void check_range(const Extents& e) {
  constexpr int64_t most_neurons = int64_t{1} << 34, most_rows = int64_t{1} << 32;
  if (e.n_neurons > most_neurons || e.batch > most_rows)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-DROPOUT-SHAPE",
         "desc.n_neurons is %lld and desc.batch %lld; a mask has at most 2^34 neurons and 2^32 batch rows",
         static_cast<long long>(e.n_neurons), static_cast<long long>(e.batch));
}

View mask_view(const Buffer& buffer, const Extents& e) {
  check_type(buffer, "desc.mask", SYNFIRE_DTYPE_BITS);
  return spike_view(buffer, "desc.mask", e);
}

View scale_view(const Buffer& buffer) {
  check_type(buffer, "desc.scale", arithmetic_dtypes);
  return stepped(buffer, "desc.scale", {1, 1}, std::string(name_of_dtype(buffer.dtype())).append(" [1]"));
}

}  // namespace

OperationLabel label(const Dropout& op) {
  char text[96];
  std::snprintf(text, sizeof text, "%g of [%lld, %lld]", op.probability, static_cast<long long>(op.extents.batch),
                static_cast<long long>(op.extents.n_neurons));
  return {nullptr, text};
}

OperationList dropout(const DropoutRequest& request) {
  const Extents e = checked_extents({1, request.batch, request.n_neurons});
  check_range(e);
  if (!(request.probability >= 0 && request.probability < 1))
    fail_argument("SYN-DROPOUT-PROBABILITY", "desc.probability is %g; a number from 0 to less than 1 is needed",
                  request.probability);
  OperationList operations = {Dropout{e, mask_view(*request.mask, e), scale_view(*request.scale), request.probability,
                                      request.seed, request.offset}};
  check_overlap(operations);
  return operations;
}

void record_dropout(Graph& graph, const DropoutRequest& request) {
  graph.record([&](Recorder& recorder) {
    const OperationList operations = dropout(request);
    Dropout op = *operations.front().as<Dropout>();
    op.probability_value = recorder.probability("probability", request.probability);
    op.seed_value = recorder.whole("seed", request.seed);
    op.offset_value = recorder.counted("offset", request.offset);
    return OperationList{op};
  });
}

}  // namespace synfire::operations
