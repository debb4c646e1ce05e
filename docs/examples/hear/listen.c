/* listen.c - see listen.h.
 *
 * SPDX-License-Identifier: MIT */
#include "listen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "message.h"
#include "progress.h"

/* The input of a neuron, in thresholds, for a cochlear response of 1. Chosen for speech at the normal level
 * (cochlea_level()): silent in pauses, some 40 spikes per second on average, up to 300 in vowels and fricatives. */
static const float DRIVE = 60.0F;

enum { LEARNING_PASSES = 10, NANOSECONDS_PER_SECOND = 1000000000 };

void plan_make(plan *self, const options *chosen, const wav *sound) {
  uint64_t wanted = chosen->frames;
  self->frame_samples = (sound->rate + 500) / 1000;
  self->pass_frames = (sound->n_samples + self->frame_samples - 1) / self->frame_samples;
  if (chosen->loop_seconds > 0.0)
    wanted = (uint64_t)ceil(chosen->loop_seconds * (double)sound->rate / (double)self->frame_samples);
  if (chosen->learn) {
    const uint64_t passes = wanted > 0 ? (wanted + self->pass_frames - 1) / self->pass_frames : LEARNING_PASSES;
    self->frames = (passes + 2) * self->pass_frames;
    self->keep_from = self->frames - self->pass_frames;
  } else {
    self->frames = wanted > 0 ? wanted : self->pass_frames;
    self->keep_from = 0;
  }
  self->keep = self->frames < self->pass_frames ? self->frames : self->pass_frames;
}

int64_t plan_time(const plan *self, uint32_t rate, uint64_t frames) {
  const uint64_t samples = frames * self->frame_samples;
  return (int64_t)(samples / rate * NANOSECONDS_PER_SECOND + samples % rate * NANOSECONDS_PER_SECOND / rate);
}

/* The samples of a frame [T]; silence after the end. */
static void cut_frame(const listener *self, uint64_t frame, float *samples) {
  const size_t length = self->course->frame_samples;
  const size_t from = (size_t)(frame % self->course->pass_frames) * length;
  const size_t there = self->sound->n_samples - from < length ? self->sound->n_samples - from : length;
  memcpy(samples, self->sound->samples + from, there * sizeof *samples);
  memset(samples + there, 0, (length - there) * sizeof *samples);
}

/* x [T, C K] from the response [T, C]: multiplied by the channel's gain, once for each of its K neurons. */
static void write_input(const listener *self, const float *response) {
  const ear *const ears = self->ears;
  float *x = ears->x;
  size_t t, c, k;
  for (t = 0; t < ears->n_steps; ++t)
    for (c = 0; c < ears->n_channels; ++c) {
      const float value = *response++ * DRIVE * (self->teacher != NULL ? self->teacher->gain[c] : 1.0F);
      for (k = 0; k < ears->population; ++k) *x++ = value;
    }
}

static void count(const ear *ears, const uint32_t *spikes, uint32_t *counts) {
  rates_count(spikes, ears->n_steps, ears->n_words, ears->population, ears->n_channels, counts);
}

/* Uses spikes when they are due: moves the level meter. */
static void act(progress *shown, const uint32_t *counts) {
  int c, firing = 0;
  for (c = 0; c < COCHLEA_CHANNELS; ++c) firing += counts[c] > 0;
  progress_hear(shown, (double)firing / COCHLEA_CHANNELS);
}

/* Everything that can wait until the replay is certainly done. It uses this frame's own spikes, late or not. */
static bool keep(listener *self, uint64_t frame, const uint32_t *counts) {
  const plan *const course = self->course;
  int c;
  for (c = 0; c < COCHLEA_CHANNELS; ++c) self->spikes += counts[c];
  if (frame < course->keep_from || frame >= course->keep_from + course->keep) return true;
  if (self->picture != NULL) raster_add(self->picture, (size_t)(frame - course->keep_from), counts);
  return self->file == NULL || npy_append(self->file, self->ears->spikes, self->ears->n_steps * self->ears->n_words);
}

/* The gains do not change in the first and the last pass, which measure. */
static void learn(listener *self, uint64_t frame, const uint32_t *counts, progress *shown) {
  const plan *const course = self->course;
  const bool move = frame >= course->pass_frames && frame < course->keep_from;
  learner_follow_gradient(self->teacher, self->ears, self->recent->n_frames, move);
  rates_add(self->recent, counts);
  if ((frame + 1) % course->pass_frames != 0) return;
  shown->distance = learner_distance(self->teacher, self->recent);
  if (frame + 1 == course->pass_frames) self->before = shown->distance;
  self->after = shown->distance;
}

/* Records how the frame spent its time. Preemptions are counted since the previous frame was recorded. */
static void note_times(listener *self, int64_t due, int64_t awake, bool late) {
  const ear *const ears = self->ears;
  const int64_t preemptions = clock_preemptions();
  moment noted;
  noted.due = due - self->first_due;
  noted.woke = awake - due;
  noted.behind = self->busy_until > due ? self->busy_until - due : 0;
  noted.input = ears->launched - awake;
  noted.replay = ears->done - ears->launched;
  noted.whole = ears->done - due;
  noted.preempted = preemptions < 0 ? -1 : preemptions - self->preemptions;
  noted.missed = late;
  self->preemptions = preemptions;
  timeline_add(self->times, &noted);
}

/* Without --realtime a frame begins when the program is ready for it, so it can be late by its replay or because the
 * system ran something else meanwhile. The latter is counted apart. Returns whether it was that. */
static bool was_held_up(listener *self, int64_t begin, int64_t preemptions) {
  const ear *const ears = self->ears;
  const int64_t length = plan_time(self->course, self->sound->rate, 1), whole = ears->done - begin;
  if (self->chosen->realtime || ears->done - ears->launched > length) return false;
  ++self->held_up;
  if (preemptions >= 0 && clock_preemptions() > preemptions) ++self->held_up_preempted;
  if (whole > self->longest_held_up) self->longest_held_up = whole;
  return true;
}

static bool listen_to_frame(listener *self, uint64_t frame, int64_t begin, float *samples, float *response,
                            progress *shown) {
  ear *const ears = self->ears;
  const int64_t length = plan_time(self->course, self->sound->rate, 1);
  uint32_t counts[COCHLEA_CHANNELS];
  const int64_t preemptions = self->chosen->realtime ? -1 : clock_preemptions();
  const int64_t awake = clock_now();
  bool late = false;
  cut_frame(self, frame, samples);
  cochlea_hear(self->basilar, samples, ears->n_steps, response);
  write_input(self, response);
  if (self->teacher != NULL) learner_write_gradient(self->teacher, ears, self->recent);

  if (!ear_launch(ears) || !ear_wait(ears, begin + length, &late)) return false;
  count(ears, late ? ears->previous_spikes : ears->spikes, counts);
  act(shown, counts);
  if (!ear_finish(ears)) return false;

  latency_add(self->replays, ears->done - ears->launched);
  if (late) {
    count(ears, ears->spikes, counts);
    late = !was_held_up(self, begin, preemptions);
    self->missed += late;
  }
  if (self->times != NULL) note_times(self, begin, awake, late);
  if (self->view != NULL) live_add(self->view, counts, ears->v, ears->done - ears->launched, late);
  if (self->teacher != NULL) learn(self, frame, counts, shown);
  return keep(self, frame, counts);
}

bool listen(listener *self) {
  const size_t frame_samples = self->course->frame_samples;
  float *const samples = malloc(frame_samples * sizeof *samples);
  float *const response = malloc(frame_samples * COCHLEA_CHANNELS * sizeof *response);
  const int64_t start = clock_now();
  progress shown;
  uint64_t frame;
  bool good = samples != NULL && response != NULL;
  if (!good) complain("no memory for a frame");
  self->preemptions = clock_preemptions();
  progress_start(&shown, self->course->frames);
  for (frame = 0; good && frame < self->course->frames; ++frame) {
    int64_t begin = clock_now();
    if (self->chosen->realtime) { /* a frame can be processed when its last sample has arrived */
      begin = start + plan_time(self->course, self->sound->rate, frame + 1);
      self->busy_until = clock_now();
      clock_wait_until(begin, self->chosen->spin);
    }
    if (frame == 0) self->first_due = begin;
    good = listen_to_frame(self, frame, begin, samples, response, &shown);
    if (self->view != NULL)
      live_draw(self->view);
    else
      progress_frame(&shown, frame + 1);
  }
  if (self->view == NULL) progress_end(&shown);
  self->elapsed = clock_now() - start;
  if (self->view != NULL) live_end(self->view);
  free(samples);
  free(response);
  return good;
}
