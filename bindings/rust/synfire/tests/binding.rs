// binding.rs - layout, lifetimes, bad input, and the replay's allocations.
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;
use synfire::*;

struct Counting;
thread_local!(static COUNT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
// SAFETY: forwards to the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        System.alloc(layout)
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        System.dealloc(p, layout)
    }
}
#[global_allocator]
static ALLOCATOR: Counting = Counting;
static ALONE: Mutex<()> = Mutex::new(()); // live handles are counted in the whole process
static SUM: AtomicU64 = AtomicU64::new(0);

fn host() -> Context {
    Context::builder().backend(Backend::Host).threads(1).create().unwrap()
}
fn step(context: &Context) -> (Layer, Buffer<f32>, Graph) {
    let layer = Layer::builder(4, 32).create(context).unwrap();
    let x = Buffer::<f32>::zeros(context, Memory::Pinned, 128).unwrap();
    let mut graph = Graph::new(context).unwrap();
    graph.forward(&layer, Forward::new(&x).tape(Tape::None)).unwrap();
    graph.instantiate().unwrap();
    (layer, x, graph)
}

#[test]
fn handles_are_send_and_sync() {
    fn both<T: Send + Sync>() {}
    both::<Context>();
    both::<Layer>();
    both::<Graph>();
    both::<Buffer<f32>>();
    both::<Error>();
}

#[test]
fn a_replay_allocates_nothing() {
    let _alone = ALONE.lock().unwrap();
    let context = host();
    let (_layer, _x, mut graph) = step(&context);
    let before = COUNT.with(|count| count.get());
    for _ in 0..1000 {
        let ticket = graph.launch().unwrap();
        assert!(graph.wait(ticket, Wait::Spin, None).unwrap());
    }
    assert_eq!(COUNT.with(|count| count.get()), before);
}

#[test]
fn a_layer_outlives_its_context() {
    let _alone = ALONE.lock().unwrap();
    let context = host();
    let layer = Layer::builder(4, 32).create(&context).unwrap();
    let x = Buffer::<f32>::zeros(&context, Memory::Pinned, 128).unwrap();
    context.close();
    layer.forward(Forward::new(&x).tape(Tape::None)).unwrap();
    layer.close();
    x.close();
    assert_eq!(live_handles(), 0);
}

#[test]
fn a_thousand_handles() {
    let _alone = ALONE.lock().unwrap();
    let context = host();
    let mut buffers: Vec<_> = (0..1000).map(|_| Buffer::<f32>::zeros(&context, Memory::Host, 8).unwrap()).collect();
    assert_eq!(live_handles(), 1001);
    buffers.drain(..500).for_each(Buffer::close);
    std::thread::spawn(move || drop(buffers)).join().unwrap();
    context.close();
    assert_eq!((live_handles(), reclaim().unwrap()), (0, 0));
}

#[test]
fn threads_replay_side_by_side() {
    let _alone = ALONE.lock().unwrap();
    let context = host();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (_layer, x, mut graph) = step(&context);
                for _ in 0..100 {
                    x.map_mut().unwrap().fill(1.0);
                    let ticket = graph.launch().unwrap();
                    assert!(graph.poll(ticket).unwrap());
                    SUM.fetch_add(1, Relaxed);
                }
            });
        }
    });
    assert_eq!(SUM.load(Relaxed), 400);
}

#[test]
fn what_is_held_is_refused() {
    let _alone = ALONE.lock().unwrap();
    let context = host();
    let (layer, x, mut graph) = step(&context);
    let map = x.map().unwrap();
    assert_eq!(graph.launch().unwrap_err().status, Status::Busy);
    assert_eq!(x.map_mut().err().unwrap().rule, "SYN-RUST-HELD");
    drop(map);
    let ticket = graph.launch().unwrap();
    assert_eq!(x.map().err().unwrap().status, Status::Busy);
    assert_eq!(layer.set_parameter("tau", &[3.0]).unwrap_err().status, Status::Busy);
    assert!(graph.wait(ticket, Wait::Yield, None).unwrap());
    assert!(x.map_mut().is_ok());
}

#[test]
fn bad_input() {
    let _alone = ALONE.lock().unwrap();
    let context = host();
    let (layer, x, mut graph) = step(&context);
    let refused = |error: Error| {
        assert!(error.status == Status::InvalidArgument && !error.text.is_empty() && !error.rule.is_empty(), "{error}")
    };
    refused(Layer::builder(-1, 8).create(&context).err().unwrap());
    refused(Buffer::<f32>::zeros(&context, Memory::Host, 0).err().unwrap());
    refused(Buffer::<f32>::with_dtype(&context, Memory::Host, DType::Bits, 8).err().unwrap());
    refused(Buffer::<f32>::zeros(&context, Memory::Unknown(77), 8).err().unwrap());
    refused(layer.set_parameter("t\0au", &[1.0]).unwrap_err());
    refused(layer.set_parameter("no such", &[1.0]).unwrap_err());
    refused(layer.set_parameter("tau", &[1.0, 2.0]).unwrap_err());
    refused(layer.read_state("v", &mut [0f64; 32]).unwrap_err());
    refused(layer.read_state("v", &mut [0f32; 31]).unwrap_err());
    refused(x.upload(100, &[0.0; 29]).unwrap_err());
    refused(graph.wait(99, Wait::Spin, None).unwrap_err());
    assert_eq!(graph.instantiate().unwrap_err().status, Status::WrongOrder);
    assert_eq!(Status::from_raw(-1234), Status::Unknown(-1234));
    assert_eq!(Status::StaleTape.name(), "SYNFIRE_ERROR_STALE_TAPE");
}
