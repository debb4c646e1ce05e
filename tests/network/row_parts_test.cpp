// Every sum over rows, taken in parts: rows divided at random into 1 to 7 parts, of which each finds its largest
// magnitudes and, once those of all parts are known, its integer sums, which are then joined. The result has the bits
// of the whole. The entries (operations/sum_entry.hpp) are called from inside, because synfire.h has no parts.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "held.hpp"
#include "storage_rig.hpp"

#include <graph/eager_calls.hpp>
#include <neurons/sum_gradient/sum_gradient.hpp>
#include <operations/loss/loss.hpp>
#include <operations/loss/loss_arguments.hpp>
#include <operations/normalize/normalize.hpp>
#include <operations/normalize/normalize_work_of.hpp>
#include <synapses/conv2d/conv2d.hpp>
#include <synapses/dense/dense.hpp>
#include <synapses/one_to_one/one_to_one.hpp>
#include <synapses/population/population.hpp>

namespace synfire_test {
namespace {

namespace inside = synfire::operations;
using inside::LossEntry;
using inside::SumEntry;
using synfire::core::Operation;
using synfire::core::View;

// ---- Arrays and parts -----------------------------------------------------------------------------------------------

View view_of(synfire_buffer buffer) {
  return synfire::capi::held(buffer)->view();
}

// An array in device memory, as the maxima and sums that parts exchange.
template <class E>
class Array {
 public:
  Array(synfire_context context, int32_t dtype, size_t count)
      : count_(count), buffer_(make_buffer(context, dtype, count)) {
    // An entry writes all elements of what it writes.
    upload(buffer_, std::vector<E>(count, E(0x2A)));
  }
  View view() const { return view_of(buffer_); }
  std::vector<E> get() const { return download<E>(buffer_, count_); }
  void put(const std::vector<E>& values) const { upload(buffer_, values); }

 private:
  size_t count_;
  Buffer buffer_;
};
using Maxima = Array<uint32_t>;
using Sums = Array<uint64_t>;

struct Part {
  int64_t first, count;  // rows
};
std::vector<Part> random_parts(int64_t n_rows, Random& random) {
  const int64_t n_parts = std::min<int64_t>(n_rows, random.whole(1, 7));
  std::vector<int64_t> ends = {0, n_rows};
  while (static_cast<int64_t>(ends.size()) < n_parts + 1) {
    const int64_t end = random.whole(1, n_rows - 1);
    if (std::find(ends.begin(), ends.end(), end) == ends.end()) ends.push_back(end);
  }
  std::sort(ends.begin(), ends.end());
  std::vector<Part> parts;
  for (size_t i = 0; i + 1 < ends.size(); ++i) parts.push_back({ends[i], ends[i + 1] - ends[i]});
  return parts;
}

// Rows `part` of a sequence [T, B, ..]; `row` elements or words each.
View rows_of(View whole, const Part& part, int64_t row, uint64_t element_bytes) {
  if (!whole.data) return whole;
  const uint64_t before = static_cast<uint64_t>(part.first * row) * element_bytes;
  whole.data = static_cast<char*>(whole.data) + before;
  whole.bytes -= before;
  if (whole.rank > 1) whole.shape[1] = part.count;
  return whole;
}

// Joins arrays of parts into the first, and gives all of them the result.
template <class E, class Join>
void join(const std::vector<Array<E>>& parts, Join of) {
  std::vector<E> joined = parts[0].get();
  for (size_t p = 1; p < parts.size(); ++p) {
    const std::vector<E> other = parts[p].get();
    std::transform(joined.begin(), joined.end(), other.begin(), joined.begin(), of);
  }
  for (const Array<E>& part : parts) part.put(joined);
}
void join_maxima(const std::vector<Maxima>& parts) {
  join(parts, [](uint32_t a, uint32_t b) { return std::max(a, b); });
}
void join_sums(const std::vector<Sums>& parts) {
  join(parts, [](uint64_t a, uint64_t b) { return a + b; });
}

class RowParts : public testing::Test {
 protected:
  void SetUp() override { context_ = make_context(2); }

  void run(Operation operation) {
    synfire::core::run_now(*synfire::capi::held(context_), {std::move(operation)}, nullptr);
    ASSERT_OK(synfire_context_synchronize(context_));
  }
  void run(const synfire::core::OperationList& operations) {
    synfire::core::run_now(*synfire::capi::held(context_), operations, nullptr);
    ASSERT_OK(synfire_context_synchronize(context_));
  }
  // Magnitudes of many sizes, some 0; `special` puts one number among them.
  std::vector<float> numbers(size_t count, Random& random, float special = 0) const {
    std::vector<float> values(count);
    for (float& value : values)
      value = all_large_ ? static_cast<float>(random.uniform(0.9, 1))
              : random.whole(0, 5) == 0
                  ? 0.0f
                  : static_cast<float>(std::ldexp(random.uniform(-1, 1), static_cast<int>(random.whole(-30, 3))));
    if (special != 0) values[static_cast<size_t>(random.whole(0, static_cast<int64_t>(count) - 1))] = special;
    return values;
  }

  // Runs the three entries of a sum in parts. `of(part, entry, maxima, sums)` makes an operation.
  using Make = std::function<Operation(size_t part, SumEntry entry, const View& maxima, const View& sums)>;
  void run_in_parts(size_t n_parts, size_t n_maxima, size_t n_sums, const Make& of) {
    std::vector<Maxima> maxima;
    std::vector<Sums> sums;
    for (size_t p = 0; p < n_parts; ++p) {
      maxima.emplace_back(context_, SYNFIRE_DTYPE_U32, n_maxima);
      sums.emplace_back(context_, SYNFIRE_DTYPE_U64, n_sums);
      run(of(p, SumEntry::maxima, maxima[p].view(), {}));
    }
    join_maxima(maxima);
    for (size_t p = 0; p < n_parts; ++p) run(of(p, SumEntry::sums, maxima[p].view(), sums[p].view()));
    join_sums(sums);
    run(of(n_parts - 1, SumEntry::finish, maxima[0].view(), sums[0].view()));
  }

  Context context_;
  bool all_large_ = false;
};

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float largest_float = std::numeric_limits<float>::max(), smallest_float = 1e-45f;
const float specials[] = {0, 1e30f, largest_float, smallest_float, infinity, std::numeric_limits<float>::quiet_NaN()};

// ---- Dense synapses -------------------------------------------------------------------------------------------------

struct Shape3 {
  int64_t n_steps, batch, n_inputs, n_outputs;
};
const Shape3 shapes[] = {{1, 7, 1, 1}, {3, 9, 33, 5}, {5, 8, 40, 70}, {20, 31, 70, 12}};

class DenseParts : public RowParts {
 protected:
  void check(const Shape3& s, int32_t kind, int32_t bits, int64_t active, float special_gradient, float special_input,
             uint64_t seed) {
    SCOPED_TRACE(testing::Message() << "T " << s.n_steps << " B " << s.batch << " K " << s.n_inputs << " N "
                                    << s.n_outputs << " kind " << kind << " bits " << bits << " active " << active
                                    << " specials " << special_gradient << " " << special_input << " seed " << seed);
    Random random(seed);
    const bool spikes = kind == SYNFIRE_INPUT_SPIKES;
    synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
    desc.n_inputs = s.n_inputs;
    desc.n_outputs = s.n_outputs;
    desc.input_kind = kind;
    desc.bias = 1;
    desc.gradient_bits = bits;
    synfire_synapse made = nullptr;
    ASSERT_OK(synfire_synapse_create(context_, &desc, &made));
    const Synapse handle(made);
    const auto pinned = synfire::capi::held(handle.get());
    auto& synapse = static_cast<inside::DenseSynapse&>(*pinned);
    synapse.prepare_gradients();

    const auto rows = static_cast<size_t>(s.n_steps * s.batch), outputs = static_cast<size_t>(s.n_outputs),
               inputs = static_cast<size_t>(s.n_inputs), words = (inputs + 31) / 32;
    const Buffer gradient = make_buffer_of(context_, numbers(rows * outputs, random, special_gradient));
    Buffer input;
    if (spikes) {
      std::vector<uint32_t> bits_of(rows * words);
      for (size_t i = 0; i < bits_of.size(); ++i) {
        bits_of[i] = static_cast<uint32_t>(random.next() & random.next());
        if (i % words == words - 1 && inputs % 32 != 0) bits_of[i] &= (1u << inputs % 32) - 1;
      }
      input = make_buffer(context_, SYNFIRE_DTYPE_BITS, bits_of.size());
      upload(input, bits_of);
    } else {
      input = make_buffer_of(context_, numbers(rows * inputs, random, special_input));
    }
    const int64_t input_row = spikes ? static_cast<int64_t>(words) : s.n_inputs;
    const View all_gradients = view_of(gradient).shaped({s.n_steps, s.batch, s.n_outputs}),
               all_inputs = view_of(input).shaped({s.n_steps, s.batch, input_row});
    const auto operation = [&](const Part& part) {
      synfire::core::SynapsePass pass = {{&synapse}, s.n_steps, part.count};
      pass.input = rows_of(all_inputs, part, input_row, 4);
      pass.input.pitch = s.batch * input_row;
      View gradients = rows_of(all_gradients, part, s.n_outputs, 4);
      gradients.pitch = s.batch * s.n_outputs;
      return *synapse.kind().gradients(pass, gradients, false).front().as<inside::DenseWeightGradient>();
    };

    const auto read = [&](const char* name, size_t count) {
      std::vector<float> values(count);
      EXPECT_OK(synfire_synapse_read(handle, name, values.data(), count * sizeof(float)));
      return values;
    };
    run(operation({0, active}));
    const auto weights = read("weight_gradient", inputs * outputs), biases = read("bias_gradient", outputs);
    for (int repeat = 0; repeat < 3; ++repeat) {
      const std::vector<Part> parts = random_parts(active, random);
      const inside::SumArrayBytes bytes =
          inside::sum_array_bytes(synapse.spec(), synfire::capi::held(context_)->device().is_host());
      const std::vector<float> nothing(inputs * outputs, 7);
      ASSERT_OK(synfire_synapse_write(handle, "weight_gradient", nothing.data(), nothing.size() * sizeof(float)));
      run_in_parts(parts.size(), bytes.largest / 4, bytes.total / 8,
                   [&](size_t p, SumEntry entry, const View& maxima, const View& sums) {
                     inside::DenseWeightGradient op = operation(parts[p]);
                     op.entry = entry;
                     op.largest = maxima;
                     op.total = sums;
                     return Operation(op);
                   });
      EXPECT_TRUE(same_bits(read("weight_gradient", inputs * outputs), weights)) << parts.size() << " parts";
      EXPECT_TRUE(same_bits(read("bias_gradient", outputs), biases)) << parts.size() << " parts";
    }
  }
};

TEST_F(DenseParts, OfSpikes) {
  uint64_t seed = 0;
  for (const Shape3& shape : shapes)
    for (const int32_t bits : {24, 32})
      for (const float special : specials) {
        ++seed;
        check(shape, SYNFIRE_INPUT_SPIKES, bits, seed % 2 == 0 ? shape.batch : shape.batch - 1, special, 0, seed);
      }
}

TEST_F(DenseParts, OfValues) {
  uint64_t seed = 100;
  for (const Shape3& shape : shapes)
    for (const float special : specials) {
      ++seed;
      check(shape, SYNFIRE_INPUT_VALUES, 0, seed % 2 == 0 ? shape.batch : shape.batch - 1, special, 0, seed);
      check(shape, SYNFIRE_INPUT_VALUES, seed % 2 == 0 ? 24 : 32, shape.batch, 0, special, seed + 1000);
    }
}

// More than 512 rows, whose sums pass 64 bits, all of the largest magnitude.
TEST_F(DenseParts, OfManyLargeValues) {
  all_large_ = true;
  check({130, 16, 3, 2}, SYNFIRE_INPUT_VALUES, 32, 16, 0, 0, 1);
}

// ---- Convolutions ---------------------------------------------------------------------------------------------------

class Conv2dParts : public RowParts {
 protected:
  void check(int64_t n_steps, int64_t batch, synfire_conv2d_desc desc, float special_gradient, float special_input,
             uint64_t seed) {
    SCOPED_TRACE(testing::Message() << "T " << n_steps << " B " << batch << " kind " << desc.input_kind << " groups "
                                    << desc.groups << " transposed " << desc.transposed << " specials "
                                    << special_gradient << " " << special_input << " seed " << seed);
    Random random(seed);
    desc.bias = 1;
    synfire_synapse made = nullptr;
    ASSERT_OK(synfire_synapse_create_conv2d(context_, &desc, &made));
    const Synapse handle(made);
    const auto pinned = synfire::capi::held(handle.get());
    auto& synapse = static_cast<inside::Conv2dSynapse&>(*pinned);
    synapse.prepare_gradients();
    const auto rows = static_cast<size_t>(n_steps * batch);
    const int64_t n_inputs = synapse.n_inputs(), n_outputs = synapse.n_outputs();
    const Buffer gradient =
        make_buffer_of(context_, numbers(rows * static_cast<size_t>(n_outputs), random, special_gradient));
    const bool counts = desc.input_kind == SYNFIRE_INPUT_COUNTS;
    std::vector<float> x = numbers(rows * static_cast<size_t>(n_inputs), random, special_input);
    if (desc.input_kind == SYNFIRE_INPUT_SPIKES)
      for (float& value : x) value = value > 0 ? 1.0f : 0.0f;
    std::vector<uint8_t> bytes(x.size());
    for (uint8_t& value : bytes) value = static_cast<uint8_t>(random.whole(0, 3) == 0 ? random.whole(0, 255) : 0);
    Buffer input = make_buffer(context_, counts ? SYNFIRE_DTYPE_U8 : SYNFIRE_DTYPE_F32, x.size());
    if (counts)
      upload(input, bytes);
    else
      upload(input, x);
    const View all_gradients = view_of(gradient).shaped({n_steps, batch, n_outputs}),
               all_inputs = view_of(input).shaped({n_steps, batch, n_inputs});
    const auto operation = [&](const Part& part) {
      synfire::core::SynapsePass pass = {{&synapse}, n_steps, part.count};
      pass.input = rows_of(all_inputs, part, n_inputs, counts ? 1 : 4);
      pass.input.pitch = batch * n_inputs;
      View gradients = rows_of(all_gradients, part, n_outputs, 4);
      gradients.pitch = batch * n_outputs;
      return *synapse.kind().gradients(pass, gradients, false).front().as<inside::Conv2dWeightGradient>();
    };
    const auto n_weights = static_cast<size_t>(synapse.spec().n_weights()),
               n_biases = static_cast<size_t>(desc.output_channels);
    const auto read = [&](const char* name, size_t count) {
      std::vector<float> values(count);
      EXPECT_OK(synfire_synapse_read(handle, name, values.data(), count * sizeof(float)));
      return values;
    };
    run(operation({0, batch}));
    const auto weights = read("weight_gradient", n_weights), biases = read("bias_gradient", n_biases);
    const inside::Conv2dSumLengths lengths =
        inside::sum_lengths(synapse.conv(), synfire::capi::held(context_)->device().is_host());
    for (int repeat = 0; repeat < 3; ++repeat) {
      const std::vector<Part> parts = random_parts(batch, random);
      run_in_parts(parts.size(), static_cast<size_t>(lengths.largest), static_cast<size_t>(lengths.total),
                   [&](size_t p, SumEntry entry, const View& maxima, const View& sums) {
                     inside::Conv2dWeightGradient op = operation(parts[p]);
                     op.entry = entry;
                     op.largest = maxima;
                     op.total = sums;
                     return Operation(op);
                   });
      EXPECT_TRUE(same_bits(read("weight_gradient", n_weights), weights)) << parts.size() << " parts";
      EXPECT_TRUE(same_bits(read("bias_gradient", n_biases), biases)) << parts.size() << " parts";
    }
  }
};

TEST_F(Conv2dParts, OfEveryInput) {
  uint64_t seed = 0;
  for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES, SYNFIRE_INPUT_COUNTS})
    for (const int64_t groups : {1, 3, 6})
      for (const int32_t transposed : {0, 1})
        for (const float special : specials) {
          ++seed;
          synfire_conv2d_desc desc = SYNFIRE_CONV2D_DESC_INIT;
          desc.input_kind = kind;
          desc.channels = 6;
          desc.output_channels = groups == 1 ? 35 : 6;
          desc.groups = groups;
          desc.height = 5;
          desc.width = 4;
          desc.kernel_height = 3;
          desc.kernel_width = 2;
          desc.stride_x = 2;
          desc.padding_y = 1;
          desc.transposed = transposed;
          desc.gradient_bits = seed % 3 == 0 ? 24 : 32;
          check(3, 7, desc, seed % 2 == 0 ? special : 0, seed % 2 == 0 ? 0 : special, seed);
        }
}

// ---- One-to-one synapses --------------------------------------------------------------------------------------------

class OneToOneParts : public RowParts {
 protected:
  void check(int64_t n_steps, int64_t batch, int64_t places, int64_t channels, int32_t scope, int32_t kind,
             float special, uint64_t seed) {
    SCOPED_TRACE(testing::Message() << "T " << n_steps << " B " << batch << " map " << places << " x " << channels
                                    << " scope " << scope << " kind " << kind << " special " << special);
    Random random(seed);
    const bool spikes = kind == SYNFIRE_INPUT_SPIKES;
    synfire_one_to_one_desc desc = SYNFIRE_ONE_TO_ONE_DESC_INIT;
    desc.height = places;
    desc.channels = channels;
    desc.scope = scope;
    desc.input_kind = kind;
    desc.bias = 1;
    synfire_synapse made = nullptr;
    ASSERT_OK(synfire_synapse_create_one_to_one(context_, &desc, &made));
    const Synapse handle(made);
    const auto pinned = synfire::capi::held(handle.get());
    auto& synapse = static_cast<inside::OneToOneSynapse&>(*pinned);
    synapse.prepare_gradients();
    const int64_t n = places * channels;
    const size_t count = static_cast<size_t>(n_steps * batch * n),
                 entries = static_cast<size_t>(synapse.spec().n_entries());
    const Buffer gradient = make_buffer_of(context_, numbers(count, random, special));
    std::vector<float> x = numbers(count, random);
    if (spikes)
      for (float& value : x) value = value > 0 ? 1.0f : 0.0f;
    const Buffer input = make_buffer_of(context_, x);
    const View all_gradients = view_of(gradient).shaped({n_steps, batch, n}),
               all_inputs = view_of(input).shaped({n_steps, batch, n});
    const auto operation = [&](const Part& part) {
      synfire::core::SynapsePass pass = {{&synapse}, n_steps, part.count};
      pass.input = rows_of(all_inputs, part, n, 4);
      View gradients = rows_of(all_gradients, part, n, 4);
      pass.input.pitch = gradients.pitch = batch * n;
      return *synapse.kind().gradients(pass, gradients, false).front().as<inside::OneToOneGradient>();
    };
    const auto read = [&](const char* name) {
      std::vector<float> values(entries);
      EXPECT_OK(synfire_synapse_read(handle, name, values.data(), entries * sizeof(float)));
      return values;
    };
    const inside::OneToOneGradient whole = operation({0, batch});
    run(whole);
    const auto weights = read("weight_gradient"), biases = read("bias_gradient");
    for (int repeat = 0; repeat < 3; ++repeat) {
      const std::vector<Part> parts = random_parts(batch, random);
      std::vector<Array<float>> contributions;
      for (const Part& part : parts)
        contributions.emplace_back(context_, SYNFIRE_DTYPE_F32, static_cast<size_t>(2 * part.count * n));
      run_in_parts(parts.size(), whole.largest.bytes / 4, whole.totals.bytes / 8,
                   [&](size_t p, SumEntry entry, const View& maxima, const View& sums) {
                     inside::OneToOneGradient op = operation(parts[p]);
                     op.entry = entry;
                     op.largest = maxima;
                     op.totals = sums;
                     op.arrived = {};
                     op.contributions = {};
                     if (!spikes && entry != SumEntry::finish) op.contributions = contributions[p].view();
                     return Operation(op);
                   });
      EXPECT_TRUE(same_bits(read("weight_gradient"), weights)) << parts.size() << " parts";
      EXPECT_TRUE(same_bits(read("bias_gradient"), biases)) << parts.size() << " parts";
    }
  }
};

TEST_F(OneToOneParts, OfEveryScope) {
  uint64_t seed = 0;
  for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES})
    for (const int32_t scope : {SYNFIRE_SCOPE_NEURON, SYNFIRE_SCOPE_CHANNEL, SYNFIRE_SCOPE_LAYER})
      for (const int64_t channels : {1, 3, 32, 50}) {
        ++seed;
        check(4, 9, 7, channels, scope, kind, specials[seed % 6], seed);
      }
  // More rows than one launch takes.
  check(3, 130, 40, 5, SYNFIRE_SCOPE_CHANNEL, SYNFIRE_INPUT_VALUES, 0, 1000);
  check(3, 130, 40, 5, SYNFIRE_SCOPE_LAYER, SYNFIRE_INPUT_VALUES, 0, 1001);
}

// ---- Population codes -----------------------------------------------------------------------------------------------

class PopulationParts : public RowParts {
 protected:
  void check(int64_t n_steps, int64_t batch, int64_t n_inputs, int64_t n_cells, float special, uint64_t seed) {
    SCOPED_TRACE(testing::Message() << "B " << batch << " K " << n_inputs << " P " << n_cells << " special "
                                    << special);
    Random random(seed);
    const int64_t n = n_inputs * n_cells;
    synfire_population_desc desc = SYNFIRE_POPULATION_DESC_INIT;
    desc.channels = n_inputs;
    desc.n_cells = n_cells;
    synfire_synapse handle = nullptr;
    ASSERT_OK(synfire_synapse_create_population(context_, &desc, &handle));
    const Synapse owner(handle);
    synfire::core::Synapse& synapse = *synfire::capi::held(handle);
    synapse.prepare_gradients();
    const Buffer gradient =
                     make_buffer_of(context_, numbers(static_cast<size_t>(n_steps * batch * n), random, special)),
                 input = make_buffer_of(context_,
                                        random.values<float>(static_cast<size_t>(n_steps * batch * n_inputs), -3, 3));
    const View all_gradients = view_of(gradient).shaped({n_steps, batch, n}),
               all_inputs = view_of(input).shaped({n_steps, batch, n_inputs});
    const auto operation = [&](const Part& part) {
      synfire::core::SynapsePass pass = {{&synapse}, n_steps, part.count};
      pass.input = rows_of(all_inputs, part, n_inputs, 4);
      pass.input.pitch = batch * n_inputs;
      View gradients = rows_of(all_gradients, part, n, 4);
      gradients.pitch = batch * n;
      return *synapse.kind().gradients(pass, gradients, false).front().as<inside::PopulationGradient>();
    };
    const auto read = [&](const char* name) {
      std::vector<float> values(static_cast<size_t>(n));
      EXPECT_OK(synfire_synapse_read(handle, name, values.data(), values.size() * sizeof(float)));
      return values;
    };
    const inside::PopulationGradient whole = operation({0, batch});
    run(whole);
    const auto of_mu = read("mu_gradient"), of_sigma = read("sigma_gradient");
    for (int repeat = 0; repeat < 3; ++repeat) {
      const std::vector<Part> parts = random_parts(batch, random);
      std::vector<Array<float>> contributions;
      for (const Part& part : parts)
        contributions.emplace_back(context_, SYNFIRE_DTYPE_F32, static_cast<size_t>(2 * part.count * n));
      run_in_parts(parts.size(), whole.largest.bytes / 4, whole.totals.bytes / 8,
                   [&](size_t p, SumEntry entry, const View& maxima, const View& sums) {
                     inside::PopulationGradient op = operation(parts[p]);
                     op.entry = entry;
                     op.largest = maxima;
                     op.totals = sums;
                     op.arrived = {};
                     op.contributions = {};
                     if (entry != SumEntry::finish) op.contributions = contributions[p].view();
                     return Operation(op);
                   });
      EXPECT_TRUE(same_bits(read("mu_gradient"), of_mu)) << parts.size() << " parts";
      EXPECT_TRUE(same_bits(read("sigma_gradient"), of_sigma)) << parts.size() << " parts";
    }
  }
};

TEST_F(PopulationParts, OfEverySize) {
  uint64_t seed = 0;
  for (const int64_t n_cells : {1, 3, 10, 33}) {
    ++seed;
    check(3, 9, 7, n_cells, specials[seed % 6], seed);
  }
  check(3, 130, 40, 5, 0, 1000);
}

// ---- Parameters of neurons ------------------------------------------------------------------------------------------

class ParameterParts : public RowParts {
 protected:
  void check(int64_t batch, int64_t n, bool of_all, bool add, float special, uint64_t seed) {
    SCOPED_TRACE(testing::Message() << "B " << batch << " N " << n << " of all " << of_all << " add " << add
                                    << " special " << special);
    Random random(seed);
    const std::vector<float> some = numbers(static_cast<size_t>(batch * n), random, special);
    std::vector<double> partials(some.begin(), some.end());
    for (double& value : partials) value *= 1 + 1e-9 * random.uniform(-1, 1);  // rounded to f32 first
    const Buffer input = make_buffer_of(context_, partials);
    const int64_t n_entries = of_all ? 1 : n;
    const std::vector<float> before = numbers(static_cast<size_t>(n_entries), random);
    const Buffer output = make_buffer_of(context_, before);
    const auto operation = [&](const Part& part) {
      inside::SumGradient op = {inside::SumKind::rows, rows_of(view_of(input), part, n, 8), part.count, n,
                                view_of(output)};
      op.add = add;
      op.n_entries = n_entries;
      return op;
    };
    const inside::RowSumShape shape = {batch, n, n_entries};
    inside::SumGradient whole = operation({0, batch});
    whole.scratch.dtype = SYNFIRE_DTYPE_U64;
    whole.scratch.bytes = inside::row_sum_bytes(shape);
    run(whole);
    const auto expected = download<float>(output, static_cast<size_t>(n_entries));
    // The reference: integers on the grid of 32 bits of the largest.
    for (int64_t entry = 0; entry < n_entries; ++entry) {
      float largest = 0;
      for (int64_t i = entry; i < batch * n; i += n_entries) {
        const auto value = std::fabs(static_cast<float>(partials[static_cast<size_t>(i)]));
        if (!(value <= largest)) largest = value;
        if (std::isnan(largest)) break;
      }
      int grid = -149;
      while (std::isfinite(largest) && std::nearbyint(std::ldexp(static_cast<double>(largest), -grid)) > 2147483647.0)
        ++grid;
      int64_t sum = 0;
      for (int64_t i = entry; i < batch * n && std::isfinite(largest); i += n_entries)
        sum += static_cast<int64_t>(std::nearbyint(
            std::ldexp(static_cast<double>(static_cast<float>(partials[static_cast<size_t>(i)])), -grid)));
      const double exact = std::isfinite(largest) ? std::ldexp(static_cast<double>(sum), grid) : std::nan("");
      const auto held = static_cast<double>(before[static_cast<size_t>(entry)]);
      ASSERT_TRUE(same_bits(std::vector<float>{expected[static_cast<size_t>(entry)]},
                            {static_cast<float>(add ? held + exact : exact)}));
    }
    for (int repeat = 0; repeat < 3; ++repeat) {
      const std::vector<Part> parts = random_parts(batch, random);
      upload(output, before);
      run_in_parts(parts.size(), static_cast<size_t>(shape.array_length()), static_cast<size_t>(shape.array_length()),
                   [&](size_t p, SumEntry entry, const View& maxima, const View& sums) {
                     inside::SumGradient op = operation(parts[p]);
                     op.entry = entry;
                     op.largest = maxima;
                     op.totals = sums;
                     return Operation(op);
                   });
      EXPECT_TRUE(same_bits(download<float>(output, static_cast<size_t>(n_entries)), expected));
    }
  }
};

TEST_F(ParameterParts, OfOneNumberAndOfOnePerNeuron) {
  uint64_t seed = 0;
  for (const bool of_all : {false, true})
    for (const bool add : {false, true})
      for (const float special : specials) {
        check(5, 3, of_all, add, special, ++seed);
        check(9, 200, of_all, add, special, ++seed);
      }
  for (const bool of_all : {false, true}) {
    check(700, 33, of_all, false, 0, ++seed);  // more rows than one launch takes
    check(1, 1, of_all, false, 0, ++seed);
  }
}

// ---- Losses ---------------------------------------------------------------------------------------------------------

struct LossCase {
  int64_t n_steps, batch, n_classes;
  inside::LossKind kind;
  bool sum, weighted, of_classes;
  float special;
};

class LossParts : public RowParts {
 protected:
  void check(const LossCase& c, uint64_t seed) {
    SCOPED_TRACE(testing::Message() << "T " << c.n_steps << " B " << c.batch << " C " << c.n_classes << " squared "
                                    << (c.kind == inside::LossKind::mean_squared_error) << " sum " << c.sum
                                    << " weighted " << c.weighted << " class weights " << c.of_classes << " special "
                                    << c.special);
    Random random(seed);
    const auto samples = static_cast<size_t>(c.n_steps * c.batch),
               elements = samples * static_cast<size_t>(c.n_classes);
    std::vector<float> x = random.values<float>(elements, -8, 8);
    if (c.special != 0) x[static_cast<size_t>(random.whole(0, static_cast<int64_t>(elements) - 1))] = c.special;
    std::vector<uint32_t> classes(samples);
    for (uint32_t& label : classes) label = static_cast<uint32_t>(random.whole(0, c.n_classes - 1));
    const Buffer source = make_buffer_of(context_, x), labels = make_buffer(context_, SYNFIRE_DTYPE_U32, samples),
                 weights = make_buffer_of(context_, random.values<float>(static_cast<size_t>(c.batch), 0.1, 5)),
                 of_classes = make_buffer_of(context_, random.values<float>(static_cast<size_t>(c.n_classes), 0.1, 3)),
                 loss = make_buffer(context_, SYNFIRE_DTYPE_F32, 1),
                 gradient = make_buffer(context_, SYNFIRE_DTYPE_F32, elements),
                 n_correct = make_buffer(context_, SYNFIRE_DTYPE_U32, 1),
                 n_counted = make_buffer(context_, SYNFIRE_DTYPE_U32, 1);
    upload(labels, classes);
    inside::LossRequest request = {};
    request.extents = {c.n_steps, c.batch, c.n_classes};
    request.rules.kind = c.kind;
    request.rules.per_step = true;
    request.rules.sum = c.sum;
    const auto pin = [](const Buffer& buffer) { return synfire::capi::held(buffer.get()); };
    const auto p_source = pin(source), p_labels = pin(labels), p_weights = pin(weights), p_classes = pin(of_classes),
               p_loss = pin(loss), p_gradient = pin(gradient), p_correct = pin(n_correct), p_counted = pin(n_counted);
    request.source = &*p_source;
    request.labels = &*p_labels;
    if (c.weighted) request.sample_weights = &*p_weights;
    if (c.of_classes) request.class_weights = &*p_classes;
    request.loss = &*p_loss;
    request.gradient = &*p_gradient;
    request.n_correct = &*p_correct;
    request.n_counted = &*p_counted;
    const synfire::core::OperationList whole = inside::loss(request);
    run(whole);
    const auto results = [&] {
      std::vector<float> all = download<float>(gradient, elements);
      all.push_back(download<float>(loss, 1)[0]);
      all.push_back(static_cast<float>(download<uint32_t>(n_correct, 1)[0]));
      all.push_back(static_cast<float>(download<uint32_t>(n_counted, 1)[0]));
      return all;
    };
    const std::vector<float> expected = results();
    for (int repeat = 0; repeat < 3; ++repeat) {
      const std::vector<Part> parts = random_parts(c.batch, random);
      upload(gradient, std::vector<float>(elements, 7));
      upload(loss, std::vector<float>{7});
      std::vector<Maxima> share_maxima, maxima;
      std::vector<Sums> share_sums, sums;
      std::vector<Array<float>> losses;
      for (const Part& part : parts) {
        share_maxima.emplace_back(context_, SYNFIRE_DTYPE_U32, inside::loss_slots);
        maxima.emplace_back(context_, SYNFIRE_DTYPE_U32, 1);
        share_sums.emplace_back(context_, SYNFIRE_DTYPE_U64, 2 * inside::loss_slots);
        sums.emplace_back(context_, SYNFIRE_DTYPE_U64, 2);
        losses.emplace_back(context_, SYNFIRE_DTYPE_F32, static_cast<size_t>(c.n_steps * part.count));
      }
      const auto run_entry = [&](size_t p, LossEntry entry) {
        inside::Loss op = *whole.front().as<inside::Loss>();
        const Part& part = parts[p];
        op.extents.batch = part.count;
        op.source = rows_of(op.source, part, c.n_classes, 4);
        op.labels = rows_of(op.labels, part, 1, 4);
        op.sample_weights = rows_of(op.sample_weights, part, 1, 4);
        op.gradient = rows_of(op.gradient, part, c.n_classes, 4);
        op.scratch = {};
        op.entry = entry;
        op.parts.largest_share = share_maxima[p].view();
        if (entry >= LossEntry::share_sums) op.parts.shares = share_sums[p].view();
        if (entry >= LossEntry::samples) {
          op.parts.largest = maxima[p].view();
          op.parts.losses = sums[p].view();
          op.parts.of_samples = losses[p].view();
        }
        run(op);
      };
      const auto run_all = [&](LossEntry entry) {
        for (size_t p = 0; p < parts.size(); ++p) run_entry(p, entry);
      };
      run_all(LossEntry::share_maxima);
      join_maxima(share_maxima);
      run_all(LossEntry::share_sums);
      join_sums(share_sums);
      run_all(LossEntry::samples);
      join_maxima(maxima);
      run_all(LossEntry::sums);
      join_sums(sums);
      run_entry(0, LossEntry::finish);
      EXPECT_TRUE(same_bits(results(), expected)) << parts.size() << " parts";
    }
  }
};

TEST_F(LossParts, OfEveryKind) {
  uint64_t seed = 0;
  for (const auto kind : {inside::LossKind::cross_entropy, inside::LossKind::mean_squared_error})
    for (const bool weighted : {false, true})
      for (const bool of_classes : {false, true})
        for (const float special : {0.0f, 1e30f, infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
          ++seed;
          check({2, 9, 5, kind, false, weighted, of_classes, special}, seed);
          check({1, 1500, 4, kind, seed % 3 == 0, weighted, of_classes, special}, seed + 1000);
        }
}

// ---- Normalisations ------------------------------------------------------------------------------------------------

// They have no entries, so a part is made to take the grids of the whole: two rows are added to it, the first with the
// largest dL/dX of each channel, the second with its largest y. Their integers are taken off the sums of the part. What
// follows from the joined sums has the bits of the whole.
class NormalizationParts : public RowParts {
 protected:
  struct Maps {
    int64_t n_steps, batch, places, channels;
    bool evaluation, lengths;
    float special;
  };

  // NormalizeMemory, as one operation leaves it.
  struct Memory {
    std::vector<uint64_t> words;
    inside::IntegerSums sums = {};

    Memory(std::vector<uint64_t> of, int64_t channels) : words(std::move(of)) {
      float* coefficients = nullptr;
      inside::NormalizeMemory{channels, false}.place(sums, coefficients, words.data());
    }
  };
  template <class Kind>
  std::unique_ptr<Memory> memory_after(Kind op) {
    const int64_t channels = op.shape.channels;
    const uint64_t n_words = (inside::NormalizeMemory{channels, false}.bytes() + 7) / 8;
    const Buffer memory = make_buffer(context_, SYNFIRE_DTYPE_U64, n_words);
    op.scratch = view_of(memory);
    // Not by run_now(), which gives scratch memory of its own.
    const synfire::core::OperationList operations = {Operation(op)};
    synfire::capi::held(context_)->device().execute(operations, nullptr);
    EXPECT_OK(synfire_context_synchronize(context_));
    return std::make_unique<Memory>(download<uint64_t>(memory, n_words), channels);
  }

  // The rows of a part, and two more, of which one begins with the largest numbers.
  static std::vector<float> rows_with(const std::vector<float>& whole, const Maps& maps, const Part& part,
                                      const std::vector<float>& largest, size_t at_row) {
    const auto row = static_cast<size_t>(maps.places * maps.channels), count = static_cast<size_t>(part.count);
    std::vector<float> rows(static_cast<size_t>(maps.n_steps) * (count + 2) * row);
    for (size_t t = 0; t < static_cast<size_t>(maps.n_steps); ++t)
      std::copy_n(&whole[(t * static_cast<size_t>(maps.batch) + static_cast<size_t>(part.first)) * row], count * row,
                  &rows[t * (count + 2) * row]);
    std::copy(largest.begin(), largest.end(), &rows[(count + at_row) * row]);
    return rows;
  }
  // Adds the sums of a part to those of the parts before, without what the row with the largest number gave.
  static void join(const inside::IntegerSums& joined, const inside::IntegerSums& part, int64_t channel, int64_t integer,
                   bool squared) {
    const int64_t product = squared ? integer * integer : 0;
    joined.totals[channel] += part.totals[channel] - integer;
    joined.high[channel] += part.high[channel] - inside::high_of_product(product);
    joined.low[channel] += part.low[channel] - inside::low_of_product(product);
  }
  static void expect_sums(const inside::IntegerSums& joined, const inside::IntegerSums& whole, int64_t channels) {
    for (int64_t c = 0; c < channels; ++c) {
      EXPECT_EQ(joined.totals[c], whole.totals[c]) << c;
      EXPECT_EQ(joined.high[c], whole.high[c]) << c;
      EXPECT_EQ(joined.low[c], whole.low[c]) << c;
    }
  }
  static std::vector<float> largest_of(const std::vector<float>& numbers, const Maps& maps,
                                       const std::vector<uint32_t>& lengths) {
    std::vector<float> largest(static_cast<size_t>(maps.channels));
    const auto row = static_cast<size_t>(maps.places * maps.channels);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const size_t t = i / row / static_cast<size_t>(maps.batch), b = i / row % static_cast<size_t>(maps.batch);
      float& most = largest[i % largest.size()];
      if (t < lengths[b]) most = std::max(most, std::fabs(numbers[i]));
    }
    return largest;
  }

  // Rows in buffers, and what belongs to channels.
  struct Rows {
    Buffer y, gradient, x, lengths;

    Rows(synfire_context context, const Maps& maps, const std::vector<float>& of_y, const std::vector<float>& of_g,
         const std::vector<uint32_t>& of_lengths)
        : y(make_buffer_of(context, of_y)),
          gradient(make_buffer_of(context, of_g)),
          x(make_buffer(context, SYNFIRE_DTYPE_F32, of_y.size())) {
      if (!maps.lengths) return;
      lengths = make_buffer(context, SYNFIRE_DTYPE_U32, of_lengths.size());
      upload(lengths, of_lengths);
    }
  };
  struct OfChannels {
    std::vector<float> gamma, beta, mean, variance;
  };
  struct ChannelBuffers {
    Buffer gamma, beta, mean, variance, factor, addend, grad_gamma, grad_beta, saved;

    ChannelBuffers(synfire_context context, const OfChannels& given)
        : gamma(make_buffer_of(context, given.gamma)),
          beta(make_buffer_of(context, given.beta)),
          mean(make_buffer_of(context, given.mean)),
          variance(make_buffer_of(context, given.variance)),
          factor(make_buffer_of(context, given.gamma)),
          addend(make_buffer_of(context, given.gamma)),
          grad_gamma(make_buffer_of(context, given.gamma)),
          grad_beta(make_buffer_of(context, given.gamma)),
          saved(make_buffer(context, SYNFIRE_DTYPE_U64, 4 * given.gamma.size())) {}
  };
  static View maps_in(synfire_buffer buffer, const inside::ChannelShape& shape) {
    View view = view_of(buffer).shaped({shape.n_steps, shape.batch, shape.image()});
    view.pitch = shape.batch * shape.image();
    return view;
  }
  static inside::Normalize forward_of(const Maps& maps, const Rows& rows, int64_t batch, const ChannelBuffers& of) {
    inside::Normalize op = {};
    op.evaluation = maps.evaluation;
    op.shape = {maps.n_steps, batch, maps.places, maps.channels};
    op.epsilon = 1e-5;
    op.momentum = 0.25;
    op.source = maps_in(rows.y, op.shape);
    op.destination = maps_in(rows.x, op.shape);
    op.gamma = view_of(of.gamma);
    op.beta = view_of(of.beta);
    op.running_mean = view_of(of.mean);
    op.running_variance = view_of(of.variance);
    op.saved = view_of(of.saved);
    op.factor = view_of(of.factor);
    op.addend = view_of(of.addend);
    if (rows.lengths) op.lengths = view_of(rows.lengths);
    return op;
  }
  // It reads what the forward of the whole saved.
  static inside::NormalizeBackward backward_of(const inside::Normalize& forward, const Rows& rows,
                                               const ChannelBuffers& whole, const ChannelBuffers& of) {
    const inside::ChannelShape& shape = forward.shape;
    inside::NormalizeBackward op = {};
    op.evaluation = forward.evaluation;
    op.shape = shape;
    op.grad_destination = maps_in(rows.gradient, shape);
    op.source = forward.source;
    op.saved = view_of(whole.saved);
    op.gamma = forward.gamma;
    op.grad_source = forward.destination;
    op.grad_gamma = view_of(of.grad_gamma);
    op.grad_beta = view_of(of.grad_beta);
    op.lengths = forward.lengths;
    return op;
  }

  void check(const Maps& maps, uint64_t seed) {
    SCOPED_TRACE(testing::Message() << "T " << maps.n_steps << " B " << maps.batch << " places " << maps.places << " C "
                                    << maps.channels << " evaluation " << maps.evaluation << " lengths " << maps.lengths
                                    << " special " << maps.special << " seed " << seed);
    Random random(seed);
    const auto n = static_cast<size_t>(maps.channels),
               elements = static_cast<size_t>(maps.n_steps * maps.batch * maps.places) * n;
    const std::vector<float> y = numbers(elements, random, maps.special), g = numbers(elements, random, maps.special);
    const OfChannels given = {random.values<float>(n, -2, 2), random.values<float>(n, -1, 1),
                              random.values<float>(n, -1, 1), random.values<float>(n, 0.1, 2)};
    std::vector<uint32_t> lengths(static_cast<size_t>(maps.batch), static_cast<uint32_t>(maps.n_steps));
    if (maps.lengths)
      for (uint32_t& length : lengths) length = static_cast<uint32_t>(random.whole(0, maps.n_steps));
    const std::vector<float> most_y = largest_of(y, maps, lengths), most_g = largest_of(g, maps, lengths);
    const ChannelBuffers results(context_, given);
    const Rows all(context_, maps, y, g, lengths);
    const inside::Normalize forward = forward_of(maps, all, maps.batch, results);
    const auto whole = memory_after(forward),
               whole_backward = memory_after(backward_of(forward, all, results, results));
    for (int repeat = 0; repeat < 2; ++repeat) {
      Memory joined(std::vector<uint64_t>(whole->words.size()), maps.channels),
          joined_backward(std::vector<uint64_t>(whole->words.size()), maps.channels);
      for (const Part& part : random_parts(maps.batch, random)) {
        std::vector<uint32_t> own(lengths.begin() + part.first, lengths.begin() + part.first + part.count);
        own.resize(own.size() + 2, 1);
        const Rows some(context_, maps, rows_with(y, maps, part, most_y, 1), rows_with(g, maps, part, most_g, 0), own);
        const ChannelBuffers of_part(context_, given);
        const inside::Normalize op = forward_of(maps, some, part.count + 2, of_part);
        const auto sums = memory_after(op), sums_backward = memory_after(backward_of(op, some, results, of_part));
        for (int64_t c = 0; c < maps.channels; ++c) {
          const auto at = static_cast<size_t>(c);
          const uint32_t largest = whole_backward->sums.largest[0][c];
          if (!maps.evaluation) {
            EXPECT_EQ(sums->sums.largest[0][c], whole->sums.largest[0][c]);
            join(joined.sums, sums->sums, c,
                 synfire::model::on_grid(most_y[at], inside::grid_of_values(whole->sums.largest[0][c])), true);
          }
          EXPECT_EQ(sums_backward->sums.largest[0][c], largest);
          join(joined_backward.sums, sums_backward->sums, c,
               synfire::model::on_grid(most_g[at],
                                       synfire::model::grid_of_sum(largest, synfire::model::largest_on_grid_32)),
               false);
        }
      }
      if (!maps.evaluation) expect_sums(joined.sums, whole->sums, maps.channels);
      expect_sums(joined_backward.sums, whole_backward->sums, maps.channels);
      for (int which = 0; which < 2; ++which) {
        std::copy_n(whole->sums.largest[which], maps.channels, joined.sums.largest[which]);
        std::copy_n(whole_backward->sums.largest[which], maps.channels, joined_backward.sums.largest[which]);
      }
      expect_results(forward, joined, joined_backward, lengths, given, results);
    }
  }

  // Compares the results with those of the joined sums, computed here.
  static void expect_results(const inside::Normalize& forward, const Memory& joined, const Memory& joined_backward,
                             const std::vector<uint32_t>& lengths, OfChannels given, const ChannelBuffers& results) {
    const int64_t channels = forward.shape.channels;
    const auto n = static_cast<size_t>(channels);
    std::vector<float> factor(n), addend(n), grad_gamma(n), grad_beta(n), coefficients(3 * n);
    std::vector<inside::u64> saved(4 * n);
    const inside::Counting counting = {forward.lengths ? lengths.data() : nullptr, nullptr};
    inside::NormalizeWork<float> work = {};
    work.sums = joined.sums;
    work.sums.shape = forward.shape;
    work.sums.counting = counting;
    work.sums.squares = true;
    work.evaluation = forward.evaluation;
    work.epsilon = forward.epsilon;
    work.momentum = forward.momentum;
    work.gamma = given.gamma.data();
    work.beta = given.beta.data();
    work.running_mean = given.mean.data();
    work.running_variance = given.variance.data();
    work.saved = saved.data();
    work.factor = factor.data();
    work.addend = addend.data();
    inside::NormalizeGradientWork<float> backward = {};
    backward.sums = joined_backward.sums;
    backward.sums.shape = forward.shape;
    backward.sums.counting = counting;
    backward.sums.second.data = factor.data();  // there is one
    if (!forward.evaluation) backward.sums.saved = saved.data();
    backward.evaluation = forward.evaluation;
    backward.has_sums = true;
    backward.saved = saved.data();
    backward.gamma = given.gamma.data();
    backward.grad_gamma = grad_gamma.data();
    backward.grad_beta = grad_beta.data();
    backward.factor = coefficients.data();
    backward.of_source = backward.factor + n;
    backward.constant = backward.of_source + n;
    for (int64_t c = 0; c < channels; ++c) inside::finish_channel(work, c);
    for (int64_t c = 0; c < channels; ++c) inside::finish_gradient(backward, c);
    EXPECT_TRUE(same_bits(factor, download<float>(results.factor, n)));
    EXPECT_TRUE(same_bits(addend, download<float>(results.addend, n)));
    EXPECT_TRUE(same_bits(given.mean, download<float>(results.mean, n)));
    EXPECT_TRUE(same_bits(given.variance, download<float>(results.variance, n)));
    EXPECT_EQ(saved, download<inside::u64>(results.saved, 4 * n));
    EXPECT_TRUE(same_bits(grad_gamma, download<float>(results.grad_gamma, n)));
    EXPECT_TRUE(same_bits(grad_beta, download<float>(results.grad_beta, n)));
  }
};

TEST_F(NormalizationParts, OfEveryMap) {
  uint64_t seed = 0;
  for (const bool evaluation : {false, true})
    for (const bool lengths : {false, true})
      for (const float special : specials) {
        if (!std::isfinite(special)) continue;  // they have no integers
        ++seed;
        check({3, 9, 7, 5, evaluation, lengths, special}, seed);
        check({1, 7, 1, 1, evaluation, lengths, special}, seed);
        check({2, 11, 3, seed % 2 == 0 ? 33 : 64, evaluation, lengths, special}, seed);
      }
  check({1, 130, 40, 300, false, false, 0}, 1000);
}

// Sums of squares that pass 64 bits.
TEST_F(NormalizationParts, OfManyLargeValues) {
  all_large_ = true;
  check({10, 13, 9, 3, false, false, 0}, 1);
}

}  // namespace
}  // namespace synfire_test
