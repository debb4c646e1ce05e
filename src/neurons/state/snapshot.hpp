// Snapshots in a graph need, besides copies, an operation that writes a header and a copy that runs only if it matches.
#ifndef SYNFIRE_NEURONS_STATE_SNAPSHOT_HPP
#define SYNFIRE_NEURONS_STATE_SNAPSHOT_HPP

#include <operations/kind.hpp>

#include <array>

namespace synfire::operations {

struct WriteBytes {
  View destination;
  std::array<unsigned char, 128> bytes;
  uint64_t n_bytes;

  static constexpr const char* name = "snapshot";
  static void operands(WriteBytes& op, OperandVisitor visit) {
    visit({"desc.buffer", op.destination, Access::write, Transfer::direct});
  }
};
inline OperationLabel label(const WriteBytes&) {
  return {};
}
inline bool wants_threads(const WriteBytes&) {
  return false;
}
void run(const WriteBytes& op, host::Launcher& launcher);
cuda::Hints hints(const WriteBytes& op, const cuda::GpuShape& gpu);
void enqueue(const WriteBytes& op, cuda::Launcher& launcher);

// A copy that runs only if `guard` has the expected contents.
struct GuardedCopy {
  View source;       // contiguous
  View destination;  // as many elements of 4 or 8 bytes; its steps may be apart
  View guard;
  std::array<unsigned char, 128> expected;
  uint64_t n_expected;

  static constexpr const char* name = "restore";
  static void operands(GuardedCopy& op, OperandVisitor visit) {
    visit({"desc.buffer", op.source, Access::read, Transfer::direct});
    visit({"desc.buffer", op.guard, Access::read, Transfer::direct});
    visit({"the layer's state", op.destination, Access::update, Transfer::direct});
  }
};
inline OperationLabel label(const GuardedCopy&) {
  return {};
}
inline bool wants_threads(const GuardedCopy&) {
  return false;
}
void run(const GuardedCopy& op, host::Launcher& launcher);
cuda::Hints hints(const GuardedCopy& op, const cuda::GpuShape& gpu);
void enqueue(const GuardedCopy& op, cuda::Launcher& launcher);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(WriteBytes);
SYNFIRE_DECLARE_KIND(GuardedCopy);

#endif
