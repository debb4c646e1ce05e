// Plain data that model code, core and both backends agree on. It holds no code, so it lives outside the per-level
// namespaces: the same types are passed between levels.
#ifndef SYNFIRE_MODEL_LAYOUT_HPP
#define SYNFIRE_MODEL_LAYOUT_HPP

namespace synfire::model {

// Steps between two checkpoints of V on a tape: the H of one interval are held in fast memory while backward walks it.
// 32 steps of f32 keep 1/8 byte per element, and nothing but V_init for T ≤ 32.
inline constexpr int checkpoint_interval = 32;

// Constants of a neuron, in this order: the two every model has, the model's own, the surrogate's.
inline constexpr int constant_v_threshold = 0;
inline constexpr int constant_v_reset = 1;
inline constexpr int first_model_constant = 2;
inline constexpr int max_constants = 16;

// What is the same for all neurons of a layer and fixed with it.
struct Rules {
  bool soft_reset;
  bool detach_reset;
};

// The largest finite double: "no bound but finiteness".
inline constexpr double unbounded = 1.7976931348623157e308;

// A number that a user may set. Values are doubles at the ABI; kernels never see them: each model and surrogate turns
// its parameters into the constants its formula needs, once, in f64.
struct ParameterSpec {
  const char* name;
  double default_value;
  double minimum;
  double maximum;
  bool open_range;  // the minimum itself is not allowed
};

}  // namespace synfire::model

#endif
