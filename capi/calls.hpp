// The two functions of an operation, which differ in what they do with it: run it now, or record it. Each reads the
// descriptor and holds what it names (operands.hpp), on the context of the handle that it is called with.
#ifndef SYNFIRE_CAPI_CALLS_HPP
#define SYNFIRE_CAPI_CALLS_HPP

#include "operands.hpp"

namespace synfire::capi {

// Runs at once what `make` returns: an OperationList.
template <class Desc, class Make>
synfire_status run_now(const char* function, synfire_context context, const Desc* desc, synfire_stream stream,
                       Make make) noexcept {
  return guarded(function, [&] {
    const auto owner = held(context);
    const Operands<Desc> given(desc, *owner);
    return run_or_captured(core::run_now(*owner, make(given), stream));
  });
}

// The same on a layer or a synapse, which `make` receives first.
template <class Handle, class Desc, class Make>
synfire_status run_now_on(const char* function, Handle object, const Desc* desc, synfire_stream stream,
                          Make make) noexcept {
  return guarded(function, [&] {
    const auto found = held(object);
    const Operands<Desc> given(desc, *found->context());
    return run_or_captured(core::run_now(*found->context(), make(*found, given), stream));
  });
}

// Records what `make` returns.
template <class Desc, class Make>
synfire_status record(const char* function, synfire_graph graph, const Desc* desc, Make make) noexcept {
  return guarded(function, [&] {
    const auto target = held(graph);
    const Operands<Desc> given(desc, *target->context());
    target->record([&](core::Recorder&) { return make(given); });
    return SYNFIRE_OK;
  });
}

// Calls what records an operation that asks the recorder for numbers.
template <class Desc, class Call>
synfire_status record_with(const char* function, synfire_graph graph, const Desc* desc, Call call) noexcept {
  return guarded(function, [&] {
    const auto target = held(graph);
    const Operands<Desc> given(desc, *target->context());
    call(*target, given);
    return SYNFIRE_OK;
  });
}

// The same with a layer or a synapse.
template <class Handle, class Desc, class Call>
synfire_status record_on(const char* function, synfire_graph graph, Handle object, const char* name, const Desc* desc,
                         Call call) noexcept {
  return guarded(function, [&] {
    const auto target = held(graph);
    const auto found = required(object, name, *target->context());
    const Operands<Desc> given(desc, *target->context());
    call(*target, *found, given);
    return SYNFIRE_OK;
  });
}

}  // namespace synfire::capi

#endif
