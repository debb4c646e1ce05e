// Spikes of any format as arguments: their shape, and their buffers.
#ifndef SYNFIRE_OPERATIONS_SPIKES_SPIKE_VIEWS_HPP
#define SYNFIRE_OPERATIONS_SPIKES_SPIKE_VIEWS_HPP

#include <base/buffer.hpp>
#include <base/extents.hpp>

#include <string>

namespace synfire::operations {

// Sets a batch of 0 to 1. Throws INVALID_ARGUMENT, or OUT_OF_MEMORY for a shape that cannot be addressed.
core::Extents checked_extents(core::Extents extents);
// Spikes [T, B, N] in the format of the buffer's type. Throws INVALID_ARGUMENT.
core::View spike_view(const core::Buffer& buffer, const char* name, const core::Extents& extents);
std::string shape_text(const core::Extents& extents);

}  // namespace synfire::operations

#endif
