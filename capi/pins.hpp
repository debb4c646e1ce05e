// Handles of synfire.h looked up and pinned for the duration of a call.
#ifndef SYNFIRE_CAPI_PINS_HPP
#define SYNFIRE_CAPI_PINS_HPP

#include "guard.hpp"

#include <graph/eager_calls.hpp>
#include <graph/graph.hpp>
#include <layer/layer.hpp>
#include <synapses/synapse.hpp>

namespace synfire::capi {

using PinnedContext = Pinned<core::Context>;
using PinnedBuffer = Pinned<core::Buffer>;
using PinnedLayer = Pinned<core::Layer>;
using PinnedSynapse = Pinned<core::Synapse>;
using PinnedGraph = Pinned<core::Graph>;

inline PinnedContext pinned(synfire_context handle) {
  return {value_of(handle), "context", core::ObjectType::context};
}
inline PinnedLayer pinned(synfire_layer handle, const char* name = "layer") {
  return {value_of(handle), name, core::ObjectType::layer};
}
inline PinnedSynapse pinned(synfire_synapse handle, const char* name = "synapse") {
  return {value_of(handle), name, core::ObjectType::synapse};
}
inline PinnedGraph pinned(synfire_graph handle) {
  return {value_of(handle), "graph", core::ObjectType::graph};
}
inline PinnedBuffer pinned(synfire_buffer handle, const char* name = "buffer") {
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
inline PinnedBuffer required(synfire_buffer handle, const char* name, const core::Context& context) {
  PinnedBuffer buffer = pinned(handle, name);
  check_same_context(*buffer, context, name);
  return buffer;
}

inline PinnedBuffer optional(synfire_buffer handle, const char* name, const core::Context& context) {
  if (!handle) return {};
  return required(handle, name, context);
}

inline PinnedLayer required(synfire_layer handle, const char* name, const core::Context& context) {
  PinnedLayer layer = pinned(handle, name);
  check_same_context(*layer, context, name);
  return layer;
}

inline PinnedSynapse required(synfire_synapse handle, const char* name, const core::Context& context) {
  PinnedSynapse synapse = pinned(handle, name);
  check_same_context(*synapse, context, name);
  return synapse;
}

inline PinnedSynapse optional(synfire_synapse handle, const char* name, const core::Context& context) {
  if (!handle) return {};
  return required(handle, name, context);
}

}  // namespace synfire::capi

#endif
