#include "operands.hpp"

#include <base/buffer.hpp>
#include <base/error.hpp>
#include <base/versioned.hpp>

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

bool is_passed_on(const ConstOperand& a, const ConstOperand& b) {
  return a.view.passed_on && b.view.passed_on && same_place(a.view, b.view);
}

std::string name_of(const ConstOperand& operand) {
  std::string name = operand.name;
  const size_t at = name.find("[]");
  return at == std::string::npos ? name : name.insert(at + 1, std::to_string(operand.index));
}

}  // namespace

void check_written(std::span<const Operation> operations) {
  for_each_operand(operations, [](const ConstOperand& operand) {
    if (!operand.is_written()) return;
    const Buffer* const buffer = buffer_of(operand.view);
    if (buffer && buffer->is_only_read()) buffer->check_may_be_written(name_of(operand).c_str());
  });
}

// Compares pairs without allocating, because eager calls use this too.
void check_overlap(std::span<const Operation> operations) {
  for_each_operand(operations, [&](const ConstOperand& a) {
    // Memory of layers and tapes is not checked: one entry may write there what the next one reads.
    if (!a.is_written() || a.may_overlap || !buffer_of(a.view)) return;
    for_each_operand(operations, [&](const ConstOperand& b) {
      if (&a.view == &b.view || b.is_scratch() || !buffer_of(b.view) || takes_its_place(a, b) ||
          takes_its_place(b, a) || is_passed_on(a, b))
        return;
      if (overlaps(a.view.data, a.view.bytes, b.view.data, b.view.bytes) && !interleaved(a.view, b.view))
        fail_argument("SYN-BUFFER-OVERLAP", "%s is written and overlaps %s; each output needs memory of its own",
                      name_of(a).c_str(), name_of(b).c_str());
    });
  });
}

}  // namespace synfire::core
