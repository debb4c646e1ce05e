// Nothing but the header, included twice, with every template instantiated. Compiled as C++17 and C++20, with g++ and
// clang++, with every warning as an error. Also linked into the tests, so that two translation units include it.
#include <synfire/synfire.hpp>

#include <type_traits>

// Move-only, null when default-constructed, and noexcept where necessary.
template <class Object, class Handle>
constexpr bool owns() {
  static_assert(!std::is_copy_constructible<Object>::value, "");
  static_assert(!std::is_copy_assignable<Object>::value, "");
  static_assert(!std::is_constructible<Object, Object&>::value, "not by way of its handle either");
  static_assert(std::is_nothrow_move_constructible<Object>::value, "");
  static_assert(std::is_nothrow_move_assignable<Object>::value, "");
  static_assert(std::is_nothrow_destructible<Object>::value, "");
  static_assert(std::is_nothrow_swappable<Object>::value, "");
  static_assert(std::is_convertible<Object&, Handle>::value, "");
  static_assert(std::is_convertible<const Object&, Handle>::value, "");
  static_assert(!std::is_convertible<Object, Handle>::value, "a temporary's handle would dangle");
  static_assert(!std::is_convertible<Object, bool>::value, "");
  static_assert(!std::is_convertible<Handle, Object>::value, "taking over is explicit");
  return true;
}
static_assert(owns<synfire::Context, synfire_context>(), "");
static_assert(owns<synfire::Buffer, synfire_buffer>(), "");
static_assert(owns<synfire::Layer, synfire_layer>(), "");
static_assert(owns<synfire::Graph, synfire_graph>(), "");
static_assert(std::is_nothrow_default_constructible<synfire::Buffer>::value, "");
static_assert(std::is_nothrow_default_constructible<synfire::Layer>::value, "");
static_assert(std::is_nothrow_default_constructible<synfire::Graph>::value, "");
static_assert(!std::is_convertible<synfire::Context, synfire::Graph>::value, "creating is explicit");
static_assert(std::is_nothrow_copy_constructible<synfire::error>::value, "as the standard wants of an exception");

static_assert(synfire::dtype_of<float> == SYNFIRE_DTYPE_F32, "");
static_assert(synfire::dtype_of<const double> == SYNFIRE_DTYPE_F64, "");
static_assert(synfire::dtype_of<std::uint32_t> == SYNFIRE_DTYPE_BITS, "");
static_assert(synfire::dtype_of<std::uint8_t> == SYNFIRE_DTYPE_U8, "");
static_assert(synfire::dtype_of<synfire::f16> == SYNFIRE_DTYPE_F16, "");
static_assert(synfire::dtype_of<const synfire::bf16> == SYNFIRE_DTYPE_BF16, "");
static_assert(synfire::time_bits_desc(4).dtype == SYNFIRE_DTYPE_TIME_BITS, "");
static_assert(synfire::layer_desc(SYNFIRE_MODEL_IF, synfire::steps{16}, synfire::neurons{128}).struct_size ==
                  sizeof(synfire_layer_desc),
              "");
static_assert(std::is_convertible<synfire::View<float>, synfire::View<const float>>::value, "");
static_assert(!std::is_convertible<synfire::View<const float>, synfire::View<float>>::value, "");
static_assert(!std::is_convertible<synfire::View<float>, synfire::View<double>>::value, "");

#if defined(__cpp_lib_span) && defined(__cpp_lib_ranges)
static_assert(std::is_convertible_v<synfire::View<float>, std::span<float>>);
static_assert(std::is_convertible_v<synfire::View<float>, std::span<const float>>);
static_assert(!std::is_convertible_v<synfire::View<const float>, std::span<float>>);
static_assert(std::ranges::contiguous_range<synfire::View<double>> && std::ranges::view<synfire::View<double>>);
#endif

template class synfire::Owner<synfire_context>;
template class synfire::View<float>;
template class synfire::View<const std::uint32_t>;

namespace {

template <class T>
std::size_t use_buffer(synfire::Buffer& buffer) {
  const synfire::Buffer& constant = buffer;
  std::vector<T> values = constant.download<T>();
  constant.download(values);
  constant.download(values.data(), values.size());
  buffer.upload(values);
  buffer.upload(values.data(), values.size(), 0);
  return buffer.data<T>().size() + constant.data<T>().size();
}

template <class T>
std::size_t use_state(synfire::Layer& layer) {
  const std::vector<T> values = layer.read_state<T>();
  layer.write_state("v", values);
  return values.size();
}

}  // namespace

// Never called.
std::size_t use_everything(std::chrono::nanoseconds timeout);
std::size_t use_everything(std::chrono::nanoseconds timeout) {
  synfire::Context context;
  synfire::Buffer buffer(context, synfire::buffer_desc<float>(1));
  synfire::Layer layer(context, synfire::layer_desc(SYNFIRE_MODEL_LIF, synfire::steps{1}, synfire::neurons{1}));
  synfire::Graph graph(context);
#if __cplusplus >= 202002L
// g++ warns about omitted fields.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
  synfire::Context designated_context({.backend = SYNFIRE_BACKEND_HOST});
  synfire::Layer designated(context, {.n_steps = 16, .n_neurons = 128});
  layer.forward({.x = buffer});
#pragma GCC diagnostic pop
#endif
  synfire::Buffer shaped(context, synfire::buffer_desc<float>({1, 1}));
  synfire::Buffer sequence = layer.make_sequence<float>(context), state = layer.make_state<float>(context);
  synfire::Buffer dense = layer.make_spikes<float>(context), bits = layer.make_spikes(context);
  synfire::Buffer by_time = layer.make_time_bits(context);
  layer.forward(synfire::forward_desc(buffer));
  layer.backward(synfire::backward_desc(nullptr, buffer));
  graph.record_copy(synfire::copy_desc(buffer, buffer));
  graph.record_convert_spikes(synfire::convert_spikes_desc(buffer, buffer, synfire::steps{1}, synfire::neurons{1}));
  graph.record_count_spikes(
      synfire::count_spikes_desc(buffer, buffer, synfire::steps{1}, synfire::neurons{1}, SYNFIRE_COUNT_TOTAL));
  graph.record_encode_bernoulli(synfire::encode_bernoulli_desc(buffer, buffer, synfire::steps{1}, synfire::neurons{1}));
  synfire::convert_spikes(context,
                          synfire::convert_spikes_desc(buffer, buffer, synfire::steps{1}, synfire::neurons{1}));
  synfire::count_spikes(
      context, synfire::count_spikes_desc(buffer, buffer, synfire::steps{1}, synfire::neurons{1}, SYNFIRE_COUNT_TOTAL));
  synfire::encode_bernoulli(context,
                            synfire::encode_bernoulli_desc(buffer, buffer, synfire::steps{1}, synfire::neurons{1}));
  const synfire::Ticket ticket = graph.launch();
  graph.wait(ticket);
  std::size_t n_done = 0;
  n_done += graph.poll(ticket) == synfire::Waited::done;
  n_done += graph.wait(ticket, timeout) == synfire::Waited::done;
  n_done += graph.wait(ticket, std::chrono::duration<float>(0.5F), synfire::WaitPolicy::block) == synfire::Waited::done;
  n_done += graph.wait(ticket, std::chrono::hours(1)) == synfire::Waited::done;
  return n_done + use_buffer<float>(buffer) + use_buffer<double>(buffer) + use_buffer<std::uint32_t>(buffer) +
         use_state<float>(layer) + use_state<double>(layer);
}
