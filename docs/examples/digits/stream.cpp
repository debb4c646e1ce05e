// stream.cpp - see stream.hpp.
//
// SPDX-License-Identifier: MIT
#include "stream.hpp"

#include <array>
#include <bit>
#include <optional>
#include <stdexcept>

#include "hash.hpp"
#include "namer.h"
#include "voices.hpp"

namespace digits {
namespace {

constexpr std::size_t pause_frames = 30;

// The weights of a stage, [N, K].
std::vector<float> weights_of(const synfire::Network& network, const char* stage, std::size_t n_weights) {
  synfire_synapse synapse = nullptr;
  synfire::check(synfire_network_get_synapse(network, stage, &synapse));
  std::vector<float> weights(n_weights);
  synfire::read(synfire::Synapse(synapse), "weight", weights);
  return weights;
}

struct Stage {
  const char* name;
  std::size_t n_weights;
};

constexpr std::array<Stage, 3> stages = {
    {{"to-sounds", sounds* NERVE_FIBRES}, {"to-parts", parts* sounds}, {"to-words", words.size() * parts}}};

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

std::uint64_t hash_weights(const synfire::Network& network) {
  learning::Hash hash;
  for (const Stage& stage : stages)
    for (const float weight : weights_of(network, stage.name, stage.n_weights))
      hash.add_word(std::bit_cast<std::uint32_t>(weight));
  return hash.value();
}

}  // namespace digits
