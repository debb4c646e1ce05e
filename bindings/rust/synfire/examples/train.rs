//! Thresholds that learn how often to fire; prints exactly what bindings/programs/train.c prints.
use synfire::*;

const N: usize = 128;
const T: usize = 64;

fn counts(words: &[u32]) -> [i64; N] {
    let mut counts = [0; N];
    for t in 0..T {
        (0..N).for_each(|n| counts[n] += i64::from(words[t * N / 32 + n / 32] >> (n % 32) & 1));
    }
    counts
}

fn main() -> Result<()> {
    let context = Context::builder().backend(Backend::Host).create()?;
    let layer = Layer::builder(T as i64, N as i64).create(&context)?;
    layer.set_parameter("tau", &[4.0])?;
    let x = Buffer::<f32>::zeros(&context, Memory::Pinned, N * T)?;
    let words = Buffer::<u32>::zeros(&context, Memory::Pinned, N * T / 32)?;
    let rest = Buffer::<f32>::zeros(&context, Memory::Pinned, N)?;
    let grad_spikes = Buffer::<f32>::zeros(&context, Memory::Pinned, N * T)?;
    let grad_threshold = Buffer::<f32>::zeros(&context, Memory::Pinned, N)?;
    let mut step = Graph::new(&context)?;
    step.forward(&layer, Forward::new(&x).spikes(&words).v_init(&rest))?;
    step.backward(
        &layer,
        &Backward::new().grad_spike_seq(&grad_spikes).grad_parameter("v_threshold", &grad_threshold),
    )?;
    step.instantiate()?;

    let mut seed = 1u64;
    for x in x.map_mut()?.iter_mut() {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *x = 3.0 * (seed >> 40) as f32 / 16777216.0;
    }
    let mut replay = |threshold: &[f64]| -> Result<[i64; N]> {
        layer.set_parameter("v_threshold", threshold)?;
        let ticket = step.launch()?;
        step.wait(ticket, Wait::Spin, None)?;
        Ok(counts(&words.map()?))
    };
    let teacher: Vec<f64> = (0..N).map(|n| 0.6 + 0.8 * n as f64 / N as f64).collect();
    let wanted = replay(&teacher)?;
    let mut threshold = [1.0; N];
    for epoch in 0..60 {
        let counted = replay(&threshold)?;
        if epoch > 0 {
            // The gradient is that of the replay before.
            threshold.iter_mut().zip(grad_threshold.map()?.iter()).for_each(|(p, g)| *p -= 0.0002 * f64::from(*g));
        }
        let mut loss = 0;
        let mut gradient = grad_spikes.map_mut()?;
        for n in 0..N {
            let error = counted[n] - wanted[n];
            loss += error * error;
            (0..T).for_each(|t| gradient[t * N + n] = 2.0 * error as f32);
        }
        println!("{epoch} {loss}");
    }
    threshold.iter().for_each(|p| println!("{:016x}", p.to_bits()));
    Ok(())
}
