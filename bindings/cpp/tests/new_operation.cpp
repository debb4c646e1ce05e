// Uses the wrappers of the operations in decode_rate.h, which nobody wrote by hand. Compiled only.
#include <synfire/synfire.hpp>

#include <type_traits>

constexpr synfire_buffer no_buffer = nullptr;
constexpr synfire_layer no_layer = nullptr;
constexpr synfire_decode_rate_desc by_default = synfire::decode_rate_desc(
    no_buffer, nullptr, synfire::steps{20}, synfire::neurons{64}, 100, SYNFIRE_WINDOW_EXPONENTIAL);
static_assert(by_default.struct_size == sizeof by_default && by_default.window == SYNFIRE_WINDOW_EXPONENTIAL);
static_assert(by_default.n_steps == 20 && by_default.n_neurons == 64 && by_default.batch == 1);
static_assert(by_default.full_rate == 100 && by_default.add == 0 && by_default.delays == nullptr);
// A layer and its state in place of spikes, and a sum in that of a destination, which has the same type.
constexpr synfire_decode_rate_desc of_layer =
    synfire::decode_rate_desc(no_layer, "v", no_buffer, synfire::steps{20}, synfire::neurons{64}, 50);
static_assert(of_layer.state[0] == 'v' && of_layer.spikes == nullptr && of_layer.full_rate == 50);
static_assert(of_layer.window == SYNFIRE_WINDOW_FLAT);
static_assert(std::is_same_v<decltype(&synfire::delay_desc), decltype(&synfire::delay_desc_with_sum)>);
static_assert(std::is_same_v<decltype(&synfire::decode_rate),
                             void (*)(const synfire::Context&, const synfire_decode_rate_desc&, synfire_stream)>);
static_assert(std::is_same_v<decltype(&synfire::Layer::leak_rows),
                             void (synfire::Layer::*)(const synfire_state_desc&, synfire_stream)>);

void use(const synfire::Context& context, synfire::Layer& layer, synfire::Graph& graph, const synfire::Buffer& spikes,
         const synfire::Buffer& rates);
void use(const synfire::Context& context, synfire::Layer& layer, synfire::Graph& graph, const synfire::Buffer& spikes,
         const synfire::Buffer& rates) {
  synfire_decode_rate_desc desc =
      synfire::decode_rate_desc(spikes, rates, synfire::steps{20}, synfire::neurons{64}, 100.0, SYNFIRE_WINDOW_FLAT, 2);
  desc.add = 1;
  synfire::decode_rate(context, desc);
  synfire::decode_rate(context,
                       synfire::decode_rate_desc(layer, "v", rates, synfire::steps{20}, synfire::neurons{64}, 100.0));
  graph.record_decode_rate(desc);
  layer.leak_rows(synfire::state_desc(0, 1));
  graph.record_leak_rows(layer, synfire::state_desc(0, 1));
}
