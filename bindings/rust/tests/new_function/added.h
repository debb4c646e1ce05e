/* added.h - what check_new_function.py adds to a copy of synfire.h.
 *
 * SPDX-License-Identifier: MIT */
/** How rates are taken: synfire_decode_rate_desc::window. */
enum {
  /** Over all steps. */
  SYNFIRE_WINDOW_ALL = 0,
  /** Over the last ones, which weigh more. */
  SYNFIRE_WINDOW_DECAYING = 1
};
/** Extras that are written beside rates: synfire_decode_rate_desc::extras. */
enum {
  /** The number of spikes. */
  SYNFIRE_EXTRA_COUNT = 1,
  /** The last step with a spike. */
  SYNFIRE_EXTRA_LAST = 2
};
/** Spikes `[T, B, N]` to be decoded as rates. */
typedef struct synfire_decode_rate_desc {
  /** `sizeof(synfire_decode_rate_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_WINDOW_*`. Default: all. */
  int32_t window SYNFIRE_ONE_OF(SYNFIRE_WINDOW);
  /** `SYNFIRE_EXTRA_*`, added up. Default: none. */
  uint32_t extras SYNFIRE_ANY_OF(SYNFIRE_EXTRA);
  /** 1: rates are divided by the number of steps. Default 0: they are not. */
  int32_t normalized SYNFIRE_FLAG;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Read, in any format that synfire_convert_spikes_desc::source may have. Given exactly if `layer` is not. */
  synfire_buffer spikes SYNFIRE_READ("spikes [T, B, N]") SYNFIRE_UNLESS(layer);
  /** Written: ::SYNFIRE_DTYPE_F32. */
  synfire_buffer rates SYNFIRE_WRITTEN("[B, N]");
  /** Added to. Optional. */
  synfire_buffer sums SYNFIRE_UPDATED("[B, N]") SYNFIRE_NULLABLE;
  /** The number of sums. Given exactly if `sums` are. */
  synfire_buffer n_summed SYNFIRE_UPDATED("[1]") SYNFIRE_WITH(sums);
  /** A layer whose own spikes are decoded. Default: none. */
  synfire_layer layer SYNFIRE_NULLABLE;
  /** The variable of the layer. */
  const char *state SYNFIRE_WITH(layer);
} synfire_decode_rate_desc;
/**
 * Decodes rates now: the same operation that synfire_graph_record_decode_rate() records.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_decode_rate(synfire_context context,
                                                            const synfire_decode_rate_desc *desc,
                                                            synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;
/**
 * Appends a decoding of rates.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_decode_rate(synfire_graph graph,
                                                                         const synfire_decode_rate_desc *desc)
    SYNFIRE_NOEXCEPT;
/** One layer's part. */
typedef struct synfire_mix_part {
  /** Its name. */
  const char *name;
  /** Its rates. */
  synfire_buffer rates SYNFIRE_READ("[B, N]");
  /** Its weight. */
  double weight;
} synfire_mix_part;
/** The parts of a mix. */
typedef struct synfire_mix_desc {
  /** `sizeof(synfire_mix_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** A second layer, read. */
  synfire_layer other;
  /** A third layer, read. Optional. */
  synfire_layer third SYNFIRE_NULLABLE;
  /** The name in error texts. Optional. */
  const char *name SYNFIRE_NULLABLE;
  /** The state that is mixed. */
  const char *state;
  /** The parts. */
  const synfire_mix_part *parts SYNFIRE_NULLABLE;
  /** How many. */
  uint64_t n_parts SYNFIRE_LENGTH_OF(parts);
  /** Buffers that are mixed in. */
  const synfire_buffer *inputs SYNFIRE_READ("[B, N]") SYNFIRE_NULLABLE;
  /** How many. */
  uint64_t n_inputs SYNFIRE_LENGTH_OF(inputs);
  /** Their weights. */
  const double *weights SYNFIRE_NULLABLE;
  /** How many. */
  uint64_t n_weights SYNFIRE_LENGTH_OF(weights);
  /** Lengths. */
  uint64_t lengths[2];
} synfire_mix_desc;
/**
 * Mixes now: the same operation that synfire_graph_record_mix() records.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_mix(synfire_layer layer, const synfire_mix_desc *desc,
                                                          synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;
/**
 * Appends a mix.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_mix(synfire_graph graph, synfire_layer layer,
                                                                 const synfire_mix_desc *desc) SYNFIRE_NOEXCEPT;
/** A line that delays what a layer gives. Its answer is ::synfire_delay_line_state. */
typedef struct synfire_delay_line_t *synfire_delay_line;
/** Interpolation between two taps: synfire_delay_line_desc::interpolation. */
enum {
  /** Nothing. */
  SYNFIRE_INTERPOLATION_NONE = 0,
  /** A straight line. */
  SYNFIRE_INTERPOLATION_LINEAR = 1
};
/** A delay line. */
typedef struct synfire_delay_line_desc {
  /** `sizeof(synfire_delay_line_desc)`. */
  uint32_t struct_size;
  /** How many taps, at least 1. */
  uint32_t n_taps SYNFIRE_REQUIRED;
  /** One of `SYNFIRE_INTERPOLATION_*`. Default: none. */
  int32_t interpolation SYNFIRE_ONE_OF(SYNFIRE_INTERPOLATION);
  /** 1: the end feeds the start. Default 0: it does not. */
  int32_t closed SYNFIRE_FLAG;
  /** The layer before it. */
  synfire_layer source;
  /** The delay line that it continues. Optional. */
  synfire_delay_line previous SYNFIRE_NULLABLE;
  /** The values at the start, read. */
  synfire_buffer first SYNFIRE_READ("[B, N]");
  /** Where it keeps what is on its way, in place of memory of its own. Optional. */
  synfire_buffer memory SYNFIRE_UPDATED("[T, B, N]") SYNFIRE_NULLABLE;
  /** The taps' delays. */
  const double *delays SYNFIRE_NULLABLE;
  /** How many. */
  uint64_t n_delays SYNFIRE_LENGTH_OF(delays);
} synfire_delay_line_desc;
/** The state of a delay line. */
typedef struct synfire_delay_line_state {
  /** `sizeof(synfire_delay_line_state)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_INTERPOLATION_*`. */
  int32_t interpolation SYNFIRE_ONE_OF(SYNFIRE_INTERPOLATION);
  /** 1: nothing is on its way. 0: something is. */
  int32_t empty SYNFIRE_FLAG;
  /** Must be zero. */
  uint32_t reserved;
  /** The loudest tap. */
  double peak;
  /** Taps in use. */
  uint64_t used[2];
  /** Where it is. */
  const char *place;
  /** The name. */
  char type[16];
} synfire_delay_line_state;
/** The signals that are delayed. */
typedef struct synfire_delay_desc {
  /** `sizeof(synfire_delay_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Read. */
  synfire_buffer x SYNFIRE_READ("[T, B, N]");
  /** A delay line that is filled too. Optional. */
  synfire_delay_line other SYNFIRE_NULLABLE;
} synfire_delay_desc;
/** A tap by its name. */
typedef struct synfire_tap_values {
  /** Its name. */
  const char *name;
  /** Its values. */
  const double *values;
  /** How many. */
  uint64_t count SYNFIRE_LENGTH_OF(values);
} synfire_tap_values;
/**
 * Creates a delay line.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_create(synfire_context context,
                                                                  const synfire_delay_line_desc *desc,
                                                                  synfire_delay_line *line) SYNFIRE_NOEXCEPT;
/**
 * Destroys a delay line.
 * @since ABI 0.1
 */
SYNFIRE_API void SYNFIRE_CALL synfire_delay_line_destroy(synfire_delay_line line SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;
/**
 * Sets the gain of all taps; synfire_delay_line_get_taps() gives it.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_set_gain(synfire_delay_line line, double gain)
    SYNFIRE_NOEXCEPT;
/**
 * Reads the gain of each tap.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_get_taps(synfire_delay_line line, double *values,
                                                                    uint64_t count SYNFIRE_LENGTH_OF(values))
    SYNFIRE_NOEXCEPT;
/**
 * Sets several taps: all of them or, when one is refused, none.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_set_taps(synfire_delay_line line,
                                                                    const synfire_tap_values *taps SYNFIRE_NULLABLE,
                                                                    uint64_t n_taps SYNFIRE_LENGTH_OF(taps))
    SYNFIRE_NOEXCEPT;
/**
 * Tells what a delay line holds, as ::synfire_delay_line_state.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_query(synfire_delay_line line,
                                                                 synfire_delay_line_state *state) SYNFIRE_NOEXCEPT;
/**
 * Finds a tap.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_find(
    synfire_delay_line line, const char *name, int32_t closest SYNFIRE_FLAG,
    int32_t *interpolation SYNFIRE_ONE_OF(SYNFIRE_INTERPOLATION), uint64_t *index SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;
/**
 * Describes a tap.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_describe(synfire_delay_line line, const char *name,
                                                                    char *text SYNFIRE_NULLABLE, uint64_t capacity,
                                                                    uint64_t *length) SYNFIRE_NOEXCEPT;
/**
 * Writes what is called something, and how much is.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_write_names(synfire_graph graph, char *text SYNFIRE_NULLABLE,
                                                                  uint64_t capacity SYNFIRE_LENGTH_OF(text),
                                                                  uint64_t *length, int32_t *n_named) SYNFIRE_NOEXCEPT;
/**
 * Empties a delay line into others.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_drain(synfire_delay_line line, synfire_buffer to,
                                                                 synfire_delay_line next SYNFIRE_NULLABLE,
                                                                 synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;
/**
 * Appends a delay; synfire_delay_line_desc::n_taps and synfire_delay_line_desc::source say which.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_delay(synfire_graph graph, synfire_delay_line line,
                                                                   const synfire_delay_desc *desc) SYNFIRE_NOEXCEPT;
/**
 * Delays now: the same operation that synfire_graph_record_delay() records.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_delay(synfire_delay_line line,
                                                                 const synfire_delay_desc *desc,
                                                                 synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;
/**
 * The mean of the state.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_get_mean(synfire_layer layer, double *mean) SYNFIRE_NOEXCEPT;
/**
 * Takes the place of other layers.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_replace(synfire_layer layer, const synfire_layer *others,
                                                              uint64_t n_others SYNFIRE_LENGTH_OF(others),
                                                              synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;
/**
 * The largest element, and where it is; as synfire_buffer_fill(), but not the same.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_get_largest(synfire_buffer buffer, double *value,
                                                                   uint64_t *index) SYNFIRE_NOEXCEPT;
/**
 * Sorts a buffer.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_sort(synfire_buffer buffer, synfire_buffer keys,
                                                            synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;
/**
 * How often an operation ran.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_get_runs(synfire_graph graph, int32_t operation, uint64_t *runs)
    SYNFIRE_NOEXCEPT;
/**
 * Puts a delay line into an operation.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_set_line(synfire_graph graph, int32_t operation,
                                                               synfire_delay_line line,
                                                               synfire_buffer memory SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;
/**
 * Names a context.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_context_set_name(synfire_context context,
                                                                 const char *name SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;
