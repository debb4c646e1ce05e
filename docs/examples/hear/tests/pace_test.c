/* pace_test.c - tests the loop in real time, with a clock that only advances when the test says so.
 *
 * Uses fakes for the clock, the ear and the cochlea, and a run in which three frames are late for three reasons.
 * Checks what the loop records, prints and writes about them. Usage: hear_pace_test DIR
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "listen.h"
#include "report.h"

enum { FRAMES = 1000 };

static const int64_t MICROSECOND = 1000, MILLISECOND = 1000000; /* ns */

static int failures;

static void expect(int good, const char *what, double found) {
  if (good) return;
  ++failures;
  fprintf(stderr, "failed: %s (found %g)\n", what, found);
}

/* ---- The fakes: frame 100 wakes up late, frame 200 takes too long for its input, frame 300 has a slow replay ---- */

static int64_t now = 5000, slept;
static int64_t preemptions;
static uint64_t frame; /* the number of sleeps so far, minus one; of inputs where nothing sleeps */
static bool paced = true;
static uint64_t waited_for_ever;
static uint32_t spikes[4];

int64_t clock_now(void) {
  return now;
}

int64_t clock_preemptions(void) {
  return preemptions;
}

void clock_wait_until(int64_t until, bool spins) {
  (void)spins;
  if (slept++ > 0) ++frame;
  if (now < until) now = until + 20 * MICROSECOND; /* a frame that is behind does not sleep */
  if (frame == 100) now = until + 2500 * MICROSECOND;
}

void cochlea_hear(cochlea *self, const float *samples, size_t n_samples, float *response) {
  (void)self, (void)samples;
  memset(response, 0, n_samples * COCHLEA_CHANNELS * sizeof *response);
  if (!paced) ++frame;
  now += 10 * MICROSECOND;
  if (frame == 200) {
    now += 990 * MICROSECOND;
    preemptions += 2;
  }
}

double cochlea_erb_number(double hz) {
  return hz;
}

bool ear_launch(ear *self) {
  self->launched = now;
  return true;
}

bool ear_wait(ear *self, int64_t deadline, bool *late) {
  const int64_t done = now + (frame == 300 ? 1500 : 5) * MICROSECOND;
  self->pending = done > deadline && now < deadline;
  now = done > deadline && now < deadline ? deadline : done;
  self->done = now;
  *late = self->pending || now > deadline;
  return true;
}

bool ear_finish(ear *self) {
  if (self->pending) {
    ++waited_for_ever;
    self->done = now = self->launched + 1500 * MICROSECOND;
    self->pending = false;
  }
  return true;
}

uint64_t SYNFIRE_CALL synfire_last_error(char *text, uint64_t capacity, int32_t *cuda_error) {
  if (cuda_error != NULL) *cuda_error = 0;
  return (uint64_t)snprintf(text, capacity, "none") + 1;
}

/* ---- The checks ------------------------------------------------------------------------------------------------ */

static void check_moment(const timeline *times, size_t index, int missed, const char *cause, int64_t woke,
                         int64_t behind, int64_t input, int64_t replay) {
  const moment *const noted = &times->moments[index];
  char what[64];
  snprintf(what, sizeof what, "frame %d", (int)index);
  expect(noted->missed == (missed != 0) && strcmp(timeline_cause(times, index), cause) == 0, what,
         (double)noted->missed);
  expect(noted->woke == woke * MICROSECOND, what, (double)noted->woke);
  expect(noted->behind == behind * MICROSECOND, what, (double)noted->behind);
  expect(noted->input == input * MICROSECOND, what, (double)noted->input);
  expect(noted->replay == replay * MICROSECOND, what, (double)noted->replay);
  expect(noted->whole == (woke + input + replay) * MICROSECOND, what, (double)noted->whole);
  expect(noted->due == (int64_t)index * MILLISECOND, what, (double)noted->due);
}

/* True if the file contains this line; also counts its lines. */
static int has_line(const char *path, const char *line, int *lines) {
  char read[256];
  int found = 0;
  FILE *const file = fopen(path, "rb");
  *lines = 0;
  if (file == NULL) return 0;
  while (fgets(read, sizeof read, file) != NULL) {
    ++*lines;
    if (strncmp(read, line, strlen(line)) == 0) found = 1;
  }
  fclose(file);
  return found;
}

static void check_files(const timeline *times, const char *folder) {
  char path[1024];
  int lines = 0;
  FILE *out;
  snprintf(path, sizeof path, "%s/times.csv", folder);
  expect(timeline_can_write(path) && timeline_write_csv(times, path), "a CSV file", 0);
  expect(has_line(path, "frame,due_us,woke_late_us,behind_us,input_us,replay_us,whole_us,missed,preempted\n", &lines),
         "its header", 0);
  expect(lines == FRAMES + 1, "a line a frame", lines);
  expect(has_line(path, "0,0.000,20.000,0.000,10.000,5.000,35.000,0,0\n", &lines), "frame 0", 0);
  expect(has_line(path, "200,200000.000,20.000,0.000,1000.000,5.000,1025.000,1,2\n", &lines), "frame 200", 0);

  snprintf(path, sizeof path, "%s/times.svg", folder);
  expect(timeline_write_svg(times, path, "a <clock>"), "a picture", 0);
  expect(has_line(path, "<text x=\"84\" y=\"40\" font-size=\"21\" font-weight=\"600\">a &lt;clock&gt;</text>", &lines),
         "its title", 0);
  expect(
      has_line(path, "<text x=\"1176\" y=\"40\" text-anchor=\"end\" fill=\"#5c6370\">5 of 1000 frames missed", &lines),
      "its count", 0);
  expect(has_line(path, "<circle cx=\"194.", &lines), "a mark at frame 100", 0);
  expect(has_line(path, "</svg>", &lines), "its end", 0);

  snprintf(path, sizeof path, "%s/missed.txt", folder);
  out = fopen(path, "wb");
  expect(out != NULL, "a file", 0);
  if (out != NULL) {
    timeline_print_missed(times, out, 4);
    fclose(out);
  }
  expect(
      has_line(
          path,
          "missed: woke late frame 100 at 0.100 s: woke 2500.0 us late, input 10.0 us, replay 5.0 us; preempted 0 x\n",
          &lines),
      "a frame that woke up late", 0);
  expect(has_line(path,
                  "missed: woke late frame 101 at 0.101 s: woke 1515.0 us late, input 10.0 us, replay 5.0 us; 1515.0 "
                  "us behind from the frame before; preempted 0 x\n",
                  &lines),
         "and the one that was late with it", 0);
  expect(
      has_line(
          path,
          "missed: input     frame 200 at 0.200 s: woke 20.0 us late, input 1000.0 us, replay 5.0 us; preempted 2 x\n",
          &lines),
      "a frame with a slow input", 0);
  expect(
      has_line(
          path,
          "missed: replay    frame 300 at 0.300 s: woke 20.0 us late, input 10.0 us, replay 1500.0 us; preempted 0 x\n",
          &lines),
      "a frame with a slow replay", 0);
  expect(has_line(path, "missed: 1 frames more\n", &lines) && lines == 5, "no more lines than asked for", lines);

  snprintf(path, sizeof path, "%s/no/such", folder);
  expect(!timeline_can_write(path) && !timeline_write_csv(times, path) && !timeline_write_svg(times, path, ""),
         "no folder", 0);
  expect(timeline_can_write(NULL), "nothing is wanted", 0);
}

static void check_held_up(const listener *heard, const char *folder, const char *line) {
  char path[1024];
  int lines = 0;
  FILE *out;
  snprintf(path, sizeof path, "%s/held_up.txt", folder);
  out = fopen(path, "wb");
  expect(out != NULL, "a file", 0);
  if (out == NULL) return;
  report_held_up(heard, out);
  fclose(out);
  expect(line == NULL ? !has_line(path, "", &lines) : has_line(path, line, &lines) && lines == 1, "its line", lines);
}

/* Without --realtime, frame 200 is late because the system ran something else, and frame 300 by its replay. */
static void check_unpaced(listener *heard, options *chosen, const char *folder) {
  chosen->realtime = false;
  heard->times = NULL;
  heard->missed = 0;
  frame = (uint64_t)-1;
  paced = false;
  expect(listen(heard), "the loop runs", 0);
  expect(heard->missed == 1, "a slow replay misses its deadline", (double)heard->missed);
  expect(heard->held_up == 1 && heard->held_up_preempted == 1, "what the system made late", (double)heard->held_up);
  expect(heard->longest_held_up == 1005 * MICROSECOND, "how long it took", (double)heard->longest_held_up);
  check_held_up(heard, folder,
                "late by the system: 1 (it ran something else in 1 of these frames; the longest took 1005.0 us, its "
                "replay less than 1000.0 us)\n");
  heard->held_up_preempted = 0;
  check_held_up(heard, folder, "late by the system: 1 (the longest took 1005.0 us, its replay less than 1000.0 us)\n");
}

int main(int argc, char **argv) {
  static float sound_samples[16 * 250], x[16 * COCHLEA_CHANNELS];
  static cochlea basilar;
  options chosen;
  wav sound;
  plan course;
  ear ears;
  latency replays;
  timeline times;
  listener heard;
  if (argc != 2) return 2;
  memset(&chosen, 0, sizeof chosen);
  memset(&ears, 0, sizeof ears);
  memset(&heard, 0, sizeof heard);
  chosen.realtime = true;
  chosen.loop_seconds = FRAMES / 1000.0;
  sound.samples = sound_samples;
  sound.n_samples = sizeof sound_samples / sizeof *sound_samples;
  sound.rate = 16000;
  sound.channels = 1;
  plan_make(&course, &chosen, &sound);
  expect(course.frames == FRAMES && course.frame_samples == 16 && course.pass_frames == 250, "the sound is looped",
         (double)course.frames);
  ears.n_steps = 16;
  ears.n_channels = COCHLEA_CHANNELS;
  ears.population = 1;
  ears.n_neurons = COCHLEA_CHANNELS;
  ears.n_words = 0; /* no spikes, which do not matter here */
  ears.x = x;
  ears.spikes = ears.previous_spikes = spikes;
  if (!latency_init(&replays, FRAMES) || !timeline_init(&times, FRAMES, plan_time(&course, sound.rate, 1))) return 1;
  expect(times.deadline == MILLISECOND, "a frame of 16 samples is a millisecond", (double)times.deadline);
  heard.chosen = &chosen;
  heard.sound = &sound;
  heard.course = &course;
  heard.basilar = &basilar;
  heard.ears = &ears;
  heard.replays = &replays;
  heard.times = &times;
  expect(listen(&heard), "the loop runs", 0);

  /* 101 and 102 start late, and 101 misses its deadline. After 200 the next frame starts late but is on time, and so
   * after 301. The cause of such frames is the cause of the frame before. */
  expect(times.count == FRAMES && replays.count == FRAMES && slept == FRAMES, "every frame is noted",
         (double)times.count);
  check_moment(&times, 0, 0, "woke late", 20, 0, 10, 5);
  check_moment(&times, 99, 0, "woke late", 20, 0, 10, 5);
  check_moment(&times, 100, 1, "woke late", 2500, 0, 10, 5);
  check_moment(&times, 101, 1, "woke late", 1515, 1515, 10, 5);
  check_moment(&times, 102, 0, "woke late", 530, 530, 10, 5);
  check_moment(&times, 103, 0, "woke late", 20, 0, 10, 5);
  check_moment(&times, 200, 1, "input", 20, 0, 1000, 5);
  check_moment(&times, 201, 0, "input", 25, 25, 10, 5);
  check_moment(&times, 300, 1, "replay", 20, 0, 10, 1500);
  check_moment(&times, 301, 0, "replay", 530, 530, 10, 5);
  check_moment(&times, FRAMES - 1, 0, "woke late", 20, 0, 10, 5);
  expect(heard.missed == 4, "missed frames", (double)heard.missed);
  expect(waited_for_ever == 1, "one replay was still running at its deadline", (double)waited_for_ever);
  expect(times.moments[200].preempted == 2 && times.moments[201].preempted == 0, "who was preempted",
         (double)times.moments[200].preempted);
  latency_sort(&replays);
  expect(latency_percentile(&replays, 0.5) == 5.0 && latency_percentile(&replays, 1.0) == 1500.0, "percentiles",
         latency_percentile(&replays, 1.0));
  expect(heard.held_up == 0, "in real time every late frame is a missed one", (double)heard.held_up);
  check_held_up(&heard, argv[1], NULL);
  times.moments[FRAMES - 1].missed = true; /* one more than is printed */
  check_files(&times, argv[1]);
  check_unpaced(&heard, &chosen, argv[1]);
  timeline_free(&times);
  latency_free(&replays);
  expect(!timeline_init(&times, (size_t)-1 / 8, 1) && times.moments == NULL, "no memory is said", 0);
  if (failures > 0) return EXIT_FAILURE;
  puts("the loop in real time: as expected");
  return EXIT_SUCCESS;
}
