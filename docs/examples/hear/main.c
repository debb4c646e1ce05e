/* main.c - `hear`: sound in, spikes out, one graph replayed for every millisecond. `hear --help` lists the options.
 *
 * This file connects the parts and releases them. ear.c shows how to use Synfire; the loop is in listen.c.
 *
 * C99, and what differs between POSIX and Windows: time (clock.c), files and the command line (files.c), the terminal
 * (terminal.c).
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "listen.h"
#include "message.h"
#include "output.h"
#include "report.h"
#include "terminal.h"
#include "words.h"

/* Everything that must be released in any case. */
typedef struct parts {
  wav sound;
  plan course;
  cochlea basilar;
  ear ears;
  latency replays;
  timeline times;
  learner teacher;
  rates recent;
  raster picture;
  npy file;
  live view;
  char *picture_path, *file_path;
} parts;

static bool open_ears(parts *all, const options *chosen) {
  const synfire_context_desc defaults = SYNFIRE_CONTEXT_DESC_INIT;
  ear_config config;
  config.context = defaults;
  config.context.backend = chosen->backend;
  config.context.device = chosen->device;
  config.context.n_threads = chosen->threads;
  config.rate = all->sound.rate;
  config.n_steps = all->course.frame_samples;
  config.n_channels = COCHLEA_CHANNELS;
  config.population = chosen->population;
  config.learn = chosen->learn;
  config.watch = chosen->live;
  return ear_open(&all->ears, &config);
}

static bool open_outputs(parts *all, const char *folder) {
  const plan *const course = &all->course;
  const ear *const ears = &all->ears;
  return output_make_folder(folder) && (all->picture_path = output_path(folder, "raster.svg")) != NULL &&
         (all->file_path = output_path(folder, "spikes.npy")) != NULL &&
         raster_init(&all->picture, COCHLEA_CHANNELS, ears->population, (size_t)course->keep, course->frame_samples) &&
         npy_open(&all->file, all->file_path, course->keep * course->frame_samples, ears->n_words);
}

/* The picture while it runs, on stderr; stdout is for the table. */
static void open_view(parts *all, const options *chosen) {
  live_subject subject;
  subject.sound = output_base_name(chosen->sound);
  subject.title = all->sound.title;
  subject.device = all->ears.properties.name;
  subject.n_channels = COCHLEA_CHANNELS;
  subject.population = chosen->population;
  subject.centre_hz = all->basilar.centre_hz;
  subject.n_frames = all->course.frames;
  subject.frame_length = plan_time(&all->course, all->sound.rate, 1);
  live_start(&all->view, &subject, stderr, terminal_is_watched() && terminal_fits(LIVE_WIDTH + 1, LIVE_ROWS + 1));
}

/* Where the replays ran, for the title of the latency picture. */
static const char *title_of(const listener *heard) {
  return heard->ears->properties.name;
}

static bool run(parts *all, const options *chosen) {
  const bool writes = chosen->output != NULL;
  const bool timed = chosen->realtime || chosen->svg != NULL || chosen->csv != NULL;
  listener heard;
  if (!wav_read(chosen->sound, &all->sound)) return false;
  plan_make(&all->course, chosen, &all->sound);
  cochlea_init(&all->basilar, all->sound.rate, cochlea_level(all->sound.samples, all->sound.n_samples));
  if (!open_ears(all, chosen)) return false;
  if (!latency_init(&all->replays, (size_t)all->course.frames)) return false;
  if (writes && !open_outputs(all, chosen->output)) return false;
  if (timed && (!timeline_can_write(chosen->svg) || !timeline_can_write(chosen->csv) ||
                !timeline_init(&all->times, (size_t)all->course.frames, plan_time(&all->course, all->sound.rate, 1))))
    return false;
  if (chosen->learn) {
    const double frame_seconds = (double)all->course.frame_samples / (double)all->sound.rate;
    learner_init(&all->teacher, chosen->target_hz);
    if (!rates_init(&all->recent, COCHLEA_CHANNELS, (size_t)all->course.pass_frames, frame_seconds, chosen->population))
      return false;
  }

  memset(&heard, 0, sizeof heard);
  heard.chosen = chosen;
  heard.sound = &all->sound;
  heard.course = &all->course;
  heard.basilar = &all->basilar;
  heard.ears = &all->ears;
  heard.replays = &all->replays;
  heard.teacher = chosen->learn ? &all->teacher : NULL;
  heard.recent = chosen->learn ? &all->recent : NULL;
  heard.picture = writes ? &all->picture : NULL;
  heard.file = writes ? &all->file : NULL;
  heard.times = timed ? &all->times : NULL;
  heard.view = chosen->live ? &all->view : NULL;
  if (chosen->live) open_view(all, chosen);
  if (!listen(&heard)) return false;

  latency_sort(&all->replays);
  if (writes &&
      (!npy_close(&all->file) || !raster_write(&all->picture, all->picture_path, output_base_name(chosen->sound),
                                               &all->sound, all->basilar.centre_hz)))
    return false;
  if (chosen->csv != NULL && !timeline_write_csv(&all->times, chosen->csv)) return false;
  if (chosen->svg != NULL && !timeline_write_svg(&all->times, chosen->svg, title_of(&heard))) return false;
  return report_print(&heard);
}

int main(int argc, char **argv) {
  static parts all; /* all zero; too large for some stacks */
  options chosen;
  bool good;
  argv = files_arguments(argc, argv);
  if (argv == NULL) {
    complain("the command line cannot be read");
    return EXIT_FAILURE;
  }
  switch (options_read(&chosen, argc, argv)) {
    case OPTIONS_HELP:
      return EXIT_SUCCESS;
    case OPTIONS_WRONG:
      return 2;
    case OPTIONS_RUN:
      break;
  }
  if (chosen.words != NULL) return words_run(&chosen) ? EXIT_SUCCESS : EXIT_FAILURE;
  good = run(&all, &chosen);
  npy_abandon(&all.file);
  raster_free(&all.picture);
  rates_free(&all.recent);
  latency_free(&all.replays);
  timeline_free(&all.times);
  ear_close(&all.ears);
  wav_free(&all.sound);
  free(all.picture_path);
  free(all.file_path);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
