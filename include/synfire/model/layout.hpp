// Plain data shared by model code, core and both backends. It is outside the per-level namespaces because it has no
// code, and because the same types are passed between levels.
#ifndef SYNFIRE_MODEL_LAYOUT_HPP
#define SYNFIRE_MODEL_LAYOUT_HPP

namespace synfire::model {

// Steps between two checkpoints of V on a tape. Backward holds the H of one interval in fast memory. With 32 steps of
// f32, a tape takes 1/8 byte per element, and only V_init for T ≤ 32.
inline constexpr int checkpoint_interval = 32;

// State variables of a neuron: V, then W and up to two more. Where there is room, some layers have a countdown as the
// last one (ruled.hpp).
inline constexpr int max_states = 4;
inline constexpr int max_further_states = max_states - 1;
inline constexpr const char* countdown_name = "countdown";

// Constants of a neuron, in this order: the two of firing (unused by a model that never fires), the model's own, the
// surrogate's.
inline constexpr int constant_v_threshold = 0;
inline constexpr int constant_v_reset = 1;
inline constexpr int first_model_constant = 2;
inline constexpr int max_surrogate_constants = 4;
inline constexpr int max_constants = 16;

// Slopes of a model's constants along each of its parameters: a row per parameter, then one per second name.
inline constexpr int max_model_constants = 8;
inline constexpr int max_slope_rows = 8;

// The gradient of a parameter is taken along one of these: a row of slopes, or one of the two parameters that every
// model has.
inline constexpr int gradient_of_v_threshold = -1;
inline constexpr int gradient_of_v_reset = -2;
inline constexpr int max_gradients = max_slope_rows + 2;

// The largest number of parameters of a layer: the model's, v_threshold, v_reset, the surrogate's.
inline constexpr int max_own_parameters = max_slope_rows + 2;
inline constexpr int max_parameters = max_own_parameters + max_surrogate_constants;

// One update of a parameter by its gradient (update.hpp), in the quantity that the caller named: p, or 1/p by its
// second name.
struct Descent {
  bool reciprocal;
  double lower, upper;      // of the named value, both allowed
  double minimum, maximum;  // of the stored value, both allowed
};

// The id by which kernels know a model or a surrogate that was loaded at run time. Each loaded one has kernels of its
// own, so one id serves all of them; what programs see are other numbers.
inline constexpr int loaded_id = 1000000;

// Properties that all neurons of a layer share and that do not change.
struct Rules {
  bool soft_reset;  // also of a delayed reset
  bool detach_reset;
  // Few layers have the rules below, and kernels of their own for them (Ruled, ruled.hpp).
  bool strict_threshold = false;  // fires at H > threshold
  bool delayed_reset = false;     // the threshold is taken off in the step after the spike
  int refractory_steps = 0;

  // True if the layer has a countdown among its state variables.
  constexpr bool count_down() const { return delayed_reset || refractory_steps > 0; }
  constexpr bool are_plain() const { return !strict_threshold && !count_down(); }
};

// The largest finite double: "no bound but finiteness".
inline constexpr double unbounded = 1.7976931348623157e308;

// A number that the application may set. Values are doubles at the ABI. Kernels never see them: each model and
// surrogate converts its parameters once, in f64, into the constants of its formula.
struct ParameterSpec {
  const char* name;
  double default_value;
  double minimum;
  double maximum;
  bool open_range;                        // the minimum itself is not allowed
  const char* reciprocal_name = nullptr;  // a second name, by which 1/value is set and read
  const char* unit = nullptr;             // for people to read; the library does not convert
  const char* reciprocal_unit = nullptr;  // that of 1/value
};

// The two parameters that every model that fires has, after its own. Each model defines the default of its v_reset.
inline constexpr ParameterSpec v_threshold_parameter = {"v_threshold", 1.0,     -unbounded, unbounded,
                                                        false,         nullptr, "potential"};
inline constexpr ParameterSpec v_reset_parameter = {"v_reset", 0.0, -unbounded, unbounded, false, nullptr, "potential"};

}  // namespace synfire::model

#endif
