// The size of every version of each structure of synfire.h that begins with struct_size, oldest first. Compiled
// programs contain these numbers, so lines only grow, when fields were appended. The first number is the smallest
// struct_size that is accepted; a structure without a line does not compile.
#ifndef SYNFIRE_CAPI_STRUCT_SIZES_HPP
#define SYNFIRE_CAPI_STRUCT_SIZES_HPP

#include <synfire/synfire.h>

#include <cstddef>
#include <cstdint>

namespace synfire::capi {

template <class Struct>
struct StructSizes;

// Versions follow one another without padding; the last one is the current one.
template <class Struct, std::size_t n>
constexpr bool are_versions_of(const uint32_t (&sizes)[n]) {
  for (std::size_t i = 1; i < n; ++i)
    if (sizes[i] <= sizes[i - 1]) return false;
  return sizes[n - 1] == sizeof(Struct);
}

#define SYNFIRE_STRUCT_SIZES(name, ...)                 \
  template <>                                           \
  struct StructSizes<name> {                            \
    static constexpr uint32_t values[] = {__VA_ARGS__}; \
  };                                                    \
  static_assert(are_versions_of<name>(StructSizes<name>::values))

SYNFIRE_STRUCT_SIZES(synfire_context_desc, 24, 48);
SYNFIRE_STRUCT_SIZES(synfire_context_properties, 176);
SYNFIRE_STRUCT_SIZES(synfire_memory_desc, 32);
SYNFIRE_STRUCT_SIZES(synfire_memory_use, 112);
SYNFIRE_STRUCT_SIZES(synfire_log_desc, 24);
SYNFIRE_STRUCT_SIZES(synfire_buffer_desc, 40, 64, 96);
SYNFIRE_STRUCT_SIZES(synfire_from_dlpack_desc, 32);
SYNFIRE_STRUCT_SIZES(synfire_to_dlpack_desc, 24);
SYNFIRE_STRUCT_SIZES(synfire_layer_desc, 56, 64, 72);
SYNFIRE_STRUCT_SIZES(synfire_load_desc, 80);
SYNFIRE_STRUCT_SIZES(synfire_load_info, 96);
SYNFIRE_STRUCT_SIZES(synfire_check_report, 560);
SYNFIRE_STRUCT_SIZES(synfire_layer_memory, 88, 96, 104);
SYNFIRE_STRUCT_SIZES(synfire_parameter_info, 48);
SYNFIRE_STRUCT_SIZES(synfire_forward_desc, 88, 112, 160, 192);
SYNFIRE_STRUCT_SIZES(synfire_backward_desc, 88, 96, 120, 168, 184);
SYNFIRE_STRUCT_SIZES(synfire_pointers_desc, 224);
SYNFIRE_STRUCT_SIZES(synfire_convert_spikes_desc, 48);
SYNFIRE_STRUCT_SIZES(synfire_count_spikes_desc, 48);
SYNFIRE_STRUCT_SIZES(synfire_encode_bernoulli_desc, 64);
SYNFIRE_STRUCT_SIZES(synfire_bin_events_desc, 216);
SYNFIRE_STRUCT_SIZES(synfire_gather_rows_desc, 72, 80);
SYNFIRE_STRUCT_SIZES(synfire_shuffle_desc, 64);
SYNFIRE_STRUCT_SIZES(synfire_replace_nonfinite_desc, 56);
SYNFIRE_STRUCT_SIZES(synfire_reduce_desc, 72);
SYNFIRE_STRUCT_SIZES(synfire_reduce_backward_desc, 80);
SYNFIRE_STRUCT_SIZES(synfire_pool_desc, 120);
SYNFIRE_STRUCT_SIZES(synfire_pool_backward_desc, 128);
SYNFIRE_STRUCT_SIZES(synfire_upsample_desc, 80);
SYNFIRE_STRUCT_SIZES(synfire_upsample_backward_desc, 80);
SYNFIRE_STRUCT_SIZES(synfire_pad_desc, 96);
SYNFIRE_STRUCT_SIZES(synfire_pad_backward_desc, 96);
SYNFIRE_STRUCT_SIZES(synfire_normalize_desc, 152);
SYNFIRE_STRUCT_SIZES(synfire_normalize_backward_desc, 128);
SYNFIRE_STRUCT_SIZES(synfire_rate_loss_desc, 96);
SYNFIRE_STRUCT_SIZES(synfire_loss_desc, 176, 184);
SYNFIRE_STRUCT_SIZES(synfire_combine_desc, 88);
SYNFIRE_STRUCT_SIZES(synfire_combine_backward_desc, 80);
SYNFIRE_STRUCT_SIZES(synfire_group_mean_desc, 56);
SYNFIRE_STRUCT_SIZES(synfire_group_mean_backward_desc, 56);
SYNFIRE_STRUCT_SIZES(synfire_graph_desc, 8);
SYNFIRE_STRUCT_SIZES(synfire_copy_desc, 48);
SYNFIRE_STRUCT_SIZES(synfire_native_desc, 64);
SYNFIRE_STRUCT_SIZES(synfire_graph_statistics, 64);
SYNFIRE_STRUCT_SIZES(synfire_state_desc, 40);
SYNFIRE_STRUCT_SIZES(synfire_copy_rows_desc, 40);
SYNFIRE_STRUCT_SIZES(synfire_fill_desc, 24);
SYNFIRE_STRUCT_SIZES(synfire_scale_add_desc, 40);
SYNFIRE_STRUCT_SIZES(synfire_update_parameter_desc, 48);
SYNFIRE_STRUCT_SIZES(synfire_synapse_desc, 80, 88);
SYNFIRE_STRUCT_SIZES(synfire_synapse_memory, 32);
SYNFIRE_STRUCT_SIZES(synfire_one_to_one_desc, 64);
SYNFIRE_STRUCT_SIZES(synfire_population_desc, 72);
SYNFIRE_STRUCT_SIZES(synfire_delayed_desc, 112);
SYNFIRE_STRUCT_SIZES(synfire_conv2d_desc, 200);
SYNFIRE_STRUCT_SIZES(synfire_synapse_info, 104);
SYNFIRE_STRUCT_SIZES(synfire_synapse_array_info, 56);
SYNFIRE_STRUCT_SIZES(synfire_synapse_rounding, 48);
SYNFIRE_STRUCT_SIZES(synfire_synapse_forward_desc, 64, 72, 88);
SYNFIRE_STRUCT_SIZES(synfire_synapse_backward_desc, 80, 88, 96);
SYNFIRE_STRUCT_SIZES(synfire_dropout_desc, 64);
SYNFIRE_STRUCT_SIZES(synfire_optimizer_desc, 72);
SYNFIRE_STRUCT_SIZES(synfire_optimizer_step_desc, 32, 56);
SYNFIRE_STRUCT_SIZES(synfire_optimizer_memory, 24);
SYNFIRE_STRUCT_SIZES(synfire_communicator_desc, 32);
SYNFIRE_STRUCT_SIZES(synfire_communicator_properties, 16);
SYNFIRE_STRUCT_SIZES(synfire_network_desc, 40, 48, 56);
SYNFIRE_STRUCT_SIZES(synfire_stage_desc, 56);
SYNFIRE_STRUCT_SIZES(synfire_network_file_desc, 32, 48);
SYNFIRE_STRUCT_SIZES(synfire_network_data_desc, 24);
SYNFIRE_STRUCT_SIZES(synfire_network_memory, 72);
SYNFIRE_STRUCT_SIZES(synfire_network_monitor, 48);
SYNFIRE_STRUCT_SIZES(synfire_network_result, 64, 72, 80);

#undef SYNFIRE_STRUCT_SIZES

}  // namespace synfire::capi

#endif
