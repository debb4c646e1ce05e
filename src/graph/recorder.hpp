// Through a recorder, an operation tells the graph which numbers it reads and which objects it needs.
#ifndef SYNFIRE_GRAPH_RECORDER_HPP
#define SYNFIRE_GRAPH_RECORDER_HPP

#include "graph_values.hpp"

#include <base/buffer.hpp>
#include <base/shared_order.hpp>

#include <cstdint>
#include <vector>

namespace synfire::core {

class Graph;

// The interface between a graph and the code that makes an operation.
class Recorder {
 public:
  uint32_t number() const noexcept { return number_; }

  // A number that the operation reads from device memory and that can be changed between replays by this name: the bits
  // of an element of `dtype` (fill), or a double (number).
  const uint64_t* value(const char* name, GraphValues::Kind kind, int32_t dtype, double value);
  const double* number(const char* name, double value) {
    return reinterpret_cast<const double*>(this->value(name, GraphValues::Kind::number, SYNFIRE_DTYPE_F64, value));
  }
  const double* magnitude(const char* name, double value) {  // at least 0
    return reinterpret_cast<const double*>(this->value(name, GraphValues::Kind::magnitude, SYNFIRE_DTYPE_F64, value));
  }
  const double* fraction(const char* name, double value) {  // from 0 to 1
    return reinterpret_cast<const double*>(this->value(name, GraphValues::Kind::fraction, SYNFIRE_DTYPE_F64, value));
  }
  const double* probability(const char* name, double value) {  // from 0 to less than 1
    return reinterpret_cast<const double*>(this->value(name, GraphValues::Kind::probability, SYNFIRE_DTYPE_F64, value));
  }
  const double* choice(const char* name, double value) {  // 0, 1 or 2
    return reinterpret_cast<const double*>(this->value(name, GraphValues::Kind::choice, SYNFIRE_DTYPE_F64, value));
  }
  const double* count(const char* name, double value) {  // an integer from 0 to 2^53
    return reinterpret_cast<const double*>(this->value(name, GraphValues::Kind::count, SYNFIRE_DTYPE_F64, value));
  }
  // An integer, and one that every replay advances.
  const uint64_t* whole(const char* name, uint64_t value);
  CountedValue counted(const char* name, uint64_t value);
  // Keeps an object alive that is not an operand.
  void keep(Buffer& buffer) { buffers_.emplace_back(&buffer); }
  void keep(SharedObject& object) { objects_.emplace_back(&object); }
  // The graph's keeper of this type, made as Keeper(const Graph&) if it has none yet.
  template <class Keeper>
  Keeper& keeper();

 private:
  friend class Graph;
  explicit Recorder(Graph& graph) noexcept;

  Graph& graph_;
  const uint32_t number_;
  std::vector<Ref<Buffer>> buffers_;
  std::vector<Ref<SharedObject>> objects_;
  const size_t n_transients_;  // before the operation
};

}  // namespace synfire::core

#endif
