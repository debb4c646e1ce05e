// overhead.rs - what a replay does beside the calls of the C functions: it allocates nothing, and a graph replayed by them
// gives the same. Nanoseconds are measured by benches/overhead.rs.
mod common;
use common::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use synfire::*;

struct Counting;
thread_local!(static BYTES: Cell<usize> = const { Cell::new(0) });
// SAFETY: forwards to the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + layout.size()));
        System.alloc(layout)
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        System.dealloc(p, layout)
    }
}
#[global_allocator]
static ALLOCATOR: Counting = Counting;
fn allocated(work: impl FnOnce()) -> usize {
    let before = BYTES.with(Cell::get);
    work();
    BYTES.with(Cell::get) - before
}

#[test]
fn a_replay_allocates_nothing() {
    let context = context();
    let (layer, x, mut graph) = step(&context);
    replay(&mut graph);
    let bytes = allocated(|| {
        for i in 0..10_000 {
            x.map_mut().unwrap()[0] = i as f32;
            let ticket = graph.launch().unwrap();
            let _ = graph.poll(ticket).unwrap();
            assert!(graph.wait(ticket, Wait::Spin, Some(std::time::Duration::from_secs(60))).unwrap());
            assert_eq!(x.map().unwrap().at([0, 0]), i as f32);
            layer.set_parameter("tau", &[2.0]).unwrap();
        }
    });
    assert_eq!(bytes, 0);
    assert_eq!(allocated(|| drop(vec![0u8; 50_000])), 50_000, "the counter counts");
}

/// The crate's replay is the launch and the wait of C: tickets and spikes are the same.
#[test]
fn a_replay_is_two_calls_of_c() {
    let context = context();
    let run = |replay: &dyn Fn(&mut Graph) -> u64| {
        let layer = Layer::builder(Steps(4), Neurons(32)).create(&context).unwrap();
        let (x, spikes) = (layer.sequence::<f32>(Memory::Pinned).unwrap(), layer.spikes(Memory::Pinned).unwrap());
        let forward = Forward::new(&x).spikes(&spikes).tape(Tape::None);
        let mut graph = Graph::record(&context, |graph| graph.forward(&layer, forward)).unwrap();
        let mut seen = Vec::new();
        for i in 0..100 {
            x.map_mut().unwrap().iter_mut().enumerate().for_each(|(n, x)| *x = 0.02 * ((i + n) % 100) as f32);
            assert_eq!(replay(&mut graph), i as u64 + 1);
            seen.extend_from_slice(&spikes.map().unwrap());
        }
        seen
    };
    let ours = run(&|graph| {
        let ticket = graph.launch().unwrap();
        assert!(graph.wait(ticket, Wait::Spin, None).unwrap());
        ticket
    });
    let theirs = run(&|graph| {
        let (raw, mut ticket) = (graph.as_raw(), 0);
        // SAFETY: a live graph, in flight nowhere else.
        unsafe {
            assert!(sys::synfire_graph_launch(raw, std::ptr::null_mut(), &mut ticket) >= 0);
            assert!(sys::synfire_graph_wait(raw, ticket, sys::SYNFIRE_WAIT_SPIN, -1) == 0);
        }
        ticket
    });
    assert!(ours == theirs && ours.iter().any(|word| *word != 0));
}
