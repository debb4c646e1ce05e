// Networks saved to memory and loaded again.
#ifndef SYNFIRE_TESTS_CAPI_NETWORK_FILE_HPP
#define SYNFIRE_TESTS_CAPI_NETWORK_FILE_HPP

#include "network_by_hand.hpp"

namespace synfire_test {

using File = std::vector<std::byte>;

inline File saved(synfire_network network) {
  uint64_t bytes = 0;
  require_ok(synfire_network_save_to_memory(network, nullptr, &bytes));
  File file(bytes);
  require_ok(synfire_network_save_to_memory(network, file.data(), &bytes));
  EXPECT_EQ(bytes, file.size());
  return file;
}

inline synfire_status load(synfire_network network, const File& file) {
  return synfire_network_load_from_memory(network, file.data(), file.size());
}

inline Network created(synfire_context context, const File& file, int64_t n_steps = 0, int64_t batch = 0,
                       bool inference = false) {
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  desc.n_steps = n_steps;
  desc.batch = batch;
  desc.inference = inference ? 1 : 0;
  synfire_network made = nullptr;
  require_ok(synfire_network_create_from_memory(context, file.data(), file.size(), &desc, &made));
  return Network(made);
}

inline synfire_network_result trained(synfire_network network, int64_t n_batches) {
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  require_ok(synfire_network_train(network, n_batches, &result));
  return result;
}

}  // namespace synfire_test

#endif
