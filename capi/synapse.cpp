// The functions of synfire.h for synapses.
#include "calls.hpp"

#include <synapses/conv2d/conv2d.hpp>
#include <synapses/delayed/delayed.hpp>
#include <synapses/one_to_one/one_to_one.hpp>
#include <synapses/passes/synapse_passes.hpp>
#include <synapses/population/population.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

template <class Desc>
Desc read_checked(const Desc* desc) {
  const Desc checked = read_descriptor(desc, "desc");
  if constexpr (requires { checked.reserved; }) check_reserved(checked.reserved, "desc.reserved");
  return checked;
}

synfire_synapse_memory memory_of(const operations::DenseSpec& spec) {
  synfire_synapse_memory memory = SYNFIRE_SYNAPSE_MEMORY_INIT;
  memory.weight_bytes = spec.weight_bytes() + spec.bias_bytes() + spec.mask_bytes();
  memory.derived_bytes = spec.table_bytes() + spec.rows_bytes() + 2 * spec.grid_bytes() + spec.table_planes_bytes() +
                         spec.rows_planes_bytes();
  memory.gradient_bytes = spec.frozen ? 0 : spec.weight_bytes() + spec.bias_bytes();
  return memory;
}

operations::SynapseForwardRequest request_of(const Operands<synfire_synapse_forward_desc>& given) {
  return {given.desc.n_steps,   given.desc.batch,         given.input.get(),           given.output.get(),
          given.n_active.get(), given.input_mask.get(),   given.input_scale.get(),     given.desc.mask_channels,
          given.history.get(),  given.next_history.get(), given.desc.round_delays == 1};
}

operations::SynapseBackwardRequest request_of(const Operands<synfire_synapse_backward_desc>& given) {
  return {given.desc.n_steps,
          given.desc.batch,
          given.grad_output.get(),
          given.input.get(),
          given.grad_input.get(),
          given.n_active.get(),
          given.desc.add_gradients == 1,
          given.desc.add_input_gradient == 1,
          given.input_mask.get(),
          given.input_scale.get(),
          given.desc.mask_channels,
          given.history.get()};
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_synapse_query_memory(const synfire_synapse_desc* desc,
                                                         synfire_synapse_memory* memory) noexcept {
  return guarded(__func__, [&] {
    const synfire_synapse_desc checked = read_checked(desc);
    const Answer out(memory, "memory");
    out.write(memory_of(operations::dense_matrix_of(checked)));
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_create(synfire_context context, const synfire_synapse_desc* desc,
                                                   synfire_synapse* synapse) noexcept {
  return guarded(__func__, [&] {
    check_pointer(synapse, "synapse");
    *synapse = nullptr;
    core::drain();
    const auto owner = held(context);
    const synfire_synapse_desc checked = read_checked(desc);
    *synapse = registered<synfire_synapse>(
        core::charged_as(SYNFIRE_TAG_SYNAPSE, [&] { return operations::make_any_dense(*owner, checked); }));
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_query_memory_one_to_one(const synfire_one_to_one_desc* desc,
                                                                    synfire_synapse_memory* memory) noexcept {
  return guarded(__func__, [&] {
    const synfire_one_to_one_desc checked = read_checked(desc);
    const Answer out(memory, "memory");
    const operations::OneToOneSpec spec(checked);
    synfire_synapse_memory answer = SYNFIRE_SYNAPSE_MEMORY_INIT;
    answer.weight_bytes = spec.array_bytes();
    answer.gradient_bytes = spec.shape.frozen ? 0 : spec.array_bytes();
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_create_one_to_one(synfire_context context,
                                                              const synfire_one_to_one_desc* desc,
                                                              synfire_synapse* synapse) noexcept {
  return guarded(__func__, [&] {
    check_pointer(synapse, "synapse");
    *synapse = nullptr;
    core::drain();
    const auto owner = held(context);
    const synfire_one_to_one_desc checked = read_checked(desc);
    *synapse = registered<synfire_synapse>(core::charged_as(SYNFIRE_TAG_SYNAPSE, [&] {
      return new operations::OneToOneSynapse(*owner, operations::OneToOneSpec(checked));
    }));
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_query_memory_population(const synfire_population_desc* desc,
                                                                    synfire_synapse_memory* memory) noexcept {
  return guarded(__func__, [&] {
    const synfire_population_desc checked = read_checked(desc);
    const Answer out(memory, "memory");
    const operations::PopulationSpec spec(checked);
    synfire_synapse_memory answer = SYNFIRE_SYNAPSE_MEMORY_INIT;
    answer.weight_bytes = spec.array_bytes();
    answer.gradient_bytes = spec.shape.frozen ? 0 : spec.array_bytes();
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_create_population(synfire_context context,
                                                              const synfire_population_desc* desc,
                                                              synfire_synapse* synapse) noexcept {
  return guarded(__func__, [&] {
    check_pointer(synapse, "synapse");
    *synapse = nullptr;
    core::drain();
    const auto owner = held(context);
    const synfire_population_desc checked = read_checked(desc);
    *synapse = registered<synfire_synapse>(core::charged_as(SYNFIRE_TAG_SYNAPSE, [&] {
      return new operations::PopulationSynapse(*owner, operations::PopulationSpec(checked));
    }));
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_query_memory_delayed(const synfire_delayed_desc* desc,
                                                                 synfire_synapse_memory* memory) noexcept {
  return guarded(__func__, [&] {
    const synfire_delayed_desc checked = read_checked(desc);
    const Answer out(memory, "memory");
    const operations::DelayedSpec spec(checked);
    synfire_synapse_memory answer = SYNFIRE_SYNAPSE_MEMORY_INIT;
    answer.weight_bytes = spec.array_bytes();
    answer.derived_bytes = spec.derived_bytes();
    answer.gradient_bytes = spec.gradient_bytes();
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_create_delayed(synfire_context context, const synfire_delayed_desc* desc,
                                                           synfire_synapse* synapse) noexcept {
  return guarded(__func__, [&] {
    check_pointer(synapse, "synapse");
    *synapse = nullptr;
    core::drain();
    const auto owner = held(context);
    const synfire_delayed_desc checked = read_checked(desc);
    *synapse = registered<synfire_synapse>(
        core::charged_as(SYNFIRE_TAG_SYNAPSE, [&] { return operations::make_delayed(*owner, checked); }));
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_query_memory_conv2d(const synfire_conv2d_desc* desc,
                                                                synfire_synapse_memory* memory) noexcept {
  return guarded(__func__, [&] {
    const synfire_conv2d_desc checked = read_checked(desc);
    const Answer out(memory, "memory");
    out.write(memory_of(operations::Conv2dSpec(checked).matrix));
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_create_conv2d(synfire_context context, const synfire_conv2d_desc* desc,
                                                          synfire_synapse* synapse) noexcept {
  return guarded(__func__, [&] {
    check_pointer(synapse, "synapse");
    *synapse = nullptr;
    core::drain();
    const auto owner = held(context);
    const synfire_conv2d_desc checked = read_checked(desc);
    *synapse = registered<synfire_synapse>(core::charged_as(SYNFIRE_TAG_SYNAPSE, [&] {
      return operations::make_conv2d(*owner, operations::Conv2dSpec(checked), checked.mask);
    }));
    return SYNFIRE_OK;
  });
}

void SYNFIRE_CALL synfire_synapse_destroy(synfire_synapse synapse) noexcept {
  capi::remove(value_of(synapse), core::ObjectType::synapse);
}

synfire_status SYNFIRE_CALL synfire_synapse_get_info(synfire_synapse synapse, synfire_synapse_info* info) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(synapse);
    const Answer out(info, "info");
    const core::SynapseShape& shape = found->shape();
    synfire_synapse_info answer = SYNFIRE_SYNAPSE_INFO_INIT;
    answer.input_kind = found->reads_spikes()   ? SYNFIRE_INPUT_SPIKES
                        : found->reads_counts() ? SYNFIRE_INPUT_COUNTS
                                                : SYNFIRE_INPUT_VALUES;
    answer.input_height = shape.input.height;
    answer.input_width = shape.input.width;
    answer.input_channels = shape.input.channels;
    answer.output_height = shape.output.height;
    answer.output_width = shape.output.width;
    answer.output_channels = shape.output.channels;
    answer.row_operations = static_cast<uint64_t>(found->row_operations());
    answer.dtype = shape.dtype;
    answer.n_arrays = static_cast<uint32_t>(found->arrays().size());
    answer.frozen = shape.frozen ? 1 : 0;
    answer.takes_mask = found->kind().takes_mask ? 1 : 0;
    answer.takes_dropout = found->kind().takes_dropout ? 1 : 0;
    answer.gradient_bits = shape.gradient_bits;
    answer.kind = found->kind().name;
    answer.weight_bits = shape.weight_bits;
    answer.has_mask = shape.has_mask ? 1 : 0;
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_get_array_info(synfire_synapse synapse, uint32_t index,
                                                           synfire_synapse_array_info* info) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(synapse);
    const Answer out(info, "info");
    const std::span<const core::SynapseArray> arrays = found->arrays();
    if (index >= arrays.size())
      core::fail_argument("SYN-SYNAPSE-INDEX", "index is %u; this synapse has %zu arrays", index, arrays.size());
    const core::SynapseArray& array = arrays[index];
    synfire_synapse_array_info answer = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
    answer.dtype = array.dtype;
    answer.trained = array.trained ? 1 : 0;
    answer.n_dimensions = static_cast<uint32_t>(array.rank);
    std::ranges::copy(array.lengths(), answer.shape);
    answer.name = array.name;
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_get_rounding(synfire_synapse synapse, int64_t output,
                                                         synfire_synapse_rounding* rounding) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(synapse);
    const Answer out(rounding, "rounding");
    synfire_synapse_rounding answer = SYNFIRE_SYNAPSE_ROUNDING_INIT;
    if (const std::optional<core::Rounding> of_weights = found->rounding(output)) {
      answer.has_grid = 1;
      answer.n_weights = of_weights->n_weights;
      answer.n_lost = of_weights->n_lost;
      answer.largest_error = of_weights->largest_error;
      answer.largest_bias_error = of_weights->largest_bias_error;
      answer.output = of_weights->output;
    }
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_read_integers(synfire_synapse synapse, const char* name, int32_t* values,
                                                          uint64_t count) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(synapse);
    check_pointer(name, "name");
    check_pointer(values, "values");
    found->read_integers(name, {values, static_cast<size_t>(count)});
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_read(synfire_synapse synapse, const char* name, void* values,
                                                 uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(synapse);
    check_pointer(name, "name");
    found->read(name, values, bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_write(synfire_synapse synapse, const char* name, const void* values,
                                                  uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(synapse);
    check_pointer(name, "name");
    found->write(name, values, bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_forward(synfire_synapse synapse, const synfire_synapse_forward_desc* desc,
                                                    synfire_stream stream) noexcept {
  return run_now_on(__func__, synapse, desc, stream, [](core::Synapse& found, const auto& given) {
    return operations::synapse_forward(found, request_of(given));
  });
}

synfire_status SYNFIRE_CALL synfire_synapse_backward(synfire_synapse synapse, const synfire_synapse_backward_desc* desc,
                                                     synfire_stream stream) noexcept {
  return run_now_on(__func__, synapse, desc, stream, [](core::Synapse& found, const auto& given) {
    return operations::synapse_backward(found, request_of(given));
  });
}

synfire_status SYNFIRE_CALL synfire_graph_record_synapse_forward(synfire_graph graph, synfire_synapse synapse,
                                                                 const synfire_synapse_forward_desc* desc) noexcept {
  return record_on(__func__, graph, synapse, "synapse", desc,
                   [](core::Graph& target, core::Synapse& found, const auto& given) {
                     operations::record_synapse_forward(target, found, request_of(given));
                   });
}

synfire_status SYNFIRE_CALL synfire_graph_record_synapse_backward(synfire_graph graph, synfire_synapse synapse,
                                                                  const synfire_synapse_backward_desc* desc) noexcept {
  return record_on(__func__, graph, synapse, "synapse", desc,
                   [](core::Graph& target, core::Synapse& found, const auto& given) {
                     operations::record_synapse_backward(target, found, request_of(given));
                   });
}

}  // extern "C"
