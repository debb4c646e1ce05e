// A user's program in C++: the neuron of main.c through synfire.hpp. Exits with 0 if it fires as expected.
//
// It has classes and functions of its own under names that the library uses inside, which must not meet them.
#include <cstdio>
#include <synfire/synfire.hpp>
#include <vector>

struct Graph {
  int members[3] = {1, 2, 3};
};
class ThreadPool {
 public:
  virtual ~ThreadPool() = default;
  virtual int threads() const { return 7; }
};
int complain(const ThreadPool& pool, const Graph& graph) {
  return pool.threads() * graph.members[2];
}
extern "C" int host_device(void) {
  return complain(ThreadPool(), Graph());
}

int main() {
  try {
    synfire_context_desc where = SYNFIRE_CONTEXT_DESC_INIT;
    where.backend = SYNFIRE_BACKEND_HOST;
    const synfire::Context context(where);
    synfire_layer_desc shape = SYNFIRE_LAYER_DESC_INIT;
    shape.model = SYNFIRE_MODEL_IF;
    shape.n_steps = 4;
    shape.n_neurons = 1;
    synfire::Layer layer(context, shape);
    auto x = layer.make_sequence<float>(), spikes = layer.make_sequence<float>();
    x.upload(std::vector<float>{0.6f, 0.6f, 0.6f, 0.6f});
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x.get();
    forward.spikes = spikes.get();
    layer.forward(forward);
    if (spikes.download<float>() != std::vector<float>{0.0f, 1.0f, 0.0f, 1.0f} || host_device() != 21) {
      std::puts("other spikes than expected");
      return 1;
    }
    std::printf("%s\n", synfire_version_string());
    return 0;
  } catch (const synfire::error& problem) {
    std::printf("%s\n", problem.what());
    return 1;
  }
}
