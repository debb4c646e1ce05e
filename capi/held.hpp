// Handles of synfire.h looked up and held for the duration of a call.
#ifndef SYNFIRE_CAPI_HELD_HPP
#define SYNFIRE_CAPI_HELD_HPP

#include "guard.hpp"

#include <graph/eager_calls.hpp>
#include <graph/graph.hpp>
#include <neurons/layer.hpp>
#include <operations/native/native.hpp>
#include <ranks/communicator.hpp>
#include <synapses/synapse.hpp>

#include <string>
#include <vector>

namespace synfire::capi {

using HeldContext = Held<core::Context>;
using HeldBuffer = Held<core::Buffer>;
using HeldLayer = Held<core::Layer>;
using HeldSynapse = Held<core::Synapse>;
using HeldGraph = Held<core::Graph>;
using HeldCommunicator = Held<ranks::Communicator>;

inline HeldContext held(synfire_context handle) {
  return {value_of(handle), "context", core::ObjectType::context};
}
inline HeldLayer held(synfire_layer handle, const char* name = "layer") {
  return {value_of(handle), name, core::ObjectType::layer};
}
inline HeldSynapse held(synfire_synapse handle, const char* name = "synapse") {
  return {value_of(handle), name, core::ObjectType::synapse};
}
inline HeldGraph held(synfire_graph handle, Charges charges = Charges::yes) {
  return {value_of(handle), "graph", core::ObjectType::graph, charges};
}
inline HeldCommunicator held(synfire_communicator handle, const char* name = "communicator") {
  return {value_of(handle), name, core::ObjectType::communicator};
}
inline HeldBuffer held(synfire_buffer handle, const char* name = "buffer") {
  return {value_of(handle), name, core::ObjectType::buffer};
}

// Releases the object if no handle is available.
template <class Handle>
Handle registered(core::Object* object) {
  try {
    return reinterpret_cast<Handle>(register_object(object));
  } catch (...) {
    object->release();
    throw;
  }
}

// The status of a call that may have become part of the caller's capture.
inline synfire_status run_or_captured(bool captured) {
  return captured ? SYNFIRE_CAPTURED : SYNFIRE_OK;
}

// Arguments of the context of the call; optional() also allows null.
inline HeldBuffer required(synfire_buffer handle, const char* name, const core::Context& context) {
  HeldBuffer buffer = held(handle, name);
  check_same_context(*buffer, context, name);
  return buffer;
}

inline HeldBuffer optional(synfire_buffer handle, const char* name, const core::Context& context) {
  if (!handle) return {};
  return required(handle, name, context);
}

inline HeldLayer required(synfire_layer handle, const char* name, const core::Context& context) {
  HeldLayer layer = held(handle, name);
  check_same_context(*layer, context, name);
  return layer;
}

inline HeldSynapse required(synfire_synapse handle, const char* name, const core::Context& context) {
  HeldSynapse synapse = held(handle, name);
  check_same_context(*synapse, context, name);
  return synapse;
}

inline HeldSynapse optional(synfire_synapse handle, const char* name, const core::Context& context) {
  if (!handle) return {};
  return required(handle, name, context);
}

// ---- lists of buffers -----------------------------------------------------------------------------------------------

// The buffer of an entry, the name of that field, and the most entries that a list may have.
template <class Entry>
struct ListOf;
template <>
struct ListOf<synfire_buffer> {
  static constexpr uint64_t most = operations::most_native_buffers;
  static constexpr const char *rule = "SYN-GRAPH-NATIVE-COUNT", *field = "";
  static synfire_buffer buffer(synfire_buffer entry) { return entry; }
};
template <>
struct ListOf<synfire_state_buffer> {
  static constexpr uint64_t most = model::max_further_states;
  static constexpr const char *rule = "SYN-STATE-LIST", *field = ".buffer";
  static synfire_buffer buffer(const synfire_state_buffer& entry) { return entry.buffer; }
};
template <>
struct ListOf<synfire_parameter_gradient> {
  static constexpr uint64_t most = 64;  // more than any layer has; the layer checks its own number
  static constexpr const char *rule = "SYN-GRADIENT-COUNT", *field = ".gradient";
  static synfire_buffer buffer(const synfire_parameter_gradient& entry) { return entry.gradient; }
};

// A list of a descriptor with its buffers held for the call.
template <class Entry>
class HeldList {
 public:
  using Of = ListOf<Entry>;
  HeldList(const Entry* entries, uint64_t count, const char* name, const char* count_name, const core::Context& context,
           const char* rule = Of::rule)
      : entries_(entries), name_(name) {
    if (count == 0) return;
    check_pointer(entries, name);
    if (count > Of::most)
      core::fail_argument(rule, "%s is %llu; at most %llu are allowed", count_name,
                          static_cast<unsigned long long>(count), static_cast<unsigned long long>(Of::most));
    for (uint64_t i = 0; i < count; ++i) {
      if constexpr (requires { entries[i].name; }) check_pointer(entries[i].name, text_of(i, ".name").c_str());
      buffers_.push_back(required(Of::buffer(entries[i]), text_of(i, Of::field).c_str(), context));
    }
  }

  size_t size() const noexcept { return buffers_.size(); }
  const Entry& operator[](size_t i) const noexcept { return entries_[i]; }
  core::Buffer* buffer(size_t i) const noexcept { return buffers_[i].get(); }
  // "desc.state_init[2].name"
  std::string text_of(size_t i, const char* field) const {
    return std::string(name_).append("[").append(std::to_string(i)).append("]").append(field);
  }

 private:
  const Entry* entries_;
  const char* name_;
  std::vector<HeldBuffer> buffers_;
};

}  // namespace synfire::capi

#endif
