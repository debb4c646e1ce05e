/* foreign_library.c - a library that is not Synfire. A binding must refuse to load it and say why.
 *
 *   -DSYNFIRE_FOREIGN_VERSION=...   what its only function, synfire_abi_version(), returns
 *
 * SPDX-License-Identifier: MIT */
#include <stdint.h>

/* Two of three builds include synfire.h. NOLINTNEXTLINE(readability-redundant-declaration) */
uint32_t synfire_abi_version(void);
uint32_t synfire_abi_version(void) {
  return SYNFIRE_FOREIGN_VERSION;
}
