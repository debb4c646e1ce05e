// program.rs - uses what added.h adds: all of it compiles, and what added.c has runs.
//
// SPDX-License-Identifier: MIT
use std::sync::{Mutex, MutexGuard, PoisonError};
use synfire::operations::{DecodeRate, Delay, Extras, Mix, Window};
use synfire::*;

// Both tests create handles and lines, and the first one counts those of the process.
static ALONE: Mutex<()> = Mutex::new(());
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[allow(dead_code)]
fn decode(
    context: &Context,
    graph: &mut Graph,
    layer: &Layer,
    spikes: &Buffer<u32>,
    rates: &Buffer<f32>,
) -> Result<Operation> {
    let decode = DecodeRate::new(spikes, rates, Steps(20)).window(Window::Decaying).extras(Extras::COUNT | Extras::LAST);
    decode.normalized(true).sums(rates, rates).run(context)?;
    DecodeRate::with_layer(layer, "v", rates, Steps(20)).record(graph)?;
    decode.record(graph)
}
#[allow(dead_code)]
fn mix(graph: &mut Graph, layer: &Layer, rates: &Buffer<f32>) -> Result<Operation> {
    let mix = Mix::new(layer, "v").third(layer).name("mix").lengths([1, 2]);
    let mix = mix.parts("one", rates, 0.5).parts("two", rates, 0.5).inputs(rates).weights(&[1.0]);
    mix.clone().run(layer)?;
    mix.record(graph, layer)
}

fn context() -> Context {
    Context::builder().backend(Backend::Host).create().unwrap()
}
fn pair(context: &Context) -> Buffer<f32> {
    Buffer::zeros(context, Memory::Pinned, 2).unwrap()
}

#[test]
fn an_object_and_its_operation() {
    let _alone = alone();
    fn is_shared<T: Send + Sync>(_: &T) {}
    let context = context();
    let layer = Layer::builder(Steps(1), Neurons(2)).create(&context).unwrap();
    let (x, memory) = (pair(&context), pair(&context));
    let refused = DelayLine::builder(&layer, &x, 0).create(&context);
    assert_eq!(refused.unwrap_err().status, Status::InvalidArgument);
    let live = live_handles();
    let first = DelayLine::builder(&layer, &x, 1).create(&context).unwrap();
    let line = DelayLine::builder(&layer, &x, 3).interpolation(Interpolation::Linear).closed(true);
    let line = line.memory(&memory).previous(&first).delays(&[1.0, 2.0]).create(&context).unwrap();
    is_shared(&line);
    assert_eq!(live_handles(), live + 2);
    assert!(!line.as_raw().is_null());

    let mut taps = [9.0; 3];
    line.taps(&mut taps).unwrap();
    assert_eq!(taps, [0.0, 2.0, 4.0]);
    assert_eq!(line.taps(&mut [0.0; 2]).unwrap_err().status, Status::InvalidArgument);
    line.set_gain(0.5).unwrap();
    assert_eq!(line.query().unwrap().peak, 0.5);
    line.set_taps(&[("gain", &[1.0, 4.0]), ("other", &[])]).unwrap();
    assert_eq!(line.set_taps(&[]).unwrap_err().status, Status::InvalidArgument);
    assert_eq!(line.set_taps(&[("g\0", &[])]).unwrap_err().rule, "SYN-RUST-NAME");
    assert_eq!(line.find("four", true).unwrap(), (Interpolation::Linear, 104));
    assert_eq!((line.describe("tap").unwrap(), first.describe("tap").unwrap()), ("tap".to_string(), String::new()));
    assert_eq!(line.describe("nothing").unwrap_err().status, Status::InvalidArgument);
    assert_eq!(line.describe("t\0").unwrap_err().rule, "SYN-RUST-NAME");
    let DelayLineState { interpolation, empty, peak, used, place, type_, .. } = line.query().unwrap();
    assert_eq!((interpolation, empty, peak, used), (Interpolation::Linear, true, 4.0, [2, 3]));
    assert_eq!((place.as_str(), type_.as_str()), ("given", "delay"));
    assert_eq!(first.query().unwrap().place, "");

    // A call holds what it uses, and what the object was created with.
    let y = pair(&context);
    line.delay(Delay::new(&y).other(&first)).unwrap();
    assert_eq!((y.to_vec().unwrap(), first.query().unwrap().peak), (vec![4.0; 2], 4.0));
    line.drain(&y, Some(&first)).unwrap();
    assert_eq!(y.to_vec().unwrap(), [-4.0; 2]);
    for buffer in [&y, &memory, &x] {
        let map = buffer.map().unwrap();
        assert_eq!(Delay::new(&y).run(&line).unwrap_err().status, Status::Busy);
        assert_eq!(line.drain(&y, None).unwrap_err().status, Status::Busy);
        line.set_gain(8.0).unwrap();
        drop(map);
    }

    // A graph keeps all of it, and a replay in flight holds it.
    let mut graph = Graph::record(&context, |graph| Delay::new(&y).record(graph, &line)).unwrap();
    drop((line, layer));
    let map = memory.map().unwrap();
    assert_eq!(graph.launch().unwrap_err().status, Status::Busy);
    drop((map, x, context));
    assert_eq!(first.query().unwrap().used, [2, 1]);
    let ticket = graph.launch().unwrap();
    assert!(graph.wait(ticket, Wait::Spin, None).unwrap());
    assert_eq!(y.to_vec().unwrap(), [8.0; 2]);
    drop(graph);
    assert_eq!(first.query().unwrap().used, [1, 1]);
    first.close();
}

#[test]
fn methods_of_objects_that_are_there() {
    let _alone = alone();
    let context = context();
    let layer = Layer::builder(Steps(1), Neurons(2)).create(&context).unwrap();
    let other = Layer::builder(Steps(1), Neurons(2)).create(&context).unwrap();
    let (x, keys) = (pair(&context), pair(&context));
    assert_eq!(layer.mean().unwrap(), 0.25);
    layer.replace(&[&layer, &other]).unwrap();
    assert_eq!(layer.replace(&[]).unwrap_err().status, Status::InvalidArgument);
    assert_eq!(x.largest().unwrap(), (3.0, 4));
    // SAFETY: the context's own stream.
    unsafe { x.sort_on(&keys, std::ptr::null_mut()) }.unwrap();
    let map = x.map().unwrap();
    assert_eq!(x.largest().unwrap_err().status, Status::Busy);
    // SAFETY: as above.
    assert_eq!(unsafe { keys.sort_on(&x, std::ptr::null_mut()) }.unwrap_err().status, Status::Busy);
    drop(map);
    context.set_name(Some("one")).unwrap();
    assert_eq!(context.set_name(None).unwrap_err().status, Status::InvalidArgument);

    let line = DelayLine::builder(&layer, &keys, 1).create(&context).unwrap();
    let mut graph = Graph::new(&context).unwrap();
    let operation = graph.fill(&x, 1.0).unwrap();
    graph.instantiate().unwrap();
    assert_eq!(graph.runs(operation).unwrap(), 7);
    assert_eq!(graph.write_names().unwrap(), ("fill, delay".to_string(), 2));
    graph.set_line::<f32>(operation, &line, None).unwrap();
    // From now on the graph uses the line, and what that was created with.
    let map = keys.map().unwrap();
    assert_eq!(graph.launch().unwrap_err().status, Status::Busy);
    drop(map);
    graph.launch().unwrap();
}
