// An object whose contents have a version, which grows with every write that the library makes or is told of. Results
// made from an older version, such as a tape, are stale.
#ifndef SYNFIRE_BASE_VERSIONED_HPP
#define SYNFIRE_BASE_VERSIONED_HPP

#include "view.hpp"
#include "write_count.hpp"

namespace synfire::core {

class Versioned {
 public:
  uint64_t version() const noexcept { return writes_.value(); }
  void mark_written() noexcept { writes_.add(); }
  // For a writer that writes repeatedly: it may own a part of the count.
  WriteCount& writes() noexcept { return writes_; }
  // True if a write of this memory of the object is a new version.
  virtual bool counts(const View& memory) const noexcept = 0;

 protected:
  ~Versioned() = default;

 private:
  WriteCount writes_;
};

}  // namespace synfire::core

#endif
