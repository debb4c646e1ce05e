//! A classifier of two layers, trained by operations that are recorded one by one; prints exactly what
//! docs/examples/classifier.c prints.
//!
//! Three classes of 40 firing rates each, 30 samples in a batch. In every replay the rates become new spikes; a synapse
//! and LIF neurons make 50 spike trains of them, another synapse and three leaky integrators the scores of the classes,
//! whose mean over time is the prediction. The rest of the step is the cross-entropy, all gradients, and Adam. The
//! program only launches, and prints the loss and the number of correct predictions.
use synfire::operations::*;
use synfire::*;

const INPUTS: usize = 40;
const HIDDEN: usize = 50;
const CLASSES: usize = 3;
const STEPS: usize = 20;
const BATCH: usize = 30;
const T: Steps = Steps(STEPS as i64);
const B: i64 = BATCH as i64;

/// Each class has a rate for each input, from 0 to 0.5: Knuth's 64-bit linear congruential generator (MMIX).
fn write_samples(rates: &mut [f32], labels: &mut [u32]) {
    let mut seed = 1u64;
    let mut next = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        0.5 * (seed >> 40) as f32 / 16777216.0
    };
    let of_class: Vec<f32> = (0..CLASSES * INPUTS).map(|_| next()).collect();
    for (b, rates) in rates.chunks_mut(INPUTS).enumerate() {
        labels[b] = (b % CLASSES) as u32;
        rates.copy_from_slice(&of_class[b % CLASSES * INPUTS..][..INPUTS]);
    }
}

fn main() -> Result<()> {
    let context = Context::builder().backend(Backend::Host).create()?;
    let synapse = |n_inputs: usize, n_outputs: usize, seed| {
        Synapse::builder(n_inputs as i64, n_outputs as i64).bias(true).gain(2.0).seed(seed).create(&context)
    };
    let layer = |model, n: usize| Layer::builder(T, Neurons(n as i64)).batch(B).model(model).create(&context);
    let (first, second) = (synapse(INPUTS, HIDDEN, 1)?, synapse(HIDDEN, CLASSES, 2)?);
    let (hidden, readout) = (layer(Model::Lif, HIDDEN)?, layer(Model::Li, CLASSES)?);
    let adam = Optimizer::builder().kind(OptimizerKind::Adam).learning_rate(0.02).create(&context)?;
    for synapse in [&first, &second] {
        adam.add_weights(synapse, 1.0, 1.0)?;
        adam.add_bias(synapse, 1.0, 0.0)?;
    }

    let rates = Buffer::<f32>::zeros(&context, Memory::Pinned, [BATCH, INPUTS])?;
    let labels = Buffer::<u32>::with_dtype(&context, Memory::Pinned, DType::U32, BATCH)?;
    write_samples(&mut rates.map_mut()?, &mut labels.map_mut()?);
    let samples = Buffer::<u32>::zeros(&context, Memory::Pinned, [STEPS, BATCH, (INPUTS + 31) / 32])?;
    let (spikes, grad_spikes) = (hidden.spikes(Memory::Pinned)?, hidden.sequence::<f32>(Memory::Pinned)?);
    let v = || readout.sequence::<f32>(Memory::Pinned);
    let state = |layer: &Layer| layer.state::<f32>(Memory::Pinned);
    let (v, grad_v, scores, grad_scores) = (v()?, v()?, state(&readout)?, state(&readout)?);
    let rest = (state(&hidden)?, state(&readout)?); // 0: every replay starts at rest
    let loss = Buffer::<f32>::zeros(&context, Memory::Pinned, 1)?;
    let correct = Buffer::<u32>::with_dtype(&context, Memory::Pinned, DType::U32, 1)?;

    let n_classes = Neurons(CLASSES as i64);
    let mut step = Graph::record(&context, |step| {
        EncodeBernoulli::new(&rates, &samples, T, Neurons(INPUTS as i64)).batch(B).record(step)?;
        step.forward(&hidden, Forward::with_synapse(&first, &samples).spikes(&spikes).v_init(&rest.0))?;
        step.forward(&readout, Forward::with_synapse(&second, &spikes).v_init(&rest.1).v_seq(&v))?;
        Reduce::new(&v, &scores, T, n_classes).reduction(ReduceKind::Mean).batch(B).record(step)?;
        let entropy = Loss::new(&scores, &labels, CLASSES as i64).batch(B);
        entropy.loss(&loss).n_correct(&correct).gradient(&grad_scores).record(step)?;
        ReduceBackward::new(&grad_scores, &grad_v, T, n_classes).reduction(ReduceKind::Mean).batch(B).record(step)?;
        step.backward(&readout, &Backward::new().grad_v_seq(&grad_v).grad_synapse_input(&grad_spikes))?;
        step.backward(&hidden, &Backward::new().grad_spike_seq(&grad_spikes))?;
        OptimizerStep::new().record(step, &adam)
    })?;

    for epoch in 0..40 {
        let ticket = step.launch()?;
        step.wait(ticket, Wait::Spin, None)?;
        println!("{epoch} {:08x} {}", loss.map()?[0].to_bits(), correct.map()?[0]);
    }
    let mut weights = [0f32; CLASSES * HIDDEN];
    second.read("weight", &mut weights)?;
    weights.iter().for_each(|weight| println!("{:08x}", weight.to_bits()));
    Ok(())
}
