// memory.rs - the program's heap and what hears messages. One test: both belong to the whole process.
mod common;
use std::alloc::{alloc, dealloc, Layout};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};
use std::sync::Mutex;
use synfire::*;

/// Counts, and refuses or panics at a request.
struct Counting {
    bytes: AtomicI64,
    requests: AtomicUsize,
    refused: AtomicUsize,
    panics: bool,
}
impl Counting {
    const fn new(panics: bool) -> Self {
        let (bytes, requests) = (AtomicI64::new(0), AtomicUsize::new(0));
        Counting { bytes, requests, refused: AtomicUsize::new(usize::MAX), panics }
    }
}
// SAFETY: the system's allocator.
unsafe impl HostMemory for Counting {
    fn allocate(&self, bytes: usize, alignment: usize, _tag: MemoryTag) -> *mut u8 {
        if self.requests.fetch_add(1, Relaxed) >= self.refused.load(Relaxed) {
            assert!(!self.panics, "a heap that fails");
            return null_mut();
        }
        self.bytes.fetch_add(bytes as i64, Relaxed);
        unsafe { alloc(Layout::from_size_align(bytes, alignment).unwrap()) }
    }
    fn release(&self, memory: *mut u8, bytes: usize, alignment: usize, _tag: MemoryTag) {
        self.bytes.fetch_sub(bytes as i64, Relaxed);
        unsafe { dealloc(memory, Layout::from_size_align(bytes, alignment).unwrap()) }
    }
}

fn work() -> Result<MemoryUse> {
    let context = Context::builder().backend(Backend::Host).threads(2).create()?;
    let layer = Layer::builder(Steps(5), Neurons(37)).create(&context)?;
    let x = layer.sequence::<f32>(Memory::Pinned)?;
    let spikes = layer.sequence::<f32>(Memory::Pinned)?;
    let mut step = Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&x).spikes(&spikes)))?;
    let ticket = step.launch()?;
    step.wait(ticket, Wait::Spin, None)?;
    assert!(layer.memory_use()?.layer_bytes > 0 && step.memory_use()?.graph_bytes > 0);
    context.memory_use()
}

#[test]
fn memory_and_messages() {
    static HEAP: Counting = Counting::new(false);
    static PANICKING: Counting = Counting::new(true);
    static LINES: Mutex<Vec<(LogLevel, String)>> = Mutex::new(Vec::new());
    fn hear(level: LogLevel, text: &str) {
        LINES.lock().unwrap().push((level, text.to_string()));
        panic!("a listener that fails");
    }
    static HEAR: fn(LogLevel, &str) = hear;

    set_log(&HEAR, LogLevel::Choice).unwrap();
    set_memory(Some(&HEAP)).unwrap();
    let held = work().unwrap();
    assert!(held.host_bytes > 0 && held.buffer_bytes > 0 && held.layer_bytes > 0, "{held:?}");
    assert_eq!(set_memory::<Counting>(None).map_err(|error| error.rule), Ok(()), "the call frees what was closed");
    assert_eq!(HEAP.bytes.load(Relaxed), 0);
    assert_eq!(memory_use().unwrap().host_blocks, 0);
    let lines = LINES.lock().map_or_else(|lines| lines.into_inner().clone(), |lines| lines.clone());
    let heard =
        |beginning: &str| lines.iter().any(|(level, text)| *level == LogLevel::Choice && text.starts_with(beginning));
    assert!(heard("context: host") && heard("graph: 1 operations"), "{lines:?}");
    reset_log().unwrap();

    set_memory(Some(&PANICKING)).unwrap();
    let context = Context::builder().backend(Backend::Host).threads(1).create().unwrap();
    assert_eq!(set_memory::<Counting>(None).unwrap_err().rule, "SYN-MEMORY-IN-USE");
    PANICKING.refused.store(PANICKING.requests.load(Relaxed), Relaxed);
    let error = Layer::builder(Steps(5), Neurons(37)).create(&context).unwrap_err();
    assert_eq!((error.status, error.rule.as_str()), (Status::OutOfMemory, "SYN-MEMORY-HOST"));
    drop(context);
    reclaim().unwrap();
    set_memory::<Counting>(None).unwrap();
    assert_eq!(PANICKING.bytes.load(Relaxed), 0);
}
