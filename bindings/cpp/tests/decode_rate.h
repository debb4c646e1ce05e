/** How a rate is decoded: synfire_decode_rate_desc::window. */
enum {
  /** Every step counts the same. */
  SYNFIRE_WINDOW_FLAT = 0,
  /** Later steps count more. */
  SYNFIRE_WINDOW_EXPONENTIAL = 1
};

/** Spikes `[T, B, N]` to be decoded as rates. */
typedef struct synfire_decode_rate_desc {
  /** `sizeof(synfire_decode_rate_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_WINDOW_*`. Default: flat. */
  int32_t window SYNFIRE_ONE_OF(SYNFIRE_WINDOW);
  /** 1: the rates are added to what is there. Default 0: they replace it. */
  int32_t add SYNFIRE_FLAG;
  /** Must be zero. */
  uint32_t reserved;
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Neurons N of one batch row, at least 1. */
  int64_t n_neurons SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read, in any format. Given exactly if `source` is not. */
  synfire_buffer spikes SYNFIRE_READ("spikes [T, B, N]") SYNFIRE_UNLESS(source);
  /** Written. */
  synfire_buffer rates SYNFIRE_WRITTEN("[B, N]");
  /** Weights of the neurons. Null (default): 1. */
  synfire_buffer weights SYNFIRE_NULLABLE SYNFIRE_READ("[N]");
  /** Rate of one spike a step. */
  double full_rate SYNFIRE_REQUIRED;
  /** `n_delays` delays. Default: none. */
  const double *delays SYNFIRE_NULLABLE;
  /** How many. */
  uint64_t n_delays SYNFIRE_LENGTH_OF(delays);
  /** A layer whose own spikes are decoded. Default: none. */
  synfire_layer source SYNFIRE_NULLABLE;
  /** The part of the layer. Given exactly if `source` is. */
  const char *state SYNFIRE_WITH(source);
} synfire_decode_rate_desc;

/**
 * Decodes spikes as rates now: the same operation that synfire_graph_record_decode_rate() records.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_decode_rate(synfire_context context,
                                                            const synfire_decode_rate_desc *desc,
                                                            synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Appends a decoding of spikes as rates.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_decode_rate(synfire_graph graph,
                                                                         const synfire_decode_rate_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Lets the state leak now.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_leak_rows(
    synfire_layer layer, const synfire_state_desc *desc SYNFIRE_FIELD(buffer, SYNFIRE_READ("[B]") SYNFIRE_NULLABLE),
    synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Appends a leak of the state.
 *
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_leak_rows(
    synfire_graph graph, synfire_layer layer,
    const synfire_state_desc *desc SYNFIRE_FIELD(buffer, SYNFIRE_READ("[B]") SYNFIRE_NULLABLE)) SYNFIRE_NOEXCEPT;
