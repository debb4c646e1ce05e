//! A trained body with a new head, the rate of a schedule, and the best of all weights. It prints exactly what
//! docs/examples/tuning.c prints.
use synfire::operations::{LossKind, Schedule};
use synfire::*;

const INPUTS: u32 = 41;
const CLASSES: u32 = 3;
const ROWS: u32 = 99;

/// Spikes per step. Every third input is more active; which ones depends on the row.
fn rates(seed: u32) -> Vec<f32> {
    let base = |i| if i % INPUTS % CLASSES == i / INPUTS % CLASSES { 20 } else { 12 };
    (0..ROWS * INPUTS).map(|i| (base(i) + (seed.wrapping_mul(i) >> 28)) as f32 / 128.0).collect()
}

fn make(context: &Context, classes: u32) -> Result<Network> {
    let network = Network::builder(Steps(20)).batch(30).create(context)?;
    network.add_input("rates", NetworkInput::Rates, INPUTS.into())?;
    network.add_synapse("first", 53)?;
    network.add_neurons("hidden", Model::Lif)?;
    network.add_synapse("head", classes.into())?;
    network.add_neurons("potentials", Model::Li)?;
    network.add_readout("scores", Readout::Mean, false)?;
    network.add_loss("loss", LossKind::CrossEntropy)?;
    network.add_optimizer("adam", OptimizerKind::Adam, 0.01)?;
    network.set("adam", "warmup_steps", 8)?;
    network.set("adam", "schedule", Schedule::Step)?;
    network.set("adam", "schedule_steps", 40)?;
    network.set("adam", "schedule_factor", 0.5)?;
    network.build()?;
    let labels: Vec<u32> = (0..ROWS).map(|row| row % CLASSES % classes).collect();
    network.set_labelled_data(Data::Training, &rates(2654435761), &labels)?;
    network.set_labelled_data(Data::Evaluation, &rates(2246822519), &labels)?;
    Ok(network)
}

fn print(what: &str, result: NetworkResult) -> f64 {
    println!("{what}: loss {:.9}", result.loss);
    result.loss
}

fn main() -> Result<()> {
    let context = Context::new()?; // a GPU if there is one, else the host
    let body = make(&context, CLASSES)?;
    print("body", body.train(40)?);
    body.save("body.safetensors")?;
    // [fine tuning]
    let network = make(&context, 2)?; // with a new head
    network.load_arrays("body.safetensors", &["first.weights".into(), "first.bias".into()], false)?;
    network.set("first", "frozen", true)?;
    print("head", network.train(20)?);
    network.set("first", "frozen", false)?; // then all of it, the body slowly
    network.set("first", "learning_rate_factor", 0.1)?;
    print("both", network.train(20)?);
    // [fine tuning]
    // [best]
    let (mut best, mut file, mut worse) = (f64::INFINITY, vec![], 0);
    while worse < 2 {
        // until two epochs in a row were no better
        network.train_epoch()?;
        let loss = print("epoch", network.evaluate()?);
        worse = if loss < best { 0 } else { worse + 1 };
        if worse == 0 {
            (best, file) = (loss, network.save_to_memory()?);
        }
    }
    network.load_from_memory(&file)?;
    // [best]
    print("best", network.evaluate()?);
    Ok(())
}
