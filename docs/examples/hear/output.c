/* output.c - see output.h.
 *
 * SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "message.h"

bool output_make_folder(const char *folder) {
  if (files_make_folder(folder)) return true;
  if (errno != EEXIST) return complain("--output %s: cannot be created: %s", folder, strerror(errno));
  if (files_is_folder(folder)) return true;
  return complain("--output %s: is not a folder", folder);
}

char *output_path(const char *folder, const char *name) {
  const size_t bytes = strlen(folder) + strlen(name) + 2;
  char *const path = malloc(bytes);
  if (path == NULL)
    complain("no memory for the name of %s", name);
  else
    snprintf(path, bytes, "%s/%s", folder, name);
  return path;
}

const char *output_base_name(const char *path) {
  const char *name = path;
  for (; *path != '\0'; ++path)
    if (files_is_separator(*path)) name = path + 1;
  return name;
}
