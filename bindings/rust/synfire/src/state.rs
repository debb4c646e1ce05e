// state.rs - rows of the state of a layer: reset, read, written, copied, kept and put back; now, or recorded.
use crate::buffer::{Buffer, Element};
use crate::error::{check, Error, Result, Status};
use crate::graph::{Graph, Operation, Stream};
use crate::layer::Layer;
use crate::operations::{CopyRows, ReadRows, ResetRows, Restore, Snapshot, WriteRows};
use std::ops::{Bound, RangeBounds};
use synfire_sys as sys;

// A range of batch rows as C says it: the first, and how many, 0 for all that follow.
fn range(rows: impl RangeBounds<i64>) -> Result<(i64, i64)> {
    let first = match rows.start_bound() {
        Bound::Unbounded => 0,
        Bound::Included(first) => *first,
        Bound::Excluded(before) => before.saturating_add(1),
    };
    let end = match rows.end_bound() {
        Bound::Unbounded => return Ok((first, 0)),
        Bound::Included(last) => last.saturating_add(1),
        Bound::Excluded(end) => *end,
    };
    if end <= first {
        let text = format!("the rows from {first} up to {end}; allowed: one row or more");
        return Err(Error::new(Status::InvalidArgument, "SYN-RUST-ROWS", text));
    }
    Ok((first, end.saturating_sub(first)))
}

// Batch rows for a call on memory of the host.
fn rows_desc(rows: impl RangeBounds<i64>) -> Result<sys::synfire_state_desc> {
    let (first_row, n_rows) = range(rows)?;
    // SAFETY: zero is the default of every field.
    let mut desc: sys::synfire_state_desc = unsafe { std::mem::zeroed() };
    desc.struct_size = std::mem::size_of_val(&desc) as u32;
    desc.first_row = first_row;
    desc.n_rows = n_rows;
    Ok(desc)
}

// The operations on a range of rows.
fn reset(rows: impl RangeBounds<i64>) -> Result<ResetRows<'static>> {
    let (first, count) = range(rows)?;
    Ok(ResetRows::new().first_row(first).n_rows(count))
}
fn read<'a, T: Element>(name: &'a str, rows: impl RangeBounds<i64>, to: &'a Buffer<T>) -> Result<ReadRows<'a>> {
    let (first, count) = range(rows)?;
    Ok(ReadRows::new(to).name(name).first_row(first).n_rows(count))
}
fn write<'a, T: Element>(name: &'a str, rows: impl RangeBounds<i64>, from: &'a Buffer<T>) -> Result<WriteRows<'a>> {
    let (first, count) = range(rows)?;
    Ok(WriteRows::new(from).name(name).first_row(first).n_rows(count))
}
fn copy(source: &Layer, rows: impl RangeBounds<i64>, to: i64) -> Result<CopyRows<'_>> {
    let (first, count) = range(rows)?;
    Ok(CopyRows::new(source).first_row(first).n_rows(count).destination_row(to))
}

impl Layer {
    /// Sets batch rows, such as `..` or `2..5`, back to their start, and waits for it.
    pub fn reset_rows(&self, rows: impl RangeBounds<i64>) -> Result<()> {
        reset(rows)?.run(self)
    }
    /// Sets those of the batch rows back to their start whose byte in `mask` `[B]` is not 0, and waits for it.
    pub fn reset_masked(&self, rows: impl RangeBounds<i64>, mask: &Buffer<u8>) -> Result<()> {
        reset(rows)?.buffer(mask).run(self)
    }
    /// Copies batch rows of the state `"v"` or `"w"` into a buffer `[rows, N]`, and waits for it.
    pub fn read_rows<T: Element>(&self, name: &str, rows: impl RangeBounds<i64>, to: &Buffer<T>) -> Result<()> {
        read(name, rows, to)?.run(self)
    }
    /// Copies a buffer `[rows, N]` into batch rows of the state `"v"` or `"w"`, and waits for it.
    pub fn write_rows<T: Element>(&self, name: &str, rows: impl RangeBounds<i64>, from: &Buffer<T>) -> Result<()> {
        write(name, rows, from)?.run(self)
    }
    /// Copies batch rows of the state of a layer of the same model and neurons into this one, from row `to` on, and waits
    /// for it.
    pub fn copy_rows(&self, source: &Layer, rows: impl RangeBounds<i64>, to: i64) -> Result<()> {
        copy(source, rows, to)?.run(self)
    }
    /// Runs one forward now, over addresses. The tape is the caller's, so several forwards may wait for their backwards.
    /// `spike_dtype` says the format of spikes; `tape_memory` has `tape_bytes` bytes and, for the `gradient_pointers`
    /// (`n_gradient_pointers` of them), `scratch` has `scratch_bytes`.
    ///
    /// # Safety
    ///
    /// Every address of `pointers` is null or that of an array as its field says, in memory of the layer's device, and lives
    /// until the work on `stream` is done; `stream` is null or a live CUDA stream of the device.
    pub unsafe fn run_forward(&self, pointers: &sys::synfire_pointers_desc, stream: Stream) -> Result<()> {
        check(sys::synfire_layer_run_forward(self.core.raw, pointers, stream))?;
        Ok(())
    }
    /// Runs the backward of a forward over addresses, as its stamp says.
    ///
    /// # Safety
    ///
    /// As that of [`run_forward`](Self::run_forward).
    pub unsafe fn run_backward(&self, pointers: &sys::synfire_pointers_desc, stream: Stream) -> Result<()> {
        check(sys::synfire_layer_run_backward(self.core.raw, pointers, stream))?;
        Ok(())
    }
    /// The state of batch rows, with a header that says what it is of. Parameters are not in it.
    pub fn snapshot(&self, rows: impl RangeBounds<i64>) -> Result<Vec<u8>> {
        let desc = rows_desc(rows)?;
        self.core.held.during(|| {
            let mut bytes = 0;
            // SAFETY: null asks for the size; then the vector has this many bytes.
            unsafe {
                check(sys::synfire_layer_snapshot(self.core.raw, &desc, std::ptr::null_mut(), &mut bytes))?;
                let mut data = vec![0u8; bytes as usize];
                let place = data.as_mut_ptr().cast();
                check(sys::synfire_layer_snapshot(self.core.raw, &desc, place, &mut bytes))?;
                Ok(data)
            }
        })
    }
    /// Puts a snapshot back into as many batch rows. What is none, or one of another layer, is refused.
    pub fn restore(&self, rows: impl RangeBounds<i64>, snapshot: &[u8]) -> Result<()> {
        let desc = rows_desc(rows)?;
        // SAFETY: the slice has this many bytes.
        self.core.held.during(|| {
            let (data, bytes) = (snapshot.as_ptr().cast(), snapshot.len() as u64);
            check(unsafe { sys::synfire_layer_restore(self.core.raw, &desc, data, bytes) }).map(drop)
        })
    }
}

impl Graph {
    /// Appends a reset of batch rows, as [`Layer::reset_rows`].
    pub fn reset_rows(&mut self, layer: &Layer, rows: impl RangeBounds<i64>) -> Result<Operation> {
        reset(rows)?.record(self, layer)
    }
    /// Appends a reset of the batch rows that a mask chooses, as [`Layer::reset_masked`]. Every replay reads the mask.
    pub fn reset_masked(&mut self, layer: &Layer, rows: impl RangeBounds<i64>, mask: &Buffer<u8>) -> Result<Operation> {
        reset(rows)?.buffer(mask).record(self, layer)
    }
    /// Appends a copy of batch rows of a state variable into a buffer, as [`Layer::read_rows`].
    pub fn read_rows<T: Element>(
        &mut self,
        layer: &Layer,
        name: &str,
        rows: impl RangeBounds<i64>,
        to: &Buffer<T>,
    ) -> Result<Operation> {
        read(name, rows, to)?.record(self, layer)
    }
    /// Appends a copy of a buffer into batch rows of a state variable, as [`Layer::write_rows`].
    pub fn write_rows<T: Element>(
        &mut self,
        layer: &Layer,
        name: &str,
        rows: impl RangeBounds<i64>,
        from: &Buffer<T>,
    ) -> Result<Operation> {
        write(name, rows, from)?.record(self, layer)
    }
    /// Appends a copy of batch rows from one layer to another, as [`Layer::copy_rows`].
    pub fn copy_rows(
        &mut self,
        layer: &Layer,
        source: &Layer,
        rows: impl RangeBounds<i64>,
        to: i64,
    ) -> Result<Operation> {
        copy(source, rows, to)?.record(self, layer)
    }
    /// Appends a snapshot of batch rows into a buffer of bytes, as long as that of [`Layer::snapshot`], which
    /// [`Layer::restore`] takes.
    pub fn snapshot(&mut self, layer: &Layer, rows: impl RangeBounds<i64>, to: &Buffer<u8>) -> Result<Operation> {
        let (first, count) = range(rows)?;
        Snapshot::new(to).first_row(first).n_rows(count).record(self, layer)
    }
    /// Appends the restoring of a snapshot. A replay that finds none of this layer there leaves the state as it is.
    pub fn restore(&mut self, layer: &Layer, rows: impl RangeBounds<i64>, from: &Buffer<u8>) -> Result<Operation> {
        let (first, count) = range(rows)?;
        Restore::new(from).first_row(first).n_rows(count).record(self, layer)
    }
}
