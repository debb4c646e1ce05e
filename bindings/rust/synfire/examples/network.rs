//! A classifier of two layers: defined, trained, evaluated, saved and loaded. It prints exactly what
//! docs/examples/network.c prints.
use synfire::operations::LossKind;
use synfire::*;

const INPUTS: u32 = 41;
const CLASSES: u32 = 3;
const ROWS: u32 = 99;

/// Spikes per step. Every third input is more active; which ones depends on the class of the row.
fn rates(seed: u32) -> Vec<f32> {
    let base = |i| if i % INPUTS % CLASSES == i / INPUTS % CLASSES { 20 } else { 12 };
    (0..ROWS * INPUTS).map(|i| (base(i) + (seed.wrapping_mul(i) >> 28)) as f32 / 128.0).collect()
}

fn main() -> Result<()> {
    let context = Context::new()?; // a GPU if there is one, else the host
    let network = Network::builder(Steps(20)).batch(30).create(&context)?;
    network.add_input("rates", NetworkInput::Rates, INPUTS.into())?;
    network.add_synapse("first", 53)?;
    network.add_neurons("hidden", Model::Lif)?;
    network.add_synapse("second", CLASSES.into())?;
    network.add_neurons("potentials", Model::Li)?;
    network.add_readout("scores", Readout::Mean, false)?;
    network.add_loss("loss", LossKind::CrossEntropy)?;
    network.add_optimizer("adam", OptimizerKind::Adam, 0.01)?;
    network.build()?;
    let labels: Vec<u32> = (0..ROWS).map(|row| row % CLASSES).collect();
    network.set_labelled_data(Data::Training, &rates(2654435761), &labels)?;
    network.set_labelled_data(Data::Evaluation, &rates(2246822519), &labels)?;
    for _ in 0..5 {
        println!("5 epochs: {}", network.train(20)?);
    }
    println!("other rows: {}", network.evaluate()?);
    network.save("network.safetensors")?;
    let loaded = Network::from_file(&context, "network.safetensors")?;
    loaded.set_labelled_data(Data::Evaluation, &rates(2246822519), &labels)?;
    println!("loaded: {}", loaded.evaluate()?);
    Ok(())
}
