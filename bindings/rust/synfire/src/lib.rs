//! Spiking-neuron layers whose forward and backward passes through time are recorded once and replayed in microseconds.
//!
//! ```
//! use synfire::{Backend, Context, Forward, Graph, Layer, Memory, Neurons, Steps, Wait};
//!
//! let context = Context::builder().backend(Backend::Host).create()?;
//! let layer = Layer::builder(Steps(16), Neurons(128)).create(&context)?;
//! layer.set_parameter("tau", &[20.0])?;
//! let x = layer.sequence::<f32>(Memory::Pinned)?; // [16, 128]
//! let spikes = layer.spikes(Memory::Pinned)?; // [16, 4], 32 neurons a word
//! let mut step = Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&x).spikes(&spikes)))?;
//! x.map_mut()?.fill(2.0);
//! let ticket = step.launch()?;
//! assert!(step.wait(ticket, Wait::Spin, None)?);
//! assert!(spikes.map()?.iter().any(|word| *word != 0));
//! # Ok::<(), synfire::Error>(())
//! ```
//!
//! # Who may touch what, when
//!
//! A replay in flight holds the buffers and layers that its graph records, from [`Graph::launch`] until a
//! [`Graph::wait`] or [`Graph::poll`] of the latest ticket says that it is done. Meanwhile mapping a buffer, reading a
//! layer or launching another graph over them is an [`Error`] of [`Status::Busy`], and so is launching while a mapping is
//! alive. A graph that is dropped waits for its replay first.
//!
//! Every handle is `Send` and `Sync`. A graph is recorded and launched through `&mut`, so by one thread at a time; any
//! thread may wait:
//!
//! ```compile_fail,E0596
//! fn from_two_threads(graph: &synfire::Graph) {
//!     graph.launch().unwrap();
//! }
//! ```
//!
//! A handle that was closed cannot be named any more:
//!
//! ```compile_fail,E0382
//! let context = synfire::Context::new().unwrap();
//! context.close();
//! context.synchronize().unwrap();
//! ```
//!
//! A mapping cannot outlive its buffer, nor what a pass is told to read and write:
//!
//! ```compile_fail,E0515
//! fn leak(buffer: synfire::Buffer<f32>) -> synfire::Map<'static, f32> {
//!     buffer.map().unwrap()
//! }
//! ```
//!
//! ```compile_fail,E0505
//! fn forward(layer: &synfire::Layer, x: synfire::Buffer<f32>) -> synfire::Result<()> {
//!     let forward = synfire::Forward::new(&x);
//!     x.close();
//!     layer.forward(forward)
//! }
//! ```
//!
//! A mapping to write is the only one, and one to read cannot be written:
//!
//! ```compile_fail,E0594
//! fn write(buffer: &synfire::Buffer<f32>) {
//!     let mut map = buffer.map().unwrap();
//!     map[0] = 1.0;
//! }
//! ```
//!
//! A slot is the host's until the next launch, and a native node's memory until its function returns:
//!
//! ```compile_fail,E0502
//! fn keep(graph: &mut synfire::Graph, x: &synfire::Buffer<f32>) -> synfire::Result<()> {
//!     let slot = graph.next_slot(x)?;
//!     graph.launch()?;
//!     drop(slot);
//!     Ok(())
//! }
//! ```
//!
//! ```compile_fail,E0521
//! fn keep(graph: &mut synfire::Graph, x: &synfire::Buffer<f32>) {
//!     let mut kept: &[f32] = &[];
//!     let node = synfire::Native::new().reads(x);
//!     graph.native(node, move |call| Ok(kept = call.read(0).unwrap())).unwrap();
//! }
//! ```
//!
//! Only the types that C knows can be elements:
//!
//! ```compile_fail,E0277
//! let context = synfire::Context::new().unwrap();
//! let buffer = synfire::Buffer::<String>::zeros(&context, synfire::Memory::Host, 1);
//! ```
//!
//! # Panics
//!
//! It calls no functions of the program but those of native nodes ([`Graph::native`]) and what hears of loading
//! ([`Text::progress`]), whose panics are caught before its frames and go on after them, and job systems ([`JobSystem`]),
//! heaps ([`HostMemory`]) and listeners ([`Log`]), whose panics end there: what they left undone is an error of the call. A panic in the closure of [`Graph::record`] unwinds through Rust only, and drops the graph.
//!
//! SPDX-License-Identifier: MIT
#![deny(missing_docs, missing_debug_implementations)]

mod buffer;
mod context;
mod error;
mod graph;
mod held;
mod jobs;
mod layer;
mod learning;
mod loaded;
mod memory;
mod native;
mod network;
mod objects;
pub mod operations;
mod pass;
mod shape;
mod slot;
mod spikes;
mod state;
mod steps;
mod values;

pub use buffer::{Bf16, Buffer, BufferBuilder, Element, Map, MapMut, F16};
pub use context::{live_handles, reclaim, Context, ContextBuilder, Properties};
pub use error::{Error, Result, Status};
pub use graph::{Graph, GraphBuilder, Operation, Statistics, Stream, Wait};
pub use jobs::{JobSystem, Task};
pub use layer::{Layer, LayerBuilder, LayerMemory, ParameterInfo};
pub use learning::SynapseMemory;
pub use loaded::{CheckReport, LoadInfo, LoadStage, LoadedModel, LoadedSurrogate, Text};
pub use memory::{memory_use, reset_log, set_log, set_memory, HostMemory, Log, LogLevel, MemoryTag};
pub use native::{Native, NativeCall, Outcome};
pub use network::{ArraySource, Arrays, DataFiles, NetworkFile, Rows, Stage, StageResult, StageValue, Value};
#[allow(unused_imports)] // it may be empty
pub use objects::*;
pub use operations::{Backward, Forward};
pub use shape::{Nested, Neurons, Shape, Steps};
pub use slot::Slot;
pub use spikes::{Bernoulli, EventsFault, SpikeShape};
pub use steps::Update;
/// The C ABI as it is, for what a program does with [`Layer::as_raw`] and its like.
pub use synfire_sys as sys;
pub use values::{Backend, Count, DType, Fallback, Memory, Model, Reset, Surrogate, Tape};

/// The file the library was loaded from.
pub fn library_path() -> Result<String> {
    synfire_sys::library_path().map_err(Error::from_loading)
}

/// Version of the loaded library: major, minor.
pub fn abi_version() -> Result<(u32, u32)> {
    error::loaded()?;
    // SAFETY: no arguments.
    let version = unsafe { synfire_sys::synfire_abi_version() };
    Ok((version >> 16, version & 0xffff))
}

/// Version and build facts of the loaded library.
pub fn version_string() -> Result<String> {
    error::loaded()?;
    // SAFETY: a constant string.
    Ok(unsafe { std::ffi::CStr::from_ptr(synfire_sys::synfire_version_string()) }.to_string_lossy().into_owned())
}
