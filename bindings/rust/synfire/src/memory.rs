// memory.rs - the program's own functions for host memory and for messages, and how much memory the library holds.
//
// Tensors of other libraries (DLPack) are for programs that have such a library: `sys::synfire_buffer_from_dlpack` with a
// `sys::synfire_from_dlpack_desc` (`tensor`, `unversioned`, `stream`, `words`) and `sys::synfire_buffer_to_dlpack` with a
// `sys::synfire_to_dlpack_desc` (`with_sign`), on `Buffer::as_raw`.
use crate::error::{check, loaded, Result};
use crate::objects::MemoryUse;
use crate::values::values;
use std::ffi::CStr;
use std::mem::{size_of, zeroed};
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{null, null_mut};
use synfire_sys as sys;

values! {
    /// The kind of object that memory is for.
    MemoryTag {
        /// The library itself, outside of any context.
        Library = SYNFIRE_TAG_LIBRARY,
        /// A context, and what all objects on it share.
        Context = SYNFIRE_TAG_CONTEXT,
        /// A buffer.
        Buffer = SYNFIRE_TAG_BUFFER,
        /// A layer: state, parameters, and the tape and sums of passes that run now.
        Layer = SYNFIRE_TAG_LAYER,
        /// A graph: operations, slots, arena, tapes, and values that change.
        Graph = SYNFIRE_TAG_GRAPH,
        /// A synapse: weights, what is derived from them, and gradients.
        Synapse = SYNFIRE_TAG_SYNAPSE,
        /// An optimiser.
        Optimizer = SYNFIRE_TAG_OPTIMIZER,
        /// A network, without the objects that it consists of.
        Network = SYNFIRE_TAG_NETWORK,
        /// A loaded model or surrogate, with its compiled code.
        Model = SYNFIRE_TAG_MODEL,
    }
}
values! {
    /// Levels of messages.
    LogLevel {
        /// Something works, but not as the program may expect.
        Warning = SYNFIRE_LOG_WARNING,
        /// Something was chosen.
        Choice = SYNFIRE_LOG_CHOICE,
    }
}

/// A heap of the program's that gives the library its host memory: [`set_memory`].
///
/// Both functions may be called by several threads at once, never by a launch or a wait, and must not use the library.
///
/// # Safety
///
/// `allocate` returns memory of this size and alignment that nothing else uses until `release` gets it back, or null. (An
/// address that is not aligned is given back at once, and the call fails: `SYN-MEMORY-ALIGNMENT`.)
pub unsafe trait HostMemory: Sync {
    /// Memory with any contents, or null if there is none: the call then fails with [`Status::OutOfMemory`](crate::Status).
    /// A panic means null.
    fn allocate(&self, bytes: usize, alignment: usize, tag: MemoryTag) -> *mut u8;
    /// Takes back what `allocate` gave, with what it was asked for. A panic is caught and forgotten.
    fn release(&self, memory: *mut u8, bytes: usize, alignment: usize, tag: MemoryTag);
}

extern "C" fn allocate<M: HostMemory>(user: *mut c_void, bytes: u64, alignment: u64, tag: i32) -> *mut c_void {
    // SAFETY: a `&'static M` of set_memory().
    let memory = unsafe { &*user.cast::<M>() };
    let given = || memory.allocate(bytes as usize, alignment as usize, MemoryTag::from_raw(tag));
    catch_unwind(AssertUnwindSafe(given)).map_or(null_mut(), |given| given.cast())
}

extern "C" fn release<M: HostMemory>(user: *mut c_void, given: *mut c_void, bytes: u64, alignment: u64, tag: i32) {
    // SAFETY: as above.
    let memory = unsafe { &*user.cast::<M>() };
    let back = || memory.release(given.cast(), bytes as usize, alignment as usize, MemoryTag::from_raw(tag));
    drop(catch_unwind(AssertUnwindSafe(back)));
}

/// Lets a heap of the program's give all host memory to the library, in the whole process: before the first context, or when
/// everything is closed and freed ([`reclaim`](crate::reclaim)); otherwise an error, `SYN-MEMORY-IN-USE`. `None`: the C
/// library gives it, as at first.
///
/// What CUDA, threads, a compiler and the C library take for themselves is not asked for: see `synfire_memory_set_functions`.
pub fn set_memory<M: HostMemory>(memory: Option<&'static M>) -> Result<()> {
    loaded()?;
    // SAFETY: zeros plus the size is how C initialises it.
    let mut desc: sys::synfire_memory_desc = unsafe { zeroed() };
    desc.struct_size = size_of::<sys::synfire_memory_desc>() as u32;
    if let Some(memory) = memory {
        desc.allocate = Some(allocate::<M>);
        desc.release = Some(release::<M>);
        desc.user = memory as *const M as *mut c_void;
    }
    // SAFETY: the descriptor lives for the call, and the heap for ever.
    check(unsafe { sys::synfire_memory_set_functions(&desc) }).map(drop)
}

/// The memory that the library holds in this process.
pub fn memory_use() -> Result<MemoryUse> {
    loaded()?;
    // SAFETY: zeros plus the size is how C initialises it.
    let mut held: sys::synfire_memory_use = unsafe { zeroed() };
    held.struct_size = size_of::<sys::synfire_memory_use>() as u32;
    // SAFETY: it lives for the call.
    check(unsafe { sys::synfire_memory_get_use(&mut held) })?;
    Ok(MemoryUse::from_c(&held))
}

/// Hears the library's messages: [`set_log`]. Any function `Fn(LogLevel, &str) + Sync` is one.
pub trait Log: Sync {
    /// One line, whose first word names the kind of object. It must not use the library. A panic is caught and forgotten.
    fn log(&self, level: LogLevel, text: &str);
}
impl<F: Fn(LogLevel, &str) + Sync> Log for F {
    fn log(&self, level: LogLevel, text: &str) {
        self(level, text)
    }
}

extern "C" fn hear<L: Log>(user: *mut c_void, level: i32, text: *const c_char) {
    // SAFETY: a `&'static L` of set_log(), and a null-terminated text.
    let (log, text) = unsafe { (&*user.cast::<L>(), CStr::from_ptr(text)) };
    let say = || log.log(LogLevel::from_raw(level), &text.to_string_lossy());
    drop(catch_unwind(AssertUnwindSafe(say)));
}

/// Lets a function hear the library's messages up to this level, in the whole process: warnings and what was chosen, never
/// in a launch or a wait.
pub fn set_log<L: Log>(log: &'static L, level: LogLevel) -> Result<()> {
    loaded()?;
    // SAFETY: zeros plus the size is how C initialises it.
    let mut desc: sys::synfire_log_desc = unsafe { zeroed() };
    desc.struct_size = size_of::<sys::synfire_log_desc>() as u32;
    desc.level = level.to_raw();
    desc.log = Some(hear::<L>);
    desc.user = log as *const L as *mut c_void;
    // SAFETY: the descriptor lives for the call, and the function for ever.
    check(unsafe { sys::synfire_log_set_function(&desc) }).map(drop)
}

/// Nobody hears messages, as at first. When it returns, the function before is not called any more.
pub fn reset_log() -> Result<()> {
    loaded()?;
    // SAFETY: null stands for no function.
    check(unsafe { sys::synfire_log_set_function(null()) }).map(drop)
}
