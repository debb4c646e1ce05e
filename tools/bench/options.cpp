// options.cpp - the command line: one table of options, each with the commands that accept it.
//
// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace synfire_bench {
namespace {

// Finds the row of `table` with that name. An error lists the names that are available.
template <typename Table>
auto find_row(const Table& table, std::string_view option, std::string_view value) -> decltype(&table[0]) {
  std::string built;
  bool known = false;
  for (const auto& row : table) {
    if (row.name == value) {
      if (row.id != not_built) return &row;
      known = true;
    }
    if (row.id != not_built) built += (built.empty() ? "" : ", ") + std::string(row.name);
  }
  throw UsageError{std::string(option) + " " + std::string(value) +
                   (known ? " is not supported by this version; allowed are " : " is unknown; allowed are ") + built};
}

template <typename Number>
Number parse_number(std::string_view option, std::string_view value, Number lowest, Number highest) {
  Number number{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !(number >= lowest && number <= highest)) {
    char range[96];
    std::snprintf(range, sizeof range, "; allowed are %.0f to %.0f", static_cast<double>(lowest),
                  static_cast<double>(highest));
    throw UsageError{std::string(option) + " is \"" + std::string(value) + "\"" + range};
  }
  return number;
}

constexpr unsigned in_layer = 1, in_sweep = 2, in_plot = 4, in_tutorial = 8, in_latency = 16, in_context = 32,
                   in_network = 64, in_shapes = 128, in_loaded = 256, in_data = 512, in_conv2d = 1024, in_events = 2048;
constexpr unsigned measuring = in_layer | in_sweep | in_tutorial;
constexpr unsigned any_backend =
    measuring | in_latency | in_context | in_network | in_shapes | in_loaded | in_data | in_conv2d | in_events;

// An option whose help has no `value` is a switch; its setter receives an empty value.
struct Option {
  std::string_view name;
  unsigned commands;
  std::string_view value;
  std::string_view help;
  void (*set)(Options& options, std::string_view option, std::string_view value);
};

using View = std::string_view;
constexpr std::uint64_t largest = std::uint64_t{1} << 40;

// "deep", or sizes such as "300-700-90-11".
void set_network(NetworkChoice& network, View option, View value) {
  network.name = value;
  network.sizes.clear();
  if (value.empty() || value[0] < '0' || value[0] > '9') return;
  for (View rest = value;;) {
    const std::size_t end = std::min(rest.find('-'), rest.size());
    network.sizes.push_back(parse_number<std::uint64_t>(option, rest.substr(0, end), 1, 1U << 20));
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  if (network.sizes.size() < 2) throw UsageError{std::string(option) + " needs at least two sizes, such as 64-10"};
}

template <Format Wanted>
void set_format(Options& options, View, View) {
  if (options.format != Format::text && options.format != Wanted)
    throw UsageError{"--csv and --json exclude each other"};
  options.format = Wanted;
}

constexpr Option option_table[] = {
    {"--model", in_layer | in_plot, "NAME", "lif (default), if, ...: the names of synfire.h in small letters",
     [](Options& o, View option, View v) { o.model = find_row(models, option, v); }},
    {"--steps", in_layer, "T", "steps of one pass (32)",
     [](Options& o, View option, View v) { o.shape.steps = parse_number<std::uint64_t>(option, v, 1, largest); }},
    {"--neurons", in_layer | in_tutorial, "N", "neurons of one batch row (2097152)",
     [](Options& o, View option, View v) { o.shape.neurons = parse_number<std::uint64_t>(option, v, 1, largest); }},
    {"--batch", in_layer, "B", "batch rows (1)",
     [](Options& o, View option, View v) { o.shape.batch = parse_number<std::uint64_t>(option, v, 1, largest); }},
    {"--dtype", in_layer | in_sweep | in_plot, "NAME", "storage: f32 (default), f64, f16 or bf16",
     [](Options& o, View option, View v) { o.dtype = find_row(dtypes, option, v); }},
    {"--spikes", in_layer | in_sweep, "NAME", "how spikes are written: bits (default), dense, u8 or time-bits",
     [](Options& o, View option, View v) { o.spikes = find_row(spike_formats, option, v); }},
    {"--tape", in_layer, "NAME",
     "what a forward stores: recompute (default), store, store-narrow (f16 and bf16), or none (forward only)",
     [](Options& o, View option, View v) { o.tape = find_row(tapes, option, v); }},
    {"--direction", in_layer, "NAME", "forward, backward, or both (default): forward and backward in one graph",
     [](Options& o, View option, View v) { o.direction = find_row(directions, option, v); }},
    {"--surrogate", in_layer | in_sweep, "NAME",
     "sigmoid (default), atan, ...: the names of synfire.h in small letters",
     [](Options& o, View option, View v) { o.surrogate = find_row(surrogates, option, v); }},
    {"--cache", in_layer | in_plot, "NAME",
     "hot (default): the same arrays every time; cold: different arrays every time, so that none is cached",
     [](Options& o, View option, View v) { o.cache = find_row(caches, option, v); }},
    {"--backend", any_backend, "NAME", "cuda, host, or auto (default): a GPU if one is available",
     [](Options& o, View option, View v) { o.backend = find_row(backends, option, v); }},
    {"--threads-per-block", in_layer, "K",
     "threads of a CUDA block: 32, 64, 96, 128 (a backward takes at most 64); 0 (default) is automatic",
     [](Options& o, View option, View v) {
       o.threads_per_block = parse_number<std::uint32_t>(option, v, 0, 128);
       if (o.threads_per_block % 32 != 0)
         throw UsageError{"--threads-per-block is " + std::string(v) + "; allowed are 32, 64, 96, 128 and 0"};
     }},
    {"--threads", any_backend, "N", "threads of the host backend; 0 (default) is automatic",
     [](Options& o, View option, View v) { o.threads = parse_number<std::uint32_t>(option, v, 0, 1024); }},
    {"--rounds", measuring | in_network | in_loaded | in_data | in_conv2d | in_events, "R",
     "samples of each measurement (15)",
     [](Options& o, View option, View v) { o.rounds = parse_number<std::uint32_t>(option, v, 1, 100000); }},
    {"--rounds", in_shapes, "R",
     "samples of each measurement (9); of one that passes a bound, up to four times as many",
     [](Options& o, View option, View v) { o.rounds = parse_number<std::uint32_t>(option, v, 1, 100000); }},
    {"--copy-mib", in_layer | in_sweep | in_network | in_shapes | in_conv2d, "M",
     "MiB of the copy that the bandwidth is compared with (CUDA: 1024; host: beyond the caches)",
     [](Options& o, View option, View v) { o.copy_mib = parse_number<std::uint32_t>(option, v, 1, 1U << 20); }},
    {"--data-mib", in_data, "M", "MiB of the inputs (CUDA: 512, host: 64)",
     [](Options& o, View option, View v) { o.data_mib = parse_number<std::uint32_t>(option, v, 1, 1U << 20); }},
    {"--events", in_events, "N", "events of a replay (CUDA: 16777216, host: 4194304)",
     [](Options& o, View option, View v) { o.events = parse_number<std::uint32_t>(option, v, 1, (1U << 26) - 1); }},
    {"--full", in_sweep, "", "every model at every point, on either backend, without a time limit",
     [](Options& o, View, View) { o.full = true; }},
    {"--limit", in_sweep, "S", "seconds after which no more points are started (CUDA 280, host 110, --full none)",
     [](Options& o, View option, View v) { o.limit_seconds = parse_number<double>(option, v, 1, 1e9); }},
    {"--layers", in_latency, "L", "layers of the chain, each of which reads the spikes of the one before",
     [](Options& o, View option, View v) { o.latency.layers = parse_number<std::uint64_t>(option, v, 1, 1024); }},
    {"--steps", in_latency, "T", "steps of one replay",
     [](Options& o, View option, View v) { o.latency.steps = parse_number<std::uint64_t>(option, v, 1, 65536); }},
    {"--neurons", in_latency, "N", "neurons of each layer",
     [](Options& o, View option, View v) { o.latency.neurons = parse_number<std::uint64_t>(option, v, 1, 1U << 24); }},
    {"--direction", in_latency, "NAME", "forward, or both: forward and backward in one graph",
     [](Options& o, View option, View v) {
       o.latency.direction = find_row(directions, option, v);
       if (o.latency.direction->direction == Direction::backward)
         throw UsageError{"--direction backward is not measured on its own; allowed are forward and both"};
     }},
    {"--policy", in_latency, "NAME", "how synfire_graph_wait() waits: spin, yield or block",
     [](Options& o, View option, View v) { o.latency.policy = find_row(policies, option, v); }},
    {"--load", in_latency, "NAME", "none, or busy: other kernels copy memory on a stream of priority 0 (CUDA)",
     [](Options& o, View option, View v) { o.latency.load = find_row(loads, option, v); }},
    {"--priority", in_latency, "NAME",
     "default, or high: the context's stream and every node have the highest priority (CUDA)",
     [](Options& o, View option, View v) { o.latency.priority = find_row(priorities, option, v); }},
    {"--network", in_latency, "SIZES",
     "inference of dense layers in place of chains: sizes from the input to the last layer, such as 64-128-128-8",
     [](Options& o, View option, View v) {
       set_network(o.network, option, v);
       if (o.network.sizes.empty())
         throw UsageError{"--network " + std::string(v) + ": sizes such as 64-10 are needed"};
     }},
    {"--batch", in_latency, "B", "batch rows of a network (1)",
     [](Options& o, View option, View v) { o.network.batch = parse_number<std::uint64_t>(option, v, 1, 1U << 20); }},
    {"--input", in_latency, "PERCENT", "the share of a network's inputs that spike (5)",
     [](Options& o, View option, View v) { o.network.input_percent = parse_number<double>(option, v, 0, 100); }},
    {"--replays", in_latency, "R",
     "replays of each distribution after the warm-up (100000; on the host as many as take 1 s)",
     [](Options& o, View option, View v) {
       o.latency.replays = parse_number<std::uint64_t>(option, v, 1, 100'000'000);
     }},
    {"--full", in_latency, "",
     "every shape, policy, load and priority that no other option selects, without a time limit",
     [](Options& o, View, View) { o.full = true; }},
    {"--limit", in_latency, "S", "seconds after which no more chains are started (CUDA 230, host 110, --full none)",
     [](Options& o, View option, View v) { o.limit_seconds = parse_number<double>(option, v, 1, 1e9); }},
    {"--svg", in_latency, "FILE", "writes histograms of all rows to FILE",
     [](Options& o, View, View v) { o.svg_file = v; }},
    {"--network", in_network, "NAME",
     "one of the networks below, a file of a network (NAME.safetensors), or sizes from the input to the last layer: "
     "300-700-90-11",
     [](Options& o, View option, View v) { set_network(o.network, option, v); }},
    {"--steps", in_network, "T", "steps (those of the network; 16 where it is given by its sizes)",
     [](Options& o, View option, View v) { o.network.steps = parse_number<std::uint64_t>(option, v, 1, 65536); }},
    {"--batch", in_network, "B", "batch rows (those of the network; 1 where it is given by its sizes)",
     [](Options& o, View option, View v) { o.network.batch = parse_number<std::uint64_t>(option, v, 1, 1U << 20); }},
    {"--side", in_network, "PIXELS", "height and width of the map of a published network",
     [](Options& o, View option, View v) { o.network.side = parse_number<std::uint64_t>(option, v, 1, 4096); }},
    {"--divisor", in_network, "D", "divides the numbers of channels of a published network (1)",
     [](Options& o, View option, View v) { o.network.divisor = parse_number<std::uint64_t>(option, v, 1, 1024); }},
    {"--weight-bits", in_network, "BITS", "bits of the weights of a published network: 8, 16 or 24 (24)",
     [](Options& o, View option, View v) {
       o.network.weight_bits = parse_number<std::uint32_t>(option, v, 8, 24);
       if (o.network.weight_bits % 8 != 0)
         throw UsageError{"--weight-bits is " + std::string(v) + "; allowed are 8, 16 and 24"};
     }},
    {"--transient", in_network, "", "arrays between the stages of a published network share memory where they can",
     [](Options& o, View, View) { o.network.transient = true; }},
    {"--mode", in_network, "NAME", "inference, training, or both (default), one after the other",
     [](Options& o, View option, View v) { o.network.mode = find_row(network_modes, option, v); }},
    {"--input", in_network, "PERCENT", "the share of inputs that spike (5; of published networks 10)",
     [](Options& o, View option, View v) { o.network.input_percent = parse_number<double>(option, v, 0, 100); }},
    {"--values", in_network, "", "the input is f32 numbers, not spikes",
     [](Options& o, View, View) { o.network.values = true; }},
    {"--taus", in_network, "", "training has the gradients of the time constants too, one of each neuron",
     [](Options& o, View, View) { o.network.taus = true; }},
    {"--profile", in_network, "", "also a row for every operation alone: its time and its share of their sum",
     [](Options& o, View, View) { o.network.profile = true; }},
    {"--svg", in_network, "FILE", "draws the time of every operation; implies --profile",
     [](Options& o, View, View v) {
       o.svg_file = v;
       o.network.profile = true;
     }},
    {"--shape", in_conv2d, "NAME", "one of the convolutions below",
     [](Options& o, View option, View v) { o.conv2d.shape = find_row(conv2d_shapes, option, v); }},
    {"--input", in_conv2d, "PERCENT", "the share of inputs that spike (10)",
     [](Options& o, View option, View v) { o.conv2d.input_percent = parse_number<double>(option, v, 0, 100); }},
    {"--part", in_shapes, "NAME",
     "list (default): shapes of published networks; random; kinds: every model, surrogate, format of spikes and tape "
     "on "
     "ten random shapes; or all",
     [](Options& o, View option, View v) { o.shapes.part = find_row(shapes_parts, option, v); }},
    {"--random", in_shapes, "SEED", "draws the random shapes from this seed (1); without --part, measures them alone",
     [](Options& o, View option, View v) {
       o.shapes.seed = parse_number<std::uint64_t>(option, v, 0, std::uint64_t{1} << 53);
       if (o.shapes.part == nullptr) o.shapes.part = &shapes_parts[1];
     }},
    {"--dtype", in_shapes, "NAME", "storage: f32, f64, f16 or bf16 alone (all four)",
     [](Options& o, View option, View v) { o.shapes.dtype = find_row(dtypes, option, v); }},
    {"--direction", in_shapes, "NAME",
     "forward, backward or both alone (forward and backward; both too where another library was measured)",
     [](Options& o, View option, View v) { o.shapes.direction = find_row(directions, option, v); }},
    {"--random", in_loaded, "SEED", "draws the random shapes from this seed (1)",
     [](Options& o, View option,
        View v) { o.loaded_seed = parse_number<std::uint64_t>(option, v, 0, std::uint64_t{1} << 53); }},
    {"--largest", in_shapes, "E", "leaves out shapes of more elements T B N (host: 16777216)",
     [](Options& o, View option, View v) { o.shapes.largest = parse_number<std::uint64_t>(option, v, 1, largest); }},
    {"--sources", in_shapes, "", "only prints the list of shapes, and where each is from",
     [](Options& o, View, View) { o.shapes.sources = true; }},
    {"--svg", in_shapes, "FILE", "draws the ratios to the references",
     [](Options& o, View, View v) { o.svg_file = v; }},
    {"--csv",
     in_layer | in_tutorial | in_latency | in_context | in_network | in_loaded | in_data | in_conv2d | in_events, "",
     "comma-separated values instead of a table", set_format<Format::csv>},
    {"--json",
     in_layer | in_tutorial | in_latency | in_context | in_network | in_loaded | in_data | in_conv2d | in_events, "",
     "JSON instead of a table", set_format<Format::json>},
    {"--csv", in_sweep | in_shapes, "FILE", "also writes comma-separated values to FILE",
     [](Options& o, View, View v) { o.csv_file = v; }},
    {"--json", in_sweep | in_shapes, "FILE", "also writes JSON to FILE",
     [](Options& o, View, View v) { o.json_file = v; }},
    {"--output", in_plot, "FILE", "the picture to write, as SVG", [](Options& o, View, View v) { o.output = v; }},
};

struct CommandName {
  std::string_view name;
  Command command;
  unsigned bit;
  std::string_view operands;
  std::string_view help;
  std::string_view notes = {};  ///< below the options
};

constexpr std::string_view latency_notes =
    "\nWithout options: a selection of chains that takes less than 5 minutes. Options that are not given default to "
    "1 layer,\n"
    "T = 8, N = 1024, both, spin, no load and default priority; with --full, to all of their values.\n"
    "\n"
    "Launch to done is the time from the call of synfire_graph_launch() to the return of synfire_graph_wait(). The "
    "bare graph\n"
    "is captured from the eager calls of the same layers: it has the same kernels without Synfire's signal, and is "
    "launched by\n"
    "cudaGraphLaunch(). Its end is detected in two ways, both by spinning: with cudaStreamQuery(), which adds nothing "
    "to the\n"
    "graph, and by reading a number in mapped memory, which an extra kernel writes at the end and which needs no "
    "call. \"bare\"\n"
    "and \"ratio\" refer to the way with the shorter median (under load always the number), for any policy of the "
    "row. On the\n"
    "host, bare means the same eager calls one after the other. Replays are measured in alternating blocks.\n"
    "\n"
    "With --network: T = 1 and B = 1 by default, and bare is one LIF layer of the last size, as a CUDA graph of its "
    "kernel or,\n"
    "on the host, as its eager call.\n";

constexpr std::string_view network_notes =
    "\nWithout --network: the first six, which the documentation compares with other libraries.\n"
    "  deep      128-512-512-20, T = 100, B = 128\n"
    "  speech    700-512-20, T = 100, B = 256\n"
    "  odd       300-700-90-11, T = 37, B = 50\n"
    "  control   64-128-128-8, T = 16, B = 1\n"
    "  control1  64-128-128-8, T = 1, B = 1\n"
    "  control64 64-128-128-8, T = 16, B = 64\n"
    "Published networks, as docs/examples/zoo describes them, by names alone:\n"
    "  vggsnn          48x48x2, T = 10, B = 16\n"
    "  dvsgesture      128x128x2, T = 16, B = 16\n"
    "  sew18           224x224x3, T = 4, B = 32: SEW-ResNet-18, images\n"
    "  nmnist-nir      34x34x2, T = 16, B = 1\n"
    "  neurobench-dvs  32x32x2, T = 100, B = 16\n"
    "  mnist-conv      28x28x1, T = 50, B = 128: 12C5-MP2-LIF-64C5-MP2-LIF-10-LIF\n"
    "\n"
    "Each layer is a synapse with bias and LIF; the outputs are the mean rates of the last layer, and training "
    "minimises "
    "their\n"
    "cross-entropy. \"median us\" is the time that a replay adds to replays one after the other, \"done p50\" the time "
    "from the\n"
    "launch of a single one to the return of its wait. cuBLAS computes the same products, and nothing else, from dense "
    "f32 "
    "arrays.\n";

constexpr std::string_view conv2d_notes =
    "\nWithout --shape: these ones; on the host those of at most 4 10^9 multiply-adds.\n"
    "  events     48x48x2    to 64 channels, 3x3, T = 10, B = 16: the first layer of VGGSNN\n"
    "  vgg2       48x48x64   to 128, 3x3, T = 10, B = 16\n"
    "  vgg4       24x24x256  to 256, 3x3, T = 10, B = 16\n"
    "  vgg8       6x6x512    to 512, 3x3, T = 10, B = 16\n"
    "  gesture    64x64x128  to 128, 3x3, T = 16, B = 16: DVSGestureNet\n"
    "  residual   56x56x64   to 64, 3x3, T = 4, B = 32: SEW-ResNet-18\n"
    "  shortcut   56x56x64   to 128, 1x1, stride 2, T = 4, B = 32\n"
    "  depthwise  28x28x192  7x7, one kernel for each channel, T = 4, B = 8\n"
    "  odd        31x45x19   to 33, 3x3, T = 5, B = 7\n"
    "  nmnist     34x34x2    to 16, 5x5, stride 2, T = 1, B = 1\n"
    "\n"
    "Spikes in bits, weights with a bias, outputs and gradients in f32. Each operation is alone in a graph. \"G "
    "madd/s\" "
    "counts the\n"
    "multiply-adds of a dense product, 10^9 per second, with those outside the map; \"GB/s\" the bytes that must move "
    "once: bits of\n"
    "the input, outputs, gradients.\n";

constexpr std::string_view shapes_notes =
    "\n"
    "The reference of a shape is the same layer with one row of B N neurons, up to a multiple of 128, and T up to a "
    "multiple\n"
    "of 8, contiguous; its time is scaled by the bytes that must move (sequences, state, tape). Bounds: 1.10 times "
    "that and\n"
    "1 us for each pass (host: 1.15 times), or, where that is less, 1.10 times the smallest reference of as many "
    "steps, that\n"
    "of 128 neurons (host: 1.15 times that of 16, in f64 of 8); T - 1 steps at most 1.02 times T steps and 0.2 us "
    "(CUDA); on\n"
    "the GPU on which SpikingJelly was measured never slower than it, and 1.5 times as fast both ways from 2^20 "
    "elements and\n"
    "4 steps on. A row that passes a bound is measured up to twice more. Exit status 1 if it still does. CSV and JSON "
    "also\n"
    "have the bound by bytes alone (bytes_bound_us), and which one applied (bound_by).\n";

constexpr std::string_view loaded_notes =
    "\nBoth LIFs have the same arrays and are measured in turns, one pass after the other: T = 32, N = 2,097,152; T = "
    "8, "
    "N = 1,024;\n"
    "five random shapes. Limits: 1.02 times the built-in one or 0.1 us more; a layer with its graph within 20 ms from "
    "the "
    "cache,\n"
    "3 s (CUDA) or 5 s (host) where the text is compiled. A row beyond its limit is measured up to twice more. Exit "
    "status 1 if\n"
    "it still is.\n";

constexpr CommandName command_table[] = {
    {"layer", Command::layer, in_layer, "",
     "one layer: time, bytes that must move, GB/s, percent of the copy bandwidth"},
    {"sweep", Command::sweep, in_sweep, "", "many shapes and all models, hot and cold cache"},
    {"plot", Command::plot, in_plot, " FILE.csv", "draws a sweep: percent of the copy bandwidth against N"},
    {"tutorial", Command::tutorial, in_tutorial, "",
     "forward and backward of T = 2 to 32 on each backend: time, ratio, error against the f64 host"},
    {"latency", Command::latency, in_latency, "",
     "launch to done of a chain of layers, as percentiles, compared with a bare graph of the same kernels",
     latency_notes},
    {"context", Command::context, in_context, "",
     "time, device memory and host memory that a context takes, stage by stage"},
    {"data", Command::data, in_data, "", "how long setting a network's data takes, from memory of each kind"},
    {"events", Command::events, in_events, "", "how many events of a camera are binned in a second"},
    {"network", Command::network, in_network, "", "inference and training of networks, beside cuBLAS", network_notes},
    {"conv2d", Command::conv2d, in_conv2d, "", "convolutions of spikes: the product and both gradients", conv2d_notes},
    {"shapes", Command::shapes, in_shapes, "", "whether layers of any shape take the time that their bytes take",
     shapes_notes},
    {"loaded", Command::loaded, in_loaded, "", "LIF loaded as text beside the built-in one, and how long loading takes",
     loaded_notes},
};

const CommandName* find_command(std::string_view name) {
  for (const CommandName& row : command_table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

const Option* find_option(std::string_view name, unsigned command_bit) {
  for (const Option& option : option_table) {
    if (option.name == name && (option.commands & command_bit) != 0) return &option;
  }
  return nullptr;
}

void check_together(const Options& options) {
  if (options.command == Command::layer && !options.tape->allows_backward &&
      options.direction->direction != Direction::forward) {
    throw UsageError{"--tape " + std::string(options.tape->name) + " stores nothing for --direction " +
                     std::string(options.direction->name) + "; use --direction forward"};
  }
  if (options.command == Command::layer && options.tape->id == SYNFIRE_TAPE_STORE_NARROW && options.dtype->bytes != 2) {
    throw UsageError{"--tape store-narrow requires --dtype f16 or bf16, not " + std::string(options.dtype->name)};
  }
  const Shape& shape = options.shape;
  if (options.command == Command::layer && (shape.steps > largest / shape.batch / shape.neurons)) {
    throw UsageError{"--steps times --batch times --neurons is more than 2^40 elements"};
  }
  const LatencyChoice& latency = options.latency;
  if (options.command == Command::latency && !options.network.sizes.empty() &&
      (latency.layers != 0 || latency.neurons != 0 || latency.direction != nullptr || latency.load != nullptr ||
       latency.priority != nullptr || options.full || !options.svg_file.empty())) {
    throw UsageError{"--network is measured alone; of the options for chains it takes --steps, --policy and --replays"};
  }
  if (options.command == Command::latency && options.network.sizes.empty() &&
      (options.network.batch != 0 || !std::isnan(options.network.input_percent))) {
    throw UsageError{"--batch and --input are for --network"};
  }
  if (options.command == Command::latency && latency.load != nullptr && latency.load->id != 0 &&
      options.backend->id == SYNFIRE_BACKEND_HOST) {
    throw UsageError{"--load busy needs a GPU and cannot be combined with --backend host"};
  }
  if (options.command == Command::latency && latency.priority != nullptr && latency.priority->id != 0 &&
      options.backend->id == SYNFIRE_BACKEND_HOST) {
    throw UsageError{"--priority high needs a GPU and cannot be combined with --backend host"};
  }
  if (options.command == Command::plot && options.input.empty()) throw UsageError{"a CSV file of a sweep is needed"};
  if (options.command == Command::plot && options.output.empty()) throw UsageError{"--output FILE.svg is needed"};
}

}  // namespace

Command command_named(std::string_view name) {
  const CommandName* const found = find_command(name);
  return found == nullptr ? Command::none : found->command;
}

Options parse_options(int argument_count, char** arguments) {
  Options options;
  if (argument_count < 2) throw UsageError{"a command is needed"};
  const std::string_view first = arguments[1];
  if (first == "--help" || first == "-h") {
    options.help = true;
    return options;
  }
  const CommandName* const command = find_command(first);
  if (command == nullptr) throw UsageError{"unknown command " + std::string(first)};
  options.command = command->command;
  if (options.command == Command::shapes) options.rounds = 9;
  for (int i = 2; i < argument_count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      options.help = true;
      return options;
    }
    if (argument.substr(0, 1) != "-") {
      if (options.command != Command::plot || !options.input.empty() || argument.empty()) {
        throw UsageError{"unexpected argument \"" + std::string(argument) + "\""};
      }
      options.input = argument;
      continue;
    }
    const Option* const option = find_option(argument, command->bit);
    if (option == nullptr) throw UsageError{std::string(command->name) + ": unknown option " + std::string(argument)};
    std::string_view value;
    if (!option->value.empty()) {
      if (i + 1 == argument_count || arguments[i + 1][0] == '\0') {
        throw UsageError{std::string(argument) + " needs a value: " + std::string(option->value)};
      }
      value = arguments[++i];
    }
    option->set(options, argument, value);
  }
  if (options.shapes.part == nullptr) options.shapes.part = &shapes_parts[0];
  check_together(options);
  return options;
}

std::string usage(Command command) {
  std::string text;
  for (const CommandName& row : command_table) {
    if (command != Command::none && row.command != command) continue;
    text += (text.empty() ? "usage: synfire-bench " : "       synfire-bench ") + std::string(row.name) +
            std::string(row.operands) + " [options]\n";
  }
  if (command == Command::none) {
    text += "\nMeasures layers and networks through the C ABI, as graphs that are replayed.\n\n";
    for (const CommandName& row : command_table) {
      char line[160];
      std::snprintf(line, sizeof line, "  %-10.*s%.*s\n", static_cast<int>(row.name.size()), row.name.data(),
                    static_cast<int>(row.help.size()), row.help.data());
      text += line;
    }
    return text +
           "\nsynfire-bench COMMAND --help shows the options of a command.\n"
           "Exit status: 0; 1 if a measurement failed; 2 for invalid arguments or an unavailable backend.\n";
  }
  for (const CommandName& row : command_table) {
    if (row.command != command) continue;
    text += '\n';
    text += row.help;
    text += "\n\n";
    const auto left = [](const Option& option) {
      return std::string(option.name) + (option.value.empty() ? "" : " ") + std::string(option.value);
    };
    std::size_t width = 0;
    for (const Option& option : option_table)
      if ((option.commands & row.bit) != 0) width = std::max(width, left(option).size());
    for (const Option& option : option_table) {
      if ((option.commands & row.bit) == 0) continue;
      const std::string name = left(option);
      text += "  " + name + std::string(width + 2 - name.size(), ' ') + std::string(option.help) + '\n';
    }
    text += row.notes;
  }
  return text;
}

}  // namespace synfire_bench
