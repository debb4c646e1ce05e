// state.rs - rows of the state of a layer: reset, read, written, copied, kept and put back; now, or recorded.
use crate::buffer::{Buffer, Core as BufferCore, Element};
use crate::error::{check, Error, Name, Result, Status};
use crate::graph::{Graph, Operation};
use crate::layer::Layer;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
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

// Rows, a state variable and a buffer, for a call.
struct Rows<'a> {
    first: i64,
    count: i64,
    name: Option<Name>,
    buffer: Option<&'a Arc<BufferCore>>,
}
impl<'a> Rows<'a> {
    fn new(rows: impl RangeBounds<i64>, name: Option<&str>, buffer: Option<&'a Arc<BufferCore>>) -> Result<Self> {
        let (first, count) = range(rows)?;
        Ok(Rows { first, count, name: name.map(Name::new).transpose()?, buffer })
    }
    fn desc(&self) -> sys::synfire_state_desc {
        sys::synfire_state_desc {
            struct_size: std::mem::size_of::<sys::synfire_state_desc>() as u32,
            reserved: 0,
            first_row: self.first,
            n_rows: self.count,
            name: self.name.as_ref().map_or(std::ptr::null(), Name::as_ptr),
            buffer: self.buffer.map_or(std::ptr::null_mut(), |core| core.raw),
        }
    }
}
fn copy_desc(source: &Layer, rows: impl RangeBounds<i64>, to: i64) -> Result<sys::synfire_copy_rows_desc> {
    let (first_row, n_rows) = range(rows)?;
    Ok(sys::synfire_copy_rows_desc {
        struct_size: std::mem::size_of::<sys::synfire_copy_rows_desc>() as u32,
        reserved: 0,
        source: source.core.raw,
        first_row,
        n_rows,
        destination_row: to,
    })
}

// Calls of raw functions: they pass on what they get.
type StateCall =
    unsafe fn(sys::synfire_layer, *const sys::synfire_state_desc, sys::synfire_stream) -> sys::synfire_status;
type StateRecord = unsafe fn(sys::synfire_graph, sys::synfire_layer, *const sys::synfire_state_desc) -> i32;

impl Layer {
    fn rows_now(&self, rows: Rows<'_>, call: StateCall) -> Result<()> {
        let mut held = vec![&self.core.held];
        held.extend(rows.buffer.map(|core| &core.held));
        // SAFETY: live handles, held for the call; names and descriptor live for it.
        self.now(held, || unsafe { call(self.core.raw, &rows.desc(), std::ptr::null_mut()) })
    }
    /// Sets batch rows, such as `..` or `2..5`, back to their start, and waits for it.
    pub fn reset_rows(&self, rows: impl RangeBounds<i64>) -> Result<()> {
        self.rows_now(Rows::new(rows, None, None)?, |l, d, s| unsafe { sys::synfire_layer_reset_rows(l, d, s) })
    }
    /// Sets those of the batch rows back to their start whose byte in `mask` `[B]` is not 0, and waits for it.
    pub fn reset_masked(&self, rows: impl RangeBounds<i64>, mask: &Buffer<u8>) -> Result<()> {
        self.rows_now(Rows::new(rows, None, Some(&mask.core))?, |l, d, s| unsafe {
            sys::synfire_layer_reset_rows(l, d, s)
        })
    }
    /// Copies batch rows of the state `"v"` or `"w"` into a buffer `[rows, N]`, and waits for it.
    pub fn read_rows<T: Element>(&self, name: &str, rows: impl RangeBounds<i64>, to: &Buffer<T>) -> Result<()> {
        self.rows_now(Rows::new(rows, Some(name), Some(&to.core))?, |l, d, s| unsafe {
            sys::synfire_layer_read_rows(l, d, s)
        })
    }
    /// Copies a buffer `[rows, N]` into batch rows of the state `"v"` or `"w"`, and waits for it.
    pub fn write_rows<T: Element>(&self, name: &str, rows: impl RangeBounds<i64>, from: &Buffer<T>) -> Result<()> {
        self.rows_now(Rows::new(rows, Some(name), Some(&from.core))?, |l, d, s| unsafe {
            sys::synfire_layer_write_rows(l, d, s)
        })
    }
    /// Copies batch rows of the state of a layer of the same model and neurons into this one, from row `to` on, and waits
    /// for it.
    pub fn copy_rows(&self, source: &Layer, rows: impl RangeBounds<i64>, to: i64) -> Result<()> {
        let desc = copy_desc(source, rows, to)?;
        // SAFETY: live handles, held for the call.
        self.now(vec![&self.core.held, &source.core.held], || unsafe {
            sys::synfire_layer_copy_rows(self.core.raw, &desc, std::ptr::null_mut())
        })
    }
    /// The state of batch rows, with a header that says what it is of. Parameters are not in it.
    pub fn snapshot(&self, rows: impl RangeBounds<i64>) -> Result<Vec<u8>> {
        let rows = Rows::new(rows, None, None)?;
        self.core.held.during(|| {
            let mut bytes = 0;
            // SAFETY: null asks for the size; then the vector has so many bytes.
            unsafe {
                check(sys::synfire_layer_snapshot(self.core.raw, &rows.desc(), std::ptr::null_mut(), &mut bytes))?;
                let mut data = vec![0u8; bytes as usize];
                let place = data.as_mut_ptr().cast();
                check(sys::synfire_layer_snapshot(self.core.raw, &rows.desc(), place, &mut bytes))?;
                Ok(data)
            }
        })
    }
    /// Puts a snapshot back into as many batch rows. What is none, or one of another layer, is refused.
    pub fn restore(&self, rows: impl RangeBounds<i64>, snapshot: &[u8]) -> Result<()> {
        let rows = Rows::new(rows, None, None)?;
        // SAFETY: the slice has so many bytes.
        self.core.held.during(|| {
            let (data, bytes) = (snapshot.as_ptr().cast(), snapshot.len() as u64);
            check(unsafe { sys::synfire_layer_restore(self.core.raw, &rows.desc(), data, bytes) }).map(drop)
        })
    }
}

impl Graph {
    fn record_rows(&mut self, layer: &Layer, rows: Rows<'_>, record: StateRecord) -> Result<Operation> {
        layer.core.held.during(|| {
            // SAFETY: live handles; names and descriptor live for the call.
            check(unsafe { record(self.as_raw(), layer.core.raw, &rows.desc()) })
        })?;
        self.keep_layer(layer);
        rows.buffer.into_iter().for_each(|core| self.keep(core));
        self.appended()
    }
    /// Appends a reset of batch rows, as [`Layer::reset_rows`].
    pub fn reset_rows(&mut self, layer: &Layer, rows: impl RangeBounds<i64>) -> Result<Operation> {
        let rows = Rows::new(rows, None, None)?;
        self.record_rows(layer, rows, |g, l, d| unsafe { sys::synfire_graph_record_reset_rows(g, l, d) })
    }
    /// Appends a reset of the batch rows that a mask chooses, as [`Layer::reset_masked`]. Every replay reads the mask.
    pub fn reset_masked(&mut self, layer: &Layer, rows: impl RangeBounds<i64>, mask: &Buffer<u8>) -> Result<Operation> {
        let rows = Rows::new(rows, None, Some(&mask.core))?;
        self.record_rows(layer, rows, |g, l, d| unsafe { sys::synfire_graph_record_reset_rows(g, l, d) })
    }
    /// Appends a copy of batch rows of a state variable into a buffer, as [`Layer::read_rows`].
    pub fn read_rows<T: Element>(
        &mut self,
        layer: &Layer,
        name: &str,
        rows: impl RangeBounds<i64>,
        to: &Buffer<T>,
    ) -> Result<Operation> {
        let rows = Rows::new(rows, Some(name), Some(&to.core))?;
        self.record_rows(layer, rows, |g, l, d| unsafe { sys::synfire_graph_record_read_rows(g, l, d) })
    }
    /// Appends a copy of a buffer into batch rows of a state variable, as [`Layer::write_rows`].
    pub fn write_rows<T: Element>(
        &mut self,
        layer: &Layer,
        name: &str,
        rows: impl RangeBounds<i64>,
        from: &Buffer<T>,
    ) -> Result<Operation> {
        let rows = Rows::new(rows, Some(name), Some(&from.core))?;
        self.record_rows(layer, rows, |g, l, d| unsafe { sys::synfire_graph_record_write_rows(g, l, d) })
    }
    /// Appends a copy of batch rows from one layer to another, as [`Layer::copy_rows`].
    pub fn copy_rows(
        &mut self,
        layer: &Layer,
        source: &Layer,
        rows: impl RangeBounds<i64>,
        to: i64,
    ) -> Result<Operation> {
        let desc = copy_desc(source, rows, to)?;
        // SAFETY: live handles.
        check(unsafe { sys::synfire_graph_record_copy_rows(self.as_raw(), layer.core.raw, &desc) })?;
        self.keep_layer(layer);
        self.keep_layer(source);
        self.appended()
    }
    /// Appends a snapshot of batch rows into a buffer of bytes, as long as that of [`Layer::snapshot`], which
    /// [`Layer::restore`] takes.
    pub fn snapshot(&mut self, layer: &Layer, rows: impl RangeBounds<i64>, to: &Buffer<u8>) -> Result<Operation> {
        let rows = Rows::new(rows, None, Some(&to.core))?;
        self.record_rows(layer, rows, |g, l, d| unsafe { sys::synfire_graph_record_snapshot(g, l, d) })
    }
    /// Appends the restoring of a snapshot. A replay that finds none of this layer there leaves the state as it is.
    pub fn restore(&mut self, layer: &Layer, rows: impl RangeBounds<i64>, from: &Buffer<u8>) -> Result<Operation> {
        let rows = Rows::new(rows, None, Some(&from.core))?;
        self.record_rows(layer, rows, |g, l, d| unsafe { sys::synfire_graph_record_restore(g, l, d) })
    }
}
