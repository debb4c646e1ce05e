#!/usr/bin/env python3
"""A new function of the C ABI needs no line written by hand: check_new_function.py CARGO TARGET_FOLDER CC LIBRARY

new_function/added.h is added to a copy of synfire.h: operations, an object with methods and an operation of its own,
and methods of existing objects. The generators run on a copy of this folder. The crate must have all of it, documented,
and new_function/program.rs must run with a library that has these functions too (new_function/added.c, compiled by CC
and linked with LIBRARY). TARGET_FOLDER is where cargo works.

SPDX-License-Identifier: MIT
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
EXPECTED = {"operations.rs": [
    "/// Spikes `[T, B, N]` to be decoded as rates.",
    "pub struct DecodeRate<'a> {",
    "pub fn new<S: Element, R: Element>(spikes: &'a Buffer<S>, rates: &'a Buffer<R>, n_steps: Steps) -> Self {",
    "/// - `spikes`: Read, in any format that `source` of [`ConvertSpikes`] may have. Given exactly if `layer` is not. Its\n",
    "/// - `layer`: A layer whose own spikes are decoded.\n",
    "pub fn with_layer<T: Element>(layer: &'a Layer, state: &'a str, rates: &'a Buffer<T>, n_steps: Steps) -> Self {",
    "/// - `rates`: Written: [`DType::F32`](crate::DType::F32). Its shape: `[B, N]`.",
    "/// One of [`Window`]. Default: all.\n    pub fn window(mut self, window: Window) -> Self {",
    "/// [`Extras`], combined with `|`. Default: none.\n    pub fn extras(mut self, extras: Extras) -> Self {",
    "/// `true`: rates are divided by the number of steps. `false` (default): they are not.",
    "/// Added to. Its shape: `[B, N]`.\n    ///\n"
    "    /// - `n_summed`: The number of sums. Given exactly if `sums` are. Its shape: `[1]`.\n"
    "    pub fn sums<S: Element, N: Element>(mut self, sums: &'a Buffer<S>, n_summed: &'a Buffer<N>) -> Self {",
    "/// Appends a decoding of rates.\n    pub fn record(self, graph: &mut Graph) -> Result<Operation> {",
    "that [`DecodeRate::record`] records. Returns when it is done.\n"
    "    pub fn run(self, context: &Context) -> Result<()> {",
    "pub fn new(other: &'a Layer, state: &'a str) -> Self {",
    "pub fn record(self, graph: &mut Graph, layer: &Layer) -> Result<Operation> {",
    "pub fn run(self, layer: &Layer) -> Result<()> {",
    "pub fn record(self, graph: &mut Graph, delay_line: &DelayLine) -> Result<Operation> {",
    "graph.keep_object(delay_line.core.clone());",
    "pub fn run(self, delay_line: &DelayLine) -> Result<()> {",
    "/// Appends a delay; `n_taps` of [`DelayLineBuilder`](crate::DelayLineBuilder) and `source` of\n",
], "objects.rs": [
    "/// A line that delays what a layer gives. Its answer is [`DelayLineState`]. Graphs that use it keep it alive, "
    "and it\n",
    "pub struct DelayLine {",
    "pub fn builder<'a, T: Element>(source: &'a Layer, first: &'a Buffer<T>, n_taps: u32) -> DelayLineBuilder<'a> {",
    "/// - `first`: The values at the start, read. Its shape: `[B, N]`.",
    "/// - `n_taps`: How many taps, at least 1.\n",
    "/// One of [`Interpolation`]. Default: none.\n"
    "    pub fn interpolation(mut self, interpolation: Interpolation) -> Self {",
    "/// `true`: the end feeds the start. `false` (default): it does not.\n"
    "    pub fn closed(mut self, closed: bool) -> Self {",
    "/// Where it keeps what is on its way, in place of memory of its own. Its shape: `[T, B, N]`.\n"
    "    pub fn memory<T: Element>(mut self, memory: &'a Buffer<T>) -> Self {",
    "pub fn create(self, context: &Context) -> Result<DelayLine> {",
    "/// Sets the gain of all taps; [`DelayLine::taps`] gives it.\n"
    "    pub fn set_gain(&self, gain: f64) -> Result<()> {",
    "/// Reads the gain of each tap.\n    pub fn taps(&self, values: &mut [f64]) -> Result<()> {",
    "pub fn set_taps(&self, taps: &[(&str, &[f64])]) -> Result<()> {",
    "/// Tells what a delay line holds, as [`DelayLineState`].\n    pub fn query(&self) -> Result<DelayLineState> {",
    "/// Finds a tap.\n    pub fn find(&self, name: &str, closest: bool) -> Result<(Interpolation, u64)> {",
    "/// Delays now, as [`Delay::run`].\n",
    "pub fn delay(&self, delay: Delay<'_>) -> Result<()> {",
    "/// Describes a tap.\n    pub fn describe(&self, name: &str) -> Result<String> {",
    "pub fn write_names(&self) -> Result<(String, i32)> {",
    "/// Empties a delay line into others. Returns when it is done.\n    pub fn drain<",
    "/// The loudest tap.\n    pub peak: f64,",
    "/// `true`: nothing is on its way. `false`: something is.\n    pub empty: bool,",
    "    /// The mean of the state.\n    pub fn mean(&self) -> Result<f64> {",
    "as [`Buffer::fill`], but not the same.\n    pub fn largest(&self) -> Result<(f64, u64)> {",
    "pub unsafe fn sort_on<A: Element>(&self, keys: &Buffer<A>, stream: Stream) -> Result<()> {",
    "pub fn runs(&self, operation: Operation) -> Result<u64> {",
    "pub fn set_name(&self, name: Option<&str>) -> Result<()> {",
]}


def main():
    cargo, target, compiler = sys.argv[1:4]
    library = pathlib.Path(sys.argv[4]).resolve()
    added = HERE / "new_function"
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for part in ("include/synfire", "bindings/api", "bindings/rust"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("target", "__pycache__"))
        header = copy / "include/synfire/synfire.h"
        text = header.read_text(encoding="utf-8")
        before, mark, after = text.rpartition("/** @} */")
        header.write_text(before + (added / "added.h").read_text(encoding="utf-8") + mark + after, encoding="utf-8")
        rust = copy / "bindings/rust"
        sources = (rust / "synfire/src").glob("*.rs")
        by_hand = {path: path.read_bytes() for path in sources if path.name not in EXPECTED}
        subprocess.run([sys.executable, str(rust / "generate.py")], check=True)
        subprocess.run([sys.executable, str(rust / "generate.py"), "--check"], check=True)
        assert all(path.read_bytes() == text for path, text in by_hand.items())
        for name, expected in EXPECTED.items():
            generated = (rust / "synfire/src" / name).read_text(encoding="utf-8")
            missing = [line for line in expected if line not in generated]
            if missing:
                sys.exit(f"{name} lacks:\n" + "\n".join(missing))
        raw = [option for name in ("bindings.rs", "dynamic.rs") for option in ("--raw", rust / "synfire-sys/src" / name)]
        subprocess.run([sys.executable, copy / "bindings/api/complete.py", "--constants", *raw,
                        *(rust / "synfire/src").glob("*.rs")], check=True)
        shutil.copy(added / "program.rs", rust / "synfire/tests/new_function.rs")
        # Functions that the library lacks, beside the library.
        whole = copy / "libwhole.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Werror", f"-I{copy / 'include'}", "-o", str(whole),
                        str(added / "added.c"), str(library), f"-Wl,-rpath,{library.parent}"], check=True)
        environment = {**os.environ, "CARGO_TARGET_DIR": target, "CARGO_NET_OFFLINE": "true",
                       "RUSTDOCFLAGS": "-D warnings", "RUSTFLAGS": "-D warnings", "SYNFIRE_LIBRARY": str(whole)}
        tests = ["test", "-p", "synfire", "--test", "new_function"]
        for command in (tests, ["doc", "--no-deps"]):
            command += ["--features", "synfire/load-dynamic"]
            subprocess.run([cargo, *command], cwd=rust, env=environment, check=True)


if __name__ == "__main__":
    main()
