/* wav.c - see wav.h. The format: Microsoft and IBM, "Multimedia Programming Interface and Data Specifications 1.0",
 * 1991; WAVE_FORMAT_EXTENSIBLE: Microsoft, "Multiple Channel Audio Data and WAVE Files", 2007.
 *
 * SPDX-License-Identifier: MIT */
#include "wav.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "message.h"

enum {
  FORMAT_PCM = 0x0001,
  FORMAT_EXTENSIBLE = 0xFFFE,
  SMALLEST_RATE = 4000,
  LARGEST_RATE = 192000,
  READ_BYTES = 65536 /* a whole number of frames, mono and stereo */
};

/* The last 14 bytes of every subformat that represents an old format tag. */
static const unsigned char SUBFORMAT_TAIL[14] = {0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80,
                                                 0x00, 0x00, 0xAA, 0x00, 0x38, 0x9B, 0x71};

typedef struct reader {
  const char *path;
  FILE *file;
} reader;

static uint32_t u16(const unsigned char *bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}
static uint32_t u32(const unsigned char *bytes) {
  return u16(bytes) | u16(bytes + 2) << 16;
}

/* Returns how many bytes were read. Reports an error only if the system failed to read. */
static bool read_some(const reader *from, void *bytes, size_t wanted, size_t *got) {
  errno = 0;
  *got = fread(bytes, 1, wanted, from->file);
  if (*got < wanted && ferror(from->file))
    return complain("%s: cannot be read: %s", from->path, errno != 0 ? strerror(errno) : "input error");
  return true;
}

static bool read_all(const reader *from, void *bytes, size_t wanted, const char *what) {
  size_t got = 0;
  if (!read_some(from, bytes, wanted, &got)) return false;
  if (got < wanted)
    return complain("%s: truncated: %s ends after %lu of %lu bytes", from->path, what, (unsigned long)got,
                    (unsigned long)wanted);
  return true;
}

static bool skip(const reader *from, uint64_t bytes, const char *what) {
  unsigned char thrown_away[4096];
  while (bytes > 0) {
    const size_t part = bytes < sizeof thrown_away ? (size_t)bytes : sizeof thrown_away;
    if (!read_all(from, thrown_away, part, what)) return false;
    bytes -= part;
  }
  return true;
}

/* A four-character code as text; unprintable characters become '?'. */
static const char *printable(const unsigned char *code, char text[5]) {
  int i;
  for (i = 0; i < 4; ++i) text[i] = (char)(code[i] >= 0x20 && code[i] < 0x7F ? code[i] : '?');
  text[4] = '\0';
  return text;
}

static const char *format_name(uint32_t tag) {
  switch (tag) {
    case FORMAT_PCM:
      return "PCM";
    case 0x0003:
      return "floating point";
    case 0x0006:
      return "A-law";
    case 0x0007:
      return "mu-law";
    case 0x0055:
      return "MP3";
    default:
      return "unknown";
  }
}

static bool read_riff_header(const reader *from) {
  unsigned char header[12];
  char found[5], form[5];
  size_t got = 0;
  if (!read_some(from, header, sizeof header, &got)) return false;
  if (got == 0) return complain("%s: the file is empty; allowed: a WAV file", from->path);
  if (got < sizeof header)
    return complain("%s: truncated: %lu bytes; a WAV file begins with 12 bytes of header", from->path,
                    (unsigned long)got);
  if (memcmp(header, "RIFF", 4) != 0 || memcmp(header + 8, "WAVE", 4) != 0)
    return complain("%s: not a WAV file: begins with '%s' and '%s'; allowed: 'RIFF' and 'WAVE'", from->path,
                    printable(header, found), printable(header + 8, form));
  return true; /* the size in bytes 4..7 is often wrong and not needed */
}

static bool read_format(const reader *from, uint32_t size, wav *sound) {
  unsigned char format[40];
  const size_t known = size < sizeof format ? (size_t)size : sizeof format;
  uint32_t tag, bits, block;
  if (size < 16)
    return complain("%s: its 'fmt ' chunk has %lu bytes; allowed: 16 or more", from->path, (unsigned long)size);
  if (!read_all(from, format, known, "the 'fmt ' chunk")) return false;
  if (!skip(from, (uint64_t)size - known + (size & 1u), "the 'fmt ' chunk")) return false;
  tag = u16(format);
  sound->channels = u16(format + 2);
  sound->rate = u32(format + 4);
  block = u16(format + 12);
  bits = u16(format + 14);
  if (tag == FORMAT_EXTENSIBLE) {
    if (size < sizeof format)
      return complain("%s: its extensible 'fmt ' chunk has %lu bytes; allowed: 40 or more", from->path,
                      (unsigned long)size);
    if (memcmp(format + 26, SUBFORMAT_TAIL, sizeof SUBFORMAT_TAIL) != 0)
      return complain("%s: samples of a private subformat; allowed: 16-bit PCM", from->path);
    tag = u16(format + 24);
  }
  if (tag != FORMAT_PCM)
    return complain("%s: samples of format 0x%04lX (%s); allowed: 16-bit PCM", from->path, (unsigned long)tag,
                    format_name(tag));
  if (bits != 16) return complain("%s: %lu-bit samples; allowed: 16-bit PCM", from->path, (unsigned long)bits);
  if (sound->channels < 1 || sound->channels > 2)
    return complain("%s: %lu channels; allowed: 1 (mono) or 2 (stereo)", from->path, (unsigned long)sound->channels);
  if (block != 2 * sound->channels)
    return complain("%s: claims %lu bytes per sample frame; allowed: %lu with %lu channel(s) of 16 bits", from->path,
                    (unsigned long)block, (unsigned long)(2 * sound->channels), (unsigned long)sound->channels);
  if (sound->rate < SMALLEST_RATE || sound->rate > LARGEST_RATE)
    return complain("%s: %lu samples per second; allowed: %d to %d", from->path, (unsigned long)sound->rate,
                    (int)SMALLEST_RATE, (int)LARGEST_RATE);
  return true;
}

/* The title in a 'LIST' chunk of type 'INFO', which has chunks of its own. A title behind the first 512 bytes is
 * ignored, as is anything that is not as it should be: sound needs no title. */
static bool read_list(const reader *from, uint32_t size, wav *sound) {
  unsigned char list[512];
  const size_t known = size < sizeof list ? (size_t)size : sizeof list;
  uint64_t at = 4;
  if (!read_all(from, list, known, "the 'LIST' chunk")) return false;
  if (!skip(from, (uint64_t)size - known + (size & 1u), "the 'LIST' chunk")) return false;
  if (known < 4 || memcmp(list, "INFO", 4) != 0) return true;
  while (at + 8 <= known) {
    const uint32_t length = u32(list + at + 4);
    if (memcmp(list + at, "INAM", 4) == 0) {
      size_t i;
      for (i = 0; i < length && at + 8 + i < known && i + 1 < sizeof sound->title; ++i) {
        const unsigned char letter = list[at + 8 + i];
        if (letter == '\0') break;
        sound->title[i] = (char)(letter >= 0x20 && letter < 0x7F ? letter : '?');
      }
      sound->title[i] = '\0';
      return true;
    }
    at += 8 + (uint64_t)length + (length & 1u);
  }
  return true;
}

static void append(wav *sound, const unsigned char *bytes, size_t n_frames) {
  float *out = sound->samples + sound->n_samples;
  size_t i;
  for (i = 0; i < n_frames; ++i) {
    int32_t sum = 0;
    uint32_t channel;
    for (channel = 0; channel < sound->channels; ++channel, bytes += 2) {
      const int32_t value = (int32_t)u16(bytes);
      sum += value >= 32768 ? value - 65536 : value;
    }
    out[i] = (float)sum / (32768.0F * (float)sound->channels);
  }
  sound->n_samples += n_frames;
}

/* Allocates memory for the bytes that really arrive, never for the size that the header claims. */
static bool read_samples(const reader *from, uint32_t size, wav *sound) {
  const size_t frame_bytes = 2 * (size_t)sound->channels;
  unsigned char *bytes;
  size_t capacity = 0;
  uint32_t left = size;
  bool good = true;
  if (size == 0) return complain("%s: 0 samples; allowed: 1 or more", from->path);
  if (size % frame_bytes != 0)
    return complain("%s: %lu bytes of samples; allowed: a multiple of %lu", from->path, (unsigned long)size,
                    (unsigned long)frame_bytes);
  bytes = malloc(READ_BYTES);
  if (bytes == NULL) return complain("%s: no memory to read it", from->path);
  while (good && left > 0) {
    const size_t part = left < READ_BYTES ? (size_t)left : (size_t)READ_BYTES;
    size_t got = 0;
    good = read_some(from, bytes, part, &got);
    if (good && got < part)
      good = complain("%s: truncated: its 'data' chunk claims %lu bytes, but the file has %lu of them", from->path,
                      (unsigned long)size, (unsigned long)(size - left + got));
    if (good && sound->n_samples + part / frame_bytes > capacity) {
      const size_t larger = 2 * capacity + READ_BYTES;
      float *samples = realloc(sound->samples, larger * sizeof *samples);
      if (samples == NULL)
        good = complain("%s: no memory for more than %lu samples", from->path, (unsigned long)capacity);
      else {
        sound->samples = samples;
        capacity = larger;
      }
    }
    if (good) append(sound, bytes, part / frame_bytes);
    left -= (uint32_t)part;
  }
  free(bytes);
  return good;
}

/* Chunks may come in any number and order, as long as 'fmt ' comes before 'data'; unknown ones are skipped. */
static bool read_chunks(const reader *from, wav *sound) {
  bool format_known = false;
  for (;;) {
    unsigned char header[8];
    uint32_t size;
    size_t got = 0;
    if (!read_some(from, header, sizeof header, &got)) return false;
    if (got < sizeof header)
      return complain("%s: truncated: ends before its %s chunk", from->path, format_known ? "'data'" : "'fmt '");
    size = u32(header + 4);
    if (memcmp(header, "fmt ", 4) == 0) {
      if (!read_format(from, size, sound)) return false;
      format_known = true;
    } else if (memcmp(header, "LIST", 4) == 0) {
      if (!read_list(from, size, sound)) return false;
    } else if (memcmp(header, "data", 4) == 0) {
      if (!format_known) return complain("%s: its 'data' chunk comes before any 'fmt ' chunk", from->path);
      return read_samples(from, size, sound);
    } else {
      char code[5], what[32];
      sprintf(what, "the '%s' chunk", printable(header, code));
      if (!skip(from, (uint64_t)size + (size & 1u), what)) return false;
    }
  }
}

bool wav_read(const char *path, wav *sound) {
  reader from;
  bool good;
  memset(sound, 0, sizeof *sound);
  from.path = path;
  errno = 0;
  from.file = files_open(path, "rb");
  if (from.file == NULL) return complain("%s: cannot be opened: %s", path, strerror(errno));
  good = read_riff_header(&from) && read_chunks(&from, sound);
  fclose(from.file);
  if (!good) wav_free(sound);
  return good;
}

void wav_free(wav *sound) {
  free(sound->samples);
  memset(sound, 0, sizeof *sound);
}
