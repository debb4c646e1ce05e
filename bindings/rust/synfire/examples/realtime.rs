//! A tick each millisecond that never blocks: it reads the spikes of the replay before. As bindings/programs/realtime.c.
use std::time::{Duration, Instant};
use synfire::*;

fn main() -> Result<()> {
    let ticks: usize = std::env::args().nth(1).map_or(1000, |n| n.parse().expect("a number of ticks"));
    assert!(ticks > 0, "allowed: 1 tick or more");
    let context = Context::builder().backend(Backend::Host).create()?;
    let layer = Layer::builder(Steps(16), Neurons(128)).create(&context)?;
    layer.set_parameter("tau", &[4.0])?;
    let x = layer.sequence::<f32>(Memory::Pinned)?;
    let words = layer.spikes(Memory::Pinned)?;
    let forward = Forward::new(&x).spikes(&words).tape(Tape::None);
    let mut step = Graph::record(&context, |graph| graph.forward(&layer, forward))?;

    let (mut ticket, mut spikes, mut late) = (0u64, 0u64, 0);
    let mut taken = vec![Duration::ZERO; ticks];
    let start = Instant::now();
    for (tick, taken) in taken.iter_mut().enumerate() {
        let due = start + Duration::from_millis(tick as u64);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let begin = Instant::now();
        if ticket > 0 && !step.poll(ticket)? {
            late += 1;
        } else {
            if ticket > 0 {
                spikes += words.map()?.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            }
            for (i, x) in x.map_mut()?.iter_mut().enumerate() {
                *x = ((ticket * 16 + (i / 128) as u64 + 3 * (i % 128) as u64) % 96) as f32 / 32.0;
            }
            ticket = step.launch()?;
        }
        *taken = begin.elapsed();
    }
    taken.sort();
    let us = |at: usize| taken[at].as_secs_f64() * 1e6;
    println!("{ticket} replays, {spikes} spikes read");
    println!(
        "tick: p50 {:.1} us, p99 {:.1} us, max {:.1} us; {late} late",
        us((ticks - 1) / 2),
        us((ticks - 1) * 99 / 100),
        us(ticks - 1)
    );
    Ok(())
}
