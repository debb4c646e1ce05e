/* word_lists.h - the lists of words that a network can be trained to name. A network names the words of the list that
 * its last neurons are called after: so its file says which words they are.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SOUND_WORD_LISTS_H
#define SOUND_WORD_LISTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WORD_LIST_DIGITS_LENGTH 10
#define WORD_LIST_DIGITS \
  { "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine" }

typedef struct word_list {
  const char *name;
  const char *const *words; /* [n_words] */
  uint32_t n_words;
} word_list;

/* List number `i`, from 0 on; null after the last one. */
const word_list *word_list_at(uint32_t i);

#ifdef __cplusplus
}
#endif

#endif
