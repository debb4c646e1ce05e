// operations.rs - operations as types of their own: they record and run what the short forms do, keep what they use alive,
// and hold it while they run.
mod common;
use common::*;
use synfire::operations::*;
use synfire::*;

/// Spikes [2, 3] and counts [3].
fn spikes_and_counts(context: &Context) -> (Buffer<u8>, Buffer<u32>) {
    let spikes = Buffer::from_array(context, Memory::Pinned, &[[1u8, 0, 1], [0, 0, 1]]).unwrap();
    (spikes, Buffer::with_dtype(context, Memory::Pinned, DType::U32, 3).unwrap())
}

#[test]
fn recorded_and_run_are_the_same() {
    let context = context();
    let (spikes, counts) = spikes_and_counts(&context);
    let count = CountSpikes::new(&spikes, &counts, Steps(2), Neurons(3));
    count.run(&context).unwrap();
    assert_eq!(counts.to_vec().unwrap(), [1, 0, 2]);
    counts.fill(0.0).unwrap();
    let total = Buffer::<u64>::zeros(&context, Memory::Pinned, 1).unwrap();
    let mut graph = Graph::record(&context, |graph| {
        let operation = count.record(graph)?;
        assert_eq!(operation.number(), 0);
        CountSpikes::new(&spikes, &total, Steps(2), Neurons(3)).kind(Count::Total).record(graph)?;
        Fill::new(&spikes, 1.0).record(graph)
    })
    .unwrap();
    replay(&mut graph);
    assert_eq!(total.to_vec().unwrap(), [3]);
    assert_eq!((counts.to_vec().unwrap(), spikes.to_vec().unwrap()), (vec![1, 0, 2], vec![1; 6]));
    // The library says what it does not take.
    assert_eq!(
        CountSpikes::new(&spikes, &counts, Steps(0), Neurons(3)).run(&context).unwrap_err().status,
        Status::InvalidArgument
    );
}

#[test]
fn branches_are_combined() {
    let context = context();
    let a = Buffer::from_array(&context, Memory::Pinned, &[[1.0f32, 2.0, 3.0]]).unwrap();
    let b = Buffer::from_array(&context, Memory::Pinned, &[[10.0f32, 20.0, 30.0]]).unwrap();
    let sum = Buffer::<f32>::zeros(&context, Memory::Pinned, 3).unwrap();
    Combine::new(&sum, Steps(1), Neurons(3)).sources(&a).sources(&b).run(&context).unwrap();
    assert_eq!(sum.to_vec().unwrap(), [11.0, 22.0, 33.0]);
    // A spike beside counts to 4, which 9 exceeds.
    let spikes = Buffer::from_array(&context, Memory::Pinned, &[[0u8, 1, 7]]).unwrap();
    let counts = Buffer::from_array(&context, Memory::Pinned, &[[9u8, 2, 0]]).unwrap();
    let all = Buffer::<u8>::zeros(&context, Memory::Pinned, 3).unwrap();
    let mut graph = Graph::record(&context, |graph| {
        Combine::new(&all, Steps(1), Neurons(3)).sources(&spikes).sources(&counts).bounds(&[0, 4]).record(graph)?;
        Combine::new(&sum, Steps(1), Neurons(3)).kind(CombineKind::Iand).sources(&spikes).sources(&counts).record(graph)
    })
    .unwrap();
    replay(&mut graph);
    assert_eq!(all.to_vec().unwrap(), [4, 3, 1]);
    assert_eq!(sum.to_vec().unwrap(), [0.0, 0.0, 1.0]);
    // The channels of the second source in a gradient, and a mean over a group of three.
    let part = Buffer::<f32>::zeros(&context, Memory::Pinned, 2).unwrap();
    CombineBackward::new(&b, &part, Steps(1), Neurons(3))
        .kind(CombineKind::Concatenate)
        .channels(&[1, 2])
        .source(1)
        .run(&context)
        .unwrap();
    assert_eq!(part.to_vec().unwrap(), [20.0, 30.0]);
    let mean = Buffer::<f32>::zeros(&context, Memory::Pinned, 1).unwrap();
    GroupMean::new(&b, &mean, Steps(1), 1, 3).run(&context).unwrap();
    assert_eq!(mean.to_vec().unwrap(), [20.0]);
    GroupMeanBackward::new(&mean, &sum, Steps(1), 1, 3).accumulate(true).run(&context).unwrap();
    assert_eq!(sum.to_vec().unwrap(), [20.0f32 / 3.0, 20.0 / 3.0, 1.0 + 20.0 / 3.0]);
    let error = Combine::new(&all, Steps(1), Neurons(3)).run(&context).unwrap_err();
    assert_eq!(error.status, Status::InvalidArgument);
}

#[test]
fn a_graph_keeps_what_it_records() {
    let context = context();
    let (destination, mut graph) = {
        let source = Buffer::from_array(&context, Memory::Pinned, &[1.0f32, 2.0, 3.0]).unwrap();
        let destination = Buffer::<f32>::zeros(&context, Memory::Pinned, 3).unwrap();
        let record = |graph: &mut Graph| {
            CopyBuffer::new(&source, &destination).source_offset(4).destination_offset(4).bytes(8).record(graph)?;
            ScaleAdd::new(&source, &destination, 2.0, 1.0).record(graph)
        };
        let graph = Graph::record(&context, record).unwrap();
        (destination, graph)
    };
    replay(&mut graph);
    assert_eq!(destination.to_vec().unwrap(), [2.0, 6.0, 9.0]);
    let map = destination.map().unwrap();
    assert_eq!(graph.launch().unwrap_err().status, Status::Busy);
    drop(map);
    replay(&mut graph);
}

#[test]
fn what_runs_is_held() {
    let context = context();
    let (spikes, counts) = spikes_and_counts(&context);
    let count = CountSpikes::new(&spikes, &counts, Steps(2), Neurons(3));
    let map = counts.map().unwrap();
    assert_eq!(count.run(&context).unwrap_err().status, Status::Busy);
    drop(map);
    count.run(&context).unwrap();
    let layer = Layer::builder(Steps(1), Neurons(2)).batch(2).create(&context).unwrap();
    let mask = Buffer::from_array(&context, Memory::Pinned, &[0u8, 1]).unwrap();
    let map = mask.map_mut().unwrap();
    assert_eq!(ResetRows::new().buffer(&mask).run(&layer).unwrap_err().status, Status::Busy);
    drop(map);
    ResetRows::new().buffer(&mask).run(&layer).unwrap();
}

#[test]
fn rows_of_a_state() {
    let context = context();
    let layer = Layer::builder(Steps(1), Neurons(2)).batch(3).create(&context).unwrap();
    let other = Layer::builder(Steps(4), Neurons(2)).batch(2).create(&context).unwrap();
    layer.write_state("v", &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let rows = Buffer::<f32>::zeros(&context, Memory::Pinned, [2, 2]).unwrap();
    ReadRows::new(&rows).name("v").first_row(1).n_rows(2).run(&layer).unwrap();
    assert_eq!(rows.to_vec().unwrap(), [3.0, 4.0, 5.0, 6.0]);
    WriteRows::new(&rows).n_rows(2).run(&layer).unwrap();
    CopyRows::new(&layer).first_row(2).n_rows(1).destination_row(1).run(&other).unwrap();
    let mut v = [0f32; 4];
    other.read_state("v", &mut v).unwrap();
    assert_eq!(v, [0.0, 0.0, 5.0, 6.0]);
    // Rows of one layer, copied within it: the layer is held once.
    CopyRows::new(&layer).n_rows(1).destination_row(2).run(&layer).unwrap();
    let mut graph = Graph::record(&context, |graph| {
        CopyRows::new(&layer).n_rows(2).record(graph, &other)?;
        ResetRows::new().first_row(1).n_rows(1).record(graph, &other)
    })
    .unwrap();
    drop(layer);
    replay(&mut graph);
    other.read_state("v", &mut v).unwrap();
    assert_eq!(v, [3.0, 4.0, 0.0, 0.0]);
    assert_eq!(ReadRows::new(&rows).name("v\0").run(&other).unwrap_err().rule, "SYN-RUST-NAME");
}

#[test]
fn bounds_are_a_sum() {
    let context = context();
    let layer = Layer::builder(Steps(1), Neurons(1)).create(&context).unwrap();
    let gradient = Buffer::from_array(&context, Memory::Pinned, &[1.0f32]).unwrap();
    assert_eq!((Bounds::LOWER | Bounds::UPPER).to_raw(), 3);
    let step = UpdateParameter::new("v_threshold", &gradient, 10.0).lower(0.25).upper(0.5);
    let with = |bounds| {
        let mut graph = Graph::record(&context, |graph| step.bounds(bounds).record(graph, &layer)).unwrap();
        layer.set_parameter("v_threshold", &[1.0]).unwrap();
        replay(&mut graph);
        let mut threshold = [0.0];
        layer.parameter("v_threshold", &mut threshold).unwrap();
        threshold[0]
    };
    assert_eq!(with(Bounds::LOWER | Bounds::UPPER), 0.25);
    assert_eq!(with(Bounds::default()), -9.0);
}

#[test]
fn passes_record_and_run_themselves() {
    let context = context();
    let layer = Layer::builder(Steps(2), Neurons(3)).create(&context).unwrap();
    let (x, grad) = (layer.sequence::<f32>(Memory::Pinned), layer.sequence::<f32>(Memory::Pinned));
    let (x, grad) = (x.unwrap(), grad.unwrap());
    Forward::new(&x).run(&layer).unwrap();
    Backward::new().grad_spike_seq(&x).grad_x_seq(&grad).run(&layer).unwrap();
    let mut graph = Graph::record(&context, |graph| {
        let forward = Forward::new(&x).record(graph, &layer)?;
        Backward::new().grad_spike_seq(&x).grad_x_seq(&grad).of(forward).record(graph, &layer)
    })
    .unwrap();
    replay(&mut graph);
    fn is_shared<T: Send + Sync>(_: &T) {}
    is_shared(&Forward::new(&x));
    is_shared(&CountSpikes::new(&x, &grad, Steps(2), Neurons(3)));
    is_shared(&CopyRows::new(&layer));
}

#[test]
fn events_of_a_camera() {
    let context = context();
    let data = [3u64 | 1 << 32, 15 | 1 << 60]; // x 1, darker, in the first step; x 0, brighter, in the second
    let events = Buffer::<u64>::from_array(&context, Memory::Pinned, &data).unwrap();
    let integers = |n: usize| Buffer::<u32>::with_dtype(&context, Memory::Pinned, DType::U32, n).unwrap();
    let (event_counts, faults) = (integers(1), integers(5));
    event_counts.write(&[2]).unwrap();
    let counts = Buffer::<f32>::zeros(&context, Memory::Pinned, [2, 1, 4]).unwrap();
    let bin = |capacity| BinEvents::new(&events, &event_counts, &counts, &faults, Steps(2), capacity, 1, 2);
    let mut graph = Graph::record(&context, |graph| bin(2).ticks_per_step(10).record(graph)).unwrap();
    replay(&mut graph);
    assert_eq!(counts.to_vec().unwrap(), [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(faults.to_vec().unwrap(), [0; 5]);
    // By count, and flipped.
    bin(2).split(EventsBy::Count).flip_x(1.0).run(&context).unwrap();
    assert_eq!(counts.to_vec().unwrap(), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(bin(0).run(&context).unwrap_err().status, Status::InvalidArgument);
}
