// The kind of the arrays of a batch normalisation: gamma ("weight") and beta ("bias"), which are trained, and the
// running statistics, which move as it runs. It makes no product: operations/normalize/ computes with the arrays.
#ifndef SYNFIRE_SYNAPSES_NORMALIZATION_NORMALIZATION_HPP
#define SYNFIRE_SYNAPSES_NORMALIZATION_NORMALIZATION_HPP

#include <synapses/synapse.hpp>

namespace synfire::operations {

extern const core::SynapseKind normalization_kind;

struct NormalizationSpec {
  core::Flow map;  // of a row
  int32_t dtype;   // f32 or f64
  bool affine;     // otherwise there are neither gamma nor beta
  double gamma;    // at the start
};

class NormalizationSynapse final : public core::Synapse {
 public:
  NormalizationSynapse(core::Context& context, const NormalizationSpec& spec);

  bool is_affine() const noexcept { return affine_; }
  // Writes the arrays of the start: gamma, beta 0, the mean 0 and the variance 1.
  void initialize();

 private:
  ~NormalizationSynapse() override = default;

  const bool affine_;
  const double gamma_;
};

}  // namespace synfire::operations

#endif
