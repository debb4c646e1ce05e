#include "transients.hpp"

#include "operands.hpp"

#include <base/buffer.hpp>
#include <base/error.hpp>

#include <algorithm>

namespace synfire::core {

namespace {

constexpr uintptr_t address_alignment = 256;

// The addresses of arrays of a list that no graph has taken: 2^57 bytes for each number.
constexpr uintptr_t list_address = uintptr_t{7} << 61;
constexpr int bits_of_a_number = 57;
constexpr uint64_t most_bytes = uint64_t{1} << bits_of_a_number;
static_assert(list_address + (most_of_a_list + 1) * most_bytes > list_address, "addresses have 64 bits");

constexpr uintptr_t address_in_list(int32_t number) {
  return list_address + (static_cast<uintptr_t>(number) << bits_of_a_number);
}

uintptr_t address_of(const View& view) {
  return reinterpret_cast<uintptr_t>(view.data);
}

[[noreturn]] void fail_overflow() {
  fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-TRANSIENT-OVERFLOW",
       "the temporary arrays of the operations take more bytes than can be addressed");
}

}  // namespace

View transient_array(int32_t number, int32_t dtype, std::initializer_list<int64_t> lengths) {
  View view;
  view.dtype = dtype;
  view = view.shaped(lengths);
  view.pitch = view.row();
  view.bytes = bytes_of_dtype(dtype);
  for (const int64_t length : lengths)
    if (__builtin_mul_overflow(view.bytes, static_cast<uint64_t>(length), &view.bytes) || view.bytes > most_bytes)
      fail_overflow();
  view.data = reinterpret_cast<void*>(address_in_list(number));
  view.transient = number;
  return view;
}

bool has_transients(std::span<const Operation> operations) {
  bool any = false;
  for_each_operand(operations, [&](const Operand<const View>& operand) {
    any = any || operand.is_scratch() || operand.view.transient != 0;
  });
  return any;
}

int32_t Transients::add(uint64_t bytes) {
  if (bytes > end_of_addresses - next_address_ - address_alignment) fail_overflow();
  arrays_.push_back({next_address_, bytes, false});
  try {
    buffers_.push_back(nullptr);
  } catch (...) {
    arrays_.pop_back();
    throw;
  }
  next_address_ += (bytes + address_alignment) / address_alignment * address_alignment;
  return static_cast<int32_t>(arrays_.size());
}

int32_t Transients::number_of_buffer(const View& view) {
  if (const uint32_t known = at_.find(view.owner); known != AddressIndex::none) return static_cast<int32_t>(known);
  at_.make_room(1);
  const View& whole = buffer_of(view)->view();
  const int32_t number = add(0);
  arrays_.back() = {address_of(whole), whole.bytes, true};
  buffers_.back() = view.owner;
  at_.set(view.owner, static_cast<uint32_t>(number));
  return number;
}

void Transients::number(std::span<Operation> operations) {
  int32_t numbers[most_of_a_list + 1] = {};
  for (Operation& operation : operations)
    for_each_operand(operation, [&](const Operand<View>& operand) {
      View& view = operand.view;
      if (view.transient == 0 && !operand.is_scratch()) return;
      if (view.owner) {
        view.transient = number_of_buffer(view);
        return;
      }
      if (operand.is_scratch()) {
        view.transient = add(view.bytes);
        view.data = reinterpret_cast<void*>(arrays_.back().address);
        return;
      }
      // Views of one array may begin and end at different elements. Its address is known with the first view, and its
      // size, for which addresses are kept free, with the last one.
      int32_t& number = numbers[view.transient];
      const uintptr_t offset = address_of(view) - address_in_list(view.transient);
      if (number == 0) {
        uint64_t bytes = 0;
        for_each_operand(operations, [&](const Operand<const View>& other) {
          if (other.view.transient == view.transient && !other.view.owner && !other.is_scratch() &&
              address_of(other.view) >= list_address)
            bytes = std::max(bytes, address_of(other.view) - address_in_list(view.transient) + other.view.bytes);
        });
        number = add(bytes);
      }
      view.data = reinterpret_cast<void*>(arrays_[static_cast<size_t>(number) - 1].address + offset);
      view.transient = number;
    });
}

void Transients::drop_from(size_t count) noexcept {
  while (arrays_.size() > count) {
    if (buffers_.back())
      at_.set(buffers_.back(), AddressIndex::none);
    else
      next_address_ = arrays_.back().address;
    buffers_.pop_back();
    arrays_.pop_back();
  }
}

void place_transients(std::span<Operation> operations, std::span<const TransientArray> arrays,
                      std::span<const uint64_t> offsets, void* memory) {
  for (Operation& operation : operations)
    for_each_operand(operation, [&](const Operand<View>& operand) {
      View& view = operand.view;
      if (view.transient == 0) return;
      const size_t at = static_cast<size_t>(view.transient) - 1;
      view.data = static_cast<char*>(memory) + offsets[at] + (address_of(view) - arrays[at].address);
    });
}

}  // namespace synfire::core
