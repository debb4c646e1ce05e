/* files.c - see files.h.
 *
 * SPDX-License-Identifier: MIT */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#endif

#include "files.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#if defined(_WIN32)

#include <wchar.h>

/* After <wchar.h>, so that the functions with wide names are known. */
#include <windows.h>

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <shellapi.h>

/* The caller frees it; null if the text is not UTF-8 or there is no memory, and errno says which. */
static wchar_t *wide(const char *text) {
  wchar_t *result;
  const int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
  if (length <= 0) {
    errno = EILSEQ;
    return NULL;
  }
  result = malloc((size_t)length * sizeof *result);
  if (result != NULL) MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, result, length);
  return result;
}

static char *narrow(const wchar_t *text) {
  const int bytes = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
  char *const result = bytes > 0 ? malloc((size_t)bytes) : NULL;
  if (result != NULL) WideCharToMultiByte(CP_UTF8, 0, text, -1, result, bytes, NULL, NULL);
  return result;
}

char **files_arguments(int argc, char **argv) {
  int n = 0, i;
  wchar_t **const found = CommandLineToArgvW(GetCommandLineW(), &n);
  char **result;
  (void)argv;
  SetConsoleOutputCP(CP_UTF8);
  if (found == NULL) return NULL;
  result = n == argc ? calloc((size_t)n + 1, sizeof *result) : NULL;
  for (i = 0; result != NULL && i < n; ++i)
    if ((result[i] = narrow(found[i])) == NULL) {
      while (i-- > 0) free(result[i]);
      free(result);
      result = NULL;
    }
  LocalFree(found);
  return result; /* until the process ends */
}

FILE *files_open(const char *path, const char *mode) {
  wchar_t *const name = wide(path), *const how = wide(mode);
  FILE *const file = name != NULL && how != NULL ? _wfopen(name, how) : NULL;
  free(name);
  free(how);
  return file;
}

void files_read_bytes(void) {
  _setmode(_fileno(stdin), _O_BINARY);
}

bool files_make_folder(const char *path) {
  wchar_t *const name = wide(path);
  const bool made = name != NULL && _wmkdir(name) == 0;
  free(name);
  return made;
}

bool files_is_folder(const char *path) {
  wchar_t *const name = wide(path);
  const DWORD attributes = name != NULL ? GetFileAttributesW(name) : INVALID_FILE_ATTRIBUTES;
  free(name);
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

bool files_is_separator(char letter) {
  return letter == '/' || letter == '\\';
}

#else

char **files_arguments(int argc, char **argv) {
  (void)argc;
  return argv;
}

FILE *files_open(const char *path, const char *mode) {
  return fopen(path, mode);
}

void files_read_bytes(void) {}

bool files_make_folder(const char *path) {
  return mkdir(path, 0777) == 0;
}

bool files_is_folder(const char *path) {
  struct stat found;
  return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

bool files_is_separator(char letter) {
  return letter == '/';
}

#endif
