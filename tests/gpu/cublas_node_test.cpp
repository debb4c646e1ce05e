// cuBLAS between two layers, in a native node. A replay has the bits of the host, and a handle without a workspace of
// the caller's is either captured or refused by name. cuBLAS is loaded at run time; without it the tests are skipped.
#include <synfire/synfire.h>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int n_steps = 32, n_first = 512, n_second = 96;

std::string last_error() {
  char text[1024] = "";
  synfire_last_error(text, sizeof text, nullptr);
  return text;
}

struct Cublas {
  void* library = nullptr;
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasSetMathMode) set_math_mode = nullptr;
  decltype(&cublasSgemm_v2) multiply = nullptr;
};

template <class Function>
void resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  EXPECT_NE(function, nullptr) << name;
}

// The library stays loaded until the process ends.
Cublas load_cublas() {
  Cublas cublas;
  for (const char* const name : {"libcublas.so.13", "libcublas.so.12"})
    if (!cublas.library) cublas.library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!cublas.library) return cublas;
  resolve(cublas.library, "cublasCreate_v2", cublas.create);
  resolve(cublas.library, "cublasDestroy_v2", cublas.destroy);
  resolve(cublas.library, "cublasSetStream_v2", cublas.set_stream);
  resolve(cublas.library, "cublasSetWorkspace_v2", cublas.set_workspace);
  resolve(cublas.library, "cublasSetMathMode", cublas.set_math_mode);
  resolve(cublas.library, "cublasSgemm_v2", cublas.multiply);
  return cublas;
}

void expect_same_bits(const char* name, const std::vector<float>& ours, const std::vector<float>& expected) {
  ASSERT_EQ(ours.size(), expected.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    if (std::bit_cast<uint32_t>(ours[i]) == std::bit_cast<uint32_t>(expected[i])) continue;
    ADD_FAILURE() << name << "[" << i << "] is " << ours[i] << " instead of " << expected[i];
    return;
  }
}

void expect_mixed(const char* name, const std::vector<float>& spikes) {
  EXPECT_NE(std::find(spikes.begin(), spikes.end(), 0.0f), spikes.end()) << name << " has a neuron at rest";
  EXPECT_NE(std::find(spikes.begin(), spikes.end(), 1.0f), spikes.end()) << name << " has a spike";
}

// Both layers and all their arrays, on one backend.
struct Network {
  explicit Network(int32_t backend) {
    synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
    cd.backend = backend;
    EXPECT_EQ(synfire_context_create(&cd, &context), SYNFIRE_OK) << last_error();
    first = make_layer(n_first);
    second = make_layer(n_second);
    x = make_buffer(n_steps * n_first);
    first_spikes = make_buffer(n_steps * n_first);
    weights = make_buffer(n_first * n_second);
    product = make_buffer(n_steps * n_second);
    second_spikes = make_buffer(n_steps * n_second);
    potentials = make_buffer(n_steps * n_second);
    first_forward.x = x;
    first_forward.spikes = first_spikes;
    second_forward.x = product;
    second_forward.spikes = second_spikes;
    second_forward.v_seq = potentials;
  }
  ~Network() {
    synfire_layer_destroy(first);
    synfire_layer_destroy(second);
    for (const synfire_buffer buffer : buffers) synfire_buffer_destroy(buffer);
    synfire_context_destroy(context);
    EXPECT_EQ(synfire_context_reclaim(nullptr, nullptr), SYNFIRE_OK);
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  synfire_layer make_layer(int64_t n_neurons) const {
    synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
    desc.n_steps = n_steps;
    desc.n_neurons = n_neurons;
    synfire_layer layer = nullptr;
    EXPECT_EQ(synfire_layer_create(context, &desc, &layer), SYNFIRE_OK) << last_error();
    return layer;
  }
  synfire_buffer make_buffer(uint64_t n_elements) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.n_elements = n_elements;
    synfire_buffer buffer = nullptr;
    EXPECT_EQ(synfire_buffer_create(context, &desc, &buffer), SYNFIRE_OK) << last_error();
    buffers.push_back(buffer);
    return buffer;
  }
  static void upload(synfire_buffer buffer, const std::vector<float>& values) {
    EXPECT_EQ(synfire_buffer_upload(buffer, 0, values.data(), values.size() * sizeof(float)), SYNFIRE_OK)
        << last_error();
  }
  static std::vector<float> download(synfire_buffer buffer) {
    uint64_t bytes = 0;
    EXPECT_EQ(synfire_buffer_get_data(buffer, nullptr, &bytes), SYNFIRE_OK) << last_error();
    std::vector<float> values(bytes / sizeof(float));
    EXPECT_EQ(synfire_buffer_download(buffer, 0, values.data(), bytes), SYNFIRE_OK) << last_error();
    return values;
  }

  synfire_context context = nullptr;
  synfire_layer first = nullptr, second = nullptr;
  synfire_buffer x = nullptr, first_spikes = nullptr, weights = nullptr, product = nullptr, second_spikes = nullptr,
                 potentials = nullptr;
  std::vector<synfire_buffer> buffers;
  synfire_forward_desc first_forward = SYNFIRE_FORWARD_DESC_INIT, second_forward = SYNFIRE_FORWARD_DESC_INIT;
};

class CublasNode : public testing::Test {
 protected:
  CublasNode() : w(n_first * n_second) {
    // Multiples of 2^-15 with at most 12 significant bits: every sum of them is exact in f32, in any order, and TF32
    // cannot represent them.
    std::uniform_int_distribution<int> uniform(-3200, 3680);
    for (float& weight : w) weight = static_cast<float>(uniform(random)) / 32768;
  }
  void SetUp() override {
    cublas = load_cublas();
    if (!cublas.library) GTEST_SKIP() << "neither libcublas.so.13 nor libcublas.so.12 was found";
    ASSERT_FALSE(HasFailure());
    ASSERT_EQ(cublas.create(&handle), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublas.set_math_mode(handle, CUBLAS_PEDANTIC_MATH), CUBLAS_STATUS_SUCCESS);
  }
  void TearDown() override {
    if (handle) {
      EXPECT_EQ(cublas.destroy(handle), CUBLAS_STATUS_SUCCESS);
    }
    if (workspace) {
      EXPECT_EQ(cudaFree(workspace), cudaSuccess);
    }
  }
  void make_workspace() { ASSERT_EQ(cudaMalloc(&workspace, workspace_bytes), cudaSuccess); }

  // product = first_spikes * weights, on the stream of the call.
  synfire_status multiply(const synfire_native_call& call) const {
    if (cublas.set_stream(handle, call.stream) != CUBLAS_STATUS_SUCCESS) return -1;
    // Setting a stream resets the handle to cuBLAS's own workspace, so the caller's is set afterwards.
    if (workspace && cublas.set_workspace(handle, workspace, workspace_bytes) != CUBLAS_STATUS_SUCCESS) return -2;
    // cuBLAS is column-major and the arrays are row-major, so it sees each of them transposed.
    const float one = 1, zero = 0;
    const cublasStatus_t status = cublas.multiply(handle, CUBLAS_OP_N, CUBLAS_OP_N, n_second, n_steps, n_first, &one,
                                                  static_cast<const float*>(call.reads[1].data), n_second,
                                                  static_cast<const float*>(call.reads[0].data), n_first, &zero,
                                                  static_cast<float*>(call.writes[0].data), n_second);
    // The capture's stream does not outlive the capture.
    if (cublas.set_stream(handle, nullptr) != CUBLAS_STATUS_SUCCESS) return -3;
    return status == CUBLAS_STATUS_SUCCESS ? 0 : -4;
  }
  static synfire_status SYNFIRE_CALL call_multiply(void* test, const synfire_native_call* call) {
    return static_cast<const CublasNode*>(test)->multiply(*call);
  }

  synfire_graph record(const Network& network) {
    synfire_graph graph = nullptr;
    EXPECT_EQ(synfire_graph_create(network.context, nullptr, &graph), SYNFIRE_OK) << last_error();
    EXPECT_EQ(synfire_graph_record_forward(graph, network.first, &network.first_forward), SYNFIRE_OK) << last_error();
    const synfire_buffer reads[] = {network.first_spikes, network.weights};
    synfire_native_desc desc = SYNFIRE_NATIVE_DESC_INIT;
    desc.callback = call_multiply;
    desc.user = this;
    desc.name = "product";
    desc.reads = reads;
    desc.n_reads = 2;
    desc.writes = &network.product;
    desc.n_writes = 1;
    EXPECT_EQ(synfire_graph_record_native(graph, &desc), SYNFIRE_OK) << last_error();
    EXPECT_EQ(synfire_graph_record_forward(graph, network.second, &network.second_forward), SYNFIRE_OK) << last_error();
    return graph;
  }

  std::vector<float> multiply_on_host(const std::vector<float>& spikes) const {
    std::vector<float> product(n_steps * n_second);
    for (size_t t = 0; t < n_steps; ++t)
      for (size_t i = 0; i < n_first; ++i)
        for (size_t j = 0; j < n_second; ++j)
          product[t * n_second + j] += spikes[t * n_first + i] * w[i * n_second + j];
    return product;
  }

  // The same inputs for both; the layers of each continue from their last call.
  void compare_replays(synfire_graph graph, const Network& gpu, const Network& host) {
    std::uniform_real_distribution<float> uniform(-0.5f, 2.5f);
    std::vector<float> x(n_steps * n_first);
    for (int i = 0; i < 8; ++i) {
      SCOPED_TRACE("replay " + std::to_string(i));
      for (float& value : x) value = uniform(random);
      Network::upload(gpu.x, x);
      uint64_t ticket = 0;
      ASSERT_EQ(synfire_graph_launch(graph, nullptr, &ticket), SYNFIRE_OK) << last_error();
      ASSERT_EQ(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1), SYNFIRE_OK) << last_error();

      Network::upload(host.x, x);
      ASSERT_EQ(synfire_layer_forward(host.first, &host.first_forward, nullptr), SYNFIRE_OK) << last_error();
      const std::vector<float> first_spikes = Network::download(host.first_spikes);
      const std::vector<float> product = multiply_on_host(first_spikes);
      Network::upload(host.product, product);
      ASSERT_EQ(synfire_layer_forward(host.second, &host.second_forward, nullptr), SYNFIRE_OK) << last_error();
      const std::vector<float> second_spikes = Network::download(host.second_spikes);

      expect_mixed("the first layer", first_spikes);
      expect_mixed("the second layer", second_spikes);
      expect_same_bits("the first layer's spikes", Network::download(gpu.first_spikes), first_spikes);
      expect_same_bits("the product", Network::download(gpu.product), product);
      expect_same_bits("the second layer's spikes", Network::download(gpu.second_spikes), second_spikes);
      expect_same_bits("the second layer's potentials", Network::download(gpu.potentials),
                       Network::download(host.potentials));
    }
  }

  static constexpr size_t workspace_bytes = size_t{32} << 20;  // what cuBLAS uses on an H200
  std::mt19937 random{20};
  std::vector<float> w;
  Cublas cublas;
  cublasHandle_t handle = nullptr;
  void* workspace = nullptr;
};

TEST_F(CublasNode, BetweenTwoLayersGivesTheHostsBits) {
  ASSERT_NO_FATAL_FAILURE(make_workspace());
  const Network gpu(SYNFIRE_BACKEND_CUDA), host(SYNFIRE_BACKEND_HOST);
  ASSERT_FALSE(HasFailure());
  Network::upload(gpu.weights, w);
  const synfire_graph graph = record(gpu);
  ASSERT_EQ(synfire_graph_instantiate(graph), SYNFIRE_OK) << last_error();
  compare_replays(graph, gpu, host);
  synfire_graph_destroy(graph);
}

// cuBLAS may then allocate inside the capture, and a replay that allocates is refused.
TEST_F(CublasNode, WithoutAWorkspaceIsCapturedOrRefusedByName) {
  const Network gpu(SYNFIRE_BACKEND_CUDA), host(SYNFIRE_BACKEND_HOST);
  ASSERT_FALSE(HasFailure());
  Network::upload(gpu.weights, w);
  const synfire_graph without = record(gpu);
  const synfire_status status = synfire_graph_instantiate(without);
  if (status == SYNFIRE_OK) {
    std::printf("cuBLAS without a workspace of the caller's was captured\n");
    ASSERT_NO_FATAL_FAILURE(compare_replays(without, gpu, host));
  } else {
    const std::string text = last_error();
    std::printf("cuBLAS without a workspace of the caller's was refused: %s\n", text.c_str());
    EXPECT_EQ(status, SYNFIRE_ERROR_CALLBACK) << text;
    EXPECT_NE(text.find("SYN-GRAPH-NATIVE-NODE"), std::string::npos) << text;
    EXPECT_NE(text.find("native node 1 \"product\""), std::string::npos) << text;
    uint64_t ticket = 0;
    EXPECT_EQ(synfire_graph_launch(without, nullptr, &ticket), SYNFIRE_ERROR_WRONG_ORDER) << last_error();
    cudaGetLastError();
  }
  synfire_graph_destroy(without);

  ASSERT_NO_FATAL_FAILURE(make_workspace());
  const synfire_graph with = record(gpu);
  ASSERT_EQ(synfire_graph_instantiate(with), SYNFIRE_OK) << last_error();
  compare_replays(with, gpu, host);
  synfire_graph_destroy(with);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace

#else

TEST(CublasNode, IsLeftOut) {
  GTEST_SKIP() << "built without cublas_v2.h";
}

#endif
