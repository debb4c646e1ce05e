//! A network that one watches while it learns. It shows how far it is on the error stream, and prints exactly what
//! docs/examples/watch.c prints.
use std::time::Instant;
use synfire::operations::LossKind;
use synfire::*;

const INPUTS: u32 = 41;
const CLASSES: u32 = 3;
const ROWS: u32 = 99;
const BATCH: i64 = 33;
const ROUNDS: i32 = 10;
const BATCHES: i64 = 9;

/// Spikes per step. Every third input is more active; which ones depends on the class of the row.
fn rates(seed: u32) -> Vec<f32> {
    let base = |i| if i % INPUTS % CLASSES == i / INPUTS % CLASSES { 24 } else { 12 };
    (0..ROWS * INPUTS).map(|i| (base(i) + (seed.wrapping_mul(i) >> 28)) as f32 / 128.0).collect()
}

fn make(context: &Context) -> Result<Network> {
    let network = Network::builder(Steps(20)).batch(BATCH).create(context)?;
    network.add_input("rates", NetworkInput::Rates, INPUTS.into())?;
    network.add_synapse("first", 53)?;
    network.add_neurons("hidden", Model::Lif)?;
    network.add_synapse("second", CLASSES.into())?;
    network.add_neurons("potentials", Model::Li)?;
    network.add_readout("scores", Readout::Mean, false)?;
    network.add_loss("loss", LossKind::CrossEntropy)?;
    network.add_optimizer("adam", OptimizerKind::Adam, 0.005)?;
    network.keep("hidden.monitor first.monitor")?;
    network.build()?;
    Ok(network)
}

fn main() -> Result<()> {
    let context = Context::new()?; // a GPU if there is one, else the host
    let network = make(&context)?;
    let labels: Vec<u32> = (0..ROWS).map(|row| row % CLASSES).collect();
    network.set_labelled_data(Data::Training, &rates(2654435761), &labels)?;
    network.set_labelled_data(Data::Evaluation, &rates(2246822519), &labels)?;
    let start = Instant::now();
    let mut last = String::new();
    // [watch]
    for round in 1..=ROUNDS {
        let learnt = network.train(BATCHES)?;
        let (hidden, first) = (network.monitor("hidden", false)?, network.monitor("first", false)?); // of this call
        let tested = network.evaluate()?;
        last = format!(
            "loss {:.9}, other rows {:.9}, accuracy {:.4}, rate {:.9}, silent {:.4}, weights {:.9}, \
             gradients {:.9}",
            learnt.loss,
            tested.loss,
            tested.accuracy(),
            hidden.rate,
            hidden.silent,
            first.weight_norm,
            first.gradient_norm
        );
        let each = start.elapsed() / round as u32;
        eprint!(
            "\r{round} of {ROUNDS}, loss {:.4}, accuracy {:.4}, rate {:.4}, {:.0} rows/s, {:.1} s left ",
            learnt.loss,
            tested.accuracy(),
            hidden.rate,
            (BATCHES * BATCH) as f64 / each.as_secs_f64(),
            (each * (ROUNDS - round) as u32).as_secs_f64()
        );
    }
    eprintln!();
    // [watch]
    println!("{last}");
    Ok(())
}
