// A layer's parameters in device memory: the constants of kernels and, once replays update them, the values themselves.
#ifndef SYNFIRE_NEURONS_PARAMETER_BLOCK_HPP
#define SYNFIRE_NEURONS_PARAMETER_BLOCK_HPP

#include <synfire/model/layout.hpp>

#include <cstdint>

namespace synfire::core {

// A layer's constants, rewritten between replays without re-recording.
template <class R>
struct ParameterBlock {
  R shared[model::max_constants];
  const R* per_neuron;  // [n_constants, N] as soon as any parameter is one number per neuron, else null
  int64_t active;       // elements of a row [B, N] that passes compute: those of the first batch rows
  // Slopes of the model's constants along its parameters, for gradients of parameters.
  R slopes[model::max_slope_rows * model::max_model_constants];  // [row, constant]
  const R* slopes_per_neuron;  // [row, constant, N] when constants are per neuron and a gradient was asked for
};

// The values of a layer's parameters in device memory.
struct ParameterMaster {
  double shared[model::max_parameters];
  double* rows[model::max_parameters];  // [N], or null
  uint32_t arrived;                     // blocks of the update that is running
  uint32_t readers_done;                // blocks of the kernel that takes over values of the host's
  uint64_t read_number;                 // the highest of those kernels that is done (ValueStaging)
};

// The formula of a model or a surrogate that was loaded at run time, for the host.
struct LoadedModelFormula {
  int32_t n_own;                     // parameters, with those of firing
  int32_t first_surrogate_constant;  // among the constants of a neuron
  bool fires;
  void (*derive)(const double* parameters, bool undecayed_input, double* constants);
  void (*derive_along)(const double* parameters, int parameter, bool undecayed_input, double* slopes);
  // As in neurons/parameters/derive.hpp.
  void (*write_f32)(const double* parameters, bool undecayed_input, int64_t i, int64_t n, ParameterBlock<float>* block,
                    float* per_neuron, float* slopes_per_neuron);
  void (*write_f64)(const double* parameters, bool undecayed_input, int64_t i, int64_t n, ParameterBlock<double>* block,
                    double* per_neuron, double* slopes_per_neuron);
  double (*descend_f32)(double* parameters, int index, const model::Descent& descent, double gradient, double rate,
                        bool undecayed_input);
  double (*descend_f64)(double* parameters, int index, const model::Descent& descent, double gradient, double rate,
                        bool undecayed_input);
};
struct LoadedSurrogateFormula {
  int32_t n_parameters;
  void (*derive)(const double* parameters, double* constants);
};

// The arguments of both kernels about a layer.
struct ParameterTarget {
  ParameterMaster* master;
  int64_t n_neurons;
  int32_t model;
  int32_t surrogate;
  bool undecayed_input;
  // Null on a GPU, or if nothing was loaded.
  const LoadedModelFormula* model_formula;
  const LoadedSurrogateFormula* surrogate_formula;
};

// Changes that the host has made since the last launch, on their way to the device.
struct ParameterUpload {
  ParameterTarget target;
  void* block;                           // ParameterBlock
  void* per_neuron;                      // constants [n_constants, N] when any parameter is per neuron, else null
  void* slopes_per_neuron;               // [row, constant, N], or null
  int64_t active;                        // the new ParameterBlock::active
  uint32_t changed;                      // a bit for each parameter
  double values[model::max_parameters];  // of changed parameters with one number
  const double* staged[model::max_parameters];  // [N], of changed parameters with one number per neuron
  double* rows[model::max_parameters];          // the new ParameterMaster::rows
  uint64_t number;                              // of this work, and where to write it when what is staged has been
  uint64_t* read_number;                        // read; null when nothing is staged
};

}  // namespace synfire::core

#endif
