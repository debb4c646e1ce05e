// Arrays of a network that a program asks for by name, before the network is built: "hidden.v", "first.grad_output",
// "hidden.monitor". What nobody asks for is kept only as far as the network needs it.
#ifndef SYNFIRE_NETWORK_KEPT_ARRAYS_HPP
#define SYNFIRE_NETWORK_KEPT_ARRAYS_HPP

#include "design.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace synfire::network {

struct Parts;

// After the name of the stage and a dot.
namespace kept_arrays {
inline constexpr std::string_view spikes = "spikes", v = "v", counts = "counts", grad_spikes = "grad_spikes",
                                  grad_v = "grad_v", grad_initial_spikes = "grad_initial_spikes", output = "output",
                                  grad_output = "grad_output", monitor = "monitor";
}  // namespace kept_arrays

// Names with spaces between them. Throws INVALID_ARGUMENT, and changes nothing, if there is none or one is unknown.
void keep(Design& design, const char* names);
// Throws WRONG_ORDER, and says how to ask for it, if this is the name of an array that a stage can keep and does not.
void check_kept(const Parts& parts, std::string_view name);
// The names of all arrays that a program could have asked for.
std::vector<std::string> keepable_arrays(const Parts& parts);

// The name of the array that an edge reads.
std::string_view kept_name_of(const Stage& source, Port port) noexcept;

}  // namespace synfire::network

#endif
