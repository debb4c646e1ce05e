// held.rs - who uses a buffer or a layer: nobody, readers, one writer, or graphs whose replays are in flight.
//
// A launch costs one atomic exchange, of the graph's own flag, and two loads for each buffer and layer: it raises its
// flag, then looks for mappings; a mapping registers itself, then looks for raised flags. Whoever comes second sees the
// other, because both sides are sequentially consistent, and both may see each other: then both are refused.
//
// Parameters are set between launches, also while replays are in flight: what sets them looks for a launch call only.
use crate::error::{Error, Result, Status};
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const WRITER: i64 = -1;

/// What a graph is doing.
pub(crate) type Flight = AtomicU8;
pub(crate) const IDLE: u8 = 0;
pub(crate) const IN_FLIGHT: u8 = 1;
pub(crate) const LAUNCHING: u8 = 2;

#[derive(Default)]
pub(crate) struct Held {
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
        self.graphs.lock().unwrap_or_else(PoisonError::into_inner)
    }
    // Whether a graph, but for one, does at least so much.
    fn is_used(&self, but: Option<&Arc<Flight>>, least: u8) -> bool {
        let other = |graph: &Arc<Flight>| but.map_or(true, |own| !Arc::ptr_eq(own, graph));
        self.n_graphs.load(SeqCst) > 0 && self.graphs().iter().any(|graph| other(graph) && graph.load(SeqCst) >= least)
    }
    fn write_unless(&self, but: Option<&Arc<Flight>>, least: u8) -> Result<()> {
        self.mappings.compare_exchange(0, WRITER, SeqCst, SeqCst).map_err(busy)?;
        if self.is_used(but, least) {
            self.end_write();
            return Err(busy(0));
        }
        Ok(())
    }
    pub(crate) fn read(&self) -> Result<()> {
        self.mappings.fetch_update(SeqCst, SeqCst, |n| (n >= 0).then(|| n + 1)).map_err(busy)?;
        if self.is_used(None, IN_FLIGHT) {
            self.end_read();
            return Err(busy(0));
        }
        Ok(())
    }
    pub(crate) fn end_read(&self) {
        self.mappings.fetch_sub(1, Release);
    }
    pub(crate) fn write(&self) -> Result<()> {
        self.write_unless(None, IN_FLIGHT)
    }
    /// As `write`, beside replays of one graph, which use other memory.
    pub(crate) fn write_beside(&self, graph: &Arc<Flight>) -> Result<()> {
        self.write_unless(Some(graph), IN_FLIGHT)
    }
    pub(crate) fn end_write(&self) {
        self.mappings.store(0, Release);
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
        self.n_graphs.fetch_add(1, SeqCst);
    }
    /// The graph is gone.
    pub(crate) fn leave(&self, graph: &Arc<Flight>) {
        self.graphs().retain(|one| !Arc::ptr_eq(one, graph));
        self.n_graphs.fetch_sub(1, SeqCst);
    }
    /// Whether a graph that has raised its flag may go on.
    #[inline]
    pub(crate) fn fly(&self, graph: &Arc<Flight>) -> Result<()> {
        let mappings = self.mappings.load(SeqCst);
        if mappings != 0 || (self.n_graphs.load(SeqCst) > 1 && self.is_used(Some(graph), IN_FLIGHT)) {
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
        if !held.0.as_ref()[..held.1].iter().any(|before| std::ptr::eq(*before, *one)) {
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
