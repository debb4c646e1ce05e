/* report.c - see report.h.
 *
 * SPDX-License-Identifier: MIT */
#include "report.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "message.h"

enum { MOST_MISSED_SHOWN = 100 };

static const char *fallback_text(int32_t reason) {
  switch (reason) {
    case SYNFIRE_FALLBACK_NOT_BUILT:
      return "the library was built without CUDA";
    case SYNFIRE_FALLBACK_NO_DRIVER:
      return "no NVIDIA driver is available";
    case SYNFIRE_FALLBACK_DRIVER_TOO_OLD:
      return "the NVIDIA driver is too old for this library";
    case SYNFIRE_FALLBACK_NO_DEVICE:
      return "the NVIDIA driver reports no GPU";
    case SYNFIRE_FALLBACK_DEVICE_FAILED:
      return "a GPU was found but could not be used";
    default:
      return "unknown";
  }
}

void report_device(const synfire_context_properties *properties) {
  if (properties->backend == SYNFIRE_BACKEND_CUDA)
    printf("backend           cuda: %s (device %ld)\n", properties->name, (long)properties->device);
  else
    printf("backend           host: %s (up to %ld thread%s)\n", properties->name, (long)properties->n_threads,
           properties->n_threads == 1 ? "" : "s");
  if (properties->fallback_reason != SYNFIRE_FALLBACK_NONE)
    printf("why not a GPU     %s\n", fallback_text(properties->fallback_reason));
}

void report_percentiles(const char *label, const latency *sorted) {
  printf("%-17s p50 %.1f us, p99 %.1f us, p99.9 %.1f us, max %.1f us\n", label, latency_percentile(sorted, 0.5),
         latency_percentile(sorted, 0.99), latency_percentile(sorted, 0.999), latency_percentile(sorted, 1.0));
}

static void print_learning(const listener *heard) {
  const plan *const course = heard->course;
  printf("learning          %llu passes, gradient by BPTT in the same graph; target %.1f Hz for every channel\n",
         (unsigned long long)(course->frames / course->pass_frames - 2), heard->teacher->target_hz);
  printf("|rate - target|   mean over channels: %.2f Hz before (first pass), %.2f Hz after (last pass)", heard->before,
         heard->after);
  if (heard->after > 0.0) printf(": fell %.1f x", heard->before / heard->after);
  putchar('\n');
}

bool report_times(const timeline *times, const char *label, size_t offset) {
  latency sorted;
  size_t i;
  if (!latency_init(&sorted, times->count)) return false;
  for (i = 0; i < times->count; ++i)
    latency_add(&sorted, *(const int64_t *)(const void *)((const char *)&times->moments[i] + offset));
  latency_sort(&sorted);
  report_percentiles(label, &sorted);
  latency_free(&sorted);
  return true;
}

void report_held_up(const listener *heard, FILE *out) {
  if (heard->held_up == 0) return;
  fprintf(out, "late by the system: %llu (", (unsigned long long)heard->held_up);
  if (heard->held_up_preempted > 0)
    fprintf(out, "it ran something else in %llu of these frames; ", (unsigned long long)heard->held_up_preempted);
  fprintf(out, "the longest took %.1f us, its replay less than %.1f us)\n", (double)heard->longest_held_up / 1000.0,
          1e6 * heard->course->frame_samples / heard->sound->rate);
}

bool report_print(const listener *heard) {
  const ear *const ears = heard->ears;
  const plan *const course = heard->course;
  const double frame_ms = 1000.0 * course->frame_samples / heard->sound->rate;
  const double sound_s = (double)course->frames * frame_ms / 1000.0;
  const double elapsed_s = (double)heard->elapsed / 1e9;
  const uint32_t channels = heard->sound->channels;
  char channels_text[32];
  snprintf(channels_text, sizeof channels_text, "%lu channels", (unsigned long)channels);
  report_device(&ears->properties);
  printf("sound             %s%s%s%s: %lu Hz, %s, %.3f s\n", heard->chosen->sound,
         heard->sound->title[0] != '\0' ? ", \"" : "", heard->sound->title, heard->sound->title[0] != '\0' ? "\"" : "",
         (unsigned long)heard->sound->rate,
         channels == 1   ? "mono"
         : channels == 2 ? "stereo"
                         : channels_text,
         (double)heard->sound->n_samples / heard->sound->rate);
  printf("layer             LIF, %lu channels x %lu = %lu neurons, %lu steps a frame%s\n",
         (unsigned long)ears->n_channels, (unsigned long)ears->population, (unsigned long)ears->n_neurons,
         (unsigned long)ears->n_steps, heard->teacher != NULL ? ", forward and backward" : "");
  printf("frames            %llu of %.3f ms: %.3f s of sound in %.3f s (%.1f x %s)\n",
         (unsigned long long)course->frames, frame_ms, sound_s, elapsed_s, sound_s / elapsed_s,
         heard->chosen->realtime ? "real time, paced" : "real time");
  printf("spikes            %llu\n", (unsigned long long)heard->spikes);
  printf("mean rate         %.2f Hz a neuron\n", (double)heard->spikes / (double)ears->n_neurons / sound_s);
  if (heard->teacher != NULL) print_learning(heard);
  report_percentiles("launch->done", heard->replays);
  if (heard->chosen->realtime && (!report_times(heard->times, "due->done", offsetof(moment, whole)) ||
                                  !report_times(heard->times, "woke up late", offsetof(moment, woke))))
    return false;
  printf("missed deadlines  %llu of %llu (deadline: %.3f ms after the frame)\n", (unsigned long long)heard->missed,
         (unsigned long long)course->frames, frame_ms);
  report_held_up(heard, stdout);
  if (heard->times != NULL) timeline_print_missed(heard->times, stdout, MOST_MISSED_SHOWN);
  if (heard->chosen->output != NULL)
    printf("written           %s/raster.svg, %s/spikes.npy\n", heard->chosen->output, heard->chosen->output);
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return true;
  return complain("the table cannot be written: %s", errno != 0 ? strerror(errno) : "output error");
}
