// spikes.rs - conversions between the formats of spikes, exact counts of them, and rates encoded as spikes, now; graphs
// record the same ones.
use crate::buffer::{Buffer, Core, Element};
use crate::context::Context;
use crate::error::{check, Result};
use crate::held::hold_all;
use crate::values::Count;
use std::sync::Arc;
use synfire_sys as sys;

/// The shape of spikes, whatever their format: T steps of B batch rows of N neurons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct SpikeShape {
    n_steps: i64,
    n_neurons: i64,
    batch: i64,
}
impl SpikeShape {
    /// `[T, N]`.
    pub fn new(n_steps: i64, n_neurons: i64) -> Self {
        SpikeShape { n_steps, n_neurons, batch: 1 }
    }
    /// Batch rows B.
    pub fn batch(mut self, batch: i64) -> Self {
        self.batch = batch;
        self
    }
    pub(crate) fn conversion(self, source: &Core, destination: &Core) -> sys::synfire_convert_spikes_desc {
        sys::synfire_convert_spikes_desc {
            struct_size: std::mem::size_of::<sys::synfire_convert_spikes_desc>() as u32,
            reserved: 0,
            n_steps: self.n_steps,
            n_neurons: self.n_neurons,
            batch: self.batch,
            source: source.raw,
            destination: destination.raw,
        }
    }
    pub(crate) fn count(self, kind: Count, spikes: &Core, counts: &Core) -> sys::synfire_count_spikes_desc {
        sys::synfire_count_spikes_desc {
            struct_size: std::mem::size_of::<sys::synfire_count_spikes_desc>() as u32,
            kind: kind.to_raw(),
            n_steps: self.n_steps,
            n_neurons: self.n_neurons,
            batch: self.batch,
            spikes: spikes.raw,
            counts: counts.raw,
        }
    }
    pub(crate) fn encoding(self, draw: Bernoulli, rates: &Core, spikes: &Core) -> sys::synfire_encode_bernoulli_desc {
        sys::synfire_encode_bernoulli_desc {
            struct_size: std::mem::size_of::<sys::synfire_encode_bernoulli_desc>() as u32,
            rates_per_step: draw.per_step.into(),
            n_steps: self.n_steps,
            n_neurons: self.n_neurons,
            batch: self.batch,
            rates: rates.raw,
            spikes: spikes.raw,
            seed: draw.seed,
            offset: draw.offset,
        }
    }
}

/// How rates are encoded as spikes: each neuron spikes in each step with the probability of its rate, independently of all
/// others. What is drawn follows from the seed, the number of the step, the batch row, the neuron and the rate alone: it is
/// the same in every format and on every backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Bernoulli {
    seed: u64,
    offset: u64,
    per_step: bool,
}
impl Bernoulli {
    /// With a seed, from step 0 on, by rates `[B, N]` that are the same in every step.
    pub fn new(seed: u64) -> Self {
        Bernoulli { seed, offset: 0, per_step: false }
    }
    /// The number of the first step since the seed; in a graph that of the first replay.
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }
    /// Rates are `[T, B, N]`.
    pub fn rates_per_step(mut self) -> Self {
        self.per_step = true;
        self
    }
}

impl Context {
    pub(crate) fn now(&self, buffers: [&Arc<Core>; 2], call: impl FnOnce() -> i32) -> Result<()> {
        let _held = hold_all(buffers.map(|core| &core.held))?;
        check(call())?;
        if self.on_host {
            return Ok(());
        }
        self.synchronize()
    }
    /// Converts spikes into the format of `destination` now, and waits for it. Dense elements that are not zero are spikes.
    pub fn convert_spikes<S: Element, D: Element>(
        &self,
        shape: SpikeShape,
        source: &Buffer<S>,
        destination: &Buffer<D>,
    ) -> Result<()> {
        let desc = shape.conversion(&source.core, &destination.core);
        // SAFETY: live handles, held for the call.
        self.now([&source.core, &destination.core], || unsafe {
            sys::synfire_convert_spikes(self.raw, &desc, std::ptr::null_mut())
        })
    }
    /// Counts spikes now, and waits for it. `counts` is of [`DType::U32`](crate::DType::U32) or `u64`.
    pub fn count_spikes<S: Element, D: Element>(
        &self,
        kind: Count,
        shape: SpikeShape,
        spikes: &Buffer<S>,
        counts: &Buffer<D>,
    ) -> Result<()> {
        let desc = shape.count(kind, &spikes.core, &counts.core);
        // SAFETY: live handles, held for the call.
        self.now([&spikes.core, &counts.core], || unsafe {
            sys::synfire_count_spikes(self.raw, &desc, std::ptr::null_mut())
        })
    }
    /// Encodes rates as spikes now, and waits for it. `rates` are `f32`, [`F16`](crate::F16) or [`Bf16`](crate::Bf16);
    /// `spikes` are of any format. Calls do not count: the next one, to go on, is given an offset that is larger by the
    /// number of steps.
    pub fn encode_bernoulli<R: Element, S: Element>(
        &self,
        draw: Bernoulli,
        shape: SpikeShape,
        rates: &Buffer<R>,
        spikes: &Buffer<S>,
    ) -> Result<()> {
        let desc = shape.encoding(draw, &rates.core, &spikes.core);
        // SAFETY: live handles, held for the call.
        self.now([&rates.core, &spikes.core], || unsafe {
            sys::synfire_encode_bernoulli(self.raw, &desc, std::ptr::null_mut())
        })
    }
}
