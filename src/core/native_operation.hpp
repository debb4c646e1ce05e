// A native node: the caller's own code between two operations of a graph, and how it is called and blamed.
#ifndef SYNFIRE_CORE_NATIVE_OPERATION_HPP
#define SYNFIRE_CORE_NATIVE_OPERATION_HPP

#include "operation.hpp"

namespace synfire::core {

// Calls the node's function; a negative answer or an exception becomes a Failure that names the node.
void call_native(const NativeOperation& op, synfire_stream stream, uint32_t slot);

// "native node 3 \"my kernel\"".
std::string describe_native(const NativeOperation& op);

// Throws ::SYNFIRE_ERROR_CALLBACK, naming the node.
[[noreturn]] void fail_native(const NativeOperation& op, const char* rule, const char* what);

}  // namespace synfire::core

#endif
