/* files.h - files, folders and the command line by UTF-8 names on every system. Windows' own C functions take names in
 * a code page, which cannot name every file there.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SOUND_FILES_H
#define SOUND_FILES_H

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The command line in UTF-8; `argv` is what main() was given and stays as it is. Null if there is no memory. */
char **files_arguments(int argc, char **argv);

/* fopen() for a name in UTF-8. */
FILE *files_open(const char *path, const char *mode);

/* Lets standard input give its bytes as they are. */
void files_read_bytes(void);

/* Creates a folder, whose parent must exist. On failure returns false, and errno says why. */
bool files_make_folder(const char *path);

bool files_is_folder(const char *path);

/* The separator of the parts of a path; Windows accepts the slash too. */
bool files_is_separator(char letter);

#ifdef __cplusplus
}
#endif

#endif
