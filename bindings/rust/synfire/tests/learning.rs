//! Arrays of synapses and optimisers, and calls on them that run now.
use synfire::operations::{OptimizerStep, SynapseBackward, SynapseForward};
use synfire::*;

#[test]
fn synapses_and_optimisers_run_now() -> Result<()> {
    let context = Context::builder().backend(Backend::Host).create()?;
    let described = Synapse::builder().n_inputs(4).n_outputs(3).bias(true).seed(7);
    assert_eq!(described.query_memory()?.weight_bytes, 60);
    let synapse = described.create(&context)?;
    let weight: Vec<f32> = (1..=12).map(|i| i as f32).collect();
    synapse.write("weight", &weight)?;
    synapse.write("bias", &[0.0f32; 3])?;
    let mut read = [0.0f32; 12];
    synapse.read("weight", &mut read)?;
    assert_eq!(read[..], weight[..]);
    assert!(synapse.read("weights", &mut read).is_err());

    let input = Buffer::<u8>::builder(8).create(&context)?;
    let output = Buffer::<f32>::builder(6).create(&context)?;
    input.write(&[1, 1, 1, 1, 0, 1, 0, 0])?;
    SynapseForward::new(&input, &output).n_steps(1).batch(2).run(&synapse)?;
    let mut y = [0.0f32; 6];
    output.read(&mut y)?;
    assert_eq!(y, [10.0, 26.0, 42.0, 2.0, 6.0, 10.0]);
    SynapseBackward::new(&output).n_steps(1).batch(2).input(&input).run(&synapse)?;

    let optimizer = Optimizer::builder().kind(OptimizerKind::Adam).create(&context)?;
    optimizer.add_weights(&synapse, 1.0, 1.0)?;
    OptimizerStep::new().run(&optimizer)?;
    let mut count = [0u64];
    optimizer.read(None, "step_count", &mut count)?;
    assert_eq!(count, [1]);
    optimizer.read(Some(0), "moment1", &mut read)?;
    optimizer.write(Some(0), "moment1", &read)?;
    Ok(())
}
