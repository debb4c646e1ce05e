// Layers of any extents on a made-up device: what is planned and launched for them is recorded. Device memory is a
// range of addresses that nobody accesses, and kernels are their host twins, which are never called.
#ifndef SYNFIRE_TESTS_GPU_WRITTEN_DOWN_HPP
#define SYNFIRE_TESTS_GPU_WRITTEN_DOWN_HPP

#include <backends/cuda/cuda_launcher.hpp>
#include <base/buffer.hpp>
#include <neurons/passes/cuda/pass_instances.hpp>

#include <cstring>
#include <map>
#include <vector>

namespace synfire::cuda {

// The last launch that was enqueued.
struct Launch {
  const void* kernel = nullptr;
  uint64_t n_blocks = 0, n_threads = 0, shared_bytes = 0;
  unsigned int shared_percent = 0;
  bool programmatic = false;
  alignas(16) unsigned char arguments[2048] = {};

  template <class T>
  T as() const {
    static_assert(sizeof(T) <= sizeof arguments);
    T value;
    std::memcpy(static_cast<void*>(&value), arguments, sizeof value);
    return value;
  }
};
extern Launch latest;
// Launches an operation in the same way as the library.
void enqueue(const core::Operation& operation, const Launcher::Place& place = {});

constexpr GpuShape h200 = {132, 9, true};
constexpr int64_t two31 = int64_t{1} << 31, two32 = int64_t{1} << 32;

struct Given {
  int64_t n_steps, batch, n_neurons;
  int32_t dtype = SYNFIRE_DTYPE_F32;
  int32_t spikes = SYNFIRE_DTYPE_BITS;
  int32_t tape = SYNFIRE_TAPE_RECOMPUTE;
  int32_t model = SYNFIRE_MODEL_LIF;
  uint64_t misaligned = 0;  // offset of x in elements, which misaligns it
  uint64_t padding = 0;     // elements between its rows
  int32_t surrogate = 0;    // 0: the descriptor's
  int32_t refractory_steps = 0;
};

class Planned {
 public:
  explicit Planned(const Given& given);
  ~Planned();

  operations::Forward forward() const;
  operations::Backward backward() const;
  const core::LayerSpec& spec() const { return layer->spec(); }

  // `first`: offset in elements.
  core::Ref<core::Buffer> buffer(int32_t dtype, uint64_t n_elements, uint64_t first = 0, uint64_t pitch = 0);

  std::map<const void*, uint64_t> allocated;
  core::Ref<core::Layer> layer;
  // If the model never fires, grad_spike is V of every step, and then its gradient.
  core::Ref<core::Buffer> x, spikes, grad_spike, grad_x;

 private:
  Given given_;
  core::Ref<core::Context> context_;
  std::vector<core::Ref<core::Buffer>> owners_;
};

}  // namespace synfire::cuda

#endif
