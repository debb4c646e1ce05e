// spikes.rs - conversions between the formats of spikes, and exact counts of them, now; graphs record the same ones.
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
}
