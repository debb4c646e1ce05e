//! Goes on with a training that another program has begun: resume FILE_IN FILE_OUT BATCHES [host | cuda]
//!
//! The network of FILE_IN is trained for BATCHES steps and becomes FILE_OUT; bindings/programs/resume.c says more.
use synfire::*;

const INPUTS: u32 = 41;
const CLASSES: u32 = 3;
const ROWS: u32 = 99;

fn rates() -> Vec<f32> {
    let base = |i| if i % INPUTS % CLASSES == i / INPUTS % CLASSES { 20 } else { 12 };
    (0..ROWS * INPUTS).map(|i| (base(i) + (2654435761u32.wrapping_mul(i) >> 28)) as f32 / 128.0).collect()
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let backend = if arguments.get(4).map_or(false, |name| name == "cuda") { Backend::Cuda } else { Backend::Host };
    let batches = arguments[3].parse().expect("a number of batches");
    let context = Context::builder().backend(backend).create()?;
    let network = Network::from_file(&context, &arguments[1])?;
    let labels: Vec<u32> = (0..ROWS).map(|row| row % CLASSES).collect();
    network.set_labelled_data(Data::Training, &rates(), &labels)?;
    let result = network.train(batches)?;
    network.save(&arguments[2])?;
    println!("{batches} batches, loss {:.9}", result.loss);
    Ok(())
}
