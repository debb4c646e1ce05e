// Convolutions: against a reference that is written out here, which lists the connections of a map one by one; in every
// type and format of the input; against dense synapses; as parts of layers, in graphs, trained by an optimiser.
#include <functional>
#include <map>
#include <string>

#include "synapse_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;

struct Axis {
  int64_t length, kernel = 1, stride = 1, padding = 0, dilation = 1, extra = 0;
};

struct Case {
  Axis y, x;
  int64_t channels, outputs, groups = 1;
  bool transposed = false;
  int64_t n_steps = 1, batch = 1, active = -1;
  int bits = 0, input_bits = 0, weight_bits = 24;

  int64_t length_of(const Axis& a) const {
    if (transposed) return (a.length - 1) * a.stride - 2 * a.padding + a.dilation * (a.kernel - 1) + a.extra + 1;
    return (a.length + 2 * a.padding - a.dilation * (a.kernel - 1) - 1) / a.stride + 1;
  }
  int64_t places() const { return length_of(y) * length_of(x); }
  int64_t input_places() const { return y.length * x.length; }
  int64_t taps() const { return y.kernel * x.kernel; }
  int64_t group_inputs() const { return channels / groups; }
  int64_t group_outputs() const { return outputs / groups; }
  size_t terms() const { return static_cast<size_t>(taps() * group_inputs()); }
  size_t weights() const { return static_cast<size_t>(outputs) * terms(); }
  // The rows, as those of a dense synapse between all elements of the maps.
  Product product() const { return {n_steps, batch, input_places() * channels, places() * outputs, active}; }
};
std::ostream& operator<<(std::ostream& out, const Axis& a) {
  return out << a.length << " k" << a.kernel << " s" << a.stride << " p" << a.padding << " d" << a.dilation << " +"
             << a.extra;
}
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << (c.transposed ? "transposed " : "") << "(" << c.y << ") x (" << c.x << ") x " << c.channels << " to "
             << c.outputs << " groups " << c.groups << " T " << c.n_steps << " B " << c.batch << " active " << c.active
             << " bits " << c.bits << " " << c.input_bits << " " << c.weight_bits;
}

// ---- The reference --------------------------------------------------------------------------------------------------

struct Connection {
  size_t input, output, tap;  // places of the maps, and of the kernel
};

// From the definitions: a convolution slides a kernel over a padded map; a transposed one adds to its output, for each
// input, the kernel, and cuts off the padding.
std::vector<std::pair<int64_t, int64_t>> meetings(const Case& c, const Axis& a, int64_t tap) {
  std::vector<std::pair<int64_t, int64_t>> found;  // input, output
  if (c.transposed) {
    for (int64_t i = 0; i < a.length; ++i) {
      const int64_t uncut = i * a.stride + tap * a.dilation;
      if (uncut >= a.padding && uncut < a.padding + c.length_of(a)) found.emplace_back(i, uncut - a.padding);
    }
    return found;
  }
  std::vector<int64_t> padded(static_cast<size_t>(a.length + 2 * a.padding), -1);
  for (int64_t i = 0; i < a.length; ++i) padded[static_cast<size_t>(i + a.padding)] = i;
  for (int64_t o = 0, at = tap * a.dilation; o < c.length_of(a); ++o, at += a.stride)
    if (padded[static_cast<size_t>(at)] >= 0) found.emplace_back(padded[static_cast<size_t>(at)], o);
  return found;
}
std::vector<Connection> connections_of(const Case& c) {
  std::vector<Connection> found;
  for (int64_t ky = 0; ky < c.y.kernel; ++ky)
    for (int64_t kx = 0; kx < c.x.kernel; ++kx)
      for (const auto& [iy, oy] : meetings(c, c.y, ky))
        for (const auto& [ix, ox] : meetings(c, c.x, kx))
          found.push_back({static_cast<size_t>(iy * c.x.length + ix), static_cast<size_t>(oy * c.length_of(c.x) + ox),
                           static_cast<size_t>(ky * c.x.kernel + kx)});
  return found;
}

// Dropped inputs, [B, K]; none if `kept` is empty. The factor is that of the type.
struct Dropped {
  std::vector<bool> kept = {};
  double factor = 1;

  explicit operator bool() const { return !kept.empty(); }
};

class Reference {
 public:
  Reference(const Case& c, std::vector<double> x, Dropped dropped = {})
      : c_(c),
        p_(c.product()),
        x_(std::move(x)),
        dropped_(std::move(dropped)),
        outputs_(static_cast<size_t>(c.outputs)) {
    for (size_t i = 0; i < x_.size(); ++i)
      if (!is_kept(i)) x_[i] = 0;
    input_of_.assign(static_cast<size_t>(c.places() * c.taps()), none_);
    output_of_.assign(static_cast<size_t>(c.input_places() * c.taps()), none_);
    for (const Connection& each : connections_of(c)) {
      input_of_[each.output * taps() + each.tap] = each.input;
      output_of_[each.input * taps() + each.tap] = each.output;
    }
  }

  // The input of term k of an output, in row m; 0 outside the map.
  double input(size_t m, size_t place, size_t o, size_t k) const {
    const size_t i = index(m, place, o, k);
    return i == none_ ? 0 : x_[i];
  }
  size_t channel(size_t o, size_t k) const {
    return o / static_cast<size_t>(c_.group_outputs()) * inputs() + k % inputs();
  }

  std::vector<float> exact_product(const Weights& w) const {
    std::vector<float> y(p_.rows() * p_.outputs());
    for (size_t o = 0; o < outputs_; ++o) {
      const int grid = grid_of_output(w, o);
      std::vector<int64_t> q;
      for (size_t k = 0; k < c_.terms(); ++k) q.push_back(weight_on_grid(w.weight[o * c_.terms() + k], grid));
      for_each_place([&](size_t m, size_t place) {
        int64_t sum = w.bias.empty() || dropped_ ? 0 : on_grid(w.bias[o], grid);
        for (size_t k = 0; k < c_.terms(); ++k) sum += q[k] * static_cast<int64_t>(input(m, place, o, k));
        float& to = y[m * p_.outputs() + place * outputs_ + o];
        to = std::ldexp(static_cast<float>(sum), grid);
        if (!dropped_) return;
        const float bias = w.bias.empty() ? 0.0f : w.bias[o];
        const float scale = std::ldexp(1.0f, grid) * static_cast<float>(dropped_.factor);
        to = sum == 0 ? bias + 0.0f : std::fma(static_cast<float>(sum), scale, bias);
      });
    }
    return y;
  }
  template <typename R>
  std::vector<R> ordered_product(const std::vector<R>& weight, const std::vector<R>& bias) const {
    std::vector<R> y(p_.rows() * p_.outputs());
    for (size_t o = 0; o < outputs_; ++o)
      for_each_place([&](size_t m, size_t place) {
        const double total = ordered_sum<R>(c_.terms(), [&](size_t k) {
          return std::pair(static_cast<R>(input(m, place, o, k)), weight[o * c_.terms() + k]);
        });
        y[m * p_.outputs() + place * outputs_ + o] = static_cast<R>(
            bias.empty() ? total * dropped_.factor : std::fma(total, dropped_.factor, static_cast<double>(bias[o])));
      });
    return y;
  }
  // The weights on their grid as numbers, of values: their biases have none.
  std::vector<float> rounded(const std::vector<float>& weight) const {
    std::vector<float> numbers;
    for (size_t i = 0; i < weight.size(); ++i) {
      const int grid = grid_of_output({weight, {}}, i / c_.terms());
      numbers.push_back(std::ldexp(static_cast<float>(weight_on_grid(weight[i], grid)), grid));
    }
    return numbers;
  }

  // For spikes and counts; `scale` is the value of a count.
  Gradients<float> exact_gradients(const std::vector<float>& grad, double scale = 1) const {
    Gradients<float> got;
    for (size_t o = 0; o < outputs_; ++o) {
      const auto [finite, grid] = grid_of_gradients(grad, o);
      std::vector<int64_t> sums(c_.terms() + 1);
      if (finite)
        for_each_place([&, of_grid = grid](size_t m, size_t place) {
          const int64_t g = on_grid(grad[m * p_.outputs() + place * outputs_ + o], of_grid);
          for (size_t k = 0; k < c_.terms(); ++k) sums[k] += g * static_cast<int64_t>(input(m, place, o, k));
          sums.back() += g;
        });
      const auto number = [&, of_grid = grid, is_finite = finite](int64_t sum, double first, double second) {
        const double once = std::ldexp(static_cast<double>(sum), of_grid) * first;
        return is_finite ? static_cast<float>(once * second) : nan_;
      };
      for (size_t k = 0; k < c_.terms(); ++k) got.weight.push_back(number(sums[k], dropped_.factor, scale));
      got.bias.push_back(number(sums.back(), 1, 1));
    }
    return got;
  }
  Gradients<float> value_gradients(const std::vector<float>& grad) const {
    Gradients<float> got;
    const auto channels = static_cast<size_t>(c_.channels);
    std::vector<float> largest(channels);
    for (size_t i = 0; i < x_.size(); ++i)
      if (p_.is_active(i / p_.inputs()) && !(std::fabs(x_[i]) <= static_cast<double>(largest[i % channels])) &&
          !std::isnan(largest[i % channels]))
        largest[i % channels] = static_cast<float>(std::fabs(x_[i]));
    std::vector<int> grids;
    for (const float most : largest) grids.push_back(std::isfinite(most) ? grid_of(most, largest_24) : 0);
    std::vector<int64_t> integers(x_.size());
    for (size_t i = 0; i < x_.size(); ++i)
      if (p_.is_active(i / p_.inputs()) && std::isfinite(largest[i % channels]))
        integers[i] = on_grid(x_[i], grids[i % channels]);
    for (size_t o = 0; o < outputs_; ++o) {
      const auto [finite, grid] = grid_of_gradients(grad, o);
      std::vector<Wide> sums(c_.terms());
      int64_t bias = 0;
      if (finite)
        for_each_place([&, of_grid = grid](size_t m, size_t place) {
          const int64_t g = on_grid(grad[m * p_.outputs() + place * outputs_ + o], of_grid);
          bias += g;
          for (size_t k = 0; k < c_.terms(); ++k)
            if (const size_t i = index(m, place, o, k); i != none_) sums[k] += static_cast<Wide>(g) * integers[i];
        });
      for (size_t k = 0; k < c_.terms(); ++k) {
        const size_t c = channel(o, k);
        got.weight.push_back(
            finite && std::isfinite(largest[c])
                ? static_cast<float>(std::ldexp(static_cast<double>(sums[k]), grid + grids[c]) * dropped_.factor)
                : nan_);
      }
      got.bias.push_back(finite ? static_cast<float>(std::ldexp(static_cast<double>(bias), grid)) : nan_);
    }
    return got;
  }
  Gradients<double> ordered_gradients(const std::vector<double>& grad, double scale) const {
    std::vector<std::pair<size_t, size_t>> all;
    for_each_place([&](size_t m, size_t place) { all.emplace_back(m, place); });
    Gradients<double> got;
    for (size_t o = 0; o < outputs_; ++o) {
      const auto gradient = [&](size_t i) { return grad[all[i].first * p_.outputs() + all[i].second * outputs_ + o]; };
      for (size_t k = 0; k < c_.terms(); ++k)
        got.weight.push_back(
            ordered_sum<double>(
                all.size(),
                [&](size_t i) { return std::pair(gradient(i), input(all[i].first, all[i].second, o, k)); }) *
            dropped_.factor * scale);
      got.bias.push_back(ordered_sum<double>(all.size(), [&](size_t i) { return std::pair(gradient(i), 1.0); }));
    }
    return got;
  }

  std::vector<float> exact_input_gradient(const Weights& w, const std::vector<float>& grad) const {
    std::vector<float> dx(x_.size());
    std::vector<int> grids;
    for (size_t o = 0; o < outputs_; ++o) grids.push_back(grid_of_output(w, o));
    std::vector<int64_t> q;
    for (size_t i = 0; i < w.weight.size(); ++i) q.push_back(weight_on_grid(w.weight[i], grids[i / c_.terms()]));
    const int64_t most = c_.input_bits == 16 ? 0x7F7F : c_.input_bits == 32 ? largest_32 : largest_24;
    for (size_t m = 0; m < p_.rows(); ++m) {
      if (!p_.is_active(m)) continue;
      const float* const g = grad.data() + m * p_.outputs();
      const bool finite = std::all_of(g, g + p_.outputs(), [](float value) { return std::isfinite(value); });
      double largest = 0;
      for (size_t i = 0; i < p_.outputs() && finite; ++i)
        largest = std::max(largest, std::fabs(std::ldexp(static_cast<double>(g[i]), grids[i % outputs_])));
      int image = -340;
      while (std::fabs(std::ldexp(largest, -image)) > 4e18 || on_grid(largest, image) > most) ++image;
      std::vector<int64_t> h;
      for (size_t i = 0; i < p_.outputs() && finite; ++i) h.push_back(on_grid(g[i], image - grids[i % outputs_]));
      for (size_t i = 0; i < p_.inputs(); ++i) {
        if (!is_kept(m * p_.inputs() + i)) continue;
        Wide sum = 0;
        if (finite)
          for_each_output(i, [&](size_t output, size_t weight) { sum += static_cast<Wide>(h[output]) * q[weight]; });
        dx[m * p_.inputs() + i] =
            finite ? static_cast<float>(std::ldexp(static_cast<double>(sum), image) * dropped_.factor) : nan_;
      }
    }
    return dx;
  }
  std::vector<double> ordered_input_gradient(const std::vector<double>& weight, const std::vector<double>& grad) const {
    std::vector<double> dx(x_.size());
    const auto outputs = static_cast<size_t>(c_.group_outputs());
    for (size_t m = 0; m < p_.rows(); ++m)
      for (size_t i = 0; i < p_.inputs() && p_.is_active(m); ++i) {
        if (!is_kept(m * p_.inputs() + i)) continue;
        // Terms by taps and outputs, also those without an output.
        std::vector<std::pair<double, double>> terms(taps() * outputs, {0, 0});
        for_each_output(i, [&](size_t output, size_t w) {
          const size_t tap = w % c_.terms() / inputs();
          terms[tap * outputs + output % outputs_ % outputs] = {grad[m * p_.outputs() + output], weight[w]};
        });
        dx[m * p_.inputs() + i] =
            ordered_sum<double>(terms.size(), [&](size_t l) { return terms[l]; }) * dropped_.factor;
      }
    return dx;
  }

 private:
  size_t taps() const { return static_cast<size_t>(c_.taps()); }
  size_t inputs() const { return static_cast<size_t>(c_.group_inputs()); }

  // The index of that input, or none_.
  size_t index(size_t m, size_t place, size_t o, size_t k) const {
    const size_t from = input_of_[place * taps() + k / inputs()];
    return from == none_ ? none_ : m * p_.inputs() + from * static_cast<size_t>(c_.channels) + channel(o, k);
  }
  // The places of the outputs of active rows, in their order.
  template <class F>
  void for_each_place(F f) const {
    for (size_t m = 0; m < p_.rows(); ++m)
      for (size_t place = 0; place < static_cast<size_t>(c_.places()) && p_.is_active(m); ++place) f(m, place);
  }
  // Calls f(output, weight) for the outputs that read an input, by taps and output channels.
  template <class F>
  void for_each_output(size_t i, F f) const {
    const size_t c = i % static_cast<size_t>(c_.channels), group = c / inputs();
    const auto outputs = static_cast<size_t>(c_.group_outputs());
    for (size_t tap = 0; tap < taps(); ++tap) {
      const size_t place = output_of_[i / static_cast<size_t>(c_.channels) * taps() + tap];
      if (place == none_) continue;
      for (size_t o = group * outputs; o < (group + 1) * outputs; ++o)
        f(place * outputs_ + o, o * c_.terms() + tap * inputs() + c % inputs());
    }
  }
  bool is_kept(size_t i) const {
    const size_t m = i / p_.inputs();
    return !dropped_ || dropped_.kept[m % p_.rows_per_step() * p_.inputs() + i % p_.inputs()];
  }
  // A multiple of 2^(24 - bits).
  int64_t weight_on_grid(float weight, int grid) const {
    const int dropped = 24 - c_.weight_bits;
    return on_grid(static_cast<double>(weight), grid + dropped) * (int64_t{1} << dropped);
  }
  // The finest one, found by trying them all.
  int grid_of_output(const Weights& w, size_t o) const {
    const int64_t most = c_.weight_bits == 8 ? 0x7F0000 : c_.weight_bits == 16 ? 0x7F7F00 : largest_24;
    const float largest = largest_of(w.weight, o * c_.terms(), c_.terms());
    int own = -149;
    while (std::ldexp(static_cast<double>(largest), -own) > 4e18 || weight_on_grid(largest, own) > most) ++own;
    return w.bias.empty() ? own : std::max(own, grid_of(std::fabs(w.bias[o]), largest_32));
  }
  std::pair<bool, int> grid_of_gradients(const std::vector<float>& grad, size_t o) const {
    float largest = 0;
    for_each_place([&](size_t m, size_t place) {
      const float magnitude = std::fabs(grad[m * p_.outputs() + place * outputs_ + o]);
      if (!(magnitude <= largest) && !std::isnan(largest)) largest = magnitude;
    });
    if (!std::isfinite(largest)) return {false, 0};
    return {true, grid_of(largest, c_.bits == 24 ? largest_24 : largest_32)};
  }

  static constexpr size_t none_ = static_cast<size_t>(-1);
  static constexpr float nan_ = std::numeric_limits<float>::quiet_NaN();
  const Case& c_;
  const Product p_;
  std::vector<double> x_;
  const Dropped dropped_;
  const size_t outputs_;
  std::vector<size_t> input_of_, output_of_;  // [place, tap]
};

// ---- The calls ------------------------------------------------------------------------------------------------------

synfire_conv2d_desc describe(const Case& c, bool with_bias, int32_t dtype = SYNFIRE_DTYPE_F32,
                             int32_t kind = SYNFIRE_INPUT_SPIKES) {
  synfire_conv2d_desc desc = SYNFIRE_CONV2D_DESC_INIT;
  desc.input_kind = kind;
  desc.channels = c.channels;
  desc.output_channels = c.outputs;
  desc.height = c.y.length;
  desc.width = c.x.length;
  desc.kernel_height = c.y.kernel;
  desc.kernel_width = c.x.kernel;
  desc.stride_y = c.y.stride;
  desc.stride_x = c.x.stride;
  desc.padding_y = c.y.padding;
  desc.padding_x = c.x.padding;
  desc.dilation_y = c.y.dilation;
  desc.dilation_x = c.x.dilation;
  desc.output_padding_y = c.y.extra;
  desc.output_padding_x = c.x.extra;
  desc.groups = c.groups;
  desc.transposed = c.transposed ? 1 : 0;
  desc.dtype = dtype;
  desc.bias = with_bias ? 1 : 0;
  desc.gradient_bits = c.bits;
  desc.input_gradient_bits = c.input_bits;
  if (c.weight_bits != 24) desc.weight_bits = c.weight_bits;
  return desc;
}

Synapse make_conv2d(synfire_context context, const synfire_conv2d_desc& desc) {
  synfire_synapse synapse = nullptr;
  EXPECT_OK(synfire_synapse_create_conv2d(context, &desc, &synapse));
  return Synapse(synapse);
}

// A case is computed with these.
struct Given {
  int32_t kind = SYNFIRE_INPUT_SPIKES, dtype = SYNFIRE_DTYPE_F32, input_dtype = SYNFIRE_DTYPE_BITS;
  bool with_bias = true;
  int32_t bound = 0;
  float scale = 0;
  bool masked = false;
  enum { none, inputs, channels } drops = none;
};

// Masks of inputs or of channels, drawn here, and their buffers.
struct Drops {
  Drops(synfire_context context, const Case& c, const Given& given, Random& random) {
    if (given.drops == Given::none) return;
    const auto batch = static_cast<size_t>(c.batch), inputs = c.product().inputs(),
               n = given.drops == Given::channels ? static_cast<size_t>(c.channels) : inputs, words = (n + 31) / 32;
    std::vector<uint32_t> bits(batch * words);
    for (size_t b = 0; b < batch; ++b)
      for (size_t i = 0; i < n; ++i)
        if (random.whole(0, 2) != 0) bits[b * words + i / 32] |= 1u << (i % 32);
    for (size_t b = 0; b < batch; ++b)
      for (size_t i = 0; i < inputs; ++i)
        dropped.kept.push_back((bits[b * words + i % n / 32] >> (i % n % 32) & 1u) != 0);
    mask = make_buffer(context, SYNFIRE_DTYPE_BITS, bits.size());
    upload(mask, bits);
    scale = make_buffer(context, given.dtype, 1);
    dropped.factor = given.dtype == SYNFIRE_DTYPE_F64 ? 1 / 0.7 : static_cast<double>(static_cast<float>(1 / 0.7));
    if (given.dtype == SYNFIRE_DTYPE_F64)
      upload(scale, std::vector<double>{dropped.factor});
    else
      upload(scale, std::vector<float>{static_cast<float>(dropped.factor)});
  }
  Dropped dropped;
  Buffer mask, scale;
};

class Conv2d : public SynapseTest {
 protected:
  static synfire_conv2d_desc desc_of(const Case& c, const Given& given) {
    synfire_conv2d_desc desc = describe(c, given.with_bias, given.dtype, given.kind);
    desc.count_bound = given.bound;
    desc.count_scale = given.scale;
    return desc;
  }
  Rows input_rows(const Case& c, const Given& given, const std::vector<double>& x, Placement placement) {
    if (given.kind == SYNFIRE_INPUT_SPIKES) return spikes_in(context, given.input_dtype, c.product(), x, placement);
    Rows rows = rows_for_input(context, given.input_dtype, c.product(), placement);
    rows.put(x);
    return rows;
  }
  static std::vector<double> random_inputs(const Case& c, const Given& given, Random& random) {
    std::vector<double> x(c.product().rows() * c.product().inputs());
    for (double& value : x) {
      if (given.kind == SYNFIRE_INPUT_SPIKES)
        value = random.uniform(0, 1) < 0.3 ? 1 : 0;
      else if (given.kind == SYNFIRE_INPUT_COUNTS)
        value = random.uniform(0, 1) < 0.4 ? static_cast<double>(random.whole(1, 255)) : 0;
      else  // exact in 16 bits
        value = std::nearbyint(random.uniform(-3, 3) * 16) / 16;
    }
    return x;
  }

  // Product and gradients, now and in a graph, where the gradients are added to those of the call.
  template <typename R>
  void check(Case c, const Given& given, uint64_t seed) {
    SCOPED_TRACE(testing::Message() << c << " kind " << given.kind << " input " << given.input_dtype << " bias "
                                    << given.with_bias << " bound " << given.bound << " scale " << given.scale
                                    << " masked " << given.masked << " drops " << given.drops << " seed " << seed);
    const Product p = c.product();
    Random random(seed);
    synfire_conv2d_desc desc = desc_of(c, given);
    std::vector<uint8_t> mask;
    if (given.masked) {
      for (size_t i = 0; i < c.weights(); ++i) mask.push_back(random.whole(0, 2) == 0 ? 0 : 1);
      desc.mask = mask.data();
      desc.mask_length = mask.size();
    }
    const Synapse synapse = make_conv2d(context, desc);
    if (c.bits == 0) c.bits = 32;
    if (c.input_bits == 0) c.input_bits = 24;
    auto weight = random.values<R>(c.weights(), -1, 1);
    // Outputs on different grids, with some weights far smaller than the largest.
    for (size_t o = 0; o < static_cast<size_t>(c.outputs); ++o) {
      const R scale = std::ldexp(R(1), static_cast<int>(random.whole(-8, 8)));
      for (size_t k = 0; k < c.terms(); ++k)
        weight[o * c.terms() + k] *= random.whole(0, 9) == 0 ? scale * R(1e-4) : scale;
    }
    const auto bias = given.with_bias ? random.values<R>(static_cast<size_t>(c.outputs), -1, 1) : std::vector<R>();
    auto grad = random.values<R>(p.rows() * p.outputs(), -1, 1);
    for (R& g : grad) g *= std::ldexp(R(1), static_cast<int>(random.whole(-20, 3)));
    write(synapse, "weight", weight);
    if (given.with_bias) write(synapse, "bias", bias);
    for (size_t i = 0; i < mask.size(); ++i)
      if (mask[i] == 0) weight[i] = 0;

    std::vector<double> x = random_inputs(c, given, random);
    const Placement placement = seed % 2 == 0 ? Placement{} : Placement{3, 5};
    const Rows input = input_rows(c, given, x, placement);
    const int32_t bound = given.bound == 0 ? 255 : given.bound;
    if (given.kind == SYNFIRE_INPUT_COUNTS)
      for (double& value : x) value = std::min<double>(value, bound);
    const Rows output = outputs_in(context, given.dtype, p, placement);
    Rows grad_output = outputs_in(context, given.dtype, p, placement);
    Product inputs = p;
    std::swap(inputs.n_inputs, inputs.n_outputs);
    const Rows grad_input = outputs_in(context, given.dtype, inputs, placement);
    grad_output.put(std::vector<double>(grad.begin(), grad.end()));
    const Buffer n_active = active_buffer(p);
    auto fd = forward(p, input, output, n_active);
    auto bd = backward(p, grad_output, input, grad_input, n_active);
    const Drops drops(context, c, given, random);
    fd.input_mask = bd.input_mask = drops.mask;
    fd.input_scale = bd.input_scale = drops.scale;
    fd.mask_channels = bd.mask_channels = given.drops == Given::channels ? c.channels : 0;

    const Reference reference(c, x, drops.dropped);
    const float scale = given.scale == 0 ? 1 : given.scale;
    std::vector<R> scaled = weight;
    for (R& w : scaled) w *= static_cast<R>(scale);
    std::vector<R> y, dx;
    Gradients<R> wanted;
    if constexpr (sizeof(R) == sizeof(float)) {
      const Weights w = {scaled, given.kind == SYNFIRE_INPUT_VALUES ? std::vector<float>() : bias};
      const bool values = given.kind == SYNFIRE_INPUT_VALUES;
      y = !values               ? reference.exact_product(w)
          : c.weight_bits == 24 ? reference.ordered_product(scaled, bias)
                                : reference.ordered_product(reference.rounded(scaled), bias);
      wanted = values ? reference.value_gradients(grad) : reference.exact_gradients(grad, static_cast<double>(scale));
      dx = reference.exact_input_gradient(w, grad);
    } else {
      y = reference.ordered_product(scaled, bias);
      wanted = reference.ordered_gradients(grad, static_cast<double>(scale));
      dx = reference.ordered_input_gradient(scaled, grad);
    }
    for (size_t i = 0; i < mask.size(); ++i)
      if (mask[i] == 0) wanted.weight[i] = 0;
    const auto expect_gradients = [&] {
      EXPECT_TRUE(same_bits(read<R>(synapse, "weight_gradient", c.weights()), wanted.weight));
      if (given.with_bias) {
        EXPECT_TRUE(same_bits(read<R>(synapse, "bias_gradient", bias.size()), wanted.bias));
      }
    };
    const auto as_double = [](const std::vector<R>& from) { return std::vector<double>(from.begin(), from.end()); };

    EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
    EXPECT_TRUE(same_bits(output.get(), as_double(y)));
    EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
    EXPECT_TRUE(same_bits(grad_input.get(), as_double(dx)));
    expect_gradients();

    bd.add_gradients = bd.add_input_gradient = 1;
    replay_of(synapse, fd, bd);
    EXPECT_TRUE(same_bits(output.get(), as_double(y)));
    for (std::vector<R>* each : {&dx, &wanted.weight, &wanted.bias})
      for (R& value : *each) value = value + value;
    EXPECT_TRUE(same_bits(grad_input.get(), as_double(dx)));
    expect_gradients();
  }
};

// Kernels of 1, 3 and 5; strides, paddings and dilations that differ by axis; channels below, at and beyond a word, and
// tiles of 128; groups, each channel by itself, several outputs of each; sequences; a kernel of the map's size.
const Case cases[] = {
    {{1}, {1}, 1, 1},
    {{5, 3, 1, 1}, {6, 3, 1, 1}, 2, 7, 1, false, 3, 2},
    {{6, 3, 2, 1}, {7, 5, 3, 2}, 3, 33, 1, false, 2, 3, 2},
    {{7, 3, 1, 2, 2}, {5, 2, 2, 0, 3}, 33, 5, 1, false, 1, 2},
    {{4, 1, 1}, {3, 1, 2}, 64, 130, 1, false, 2, 1},
    {{3, 3}, {4, 4}, 5, 6, 1, false, 4, 3},
    {{1}, {40, 7, 2, 3}, 12, 9, 1, false, 2, 2, 0},
    {{4, 3, 1, 1}, {4, 3, 1, 1}, 6, 9, 3, false, 2, 2},
    {{6, 3, 2, 1}, {5, 3, 1, 1}, 40, 80, 2, false, 1, 2, -1, 24, 16},
    {{5, 3, 1, 1}, {5, 3, 2, 0}, 37, 37, 37, false, 3, 2},
    {{5, 2, 1, 1}, {3, 3, 1, 1}, 4, 8, 4, false, 2, 2, 1, 24, 32},
    {{9, 3, 1, 1}, {9, 3, 1, 1}, 20, 16, 1, false, 5, 3, -1, 24, 32},
    {{3, 4, 2, 1}, {4, 4, 2, 1}, 5, 6, 1, true, 2, 2},
    {{3, 3, 2, 1, 1, 1}, {4, 3, 3, 0, 2, 2}, 33, 4, 1, true, 2, 2, 1, 24, 32},
    {{3, 2, 3}, {2, 5, 1, 2}, 6, 4, 2, true, 1, 3, -1, 0, 16},
    {{4, 3, 2, 1, 1, 1}, {4, 3, 2, 1, 1, 1}, 10, 10, 10, true, 2, 2, -1, 0, 32},
};

TEST_F(Conv2d, SpikesInF32) {
  constexpr int32_t formats[] = {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_F32};
  uint64_t seed = 1;
  Sample sample;
  for (const Case& c : cases)
    for (const bool with_bias : {false, true}) {
      if (sample.next()) check<float>(c, {SYNFIRE_INPUT_SPIKES, SYNFIRE_DTYPE_F32, formats[seed % 4], with_bias}, seed);
      ++seed;
    }
}

TEST_F(Conv2d, Counts) {
  uint64_t seed = 100;
  Sample sample;
  for (const Case& c : cases) {
    if (sample.next())
      check<float>(c,
                   {SYNFIRE_INPUT_COUNTS, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_U8, seed % 2 == 0, seed % 3 == 0 ? 4 : 0,
                    seed % 2 == 0 ? 0.0f : 1.0f / 9},
                   seed);
    ++seed;
  }
  check<double>(cases[1], {SYNFIRE_INPUT_COUNTS, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_U8, true, 4, 0.25f}, seed);
}

TEST_F(Conv2d, Values) {
  constexpr int32_t formats[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16};
  uint64_t seed = 200;
  Sample sample;
  for (const Case& c : cases) {
    if (sample.next())
      check<float>(c, {SYNFIRE_INPUT_VALUES, SYNFIRE_DTYPE_F32, formats[seed % 3], seed % 2 == 0}, seed);
    ++seed;
  }
}

TEST_F(Conv2d, InF64) {
  uint64_t seed = 300;
  Sample sample;
  for (const Case& c : cases) {
    if (sample.next())
      check<double>(
          c, {SYNFIRE_INPUT_SPIKES, SYNFIRE_DTYPE_F64, seed % 2 == 0 ? SYNFIRE_DTYPE_BITS : SYNFIRE_DTYPE_F64}, seed);
    if (sample.next())
      check<double>(c, {SYNFIRE_INPUT_VALUES, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F64, seed % 2 == 0}, seed);
    ++seed;
  }
}

// Weights of 8 and 16 bits, masks of connections, and dropout of inputs and of channels, in all their combinations.
TEST_F(Conv2d, FewBitsMasksAndDropout) {
  constexpr int32_t kinds[] = {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_COUNTS, SYNFIRE_INPUT_VALUES};
  constexpr int32_t spikes[] = {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_TIME_BITS};
  constexpr int32_t numbers[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16};
  uint64_t seed = 399;
  for (Case c : cases)
    for (const int32_t kind : kinds) {
      if (!sampled(++seed - 400)) continue;
      Given given = {kind, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_U8, seed % 2 == 0};
      if (kind != SYNFIRE_INPUT_COUNTS)
        given.input_dtype = (kind == SYNFIRE_INPUT_SPIKES ? spikes : numbers)[seed / 3 % 3];
      if (kind == SYNFIRE_INPUT_COUNTS && seed % 2 == 0) given.scale = 1.0f / 3;
      given.masked = seed % 5 < 3;
      given.drops = seed % 4 == 0 ? Given::none : seed % 4 == 1 ? Given::inputs : Given::channels;
      c.weight_bits = seed % 7 < 3 ? 8 : seed % 7 < 6 ? 16 : 24;
      check<float>(c, given, seed);
      if (seed / 3 % 6 != 0) continue;
      c.weight_bits = 24;
      given.dtype = SYNFIRE_DTYPE_F64;
      if (kind == SYNFIRE_INPUT_VALUES) given.input_dtype = SYNFIRE_DTYPE_F64;
      check<double>(c, given, seed);
    }
}

Axis random_axis(Random& random, bool transposed) {
  for (;;) {
    Axis a = {random.whole(1, 9), random.whole(1, 4), random.whole(1, 3), random.whole(0, 2), random.whole(1, 2)};
    if (transposed) a.extra = random.whole(0, std::max(a.stride, a.dilation) - 1);
    const int64_t reach = a.dilation * (a.kernel - 1) + 1;
    if (transposed ? (a.length - 1) * a.stride + reach + a.extra > 2 * a.padding : reach <= a.length + 2 * a.padding)
      return a;
  }
}

TEST_F(Conv2d, RandomShapes) {
  Random random(7);
  for (uint64_t seed = 1000; seed < 1120; ++seed) {
    Case c = {{1}, {1}, 1, 1};
    c.transposed = random.whole(0, 2) == 0;
    c.y = random_axis(random, c.transposed);
    c.x = random_axis(random, c.transposed);
    c.groups = random.whole(0, 2) == 0 ? random.whole(1, 5) : 1;
    c.channels = c.groups * random.whole(1, c.groups == 1 ? 70 : 4);
    c.outputs = c.groups * random.whole(1, c.groups == 1 ? 70 : 4);
    c.n_steps = random.whole(1, 3);
    c.batch = random.whole(1, 3);
    c.active = random.whole(-1, c.batch);
    c.bits = random.whole(0, 1) == 0 ? 0 : 24;
    c.input_bits = static_cast<int>(random.whole(1, 4)) * 8 % 32;
    if (c.input_bits == 8) c.input_bits = 32;
    const int64_t kind = random.whole(0, 3);
    if (!sampled(seed - 1000)) continue;
    switch (kind) {
      case 0:
        check<float>(c, {SYNFIRE_INPUT_COUNTS, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_U8, true, 9, 0.5f}, seed);
        break;
      case 1:
        check<float>(c, {SYNFIRE_INPUT_VALUES, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F32}, seed);
        break;
      default:
        check<float>(c, {}, seed);
    }
  }
}

// Gradients of inputs where places of the input are rows on a GPU: channels and outputs below, at and beyond words and
// tiles; strides, dilations, paddings beyond the kernel's, transposed maps; all rows, some and none; dropped inputs of
// whole words. The last three have too few channels or too long strides for it.
TEST_F(Conv2d, PlacesOfInputs) {
  const Case of_inputs[] = {
      {{5, 3, 2, 1}, {7, 3, 1, 2, 2}, 33, 31, 1, false, 2, 3, 2},
      {{4, 3, 1, 4, 2}, {5, 2, 1, 3}, 64, 65, 1, false, 3, 2, -1, 0, 16},
      {{3, 3, 2, 1, 1, 1}, {4, 3, 3, 0, 2, 2}, 32, 65, 1, true, 2, 3, 1},
      {{6, 3, 1, 1}, {5, 3, 1, 1}, 96, 1, 1, false, 1, 1},
      {{3, 3, 1, 1}, {17, 1}, 8, 32, 1, false, 4, 1, 0},
      {{2, 4, 2, 1}, {3, 4, 2, 1}, 40, 3, 1, true, 1, 2},
      {{4, 3, 1, 1}, {4, 3, 1, 1}, 3, 31, 1, false, 2, 2},
      {{4, 3, 1, 1}, {4, 3, 1, 1}, 1, 31, 1, false, 2, 2, 1},
      {{9, 3, 4, 1}, {9, 3, 4, 1}, 32, 65, 1, false, 1, 2},
  };
  uint64_t seed = 600;
  Sample sample;
  for (const Case& c : of_inputs) {
    if (!sample.next()) {
      seed += 2;
      continue;
    }
    check<float>(c, {SYNFIRE_INPUT_SPIKES}, seed++);
    Given dropped = {SYNFIRE_INPUT_COUNTS, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_U8, true, 0, 1.0f / 9, true};
    dropped.drops = seed % 2 == 0 ? Given::inputs : Given::channels;
    check<float>(c, dropped, seed++);
  }
}

// Kernels for large sizes on a GPU: dL/dx of more outputs than shared memory holds, and products of many places, with
// planes that are left out.
TEST_F(Conv2d, ManyPlacesAndOutputs) {
  Case many_outputs = {{4, 3, 1, 1}, {5, 3, 1, 1}, 32, 132, 1, false, 1, 2},
       many_places = {{16}, {11}, 8, 140, 1, false, 4, 4};
  Sample sample;
  for (const int weight_bits : {24, 16}) {
    if (!sample.next()) continue;
    many_outputs.weight_bits = weight_bits;
    check<float>(many_outputs, {SYNFIRE_INPUT_SPIKES}, 700);
  }
  for (const int weight_bits : {16, 8}) {
    if (!sample.next()) continue;
    many_places.weight_bits = weight_bits;
    check<float>(many_places, {SYNFIRE_INPUT_SPIKES}, 702);
    check<float>(many_places, {SYNFIRE_INPUT_COUNTS, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_U8}, 702);
  }
}

// Each channel has its own kernel: words of channels and parts of one, rows of places and of taps beyond those of a
// thread, strides, dilations, rows that do not count.
TEST_F(Conv2d, Depthwise) {
  const Case depthwise[] = {
      {{5, 3, 1, 1}, {19, 5, 2, 2}, 64, 64, 64, false, 2, 2},
      {{6, 3, 1, 2, 2}, {9, 3, 1, 1}, 32, 32, 32, false, 1, 3, 1, 24, 16},
      {{3}, {12, 9, 1, 4}, 96, 96, 96, false, 2, 1},
      {{4, 3, 2, 1}, {5, 4, 3, 2}, 40, 40, 40, true, 2, 2},
  };
  uint64_t seed = 720;
  Sample sample;
  for (const Case& c : depthwise) {
    if (!sample.next()) {
      seed += 3;
      continue;
    }
    check<float>(c, {SYNFIRE_INPUT_SPIKES}, seed++);
    Given counts = {SYNFIRE_INPUT_COUNTS, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_U8, true, 0, 1.0f / 9};
    check<float>(c, counts, seed++);
    counts.drops = Given::channels;
    check<float>(c, counts, seed++);
  }
}

// ---- Definitions ----------------------------------------------------------------------------------------------------

// Small maps of values, computed by hand; a weight is listed for each output channel, place of the kernel, input
// channel.
TEST_F(Conv2d, ByHand) {
  const auto product = [&](const Case& c, const std::vector<float>& weight, const std::vector<double>& x,
                           float bias = 0) {
    const Synapse synapse = make_conv2d(context, describe(c, true, SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_VALUES));
    write(synapse, "weight", weight);
    write(synapse, "bias", std::vector<float>(static_cast<size_t>(c.outputs), bias));
    const Product p = c.product();
    Rows input = rows_for_input(context, SYNFIRE_DTYPE_F32, p);
    input.put(x);
    const Rows output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
    const auto fd = forward(p, input, output, nullptr);
    EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
    return output.get();
  };
  using Numbers = std::vector<double>;
  EXPECT_EQ(product({{1}, {4, 3, 2, 1}, 1, 1}, {1, 1, 1}, {1, 2, 3, 4}), Numbers({3, 9}));
  EXPECT_EQ(product({{1}, {4, 2}, 1, 1}, {1, 10}, {1, 2, 3, 4}), Numbers({21, 32, 43}));  // the kernel is not flipped
  // Groups are blocks of neighbouring channels.
  EXPECT_EQ(product({{1}, {1}, 2, 4, 2}, {1, 10, 100, 1000}, {2, 3}), Numbers({2, 20, 300, 3000}));
  EXPECT_EQ(product({{1}, {1}, 2, 4, 2, true}, {1, 10, 100, 1000}, {2, 3}), Numbers({2, 20, 300, 3000}));
  // Transposed: output_padding makes the map larger, and products and bias reach it.
  EXPECT_EQ(product({{1}, {1, 3, 2, 1, 1, 1}, 1, 1, 1, true}, {1, 2, 3}, {1}, 0.5f), Numbers({2.5, 3.5}));
  EXPECT_EQ(product({{1}, {2, 3, 2}, 1, 1, 1, true}, {1, 2, 3}, {1, 0}), Numbers({1, 2, 3, 0, 0}));
  // The channels of a place are neighbours, and rows of a map come after one another.
  EXPECT_EQ(product({{2, 2}, {2, 2}, 2, 1}, {1, 10, 100, 1000, 1e4f, 1e5f, 1e6f, 2e6f}, {1, 2, 3, 4, 5, 6, 7, 0}),
            Numbers({1 + 20 + 300 + 4000 + 5e4 + 6e5 + 7e6}));
}

// A kernel of the size of the map is a dense synapse, and one of a single place the dense synapse of each place, in
// every bit: products and gradients of weights. Where the map has one place, so are gradients of inputs. With fewer
// bits, a mask and dropout of channels too.
class Conv2dAndDense : public Conv2d, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Bits, Conv2dAndDense, testing::Values(24, 16, 8));

TEST_P(Conv2dAndDense, AreEqual) {
  const bool plain = GetParam() == 24;
  for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES, SYNFIRE_INPUT_COUNTS})
    for (Case c : {Case{{3, 3}, {5, 5}, 7, 40, 1, false, 3, 2}, Case{{4}, {3}, 33, 20, 1, false, 2, 3}}) {
      SCOPED_TRACE(testing::Message() << c << " kind " << kind);
      c.weight_bits = GetParam();
      const bool drops = !plain && c.places() == 1;
      const Product p = c.product();
      const int64_t terms = static_cast<int64_t>(c.terms());
      const Product dense = {p.n_steps, p.batch * c.places(), terms, c.outputs};
      Random random(5);
      const auto weight = random.values<float>(c.weights(), -1, 1),
                 bias = random.values<float>(static_cast<size_t>(c.outputs), -1, 1);
      const auto gradients = as_doubles(random.values<float>(p.rows() * p.outputs(), -1, 1));
      std::vector<double> x = as_doubles(random.values<float>(p.rows() * p.inputs(), -1, 1));
      if (kind == SYNFIRE_INPUT_SPIKES)
        for (double& value : x) value = value > 0.4 ? 1 : 0;
      if (kind == SYNFIRE_INPUT_COUNTS)
        for (double& value : x) value = std::max(0.0, std::nearbyint(value * 255));
      auto desc = synfire_test::describe(dense, true, SYNFIRE_DTYPE_F32, kind);
      auto of_map = describe(c, true, SYNFIRE_DTYPE_F32, kind);
      desc.gradient_bits = 32;
      std::vector<uint8_t> mask(c.weights());
      for (uint8_t& connected : mask) connected = random.whole(0, 3) == 0 ? 0 : 1;
      if (!plain) {
        desc.weight_bits = GetParam();
        desc.mask = of_map.mask = mask.data();
        desc.mask_length = of_map.mask_length = mask.size();
      }
      if (kind == SYNFIRE_INPUT_COUNTS) desc.count_scale = of_map.count_scale = 1.0f / 9;
      const Synapse one = make_conv2d(context, of_map), other = make_synapse(context, desc);
      const Drops dropout(context, c, {kind, SYNFIRE_DTYPE_F32, 0, true, 0, 0, false, Given::channels}, random);
      Rows input = rows_for_input(context, kind == SYNFIRE_INPUT_COUNTS ? SYNFIRE_DTYPE_U8 : SYNFIRE_DTYPE_F32, p);
      input.put(x);
      std::vector<std::vector<double>> outputs, inputs;
      for (const synfire_synapse each : {one.get(), other.get()}) {
        const Product& of = each == one.get() ? p : dense;
        write(each, "weight", weight);
        write(each, "bias", bias);
        Rows output = outputs_in(context, SYNFIRE_DTYPE_F32, of), grad = outputs_in(context, SYNFIRE_DTYPE_F32, of),
             dx = rows_for_input(context, SYNFIRE_DTYPE_F32, of);
        grad.put(gradients);
        auto fd = forward(of, input, output, nullptr);
        auto bd = backward(of, grad, input, dx, nullptr);
        if (drops) {
          fd.input_mask = bd.input_mask = dropout.mask;
          fd.input_scale = bd.input_scale = dropout.scale;
          fd.mask_channels = bd.mask_channels = c.channels;
        }
        EXPECT_OK(synfire_synapse_forward(each, &fd, nullptr));
        EXPECT_OK(synfire_synapse_backward(each, &bd, nullptr));
        outputs.push_back(output.get());
        inputs.push_back(dx.get());
      }
      EXPECT_TRUE(same_bits(outputs[0], outputs[1]));
      EXPECT_TRUE(
          same_bits(read<float>(one, "bias_gradient", bias.size()), read<float>(other, "bias_gradient", bias.size())));
      if (c.places() > 1) {
        if (kind != SYNFIRE_INPUT_VALUES) {
          EXPECT_TRUE(same_bits(read<float>(one, "weight_gradient", c.weights()),
                                read<float>(other, "weight_gradient", c.weights())));
        }
        continue;
      }
      EXPECT_TRUE(same_bits(inputs[0], inputs[1]));
      if (kind != SYNFIRE_INPUT_VALUES) {  // values have a grid for each channel, not for each input
        EXPECT_TRUE(same_bits(read<float>(one, "weight_gradient", c.weights()),
                              read<float>(other, "weight_gradient", c.weights())));
      }
    }
}

// In f64, L = sum of g * y is linear in weights, bias and inputs: its central differences are its gradients.
TEST_F(Conv2d, CentralDifferences) {
  for (const size_t which : {1u, 3u, 7u, 9u, 12u, 13u}) {
    Case c = cases[which];
    c.active = -1;
    SCOPED_TRACE(testing::Message() << c);
    const Product p = c.product();
    Random random(which);
    const Synapse synapse = make_conv2d(context, describe(c, true, SYNFIRE_DTYPE_F64, SYNFIRE_INPUT_VALUES));
    std::map<std::string, std::vector<double>> at;
    at["weight"] = random.values<double>(c.weights(), -1, 1);
    at["bias"] = random.values<double>(static_cast<size_t>(c.outputs), -1, 1);
    at["input"] = random.values<double>(p.rows() * p.inputs(), -1, 1);
    const auto g = random.values<double>(p.rows() * p.outputs(), -1, 1);
    Rows input = rows_for_input(context, SYNFIRE_DTYPE_F64, p), dx = rows_for_input(context, SYNFIRE_DTYPE_F64, p),
         output = outputs_in(context, SYNFIRE_DTYPE_F64, p), grad = outputs_in(context, SYNFIRE_DTYPE_F64, p);
    grad.put(g);
    const auto loss = [&] {
      write(synapse, "weight", at["weight"]);
      write(synapse, "bias", at["bias"]);
      input.put(at["input"]);
      const auto fd = forward(p, input, output, nullptr);
      EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
      const std::vector<double> y = output.get();
      double sum = 0;
      for (size_t i = 0; i < y.size(); ++i) sum += g[i] * y[i];
      return sum;
    };
    (void)loss();
    const auto bd = backward(p, grad, input, dx, nullptr);
    EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
    std::map<std::string, std::vector<double>> gradient;
    gradient["weight"] = read<double>(synapse, "weight_gradient", c.weights());
    gradient["bias"] = read<double>(synapse, "bias_gradient", at["bias"].size());
    gradient["input"] = dx.get();
    for (auto& [name, values] : at)
      for (int repeat = 0; repeat < 12; ++repeat) {
        const auto i = static_cast<size_t>(random.whole(0, static_cast<int64_t>(values.size()) - 1));
        const double before = values[i], step = 0x1p-10;
        values[i] = before + step;
        const double above = loss();
        values[i] = before - step;
        const double below = loss();
        values[i] = before;
        EXPECT_NEAR((above - below) / (2 * step), gradient[name][i], 1e-7) << name << " " << i;
      }
  }
}

// ---- Extremes -------------------------------------------------------------------------------------------------------

// A dL/dy that is not finite makes NaN of the gradients of its output channel, and of the input of its row; an input
// that is not finite, of the weights of its channel. Nothing else changes.
TEST_F(Conv2d, NumbersThatAreNotFinite) {
  for (const int64_t channels : {int64_t{3}, int64_t{64}}) {
    const Case c = {{3, 2, 1, 1}, {3, 2, 1, 1}, channels, 2, 1, false, 2, 1};
    const Product p = c.product();
    const Synapse synapse = make_conv2d(context, describe(c, true, SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_VALUES));
    Rows input = rows_for_input(context, SYNFIRE_DTYPE_F32, p), grad = outputs_in(context, SYNFIRE_DTYPE_F32, p),
         dx = rows_for_input(context, SYNFIRE_DTYPE_F32, p);
    const size_t bad_channel = 1, n_channels = static_cast<size_t>(channels);
    for (const double bad : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
      std::vector<double> x(p.rows() * p.inputs(), 1), g(p.rows() * p.outputs(), 1);
      g[p.outputs() + 3] = bad;  // the second row, output channel 1
      x[n_channels + bad_channel] = bad;
      input.put(x);
      grad.put(g);
      const auto bd = backward(p, grad, input, dx, nullptr);
      EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
      const auto weight = read<float>(synapse, "weight_gradient", c.weights()),
                 bias = read<float>(synapse, "bias_gradient", 2);
      for (size_t i = 0; i < weight.size(); ++i)
        EXPECT_EQ(std::isnan(weight[i]), i / c.terms() == 1 || i % n_channels == bad_channel) << i;
      EXPECT_FALSE(std::isnan(bias[0]));
      EXPECT_TRUE(std::isnan(bias[1]));
      const std::vector<double> gradients = dx.get();
      for (size_t i = 0; i < gradients.size(); ++i) EXPECT_EQ(std::isnan(gradients[i]), i >= p.inputs()) << i;
    }
  }
}

// Weights from the smallest to the largest numbers, all ones, and none.
TEST_F(Conv2d, Extremes) {
  Case c = {{4, 3, 1, 1}, {4, 3, 1, 1}, 40, 6, 1, false, 1, 1, -1, 32, 24};
  const Product p = c.product();
  const Synapse synapse = make_conv2d(context, describe(c, false));
  for (const float magnitude : {1e-45f, 1e-38f, 1.0f, 3e38f, 0.0f}) {
    SCOPED_TRACE(magnitude);
    Random random(3);
    auto weight = random.values<float>(c.weights(), -1, 1);
    for (float& w : weight) w *= magnitude;
    write(synapse, "weight", weight);
    for (const double rate : {0.0, 1.0}) {
      const std::vector<double> x(p.rows() * p.inputs(), rate);
      const auto g = random.values<float>(p.rows() * p.outputs(), -1, 1);
      const Reference reference(c, x);
      const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, x),
                 output = outputs_in(context, SYNFIRE_DTYPE_F32, p), dx = rows_for_input(context, SYNFIRE_DTYPE_F32, p);
      Rows grad = outputs_in(context, SYNFIRE_DTYPE_F32, p);
      grad.put(as_doubles(g));
      const auto fd = forward(p, input, output, nullptr);
      EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
      EXPECT_TRUE(same_bits(output.get(), as_doubles(reference.exact_product({weight, {}}))));
      const auto bd = backward(p, grad, input, dx, nullptr);
      EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
      EXPECT_TRUE(same_bits(dx.get(), as_doubles(reference.exact_input_gradient({weight, {}}, g))));
      EXPECT_TRUE(same_bits(read<float>(synapse, "weight_gradient", c.weights()), reference.exact_gradients(g).weight));
    }
  }
}

// ---- Deployment -----------------------------------------------------------------------------------------------------

class Deployment : public SynapseTest {
 protected:
  static std::vector<int32_t> integers(synfire_synapse synapse, const char* name, size_t count) {
    std::vector<int32_t> found(count);
    EXPECT_OK(synfire_synapse_read_integers(synapse, name, found.data(), count));
    return found;
  }
  // Integers of all bits, for weights of a magnitude.
  void check(const Case& c, int32_t kind, float magnitude, uint64_t seed) {
    SCOPED_TRACE(testing::Message() << c << " kind " << kind << " weights of " << magnitude);
    const Product p = c.product();
    const auto outputs = static_cast<size_t>(c.outputs);
    const Synapse synapse = make_conv2d(context, describe(c, true, SYNFIRE_DTYPE_F32, kind));
    Random random(seed);
    auto weight = random.values<float>(c.weights(), -1, 1), bias = random.values<float>(outputs, -1, 1);
    for (std::vector<float>* const each : {&weight, &bias})
      for (float& value : *each) value *= random.whole(0, 5) == 0 ? magnitude * 1e-3f : magnitude;
    weight.front() = magnitude;
    write(synapse, "weight", weight);
    write(synapse, "bias", bias);
    std::vector<double> x = random_spikes(p, 0.3, seed);
    if (kind == SYNFIRE_INPUT_COUNTS)
      for (double& value : x) value *= static_cast<double>(random.whole(1, 255));
    Rows input = rows_for_input(context, SYNFIRE_DTYPE_U8, p);
    input.put(x);
    const Rows y = outputs_in(context, SYNFIRE_DTYPE_F32, p);
    const auto fd = forward(p, input, y, nullptr);
    EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));

    const auto q = integers(synapse, "weight", c.weights()), s = integers(synapse, "exponent", outputs),
               b = integers(synapse, "bias", outputs);
    const int64_t most = c.weight_bits == 8 ? 127 : c.weight_bits == 16 ? 32639 : largest_24;
    for (const int32_t integer : q) EXPECT_LE(std::abs(integer), most);
    const int64_t unit = int64_t{1} << (24 - c.weight_bits);
    const Reference reference(c, x);
    std::vector<float> expected(p.rows() * p.outputs());
    for (size_t m = 0; m < p.rows(); ++m)
      for (size_t place = 0; place < static_cast<size_t>(c.places()); ++place)
        for (size_t o = 0; o < outputs; ++o) {
          int64_t sum = 0;
          for (size_t k = 0; k < c.terms(); ++k)
            sum += q[o * c.terms() + k] * static_cast<int64_t>(reference.input(m, place, o, k));
          expected[m * p.outputs() + place * outputs + o] =
              static_cast<float>(b[o] + unit * sum) * std::ldexp(1.0f, s[o]);
        }
    EXPECT_TRUE(same_bits(y.get(), as_doubles(expected)));
  }
};

// A device that computes with bytes, exponents and biases has the bits of the product.
TEST_F(Deployment, HasTheBitsOfTheProduct) {
  uint64_t seed = 60;
  for (const int bits : {8, 16, 24})
    for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_COUNTS})
      for (const float magnitude : {1.0f, 3e-45f, 1e-38f, 3.4028234663852886e38f}) {
        Case map = {{4, 3, 1, 1}, {5, 3, 2, 1}, 6, 10, 2, false, 2, 3}, dense = {{1}, {1}, 150, 70, 1, false, 3, 1};
        map.weight_bits = dense.weight_bits = bits;
        check(map, kind, magnitude, seed++);
        check(dense, kind, magnitude, seed++);
      }
}

TEST_F(Deployment, KnownIntegers) {
  Case c = {{1}, {1}, 4, 2};
  c.weight_bits = 8;
  const Synapse synapse = make_conv2d(context, describe(c, true));
  // 127.498 units round to 127, which is the most; 127.502 would be 128, so the grid is coarser.
  write(synapse, "weight", std::vector<float>{127.498f, 0.5f, -1.5f, 0.51f, 127.502f, 1, -3, 64});
  write(synapse, "bias", std::vector<float>{0.5f, -0.25f});
  EXPECT_EQ(integers(synapse, "weight", 8), std::vector<int32_t>({127, 0, -2, 1, 64, 0, -2, 32}));
  EXPECT_EQ(integers(synapse, "exponent", 2), std::vector<int32_t>({-16, -15}));
  EXPECT_EQ(integers(synapse, "bias", 2), std::vector<int32_t>({32768, -8192}));
  synfire_synapse_rounding rounding = SYNFIRE_SYNAPSE_ROUNDING_INIT;
  EXPECT_OK(synfire_synapse_get_rounding(synapse, -1, &rounding));
  EXPECT_EQ(rounding.n_lost, 2u);
  EXPECT_OK(synfire_synapse_get_rounding(synapse, 0, &rounding));
  EXPECT_EQ(rounding.n_lost, 1u);
  EXPECT_EQ(rounding.largest_error, 1);
}

TEST_F(Deployment, Refusals) {
  const Case c = {{2, 2}, {2, 2}, 3, 4};
  const Synapse synapse = make_conv2d(context, describe(c, false)),
                values = make_conv2d(context, describe(c, true, SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_VALUES)),
                wide = make_conv2d(context, describe(c, true, SYNFIRE_DTYPE_F64));
  synfire_one_to_one_desc one = SYNFIRE_ONE_TO_ONE_DESC_INIT;
  one.channels = 3;
  synfire_synapse made = nullptr;
  ASSERT_OK(synfire_synapse_create_one_to_one(context, &one, &made));
  const Synapse of_one(made);
  std::vector<int32_t> into(48, 7);
  for (const synfire_synapse without : {wide.get(), of_one.get()})
    EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-SYNAPSE-INTEGERS", "no grid"),
                 synfire_synapse_read_integers(without, "weight", into.data(), 48));
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-SIZE", "count is 47", "48"),
               synfire_synapse_read_integers(synapse, "weight", into.data(), 47));
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-SIZE", "4 integers"),
               synfire_synapse_read_integers(synapse, "exponent", into.data(), 48));
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-NAME", "exponent"),
               synfire_synapse_read_integers(synapse, "exponents", into.data(), 4));
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-NAME", "desc.bias was 0"),
               synfire_synapse_read_integers(synapse, "bias", into.data(), 4));
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-NAME", "values"),
               synfire_synapse_read_integers(values, "bias", into.data(), 4));
  EXPECT_FAILS(refused, WORDS("SYN-ARGUMENT-NULL", "values"),
               synfire_synapse_read_integers(synapse, "weight", nullptr, 48));
  EXPECT_EQ(into, std::vector<int32_t>(48, 7));
  EXPECT_OK(synfire_synapse_read_integers(values, "exponent", into.data(), 4));
}

// ---- Rows, layers, training -----------------------------------------------------------------------------------------

// A row gives the same bits alone as in its batch.
TEST_F(Conv2d, ARowAlone) {
  const Case c = {{6, 3, 1, 1}, {5, 3, 2, 1}, 9, 34, 1, false, 4, 3};
  const Product p = c.product();
  Product alone = p;
  alone.batch = 1;
  const Synapse synapse = make_conv2d(context, describe(c, true));
  const std::vector<double> x = random_spikes(p, 0.3, 5);
  Random random(6);
  const auto g = as_doubles(random.values<float>(p.rows() * p.outputs(), -1, 1));
  const auto run = [&](const Product& of, const std::vector<double>& spikes, const std::vector<double>& gradients) {
    const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, of, spikes),
               y = outputs_in(context, SYNFIRE_DTYPE_F32, of), dx = rows_for_input(context, SYNFIRE_DTYPE_F32, of);
    Rows grad = outputs_in(context, SYNFIRE_DTYPE_F32, of);
    grad.put(gradients);
    const auto fd = forward(of, input, y, nullptr);
    EXPECT_OK(synfire_synapse_forward(synapse, &fd, nullptr));
    const auto bd = backward(of, grad, nullptr, dx, nullptr);
    EXPECT_OK(synfire_synapse_backward(synapse, &bd, nullptr));
    return std::pair(y.get(), dx.get());
  };
  const auto row_of = [&](const std::vector<double>& all, size_t row, size_t b) {
    std::vector<double> found;
    for (size_t m = b; m < p.rows(); m += p.rows_per_step())
      found.insert(found.end(), all.begin() + static_cast<ptrdiff_t>(m * row),
                   all.begin() + static_cast<ptrdiff_t>((m + 1) * row));
    return found;
  };
  const auto [y, dx] = run(p, x, g);
  for (size_t b = 0; b < p.rows_per_step(); ++b) {
    const auto [own_y, own_dx] = run(alone, row_of(x, p.inputs(), b), row_of(g, p.outputs(), b));
    EXPECT_TRUE(same_bits(own_y, row_of(y, p.outputs(), b)));
    EXPECT_TRUE(same_bits(own_dx, row_of(dx, p.inputs(), b)));
  }
}

// A layer computes the same with a convolution as with its product, apart, and so do the gradients.
TEST_F(Conv2d, OfALayerIsThatApart) {
  const Case c = {{5, 3, 1, 1}, {4, 3, 1, 1}, 3, 7, 1, false, 13, 3};
  const Product p = c.product();
  const Shape shape = {p.n_steps, p.batch, p.n_outputs};
  const Synapse together = make_conv2d(context, describe(c, true)), apart = make_conv2d(context, describe(c, true));
  Random random(7);
  const auto weight = random.values<float>(c.weights(), 0, 1), bias = random.values<float>(7, 0, 1);
  for (const synfire_synapse each : {together.get(), apart.get()}) {
    write(each, "weight", weight);
    write(each, "bias", bias);
  }
  const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, random_spikes(p, 0.4, 8));
  Rows grad = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  grad.put(as_doubles(random.values<float>(shape.sequence(), -1, 1)));
  Buffer two_rows = make_buffer(context, SYNFIRE_DTYPE_U32, 1);
  upload(two_rows, std::vector<uint32_t>{2});
  for (const synfire_buffer n_active : {synfire_buffer(nullptr), two_rows.get()}) {
    const Layer one = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32)),
                other = make_layer(context, describe(shape, SYNFIRE_DTYPE_F32));
    const Rows spikes_one = outputs_in(context, SYNFIRE_DTYPE_F32, p),
               spikes_other = outputs_in(context, SYNFIRE_DTYPE_F32, p), x = outputs_in(context, SYNFIRE_DTYPE_F32, p),
               grad_x = outputs_in(context, SYNFIRE_DTYPE_F32, p),
               dx_one = rows_for_input(context, SYNFIRE_DTYPE_F32, p),
               dx_other = rows_for_input(context, SYNFIRE_DTYPE_F32, p);
    synfire_forward_desc fd = SYNFIRE_FORWARD_DESC_INIT;
    fd.tape = SYNFIRE_TAPE_RECOMPUTE;
    fd.synapse = together;
    fd.synapse_input = input;
    fd.n_active = n_active;
    fd.spikes = spikes_one;
    synfire_backward_desc bd = SYNFIRE_BACKWARD_DESC_INIT;
    bd.grad_spike_seq = grad;
    bd.grad_synapse_input = dx_one;
    replay_of(one, fd, bd);

    const auto product = forward(p, input, x, n_active);
    EXPECT_OK(synfire_synapse_forward(apart, &product, nullptr));
    fd.synapse = nullptr;
    fd.synapse_input = nullptr;
    fd.n_active = nullptr;
    fd.x = x;
    fd.spikes = spikes_other;
    EXPECT_OK(synfire_layer_forward(other, &fd, nullptr));
    bd.grad_synapse_input = nullptr;
    bd.grad_x_seq = grad_x;
    EXPECT_OK(synfire_layer_backward(other, &bd, nullptr));
    const auto gradients = backward(p, grad_x, input, dx_other, n_active);
    EXPECT_OK(synfire_synapse_backward(apart, &gradients, nullptr));
    EXPECT_TRUE(same_bits(spikes_one.get(), spikes_other.get()));
    EXPECT_TRUE(same_bits(dx_one.get(), dx_other.get()));
    for (const auto& [name, count] : {std::pair("weight_gradient", c.weights()), std::pair("bias_gradient", size_t{7})})
      EXPECT_TRUE(same_bits(read<float>(together, name, count), read<float>(apart, name, count)));
  }
}

// A step of plain descent in a graph; the product that follows uses the new weights.
TEST_F(Conv2d, IsTrained) {
  const Case c = {{4, 3, 1, 1}, {4, 3, 2, 1}, 5, 6, 1, false, 3, 2};
  const Product p = c.product();
  const Synapse synapse = make_conv2d(context, describe(c, true));
  const std::vector<double> x = random_spikes(p, 0.5, 3);
  const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, x), output = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  Rows grad = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  grad.put(as_doubles(Random(4).values<float>(p.rows() * p.outputs(), -1, 1)));
  synfire_optimizer_desc od = SYNFIRE_OPTIMIZER_DESC_INIT;
  od.learning_rate = 0.25;
  synfire_optimizer handle = nullptr;
  ASSERT_OK(synfire_optimizer_create(context, &od, &handle));
  const Optimizer optimizer(handle);
  EXPECT_OK(synfire_optimizer_add_weights(optimizer, synapse, 1, 0));
  EXPECT_OK(synfire_optimizer_add_bias(optimizer, synapse, 1, 0));
  const auto before = read<float>(synapse, "weight", c.weights());
  const Graph graph = make_graph(context);
  const auto bd = backward(p, grad, input, nullptr, nullptr);
  EXPECT_OK(synfire_graph_record_synapse_backward(graph, synapse, &bd));
  const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  EXPECT_OK(synfire_graph_record_optimizer_step(graph, optimizer, &step));
  const auto fd = forward(p, input, output, nullptr);
  EXPECT_OK(synfire_graph_record_synapse_forward(graph, synapse, &fd));
  EXPECT_OK(synfire_graph_instantiate(graph));
  uint64_t ticket = 0;
  EXPECT_OK(synfire_graph_launch(graph, nullptr, &ticket));
  EXPECT_OK(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1));
  const auto weight = read<float>(synapse, "weight", c.weights()), bias = read<float>(synapse, "bias", 6),
             gradient = read<float>(synapse, "weight_gradient", c.weights());
  for (size_t i = 0; i < weight.size(); ++i) EXPECT_EQ(weight[i], std::fma(-0.25f, gradient[i], before[i]));
  EXPECT_TRUE(same_bits(output.get(), as_doubles(Reference(c, x).exact_product({weight, bias}))));
}

// ---- What it is -----------------------------------------------------------------------------------------------------

TEST_F(Conv2d, Info) {
  const Case c = {{9, 3, 2, 1}, {6, 2}, 4, 6, 2};
  auto desc = describe(c, true, SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_COUNTS);
  desc.seed = 5;
  const Synapse synapse = make_conv2d(context, desc);
  synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
  EXPECT_OK(synfire_synapse_get_info(synapse, &info));
  EXPECT_STREQ(info.kind, "conv2d");
  EXPECT_EQ(info.input_kind, SYNFIRE_INPUT_COUNTS);
  EXPECT_EQ(std::vector({info.input_height, info.input_width, info.input_channels}), std::vector<int64_t>({9, 6, 4}));
  EXPECT_EQ(std::vector({info.output_height, info.output_width, info.output_channels}),
            std::vector<int64_t>({5, 5, 6}));
  EXPECT_EQ(info.row_operations, 5u * 5 * 6 * 12);
  EXPECT_EQ(info.n_arrays, 2u);
  EXPECT_EQ(info.takes_mask + info.takes_dropout, 2);
  EXPECT_EQ(info.has_mask + info.frozen, 0);
  EXPECT_EQ(info.weight_bits, 24);
  synfire_synapse_array_info array = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
  EXPECT_OK(synfire_synapse_get_array_info(synapse, 0, &array));
  EXPECT_STREQ(array.name, "weight");
  EXPECT_EQ(std::vector(array.shape, array.shape + 4), std::vector<int64_t>({6, 3, 2, 2}));
  synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
  EXPECT_OK(synfire_synapse_query_memory_conv2d(&desc, &memory));
  EXPECT_EQ(memory.weight_bytes, (72u + 6) * 4);
  EXPECT_EQ(memory.gradient_bytes, (72u + 6) * 4);
  EXPECT_GT(memory.derived_bytes, 0u);
  desc.frozen = 1;
  EXPECT_OK(synfire_synapse_query_memory_conv2d(&desc, &memory));
  EXPECT_EQ(memory.gradient_bytes, 0u);
  // The outputs of a channel have the same weights.
  synfire_synapse_rounding rounding = SYNFIRE_SYNAPSE_ROUNDING_INIT;
  EXPECT_OK(synfire_synapse_get_rounding(synapse, -1, &rounding));
  EXPECT_EQ(rounding.n_weights, 72u);
  EXPECT_OK(synfire_synapse_get_rounding(synapse, 149, &rounding));
  EXPECT_EQ(rounding.n_weights, 12u);
  EXPECT_EQ(rounding.output, 149);
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-OUTPUT", "150 outputs"),
               synfire_synapse_get_rounding(synapse, 150, &rounding));
  // Initial weights are those of a dense synapse with the inputs of an output.
  auto dense = synfire_test::describe(Product{1, 1, 12, 6}, true);
  dense.seed = 5;
  EXPECT_TRUE(same_bits(read<float>(synapse, "weight", 72), read<float>(make_synapse(context, dense), "weight", 72)));
  // Zero means the default everywhere: a kernel of one place.
  synfire_conv2d_desc plain = SYNFIRE_CONV2D_DESC_INIT;
  plain.channels = 2;
  plain.output_channels = 3;
  EXPECT_OK(synfire_synapse_get_array_info(make_conv2d(context, plain), 0, &array));
  EXPECT_EQ(std::vector(array.shape, array.shape + 4), std::vector<int64_t>({3, 1, 1, 2}));
}

TEST_F(Conv2d, Refusals) {
  const Case c = {{5, 3, 1, 1}, {4, 3, 1, 1}, 4, 6, 1, false, 2, 1};
  const synfire_conv2d_desc good = describe(c, true);
  const auto expect = [&](const char* rule, const std::vector<std::string>& words,
                          const std::function<void(synfire_conv2d_desc&)>& change, synfire_status status = refused) {
    SCOPED_TRACE(rule);
    synfire_conv2d_desc bad = good;
    change(bad);
    synfire_synapse made = nullptr;
    EXPECT_EQ(synfire_synapse_create_conv2d(context, &bad, &made), status);
    EXPECT_EQ(made, nullptr);
    synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
    poison_last_error();
    EXPECT_EQ(synfire_synapse_query_memory_conv2d(&bad, &memory), status);
    const std::string text = last_error_text();
    EXPECT_NE(text.find(rule), std::string::npos) << text;
    for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
  };
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{1} << 62}) {
    expect("SYN-CONV-MAP", {"desc.channels"}, [&](auto& desc) { desc.channels = bad; });
    expect("SYN-CONV-MAP", {"desc.output_channels"}, [&](auto& desc) { desc.output_channels = bad; });
  }
  for (const int64_t bad : {int64_t{-1}, int64_t{1} << 61}) {
    expect("SYN-CONV-MAP", {"desc.height"}, [&](auto& desc) { desc.height = bad; });
    expect("SYN-CONV-MAP", {"desc.width"}, [&](auto& desc) { desc.width = bad; });
    expect("SYN-CONV-KERNEL", {"desc.kernel_height"}, [&](auto& desc) { desc.kernel_height = bad; });
    expect("SYN-CONV-KERNEL", {"desc.kernel_width"}, [&](auto& desc) { desc.kernel_width = bad; });
    expect("SYN-CONV-STRIDE", {"desc.stride_y"}, [&](auto& desc) { desc.stride_y = bad; });
    expect("SYN-CONV-STRIDE", {"desc.stride_x"}, [&](auto& desc) { desc.stride_x = bad; });
    expect("SYN-CONV-PADDING", {"desc.padding_y"}, [&](auto& desc) { desc.padding_y = bad; });
    expect("SYN-CONV-PADDING", {"desc.padding_x"}, [&](auto& desc) { desc.padding_x = bad; });
    expect("SYN-CONV-DILATION", {"desc.dilation_y"}, [&](auto& desc) { desc.dilation_y = bad; });
    expect("SYN-CONV-DILATION", {"desc.dilation_x"}, [&](auto& desc) { desc.dilation_x = bad; });
    expect("SYN-CONV-GROUPS", {"desc.groups"}, [&](auto& desc) { desc.groups = bad; });
  }
  // Kernels larger than the padded map: both are named.
  expect("SYN-CONV-KERNEL", {"reaches over 8", "height of 7"}, [](auto& desc) { desc.kernel_height = 8; });
  expect("SYN-CONV-KERNEL", {"reaches over 7", "width of 6"}, [](auto& desc) { desc.dilation_x = 3; });
  expect("SYN-CONV-KERNEL", {"desc.padding_x"}, [](auto& desc) {
    desc.transposed = 1;
    desc.padding_x = 3;
  });
  expect("SYN-CONV-PADDING", {"desc.output_padding_y", "transposed"}, [](auto& desc) { desc.output_padding_y = 1; });
  expect("SYN-CONV-PADDING", {"desc.output_padding_x", "desc.stride_x (1)"}, [](auto& desc) {
    desc.transposed = 1;
    desc.output_padding_x = 1;
  });
  for (const int64_t bad : {3, 4, 12})
    expect("SYN-CONV-GROUPS", {"desc.channels 4", "desc.output_channels 6"}, [&](auto& desc) { desc.groups = bad; });
  expect("SYN-SYNAPSE-INPUT-KIND", {"desc.input_kind is 3"}, [](auto& desc) { desc.input_kind = 3; });
  expect("SYN-SYNAPSE-DTYPE", {"desc.dtype"}, [](auto& desc) { desc.dtype = SYNFIRE_DTYPE_F16; });
  expect("SYN-SYNAPSE-GRADIENT-BITS", {"desc.gradient_bits"}, [](auto& desc) { desc.gradient_bits = 16; });
  expect("SYN-CONV-INPUT-GRADIENT-BITS", {"is 8"}, [](auto& desc) { desc.input_gradient_bits = 8; });
  expect("SYN-SYNAPSE-INITIALIZATION", {"desc.initialization"}, [](auto& desc) { desc.initialization = 3; });
  expect("SYN-SYNAPSE-FLAG", {"desc.bias"}, [](auto& desc) { desc.bias = 2; });
  expect("SYN-SYNAPSE-FLAG", {"desc.frozen"}, [](auto& desc) { desc.frozen = -1; });
  expect("SYN-SYNAPSE-FLAG", {"desc.transposed"}, [](auto& desc) { desc.transposed = 2; });
  expect("SYN-SYNAPSE-GAIN", {"desc.gain"}, [](auto& desc) { desc.gain = -1; });
  for (const int32_t bad : {12, 4, 32, -8})
    expect("SYN-SYNAPSE-WEIGHT-BITS", {"8, 16, 24"}, [&](auto& desc) { desc.weight_bits = bad; });
  for (const int32_t bits : {8, 16, 24})
    expect("SYN-SYNAPSE-WEIGHT-BITS", {"f64"}, [&](auto& desc) {
      desc.weight_bits = bits;
      desc.dtype = SYNFIRE_DTYPE_F64;
    });
  std::vector<uint8_t> connections(c.weights(), 1);
  for (const uint64_t bad : {uint64_t{0}, uint64_t{c.weights() - 1}, uint64_t{c.weights() + 1}})
    expect("SYN-SYNAPSE-MASK", {"desc.mask_length", "216"}, [&](auto& desc) {
      desc.mask = connections.data();
      desc.mask_length = bad;
    });
  expect("SYN-SYNAPSE-MASK", {"desc.mask_length"}, [](auto& desc) { desc.mask_length = 216; });
  expect("SYN-CONV-COUNTS", {"desc.count_scale is 0.5"}, [](auto& desc) { desc.count_scale = 0.5f; });
  for (const int32_t bad : {-1, 256})
    expect("SYN-CONV-COUNTS", {"1 to 255"}, [&](auto& desc) {
      desc.input_kind = SYNFIRE_INPUT_COUNTS;
      desc.count_bound = bad;
    });
  for (const float bad : {-0.5f, 1.5f, HUGE_VALF, std::nanf("")})
    expect("SYN-CONV-COUNTS", {"at most 1"}, [&](auto& desc) {
      desc.input_kind = SYNFIRE_INPUT_COUNTS;
      desc.count_scale = bad;
    });
  expect(
      "SYN-CONV-INPUTS", {"of up to 255"},
      [](auto& desc) {
        desc.input_kind = SYNFIRE_INPUT_COUNTS;
        desc.channels = int64_t{1} << 22;
      },
      SYNFIRE_ERROR_UNSUPPORTED);
  expect(
      "SYN-CONV-MAP", {"2^40"}, [](auto& desc) { desc.height = desc.width = int64_t{1} << 28; },
      SYNFIRE_ERROR_OUT_OF_MEMORY);

  // Passes: types, shapes of buffers, dropout, gradients that cannot be added exactly.
  const Product p = c.product();
  const Synapse counts = make_conv2d(context, describe(c, true, SYNFIRE_DTYPE_F32, SYNFIRE_INPUT_COUNTS)),
                synapse = make_conv2d(context, good);
  const Rows spikes = spikes_in(context, SYNFIRE_DTYPE_BITS, p, std::vector<double>(p.rows() * p.inputs())),
             output = outputs_in(context, SYNFIRE_DTYPE_F32, p), grad = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  auto fd = forward(p, spikes, output, nullptr);
  EXPECT_FAILS(refused, WORDS("desc.input", "u8"), synfire_synapse_forward(counts, &fd, nullptr));
  const Buffer small = make_buffer(context, SYNFIRE_DTYPE_F32, p.rows() * p.outputs() - 1);
  fd.output = small;
  EXPECT_FAILS(refused, WORDS("desc.output"), synfire_synapse_forward(synapse, &fd, nullptr));
  fd.output = output;
  const Buffer mask = make_buffer(context, SYNFIRE_DTYPE_BITS, 3), scale = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  fd.input_mask = mask;
  fd.input_scale = scale;
  for (const int64_t bad : {int64_t{3}, int64_t{-4}, int64_t{160}, INT64_MIN}) {
    fd.mask_channels = bad;
    EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-MASK-CHANNELS", "80"), synfire_synapse_forward(synapse, &fd, nullptr));
  }
  fd.mask_channels = 40;
  fd.input_mask = fd.input_scale = nullptr;
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-MASK-CHANNELS", "desc.input_mask"),
               synfire_synapse_forward(synapse, &fd, nullptr));
  const Buffer word = make_buffer(context, SYNFIRE_DTYPE_BITS, 1);
  fd.input_mask = word;
  fd.input_scale = scale;
  EXPECT_FAILS(refused, WORDS("SYN-BUFFER-SIZE", "desc.input_mask"), synfire_synapse_forward(synapse, &fd, nullptr));
  auto bd = backward(p, grad, spikes, nullptr, nullptr);
  bd.n_steps = int64_t{1} << 30;
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-SYNAPSE-ROWS", "20 places"),
               synfire_synapse_backward(synapse, &bd, nullptr));
  const Synapse wide = make_conv2d(context, describe({{3, 3}, {3, 3}, 1, 15000}, false));
  bd = backward({1, 1, 9, 15000}, grad, nullptr, grad, nullptr);
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-SYNAPSE-GRADIENT-OUTPUTS", "135000"),
               synfire_synapse_backward(wide, &bd, nullptr));
  // A layer has as many neurons.
  const Layer layer = make_layer(context, describe(Shape{2, 1, 5}, SYNFIRE_DTYPE_F32));
  synfire_forward_desc of_layer = SYNFIRE_FORWARD_DESC_INIT;
  of_layer.synapse = synapse;
  of_layer.synapse_input = spikes;
  EXPECT_FAILS(refused, WORDS("SYN-SYNAPSE-CHAIN", "120 outputs", "5 neurons"),
               synfire_layer_forward(layer, &of_layer, nullptr));
}

}  // namespace
}  // namespace synfire_test
