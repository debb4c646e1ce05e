//! Measures a replay and a wait from Rust, and by C's functions themselves: the same graph, in turns, so that the machine's
//! moods meet both. Prints the smallest mean of each in nanoseconds, for bindings/overhead.py, which judges.
use std::time::Instant;
use synfire::*;

/// Shorter than the slices of a scheduler: on a busy machine too, some rounds run without a break.
const REPLAYS: u32 = 2_000;

fn nanoseconds(mut replay: impl FnMut()) -> f64 {
    let begin = Instant::now();
    (0..REPLAYS).for_each(|_| replay());
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(REPLAYS)
}

fn main() -> Result<()> {
    let context = Context::builder().backend(Backend::Host).threads(1).create()?;
    let layer = Layer::builder(Steps(1), Neurons(1)).create(&context)?;
    let x = layer.sequence::<f32>(Memory::Pinned)?;
    let mut graph = Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&x).tape(Tape::None)))?;
    let raw = graph.as_raw();
    let (mut rust, mut c) = (f64::MAX, f64::MAX);
    for _ in 0..400 {
        rust = rust.min(nanoseconds(|| {
            let ticket = graph.launch().unwrap();
            assert!(graph.wait(ticket, Wait::Spin, None).unwrap());
        }));
        c = c.min(nanoseconds(|| {
            let mut ticket = 0;
            // SAFETY: a live graph, in flight nowhere else.
            unsafe {
                assert!(sys::synfire_graph_launch(raw, std::ptr::null_mut(), &mut ticket) >= 0);
                assert!(sys::synfire_graph_wait(raw, ticket, sys::SYNFIRE_WAIT_SPIN, -1) == 0);
            }
        }));
    }
    println!("replay {rust:.1}\nc {c:.1}");
    Ok(())
}
