// Shapes that fit nothing: rows that end anywhere, arrays that begin at any element, pitches of any length, lengths of
// any number of steps, rows of a batch that are left out. Every array is as long as it must be, so that
// compute-sanitizer sees an access beyond it; all of it, gaps included, is compared with the host's, byte for byte.
#include <synfire/synfire.h>

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

void require(synfire_status status, const char* call) {
  if (status >= 0) return;
  char text[1024] = "";
  synfire_last_error(text, sizeof text, nullptr);
  FAIL() << call << ": " << synfire_status_name(status) << " " << text;
}
#define REQUIRE_OK(call) ASSERT_NO_FATAL_FAILURE(require((call), #call))

struct Shape {
  uint64_t n_steps, batch, n_neurons;
  uint64_t row() const { return batch * n_neurons; }
  uint64_t words() const { return batch * ((n_neurons + 31) / 32); }
};

struct Case {
  Shape shape;
  int32_t dtype, spikes;
  int32_t model = SYNFIRE_MODEL_LIF, surrogate = SYNFIRE_SURROGATE_SIGMOID, tape = SYNFIRE_TAPE_RECOMPUTE;
  uint64_t first = 1;    // element at which every array begins
  uint64_t padding = 3;  // elements between two steps
  uint64_t active = 0;   // batch rows; 0: all
  bool per_neuron = false;

  std::string text() const {
    std::string all;
    for (const auto& [name, value] : {std::pair<const char*, uint64_t>{"T", shape.n_steps},
                                      {"B", shape.batch},
                                      {"N", shape.n_neurons},
                                      {"dtype", static_cast<uint64_t>(dtype)},
                                      {"spikes", static_cast<uint64_t>(spikes)},
                                      {"model", static_cast<uint64_t>(model)},
                                      {"surrogate", static_cast<uint64_t>(surrogate)},
                                      {"tape", static_cast<uint64_t>(tape)},
                                      {"first", first},
                                      {"padding", padding},
                                      {"active", active},
                                      {"per neuron", per_neuron}})
      all += std::string(name) + " " + std::to_string(value) + " ";
    return all;
  }
};

uint64_t bytes_of(int32_t dtype) {
  switch (dtype) {
    case SYNFIRE_DTYPE_F64:
      return 8;
    case SYNFIRE_DTYPE_F16:
    case SYNFIRE_DTYPE_BF16:
      return 2;
    case SYNFIRE_DTYPE_U8:
      return 1;
    default:
      return 4;
  }
}

using Bytes = std::vector<unsigned char>;

// A number as it is stored; the range of values is that of normal numbers in every type.
void store(unsigned char* at, int32_t dtype, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (dtype == SYNFIRE_DTYPE_F64) {
    const double wide = value;
    std::memcpy(at, &wide, sizeof wide);
  } else if (dtype == SYNFIRE_DTYPE_F32) {
    std::memcpy(at, &bits, sizeof bits);
  } else {
    const uint32_t half = dtype == SYNFIRE_DTYPE_BF16
                              ? bits >> 16
                              : (bits >> 16 & 0x8000u) | ((bits >> 23 & 0xFFu) - 112u) << 10 | (bits >> 13 & 0x3FFu);
    const auto narrow = static_cast<uint16_t>(half);
    std::memcpy(at, &narrow, sizeof narrow);
  }
}

bool is_silent(int32_t model) {
  return model == SYNFIRE_MODEL_LI || model == SYNFIRE_MODEL_LI_EXACT || model == SYNFIRE_MODEL_CUBA_LI;
}
bool has_w(int32_t model) {
  return model == SYNFIRE_MODEL_IZHIKEVICH || model == SYNFIRE_MODEL_CUBA_LIF || model == SYNFIRE_MODEL_CUBA_LI;
}

class Run {
 public:
  Run(const Case& c, int32_t backend) : c_(c), backend_(backend) {}
  ~Run() {
    for (const Array& array : arrays_) {
      synfire_buffer_destroy(array.window);
      synfire_buffer_destroy(array.all);
    }
    synfire_layer_destroy(layer_);
    synfire_context_destroy(context_);
    synfire_context_reclaim(nullptr, nullptr);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void execute(std::vector<std::pair<std::string, Bytes>>& results) {
    synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
    cd.backend = backend_;
    REQUIRE_OK(synfire_context_create(&cd, &context_));
    synfire_layer_desc ld = SYNFIRE_LAYER_DESC_INIT;
    ld.model = c_.model, ld.dtype = c_.dtype;
    ld.surrogate = is_silent(c_.model) ? 0 : c_.surrogate;
    ld.n_steps = static_cast<int64_t>(c_.shape.n_steps), ld.batch = static_cast<int64_t>(c_.shape.batch);
    ld.n_neurons = static_cast<int64_t>(c_.shape.n_neurons);
    REQUIRE_OK(synfire_layer_create(context_, &ld, &layer_));
    if (c_.per_neuron) {
      std::vector<double> thresholds(c_.shape.n_neurons);
      for (size_t i = 0; i < thresholds.size(); ++i) thresholds[i] = 0.5 + 0.25 * static_cast<double>(i % 7);
      REQUIRE_OK(synfire_layer_set_parameter(layer_, "v_threshold", thresholds.data(), thresholds.size()));
    }
    if (c_.active != 0) {
      REQUIRE_OK(synfire_layer_set_n_active(layer_, static_cast<int64_t>(c_.active)));
    }

    const bool fires = !is_silent(c_.model);
    const int32_t state = c_.dtype == SYNFIRE_DTYPE_F64 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
    const uint64_t steps = c_.shape.n_steps, row = c_.shape.row();
    synfire_forward_desc fd = SYNFIRE_FORWARD_DESC_INIT;
    synfire_backward_desc bd = SYNFIRE_BACKWARD_DESC_INIT;
    fd.tape = c_.tape;
    ASSERT_NO_FATAL_FAILURE(input("x", c_.dtype, steps, row, -0.5F, 2.5F, fd.x));
    ASSERT_NO_FATAL_FAILURE(input("v_init", state, 1, row, -1.0F, 1.0F, fd.v_init));
    ASSERT_NO_FATAL_FAILURE(array("v_final", state, 1, row, fd.v_final));
    if (fires) {
      const bool in_time = c_.spikes == SYNFIRE_DTYPE_TIME_BITS, packed = c_.spikes == SYNFIRE_DTYPE_BITS;
      ASSERT_NO_FATAL_FAILURE(
          array("spikes", c_.spikes, in_time ? (steps + 31) / 32 : steps, packed ? c_.shape.words() : row, fd.spikes));
      ASSERT_NO_FATAL_FAILURE(input("grad_spike", c_.dtype, steps, row, -1.0F, 1.0F, bd.grad_spike_seq));
    } else {
      ASSERT_NO_FATAL_FAILURE(array("v_seq", c_.dtype, steps, row, fd.v_seq));
      ASSERT_NO_FATAL_FAILURE(input("grad_v", c_.dtype, steps, row, -1.0F, 1.0F, bd.grad_v_seq));
    }
    ASSERT_NO_FATAL_FAILURE(input("grad_v_final", state, 1, row, -1.0F, 1.0F, bd.grad_v_final));
    ASSERT_NO_FATAL_FAILURE(array("grad_x", c_.dtype, steps, row, bd.grad_x_seq));
    ASSERT_NO_FATAL_FAILURE(array("grad_v_init", state, 1, row, bd.grad_v_init));
    if (has_w(c_.model)) {
      ASSERT_NO_FATAL_FAILURE(input("w_init", state, 1, row, -1.0F, 1.0F, fd.w_init));
      ASSERT_NO_FATAL_FAILURE(array("w_final", state, 1, row, fd.w_final));
      ASSERT_NO_FATAL_FAILURE(input("grad_w_final", state, 1, row, -1.0F, 1.0F, bd.grad_w_final));
      ASSERT_NO_FATAL_FAILURE(array("grad_w_init", state, 1, row, bd.grad_w_init));
    }
    REQUIRE_OK(synfire_layer_forward(layer_, &fd, nullptr));
    REQUIRE_OK(synfire_layer_backward(layer_, &bd, nullptr));
    REQUIRE_OK(synfire_context_synchronize(context_));
    for (const Array& array : arrays_) {
      results.emplace_back(array.name, Bytes(array.bytes));
      REQUIRE_OK(synfire_buffer_download(array.all, 0, results.back().second.data(), array.bytes));
    }
  }

 private:
  struct Array {
    std::string name;
    synfire_buffer all, window;
    uint64_t bytes;
  };

  // Poisoned, from element `first` on, without an element after the last step.
  void array(const char* name, int32_t dtype, uint64_t steps, uint64_t row, synfire_buffer& window) {
    const uint64_t width = bytes_of(dtype), pitch = row + c_.padding;
    const uint64_t elements = (steps - 1) * pitch + row;
    Array made = {name, nullptr, nullptr, (c_.first + elements) * width};
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = SYNFIRE_DTYPE_U8;
    desc.n_elements = made.bytes;
    REQUIRE_OK(synfire_buffer_create(context_, &desc, &made.all));
    void* data = nullptr;
    REQUIRE_OK(synfire_buffer_get_data(made.all, &data, nullptr));
    const Bytes poison(made.bytes, 0xA5);
    REQUIRE_OK(synfire_buffer_upload(made.all, 0, poison.data(), poison.size()));
    desc.dtype = dtype;
    desc.n_elements = elements;
    desc.data = static_cast<char*>(data) + c_.first * width;
    desc.row_pitch = steps > 1 ? pitch : 0;
    REQUIRE_OK(synfire_buffer_create(context_, &desc, &made.window));
    window = made.window;
    arrays_.push_back(made);
  }

  void input(const char* name, int32_t dtype, uint64_t steps, uint64_t row, float low, float high,
             synfire_buffer& window) {
    ASSERT_NO_FATAL_FAILURE(array(name, dtype, steps, row, window));
    const uint64_t width = bytes_of(dtype), pitch = row + c_.padding;
    Bytes bytes(arrays_.back().bytes, 0xA5);
    for (uint64_t t = 0; t < steps; ++t)
      for (uint64_t i = 0; i < row; ++i) {
        const float part = static_cast<float>(random_() >> 8) / static_cast<float>(1 << 24);
        const float value = low + (high - low) * part;
        store(bytes.data() + (c_.first + t * pitch + i) * width, dtype,
              value * value < 1e-6F ? 1e-3F : value);  // normal in f16
      }
    REQUIRE_OK(synfire_buffer_upload(arrays_.back().all, 0, bytes.data(), bytes.size()));
  }

  const Case& c_;
  const int32_t backend_;
  std::mt19937 random_{7};
  synfire_context context_ = nullptr;
  synfire_layer layer_ = nullptr;
  std::vector<Array> arrays_;
};

void expect_same(const Case& c) {
  SCOPED_TRACE(c.text());
  std::vector<std::pair<std::string, Bytes>> host, gpu;
  ASSERT_NO_FATAL_FAILURE(Run(c, SYNFIRE_BACKEND_HOST).execute(host));
  ASSERT_NO_FATAL_FAILURE(Run(c, SYNFIRE_BACKEND_CUDA).execute(gpu));
  ASSERT_EQ(host.size(), gpu.size());
  for (size_t i = 0; i < host.size(); ++i) {
    const Bytes &a = host[i].second, &b = gpu[i].second;
    size_t differences = 0, first = 0;
    for (size_t at = 0; at < a.size(); ++at)
      if (a[at] != b[at] && differences++ == 0) first = at;
    EXPECT_EQ(differences, 0u) << host[i].first << ", from byte " << first << " of " << a.size();
  }
}

// Rows in which a thread has one neuron, and such in which it has several.
const Shape few[] = {{1, 1, 1},  {33, 3, 5},   {12, 1, 31},   {40, 2, 33},  {25, 20, 10},
                     {7, 64, 1}, {63, 7, 100}, {31, 1, 1000}, {97, 4, 257}, {9, 50, 784}};
const Shape many[] = {{15, 1, 140003}, {9, 1, 262143}, {3, 256, 784}, {5, 1501, 100}, {4, 20001, 10},
                      {2, 150001, 1},  {2, 70001, 3},  {3, 4501, 33}, {1, 1101, 130}, {11, 3, 65537}};

const int32_t formats[] = {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8, 0};
const int32_t dtypes[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16, SYNFIRE_DTYPE_F64};

Case case_of(const Shape& shape, int32_t dtype, int32_t format) {
  return {shape, dtype, format == 0 ? dtype : format};
}

class OddShapes : public testing::TestWithParam<int32_t> {};

TEST_P(OddShapes, EveryFormatOfSpikes) {
  for (const Shape& shape : few)
    for (const int32_t format : formats) ASSERT_NO_FATAL_FAILURE(expect_same(case_of(shape, GetParam(), format)));
  for (const Shape& shape : many)
    for (const int32_t format : formats) ASSERT_NO_FATAL_FAILURE(expect_same(case_of(shape, GetParam(), format)));
}

TEST_P(OddShapes, EveryPlaceOfTheFirstElement) {
  for (const Shape& shape : {Shape{10, 5, 33}, Shape{5, 1, 140000}, Shape{6, 2, 70001}})
    for (uint64_t first = 0; first < 9; ++first) {
      Case c = case_of(shape, GetParam(), SYNFIRE_DTYPE_BITS);
      c.first = first, c.padding = first * 5 % 7;
      ASSERT_NO_FATAL_FAILURE(expect_same(c));
    }
}

TEST_P(OddShapes, RowsLeftOut) {
  for (const Shape& shape : {Shape{5, 7, 33}, Shape{4, 256, 784}, Shape{3, 20001, 10}, Shape{9, 3, 65537}})
    for (const uint64_t active : {uint64_t{1}, shape.batch / 2, shape.batch - 1})
      for (const int32_t format : formats) {
        Case c = case_of(shape, GetParam(), format);
        c.active = active;
        ASSERT_NO_FATAL_FAILURE(expect_same(c));
        if (shape.n_neurons % 4 != 0) continue;
        c.first = c.padding = 0;
        ASSERT_NO_FATAL_FAILURE(expect_same(c));
      }
}

// Rows of a multiple of four neurons are given without gaps, as threads with adjacent neurons need them.
Case aligned_if_round(const Shape& shape, int32_t dtype) {
  Case c = case_of(shape, dtype, SYNFIRE_DTYPE_BITS);
  if (shape.n_neurons % 4 == 0) c.first = c.padding = 0;
  return c;
}

TEST_P(OddShapes, ModelsSurrogatesTapesAndParametersPerNeuron) {
  for (const Shape& shape : {Shape{13, 3, 33}, Shape{41, 2, 70001}, Shape{7, 1501, 100}, Shape{3, 1501, 100},
                             Shape{4, 1, 140000}, Shape{3, 2, 70001}}) {
    for (const int32_t model : {SYNFIRE_MODEL_IF, SYNFIRE_MODEL_EIF, SYNFIRE_MODEL_IZHIKEVICH, SYNFIRE_MODEL_LI,
                                SYNFIRE_MODEL_CUBA_LIF, SYNFIRE_MODEL_CUBA_LI, SYNFIRE_MODEL_LI_EXACT}) {
      Case c = aligned_if_round(shape, GetParam());
      c.model = model;
      ASSERT_NO_FATAL_FAILURE(expect_same(c));
    }
    for (const int32_t surrogate : {SYNFIRE_SURROGATE_ATAN, SYNFIRE_SURROGATE_RECT, SYNFIRE_SURROGATE_ERF}) {
      Case c = aligned_if_round(shape, GetParam());
      c.surrogate = surrogate;
      ASSERT_NO_FATAL_FAILURE(expect_same(c));
    }
    for (const int32_t tape : {SYNFIRE_TAPE_STORE, SYNFIRE_TAPE_STORE_NARROW}) {
      const bool narrow = GetParam() == SYNFIRE_DTYPE_F16 || GetParam() == SYNFIRE_DTYPE_BF16;
      if (tape == SYNFIRE_TAPE_STORE_NARROW && !narrow) continue;
      Case c = aligned_if_round(shape, GetParam());
      c.tape = tape;
      ASSERT_NO_FATAL_FAILURE(expect_same(c));
    }
    Case c = aligned_if_round(shape, GetParam());
    c.per_neuron = true;
    ASSERT_NO_FATAL_FAILURE(expect_same(c));
  }
}

// Cases for compute-sanitizer: accesses up to the ends of arrays, with few steps.
TEST_P(OddShapes, EndsOfArrays) {
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{2, 3, 5}, Shape{3, 1, 140003}, Shape{9, 2, 33}, Shape{2, 256, 784},
                             Shape{1, 1501, 100}, Shape{2, 20001, 10}, Shape{4, 1, 140000}}) {
    Case c = case_of(shape, GetParam(), formats[shape.n_steps % 4]);
    ASSERT_NO_FATAL_FAILURE(expect_same(c));
    c.spikes = SYNFIRE_DTYPE_BITS, c.padding = 0, c.first = 0;
    ASSERT_NO_FATAL_FAILURE(expect_same(c));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, OddShapes, testing::ValuesIn(dtypes));

}  // namespace
