//! The shortest complete program: 128 leaky integrate-and-fire neurons, 16 steps a replay. Prints what
//! docs/examples/quickstart.c prints.
use std::time::Duration;
use synfire::*;

fn main() -> Result<()> {
    let context = Context::new()?; // a GPU when one answers, else the host
    let lif = Layer::builder(16, 128).create(&context)?;
    lif.set_parameter("tau", &[20.0])?; // in steps: one value, or one per neuron
    let x = Buffer::<f32>::zeros(&context, Memory::Pinned, 16 * 128)?;
    let spikes = Buffer::<u32>::zeros(&context, Memory::Pinned, 16 * 4)?; // 32 neurons a word
    let mut step = Graph::new(&context)?;
    step.forward(&lif, Forward::new(&x).spikes(&spikes))?; // the state continues from replay to replay
    step.instantiate()?; // everything slow happens here

    let (mut previous, mut seen, mut late_frames) = ([0u32; 64], 0u32, 0);
    for _ in 0..1000 {
        x.map_mut()?.iter_mut().enumerate().for_each(|(i, x)| *x = 2.0 * (i % 128) as f32 / 128.0);
        let ticket = step.launch()?; // one replay of the whole step; then wait 1 ms at most
        let late = !step.wait(ticket, Wait::Spin, Some(Duration::from_millis(1)))?;
        if late {
            seen += previous.iter().map(|word| word.count_ones()).sum::<u32>(); // a late frame is your decision
            step.wait(ticket, Wait::Spin, None)?; // before buffers are used again
        }
        previous.copy_from_slice(&spikes.map()?);
        seen += if late { 0 } else { previous.iter().map(|word| word.count_ones()).sum() };
        late_frames += u32::from(late);
    }
    println!("1000 frames of 16 steps: {seen} spikes, {late_frames} late frames");
    Ok(())
}
