// Numbers of a stage that the caller may set by name.
#ifndef SYNFIRE_NETWORK_STAGE_VALUE_HPP
#define SYNFIRE_NETWORK_STAGE_VALUE_HPP

#include <cstdint>
#include <limits>

namespace synfire::network {

class ConstantNames;

struct ValueSpec {
  // It acts on all results, on those of training, or on none (where memory is, where weights begin).
  enum class Effect { on_results, on_training, on_none };
  // Version 0.2 refuses values that it does not know, so a file has a newer value only if it is not the initial one.
  enum class InFiles { always, if_changed };

  const char* name;
  double initial;
  double low, high;  // both allowed
  bool whole;        // an integer
  bool changes;      // also after the network was built
  Effect effect = Effect::on_results;
  InFiles in_files = InFiles::always;
  const ConstantNames* names = nullptr;  // of the constants that the number may be; null: it is a plain number
  const char* file_name = nullptr;       // the word of files, where the name is that of another word

  const char* word() const noexcept { return file_name ? file_name : name; }
};

// A number that a stage is given once, when it is added: a length, or a constant such as the model of neurons.
struct ChoiceSpec {
  const char* name;
  const ConstantNames* names = nullptr;  // of the constants; null: a flag, a length or a stage
  bool is_needed = true;                 // otherwise it is `absent` if it is not given
  const char* in_place_of = nullptr;     // if that choice is given, this one is not needed
  bool of_stage = false;                 // the name of an earlier stage, whose number plus 1 the choice is
  int64_t absent = 0;                    // the choice if it is not given
};

namespace value {

inline constexpr double largest = std::numeric_limits<double>::max(), most_whole = 0x1p53, below_one = 1.0 - 0x1p-53;
inline constexpr double above_0 = std::numeric_limits<double>::min();  // a 0 would stand for a default in a descriptor
inline constexpr bool whole = true, any = false, fixed = false, changes = true;
using enum ValueSpec::Effect;
using enum ValueSpec::InFiles;

}  // namespace value

}  // namespace synfire::network

#endif
