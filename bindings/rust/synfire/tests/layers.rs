// layers.rs - parameters, states, forward and backward; spikes in every format; recording, replaying, waiting.
mod common;
use common::*;
use std::time::Duration;
use synfire::*;

/// Numbers in [0, 1) that every run has again.
fn noise(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / 16777216.0
    }
}

#[test]
fn parameters_and_state() {
    let context = context();
    let builder = Layer::builder(Steps(3), Neurons(5)).model(Model::Izhikevich).batch(2).surrogate(Surrogate::Atan);
    let layer = builder.create(&context).unwrap();
    assert_eq!((layer.n_steps(), layer.n_neurons(), layer.batch(), layer.dtype()), (3, 5, 2, DType::F32));
    let parameters = layer.parameters().unwrap();
    let names: Vec<_> = parameters.iter().map(|p| p.name.as_str()).collect();
    assert!(names.contains(&"tau_w") && names.last() == Some(&"alpha"), "{names:?}");
    let tau = parameters.iter().find(|p| p.name == "tau").unwrap();
    assert!(tau.length == 1 && tau.default > 0.0 && tau.minimum < tau.maximum);

    let mut values = [0.0; 5];
    layer.set_parameter("tau", &[7.5]).unwrap();
    layer.parameter("tau", &mut values[..1]).unwrap();
    assert_eq!(values[0], 7.5);
    layer.set_parameter("tau", &[1.5, 2.5, 3.5, 4.5, 5.5]).unwrap();
    layer.parameter("tau", &mut values).unwrap();
    assert_eq!(values, [1.5, 2.5, 3.5, 4.5, 5.5]);
    assert_eq!(layer.parameters().unwrap().iter().find(|p| p.name == "tau").unwrap().length, 5);

    let (w, mut back): ([f32; 10], _) = ([0.25; 10], [0f32; 10]);
    layer.write_state("w", &w).unwrap();
    layer.read_state("w", &mut back).unwrap();
    assert_eq!(back, w);
    layer.reset_state().unwrap();
    layer.read_state("w", &mut back).unwrap();
    assert_eq!(back, [0.0; 10]);
    let memory = Layer::builder(Steps(3), Neurons(5)).batch(2).query_memory().unwrap();
    assert!(memory.state_bytes == 256 && memory.tape_bytes > 0 && memory.checkpoint_interval == 32, "{memory:?}");
    assert_eq!(Model::find("izhikevich").unwrap(), Model::Izhikevich);
    assert_eq!(Surrogate::find("super_spike").unwrap(), Surrogate::SuperSpike);
}

/// Models with a current and with an adaptive threshold, and the rules of firing, against numbers that were worked out
/// in fractions. X of neuron n at step t is (5t + 3n) mod 8, halved.
#[test]
fn models_and_rules() {
    let context = context();
    let values: [[f32; 4]; 6] = std::array::from_fn(|t| std::array::from_fn(|n| ((5 * t + 3 * n) % 8) as f32 / 2.0));
    let x = Buffer::<f32>::from_array(&context, Memory::Pinned, &values).unwrap();
    let of = |model| Layer::builder(Steps(6), Neurons(4)).model(model);
    let check = |builder: LayerBuilder, parameters: &[(&str, &[f64])], fired: &str, states: [(&str, [f32; 4]); 2]| {
        let layer = builder.create(&context).unwrap();
        parameters.iter().for_each(|(name, values)| layer.set_parameter(name, values).unwrap());
        let spikes = layer.sequence::<f32>(Memory::Pinned).unwrap();
        layer.forward(Forward::new(&x).spikes(&spikes)).unwrap();
        let text: String = spikes.map().unwrap().iter().map(|&s| if s == 1.0 { '1' } else { '0' }).collect();
        assert_eq!(text, fired);
        for (name, wanted) in states {
            let mut found = [0f32; 4];
            layer.read_state(name, &mut found).unwrap();
            assert_eq!(found, wanted, "{name}");
        }
    };
    check(
        of(Model::Alif).reset(Reset::Soft),
        &[("tau", &[2.0]), ("rho", &[0.5]), ("beta_a", &[1.0])],
        "001010010100101001010010",
        [("v", [0.953125, 1.4296875, 0.8125, 0.6953125]), ("a", [0.15625, 0.3125, 0.640625, 0.28125])],
    );
    check(
        of(Model::CubaLif),
        &[("tau", &[4.0]), ("tau_syn", &[2.0]), ("gain", &[2.0]), ("input_gain", &[1.0])],
        "000000101101101011010110",
        [("v", [0.6640625, 0.0, 0.0, 0.66015625]), ("current", [1.328125, 2.1796875, 2.40625, 1.3203125])],
    );
    check(
        of(Model::Lif).reset(Reset::SoftDelayed),
        &[("tau", &[2.0])],
        "001010010100101001010010",
        [("v", [0.703125, 0.9296875, 1.84375, 0.1953125]), ("countdown", [0.0, 0.0, 1.0, 0.0])],
    );
    // Two channels, each with a threshold of its own. At step 4 a neuron is at its threshold and does not fire.
    check(
        of(Model::If).strict_threshold(true).refractory_steps(2),
        &[("v_threshold", &[1.0, 2.5])],
        "001010010100001010000001",
        [("v", [0.0, 2.0, 0.0, 0.0]), ("countdown", [2.0, 0.0, 1.0, 3.0])],
    );
}

/// IF, one step: dL/dX is the derivative of the surrogate.
#[test]
fn gradients() {
    let context = context();
    let layer = Layer::builder(Steps(1), Neurons(6)).model(Model::If).dtype(DType::F64).create(&context).unwrap();
    let values = [[0.0, 0.5, 0.9, 1.0, 1.5, 2.0]];
    let x = Buffer::<f64>::from_array(&context, Memory::Pinned, &values).unwrap();
    let seed = layer.sequence::<f64>(Memory::Pinned).unwrap();
    let grad_x = layer.sequence::<f64>(Memory::Pinned).unwrap();
    let grad_threshold = layer.state::<f64>(Memory::Pinned).unwrap();
    seed.fill(1.0).unwrap();
    layer.forward(Forward::new(&x)).unwrap();
    let backward =
        Backward::new().grad_spike_seq(&seed).grad_x_seq(&grad_x).grad_parameter("v_threshold", &grad_threshold);
    layer.backward(&backward).unwrap();
    for (n, v) in values[0].iter().enumerate() {
        let s = 1.0 / (1.0 + (-4.0 * (v - 1.0f64)).exp());
        let wanted = 4.0 * s * (1.0 - s);
        let got = (grad_x.map().unwrap().at([0, n]), grad_threshold.map().unwrap()[n]);
        assert!((got.0 - wanted).abs() < 1e-12 && (got.1 + wanted).abs() < 1e-12, "{n}: {got:?}, wanted {wanted}");
    }
    layer.backward(&backward.clone().add_parameters()).unwrap();
    let (once, twice) = (grad_x.map().unwrap().at([0, 3]), grad_threshold.map().unwrap()[3]);
    assert!((twice + 2.0 * once).abs() < 1e-12, "{twice}, {once}");

    // In a graph the layer occurs twice, and each backward is of the forward that it names.
    let other = Buffer::<f64>::from_array(&context, Memory::Pinned, &[[2.0, 1.5, 1.0, 0.9, 0.5, 0.0]]).unwrap();
    let rest = layer.state::<f64>(Memory::Pinned).unwrap();
    let grad_other = layer.sequence::<f64>(Memory::Pinned).unwrap();
    let mut graph = Graph::record(&context, |graph| {
        let first = graph.forward(&layer, Forward::new(&x).v_init(&rest))?;
        let second = graph.forward(&layer, Forward::new(&other).v_init(&rest))?;
        graph.backward(&layer, &Backward::new().grad_spike_seq(&seed).grad_x_seq(&grad_x).of(first))?;
        graph.backward(&layer, &Backward::new().grad_spike_seq(&seed).grad_x_seq(&grad_other).of(second))
    })
    .unwrap();
    replay(&mut graph);
    let (forwards, backwards) = (grad_x.map().unwrap(), grad_other.map().unwrap());
    // The derivative is the same on both sides of the threshold, so the inputs 0.9 and 1 tell the two apart.
    assert!(
        (0..6).all(|n| forwards.at([0, n]) == backwards.at([0, 5 - n])) && forwards.at([0, 2]) != backwards.at([0, 2])
    );
    drop((forwards, backwards));

    // A mapping to write tells the library, so a backward of numbers that are gone is refused: the second forward's.
    x.map_mut().unwrap()[0] = 1.0;
    layer.backward(&backward).unwrap();
    other.map_mut().unwrap()[0] = 1.0;
    assert_eq!(layer.backward(&backward).unwrap_err().status, Status::StaleTape);
}

#[test]
fn spikes_in_any_format() {
    let context = context();
    let shape = SpikeShape::new(Steps(40), Neurons(70)).batch(2);
    let layer = Layer::builder(Steps(40), Neurons(70)).batch(2).create(&context).unwrap();
    let x = layer.sequence::<f32>(Memory::Pinned).unwrap();
    let bits = layer.spikes(Memory::Pinned).unwrap();
    let in_time = layer.time_packed_spikes(Memory::Pinned).unwrap();
    let dense = layer.sequence::<u8>(Memory::Pinned).unwrap();
    let total = Buffer::<u64>::zeros(&context, Memory::Pinned, 1).unwrap();
    let per_step = Buffer::<u32>::with_dtype(&context, Memory::Pinned, DType::U32, 40).unwrap();
    assert_eq!((bits.shape(), in_time.shape(), x.shape()), (&[40, 2, 3][..], &[2, 2, 70][..], &[40, 2, 70][..]));
    let mut next = noise(1);
    x.map_mut().unwrap().iter_mut().for_each(|x| *x = 4.0 * next());
    layer.forward(Forward::new(&x).spikes(&bits)).unwrap();
    context.convert_spikes(shape, &bits, &dense).unwrap();
    context.convert_spikes(shape, &dense, &in_time).unwrap();
    context.count_spikes(Count::Total, shape, &in_time, &total).unwrap();
    context.count_spikes(Count::PerStep, shape, &bits, &per_step).unwrap();
    let (bits, in_time, dense) = (bits.map().unwrap(), in_time.map().unwrap(), dense.map().unwrap());
    let mut seen = 0;
    for t in 0..40 {
        for (b, n) in (0..140).map(|i| (i / 70, i % 70)) {
            let one = bits.at([t, b, n / 32]) >> (n % 32) & 1;
            assert_eq!((one, one), (dense.at([t, b, n]).into(), in_time.at([t / 32, b, n]) >> (t % 32) & 1));
            seen += u64::from(one);
        }
    }
    assert!(seen > 1000);
    assert_eq!(total.map().unwrap()[0], seen);
    assert_eq!(per_step.map().unwrap().iter().map(|n| u64::from(*n)).sum::<u64>(), seen);
}

#[test]
fn rates_as_spikes() {
    let context = context();
    let values: [f32; 70] = std::array::from_fn(|n| n as f32 / 69.0);
    let rates = Buffer::from_array(&context, Memory::Pinned, &values).unwrap();
    let buffer = |steps: usize| Buffer::<u8>::zeros(&context, Memory::Pinned, [steps, 2, 35]).unwrap();
    let shape = |steps| SpikeShape::new(Steps(steps), Neurons(35)).batch(2);
    let (all, part) = (buffer(60), buffer(20));
    let draw = Bernoulli::new(u64::MAX).offset(7);
    context.encode_bernoulli(draw, shape(60), &rates, &all).unwrap();
    let all = all.to_vec().unwrap();
    for (i, spike) in all.iter().enumerate() {
        assert!(*spike <= 1 && !(i % 70 == 0 && *spike != 0) && !(i % 70 == 69 && *spike != 1));
    }
    let seen = all.iter().map(|s| u64::from(*s)).sum::<u64>();
    assert!((1900..2300).contains(&seen), "{seen} of 4200");
    // Packed, and by rates that are given step by step.
    let each = Buffer::<f32>::zeros(&context, Memory::Pinned, [60, 2, 35]).unwrap();
    each.write(&[values; 60].concat()).unwrap();
    let bits = Buffer::<u32>::zeros(&context, Memory::Pinned, [60, 2, 2]).unwrap();
    context.encode_bernoulli(draw.rates_per_step(), shape(60), &each, &bits).unwrap();
    let words = bits.map().unwrap();
    for (t, i) in (0..60).flat_map(|t| (0..70).map(move |i| (t, i))) {
        let (b, n) = (i / 35, i % 35);
        assert_eq!(words.at([t, b, n / 32]) >> (n % 32) & 1, all[t * 70 + i].into());
    }
    // Replays go on where the one before ended, unless the operation rests or its offset is set.
    let mut graph = Graph::new(&context).unwrap();
    let encode = graph.encode_bernoulli(draw, shape(20), &rates, &part).unwrap();
    graph.instantiate().unwrap();
    drop(rates); // the graph keeps it
    for first in [0, 1] {
        replay(&mut graph);
        assert_eq!(part.to_vec().unwrap(), all[first * 1400..][..1400]);
    }
    graph.set_enabled(encode, false).unwrap();
    replay(&mut graph);
    graph.set_enabled(encode, true).unwrap();
    replay(&mut graph);
    assert_eq!(part.to_vec().unwrap(), all[2800..]);
    graph.set_value(encode, "offset", 8.0).unwrap();
    replay(&mut graph);
    assert_eq!(part.to_vec().unwrap(), all[70..][..1400]);
    graph.set_value(encode, "seed", 1.0).unwrap();
    graph.set_value(encode, "offset", 8.0).unwrap();
    replay(&mut graph);
    assert_ne!(part.to_vec().unwrap(), all[70..][..1400]);
    assert_eq!(graph.set_value(encode, "offset", 0.5).unwrap_err().status, Status::InvalidArgument);
    assert_eq!(graph.set_value(encode, "rate", 1.0).unwrap_err().status, Status::InvalidArgument);
}

#[test]
fn replays_equal_calls() {
    let context = context();
    let shape = SpikeShape::new(Steps(8), Neurons(33));
    let (eager, recorded) = (
        Layer::builder(Steps(8), Neurons(33)).create(&context).unwrap(),
        Layer::builder(Steps(8), Neurons(33)).create(&context).unwrap(),
    );
    let x = eager.sequence::<f32>(Memory::Pinned).unwrap();
    let spikes = || eager.spikes(Memory::Pinned).unwrap();
    let (expected, got, copied) = (spikes(), spikes(), spikes());
    let dense = eager.sequence::<u8>(Memory::Pinned).unwrap();
    let counts = Buffer::<u32>::with_dtype(&context, Memory::Pinned, DType::U32, 33).unwrap();
    let mut graph = Graph::record(&context, |graph| {
        graph.forward(&recorded, Forward::new(&x).spikes(&got))?;
        graph.copy(&got, 0, &copied, 0, 0)?;
        graph.convert_spikes(shape, &got, &dense)?;
        graph.count_spikes(Count::PerNeuron, shape, &got, &counts)
    })
    .unwrap();
    let mut next = noise(2);
    for number in 1..=20 {
        x.map_mut().unwrap().iter_mut().for_each(|x| *x = 3.0 * next());
        eager.forward(Forward::new(&x).spikes(&expected)).unwrap();
        let ticket = graph.launch().unwrap();
        assert_eq!(ticket, number);
        assert!(graph.wait(ticket, Wait::Block, Some(Duration::from_secs(3600))).unwrap());
        assert!(graph.poll(ticket).unwrap() && graph.wait(ticket, Wait::Yield, Some(Duration::ZERO)).unwrap());
        assert_eq!(expected.map().unwrap()[..], got.map().unwrap()[..]);
        assert_eq!(got.map().unwrap()[..], copied.map().unwrap()[..]);
        let sum = counts.map().unwrap().iter().sum::<u32>();
        assert!(sum > 0 && sum == dense.map().unwrap().iter().map(|s| u32::from(*s)).sum::<u32>());
    }
}

#[test]
fn what_a_graph_uses_lives() {
    let (mut graph, spikes) = {
        let context = context();
        let layer = Layer::builder(Steps(2), Neurons(4)).model(Model::If).create(&context).unwrap();
        let x = Buffer::from_array(&context, Memory::Pinned, &[[2.0f32; 4]; 2]).unwrap();
        let spikes = layer.sequence::<f32>(Memory::Pinned).unwrap();
        let graph = Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&x).spikes(&spikes))).unwrap();
        (graph, spikes)
    };
    replay(&mut graph);
    assert!(spikes.map().unwrap().iter().all(|s| *s == 1.0));
    spikes.close();
    replay(&mut graph);
}

#[test]
fn facts_of_the_context_and_the_library() {
    let context = context();
    let properties = context.properties().unwrap();
    assert_eq!((properties.backend, properties.fallback), (backend(), Fallback::None));
    assert!(!properties.name.is_empty());
    context.synchronize().unwrap();
    assert!(abi_version().unwrap() >= (0, 1) && version_string().unwrap().starts_with("0."));
    assert!(std::path::Path::new(&library_path().unwrap()).exists());
    assert_eq!(
        format!("{:?}", Layer::builder(Steps(3), Neurons(5)).create(&context).unwrap()),
        "Layer of 3 steps, 1 rows of 5 neurons, F32"
    );
}
