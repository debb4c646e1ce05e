// learner.cpp - see learner.hpp.
//
// SPDX-License-Identifier: MIT
#include "learner.hpp"

#include <algorithm>
#include <bit>

#include "hash.hpp"
#include "random.hpp"

namespace gestures {
namespace {

constexpr std::uint32_t most_earlier = 40000;  // microseconds

std::size_t most_events(const std::vector<Film>& films) {
  std::size_t most = 0;
  for (const Film& film : films) most = std::max(most, film.events.size());
  return most;
}

// Not quite around the middle.
Row draw_row(const Film& film, learning::Random& random) {
  Row row = middle_of(film);
  row.start += static_cast<std::int32_t>(random.below(2 * most_earlier + 1)) - static_cast<std::int32_t>(most_earlier);
  return row;
}

std::vector<Row> middles_of(const std::vector<Film>& films) {
  std::vector<Row> rows;
  rows.reserve(films.size());
  for (const Film& film : films) rows.push_back(middle_of(film));
  return rows;
}

synfire::Buffer make_rows(const synfire::Context& context, std::size_t n_rows) {
  return {context, synfire::buffer_desc<std::uint32_t>({n_rows, steps, row_words}, SYNFIRE_MEMORY_PINNED)};
}

// Half as many rows and columns, and neurons that spike. `tau` is in steps.
void add_layer(synfire::Network& network, const char* convolution, const char* neurons, std::size_t channels,
               double tau) {
  add_stage(network, synfire::Stage("conv2d", convolution)
                         .set("output_channels", channels)
                         .set("kernel", 3)
                         .set("stride", 2)
                         .set("padding", 1)
                         .set("bias", 0)
                         .set("gain", 3));
  add_stage(network, synfire::Stage("neurons", neurons)
                         .set("model", "lif")
                         .set("tau", tau)
                         .set("undecayed_input", 1)
                         .set("surrogate", "atan"));
}

// Sums packed spikes [steps, batch, rows, columns, channels] over the channels, of the first row of the batch.
std::vector<std::uint32_t> sum_channels(const std::vector<std::uint32_t>& spikes, std::size_t batch, std::size_t places,
                                        std::size_t channels) {
  const std::size_t words = (places * channels + 31) / 32;
  std::vector<std::uint32_t> sums(steps * places);
  for (std::size_t t = 0; t < steps; ++t)
    for (std::size_t i = 0; i < places * channels; ++i)
      sums[t * places + i / channels] += spikes.at(t * batch * words + i / 32) >> i % 32 & 1U;
  return sums;
}

}  // namespace

// [network]
synfire::Network make_network(const synfire::Context& context, const Plan& plan) {
  synfire_network_desc desc = synfire::network_desc(synfire::steps(static_cast<std::int64_t>(steps)));
  desc.batch = static_cast<std::int64_t>(plan.batch);
  desc.seed = plan.seed;
  synfire::Network network(context, desc);
  add_stage(network, synfire::Stage("input", "events")
                         .set("kind", "spikes")
                         .set("height", view)
                         .set("width", view)
                         .set("channels", 2));
  add_layer(network, "to-edges", "edges", edges_channels, 2);
  add_layer(network, "to-motions", "motions", motions_channels, 4);
  network.add_dropout("missed-motions", 0.2);
  network.add_synapse("to-names", static_cast<std::int64_t>(names.size()));
  network.add_neurons("gestures", SYNFIRE_MODEL_LI);
  network.set_value("gestures", "tau", 8);
  network.set_value("gestures", "undecayed_input", 1);
  network.add_readout("answer", SYNFIRE_READOUT_MEAN, false);
  network.add_loss("entropy", SYNFIRE_LOSS_CROSS_ENTROPY);
  network.add_optimizer("adam", SYNFIRE_OPTIMIZER_KIND_ADAM, plan.learning_rate);
  network.build();
  return network;
}
// [network]

std::uint64_t hash_weights(const synfire::Network& network) {
  struct Array {
    const char *stage, *name;
    std::size_t n_elements;
  };
  constexpr std::size_t kernel = 9, features = motions_side * motions_side * motions_channels;
  learning::Hash hash;
  for (const Array& array :
       {Array{"to-edges", "weight", edges_channels * kernel * 2},
        Array{"to-motions", "weight", motions_channels * kernel * edges_channels},
        Array{"to-names", "weight", names.size() * features}, Array{"to-names", "bias", names.size()}}) {
    std::vector<float> values(array.n_elements);
    synfire::read(network.synapse(array.stage), array.name, values);
    for (const float value : values) hash.add_word(std::bit_cast<std::uint32_t>(value));
  }
  return hash.value();
}

Learner::Learner(const synfire::Context& context, const std::vector<Film>& learnt, const std::vector<Film>& unseen,
                 const Plan& plan)
    : context_(context),
      learnt_(learnt),
      unseen_(unseen),
      plan_(plan),
      moving_(context, plan.batch, most_events(learnt), true, plan.seed),
      still_(context, plan.batch, most_events(unseen), false, plan.seed),
      network_(make_network(context, plan)) {}

void Learner::set_rows(std::int32_t set, const std::vector<Row>& rows, Binner& binner) {
  synfire::Buffer inputs = make_rows(context_, rows.size()),
                  labels(context_, synfire::counts_desc(rows.size(), SYNFIRE_MEMORY_PINNED));
  const auto label = labels.data<std::uint32_t>();
  for (std::size_t r = 0; r < rows.size(); ++r) label[r] = rows[r].film->scene.motion;
  binner.bin(rows, inputs.data<std::uint32_t>().data());
  network_.set_data(set, static_cast<std::int64_t>(rows.size()), inputs, labels);
}

void Learner::learn(const std::function<void(const Epoch&)>& done) {
  learning::Random random(plan_.seed);
  std::vector<Row> rows;
  rows.reserve(learnt_.size());
  set_rows(SYNFIRE_DATA_EVALUATION, middles_of(unseen_), still_);
  for (std::size_t epoch = 0; epoch < plan_.epochs; ++epoch) {
    // The rate falls from the whole to 0 along a cubic, which has the same bits everywhere, unlike a cosine.
    const double along = static_cast<double>(epoch) / static_cast<double>(plan_.epochs);
    network_.set_value("adam", "learning_rate", plan_.learning_rate * (1 - along * along * (3 - 2 * along)));
    rows.clear();
    for (const Film& film : learnt_) rows.push_back(draw_row(film, random));
    set_rows(SYNFIRE_DATA_TRAINING, rows, moving_);
    const synfire_network_result learnt = network_.train(0), unseen = network_.evaluate();
    done({epoch + 1, learnt.loss, static_cast<double>(learnt.n_correct) / static_cast<double>(learnt.n_counted),
          static_cast<double>(unseen.n_correct) / static_cast<double>(unseen.n_counted)});
  }
}

std::vector<std::uint32_t> Learner::name_unseen() {
  const std::vector<Row> rows = middles_of(unseen_);
  synfire::Buffer inputs = make_rows(context_, rows.size()),
                  outputs(context_, synfire::buffer_desc<float>({rows.size(), names.size()}, SYNFIRE_MEMORY_PINNED));
  still_.bin(rows, inputs.data<std::uint32_t>().data());
  network_.infer(inputs, static_cast<std::int64_t>(rows.size()), outputs);
  const auto output = outputs.data<float>();
  std::vector<std::uint32_t> named;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const float* const scores = &output[r * names.size()];
    named.push_back(static_cast<std::uint32_t>(std::max_element(scores, scores + names.size()) - scores));
  }
  return named;
}

Inside Learner::look_inside(const Film& film) {
  const std::vector<Row> row = {middle_of(film)};
  std::vector<std::uint32_t> seen(steps * row_words);
  still_.bin(row, seen.data());
  set_rows(SYNFIRE_DATA_EVALUATION, row, still_);
  network_.evaluate();
  // The evaluation has left these in its buffers, of all rows of the batch.
  const auto potentials = network_.buffer("gestures.v").download<float>();
  Inside inside{sum_channels(seen, 1, view * view, 2),
                sum_channels(network_.buffer("edges.spikes").download<std::uint32_t>(), plan_.batch,
                             edges_side * edges_side, edges_channels),
                sum_channels(network_.buffer("motions.spikes").download<std::uint32_t>(), plan_.batch,
                             motions_side * motions_side, motions_channels),
                {}};
  for (std::size_t t = 0; t < steps; ++t)
    for (std::size_t c = 0; c < names.size(); ++c)
      inside.potentials.push_back(potentials.at(t * plan_.batch * names.size() + c));
  return inside;
}

}  // namespace gestures
