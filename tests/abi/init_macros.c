/* Every _INIT macro equals "all bytes zero, then struct_size", as is promised for languages that cannot use macros. */
#include <stdio.h>
#include <string.h>

#include <synfire/synfire.h>

static int n_failed = 0;

#define CHECK_INIT(type, INIT)                                         \
  do {                                                                 \
    const type from_macro = INIT;                                      \
    type by_hand;                                                      \
    memset(&by_hand, 0, sizeof by_hand);                               \
    by_hand.struct_size = (uint32_t)sizeof by_hand;                    \
    if (memcmp(&from_macro, &by_hand, sizeof by_hand) != 0) {          \
      printf("failed: " #INIT " is not all zeros plus struct_size\n"); \
      ++n_failed;                                                      \
    }                                                                  \
  } while (0)

int main(void) {
  CHECK_INIT(synfire_context_desc, SYNFIRE_CONTEXT_DESC_INIT);
  CHECK_INIT(synfire_context_properties, SYNFIRE_CONTEXT_PROPERTIES_INIT);
  CHECK_INIT(synfire_buffer_desc, SYNFIRE_BUFFER_DESC_INIT);
  CHECK_INIT(synfire_layer_desc, SYNFIRE_LAYER_DESC_INIT);
  CHECK_INIT(synfire_layer_memory, SYNFIRE_LAYER_MEMORY_INIT);
  CHECK_INIT(synfire_parameter_info, SYNFIRE_PARAMETER_INFO_INIT);
  CHECK_INIT(synfire_forward_desc, SYNFIRE_FORWARD_DESC_INIT);
  CHECK_INIT(synfire_backward_desc, SYNFIRE_BACKWARD_DESC_INIT);
  CHECK_INIT(synfire_convert_spikes_desc, SYNFIRE_CONVERT_SPIKES_DESC_INIT);
  CHECK_INIT(synfire_count_spikes_desc, SYNFIRE_COUNT_SPIKES_DESC_INIT);
  CHECK_INIT(synfire_encode_bernoulli_desc, SYNFIRE_ENCODE_BERNOULLI_DESC_INIT);
  CHECK_INIT(synfire_gather_rows_desc, SYNFIRE_GATHER_ROWS_DESC_INIT);
  CHECK_INIT(synfire_shuffle_desc, SYNFIRE_SHUFFLE_DESC_INIT);
  CHECK_INIT(synfire_replace_nonfinite_desc, SYNFIRE_REPLACE_NONFINITE_DESC_INIT);
  CHECK_INIT(synfire_reduce_desc, SYNFIRE_REDUCE_DESC_INIT);
  CHECK_INIT(synfire_reduce_backward_desc, SYNFIRE_REDUCE_BACKWARD_DESC_INIT);
  CHECK_INIT(synfire_rate_loss_desc, SYNFIRE_RATE_LOSS_DESC_INIT);
  CHECK_INIT(synfire_loss_desc, SYNFIRE_LOSS_DESC_INIT);
  CHECK_INIT(synfire_graph_desc, SYNFIRE_GRAPH_DESC_INIT);
  CHECK_INIT(synfire_copy_desc, SYNFIRE_COPY_DESC_INIT);
  CHECK_INIT(synfire_native_call, SYNFIRE_NATIVE_CALL_INIT);
  CHECK_INIT(synfire_native_desc, SYNFIRE_NATIVE_DESC_INIT);
  CHECK_INIT(synfire_graph_statistics, SYNFIRE_GRAPH_STATISTICS_INIT);
  CHECK_INIT(synfire_state_desc, SYNFIRE_STATE_DESC_INIT);
  CHECK_INIT(synfire_copy_rows_desc, SYNFIRE_COPY_ROWS_DESC_INIT);
  CHECK_INIT(synfire_fill_desc, SYNFIRE_FILL_DESC_INIT);
  CHECK_INIT(synfire_scale_add_desc, SYNFIRE_SCALE_ADD_DESC_INIT);
  CHECK_INIT(synfire_update_parameter_desc, SYNFIRE_UPDATE_PARAMETER_DESC_INIT);
  CHECK_INIT(synfire_synapse_desc, SYNFIRE_SYNAPSE_DESC_INIT);
  CHECK_INIT(synfire_synapse_memory, SYNFIRE_SYNAPSE_MEMORY_INIT);
  CHECK_INIT(synfire_synapse_info, SYNFIRE_SYNAPSE_INFO_INIT);
  CHECK_INIT(synfire_synapse_array_info, SYNFIRE_SYNAPSE_ARRAY_INFO_INIT);
  CHECK_INIT(synfire_synapse_forward_desc, SYNFIRE_SYNAPSE_FORWARD_DESC_INIT);
  CHECK_INIT(synfire_synapse_backward_desc, SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT);
  CHECK_INIT(synfire_dropout_desc, SYNFIRE_DROPOUT_DESC_INIT);
  CHECK_INIT(synfire_optimizer_desc, SYNFIRE_OPTIMIZER_DESC_INIT);
  CHECK_INIT(synfire_optimizer_step_desc, SYNFIRE_OPTIMIZER_STEP_DESC_INIT);
  CHECK_INIT(synfire_optimizer_memory, SYNFIRE_OPTIMIZER_MEMORY_INIT);
  CHECK_INIT(synfire_network_desc, SYNFIRE_NETWORK_DESC_INIT);
  CHECK_INIT(synfire_network_file_desc, SYNFIRE_NETWORK_FILE_DESC_INIT);
  CHECK_INIT(synfire_network_memory, SYNFIRE_NETWORK_MEMORY_INIT);
  CHECK_INIT(synfire_network_result, SYNFIRE_NETWORK_RESULT_INIT);
  if (n_failed == 0) printf("every initialiser is all zeros plus struct_size\n");
  return n_failed == 0 ? 0 : 1;
}
