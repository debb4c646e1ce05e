// Uses the wrappers of the operations in decode_rate.h, which nobody wrote by hand. Compiled only.
#include <synfire/synfire.hpp>

#include <type_traits>

constexpr synfire_decode_rate_desc by_default = synfire::decode_rate_desc(
    nullptr, nullptr, SYNFIRE_WINDOW_EXPONENTIAL, synfire::steps{20}, synfire::neurons{64}, 100);
static_assert(by_default.struct_size == sizeof by_default && by_default.window == SYNFIRE_WINDOW_EXPONENTIAL);
static_assert(by_default.n_steps == 20 && by_default.n_neurons == 64 && by_default.batch == 1);
static_assert(by_default.full_rate == 100 && by_default.add == 0 && by_default.delays == nullptr);
static_assert(std::is_same_v<decltype(&synfire::decode_rate),
                             void (*)(const synfire::Context&, const synfire_decode_rate_desc&, synfire_stream)>);
static_assert(std::is_same_v<decltype(&synfire::Layer::leak_rows),
                             void (synfire::Layer::*)(const synfire_state_desc&, synfire_stream)>);

void use(const synfire::Context& context, synfire::Layer& layer, synfire::Graph& graph, const synfire::Buffer& spikes,
         const synfire::Buffer& rates);
void use(const synfire::Context& context, synfire::Layer& layer, synfire::Graph& graph, const synfire::Buffer& spikes,
         const synfire::Buffer& rates) {
  synfire_decode_rate_desc desc =
      synfire::decode_rate_desc(spikes, rates, SYNFIRE_WINDOW_FLAT, synfire::steps{20}, synfire::neurons{64}, 100.0, 2);
  desc.add = 1;
  synfire::decode_rate(context, desc);
  graph.record_decode_rate(desc);
  layer.leak_rows(synfire::state_desc(0, 1));
  graph.record_leak_rows(layer, synfire::state_desc(0, 1));
}
