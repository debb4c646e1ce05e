// loaded_command.cpp - `synfire-bench loaded`: LIF loaded as text beside the built-in LIF, and how long loading takes.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "commands.hpp"
#include "record.hpp"
#include "shape_list.hpp"
#include "workload.hpp"

namespace synfire_bench {
namespace {

// As a user writes it.
constexpr const char* lif_text = R"(#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

struct LoadedLif {
  static constexpr const char* name = "loaded_lif";
  static constexpr int n_states = 1;
  static constexpr int n_parameters = 2;
  static constexpr int n_constants = 3;
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = true;
  static constexpr bool slope_reads_input = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 2.0, 0.0, unbounded, true, nullptr, "steps"},
      {"v_rest", 0.0, -unbounded, unbounded, false, nullptr, "potential"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool undecayed_input, T* constants) {
    const T reciprocal_tau = inverse(values[0]), v_rest = values[1], one = Lift<T>::from(1.0);
    constants[0] = one - reciprocal_tau;
    constants[1] = undecayed_input ? one : reciprocal_tau;
    constants[2] = v_rest * reciprocal_tau;
  }

  template <class C, class V, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* constants, V v, X x) {
    return fma(constants[0], v, fma(constants[1], x, constants[2]));
  }
};

SYNFIRE_MODEL_END
)";

constexpr Shape load_shape = {8, 1, 1024};
constexpr double cached_limit = 0.020, host_limit = 5.0, cuda_limit = 3.0;
constexpr double ratio_limit = 1.02, extra_limit = 0.1e-6;
constexpr int most_tries = 3;

// A folder for compiled texts that nobody else uses. The library creates it.
class CacheFolder {
 public:
  CacheFolder() {
    std::random_device random;
    char name[64];
    std::snprintf(name, sizeof name, "synfire-bench-%08x%08x", static_cast<unsigned>(random()),
                  static_cast<unsigned>(random()));
    path_ = (std::filesystem::temp_directory_path() / name).string();
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  ~CacheFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

Owned<synfire_model> load(const Machine& machine, const CacheFolder& cache) {
  synfire_load_desc desc = SYNFIRE_LOAD_DESC_INIT;
  desc.text = lif_text;
  desc.name = "loaded_lif";
  desc.cache = cache.path();
  synfire_model model = nullptr;
  check(synfire_model_load(machine.context(), &desc, &model), "synfire_model_load");
  return Owned<synfire_model>(model);
}

std::int32_t id_of(synfire_model model) {
  synfire_load_info info = SYNFIRE_LOAD_INFO_INIT;
  check(synfire_model_get_info(model, &info), "synfire_model_get_info");
  return info.id;
}

constexpr Column columns[] = {{"what", "what", 0, 44},
                              {"built_in_us", "built-in us", 2, 12},
                              {"loaded_us", "loaded us", 2, 12},
                              {"limit_us", "limit us", 2, 12},
                              {"within", "within", 0, 6}};

class Report {
 public:
  explicit Report(Format format) : writer_(stdout, format, columns) {}
  void row(const std::string& what, double built_in, double loaded, double limit) {
    const bool within = loaded <= limit;
    if (!within) ++n_beyond_;
    writer_.row({what, built_in * 1e6, loaded * 1e6, limit * 1e6, std::string(within ? "yes" : "no")});
  }
  int n_beyond() const { return n_beyond_; }
  void finish() { writer_.finish(); }

 private:
  Writer writer_;
  int n_beyond_ = 0;
};

// From nothing to a layer whose forward and backward can be launched: loading, if there is a text, and the layer with
// its graphs. The arena is ready.
double seconds_to_a_layer(const Machine& machine, Arena& arena, const Job& built_in, const CacheFolder* cache) {
  const double begin = now();
  Model model = *built_in.model;
  Owned<synfire_model> loaded;
  Job job = built_in;
  if (cache) {
    loaded = load(machine, *cache);
    model.id = id_of(loaded.get());
    job.model = &model;
  }
  const Owned<synfire_layer> layer = make_layer(machine, layer_desc(job));
  const Arrays arrays = arena.slices(job, 0);
  const Owned<synfire_graph> graph = make_graph(machine);
  record_pass(graph.get(), layer.get(), arrays, job, Direction::both);
  check(synfire_graph_instantiate(graph.get()), "synfire_graph_instantiate");
  return now() - begin;
}

void report_loading(const Machine& machine, const Job& built_in, const CacheFolder& cache, Report& report) {
  Arena arena(machine, *built_in.dtype);
  arena.prepare(built_in, 1);
  const auto median = [&](const CacheFolder* folder) {
    std::vector<double> seconds;
    for (int i = 0; i < 9; ++i) {
      seconds.push_back(seconds_to_a_layer(machine, arena, built_in, folder));
      machine.reclaim();
    }
    std::sort(seconds.begin(), seconds.end());
    return quantile(seconds, 0.5);
  };
  const double plain = median(nullptr), first = seconds_to_a_layer(machine, arena, built_in, &cache);
  machine.reclaim();
  report.row("a layer and its graph, the text compiled", plain, first, machine.is_host() ? host_limit : cuda_limit);
  report.row("a layer and its graph, the text cached", plain, median(&cache), cached_limit);
}

// Both layers have the same arrays, and are measured in turns.
void report_shape(const Machine& machine, const Options& options, const Job& built_in, synfire_model loaded,
                  Report& report) {
  Arena arena(machine, *built_in.dtype);
  Model model = *built_in.model;
  Job job = built_in;
  job.model = &model;
  const std::vector<Direction> directions = {Direction::forward, Direction::backward};
  Workload one(machine, arena, job, directions, 1);
  model.id = id_of(loaded);
  Workload other(machine, arena, job, directions, 1);
  for (const Direction direction : directions) {
    const std::vector<Rotation> rotations = {one.rotation(direction, Cache::hot),
                                             other.rotation(direction, Cache::hot)};
    double plain = 0, text = 0, limit = 0;
    for (int i = 0; i < most_tries && (i == 0 || text > limit); ++i) {
      const std::vector<Summary> times = measure_in_turns(rotations, options.rounds, 2e-3);
      // On the host, other programs can only add to a time.
      plain = machine.is_host() ? times[0].min : times[0].median;
      text = machine.is_host() ? times[1].min : times[1].median;
      limit = std::max(plain * ratio_limit, plain + extra_limit);
    }
    char what[96];
    std::snprintf(what, sizeof what, "%s, T = %llu, B = %llu, N = %llu",
                  direction == Direction::forward ? "forward" : "backward",
                  static_cast<unsigned long long>(job.shape.steps), static_cast<unsigned long long>(job.shape.batch),
                  static_cast<unsigned long long>(job.shape.neurons));
    report.row(what, plain, text, limit);
  }
}

}  // namespace

void run_loaded(const Options& options) {
  const Machine machine(options.backend->id, options.threads);
  if (options.format == Format::text) std::printf("%s\n\n", machine.description().c_str());
  const CacheFolder cache;
  Report report(options.format);
  const auto job_of = [&](const Shape& shape) {
    return Job{shape, &models.front(), options.surrogate, options.dtype, options.spikes, &tapes[0]};
  };
  report_loading(machine, job_of(load_shape), cache, report);
  const Owned<synfire_model> loaded = load(machine, cache);
  std::vector<Shape> shapes = {{32, 1, 2097152}, {8, 1, 1024}};
  for (const PlacedShape& placed : random_shapes(options.loaded_seed, 5, std::uint64_t{1} << 24))
    shapes.push_back(placed.shape);
  for (const Shape& shape : shapes) {
    machine.require_memory(static_cast<double>(device_bytes(job_of(shape))));
    report_shape(machine, options, job_of(shape), loaded.get(), report);
    machine.reclaim();
  }
  report.finish();
  if (report.n_beyond() > 0)
    throw std::runtime_error(std::to_string(report.n_beyond()) + " rows are beyond their limits");
}

}  // namespace synfire_bench
