/* words.c - see words.h.
 *
 * SPDX-License-Identifier: MIT */
#include "words.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "files.h"
#include "latency.h"
#include "message.h"
#include "namer.h"
#include "nerve.h"
#include "report.h"
#include "source.h"
#include "timeline.h"
#include "word_lists.h"

enum {
  WARM_UP = 50,             /* replays before the first frame, so that it is no slower than the others */
  QUIET_MILLISECONDS = 250, /* of silence after the end, so that the last word ends too */
  KEPT_REPLAYS = 360000,    /* of which a stream's percentiles are: those of its first hour */
  MOST_MISSED_SHOWN = 100,
  NANOSECONDS_PER_SECOND = 1000000000
};

typedef struct listening {
  const options *chosen;
  source from;
  synfire_context context;
  synfire_context_properties properties;
  synfire_network network;
  const word_list *list;
  nerve fibres;
  namer names;
  latency replays;
  timeline times; /* one moment for each frame of a file in real time; else none */

  size_t frame_samples; /* round(rate / 1000) */
  uint64_t most;        /* frames; UINT64_MAX: until the sound ends */
  uint64_t frame;       /* how many there were */
  uint64_t n_words, missed;
  int64_t elapsed, preemptions;
} listening;

/* Checks every status; a negative one is an error. */
#define CHECK(call)                               \
  do {                                            \
    if ((call) < 0) return complain_about_call(); \
  } while (0)

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static bool open_sound(listening *self) {
  const options *const chosen = self->chosen;
  if (!source_open(&self->from, chosen->sound, chosen->rate)) return false;
  if (self->from.rate < NERVE_SMALLEST_RATE || self->from.rate > NERVE_LARGEST_RATE)
    return complain("%s: %lu samples per second; allowed with --words: %d to %d", chosen->sound,
                    (unsigned long)self->from.rate, (int)NERVE_SMALLEST_RATE, (int)NERVE_LARGEST_RATE);
  self->frame_samples = (self->from.rate + 500) / 1000;
  self->most = UINT64_MAX;
  if (chosen->frames > 0) self->most = chosen->frames;
  if (chosen->loop_seconds > 0.0)
    self->most = (uint64_t)ceil(chosen->loop_seconds * (double)self->from.rate / (double)self->frame_samples);
  nerve_init(&self->fibres, self->from.rate);
  return true;
}

/* The list that the network's last neurons are called after. */
static bool find_words(listening *self, const char *file) {
  synfire_layer layer = NULL;
  uint32_t i;
  for (i = 0; (self->list = word_list_at(i)) != NULL; ++i)
    if (synfire_network_get_layer(self->network, self->list->name, &layer) >= 0) {
      synfire_layer_destroy(layer);
      return true;
    }
  return complain(
      "%s: a network with an unknown list of words; it has no neurons \"%s\", after which the known list is"
      " called",
      file, word_list_at(0)->name);
}

/* [network] */
/* One row and one step: the network's state goes on from frame to frame. */
static bool open_network(listening *self, const char *file) {
  const synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  synfire_context_desc context = SYNFIRE_CONTEXT_DESC_INIT;
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  context.backend = self->chosen->backend;
  context.device = self->chosen->device;
  context.n_threads = self->chosen->threads;
  self->properties = properties;
  CHECK(synfire_context_create(&context, &self->context));
  CHECK(synfire_context_get_properties(self->context, &self->properties));
  desc.inference = 1;
  desc.n_steps = 1;
  desc.batch = 1;
  CHECK(synfire_network_create_from_file(self->context, file, &desc, &self->network));
  return find_words(self, file) && namer_open(&self->names, self->network, self->list->n_words);
}
/* [network] */

static bool warm_up(listening *self) {
  int i;
  memset(self->names.input, 0, NERVE_WORDS * sizeof *self->names.input);
  for (i = 0; i < WARM_UP; ++i) {
    uint64_t ticket = 0;
    CHECK(synfire_graph_launch(self->names.graph, NULL, &ticket));
    CHECK(synfire_graph_wait(self->names.graph, ticket, SYNFIRE_WAIT_SPIN, -1));
  }
  CHECK(synfire_network_reset_state(self->network));
  return true;
}

/* When frame number `frames` has ended, in nanoseconds since the first one began. */
static int64_t time_of(const listening *self, uint64_t frames) {
  const uint64_t samples = frames * self->frame_samples, rate = self->from.rate;
  return (int64_t)(samples / rate * NANOSECONDS_PER_SECOND + samples % rate * NANOSECONDS_PER_SECOND / rate);
}

/* Returns how many frames a file has in this run, with the silence after it. */
static uint64_t frames_of_file(const listening *self) {
  return self->most != UINT64_MAX ? self->most
                                  : self->from.sound.n_samples / self->frame_samples + 1 + QUIET_MILLISECONDS;
}

static bool open_records(listening *self) {
  const options *const chosen = self->chosen;
  const uint64_t most = self->from.piped ? (uint64_t)KEPT_REPLAYS : frames_of_file(self);
  if (!latency_init(&self->replays, (size_t)most)) return false;
  if (self->from.piped || (!chosen->realtime && chosen->svg == NULL && chosen->csv == NULL)) return true;
  return timeline_can_write(chosen->svg) && timeline_can_write(chosen->csv) &&
         timeline_init(&self->times, (size_t)most, time_of(self, 1));
}

/* ---- Listening --------------------------------------------------------------------------------------------------- */

static void print_word(const listening *self, const named *word) {
  const double frame = (double)self->fibres.frame_samples / (double)self->from.rate;
  printf("%8.2f s to %.2f s  %s\n", (double)word->begin * frame, (double)word->end * frame,
         self->list->words[word->word]);
  fflush(stdout);
}

/* Records how a frame that was due, and awake, spent its time until now. */
static void note_times(listening *self, moment *noted, int64_t due, int64_t done) {
  const int64_t preemptions = clock_preemptions();
  noted->whole = done - due;
  noted->missed = noted->whole > time_of(self, 1) && (self->chosen->realtime || self->from.piped);
  noted->preempted = preemptions < 0 ? -1 : preemptions - self->preemptions;
  self->preemptions = preemptions;
  self->missed += noted->missed;
  if (self->times.moments != NULL) timeline_add(&self->times, noted);
}

/* Hears a frame [frame_samples], which may have the end of a frame of the nerve in it. */
static bool hear_frame(listening *self, const float *samples, int64_t due, moment *noted) {
  const int64_t awake = clock_now();
  size_t taken = 0;
  bool found = false;
  named word;
  noted->woke = awake - due;
  noted->replay = 0;
  while (taken < self->frame_samples) {
    uint32_t spikes[NERVE_WORDS];
    taken += nerve_take(&self->fibres, samples + taken, self->frame_samples - taken, spikes);
    if (self->fibres.heard == 0) {
      const int64_t launched = clock_now();
      if (!namer_hear(&self->names, spikes, &found, &word)) return false;
      noted->replay = clock_now() - launched;
      latency_add(&self->replays, noted->replay);
    }
  }
  {
    const int64_t done = clock_now();
    noted->input = done - awake - noted->replay;
    note_times(self, noted, due, done);
  }
  ++self->frame;
  if (!found) return true;
  ++self->n_words;
  print_word(self, &word);
  return true;
}

static bool listen_to_all(listening *self, float *samples) {
  const bool repeated = self->most != UINT64_MAX;
  const int64_t start = clock_now();
  uint64_t quiet = 0; /* frames after the end */
  self->preemptions = clock_preemptions();
  while (self->frame < self->most && quiet <= QUIET_MILLISECONDS) {
    moment noted;
    int64_t due;
    size_t n = 0;
    memset(&noted, 0, sizeof noted);
    if (quiet == 0 && !source_read(&self->from, repeated, samples, self->frame_samples, &n)) return false;
    memset(samples + n, 0, (self->frame_samples - n) * sizeof *samples);
    if (n < self->frame_samples) ++quiet;
    due = clock_now(); /* what a pipe gives has just been spoken */
    if (self->chosen->realtime) {
      const int64_t ready = due;
      due = start + time_of(self, self->frame + 1);
      noted.behind = ready > due ? ready - due : 0;
      clock_wait_until(due, self->chosen->spin);
    }
    noted.due = due - start;
    if (!hear_frame(self, samples, due, &noted)) return false;
  }
  self->elapsed = clock_now() - start;
  return true;
}

/* ---- Reporting --------------------------------------------------------------------------------------------------- */

static bool print_table(listening *self) {
  const options *const chosen = self->chosen;
  const double heard_s = (double)time_of(self, self->frame) / 1e9, elapsed_s = (double)self->elapsed / 1e9;
  report_device(&self->properties);
  printf("sound             %s: %lu Hz\n", self->from.piped ? "standard input" : chosen->sound,
         (unsigned long)self->from.rate);
  printf("network           %s: %d fibres in, %lu words out (%s), a frame of %lu samples\n", chosen->words,
         (int)NERVE_FIBRES, (unsigned long)self->list->n_words, self->list->name,
         (unsigned long)self->fibres.frame_samples);
  printf("frames            %llu of %.3f ms: %.3f s of sound in %.3f s (%.1f x %s)\n", (unsigned long long)self->frame,
         (double)time_of(self, 1) / 1e6, heard_s, elapsed_s, elapsed_s > 0.0 ? heard_s / elapsed_s : 0.0,
         chosen->realtime ? "real time, paced" : "real time");
  printf("words             %llu\n", (unsigned long long)self->n_words);
  latency_sort(&self->replays);
  report_percentiles("launch->done", &self->replays);
  if (chosen->realtime && (!report_times(&self->times, "due->done", offsetof(moment, whole)) ||
                           !report_times(&self->times, "woke up late", offsetof(moment, woke))))
    return false;
  if (chosen->realtime || self->from.piped)
    printf("missed deadlines  %llu of %llu (deadline: %.3f ms after the frame)\n", (unsigned long long)self->missed,
           (unsigned long long)self->frame, (double)time_of(self, 1) / 1e6);
  if (self->times.moments != NULL) timeline_print_missed(&self->times, stdout, MOST_MISSED_SHOWN);
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return true;
  return complain("the table cannot be written: %s", errno != 0 ? strerror(errno) : "output error");
}

static bool write_times(const listening *self) {
  const options *const chosen = self->chosen;
  if (chosen->csv != NULL && !timeline_write_csv(&self->times, chosen->csv)) return false;
  return chosen->svg == NULL || timeline_write_svg(&self->times, chosen->svg, self->properties.name);
}

static void close_all(listening *self) {
  namer_close(&self->names);
  synfire_network_destroy(self->network);
  synfire_context_destroy(self->context);
  synfire_context_reclaim(NULL, NULL);
  latency_free(&self->replays);
  timeline_free(&self->times);
  source_close(&self->from);
}

bool words_run(const options *chosen) {
  static listening all; /* too large for some stacks */
  float *samples = NULL;
  bool good;
  memset(&all, 0, sizeof all);
  all.chosen = chosen;
  good = open_sound(&all) && open_network(&all, chosen->words) && open_records(&all) && warm_up(&all);
  if (good) {
    samples = malloc(all.frame_samples * sizeof *samples);
    good = samples != NULL || complain("no memory for a frame");
  }
  good = good && listen_to_all(&all, samples) && print_table(&all) && write_times(&all);
  free(samples);
  close_all(&all);
  return good;
}
