// held.rs - who uses a buffer or a layer: nobody, readers, one writer, or graphs whose replays are in flight; and what a
// backward uses that no call names, the X of the tape, or the synapse that made it and its inputs.
//
// A launch costs one atomic exchange, of the graph's own flag, and two loads for each buffer and layer: it raises its
// flag, then looks for mappings; a mapping registers itself, then looks for raised flags. Whoever comes second sees the
// other, because both sides are sequentially consistent, and both may see each other: then both are refused.
//
// Parameters are set between launches, also while replays are in flight: what sets them looks for a launch call only.
use crate::buffer::Core as BufferCore;
use crate::context::ContextHandle;
use crate::error::{Error, Result, Status};
use crate::objects::all_held;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

const WRITER: i64 = -1;

/// Objects that graphs keep beside buffers: layers, and those of objects.rs.
pub(crate) trait Object: Send + Sync {
    fn held(&self) -> &Held;
    /// The buffers that it was created with.
    fn buffers(&self) -> &[Arc<BufferCore>] {
        &[]
    }
    /// The objects that it was created with.
    fn objects(&self) -> &[Arc<dyn Object>] {
        &[]
    }
}

/// The state of a graph.
pub(crate) type Flight = AtomicU8;
pub(crate) const IDLE: u8 = 0;
pub(crate) const IN_FLIGHT: u8 = 1;
pub(crate) const LAUNCHING: u8 = 2;

/// The inputs that a forward leaves to its backward.
pub(crate) struct Left {
    /// X, or what the synapse in its place reads.
    pub(crate) input: Arc<BufferCore>,
    /// True if every backward may read it again, false if only those that need more than H may.
    pub(crate) always: bool,
    /// The synapse, how many rows count in it, and a recurrent synapse that is another one; every backward uses all.
    pub(crate) synapse: Option<Arc<dyn Object>>,
    pub(crate) n_active: Option<Arc<BufferCore>>,
    pub(crate) recurrent: Option<Arc<dyn Object>>,
}

/// The parts of a tape that a backward uses.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) input: Option<Arc<BufferCore>>,
    pub(crate) synapse: Option<Arc<dyn Object>>,
    pub(crate) n_active: Option<Arc<BufferCore>>,
    pub(crate) recurrent: Option<Arc<dyn Object>>,
}
impl Used {
    /// The buffers among it.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = &Arc<BufferCore>> {
        self.input.iter().chain(&self.n_active)
    }
    /// Returns all that a call holds while it uses them.
    pub(crate) fn held(&self) -> Vec<&Held> {
        let mut held = Vec::new();
        for synapse in self.synapse.iter().chain(&self.recurrent) {
            held.extend(all_held(&**synapse));
        }
        held.extend(self.buffers().map(|core| &core.held));
        held
    }
}

/// The addresses of the input, plus one when every backward may read it, of the synapse, of its n_active and of the
/// recurrent synapse; 0 without.
pub(crate) type TapeId = (usize, usize, usize, usize);

/// The inputs of a tape, as its forward left them. The C library keeps it; this says whose mapping or call a backward would
/// meet, so what is dropped, and cannot be mapped or called, is forgotten. Set and read while the layer is held, or by the
/// launch that uses it.
#[derive(Default)]
pub(crate) struct TapeInput {
    id: (AtomicUsize, AtomicUsize, AtomicUsize, AtomicUsize), // addresses are of one alone, as `left` keeps them
    left: Mutex<Kept>,
}
#[derive(Default)]
struct Kept {
    input: Weak<BufferCore>,
    synapse: Option<Weak<dyn Object>>,
    n_active: Weak<BufferCore>,
    recurrent: Option<Weak<dyn Object>>,
}

impl TapeInput {
    /// The id of such a tape; none for inference.
    pub(crate) fn id_of(left: Option<&Left>) -> TapeId {
        let object =
            |one: &Option<Arc<dyn Object>>| one.as_ref().map_or(0, |one| Arc::as_ptr(one) as *const () as usize);
        left.map_or((0, 0, 0, 0), |left| {
            let n_active = left.n_active.as_ref().map_or(0, |core| Arc::as_ptr(core) as usize);
            let input = Arc::as_ptr(&left.input) as usize | usize::from(left.always);
            (input, object(&left.synapse), n_active, object(&left.recurrent))
        })
    }
    #[inline]
    pub(crate) fn id(&self) -> TapeId {
        (self.id.0.load(Relaxed), self.id.1.load(Relaxed), self.id.2.load(Relaxed), self.id.3.load(Relaxed))
    }
    #[inline]
    pub(crate) fn set(&self, left: Option<&Left>) {
        if self.id() != Self::id_of(left) {
            self.replace(left)
        }
    }
    #[cold]
    fn replace(&self, left: Option<&Left>) {
        let mut own = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        own.input = left.map_or_else(Weak::new, |left| Arc::downgrade(&left.input));
        own.synapse = left.and_then(|left| left.synapse.as_ref()).map(Arc::downgrade);
        own.n_active = left.and_then(|left| left.n_active.as_ref()).map_or_else(Weak::new, Arc::downgrade);
        own.recurrent = left.and_then(|left| left.recurrent.as_ref()).map(Arc::downgrade);
        let (input, synapse, n_active, recurrent) = Self::id_of(left);
        self.id.0.store(input, Relaxed);
        self.id.1.store(synapse, Relaxed);
        self.id.2.store(n_active, Relaxed);
        self.id.3.store(recurrent, Relaxed);
    }
    /// Returns the parts that a backward uses; `more` if it needs more than H.
    pub(crate) fn used_by(&self, more: bool) -> Used {
        let (input, synapse, _, recurrent) = self.id();
        let reads = more || input & 1 == 1;
        if !reads && synapse == 0 && recurrent == 0 {
            return Used::default();
        }
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        Used {
            input: left.input.upgrade().filter(|_| reads),
            synapse: left.synapse.as_ref().and_then(Weak::upgrade),
            n_active: left.n_active.upgrade(),
            recurrent: left.recurrent.as_ref().and_then(Weak::upgrade),
        }
    }
}

/// Which tape of a layer: that of the forward that ran last, or of the one that was recorded or run last.
#[derive(Default)]
pub(crate) struct ChosenTape {
    id: AtomicUsize, // the address of the tape, which is kept; 0 without
    tape: Mutex<Option<Arc<TapeInput>>>,
}

impl ChosenTape {
    #[inline]
    pub(crate) fn set(&self, tape: Option<&Arc<TapeInput>>) {
        if self.id.load(Relaxed) != tape.map_or(0, |tape| Arc::as_ptr(tape) as usize) {
            self.replace(tape)
        }
    }
    #[cold]
    fn replace(&self, tape: Option<&Arc<TapeInput>>) {
        *self.tape.lock().unwrap_or_else(PoisonError::into_inner) = tape.cloned();
        self.id.store(tape.map_or(0, |tape| Arc::as_ptr(tape) as usize), Relaxed);
    }
    pub(crate) fn get(&self) -> Option<Arc<TapeInput>> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The tapes of a layer.
#[derive(Default)]
pub(crate) struct Tapes {
    /// The tape of eager forwards.
    pub(crate) eager: Arc<TapeInput>,
    /// The tape of the forward that ran last; none after inference.
    pub(crate) left: ChosenTape,
    /// The tape of the taped forward that was recorded or run last.
    pub(crate) latest: ChosenTape,
}

impl Tapes {
    /// A forward ran that leaves this tape, or none.
    #[inline]
    pub(crate) fn ran(&self, tape: Option<&Arc<TapeInput>>) {
        self.left.set(tape);
        if tape.is_some() {
            self.latest.set(tape);
        }
    }
}

/// Cloned for the parts of one object, which are held together: a call of the object uses all of them.
#[derive(Clone, Default)]
pub(crate) struct Held(Arc<State>);

/// Passed by an object to each object that it gives: how it is held, and its context.
#[derive(Clone, Copy)]
pub(crate) struct PartOf<'a> {
    pub(crate) held: &'a Held,
    pub(crate) context: &'a Arc<ContextHandle>,
    pub(crate) on_host: bool,
}

#[derive(Default)]
struct State {
    mappings: AtomicI64, // how many read, or WRITER
    n_graphs: AtomicUsize,
    graphs: Mutex<Vec<Arc<Flight>>>, // those that recorded it
}

#[cold]
fn busy(mappings: i64) -> Error {
    let by = match mappings {
        WRITER => "a mutable mapping or a call on another thread",
        0 => "a replay in flight: wait for it first",
        _ => "a mapping",
    };
    Error::new(Status::Busy, "SYN-RUST-HELD", format!("the buffer or layer is held by {by}"))
}

impl Held {
    fn graphs(&self) -> MutexGuard<'_, Vec<Arc<Flight>>> {
        self.0.graphs.lock().unwrap_or_else(PoisonError::into_inner)
    }
    // True if the state of a graph, except for one, is at least this.
    fn is_used(&self, but: Option<&Arc<Flight>>, least: u8) -> bool {
        let other = |graph: &Arc<Flight>| but.map_or(true, |own| !Arc::ptr_eq(own, graph));
        self.0.n_graphs.load(SeqCst) > 0
            && self.graphs().iter().any(|graph| other(graph) && graph.load(SeqCst) >= least)
    }
    fn write_unless(&self, but: Option<&Arc<Flight>>, least: u8) -> Result<()> {
        self.0.mappings.compare_exchange(0, WRITER, SeqCst, SeqCst).map_err(busy)?;
        if self.is_used(but, least) {
            self.end_write();
            return Err(busy(0));
        }
        Ok(())
    }
    pub(crate) fn read(&self) -> Result<()> {
        self.0.mappings.fetch_update(SeqCst, SeqCst, |n| (n >= 0).then(|| n + 1)).map_err(busy)?;
        if self.is_used(None, IN_FLIGHT) {
            self.end_read();
            return Err(busy(0));
        }
        Ok(())
    }
    pub(crate) fn end_read(&self) {
        self.0.mappings.fetch_sub(1, Release);
    }
    pub(crate) fn write(&self) -> Result<()> {
        self.write_unless(None, IN_FLIGHT)
    }
    /// As `write`, beside replays of one graph, which use other memory.
    pub(crate) fn write_beside(&self, graph: &Arc<Flight>) -> Result<()> {
        self.write_unless(Some(graph), IN_FLIGHT)
    }
    pub(crate) fn end_write(&self) {
        self.0.mappings.store(0, Release);
    }
    /// Holds for the length of a call, shared with nobody.
    pub(crate) fn during<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let _held = hold_all([self])?;
        call()
    }
    /// Holds for the length of a call that may come while replays are in flight, but not while one is launched.
    pub(crate) fn between_launches<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        self.write_unless(None, LAUNCHING)?;
        let answer = call();
        self.end_write();
        answer
    }
    /// A graph has recorded it.
    pub(crate) fn enter(&self, graph: &Arc<Flight>) {
        self.graphs().push(graph.clone());
        self.0.n_graphs.fetch_add(1, SeqCst);
    }
    /// The graph is gone.
    pub(crate) fn leave(&self, graph: &Arc<Flight>) {
        let mut graphs = self.graphs();
        // Once for each part that it recorded.
        if let Some(at) = graphs.iter().position(|one| Arc::ptr_eq(one, graph)) {
            graphs.swap_remove(at);
        }
        self.0.n_graphs.fetch_sub(1, SeqCst);
    }
    /// Fails unless a graph that has raised its flag may go on.
    #[inline]
    pub(crate) fn fly(&self, graph: &Arc<Flight>) -> Result<()> {
        let mappings = self.0.mappings.load(SeqCst);
        if mappings != 0 || (self.0.n_graphs.load(SeqCst) > 1 && self.is_used(Some(graph), IN_FLIGHT)) {
            return Err(busy(mappings));
        }
        Ok(())
    }
}

/// Holds several for as long as the guard lives, shared with nobody; one that occurs twice is held once.
pub(crate) struct HoldAll<'a, H: AsRef<[&'a Held]>>(H, usize, std::marker::PhantomData<&'a Held>);
pub(crate) fn hold_all<'a, H: AsRef<[&'a Held]>>(all: H) -> Result<HoldAll<'a, H>> {
    let mut held = HoldAll(all, 0, std::marker::PhantomData);
    while let Some(one) = held.0.as_ref().get(held.1) {
        if !held.0.as_ref()[..held.1].iter().any(|before| Arc::ptr_eq(&before.0, &one.0)) {
            one.write()?;
        }
        held.1 += 1;
    }
    Ok(held)
}
impl<'a, H: AsRef<[&'a Held]>> Drop for HoldAll<'a, H> {
    fn drop(&mut self) {
        self.0.as_ref()[..self.1].iter().for_each(|one| one.end_write());
    }
}
