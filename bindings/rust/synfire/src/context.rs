// context.rs - contexts, and what all handles share.
use crate::error::{check, loaded, Result};
use crate::held::{hold_all, Held};
use crate::jobs::JobSystem;
use crate::values::{Backend, Fallback};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use synfire_sys as sys;

static LIVE: AtomicU64 = AtomicU64::new(0);

/// Handles of this crate that are neither closed nor dropped.
pub fn live_handles() -> u64 {
    LIVE.load(Relaxed)
}
pub(crate) fn born() {
    LIVE.fetch_add(1, Relaxed);
}
pub(crate) fn gone() {
    LIVE.fetch_sub(1, Relaxed);
}

/// Frees what dropped handles queued, in the whole process. Returns how many objects are still in use.
pub fn reclaim() -> Result<u64> {
    loaded()?;
    let mut left = 0;
    // SAFETY: null stands for every context.
    check(unsafe { sys::synfire_context_reclaim(std::ptr::null_mut(), &mut left) })?;
    Ok(left)
}

/// The C handle of a context. Layers keep it too: an eager call waits for the context's own stream, also after the
/// [`Context`] was dropped.
#[derive(Debug)]
pub(crate) struct ContextHandle(pub(crate) sys::synfire_context);
// SAFETY: as Context.
unsafe impl Send for ContextHandle {}
unsafe impl Sync for ContextHandle {}

impl Drop for ContextHandle {
    fn drop(&mut self) {
        // SAFETY: our own handle, destroyed once; legal on any thread.
        unsafe { sys::synfire_context_destroy(self.0) };
        gone();
    }
}

/// One device, a GPU or the host, and everything created on it.
///
/// Objects created on it stay valid when it is dropped.
#[derive(Debug)]
pub struct Context {
    pub(crate) raw: sys::synfire_context,
    pub(crate) handle: Arc<ContextHandle>,
    pub(crate) on_host: bool,
}
// SAFETY: the C library takes contexts on any thread, also at the same time.
unsafe impl Send for Context {}
unsafe impl Sync for Context {}

/// Options for a context; each has the library's default.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct ContextBuilder(sys::synfire_context_desc);
// SAFETY: numbers, and a job system that lives as long as the program and is Sync.
unsafe impl Send for ContextBuilder {}
unsafe impl Sync for ContextBuilder {}

/// Properties of a context and of the device that it runs on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Properties {
    /// Host or CUDA.
    pub backend: Backend,
    /// CUDA device ordinal; -1 on the host.
    pub device: i32,
    /// Why automatic selection ended on the host.
    pub fallback: Fallback,
    /// Threads the host backend may use; 0 on CUDA.
    pub n_threads: i32,
    /// Compute capability; (0, 0) on the host.
    pub compute_capability: (i32, i32),
    /// Multiprocessors; 0 on the host.
    pub n_multiprocessors: i32,
    /// CUDA driver version; 0 if there is none.
    pub driver_version: i32,
    /// CUDA runtime version; 0 when built without CUDA.
    pub runtime_version: i32,
    /// Bytes of device memory; 0 on the host.
    pub memory_bytes: u64,
    /// Name of the GPU or of the host backend.
    pub name: String,
}

impl ContextBuilder {
    /// Where it runs.
    pub fn backend(mut self, backend: Backend) -> Self {
        self.0.backend = backend.to_raw();
        self
    }
    /// CUDA device ordinal.
    pub fn device(mut self, device: i32) -> Self {
        self.0.device = device;
        self
    }
    /// Threads of the host backend; 0 is automatic.
    pub fn threads(mut self, n_threads: i32) -> Self {
        self.0.n_threads = n_threads;
        self
    }
    /// Priority of the context's CUDA stream.
    pub fn stream_priority(mut self, priority: i32) -> Self {
        self.0.stream_priority = priority;
        self
    }
    /// The program's job system in place of threads of the context's own, and how many threads it has, the calling one
    /// included; 0: as many as there are processors. On CUDA it is never called.
    pub fn job_system<J: JobSystem>(mut self, jobs: &'static J, n_threads: i32) -> Self {
        crate::jobs::describe(&mut self.0, jobs, n_threads);
        self
    }
    /// Creates the context.
    pub fn create(self) -> Result<Context> {
        loaded()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: both pointers are valid; the handle is written on success.
        check(unsafe { sys::synfire_context_create(&self.0, &mut raw) })?;
        born();
        let mut context = Context { raw, handle: Arc::new(ContextHandle(raw)), on_host: false };
        context.on_host = context.properties()?.backend == Backend::Host;
        Ok(context)
    }
}

impl Context {
    /// On a GPU if one is available, otherwise on the host.
    pub fn new() -> Result<Self> {
        Self::builder().create()
    }
    /// Options, to be set before the context is created.
    pub fn builder() -> ContextBuilder {
        // SAFETY: zero is the default of every field.
        let mut desc: sys::synfire_context_desc = unsafe { std::mem::zeroed() };
        desc.struct_size = std::mem::size_of_val(&desc) as u32;
        ContextBuilder(desc)
    }
    /// Waits until everything on the context's own stream is done.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: a live handle.
        check(unsafe { sys::synfire_context_synchronize(self.raw) }).map(drop)
    }
    /// Frees what dropped handles of this context queued. Returns how many are still in use.
    pub fn reclaim(&self) -> Result<u64> {
        let mut left = 0;
        // SAFETY: a live handle.
        check(unsafe { sys::synfire_context_reclaim(self.raw, &mut left) })?;
        Ok(left)
    }
    /// Calls while these are held, and waits for it.
    pub(crate) fn now<'h>(&self, held: impl AsRef<[&'h Held]>, call: impl FnOnce() -> i32) -> Result<()> {
        let _held = hold_all(held)?;
        check(call())?;
        if self.on_host {
            return Ok(());
        }
        self.synchronize()
    }
    /// The properties of the context and of its device.
    pub fn properties(&self) -> Result<Properties> {
        // SAFETY: zeros plus the size is how C initialises it; the name is null-terminated.
        unsafe {
            let mut p: sys::synfire_context_properties = std::mem::zeroed();
            p.struct_size = std::mem::size_of_val(&p) as u32;
            check(sys::synfire_context_get_properties(self.raw, &mut p))?;
            Ok(Properties {
                backend: Backend::from_raw(p.backend),
                device: p.device,
                fallback: Fallback::from_raw(p.fallback_reason),
                n_threads: p.n_threads,
                compute_capability: (p.compute_major, p.compute_minor),
                n_multiprocessors: p.n_multiprocessors,
                driver_version: p.driver_version,
                runtime_version: p.runtime_version,
                memory_bytes: p.memory_bytes,
                name: std::ffi::CStr::from_ptr(p.name.as_ptr()).to_string_lossy().into_owned(),
            })
        }
    }
    /// The C handle, for [`sys`](crate::sys); it is good for as long as the context is.
    pub fn as_raw(&self) -> sys::synfire_context {
        self.raw
    }
    /// Closes it now; dropping does the same.
    pub fn close(self) {}
}
