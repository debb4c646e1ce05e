#include "derive.hpp"
#include "parameters_arguments_of.hpp"

#include <atomic>

namespace synfire::operations {

using namespace synfire::core;

namespace {

template <class R>
void set(const SetParameters& op) {
  const auto arguments = arguments_of<R>(op);
  for (int64_t i = 0; i < (arguments.per_neuron ? arguments.target.n_neurons : 1); ++i) set_parameters_of(arguments, i);
  if (arguments.read_number) std::atomic_ref(*arguments.read_number).store(arguments.number, std::memory_order_release);
}

template <class R>
void update(const UpdateParameter& op) {
  const auto arguments = arguments_of<R>(op);
  double next = 0;
  for (int64_t i = 0; i < (arguments.block->per_neuron ? arguments.target.n_neurons : 1); ++i)
    next = update_parameter_of(arguments, i);
  ParameterMaster& master = *arguments.target.master;
  // Another thread may read it meanwhile, and gets the old or the new value.
  if (!master.rows[op.parameter]) std::atomic_ref(master.shared[op.parameter]).store(next, std::memory_order_relaxed);
}

}  // namespace

void run(const SetParameters& op, host::Launcher&) {
  if (op.layer->spec().dtype == SYNFIRE_DTYPE_F64)
    set<double>(op);
  else
    set<float>(op);
}

void run(const UpdateParameter& op, host::Launcher&) {
  if (op.layer->spec().dtype == SYNFIRE_DTYPE_F64)
    update<double>(op);
  else
    update<float>(op);
}

}  // namespace synfire::operations
