// graphs.rs - what changes between replays: slots, operations that are left out, other buffers, native nodes; and what a
// graph tells about itself.
mod common;
use common::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Duration;
use synfire::*;

fn firing(context: &Context) -> (Layer, Buffer<f32>, Buffer<f32>) {
    let layer = Layer::builder(Steps(2), Neurons(4)).model(Model::If).create(context).unwrap();
    let x = layer.sequence::<f32>(Memory::Pinned).unwrap();
    let spikes = layer.sequence::<f32>(Memory::Pinned).unwrap();
    (layer, x, spikes)
}
fn status<T: std::fmt::Debug>(result: Result<T>) -> Status {
    result.unwrap_err().status
}

#[test]
fn slots_are_frames_of_their_own() {
    let context = context();
    let (layer, x, spikes) = firing(&context);
    let forward = Forward::new(&x).spikes(&spikes);
    let mut graph = Graph::builder().slots(3).record(&context, |graph| graph.forward(&layer, forward)).unwrap();
    let mut tickets = vec![];
    for round in 0..9u64 {
        {
            let mut frame = graph.next_slot(&x).unwrap().expect("a slot that is free");
            assert_eq!(frame.len(), 8);
            frame.fill(if round % 2 == 0 { 2.0 } else { 0.0 });
            // The buffer is held meanwhile: its own memory is one of the slots.
            assert_eq!(status(x.map()), Status::Busy);
            assert_eq!(status(graph.next_slot(&x)), Status::Busy);
        }
        tickets.push(graph.launch().unwrap());
        assert!(graph.wait(tickets[round as usize], Wait::Spin, None).unwrap());
        // The frames of the last three replays are there.
        for (back, ticket) in tickets.iter().rev().take(3).enumerate() {
            let seen = graph.slot(*ticket, &spikes).unwrap().expect("a replay that is done");
            let fired = if (round - back as u64) % 2 == 0 { 1.0 } else { 0.0 };
            assert!(seen.iter().all(|s| *s == fired), "round {round}, {back} back: {seen:?}");
        }
    }
    assert_eq!(status(graph.slot(tickets[4], &spikes)), Status::InvalidArgument, "its slot was taken since");
    assert_eq!(status(graph.slot(1000, &spikes)), Status::InvalidArgument, "a ticket never handed out");
    let other = layer.sequence::<f32>(Memory::Pinned).unwrap();
    assert_eq!(status(graph.next_slot(&other)), Status::InvalidArgument, "a buffer of no operation");
    assert!(other.map().is_ok() && x.map().is_ok());
    assert_eq!(status(Graph::builder().slots(65).create(&context)), Status::InvalidArgument);
}

#[test]
fn an_operation_is_left_out() {
    let context = context();
    let (layer, x, spikes) = firing(&context);
    x.fill(2.0).unwrap();
    let marks = Buffer::<f32>::zeros(&context, Memory::Pinned, 8).unwrap();
    let mut graph = Graph::new(&context).unwrap();
    let forward = graph.forward(&layer, Forward::new(&x).spikes(&spikes)).unwrap();
    let copy = graph.copy(&spikes, 0, &marks, 0, 0).unwrap();
    assert_eq!((forward.number(), copy.number()), (0, 1));
    graph.set_enabled(copy, false).unwrap();
    graph.instantiate().unwrap();
    replay(&mut graph);
    assert!(marks.map().unwrap().iter().all(|m| *m == 0.0) && spikes.map().unwrap()[0] == 1.0);
    graph.set_enabled(copy, true).unwrap();
    replay(&mut graph);
    assert!(marks.map().unwrap().iter().all(|m| *m == 1.0));
    let mut other = Graph::new(&context).unwrap();
    other.copy(&spikes, 0, &marks, 0, 0).unwrap();
    assert_eq!(status(other.set_enabled(copy, true)), Status::InvalidArgument, "an operation of another graph");
}

#[test]
fn another_buffer_takes_the_place() {
    let context = context();
    let (layer, x, spikes) = firing(&context);
    let mut graph = Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&x).spikes(&spikes))).unwrap();
    replay(&mut graph);
    let loud = Buffer::from_array(&context, Memory::Pinned, &[[2.0f32; 4]; 2]).unwrap();
    let ticket = graph.launch().unwrap();
    graph.rebind(&x, &loud).unwrap();
    assert!(x.map_mut().is_ok(), "the old one is free");
    assert!(graph.poll(ticket).unwrap());
    let ticket = graph.launch().unwrap();
    assert_eq!(status(loud.map()), Status::Busy);
    assert!(graph.wait(ticket, Wait::Spin, None).unwrap());
    assert!(spikes.map().unwrap().iter().all(|s| *s == 1.0));
    // Closing both changes nothing: the graph has the new one.
    drop((x, loud));
    replay(&mut graph);
    let short = Buffer::<f32>::zeros(&context, Memory::Pinned, 3).unwrap();
    assert_eq!(status(graph.rebind(&spikes, &short)), Status::InvalidArgument, "another size");
    assert_eq!(status(graph.rebind(&short, &spikes)), Status::InvalidArgument, "a buffer of no operation");
    replay(&mut graph);
}

#[test]
fn a_native_node_runs_between_operations() {
    if backend() != Backend::Host {
        return; // on a GPU it would have to enqueue kernels
    }
    let context = context();
    let (layer, x, spikes) = firing(&context);
    let before = Buffer::<f32>::zeros(&context, Memory::Pinned, [2, 4]).unwrap();
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let mut graph = Graph::record(&context, |graph| {
        let node = Native::new().name("double").reads(&before).writes(&x);
        graph.native(node, move |call| {
            let (input, output) = (call.read::<f32>(0).unwrap(), call.write::<f32>(0).unwrap());
            output.iter_mut().zip(input).for_each(|(to, from)| *to = 2.0 * from);
            // Another type, another place, the same one again: errors that name the index and the type.
            let text = |refused: Option<Error>| refused.unwrap().to_string();
            let wrong = text(call.read::<f64>(0).err());
            assert!(wrong.contains("buffer 0 of those that are read has elements of f32, not f64"), "{wrong}");
            let wrong = text(call.write::<u32>(0).err());
            assert!(wrong.contains("buffer 0 of those that are written has elements of f32, not u32"), "{wrong}");
            let beyond = text(call.read::<f32>(1).err());
            assert!(beyond.contains("index is 1; 1 buffers are read"), "{beyond}");
            assert!(call.write::<f32>(usize::MAX).is_err());
            let again = text(call.write::<f32>(0).err());
            assert!(again.contains("buffer 0 of those that are written was given out already"), "{again}");
            assert!(call.stream().is_null() && call.slot() == 0 && call.write_memory(0).unwrap().1 == 32);
            counted.fetch_add(1, Relaxed);
            Ok(())
        })?;
        graph.forward(&layer, Forward::new(&x).spikes(&spikes))
    })
    .unwrap();
    for value in [0.6f32, 0.2] {
        before.map_mut().unwrap().fill(value);
        layer.reset_state().unwrap();
        replay(&mut graph);
        assert!(spikes.map().unwrap()[..4].iter().all(|s| *s == f32::from(u8::from(value > 0.5))), "{value}");
    }
    assert_eq!(calls.load(Relaxed), 2);
    assert!(graph.to_dot().unwrap().contains("double"));
    drop(graph);
    assert_eq!(Arc::strong_count(&calls), 1, "the graph gives its functions back");
    // A buffer that is written occurs once.
    let mut graph = Graph::new(&context).unwrap();
    let twice = Native::new().reads(&x).writes(&x);
    assert_eq!(graph.native(twice, |_| Ok(())).unwrap_err().rule, "SYN-RUST-NATIVE");
}

#[test]
fn a_native_node_fails() {
    if backend() != Backend::Host {
        return;
    }
    let context = context();
    let (layer, x, spikes) = firing(&context);
    let mood = Arc::new(AtomicU32::new(0));
    let seen = mood.clone();
    let mut graph = Graph::record(&context, |graph| {
        graph.native(Native::new().name("moody").writes(&x), move |_| match seen.load(Relaxed) {
            1 => Err("no mood for it".into()),
            2 => panic!("of the program"),
            _ => Ok(()),
        })?;
        graph.forward(&layer, Forward::new(&x).spikes(&spikes))
    })
    .unwrap();
    replay(&mut graph);
    mood.store(1, Relaxed);
    let error = graph.launch().unwrap_err();
    assert!(error.status == Status::Callback && error.text.contains("moody"), "{error}");
    assert!(error.text.ends_with(": no mood for it"), "{error}");
    assert!(x.map_mut().is_ok(), "a launch that failed holds nothing");
    // A panic goes on after the C frames.
    mood.store(2, Relaxed);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| graph.launch()));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"of the program"));
    mood.store(0, Relaxed);
    replay(&mut graph);
}

/// `cuMemsetD32Async` of the driver, where there is one.
type Memset = unsafe extern "C" fn(u64, u32, usize, Stream) -> i32;
fn memset() -> Option<Memset> {
    extern "C" {
        fn dlopen(path: *const std::os::raw::c_char, mode: i32) -> *mut std::ffi::c_void;
        fn dlsym(library: *mut std::ffi::c_void, name: *const std::os::raw::c_char) -> *mut std::ffi::c_void;
    }
    // SAFETY: strings that end with a null; the function is of this type.
    unsafe {
        let driver = dlopen(b"libcuda.so.1\0".as_ptr().cast(), 2);
        let found = if driver.is_null() { driver } else { dlsym(driver, b"cuMemsetD32Async\0".as_ptr().cast()) };
        (!found.is_null()).then(|| std::mem::transmute::<*mut std::ffi::c_void, Memset>(found))
    }
}

#[test]
fn a_native_node_enqueues_on_a_gpu() {
    if backend() == Backend::Host {
        return; // it would do its work itself
    }
    let context = context();
    let (layer, x, spikes) = firing(&context);
    // Errors are returned by the call that captures.
    let failing = |mood: u32| {
        let mut others = Some(firing(&context));
        Graph::record(&context, |graph| {
            graph.native(Native::new().name("moody").writes(&x), move |call| {
                assert!(!call.stream().is_null() && call.write::<f32>(0).is_err());
                drop(others.take()); // closed while the stream is being captured
                match mood {
                    1 => Err("no mood for it".into()),
                    _ => panic!("of the program"),
                }
            })
        })
    };
    let error = failing(1).unwrap_err();
    assert!(error.status == Status::Callback && error.text.ends_with(": no mood for it"), "{error}");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| failing(2)));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"of the program"));
    let memset = match memset() {
        Some(memset) => memset,
        None => return println!("no driver: nothing to enqueue with"),
    };
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let mut others = Some(firing(&context));
    let mut graph = Graph::record(&context, |graph| {
        graph.native(Native::new().writes(&x), move |call| {
            drop(others.take());
            let (data, bytes) = call.write_memory(0).unwrap();
            counted.fetch_add(1, Relaxed);
            // SAFETY: a buffer of this many bytes, and the stream that is being captured.
            match unsafe { memset(data as u64, 2f32.to_bits(), bytes / 4, call.stream()) } {
                0 => Ok(()),
                status => Err(format!("cuMemsetD32Async: {status}").into()),
            }
        })?;
        graph.forward(&layer, Forward::new(&x).spikes(&spikes))
    })
    .unwrap();
    for _ in 0..3 {
        x.fill(0.0).unwrap();
        replay(&mut graph);
        assert!(spikes.map().unwrap().iter().all(|s| *s == 1.0));
    }
    assert_eq!(calls.load(Relaxed), 1, "captured once, replayed three times");
}

#[test]
fn a_gpu_has_the_bits_of_the_host() {
    let host = Context::builder().backend(Backend::Host).create().unwrap();
    let results = [host, context()].map(|context| {
        let layer = Layer::builder(Steps(40), Neurons(70)).batch(2).create(&context).unwrap();
        let x = layer.sequence::<f32>(Memory::Pinned).unwrap();
        let spikes = layer.spikes(Memory::Pinned).unwrap();
        let (seed, grad_x) = (layer.sequence::<f32>(Memory::Pinned).unwrap(), layer.sequence(Memory::Pinned).unwrap());
        let grad_tau = Buffer::<f32>::zeros(&context, Memory::Pinned, 1).unwrap();
        let mut noise = 1u64;
        for x in x.map_mut().unwrap().iter_mut() {
            noise = noise.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *x = 3.0 * (noise >> 40) as f32 / 16777216.0;
        }
        seed.fill(1.0).unwrap();
        let mut graph = Graph::record(&context, |graph| {
            graph.forward(&layer, Forward::new(&x).spikes(&spikes))?;
            let backward = Backward::new().grad_spike_seq(&seed).grad_x_seq(&grad_x).grad_parameter("tau", &grad_tau);
            graph.backward(&layer, &backward)?;
            graph.update_parameter(&layer, Update::new("tau", &grad_tau, 1e-4))
        })
        .unwrap();
        (0..3).for_each(|_| replay(&mut graph));
        let mut tau = [0.0];
        layer.parameter("tau", &mut tau).unwrap();
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        (spikes.to_vec().unwrap(), bits(grad_x.to_vec().unwrap()), bits(grad_tau.to_vec().unwrap()), tau[0].to_bits())
    });
    assert_eq!(results[0], results[1]);
    assert!(results[0].0.iter().any(|word| *word != 0) && results[0].2[0] << 1 != 0);
}

#[test]
fn a_graph_tells_about_itself() {
    let context = context();
    let (layer, x, spikes) = firing(&context);
    let mut graph = Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&x).spikes(&spikes))).unwrap();
    (0..100).for_each(|_| replay(&mut graph));
    let s = graph.statistics().unwrap();
    assert_eq!((s.n_replays, s.n_seen, s.n_late_waits), (100, 100, 0));
    assert!(Duration::ZERO < s.p50 && s.p50 <= s.p99 && s.p99 <= s.p999 && s.p50 <= s.max.mul_f64(1.04), "{s:?}");
    graph.reset_statistics().unwrap();
    assert_eq!(graph.statistics().unwrap().n_replays, 0);
    let dot = graph.to_dot().unwrap();
    assert!(dot.starts_with("digraph") && dot.trim_end().ends_with('}') && dot.contains("forward"), "{dot}");
}

#[test]
fn parameters_change_while_replays_are_in_flight() {
    let context = context();
    let (layer, x, _spikes) = firing(&context);
    let mut graph = Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&x))).unwrap();
    let ticket = graph.launch().unwrap();
    layer.set_parameter("v_threshold", &[2.0]).unwrap();
    layer.set_parameters(&[("v_threshold", &[3.0]), ("v_reset", &[-1.0])]).unwrap();
    let mut value = [0.0];
    layer.parameter("v_threshold", &mut value).unwrap();
    assert_eq!(value, [3.0]);
    assert_eq!(status(layer.reset_state()), Status::Busy, "the state is the replay's");
    assert!(graph.wait(ticket, Wait::Spin, None).unwrap());
}
