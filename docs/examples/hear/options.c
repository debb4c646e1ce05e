/* options.c - see options.h.
 *
 * SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <synfire/synfire.h>

#include "message.h"
#include "nerve.h"

static const double DEFAULT_TARGET_HZ = 40.0;

static const char USAGE[] = "usage: hear SOUND.wav [options]     (hear --help lists them)\n";

static const char HELP[] =
    "usage: hear SOUND.wav [options]\n"
    "\n"
    "Turns sound into spikes: a silicon cochlea of 128 channels drives spiking neurons in frames of one\n"
    "millisecond, through one graph that is recorded once and replayed for every frame.\n"
    "\n"
    "  SOUND.wav            PCM or floating point, the mean of all channels, 4000 to 192000 samples per second\n"
    "  --learn              adapt a gain per channel by backpropagation through time, in the same graph, until every\n"
    "                       channel fires at the target rate; prints the distance before and after\n"
    "  --target HZ          the target rate, 1 to 1000 (default 40)\n"
    "  --population K       K neurons for every channel, with time constants from 2.5 to 40 ms; 1 to 4096 (default 1)\n"
    "  --realtime           process the frames in real time (default: as fast as possible)\n"
    "  --live               the same, and show spikes, V and latency on the terminal while it runs\n"
    "  --spin               with --realtime or --live, spin between frames instead of sleeping: takes a whole\n"
    "                       processor, and the system has nothing to wake\n"
    "  --loop SECONDS       listen for this long, repeating the sound (default: once; with --learn, learn for 10\n"
    "                       times the length of the sound); up to 1000000\n"
    "  --frames N           the same, in frames; 1 to 1000000000\n"
    "  --backend NAME       auto, host or cuda (default auto: CUDA if a GPU is available, else the host)\n"
    "  --device N           which CUDA device (default 0)\n"
    "  --threads N          threads of the host backend; 0 is automatic (default), 1 is this thread only; up to 1024\n"
    "  --words FILE         name the words that are spoken: FILE is a network that `digits` has learnt. SOUND.wav may "
    "be -,\n"
    "                       16-bit little-endian samples of one channel on standard input, such as a microphone's:\n"
    "                       arecord -f S16_LE -r 16000 -t raw | hear - --words digits.safetensors\n"
    "  --rate HZ            samples per second of standard input, 16000 to 192000 (default 16000)\n"
    "  --output DIR         write raster.svg and spikes.npy to this folder, which is created if needed\n"
    "  --svg FILE           write a picture of latency over time to this file\n"
    "  --csv FILE           write to this file when each frame was due, woke up, was launched and was done\n"
    "  --help               this text\n"
    "\n"
    "raster.svg shows the waveform and the spikes of the first pass over the sound (with --learn: of the last).\n"
    "spikes.npy holds the same spikes, packed: a NumPy array '<u4' [steps, words], bit i of word w is neuron 32 w + "
    "i;\n"
    "neuron c K + k is the k-th of channel c. In Python:\n"
    "    words = numpy.load('spikes.npy')\n"
    "    spikes = numpy.unpackbits(words.view(numpy.uint8), axis=1, bitorder='little')\n"
    "\n"
    "The result is a table on stdout; progress goes to stderr. Exit status: 0 success, 1 failure, 2 wrong usage.\n";

static bool read_whole(const char *name, const char *text, long long least, long long most, long long *value) {
  char *end = NULL;
  errno = 0;
  *value = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || *value < least || *value > most)
    return complain("%s %s: allowed: an integer from %lld to %lld", name, text, least, most);
  return true;
}

static bool read_number(const char *name, const char *text, double least, double most, double *value) {
  char *end = NULL;
  *value = strtod(text, &end);
  if (end == text || *end != '\0' || !(*value >= least && *value <= most)) /* refuses NaN too */
    return complain("%s %s: allowed: a number from %g to %g", name, text, least, most);
  return true;
}

static bool read_backend(const char *text, int32_t *backend) {
  if (strcmp(text, "auto") == 0)
    *backend = SYNFIRE_BACKEND_AUTO;
  else if (strcmp(text, "host") == 0)
    *backend = SYNFIRE_BACKEND_HOST;
  else if (strcmp(text, "cuda") == 0)
    *backend = SYNFIRE_BACKEND_CUDA;
  else
    return complain("--backend %s: allowed: auto, host, cuda", text);
  return true;
}

/* An option that takes a value. */
static bool read_option(options *chosen, const char *name, const char *text) {
  long long whole = 0;
  bool good;
  if (strcmp(name, "--output") == 0) {
    chosen->output = text;
    return *text != '\0' || complain("--output: allowed: the name of a folder");
  }
  if (strcmp(name, "--svg") == 0 || strcmp(name, "--csv") == 0) {
    *(name[2] == 's' ? &chosen->svg : &chosen->csv) = text;
    return *text != '\0' || complain("%s: allowed: the name of a file", name);
  }
  if (strcmp(name, "--words") == 0) {
    chosen->words = text;
    return *text != '\0' || complain("--words: allowed: the name of a file");
  }
  if (strcmp(name, "--backend") == 0) return read_backend(text, &chosen->backend);
  if (strcmp(name, "--loop") == 0) return read_number(name, text, 0.001, 1e6, &chosen->loop_seconds);
  if (strcmp(name, "--target") == 0) return read_number(name, text, 1.0, 1000.0, &chosen->target_hz);
  if (strcmp(name, "--population") == 0) {
    good = read_whole(name, text, 1, 4096, &whole);
    chosen->population = (uint32_t)whole;
  } else if (strcmp(name, "--rate") == 0) {
    good = read_whole(name, text, NERVE_SMALLEST_RATE, NERVE_LARGEST_RATE, &whole);
    chosen->rate = (uint32_t)whole;
  } else if (strcmp(name, "--frames") == 0) {
    good = read_whole(name, text, 1, 1000000000, &whole);
    chosen->frames = (uint64_t)whole;
  } else if (strcmp(name, "--device") == 0) {
    good = read_whole(name, text, 0, 1023, &whole);
    chosen->device = (int32_t)whole;
  } else {
    good = read_whole(name, text, 0, 1024, &whole);
    chosen->threads = (int32_t)whole;
  }
  return good;
}

static bool takes_value(const char *name) {
  static const char *const names[] = {"--output", "--backend", "--loop", "--target", "--population", "--frames",
                                      "--device", "--threads", "--svg",  "--csv",    "--words",      "--rate"};
  size_t i;
  for (i = 0; i < sizeof names / sizeof *names; ++i)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

/* Refuses options that do not go together with --words or with standard input. */
static bool check_words(options *chosen) {
  const bool piped = strcmp(chosen->sound, "-") == 0;
  if (piped && chosen->words == NULL) return complain("-: standard input is for --words");
  if (!piped && chosen->rate != 0) return complain("--rate: only for standard input; a WAV file has a rate of its own");
  if (piped && (chosen->realtime || chosen->svg != NULL || chosen->csv != NULL))
    return complain("-: --realtime, --svg and --csv need a WAV file; standard input has a pace of its own");
  if (chosen->words != NULL &&
      (chosen->learn || chosen->output != NULL || chosen->population != 1 || chosen->target_hz != DEFAULT_TARGET_HZ))
    return complain("--words: not together with --learn, --target, --population and --output");
  if (chosen->rate == 0) chosen->rate = NERVE_SMALLEST_RATE;
  return true;
}

static bool read_arguments(options *chosen, int argc, char **argv) {
  int i;
  for (i = 1; i < argc; ++i) {
    const char *const argument = argv[i];
    if (strcmp(argument, "--learn") == 0)
      chosen->learn = true;
    else if (strcmp(argument, "--realtime") == 0)
      chosen->realtime = true;
    else if (strcmp(argument, "--spin") == 0)
      chosen->spin = true;
    else if (strcmp(argument, "--live") == 0)
      chosen->live = chosen->realtime = true;
    else if (takes_value(argument)) {
      if (i + 1 >= argc) return complain("%s: needs a value", argument);
      if (!read_option(chosen, argument, argv[++i])) return false;
    } else if (argument[0] == '-' && argument[1] != '\0')
      return complain("%s: unknown option", argument);
    else if (chosen->sound != NULL)
      return complain("%s: a second sound; only one is allowed", argument);
    else
      chosen->sound = argument;
  }
  if (chosen->sound == NULL) return complain("no sound given");
  if (chosen->frames > 0 && chosen->loop_seconds > 0.0)
    return complain("--frames and --loop: only one of them is allowed");
  if (chosen->spin && !chosen->realtime) return complain("--spin: only with --realtime or --live");
  return check_words(chosen);
}

options_verdict options_read(options *chosen, int argc, char **argv) {
  int i;
  memset(chosen, 0, sizeof *chosen);
  chosen->backend = SYNFIRE_BACKEND_AUTO;
  chosen->population = 1;
  chosen->target_hz = DEFAULT_TARGET_HZ;
  for (i = 1; i < argc; ++i)
    if (strcmp(argv[i], "--help") == 0) {
      fputs(HELP, stdout);
      return OPTIONS_HELP;
    }
  if (read_arguments(chosen, argc, argv)) return OPTIONS_RUN;
  fputs(USAGE, stderr);
  return OPTIONS_WRONG;
}
