// Eager calls: the operation that a graph would record, run now: on the stream that it is given, or into the caller's
// capture of it.
#ifndef SYNFIRE_GRAPH_EAGER_CALLS_HPP
#define SYNFIRE_GRAPH_EAGER_CALLS_HPP

#include "operation.hpp"

#include <base/context.hpp>

#include <span>

namespace synfire::core {

class EagerCall {
 public:
  // Throws when the device cannot have the stream. Whether the caller captures it is asked once, before anything is
  // done.
  EagerCall(Context& context, synfire_stream stream);

  // The entries of one operation. What a call leaves behind on a device that fails may have run in part: `failed` says
  // what then holds. True: they are part of the caller's capture now.
  bool run(std::span<const Operation> operations, FunctionRef<void()> failed) const;
  bool run(std::span<const Operation> operations) const {
    return run(operations, [] {});
  }

 private:
  bool run_placed(std::span<const Operation> operations, FunctionRef<void()> failed) const;

  Context& context_;
  const synfire_stream stream_;
  bool captured_;
};

// Of an operation that was made and checked.
bool run_now(Context& context, const OperationList& operations, synfire_stream stream);

}  // namespace synfire::core

#endif
