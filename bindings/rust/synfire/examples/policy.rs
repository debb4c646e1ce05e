//! A policy gradient: sixteen carts on a line learn to come to rest in the middle. The loss is the program's own. It
//! prints exactly what docs/examples/policy.c prints.
use synfire::*;

const CARTS: usize = 16;
const TICKS: usize = 24;

/// Numbers from 0 to 1, the same in every language.
fn drawn(state: &mut u32) -> f64 {
    *state = state.wrapping_mul(1664525).wrapping_add(1013904223);
    f64::from(*state >> 8) / 16777216.0
}
/// The probability of a push to the right, and its slope.
fn right(z: f32) -> (f64, f64) {
    let z = f64::from(z);
    let size = 1.0 + z.abs();
    (0.5 + 0.5 * (z / size), 0.5 / (size * size))
}

fn replay(graph: &mut Graph) -> Result<()> {
    let ticket = graph.launch()?;
    graph.wait(ticket, Wait::Spin, None).map(drop)
}

fn main() -> Result<()> {
    let context = Context::new()?; // a GPU if there is one, else the host
    let network = Network::builder(Steps(8)).batch(CARTS as i64).own_loss(OwnLoss::Starts).create(&context)?;
    network.stage("input", "cart").set("kind", "values").set("n_features", 2).set("n_steps", 1).add()?;
    network.add_synapse("first", 32)?;
    network.set("first", "gain", 3)?;
    network.add_neurons("hidden", Model::Lif)?;
    network.add_synapse("second", 1)?;
    network.add_neurons("potential", Model::Li)?;
    network.add_readout("push", Readout::Mean, false)?;
    network.add_optimizer("adam", OptimizerKind::Adam, 0.003)?;
    network.build()?;
    let mut forward = network.graph(NetworkGraph::Forward)?;
    let mut backward = network.graph(NetworkGraph::Backward)?;
    let (input, output) = (network.buffer::<f32>("input")?, network.buffer::<f32>("output")?);
    let gradient = network.buffer::<f32>("push.gradient")?;
    let mut look = |frame: &[f32]| -> Result<Vec<(f64, f64)>> {
        input.map_mut()?.copy_from_slice(frame);
        replay(&mut forward)?;
        Ok(output.map()?.iter().map(|&z| right(z)).collect())
    };
    let (mut state, mut sum, mut baseline) = (1, 0.0, [0.0; TICKS]);
    for episode in 1..=300 {
        let mut carts: Vec<_> = (0..CARTS).map(|_| (2.0 * drawn(&mut state) - 1.0, drawn(&mut state) - 0.5)).collect();
        let (mut frames, mut pushes, mut rewards) = (vec![], vec![], vec![]);
        for _ in 0..TICKS {
            let frame: Vec<f32> = carts.iter().flat_map(|&(x, v)| [x as f32, v as f32]).collect();
            let pushed: Vec<bool> = look(&frame)?.iter().map(|&(p, _)| drawn(&mut state) < p).collect();
            for ((x, v), &push) in carts.iter_mut().zip(&pushed) {
                *v = 0.95 * *v + if push { 0.15 } else { -0.15 };
                *x += 0.2 * *v;
                sum += -(*x * *x);
            }
            rewards.push(carts.iter().map(|(x, _)| -(x * x)).collect::<Vec<f64>>());
            frames.push(frame);
            pushes.push(pushed);
        }
        let mut following = [0.0; CARTS]; // the reward of a push is all that follows it
        for t in (0..TICKS).rev() {
            let mut mean = 0.0;
            for (after, reward) in following.iter_mut().zip(&rewards[t]) {
                *after = reward + 0.8 * *after;
                mean += *after / CARTS as f64;
            }
            baseline[t] = if episode == 1 { mean } else { 0.9 * baseline[t] + 0.1 * mean };
            let seen = look(&frames[t])?;
            for (i, g) in gradient.map_mut()?.iter_mut().enumerate() {
                let (p, slope) = seen[i];
                let of_push = if pushes[t][i] { slope / p } else { -slope / (1.0 - p) };
                *g = (-(following[i] - baseline[t]) * of_push / CARTS as f64) as f32;
            }
            replay(&mut backward)?;
        }
        if episode % 50 == 0 {
            println!("episodes to {episode}: reward {:.9}", sum / (50 * TICKS * CARTS) as f64);
            sum = 0.0;
        }
    }
    Ok(())
}
