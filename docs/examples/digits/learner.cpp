// learner.cpp - see learner.hpp.
//
// SPDX-License-Identifier: MIT
#include "learner.hpp"

#include <algorithm>

#include "random.hpp"
#include "voices.hpp"

namespace digits {
namespace {

constexpr std::uint32_t usual_start = 10, latest_start = 20;  // frames of silence before a word
constexpr std::uint32_t largest_shift = 2;                    // fibres
constexpr std::uint32_t largest_stretch = 10;                 // per cent of the length
constexpr std::size_t row_words = steps * NERVE_WORDS;

// How an utterance becomes a row.
struct Change {
  std::uint32_t start = usual_start;
  int shift = 0;                // fibres upwards: the voice of a smaller throat
  std::uint32_t percent = 100;  // of the length
};

Change draw(learning::Random& random) {
  Change change;
  change.start = random.below(latest_start + 1);
  change.shift = static_cast<int>(random.below(2 * largest_shift + 1)) - static_cast<int>(largest_shift);
  change.percent = 100 - largest_stretch + random.below(2 * largest_stretch + 1);
  return change;
}

// Writes the row [steps, NERVE_WORDS], which is zero so far.
void write_row(const Utterance& one, const Change& change, std::uint32_t* row) {
  static_assert(NERVE_WORDS == 2 && NERVE_FIBRES == 64, "the fibres of a frame are shifted as one number");
  const std::uint32_t frames = std::min(one.frames * change.percent / 100, static_cast<std::uint32_t>(max_frames));
  for (std::uint32_t t = 0; t < frames; ++t) {
    const std::size_t from = std::min(t * 100 / change.percent, one.frames - 1);
    std::uint64_t fibres = one.spikes.at(2 * from) | static_cast<std::uint64_t>(one.spikes.at(2 * from + 1)) << 32;
    fibres = change.shift >= 0 ? fibres << change.shift : fibres >> -change.shift;
    std::uint32_t* const frame = row + static_cast<std::ptrdiff_t>(change.start + t) * NERVE_WORDS;
    frame[0] = static_cast<std::uint32_t>(fibres);
    frame[1] = static_cast<std::uint32_t>(fibres >> 32);
  }
}

synfire::Buffer make_rows(const synfire::Context& context, std::size_t n_rows) {
  synfire::Buffer rows(
      context, synfire::buffer_desc<std::uint32_t>({n_rows, steps, std::size_t{NERVE_WORDS}}, SYNFIRE_MEMORY_PINNED));
  const auto written = rows.data<std::uint32_t>();
  std::fill(written.begin(), written.end(), 0U);
  return rows;
}

void set_synapse(synfire::Network& network, const char* name, double gain, const Plan& plan) {
  network.set_value(name, "gain", gain);
  network.set_value(name, "bias", 0);
  network.set_value(name, "weight_bits", plan.weight_bits == 24 ? 0 : plan.weight_bits);
}

void add_neurons(synfire::Network& network, const char* name, std::int32_t model, double tau) {
  network.add_neurons(name, model);
  network.set_value(name, "tau", tau);  // frames
  network.set_value(name, "undecayed_input", 1);
}

// With delays, a spike of a fibre reaches each of the sounds after a time of its own; a synapse with delays takes no
// dropout. The potentials of a recurrent network need not remember for as long as those of others.
void add_sounds(synfire::Network& network, const Plan& plan) {
  if (plan.delays > 0) {
    synfire::add_stage(network, synfire::Stage("delayed", "to-sounds")
                                    .set("n_outputs", plan.sounds)
                                    .set("max_delay", plan.delays)
                                    .set("learn_delays", 1)
                                    .set("delay_learning_rate_factor", 100));
  } else {
    network.add_dropout("unheard", 0.1);
    network.add_synapse("to-sounds", static_cast<std::int64_t>(plan.sounds));
  }
  set_synapse(network, "to-sounds", 2, plan);
  add_neurons(network, "sounds", SYNFIRE_MODEL_LIF, plan.recurrent > 0 ? 3 : 6);
}

// Sounds and the parts themselves are heard by two synapses, and their sum is the input of the parts.
void add_parts(synfire::Network& network, const Plan& plan) {
  network.add_dropout("missed-sounds", 0.2);
  network.add_synapse("to-parts", static_cast<std::int64_t>(plan.parts));
  set_synapse(network, "to-parts", 2, plan);
  if (plan.recurrent > 0) {
    synfire::add_stage(network, synfire::Stage("synapse", "parts-again")
                                    .reads("parts", "", static_cast<std::int64_t>(plan.recurrent))
                                    .set("n_outputs", plan.parts));
    set_synapse(network, "parts-again", 0.5, plan);
    synfire::add_stage(network, synfire::Stage("sum", "all-to-parts").reads("to-parts").reads("parts-again"));
  }
  add_neurons(network, "parts", SYNFIRE_MODEL_LIF, plan.recurrent > 0 ? 6 : 12);
}

}  // namespace

synfire::Network make_network(const synfire::Context& context, const Plan& plan, std::size_t n_steps, std::size_t batch,
                              synfire_communicator together) {
  synfire_network_desc desc = synfire::network_desc(synfire::steps(static_cast<std::int64_t>(n_steps)));
  desc.batch = static_cast<std::int64_t>(batch);
  desc.seed = plan.seed;
  desc.communicator = together;
  synfire::Network network(context, desc);
  network.add_input("nerve", SYNFIRE_NETWORK_INPUT_SPIKES, NERVE_FIBRES);
  add_sounds(network, plan);
  add_parts(network, plan);
  network.add_dropout("missed-parts", 0.2);
  network.add_synapse("to-words", static_cast<std::int64_t>(words.size()));
  set_synapse(network, "to-words", 1, plan);
  add_neurons(network, "digits", SYNFIRE_MODEL_LI, 20);  // the name of the words (word_lists.h)
  network.add_readout("answer", SYNFIRE_READOUT_MEAN, false);
  network.add_loss("entropy", SYNFIRE_LOSS_CROSS_ENTROPY);
  network.add_optimizer("adam", SYNFIRE_OPTIMIZER_KIND_ADAM, plan.learning_rate);
  network.build();
  return network;
}

std::vector<const Utterance*> select(const Data& data, bool tested, std::size_t n_manners) {
  std::vector<const Utterance*> rows;
  for (const Utterance& one : data.utterances)
    if (voices.at(one.voice).tested == tested && one.manner < n_manners) rows.push_back(&one);
  return rows;
}

Learner::Learner(const synfire::Context& context, const Data& data, const Plan& plan, synfire_communicator together)
    : context_(context),
      plan_(plan),
      learnt_(select(data, false, plan.manners)),
      unheard_(select(data, true, manners.size())),
      network_(make_network(context, plan, steps, plan.batch, together)) {}

void Learner::set_rows(std::int32_t set, const std::vector<const Utterance*>& rows, learning::Random* random) {
  synfire::Buffer inputs = make_rows(context_, rows.size()),
                  labels(context_, synfire::counts_desc(rows.size(), SYNFIRE_MEMORY_PINNED));
  const auto input = inputs.data<std::uint32_t>(), label = labels.data<std::uint32_t>();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    write_row(*rows[r], random == nullptr ? Change{} : draw(*random), &input[r * row_words]);
    label[r] = rows[r]->digit;
  }
  network_.set_data(set, static_cast<std::int64_t>(rows.size()), inputs, labels);
}

void Learner::learn(const std::function<void(const Epoch&)>& done) {
  learning::Random random(plan_.seed);
  set_rows(SYNFIRE_DATA_EVALUATION, unheard_, nullptr);
  for (std::size_t epoch = 0; epoch < plan_.epochs; ++epoch) {
    // The rate falls from the whole to 0 along a cubic, which has the same bits everywhere, unlike a cosine.
    const double along = static_cast<double>(epoch) / static_cast<double>(plan_.epochs);
    network_.set_value("adam", "learning_rate", plan_.learning_rate * (1 - along * along * (3 - 2 * along)));
    // So does the width of the delays, to half a frame: what is left of it when they are rounded changes little.
    if (plan_.delays > 0)
      network_.set_value("to-sounds", "width",
                         0.5 + (static_cast<double>(plan_.delays) / 2 - 0.5) * (1 - along) * (1 - along) * (1 - along));
    set_rows(SYNFIRE_DATA_TRAINING, learnt_, &random);
    const synfire_network_result learnt = network_.train(0), unheard = network_.evaluate();
    done({epoch + 1, learnt.loss, static_cast<double>(learnt.n_correct) / static_cast<double>(learnt.n_counted),
          static_cast<double>(unheard.n_correct) / static_cast<double>(unheard.n_counted)});
  }
}

std::vector<std::uint32_t> Learner::name(const std::vector<const Utterance*>& rows) {
  synfire::Buffer inputs = make_rows(context_, rows.size()),
                  outputs(context_, synfire::buffer_desc<float>({rows.size(), words.size()}, SYNFIRE_MEMORY_PINNED));
  const auto input = inputs.data<std::uint32_t>();
  for (std::size_t r = 0; r < rows.size(); ++r) write_row(*rows[r], {}, &input[r * row_words]);
  network_.infer(inputs, static_cast<std::int64_t>(rows.size()), outputs);
  const auto output = outputs.data<float>();
  std::vector<std::uint32_t> names;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::uint32_t best = 0;
    for (std::uint32_t c = 1; c < words.size(); ++c)
      if (output[r * words.size() + c] > output[r * words.size() + best]) best = c;
    names.push_back(best);
  }
  return names;
}

}  // namespace digits
