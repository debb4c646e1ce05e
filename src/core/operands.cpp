#include "operands.hpp"

#include "error.hpp"
#include "layer.hpp"

#include <string>

namespace synfire::core {

Buffer* buffer_of(const Array& array) noexcept {
  return array.owner && array.owner->type() == ObjectType::buffer ? static_cast<Buffer*>(array.owner) : nullptr;
}

Layer* layer_of(const Array& array) noexcept {
  return array.owner && array.owner->type() == ObjectType::layer ? static_cast<Layer*>(array.owner) : nullptr;
}

namespace {

using ConstOperand = Operand<const Array>;

uint64_t row_bytes(const Array& array) { return static_cast<uint64_t>(array.row) * bytes_of_dtype(array.dtype); }

// Rows of one matrix: both arrays have the same padded pitch, and their rows do not meet.
bool interleaved(const Array& a, const Array& b) {
  const uint64_t pitch = static_cast<uint64_t>(a.pitch) * bytes_of_dtype(a.dtype);
  if (!a.padded || !b.padded || pitch != static_cast<uint64_t>(b.pitch) * bytes_of_dtype(b.dtype)) return false;
  const auto a0 = reinterpret_cast<uintptr_t>(a.data), b0 = reinterpret_cast<uintptr_t>(b.data);
  const uint64_t ahead = b0 >= a0 ? (b0 - a0) % pitch : (pitch - (a0 - b0) % pitch) % pitch;  // of a's row to b's
  return ahead >= row_bytes(a) && ahead + row_bytes(b) <= pitch;
}

bool same_place(const Array& a, const Array& b) {
  return a.data == b.data && a.dtype == b.dtype && a.pitch == b.pitch;
}

bool takes_its_place(const ConstOperand& a, const ConstOperand& b) {
  return a.over == &b.array && same_place(a.array, b.array);
}

std::string name_of(const ConstOperand& operand) {
  std::string name = operand.name;
  const size_t at = name.find("[]");
  return at == std::string::npos ? name : name.insert(at + 1, std::to_string(operand.index));
}

}  // namespace

// Each pair is looked at where it stands: eager calls come here too, and need no memory for it.
void check_overlap(std::span<const Operation> operations) {
  for_each_operand(operations, [&](const ConstOperand& a) {
    // Memory of layers is no caller's: one entry may leave there what the next one reads.
    if (!a.is_written() || a.may_overlap || layer_of(a.array)) return;
    for_each_operand(operations, [&](const ConstOperand& b) {
      if (&a.array == &b.array || layer_of(b.array) || takes_its_place(a, b) || takes_its_place(b, a)) return;
      if (overlaps(a.array.data, a.array.bytes, b.array.data, b.array.bytes) && !interleaved(a.array, b.array))
        fail_argument("SYN-BUFFER-OVERLAP", "%s is written and overlaps %s; each output needs memory of its own",
                      name_of(a).c_str(), name_of(b).c_str());
    });
  });
}

}  // namespace synfire::core
