// Rules for the elements of an array, for host code, kernel and twin. Elements are compared by their bits, because
// comparing numbers could trap on a NaN.
#ifndef SYNFIRE_OPERATIONS_CHECK_ELEMENTS_ALLOWED_HPP
#define SYNFIRE_OPERATIONS_CHECK_ELEMENTS_ALLOWED_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {

// Bits are allowed if they pass one of three tests, which suffice for labels, spikes, rates and finite numbers.
struct AllowedElements {
  uint64_t mask, most;              // (bits & mask) <= most
  uint64_t also[2];                 // bits is one of these
  uint64_t magnitude, most_finite;  // (bits & magnitude) > most_finite: the number is not finite
};

// Integers below n_classes, which is at least 1, and `ignored` if it is not null. Elements are u32.
AllowedElements allowed_labels(uint64_t n_classes, const uint32_t* ignored);
// 0 and 1, in any type of numbers or in u8; a zero may be negative. or_not_finite: also numbers that are not finite.
AllowedElements allowed_spikes(int32_t dtype, bool or_not_finite);
// Integers from 0 to `bound`. Elements are u8.
AllowedElements allowed_counts(int32_t bound);
// Numbers from 0 to 1, likewise.
AllowedElements allowed_rates(int32_t dtype, bool or_not_finite);
AllowedElements allowed_finite(int32_t dtype);

inline namespace SYNFIRE_MODEL_LEVEL {

// The rule for words of one size, without a branch, so that loops over elements can be vectorised.
template <class Word>
struct AllowedWords {
  Word mask, most, also0, also1, magnitude, most_finite;

  SYNFIRE_MODEL_FN explicit AllowedWords(const AllowedElements& all)
      : mask(static_cast<Word>(all.mask)),
        most(static_cast<Word>(all.most)),
        also0(static_cast<Word>(all.also[0])),
        also1(static_cast<Word>(all.also[1])),
        magnitude(static_cast<Word>(all.magnitude)),
        most_finite(static_cast<Word>(all.most_finite)) {}

  SYNFIRE_MODEL_FN bool is_within(Word bits) const { return static_cast<Word>(bits & mask) <= most; }
  SYNFIRE_MODEL_FN bool is_other(Word bits) const {
    return (bits == also0) | (bits == also1) | (static_cast<Word>(bits & magnitude) > most_finite);
  }
  SYNFIRE_MODEL_FN bool has(Word bits) const {
    return (static_cast<int>(is_within(bits)) | static_cast<int>(is_other(bits))) != 0;
  }
  // True if only the first test allows anything.
  SYNFIRE_MODEL_FN bool has_no_others() const {
    return is_within(also0) && is_within(also1) && most_finite == static_cast<Word>(~Word{0});
  }
};

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif
