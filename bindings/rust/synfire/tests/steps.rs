// steps.rs - arithmetic inside replays, gradient descent, rows of the state and snapshots of it.
mod common;
use common::*;
use synfire::*;

fn status<T: std::fmt::Debug>(result: Result<T>) -> Status {
    result.unwrap_err().status
}

#[test]
fn sums_and_fills() {
    let context = context();
    let source = Buffer::from_array(&context, Memory::Pinned, &[1.0f32, 2.0, 3.0]).unwrap();
    let to = Buffer::from_array(&context, Memory::Pinned, &[10.0f32, 20.0, 30.0]).unwrap();
    context.scale_add(2.0, &source, 0.5, &to).unwrap();
    assert_eq!(to.to_vec().unwrap(), [7.0, 14.0, 21.0]);
    let mut graph = Graph::new(&context).unwrap();
    let fill = graph.fill(&to, 1.0).unwrap();
    let sum = graph.scale_add(1.0, &source, 1.0, &to).unwrap();
    graph.instantiate().unwrap();
    replay(&mut graph);
    assert_eq!(to.to_vec().unwrap(), [2.0, 3.0, 4.0]);
    // Numbers that were set since the last launch count together from the next one on.
    graph.set_value(fill, "value", 5.0).unwrap();
    graph.set_value(sum, "scale", -1.0).unwrap();
    graph.set_value(sum, "keep", 2.0).unwrap();
    assert_eq!(to.to_vec().unwrap(), [2.0, 3.0, 4.0]);
    replay(&mut graph);
    assert_eq!(to.to_vec().unwrap(), [9.0, 8.0, 7.0]);
    assert_eq!(
        status(graph.set_value(fill, "scale", 1.0)),
        Status::InvalidArgument,
        "a number that a fill does not have"
    );
    assert_eq!(status(graph.set_value(sum, "scale", f64::NAN)), Status::InvalidArgument, "a NaN");
    let short = Buffer::<f32>::zeros(&context, Memory::Pinned, 2).unwrap();
    assert_eq!(status(context.scale_add(1.0, &source, 1.0, &short)), Status::InvalidArgument, "another length");
    let bytes = Buffer::<u8>::zeros(&context, Memory::Pinned, 3).unwrap();
    assert_eq!(status(context.scale_add(1.0, &source, 1.0, &bytes)), Status::InvalidArgument, "bytes");
}

#[test]
fn gradient_descent_inside_the_replay() {
    let context = context();
    let layer = Layer::builder(Steps(1), Neurons(3)).create(&context).unwrap();
    layer.set_parameter("tau", &[5.0, 6.0, 7.0]).unwrap();
    let gradient = Buffer::from_array(&context, Memory::Pinned, &[1.0f32, -1.0, 0.0]).unwrap();
    let mut graph = Graph::new(&context).unwrap();
    let update = Update::new("tau", &gradient, 0.5).lower(4.0).upper(6.75);
    let learn = graph.update_parameter(&layer, update).unwrap();
    graph.instantiate().unwrap();
    let tau = || {
        let mut values = [0.0; 3];
        layer.parameter("tau", &mut values).unwrap();
        values
    };
    replay(&mut graph);
    assert_eq!(tau(), [4.5, 6.5, 6.75], "one step, and bounds");
    graph.set_value(learn, "learning_rate", 10.0).unwrap();
    replay(&mut graph);
    assert_eq!(tau(), [4.0, 6.75, 6.75]);
    // Values that the host sets come after the updates of replays launched before.
    layer.set_parameter("tau", &[5.0, 5.0, 5.0]).unwrap();
    assert_eq!(tau(), [5.0; 3]);
    graph.set_value(learn, "learning_rate", 0.25).unwrap();
    replay(&mut graph);
    assert_eq!(tau(), [4.75, 5.25, 5.0]);
    let mut other = Graph::new(&context).unwrap();
    assert_eq!(status(other.update_parameter(&layer, Update::new("alpha", &gradient, 0.1))), Status::InvalidArgument);
    assert_eq!(
        status(other.update_parameter(&layer, Update::new("tau", &gradient, f64::NAN))),
        Status::InvalidArgument
    );
}

#[test]
fn several_parameters_or_none() {
    let context = context();
    let layer = Layer::builder(Steps(1), Neurons(3)).create(&context).unwrap();
    let mut tau = [0.0];
    assert_eq!(status(layer.set_parameters(&[("tau", &[3.0]), ("v_reset", &[f64::NAN])])), Status::InvalidArgument);
    assert_eq!(status(layer.set_parameters(&[])), Status::InvalidArgument, "none at all");
    layer.parameter("tau", &mut tau).unwrap();
    assert_eq!(tau, [2.0]);
    layer.set_parameters(&[("tau", &[3.0]), ("v_reset", &[-1.0, -2.0, -3.0])]).unwrap();
    layer.parameter("tau", &mut tau).unwrap();
    assert_eq!(tau, [3.0]);
}

#[test]
fn only_the_first_rows_are_active() {
    let context = context();
    let layer = Layer::builder(Steps(1), Neurons(2)).model(Model::If).batch(3).create(&context).unwrap();
    let x = layer.sequence::<f32>(Memory::Pinned).unwrap();
    x.fill(0.25).unwrap();
    let mut graph = Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&x))).unwrap();
    for (n_active, after) in [(2, [0.25, 0.25, 0.0]), (0, [0.25, 0.25, 0.0]), (3, [0.5, 0.5, 0.25])] {
        layer.set_n_active(n_active).unwrap();
        replay(&mut graph);
        let v = rows(&layer);
        assert_eq!([v[0], v[2], v[4]], after, "{n_active} rows");
    }
    assert_eq!(status(layer.set_n_active(4)), Status::InvalidArgument);
    assert_eq!(status(layer.set_n_active(-1)), Status::InvalidArgument);
}

fn rows(layer: &Layer) -> Vec<f32> {
    let mut v = vec![0f32; (layer.batch() * layer.n_neurons()) as usize];
    layer.read_state("v", &mut v).unwrap();
    v
}

#[test]
fn rows_of_the_state() {
    let context = context();
    let layer = Layer::builder(Steps(1), Neurons(2)).batch(4).create(&context).unwrap();
    layer.write_state("v", &[1f32, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]).unwrap();
    layer.reset_rows(1..2).unwrap();
    assert_eq!(rows(&layer), [1.0, 1.0, 0.0, 0.0, 3.0, 3.0, 4.0, 4.0]);
    let mask = Buffer::from_array(&context, Memory::Pinned, &[1u8, 0, 0, 1]).unwrap();
    layer.reset_masked(1.., &mask).unwrap();
    assert_eq!(rows(&layer), [1.0, 1.0, 0.0, 0.0, 3.0, 3.0, 0.0, 0.0]);
    let some = Buffer::from_array(&context, Memory::Pinned, &[[7f32, 8.0], [9.0, 10.0]]).unwrap();
    layer.write_rows("v", 2..=3, &some).unwrap();
    let mut back = [[0f32; 2]; 2];
    let out = Buffer::<f32>::zeros(&context, Memory::Pinned, [2, 2]).unwrap();
    layer.read_rows("v", 1..3, &out).unwrap();
    out.read_array(&mut back).unwrap();
    assert_eq!(back, [[0.0, 0.0], [7.0, 8.0]]);
    let other = Layer::builder(Steps(3), Neurons(2)).batch(2).create(&context).unwrap();
    other.copy_rows(&layer, 2.., 0).unwrap();
    assert_eq!(rows(&other), [7.0, 8.0, 9.0, 10.0]);
    // Recorded, the same.
    let agents = Layer::builder(Steps(1), Neurons(2)).batch(4).create(&context).unwrap();
    let mut graph = Graph::record(&context, |graph| {
        graph.write_rows(&agents, "v", ..2, &some)?;
        graph.copy_rows(&agents, &other, .., 2)?;
        graph.reset_masked(&agents, .., &mask)?;
        graph.reset_rows(&agents, 2..3)?;
        graph.read_rows(&agents, "v", 1..3, &out)
    })
    .unwrap();
    replay(&mut graph);
    assert_eq!(rows(&agents), [0.0, 0.0, 9.0, 10.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(out.to_vec().unwrap(), [9.0, 10.0, 0.0, 0.0]);
    // Ranges that are none, or outside.
    let empty = layer.reset_rows(2..2).unwrap_err();
    assert_eq!((empty.status, empty.rule.as_str()), (Status::InvalidArgument, "SYN-RUST-ROWS"));
    assert_eq!(status(layer.reset_rows(-1..2)), Status::InvalidArgument);
    assert_eq!(status(layer.reset_rows(..5)), Status::InvalidArgument);
    assert_eq!(status(layer.read_rows("u", .., &out)), Status::InvalidArgument);
    assert_eq!(status(layer.copy_rows(&other, .., 3)), Status::InvalidArgument);
}

#[test]
fn snapshots() {
    let context = context();
    let build = |neurons| {
        Layer::builder(Steps(1), Neurons(neurons)).model(Model::Izhikevich).batch(3).create(&context).unwrap()
    };
    let layer = build(2);
    layer.write_state("v", &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let whole = layer.snapshot(..).unwrap();
    let last = layer.snapshot(2..).unwrap();
    assert!(whole.len() > last.len() && !last.is_empty());
    layer.reset_state().unwrap();
    layer.restore(.., &whole).unwrap();
    assert_eq!(rows(&layer), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    layer.restore(..1, &last).unwrap();
    assert_eq!(rows(&layer)[..2], [5.0, 6.0]);
    // Foreign, damaged, cut short, of another number of rows: refused, and nothing changes.
    let before = rows(&layer);
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(status(layer.restore(.., &damaged)), Status::InvalidArgument);
    assert_eq!(status(layer.restore(.., &whole[..whole.len() - 1])), Status::InvalidArgument);
    assert_eq!(status(layer.restore(.., b"no snapshot")), Status::InvalidArgument);
    assert_eq!(status(layer.restore(.., &[])), Status::InvalidArgument);
    assert_eq!(status(layer.restore(..2, &whole)), Status::InvalidArgument);
    assert_eq!(status(build(3).restore(.., &whole)), Status::InvalidArgument);
    assert_eq!(rows(&layer), before);
    // Recorded: into a buffer, and back from it.
    let kept = Buffer::<u8>::zeros(&context, Memory::Pinned, whole.len()).unwrap();
    let mut keep = Graph::record(&context, |graph| graph.snapshot(&layer, .., &kept)).unwrap();
    let mut back = Graph::record(&context, |graph| graph.restore(&layer, .., &kept)).unwrap();
    replay(&mut keep);
    layer.reset_state().unwrap();
    replay(&mut back);
    assert_eq!(rows(&layer), before);
    layer.reset_state().unwrap();
    layer.restore(.., &kept.to_vec().unwrap()).unwrap();
    assert_eq!(rows(&layer), before);
}
