// graph.rs - graphs: recorded, instantiated, replayed, changed between replays.
use crate::buffer::{Buffer, Core as BufferCore, Element};
use crate::context::{born, gone, Context};
use crate::error::{check, Error, Result, Status};
use crate::held::{hold_all, Flight, Held, Left, Object, PartOf, TapeId, TapeInput, IDLE, IN_FLIGHT, LAUNCHING};
use crate::layer::{Core as LayerCore, Layer};
use crate::native::{self, Native, NativeCall, Node};
use crate::operations::{Backward, CopyBuffer, Forward};
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

/// An operation of a graph, for what is changed between replays. Pictures and texts call it by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Operation(pub(crate) i32);
impl Operation {
    /// Its number: 0 is what was recorded first.
    pub fn number(self) -> i32 {
        self.0
    }
}

/// Options for a graph. By default it uses the buffers' own memory: with pinned buffers, one replay can be in flight.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct GraphBuilder(sys::synfire_graph_desc);
impl GraphBuilder {
    /// Copies of the pinned buffers that it reads and writes, up to 64: that many replays can be in flight, each with
    /// frames of its own ([`Graph::slot`]), and one more launch is refused ([`Status::Busy`](crate::Status::Busy)).
    pub fn slots(mut self, n_slots: u32) -> Self {
        self.0.n_slots = n_slots;
        self
    }
    /// One copy, the buffers' own memory, for any number of replays in flight: each overwrites what the one before wrote.
    pub fn shared_slot(self) -> Self {
        self.slots(sys::SYNFIRE_SLOTS_SHARED as u32)
    }
    /// An empty graph.
    pub fn create(self, context: &Context) -> Result<Graph> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: a live handle.
        check(unsafe { sys::synfire_graph_create(context.raw, &self.0, &mut raw) })?;
        Ok(Graph::over(raw, context.on_host))
    }
    /// A graph that is ready for replay: `record` gets an empty one and records into it.
    pub fn record<T>(self, context: &Context, record: impl FnOnce(&mut Graph) -> Result<T>) -> Result<Graph> {
        let mut graph = self.create(context)?;
        record(&mut graph)?;
        graph.instantiate()?;
        Ok(graph)
    }
}

/// Counts and times of a graph since it was created, or since [`Graph::reset_statistics`]. Times are from the call of
/// a launch to the first wait or poll that saw the replay done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Launches that gave a ticket.
    pub n_replays: u64,
    /// Waits that were late: the time was up first, and it was more than none.
    pub n_late_waits: u64,
    /// Replays whose times are in the percentiles: those waited for in order.
    pub n_seen: u64,
    /// Half of the replays took at most this long.
    pub p50: Duration,
    /// 99 % of the replays.
    pub p99: Duration,
    /// 99.9 % of the replays.
    pub p999: Duration,
    /// The longest, exact.
    pub max: Duration,
}

// A forward of the graph, and what it leaves to its backward.
struct RecordedForward {
    operation: i32,
    layer: Arc<LayerCore>,
    left: Option<Left>,
    tape: Arc<TapeInput>,
    enabled: bool,
    last: bool, // of those of its layer that are enabled
}
impl RecordedForward {
    // It ran in a replay that was launched.
    #[inline]
    fn ran(&self) {
        if !self.enabled {
            return;
        }
        if self.left.is_some() {
            self.tape.set(self.left.as_ref());
        }
        if self.last {
            self.layer.tapes.ran(self.left.as_ref().map(|_| &self.tape));
        }
    }
}

// Objects that a graph uses and another object gave: all parts of that object.
struct Whole(Held);
impl Object for Whole {
    fn held(&self) -> &Held {
        &self.0
    }
}

// A backward whose forward is not in the graph: it uses a tape that was there before.
struct OutsideBackward {
    tape: Arc<TapeInput>,
    more: bool,    // it needs more than H
    known: TapeId, // the tape that the graph keeps already
}

/// An ordered list of operations, recorded once, replayed many times.
pub struct Graph {
    raw: sys::synfire_graph,
    pub(crate) flight: Arc<Flight>,
    buffers: Vec<Arc<BufferCore>>,
    objects: Vec<Arc<dyn Object>>, // layers, and those of objects.rs
    forwards: Vec<RecordedForward>,
    outside: Vec<OutsideBackward>,
    nodes: Vec<*mut Node>, // from Box::into_raw: the library holds the same pointers
    latest: u64,
    on_host: bool,
    is_part: bool, // of another object, which replays it too
}
// SAFETY: recording and launching take &mut, as does what runs native nodes; waiting is legal on any thread.
unsafe impl Send for Graph {}
unsafe impl Sync for Graph {}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph over {} objects and {} buffers", self.objects.len(), self.buffers.len())
    }
}
impl Graph {
    /// Options, to be set before the graph is created.
    pub fn builder() -> GraphBuilder {
        let struct_size = std::mem::size_of::<sys::synfire_graph_desc>() as u32;
        GraphBuilder(sys::synfire_graph_desc { struct_size, n_slots: 0 })
    }
    /// An empty graph.
    pub fn new(context: &Context) -> Result<Self> {
        Self::builder().create(context)
    }
    // Takes over a handle that another object gave, whose parts it uses.
    pub(crate) fn from_part(raw: sys::synfire_graph, of: PartOf<'_>) -> Result<Self> {
        let mut graph = Graph::over(raw, of.on_host);
        graph.keep_object(Arc::new(Whole(of.held.clone())));
        graph.is_part = true;
        Ok(graph)
    }
    fn over(raw: sys::synfire_graph, on_host: bool) -> Self {
        born();
        Graph {
            raw,
            flight: Arc::default(),
            buffers: vec![],
            objects: vec![],
            forwards: vec![],
            outside: vec![],
            nodes: vec![],
            latest: 0,
            on_host,
            is_part: false,
        }
    }
    /// A graph that is ready for replay: `record` gets an empty one and records into it.
    pub fn record<T>(context: &Context, record: impl FnOnce(&mut Graph) -> Result<T>) -> Result<Self> {
        Self::builder().record(context, record)
    }
    /// The C handle, for [`sys`](crate::sys); it is good for as long as the graph is.
    pub fn as_raw(&self) -> sys::synfire_graph {
        self.raw
    }
    pub(crate) fn keep(&mut self, core: &Arc<BufferCore>) {
        if !self.buffers.iter().any(|kept| Arc::ptr_eq(kept, core)) {
            core.held.enter(&self.flight);
            self.buffers.push(core.clone())
        }
    }
    pub(crate) fn keep_layer(&mut self, layer: &Layer) {
        self.keep_object(layer.core.clone());
    }
    /// Keeps an object, and what it was created with.
    pub(crate) fn keep_object(&mut self, core: Arc<dyn Object>) {
        if !self.objects.iter().any(|kept| std::ptr::eq(kept.held(), core.held())) {
            core.held().enter(&self.flight);
            core.buffers().iter().for_each(|buffer| self.keep(buffer));
            core.objects().iter().for_each(|object| self.keep_object(object.clone()));
            self.objects.push(core)
        }
    }
    // The operation that was appended just now.
    pub(crate) fn appended(&self) -> Result<Operation> {
        let mut operation = 0;
        // SAFETY: a live handle.
        check(unsafe { sys::synfire_graph_get_last_operation(self.raw, &mut operation) })?;
        Ok(Operation(operation))
    }
    /// Appends a forward.
    pub fn forward(&mut self, layer: &Layer, forward: Forward<'_>) -> Result<Operation> {
        let (_init_names, init) = forward.state_init_list()?;
        let (_final_names, last) = forward.state_final_list()?;
        let (_seq_names, seq) = forward.state_seq_list()?;
        let desc = forward.desc(&init, &last, &seq);
        // SAFETY: live handles; the library checks that they fit. Names and lists live for the call.
        let mut held = forward.held();
        held.push(&layer.core.held);
        hold_all(held)
            .and_then(|_held| check(unsafe { sys::synfire_graph_record_forward(self.raw, layer.core.raw, &desc) }))?;
        self.keep_layer(layer);
        for synapse in forward.synapses() {
            self.keep_object(synapse.core.clone());
        }
        forward.buffers().for_each(|core| self.keep(core));
        let operation = self.appended()?;
        self.forwards.push(RecordedForward {
            operation: operation.0,
            layer: layer.core.clone(),
            left: forward.left(),
            tape: Arc::default(),
            enabled: true,
            last: true,
        });
        if let Some(recorded) = self.forwards.last().filter(|recorded| recorded.left.is_some()) {
            layer.core.tapes.latest.set(Some(&recorded.tape));
        }
        self.find_last_forwards();
        Ok(operation)
    }
    fn find_last_forwards(&mut self) {
        for i in 0..self.forwards.len() {
            let (before, after) = self.forwards.split_at_mut(i + 1);
            let one = &mut before[i];
            one.last = one.enabled && !after.iter().any(|later| later.enabled && Arc::ptr_eq(&later.layer, &one.layer));
        }
    }
    /// Appends a backward of a forward of the layer: the one that [`Backward::of`] names, else the newest in this graph, else
    /// the one that was recorded or run last.
    pub fn backward(&mut self, layer: &Layer, backward: &Backward<'_>) -> Result<Operation> {
        let (_names, gradients) = backward.parameter_gradients_list()?;
        let (_seq_names, seq) = backward.grad_state_seq_list()?;
        let (_final_names, last) = backward.grad_state_final_list()?;
        let (_init_names, init) = backward.grad_state_init_list()?;
        let desc = backward.desc(&gradients, &seq, &last, &init);
        // SAFETY: as above; names and descriptions live for the call.
        layer
            .core
            .held
            .during(|| check(unsafe { sys::synfire_graph_record_backward(self.raw, layer.core.raw, &desc) }))?;
        self.keep_layer(layer);
        backward.buffers().for_each(|core| self.keep(core));
        if !self.forwards.iter().any(|forward| Arc::ptr_eq(&forward.layer, &layer.core)) {
            let more = backward.needs_more_than_h() || layer.core.slope_reads_x;
            let tape = layer.core.tapes.latest.get().unwrap_or_default();
            self.outside.push(OutsideBackward { tape, more, known: TapeId::default() });
        }
        self.appended()
    }
    /// Appends a copy of `bytes` bytes (0: all) from one offset in bytes to another.
    pub fn copy<S: Element, D: Element>(
        &mut self,
        source: &Buffer<S>,
        source_offset: u64,
        destination: &Buffer<D>,
        destination_offset: u64,
        bytes: u64,
    ) -> Result<Operation> {
        CopyBuffer::new(source, destination)
            .source_offset(source_offset)
            .destination_offset(destination_offset)
            .bytes(bytes)
            .record(self)
    }
    /// Appends a native node: a function of the program's own between two operations.
    ///
    /// On the host it runs with each launch, on the launching thread. On a GPU it is called when the graph is instantiated,
    /// once for each slot, and enqueues kernels on a stream that is being captured ([`NativeCall::stream`]). An error that
    /// it returns is part of the text of that call's error, which is of [`Status::Callback`](crate::Status::Callback); a
    /// panic goes on from that call.
    pub fn native<F>(&mut self, native: Native<'_>, function: F) -> Result<Operation>
    where
        F: FnMut(&mut NativeCall<'_>) -> native::Outcome + Send + 'static,
    {
        let node = Box::into_raw(native.node(self.on_host, function)?);
        // The graph frees it, whether it was recorded or not.
        self.nodes.push(node);
        native.with_desc(node, |desc| {
            // SAFETY: live handles; the node lives as long as the graph.
            check(unsafe { sys::synfire_graph_record_native(self.raw, desc) })
        })?;
        native.each(|core| self.keep(core));
        self.appended()
    }
    /// Prepares it for replay: everything slow happens here.
    pub fn instantiate(&mut self) -> Result<()> {
        // SAFETY: a live handle.
        let status = unsafe { sys::synfire_graph_instantiate(self.raw) };
        self.checked(status).map(drop)
    }
    // Returns the native node's own error, or continues its panic here.
    #[inline]
    pub(crate) fn checked(&self, status: i32) -> Result<i32> {
        check(status).map_err(|error| self.explained(error))
    }
    #[cold]
    fn explained(&self, mut error: Error) -> Error {
        for node in &self.nodes {
            // SAFETY: ours, and no call is running that could use it.
            if let Some(failure) = unsafe { &mut **node }.take_failure() {
                error.text = format!("{}: {failure}", error.text);
            }
        }
        error
    }
    /// Lets an operation run in later replays, or leaves it out. All changes since the last launch take effect together with
    /// the next one.
    pub fn set_enabled(&mut self, operation: Operation, enabled: bool) -> Result<()> {
        // SAFETY: a live handle.
        check(unsafe { sys::synfire_graph_set_enabled(self.raw, operation.0, enabled.into()) })?;
        if let Some(forward) = self.forwards.iter_mut().find(|forward| forward.operation == operation.0) {
            forward.enabled = enabled;
            self.find_last_forwards();
        }
        Ok(())
    }
    /// Replaces a buffer by another one of the same type, size and kind, in all operations. Slow: replays in flight
    /// are waited for, and on a GPU the graph is captured again. The graphs of a network stay with its buffers.
    pub fn rebind<T: Element>(&mut self, old: &Buffer<T>, new: &Buffer<T>) -> Result<()> {
        if self.is_part {
            // The network would use memory that it does not hold.
            let text = "a network's graph uses the network's buffers; allowed: graphs of the program's own";
            return Err(Error::new(Status::InvalidArgument, "SYN-RUST-PART", text));
        }
        // SAFETY: live handles.
        let status =
            new.core.held.during(|| Ok(unsafe { sys::synfire_graph_rebind(self.raw, old.core.raw, new.core.raw) }))?;
        self.checked(status)?;
        self.flight.store(IDLE, Release);
        // Buffers that an object was created with stay.
        let same = |core: &Arc<BufferCore>| Arc::ptr_eq(core, &old.core);
        let is_needed = self.objects.iter().any(|object| object.buffers().iter().any(same));
        if let Some(at) = self.buffers.iter().position(same).filter(|_| !is_needed) {
            self.buffers.swap_remove(at).held.leave(&self.flight);
        }
        self.keep(&new.core);
        for left in self.forwards.iter_mut().filter_map(|forward| forward.left.as_mut()) {
            let inputs = std::iter::once(&mut left.input).chain(left.n_active.as_mut());
            inputs.filter(|core| same(core)).for_each(|core| *core = new.core.clone());
        }
        self.outside.iter_mut().for_each(|backward| backward.known = TapeId::default());
        Ok(())
    }
    /// The graph as text in the DOT language of Graphviz: operations, and what hands what to which.
    pub fn to_dot(&self) -> Result<String> {
        let mut bytes = 0;
        // SAFETY: null asks for the size; then the text has this many bytes.
        unsafe {
            check(sys::synfire_graph_write_dot(self.raw, std::ptr::null_mut(), &mut bytes))?;
            let mut text = vec![0u8; bytes as usize];
            check(sys::synfire_graph_write_dot(self.raw, text.as_mut_ptr().cast(), &mut bytes))?;
            text.truncate((bytes as usize).saturating_sub(1));
            Ok(String::from_utf8_lossy(&text).into_owned())
        }
    }
    /// How many replays there were, how late and how long.
    pub fn statistics(&self) -> Result<Statistics> {
        // SAFETY: zeros plus the size is how C initialises it.
        let mut s: sys::synfire_graph_statistics = unsafe { std::mem::zeroed() };
        s.struct_size = std::mem::size_of_val(&s) as u32;
        // SAFETY: a live handle.
        check(unsafe { sys::synfire_graph_get_statistics(self.raw, &mut s) })?;
        Ok(Statistics {
            n_replays: s.n_replays,
            n_late_waits: s.n_late_waits,
            n_seen: s.n_seen,
            p50: Duration::from_nanos(s.p50_ns),
            p99: Duration::from_nanos(s.p99_ns),
            p999: Duration::from_nanos(s.p999_ns),
            max: Duration::from_nanos(s.max_ns),
        })
    }
    /// Resets what [`Graph::statistics`] returns.
    pub fn reset_statistics(&self) -> Result<()> {
        // SAFETY: a live handle.
        check(unsafe { sys::synfire_graph_reset_statistics(self.raw) }).map(drop)
    }
    fn held(&self) -> impl Iterator<Item = &Held> {
        self.buffers.iter().map(|core| &core.held).chain(self.objects.iter().map(|core| core.held()))
    }
    /// Replays once, on the context's own stream, and returns the replay's ticket. Allocates nothing.
    #[inline]
    pub fn launch(&mut self) -> Result<u64> {
        // SAFETY: the context's own stream.
        unsafe { self.launch_on(std::ptr::null_mut()) }
    }
    /// Replays once on a stream of the caller's. On a stream that the caller captures it becomes part of that capture
    /// instead, and the result is 0, which is not a ticket.
    ///
    /// # Safety
    ///
    /// `stream` is null or a live CUDA stream of the graph's device. What a capture holds of the graph is run only while the
    /// graph lives, and while nothing else uses its buffers and layers.
    #[inline]
    pub unsafe fn launch_on(&mut self, stream: Stream) -> Result<u64> {
        let before = self.flight.swap(LAUNCHING, SeqCst);
        let n_kept = (self.buffers.len(), self.objects.len());
        // Objects may be set between launches; buffers are safe as long as a replay is in flight.
        let mut refused = self.objects.iter().find_map(|core| core.held().fly(&self.flight).err());
        if refused.is_none() {
            // From here on nobody changes the tapes of the layers.
            self.keep_tapes();
            let checked = if before == IDLE { 0 } else { n_kept.0 };
            let buffers = self.buffers[checked..].iter().map(|core| &core.held);
            let objects = self.objects[n_kept.1..].iter().map(|core| core.held());
            refused = buffers.chain(objects).find_map(|held| held.fly(&self.flight).err());
        }
        if let Some(error) = refused {
            self.forget_tapes(n_kept);
            self.flight.store(before, Release);
            return Err(error);
        }
        let mut ticket = 0;
        let status = sys::synfire_graph_launch(self.raw, stream, &mut ticket);
        if status >= 0 {
            self.forwards.iter().for_each(RecordedForward::ran);
        }
        if status < 0 || ticket == 0 {
            if status < 0 {
                self.forget_tapes(n_kept);
            }
            self.flight.store(before, Release);
            self.checked(status)?;
            return Ok(0);
        }
        self.flight.store(IN_FLIGHT, Release);
        self.latest = ticket;
        Ok(ticket)
    }
    // From now on, this graph uses the parts of older tapes that its backwards will use.
    #[inline]
    fn keep_tapes(&mut self) {
        for i in 0..self.outside.len() {
            if self.outside[i].known.0 == 0 || self.outside[i].known != self.outside[i].tape.id() {
                self.keep_tape(i);
            }
        }
    }
    #[cold]
    fn keep_tape(&mut self, i: usize) {
        let OutsideBackward { tape, more, .. } = &self.outside[i];
        let (id, used) = (tape.id(), tape.used_by(*more));
        // Known is what the graph keeps: an address that is kept is of one buffer or synapse alone.
        let is_whole = used.input.is_some()
            && used.synapse.is_some() == (id.1 != 0)
            && used.n_active.is_some() == (id.2 != 0)
            && used.recurrent.is_some() == (id.3 != 0);
        self.outside[i].known = if is_whole { id } else { TapeId::default() };
        used.buffers().for_each(|core| self.keep(core));
        for synapse in [used.synapse, used.recurrent].into_iter().flatten() {
            self.keep_object(synapse);
        }
    }
    // A launch that was refused uses none that was not kept before.
    #[cold]
    fn forget_tapes(&mut self, (n_buffers, n_objects): (usize, usize)) {
        self.buffers.drain(n_buffers..).for_each(|core| core.held.leave(&self.flight));
        self.objects.drain(n_objects..).for_each(|core| core.held().leave(&self.flight));
        self.outside.iter_mut().for_each(|backward| backward.known = TapeId::default());
    }
    #[inline]
    fn verdict(&self, ticket: u64, status: i32) -> Result<bool> {
        if check(status)? == sys::SYNFIRE_PENDING {
            return Ok(false);
        }
        // Nobody launches meanwhile: that takes &mut.
        if ticket == self.latest {
            self.flight.store(IDLE, Release);
        }
        Ok(true)
    }
    /// Waits for a replay; without a timeout, until it is done. Returns `false` if the timeout passed first.
    #[inline]
    pub fn wait(&self, ticket: u64, policy: Wait, timeout: Option<Duration>) -> Result<bool> {
        let nanoseconds = timeout.map_or(-1, |t| t.as_nanos().min(i64::MAX as u128) as i64);
        // SAFETY: a live handle.
        self.verdict(ticket, unsafe { sys::synfire_graph_wait(self.raw, ticket, policy.to_raw(), nanoseconds) })
    }
    /// Returns true if a replay is done. Never blocks.
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
        let lost = self.flight.load(Relaxed) != IDLE && self.wait(self.latest, Wait::Yield, None).is_err();
        if !lost {
            self.held().for_each(|one| one.leave(&self.flight));
        }
        // SAFETY: our own handle, destroyed once.
        unsafe { sys::synfire_graph_destroy(self.raw) };
        for node in self.nodes.drain(..) {
            // SAFETY: ours; the library calls it within calls on this graph only, and there are no more.
            drop(unsafe { Box::from_raw(node) });
        }
        gone();
    }
}
