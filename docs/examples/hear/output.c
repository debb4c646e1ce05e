/* output.c - see output.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "message.h"

bool output_make_folder(const char *folder) {
  struct stat found;
  if (mkdir(folder, 0777) == 0) return true;
  if (errno != EEXIST) return complain("--output %s: cannot be created: %s", folder, strerror(errno));
  if (stat(folder, &found) == 0 && S_ISDIR(found.st_mode)) return true;
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
  const char *const slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}
