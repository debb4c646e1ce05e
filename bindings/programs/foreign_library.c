/* foreign_library.c - a library that only pretends: what a binding must refuse to load, and say why.
 *
 *   -DSYNFIRE_FOREIGN_VERSION=...   what its synfire_abi_version() answers; it has nothing else
 *
 * SPDX-License-Identifier: MIT */
#include <stdint.h>

uint32_t synfire_abi_version(void);
uint32_t synfire_abi_version(void) {
  return SYNFIRE_FOREIGN_VERSION;
}
