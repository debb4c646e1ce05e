/* Every _INIT macro equals "all bytes zero, then struct_size", as is promised for languages that cannot use macros.
 * Which there are comes from the header (generate.py). */
#include <stdio.h>
#include <string.h>

#include <synfire/synfire.h>

int main(void) {
  int n_failed = 0;
#define SIZED(type, init)                                              \
  do {                                                                 \
    const type from_macro = init;                                      \
    type by_hand;                                                      \
    memset(&by_hand, 0, sizeof by_hand);                               \
    by_hand.struct_size = (uint32_t)sizeof by_hand;                    \
    if (memcmp(&from_macro, &by_hand, sizeof by_hand) != 0) {          \
      printf("failed: " #init " is not all zeros plus struct_size\n"); \
      ++n_failed;                                                      \
    }                                                                  \
  } while (0);
#include "synfire_abi.def"
  if (n_failed == 0) printf("every initialiser is all zeros plus struct_size\n");
  return n_failed == 0 ? 0 : 1;
}
