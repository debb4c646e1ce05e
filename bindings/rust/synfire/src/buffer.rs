// buffer.rs - typed memory of a context, and slices over it that cannot meet a replay.
use crate::context::{born, gone, Context};
use crate::error::{check, Error, Result, Status};
use crate::held::Held;
use crate::values::{DType, Memory};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use synfire_sys as sys;

/// The bits of an IEEE binary16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);
/// The bits of a bfloat16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(pub u16);

mod sealed {
    pub trait Sealed {}
}
/// A Rust type that C has as an element. Sealed: any bits are a value of each.
pub trait Element: sealed::Sealed + Copy + Send + Sync + 'static {
    /// What the type stands for, the usual one first.
    const DTYPES: &'static [DType];
}
macro_rules! elements {
    ($($t:ty: $($d:ident),+;)*) => { $(
        impl sealed::Sealed for $t {}
        impl Element for $t { const DTYPES: &'static [DType] = &[$(DType::$d),+]; }
    )* };
}
elements! { f32: F32; f64: F64; F16: F16; Bf16: Bf16; u8: U8; u32: Bits, TimeBits; }

pub(crate) struct Core {
    pub(crate) raw: sys::synfire_buffer,
    pub(crate) held: Held,
    data: *mut u8,
    visible: bool,
}
// SAFETY: the C library takes buffers on any thread; `held` keeps their memory from being shared wrongly.
unsafe impl Send for Core {}
unsafe impl Sync for Core {}
impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: our own handle, destroyed once.
        unsafe { sys::synfire_buffer_destroy(self.raw) };
        gone();
    }
}

/// Memory of `T`s. Graphs that use it keep it alive.
pub struct Buffer<T: Element> {
    pub(crate) core: Arc<Core>,
    len: usize,
    dtype: DType,
    element: PhantomData<T>,
}

/// A slice over a buffer, read; no replay can use the buffer meanwhile.
pub struct Map<'a, T: Element>(&'a Buffer<T>);
/// A slice over a buffer, written; no replay can use the buffer meanwhile.
pub struct MapMut<'a, T: Element>(&'a Buffer<T>);

impl<T: Element> Buffer<T> {
    /// `len` zeros.
    pub fn zeros(context: &Context, memory: Memory, len: usize) -> Result<Self> {
        Self::with_dtype(context, memory, T::DTYPES[0], len)
    }
    /// `len` zeros of a type that `T` stands for ([`DType::Bits`] or [`DType::TimeBits`] for `u32`).
    pub fn with_dtype(context: &Context, memory: Memory, dtype: DType, len: usize) -> Result<Self> {
        Self::with_pitch(context, memory, dtype, len, 0)
    }
    /// As [`Buffer::with_dtype`], with `row_pitch` elements from one step to the next; 0: directly.
    pub fn with_pitch(context: &Context, memory: Memory, dtype: DType, len: usize, row_pitch: usize) -> Result<Self> {
        // SAFETY: null: the library allocates.
        unsafe { Self::create(context, memory, dtype, len, row_pitch, std::ptr::null_mut()) }
    }
    /// A buffer over memory of the caller's own.
    ///
    /// # Safety
    ///
    /// `data` has `len` elements of the kind of memory stated, outlives every graph that uses the buffer, and is not
    /// touched but through the buffer.
    pub unsafe fn from_raw(context: &Context, memory: Memory, dtype: DType, data: *mut T, len: usize) -> Result<Self> {
        if data.is_null() {
            return Err(Error::new(Status::InvalidArgument, "SYN-RUST-NULL", "data is null"));
        }
        Self::create(context, memory, dtype, len, 0, data)
    }
    unsafe fn create(
        context: &Context,
        memory: Memory,
        dtype: DType,
        len: usize,
        row_pitch: usize,
        data: *mut T,
    ) -> Result<Self> {
        if !T::DTYPES.contains(&dtype) {
            return Err(Error::new(
                Status::InvalidArgument,
                "SYN-RUST-DTYPE",
                format!("{dtype:?} is no {}; allowed: {:?}", std::any::type_name::<T>(), T::DTYPES),
            ));
        }
        let mut desc: sys::synfire_buffer_desc = std::mem::zeroed();
        desc.struct_size = std::mem::size_of_val(&desc) as u32;
        desc.memory = memory.to_raw();
        desc.dtype = dtype.to_raw();
        desc.n_elements = len as u64;
        desc.row_pitch = row_pitch as u64;
        desc.data = data.cast();
        let mut raw = std::ptr::null_mut();
        check(sys::synfire_buffer_create(context.raw, &desc, &mut raw))?;
        born();
        let mut core = Core {
            raw,
            held: Held::default(),
            data: std::ptr::null_mut(),
            visible: context.on_host || memory != Memory::Device,
        };
        let mut address = std::ptr::null_mut();
        check(sys::synfire_buffer_get_data(raw, &mut address, std::ptr::null_mut()))?;
        core.data = address.cast();
        Ok(Buffer { core: Arc::new(core), len, dtype, element: PhantomData })
    }
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Never: a buffer has an element at least.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }
    /// The address of the memory, for other libraries.
    pub fn as_ptr(&self) -> *const T {
        self.core.data.cast()
    }
    fn host_visible(&self) -> Result<()> {
        if self.core.visible {
            return Ok(());
        }
        Err(Error::new(
            Status::InvalidArgument,
            "SYN-RUST-MEMORY",
            "the host cannot see device memory; allowed: upload and download",
        ))
    }
    /// The memory, to read.
    pub fn map(&self) -> Result<Map<'_, T>> {
        self.host_visible()?;
        self.core.held.read()?;
        Ok(Map(self))
    }
    /// The memory, to write.
    pub fn map_mut(&self) -> Result<MapMut<'_, T>> {
        self.host_visible()?;
        self.core.held.write()?;
        Ok(MapMut(self))
    }
    fn span(&self, first: usize, count: usize) -> Result<(u64, u64)> {
        if first > self.len || count > self.len - first {
            return Err(Error::new(
                Status::InvalidArgument,
                "SYN-RUST-LENGTH",
                format!("elements {first} and {count} more; the buffer has {}", self.len),
            ));
        }
        let size = std::mem::size_of::<T>() as u64;
        Ok((first as u64 * size, count as u64 * size))
    }
    /// Copies `values` in, from element `first`.
    pub fn upload(&self, first: usize, values: &[T]) -> Result<()> {
        let (offset, bytes) = self.span(first, values.len())?;
        // SAFETY: the slice has so many bytes.
        self.core.held.during(|| {
            check(unsafe { sys::synfire_buffer_upload(self.core.raw, offset, values.as_ptr().cast(), bytes) }).map(drop)
        })
    }
    /// Copies out into `values`, from element `first`.
    pub fn download(&self, first: usize, values: &mut [T]) -> Result<()> {
        let (offset, bytes) = self.span(first, values.len())?;
        // SAFETY: the slice has so many bytes, and any bits are a value.
        self.core.held.during(|| {
            check(unsafe { sys::synfire_buffer_download(self.core.raw, offset, values.as_mut_ptr().cast(), bytes) })
                .map(drop)
        })
    }
    /// Sets every element.
    pub fn fill(&self, value: f64) -> Result<()> {
        // SAFETY: a live handle.
        self.core.held.during(|| check(unsafe { sys::synfire_buffer_fill(self.core.raw, value) }).map(drop))
    }
    /// Says that something else than this library wrote it.
    pub fn mark_written(&self) -> Result<()> {
        // SAFETY: a live handle.
        self.core.held.during(|| check(unsafe { sys::synfire_buffer_mark_written(self.core.raw) }).map(drop))
    }
    /// Closes it now; dropping does the same.
    pub fn close(self) {}
}

impl<T: Element> Deref for Map<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `held` counts us as a reader until we are dropped.
        unsafe { std::slice::from_raw_parts(self.0.core.data.cast(), self.0.len) }
    }
}
impl<T: Element> Drop for Map<'_, T> {
    fn drop(&mut self) {
        self.0.core.held.end_read();
    }
}
impl<T: Element> Deref for MapMut<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `held` knows us as the only one until we are dropped.
        unsafe { std::slice::from_raw_parts(self.0.core.data.cast(), self.0.len) }
    }
}
impl<T: Element> DerefMut for MapMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.0.core.data.cast(), self.0.len) }
    }
}
impl<T: Element> Drop for MapMut<'_, T> {
    fn drop(&mut self) {
        // SAFETY: a live handle. A tape made from what was here before is stale now.
        unsafe { sys::synfire_buffer_mark_written(self.0.core.raw) };
        self.0.core.held.end_write();
    }
}
