// The text of a layer's kernels (synfire_layer_source()), compiled by nvcc without the library's headers, and how a
// program calls it.
#include "exported_layer.hpp"

#include <layer_source.cu>  // written by export_source

namespace exported {
namespace {

int first_error = cudaSuccess;
void check(cudaError_t error) {
  if (first_error == cudaSuccess) first_error = error;
}

template <class T>
T* on_device(size_t count, const void* values = nullptr) {
  void* data = nullptr;
  check(cudaMalloc(&data, count * sizeof(T)));
  check(values ? cudaMemcpy(data, values, count * sizeof(T), cudaMemcpyHostToDevice)
               : cudaMemset(data, 0, count * sizeof(T)));
  return static_cast<T*>(data);
}

}  // namespace

int run_text(const std::vector<float>& x, const std::vector<float>& grad_spike, Results& results) {
  const layer::Constants constants = layer::constants();
  const synfire::core::Sequence x_rows = {on_device<float>(n_all, x.data()), layer::row, 0};
  layer::ForwardLaunch forward = {};
  forward.arguments.parameters = on_device<layer::Constants>(1, &constants);
  forward.arguments.x = x_rows;
  forward.arguments.v_in = on_device<float>(n_row);
  forward.arguments.v_seq = {on_device<float>(n_all), layer::row, 0};
  const long long words = layer::batch * ((layer::n_neurons + 31) / 32);
  forward.arguments.spike_bits = {on_device<uint32_t>(n_words), words};
  forward.arguments.tape = on_device<float>(n_row * static_cast<size_t>((layer::n_steps + 31) / 32));
  check(layer::forward(forward));
  layer::BackwardLaunch backward = {};
  backward.arguments.parameters = forward.arguments.parameters;
  backward.arguments.x = x_rows;
  backward.arguments.tape = forward.arguments.tape;
  backward.arguments.grad_spike = {on_device<float>(n_all, grad_spike.data()), layer::row, 0};
  backward.arguments.grad_x = {on_device<float>(n_all), layer::row, 0};
  backward.arguments.grad_v_init = on_device<float>(n_row);
  check(layer::backward(backward));
  check(cudaDeviceSynchronize());
  results = {std::vector<float>(n_all), std::vector<float>(n_all), std::vector<float>(n_row),
             std::vector<uint32_t>(n_words)};
  const auto read = [](auto& to, const void* from) {
    check(cudaMemcpy(to.data(), from, to.size() * sizeof to[0], cudaMemcpyDeviceToHost));
  };
  read(results.v_seq, forward.arguments.v_seq.data);
  read(results.spikes, forward.arguments.spike_bits.data);
  read(results.grad_x, backward.arguments.grad_x.data);
  read(results.grad_v_init, backward.arguments.grad_v_init);
  for (const void* const memory :
       {static_cast<const void*>(forward.arguments.parameters), static_cast<const void*>(forward.arguments.x.data),
        static_cast<const void*>(forward.arguments.v_in), static_cast<const void*>(forward.arguments.v_seq.data),
        static_cast<const void*>(forward.arguments.spike_bits.data), static_cast<const void*>(forward.arguments.tape),
        static_cast<const void*>(backward.arguments.grad_spike.data),
        static_cast<const void*>(backward.arguments.grad_x.data),
        static_cast<const void*>(backward.arguments.grad_v_init)})
    cudaFree(const_cast<void*>(memory));
  return first_error;
}

}  // namespace exported
