#!/usr/bin/env python3
"""Additions to synfire.h need no hand-written line of Julia: growth_test.py JULIA

A copy of the header with more operations, an object and its functions, and functions of the objects that it has goes
through the generators, into a copy of the package, and growth_test.jl uses what came out.

SPDX-License-Identifier: MIT
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]

MORE = r"""
/** How rates are read: synfire_decode_rate_desc::estimate. */
enum {
  /** Spikes divided by steps. */
  SYNFIRE_ESTIMATE_MEAN = 0,
  /** By the shortest interval between two spikes. */
  SYNFIRE_ESTIMATE_PEAK = 1
};

/** Spikes that are left out: synfire_decode_rate_desc::without. */
enum {
  /** Those of the first step. */
  SYNFIRE_WITHOUT_FIRST = 1,
  /** Those of the last step. */
  SYNFIRE_WITHOUT_LAST = 2
};

/** Spikes `[T, B, N]` whose rates are wanted. */
typedef struct synfire_decode_rate_desc {
  /** `sizeof(synfire_decode_rate_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_ESTIMATE_*`. Default: mean. */
  int32_t estimate SYNFIRE_ONE_OF(SYNFIRE_ESTIMATE);
  /** Steps T, at least 1. */
  int64_t n_steps SYNFIRE_REQUIRED;
  /** Neurons N, at least 1. */
  int64_t n_neurons SYNFIRE_REQUIRED;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read, in any format that synfire_convert_spikes_desc::source may have. Given exactly if `source` is not. */
  synfire_buffer spikes SYNFIRE_READ("spikes [T, B, N]") SYNFIRE_UNLESS(source);
  /** As the function defines it. */
  synfire_buffer rates SYNFIRE_WRITTEN("[B, N]");
  /** 1 where a rate is reliable, written. Optional. */
  synfire_buffer reliable SYNFIRE_WRITTEN("[B, N]") SYNFIRE_NULLABLE;
  /** `n_sums` buffers that rates are added to, ::SYNFIRE_DTYPE_F64. Default: none. */
  const synfire_buffer *sums SYNFIRE_UPDATED("[N]") SYNFIRE_NULLABLE;
  /** How many. Default: 0. */
  uint64_t n_sums SYNFIRE_LENGTH_OF(sums);
  /** `n_weights` weights of the steps. Default: none. */
  const double *weights SYNFIRE_NULLABLE;
  /** How many. Default: 0. */
  uint64_t n_weights SYNFIRE_LENGTH_OF(weights);
  /** What pictures call it; null: its number. */
  const char *label SYNFIRE_NULLABLE;
  /** 1: rates are per millisecond. 0 (default): per step. */
  int32_t per_millisecond SYNFIRE_FLAG;
  /** `SYNFIRE_WITHOUT_*`, added up. Default: none. */
  uint32_t without SYNFIRE_ANY_OF(SYNFIRE_WITHOUT);
  /** The length of a step in milliseconds. */
  double step_length SYNFIRE_REQUIRED;
  /** What rates are multiplied by. Default: 2.5e-1. */
  double gain;
  /** What is added to them. */
  double offset;
  /** A layer whose own spikes are read. Default: none. */
  synfire_layer source SYNFIRE_NULLABLE;
  /** What of the layer. Given exactly if `source` is. */
  const char *state SYNFIRE_WITH(source);
} synfire_decode_rate_desc;

/**
 * Reads rates off spikes now: the same operation that synfire_graph_record_decode_rate() records.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_decode_rate(synfire_context context,
                                                            const synfire_decode_rate_desc *desc,
                                                            synfire_stream stream SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Appends a decoding of rates; synfire_decode_rate_desc says of what.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_decode_rate(synfire_graph graph,
                                                                         const synfire_decode_rate_desc *desc)
    SYNFIRE_NOEXCEPT;

/** How a delay line reads between two steps: synfire_delay_line_desc::reading. */
enum {
  /** The nearest step. */
  SYNFIRE_READING_NEAREST = 0,
  /** A straight line. */
  SYNFIRE_READING_LINEAR = 1
};

/** A line of taps that hands spikes on later. */
typedef struct synfire_delay_line_s *synfire_delay_line;

/** Delays of the taps. */
typedef struct synfire_delay_line_desc {
  /** `sizeof(synfire_delay_line_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_READING_*`. Default: nearest. */
  int32_t reading SYNFIRE_ONE_OF(SYNFIRE_READING);
  /** Taps, at least 1. */
  int64_t n_taps SYNFIRE_REQUIRED;
  /** The buffer that it starts from, read. Null: zeros. */
  synfire_buffer start SYNFIRE_READ("[N]") SYNFIRE_NULLABLE;
  /** A line that it continues. Optional. */
  synfire_delay_line upstream SYNFIRE_NULLABLE;
  /** `n_layers` layers that it feeds. Default: none. */
  const synfire_layer *layers SYNFIRE_NULLABLE;
  /** How many. Default: 0. */
  uint64_t n_layers SYNFIRE_LENGTH_OF(layers);
  /** Milliseconds of up to three stages; 0 ends them. */
  float stages[3];
  /** 1: taps wrap around. 0 (default): they end. */
  int32_t wraps SYNFIRE_FLAG;
} synfire_delay_line_desc;

/** What a delay line is. */
typedef struct synfire_delay_line_state {
  /** `sizeof(synfire_delay_line_state)`; set before the call. */
  uint32_t struct_size;
  /** One of `SYNFIRE_READING_*`. */
  int32_t reading SYNFIRE_ONE_OF(SYNFIRE_READING);
  /** Taps, as synfire_delay_line_desc::n_taps says. */
  int64_t n_taps;
  /** The gain, which synfire_delay_line_set_gain() sets. */
  double gain;
  /** 1 when it wraps around. */
  int32_t wraps SYNFIRE_FLAG;
  /** `SYNFIRE_WITHOUT_*`: what it leaves out. */
  uint32_t without SYNFIRE_ANY_OF(SYNFIRE_WITHOUT);
  /** Its name. */
  char label[16];
} synfire_delay_line_state;

/** A tap, for synfire_delay_line_set_taps(). */
typedef struct synfire_tap {
  /** Its name. */
  const char *label;
  /** Its delay. */
  double delay;
  /** One of `SYNFIRE_READING_*`. */
  int32_t reading SYNFIRE_ONE_OF(SYNFIRE_READING);
} synfire_tap;

/** What is delayed. */
typedef struct synfire_delay_desc {
  /** `sizeof(synfire_delay_desc)`. */
  uint32_t struct_size;
  /** Zero. */
  uint32_t reserved;
  /** Read. */
  synfire_buffer x SYNFIRE_READ("[N]");
  /** Written. */
  synfire_buffer y SYNFIRE_WRITTEN("[N]");
  /** Another line that is read too. Optional. */
  synfire_delay_line beside SYNFIRE_NULLABLE;
} synfire_delay_desc;

/**
 * Creates a delay line.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_create(synfire_context context,
                                                                  const synfire_delay_line_desc *desc,
                                                                  synfire_delay_line *line) SYNFIRE_NOEXCEPT;

/**
 * Gives a delay line back.
 *
 * @since ABI 0.2
 */
SYNFIRE_API void SYNFIRE_CALL synfire_delay_line_destroy(synfire_delay_line line SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

/**
 * Sets the gain of a delay line, which synfire_delay_line_query() tells.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_set_gain(synfire_delay_line line,
                                                                    double gain) SYNFIRE_NOEXCEPT;

/**
 * Reads the delays of the taps.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_get_taps(synfire_delay_line line, double *values,
                                                                    uint64_t count SYNFIRE_LENGTH_OF(values))
    SYNFIRE_NOEXCEPT;

/**
 * Sets the taps.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_set_taps(synfire_delay_line line, const synfire_tap *taps,
                                                                    uint64_t n_taps SYNFIRE_LENGTH_OF(taps))
    SYNFIRE_NOEXCEPT;

/**
 * Tells what a delay line is.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_query(synfire_delay_line line,
                                                                 synfire_delay_line_state *state) SYNFIRE_NOEXCEPT;

/**
 * Describes a tap.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_describe(synfire_delay_line line, const char *name,
                                                                    char *text SYNFIRE_NULLABLE, uint64_t capacity,
                                                                    uint64_t *length) SYNFIRE_NOEXCEPT;

/**
 * Writes the name of an operation, and how long it is.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_write_name(synfire_graph graph, int32_t operation,
                                                                 char *text SYNFIRE_NULLABLE,
                                                                 uint64_t capacity SYNFIRE_LENGTH_OF(text),
                                                                 uint64_t *size, uint32_t *length) SYNFIRE_NOEXCEPT;

/**
 * Chooses the buffer that a delay line reads from now on.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_connect(synfire_delay_line line,
                                                                   synfire_buffer source SYNFIRE_READ("[N]"),
                                                                   const char *label SYNFIRE_NULLABLE,
                                                                   synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * Appends a delay.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_delay(synfire_graph graph, synfire_delay_line line,
                                                                   const synfire_delay_desc *desc) SYNFIRE_NOEXCEPT;

/**
 * Delays now.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_delay(synfire_delay_line line,
                                                                 const synfire_delay_desc *desc,
                                                                 synfire_stream stream SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;

/**
 * The mean of the potentials of a layer; synfire_layer_reset_state() sets them back.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_get_mean(synfire_layer layer, double *mean) SYNFIRE_NOEXCEPT;

/**
 * The state of a layer as one number.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_get_state(synfire_layer layer, double *energy) SYNFIRE_NOEXCEPT;

/**
 * Finds the longest rest of the neurons of a layer.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_layer_find_rest(synfire_layer layer, int64_t n_steps, int64_t n_neurons,
                                                                int32_t reading SYNFIRE_ONE_OF(SYNFIRE_READING),
                                                                int32_t is_open SYNFIRE_FLAG, int64_t *first,
                                                                uint32_t *length) SYNFIRE_NOEXCEPT;

/**
 * Gives an operation of a graph another delay line.
 *
 * @since ABI 0.2
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_set_line(synfire_graph graph, int32_t operation,
                                                               synfire_delay_line line) SYNFIRE_NOEXCEPT;

/** @} */
/** @cond PLATFORM */
#ifdef __cplusplus
}
"""


def main():
    julia = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        text = (ROOT / "include/synfire/synfire.h").read_text(encoding="utf-8")
        end = "\n/** @} */\n/** @cond PLATFORM */\n#ifdef __cplusplus\n}\n"
        assert text.count(end) == 1, "the end of the header was not found"
        (folder / "synfire.h").write_text(text.replace(end, MORE), encoding="utf-8")
        shutil.copytree(HERE.parent / "Synfire", folder / "Synfire")
        before = {path: path.read_bytes() for path in (folder / "Synfire").rglob("*") if path.is_file()}
        generate = [sys.executable, HERE.parent / "generate.py", folder / "synfire.h", folder / "Synfire/src"]
        assert subprocess.run([*generate, "--check"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode != 0, "--check does not see what is missing"
        subprocess.run(generate, check=True)
        subprocess.run([*generate, "--check"], check=True)
        changed = {path.name for path, content in before.items() if path.read_bytes() != content}
        assert changed == {"libsynfire_api.jl", "operations.jl"}, changed
        sources = [path for path in (folder / "Synfire/src").glob("*.jl") if path.name != "libsynfire_api.jl"]
        subprocess.run([sys.executable, ROOT / "bindings/api/complete.py", "--header", folder / "synfire.h", *sources],
                       check=True)
        # The package in its new folder, compiled afresh: what the other tests compiled stays as it is.
        subprocess.run([julia, "--startup-file=no", "--history-file=no", "--compiled-modules=no", "-e",
                        f'pushfirst!(LOAD_PATH, raw"{folder}"); include(raw"{HERE / "growth_test.jl"}")'], check=True)


if __name__ == "__main__":
    main()
