/* Prints the layout of every structure and the value of every constant of synfire.h, one per line, tab-separated;
 * layout.tsv is the record of this output. Fields must tile their structure: the program exits with 1 if a field is
 * missing here or there is padding. records.cmake checks that no structure or constant of the header is missing. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <synfire/synfire.h>

static int n_failed = 0;
static const char *struct_name;
static size_t struct_bytes, next_offset;

static void begin_struct(const char *name, size_t bytes) {
  struct_name = name;
  struct_bytes = bytes;
  next_offset = 0;
  printf("struct\t%s\t%u\n", name, (unsigned)bytes);
}

static void field(const char *name, size_t offset, size_t bytes) {
  printf("field\t%s.%s\t%u\t%u\n", struct_name, name, (unsigned)offset, (unsigned)bytes);
  if (offset != next_offset) {
    fprintf(stderr, "%s.%s begins at %u, but the field before it ends at %u\n", struct_name, name, (unsigned)offset,
            (unsigned)next_offset);
    ++n_failed;
  }
  next_offset = offset + bytes;
}

static void end_struct(void) {
  if (next_offset != struct_bytes) {
    fprintf(stderr, "%s has %u bytes, but its fields end at %u\n", struct_name, (unsigned)struct_bytes,
            (unsigned)next_offset);
    ++n_failed;
  }
}

#define FIELD(type, name) field(#name, offsetof(type, name), sizeof(((type *)0)->name))
#define TYPE(type) printf("type\t" #type "\t%u\n", (unsigned)sizeof(type))
#define CONSTANT(name) printf("constant\t" #name "\t%ld\n", (long)(name))

static void print_structs(void) {
  begin_struct("synfire_context_desc", sizeof(synfire_context_desc));
  FIELD(synfire_context_desc, struct_size);
  FIELD(synfire_context_desc, backend);
  FIELD(synfire_context_desc, device);
  FIELD(synfire_context_desc, n_threads);
  FIELD(synfire_context_desc, stream_priority);
  FIELD(synfire_context_desc, reserved);
  FIELD(synfire_context_desc, enqueue_task);
  FIELD(synfire_context_desc, finish_task);
  FIELD(synfire_context_desc, job_system);
  end_struct();

  begin_struct("synfire_context_properties", sizeof(synfire_context_properties));
  FIELD(synfire_context_properties, struct_size);
  FIELD(synfire_context_properties, backend);
  FIELD(synfire_context_properties, device);
  FIELD(synfire_context_properties, fallback_reason);
  FIELD(synfire_context_properties, n_threads);
  FIELD(synfire_context_properties, compute_major);
  FIELD(synfire_context_properties, compute_minor);
  FIELD(synfire_context_properties, n_multiprocessors);
  FIELD(synfire_context_properties, driver_version);
  FIELD(synfire_context_properties, runtime_version);
  FIELD(synfire_context_properties, memory_bytes);
  FIELD(synfire_context_properties, name);
  end_struct();

  begin_struct("synfire_buffer_desc", sizeof(synfire_buffer_desc));
  FIELD(synfire_buffer_desc, struct_size);
  FIELD(synfire_buffer_desc, memory);
  FIELD(synfire_buffer_desc, dtype);
  FIELD(synfire_buffer_desc, reserved);
  FIELD(synfire_buffer_desc, n_elements);
  FIELD(synfire_buffer_desc, data);
  FIELD(synfire_buffer_desc, row_pitch);
  FIELD(synfire_buffer_desc, release);
  FIELD(synfire_buffer_desc, release_user);
  FIELD(synfire_buffer_desc, release_flag);
  FIELD(synfire_buffer_desc, shape);
  end_struct();

  begin_struct("synfire_load_desc", sizeof(synfire_load_desc));
  FIELD(synfire_load_desc, struct_size);
  FIELD(synfire_load_desc, no_cache);
  FIELD(synfire_load_desc, text);
  FIELD(synfire_load_desc, text_bytes);
  FIELD(synfire_load_desc, file);
  FIELD(synfire_load_desc, name);
  FIELD(synfire_load_desc, time_out);
  FIELD(synfire_load_desc, cache);
  FIELD(synfire_load_desc, cache_bytes);
  FIELD(synfire_load_desc, progress);
  FIELD(synfire_load_desc, user);
  begin_struct("synfire_load_info", sizeof(synfire_load_info));
  FIELD(synfire_load_info, struct_size);
  FIELD(synfire_load_info, id);
  FIELD(synfire_load_info, n_states);
  FIELD(synfire_load_info, n_parameters);
  FIELD(synfire_load_info, from_cache);
  FIELD(synfire_load_info, reserved);
  FIELD(synfire_load_info, nanoseconds);
  FIELD(synfire_load_info, name);
  begin_struct("synfire_check_report", sizeof(synfire_check_report));
  FIELD(synfire_check_report, struct_size);
  FIELD(synfire_check_report, wrong_slope_reads_input);
  FIELD(synfire_check_report, wrong_slope_reads_w);
  FIELD(synfire_check_report, n_loops);
  FIELD(synfire_check_report, n_vectorized);
  FIELD(synfire_check_report, reserved);
  FIELD(synfire_check_report, n_samples);
  FIELD(synfire_check_report, n_non_finite);
  FIELD(synfire_check_report, largest_error);
  FIELD(synfire_check_report, text);
  begin_struct("synfire_layer_desc", sizeof(synfire_layer_desc));
  FIELD(synfire_layer_desc, struct_size);
  FIELD(synfire_layer_desc, model);
  FIELD(synfire_layer_desc, n_steps);
  FIELD(synfire_layer_desc, n_neurons);
  FIELD(synfire_layer_desc, batch);
  FIELD(synfire_layer_desc, dtype);
  FIELD(synfire_layer_desc, reset);
  FIELD(synfire_layer_desc, surrogate);
  FIELD(synfire_layer_desc, detach_reset);
  FIELD(synfire_layer_desc, undecayed_input);
  FIELD(synfire_layer_desc, threads_per_block);
  end_struct();

  begin_struct("synfire_layer_memory", sizeof(synfire_layer_memory));
  FIELD(synfire_layer_memory, struct_size);
  FIELD(synfire_layer_memory, checkpoint_interval);
  FIELD(synfire_layer_memory, state_bytes);
  FIELD(synfire_layer_memory, parameter_bytes);
  FIELD(synfire_layer_memory, per_neuron_parameter_bytes);
  FIELD(synfire_layer_memory, tape_bytes);
  FIELD(synfire_layer_memory, gradient_bytes);
  FIELD(synfire_layer_memory, per_neuron_gradient_bytes);
  FIELD(synfire_layer_memory, stored_tape_bytes);
  FIELD(synfire_layer_memory, narrow_tape_bytes);
  FIELD(synfire_layer_memory, narrow_tape_spike_bytes);
  FIELD(synfire_layer_memory, per_neuron_value_bytes);
  FIELD(synfire_layer_memory, synapse_tape_bytes);
  end_struct();

  begin_struct("synfire_parameter_info", sizeof(synfire_parameter_info));
  FIELD(synfire_parameter_info, struct_size);
  FIELD(synfire_parameter_info, open_range);
  FIELD(synfire_parameter_info, length);
  FIELD(synfire_parameter_info, default_value);
  FIELD(synfire_parameter_info, minimum);
  FIELD(synfire_parameter_info, maximum);
  FIELD(synfire_parameter_info, name);
  end_struct();

  begin_struct("synfire_state_buffer", sizeof(synfire_state_buffer));
  FIELD(synfire_state_buffer, name);
  FIELD(synfire_state_buffer, buffer);
  begin_struct("synfire_forward_desc", sizeof(synfire_forward_desc));
  FIELD(synfire_forward_desc, struct_size);
  FIELD(synfire_forward_desc, tape);
  FIELD(synfire_forward_desc, x);
  FIELD(synfire_forward_desc, spikes);
  FIELD(synfire_forward_desc, v_init);
  FIELD(synfire_forward_desc, v_final);
  FIELD(synfire_forward_desc, v_seq);
  FIELD(synfire_forward_desc, h_seq);
  FIELD(synfire_forward_desc, w_init);
  FIELD(synfire_forward_desc, w_final);
  FIELD(synfire_forward_desc, w_seq);
  FIELD(synfire_forward_desc, in_place);
  FIELD(synfire_forward_desc, reserved);
  FIELD(synfire_forward_desc, synapse);
  FIELD(synfire_forward_desc, synapse_input);
  FIELD(synfire_forward_desc, n_active);
  FIELD(synfire_forward_desc, state_init);
  FIELD(synfire_forward_desc, n_state_init);
  FIELD(synfire_forward_desc, state_final);
  FIELD(synfire_forward_desc, n_state_final);
  FIELD(synfire_forward_desc, state_seq);
  FIELD(synfire_forward_desc, n_state_seq);
  end_struct();

  begin_struct("synfire_parameter_gradient", sizeof(synfire_parameter_gradient));
  FIELD(synfire_parameter_gradient, name);
  FIELD(synfire_parameter_gradient, gradient);
  end_struct();

  begin_struct("synfire_backward_desc", sizeof(synfire_backward_desc));
  FIELD(synfire_backward_desc, struct_size);
  FIELD(synfire_backward_desc, in_place);
  FIELD(synfire_backward_desc, grad_spike_seq);
  FIELD(synfire_backward_desc, grad_v_seq);
  FIELD(synfire_backward_desc, grad_v_final);
  FIELD(synfire_backward_desc, grad_x_seq);
  FIELD(synfire_backward_desc, grad_v_init);
  FIELD(synfire_backward_desc, grad_w_seq);
  FIELD(synfire_backward_desc, grad_w_final);
  FIELD(synfire_backward_desc, grad_w_init);
  FIELD(synfire_backward_desc, parameter_gradients);
  FIELD(synfire_backward_desc, n_parameter_gradients);
  FIELD(synfire_backward_desc, forward);
  FIELD(synfire_backward_desc, add_parameter_gradients);
  FIELD(synfire_backward_desc, grad_synapse_input);
  FIELD(synfire_backward_desc, add_synapse_gradients);
  FIELD(synfire_backward_desc, add_input_gradient);
  FIELD(synfire_backward_desc, skip_synapse_gradients);
  FIELD(synfire_backward_desc, reserved);
  FIELD(synfire_backward_desc, grad_state_seq);
  FIELD(synfire_backward_desc, n_grad_state_seq);
  FIELD(synfire_backward_desc, grad_state_final);
  FIELD(synfire_backward_desc, n_grad_state_final);
  FIELD(synfire_backward_desc, grad_state_init);
  FIELD(synfire_backward_desc, n_grad_state_init);
  end_struct();

  begin_struct("synfire_convert_spikes_desc", sizeof(synfire_convert_spikes_desc));
  FIELD(synfire_convert_spikes_desc, struct_size);
  FIELD(synfire_convert_spikes_desc, reserved);
  FIELD(synfire_convert_spikes_desc, n_steps);
  FIELD(synfire_convert_spikes_desc, n_neurons);
  FIELD(synfire_convert_spikes_desc, batch);
  FIELD(synfire_convert_spikes_desc, source);
  FIELD(synfire_convert_spikes_desc, destination);
  end_struct();

  begin_struct("synfire_count_spikes_desc", sizeof(synfire_count_spikes_desc));
  FIELD(synfire_count_spikes_desc, struct_size);
  FIELD(synfire_count_spikes_desc, kind);
  FIELD(synfire_count_spikes_desc, n_steps);
  FIELD(synfire_count_spikes_desc, n_neurons);
  FIELD(synfire_count_spikes_desc, batch);
  FIELD(synfire_count_spikes_desc, spikes);
  FIELD(synfire_count_spikes_desc, counts);
  end_struct();

  begin_struct("synfire_encode_bernoulli_desc", sizeof(synfire_encode_bernoulli_desc));
  FIELD(synfire_encode_bernoulli_desc, struct_size);
  FIELD(synfire_encode_bernoulli_desc, rates_per_step);
  FIELD(synfire_encode_bernoulli_desc, n_steps);
  FIELD(synfire_encode_bernoulli_desc, n_neurons);
  FIELD(synfire_encode_bernoulli_desc, batch);
  FIELD(synfire_encode_bernoulli_desc, rates);
  FIELD(synfire_encode_bernoulli_desc, spikes);
  FIELD(synfire_encode_bernoulli_desc, seed);
  FIELD(synfire_encode_bernoulli_desc, offset);
  end_struct();

  begin_struct("synfire_gather_rows_desc", sizeof(synfire_gather_rows_desc));
  FIELD(synfire_gather_rows_desc, struct_size);
  FIELD(synfire_gather_rows_desc, reserved);
  FIELD(synfire_gather_rows_desc, n_rows);
  FIELD(synfire_gather_rows_desc, n_steps);
  FIELD(synfire_gather_rows_desc, n_elements);
  FIELD(synfire_gather_rows_desc, batch);
  FIELD(synfire_gather_rows_desc, source);
  FIELD(synfire_gather_rows_desc, indices);
  FIELD(synfire_gather_rows_desc, n_active);
  FIELD(synfire_gather_rows_desc, destination);
  FIELD(synfire_gather_rows_desc, lengths);
  end_struct();

  begin_struct("synfire_shuffle_desc", sizeof(synfire_shuffle_desc));
  FIELD(synfire_shuffle_desc, struct_size);
  FIELD(synfire_shuffle_desc, in_order);
  FIELD(synfire_shuffle_desc, n_rows);
  FIELD(synfire_shuffle_desc, batch);
  FIELD(synfire_shuffle_desc, drop_last);
  FIELD(synfire_shuffle_desc, reserved);
  FIELD(synfire_shuffle_desc, indices);
  FIELD(synfire_shuffle_desc, n_active);
  FIELD(synfire_shuffle_desc, seed);
  FIELD(synfire_shuffle_desc, offset);
  end_struct();

  begin_struct("synfire_replace_nonfinite_desc", sizeof(synfire_replace_nonfinite_desc));
  FIELD(synfire_replace_nonfinite_desc, struct_size);
  FIELD(synfire_replace_nonfinite_desc, accumulate);
  FIELD(synfire_replace_nonfinite_desc, n_steps);
  FIELD(synfire_replace_nonfinite_desc, n_elements);
  FIELD(synfire_replace_nonfinite_desc, batch);
  FIELD(synfire_replace_nonfinite_desc, source);
  FIELD(synfire_replace_nonfinite_desc, count);
  FIELD(synfire_replace_nonfinite_desc, destination);
  end_struct();

  begin_struct("synfire_reduce_desc", sizeof(synfire_reduce_desc));
  FIELD(synfire_reduce_desc, struct_size);
  FIELD(synfire_reduce_desc, reduction);
  FIELD(synfire_reduce_desc, axis);
  FIELD(synfire_reduce_desc, reserved);
  FIELD(synfire_reduce_desc, n_steps);
  FIELD(synfire_reduce_desc, n_neurons);
  FIELD(synfire_reduce_desc, batch);
  FIELD(synfire_reduce_desc, source);
  FIELD(synfire_reduce_desc, destination);
  FIELD(synfire_reduce_desc, lengths);
  FIELD(synfire_reduce_desc, n_active);
  end_struct();

  begin_struct("synfire_reduce_backward_desc", sizeof(synfire_reduce_backward_desc));
  FIELD(synfire_reduce_backward_desc, struct_size);
  FIELD(synfire_reduce_backward_desc, reduction);
  FIELD(synfire_reduce_backward_desc, axis);
  FIELD(synfire_reduce_backward_desc, accumulate);
  FIELD(synfire_reduce_backward_desc, n_steps);
  FIELD(synfire_reduce_backward_desc, n_neurons);
  FIELD(synfire_reduce_backward_desc, batch);
  FIELD(synfire_reduce_backward_desc, grad_destination);
  FIELD(synfire_reduce_backward_desc, source);
  FIELD(synfire_reduce_backward_desc, lengths);
  FIELD(synfire_reduce_backward_desc, n_active);
  FIELD(synfire_reduce_backward_desc, grad_source);
  end_struct();

  begin_struct("synfire_rate_loss_desc", sizeof(synfire_rate_loss_desc));
  FIELD(synfire_rate_loss_desc, struct_size);
  FIELD(synfire_rate_loss_desc, whole_layer);
  FIELD(synfire_rate_loss_desc, n_steps);
  FIELD(synfire_rate_loss_desc, n_neurons);
  FIELD(synfire_rate_loss_desc, batch);
  FIELD(synfire_rate_loss_desc, target);
  FIELD(synfire_rate_loss_desc, strength);
  FIELD(synfire_rate_loss_desc, spikes);
  FIELD(synfire_rate_loss_desc, lengths);
  FIELD(synfire_rate_loss_desc, n_active);
  FIELD(synfire_rate_loss_desc, loss);
  FIELD(synfire_rate_loss_desc, grad_spike_seq);
  FIELD(synfire_rate_loss_desc, accumulate_loss);
  FIELD(synfire_rate_loss_desc, accumulate);
  end_struct();

  begin_struct("synfire_loss_desc", sizeof(synfire_loss_desc));
  FIELD(synfire_loss_desc, struct_size);
  FIELD(synfire_loss_desc, kind);
  FIELD(synfire_loss_desc, n_steps);
  FIELD(synfire_loss_desc, n_classes);
  FIELD(synfire_loss_desc, batch);
  FIELD(synfire_loss_desc, source);
  FIELD(synfire_loss_desc, labels);
  FIELD(synfire_loss_desc, targets);
  FIELD(synfire_loss_desc, lengths);
  FIELD(synfire_loss_desc, n_active);
  FIELD(synfire_loss_desc, sample_weights);
  FIELD(synfire_loss_desc, class_weights);
  FIELD(synfire_loss_desc, loss);
  FIELD(synfire_loss_desc, losses);
  FIELD(synfire_loss_desc, n_correct);
  FIELD(synfire_loss_desc, n_counted);
  FIELD(synfire_loss_desc, predictions);
  FIELD(synfire_loss_desc, gradient);
  FIELD(synfire_loss_desc, label_smoothing);
  FIELD(synfire_loss_desc, gradient_scale);
  FIELD(synfire_loss_desc, targets_per_step);
  FIELD(synfire_loss_desc, ignores_label);
  FIELD(synfire_loss_desc, ignored_label);
  FIELD(synfire_loss_desc, sum);
  FIELD(synfire_loss_desc, accumulate);
  FIELD(synfire_loss_desc, add_gradient);
  end_struct();

  begin_struct("synfire_graph_desc", sizeof(synfire_graph_desc));
  FIELD(synfire_graph_desc, struct_size);
  FIELD(synfire_graph_desc, n_slots);
  end_struct();

  begin_struct("synfire_copy_desc", sizeof(synfire_copy_desc));
  FIELD(synfire_copy_desc, struct_size);
  FIELD(synfire_copy_desc, reserved);
  FIELD(synfire_copy_desc, source);
  FIELD(synfire_copy_desc, destination);
  FIELD(synfire_copy_desc, source_offset);
  FIELD(synfire_copy_desc, destination_offset);
  FIELD(synfire_copy_desc, bytes);
  end_struct();

  begin_struct("synfire_memory", sizeof(synfire_memory));
  FIELD(synfire_memory, data);
  FIELD(synfire_memory, bytes);
  end_struct();

  begin_struct("synfire_native_call", sizeof(synfire_native_call));
  FIELD(synfire_native_call, struct_size);
  FIELD(synfire_native_call, slot);
  FIELD(synfire_native_call, stream);
  FIELD(synfire_native_call, n_reads);
  FIELD(synfire_native_call, reads);
  FIELD(synfire_native_call, n_writes);
  FIELD(synfire_native_call, writes);
  end_struct();

  begin_struct("synfire_native_desc", sizeof(synfire_native_desc));
  FIELD(synfire_native_desc, struct_size);
  FIELD(synfire_native_desc, reserved);
  FIELD(synfire_native_desc, callback);
  FIELD(synfire_native_desc, user);
  FIELD(synfire_native_desc, name);
  FIELD(synfire_native_desc, reads);
  FIELD(synfire_native_desc, n_reads);
  FIELD(synfire_native_desc, writes);
  FIELD(synfire_native_desc, n_writes);
  end_struct();

  begin_struct("synfire_graph_statistics", sizeof(synfire_graph_statistics));
  FIELD(synfire_graph_statistics, struct_size);
  FIELD(synfire_graph_statistics, reserved);
  FIELD(synfire_graph_statistics, n_replays);
  FIELD(synfire_graph_statistics, n_late_waits);
  FIELD(synfire_graph_statistics, n_seen);
  FIELD(synfire_graph_statistics, p50_ns);
  FIELD(synfire_graph_statistics, p99_ns);
  FIELD(synfire_graph_statistics, p999_ns);
  FIELD(synfire_graph_statistics, max_ns);
  end_struct();

  begin_struct("synfire_parameter_values", sizeof(synfire_parameter_values));
  FIELD(synfire_parameter_values, name);
  FIELD(synfire_parameter_values, values);
  FIELD(synfire_parameter_values, count);
  end_struct();

  begin_struct("synfire_state_desc", sizeof(synfire_state_desc));
  FIELD(synfire_state_desc, struct_size);
  FIELD(synfire_state_desc, reserved);
  FIELD(synfire_state_desc, first_row);
  FIELD(synfire_state_desc, n_rows);
  FIELD(synfire_state_desc, name);
  FIELD(synfire_state_desc, buffer);
  end_struct();

  begin_struct("synfire_copy_rows_desc", sizeof(synfire_copy_rows_desc));
  FIELD(synfire_copy_rows_desc, struct_size);
  FIELD(synfire_copy_rows_desc, reserved);
  FIELD(synfire_copy_rows_desc, source);
  FIELD(synfire_copy_rows_desc, first_row);
  FIELD(synfire_copy_rows_desc, n_rows);
  FIELD(synfire_copy_rows_desc, destination_row);
  end_struct();

  begin_struct("synfire_fill_desc", sizeof(synfire_fill_desc));
  FIELD(synfire_fill_desc, struct_size);
  FIELD(synfire_fill_desc, reserved);
  FIELD(synfire_fill_desc, buffer);
  FIELD(synfire_fill_desc, value);
  end_struct();

  begin_struct("synfire_scale_add_desc", sizeof(synfire_scale_add_desc));
  FIELD(synfire_scale_add_desc, struct_size);
  FIELD(synfire_scale_add_desc, reserved);
  FIELD(synfire_scale_add_desc, source);
  FIELD(synfire_scale_add_desc, destination);
  FIELD(synfire_scale_add_desc, scale);
  FIELD(synfire_scale_add_desc, keep);
  end_struct();

  begin_struct("synfire_update_parameter_desc", sizeof(synfire_update_parameter_desc));
  FIELD(synfire_update_parameter_desc, struct_size);
  FIELD(synfire_update_parameter_desc, bounds);
  FIELD(synfire_update_parameter_desc, name);
  FIELD(synfire_update_parameter_desc, gradient);
  FIELD(synfire_update_parameter_desc, learning_rate);
  FIELD(synfire_update_parameter_desc, lower);
  FIELD(synfire_update_parameter_desc, upper);
  end_struct();

  begin_struct("synfire_synapse_desc", sizeof(synfire_synapse_desc));
  FIELD(synfire_synapse_desc, struct_size);
  FIELD(synfire_synapse_desc, input_kind);
  FIELD(synfire_synapse_desc, n_inputs);
  FIELD(synfire_synapse_desc, n_outputs);
  FIELD(synfire_synapse_desc, dtype);
  FIELD(synfire_synapse_desc, bias);
  FIELD(synfire_synapse_desc, frozen);
  FIELD(synfire_synapse_desc, gradient_bits);
  FIELD(synfire_synapse_desc, initialization);
  FIELD(synfire_synapse_desc, reserved);
  FIELD(synfire_synapse_desc, gain);
  FIELD(synfire_synapse_desc, seed);
  FIELD(synfire_synapse_desc, mask);
  FIELD(synfire_synapse_desc, mask_length);
  end_struct();

  begin_struct("synfire_synapse_memory", sizeof(synfire_synapse_memory));
  FIELD(synfire_synapse_memory, struct_size);
  FIELD(synfire_synapse_memory, reserved);
  FIELD(synfire_synapse_memory, weight_bytes);
  FIELD(synfire_synapse_memory, derived_bytes);
  FIELD(synfire_synapse_memory, gradient_bytes);
  end_struct();

  begin_struct("synfire_synapse_info", sizeof(synfire_synapse_info));
  FIELD(synfire_synapse_info, struct_size);
  FIELD(synfire_synapse_info, input_kind);
  FIELD(synfire_synapse_info, input_height);
  FIELD(synfire_synapse_info, input_width);
  FIELD(synfire_synapse_info, input_channels);
  FIELD(synfire_synapse_info, output_height);
  FIELD(synfire_synapse_info, output_width);
  FIELD(synfire_synapse_info, output_channels);
  FIELD(synfire_synapse_info, row_operations);
  FIELD(synfire_synapse_info, dtype);
  FIELD(synfire_synapse_info, n_arrays);
  FIELD(synfire_synapse_info, frozen);
  FIELD(synfire_synapse_info, takes_mask);
  FIELD(synfire_synapse_info, takes_dropout);
  FIELD(synfire_synapse_info, reserved);
  FIELD(synfire_synapse_info, kind);
  end_struct();

  begin_struct("synfire_synapse_array_info", sizeof(synfire_synapse_array_info));
  FIELD(synfire_synapse_array_info, struct_size);
  FIELD(synfire_synapse_array_info, dtype);
  FIELD(synfire_synapse_array_info, trained);
  FIELD(synfire_synapse_array_info, n_dimensions);
  FIELD(synfire_synapse_array_info, shape);
  FIELD(synfire_synapse_array_info, name);
  end_struct();

  begin_struct("synfire_synapse_forward_desc", sizeof(synfire_synapse_forward_desc));
  FIELD(synfire_synapse_forward_desc, struct_size);
  FIELD(synfire_synapse_forward_desc, reserved);
  FIELD(synfire_synapse_forward_desc, n_steps);
  FIELD(synfire_synapse_forward_desc, batch);
  FIELD(synfire_synapse_forward_desc, input);
  FIELD(synfire_synapse_forward_desc, output);
  FIELD(synfire_synapse_forward_desc, n_active);
  FIELD(synfire_synapse_forward_desc, input_mask);
  FIELD(synfire_synapse_forward_desc, input_scale);
  end_struct();

  begin_struct("synfire_synapse_backward_desc", sizeof(synfire_synapse_backward_desc));
  FIELD(synfire_synapse_backward_desc, struct_size);
  FIELD(synfire_synapse_backward_desc, add_gradients);
  FIELD(synfire_synapse_backward_desc, n_steps);
  FIELD(synfire_synapse_backward_desc, batch);
  FIELD(synfire_synapse_backward_desc, grad_output);
  FIELD(synfire_synapse_backward_desc, input);
  FIELD(synfire_synapse_backward_desc, grad_input);
  FIELD(synfire_synapse_backward_desc, n_active);
  FIELD(synfire_synapse_backward_desc, add_input_gradient);
  FIELD(synfire_synapse_backward_desc, reserved);
  FIELD(synfire_synapse_backward_desc, input_mask);
  FIELD(synfire_synapse_backward_desc, input_scale);
  end_struct();

  begin_struct("synfire_dropout_desc", sizeof(synfire_dropout_desc));
  FIELD(synfire_dropout_desc, struct_size);
  FIELD(synfire_dropout_desc, reserved);
  FIELD(synfire_dropout_desc, n_neurons);
  FIELD(synfire_dropout_desc, batch);
  FIELD(synfire_dropout_desc, probability);
  FIELD(synfire_dropout_desc, mask);
  FIELD(synfire_dropout_desc, scale);
  FIELD(synfire_dropout_desc, seed);
  FIELD(synfire_dropout_desc, offset);
  end_struct();

  begin_struct("synfire_optimizer_desc", sizeof(synfire_optimizer_desc));
  FIELD(synfire_optimizer_desc, struct_size);
  FIELD(synfire_optimizer_desc, kind);
  FIELD(synfire_optimizer_desc, nesterov);
  FIELD(synfire_optimizer_desc, reserved);
  FIELD(synfire_optimizer_desc, learning_rate);
  FIELD(synfire_optimizer_desc, weight_decay);
  FIELD(synfire_optimizer_desc, momentum);
  FIELD(synfire_optimizer_desc, beta1);
  FIELD(synfire_optimizer_desc, beta2);
  FIELD(synfire_optimizer_desc, epsilon);
  FIELD(synfire_optimizer_desc, clip_norm);
  end_struct();

  begin_struct("synfire_optimizer_step_desc", sizeof(synfire_optimizer_step_desc));
  FIELD(synfire_optimizer_step_desc, struct_size);
  FIELD(synfire_optimizer_step_desc, reserved);
  FIELD(synfire_optimizer_step_desc, learning_rate);
  FIELD(synfire_optimizer_step_desc, weight_decay);
  FIELD(synfire_optimizer_step_desc, clip_norm);
  end_struct();

  begin_struct("synfire_optimizer_memory", sizeof(synfire_optimizer_memory));
  FIELD(synfire_optimizer_memory, struct_size);
  FIELD(synfire_optimizer_memory, reserved);
  FIELD(synfire_optimizer_memory, moment_bytes);
  FIELD(synfire_optimizer_memory, state_bytes);
  end_struct();

  begin_struct("synfire_network_desc", sizeof(synfire_network_desc));
  FIELD(synfire_network_desc, struct_size);
  FIELD(synfire_network_desc, dtype);
  FIELD(synfire_network_desc, n_steps);
  FIELD(synfire_network_desc, batch);
  FIELD(synfire_network_desc, seed);
  FIELD(synfire_network_desc, drop_last);
  FIELD(synfire_network_desc, n_slots);
  end_struct();

  begin_struct("synfire_network_file_desc", sizeof(synfire_network_file_desc));
  FIELD(synfire_network_file_desc, struct_size);
  FIELD(synfire_network_file_desc, inference);
  FIELD(synfire_network_file_desc, n_steps);
  FIELD(synfire_network_file_desc, batch);
  FIELD(synfire_network_file_desc, n_slots);
  FIELD(synfire_network_file_desc, replace_nonfinite);
  end_struct();

  begin_struct("synfire_network_memory", sizeof(synfire_network_memory));
  FIELD(synfire_network_memory, struct_size);
  FIELD(synfire_network_memory, reserved);
  FIELD(synfire_network_memory, synapse_bytes);
  FIELD(synfire_network_memory, layer_bytes);
  FIELD(synfire_network_memory, buffer_bytes);
  FIELD(synfire_network_memory, optimizer_bytes);
  FIELD(synfire_network_memory, graph_bytes);
  FIELD(synfire_network_memory, device_bytes);
  FIELD(synfire_network_memory, pinned_bytes);
  FIELD(synfire_network_memory, data_bytes);
  end_struct();

  begin_struct("synfire_network_result", sizeof(synfire_network_result));
  FIELD(synfire_network_result, struct_size);
  FIELD(synfire_network_result, reserved);
  FIELD(synfire_network_result, loss);
  FIELD(synfire_network_result, n_counted);
  FIELD(synfire_network_result, n_correct);
  FIELD(synfire_network_result, n_batches);
  FIELD(synfire_network_result, n_skipped);
  FIELD(synfire_network_result, epoch);
  FIELD(synfire_network_result, batch);
  FIELD(synfire_network_result, n_replaced);
  end_struct();
}

static void print_types(void) {
  TYPE(synfire_status);
  TYPE(synfire_stream);
  TYPE(synfire_context);
  TYPE(synfire_buffer);
  TYPE(synfire_layer);
  TYPE(synfire_graph);
  TYPE(synfire_synapse);
  TYPE(synfire_optimizer);
  TYPE(synfire_model);
  TYPE(synfire_surrogate);
  TYPE(synfire_network);
}

static void print_constants(void) {
  CONSTANT(SYNFIRE_ABI_MAJOR);
  CONSTANT(SYNFIRE_ABI_MINOR);
  CONSTANT(SYNFIRE_ABI_VERSION);
  CONSTANT(SYNFIRE_OK);
  CONSTANT(SYNFIRE_PENDING);
  CONSTANT(SYNFIRE_HOST_FALLBACK);
  CONSTANT(SYNFIRE_CAPTURED);
  CONSTANT(SYNFIRE_ERROR_INVALID_ARGUMENT);
  CONSTANT(SYNFIRE_ERROR_INVALID_HANDLE);
  CONSTANT(SYNFIRE_ERROR_STRUCT_SIZE);
  CONSTANT(SYNFIRE_ERROR_OUT_OF_MEMORY);
  CONSTANT(SYNFIRE_ERROR_NO_DEVICE);
  CONSTANT(SYNFIRE_ERROR_BUSY);
  CONSTANT(SYNFIRE_ERROR_CAPTURING);
  CONSTANT(SYNFIRE_ERROR_STALE_TAPE);
  CONSTANT(SYNFIRE_ERROR_WRONG_ORDER);
  CONSTANT(SYNFIRE_ERROR_DEVICE_LOST);
  CONSTANT(SYNFIRE_ERROR_UNSUPPORTED);
  CONSTANT(SYNFIRE_ERROR_CUDA);
  CONSTANT(SYNFIRE_ERROR_CALLBACK);
  CONSTANT(SYNFIRE_ERROR_INTERNAL);
  CONSTANT(SYNFIRE_BACKEND_AUTO);
  CONSTANT(SYNFIRE_BACKEND_HOST);
  CONSTANT(SYNFIRE_BACKEND_CUDA);
  CONSTANT(SYNFIRE_FALLBACK_NONE);
  CONSTANT(SYNFIRE_FALLBACK_NOT_BUILT);
  CONSTANT(SYNFIRE_FALLBACK_NO_DRIVER);
  CONSTANT(SYNFIRE_FALLBACK_DRIVER_TOO_OLD);
  CONSTANT(SYNFIRE_FALLBACK_NO_DEVICE);
  CONSTANT(SYNFIRE_FALLBACK_DEVICE_FAILED);
  CONSTANT(SYNFIRE_MEMORY_DEVICE);
  CONSTANT(SYNFIRE_MEMORY_PINNED);
  CONSTANT(SYNFIRE_MEMORY_HOST);
  CONSTANT(SYNFIRE_DTYPE_F32);
  CONSTANT(SYNFIRE_DTYPE_F64);
  CONSTANT(SYNFIRE_DTYPE_BITS);
  CONSTANT(SYNFIRE_DTYPE_F16);
  CONSTANT(SYNFIRE_DTYPE_BF16);
  CONSTANT(SYNFIRE_DTYPE_U8);
  CONSTANT(SYNFIRE_DTYPE_TIME_BITS);
  CONSTANT(SYNFIRE_DTYPE_U32);
  CONSTANT(SYNFIRE_DTYPE_U64);
  CONSTANT(SYNFIRE_MODEL_DEFAULT);
  CONSTANT(SYNFIRE_MODEL_IF);
  CONSTANT(SYNFIRE_MODEL_LIF);
  CONSTANT(SYNFIRE_MODEL_PLIF);
  CONSTANT(SYNFIRE_MODEL_QIF);
  CONSTANT(SYNFIRE_MODEL_EIF);
  CONSTANT(SYNFIRE_MODEL_IZHIKEVICH);
  CONSTANT(SYNFIRE_MODEL_LI);
  CONSTANT(SYNFIRE_SURROGATE_DEFAULT);
  CONSTANT(SYNFIRE_SURROGATE_SIGMOID);
  CONSTANT(SYNFIRE_SURROGATE_ATAN);
  CONSTANT(SYNFIRE_SURROGATE_PIECEWISE_QUADRATIC);
  CONSTANT(SYNFIRE_SURROGATE_PIECEWISE_EXP);
  CONSTANT(SYNFIRE_SURROGATE_SOFT_SIGN);
  CONSTANT(SYNFIRE_SURROGATE_SUPER_SPIKE);
  CONSTANT(SYNFIRE_SURROGATE_ERF);
  CONSTANT(SYNFIRE_SURROGATE_PIECEWISE_LEAKY_RELU);
  CONSTANT(SYNFIRE_SURROGATE_S2NN);
  CONSTANT(SYNFIRE_SURROGATE_Q_PSEUDO_SPIKE);
  CONSTANT(SYNFIRE_SURROGATE_LEAKY_K_RELU);
  CONSTANT(SYNFIRE_SURROGATE_FAKE_NUMERICAL_GRADIENT);
  CONSTANT(SYNFIRE_SURROGATE_LOG_TAILED_RELU);
  CONSTANT(SYNFIRE_SURROGATE_NONZERO_SIGN_LOG_ABS);
  CONSTANT(SYNFIRE_SURROGATE_SQUAREWAVE_FOURIER_SERIES);
  CONSTANT(SYNFIRE_SURROGATE_RECT);
  CONSTANT(SYNFIRE_LOAD_CHECK);
  CONSTANT(SYNFIRE_LOAD_COMPILE);
  CONSTANT(SYNFIRE_LOAD_FINISH);
  CONSTANT(SYNFIRE_RESET_HARD);
  CONSTANT(SYNFIRE_RESET_SOFT);
  CONSTANT(SYNFIRE_TAPE_RECOMPUTE);
  CONSTANT(SYNFIRE_TAPE_NONE);
  CONSTANT(SYNFIRE_TAPE_STORE);
  CONSTANT(SYNFIRE_TAPE_STORE_NARROW);
  CONSTANT(SYNFIRE_COUNT_PER_NEURON);
  CONSTANT(SYNFIRE_COUNT_PER_STEP);
  CONSTANT(SYNFIRE_COUNT_TOTAL);
  CONSTANT(SYNFIRE_REDUCE_SUM);
  CONSTANT(SYNFIRE_REDUCE_MEAN);
  CONSTANT(SYNFIRE_REDUCE_MAX);
  CONSTANT(SYNFIRE_REDUCE_LAST);
  CONSTANT(SYNFIRE_AXIS_STEPS);
  CONSTANT(SYNFIRE_AXIS_BATCH);
  CONSTANT(SYNFIRE_LOSS_CROSS_ENTROPY);
  CONSTANT(SYNFIRE_LOSS_MEAN_SQUARED_ERROR);
  CONSTANT(SYNFIRE_WAIT_SPIN);
  CONSTANT(SYNFIRE_WAIT_YIELD);
  CONSTANT(SYNFIRE_WAIT_BLOCK);
  CONSTANT(SYNFIRE_SLOTS_SHARED);
  CONSTANT(SYNFIRE_BOUND_LOWER);
  CONSTANT(SYNFIRE_BOUND_UPPER);
  CONSTANT(SYNFIRE_INPUT_SPIKES);
  CONSTANT(SYNFIRE_INPUT_VALUES);
  CONSTANT(SYNFIRE_INITIALIZATION_UNIFORM);
  CONSTANT(SYNFIRE_INITIALIZATION_NORMAL);
  CONSTANT(SYNFIRE_INITIALIZATION_ZERO);
  CONSTANT(SYNFIRE_OPTIMIZER_KIND_SGD);
  CONSTANT(SYNFIRE_OPTIMIZER_KIND_ADAM);
  CONSTANT(SYNFIRE_OPTIMIZER_KIND_ADAMW);
  CONSTANT(SYNFIRE_NETWORK_INPUT_SPIKES);
  CONSTANT(SYNFIRE_NETWORK_INPUT_VALUES);
  CONSTANT(SYNFIRE_NETWORK_INPUT_RATES);
  CONSTANT(SYNFIRE_READOUT_SUM);
  CONSTANT(SYNFIRE_READOUT_MEAN);
  CONSTANT(SYNFIRE_READOUT_MAX);
  CONSTANT(SYNFIRE_READOUT_LAST);
  CONSTANT(SYNFIRE_READOUT_STEPS);
  CONSTANT(SYNFIRE_DATA_TRAINING);
  CONSTANT(SYNFIRE_DATA_EVALUATION);
  CONSTANT(SYNFIRE_NETWORK_GRAPH_INFERENCE);
  CONSTANT(SYNFIRE_NETWORK_GRAPH_TRAINING);
  CONSTANT(SYNFIRE_NETWORK_GRAPH_EVALUATION);
}

int main(void) {
  print_structs();
  print_types();
  print_constants();
  return n_failed == 0 ? 0 : 1;
}
