//! Arrays of synapses and optimisers, calls on them that run now, and synapses in place of X.
mod common;
use common::*;
use synfire::operations::{OptimizerStep, SynapseBackward, SynapseForward};
use synfire::*;

#[test]
fn synapses_and_optimisers_run_now() -> Result<()> {
    let context = Context::builder().backend(Backend::Host).create()?;
    let described = Synapse::builder(4, 3).bias(true).seed(7);
    assert_eq!(described.query_memory()?.weight_bytes, 60);
    let synapse = described.create(&context)?;
    let weight: Vec<f32> = (1..=12).map(|i| i as f32).collect();
    synapse.write("weight", &weight)?;
    synapse.write("bias", &[0.0f32; 3])?;
    let mut read = [0.0f32; 12];
    synapse.read("weight", &mut read)?;
    assert_eq!(read[..], weight[..]);
    synapse.read("weights", &mut read)?; // as in files
    assert_eq!(read[..], weight[..]);
    assert!(synapse.read("wieght", &mut read).is_err());

    let input = Buffer::<u8>::builder(8).create(&context)?;
    let output = Buffer::<f32>::builder(6).create(&context)?;
    input.write(&[1, 1, 1, 1, 0, 1, 0, 0])?;
    synapse.forward(SynapseForward::new(&input, &output, Steps(1)).batch(2))?;
    let mut y = [0.0f32; 6];
    output.read(&mut y)?;
    assert_eq!(y, [10.0, 26.0, 42.0, 2.0, 6.0, 10.0]);
    synapse.backward(SynapseBackward::new(&output, Steps(1)).batch(2).input(&input))?;

    assert_eq!(synapse.info()?.kind, "dense");
    assert_eq!(synapse.array_info(0)?.shape, [3, 4, 0, 0]);
    assert_eq!((synapse.info()?.gradient_bits, synapse.rounding(-1)?.n_weights), (24, 12));
    assert!(synapse.rounding(3).is_err());

    let described = Synapse::one_to_one(4).scope(Scope::Channel).initial_weight(3.0);
    assert_eq!(described.query_memory()?.weight_bytes, 16);
    let scaled = described.create(&context)?;
    assert_eq!(scaled.info()?.kind, "one_to_one");
    let scaled_output = Buffer::<f32>::builder(8).create(&context)?;
    scaled.forward(SynapseForward::new(&input, &scaled_output, Steps(1)).batch(2))?;
    assert_eq!(scaled_output.to_vec()?, [3.0, 3.0, 3.0, 3.0, 0.0, 3.0, 0.0, 0.0]);

    let described = Synapse::population(2, 2).lower(-1.0).upper(1.0).sigma(1.0);
    assert_eq!(described.query_memory()?.weight_bytes, 32);
    let cells = described.create(&context)?;
    assert_eq!(cells.info()?.kind, "population");
    let mut mu = [0.0f32; 4];
    cells.read("mu", &mut mu)?;
    assert_eq!(mu, [-1.0, 1.0, -1.0, 1.0]);
    let places = Buffer::<f32>::builder(2).create(&context)?;
    places.upload(0, &[-1.0, 1.0])?;
    let active = Buffer::<f32>::builder(4).create(&context)?;
    cells.forward(SynapseForward::new(&places, &active, Steps(1)))?;
    let active = active.to_vec()?;
    assert!(active[0] == 1.0 && active[3] == 1.0 && active[1] < 0.2);

    let described = Synapse::delayed(1, 1, 2).delays(&[1.0]);
    assert_eq!(described.query_memory()?.weight_bytes, 8);
    let late = described.create(&context)?;
    assert_eq!(late.info()?.kind, "delayed");
    late.write("weight", &[3.0f32])?;
    let spikes = Buffer::<f32>::builder(3).create(&context)?;
    spikes.upload(0, &[1.0, 0.0, 0.0])?;
    let arrived = Buffer::<f32>::builder(3).create(&context)?;
    late.forward(SynapseForward::new(&spikes, &arrived, Steps(3)))?;
    assert_eq!(arrived.to_vec()?, [0.0, 3.0, 0.0]);

    let described = Synapse::conv2d(1, 2).width(4).kernel_width(2).weight_bits(8).mask(&[1; 4]);
    assert_eq!(described.query_memory()?.weight_bytes, 24);
    let convolution = described.create(&context)?;
    assert_eq!(convolution.info()?.kind, "conv2d");
    assert_eq!(convolution.info()?.output_width, 3);
    convolution.write("weight", &[1.0f32, 2.0, 10.0, 20.0])?;
    let mut integers = [0; 4];
    convolution.read_integers("weight", &mut integers)?;
    assert_eq!((integers, convolution.info()?.weight_bits), ([32, 64, 40, 80], 8));
    let maps = Buffer::<f32>::builder(12).create(&context)?;
    convolution.forward(SynapseForward::new(&input, &maps, Steps(1)).batch(2))?;
    assert_eq!(maps.to_vec()?, [3.0, 30.0, 3.0, 30.0, 3.0, 30.0, 2.0, 20.0, 1.0, 10.0, 0.0, 0.0]);

    let optimizer = Optimizer::builder().kind(OptimizerKind::Adam).create(&context)?;
    optimizer.add_weights(&synapse, 1.0, 1.0)?;
    optimizer.add_array(&scaled, "weight", 1.0, 0.0)?;
    optimizer.step(OptimizerStep::new())?;
    let mut count = [0u64];
    optimizer.read(None, "step_count", &mut count)?;
    assert_eq!(count, [1]);
    optimizer.read(Some(0), "moment1", &mut read)?;
    optimizer.write(Some(0), "moment1", &read)?;
    Ok(())
}

const STEPS: usize = 3;

/// A synapse from 4 inputs to a layer of 3 neurons, whose gradients of the input go to `grad_input`.
struct Rig {
    context: Context,
    synapse: Synapse,
    layer: Layer,
    input: Buffer<u8>,
    spikes: Buffer<f32>,
    rest: Buffer<f32>,
    grad: Buffer<f32>,
    grad_input: Buffer<f32>,
}
impl Rig {
    fn new() -> Self {
        let context = context();
        let synapse = Synapse::builder(4, 3).gain(3.0).seed(7).create(&context).unwrap();
        let layer = Layer::builder(Steps(STEPS as i64), Neurons(3)).create(&context).unwrap();
        let input =
            Buffer::from_array(&context, Memory::Pinned, &[[1u8, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1]]).unwrap();
        let sequence = || layer.sequence(Memory::Pinned).unwrap();
        let (spikes, grad) = (sequence(), sequence());
        grad.fill(1.0).unwrap();
        let rest = layer.state(Memory::Pinned).unwrap();
        let grad_input = Buffer::zeros(&context, Memory::Pinned, [STEPS, 4]).unwrap();
        Rig { context, synapse, layer, input, spikes, rest, grad, grad_input }
    }
    fn forward(&self) -> Forward<'_> {
        Forward::with_synapse(&self.synapse, &self.input).spikes(&self.spikes).v_init(&self.rest)
    }
    fn backward(&self) -> Backward<'_> {
        Backward::new().grad_spike_seq(&self.grad).grad_synapse_input(&self.grad_input)
    }
    // Spikes, dL/dW and dL/d(input), which are then cleared.
    fn results(&self) -> (Vec<f32>, [f32; 12], Vec<f32>) {
        let mut gradient = [0.0; 12];
        self.synapse.read("weight_gradient", &mut gradient).unwrap();
        let results = (self.spikes.to_vec().unwrap(), gradient, self.grad_input.to_vec().unwrap());
        self.spikes.fill(-1.0).unwrap();
        self.grad_input.fill(-1.0).unwrap();
        self.synapse.write("weight_gradient", &[-1.0f32; 12]).unwrap();
        results
    }
    fn apart(&self) -> (Vec<f32>, [f32; 12], Vec<f32>) {
        let (x, grad_x) = (self.layer.sequence::<f32>(Memory::Pinned).unwrap(), &self.spikes);
        let steps = Steps(STEPS as i64);
        SynapseForward::new(&self.input, &x, steps).run(&self.synapse).unwrap();
        self.layer.forward(Forward::new(&x).spikes(&self.spikes).v_init(&self.rest)).unwrap();
        let spikes = self.spikes.to_vec().unwrap();
        self.layer.backward(&Backward::new().grad_spike_seq(&self.grad).grad_x_seq(grad_x)).unwrap();
        let backward = SynapseBackward::new(grad_x, steps).input(&self.input).grad_input(&self.grad_input);
        backward.run(&self.synapse).unwrap();
        let (_, gradient, grad_input) = self.results();
        (spikes, gradient, grad_input)
    }
}
fn busy(error: Error) {
    assert_eq!((error.status, error.rule.as_str()), (Status::Busy, "SYN-RUST-HELD"), "{error}");
}

#[test]
fn a_synapse_in_the_place_of_x() {
    let rig = Rig::new();
    let expected = rig.apart();
    assert!(expected.0.contains(&1.0) && expected.1.iter().any(|g| *g != 0.0), "{expected:?}");
    rig.layer.forward(rig.forward()).unwrap();
    rig.layer.backward(&rig.backward()).unwrap();
    assert_eq!(rig.results(), expected);
    let mut graph = Graph::record(&rig.context, |graph| {
        graph.forward(&rig.layer, rig.forward())?;
        graph.backward(&rig.layer, &rig.backward())
    })
    .unwrap();
    replay(&mut graph);
    assert_eq!(rig.results(), expected);
    // The graph keeps the synapse and its input.
    let Rig { synapse, input, layer, spikes, .. } = rig;
    drop((synapse, input, layer));
    replay(&mut graph);
    assert_eq!(spikes.to_vec().unwrap(), expected.0);
}

/// Two neurons that wake each other: a spike goes back and forth, also from one call to the next.
#[test]
fn a_layer_that_reads_its_own_spikes() {
    let context = context();
    let back = Synapse::builder(2, 2).no_self_connections(true).create(&context).unwrap();
    back.write("weight", &[1.0f32; 4]).unwrap();
    let mut weights = [0.0f32; 4];
    back.read("weight", &mut weights).unwrap();
    assert_eq!(weights, [0.0, 1.0, 1.0, 0.0]);
    let layer = Layer::builder(Steps(3), Neurons(2)).model(Model::If).history_steps(1).create(&context).unwrap();
    let x = Buffer::from_array(&context, Memory::Pinned, &[[1.0f32, 0.0], [0.0, 0.0], [0.0, 0.0]]).unwrap();
    let (spikes, grad) =
        (layer.sequence::<f32>(Memory::Pinned).unwrap(), layer.sequence::<f32>(Memory::Pinned).unwrap());
    grad.fill(1.0).unwrap();
    let forward = || Forward::new(&x).recurrent_synapse(&back).recurrent_delay(1).spikes(&spikes);
    layer.forward(forward()).unwrap();
    assert_eq!(spikes.to_vec().unwrap(), [1.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
    layer.backward(&Backward::new().grad_spike_seq(&grad)).unwrap();
    let mut gradient = [1.0f32; 4];
    back.read("weight_gradient", &mut gradient).unwrap();
    assert!(gradient[0] == 0.0 && gradient[1] > 0.0 && gradient[2] > 0.0 && gradient[3] == 0.0, "{gradient:?}");
    // A backward uses the recurrent synapse too, though no call names it.
    let mut alone =
        Graph::record(&context, |graph| graph.backward(&layer, &Backward::new().grad_spike_seq(&grad))).unwrap();
    let ticket = alone.launch().unwrap();
    busy(back.read("weight", &mut [0.0f32; 4]).unwrap_err());
    assert!(alone.wait(ticket, Wait::Spin, None).unwrap());
    back.read("weight", &mut weights).unwrap();
    x.fill(0.0).unwrap();
    let mut graph = Graph::record(&context, |graph| graph.forward(&layer, forward())).unwrap();
    drop(back);
    replay(&mut graph);
    assert_eq!(spikes.to_vec().unwrap(), [0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
}

/// The parts of the tape that a backward uses are held, though no call names them: the inputs, and the synapse itself.
#[test]
fn a_tape_holds_its_synapse() {
    let rig = Rig::new();
    let expected = rig.apart();
    rig.layer.forward(rig.forward()).unwrap();
    let mut alone = Graph::record(&rig.context, |graph| graph.backward(&rig.layer, &rig.backward())).unwrap();
    let output = Buffer::<f32>::zeros(&rig.context, Memory::Pinned, [STEPS, 3]).unwrap();
    let product = SynapseForward::new(&rig.input, &output, Steps(STEPS as i64));
    let mut other = Graph::record(&rig.context, |graph| product.record(graph, &rig.synapse)).unwrap();
    {
        let _map = rig.input.map().unwrap();
        busy(rig.layer.backward(&rig.backward()).unwrap_err());
        busy(alone.launch().unwrap_err());
        busy(rig.layer.forward(rig.forward()).unwrap_err());
    }
    let ticket = other.launch().unwrap();
    busy(rig.layer.backward(&rig.backward()).unwrap_err());
    busy(alone.launch().unwrap_err());
    assert!(other.wait(ticket, Wait::Spin, None).unwrap());
    let ticket = alone.launch().unwrap();
    busy(other.launch().unwrap_err());
    busy(rig.synapse.read("weight", &mut [0.0f32; 12]).unwrap_err());
    assert!(alone.wait(ticket, Wait::Spin, None).unwrap());
    rig.spikes.write(&expected.0).unwrap();
    assert_eq!(rig.results(), expected);
    // The number of rows that count is read again too.
    let n_active = Buffer::<u32>::with_dtype(&rig.context, Memory::Pinned, DType::U32, 1).unwrap();
    n_active.write(&[1]).unwrap();
    rig.layer.forward(rig.forward().n_active(&n_active)).unwrap();
    let mut alone = Graph::record(&rig.context, |graph| graph.backward(&rig.layer, &rig.backward())).unwrap();
    {
        let _map = n_active.map().unwrap();
        busy(rig.layer.backward(&rig.backward()).unwrap_err());
        busy(alone.launch().unwrap_err());
    }
    rig.layer.backward(&rig.backward()).unwrap();
    let ticket = alone.launch().unwrap();
    busy(n_active.map_mut().unwrap_err());
    assert!(alone.wait(ticket, Wait::Spin, None).unwrap());
    drop(n_active.map_mut().unwrap());
    // A forward of a plain X lets go of all of it.
    let x = rig.layer.sequence::<f32>(Memory::Pinned).unwrap();
    rig.layer.forward(Forward::new(&x)).unwrap();
    let _map = rig.input.map_mut().unwrap();
    rig.layer.backward(&Backward::new().grad_spike_seq(&rig.grad).grad_x_seq(&rig.spikes)).unwrap();
}

/// A rebinding replaces what the tapes of a graph hold.
#[test]
fn a_tape_holds_what_was_bound_last() {
    let rig = Rig::new();
    let rows = || Buffer::<u32>::with_dtype(&rig.context, Memory::Pinned, DType::U32, 1).unwrap();
    let (old, new) = (rows(), rows());
    let record = |graph: &mut Graph| graph.forward(&rig.layer, rig.forward().n_active(&old));
    let mut graph = Graph::record(&rig.context, record).unwrap();
    graph.rebind(&old, &new).unwrap();
    replay(&mut graph);
    {
        let _map = new.map().unwrap();
        busy(rig.layer.backward(&rig.backward()).unwrap_err());
    }
    let _map = old.map().unwrap();
    rig.layer.backward(&rig.backward()).unwrap();
}
