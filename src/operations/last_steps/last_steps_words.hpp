// One word of the last steps, for host code, kernel and twin.
#ifndef SYNFIRE_OPERATIONS_LAST_STEPS_LAST_STEPS_WORDS_HPP
#define SYNFIRE_OPERATIONS_LAST_STEPS_LAST_STEPS_WORDS_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {

struct LastStepsArrays {
  int64_t n_steps, step_words, row_words;  // D; of all rows, and of one
  int64_t from_pitch, to_pitch;            // words from one step to the next
  int64_t first_row, n_rows;
  int64_t n_neurons;
  const uint32_t* from;  // [D, B, W], or null: zeros
  uint32_t* to;
  const int64_t* layer_active;  // null: all rows
  const uint8_t* mask;          // of each row, or null

  SYNFIRE_MODEL_FN int64_t n_words() const { return n_steps * step_words; }
  // The words of a step that belong to rows that count.
  SYNFIRE_MODEL_FN int64_t first_word() const { return first_row * row_words; }
  SYNFIRE_MODEL_FN int64_t end_word() const {
    const int64_t end = first_row + n_rows, active = layer_active ? *layer_active / n_neurons : end;
    return (active < end ? active : end) * row_words;
  }
};

SYNFIRE_MODEL_FN void keep_word(const LastStepsArrays& arrays, int64_t first_word, int64_t end_word, int64_t word) {
  const int64_t step = word / arrays.step_words, of_step = word % arrays.step_words;
  if (of_step < first_word || of_step >= end_word) return;
  if (arrays.mask && arrays.mask[of_step / arrays.row_words] == 0) return;
  arrays.to[step * arrays.to_pitch + of_step] = arrays.from ? arrays.from[step * arrays.from_pitch + of_step] : 0;
}

}  // namespace synfire::operations

#endif
