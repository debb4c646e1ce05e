#!/usr/bin/env python3
"""A new function of the C ABI needs no line written by hand: check_new_function.py CARGO TARGET_FOLDER

Operations, an object with methods and an operation of its own, and methods of the objects that are there are added to a copy
of synfire.h, and the generators of a copy of this folder run. The crate must have all of it, documented, and a program that
uses every part must compile. TARGET_FOLDER is where cargo works.

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
/** A line that delays what a layer gives. Its answer is ::synfire_delay_line_state. */
typedef struct synfire_delay_line_t *synfire_delay_line;
/** What is between two taps: synfire_delay_line_desc::interpolation. */
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
  uint32_t n_taps;
  /** One of `SYNFIRE_INTERPOLATION_*`. Default: none. */
  int32_t interpolation SYNFIRE_ONE_OF(SYNFIRE_INTERPOLATION);
  /** 1: the end feeds the start. Default 0: it does not. */
  int32_t closed SYNFIRE_FLAG;
  /** The layer before it. */
  synfire_layer source;
  /** The delay line that it continues. Optional. */
  synfire_delay_line previous SYNFIRE_NULLABLE;
  /** What it holds at the start, read. */
  synfire_buffer first SYNFIRE_READ("[B, N]");
  /** Where it keeps what is on its way, in the place of memory of its own. Optional. */
  synfire_buffer memory SYNFIRE_UPDATED("[T, B, N]") SYNFIRE_NULLABLE;
  /** The taps' delays. */
  const double *delays SYNFIRE_NULLABLE;
  /** How many. */
  uint64_t n_delays SYNFIRE_LENGTH_OF(delays);
} synfire_delay_line_desc;
/** What a delay line tells of itself. */
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
  /** What it is called. */
  char type[16];
} synfire_delay_line_state;
/** What is delayed. */
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
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_find(synfire_delay_line line, const char *name,
                                                                int32_t closest SYNFIRE_FLAG,
                                                                int32_t *interpolation SYNFIRE_ONE_OF(SYNFIRE_INTERPOLATION),
                                                                uint64_t *index SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;
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
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_delay_line_delay(synfire_delay_line line, const synfire_delay_desc *desc,
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
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_context_set_name(synfire_context context, const char *name SYNFIRE_NULLABLE)
    SYNFIRE_NOEXCEPT;
'''
PROGRAM = '''use synfire::operations::{DecodeRate, Delay, Extras, Mix, Window};
use synfire::{Buffer, Context, DelayLine, DelayLineState, Graph, Interpolation, Layer, Operation, Result};

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
#[allow(dead_code)]
fn delay(context: &Context, graph: &mut Graph, layer: &Layer, x: &Buffer<f32>) -> Result<Operation> {
    let first = DelayLine::builder(layer, x).n_taps(3).create(context)?;
    let line = DelayLine::builder(layer, x).interpolation(Interpolation::Linear).closed(true).delays(&[1.0, 2.0]);
    let line: DelayLine = line.memory(x).previous(&first).create(context)?;
    drop(first);
    line.set_gain(0.5)?;
    line.taps(&mut [0.0; 3])?;
    line.set_taps(&[("one", &[1.0]), ("two", &[1.0, 2.0])])?;
    let (between, index): (Interpolation, u64) = line.find("one", true)?;
    line.drain(x, None)?;
    line.drain(x, Some(&line))?;
    let state: DelayLineState = line.query()?;
    println!("{} {:?} {} {:?} {:?} {between:?} {index}", state.peak, state.used, state.place, state.type_, line.as_raw());
    assert!(state.empty || state.interpolation == Interpolation::None);
    let delay = Delay::new(x).other(&line);
    delay.run(&line)?;
    let mean: f64 = layer.mean()?;
    let (largest, _): (f64, u64) = x.largest()?;
    layer.replace(&[layer, layer])?;
    // SAFETY: the context's own stream.
    unsafe { x.sort_on(x, std::ptr::null_mut())? };
    context.set_name(Some("one"))?;
    println!("{mean} {largest}");
    let operation = delay.record(graph, &line)?;
    graph.set_line::<f32>(operation, &line, None)?;
    let _: u64 = graph.runs(operation)?;
    line.close();
    Ok(operation)
}
#[test]
fn it_compiles() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<DelayLine>();
}
'''
EXPECTED = {"operations.rs": [
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
    "pub fn record(self, graph: &mut Graph, delay_line: &DelayLine) -> Result<Operation> {",
    "graph.keep_object(delay_line.core.clone());",
    "pub fn run(self, delay_line: &DelayLine) -> Result<()> {",
    "/// Appends a delay; [`DelayLineBuilder::n_taps`](crate::DelayLineBuilder::n_taps) and `source` of\n",
], "objects.rs": [
    "/// A line that delays what a layer gives. Its answer is [`DelayLineState`]. Graphs that use it keep it alive, and it\n",
    "pub struct DelayLine {",
    "pub fn builder<'a, T: Element>(source: &'a Layer, first: &'a Buffer<T>) -> DelayLineBuilder<'a> {",
    "/// - `first`: What it holds at the start, read. Its shape: `[B, N]`.",
    "/// How many taps, at least 1.\n    pub fn n_taps(mut self, n_taps: u32) -> Self {",
    "/// One of [`Interpolation`]. Default: none.\n    pub fn interpolation(mut self, interpolation: Interpolation) -> Self {",
    "/// `true`: the end feeds the start. `false` (default): it does not.\n    pub fn closed(mut self, closed: bool) -> Self {",
    "/// Where it keeps what is on its way, in the place of memory of its own. Its shape: `[T, B, N]`.\n"
    "    pub fn memory<T: Element>(mut self, memory: &'a Buffer<T>) -> Self {",
    "pub fn create(self, context: &Context) -> Result<DelayLine> {",
    "/// Sets the gain of all taps; [`DelayLine::taps`] gives it.\n    pub fn set_gain(&self, gain: f64) -> Result<()> {",
    "/// Reads the gain of each tap.\n    pub fn taps(&self, values: &mut [f64]) -> Result<()> {",
    "pub fn set_taps(&self, taps: &[(&str, &[f64])]) -> Result<()> {",
    "/// Tells what a delay line holds, as [`DelayLineState`].\n    pub fn query(&self) -> Result<DelayLineState> {",
    "/// Finds a tap.\n    pub fn find(&self, name: &str, closest: bool) -> Result<(Interpolation, u64)> {",
    "/// Empties a delay line into others. Returns when it is done.\n    pub fn drain<",
    "/// The loudest tap.\n    pub peak: f64,",
    "/// `true`: nothing is on its way. `false`: something is.\n    pub empty: bool,",
    "impl Layer {\n    /// The mean of the state.\n    pub fn mean(&self) -> Result<f64> {",
    "as [`Buffer::fill`], but not the same.\n    pub fn largest(&self) -> Result<(f64, u64)> {",
    "pub unsafe fn sort_on<A: Element>(&self, keys: &Buffer<A>, stream: Stream) -> Result<()> {",
    "pub fn runs(&self, operation: Operation) -> Result<u64> {",
    "pub fn set_name(&self, name: Option<&str>) -> Result<()> {",
]}


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
        sources = (rust / "synfire/src").glob("*.rs")
        by_hand = {path: path.read_bytes() for path in sources if path.name not in EXPECTED}
        for generator in (copy / "bindings/api/extract.py", rust / "generate.py"):
            subprocess.run([sys.executable, str(generator)], check=True)
        subprocess.run([sys.executable, str(rust / "generate.py"), "--check"], check=True)
        assert all(path.read_bytes() == text for path, text in by_hand.items())
        for name, expected in EXPECTED.items():
            generated = (rust / "synfire/src" / name).read_text(encoding="utf-8")
            missing = [line for line in expected if line not in generated]
            if missing:
                sys.exit(f"{name} lacks:\n" + "\n".join(missing))
        (rust / "synfire/tests/new_function.rs").write_text(PROGRAM, encoding="utf-8")
        environment = {**os.environ, "CARGO_TARGET_DIR": target, "CARGO_NET_OFFLINE": "true", "RUSTDOCFLAGS": "-D warnings",
                       "RUSTFLAGS": "-D warnings"}
        # Nothing is linked: the library does not have these functions.
        for command in (["test", "-p", "synfire", "--test", "new_function", "--test", "complete"], ["doc", "--no-deps"]):
            subprocess.run([cargo, *command, "--features", "synfire/load-dynamic"], cwd=rust, env=environment, check=True)


if __name__ == "__main__":
    main()
