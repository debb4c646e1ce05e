//! Spiking-neuron layers whose forward and backward passes through time are recorded once and replayed in microseconds.
//!
//! ```
//! use synfire::{Backend, Buffer, Context, DType, Forward, Graph, Layer, Memory, Tape, Wait};
//!
//! let context = Context::builder().backend(Backend::Host).create()?;
//! let layer = Layer::builder(16, 128).create(&context)?;
//! layer.set_parameter("tau", &[20.0])?;
//! let x = Buffer::<f32>::zeros(&context, Memory::Pinned, 16 * 128)?;
//! let spikes = Buffer::<u32>::with_dtype(&context, Memory::Pinned, DType::Bits, 16 * 4)?;
//! let mut step = Graph::new(&context)?;
//! step.forward(&layer, Forward::new(&x).spikes(&spikes).tape(Tape::None))?;
//! step.instantiate()?;
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
//! [`Graph::wait`] or [`Graph::poll`] of the latest ticket answers that it is done. Meanwhile mapping a buffer, reading a
//! layer or launching another graph over them is an [`Error`] of [`Status::Busy`], and so is launching while a mapping is
//! alive. Every handle is `Send` and `Sync`; a handle that was closed cannot be named any more:
//!
//! ```compile_fail
//! let context = synfire::Context::new().unwrap();
//! context.close();
//! context.synchronize().unwrap();
//! ```
//!
//! A mapping cannot outlive its buffer:
//!
//! ```compile_fail
//! fn leak(buffer: synfire::Buffer<f32>) -> synfire::Map<'static, f32> {
//!     buffer.map().unwrap()
//! }
//! ```
//!
//! Only the types that C knows can be elements:
//!
//! ```compile_fail
//! let context = synfire::Context::new().unwrap();
//! let buffer = synfire::Buffer::<String>::zeros(&context, synfire::Memory::Host, 1);
//! ```
//!
//! SPDX-License-Identifier: MIT
#![deny(missing_docs)]

mod buffer;
mod context;
mod error;
mod graph;
mod held;
mod layer;
mod values;

pub use buffer::{Bf16, Buffer, Element, Map, MapMut, F16};
pub use context::{live_handles, reclaim, Context, ContextBuilder, Properties};
pub use error::{Error, Result, Status};
pub use graph::{Backward, Forward, Graph, Stream, Wait};
pub use layer::{Layer, LayerBuilder, LayerMemory, ParameterInfo};
pub use values::{Backend, DType, Fallback, Memory, Model, Reset, Surrogate, Tape};

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
