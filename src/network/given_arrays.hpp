// Arrays that a program gives for the stages of a network, each by the name of its stage and its role.
#ifndef SYNFIRE_NETWORK_GIVEN_ARRAYS_HPP
#define SYNFIRE_NETWORK_GIVEN_ARRAYS_HPP

#include "design.hpp"

#include <optional>
#include <span>
#include <vector>

namespace synfire::network {

struct GivenArray {
  const char* stage;  // null: the one stage that takes such an array, or the rows
  DataRole role;
  Buffer* buffer;
};

// A place for an array: a stage or, without one, the rows of a data set.
struct ArrayPlace {
  std::optional<size_t> stage;
  DataRole role;
};

// An entry of a list of the caller, for texts: "arrays[3]".
struct ListEntry {
  const char* list;
  size_t index;
};
// The place of an array, which has one. Throws INVALID_ARGUMENT if it has none, or without a stage more than one.
size_t place_of(const Design& design, const GivenArray& one, const ListEntry& entry,
                std::span<const ArrayPlace> places);
// The array of each place; null: none is given. Throws INVALID_ARGUMENT for an array without a place or a second one.
std::vector<Buffer*> arrays_of(const Design& design, std::span<const GivenArray> given,
                               std::span<const ArrayPlace> places);
// Throws INVALID_ARGUMENT: the place needs an array.
[[noreturn]] void fail_missing(const Design& design, const char* list, const ArrayPlace& place);

// The places of a data set: one for each of Design::data_needs(), then the lengths and the sample weights.
std::vector<ArrayPlace> data_places(const Design& design);
// The arrays of a data set: one for each of Design::data_needs(), and those of the rows, which may be null.
struct NeededArrays {
  std::vector<Buffer*> arrays;
  Buffer *lengths, *sample_weights;
};
// Both throw INVALID_ARGUMENT if arrays are missing, or given and not needed.
NeededArrays needed_arrays(const Design& design, std::span<const GivenArray> given);
// Each array is for all stages that need one of its role.
NeededArrays needed_arrays(const Design& design, const DataArrays& given);

}  // namespace synfire::network

#endif
