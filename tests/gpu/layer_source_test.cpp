// The text of a layer's kernels, compiled by plain nvcc (layer_source_kernels.cu), gives the bits of the library on the
// host.
#include <gtest/gtest.h>
#include <synfire/synfire.h>

#include <cstring>
#include <vector>

#include "exported_layer.hpp"

namespace {

using namespace exported;

std::vector<float> numbers(size_t count, uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / 16777216.0f * 2.5f - 0.5f;
  }
  return values;
}

Results of_the_library(const std::vector<float>& x, const std::vector<float>& grad_spike) {
  synfire_context context = nullptr;
  synfire_context_desc on_host = SYNFIRE_CONTEXT_DESC_INIT;
  on_host.backend = SYNFIRE_BACKEND_HOST;
  EXPECT_EQ(synfire_context_create(&on_host, &context), SYNFIRE_OK);
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.n_steps = n_steps;
  desc.batch = batch;
  desc.n_neurons = n_neurons;
  desc.surrogate = SYNFIRE_SURROGATE_ATAN;
  synfire_layer made = nullptr;
  EXPECT_EQ(synfire_layer_create(context, &desc, &made), SYNFIRE_OK);
  EXPECT_EQ(synfire_layer_set_parameter(made, "tau", &tau, 1), SYNFIRE_OK);
  const auto buffer = [&](int32_t dtype, uint64_t count, const void* values) {
    synfire_buffer_desc wanted = SYNFIRE_BUFFER_DESC_INIT;
    wanted.dtype = dtype;
    wanted.n_elements = count;
    synfire_buffer handle = nullptr;
    EXPECT_EQ(synfire_buffer_create(context, &wanted, &handle), SYNFIRE_OK);
    if (values) {
      EXPECT_EQ(synfire_buffer_upload(handle, 0, values, count * 4), SYNFIRE_OK);
    }
    return handle;
  };
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = buffer(SYNFIRE_DTYPE_F32, n_all, x.data());
  forward.spikes = buffer(SYNFIRE_DTYPE_BITS, n_words, nullptr);
  forward.v_seq = buffer(SYNFIRE_DTYPE_F32, n_all, nullptr);
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_spike_seq = buffer(SYNFIRE_DTYPE_F32, n_all, grad_spike.data());
  backward.grad_x_seq = buffer(SYNFIRE_DTYPE_F32, n_all, nullptr);
  backward.grad_v_init = buffer(SYNFIRE_DTYPE_F32, n_row, nullptr);
  EXPECT_EQ(synfire_layer_forward(made, &forward, nullptr), SYNFIRE_OK);
  EXPECT_EQ(synfire_layer_backward(made, &backward, nullptr), SYNFIRE_OK);
  Results results = {std::vector<float>(n_all), std::vector<float>(n_all), std::vector<float>(n_row),
                     std::vector<uint32_t>(n_words)};
  EXPECT_EQ(synfire_buffer_download(forward.v_seq, 0, results.v_seq.data(), n_all * 4), SYNFIRE_OK);
  EXPECT_EQ(synfire_buffer_download(forward.spikes, 0, results.spikes.data(), n_words * 4), SYNFIRE_OK);
  EXPECT_EQ(synfire_buffer_download(backward.grad_x_seq, 0, results.grad_x.data(), n_all * 4), SYNFIRE_OK);
  EXPECT_EQ(synfire_buffer_download(backward.grad_v_init, 0, results.grad_v_init.data(), n_row * 4), SYNFIRE_OK);
  for (synfire_buffer handle :
       {forward.x, forward.spikes, forward.v_seq, backward.grad_spike_seq, backward.grad_x_seq, backward.grad_v_init})
    synfire_buffer_destroy(handle);
  synfire_layer_destroy(made);
  synfire_context_destroy(context);
  return results;
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TEST(LayerSource, HasTheBitsOfTheLibrary) {
  const std::vector<float> x = numbers(n_all, 1), grad_spike = numbers(n_all, 2);
  const Results expected = of_the_library(x, grad_spike);
  Results found;
  ASSERT_EQ(run_text(x, grad_spike, found), 0);
  EXPECT_TRUE(same(found.v_seq, expected.v_seq));
  EXPECT_TRUE(same(found.spikes, expected.spikes));
  EXPECT_TRUE(same(found.grad_x, expected.grad_x));
  EXPECT_TRUE(same(found.grad_v_init, expected.grad_v_init));
}

}  // namespace
