// An operation on its way into a graph, or to be run at once: the entries of the list that it becomes, and what it
// touches.
#ifndef SYNFIRE_CORE_RECORDING_HPP
#define SYNFIRE_CORE_RECORDING_HPP

#include "layer.hpp"

namespace synfire::core {

struct Recording {
  OperationList operations;
  std::vector<Buffer*> reads;   // null: not given
  std::vector<Buffer*> writes;  // null: not given
  std::vector<Layer*> layers;
};

}  // namespace synfire::core

#endif
