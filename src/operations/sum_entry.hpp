// The entries of a sum over rows. What is added over rows is a sum of integers on the grid of its largest magnitude
// (model/grid.hpp), so it has no order: parts of the rows may be computed apart, by any machine, and their maxima and
// sums joined element by element.
#ifndef SYNFIRE_OPERATIONS_SUM_ENTRY_HPP
#define SYNFIRE_OPERATIONS_SUM_ENTRY_HPP

#include <operations/kind.hpp>

namespace synfire::operations {

enum class SumEntry : int32_t {
  all,     // one operation does everything; the arrays between the entries are its scratch memory
  maxima,  // writes the largest magnitudes of its rows
  sums,    // reads those of all rows, and writes the integer sums of its rows
  finish,  // reads the maxima and the sums of all rows, and writes or adds the result
};

inline bool does(SumEntry entry, SumEntry part) {
  return entry == SumEntry::all || entry == part;
}
// How an operation with this entry uses the largest magnitudes, and the sums. What an entry does not use is absent.
inline Access access_of_maxima(SumEntry entry) {
  return entry == SumEntry::all ? Access::scratch : entry == SumEntry::maxima ? Access::write : Access::read;
}
inline Access access_of_sums(SumEntry entry) {
  return entry == SumEntry::all ? Access::scratch : entry == SumEntry::sums ? Access::write : Access::read;
}

}  // namespace synfire::operations

#endif
