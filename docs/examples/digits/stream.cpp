// stream.cpp - see stream.hpp.
//
// SPDX-License-Identifier: MIT
#include "stream.hpp"

#include <bit>
#include <optional>
#include <stdexcept>

#include "hash.hpp"
#include "namer.h"
#include "voices.hpp"

namespace digits {
namespace {

constexpr std::size_t pause_frames = 30;

// All arrays of a stage: its weights, and its delays and their width if it has any.
void add_arrays(const synfire::Network& network, const char* stage, learning::Hash& hash) {
  synfire_synapse handle = nullptr;
  synfire::check(synfire_network_get_synapse(network, stage, &handle));
  const synfire::Synapse synapse(handle);
  for (std::uint32_t i = 0; i < synapse.info().n_arrays; ++i) {
    const synfire_synapse_array_info array = synapse.array_info(i);
    std::size_t length = 1;
    for (std::uint32_t d = 0; d < array.n_dimensions; ++d) length *= static_cast<std::size_t>(array.shape[d]);
    std::vector<float> numbers(length);
    synfire::read(synapse, array.name, numbers);
    for (const float number : numbers) hash.add_word(std::bit_cast<std::uint32_t>(number));
  }
}

// A namer that is closed in any case.
class Namer {
 public:
  explicit Namer(const synfire::Network& network) {
    if (!namer_open(&namer_, network, static_cast<std::uint32_t>(words.size()))) fail();
  }
  ~Namer() { namer_close(&namer_); }
  Namer(const Namer&) = delete;
  Namer& operator=(const Namer&) = delete;

  std::optional<named> hear(const std::uint32_t* spikes) {
    bool found = false;
    named word{};
    if (!namer_hear(&namer_, spikes, &found, &word)) fail();
    return found ? std::optional<named>(word) : std::nullopt;
  }

 private:
  [[noreturn]] void fail() {
    namer_close(&namer_);
    throw std::runtime_error("the stream cannot be named");
  }

  namer namer_{};
};

}  // namespace

Streamed name_stream(const synfire::Context& context, const std::string& file,
                     const std::vector<const Utterance*>& said) {
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  desc.inference = 1;
  desc.n_steps = desc.batch = 1;
  const synfire::Network frame = synfire::network_from_file(context, file.c_str(), desc);
  Namer namer(frame);
  const std::vector<std::uint32_t> silence(NERVE_WORDS);
  Streamed result;
  for (const Utterance* const one : said) {
    std::size_t heard = 0;
    for (std::size_t t = 0; t < one->frames + pause_frames; ++t) {
      const std::uint32_t* const spikes = t < one->frames ? &one->spikes.at(t * NERVE_WORDS) : silence.data();
      const std::optional<named> word = namer.hear(spikes);
      if (!word) continue;
      ++heard;
      if (heard > 1) {
        ++result.invented;
      } else {
        ++(word->word == one->digit ? result.right : result.wrong);
      }
    }
    ++result.spoken;
    result.missed += heard == 0 ? 1U : 0U;
  }
  return result;
}

std::uint64_t hash_weights(const synfire::Network& network, const Plan& plan) {
  learning::Hash hash;
  add_arrays(network, "to-sounds", hash);
  add_arrays(network, "to-parts", hash);
  if (plan.recurrent > 0) add_arrays(network, "parts-again", hash);
  add_arrays(network, "to-words", hash);
  return hash.value();
}

}  // namespace digits
