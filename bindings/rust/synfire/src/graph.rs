// graph.rs - what a pass reads and writes, and graphs: recorded, instantiated, replayed.
use crate::buffer::{Buffer, Core as BufferCore, Element};
use crate::context::{born, gone, Context};
use crate::error::{check, Name, Result};
use crate::held::{Flight, Held};
use crate::layer::{Core as LayerCore, Layer};
use crate::spikes::SpikeShape;
use crate::values::{Count, Tape};
use std::fmt;
use std::sync::atomic::Ordering::*;
use std::sync::Arc;
use std::time::Duration;
use synfire_sys as sys;

/// A CUDA stream of another library, for [`Graph::launch_on`].
pub type Stream = sys::synfire_stream;

crate::values::values! {
    /// How to wait.
    Wait {
        /// Poll without pause.
        Spin = SYNFIRE_WAIT_SPIN,
        /// Poll, giving the processor away in between.
        Yield = SYNFIRE_WAIT_YIELD,
        /// Sleep.
        Block = SYNFIRE_WAIT_BLOCK,
    }
}

macro_rules! pass {
    ($name:ident { $($(#[$doc:meta])* $field:ident),* }) => {
        impl<'a> $name<'a> {
            $($(#[$doc])* pub fn $field<T: Element>(mut self, buffer: &'a Buffer<T>) -> Self {
                self.$field = Some(&buffer.core);
                self
            })*
            /// Allows in and out to be the same memory, as the C header says.
            pub fn in_place(mut self) -> Self {
                self.in_place = true;
                self
            }
        }
    };
}
fn raw(core: Option<&Arc<BufferCore>>) -> sys::synfire_buffer {
    core.map_or(std::ptr::null_mut(), |core| core.raw)
}

/// What a forward reads and writes.
#[derive(Clone, Copy)]
#[must_use]
pub struct Forward<'a> {
    x: &'a Arc<BufferCore>,
    tape: Tape,
    in_place: bool,
    spikes: Option<&'a Arc<BufferCore>>,
    v_init: Option<&'a Arc<BufferCore>>,
    v_final: Option<&'a Arc<BufferCore>>,
    v_seq: Option<&'a Arc<BufferCore>>,
    h_seq: Option<&'a Arc<BufferCore>>,
    w_init: Option<&'a Arc<BufferCore>>,
    w_final: Option<&'a Arc<BufferCore>>,
    w_seq: Option<&'a Arc<BufferCore>>,
}
pass!(Forward {
    /// S, written.
    spikes,
    /// V before the first step, read; without it the layer's state continues.
    v_init,
    /// V after the last step, written.
    v_final,
    /// V of every step, written.
    v_seq,
    /// H of every step, written.
    h_seq,
    /// W before the first step, read.
    w_init,
    /// W after the last step, written.
    w_final,
    /// W of every step, written.
    w_seq
});
impl<'a> Forward<'a> {
    /// Reads X `[T, B, N]`.
    pub fn new<T: Element>(x: &'a Buffer<T>) -> Self {
        Forward {
            x: &x.core,
            tape: Tape::Recompute,
            in_place: false,
            spikes: None,
            v_init: None,
            v_final: None,
            v_seq: None,
            h_seq: None,
            w_init: None,
            w_final: None,
            w_seq: None,
        }
    }
    /// What it leaves for backward.
    pub fn tape(mut self, tape: Tape) -> Self {
        self.tape = tape;
        self
    }
    pub(crate) fn each(&self, mut f: impl FnMut(&'a Arc<BufferCore>)) {
        f(self.x);
        [self.spikes, self.v_init, self.v_final, self.v_seq, self.h_seq, self.w_init, self.w_final, self.w_seq]
            .iter()
            .flatten()
            .for_each(|core| f(core));
    }
    pub(crate) fn desc(&self) -> sys::synfire_forward_desc {
        sys::synfire_forward_desc {
            struct_size: std::mem::size_of::<sys::synfire_forward_desc>() as u32,
            tape: self.tape.to_raw(),
            x: self.x.raw,
            spikes: raw(self.spikes),
            v_init: raw(self.v_init),
            v_final: raw(self.v_final),
            v_seq: raw(self.v_seq),
            h_seq: raw(self.h_seq),
            w_init: raw(self.w_init),
            w_final: raw(self.w_final),
            w_seq: raw(self.w_seq),
            in_place: self.in_place.into(),
            reserved: 0,
        }
    }
}

/// What a backward reads and writes.
#[derive(Clone, Default)]
#[must_use]
pub struct Backward<'a> {
    in_place: bool,
    grad_spike_seq: Option<&'a Arc<BufferCore>>,
    grad_v_seq: Option<&'a Arc<BufferCore>>,
    grad_v_final: Option<&'a Arc<BufferCore>>,
    grad_x_seq: Option<&'a Arc<BufferCore>>,
    grad_v_init: Option<&'a Arc<BufferCore>>,
    grad_w_seq: Option<&'a Arc<BufferCore>>,
    grad_w_final: Option<&'a Arc<BufferCore>>,
    grad_w_init: Option<&'a Arc<BufferCore>>,
    of_parameters: Vec<(String, &'a Arc<BufferCore>)>,
}
pass!(Backward {
    /// dL/dS, read.
    grad_spike_seq,
    /// dL/dV of every step, read.
    grad_v_seq,
    /// dL/dV of the final state, read.
    grad_v_final,
    /// dL/dX, written.
    grad_x_seq,
    /// dL/dV_init, written.
    grad_v_init,
    /// dL/dW of every step, read.
    grad_w_seq,
    /// dL/dW of the final state, read.
    grad_w_final,
    /// dL/dW_init, written.
    grad_w_init
});
impl<'a> Backward<'a> {
    /// Nothing yet; an output at least is needed.
    pub fn new() -> Self {
        Self::default()
    }
    /// dL/d(parameter), written: one element, or one per neuron.
    pub fn grad_parameter<T: Element>(mut self, name: &str, gradient: &'a Buffer<T>) -> Self {
        self.of_parameters.push((name.into(), &gradient.core));
        self
    }
    pub(crate) fn each(&self, mut f: impl FnMut(&'a Arc<BufferCore>)) {
        [
            self.grad_spike_seq,
            self.grad_v_seq,
            self.grad_v_final,
            self.grad_x_seq,
            self.grad_v_init,
            self.grad_w_seq,
            self.grad_w_final,
            self.grad_w_init,
        ]
        .iter()
        .flatten()
        .for_each(|core| f(core));
        self.of_parameters.iter().for_each(|(_, core)| f(core));
    }
    /// The names must live as long as the descriptions that point to them.
    pub(crate) fn parameters(&self) -> Result<(Vec<Name>, Vec<sys::synfire_parameter_gradient>)> {
        let names = self.of_parameters.iter().map(|(name, _)| Name::new(name)).collect::<Result<Vec<_>>>()?;
        let all = names
            .iter()
            .zip(&self.of_parameters)
            .map(|(name, (_, core))| sys::synfire_parameter_gradient { name: name.as_ptr(), gradient: core.raw })
            .collect();
        Ok((names, all))
    }
    pub(crate) fn desc(&self, parameters: &[sys::synfire_parameter_gradient]) -> sys::synfire_backward_desc {
        sys::synfire_backward_desc {
            struct_size: std::mem::size_of::<sys::synfire_backward_desc>() as u32,
            in_place: self.in_place.into(),
            grad_spike_seq: raw(self.grad_spike_seq),
            grad_v_seq: raw(self.grad_v_seq),
            grad_v_final: raw(self.grad_v_final),
            grad_x_seq: raw(self.grad_x_seq),
            grad_v_init: raw(self.grad_v_init),
            grad_w_seq: raw(self.grad_w_seq),
            grad_w_final: raw(self.grad_w_final),
            grad_w_init: raw(self.grad_w_init),
            parameter_gradients: if parameters.is_empty() { std::ptr::null() } else { parameters.as_ptr() },
            n_parameter_gradients: parameters.len() as u64,
        }
    }
}

/// An ordered list of operations, recorded once, replayed many times.
pub struct Graph {
    raw: sys::synfire_graph,
    flight: Arc<Flight>,
    buffers: Vec<Arc<BufferCore>>,
    layers: Vec<Arc<LayerCore>>,
    latest: u64,
}
// SAFETY: recording and launching take &mut; waiting is legal on any thread.
unsafe impl Send for Graph {}
unsafe impl Sync for Graph {}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph over {} layers and {} buffers", self.layers.len(), self.buffers.len())
    }
}
impl fmt::Debug for Forward<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forward").field("tape", &self.tape).field("in_place", &self.in_place).finish_non_exhaustive()
    }
}
impl fmt::Debug for Backward<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backward").field("in_place", &self.in_place).finish_non_exhaustive()
    }
}

impl Graph {
    /// An empty graph.
    pub fn new(context: &Context) -> Result<Self> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: a live handle.
        check(unsafe { sys::synfire_graph_create(context.raw, std::ptr::null(), &mut raw) })?;
        born();
        Ok(Graph { raw, flight: Arc::default(), buffers: vec![], layers: vec![], latest: 0 })
    }
    /// A graph that is ready for replay: `record` gets an empty one and records into it.
    pub fn record(context: &Context, record: impl FnOnce(&mut Graph) -> Result<()>) -> Result<Self> {
        let mut graph = Self::new(context)?;
        record(&mut graph)?;
        graph.instantiate()?;
        Ok(graph)
    }
    /// The C handle, for [`sys`](crate::sys); it is good for as long as the graph is.
    pub fn as_raw(&self) -> sys::synfire_graph {
        self.raw
    }
    fn keep(&mut self, core: &Arc<BufferCore>) {
        if !self.buffers.iter().any(|kept| Arc::ptr_eq(kept, core)) {
            core.held.enter(&self.flight);
            self.buffers.push(core.clone())
        }
    }
    fn keep_layer(&mut self, layer: &Layer) {
        if !self.layers.iter().any(|kept| Arc::ptr_eq(kept, &layer.core)) {
            layer.core.held.enter(&self.flight);
            self.layers.push(layer.core.clone())
        }
    }
    /// Appends a forward.
    pub fn forward(&mut self, layer: &Layer, forward: Forward<'_>) -> Result<()> {
        // SAFETY: live handles; the library checks that they fit.
        layer.core.held.during(|| {
            check(unsafe { sys::synfire_graph_record_forward(self.raw, layer.core.raw, &forward.desc()) })
        })?;
        self.keep_layer(layer);
        forward.each(|core| self.keep(core));
        Ok(())
    }
    /// Appends a backward of the layer's latest forward.
    pub fn backward(&mut self, layer: &Layer, backward: &Backward<'_>) -> Result<()> {
        let parameters = backward.parameters()?;
        // SAFETY: as above; names and descriptions live for the call.
        layer.core.held.during(|| {
            check(unsafe {
                sys::synfire_graph_record_backward(self.raw, layer.core.raw, &backward.desc(&parameters.1))
            })
        })?;
        self.keep_layer(layer);
        backward.each(|core| self.keep(core));
        Ok(())
    }
    /// Appends a copy of `bytes` bytes (0: all) from one offset in bytes to another.
    pub fn copy<S: Element, D: Element>(
        &mut self,
        source: &Buffer<S>,
        source_offset: u64,
        destination: &Buffer<D>,
        destination_offset: u64,
        bytes: u64,
    ) -> Result<()> {
        let desc = sys::synfire_copy_desc {
            struct_size: std::mem::size_of::<sys::synfire_copy_desc>() as u32,
            reserved: 0,
            source: source.core.raw,
            destination: destination.core.raw,
            source_offset,
            destination_offset,
            bytes,
        };
        // SAFETY: live handles.
        check(unsafe { sys::synfire_graph_record_copy(self.raw, &desc) })?;
        self.keep(&source.core);
        self.keep(&destination.core);
        Ok(())
    }
    /// Appends a conversion of spikes into the format of `destination`.
    pub fn convert_spikes<S: Element, D: Element>(
        &mut self,
        shape: SpikeShape,
        source: &Buffer<S>,
        destination: &Buffer<D>,
    ) -> Result<()> {
        let desc = shape.conversion(&source.core, &destination.core);
        // SAFETY: live handles.
        check(unsafe { sys::synfire_graph_record_convert_spikes(self.raw, &desc) })?;
        self.keep(&source.core);
        self.keep(&destination.core);
        Ok(())
    }
    /// Appends an exact count of spikes.
    pub fn count_spikes<S: Element, D: Element>(
        &mut self,
        kind: Count,
        shape: SpikeShape,
        spikes: &Buffer<S>,
        counts: &Buffer<D>,
    ) -> Result<()> {
        let desc = shape.count(kind, &spikes.core, &counts.core);
        // SAFETY: live handles.
        check(unsafe { sys::synfire_graph_record_count_spikes(self.raw, &desc) })?;
        self.keep(&spikes.core);
        self.keep(&counts.core);
        Ok(())
    }
    /// Prepares it for replay: everything slow happens here.
    pub fn instantiate(&mut self) -> Result<()> {
        // SAFETY: a live handle.
        check(unsafe { sys::synfire_graph_instantiate(self.raw) }).map(drop)
    }
    fn held(&self) -> impl Iterator<Item = &Held> {
        self.buffers.iter().map(|core| &core.held).chain(self.layers.iter().map(|core| &core.held))
    }
    /// Replays once, on the context's own stream, and answers the replay's ticket. Allocates nothing.
    #[inline]
    pub fn launch(&mut self) -> Result<u64> {
        // SAFETY: the context's own stream.
        unsafe { self.launch_on(std::ptr::null_mut()) }
    }
    /// Replays once on a stream of the caller's.
    ///
    /// # Safety
    ///
    /// `stream` is null or a live CUDA stream of the graph's device.
    #[inline]
    pub unsafe fn launch_on(&mut self, stream: Stream) -> Result<u64> {
        let fresh = !self.flight.load(Relaxed);
        if fresh {
            self.flight.swap(true, SeqCst);
            if let Some(error) = self.held().find_map(|one| one.fly(&self.flight).err()) {
                self.flight.store(false, Release);
                return Err(error);
            }
        }
        let mut ticket = 0;
        if let Err(error) = check(sys::synfire_graph_launch(self.raw, stream, &mut ticket)) {
            if fresh {
                self.flight.store(false, Release);
            }
            return Err(error);
        }
        self.latest = ticket;
        Ok(ticket)
    }
    #[inline]
    fn verdict(&self, ticket: u64, status: i32) -> Result<bool> {
        if check(status)? == sys::SYNFIRE_PENDING {
            return Ok(false);
        }
        // Nobody launches meanwhile: that takes &mut.
        if ticket == self.latest {
            self.flight.store(false, Release);
        }
        Ok(true)
    }
    /// Waits for a replay, for ever without a time-out; `false` when the time was up first.
    #[inline]
    pub fn wait(&self, ticket: u64, policy: Wait, timeout: Option<Duration>) -> Result<bool> {
        let nanoseconds = timeout.map_or(-1, |t| t.as_nanos().min(i64::MAX as u128) as i64);
        // SAFETY: a live handle.
        self.verdict(ticket, unsafe { sys::synfire_graph_wait(self.raw, ticket, policy.to_raw(), nanoseconds) })
    }
    /// Whether a replay is done. Never blocks.
    #[inline]
    pub fn poll(&self, ticket: u64) -> Result<bool> {
        // SAFETY: a live handle.
        self.verdict(ticket, unsafe { sys::synfire_graph_poll(self.raw, ticket) })
    }
    /// Closes it now, after a replay in flight; dropping does the same.
    pub fn close(self) {}
}

impl Drop for Graph {
    fn drop(&mut self) {
        // A replay in flight still uses what it holds, so it is waited for; what a lost device holds stays held.
        let lost = self.flight.load(Relaxed) && self.wait(self.latest, Wait::Yield, None).is_err();
        if !lost {
            self.held().for_each(|one| one.leave(&self.flight));
        }
        // SAFETY: our own handle, destroyed once.
        unsafe { sys::synfire_graph_destroy(self.raw) };
        gone();
    }
}
