#!/usr/bin/env python3
"""A new operation in synfire.h needs no hand-written line of Julia: growth_test.py JULIA

A copy of the header with one operation more goes through the generators, into a copy of the package, and growth_test.jl
uses what came out.

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
  int64_t n_steps;
  /** Neurons N, at least 1. */
  int64_t n_neurons;
  /** Batch rows B. Default: 1. */
  int64_t batch;
  /** Read, in any format that synfire_convert_spikes_desc::source may have. */
  synfire_buffer spikes SYNFIRE_READ("spikes [T, B, N]");
  /** What the function says. */
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
  double step_length;
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
        extract = [sys.executable, ROOT / "bindings/api/extract.py", folder / "synfire.h", folder / "synfire.json"]
        subprocess.run(extract, check=True)
        generate = [sys.executable, HERE.parent / "generate.py", folder / "synfire.json", folder / "Synfire/src"]
        assert subprocess.run([*generate, "--check"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode != 0, "--check does not see what is missing"
        subprocess.run(generate, check=True)
        subprocess.run([*generate, "--check"], check=True)
        changed = {path.name for path, content in before.items() if path.read_bytes() != content}
        assert changed == {"libsynfire_api.jl", "operations.jl"}, changed
        sources = [path for path in (folder / "Synfire/src").glob("*.jl") if path.name != "libsynfire_api.jl"]
        (folder / "complete").mkdir()
        shutil.copy(ROOT / "bindings/api/complete.py", folder / "complete")
        shutil.copy(folder / "synfire.json", folder / "complete")
        subprocess.run([sys.executable, folder / "complete/complete.py", *sources], check=True)
        # The package in its new folder, compiled afresh: what the other tests compiled stays as it is.
        subprocess.run([julia, "--startup-file=no", "--history-file=no", "--compiled-modules=no", "-e",
                        f'pushfirst!(LOAD_PATH, raw"{folder}"); include(raw"{HERE / "growth_test.jl"}")'], check=True)


if __name__ == "__main__":
    main()
