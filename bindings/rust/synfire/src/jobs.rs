// jobs.rs - a job system of the program's in place of threads of a host context's own.
use std::marker::PhantomData;
use std::ops::Range;
use std::os::raw::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use synfire_sys as sys;

/// Threads of the program's own, on which a host context computes: [`ContextBuilder::job_system`](crate::ContextBuilder::job_system).
///
/// With a pool of scoped threads, or one such as `rayon`'s, `run` is one loop over the items in parallel.
pub trait JobSystem: Sync {
    /// Runs every item of the task once, on any threads and in any parts, and returns when all have run.
    ///
    /// Called by launches and eager calls that have work for several threads, on the calling thread; by several threads at
    /// once where several launch. An item that was not run, also because of a panic, or was run again, is an error of that
    /// call: `SYN-TASK-MISSING` or `SYN-TASK-TWICE`.
    fn run(&self, task: &Task<'_>);
}

/// Items to be run once each.
#[derive(Debug)]
pub struct Task<'a> {
    part: unsafe extern "C" fn(*mut c_void, i32, i32),
    argument: *mut c_void,
    len: i32,
    call: PhantomData<&'a ()>,
}
// SAFETY: the C library's task may be run on any threads, also at the same time, while the call lasts that made it; a
// `Task` is only lent out.
unsafe impl Send for Task<'_> {}
unsafe impl Sync for Task<'_> {}

impl Task<'_> {
    /// How many items there are.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len as usize
    }
    /// Runs these items.
    pub fn run(&self, items: Range<usize>) {
        // No task has that many.
        let index = |item| i32::try_from(item).unwrap_or(i32::MAX);
        // SAFETY: the call that made the task lasts; the library looks at the indices.
        unsafe { (self.part)(self.argument, index(items.start), index(items.end)) }
    }
}

extern "C" fn enqueue<J: JobSystem>(
    jobs: *mut c_void,
    part: sys::synfire_task,
    argument: *mut c_void,
    len: i32,
    _min_range: i32,
) -> *mut c_void {
    if let Some(part) = part {
        let task = Task { part, argument, len, call: PhantomData };
        // SAFETY: a `&'static J` of ContextBuilder::job_system().
        let jobs = unsafe { &*jobs.cast::<J>() };
        // A panic must not cross the C frames; the items that it left out are the call's error.
        drop(catch_unwind(AssertUnwindSafe(|| jobs.run(&task))));
    }
    std::ptr::null_mut() // done
}

extern "C" fn finish(_jobs: *mut c_void, _handle: *mut c_void) {}

pub(crate) fn describe<J: JobSystem>(desc: &mut sys::synfire_context_desc, jobs: &'static J, n_threads: i32) {
    desc.n_threads = n_threads;
    desc.enqueue_task = Some(enqueue::<J>);
    desc.finish_task = Some(finish);
    desc.job_system = jobs as *const J as *mut c_void;
}
