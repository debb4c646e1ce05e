// Data sets that are set on a GPU: elements in its memory are looked at there, by a library that is compiled in. What
// such a library would do to the program's own last CUDA error does not happen, and calls that fail leave the data.
#include "../capi/graph_support.hpp"
#include "../capi/network_by_hand.hpp"
#include "stream_fixture.hpp"

#include <limits>

namespace synfire_test {
namespace {

constexpr int64_t n_rows = 600, n_inputs = 4099, n_classes = 5;  // 9.4 MiB

class DataChecks : public WithStream {
 protected:
  void SetUp() override {
    WithStream::SetUp();
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = 1;
    desc.batch = 100;
    synfire_network made = nullptr;
    ASSERT_OK(synfire_network_create(context, &desc, &made));
    network_ = Network(made);
    ASSERT_OK(synfire_network_add_input(network_, "in", SYNFIRE_NETWORK_INPUT_VALUES, n_inputs));
    ASSERT_OK(synfire_network_add_synapse(network_, "s", n_classes));
    ASSERT_OK(synfire_network_add_neurons(network_, "n", SYNFIRE_MODEL_LI));
    ASSERT_OK(synfire_network_add_readout(network_, "readout", SYNFIRE_READOUT_MEAN, 0));
    ASSERT_OK(synfire_network_add_loss(network_, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
    ASSERT_OK(synfire_network_add_optimizer(network_, "optimizer", SYNFIRE_OPTIMIZER_KIND_SGD, 0.01));
    ASSERT_OK(synfire_network_build(network_));
    inputs_ = make_buffer(context, SYNFIRE_DTYPE_F32, n_rows * n_inputs);
    labels_ = make_buffer(context, SYNFIRE_DTYPE_U32, n_rows);
  }
  void TearDown() override {
    fake::set_last_error(cudaSuccess);
    network_.reset();
    inputs_.reset();
    labels_.reset();
    WithStream::TearDown();
  }

  void put(int64_t row, int64_t element, float value) {
    EXPECT_OK(synfire_buffer_upload(inputs_, static_cast<uint64_t>(row * n_inputs + element) * sizeof value, &value,
                                    sizeof value));
  }
  synfire_status set_data(int32_t set = SYNFIRE_DATA_EVALUATION) {
    return synfire_network_set_data(network_, set, n_rows, inputs_, labels_, nullptr, nullptr, nullptr);
  }
  double loss() {
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    EXPECT_OK(synfire_network_evaluate(network_, &result));
    return result.loss;
  }

  static constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Network network_;
  Buffer inputs_, labels_;
};

TEST_F(DataChecks, ElementsOfTheDeviceStayThere) {
  put(599, 4098, nan);
  fake::reset_calls();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-INPUT", "nan", "row 599, element 4098;"), set_data());
  // The elements that were found in the labels and in the inputs, and their places.
  EXPECT_EQ(fake::calls("cudaMemcpyAsync"), 3u);
}

// A library asks for the last error of the thread and clears it. Where the program has the same CUDA runtime, that
// error may be the program's.
TEST_F(DataChecks, AnErrorOfTheProgramStaysPending) {
  fake::set_last_error(cudaErrorInvalidConfiguration);
  EXPECT_OK(set_data());
  EXPECT_EQ(fake::last_error(), cudaErrorInvalidConfiguration);
  put(7, 11, nan);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-INPUT", "row 7, element 11;"), set_data());
  EXPECT_EQ(fake::last_error(), cudaErrorInvalidConfiguration);
  EXPECT_EQ(fake::current_device(), -1) << "the caller's thread has no current device";
}

TEST_F(DataChecks, FailingCallsLeaveTheData) {
  put(3, 5, 0.5f);
  ASSERT_OK(set_data());
  const double before = loss();
  put(3, 5, 8);
  // The workspace, and the two searches.
  fake::fail("cudaMalloc", cudaErrorMemoryAllocation);
  EXPECT_FAILS(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-MEMORY-DEVICE"), set_data());
  EXPECT_EQ(bits_of(loss()), bits_of(before));
  for (int nth = 1; nth <= 2; ++nth) {
    fake::fail("cudaLaunchKernel", cudaErrorLaunchOutOfResources, nth);
    EXPECT_FAILS(SYNFIRE_ERROR_CUDA, WORDS("SYN-CUDA", "cub::DeviceReduce::Reduce"), set_data());
    EXPECT_EQ(bits_of(loss()), bits_of(before));
  }
  const fake::Live live = fake::live();
  EXPECT_OK(set_data());
  EXPECT_NE(bits_of(loss()), bits_of(before));
  EXPECT_EQ(fake::live(), live) << "the workspace is given back";
}

// Host memory is copied to memory that no graph reads yet, looked at there, and the copy is given back.
TEST_F(DataChecks, RefusedCopiesAreGivenBack) {
  const Buffer from_host = make_frame(context, static_cast<uint64_t>(n_rows * n_inputs), SYNFIRE_MEMORY_HOST);
  const auto give = [&] {
    return synfire_network_set_data(network_, SYNFIRE_DATA_EVALUATION, n_rows, from_host, labels_, nullptr, nullptr,
                                    nullptr);
  };
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  const fake::Live live = fake::live();
  const uint64_t bytes = fake::device_bytes();
  EXPECT_OK(synfire_buffer_upload(from_host, 40, &nan, sizeof nan));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-INPUT", "row 0, element 10;"), give());
  EXPECT_OK(synfire_context_reclaim(nullptr, nullptr));
  EXPECT_EQ(fake::live(), live);
  EXPECT_EQ(fake::device_bytes(), bytes);
  synfire_network_result none = SYNFIRE_NETWORK_RESULT_INIT;
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-NO-DATA"), synfire_network_evaluate(network_, &none));
}

// A caller that captures a stream on this thread may set data: nothing of it becomes part of the capture.
TEST_F(DataChecks, ACaptureOfTheCallersIsNotDisturbed) {
  ASSERT_EQ(fake::begin_capture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  put(2, 9, nan);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-INPUT", "row 2, element 9;"), set_data());
  EXPECT_TRUE(fake::capture_is_valid(stream));
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(fake::end_capture(stream, &captured), cudaSuccess);
  EXPECT_EQ(fake::count_nodes(captured), 0u);
  fake::destroy_graph(captured);
}

}  // namespace
}  // namespace synfire_test
