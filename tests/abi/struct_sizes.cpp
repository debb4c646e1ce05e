// Compiles only if capi/struct_sizes.hpp has a line for every structure of synfire.h that begins with struct_size, and
// this file one for every other: what synfire.h has comes from the header (generate.py).
#include <struct_sizes.hpp>

namespace synfire::capi {
namespace {

// Elements of lists, and what a caller keeps for the library, have no struct_size, so they never grow.
template <class Element>
constexpr std::size_t size_for_ever = 0;
template <>
constexpr std::size_t size_for_ever<synfire_parameter_gradient> = 16;
template <>
constexpr std::size_t size_for_ever<synfire_gradient_pointer> = 24;
template <>
constexpr std::size_t size_for_ever<synfire_tape_stamp> = 64;
template <>
constexpr std::size_t size_for_ever<synfire_parameter_values> = 24;
template <>
constexpr std::size_t size_for_ever<synfire_state_buffer> = 16;
template <>
constexpr std::size_t size_for_ever<synfire_memory> = 16;
template <>
constexpr std::size_t size_for_ever<synfire_stage_input> = 24;
template <>
constexpr std::size_t size_for_ever<synfire_stage_value> = 24;
template <>
constexpr std::size_t size_for_ever<synfire_network_array> = 24;
template <>
constexpr std::size_t size_for_ever<synfire_stage_result> = 32;
template <>
constexpr std::size_t size_for_ever<synfire_array_source> = 32;
template <>
constexpr std::size_t size_for_ever<synfire_data_file> = 32;

// True if the sizes of its versions are known.
template <class Struct>
constexpr bool has_versions = requires {
  StructSizes<Struct>::values;
};
// The library passes it to callbacks, and never receives it.
template <>
constexpr bool has_versions<synfire_native_call> = true;

#define SIZED(type, init) static_assert(has_versions<type>, "no line in capi/struct_sizes.hpp: " #type);
#define ELEMENT(type) \
  static_assert(sizeof(type) == size_for_ever<type>, "an element of lists has no size of its own: " #type);
#include "synfire_abi.def"

}  // namespace
}  // namespace synfire::capi
