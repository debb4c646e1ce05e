#include "graph_values.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>
#include <base/make_room.hpp>
#include <base/text.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

namespace synfire::core {

GraphValues::~GraphValues() {
  for (const auto& chunk : chunks_) device_.release(SYNFIRE_MEMORY_DEVICE, chunk->device);
  for (uint64_t* const state : states_) device_.release(SYNFIRE_MEMORY_DEVICE, state);
}

uint64_t GraphValues::bits_of(Kind kind, int32_t dtype, double value, const char* name) {
  if (kind == Kind::fill) return fill_bits(dtype, value);
  check_scalar(value, name);
  if (kind == Kind::fraction && !(value >= 0 && value <= 1))
    fail_argument("SYN-SCALAR-RANGE", "%s is %g; a number from 0 to 1 is needed", name, value);
  if (kind == Kind::probability && !(value >= 0 && value < 1))
    fail_argument("SYN-SCALAR-RANGE", "%s is %g; a number from 0 to less than 1 is needed", name, value);
  if (kind == Kind::magnitude && value < 0)
    fail_argument("SYN-SCALAR-RANGE", "%s is %g; a number of at least 0 is needed", name, value);
  if (kind == Kind::choice && value != 0 && value != 1 && value != 2)
    fail_argument("SYN-SCALAR-RANGE", "%s is %g; 0, 1 or 2 is needed", name, value);
  const bool is_whole = kind == Kind::whole || kind == Kind::counted || kind == Kind::times_set;
  if ((is_whole || kind == Kind::count) && !(value >= 0 && value <= 0x1p53 && value == std::floor(value)))
    fail_argument("SYN-SCALAR-RANGE", "%s is %g; an integer from 0 to 2^53 is needed", name, value);
  if (is_whole) return static_cast<uint64_t>(value);
  return std::bit_cast<uint64_t>(value);
}

const uint64_t* GraphValues::add(uint32_t operation, const char* name, Kind kind, int32_t dtype, double value) {
  return add_bits(operation, name, kind, dtype, bits_of(kind, dtype, value, name));
}

const uint64_t* GraphValues::add_whole(uint32_t operation, const char* name, uint64_t value) {
  return add_bits(operation, name, Kind::whole, SYNFIRE_DTYPE_U64, value);
}

CountedValue GraphValues::add_counted(uint32_t operation, const char* name, uint64_t value) {
  if (named_.size() % chunk_values == chunk_values - 1) add_bits(operation, "", Kind::times_set, SYNFIRE_DTYPE_U64, 0);
  make_room(states_, 1);
  constexpr uint64_t state_bytes = 64;
  auto* const state = static_cast<uint64_t*>(device_.allocate(SYNFIRE_MEMORY_DEVICE, state_bytes));  // zeros
  states_.push_back(state);
  const uint64_t* const set = add_bits(operation, name, Kind::counted, SYNFIRE_DTYPE_U64, value, state);
  add_bits(operation, "", Kind::times_set, SYNFIRE_DTYPE_U64, 0);
  return {set, state};
}

uint64_t& GraphValues::bits_at(size_t index) noexcept {
  Chunk& chunk = *chunks_[index / chunk_values];
  chunk.changed = changed_ = true;
  return chunk.values[index % chunk_values];
}

const uint64_t* GraphValues::add_bits(uint32_t operation, const char* name, Kind kind, int32_t dtype, uint64_t bits,
                                      const uint64_t* state) {
  const auto index = static_cast<uint32_t>(named_.size());
  make_room(named_, 1);
  if (index / chunk_values == chunks_.size()) {
    make_room(chunks_, 1);
    auto chunk = std::make_unique<Chunk>();
    chunk->device = static_cast<uint64_t*>(device_.allocate(SYNFIRE_MEMORY_DEVICE, sizeof chunk->values));
    chunks_.push_back(std::move(chunk));
  }
  bits_at(index) = bits;
  named_.push_back({operation, name, kind, dtype, state});
  return chunks_[index / chunk_values]->device + index % chunk_values;
}

void GraphValues::drop_from(uint32_t operation) noexcept {
  while (!named_.empty() && named_.back().operation >= operation) named_.pop_back();
}

size_t GraphValues::find(uint32_t operation, std::string_view name) const {
  const auto first = std::ranges::lower_bound(named_, operation, {}, &Named::operation);
  for (auto at = first; at != named_.end() && at->operation == operation; ++at)
    if (at->kind != Kind::times_set && name == at->name) return static_cast<size_t>(at - named_.begin());
  fail_unknown(operation, name);
}

void GraphValues::set_bits(size_t index, uint64_t bits) noexcept {
  // Starts there again, even if it was set to the same value before.
  if (named_[index].kind == Kind::counted)
    ++bits_at(index + 1);
  else if (chunks_[index / chunk_values]->values[index % chunk_values] == bits)
    return;
  bits_at(index) = bits;
}

void GraphValues::set(uint32_t operation, std::string_view name, double value) {
  const size_t index = find(operation, name);
  const Named& one = named_[index];
  set_bits(index, bits_of(one.kind, one.dtype, value, one.name));
}

void GraphValues::set_whole(uint32_t operation, std::string_view name, uint64_t value) {
  const size_t index = find(operation, name);
  const Kind kind = named_[index].kind;
  if (kind != Kind::whole && kind != Kind::counted) fail_unknown(operation, name);
  set_bits(index, value);
}

uint64_t GraphValues::counted(uint32_t operation, std::string_view name) const {
  const size_t index = find(operation, name);
  const Named& one = named_[index];
  if (!one.state) fail_unknown(operation, name);
  const auto bits = [&](size_t i) { return chunks_[i / chunk_values]->values[i % chunk_values]; };
  uint64_t state[2];  // of which setting it is, and how far replays have come since
  device_.download(state, one.state, sizeof state);
  return bits(index) + (state[0] == bits(index + 1) ? state[1] : 0);
}

void GraphValues::fail_unknown(uint32_t operation, std::string_view name) const {
  std::string known;
  std::vector<std::string_view> names;
  for (const Named& one : named_) {
    if (one.operation != operation || one.kind == Kind::times_set) continue;
    known.append(known.empty() ? "\"" : " and \"").append(one.name).append("\"");
    names.emplace_back(one.name);
  }
  if (known.empty())
    fail_argument("SYN-GRAPH-VALUE", "operation %u has no values that can change between replays", operation);
  fail_argument("SYN-GRAPH-VALUE", "name is \"%.*s\"%s; operation %u has %s",
                static_cast<int>(std::min<size_t>(name.size(), 64)), name.data(), suggestion(name, names).c_str(),
                operation, known.c_str());
}

void GraphValues::upload(synfire_stream stream) {
  device_.check_stream(stream);
  for (const auto& chunk : chunks_) {
    if (!chunk->changed) continue;
    device_.write_small(chunk->device, chunk->values, sizeof chunk->values, stream);
    chunk->changed = false;
  }
  changed_ = false;
}

}  // namespace synfire::core
