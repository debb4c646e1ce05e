//! Two threads, each a rank, learn one network together: it is the one that a single rank learns, with the same bits.
//! Processes that mpirun starts do the same: each then has `Communicator::builder().create(&context)`.
use std::thread;
use synfire::operations::LossKind;
use synfire::*;

const INPUTS: u32 = 41;
const CLASSES: u32 = 3;
const ROWS: u32 = 99;
const RANKS: i32 = 2;

fn rates(seed: u32) -> Vec<f32> {
    let base = |i| if i % INPUTS % CLASSES == i / INPUTS % CLASSES { 20 } else { 12 };
    (0..ROWS * INPUTS).map(|i| (base(i) + (seed.wrapping_mul(i) >> 28)) as f32 / 128.0).collect()
}

/// The last loss, and the network as a file.
fn learn(context: &Context, communicator: Option<&Communicator>) -> Result<(f64, Vec<u8>)> {
    let mut builder = Network::builder(Steps(20)).batch(30);
    if let Some(communicator) = communicator {
        builder = builder.communicator(communicator);
    }
    let network = builder.create(context)?;
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
    Ok((network.train(20)?.loss, network.save_to_memory()?))
}

fn learn_as(rank: i32) -> Result<(f64, Vec<u8>)> {
    let context = Context::builder().backend(Backend::Host).threads(1).create()?;
    let builder = Communicator::builder().transport(Transport::Loopback);
    let communicator = builder.rank(rank).size(RANKS).create(&context)?;
    let learnt = learn(&context, Some(&communicator));
    if learnt.is_err() {
        communicator.abort()?; // or the others would wait for this rank
    }
    learnt
}

fn main() -> Result<()> {
    let alone = learn(&Context::builder().backend(Backend::Host).create()?, None)?;
    let threads: Vec<_> = (0..RANKS).map(|rank| thread::spawn(move || learn_as(rank))).collect();
    for (rank, thread) in threads.into_iter().enumerate() {
        let (loss, file) = thread.join().expect("no rank panics")?;
        let same = if file == alone.1 { "the same file" } else { "ANOTHER FILE" };
        println!("rank {rank} of {RANKS}: loss {loss:.9}, {same}");
    }
    println!("alone: loss {:.9}", alone.0);
    Ok(())
}
