// The integers that products add, for devices that compute them themselves.
#include "dense_matrix.hpp"

#include <base/error.hpp>
#include <base/host_memory.hpp>
#include <base/text.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace synfire::operations {

using namespace synfire::core;

namespace {

void check_count(const char* name, std::span<int32_t> values, int64_t count) {
  if (values.size() != static_cast<uint64_t>(count))
    fail_argument("SYN-SYNAPSE-SIZE", "count is %llu; \"%s\" has %lld integers",
                  static_cast<unsigned long long>(values.size()), name, static_cast<long long>(count));
}

// The first `used` of every `pitch` integers of an array on the device, without the bits that all of them lack.
void read_rows(const MatrixSynapse& synapse, const View& array, int64_t pitch, int64_t used, int dropped_bits,
               std::span<int32_t> values) {
  const int64_t n_rows = static_cast<int64_t>(values.size()) / used;
  const auto n_stored = static_cast<size_t>((n_rows - 1) * pitch + used);
  require_host_memory(n_stored * sizeof(int32_t), Paging::pageable);
  std::vector<int32_t> stored(n_stored);
  synapse.context()->device().download(stored.data(), array.data, n_stored * sizeof(int32_t));
  for (int64_t row = 0; row < n_rows; ++row)
    std::transform(stored.begin() + row * pitch, stored.begin() + row * pitch + used, values.begin() + row * used,
                   [=](int32_t integer) { return integer >> dropped_bits; });
}

}  // namespace

bool read_integers_of(Synapse& synapse, const char* name, std::span<int32_t> values) {
  auto& matrix = static_cast<MatrixSynapse&>(synapse);
  const DenseSpec& spec = matrix.spec();
  if (!spec.has_grid()) return false;
  const std::string_view wanted = name;
  if (wanted == "weight") {
    check_count(name, values, spec.n_weights());
    read_rows(matrix, matrix.rows(), spec.rows_pitch(), spec.n_inputs, spec.dropped_bits(), values);
  } else if (wanted == "exponent") {
    check_count(name, values, spec.n_outputs);
    read_rows(matrix, matrix.grid(), spec.n_outputs, spec.n_outputs, 0, values);
  } else if (wanted == "bias" && spec.has_bias && spec.is_exact()) {
    check_count(name, values, spec.n_outputs);
    read_rows(matrix, matrix.bias_on_grid(), spec.n_outputs, spec.n_outputs, 0, values);
  } else if (wanted == "bias") {
    fail_argument(
        "SYN-SYNAPSE-NAME", "name is \"bias\"; this synapse has no %s",
        spec.has_bias ? "integers of biases, which products of values add as they are" : "bias (desc.bias was 0)");
  } else {
    constexpr std::string_view names[] = {"weight", "exponent", "bias"};
    fail_argument("SYN-SYNAPSE-NAME",
                  "name is \"%.64s\"%s; integers have the names \"weight\", \"exponent\" and \"bias\"", name,
                  suggestion(name, names).c_str());
  }
  return true;
}

}  // namespace synfire::operations
