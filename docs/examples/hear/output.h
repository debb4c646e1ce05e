/* output.h - the folder for the results: creates it and names the files in it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEAR_OUTPUT_H
#define HEAR_OUTPUT_H

#include <stdbool.h>

/* Creates the folder if it does not exist; its parent must exist. */
bool output_make_folder(const char *folder);

/* "folder/name", which the caller frees; null, with an error message, if there is no memory. */
char *output_path(const char *folder, const char *name);

/* The part after the last slash. */
const char *output_base_name(const char *path);

#endif
