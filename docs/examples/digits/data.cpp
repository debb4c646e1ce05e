// data.cpp - see data.hpp.
//
// SPDX-License-Identifier: MIT
#include "data.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "files.h"
#include "hash.hpp"
#include "progress.hpp"
#include "random.hpp"
#include "speech.hpp"
#include "voices.hpp"

namespace digits {
namespace {

constexpr std::array<unsigned char, 8> magic = {'D', 'I', 'G', 'I', 'T', 'S', '0', '1'};
constexpr std::size_t header_bytes = magic.size() + std::size_t{5} * 4;
constexpr std::size_t utterance_bytes = 4 * (4 + max_frames * NERVE_WORDS);
constexpr std::size_t most_utterances = 1'000'000;
constexpr std::size_t ring_frames = 8;  // how long the cochlea and the nerve go on after a word

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

void put(std::vector<unsigned char>& bytes, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<unsigned char>(number >> shift));
}

std::uint32_t get(const unsigned char* bytes) {
  return static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8 |
         static_cast<std::uint32_t>(bytes[2]) << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
}

std::uint64_t hash_of(const unsigned char* bytes, std::size_t n) {
  learning::Hash hash;
  for (std::size_t i = 0; i < n; ++i) hash.add(bytes[i]);
  return hash.value();
}

std::string name_in(const std::string& folder) {
  return folder + "/digits.spikes";
}

// A nerve that hears one sound after the other, frame by frame.
class Listener {
 public:
  Listener(std::uint32_t rate, double noise, learning::Random& random)
      : noise_(static_cast<float>(noise)), random_(random), rate_(rate) {
    nerve_init(&nerve_, rate);
    frame_.reserve(nerve_.frame_samples);
  }

  // Hears samples; what they do not fill of the last frame is silence.
  std::vector<std::uint32_t> hear(const std::vector<float>& samples, std::size_t n_frames) {
    std::vector<std::uint32_t> spikes(n_frames * NERVE_WORDS);
    for (std::size_t t = 0; t < n_frames; ++t) {
      frame_.clear();
      for (std::size_t i = 0; i < nerve_.frame_samples; ++i) {
        const std::size_t at = t * nerve_.frame_samples + i;
        frame_.push_back((at < samples.size() ? samples[at] : 0.0F) + noise_ * (2 * random_.number() - 1));
      }
      nerve_hear(&nerve_, frame_.data(), spikes.data() + t * NERVE_WORDS);
    }
    return spikes;
  }

  std::size_t frames_of(std::size_t n_samples) const {
    return (n_samples + nerve_.frame_samples - 1) / nerve_.frame_samples;
  }
  std::uint32_t rate() const { return rate_; }

 private:
  nerve nerve_{};
  float noise_;
  learning::Random& random_;
  std::uint32_t rate_;
  std::vector<float> frame_;
};

// A voice says all digits in a drawn order with pauses between them, and one nerve hears them all.
void hear_voice(std::size_t voice, std::size_t manner, const std::string& scratch, learning::Random& random,
                Data& data) {
  std::array<std::uint32_t, words.size()> order{};
  for (std::uint32_t i = 0; i < order.size(); ++i) order.at(i) = i;
  for (std::uint32_t i = order.size() - 1; i > 0; --i) std::swap(order.at(i), order.at(random.below(i + 1)));
  std::unique_ptr<Listener> listener;
  for (const std::uint32_t digit : order) {
    const Speech speech = speak(voices.at(voice), manners.at(manner), words.at(digit), scratch);
    if (speech.rate < NERVE_SMALLEST_RATE) throw std::runtime_error("espeak-ng's sound has too low a sample rate");
    if (!listener) listener = std::make_unique<Listener>(speech.rate, manners.at(manner).noise, random);
    if (speech.rate != listener->rate()) throw std::runtime_error("espeak-ng changes its sample rate");
    listener->hear({}, 15 + random.below(45));
    const std::size_t frames = listener->frames_of(speech.samples.size()) + ring_frames;
    if (frames > max_frames) throw std::runtime_error(std::string("espeak-ng says ") + words.at(digit) + " too slowly");
    const std::vector<std::uint32_t> spikes = listener->hear(speech.samples, frames);
    Utterance one{static_cast<std::uint32_t>(voice),
                  digit,
                  static_cast<std::uint32_t>(manner),
                  static_cast<std::uint32_t>(frames),
                  {}};
    std::copy(spikes.begin(), spikes.end(), one.spikes.begin());
    data.utterances.push_back(one);
  }
}

std::vector<unsigned char> bytes_of(const Data& data) {
  std::vector<unsigned char> rest;
  for (const Utterance& one : data.utterances) {
    for (const std::uint32_t number : {one.voice, one.digit, one.manner, one.frames}) put(rest, number);
    for (const std::uint32_t word : one.spikes) put(rest, word);
  }
  const std::uint64_t hash = hash_of(rest.data(), rest.size());
  std::vector<unsigned char> bytes(magic.begin(), magic.end());
  put(bytes, NERVE_FIBRES);
  put(bytes, max_frames);
  put(bytes, static_cast<std::uint32_t>(data.utterances.size()));
  put(bytes, static_cast<std::uint32_t>(hash));
  put(bytes, static_cast<std::uint32_t>(hash >> 32));
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

std::vector<unsigned char> read_whole(const std::string& name) {
  const File file(files_open(name.c_str(), "rb"), &std::fclose);
  if (!file) throw std::runtime_error(name + ": cannot be opened: " + std::strerror(errno));
  std::vector<unsigned char> bytes;
  std::array<unsigned char, 65536> part{};
  std::size_t n = 0;
  while ((n = std::fread(part.data(), 1, part.size(), file.get())) > 0) {
    bytes.insert(bytes.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(n));
    if (bytes.size() > header_bytes + most_utterances * utterance_bytes) throw std::runtime_error(name + ": too long");
  }
  if (std::ferror(file.get()) != 0) throw std::runtime_error(name + ": cannot be read");
  return bytes;
}

Utterance utterance_at(const unsigned char* bytes, const std::string& name) {
  Utterance one{get(bytes), get(bytes + 4), get(bytes + 8), get(bytes + 12), {}};
  if (one.voice >= voices.size() || one.digit >= words.size() || one.manner >= manners.size() || one.frames < 1 ||
      one.frames > max_frames)
    throw std::runtime_error(name + ": an utterance of a voice, a digit, a manner or a length that there is not");
  bytes += 16;
  for (std::uint32_t& word : one.spikes) {
    word = get(bytes);
    bytes += 4;
  }
  return one;
}

}  // namespace

void make_data(const std::string& folder, std::size_t n_manners) {
  n_manners = std::min(n_manners, manners.size());
  if (!files_make_folder(folder.c_str()) && !files_is_folder(folder.c_str()))
    throw std::runtime_error(folder + ": cannot be created: " + std::strerror(errno));
  const std::string name = name_in(folder), scratch = folder + "/word.wav";
  learning::Random random(1);
  Data data;
  learning::Progress progress("speaking", voices.size() * n_manners);
  for (std::size_t voice = 0; voice < voices.size(); ++voice)
    for (std::size_t manner = 0; manner < n_manners; ++manner) {
      hear_voice(voice, manner, scratch, random, data);
      progress.advance(voices.at(voice).accent);
    }
  const std::vector<unsigned char> bytes = bytes_of(data);
  File file(files_open(name.c_str(), "wb"), &std::fclose);
  if (!file) throw std::runtime_error(name + ": cannot be created: " + std::strerror(errno));
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  if (std::fclose(file.release()) != 0 || !written) throw std::runtime_error(name + ": cannot be written");
}

Data read_data(const std::string& folder) {
  const std::string name = name_in(folder);
  const std::vector<unsigned char> bytes = read_whole(name);
  if (bytes.size() < header_bytes || !std::equal(magic.begin(), magic.end(), bytes.begin()))
    throw std::runtime_error(name + ": not a file of spikes of digits");
  const unsigned char* at = bytes.data() + magic.size();
  const std::uint32_t fibres = get(at), frames = get(at + 4), n = get(at + 8);
  Data data;
  data.hash = get(at + 12) | static_cast<std::uint64_t>(get(at + 16)) << 32;
  if (fibres != NERVE_FIBRES || frames != max_frames)
    throw std::runtime_error(name + ": spikes of other fibres or frames; make it again");
  if (n < 1 || n > most_utterances || bytes.size() != header_bytes + n * utterance_bytes)
    throw std::runtime_error(name + ": its length is not that of its utterances");
  const unsigned char* const rest = bytes.data() + header_bytes;
  if (hash_of(rest, bytes.size() - header_bytes) != data.hash)
    throw std::runtime_error(name + ": its content does not have its hash");
  for (std::size_t i = 0; i < n; ++i) data.utterances.push_back(utterance_at(rest + i * utterance_bytes, name));
  return data;
}

}  // namespace digits
