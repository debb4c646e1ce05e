#include "operands.hpp"

#include <base/buffer.hpp>
#include <base/error.hpp>
#include <base/versioned.hpp>

#include <algorithm>
#include <string>

namespace synfire::core {

Buffer* buffer_of(const View& view) noexcept {
  return view.owner && view.owner->type() == ObjectType::buffer ? static_cast<Buffer*>(view.owner) : nullptr;
}

Versioned* versioned_of(const View& written) noexcept {
  Versioned* const object = written.owner ? written.owner->versioned() : nullptr;
  return object && object->counts(written) ? object : nullptr;
}

namespace {

using ConstOperand = Operand<const View>;

uint64_t row_bytes(const View& view) {
  return static_cast<uint64_t>(view.row()) * bytes_of_dtype(view.dtype);
}

// Rows of one matrix: both arrays have the same padded pitch, and their rows do not meet.
bool interleaved(const View& a, const View& b) {
  const uint64_t pitch = static_cast<uint64_t>(a.pitch) * bytes_of_dtype(a.dtype);
  if (!a.is_padded() || !b.is_padded() || pitch != static_cast<uint64_t>(b.pitch) * bytes_of_dtype(b.dtype))
    return false;
  const auto a0 = reinterpret_cast<uintptr_t>(a.data), b0 = reinterpret_cast<uintptr_t>(b.data);
  const uint64_t ahead = b0 >= a0 ? (b0 - a0) % pitch : (pitch - (a0 - b0) % pitch) % pitch;  // of a's row to b's
  return ahead >= row_bytes(a) && ahead + row_bytes(b) <= pitch;
}

bool same_place(const View& a, const View& b) {
  return a.data == b.data && a.dtype == b.dtype && a.pitch == b.pitch;
}

bool takes_its_place(const ConstOperand& a, const ConstOperand& b) {
  return a.over == &b.view && same_place(a.view, b.view);
}

std::string name_of(const ConstOperand& operand) {
  std::string name = operand.name;
  const size_t at = name.find("[]");
  return at == std::string::npos ? name : name.insert(at + 1, std::to_string(operand.index));
}

}  // namespace

// Compares pairs without allocating, because eager calls use this too.
void check_overlap(std::span<const Operation> operations) {
  for_each_operand(operations, [&](const ConstOperand& a) {
    // Memory of layers and tapes is not checked: one entry may write there what the next one reads.
    if (!a.is_written() || a.may_overlap || !buffer_of(a.view)) return;
    for_each_operand(operations, [&](const ConstOperand& b) {
      if (&a.view == &b.view || b.is_scratch() || !buffer_of(b.view) || takes_its_place(a, b) ||
          takes_its_place(b, a) || (a.view.shared > 0 && a.view.shared == b.view.shared))
        return;
      if (overlaps(a.view.data, a.view.bytes, b.view.data, b.view.bytes) && !interleaved(a.view, b.view))
        fail_argument("SYN-BUFFER-OVERLAP", "%s is written and overlaps %s; each output needs memory of its own",
                      name_of(a).c_str(), name_of(b).c_str());
    });
  });
}

// ---- scratch memory -------------------------------------------------------------------------------------------------

namespace {

constexpr uint64_t scratch_alignment = 256;

uint64_t aligned(uint64_t bytes) {
  return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
}

}  // namespace

namespace {

// Calls visit(first, count) for the entries of each recorded operation.
template <class Visit>
void for_each_recorded(size_t n_entries, std::span<const uint32_t> owners, Visit visit) {
  size_t first = 0;
  while (first < n_entries) {
    size_t end = owners.empty() ? n_entries : first + 1;
    while (end < n_entries && owners[end] == owners[first]) ++end;
    visit(first, end - first);
    first = end;
  }
}

// Where the memory that the entries of an operation share begins, by its number, and where it ends.
struct SharedScratch {
  uint64_t offsets[View::most_shared + 1] = {};
  uint64_t end = 0;

  explicit SharedScratch(std::span<const Operation> entries) {
    uint64_t bytes[View::most_shared + 1] = {};
    for_each_operand(entries, [&](const ConstOperand& operand) {
      const View& view = operand.view;
      if (view.is_shared_scratch()) bytes[view.shared] = std::max(bytes[view.shared], aligned(view.bytes));
    });
    for (int32_t i = 1; i <= View::most_shared; ++i) {
      offsets[i] = end;
      end += bytes[i];
    }
  }
};

uint64_t own_scratch_bytes(const Operation& entry) {
  uint64_t bytes = 0;
  for_each_operand(entry, [&](const ConstOperand& operand) {
    if (operand.is_scratch()) bytes += aligned(operand.view.bytes);
  });
  return bytes;
}

}  // namespace

uint64_t scratch_bytes(std::span<const Operation> operations, std::span<const uint32_t> owners) {
  uint64_t most = 0;
  for_each_recorded(operations.size(), owners, [&](size_t first, size_t count) {
    const auto entries = operations.subspan(first, count);
    uint64_t most_own = 0;
    for (const Operation& entry : entries) most_own = std::max(most_own, own_scratch_bytes(entry));
    most = std::max(most, SharedScratch(entries).end + most_own);
  });
  return most;
}

void place_scratch(std::span<Operation> operations, std::span<const uint32_t> owners, void* memory) {
  for_each_recorded(operations.size(), owners, [&](size_t first, size_t count) {
    const auto entries = operations.subspan(first, count);
    const SharedScratch shared(entries);
    char* const begin = static_cast<char*>(memory);
    for (Operation& entry : entries) {
      char* next = begin + shared.end;
      for_each_operand(entry, [&](const Operand<View>& operand) {
        View& view = operand.view;
        if (view.is_shared_scratch()) view.data = begin + shared.offsets[view.shared];
        if (!operand.is_scratch()) return;
        view.data = next;
        next += aligned(view.bytes);
      });
    }
  });
}

}  // namespace synfire::core
