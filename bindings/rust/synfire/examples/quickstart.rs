//! The shortest complete program: 128 leaky integrate-and-fire neurons, 16 steps a replay. Prints what
//! docs/examples/quickstart.c prints.
use std::time::Duration;
use synfire::*;

/// Something that changes, in place of a sensor.
fn read_sensor(x: &mut [f32]) {
    x.iter_mut().enumerate().for_each(|(i, x)| *x = 2.0 * (i % 128) as f32 / 128.0);
}

fn main() -> Result<()> {
    let (mut previous, mut seen, mut late_frames) = ([0u32; 64], 0u32, 0);
    let mut act = |spikes: &[u32]| seen += spikes.iter().map(|word| word.count_ones()).sum::<u32>();

    // [quickstart]
    let context = Context::new()?; // a GPU if one is available, otherwise the host
    let lif = Layer::builder(Steps(16), Neurons(128)).create(&context)?; // LIF, f32, hard reset: all defaults
    lif.set_parameter("tau", &[20.0])?; // in steps: one value, or one per neuron
    let x = lif.sequence::<f32>(Memory::Pinned)?; // x [16, 128]
    let spikes = lif.spikes(Memory::Pinned)?; // spikes [16, 4], 32 a word
    let forward = Forward::new(&x).spikes(&spikes); // the state continues from replay to replay
    let mut step = Graph::record(&context, |graph| graph.forward(&lif, forward))?; // the slow part
    for _ in 0..1000 {
        read_sensor(&mut x.map_mut()?);
        let ticket = step.launch()?; // one replay; then wait 1 ms at most
        let late = !step.wait(ticket, Wait::Spin, Some(Duration::from_millis(1)))?;
        if late {
            act(&previous); // a late frame is your decision
            step.wait(ticket, Wait::Spin, None)?; // before buffers are used again
        }
        previous.copy_from_slice(&spikes.map()?);
        if !late {
            act(&previous);
        }
        late_frames += u32::from(late);
    }
    // [quickstart]

    println!("1000 frames of 16 steps: {seen} spikes, {late_frames} late frames");
    Ok(())
}
