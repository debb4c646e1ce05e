//! Two inputs, a block with a shortcut around it, and two heads. It prints exactly what docs/examples/senses.c prints.
use synfire::*;

/// Rates of 24 inputs, of which every n-th depends on the class of the row.
fn rates(n: usize, labels: &[u32]) -> Vec<f32> {
    let base = |k: usize| if k % 24 % n == labels[k / 24] as usize { 48 } else { 12 };
    (0..96 * 24).map(|k| (base(k) + (2654435761u32.wrapping_mul(k as u32) >> 28)) as f32 / 128.0).collect()
}

fn main() -> Result<()> {
    let context = Context::new()?; // a GPU if there is one, else the host
    let network = Network::builder(Steps(20)).batch(32).create(&context)?;
    for (input, synapse, neurons) in [("sound", "cochlea", "ear"), ("touch", "nerve", "skin")] {
        network.add_input(input, NetworkInput::Rates, 24)?;
        network.add_synapse(synapse, 24)?;
        network.add_neurons(neurons, Model::Lif)?;
    }
    network.stage("concatenate", "both").reads("ear").reads("skin").add()?;
    network.add_synapse("inner", 48)?;
    network.add_neurons("block", Model::Lif)?;
    network.stage("sum", "state").reads("block").reads("both").add()?; // the shortcut goes around the block
    for (head, n) in [("what", 3), ("where", 2)] {
        network.stage("synapse", &format!("to-{head}")).reads("state").set("n_outputs", n).add()?;
        network.add_neurons(&format!("{head}-v"), Model::Li)?;
        network.add_readout(head, Readout::Mean, false)?;
        network.stage("loss", &format!("{head}-loss")).set("kind", "cross_entropy").add()?;
    }
    network.add_optimizer("adam", OptimizerKind::Adam, 0.01)?;
    network.build()?;
    let classes: [Vec<u32>; 2] = [(0..96).map(|r| r % 3).collect(), (0..96).map(|r| r / 3 % 2).collect()];
    let (sound, touch) = (rates(3, &classes[0]), rates(2, &classes[1]));
    let inputs = [("sound", Rows::Inputs(&sound)), ("touch", Rows::Inputs(&touch))];
    let labels = [("what-loss", Rows::Labels(&classes[0])), ("where-loss", Rows::Labels(&classes[1]))];
    network.set_rows(Data::Training, 96, &[inputs, labels].concat())?;
    for of in (0..5).flat_map(|_| network.train_stages(15, &["what-loss", "where-loss"]).unwrap().1) {
        println!("{} {:.9}, {} of 480", of.stage, of.loss, of.n_correct);
    }
    Ok(())
}
