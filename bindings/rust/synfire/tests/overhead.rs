// overhead.rs - what a replay costs more than from C, and that it allocates nothing. Figures are those of a build with
// optimisation; without it they are printed only.
mod common;
use common::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Instant;
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

// Shorter than the slices of a scheduler: on a busy machine too, some rounds run without a break.
const REPLAYS: u32 = 2_000;
fn nanoseconds(mut replay: impl FnMut()) -> f64 {
    let begin = Instant::now();
    (0..REPLAYS).for_each(|_| replay());
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(REPLAYS)
}

/// The same graph is replayed through this crate and by the C functions themselves, in turns: the machine's moods meet
/// both. The C program's figure stands beside them.
#[test]
fn a_replay_costs_what_it_costs_in_c() {
    let context =
        Context::builder().backend(backend()).threads(i32::from(backend() == Backend::Host)).create().unwrap();
    let layer = Layer::builder(Steps(1), Neurons(1)).create(&context).unwrap();
    let x = layer.sequence::<f32>(Memory::Pinned).unwrap();
    let mut graph = Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&x).tape(Tape::None))).unwrap();
    let raw = graph.as_raw();
    let (mut rust, mut c_calls) = (f64::MAX, f64::MAX);
    for _ in 0..400 {
        rust = rust.min(nanoseconds(|| replay(&mut graph)));
        c_calls = c_calls.min(nanoseconds(|| {
            let mut ticket = 0;
            // SAFETY: a live graph, in flight nowhere else.
            unsafe {
                assert!(sys::synfire_graph_launch(raw, std::ptr::null_mut(), &mut ticket) >= 0);
                assert!(sys::synfire_graph_wait(raw, ticket, sys::SYNFIRE_WAIT_SPIN, -1) == 0);
            }
        }));
    }
    println!(
        "a replay and a wait: {rust:.1} ns from Rust, {c_calls:.1} ns by C's functions, {:.1} ns more",
        rust - c_calls
    );
    if std::env::var_os("SYNFIRE_PROGRAMS").is_some() && backend() == Backend::Host {
        println!("the C program: {} ns", c("bindings-overhead", &[]).trim());
    }
    // On a GPU a replay takes thousands of nanoseconds, and the figure is within their noise: it is printed only.
    let is_told_apart = backend() == Backend::Host && !cfg!(debug_assertions);
    // On a slower machine it is more of both.
    let allowed = f64::max(20.0, 0.15 * c_calls);
    assert!(!is_told_apart || rust - c_calls <= allowed, "allowed: {allowed:.1} ns more");
}
