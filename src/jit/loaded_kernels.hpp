// The GPU kernels of a loaded model or surrogate: each is compiled when it is first asked for, kept in the cache on
// disk, and loaded into the driver while the object lives.
#ifndef SYNFIRE_JIT_LOADED_KERNELS_HPP
#define SYNFIRE_JIT_LOADED_KERNELS_HPP

#include "cache.hpp"
#include "model_text.hpp"

#include <neurons/loaded.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace synfire::jit {

struct KernelRules {
  Cache cache;
  uint64_t time_out = 0;  // of each of them
  int compute_major = 0, compute_minor = 0;
};

// Null if the row is one of the lists.
const ModelText* text_of(const core::ModelRow& row) noexcept;
const ModelText* text_of(const core::SurrogateRow& row) noexcept;

class Kernels {
 public:
  explicit Kernels(core::Device& device, KernelRules rules) : device_(device), rules_(std::move(rules)) {}
  ~Kernels();

  const void* find(const core::KernelRequest& request);

 private:
  struct Entry {
    int32_t model, surrogate;  // ids; the others of a layer may differ from layer to layer
    const void* kernel;
    void* library;
    Entry* next;
  };
  Entry* compile(const core::KernelRequest& request) const;

  core::Device& device_;
  const KernelRules rules_;
  std::mutex mutex_;  // compiling
  std::atomic<Entry*> slots_[core::KernelRequest::most_kernels] = {};
};

}  // namespace synfire::jit

#endif
