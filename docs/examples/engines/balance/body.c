/* body.c - see body.h. The only file that includes MuJoCo.
 *
 * SPDX-License-Identifier: MIT */
#include "body.h"

#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>

struct Body {
  mjModel *model;
  mjData *data;
  int pole, top; /* the body, and the site on it that is pushed */
};

/* Returns null if the model is as the other functions need it. */
static const char *what_is_wrong(const mjModel *model) {
  if (model->nq != 2 || model->nv != 2 || model->nu != 1) return "the model is not that of a cart with a pole";
  if (mj_name2id(model, mjOBJ_BODY, "pole") < 0 || mj_name2id(model, mjOBJ_SITE, "top") < 0)
    return "the model has no pole with a top";
  if (model->opt.timestep != 0.002) return "a step of the model is not 2 ms";
  return NULL;
}

Body *body_open(const char *file, char *error, int error_size) {
  char why[400] = "";
  const char *wrong = NULL;
  Body *body = (Body *)calloc(1, sizeof *body);
  if (body == NULL) wrong = "out of memory";
  if (wrong == NULL && (body->model = mj_loadXML(file, NULL, why, (int)sizeof why)) == NULL) wrong = why;
  if (wrong == NULL) wrong = what_is_wrong(body->model);
  if (wrong == NULL && (body->data = mj_makeData(body->model)) == NULL) wrong = "out of memory";
  if (wrong != NULL) {
    snprintf(error, (size_t)error_size, "%s: %s", file, wrong);
    body_close(body);
    return NULL;
  }
  body->pole = mj_name2id(body->model, mjOBJ_BODY, "pole");
  body->top = mj_name2id(body->model, mjOBJ_SITE, "top");
  return body;
}

void body_close(Body *body) {
  if (body == NULL) return;
  if (body->data != NULL) mj_deleteData(body->data);
  if (body->model != NULL) mj_deleteModel(body->model);
  free(body);
}

void body_place(Body *body, const double state[BODY_STATES]) {
  int i;
  mj_resetData(body->model, body->data);
  for (i = 0; i < BODY_POSITIONS; ++i) {
    body->data->qpos[i] = state[i];
    body->data->qvel[i] = state[BODY_POSITIONS + i];
  }
  mj_forward(body->model, body->data);
}

void body_read(const Body *body, double state[BODY_STATES]) {
  int i;
  for (i = 0; i < BODY_POSITIONS; ++i) {
    state[i] = body->data->qpos[i];
    state[BODY_POSITIONS + i] = body->data->qvel[i];
  }
}

void body_step(Body *body, double force, double push) {
  const mjtNum sideways[3] = {push, 0, 0}, no_torque[3] = {0, 0, 0};
  mju_zero(body->data->qfrc_applied, body->model->nv);
  mj_applyFT(body->model, body->data, sideways, no_torque, &body->data->site_xpos[3 * (size_t)body->top], body->pole,
             body->data->qfrc_applied);
  body->data->ctrl[0] = force;
  mj_step(body->model, body->data);
}
