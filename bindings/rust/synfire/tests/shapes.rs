// shapes.rs - a buffer of another shape than an operation needs is refused with both shapes in the text; lengths of 1 and
// plain arrays pass.
mod common;
use common::*;
use synfire::*;

/// 20 steps of 64 neurons.
fn layer(context: &Context) -> Layer {
    Layer::builder(Steps(20), Neurons(64)).create(context).unwrap()
}
fn buffer<T: Element>(context: &Context, shape: impl Shape) -> Buffer<T> {
    Buffer::zeros(context, Memory::Pinned, shape).unwrap()
}
fn refused<T: std::fmt::Debug>(result: Result<T>, given: &str, needed: &str) {
    let error = result.expect_err(given);
    assert_eq!((error.status, error.rule.as_str()), (Status::InvalidArgument, "SYN-BUFFER-SHAPE"), "{error}");
    assert!(error.text.contains(given) && error.text.contains(needed), "{error}");
}

#[test]
fn transposed() {
    let context = context();
    let layer = layer(&context);
    let (x, turned) = (buffer::<f32>(&context, [20, 64]), buffer::<f32>(&context, [64, 20]));
    refused(layer.forward(Forward::new(&turned)), "[64, 20]", "[20, 1, 64]");
    refused(layer.forward(Forward::new(&x).v_seq(&turned)), "[64, 20]", "[20, 1, 64]");
    refused(Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&turned))), "[64, 20]", "[20, 1, 64]");
    layer.forward(Forward::new(&x)).unwrap();
    refused(layer.backward(&Backward::new().grad_x_seq(&turned)), "[64, 20]", "[20, 1, 64]");
    let dense = buffer::<u8>(&context, [64, 20]);
    let counts = buffer::<u64>(&context, 64);
    let shape = SpikeShape::new(Steps(20), Neurons(64));
    refused(context.count_spikes(Count::PerNeuron, shape, &dense, &counts), "[64, 20]", "[20, 1, 64]");
    let rows = Layer::builder(Steps(1), Neurons(3)).batch(2).create(&context).unwrap();
    refused(rows.read_rows("v", .., &buffer::<f32>(&context, [3, 2])), "[3, 2]", "[2, 3]");
    rows.read_rows("v", .., &buffer::<f32>(&context, [2, 3])).unwrap();
    assert!(x.map_mut().is_ok(), "nothing holds it any more");
}

/// A batch is between steps and neurons.
#[test]
fn batches() {
    let context = context();
    let layer = Layer::builder(Steps(20), Neurons(64)).batch(3).create(&context).unwrap();
    let run = |shape: &[usize]| layer.forward(Forward::new(&buffer::<f32>(&context, shape)));
    run(&[20, 3, 64]).unwrap();
    refused(run(&[3, 20, 64]), "[3, 20, 64]", "[20, 3, 64]");
    refused(run(&[64, 3, 20]), "[64, 3, 20]", "[20, 3, 64]");
    refused(run(&[60, 64]), "[60, 64]", "[20, 3, 64]");
    run(&[20, 1, 3, 64]).unwrap();
}

#[test]
fn lengths_of_1_are_ignored() {
    let context = context();
    let layer = layer(&context);
    for shape in [&[20, 1, 64][..], &[1, 20, 64], &[20, 64, 1], &[1, 20, 1, 64]] {
        layer.forward(Forward::new(&buffer::<f32>(&context, shape))).unwrap();
    }
    // One step: [1, 64] and [64, 1] are the same memory.
    let step = Layer::builder(Steps(1), Neurons(64)).create(&context).unwrap();
    for shape in [[1, 64], [64, 1]] {
        step.forward(Forward::new(&buffer::<f32>(&context, shape))).unwrap();
    }
}

/// One dimension, or more than four: only the size is checked.
#[test]
fn plain_arrays() {
    let context = context();
    let layer = layer(&context);
    let x = Buffer::from_vec(&context, 1280, vec![0f32; 1280]).unwrap();
    if backend() == Backend::Host {
        layer.forward(Forward::new(&x)).unwrap();
    }
    layer.forward(Forward::new(&buffer::<f32>(&context, 1280))).unwrap();
    layer.forward(Forward::new(&buffer::<f32>(&context, [1, 1280, 1]))).unwrap();
    layer.forward(Forward::new(&buffer::<f32>(&context, [2, 2, 5, 8, 8]))).unwrap();
    let error = layer.forward(Forward::new(&buffer::<f32>(&context, 1279))).unwrap_err();
    assert!(error.status == Status::InvalidArgument && error.rule != "SYN-BUFFER-SHAPE", "{error}");
}

#[test]
fn packed_spikes_are_in_words() {
    let context = context();
    let layer = Layer::builder(Steps(40), Neurons(64)).create(&context).unwrap();
    let x = layer.sequence::<f32>(Memory::Pinned).unwrap();
    let run = |spikes: &Buffer<u32>| layer.forward(Forward::new(&x).spikes(spikes));
    run(&layer.spikes(Memory::Pinned).unwrap()).unwrap();
    run(&layer.time_packed_spikes(Memory::Pinned).unwrap()).unwrap();
    run(&buffer(&context, [40, 2])).unwrap();
    refused(run(&buffer(&context, [2, 40])), "[2, 40]", "[40, 1, 2 words]");
    refused(run(&buffer(&context, [40, 64])), "[40, 64]", "[40, 1, 2 words]");
    let in_time = |shape: [usize; 2]| Buffer::with_dtype(&context, Memory::Pinned, DType::TimeBits, shape).unwrap();
    run(&in_time([2, 64])).unwrap();
    refused(run(&in_time([64, 2])), "[64, 2]", "[2 words, 1, 64]");
}

/// Rows that are apart have the shape of their elements.
#[test]
fn pitch() {
    let context = context();
    let layer = layer(&context);
    let pitched = |shape: [usize; 2]| {
        Buffer::<f32>::builder(shape).memory(Memory::Pinned).row_pitch(80).create(&context).unwrap()
    };
    layer.forward(Forward::new(&pitched([20, 64]))).unwrap();
    refused(layer.forward(Forward::new(&pitched([64, 20]))), "[64, 20]", "[20, 1, 64]");
}

/// Buffers that a layer makes for itself fit it.
#[test]
fn a_layers_own_buffers_fit() {
    let context = context();
    for batch in [1, 3] {
        let layer =
            Layer::builder(Steps(20), Neurons(64)).model(Model::Izhikevich).batch(batch).create(&context).unwrap();
        let sequence = || layer.sequence::<f32>(Memory::Pinned).unwrap();
        let state = || layer.state::<f32>(Memory::Pinned).unwrap();
        let (x, v, h, w, v0, w0, v1, w1) =
            (sequence(), sequence(), sequence(), sequence(), state(), state(), state(), state());
        let forward = Forward::new(&x).v_seq(&v).h_seq(&h).w_seq(&w).v_init(&v0).w_init(&w0).v_final(&v1).w_final(&w1);
        layer.forward(forward).unwrap();
        layer.backward(&Backward::new().grad_spike_seq(&v).grad_x_seq(&h).grad_v_init(&v1)).unwrap();
    }
}

/// A buffer that takes another one's place in a graph has the shape that its operations need.
#[test]
fn rebound() {
    let context = context();
    let layer = layer(&context);
    let (x, turned) = (buffer::<f32>(&context, [20, 64]), buffer::<f32>(&context, [64, 20]));
    let mut graph = Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&x))).unwrap();
    let error = graph.rebind(&x, &turned).unwrap_err();
    assert!(error.rule == "SYN-REBIND-SHAPE" && error.text.contains("[64, 20]"), "{error}");
    replay(&mut graph);
    graph.rebind(&x, &buffer(&context, [20, 1, 64])).unwrap();
    replay(&mut graph);
}

/// Copies and fills take any shape.
#[test]
fn shapes_that_do_not_matter() {
    let context = context();
    let (one, other) = (buffer::<f32>(&context, [20, 64]), buffer::<f32>(&context, [64, 20]));
    let mut graph = Graph::record(&context, |graph| {
        graph.copy(&one, 0, &other, 0, 0)?;
        graph.fill(&other, 1.0)?;
        graph.scale_add(1.0, &one, 1.0, &one)
    })
    .unwrap();
    replay(&mut graph);
    assert_eq!(other.to_vec().unwrap(), [1.0; 1280]);
}
