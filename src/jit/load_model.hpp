// Loads models and surrogates from text into a context.
#ifndef SYNFIRE_JIT_LOAD_MODEL_HPP
#define SYNFIRE_JIT_LOAD_MODEL_HPP

#include <neurons/loaded.hpp>

#include <synfire/synfire.h>

#include <string>

namespace synfire::jit {

// Properties of a loaded text in the ABI, besides its row.
struct LoadFacts {
  bool from_cache = false;
  uint64_t nanoseconds = 0;
};

struct ModelText;

// A text loaded as core::LoadedModel or core::LoadedSurrogate.
template <class Base>
class FromText : public Base {
 public:
  using Base::Base;
  const LoadFacts& facts() const noexcept { return facts_; }
  virtual const ModelText& text() const noexcept = 0;
  virtual void check(uint64_t seed, uint64_t n_samples, synfire_check_report& report) = 0;

 protected:
  LoadFacts facts_;
};
using Model = FromText<core::LoadedModel>;
using Surrogate = FromText<core::LoadedSurrogate>;

// Both throw a Failure with a rule SYN-MODEL-*; the caller owns the reference.
Model* load_model(core::Context& context, const synfire_load_desc& desc);
Surrogate* load_surrogate(core::Context& context, const synfire_load_desc& desc);

}  // namespace synfire::jit

#endif
