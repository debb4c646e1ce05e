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

// ---- files changed by hand ------------------------------------------------------------------------------------------

// A file as the format describes it: the length of the header, the header, the bytes of the tensors.
struct FileParts {
  std::string header, data;

  explicit FileParts(const File& file) {
    uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    const auto* const text = reinterpret_cast<const char*>(file.data());
    header.assign(text + 8, length);
    data.assign(text + 8 + length, file.size() - 8 - length);
  }
  File whole() const {
    const uint64_t length = header.size();
    File file(8 + header.size() + data.size());
    std::memcpy(file.data(), &length, sizeof length);
    std::memcpy(&file[8], header.data(), header.size());
    if (!data.empty()) std::memcpy(&file[8 + header.size()], data.data(), data.size());
    return file;
  }
  // Replaces the first place in the header; its length may change.
  FileParts& replace(std::string_view before, std::string_view after) {
    const size_t at = header.find(before);
    EXPECT_NE(at, std::string::npos) << before;
    if (at != std::string::npos) header.replace(at, before.size(), after);
    return *this;
  }
  // Where the bytes of a tensor begin.
  size_t offset(const std::string& tensor) const {
    const std::string key = "\"data_offsets\":[";
    const size_t at = header.find(key, header.find("\"" + tensor + "\":{"));
    EXPECT_NE(at, std::string::npos) << tensor;
    return at == std::string::npos ? 0 : std::stoull(header.substr(at + key.size()));
  }
  template <class T>
  FileParts& poke(const std::string& tensor, size_t element, T value) {
    std::memcpy(&data[offset(tensor) + element * sizeof(T)], &value, sizeof value);
    return *this;
  }
};

inline synfire_network_result trained(synfire_network network, int64_t n_batches) {
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  require_ok(synfire_network_train(network, n_batches, &result));
  return result;
}

}  // namespace synfire_test

#endif
