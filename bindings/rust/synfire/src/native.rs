// native.rs - functions of the program between two operations of a graph.
//
// The C library calls one trampoline, which catches panics: none crosses a C frame. What went wrong waits in the node
// until the call that led there has come back.
use crate::buffer::{Buffer, Core as BufferCore, Element};
use crate::error::{Error, Name, Result, Status};
use std::any::{Any, TypeId};
use std::ffi::c_void;
use std::fmt;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::Arc;
use synfire_sys as sys;

/// The result of a native node's function.
pub type Outcome = std::result::Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Buffers that a native node reads and writes: up to 64 buffers each.
#[derive(Clone, Default)]
#[must_use]
pub struct Native<'a> {
    name: String,
    reads: Vec<(&'a Arc<BufferCore>, ElementType)>,
    writes: Vec<(&'a Arc<BufferCore>, ElementType)>,
}
// The type of a buffer's elements.
#[derive(Clone, Copy)]
struct ElementType {
    id: TypeId,
    name: &'static str,
}
impl ElementType {
    fn of<T: Element>() -> Self {
        ElementType { id: TypeId::of::<T>(), name: std::any::type_name::<T>() }
    }
}
impl fmt::Debug for Native<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Native {:?}, reads {} buffers, writes {}", self.name, self.reads.len(), self.writes.len())
    }
}
impl<'a> Native<'a> {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }
    /// The name in pictures and texts.
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }
    /// One more buffer that it reads.
    pub fn reads<T: Element>(mut self, buffer: &'a Buffer<T>) -> Self {
        self.reads.push((&buffer.core, ElementType::of::<T>()));
        self
    }
    /// One more buffer that it writes; it may look at what was there.
    pub fn writes<T: Element>(mut self, buffer: &'a Buffer<T>) -> Self {
        self.writes.push((&buffer.core, ElementType::of::<T>()));
        self
    }
    pub(crate) fn each(&self, f: impl FnMut(&'a Arc<BufferCore>)) {
        self.reads.iter().chain(&self.writes).map(|(core, _)| *core).for_each(f);
    }
    pub(crate) fn node<F>(&self, on_host: bool, function: F) -> Result<Box<Node>>
    where
        F: FnMut(&mut NativeCall<'_>) -> Outcome + Send + 'static,
    {
        let twice = self.writes.iter().enumerate().any(|(i, (core, _))| {
            let same = |(other, _): &&(&Arc<BufferCore>, ElementType)| Arc::ptr_eq(core, other);
            self.reads.iter().chain(&self.writes[..i]).any(|other| same(&other))
        });
        if twice {
            let text = "a buffer is written and occurs twice; allowed: once, among the written ones";
            return Err(Error::new(Status::InvalidArgument, "SYN-RUST-NATIVE", text));
        }
        let types = |all: &[(&Arc<BufferCore>, ElementType)]| all.iter().map(|(_, element)| *element).collect();
        Ok(Box::new(Node {
            function: Box::new(function),
            on_host,
            reads: types(&self.reads),
            writes: types(&self.writes),
            failure: None,
        }))
    }
    pub(crate) fn with_desc<T>(
        &self,
        node: *mut Node,
        f: impl FnOnce(&sys::synfire_native_desc) -> Result<T>,
    ) -> Result<T> {
        let name = Name::new(&self.name)?;
        let reads: Vec<_> = self.reads.iter().map(|(core, _)| core.raw).collect();
        let writes: Vec<_> = self.writes.iter().map(|(core, _)| core.raw).collect();
        f(&sys::synfire_native_desc {
            struct_size: std::mem::size_of::<sys::synfire_native_desc>() as u32,
            reserved: 0,
            callback: Some(trampoline),
            user: node.cast(),
            name: if self.name.is_empty() { std::ptr::null() } else { name.as_ptr() },
            reads: if reads.is_empty() { std::ptr::null() } else { reads.as_ptr() },
            n_reads: reads.len() as u64,
            writes: if writes.is_empty() { std::ptr::null() } else { writes.as_ptr() },
            n_writes: writes.len() as u64,
        })
    }
}

/// Arguments for the function of a native node: where to enqueue, what to read and write.
pub struct NativeCall<'c> {
    raw: &'c sys::synfire_native_call,
    on_host: bool,
    reads: &'c [ElementType],
    writes: &'c [ElementType],
    given: u64, // which of the written ones were given out
}
impl fmt::Debug for NativeCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NativeCall of slot {}", self.raw.slot)
    }
}
fn memory<'c>(all: *const sys::synfire_memory, count: u64, index: usize) -> Option<&'c sys::synfire_memory> {
    // SAFETY: the library says how many there are.
    (index < count as usize).then(|| unsafe { &*all.add(index) })
}
impl<'c> NativeCall<'c> {
    /// The stream to enqueue on; null on the host.
    pub fn stream(&self) -> crate::Stream {
        self.raw.stream
    }
    /// The slot of the graph whose memory this is.
    pub fn slot(&self) -> u32 {
        self.raw.slot
    }
    /// Address and bytes of what is read, on any backend.
    pub fn read_memory(&self, index: usize) -> Option<(*const c_void, usize)> {
        memory(self.raw.reads, self.raw.n_reads, index).map(|m| (m.data as *const c_void, m.bytes as usize))
    }
    /// Address and bytes of what is written, on any backend.
    pub fn write_memory(&self, index: usize) -> Option<(*mut c_void, usize)> {
        memory(self.raw.writes, self.raw.n_writes, index).map(|m| (m.data, m.bytes as usize))
    }
    /// Buffer number `index` of those that are read, on the host. An error on a GPU, or where `T` is not its element.
    pub fn read<T: Element>(&self, index: usize) -> Result<&'c [T]> {
        let (data, bytes) = self.of_type::<T, _>(index, "read", self.reads, self.read_memory(index))?;
        // SAFETY: memory of T, which the graph holds for this call, and which is not among the written.
        Ok(unsafe { std::slice::from_raw_parts(data.cast(), bytes / std::mem::size_of::<T>()) })
    }
    /// Buffer number `index` of those that are written, on the host, once a call. An error on a GPU, or where `T` is not
    /// its element.
    pub fn write<T: Element>(&mut self, index: usize) -> Result<&'c mut [T]> {
        let (data, bytes) = self.of_type::<T, _>(index, "written", self.writes, self.write_memory(index))?;
        if self.given >> index & 1 != 0 {
            let text = format!("buffer {index} of those that are written was given out already in this call");
            return Err(Error::new(Status::InvalidArgument, "SYN-RUST-NATIVE", text));
        }
        self.given |= 1 << index;
        // SAFETY: as above, given out once.
        Ok(unsafe { std::slice::from_raw_parts_mut(data.cast(), bytes / std::mem::size_of::<T>()) })
    }
    // The memory, if this is a host and T the type of the elements.
    fn of_type<T: Element, P>(
        &self,
        index: usize,
        kind: &str,
        types: &[ElementType],
        memory: Option<(P, usize)>,
    ) -> Result<(P, usize)> {
        let refused = |rule, text| Err(Error::new(Status::InvalidArgument, rule, text));
        let (element, memory) = match (types.get(index), memory) {
            (Some(element), Some(memory)) => (element, memory),
            _ => {
                let text = format!("index is {index}; {} buffers are {kind}", types.len());
                return refused("SYN-RUST-NATIVE", text);
            }
        };
        if !self.on_host {
            let text = format!("buffer {index} of those that are {kind} is memory of a GPU; its address is read_memory's or write_memory's");
            return refused("SYN-RUST-NATIVE", text);
        }
        if element.id != TypeId::of::<T>() {
            let wanted = std::any::type_name::<T>();
            let text =
                format!("buffer {index} of those that are {kind} has elements of {}, not {wanted}", element.name);
            return refused("SYN-RUST-DTYPE", text);
        }
        Ok(memory)
    }
}

enum Failure {
    Error(String),
    Panic(Box<dyn Any + Send>),
}
type Function = dyn FnMut(&mut NativeCall<'_>) -> Outcome + Send;
pub(crate) struct Node {
    function: Box<Function>,
    on_host: bool,
    reads: Vec<ElementType>,
    writes: Vec<ElementType>,
    failure: Option<Failure>,
}
impl Node {
    /// The text of the function's error; a panic goes on.
    pub(crate) fn take_failure(&mut self) -> Option<String> {
        match self.failure.take()? {
            Failure::Error(text) => Some(text),
            Failure::Panic(payload) => resume_unwind(payload),
        }
    }
}

unsafe extern "C" fn trampoline(user: *mut c_void, call: *const sys::synfire_native_call) -> sys::synfire_status {
    // SAFETY: the node of this graph, used by nobody else during a call on the graph; the call is the library's.
    let (node, raw) = (&mut *user.cast::<Node>(), &*call);
    let (function, reads, writes) = (&mut node.function, &node.reads, &node.writes);
    let mut call = NativeCall { raw, on_host: node.on_host, reads, writes, given: 0 };
    node.failure = match catch_unwind(AssertUnwindSafe(|| function(&mut call))) {
        Ok(Ok(())) => return sys::SYNFIRE_OK,
        Ok(Err(error)) => Some(Failure::Error(error.to_string())),
        Err(payload) => Some(Failure::Panic(payload)),
    };
    sys::SYNFIRE_ERROR_CALLBACK
}
