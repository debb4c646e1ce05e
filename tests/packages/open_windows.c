/* open_windows.c - opens synfire0.dll at run time, as an engine does, and checks its ABI:
 *
 *     open_windows.exe DLL
 *
 * The name may have spaces and letters of any script. Exit status: 0 opened, 1 not opened, 2 of another ABI.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <wchar.h>

/* After the C library's headers. */
#include <windows.h>

#include <shellapi.h>
#include <synfire/synfire.h>

int main(void) {
  int n = 0;
  wchar_t **const arguments = CommandLineToArgvW(GetCommandLineW(), &n);
  const HMODULE library = n == 2 ? LoadLibraryW(arguments[1]) : NULL;
  uint32_t (*version)(void);
  const char *(*text)(void);
  if (library == NULL) {
    printf("not opened: error %lu\n", (unsigned long)GetLastError());
    return 1;
  }
  version = (uint32_t(*)(void))(void (*)(void))GetProcAddress(library, "synfire_abi_version");
  if (version == NULL || version() >> 16 != SYNFIRE_ABI_MAJOR || (version() & 0xffffU) < SYNFIRE_ABI_MINOR) {
    printf("of another ABI: %u\n", version != NULL ? (unsigned)version() : 0U);
    return 2;
  }
  text = (const char *(*)(void))(void (*)(void))GetProcAddress(library, "synfire_version_string");
  puts(text());
  return 0;
}
