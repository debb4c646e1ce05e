#include "shuffle.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

ShuffleRules rules_of(const ShuffleRequest& request) {
  constexpr int64_t most = 0xFFFFFFFF;  // an index and n_active are u32
  const int64_t n_rows = request.n_rows, batch = request.batch == 0 ? 1 : request.batch;
  if (n_rows < 1 || n_rows > most)
    fail_argument("SYN-SHUFFLE-SHAPE", "desc.n_rows is %lld; 1 to 2^32 - 1 rows can be shuffled",
                  static_cast<long long>(n_rows));
  if (batch < 1 || batch > most)
    fail_argument("SYN-SHUFFLE-SHAPE", "desc.batch is %lld; 1 to 2^32 - 1 are allowed (0 means 1)",
                  static_cast<long long>(batch));
  if (request.drop_last && batch > n_rows)
    fail_argument("SYN-SHUFFLE-EMPTY",
                  "desc.batch is %lld and desc.n_rows %lld; with desc.drop_last an epoch would have no batch",
                  static_cast<long long>(batch), static_cast<long long>(n_rows));
  const int64_t n_batches = request.drop_last ? n_rows / batch : (n_rows - 1) / batch + 1;
  const uint32_t n_columns = operations::columns_of(static_cast<uint32_t>(n_rows));
  return {static_cast<uint32_t>(n_rows),
          static_cast<uint32_t>(batch),
          static_cast<uint32_t>(n_batches),
          request.in_order,
          n_columns,
          lines_of(static_cast<uint32_t>(n_rows), n_columns)};
}

View u32_steps(const Buffer& buffer, const char* name, int64_t count) {
  check_type(buffer, name, SYNFIRE_DTYPE_U32);
  return stepped(buffer, name, {1, count}, "u32 [" + std::to_string(count) + "]");
}

}  // namespace

OperationLabel label(const Shuffle& op) {
  char text[96];
  std::snprintf(text, sizeof text, "%u of %u rows%s", op.rules.batch, op.rules.n_rows,
                op.rules.in_order ? ", in order" : "");
  return {nullptr, text};
}

OperationList shuffle(const ShuffleRequest& request) {
  const ShuffleRules rules = rules_of(request);
  OperationList operations = {Shuffle{rules, u32_steps(*request.indices, "desc.indices", rules.batch),
                                      request.n_active ? u32_steps(*request.n_active, "desc.n_active", 1) : View{},
                                      request.seed, request.offset}};
  check_overlap(operations);
  return operations;
}

void record_shuffle(Graph& graph, const ShuffleRequest& request) {
  graph.record([&](Recorder& recorder) {
    const OperationList operations = shuffle(request);
    Shuffle op = *operations.front().as<Shuffle>();
    op.seed_value = recorder.whole("seed", request.seed);
    op.offset_value = recorder.counted("offset", request.offset);
    return OperationList{op};
  });
}

}  // namespace synfire::operations
