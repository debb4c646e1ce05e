// slot.rs - memory of one replay of a graph with slots, which the host may touch while others are in flight.
use crate::buffer::{Buffer, Element};
use crate::error::{check, Result};
use crate::graph::Graph;
use std::fmt;
use std::ops::{Deref, DerefMut};
use synfire_sys as sys;

/// The copy of a pinned buffer that one replay reads and writes. The graph cannot be launched as long as it is there.
pub struct Slot<'a, T: Element> {
    buffer: &'a Buffer<T>,
    data: *mut T,
    len: usize,
    is_written: bool,
}
// SAFETY: a slice that is held for us alone.
unsafe impl<T: Element> Send for Slot<'_, T> {}
unsafe impl<T: Element> Sync for Slot<'_, T> {}

impl Graph {
    /// The memory of a pinned buffer that the next launch will use; `None` while the replay that has it is in flight.
    pub fn next_slot<'a, T: Element>(&'a self, buffer: &'a Buffer<T>) -> Result<Option<Slot<'a, T>>> {
        self.slot(0, buffer)
    }
    /// The memory of a pinned buffer that the replay of a ticket used: one of the last launches, as many as there are slots.
    /// `None` while it is in flight.
    pub fn slot<'a, T: Element>(&'a self, ticket: u64, buffer: &'a Buffer<T>) -> Result<Option<Slot<'a, T>>> {
        // Slots are memory of their own, but for one, which is the buffer's: so the buffer is held, beside our replays.
        buffer.core.held.write_beside(&self.flight)?;
        let mut slot = Slot { buffer, data: std::ptr::null_mut(), len: 0, is_written: false };
        let (mut data, mut bytes) = (std::ptr::null_mut(), 0);
        // SAFETY: live handles.
        check(unsafe { sys::synfire_graph_get_slot(self.as_raw(), ticket, buffer.core.raw, &mut data, &mut bytes) })?;
        if data.is_null() {
            return Ok(None);
        }
        slot.data = data.cast();
        slot.len = bytes as usize / std::mem::size_of::<T>();
        Ok(Some(slot))
    }
}

impl<T: Element> Deref for Slot<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: its replay is done, no launch can take it as long as the graph is borrowed, and the buffer is held.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}
impl<T: Element> DerefMut for Slot<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.is_written = true;
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.data, self.len) }
    }
}
impl<T: Element> Drop for Slot<'_, T> {
    fn drop(&mut self) {
        if self.is_written {
            // SAFETY: a live handle. A tape made from what was here before is stale now.
            unsafe { sys::synfire_buffer_mark_written(self.buffer.core.raw) };
        }
        self.buffer.core.held.end_write();
    }
}
impl<T: Element + fmt::Debug> fmt::Debug for Slot<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
