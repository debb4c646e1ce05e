//! Networks: their parts, which outlive them and are held together, wrong names and orders, threads.
mod common;
use common::*;
use std::sync::atomic::{AtomicBool, Ordering::*};
use synfire::operations::{LossKind, Schedule};
use synfire::*;

const INPUTS: usize = 5;
const ROWS: usize = 7;

fn stages(context: &Context) -> Result<Network> {
    let network = Network::builder(Steps(4)).batch(3).create(context)?;
    network.add_input("rates", NetworkInput::Rates, INPUTS as i64)?;
    network.add_synapse("first", 6)?;
    network.add_neurons("hidden", Model::Lif)?;
    network.add_synapse("second", 2)?;
    network.add_neurons("potentials", Model::Li)?;
    network.add_readout("scores", Readout::Mean, false)?;
    network.add_loss("loss", LossKind::CrossEntropy)?;
    network.add_optimizer("adam", OptimizerKind::Adam, 0.01)?;
    Ok(network)
}

fn built(context: &Context) -> Result<Network> {
    let network = stages(context)?;
    network.build()?;
    let rates: Vec<f32> = (0..ROWS * INPUTS).map(|i| (i % 4) as f32 / 4.0).collect();
    let labels: Vec<u32> = (0..ROWS as u32).map(|row| row % 2).collect();
    for set in [Data::Training, Data::Evaluation] {
        network.set_labelled_data(set, &rates, &labels)?;
    }
    Ok(network)
}

fn refused<T: std::fmt::Debug>(result: Result<T>, status: Status, words: &[&str]) {
    let error = result.expect_err("a call that must be refused");
    let text = error.to_string();
    assert_eq!(error.status, status, "{text}");
    words.iter().for_each(|word| assert!(text.contains(word), "{text} has no {word}"));
}

/// A branch that cannot be is refused, and named.
#[test]
fn branches_are_checked() -> Result<()> {
    let context = context();
    let network = stages(&context)?;
    let wrong = Status::InvalidArgument;
    let later = network.stage("sum", "a").reads("hidden").reads("later").add();
    refused(later, wrong, &["SYN-NETWORK-READS", "later"]);
    let shapes = network.stage("sum", "a").reads("hidden").reads("rates").add();
    refused(shapes, wrong, &["SYN-NETWORK-SHAPE", "[4, 3, 6]", "[4, 3, 5]"]);
    let bound = network.stage("input", "a").set("kind", "counts").set("n_features", 2).set("bound", 256).add();
    refused(bound, wrong, &["SYN-COUNT-BOUND", "256"]);
    let open = Network::builder(Steps(4)).batch(3).create(&context)?;
    open.add_input("rates", NetworkInput::Rates, INPUTS as i64)?;
    open.add_synapse("first", 6)?;
    refused(open.build(), Status::WrongOrder, &["SYN-NETWORK-INCOMPLETE"]);
    open.add_neurons("hidden", Model::Lif)?;
    open.stage("input", "c").set("kind", "counts").set("n_features", 6).set("bound", 255).add()?;
    let sum = open.stage("sum", "a").reads("hidden").reads("c").add();
    refused(sum, wrong, &["SYN-COUNT-BOUND", "256"]);
    // A head more than the network has.
    let more = stages(&context)?;
    more.stage("readout", "extra").reads("hidden").set("reduction", "sum").add()?;
    more.build()?;
    network.build()?;
    refused(network.load_from_memory(&more.save_to_memory()?), wrong, &["SYN-NETWORK-OTHER", "extra"]);
    Ok(())
}

/// Rows in slices: each has its output, whatever rows are beside it.
#[test]
fn takes_and_gives_slices() -> Result<()> {
    let context = context();
    let network = built(&context)?;
    let rates: Vec<f32> = (0..ROWS * INPUTS).map(|i| (i % 5) as f32 / 5.0).collect();
    let labels: Vec<u32> = (0..ROWS as u32).map(|row| row % 2).collect();
    let all: Vec<f32> = network.infer_rows(&rates)?;
    assert_eq!(all.len(), ROWS * 2);
    assert_eq!(network.infer_rows::<f32, f32>(&rates[..INPUTS])?, all[..2]);
    assert_eq!(network.evaluate_rows(&rates, &labels)?.n_counted, ROWS as u64);
    let words = ["SYN-NETWORK-DATA", "34"];
    refused(network.infer_rows::<f32, f32>(&rates[1..]), Status::InvalidArgument, &words);
    refused(network.evaluate_rows(&rates[1..], &labels), Status::InvalidArgument, &words);
    refused(network.infer_rows::<f32, f32>(&[]), Status::InvalidArgument, &["whole rows of 5"]);
    refused(network.infer_rows::<f32, f64>(&rates), Status::InvalidArgument, &["f64"]);
    Ok(())
}

/// Arrays of other files, frozen stages and schedules: the wrong ones are refused, and change nothing.
#[test]
fn tuning_is_checked() -> Result<()> {
    let context = context();
    let (network, other) = (built(&context)?, stages(&context)?);
    other.set("adam", "schedule", Schedule::Cosine)?;
    other.set("adam", "schedule_steps", 2)?;
    other.build()?;
    let (before, file) = (network.save_to_memory()?, other.save_to_memory()?);
    let wrong = |source: ArraySource<'_>, words: &[&str]| {
        refused(network.load_arrays_from_memory(&file, &[source], false), Status::InvalidArgument, words);
    };
    wrong(("first.weights", "first.weight").into(), &["SYN-NETWORK-ARRAY", "did you mean \"first.weights\""]);
    wrong(("first.bios", "first.bias").into(), &["SYN-FILE-TENSOR", "did you mean \"first.bias\""]);
    wrong(("first.weights", "second.weights").into(), &["SYN-FILE-SHAPE", "[6, 5]", "[2, 6]"]);
    wrong(("adam.step_count", "first.bias").into(), &["SYN-FILE-DTYPE", "U64"]);
    wrong(ArraySource::from("first.weights").layout("io"), &["SYN-NETWORK-LAYOUT", "\"oi\""]);
    let damaged = network.load_arrays_from_memory(&[0; 100], &["first.bias".into()], false);
    refused(damaged, Status::InvalidArgument, &["SYN-FILE"]);
    let missing = network.load_arrays("no such file", &["first.bias".into()], false);
    refused(missing, Status::InvalidArgument, &["SYN-FILE-OPEN"]);
    network.set("first", "frozen", true)?;
    network.set("first", "frozen", false)?;
    assert!(network.save_to_memory()? == before);
    let sources = [("first.weights", "first.weights", "oi").into(), ("second.bias", "first.bias").into()];
    assert_eq!(network.load_arrays_from_memory(&file, &sources, true)?, ["first.bias"]);
    network.load_from_memory(&file)?; // with its schedule
    network.train(2)?;
    refused(network.train(1), Status::InvalidArgument, &["SYN-NETWORK-SCHEDULE", "2 were taken"]);
    let adam = network.optimizer("adam")?;
    refused(adam.set_factors(9, 1.0, 1.0, false), Status::InvalidArgument, &["SYN-OPTIMIZER-MEMBER", "4 members"]);
    Ok(())
}

/// Described by names, with arrays for its stages, it is the network of the other functions.
#[test]
fn stages_are_described_by_names() -> Result<()> {
    let context = context();
    let expected = stages(&context)?;
    let network = Network::builder(Steps(4)).batch(3).create(&context)?;
    network.stage("input", "rates").set("kind", "rates").set("n_features", INPUTS as f64).add()?;
    network.stage("synapse", "first").set("n_outputs", 6).add()?;
    network.stage("neurons", "hidden").reads("first").set("model", "lif").set("surrogate", Surrogate::Sigmoid).add()?;
    network.stage("synapse", "second").reads_port("hidden", "spikes").set("n_outputs", 2).add()?;
    network.stage("neurons", "potentials").set("model", "li").add()?;
    network.stage("readout", "scores").set("reduction", "mean").add()?;
    network.stage("loss", "loss").set("kind", "cross_entropy").add()?;
    network.stage("optimizer", "adam").set("kind", "adam").set("learning_rate", 0.01).add()?;
    assert_eq!(network.to_dot()?, expected.to_dot()?);
    let early = network.stage("readout", "early").reads("early").set("reduction", "mean").add();
    refused(early, Status::InvalidArgument, &["SYN-NETWORK-READS", "itself"]);
    network.build()?;
    let inputs = Buffer::<f32>::zeros(&context, Memory::Host, ROWS * INPUTS)?;
    let labels = Buffer::<u32>::builder(ROWS).memory(Memory::Host).dtype(DType::U32).create(&context)?;
    let scores = Buffer::<f32>::zeros(&context, Memory::Host, ROWS * 2)?;
    network.set_arrays(
        Data::Evaluation,
        ROWS as i64,
        &Arrays::new().labels(Some("loss"), &labels).inputs(None, &inputs),
    )?;
    let (whole, losses) = network.evaluate_stages(&["loss"])?;
    assert_eq!((losses[0].loss, losses[0].n_counted), (whole.loss, ROWS as u64));
    network
        .infer_arrays(ROWS as i64, &Arrays::new().inputs(Some("rates"), &inputs).outputs(Some("scores"), &scores))?;
    let wrong = network.set_arrays(Data::Evaluation, ROWS as i64, &Arrays::new().labels(Some("scores"), &labels));
    refused(wrong, Status::InvalidArgument, &["SYN-NETWORK-ARRAY", "scores"]);
    Ok(())
}

/// Stages of maps that cannot be are refused, and their names stay free.
#[test]
fn maps_are_checked() -> Result<()> {
    let context = context();
    let network = Network::builder(Steps(2)).create(&context)?;
    network.stage("input", "x").set("kind", "spikes").set("height", 3).set("width", 4).set("channels", 6).add()?;
    let conv = || network.stage("conv2d", "y").set("output_channels", 4);
    let invalid = Status::InvalidArgument;
    refused(conv().set("kernel", 5).add(), invalid, &["SYN-CONV-KERNEL", "\"y\"", "5", "padded map has a height of 3"]);
    refused(conv().set("groups", 4).add(), invalid, &["SYN-CONV-GROUPS", "4", "6"]);
    let pool = network.stage("pool", "y").set("kind", "sum").set("window", 5);
    refused(pool.add(), invalid, &["SYN-POOL-WINDOW", "5"]);
    conv().set("kernel", 3).add()?;
    let sum = network.stage("sum", "z").reads("x").reads("y");
    refused(sum.add(), invalid, &["SYN-NETWORK-SHAPE", "3x4x6", "\"x\"", "1x2x4", "\"y\""]);
    refused(network.set_mask("y", &[1; 10]), invalid, &["SYN-SYNAPSE-MASK", "[4, 3, 3, 6]"]);
    let large = Network::builder(Steps(2)).create(&context)?;
    let input = large.stage("input", "x").set("kind", "counts").set("bound", 255);
    input.set("height", 300).set("width", 300).set("channels", 1).add()?;
    refused(large.stage("pool", "y").set("kind", "sum").add(), Status::Unsupported, &["SYN-POOL-BOUND", "2^24"]);
    Ok(())
}

/// V = (X + v_rest) / 2 with a v_rest for each channel. The loss is the mean of V^2 over four neurons, and a step of SGD
/// takes off the sum of V / 4 over the places of a channel.
#[test]
fn channels_have_parameters_of_their_own() -> Result<()> {
    let context = context();
    let network = Network::builder(Steps(1)).create(&context)?;
    network.stage("input", "x").set("kind", "values").set("height", 2).set("channels", 2).add()?;
    network.stage("neurons", "v").reads("x").set("model", "li").set("tau", 2).add()?;
    network.set_scope("v", "v_rest", Scope::Channel)?;
    network.train_parameter("v", "v_rest", false, 1.0, 0.0, None, None)?;
    network.stage("readout", "out").reads_port("v", "v").set("reduction", "last").add()?;
    network.add_loss("loss", operations::LossKind::MeanSquaredError)?;
    network.add_optimizer("sgd", OptimizerKind::Sgd, 1.0)?;
    network.build()?;
    let x = Buffer::<f32>::from_array(&context, Memory::Host, &[1f32, 2.0, 3.0, 4.0])?;
    let targets = Buffer::<f32>::zeros(&context, Memory::Host, 4)?;
    network.set_arrays(Data::Training, 1, &Arrays::new().inputs(None, &x).targets(None, &targets))?;
    assert_eq!(network.train(1)?.loss, 1.875);
    let (v, mut rest) = (network.layer("v")?, [0.0; 2]);
    v.parameter("v_rest", &mut rest)?;
    assert_eq!(rest, [-0.5, -0.75]);
    Ok(())
}

// An array of NumPy.
fn npy(name: &str, descr: &str, shape: &str, elements: &[[u8; 4]]) -> String {
    let path = std::env::temp_dir().join(format!("synfire_rust_{}_{name}.npy", std::process::id()));
    let dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{dictionary:<118}").bytes());
    file.extend(elements.concat());
    std::fs::write(&path, file).expect("a temporary file");
    path.to_str().expect("UTF-8").into()
}

#[test]
fn rows_stay_in_files() -> Result<()> {
    let context = context();
    let network = built(&context)?;
    let rates: Vec<_> = (0..ROWS * INPUTS).map(|i| ((i % 3) as f32 / 3.0).to_le_bytes()).collect();
    let labels: Vec<_> = (0..ROWS).map(|row| (row as u32 % 2).to_le_bytes()).collect();
    let inputs = npy("rates", "<f4", &format!("{ROWS}, {INPUTS}"), &rates);
    let numbers = npy("labels", "<u4", &format!("{ROWS},"), &labels);
    let files = DataFiles::new().inputs(Some("rates"), &inputs, None).labels(None, &numbers, None);
    let (rates, labels): (Vec<f32>, Vec<u32>) =
        (rates.into_iter().map(f32::from_le_bytes).collect(), labels.into_iter().map(u32::from_le_bytes).collect());
    network.set_rows(
        Data::Evaluation,
        ROWS as i64,
        &[("rates", Rows::Inputs(&rates)), ("loss", Rows::Labels(&labels))],
    )?;
    let expected = network.evaluate()?;
    network.open_data(Data::Evaluation, &files)?;
    assert_eq!(network.evaluate()?.loss, expected.loss);
    network.open_data(Data::Training, &files.clone().block_rows(2).window_blocks(1).n_readers(1))?;
    assert_eq!(network.train_epoch()?.epoch, 1);
    let missing = network.open_data(Data::Training, &DataFiles::new().inputs(None, &inputs, None));
    refused(missing, Status::InvalidArgument, &["SYN-NETWORK-ARRAY", "labels"]);
    drop(network);
    for path in [&inputs, &numbers] {
        std::fs::remove_file(path).expect("the file");
    }
    Ok(())
}

#[test]
fn parts_are_the_networks_own() -> Result<()> {
    let context = context();
    let network = built(&context)?;
    let (first, second) = (network.synapse("first")?, network.synapse("second")?);
    let mut before = [0f32; INPUTS * 6];
    first.read("weight", &mut before)?;
    network.train_epoch()?;
    let mut after = before;
    first.read("weight", &mut after)?;
    assert_ne!(before, after);
    // Weights that are written by hand are those of the next evaluation: without any, both classes are as likely.
    second.write("weight", &[0f32; 12])?;
    second.write("bias", &[0f32; 2])?;
    let result = network.evaluate()?;
    assert!((result.loss - 2f64.ln()).abs() < 1e-6, "{result}");
    assert_eq!(result.accuracy(), result.n_correct as f64 / ROWS as f64);
    assert_eq!(result.to_string(), format!("loss {:.9}, accuracy {:.4}", result.loss, result.accuracy()));
    // Gradients that are infinite in f32 change nothing, and the text says so.
    network.set("loss", "gradient_scale", 1e300)?;
    let skipped = network.train_epoch()?.to_string();
    assert!(skipped.ends_with(", 3 of 3 batches skipped"), "{skipped}");
    network.set("loss", "gradient_scale", 1.0)?;

    let hidden = network.layer("hidden")?;
    assert_eq!((hidden.n_steps(), hidden.n_neurons(), hidden.batch()), (4, 6, 3));
    hidden.set_parameter("tau", &[5.0])?;
    assert_eq!(network.value("hidden", "tau")?, 5.0);
    let mut count = [0u64];
    network.optimizer("adam")?.read(None, "step_count", &mut count)?;
    assert_eq!(count, [3]);
    let input = network.buffer::<f32>("input")?;
    assert_eq!((input.shape(), input.dtype(), input.memory()), (&[1, 3, INPUTS][..], DType::F32, Memory::Pinned));
    refused(network.buffer::<f64>("input"), Status::InvalidArgument, &["SYN-RUST-DTYPE", "F32"]);
    Ok(())
}

#[test]
fn frames_of_the_inference_graph() -> Result<()> {
    let context = context();
    let network = built(&context)?;
    let (input, output) = (network.buffer::<f32>("input")?, network.buffer::<f32>("output")?);
    let mut graph = network.graph(NetworkGraph::Inference)?;
    input.map_mut()?.fill(0.5);
    replay(&mut graph);
    let first = output.map()?.to_vec();
    assert!(first.iter().any(|score| *score != 0.0));
    // The state goes on from frame to frame, until it is reset.
    replay(&mut graph);
    assert_ne!(output.map()?.to_vec(), first);
    let rows = Buffer::<f32>::builder(3 * INPUTS).memory(Memory::Host).create(&context)?;
    rows.write(&[0.5; 3 * INPUTS])?;
    let scores = Buffer::<f32>::builder(6).memory(Memory::Host).create(&context)?;
    network.infer(&rows, 3, &scores)?;
    let mut inferred = [0f32; 6];
    scores.read(&mut inferred)?;
    assert_eq!(inferred[..], first[..]);
    Ok(())
}

#[test]
fn parts_are_held_together() -> Result<()> {
    let context = context();
    let network = built(&context)?;
    let (input, output) = (network.buffer::<f32>("input")?, network.buffer::<f32>("output")?);
    let (again, first) = (network.buffer::<f32>("input")?, network.synapse("first")?);
    let mut graph = network.graph(NetworkGraph::Inference)?;
    let map = input.map_mut()?;
    for busy in [
        again.map().map(drop),
        output.map().map(drop),
        network.train_epoch().map(drop),
        network.evaluate().map(drop),
        first.read("bias", &mut [0f32; 6]),
        graph.launch().map(drop),
    ] {
        refused(busy, Status::Busy, &["SYN-RUST-HELD"]);
    }
    drop(map);
    let reading = (input.map()?, output.map()?);
    refused(network.train_epoch(), Status::Busy, &["SYN-RUST-HELD"]);
    drop(reading);
    let ticket = graph.launch()?;
    refused(output.map(), Status::Busy, &["replay in flight"]);
    graph.wait(ticket, Wait::Spin, None)?;
    output.map()?;
    network.train_epoch()?;
    let other = Buffer::<f32>::zeros(&context, Memory::Pinned, [3, INPUTS])?;
    refused(graph.rebind(&input, &other), Status::InvalidArgument, &["SYN-RUST-PART"]);
    // One graph of the program's own that uses two parts leaves both when it is dropped.
    let own = Graph::record(&context, |graph| {
        graph.copy(&input, 0, &other, 0, 0)?;
        graph.copy(&output, 0, &other, 0, 24)
    })?;
    drop(own);
    input.map_mut()?;
    Ok(())
}

#[test]
fn parts_outlive_the_network() -> Result<()> {
    let context = context();
    let network = built(&context)?;
    network.train_epoch()?;
    let (first, hidden, adam) = (network.synapse("first")?, network.layer("hidden")?, network.optimizer("adam")?);
    let (input, output) = (network.buffer::<f32>("input")?, network.buffer::<f32>("output")?);
    let mut graph = network.graph(NetworkGraph::Inference)?;
    let mut training = network.graph(NetworkGraph::Training)?;
    drop(context);
    network.close();
    let mut count = [0u64];
    for _ in 0..2 {
        first.read("bias", &mut [0f32; 6])?;
        hidden.parameter("tau", &mut [0.0])?;
        input.map_mut()?.fill(1.0);
        replay(&mut graph);
        assert!(output.map()?.iter().all(|score| score.is_finite()));
        replay(&mut training);
    }
    adam.read(None, "step_count", &mut count)?;
    assert_eq!(count, [5]);
    Ok(())
}

#[test]
fn wrong_names_orders_and_data() -> Result<()> {
    let context = context();
    let network = stages(&context)?;
    refused(network.synapse("first"), Status::WrongOrder, &["SYN-NETWORK"]);
    refused(network.train_epoch(), Status::WrongOrder, &["SYN-NETWORK"]);
    refused(network.add_synapse("third", 2), Status::WrongOrder, &["SYN-NETWORK"]);
    refused(network.set_value("hiden", "tau", 3.0), Status::InvalidArgument, &["hiden", "hidden"]);
    refused(network.set_value("hidden", "tua", 3.0), Status::InvalidArgument, &["tua", "tau"]);
    network.set("hidden", "surrogate", Surrogate::Atan)?;
    network.set("hidden", "detach_reset", true)?;
    assert_eq!(network.value("hidden", "surrogate")?, Surrogate::Atan.to_raw().into());
    assert_eq!(network.value("hidden", "detach_reset")?, 1.0);
    network.build()?;
    refused(network.build(), Status::WrongOrder, &["SYN-NETWORK"]);
    refused(network.synapse("firts"), Status::InvalidArgument, &["firts", "first"]);
    refused(network.synapse("hidden"), Status::InvalidArgument, &["hidden"]);
    refused(network.layer("first"), Status::InvalidArgument, &["first"]);
    refused(network.buffer::<f32>("inputs"), Status::InvalidArgument, &["inputs", "input"]);
    refused(network.graph(NetworkGraph::Training), Status::WrongOrder, &["SYN-NETWORK"]);
    // Rows that do not fit the labels: too few, too many, and a part of one more.
    for size in [0, 9, 11, 15] {
        let inputs = vec![0f32; size];
        let words = [&format!("inputs has {size} elements"), "labels 2", "are 10", "SYN-NETWORK-DATA"];
        refused(network.set_labelled_data(Data::Training, &inputs, &[0, 1]), Status::InvalidArgument, &words);
    }
    refused(
        network.set_labelled_data(Data::Training, &[0f32; 10], &[0, 2]),
        Status::InvalidArgument,
        &["LABEL", "row 1"],
    );
    refused(network.set_labelled_data::<f32>(Data::Training, &[], &[]), Status::InvalidArgument, &["SYN-"]);
    refused(network.add_input("a\0b", NetworkInput::Rates, 1), Status::InvalidArgument, &["SYN-RUST"]);
    let summary = network.summary()?;
    assert!(summary.contains("hidden") && network.to_dot()?.starts_with("digraph"), "{summary}");
    Ok(())
}

#[test]
fn files() -> Result<()> {
    let context = context();
    let network = built(&context)?;
    network.train(2)?;
    let (expected, file) = (network.evaluate()?, network.save_to_memory()?);
    let other = built(&context)?;
    refused(other.load_from_memory(&file[1..]), Status::InvalidArgument, &["SYN-"]);
    assert_ne!(other.evaluate()?.loss, expected.loss);
    other.load_from_memory(&file)?;
    assert_eq!(other.evaluate()?.loss, expected.loss);

    // A path may be longer than names are.
    let name = format!("synfire-{}-{}.safetensors", std::process::id(), "n".repeat(150));
    let path = std::env::temp_dir().join(name);
    let path = path.to_str().unwrap();
    network.save(path)?;
    assert_eq!(std::fs::read(path).unwrap(), file);
    assert_eq!(Network::from_file(&context, path)?.save_to_memory()?, file);
    let smaller = NetworkFile::new().inference(true).batch(1).n_steps(Steps(2)).load(&context, path)?;
    assert_eq!(smaller.buffer::<f32>("output")?.len(), 2);
    assert_eq!(NetworkFile::new().load_from_memory(&context, &file)?.save_to_memory()?, file);
    // A network for a loop, which replaces what is not finite and counts it.
    let looped = NetworkFile::new().replace_nonfinite(true).load_from_memory(&context, &file)?;
    let rates = Buffer::<f32>::builder(INPUTS).memory(Memory::Host).create(&context)?;
    rates.write(&[0.5, f32::NAN, 0.0, f32::INFINITY, 1.0])?;
    let scores = Buffer::<f32>::builder(2).memory(Memory::Host).create(&context)?;
    looped.infer(&rates, 1, &scores)?;
    let mut replaced = [0u64; 1];
    looped.buffer::<u64>("n_replaced")?.read(&mut replaced)?;
    assert_eq!(replaced, [2]);
    // A program asks for arrays, monitors, and readouts that continue.
    let asked = NetworkFile::new().keep("hidden.v hidden.counts hidden.monitor").continues(true);
    let watched = asked.load_from_memory(&context, &file)?;
    assert!(!watched.buffer::<f32>("hidden.v")?.is_empty());
    let hidden = watched.monitor("hidden", true)?;
    assert!(hidden.n_replays == 0 && hidden.weight_norm.is_nan());
    assert_eq!(watched.value("scores", "continues")?, 1.0);
    refused(network.buffer::<f32>("hidden.v"), Status::WrongOrder, &["SYN-NETWORK-NOT-KEPT"]);
    refused(network.keep("hidden.v"), Status::WrongOrder, &["SYN-NETWORK-BUILT"]);
    refused(watched.monitor("scores", false), Status::InvalidArgument, &["SYN-NETWORK-MONITOR"]);
    let unknown = NetworkFile::new().keep("hidden.spike").load_from_memory(&context, &file);
    refused(unknown, Status::InvalidArgument, &["SYN-NETWORK-KEEP", "did you mean \"hidden.spikes\""]);
    network.train(2)?;
    network.load(path)?;
    assert_eq!(network.save_to_memory()?, file);
    std::fs::remove_file(path).unwrap();
    refused(network.load(path), Status::InvalidArgument, &["SYN-"]);
    refused(Network::from_file(&context, "a\0b"), Status::InvalidArgument, &["SYN-RUST"]);
    // A load that would change a mapped part is refused.
    let input = network.buffer::<f32>("input")?;
    let map = input.map()?;
    refused(network.load_from_memory(&file), Status::Busy, &["SYN-RUST-HELD"]);
    drop(map);
    network.load_from_memory(&file)
}

/// The file with another header, in which one text replaces another.
fn with_header(file: &[u8], from: &str, to: &str) -> Vec<u8> {
    let end = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&file[8..end]).unwrap();
    assert!(header.contains(from), "{header}");
    let header = header.replacen(from, to, 1);
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &file[end..]].concat()
}

#[test]
fn bad_files_change_nothing() -> Result<()> {
    let context = context();
    let network = built(&context)?;
    network.train(1)?;
    let file = network.save_to_memory()?;
    let other = Network::builder(Steps(4)).batch(3).create(&context)?;
    other.add_input("rates", NetworkInput::Rates, INPUTS as i64)?;
    // Stages that do not chain.
    refused(other.add_neurons("hidden", Model::Lif), Status::WrongOrder, &["SYN-NETWORK", "rates"]);
    refused(other.add_loss("loss", LossKind::CrossEntropy), Status::WrongOrder, &["SYN-NETWORK"]);
    other.add_synapse("first", 7)?;
    other.add_neurons("hidden", Model::Lif)?;
    other.build()?;
    let wraps = [&u64::MAX.to_le_bytes(), &file[8..]].concat();
    let huge = with_header(&file, "\"shape\":[6,5]", "\"shape\":[4611686018427387904,4]");
    let unknown = with_header(&file, "kind=neurons", "kind=words");
    let cases: [(&[u8], &str); 6] = [
        (&other.save_to_memory()?, "SYN-NETWORK-OTHER"),
        (&file[..file.len() - 1], "SYN-FILE-"),
        (&file[..100], "SYN-FILE-"),
        (&wraps, "SYN-FILE-LENGTH"),
        (&huge, "SYN-FILE-"),
        (&unknown, "SYN-NETWORK-FILE"),
    ];
    for (bytes, rule) in cases {
        refused(network.load_from_memory(bytes), Status::InvalidArgument, &[rule]);
        assert!(network.save_to_memory()? == file, "{rule}");
        if rule != "SYN-NETWORK-OTHER" {
            refused(NetworkFile::new().load_from_memory(&context, bytes), Status::InvalidArgument, &[rule]);
        }
    }
    // The list of words that a network names is that after which its last neurons are called.
    refused(network.layer("digits"), Status::InvalidArgument, &["digits", "potentials"]);
    Ok(())
}

// Calls of two threads meet nowhere: each is done, or refused.
#[test]
fn two_threads() -> Result<()> {
    let context = context();
    let network = built(&context)?;
    let (input, first) = (network.buffer::<f32>("input")?, network.synapse("first")?);
    let (done, trained) = (AtomicBool::new(false), std::sync::atomic::AtomicU32::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Acquire) {
                match input.map_mut() {
                    Ok(mut map) => map.fill(0.25),
                    Err(error) => assert_eq!(error.status, Status::Busy, "{error}"),
                }
                if let Err(error) = first.read("bias", &mut [0f32; 6]) {
                    assert_eq!(error.status, Status::Busy, "{error}");
                }
            }
        });
        while trained.load(Relaxed) < 20 {
            match network.train_epoch() {
                Ok(_) => drop(trained.fetch_add(1, Relaxed)),
                Err(error) => assert_eq!(error.status, Status::Busy, "{error}"),
            }
        }
        done.store(true, Release);
    });
    Ok(())
}
