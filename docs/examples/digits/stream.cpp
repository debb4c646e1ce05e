// stream.cpp - see stream.hpp.
//
// SPDX-License-Identifier: MIT
#include "stream.hpp"

#include <optional>
#include <stdexcept>

#include "namer.h"
#include "voices.hpp"

namespace digits {
namespace {

constexpr std::size_t pause_frames = 30;

void copy_weights(const synfire::Network& from, const synfire::Network& to, const char* stage, std::size_t n_weights) {
  synfire_synapse source = nullptr, destination = nullptr;
  synfire::check(synfire_network_get_synapse(from, stage, &source));
  const synfire::Synapse learnt(source);
  synfire::check(synfire_network_get_synapse(to, stage, &destination));
  const synfire::Synapse empty(destination);
  std::vector<float> weights(n_weights);
  synfire::read(learnt, "weight", weights);
  synfire::write(empty, "weight", weights);
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

Streamed name_stream(const synfire::Context& context, const Learner& learner) {
  const synfire::Network frame = make_network(context, learner.plan(), 1, 1);
  copy_weights(learner.network(), frame, "to-sounds", sounds * NERVE_FIBRES);
  copy_weights(learner.network(), frame, "to-parts", parts * sounds);
  copy_weights(learner.network(), frame, "to-words", words.size() * parts);
  Namer namer(frame);
  const std::vector<std::uint32_t> silence(NERVE_WORDS);
  Streamed result;
  for (const Utterance* const one : learner.unheard()) {
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

}  // namespace digits
