// lent.rs - memory that the program lends: it stays until nothing reads it, even where no call names its buffer, and nobody
// writes it meanwhile. What this program's allocator gets back is spoilt at once, so that numbers read from it are wrong.
mod common;
use common::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::Arc;
use synfire::*;

struct Spoiling;
// SAFETY: forwards to the system's.
unsafe impl GlobalAlloc for Spoiling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        System.alloc(layout)
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        for i in 0..layout.size() {
            p.add(i).write_volatile(0xff);
        }
        System.dealloc(p, layout)
    }
}
#[global_allocator]
static ALLOCATOR: Spoiling = Spoiling;

const STEPS: usize = 16;
const NEURONS: usize = 64;

struct Rig {
    context: Context,
    layer: Layer,
    grad: Buffer<f32>,
    grad_x: Buffer<f32>,
}
impl Rig {
    // Memory of a vector is recorded on the host alone.
    fn new() -> Self {
        let context = Context::builder().backend(Backend::Host).create().unwrap();
        let layer = Layer::builder(Steps(STEPS as i64), Neurons(NEURONS as i64)).create(&context).unwrap();
        let grad = layer.sequence(Memory::Device).unwrap();
        grad.fill(1.0).unwrap();
        let grad_x = layer.sequence(Memory::Device).unwrap();
        Rig { context, layer, grad, grad_x }
    }
    fn values() -> Vec<f32> {
        (0..STEPS * NEURONS).map(|i| (i % 37) as f32 * 0.06).collect()
    }
    fn lend(&self) -> Buffer<f32> {
        Buffer::from_vec(&self.context, [STEPS, NEURONS], Self::values()).unwrap()
    }
    fn backward(&self) -> Backward<'_> {
        Backward::new().grad_spike_seq(&self.grad).grad_x_seq(&self.grad_x)
    }
    fn gradient(&self) -> Vec<f32> {
        self.grad_x.map().unwrap().to_vec()
    }
    // From a buffer of the library's own.
    fn expected(&self) -> Vec<f32> {
        let x = self.layer.sequence(Memory::Device).unwrap();
        x.write(&Self::values()).unwrap();
        self.layer.reset_state().unwrap();
        self.layer.forward(Forward::new(&x)).unwrap();
        self.layer.backward(&self.backward()).unwrap();
        let gradient = self.gradient();
        self.layer.forward(Forward::new(&x).tape(Tape::None)).unwrap();
        self.layer.reset_state().unwrap();
        self.grad_x.fill(-7.0).unwrap();
        gradient
    }
}
fn busy(error: Error) {
    assert_eq!((error.status, error.rule.as_str()), (Status::Busy, "SYN-RUST-HELD"), "{error}");
}

#[test]
fn a_vector_stays_for_the_backward() {
    let rig = Rig::new();
    let expected = rig.expected();
    let x = rig.lend();
    rig.layer.forward(Forward::new(&x)).unwrap();
    drop(x);
    rig.context.reclaim().unwrap();
    rig.layer.backward(&rig.backward()).unwrap();
    assert_eq!(rig.gradient(), expected);
}

#[test]
fn a_vector_stays_for_a_graph_of_the_backward_alone() {
    let rig = Rig::new();
    let expected = rig.expected();
    let x = rig.lend();
    rig.layer.forward(Forward::new(&x)).unwrap();
    let mut graph = Graph::record(&rig.context, |graph| graph.backward(&rig.layer, &rig.backward())).unwrap();
    drop(x);
    rig.context.reclaim().unwrap();
    for _ in 0..2 {
        replay(&mut graph);
        assert_eq!(rig.gradient(), expected);
        rig.grad_x.fill(-7.0).unwrap();
    }
}

#[test]
fn a_vector_stays_for_the_tape_of_a_replay() {
    let rig = Rig::new();
    let expected = rig.expected();
    let (x, other) = (rig.lend(), rig.lend());
    let mut graph = Graph::record(&rig.context, |graph| graph.forward(&rig.layer, Forward::new(&x))).unwrap();
    replay(&mut graph);
    graph.rebind(&x, &other).unwrap();
    drop((x, other, graph));
    rig.context.reclaim().unwrap();
    rig.layer.backward(&rig.backward()).unwrap();
    assert_eq!(rig.gradient(), expected);
}

/// Returns true if the owner of a buffer's memory is still there.
struct Owner(Vec<f32>, Arc<AtomicUsize>);
impl Drop for Owner {
    fn drop(&mut self) {
        self.1.fetch_add(1, SeqCst);
    }
}

#[test]
fn an_owner_is_dropped_once_and_nothing_is_kept_for_ever() {
    let rig = Rig::new();
    let n_dropped = Arc::new(AtomicUsize::new(0));
    let lend = || {
        let mut owner = Owner(Rig::values(), n_dropped.clone());
        let data = owner.0.as_mut_ptr();
        // SAFETY: the owner has the memory, and nothing else looks at it.
        unsafe { Buffer::builder([STEPS, NEURONS]).memory(Memory::Host).lend(&rig.context, data, owner) }.unwrap()
    };
    let dropped = || {
        rig.context.reclaim().unwrap();
        n_dropped.load(SeqCst)
    };
    drop(lend());
    assert_eq!(dropped(), 1);
    let x = lend();
    rig.layer.forward(Forward::new(&x)).unwrap();
    drop(x);
    assert_eq!(dropped(), 1, "the tape is of it");
    let own = rig.layer.sequence::<f32>(Memory::Device).unwrap();
    rig.layer.forward(Forward::new(&own).tape(Tape::None)).unwrap();
    assert_eq!(dropped(), 2);
    // A layer and a graph that go let go.
    let x = lend();
    let mut graph = Graph::record(&rig.context, |graph| graph.forward(&rig.layer, Forward::new(&x))).unwrap();
    replay(&mut graph);
    drop(x);
    assert_eq!(dropped(), 2);
    drop(graph);
    assert_eq!(dropped(), 2);
    let Rig { context, layer, .. } = rig;
    drop(layer);
    context.reclaim().unwrap();
    assert_eq!(n_dropped.load(SeqCst), 3);
}

#[test]
fn an_owner_whose_buffer_is_refused_is_dropped() {
    let context = context();
    let n_dropped = Arc::new(AtomicUsize::new(0));
    let owner = || Owner(vec![0.0; 4], n_dropped.clone());
    let (mut first, second) = (owner(), owner());
    let data = first.0.as_mut_ptr();
    // SAFETY: nothing is created.
    unsafe {
        assert!(Buffer::<f32>::builder([2, 2]).memory(Memory::Host).row_pitch(1).lend(&context, data, first).is_err());
        assert!(Buffer::<f32>::builder([2, 2]).lend(&context, std::ptr::null_mut(), second).is_err());
    }
    assert_eq!(n_dropped.load(SeqCst), 2);
    reclaim().unwrap();
    assert_eq!(n_dropped.load(SeqCst), 2);
}

struct Panics(Vec<f32>);
impl Drop for Panics {
    fn drop(&mut self) {
        panic!("of the owner");
    }
}

#[test]
fn a_panic_of_an_owner_goes_no_further() {
    let context = context();
    let mut owner = Panics(vec![0.0; 4]);
    let data = owner.0.as_mut_ptr();
    // SAFETY: the owner has the memory, and nothing else looks at it.
    drop(unsafe { Buffer::builder([4]).memory(Memory::Host).lend(&context, data, owner) }.unwrap());
    reclaim().unwrap();
    assert!(Buffer::<f32>::zeros(&context, Memory::Host, [4]).is_ok());
}

/// Buffers that a backward reads are held, though no call names them.
#[test]
fn a_tape_is_a_reader() {
    let rig = Rig::new();
    let expected = rig.expected();
    let x = rig.lend();
    rig.layer.forward(Forward::new(&x)).unwrap();
    let mut graph = Graph::record(&rig.context, |graph| graph.backward(&rig.layer, &rig.backward())).unwrap();
    {
        let _map = x.map().unwrap();
        busy(rig.layer.backward(&rig.backward()).unwrap_err());
        busy(graph.launch().unwrap_err());
    }
    let ticket = graph.launch().unwrap();
    busy(x.map_mut().unwrap_err());
    busy(x.map().unwrap_err());
    assert!(graph.wait(ticket, Wait::Yield, None).unwrap());
    assert_eq!(rig.gradient(), expected);
    assert!(x.map().is_ok());
    // Another forward's X is held by the graph only while the tape is of that.
    let other = rig.lend();
    rig.layer.forward(Forward::new(&other)).unwrap();
    let _map = x.map().unwrap();
    rig.layer.backward(&rig.backward()).unwrap();
}

#[test]
fn a_launch_that_is_refused_holds_nothing_more() {
    let rig = Rig::new();
    let (x, other) = (rig.lend(), rig.lend());
    rig.layer.forward(Forward::new(&x)).unwrap();
    let mut graph = Graph::record(&rig.context, |graph| graph.backward(&rig.layer, &rig.backward())).unwrap();
    rig.layer.forward(Forward::new(&other)).unwrap();
    assert_eq!(graph.launch().unwrap_err().status, Status::StaleTape);
    rig.layer.forward(Forward::new(&x)).unwrap();
    let ticket = graph.launch().unwrap();
    assert!(other.map_mut().is_ok());
    busy(x.map_mut().unwrap_err());
    assert!(graph.wait(ticket, Wait::Yield, None).unwrap());
}

/// With H stored, X is free after the forward.
#[test]
fn a_tape_that_stores_h_reads_nothing() {
    let rig = Rig::new();
    let x = rig.lend();
    rig.layer.forward(Forward::new(&x).tape(Tape::Store)).unwrap();
    let mut graph = Graph::record(&rig.context, |graph| graph.backward(&rig.layer, &rig.backward())).unwrap();
    let tau = Buffer::<f32>::zeros(&rig.context, Memory::Device, [1]).unwrap();
    {
        let _map = x.map_mut().unwrap();
        rig.layer.backward(&rig.backward()).unwrap();
        replay(&mut graph);
        busy(rig.layer.backward(&rig.backward().grad_parameter("tau", &tau)).unwrap_err());
    }
}

#[test]
fn tapes_of_replays_are_readers() {
    let rig = Rig::new();
    let (x, other) = (rig.lend(), rig.lend());
    let mut graph = Graph::new(&rig.context).unwrap();
    graph.forward(&rig.layer, Forward::new(&x)).unwrap();
    let second = graph.forward(&rig.layer, Forward::new(&other)).unwrap();
    graph.instantiate().unwrap();
    replay(&mut graph);
    {
        let _map = x.map_mut().unwrap();
        rig.layer.backward(&rig.backward()).unwrap();
    }
    let map = other.map().unwrap();
    busy(rig.layer.backward(&rig.backward()).unwrap_err());
    drop(map);
    graph.set_enabled(second, false).unwrap();
    replay(&mut graph);
    {
        let _map = other.map_mut().unwrap();
        rig.layer.backward(&rig.backward()).unwrap();
    }
    let _map = x.map().unwrap();
    busy(rig.layer.backward(&rig.backward()).unwrap_err());
}

/// Launches of a graph that holds the backward alone, beside a thread that writes X: each works or is refused, and the
/// gradient is always one of a whole X.
#[test]
fn a_mapping_never_meets_a_backward() {
    let rig = Rig::new();
    let expected = rig.expected();
    let x = rig.lend();
    rig.layer.forward(Forward::new(&x)).unwrap();
    let mut graph = Graph::record(&rig.context, |graph| graph.backward(&rig.layer, &rig.backward())).unwrap();
    let (mapped, replayed, over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let values = Rig::values();
    std::thread::scope(|scope| {
        let _ends = Ends(&over);
        let writer = scope.spawn(|| {
            while !over.load(SeqCst) {
                if mapped.load(SeqCst) > replayed.load(SeqCst) + AHEAD {
                    std::thread::yield_now();
                    continue;
                }
                match x.map_mut() {
                    Ok(mut map) => {
                        map.fill(100.0);
                        std::thread::yield_now();
                        map.copy_from_slice(&values);
                        mapped.fetch_add(1, SeqCst);
                    }
                    Err(error) => busy(error),
                }
                std::thread::yield_now();
            }
        });
        while mapped.load(SeqCst).min(replayed.load(SeqCst)) < 200 && !writer.is_finished() {
            if replayed.load(SeqCst) > mapped.load(SeqCst) + AHEAD {
                std::thread::yield_now();
                continue;
            }
            match graph.launch() {
                Ok(ticket) => {
                    assert!(graph.wait(ticket, Wait::Yield, None).unwrap());
                    assert_eq!(rig.gradient(), expected);
                    replayed.fetch_add(1, SeqCst);
                }
                // Written between two launches: the tape is stale until the next forward.
                Err(error) if error.status == Status::StaleTape => {
                    rig.layer.reset_state().unwrap();
                    if let Err(error) = rig.layer.forward(Forward::new(&x)) {
                        busy(error);
                    }
                }
                Err(error) => busy(error),
            }
        }
    });
    let (mapped, replayed) = (mapped.into_inner(), replayed.into_inner());
    assert!(mapped.min(replayed) >= 200, "{mapped} mappings, {replayed} replays");
}
