//! Thresholds that learn when to fire; prints exactly what bindings/programs/train.c prints.
//!
//! A teacher with a threshold for each neuron says at which steps each of them should fire. One graph holds the whole step:
//! forward, dL/dS = 2 S - 2 wanted, backward, and the update of the thresholds. Between replays the program looks at the
//! spikes, to print the loss, and lowers the learning rate.
use synfire::*;

const N: usize = 128;
const T: usize = 64;

/// Noise in [0, 3): the upper 24 bits of Knuth's 64-bit linear congruential generator (MMIX).
fn write_noise(x: &mut [f32]) {
    let mut seed = 1u64;
    for x in x {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *x = 3.0 * (seed >> 40) as f32 / 16777216.0;
    }
}

fn main() -> Result<()> {
    let context = Context::builder().backend(Backend::Host).create()?;
    let layer = Layer::builder(Steps(T as i64), Neurons(N as i64)).detach_reset(true).create(&context)?;
    layer.set_parameters(&[("tau", &[4.0]), ("alpha", &[1.5])])?;
    let sequence = || layer.sequence::<f32>(Memory::Pinned);
    let (x, spikes, wanted, grad_spikes) = (sequence()?, sequence()?, sequence()?, sequence()?);
    let rest = layer.state::<f32>(Memory::Pinned)?;
    let grad_threshold = layer.state::<f32>(Memory::Pinned)?;
    let forward = Forward::new(&x).spikes(&spikes).v_init(&rest);

    write_noise(&mut x.map_mut()?);
    let teacher: Vec<f64> = (0..N).map(|n| 0.6 + 0.8 * n as f64 / N as f64).collect();
    layer.set_parameter("v_threshold", &teacher)?;
    layer.forward(forward.clone())?;
    wanted.write(&spikes.map()?)?;

    let mut learning_rate = 0.04;
    layer.set_parameter("v_threshold", &[1.0; N])?;
    let mut step = Graph::new(&context)?;
    step.forward(&layer, forward)?;
    step.scale_add(2.0, &spikes, 0.0, &grad_spikes)?;
    step.scale_add(-2.0, &wanted, 1.0, &grad_spikes)?;
    step.backward(
        &layer,
        &Backward::new().grad_spike_seq(&grad_spikes).grad_parameter("v_threshold", &grad_threshold),
    )?;
    let learn = step.update_parameter(&layer, Update::new("v_threshold", &grad_threshold, learning_rate))?;
    step.instantiate()?;

    for epoch in 0..60 {
        let ticket = step.launch()?;
        step.wait(ticket, Wait::Spin, None)?;
        let loss = spikes.map()?.iter().zip(wanted.map()?.iter()).filter(|(s, wanted)| s != wanted).count();
        println!("{epoch} {loss}");
        learning_rate *= 0.95;
        step.set_value(learn, "learning_rate", learning_rate)?;
    }
    let mut threshold = [0.0; N];
    layer.parameter("v_threshold", &mut threshold)?;
    threshold.iter().for_each(|p| println!("{:016x}", p.to_bits()));
    Ok(())
}
