// held.rs - who holds a buffer or a layer: nobody, readers, one writer, or a graph whose replay is in flight. One atomic
// word each, so that a launch takes nothing more than a compare-exchange per resource.
use crate::error::{Error, Result, Status};
use std::sync::atomic::{AtomicI64, Ordering::*};

const WRITER: i64 = -1;

#[derive(Default)]
pub(crate) struct Held(AtomicI64);

#[cold]
fn busy(state: i64) -> Error {
    let by = match state {
        WRITER => "a mutable mapping or a call on another thread",
        s if s > 0 => "a mapping",
        _ => "a replay in flight: wait for it first",
    };
    Error::new(Status::Busy, "SYN-RUST-HELD", format!("the buffer or layer is held by {by}"))
}

impl Held {
    pub(crate) fn read(&self) -> Result<()> {
        self.0.fetch_update(Acquire, Relaxed, |s| (s >= 0).then(|| s + 1)).map(drop).map_err(busy)
    }
    pub(crate) fn end_read(&self) {
        self.0.fetch_sub(1, Release);
    }
    pub(crate) fn write(&self) -> Result<()> {
        self.graph(WRITER)
    }
    pub(crate) fn end_write(&self) {
        self.0.store(0, Release);
    }
    /// `id` < -1.
    #[inline]
    pub(crate) fn graph(&self, id: i64) -> Result<()> {
        self.0.compare_exchange(0, id, Acquire, Relaxed).map(drop).map_err(busy)
    }
    /// Holds for the length of a call, shared with nobody.
    pub(crate) fn during<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        self.write()?;
        let answer = call();
        self.end_write();
        answer
    }
}
