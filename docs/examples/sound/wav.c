/* wav.c - see wav.h. The format: Microsoft and IBM, "Multimedia Programming Interface and Data Specifications 1.0",
 * 1991; WAVE_FORMAT_EXTENSIBLE: Microsoft, "Multiple Channel Audio Data and WAVE Files", 2007; RF64: EBU Tech 3306,
 * 2018, and as BW64: ITU-R BS.2088, 2019.
 *
 * SPDX-License-Identifier: MIT */
#include "wav.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "message.h"

enum {
  FORMAT_PCM = 0x0001,
  FORMAT_FLOAT = 0x0003,
  FORMAT_EXTENSIBLE = 0xFFFE,
  SMALLEST_RATE = 4000,
  LARGEST_RATE = 192000,
  READ_BYTES = 65536 /* at least one sample frame, whose size is a number of 16 bits */
};
#define ALLOWED "PCM of 8, 16, 24 or 32 bits, floating point of 32 or 64"

/* The size of a 'data' chunk that is in the 'ds64' chunk of an RF64 file, or that was not known when it was written. */
#define SIZE_ELSEWHERE 0xFFFFFFFFu

/* The last 14 bytes of every subformat that represents an old format tag. */
static const unsigned char SUBFORMAT_TAIL[14] = {0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80,
                                                 0x00, 0x00, 0xAA, 0x00, 0x38, 0x9B, 0x71};

typedef struct reader {
  const char *path;
  FILE *file;
  uint64_t data_bytes;                       /* of 'ds64'; 0 if there is none */
  size_t sample_bytes;                       /* of one channel */
  double (*decode)(const unsigned char *at); /* one sample of one channel, within [-1, 1] if it is finite */
} reader;

static uint32_t u16(const unsigned char *bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}
static uint32_t u32(const unsigned char *bytes) {
  return u16(bytes) | u16(bytes + 2) << 16;
}

static uint64_t u64(const unsigned char *bytes) {
  return (uint64_t)u32(bytes) | (uint64_t)u32(bytes + 4) << 32;
}

/* Bytes as a signed number: those of PCM, except for 8 bits, which are from 0 to 255 with 128 as the middle. */
static double decode_pcm8(const unsigned char *at) {
  return ((double)at[0] - 128.0) / 128.0;
}
static double decode_pcm16(const unsigned char *at) {
  return (double)(int16_t)(uint16_t)u16(at) / 32768.0;
}
static double decode_pcm24(const unsigned char *at) {
  const uint32_t value = u16(at) | (uint32_t)at[2] << 16;
  return ((double)value - (value >= 0x800000u ? 16777216.0 : 0.0)) / 8388608.0;
}
static double decode_pcm32(const unsigned char *at) {
  return (double)(int32_t)u32(at) / 2147483648.0;
}

/* isfinite() of mingw-w64 converts to float, which is a warning. */
static bool is_finite(double value) {
  return value >= -DBL_MAX && value <= DBL_MAX;
}

/* Floating point may be louder than what a loudspeaker gets. */
static double clipped(double value) {
  return value > 1.0 ? 1.0 : value < -1.0 ? -1.0 : value;
}
static double decode_float32(const unsigned char *at) {
  const uint32_t bits = u32(at);
  float value;
  memcpy(&value, &bits, sizeof value);
  return is_finite((double)value) ? clipped((double)value) : (double)value;
}
static double decode_float64(const unsigned char *at) {
  const uint64_t bits = u64(at);
  double value;
  memcpy(&value, &bits, sizeof value);
  return is_finite(value) ? clipped(value) : value;
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
    case FORMAT_FLOAT:
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

static bool read_riff_header(const reader *from, bool *has_ds64) {
  unsigned char header[12];
  char found[5], form[5];
  size_t got = 0;
  if (!read_some(from, header, sizeof header, &got)) return false;
  if (got == 0) return complain("%s: the file is empty; allowed: a WAV file", from->path);
  if (got < sizeof header)
    return complain("%s: truncated: %lu bytes; a WAV file begins with 12 bytes of header", from->path,
                    (unsigned long)got);
  *has_ds64 = memcmp(header, "RF64", 4) == 0 || memcmp(header, "BW64", 4) == 0;
  if ((memcmp(header, "RIFF", 4) != 0 && !*has_ds64) || memcmp(header + 8, "WAVE", 4) != 0)
    return complain("%s: not a WAV file: begins with '%s' and '%s'; allowed: 'RIFF', 'RF64' or 'BW64', and 'WAVE'",
                    from->path, printable(header, found), printable(header + 8, form));
  return true; /* the size in bytes 4..7 is often wrong and not needed */
}

/* The sizes that need more than 32 bits. */
static bool read_ds64(reader *from, uint32_t size) {
  unsigned char sizes[16]; /* of the whole file, of the samples */
  if (size < sizeof sizes)
    return complain("%s: its 'ds64' chunk has %lu bytes; allowed: 16 or more", from->path, (unsigned long)size);
  if (!read_all(from, sizes, sizeof sizes, "the 'ds64' chunk")) return false;
  from->data_bytes = u64(sizes + 8);
  return skip(from, (uint64_t)size - sizeof sizes + (size & 1u), "the 'ds64' chunk");
}

static bool choose_decoder(reader *from, uint32_t tag, uint32_t bits) {
  if (tag != FORMAT_PCM && tag != FORMAT_FLOAT)
    return complain("%s: samples of format 0x%04lX (%s); allowed: " ALLOWED, from->path, (unsigned long)tag,
                    format_name(tag));
  from->decode = NULL;
  if (tag == FORMAT_PCM && bits == 8) from->decode = decode_pcm8;
  if (tag == FORMAT_PCM && bits == 16) from->decode = decode_pcm16;
  if (tag == FORMAT_PCM && bits == 24) from->decode = decode_pcm24;
  if (tag == FORMAT_PCM && bits == 32) from->decode = decode_pcm32;
  if (tag == FORMAT_FLOAT && bits == 32) from->decode = decode_float32;
  if (tag == FORMAT_FLOAT && bits == 64) from->decode = decode_float64;
  if (from->decode == NULL)
    return complain("%s: %lu-bit samples, %s; allowed: " ALLOWED, from->path, (unsigned long)bits, format_name(tag));
  from->sample_bytes = bits / 8;
  return true;
}

static bool read_format(reader *from, uint32_t size, wav *sound) {
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
      return complain("%s: samples of a private subformat; allowed: " ALLOWED, from->path);
    tag = u16(format + 24);
  }
  if (!choose_decoder(from, tag, bits)) return false;
  if (sound->channels < 1) return complain("%s: 0 channels; allowed: 1 or more", from->path);
  if (block != from->sample_bytes * sound->channels)
    return complain("%s: claims %lu bytes per sample frame; allowed: %lu with %lu channel(s) of %lu bits", from->path,
                    (unsigned long)block, (unsigned long)(from->sample_bytes * sound->channels),
                    (unsigned long)sound->channels, (unsigned long)bits);
  if (sound->rate < SMALLEST_RATE || sound->rate > LARGEST_RATE)
    return complain("%s: %lu samples per second; allowed: %d to %d", from->path, (unsigned long)sound->rate,
                    (int)SMALLEST_RATE, (int)LARGEST_RATE);
  return true;
}

/* The title in a 'LIST' chunk of type 'INFO', which has chunks of its own. A title after the first 512 bytes is
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

/* The mean of the channels. */
static bool append(const reader *from, wav *sound, const unsigned char *bytes, size_t n_frames) {
  float *out = sound->samples + sound->n_samples;
  size_t i;
  for (i = 0; i < n_frames; ++i) {
    double sum = 0.0;
    uint32_t channel;
    for (channel = 0; channel < sound->channels; ++channel, bytes += from->sample_bytes) sum += from->decode(bytes);
    if (!is_finite(sum))
      return complain("%s: sample %llu is not a finite number", from->path, (unsigned long long)(sound->n_samples + i));
    out[i] = (float)(sum / (double)sound->channels);
  }
  sound->n_samples += n_frames;
  return true;
}

/* True if a program wrote the size before it could know it, and could not come back: all bits 0 or 1 (ffmpeg), or just
 * below 2^31 (sox, arecord). Then the samples are all that follows. */
static bool is_placeholder(uint64_t size) {
  return size == 0 || size == SIZE_ELSEWHERE || size == 0x7FFFF000u || size == 0x7FFFFF00u || size == ~(uint64_t)0;
}

/* Allocates memory for the bytes that really arrive, never for the size that the header claims. */
static bool read_samples(const reader *from, uint64_t size, wav *sound) {
  const size_t frame_bytes = from->sample_bytes * sound->channels, whole = READ_BYTES / frame_bytes * frame_bytes;
  const bool to_the_end = is_placeholder(size);
  unsigned char *bytes;
  size_t capacity = 0;
  uint64_t left = to_the_end ? ~(uint64_t)0 : size;
  bool good = true;
  if (!to_the_end && size % frame_bytes != 0)
    return complain("%s: %llu bytes of samples; allowed: a multiple of %lu", from->path, (unsigned long long)size,
                    (unsigned long)frame_bytes);
  bytes = malloc(READ_BYTES);
  if (bytes == NULL) return complain("%s: no memory to read it", from->path);
  while (good && left > 0) {
    const size_t part = left < whole ? (size_t)left : whole;
    size_t got = 0;
    good = read_some(from, bytes, part, &got);
    if (good && got < part && !to_the_end)
      good = complain("%s: truncated: its 'data' chunk claims %llu bytes, but the file has %llu of them", from->path,
                      (unsigned long long)size, (unsigned long long)(size - left + got));
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
    if (good) good = append(from, sound, bytes, got / frame_bytes);
    left = got < part ? 0 : left - part;
  }
  free(bytes);
  if (good && sound->n_samples == 0) return complain("%s: 0 samples; allowed: 1 or more", from->path);
  return good;
}

/* Chunks may come in any number and order, as long as 'fmt ' comes before 'data'; unknown ones are skipped. */
static bool read_chunks(reader *from, bool has_ds64, wav *sound) {
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
      return read_samples(from, has_ds64 && size == SIZE_ELSEWHERE ? from->data_bytes : size, sound);
    } else if (has_ds64 && memcmp(header, "ds64", 4) == 0) {
      if (!read_ds64(from, size)) return false;
    } else {
      char code[5], what[32];
      sprintf(what, "the '%s' chunk", printable(header, code));
      if (!skip(from, (uint64_t)size + (size & 1u), what)) return false;
    }
  }
}

bool wav_read(const char *path, wav *sound) {
  reader from;
  bool good, has_ds64 = false;
  memset(sound, 0, sizeof *sound);
  memset(&from, 0, sizeof from);
  from.path = path;
  errno = 0;
  from.file = files_open(path, "rb");
  if (from.file == NULL) return complain("%s: cannot be opened: %s", path, strerror(errno));
  good = read_riff_header(&from, &has_ds64) && read_chunks(&from, has_ds64, sound);
  fclose(from.file);
  if (!good) wav_free(sound);
  return good;
}

void wav_free(wav *sound) {
  free(sound->samples);
  memset(sound, 0, sizeof *sound);
}
