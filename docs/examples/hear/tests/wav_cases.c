/* wav_cases.c - writes WAV files into a folder: `wav_cases DIR`.
 *
 * good_*.wav all contain the same tone in different encodings and must give the same spikes; so must coarse_*.wav, and
 * so must loud_*.wav. rate_*.wav are valid sounds at other rates. Each bad_*.wav has one error, and bad_*.txt has words
 * that the error message must contain. hear_test.sh runs the program on each of them.
 *
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 8000, SAMPLES = 2403, CAPACITY = 1 << 20 }; /* 300 frames of 8 samples, plus 3 samples */

static const char *folder;
static unsigned char bytes[CAPACITY];
static size_t length;

static void put(const void *data, size_t n) {
  memcpy(bytes + length, data, n);
  length += n;
}

/* The four characters of a tag, without the terminating null. */
static void overwrite(size_t at, const char *tag) {
  memcpy(bytes + at, tag, 4);
}

static void put_u16(uint32_t value) {
  const unsigned char b[2] = {(unsigned char)(value & 0xFFu), (unsigned char)(value >> 8 & 0xFFu)};
  put(b, 2);
}

static void put_u32(uint32_t value) {
  put_u16(value & 0xFFFFu);
  put_u16(value >> 16);
}

static void begin(void) {
  length = 0;
  put("RIFF", 4);
  put_u32(0); /* never used; end() does not correct it */
  put("WAVE", 4);
}

static void format(uint32_t tag, uint32_t channels, uint32_t rate, uint32_t bits) {
  put("fmt ", 4);
  put_u32(16);
  put_u16(tag);
  put_u16(channels);
  put_u32(rate);
  put_u32(rate * channels * bits / 8);
  put_u16(channels * bits / 8);
  put_u16(bits);
}

static void extensible(uint32_t subformat, uint32_t bits, unsigned char last_of_guid) {
  const unsigned char tail[13] = {0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80, 0x00, 0x00, 0xAA, 0x00, 0x38, 0x9B};
  put("fmt ", 4);
  put_u32(40);
  put_u16(0xFFFE);
  put_u16(1);
  put_u32(RATE);
  put_u32(RATE * bits / 8);
  put_u16(bits / 8);
  put_u16(bits);
  put_u16(22);
  put_u16(bits);
  put_u32(4); /* front centre */
  put_u16(subformat);
  put(tail, sizeof tail);
  put(&last_of_guid, 1);
}

static void data(uint32_t size) {
  put("data", 4);
  put_u32(size);
}

/* A tone that comes and goes, as 16 bits. */
static long tone_at(uint32_t rate, uint32_t i) {
  const double t = (double)i / rate;
  return lround(8000.0 * sin(2.0 * 3.14159265358979 * 440.0 * t) * sin(20.0 * t) * sin(20.0 * t));
}

/* A number of 16 bits as a sample of any encoding. */
static void sample(long value, uint32_t tag, uint32_t bits) {
  const uint32_t low = (uint32_t)value & 0xFFFFu;
  const float f32 = (float)value / 32768.0F;
  const double f64 = (double)value / 32768.0;
  unsigned char byte;
  uint32_t u32;
  uint64_t u64;
  if (tag == 3 && bits == 32) {
    memcpy(&u32, &f32, sizeof u32);
    put_u32(u32);
  } else if (tag == 3) {
    memcpy(&u64, &f64, sizeof u64);
    put_u32((uint32_t)(u64 & 0xFFFFFFFFu));
    put_u32((uint32_t)(u64 >> 32));
  } else if (bits == 8) {
    byte = (unsigned char)(value / 256 + 128);
    put(&byte, 1);
  } else {
    put("\0\0", bits / 8 - 2);
    put_u16(low);
  }
}

/* With several channels, what some have more the others have less. */
static void encoded_tone(uint32_t rate, uint32_t channels, uint32_t samples, uint32_t tag, uint32_t bits) {
  uint32_t i, channel;
  for (i = 0; i < samples; ++i)
    for (channel = 0; channel < channels; ++channel) {
      const long other = channel + 1 == channels && channels % 2 == 1 ? 0 : 1000 + 250 * (long)(channel / 2);
      sample(tone_at(rate, i) + (channel % 2 == 0 ? -other : other), tag, bits);
    }
}

static void tone(uint32_t rate, uint32_t channels, uint32_t samples) {
  encoded_tone(rate, channels, samples, 1, 16);
}

static void write_file(const char *name, const char *ending, const void *content, size_t n) {
  char path[1024];
  FILE *file;
  snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending);
  file = fopen(path, "wb");
  if (file == NULL || fwrite(content, 1, n, file) != n || fclose(file) != 0) {
    perror(path);
    exit(EXIT_FAILURE);
  }
}

static void good(const char *name) {
  write_file(name, "wav", bytes, length);
}

static void bad(const char *name, const char *complaint) {
  write_file(name, "wav", bytes, length);
  write_file(name, "txt", complaint, strlen(complaint));
}

static void write_good(void) {
  begin(), format(1, 1, RATE, 16), data(2 * SAMPLES), tone(RATE, 1, SAMPLES), good("good_mono");
  begin(), format(1, 2, RATE, 16), data(4 * SAMPLES), tone(RATE, 2, SAMPLES), good("good_stereo");
  begin(), extensible(1, 16, 0x71), data(2 * SAMPLES), tone(RATE, 1, SAMPLES), good("good_extensible");

  begin(), put("LIST", 4), put_u32(5), put("INFOx", 6); /* an odd size is followed by one byte of padding */
  format(1, 1, RATE, 16), put("fact", 4), put_u32(4), put_u32(SAMPLES), data(2 * SAMPLES), tone(RATE, 1, SAMPLES);
  put("junk after the samples", 22), good("good_more_chunks");

  begin(), put("fmt ", 4), put_u32(18), put_u16(1), put_u16(1), put_u32(RATE), put_u32(2 * RATE), put_u16(2);
  put_u16(16), put_u16(0), data(2 * SAMPLES), tone(RATE, 1, SAMPLES), good("good_long_format");
}

static void write_encodings(void) {
  static const uint32_t encodings[][2] = {{1, 24}, {1, 32}, {3, 32}, {3, 64}};
  uint32_t i, channels;
  for (i = 0; i < sizeof encodings / sizeof *encodings; ++i)
    for (channels = 1; channels <= 7; channels += channels == 1 ? 1 : 5) {
      const uint32_t tag = encodings[i][0], bits = encodings[i][1];
      char name[32];
      snprintf(name, sizeof name, "good_%s_%lu_%lu", tag == 1 ? "pcm" : "float", (unsigned long)bits,
               (unsigned long)channels);
      begin(), format(tag, channels, RATE, bits), data(SAMPLES * channels * bits / 8);
      encoded_tone(RATE, channels, SAMPLES, tag, bits), good(name);
    }
  begin(), format(1, 6, RATE, 16), data(12 * SAMPLES), tone(RATE, 6, SAMPLES), good("good_6_channels");
  begin(), extensible(3, 32, 0x71), data(4 * SAMPLES), encoded_tone(RATE, 1, SAMPLES, 3, 32);
  good("good_extensible_float");
  begin(), extensible(1, 24, 0x71), data(3 * SAMPLES), encoded_tone(RATE, 1, SAMPLES, 1, 24);
  good("good_extensible_24");
}

/* The same coarse values in 8 bits and in 16, and the same loud ones in 16 bits and in floating point beyond full
 * scale. */
static void write_groups(void) {
  uint32_t bits, i;
  for (bits = 8; bits <= 16; bits += 8) {
    begin(), format(1, 1, RATE, bits), data(SAMPLES * bits / 8);
    for (i = 0; i < SAMPLES; ++i) sample(tone_at(RATE, i) / 256 * 256, 1, bits);
    good(bits == 8 ? "coarse_8" : "coarse_16");
  }
  for (bits = 16; bits <= 64; bits *= 2) {
    begin(), format(bits == 16 ? 1 : 3, 1, RATE, bits), data(SAMPLES * bits / 8);
    for (i = 0; i < SAMPLES; ++i) sample(i / 9 % 2 == 0 ? 0 : bits == 16 ? -32768 : -40000, bits == 16 ? 1 : 3, bits);
    good(bits == 16 ? "loud_pcm" : bits == 32 ? "loud_float" : "loud_double");
  }
}

static void ds64(uint32_t data_bytes, uint32_t size) {
  put("ds64", 4);
  put_u32(size);
  put_u32(0), put_u32(0), put_u32(data_bytes), put_u32(0), put_u32(SAMPLES), put_u32(0), put_u32(0);
}

/* Sizes that were not known when they were written, or that need 64 bits. */
static void write_sizes(void) {
  static const struct {
    const char *name;
    uint32_t size;
  } streamed[] = {{"good_streamed_all", 0xFFFFFFFFu},
                  {"good_streamed_none", 0},
                  {"good_streamed_sox", 0x7FFFF000u},
                  {"good_streamed_arecord", 0x7FFFFF00u}};
  size_t i;
  for (i = 0; i < sizeof streamed / sizeof *streamed; ++i) {
    begin(), format(1, 1, RATE, 16), data(streamed[i].size), tone(RATE, 1, SAMPLES);
    put("x", 1), good(streamed[i].name); /* half a sample, because the pipe broke */
  }
  begin(), overwrite(0, "RF64"), ds64(2 * SAMPLES, 28), format(1, 1, RATE, 16), data(0xFFFFFFFFu);
  tone(RATE, 1, SAMPLES), put("junk after the samples", 22), good("good_rf64");
  begin(), overwrite(0, "BW64"), ds64(2 * SAMPLES, 28), format(1, 1, RATE, 16), data(2 * SAMPLES);
  tone(RATE, 1, SAMPLES), put("junk after the samples", 22), good("good_bw64");
  begin(), overwrite(0, "RF64"), ds64(0, 28), format(1, 1, RATE, 16), data(0xFFFFFFFFu), tone(RATE, 1, SAMPLES);
  good("good_rf64_streamed");

  begin(), overwrite(0, "RF64"), ds64(2 * SAMPLES + 2, 28), format(1, 1, RATE, 16), data(0xFFFFFFFFu);
  tone(RATE, 1, SAMPLES), bad("bad_rf64_cut", "claims 4808 bytes, but the file has 4806 of them");
  begin(), overwrite(0, "RF64"), ds64(0, 15), length -= 13, bad("bad_ds64", "15 bytes; allowed: 16 or more");
  begin(), overwrite(0, "RF64"), ds64(0, 28), length -= 14, bad("bad_ds64_cut", "truncated: the 'ds64' chunk");
}

static void write_rates(void) {
  static const uint32_t rates[] = {4000, 11025, 22050, 44100, 192000};
  size_t i;
  for (i = 0; i < sizeof rates / sizeof *rates; ++i) {
    const uint32_t samples = rates[i] / 10 + 1; /* slightly more than 0.1 s */
    char name[32];
    snprintf(name, sizeof name, "rate_%lu", (unsigned long)rates[i]);
    begin(), format(1, 1, rates[i], 16), data(2 * samples), tone(rates[i], 1, samples), good(name);
  }
}

static void write_bad_headers(void) {
  length = 0, bad("bad_empty", "empty");
  length = 0, put("RIFF\0", 5), bad("bad_five_bytes", "truncated: 5 bytes");
  begin(), bad("bad_no_chunk", "truncated: ends before its 'fmt ' chunk");
  begin(), overwrite(0, "RIFX"), format(1, 1, RATE, 16), bad("bad_magic", "'RIFX'");
  begin(), overwrite(8, "AVI "), format(1, 1, RATE, 16), bad("bad_form", "'AVI '");
  length = 0, put("\x89PNG\r\n\x1a\n\0\0\0\0", 12), bad("bad_picture", "'?PNG'");
  begin(), format(1, 1, RATE, 16), bad("bad_no_data", "truncated: ends before its 'data' chunk");
  begin(), data(2 * SAMPLES), tone(RATE, 1, SAMPLES), bad("bad_data_first", "before any 'fmt ' chunk");
  begin(), format(1, 1, RATE, 16), length -= 6,
      bad("bad_format_cut", "truncated: the 'fmt ' chunk ends after 10 of 16");
  begin(), put("fmt ", 4), put_u32(14), put("\1\0\1\0\0\0\0\0\0\0\0\0\0\0", 14);
  bad("bad_format_short", "14 bytes; allowed: 16 or more");
  begin(), put("LIST", 4), put_u32(10), put("INFOINAM", 8), put_u16(0), format(1, 1, RATE, 16), put("LIST", 4),
      put_u32(600), bad("bad_list_cut", "truncated: the 'LIST' chunk ends after 0 of 512");
  begin(), put("LIST", 4), put_u32(0xFFFFFFF0u), put("INFO", 4), bad("bad_chunk_size", "truncated: the 'LIST' chunk");
  begin(), put("fmt ", 4), put_u32(0xFFFFFFFFu), format(1, 1, RATE, 16), bad("bad_format_size", "truncated");
}

static void write_bad_formats(void) {
  begin(), format(1, 1, RATE, 20), data(3 * 100), length += 300,
      bad("bad_20_bit", "20-bit samples, PCM; allowed: PCM of 8, 16, 24 or 32 bits, floating point of 32 or 64");
  begin(), format(1, 1, RATE, 64), data(800), length += 800, bad("bad_64_bit", "64-bit samples, PCM");
  begin(), format(1, 1, RATE, 0), data(100), length += 100, bad("bad_0_bit", "0-bit samples");
  begin(), format(3, 1, RATE, 16), data(400), length += 400, bad("bad_float", "16-bit samples, floating point");
  begin(), format(3, 1, RATE, 32), data(12), put("\0\0\0\0\0\0\x80\x7F\0\0\0\0", 12);
  bad("bad_infinity", "sample 1 is not a finite number");
  begin(), format(3, 1, RATE, 64), data(16), put("\0\0\0\0\0\0\0\0\1\0\0\0\0\0\xF8\xFF", 16);
  bad("bad_nan", "sample 1 is not a finite number");
  begin(), format(7, 1, RATE, 8), data(100), length += 100, bad("bad_mu_law", "0x0007 (mu-law)");
  begin(), format(1, 0, RATE, 16), data(100), length += 100, bad("bad_0_channels", "0 channels; allowed: 1 or more");
  begin(), format(1, 1, 3999, 16), data(100), length += 100, bad("bad_slow", "3999 samples per second; allowed: 4000");
  begin(), format(1, 1, 0, 16), data(100), length += 100, bad("bad_rate_0", "0 samples per second");
  begin(), format(1, 1, 192001, 16), data(100), length += 100, bad("bad_fast", "192001 samples per second");
  begin(), format(1, 1, 0xFFFFFFFFu, 16), data(100), length += 100,
      bad("bad_rate_huge", "4294967295 samples per second");
  begin(), format(1, 1, RATE, 16), bytes[32] = 3, data(300), length += 300,
                                   bad("bad_block", "3 bytes per sample frame");
  begin(), extensible(7, 8, 0x71), data(400), length += 400, bad("bad_extensible_mu_law", "0x0007 (mu-law)");
  begin(), extensible(1, 16, 0x72), data(200), length += 200, bad("bad_extensible_private", "private subformat");
  begin(), format(0xFFFE, 1, RATE, 16), data(200), length += 200, bad("bad_extensible_short", "16 bytes; allowed: 40");
}

static void write_bad_data(void) {
  begin(), format(1, 1, RATE, 16), data(0), bad("bad_0_samples", "0 samples; allowed: 1 or more");
  begin(), format(1, 1, RATE, 16), data(201), length += 201,
      bad("bad_odd_mono", "201 bytes of samples; allowed: a multiple of 2");
  begin(), format(1, 2, RATE, 16), data(202), length += 202,
      bad("bad_odd_stereo", "202 bytes of samples; allowed: a multiple of 4");
  begin(), format(1, 1, RATE, 16), data(2 * SAMPLES), tone(RATE, 1, SAMPLES), length -= 1;
  bad("bad_cut", "truncated: its 'data' chunk claims 4806 bytes, but the file has 4805 of them");
  begin(), format(1, 1, RATE, 16), data(2 * SAMPLES),
      bad("bad_cut_at_once", "claims 4806 bytes, but the file has 0 of them");
  begin(), format(1, 1, RATE, 16), data(0xFFFFFFFEu), tone(RATE, 1, SAMPLES);
  bad("bad_data_size", "truncated: its 'data' chunk claims 4294967294 bytes, but the file has 4806 of them");
  begin(), format(1, 1, RATE, 16), length += 3, bad("bad_half_chunk", "truncated: ends before its 'data' chunk");
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fputs("usage: wav_cases DIR\n", stderr);
    return 2;
  }
  folder = argv[1];
  write_good();
  write_encodings();
  write_groups();
  write_sizes();
  write_rates();
  write_bad_headers();
  write_bad_formats();
  write_bad_data();
  return EXIT_SUCCESS;
}
