// buffer.rs - typed memory of a context, in and out in its shape, and slices over it that cannot meet a replay.
use crate::context::{born, gone, Context};
use crate::error::{check, Error, Result, Status};
use crate::held::{Held, PartOf};
use crate::shape::{Nested, Shape};
use crate::values::{DType, Memory};
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{catch_unwind, AssertUnwindSafe};
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

impl F16 {
    /// The nearest one, ties to even.
    pub fn from_f32(value: f32) -> Self {
        let (sign, magnitude) = ((value.to_bits() >> 16 & 0x8000) as u16, value.abs());
        let bits = if value.is_nan() {
            0x7e00
        } else if magnitude < 1.0 / 16384.0 {
            // Below 2^-14 the numbers are 2^-24 apart, and so are f32 from 0.5 on in units of 2^-23: adding rounds.
            (magnitude + 0.5).to_bits() as u16
        } else if magnitude < 65520.0 {
            let rounded = magnitude.to_bits() + 0xfff + (magnitude.to_bits() >> 13 & 1);
            ((rounded >> 13) - (112 << 10)) as u16
        } else {
            0x7c00
        };
        F16(sign | bits)
    }
    /// Its value, exactly.
    pub fn to_f32(self) -> f32 {
        let (exponent, fraction) = (u32::from(self.0 >> 10 & 31), u32::from(self.0 & 1023));
        let magnitude = match exponent {
            0 => fraction as f32 / 16777216.0,
            31 => f32::from_bits(0x7f800000 | fraction << 13),
            _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
        };
        if self.0 & 0x8000 == 0 {
            magnitude
        } else {
            -magnitude
        }
    }
}
impl Bf16 {
    /// The nearest one, ties to even.
    pub fn from_f32(value: f32) -> Self {
        let bits = value.to_bits();
        if value.is_nan() {
            return Bf16((bits >> 16) as u16 | 0x40);
        }
        Bf16(((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16)
    }
    /// Its value, exactly.
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}
macro_rules! as_f32 {
    ($($t:ident),*) => { $(
        impl From<$t> for f32 {
            fn from(value: $t) -> f32 {
                value.to_f32()
            }
        }
    )* };
}
as_f32!(F16, Bf16);

pub(crate) mod sealed {
    pub trait Sealed {}
}
/// A Rust type that C has as an element. Sealed: any bits are a value of each.
pub trait Element: Nested<Element = Self> + Copy + Default + Send + Sync + 'static {
    /// The dtypes that the type stands for, the usual one first.
    const DTYPES: &'static [DType];
}
macro_rules! elements {
    ($($t:ty: $($d:ident),+;)*) => { $(
        impl sealed::Sealed for $t {}
        impl Element for $t { const DTYPES: &'static [DType] = &[$(DType::$d),+]; }
        impl Nested for $t {
            type Element = $t;
            fn lengths(_: &mut Vec<usize>) {}
            fn elements(&self) -> &[$t] { std::slice::from_ref(self) }
            fn elements_mut(&mut self) -> &mut [$t] { std::slice::from_mut(self) }
        }
    )* };
}
elements! { f32: F32; f64: F64; F16: F16; Bf16: Bf16; u8: U8; u32: Bits, TimeBits, U32; u64: U64; }

pub(crate) struct Core {
    pub(crate) raw: sys::synfire_buffer,
    pub(crate) held: Held,
    data: *mut u8,
    visible: bool,
}
// SAFETY: the C library takes buffers on any thread; `held` keeps their memory from being shared wrongly.
unsafe impl Send for Core {}
unsafe impl Sync for Core {}
impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer at {:?}", self.data)
    }
}
impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: our own handle, destroyed once.
        unsafe { sys::synfire_buffer_destroy(self.raw) };
        gone();
    }
}

/// Memory of `T`s in a shape, row-major. Graphs that use it keep it alive, and so does a layer whose latest forward left a
/// tape of it: dropping the buffer is right at any time.
pub struct Buffer<T: Element> {
    pub(crate) core: Arc<Core>,
    len: usize,
    shape: Vec<usize>,
    row_pitch: usize,
    memory: Memory,
    dtype: DType,
    element: PhantomData<T>,
}

impl<T: Element> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer {:?} {:?}, {:?}", self.dtype, self.shape, self.memory)
    }
}

/// Options for a buffer. By default it is device memory of the usual type, with rows directly one after the other.
#[derive(Clone, Debug)]
#[must_use]
pub struct BufferBuilder<T: Element> {
    shape: Vec<usize>,
    memory: Memory,
    dtype: DType,
    row_pitch: usize,
    element: PhantomData<T>,
}

impl<T: Element> BufferBuilder<T> {
    /// Kind of memory.
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }
    /// The dtype of the elements: one of [`Element::DTYPES`].
    pub fn dtype(mut self, dtype: DType) -> Self {
        self.dtype = dtype;
        self
    }
    /// Elements from one index of the first dimension to the next; 0: a row's own.
    pub fn row_pitch(mut self, row_pitch: usize) -> Self {
        self.row_pitch = row_pitch;
        self
    }
    /// Zeros.
    pub fn create(self, context: &Context) -> Result<Buffer<T>> {
        // SAFETY: null: the library allocates.
        unsafe { self.over(context, std::ptr::null_mut(), None, std::ptr::null_mut()) }
    }
    // A copy of these elements.
    pub(crate) fn create_from(self, context: &Context, values: &[T]) -> Result<Buffer<T>> {
        let buffer = self.create(context)?;
        buffer.write(values)?;
        Ok(buffer)
    }
    /// A buffer over memory of the caller's own, such as that of another library. [`lend`](Self::lend) tells when it is no
    /// longer needed.
    ///
    /// # Safety
    ///
    /// `data` has the elements of the shape (with its pitch) and is of the kind of memory stated, outlives the buffer, every
    /// graph that uses it and every layer whose tape was made from it, and is not touched meanwhile but through the buffer.
    pub unsafe fn from_raw(self, context: &Context, data: *mut T) -> Result<Buffer<T>> {
        not_null(data)?;
        self.over(context, data, None, std::ptr::null_mut())
    }
    /// As [`from_raw`](Self::from_raw), with what owns the memory: it is dropped when no buffer, graph or tape needs the
    /// memory any more and no GPU reads or writes it, by a thread that creates something, waits or calls
    /// [`reclaim`](crate::reclaim); and at once where this fails. A panic of its destructor goes no further.
    ///
    /// # Safety
    ///
    /// As that of `from_raw`, for as long as `owner` lives.
    pub unsafe fn lend<O: Send + 'static>(self, context: &Context, data: *mut T, owner: O) -> Result<Buffer<T>> {
        not_null(data)?;
        let user = Box::into_raw(Box::new(owner));
        self.over(context, data, Some(give_back::<O>), user.cast()).map_err(|error| {
            // Nothing was created, so the library never calls.
            drop(Box::from_raw(user));
            error
        })
    }
    // An error means that the library has not got the memory.
    unsafe fn over(
        self,
        context: &Context,
        data: *mut T,
        release: sys::synfire_release_callback,
        release_user: *mut c_void,
    ) -> Result<Buffer<T>> {
        let wrong = |rule, text| Err(Error::new(Status::InvalidArgument, rule, text));
        if !T::DTYPES.contains(&self.dtype) {
            let name = std::any::type_name::<T>();
            return wrong(
                "SYN-RUST-DTYPE",
                format!("{:?} is not a type of {name}; allowed: {:?}", self.dtype, T::DTYPES),
            );
        }
        let product = |lengths: &[usize]| lengths.iter().try_fold(1usize, |n, length| n.checked_mul(*length));
        let rows = match self.shape.first() {
            Some(rows) if !self.shape.contains(&0) => *rows,
            _ => {
                return wrong("SYN-RUST-SHAPE", format!("{:?}; allowed: one dimension or more, none of 0", self.shape))
            }
        };
        let row = product(&self.shape[1..]);
        let pitch = if self.row_pitch == 0 { row } else { Some(self.row_pitch) };
        let len = match (row, pitch) {
            (Some(row), Some(pitch)) if pitch < row => {
                return wrong("SYN-RUST-SHAPE", format!("a row pitch of {pitch}; allowed: 0, or {row} or more"));
            }
            (Some(row), Some(pitch)) => (rows - 1).checked_mul(pitch).and_then(|n| n.checked_add(row)),
            _ => None,
        };
        let len = match len {
            Some(len) if len <= isize::MAX as usize / std::mem::size_of::<T>() => len,
            _ => {
                let text = format!("the shape {:?} has more elements than memory can", self.shape);
                return Err(Error::new(Status::OutOfMemory, "SYN-RUST-SHAPE", text));
            }
        };
        let mut desc: sys::synfire_buffer_desc = std::mem::zeroed();
        desc.struct_size = std::mem::size_of_val(&desc) as u32;
        desc.memory = self.memory.to_raw();
        desc.dtype = self.dtype.to_raw();
        desc.n_elements = len as u64;
        desc.row_pitch = self.row_pitch as u64;
        // The library knows shapes of up to four dimensions; a buffer of more is a plain array to it.
        if self.shape.len() <= desc.shape.len() {
            desc.shape.iter_mut().zip(&self.shape).for_each(|(to, length)| *to = *length as u64);
        }
        desc.data = data.cast();
        desc.release = release;
        desc.release_user = release_user;
        let mut raw = std::ptr::null_mut();
        check(sys::synfire_buffer_create(context.raw, &desc, &mut raw))?;
        born();
        let mut core = Core {
            raw,
            held: Held::default(),
            data: std::ptr::null_mut(),
            visible: context.on_host || self.memory != Memory::Device,
        };
        let mut address = std::ptr::null_mut();
        check(sys::synfire_buffer_get_data(raw, &mut address, std::ptr::null_mut())).expect("a live handle");
        core.data = address.cast();
        Ok(Buffer {
            core: Arc::new(core),
            len,
            row_pitch: pitch.unwrap_or(0),
            shape: self.shape,
            memory: self.memory,
            dtype: self.dtype,
            element: PhantomData,
        })
    }
}

/// A slice over a buffer, read; no replay can use the buffer meanwhile.
pub struct Map<'a, T: Element>(&'a Buffer<T>);
/// A slice over a buffer, written; no replay can use the buffer meanwhile.
pub struct MapMut<'a, T: Element>(&'a Buffer<T>);

impl<T: Element> Buffer<T> {
    /// A buffer of this shape: a number, or an array, slice or vector of numbers.
    ///
    /// An operation that needs another shape refuses it. Lengths of 1 are ignored. With one dimension, or more than four,
    /// only the size is checked.
    pub fn builder(shape: impl Shape) -> BufferBuilder<T> {
        BufferBuilder {
            shape: shape.lengths(),
            memory: Memory::Device,
            dtype: T::DTYPES[0],
            row_pitch: 0,
            element: PhantomData,
        }
    }
    /// Zeros of the type's usual meaning: packed spikes for `u32`.
    pub fn zeros(context: &Context, memory: Memory, shape: impl Shape) -> Result<Self> {
        Self::builder(shape).memory(memory).create(context)
    }
    /// Zeros of a meaning that `T` has: counts ([`DType::U32`]) or time-packed spikes ([`DType::TimeBits`]) for `u32`.
    pub fn with_dtype(context: &Context, memory: Memory, dtype: DType, shape: impl Shape) -> Result<Self> {
        Self::builder(shape).memory(memory).dtype(dtype).create(context)
    }
    /// A copy of an array of any rank, such as `[[f32; 128]; 16]`, in its shape.
    pub fn from_array<A: Nested<Element = T>>(context: &Context, memory: Memory, values: &A) -> Result<Self> {
        let mut shape = Vec::new();
        A::lengths(&mut shape);
        if shape.is_empty() {
            shape.push(1);
        }
        let buffer = Self::zeros(context, memory, shape)?;
        buffer.write(values.elements())?;
        Ok(buffer)
    }
    /// Takes the memory of a vector over, without a copy, as ordinary host memory.
    ///
    /// On a GPU it can be uploaded from and downloaded to, but not recorded. It is freed when no buffer, graph or tape needs
    /// it any more, by a thread that creates something, waits or calls [`reclaim`](crate::reclaim).
    pub fn from_vec(context: &Context, shape: impl Shape, values: Vec<T>) -> Result<Self> {
        let builder = Self::builder(shape).memory(Memory::Host);
        if builder.shape.iter().try_fold(1usize, |n, length| n.checked_mul(*length)) != Some(values.len()) {
            let text = format!("{} values for the shape {:?}", values.len(), builder.shape);
            return Err(Error::new(Status::InvalidArgument, "SYN-RUST-LENGTH", text));
        }
        let mut values = values.into_boxed_slice();
        let data = values.as_mut_ptr();
        // From here on the memory belongs to the pointer; the guard frees it when the library has given it up.
        let taken = Taken(Box::into_raw(values));
        // SAFETY: the memory has the shape's elements, and lives as long as the guard.
        unsafe { builder.lend(context, data, taken) }
    }
    // Takes over a handle that another object gave.
    pub(crate) fn from_part(raw: sys::synfire_buffer, of: PartOf<'_>) -> Result<Self> {
        born();
        let mut core = Core { raw, held: of.held.clone(), data: std::ptr::null_mut(), visible: false };
        // SAFETY: zeros plus the size is how C initialises it; a live handle.
        let desc = unsafe {
            let mut desc: sys::synfire_buffer_desc = std::mem::zeroed();
            desc.struct_size = std::mem::size_of_val(&desc) as u32;
            check(sys::synfire_buffer_get_desc(raw, &mut desc))?;
            let mut address = std::ptr::null_mut();
            check(sys::synfire_buffer_get_data(raw, &mut address, std::ptr::null_mut()))?;
            core.data = address.cast();
            desc
        };
        core.visible = !desc.data.is_null();
        let dtype = DType::from_raw(desc.dtype);
        if !T::DTYPES.contains(&dtype) {
            let text = format!("{dtype:?} is not a type of {}; allowed: {:?}", std::any::type_name::<T>(), T::DTYPES);
            return Err(Error::new(Status::InvalidArgument, "SYN-RUST-DTYPE", text));
        }
        let len = desc.n_elements as usize;
        let mut shape: Vec<usize> = desc.shape.iter().take_while(|n| **n > 0).map(|n| *n as usize).collect();
        if shape.is_empty() {
            shape.push(len);
        }
        let row_pitch = match desc.row_pitch as usize {
            0 => len / shape[0],
            pitch => pitch,
        };
        let memory = Memory::from_raw(desc.memory);
        Ok(Buffer { core: Arc::new(core), len, shape, row_pitch, memory, dtype, element: PhantomData })
    }
    /// Number of elements, with what lies between rows that are apart.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Never: a buffer has an element at least.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The length of each dimension; the last is contiguous.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }
    /// Elements from one index of the first dimension to the next.
    pub fn row_pitch(&self) -> usize {
        self.row_pitch
    }
    /// Kind of memory.
    pub fn memory(&self) -> Memory {
        self.memory
    }
    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }
    /// The address of the memory, for other libraries.
    pub fn as_ptr(&self) -> *const T {
        self.core.data.cast()
    }
    /// The C handle, for [`sys`](crate::sys); it is good for as long as the buffer is.
    pub fn as_raw(&self) -> sys::synfire_buffer {
        self.core.raw
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
    /// Copies `values` in, from element `first` of the memory.
    pub fn upload(&self, first: usize, values: &[T]) -> Result<()> {
        let (offset, bytes) = self.span(first, values.len())?;
        // SAFETY: the slice has this many bytes.
        self.core.held.during(|| {
            check(unsafe { sys::synfire_buffer_upload(self.core.raw, offset, values.as_ptr().cast(), bytes) }).map(drop)
        })
    }
    /// Copies out into `values`, from element `first` of the memory.
    pub fn download(&self, first: usize, values: &mut [T]) -> Result<()> {
        let (offset, bytes) = self.span(first, values.len())?;
        // SAFETY: the slice has this many bytes, and any bits are a value.
        self.core.held.during(|| {
            check(unsafe { sys::synfire_buffer_download(self.core.raw, offset, values.as_mut_ptr().cast(), bytes) })
                .map(drop)
        })
    }
    // Rows of the shape and of the memory: (first element of the slice, first element of the memory, count).
    fn rows(&self, count: usize) -> Result<impl Iterator<Item = (usize, usize, usize)>> {
        let elements = self.shape.iter().product::<usize>();
        if count != elements {
            let text = format!("{count} values; allowed: the {elements} of the shape {:?}", self.shape);
            return Err(Error::new(Status::InvalidArgument, "SYN-RUST-LENGTH", text));
        }
        let row = elements / self.shape[0];
        let (rows, row, pitch) =
            if row == self.row_pitch { (1, elements, 0) } else { (self.shape[0], row, self.row_pitch) };
        Ok((0..rows).map(move |i| (i * row, i * pitch, row)))
    }
    /// Copies all elements of the shape in, row-major; what lies between rows is left alone.
    pub fn write(&self, values: &[T]) -> Result<()> {
        self.rows(values.len())?.try_for_each(|(from, to, n)| self.upload(to, &values[from..from + n]))
    }
    /// Copies all elements of the shape out, row-major.
    pub fn read(&self, values: &mut [T]) -> Result<()> {
        self.rows(values.len())?.try_for_each(|(to, from, n)| self.download(from, &mut values[to..to + n]))
    }
    /// All elements of the shape, row-major.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut values = vec![T::default(); self.shape.iter().product()];
        self.read(&mut values)?;
        Ok(values)
    }
    fn shaped<A: Nested<Element = T>>(&self) -> Result<()> {
        let mut shape = Vec::new();
        A::lengths(&mut shape);
        if shape == self.shape || (shape.is_empty() && self.shape == [1]) {
            return Ok(());
        }
        let text = format!("an array of shape {shape:?}; allowed: {:?}", self.shape);
        Err(Error::new(Status::InvalidArgument, "SYN-RUST-SHAPE", text))
    }
    /// Copies an array of any rank in, which must have the buffer's shape.
    pub fn write_array<A: Nested<Element = T>>(&self, values: &A) -> Result<()> {
        self.shaped::<A>()?;
        self.write(values.elements())
    }
    /// Copies the buffer out into an array of any rank, which must have its shape.
    pub fn read_array<A: Nested<Element = T>>(&self, values: &mut A) -> Result<()> {
        self.shaped::<A>()?;
        self.read(values.elements_mut())
    }
    /// Sets every element.
    pub fn fill(&self, value: f64) -> Result<()> {
        // SAFETY: a live handle.
        self.core.held.during(|| check(unsafe { sys::synfire_buffer_fill(self.core.raw, value) }).map(drop))
    }
    /// Says that something else than this crate wrote the memory. A mapping says it by itself.
    pub fn mark_written(&self) -> Result<()> {
        // SAFETY: a live handle.
        self.core.held.during(|| check(unsafe { sys::synfire_buffer_mark_written(self.core.raw) }).map(drop))
    }
    fn at<const R: usize>(&self, index: [usize; R]) -> usize {
        assert!(R == self.shape.len(), "{R} indices; the buffer has the shape {:?}", self.shape);
        let inside = index.iter().zip(&self.shape).all(|(i, length)| i < length);
        assert!(inside, "the index {index:?} is outside the shape {:?}", self.shape);
        let row = index[1..].iter().zip(&self.shape[1..]).fold(0, |at, (i, length)| at * length + i);
        index[0] * self.row_pitch + row
    }
    /// Closes it now; dropping does the same.
    pub fn close(self) {}
}

fn not_null<T>(data: *mut T) -> Result<()> {
    if data.is_null() {
        return Err(Error::new(Status::InvalidArgument, "SYN-RUST-NULL", "data is null"));
    }
    Ok(())
}

// Called by C, once, with the owner of borrowed memory. No panic crosses a frame of C, and there is no call that it could
// come out of. (Programs in which Rust must not run on the threads of others have release_flag of the raw descriptor.)
unsafe extern "C" fn give_back<O>(owner: *mut c_void) {
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(owner.cast::<O>()))));
    std::mem::forget(dropped); // what a panic carries may panic too
}

// Memory of a vector, as a pointer: a Box that moved would claim the memory for itself while the library uses it.
struct Taken<T>(*mut [T]);
// SAFETY: nobody reads through it; it only frees.
unsafe impl<T: Send> Send for Taken<T> {}
unsafe impl<T: Sync> Sync for Taken<T> {}
impl<T> Drop for Taken<T> {
    fn drop(&mut self) {
        // SAFETY: it came from Box::into_raw, and is given back once.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl<T: Element> Map<'_, T> {
    /// One element by its indices. Panics outside the shape, as slices do.
    pub fn at<const R: usize>(&self, index: [usize; R]) -> T {
        self[self.0.at(index)]
    }
}
impl<T: Element> MapMut<'_, T> {
    /// One element by its indices. Panics outside the shape, as slices do.
    pub fn at<const R: usize>(&self, index: [usize; R]) -> T {
        self[self.0.at(index)]
    }
    /// One element by its indices, to write. Panics outside the shape, as slices do.
    pub fn at_mut<const R: usize>(&mut self, index: [usize; R]) -> &mut T {
        let at = self.0.at(index);
        &mut self[at]
    }
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
impl<T: Element + fmt::Debug> fmt::Debug for Map<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: Element + fmt::Debug> fmt::Debug for MapMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
