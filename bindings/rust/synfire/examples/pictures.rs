//! Convolutions tell four shapes apart, which are drawn at any place. It prints exactly what docs/examples/pictures.c
//! prints.
use synfire::*;

/// A bar, a column, a frame or a cross of 7 x 7 pixels, and noise.
fn pixel(i: u32) -> f32 {
    let mixed = |k: u32| (k + 1).wrapping_mul(2654435761) >> 16;
    let row = i / 144;
    let (y, x) = ((i / 12 % 12).wrapping_sub(mixed(row) % 6), (i % 12).wrapping_sub(mixed(3 * row) % 6));
    let drawn = [y == 3, x == 3, y % 6 == 0 || x % 6 == 0, x == y || x.wrapping_add(y) == 6];
    ((if x < 7 && y < 7 && drawn[row as usize % 4] { 160 } else { 0 }) + mixed(i) % 64) as f32 / 256.0
}

fn main() -> Result<()> {
    let context = Context::new()?; // a GPU if there is one, else the host
    let network = Network::builder(Steps(10)).batch(32).create(&context)?;
    let input = network.stage("input", "in").set("kind", "rates");
    input.set("height", 12).set("width", 12).set("channels", 1).add()?;
    network.stage("conv2d", "conv1").set("output_channels", 12).set("kernel", 3).add()?;
    network.stage("normalization", "norm1").add()?;
    network.add_neurons("lif1", Model::Lif)?;
    network.stage("pool", "largest").set("kind", "max").set("window", 2).add()?;
    network.stage("conv2d", "conv2").set("output_channels", 12).set("kernel", 3).add()?;
    network.stage("normalization", "norm2").add()?;
    network.add_neurons("lif2", Model::Lif)?;
    network.add_synapse("to-shapes", 4)?;
    network.add_neurons("v", Model::Li)?;
    network.add_readout("scores", Readout::Mean, false)?;
    network.add_loss("loss", operations::LossKind::CrossEntropy)?;
    network.add_optimizer("adam", OptimizerKind::Adam, 0.01)?;
    network.build()?;
    let pictures: Vec<f32> = (0..512 * 144).map(pixel).collect();
    let shapes: Vec<u32> = (0..256).map(|row| row % 4).collect();
    network.set_labelled_data(Data::Training, &pictures[..256 * 144], &shapes)?;
    network.set_labelled_data(Data::Evaluation, &pictures[256 * 144..], &shapes)?;
    (0..5).try_for_each(|_| network.train(24).map(|result| println!("train: {result}")))?;
    network.evaluate().map(|result| println!("test: {result}"))
}
