#!/usr/bin/env python3
"""A new function of the C ABI needs no line written by hand: check_new_function.py CARGO TARGET_FOLDER

Two operations are added to a copy of synfire.h, and the generators of a copy of this folder run. The crate must have them as
documented types, and a program that uses every part of them must compile. TARGET_FOLDER is where cargo works.

SPDX-License-Identifier: MIT
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
HEADER = r'''
/** How rates are taken: synfire_decode_rate_desc::window. */
enum {
  /** Over all steps. */
  SYNFIRE_WINDOW_ALL = 0,
  /** Over the last ones, which weigh more. */
  SYNFIRE_WINDOW_DECAYING = 1
};
/** What is written beside rates: synfire_decode_rate_desc::extras. */
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
  int64_t n_steps;
  /** Read, in any format that synfire_convert_spikes_desc::source may have. */
  synfire_buffer spikes SYNFIRE_READ("spikes [T, B, N]");
  /** Written: ::SYNFIRE_DTYPE_F32. */
  synfire_buffer rates SYNFIRE_WRITTEN("[B, N]");
  /** Added to. Optional. */
  synfire_buffer sums SYNFIRE_UPDATED("[B, N]") SYNFIRE_NULLABLE;
} synfire_decode_rate_desc;
/**
 * Decodes rates now: the same operation that synfire_graph_record_decode_rate() records.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_decode_rate(synfire_context context, const synfire_decode_rate_desc *desc,
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
  /** What error texts call it. Optional. */
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
'''
PROGRAM = '''use synfire::operations::{DecodeRate, Extras, Mix, Window};
use synfire::{Buffer, Context, Graph, Layer, Operation, Result};

#[allow(dead_code)]
fn decode(context: &Context, graph: &mut Graph, spikes: &Buffer<u32>, rates: &Buffer<f32>) -> Result<Operation> {
    let decode = DecodeRate::new(spikes, rates).window(Window::Decaying).extras(Extras::COUNT | Extras::LAST);
    decode.normalized(true).n_steps(20).sums(rates).run(context)?;
    decode.record(graph)
}
#[allow(dead_code)]
fn mix(graph: &mut Graph, layer: &Layer, rates: &Buffer<f32>) -> Result<Operation> {
    let mix = Mix::new(layer, "v").third(layer).name("mix").lengths([1, 2]);
    let mix = mix.parts("one", rates, 0.5).parts("two", rates, 0.5).inputs(rates).weights(&[1.0]);
    mix.clone().run(layer)?;
    mix.record(graph, layer)
}
#[test]
fn it_compiles() {}
'''
EXPECTED = [
    "/// Spikes `[T, B, N]` to be decoded as rates.",
    "pub struct DecodeRate<'a> {",
    "pub fn new<S: Element, R: Element>(spikes: &'a Buffer<S>, rates: &'a Buffer<R>) -> Self {",
    "/// - `spikes`: Read, in any format that `source` of [`ConvertSpikes`] may have. Its shape: spikes `[T, B, N]`.",
    "/// - `rates`: Written: [`DType::F32`](crate::DType::F32). Its shape: `[B, N]`.",
    "/// One of [`Window`]. Default: all.\n    pub fn window(mut self, window: Window) -> Self {",
    "/// [`Extras`], combined with `|`. Default: none.\n    pub fn extras(mut self, extras: Extras) -> Self {",
    "/// `true`: rates are divided by the number of steps. `false` (default): they are not.",
    "/// Added to. Its shape: `[B, N]`.\n    pub fn sums<T: Element>(mut self, sums: &'a Buffer<T>) -> Self {",
    "/// Appends a decoding of rates.\n    pub fn record(self, graph: &mut Graph) -> Result<Operation> {",
    "that [`DecodeRate::record`] records. Returns when it is done.\n"
    "    pub fn run(self, context: &Context) -> Result<()> {",
    "pub fn new(other: &'a Layer, state: &'a str) -> Self {",
    "pub fn record(self, graph: &mut Graph, layer: &Layer) -> Result<Operation> {",
    "pub fn run(self, layer: &Layer) -> Result<()> {",
]


def main():
    cargo, target = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for part in ("include/synfire", "bindings/api", "bindings/rust"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("target", "__pycache__"))
        header = copy / "include/synfire/synfire.h"
        text = header.read_text(encoding="utf-8")
        before, mark, after = text.rpartition("/** @} */")
        header.write_text(before + HEADER + mark + after, encoding="utf-8")
        rust = copy / "bindings/rust"
        by_hand = {path: path.read_bytes() for path in (rust / "synfire/src").glob("*.rs") if path.name != "operations.rs"}
        for generator in (copy / "bindings/api/extract.py", rust / "generate.py"):
            subprocess.run([sys.executable, str(generator)], check=True)
        subprocess.run([sys.executable, str(rust / "generate.py"), "--check"], check=True)
        assert all(path.read_bytes() == text for path, text in by_hand.items())
        operations = (rust / "synfire/src/operations.rs").read_text(encoding="utf-8")
        missing = [line for line in EXPECTED if line not in operations]
        if missing:
            sys.exit("operations.rs lacks:\n" + "\n".join(missing))
        (rust / "synfire/tests/new_function.rs").write_text(PROGRAM, encoding="utf-8")
        environment = {**os.environ, "CARGO_TARGET_DIR": target, "CARGO_NET_OFFLINE": "true", "RUSTDOCFLAGS": "-D warnings",
                       "RUSTFLAGS": "-D warnings"}
        # Nothing is linked: the library does not have these functions.
        for command in (["test", "-p", "synfire", "--test", "new_function", "--test", "complete"], ["doc", "--no-deps"]):
            subprocess.run([cargo, *command, "--features", "synfire/load-dynamic"], cwd=rust, env=environment, check=True)


if __name__ == "__main__":
    main()
