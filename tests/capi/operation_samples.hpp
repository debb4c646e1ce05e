// Descriptors with which an operation runs, found by trying: sample_operations() (operation_calls.hpp) has each
// descriptor with its numbers, and this gives each of its buffers the first type with which a graph accepts all. Tests
// that mean every operation need no list of them then. A descriptor that needs more than this is called by hand there.
#ifndef SYNFIRE_TESTS_CAPI_OPERATION_SAMPLES_HPP
#define SYNFIRE_TESTS_CAPI_OPERATION_SAMPLES_HPP

#include <synfire/synfire.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace synfire_test {

class OperationSamples {
 public:
  static constexpr uint64_t n_elements = 64;  // of each buffer; enough for arrays of two by two by two

  // The buffers of a sample, which are destroyed with it.
  class Buffers {
   public:
    Buffers() = default;
    Buffers(Buffers&&) = default;
    Buffers& operator=(Buffers&&) = delete;
    ~Buffers() {
      for (const synfire_buffer buffer : all) synfire_buffer_destroy(buffer);
    }
    std::vector<synfire_buffer> all;
  };

  // Sets the fields of the descriptor to new buffers. Returns none, and says so, if no types are accepted.
  template <typename Desc>
  bool give_buffers(synfire_context context, const std::string& name, Desc& desc,
                    std::initializer_list<synfire_buffer Desc::*> fields,
                    synfire_status (*record)(synfire_graph, const Desc*), Buffers& buffers) {
    if (!types_.contains(name)) types_[name] = find(context, desc, fields, record);
    const std::vector<int32_t>& types = types_[name];
    if (types.size() != fields.size()) return false;
    size_t i = 0;
    for (const auto field : fields) desc.*field = buffers.all.emplace_back(make(context, types[i++]));
    return true;
  }

 private:
  static constexpr int32_t n_types = SYNFIRE_DTYPE_U64 + 1;

  static synfire_buffer make(synfire_context context, int32_t dtype) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = n_elements;
    synfire_buffer buffer = nullptr;
    synfire_buffer_create(context, &desc, &buffer);
    return buffer;
  }

  // The types of the fields, or nothing.
  template <typename Desc>
  static std::vector<int32_t> find(synfire_context context, Desc desc,
                                   std::initializer_list<synfire_buffer Desc::*> fields,
                                   synfire_status (*record)(synfire_graph, const Desc*)) {
    Buffers buffers;  // of each type for each field
    int64_t n_choices = 1;
    for (size_t i = 0; i < fields.size(); ++i) {
      for (int32_t type = 0; type < n_types; ++type) buffers.all.push_back(make(context, type));
      n_choices *= n_types;
    }
    std::vector<int32_t> found;
    synfire_graph graph = nullptr;
    synfire_graph_create(context, nullptr, &graph);
    for (int64_t choice = 0; choice < n_choices && found.empty(); ++choice) {
      std::vector<int32_t> types;
      int64_t rest = choice;
      for (const auto field : fields) {
        const auto type = static_cast<int32_t>(rest % n_types);
        rest /= n_types;
        desc.*field = buffers.all[types.size() * n_types + static_cast<size_t>(type)];
        types.push_back(type);
      }
      if (record(graph, &desc) >= 0) found = types;
    }
    synfire_graph_destroy(graph);
    return found;
  }

  std::map<std::string, std::vector<int32_t>> types_;
};

}  // namespace synfire_test

#endif
