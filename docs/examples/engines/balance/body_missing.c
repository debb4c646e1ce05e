/* body_missing.c - stands in for body.c in a build without MuJoCo: nothing can be opened, and the error says why.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "body.h"

Body *body_open(const char *file, char *error, int error_size) {
  (void)file;
  snprintf(error, (size_t)error_size, "this program was built without MuJoCo (Debian: libmujoco-dev)");
  return NULL;
}

/* Nobody has a body. */
void body_close(Body *body) {
  (void)body;
}
void body_place(Body *body, const double state[BODY_STATES]) {
  (void)body;
  (void)state;
}
void body_read(const Body *body, double state[BODY_STATES]) {
  (void)body;
  (void)state;
}
void body_step(Body *body, double force, double push) {
  (void)body;
  (void)force;
  (void)push;
}
