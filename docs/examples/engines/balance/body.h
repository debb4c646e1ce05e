/* body.h - the cart and its pole in MuJoCo: plain C with plain numbers, for programs in any language.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BALANCE_BODY_H
#define BALANCE_BODY_H

#if defined __GNUC__ && !defined _WIN32
#define BODY_API __attribute__((visibility("default")))
#else
#define BODY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers of a state, in this order: where the cart is (metres), how the pole leans (radians, to the right is
 * positive), and how fast both change (per second). Only the first two can be seen. */
enum { BODY_POSITIONS = 2, BODY_STATES = 4 };

typedef struct Body Body;

/* Opens a model file. On failure, returns null and writes why. */
BODY_API Body *body_open(const char *file, char *error, int error_size);
BODY_API void body_close(Body *body);

/* Sets the state, and where the time begins. */
BODY_API void body_place(Body *body, const double state[BODY_STATES]);

BODY_API void body_read(const Body *body, double state[BODY_STATES]);

/* One step of 2 ms. `force` is the motor's, at most 20 N to each side; `push` pushes the top of the pole sideways; both
 * are in newtons. */
BODY_API void body_step(Body *body, double force, double push);

#ifdef __cplusplus
}
#endif

#endif
