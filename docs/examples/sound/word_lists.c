/* word_lists.c - see word_lists.h.
 *
 * SPDX-License-Identifier: MIT */
#include "word_lists.h"

#include <stddef.h>

static const char *const DIGITS[WORD_LIST_DIGITS_LENGTH] = WORD_LIST_DIGITS;

static const word_list LISTS[] = {{"digits", DIGITS, WORD_LIST_DIGITS_LENGTH}};

const word_list *word_list_at(uint32_t i) {
  return i < sizeof LISTS / sizeof *LISTS ? &LISTS[i] : NULL;
}
