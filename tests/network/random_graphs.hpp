// Networks drawn at random as graphs of stages: what they have, and how they are described with synfire.h. The shapes
// are tracked here, not asked of the library.
#ifndef SYNFIRE_TESTS_NETWORK_RANDOM_GRAPHS_HPP
#define SYNFIRE_TESTS_NETWORK_RANDOM_GRAPHS_HPP

#include <algorithm>
#include <string>
#include <vector>

#include "described_stages.hpp"
#include "network_by_hand.hpp"

namespace synfire_test {

enum class Carries { spikes, counts, values };

// The array of an edge, and by whom it can be read.
struct Drawn {
  int64_t n_steps = 1, height = 1, width = 1, channels = 1;
  Carries carries = Carries::values;
  int64_t bound = 1;
  int64_t window = 1;  // of counts that stand for means: how many elements
  bool is_product = false, is_readout = false, is_neurons = false, is_input = false;

  int64_t n_features() const { return height * width * channels; }
  bool has_shape_of(const Drawn& other) const {
    return n_steps == other.n_steps && height == other.height && width == other.width && channels == other.channels;
  }
  // True of sums, concatenations and the like.
  bool is_combined() const { return !is_product && !is_readout && !is_neurons && !is_input; }
};

struct DrawnEdge {
  size_t from;  // a later stage too, with a delay
  bool v = false;
  int64_t delay = 0;
};

// The windows of a convolution or of a pool.
struct DrawnWindow {
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1, extra = 0;

  int64_t outputs_of(int64_t length, bool transposed) const {
    const int64_t reach = dilation * (kernel - 1) + 1;
    return transposed ? (length - 1) * stride - 2 * padding + reach + extra
                      : (length + 2 * padding - reach) / stride + 1;
  }
  bool fits(int64_t length, bool transposed) const {
    return transposed ? outputs_of(length, true) >= 1 : dilation * (kernel - 1) + 1 <= length + 2 * padding;
  }
};

struct DrawnStage {
  std::string kind, name;
  std::vector<DrawnEdge> inputs;
  StageValues values;  // texts are constants of the program
  Drawn made;
  int64_t number = 0;  // n_outputs, group_size
  std::string word;    // kind of input, model, reduction, kind of loss, of a pool, weights_of, delays_of or "learnt"
  double weight = 1;   // of a loss
  DrawnWindow y = {}, x = {};
  int64_t groups = 1;
  bool transposed = false;
  int64_t max_delay = 0;  // of a synapse with delays
};

struct DrawnGraph {
  int64_t n_steps = 1, batch = 1, n_rows = 1;
  int32_t dtype = SYNFIRE_DTYPE_F32;
  uint64_t seed = 0;
  std::vector<DrawnStage> stages;

  std::vector<size_t> of_kind(std::string_view kind) const {
    std::vector<size_t> list;
    for (size_t i = 0; i < stages.size(); ++i)
      if (stages[i].kind == kind) list.push_back(i);
    return list;
  }
  Drawn at(const DrawnEdge& edge) const {
    Drawn drawn = stages[edge.from].made;
    if (edge.v) drawn.carries = Carries::values;
    return drawn;
  }
};

// Draws a graph in which every stage is read or can end, with at least one loss and an optimizer.
class GraphDrawing {
 public:
  // Every fifth one, or each, has maps, with stages of them, and every fourth one cycles and delays.
  GraphDrawing(uint64_t seed, int32_t dtype, bool smooth, bool spatial = false)
      : random_(seed), smooth_(smooth), spatial_(spatial || seed % 5 == 4), recurrent_(seed % 4 == 2 && !smooth) {
    graph_.seed = seed;
    graph_.dtype = dtype;
    graph_.n_steps = random_.whole(1, 5);
    graph_.batch = random_.whole(1, 4);
    graph_.n_rows = graph_.batch;
  }

  DrawnGraph draw() {
    const int64_t n_inputs = random_.whole(1, 3), n_body = random_.whole(3, 14);
    for (int64_t i = 0; i < n_inputs; ++i) add_input();
    for (int64_t i = 0; i < n_body; ++i) add_body();
    close();
    add_losses();
    add("optimizer", {}, {text("kind", "sgd"), synfire_test::number("learning_rate", 0.25)}, {});
    return std::move(graph_);
  }

 private:
  bool chance(int64_t one_in) { return random_.whole(1, one_in) == 1; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<size_t>(random_.whole(0, static_cast<int64_t>(list.size()) - 1))];
  }

  size_t add(const char* kind, std::vector<DrawnEdge> inputs, StageValues values, const Drawn& made) {
    DrawnStage stage;
    stage.kind = kind;
    stage.name = std::string(kind) + std::to_string(graph_.stages.size());
    stage.inputs = std::move(inputs);
    stage.values = std::move(values);
    stage.made = made;
    graph_.stages.push_back(std::move(stage));
    return graph_.stages.size() - 1;
  }
  DrawnStage& last() { return graph_.stages.back(); }

  void add_input() {
    static const char* const kinds[] = {"spikes", "values", "counts", "rates"};
    const int64_t kind = smooth_ ? 1 : random_.whole(0, 3);
    Drawn made;
    made.is_input = true;
    made.n_steps = kind != 3 && chance(4) ? 1 : graph_.n_steps;
    made.carries = kind == 1 ? Carries::values : kind == 2 ? Carries::counts : Carries::spikes;
    StageValues values = {text("kind", kinds[kind])};
    if (spatial_ || chance(3)) {
      made.height = random_.whole(1, spatial_ ? 7 : 3);
      made.width = random_.whole(1, spatial_ ? 7 : 3);
      made.channels = random_.whole(1, 5);
      values.push_back(number("height", static_cast<double>(made.height)));
      values.push_back(number("width", static_cast<double>(made.width)));
      values.push_back(number("channels", static_cast<double>(made.channels)));
    } else {
      made.channels = random_.whole(1, 40);
      values.push_back(number("n_features", static_cast<double>(made.channels)));
    }
    if (made.n_steps != graph_.n_steps) values.push_back(number("n_steps", 1));
    if (kind == 2) {
      made.bound = random_.whole(1, 9);
      values.push_back(number("bound", static_cast<double>(made.bound)));
    }
    add("input", {}, std::move(values), made);
    last().word = kinds[kind];
  }

  // The edges that a stage may read for which the condition holds.
  template <class Allows>
  std::vector<DrawnEdge> edges(Allows allows) const {
    std::vector<DrawnEdge> list;
    for (size_t i = 0; i < graph_.stages.size(); ++i) {
      const DrawnStage& stage = graph_.stages[i];
      if (stage.kind == "dropout" || stage.kind == "loss") continue;
      const bool fires = !stage.made.is_neurons || stage.word != "li";
      if (fires && allows(stage.made, false)) list.push_back({i, false});
      if (stage.made.is_neurons && allows(graph_.at({i, true}), true)) list.push_back({i, true});
    }
    return list;
  }
  // Stages make a readout of readouts alone.
  Drawn combined(const std::vector<DrawnEdge>& inputs) const {
    Drawn made = graph_.at(inputs.front());
    made.is_product = made.is_neurons = made.is_input = false;
    made.is_readout = std::ranges::all_of(inputs, [&](const DrawnEdge& edge) { return graph_.at(edge).is_readout; });
    return made;
  }

  void add_body() {
    if (spatial_ && chance(2)) return add_spatial();
    const int64_t kind = random_.whole(0, 13);
    if (kind <= 3) return add_layer();
    if (kind == 4) return add_sum();
    if (kind == 5 || kind >= 12) return add_spikes();
    if (kind == 6) return add_concatenation();
    if (kind == 7) return add_scale();
    if (kind == 8) return add_group_mean();
    if (kind == 9) return add_flatten();
    if (kind == 10) return add_readout();
    add_neurons_of_combined();
  }

  void add_neurons(const DrawnEdge& x) {
    static const std::vector<const char*> models = {"lif", "if", "li"};
    add_neurons(x, smooth_ ? "li" : pick(models));
  }
  void add_neurons(const DrawnEdge& x, const char* model) {
    Drawn made = graph_.at(x);
    made.is_product = made.is_readout = made.is_input = false;
    made.is_neurons = true;
    made.n_steps = graph_.n_steps;
    made.carries = Carries::spikes;
    made.bound = made.window = 1;
    add("neurons", {x}, {text("model", model)}, made);
    last().word = model;
  }
  // ---- cycles and delays

  DrawnEdge perhaps_delayed(DrawnEdge edge) {
    const DrawnStage& from = graph_.stages[edge.from];
    if (recurrent_ && from.made.is_neurons && !edge.v && chance(2)) edge.delay = random_.whole(1, 3);
    return edge;
  }
  // X of neurons is the sum of a product and of what follows from their own spikes, or from those of the next layer.
  void add_recurrent() {
    const std::vector<DrawnEdge> all =
        edges([&](const Drawn& drawn, bool) { return !drawn.is_product && drawn.n_steps == graph_.n_steps; });
    if (all.empty()) return add_synapse(pick(edges([](const Drawn& drawn, bool) { return !drawn.is_product; })));
    const DrawnEdge from = perhaps_delayed(pick(all));
    const bool of_map = spatial_;
    if (of_map)
      add_same_conv2d(from, random_.whole(1, 4));
    else
      add_synapse(from);
    const size_t product = graph_.stages.size() - 1, sum = product + 2, first = product + 3, second = product + 5;
    const Drawn made = graph_.stages[product].made;
    const bool has_second = !of_map && chance(3);
    const DrawnEdge back = {has_second ? second : first, false, random_.whole(1, 3)};
    if (of_map)
      add_same_conv2d(back, made.channels, &made);
    else if (!has_second && chance(3))
      add("scale", {back}, {text("scope", "neuron"), number("initial_weight", 0.75)}, made);
    else if (chance(2))
      add_delayed(back, made.channels);
    else
      add_own_synapse(back, made.channels);
    last().made.is_product = last().kind != "scale";
    add("sum", {{product}, {product + 1}}, {}, combined_of_products(made));
    add_firing_neurons({sum});
    if (!has_second) return;
    add_own_synapse({first}, random_.whole(1, 24));
    add_firing_neurons({graph_.stages.size() - 1});
  }
  static Drawn combined_of_products(Drawn made) {
    made.is_product = false;
    made.carries = Carries::values;
    return made;
  }
  void add_own_synapse(const DrawnEdge& from, int64_t n_outputs) {
    Drawn made;
    made.is_product = true;
    made.n_steps = graph_.n_steps;
    made.channels = n_outputs;
    add("synapse", {from},
        {number("n_outputs", static_cast<double>(n_outputs)), number("gain", 3),
         number("bias", static_cast<double>(random_.whole(0, 1)))},
        made);
    last().number = n_outputs;
  }
  void add_delayed(const DrawnEdge& from, int64_t n_outputs) {
    Drawn made;
    made.is_product = true;
    made.n_steps = graph_.n_steps;
    made.channels = n_outputs;
    static const std::vector<const char*> owners = {"connections", "inputs", "outputs", "learnt"};
    const std::string owner = pick(owners);
    const int64_t max_delay = random_.whole(1, 4);
    add("delayed", {from},
        {number("n_outputs", static_cast<double>(n_outputs)), number("max_delay", static_cast<double>(max_delay)),
         text("delays_of", owner == "inputs"    ? "inputs"
                           : owner == "outputs" ? "outputs"
                                                : "connections"),
         number("learn_delays", owner == "learnt" ? 1 : 0), number("gain", 3),
         number("bias", static_cast<double>(random_.whole(0, 1)))},
        made);
    last().word = owner;
    last().max_delay = max_delay;
  }
  // A convolution whose map has the size of what it reads: of `like`, if that is not there yet.
  void add_same_conv2d(const DrawnEdge& from, int64_t channels, const Drawn* like = nullptr) {
    Drawn made = like ? *like : graph_.at(from);
    made.is_neurons = made.is_readout = made.is_input = false;
    made.is_product = true;
    made.carries = Carries::values;
    made.bound = made.window = 1;
    made.channels = channels;
    add("conv2d", {from}, {number("output_channels", static_cast<double>(channels)), number("gain", 3)}, made);
    last().y = last().x = {3, 1, 1};
    give_windows(last(), false);
  }
  void add_firing_neurons(const DrawnEdge& x) { add_neurons(x, chance(2) ? "lif" : "if"); }

  void add_layer() {
    if (recurrent_ && chance(2)) return add_recurrent();
    const std::vector<DrawnEdge> all = edges([](const Drawn& drawn, bool) { return !drawn.is_product; });
    const DrawnEdge from = perhaps_delayed(pick(all));
    const Drawn read = graph_.at(from);
    if (recurrent_ && read.carries == Carries::spikes && read.n_steps == graph_.n_steps && chance(2))
      add_delayed(from, random_.whole(1, 24));
    else
      add_synapse(from);
    if (!chance(5)) add_neurons({graph_.stages.size() - 1});
  }
  void add_synapse(const DrawnEdge& from) {
    const Drawn read = graph_.at(from);
    Drawn made;
    made.is_product = true;
    made.n_steps = read.n_steps;
    // A synapse that was added before, with inputs like these.
    for (const size_t i : graph_.of_kind("synapse")) {
      const Drawn others = graph_.at(graph_.stages[i].inputs.front());
      const bool fits = graph_.stages[i].word.empty() && others.n_features() == read.n_features() &&
                        others.carries == read.carries && others.window == read.window;
      if (!fits || !chance(2)) continue;
      made.channels = graph_.stages[i].made.channels;
      add("synapse", {from}, {}, made);
      last().word = graph_.stages[i].name;
      return;
    }
    made.channels = random_.whole(1, 24);
    add("synapse", {from},
        {number("n_outputs", static_cast<double>(made.channels)), number("gain", read.n_features() < 4 ? 4 : 3),
         number("bias", static_cast<double>(random_.whole(0, 1)))},
        made);
    last().number = made.channels;
  }

  void add_sum() {
    const std::vector<DrawnEdge> all = edges([](const Drawn&, bool) { return true; });
    const DrawnEdge first = pick(all);
    std::vector<DrawnEdge> inputs = {first};
    for (const DrawnEdge& edge : all)
      if ((edge.from != first.from || edge.v != first.v) && graph_.at(edge).has_shape_of(graph_.at(first)) &&
          inputs.size() < 4 && chance(2))
        inputs.push_back(perhaps_delayed(edge));
    if (inputs.size() < 2) return add_layer();
    Drawn made = combined(inputs);
    made.bound = 0;
    made.carries = Carries::counts;
    for (const DrawnEdge& edge : inputs) {
      const Drawn one = graph_.at(edge);
      if (one.carries == Carries::values || one.window > 1) made.carries = Carries::values;
      made.bound += one.carries == Carries::counts ? one.bound : 1;
    }
    if (made.carries == Carries::counts && made.bound > 255) return add_layer();
    if (made.carries == Carries::values) made.bound = made.window = 1;
    add("sum", inputs, {}, made);
  }
  void add_spikes() {
    const std::vector<DrawnEdge> all = edges([](const Drawn& drawn, bool) { return drawn.carries == Carries::spikes; });
    for (const DrawnEdge& one : all)
      for (const DrawnEdge& other : all)
        if (one.from != other.from && graph_.at(one).has_shape_of(graph_.at(other)) && chance(2)) {
          add(chance(2) ? "and" : "iand", {perhaps_delayed(one), other}, {}, combined({one, other}));
          return;
        }
    add_layer();
  }
  void add_concatenation() {
    const std::vector<DrawnEdge> all = edges([](const Drawn&, bool) { return true; });
    const Drawn first = graph_.at(pick(all));
    std::vector<DrawnEdge> inputs;
    for (const DrawnEdge& edge : all) {
      const Drawn one = graph_.at(edge);
      if (one.n_steps == first.n_steps && one.height == first.height && one.width == first.width && inputs.size() < 4 &&
          chance(2))
        inputs.push_back(perhaps_delayed(edge));
    }
    if (inputs.size() < 2) return add_layer();
    Drawn made = combined(inputs);
    made.channels = 0;
    for (const DrawnEdge& edge : inputs) {
      const Drawn one = graph_.at(edge);
      made.channels += one.channels;
      made.carries = one.window > 1 ? Carries::values : std::max(made.carries, one.carries);
      made.bound = std::max(made.bound, one.bound);
    }
    if (made.carries != Carries::counts) made.bound = 1;
    made.window = 1;
    add("concatenate", inputs, {}, made);
  }
  // ---- stages of maps

  void add_spatial() {
    const int64_t kind = random_.whole(0, 7);
    if (kind <= 2) return add_conv2d();
    if (kind <= 4) return add_pool();
    if (kind == 5) return add_normalization();
    add_resize(kind == 6);
  }
  void add_normalization() {
    const std::vector<DrawnEdge> all = edges([](const Drawn& drawn, bool) { return drawn.carries == Carries::values; });
    if (all.empty()) return add_conv2d();
    const DrawnEdge from = pick(all);
    Drawn made = combined({from});
    made.bound = made.window = 1;
    const bool affine = !chance(4), frozen = chance(4) || smooth_;
    StageValues values = {number("affine", affine ? 1 : 0), number("freeze", frozen ? 1 : 0), number("momentum", 0.25),
                          number("epsilon", 0.5)};
    if (affine) values.push_back(number("threshold", 0.75));
    add("normalization", {from}, std::move(values), made);
    last().number = frozen ? 1 : 0;
    if (chance(2)) add_neurons({graph_.stages.size() - 1});
  }
  void add_resize(bool larger) {
    const std::vector<DrawnEdge> all = edges([](const Drawn& drawn, bool) { return drawn.height * drawn.width <= 36; });
    if (all.empty()) return add_conv2d();
    const DrawnEdge from = pick(all);
    const Drawn read = graph_.at(from);
    Drawn made = combined({from});
    if (read.window > 1) {
      made.carries = Carries::values;
      made.bound = made.window = 1;
    }
    if (larger) {
      DrawnWindow y = {random_.whole(1, 2)}, x = {random_.whole(1, 3)};
      made.height *= y.kernel;
      made.width *= x.kernel;
      add("upsample", {from},
          {number("scale_y", static_cast<double>(y.kernel)), number("scale_x", static_cast<double>(x.kernel))}, made);
      last().y = y;
      last().x = x;
      return;
    }
    DrawnWindow y, x;
    y.padding = random_.whole(read.height > 1 ? -1 : 0, 2);
    x.padding = random_.whole(read.width > 1 ? -1 : 0, 2);
    made.height += y.padding;
    made.width += x.padding + 1;
    add("pad", {from},
        {number("top", static_cast<double>(y.padding)), number("left", static_cast<double>(x.padding)),
         number("right", 1)},
        made);
    last().y = y;
    last().x = x;
  }
  void give_windows(DrawnStage& stage, bool pool) const {
    const auto give = [&](const char* both, const char* of_y, const char* of_x, int64_t y, int64_t x) {
      if (y == x) return stage.values.push_back(number(both, static_cast<double>(y)));
      stage.values.push_back(number(of_y, static_cast<double>(y)));
      stage.values.push_back(number(of_x, static_cast<double>(x)));
    };
    if (pool)
      give("window", "window_height", "window_width", stage.y.kernel, stage.x.kernel);
    else
      give("kernel", "kernel_height", "kernel_width", stage.y.kernel, stage.x.kernel);
    give("stride", "stride_y", "stride_x", stage.y.stride, stage.x.stride);
    give("padding", "padding_y", "padding_x", stage.y.padding, stage.x.padding);
    if (pool) return;
    give("dilation", "dilation_y", "dilation_x", stage.y.dilation, stage.x.dilation);
    give("output_padding", "output_padding_y", "output_padding_x", stage.y.extra, stage.x.extra);
    stage.values.push_back(number("groups", static_cast<double>(stage.groups)));
    stage.values.push_back(number("transposed", stage.transposed ? 1 : 0));
  }
  // With at most 9 outputs, where a window can make so few.
  DrawnWindow draw_window(int64_t length, bool transposed) {
    const int64_t most = length > (transposed ? 11 : 22) ? length : 9;
    for (;;) {
      DrawnWindow window = {random_.whole(1, 3), random_.whole(1, 2), random_.whole(0, 1), random_.whole(1, 2), 0};
      if (transposed) window.extra = random_.whole(0, window.stride - 1);
      if (window.fits(length, transposed) && window.outputs_of(length, transposed) <= most) return window;
    }
  }
  void add_conv2d() {
    const DrawnEdge from = perhaps_delayed(pick(edges([](const Drawn& drawn, bool) { return !drawn.is_product; })));
    const Drawn read = graph_.at(from);
    Drawn made;
    made.is_product = true;
    made.n_steps = read.n_steps;
    // One that was added before, with channels like these; its map may be another one.
    for (const size_t i : graph_.of_kind("conv2d")) {
      const DrawnStage& owner = graph_.stages[i];
      const Drawn others = graph_.at(owner.inputs.front());
      const bool fits = owner.word.empty() && others.channels == read.channels && others.carries == read.carries &&
                        others.window == read.window && read.bound <= others.bound &&
                        owner.y.fits(read.height, owner.transposed) && owner.x.fits(read.width, owner.transposed);
      if (!fits || !chance(2)) continue;
      const DrawnStage copy = owner;
      made.height = copy.y.outputs_of(read.height, copy.transposed);
      made.width = copy.x.outputs_of(read.width, copy.transposed);
      made.channels = copy.made.channels;
      add("conv2d", {from}, {}, made);
      last().word = copy.name;
      last().y = copy.y;
      last().x = copy.x;
      last().groups = copy.groups;
      last().transposed = copy.transposed;
      return;
    }
    DrawnStage drawn;
    drawn.transposed = chance(4);
    drawn.y = draw_window(read.height, drawn.transposed);
    drawn.x = draw_window(read.width, drawn.transposed);
    drawn.groups = chance(3) ? read.channels : 1;
    made.height = drawn.y.outputs_of(read.height, drawn.transposed);
    made.width = drawn.x.outputs_of(read.width, drawn.transposed);
    made.channels = drawn.groups * random_.whole(1, drawn.groups == 1 ? 6 : 2);
    add("conv2d", {from},
        {number("output_channels", static_cast<double>(made.channels)), number("gain", 3),
         number("bias", static_cast<double>(random_.whole(0, 1)))},
        made);
    last().y = drawn.y;
    last().x = drawn.x;
    last().groups = drawn.groups;
    last().transposed = drawn.transposed;
    give_windows(last(), false);
    if (!chance(4)) add_neurons({graph_.stages.size() - 1});
  }
  void add_pool() {
    const DrawnEdge from = perhaps_delayed(pick(edges([](const Drawn&, bool) { return true; })));
    const Drawn read = graph_.at(from);
    static const std::vector<const char*> kinds = {"max", "sum", "mean"};
    const char* const kind_name = pick(kinds);
    const std::string kind = kind_name;
    Drawn made = combined({from});
    DrawnWindow y = {read.height, read.height}, x = {read.width, read.width};  // the whole map
    const bool is_global = chance(4);
    const auto draw = [&](int64_t length) {
      DrawnWindow window = {random_.whole(1, std::min<int64_t>(3, length)), random_.whole(1, 2)};
      window.padding = random_.whole(0, window.kernel / 2);
      return window;
    };
    if (!is_global) {
      y = draw(read.height);
      x = draw(read.width);
    }
    made.height = y.outputs_of(read.height, false);
    made.width = x.outputs_of(read.width, false);
    const int64_t window = y.kernel * x.kernel, bound = window * read.bound;
    const bool of_integers = read.carries != Carries::values && read.window == 1;
    const bool is_mean = kind == "mean", f64 = graph_.dtype == SYNFIRE_DTYPE_F64;
    if (!of_integers || (is_mean && f64) || (kind != "max" && bound > 255)) {
      made.carries = Carries::values;
      made.bound = made.window = 1;
    } else if (kind != "max") {
      made.carries = Carries::counts;
      made.bound = bound;
      made.window = is_mean ? window : 1;
    }
    add("pool", {from}, {text("kind", kind_name)}, made);
    last().word = kind;
    last().y = y;
    last().x = x;
    if (!is_global) give_windows(last(), true);
  }

  void add_scale() {
    const DrawnEdge from = perhaps_delayed(pick(edges([](const Drawn&, bool) { return true; })));
    static const std::vector<const char*> scopes = {"neuron", "channel", "layer"};
    const char* const scope = pick(scopes);
    Drawn made = combined({from});
    made.carries = Carries::values;
    made.bound = made.window = 1;
    add("scale", {from}, {text("scope", scope), number("initial_weight", 0.75), number("bias", chance(2) ? 1 : 0)},
        made);
  }
  void add_group_mean() {
    const DrawnEdge from = perhaps_delayed(pick(edges([](const Drawn&, bool) { return true; })));
    const int64_t n_features = graph_.at(from).n_features();
    int64_t size = random_.whole(1, 5);
    while (n_features % size != 0) --size;
    Drawn made = combined({from});
    made.height = made.width = 1;
    made.channels = n_features / size;
    made.carries = Carries::values;
    made.bound = made.window = 1;
    add("group_mean", {from}, {number("group_size", static_cast<double>(size))}, made);
    last().number = size;
  }
  void add_flatten() {
    const DrawnEdge from = perhaps_delayed(pick(edges([](const Drawn&, bool) { return true; })));
    Drawn made = combined({from});
    made.channels = made.n_features();
    made.height = made.width = 1;
    add("flatten", {from}, {}, made);
  }
  void add_neurons_of_combined() {
    add_neurons(perhaps_delayed(pick(edges([](const Drawn&, bool) { return true; }))));
  }
  void add_readout() {
    const std::vector<DrawnEdge> all =
        edges([](const Drawn& drawn, bool) { return drawn.is_neurons || drawn.is_combined(); });
    if (all.empty()) return add_layer();
    add_readout_of(pick(all));
  }
  void add_readout_of(const DrawnEdge& from) {
    static const std::vector<const char*> reductions = {"sum", "mean", "last", "steps", "max"};
    const Drawn read = graph_.at(from);
    const char* reduction = pick(reductions);
    // Where maxima are equal, the first one has the gradient: only of values, which are not.
    if (read.carries != Carries::values && std::string_view(reduction) == "max") reduction = "mean";
    Drawn made = read;
    made.is_neurons = made.is_product = made.is_input = false;
    made.is_readout = true;
    made.carries = Carries::values;
    made.bound = made.window = 1;
    if (std::string_view(reduction) != "steps") made.n_steps = 1;
    StageValues values = {text("reduction", reduction)};
    if (graph_.stages[from.from].made.is_neurons && !from.v) values.push_back(number("of_spikes", 1));
    add("readout", {from}, std::move(values), made);
    last().word = reduction;
  }

  bool is_read(size_t index) const {
    return std::ranges::any_of(graph_.stages, [&](const DrawnStage& stage) {
      return std::ranges::any_of(stage.inputs, [&](const DrawnEdge& edge) { return edge.from == index; });
    });
  }
  void close() {
    for (size_t i = 0; i < graph_.stages.size(); ++i) {
      const Drawn made = graph_.stages[i].made;
      if (is_read(i) || made.is_readout) continue;
      if (made.is_input) add_synapse({i});
      if (made.is_product || made.is_combined()) add_neurons({i});
      if (made.is_neurons && !chance(4)) add_readout_of({i, graph_.stages[i].word == "li" || chance(2)});
    }
    const bool has_readout =
        std::ranges::any_of(graph_.stages, [](const DrawnStage& stage) { return stage.made.is_readout; });
    if (!has_readout) add_readout_of({graph_.of_kind("neurons").back(), true});
  }
  void add_losses() {
    std::vector<size_t> readouts;
    for (size_t i = 0; i < graph_.stages.size(); ++i)
      if (graph_.stages[i].made.is_readout) readouts.push_back(i);
    size_t n_losses = 0;
    for (const size_t readout : readouts) {
      if (n_losses > 0 && readout != readouts.back() && chance(3)) continue;
      ++n_losses;
      const bool labels = chance(2);
      const double weight = chance(3) ? random_.uniform(0.1, 2) : 1;
      StageValues values = {text("kind", labels ? "cross_entropy" : "mean_squared_error"), number("weight", weight)};
      const bool per_step = graph_.stages[readout].made.n_steps == graph_.n_steps && graph_.n_steps > 1 && chance(2);
      if (per_step) values.push_back(number("per_step", 1));
      add("loss", {{readout}}, std::move(values), graph_.stages[readout].made);
      last().word = labels ? "labels" : "targets";
      last().weight = weight;
      last().number = per_step ? 1 : 0;
    }
  }

  Random random_;
  const bool smooth_, spatial_, recurrent_;
  DrawnGraph graph_;
};

inline Network make_drawn(synfire_context context, const DrawnGraph& graph, int32_t own_loss = 0,
                          synfire_communicator together = nullptr) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.dtype = graph.dtype;
  desc.n_steps = graph.n_steps;
  desc.batch = graph.batch;
  desc.seed = graph.seed;
  desc.own_loss = own_loss;
  desc.communicator = together;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  Network network(made);
  for (const DrawnStage& stage : graph.stages) {
    StageInputs inputs;
    for (const DrawnEdge& edge : stage.inputs)
      inputs.push_back({graph.stages[edge.from].name.c_str(), edge.v ? "v" : nullptr, edge.delay});
    StageValues values = stage.values;
    const bool has_weights = stage.kind == "synapse" || stage.kind == "conv2d";
    if (has_weights && !stage.word.empty()) values.push_back(text("weights_of", stage.word.c_str()));
    require_ok(add_stage(network, stage.kind.c_str(), stage.name.c_str(), values, inputs));
  }
  return network;
}

inline std::string text_of(const DrawnGraph& graph) {
  std::string all = std::to_string(graph.n_steps) + " steps of " + std::to_string(graph.batch) + " rows\n";
  for (const DrawnStage& stage : graph.stages) {
    all.append(stage.name).append(" (").append(stage.word).append("):");
    for (const DrawnEdge& edge : stage.inputs) {
      all.append(" ").append(graph.stages[edge.from].name).append(edge.v ? ".v" : "");
      if (edge.delay != 0) all.append("-").append(std::to_string(edge.delay));
    }
    all.append("\n");
  }
  return all;
}

// ---- data -----------------------------------------------------------------------------------------------------------

// The data of a stage, as numbers and as the library takes them.
struct DrawnArray {
  size_t stage;
  int32_t role;
  std::vector<double> numbers;  // inputs [R, T, K], labels [R, T], targets [R, T, C]
  Buffer buffer;
};

inline Buffer buffer_of(synfire_context context, int32_t dtype, const std::vector<double>& numbers) {
  const auto of = [&]<class Element>(Element) {
    const std::vector<Element> elements(numbers.begin(), numbers.end());
    return buffer_of_bytes(context, dtype, elements.size(), elements.data(), elements.size() * sizeof(Element));
  };
  if (dtype == SYNFIRE_DTYPE_U32) return of(uint32_t{});
  if (dtype == SYNFIRE_DTYPE_U8) return of(uint8_t{});
  if (dtype == SYNFIRE_DTYPE_F64) return of(double{});
  return of(float{});
}

// Rows of bits, of which each begins with a word.
inline Buffer bits_of(synfire_context context, const std::vector<double>& numbers, int64_t width) {
  const auto n_words = static_cast<size_t>((width + 31) / 32), n = static_cast<size_t>(width);
  std::vector<uint32_t> words(numbers.size() / n * n_words);
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != 0) words[i / n * n_words + i % n / 32] |= 1U << (i % n % 32);
  return buffer_of_bytes(context, SYNFIRE_DTYPE_BITS, words.size(), words.data(), words.size() * sizeof(uint32_t));
}

inline std::vector<DrawnArray> draw_data(synfire_context context, const DrawnGraph& graph, uint64_t seed) {
  Random random(seed);
  std::vector<DrawnArray> arrays;
  for (size_t i = 0; i < graph.stages.size(); ++i) {
    const DrawnStage& stage = graph.stages[i];
    const Drawn& made = stage.made;
    if (stage.kind != "input" && stage.kind != "loss") continue;
    const bool is_input = stage.kind == "input";
    const int64_t steps = is_input ? (stage.word == "rates" ? 1 : made.n_steps) : stage.number != 0 ? graph.n_steps : 1;
    const int64_t width = stage.word == "labels" ? 1 : made.n_features();
    DrawnArray array = {i,
                        is_input                 ? SYNFIRE_ARRAY_INPUTS
                        : stage.word == "labels" ? SYNFIRE_ARRAY_LABELS
                                                 : SYNFIRE_ARRAY_TARGETS,
                        {},
                        {}};
    for (int64_t e = 0; e < graph.n_rows * steps * width; ++e)
      array.numbers.push_back(stage.word == "labels"   ? static_cast<double>(random.whole(0, made.n_features() - 1))
                              : stage.word == "spikes" ? static_cast<double>(random.whole(0, 1))
                              : stage.word == "counts" ? static_cast<double>(random.whole(0, made.bound))
                              : stage.word == "rates"  ? static_cast<double>(static_cast<float>(random.uniform(0, 1)))
                                                      : static_cast<double>(static_cast<float>(random.uniform(-1, 1))));
    if (stage.word == "spikes")
      array.buffer = bits_of(context, array.numbers, width);
    else
      array.buffer = buffer_of(context,
                               stage.word == "labels"   ? SYNFIRE_DTYPE_U32
                               : stage.word == "counts" ? SYNFIRE_DTYPE_U8
                               : stage.word == "rates"  ? SYNFIRE_DTYPE_F32
                                                        : graph.dtype,
                               array.numbers);
    arrays.push_back(std::move(array));
  }
  return arrays;
}

inline StageArrays given_arrays(const DrawnGraph& graph, const std::vector<DrawnArray>& arrays) {
  StageArrays list;
  for (const DrawnArray& one : arrays)
    list.push_back(array_of(graph.stages[one.stage].name.c_str(), one.role, one.buffer));
  return list;
}

}  // namespace synfire_test

#endif
