// Nothing is compiled on Windows (process_windows.cpp), so there is nothing to keep.
#include "cache.hpp"

namespace synfire::jit {

Cache Cache::open(const char*, uint64_t) {
  return {};
}
std::optional<std::string> Cache::find(const Key&) const {
  return std::nullopt;
}
void Cache::store(const Key&, const std::string&) const {}
void Cache::make_room() const noexcept {}

}  // namespace synfire::jit
