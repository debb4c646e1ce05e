// Runs an operation now, on the given stream or into the caller's capture of it, instead of recording it.
#ifndef SYNFIRE_GRAPH_EAGER_CALLS_HPP
#define SYNFIRE_GRAPH_EAGER_CALLS_HPP

#include "operation.hpp"

#include <base/context.hpp>

#include <span>

namespace synfire::core {

class EagerCall {
 public:
  // Throws if the stream is not of the device. Asks once whether the caller is capturing the stream.
  EagerCall(Context& context, synfire_stream stream);

  // Runs the entries of one operation. If the device fails, part of the work may have run: `failed` restores
  // consistency. Returns true if the entries were added to the caller's capture.
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

bool run_now(Context& context, const OperationList& operations, synfire_stream stream);

}  // namespace synfire::core

#endif
