#include "graph_values.hpp"

#include "element_operations.hpp"
#include "error.hpp"

#include <bit>
#include <string>

namespace synfire::core {

GraphValues::~GraphValues() {
  for (const auto& chunk : chunks_) device_.release(SYNFIRE_MEMORY_DEVICE, chunk->device);
}

uint64_t GraphValues::bits_of(Kind kind, int32_t dtype, double value, const char* name) {
  if (kind == Kind::fill) return fill_bits(dtype, value);
  check_scalar(value, name);
  return std::bit_cast<uint64_t>(value);
}

const uint64_t* GraphValues::add(uint32_t operation, const char* name, Kind kind, int32_t dtype, double value) {
  const uint64_t bits = bits_of(kind, dtype, value, name);
  const auto index = static_cast<uint32_t>(named_.size());
  named_.reserve(named_.size() + 1);
  if (index / chunk_values == chunks_.size()) {
    chunks_.reserve(chunks_.size() + 1);
    auto chunk = std::make_unique<Chunk>();
    chunk->device = static_cast<uint64_t*>(device_.allocate(SYNFIRE_MEMORY_DEVICE, sizeof chunk->values));
    chunks_.push_back(std::move(chunk));
  }
  Chunk& chunk = *chunks_[index / chunk_values];
  chunk.values[index % chunk_values] = bits;
  chunk.changed = changed_ = true;
  named_.push_back({operation, name, kind, dtype});
  return chunk.device + index % chunk_values;
}

void GraphValues::drop_from(uint32_t operation) noexcept {
  while (!named_.empty() && named_.back().operation >= operation) named_.pop_back();
}

void GraphValues::set(uint32_t operation, std::string_view name, double value) {
  std::string known;
  for (size_t i = 0; i < named_.size(); ++i) {
    if (named_[i].operation != operation) continue;
    if (named_[i].name == name) {
      const uint64_t bits = bits_of(named_[i].kind, named_[i].dtype, value, named_[i].name);
      Chunk& chunk = *chunks_[i / chunk_values];
      if (chunk.values[i % chunk_values] == bits) return;
      chunk.values[i % chunk_values] = bits;
      chunk.changed = changed_ = true;
      return;
    }
    known.append(known.empty() ? "\"" : " and \"").append(named_[i].name).append("\"");
  }
  if (known.empty())
    fail_argument("SYN-GRAPH-VALUE", "operation %u has no values that can change between replays", operation);
  fail_argument("SYN-GRAPH-VALUE", "name is \"%.*s\"; operation %u has %s",
                static_cast<int>(std::min<size_t>(name.size(), 64)), name.data(), operation, known.c_str());
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
