// spikes.rs - conversions between the formats of spikes, exact counts of them, and rates encoded as spikes; now, or
// recorded.
use crate::buffer::{Buffer, Element};
use crate::context::Context;
use crate::error::Result;
use crate::graph::{Graph, Operation};
use crate::operations::{ConvertSpikes, CountSpikes, EncodeBernoulli};
use crate::shape::{Neurons, Steps};
use crate::values::Count;

crate::values::values! {
    /// Columns of the faults of [`BinEvents`](crate::operations::BinEvents): each counts one kind of fault.
    EventsFault {
        /// Events outside the sensor, or with a polarity other than 0 and 1. They are left out.
        Sensor = SYNFIRE_EVENTS_FAULT_SENSOR,
        /// Events that belong to no step: before the first one, or after the last one. They are left out.
        Window = SYNFIRE_EVENTS_FAULT_WINDOW,
        /// Events that the buffer does not hold, because there were more than its capacity.
        Capacity = SYNFIRE_EVENTS_FAULT_CAPACITY,
        /// By count without `sort`: events that are older than the one before them. They keep their place in the order.
        Order = SYNFIRE_EVENTS_FAULT_ORDER,
        /// Elements of the result whose count was above the bound, and is the bound. Spikes are not counted here.
        Bound = SYNFIRE_EVENTS_FAULT_BOUND,
    }
}

/// The shape of spikes, whatever their format: T steps of B batch rows of N neurons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct SpikeShape {
    n_steps: Steps,
    n_neurons: Neurons,
    batch: i64,
}
impl SpikeShape {
    /// `[T, N]`: `SpikeShape::new(Steps(20), Neurons(64))`.
    ///
    /// ```compile_fail,E0308
    /// let shape = synfire::SpikeShape::new(20, 64);
    /// ```
    pub fn new(n_steps: Steps, n_neurons: Neurons) -> Self {
        SpikeShape { n_steps, n_neurons, batch: 1 }
    }
    /// Batch rows B.
    pub fn batch(mut self, batch: i64) -> Self {
        self.batch = batch;
        self
    }
    fn conversion<'a, S: Element, D: Element>(
        self,
        source: &'a Buffer<S>,
        destination: &'a Buffer<D>,
    ) -> ConvertSpikes<'a> {
        ConvertSpikes::new(source, destination, self.n_steps, self.n_neurons).batch(self.batch)
    }
    fn count<'a, S: Element, D: Element>(
        self,
        kind: Count,
        spikes: &'a Buffer<S>,
        counts: &'a Buffer<D>,
    ) -> CountSpikes<'a> {
        CountSpikes::new(spikes, counts, self.n_steps, self.n_neurons).kind(kind).batch(self.batch)
    }
    fn encoding<'a, R: Element, S: Element>(
        self,
        draw: Bernoulli,
        rates: &'a Buffer<R>,
        spikes: &'a Buffer<S>,
    ) -> EncodeBernoulli<'a> {
        EncodeBernoulli::new(rates, spikes, self.n_steps, self.n_neurons)
            .rates_per_step(draw.per_step)
            .batch(self.batch)
            .seed(draw.seed)
            .offset(draw.offset)
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
    /// Converts spikes into the format of `destination` now, and waits for it. Dense elements that are not zero are spikes.
    pub fn convert_spikes<S: Element, D: Element>(
        &self,
        shape: SpikeShape,
        source: &Buffer<S>,
        destination: &Buffer<D>,
    ) -> Result<()> {
        shape.conversion(source, destination).run(self)
    }
    /// Counts spikes now, and waits for it. `counts` is of [`DType::U32`](crate::DType::U32) or `u64`.
    pub fn count_spikes<S: Element, D: Element>(
        &self,
        kind: Count,
        shape: SpikeShape,
        spikes: &Buffer<S>,
        counts: &Buffer<D>,
    ) -> Result<()> {
        shape.count(kind, spikes, counts).run(self)
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
        shape.encoding(draw, rates, spikes).run(self)
    }
}

impl Graph {
    /// Appends a conversion of spikes into the format of `destination`.
    pub fn convert_spikes<S: Element, D: Element>(
        &mut self,
        shape: SpikeShape,
        source: &Buffer<S>,
        destination: &Buffer<D>,
    ) -> Result<Operation> {
        shape.conversion(source, destination).record(self)
    }
    /// Appends an exact count of spikes.
    pub fn count_spikes<S: Element, D: Element>(
        &mut self,
        kind: Count,
        shape: SpikeShape,
        spikes: &Buffer<S>,
        counts: &Buffer<D>,
    ) -> Result<Operation> {
        shape.count(kind, spikes, counts).record(self)
    }
    /// Appends an encoding of rates as spikes. Each replay goes on where the one before it ended; one in which the operation
    /// is disabled does not move on. Its numbers `"seed"` and `"offset"` can be changed between replays.
    pub fn encode_bernoulli<R: Element, S: Element>(
        &mut self,
        draw: Bernoulli,
        shape: SpikeShape,
        rates: &Buffer<R>,
        spikes: &Buffer<S>,
    ) -> Result<Operation> {
        shape.encoding(draw, rates, spikes).record(self)
    }
}
