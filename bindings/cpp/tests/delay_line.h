/** A delay line: signals that come out some steps later. */
typedef struct synfire_delay_line_handle *synfire_delay_line;

/** How to create a delay line. Zero means default in every field but `struct_size`. */
typedef struct synfire_delay_line_desc {
  /** `sizeof(synfire_delay_line_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_WINDOW_*`. Default: flat. */
  int32_t window SYNFIRE_ONE_OF(SYNFIRE_WINDOW);
  /** Taps, at least 1. */
  int64_t n_taps SYNFIRE_REQUIRED;
  /** The first signals. Null (default): zero. */
  synfire_buffer start SYNFIRE_NULLABLE SYNFIRE_READ("[N]");
} synfire_delay_line_desc;

/** The state of a delay line. */
typedef struct synfire_delay_line_state {
  /** `sizeof(synfire_delay_line_state)`. */
  uint32_t struct_size;
  /** The tap that is written next. */
  int32_t position;
  /** The factor of its signals. */
  double gain;
} synfire_delay_line_state;

/** One use of a delay line. */
typedef struct synfire_delay_desc {
  /** `sizeof(synfire_delay_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** Read. */
  synfire_buffer source SYNFIRE_READ("[N]");
  /** Written. */
  synfire_buffer destination SYNFIRE_WRITTEN("[N]") SYNFIRE_UNLESS(sum);
  /** Added to, in place of `destination`. */
  synfire_buffer sum SYNFIRE_UPDATED("[N]") SYNFIRE_NULLABLE;
  /** Another line, which is copied first. Null (default): none. */
  synfire_delay_line first SYNFIRE_NULLABLE;
} synfire_delay_desc;

/**
 * Creates a delay line.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_create(synfire_context context,
                                                                  const synfire_delay_line_desc *desc,
                                                                  synfire_delay_line *line) SYNFIRE_NOEXCEPT;

/**
 * Destroys a delay line.
 *
 * @since ABI 0.1
 */
SYNFIRE_API void SYNFIRE_CALL synfire_delay_line_destroy(synfire_delay_line line SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Sets what signals are multiplied by.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_set_gain(synfire_delay_line line, double gain)
    SYNFIRE_NOEXCEPT;

/**
 * Empties the line.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_reset(synfire_delay_line line,
                                                                 synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Sets the weights of the first taps.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_set_taps(synfire_delay_line line, const double *values,
                                                                    uint32_t count SYNFIRE_LENGTH_OF(values),
                                                                    const char *const *names SYNFIRE_NULLABLE,
                                                                    uint64_t n_names SYNFIRE_LENGTH_OF(names),
                                                                    int32_t window SYNFIRE_ONE_OF(SYNFIRE_WINDOW),
                                                                    int32_t add SYNFIRE_FLAG) SYNFIRE_NOEXCEPT;

/**
 * Tells the weights of the first taps.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_get_taps(synfire_delay_line line, double *values,
                                                                    uint64_t count SYNFIRE_LENGTH_OF(values))
    SYNFIRE_NOEXCEPT;

/**
 * Tells what the line is doing.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_query(synfire_delay_line line,
                                                                 synfire_delay_line_state *state) SYNFIRE_NOEXCEPT;

/**
 * Finds the strongest tap, and whether it is the only one.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_get_strongest(synfire_delay_line line, int64_t n_neurons,
                                                                         double *weights,
                                                                         uint32_t count SYNFIRE_LENGTH_OF(weights),
                                                                         int64_t *tap, int32_t *alone SYNFIRE_FLAG)
    SYNFIRE_NOEXCEPT;

/**
 * Describes a tap.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_describe(synfire_delay_line line, const char *name,
                                                                    char *text SYNFIRE_NULLABLE, uint64_t capacity,
                                                                    uint64_t *length) SYNFIRE_NOEXCEPT;

/**
 * Writes the names of all operations, and how many have one.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_write_names(synfire_graph graph, char *text SYNFIRE_NULLABLE,
                                                                  uint64_t capacity SYNFIRE_LENGTH_OF(text),
                                                                  uint64_t *length, int32_t *n_named) SYNFIRE_NOEXCEPT;

/**
 * Takes over what another line holds.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_join(synfire_delay_line line, synfire_delay_line other,
                                                                synfire_buffer weights SYNFIRE_NULLABLE,
                                                                const char *name) SYNFIRE_NOEXCEPT;

/**
 * Delays signals now.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_delay(synfire_delay_line line,
                                                                 const synfire_delay_desc *desc,
                                                                 synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Releases signals now; a class that owns a handle has another release().
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_release(synfire_delay_line line,
                                                                   const synfire_delay_desc *desc,
                                                                   synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a release of signals.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_delay_line_release(synfire_graph graph,
                                                                                synfire_delay_line line,
                                                                                const synfire_delay_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a delay of signals.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_delay(synfire_graph graph, synfire_delay_line line,
                                                                   const synfire_delay_desc *desc) SYNFIRE_NOEXCEPT;

/**
 * The mean of a layer's state.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_get_mean(synfire_layer layer, double *mean) SYNFIRE_NOEXCEPT;

/**
 * How many values the state of a layer has.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_get_state_size(synfire_layer layer, int64_t *size)
    SYNFIRE_NOEXCEPT;

/**
 * Lets a delay line follow a layer.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_follow(synfire_layer layer, synfire_delay_line line)
    SYNFIRE_NOEXCEPT;

/**
 * Runs the graph without recording it, which calls its native nodes.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_rehearse(synfire_graph graph, int64_t n_steps, uint64_t *replays)
    SYNFIRE_NOEXCEPT;

/**
 * Tells how much memory a context has.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_context_get_memory(synfire_context context, uint64_t *free,
                                                                   uint64_t *total) SYNFIRE_NOEXCEPT;

/**
 * Multiplies every element by a number.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_buffer_scale(synfire_buffer buffer, double factor) SYNFIRE_NOEXCEPT;
