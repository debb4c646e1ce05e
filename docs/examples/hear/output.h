/* output.h - the folder that the results go into.
 *
 * Making it, naming the files in it; the only file that needs POSIX for folders.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_OUTPUT_H
#define HEAR_OUTPUT_H

#include <stdbool.h>

/* Makes the folder unless it is there; its parent must exist. */
bool output_make_folder(const char *folder);

/* "folder/name", to be freed; null, with a complaint, when there is no memory. */
char *output_path(const char *folder, const char *name);

/* What follows the last slash. */
const char *output_base_name(const char *path);

#endif
