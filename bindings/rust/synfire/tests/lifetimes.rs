// lifetimes.rs - closing and dropping in any order, many threads, leaving with everything open: no leak, no crash. The
// tests count the live handles of the whole process, so they take turns.
mod common;
use common::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use synfire::*;

static ALONE: Mutex<()> = Mutex::new(());
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
#[allow(dead_code)] // they are only held
enum Any {
    Layer(Layer),
    Buffer(Buffer<f32>),
    Taken(Buffer<f32>),
    Graph(Graph),
}
fn make(context: &Context, count: usize) -> Vec<Any> {
    let mut made = Vec::new();
    for i in 0..count {
        let one = match i % 4 {
            0 => Any::Layer(Layer::builder(Steps(4), Neurons(8)).create(context).unwrap()),
            1 => Any::Buffer(Buffer::zeros(context, Memory::Pinned, [4, 8]).unwrap()),
            2 => Any::Taken(Buffer::from_vec(context, [4, 8], vec![0.0; 32]).unwrap()),
            _ => match (&made[i - 3], &made[i - 2]) {
                (Any::Layer(layer), Any::Buffer(x)) => {
                    Any::Graph(Graph::record(context, |graph| graph.forward(layer, Forward::new(x))).unwrap())
                }
                _ => unreachable!(),
            },
        };
        made.push(one);
    }
    made
}

#[test]
fn handles_are_send_and_sync() {
    fn both<T: Send + Sync>() {}
    both::<Context>();
    both::<Layer>();
    both::<Graph>();
    both::<Buffer<f32>>();
    both::<Map<'static, f32>>();
    both::<MapMut<'static, f32>>();
    both::<Forward<'static>>();
    both::<Backward<'static>>();
    both::<Error>();
}

#[test]
fn a_thousand_handles() {
    let _alone = alone();
    let context = context();
    let mut made = make(&context, 1000);
    assert_eq!(live_handles(), 1001);
    // Every other one now, in an order that follows no use; the rest on another thread, after their context.
    let (mut half, mut seed) = (Vec::new(), 1u64);
    for _ in 0..500 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        half.push(made.swap_remove((seed >> 33) as usize % made.len()));
    }
    drop(half);
    context.close();
    std::thread::spawn(move || drop(made)).join().unwrap();
    assert_eq!((live_handles(), reclaim().unwrap()), (0, 0));
}

#[test]
fn a_layer_outlives_its_context() {
    let _alone = alone();
    let context = context();
    let layer = Layer::builder(Steps(4), Neurons(32)).create(&context).unwrap();
    let x = layer.sequence::<f32>(Memory::Pinned).unwrap();
    context.close();
    layer.forward(Forward::new(&x).tape(Tape::None)).unwrap();
    layer.close();
    x.close();
    assert_eq!((live_handles(), reclaim().unwrap()), (0, 0));
}

#[test]
fn threads_replay_side_by_side() {
    let _alone = alone();
    let context = context();
    let replays = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for seed in 0..8 {
            let (context, replays) = (&context, &replays);
            scope.spawn(move || {
                let (_layer, x, mut graph) = step(context);
                for i in 0..100 {
                    x.map_mut().unwrap().fill(seed as f32);
                    replay(&mut graph);
                    replays.fetch_add(1, Relaxed);
                    if i % 10 == 0 {
                        drop(make(context, 4));
                    }
                }
            });
        }
    });
    assert_eq!(replays.into_inner(), 800);
    drop(context);
    assert_eq!((live_handles(), reclaim().unwrap()), (0, 0));
}

#[test]
fn what_is_held_is_refused() {
    let _alone = alone();
    let context = context();
    let (layer, x, mut graph) = step(&context);
    let mut other = Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&x).tape(Tape::None))).unwrap();
    let busy =
        |error: Error| assert_eq!((error.status, error.rule.as_str()), (Status::Busy, "SYN-RUST-HELD"), "{error}");

    let map = x.map().unwrap();
    let second = x.map().unwrap();
    busy(graph.launch().unwrap_err());
    busy(x.map_mut().unwrap_err());
    busy(x.fill(1.0).unwrap_err());
    drop((map, second));
    let map = x.map_mut().unwrap();
    busy(graph.launch().unwrap_err());
    busy(x.map().unwrap_err());
    busy(layer.forward(Forward::new(&x)).unwrap_err());
    layer.set_parameter("tau", &[3.0]).unwrap(); // what was refused holds nothing
    drop(map);

    let ticket = graph.launch().unwrap();
    busy(x.map().unwrap_err());
    busy(x.upload(0, &[1.0]).unwrap_err());
    busy(layer.reset_state().unwrap_err());
    busy(other.launch().unwrap_err());
    assert!(graph.wait(ticket, Wait::Yield, None).unwrap());
    replay(&mut other);
    assert!(x.map_mut().is_ok());
    // Two replays of one graph may be in flight where it shares its frames; the latest ends it.
    let mut graph =
        Graph::builder().shared_slot().record(&context, |graph| graph.forward(&layer, Forward::new(&x))).unwrap();
    let (first, latest) = (graph.launch().unwrap(), graph.launch().unwrap());
    assert!(graph.wait(first, Wait::Spin, None).unwrap());
    busy(x.map().unwrap_err());
    assert!(graph.wait(latest, Wait::Spin, None).unwrap());
    assert!(x.map().is_ok());
}

/// Mapping and replaying on two threads: each works or is refused, and a mapping never sees a replay's writes.
#[test]
fn a_mapping_never_meets_a_replay() {
    let _alone = alone();
    let context = context();
    let layer = Layer::builder(Steps(64), Neurons(256)).model(Model::If).create(&context).unwrap();
    let x = layer.sequence::<f32>(Memory::Pinned).unwrap();
    let v = layer.sequence::<f32>(Memory::Pinned).unwrap();
    x.fill(0.001).unwrap();
    let mut graph = Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&x).v_seq(&v))).unwrap();
    let (mapped, replayed, over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let enough = || mapped.load(Relaxed).min(replayed.load(Relaxed)) >= 200;
    std::thread::scope(|scope| {
        let _ends = Ends(&over);
        let replays = scope.spawn(|| {
            while !over.load(Relaxed) {
                if replayed.load(Relaxed) > mapped.load(Relaxed) + AHEAD {
                    std::thread::yield_now();
                    continue;
                }
                match graph.launch() {
                    Ok(ticket) => {
                        assert!(graph.wait(ticket, Wait::Yield, None).unwrap());
                        replayed.fetch_add(1, Relaxed);
                    }
                    Err(error) => {
                        assert_eq!(error.status, Status::Busy);
                        std::thread::yield_now();
                    }
                }
            }
        });
        while !enough() && !replays.is_finished() {
            if mapped.load(Relaxed) > replayed.load(Relaxed) + AHEAD {
                std::thread::yield_now();
                continue;
            }
            match v.map() {
                Ok(map) => {
                    let before: u64 = map.iter().map(|v| u64::from(v.to_bits())).sum();
                    let after: u64 = map.iter().map(|v| u64::from(v.to_bits())).sum();
                    assert_eq!(before, after);
                    mapped.fetch_add(1, Relaxed);
                }
                Err(error) => {
                    assert_eq!(error.status, Status::Busy);
                    std::thread::yield_now();
                }
            }
        }
    });
    assert!(enough(), "{mapped:?} mappings, {replayed:?} replays");
}

#[test]
fn a_graph_in_flight_is_dropped() {
    let _alone = alone();
    let context = context();
    let (layer, x, mut graph) = step(&context);
    graph.launch().unwrap();
    drop(graph);
    x.map_mut().unwrap()[0] = 1.0;
    layer.set_parameter("tau", &[3.0]).unwrap();
    // One that is forgotten in flight holds what it uses for ever, and nothing else.
    let mut graph = Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&x))).unwrap();
    let ticket = graph.launch().unwrap();
    assert!(graph.wait(ticket, Wait::Spin, None).unwrap());
    graph.close();
    assert!(x.map().is_ok());
}

#[test]
fn a_panic_while_recording() {
    let _alone = alone();
    let context = context();
    let (layer, x, mut graph) = step(&context);
    let recorded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        Graph::record(&context, |graph| -> Result<()> {
            graph.forward(&layer, Forward::new(&x))?;
            panic!("of the program")
        })
    }));
    assert_eq!(recorded.unwrap_err().downcast_ref(), Some(&"of the program"));
    replay(&mut graph);
    drop((layer, x, graph, context));
    assert_eq!((live_handles(), reclaim().unwrap()), (0, 0));
}

static OPEN: Mutex<Vec<(Layer, Buffer<f32>, Graph)>> = Mutex::new(Vec::new());
thread_local!(static HERE: std::cell::RefCell<Option<Graph>> = const { std::cell::RefCell::new(None) });

#[test]
#[ignore = "the child of leaving_with_live_handles"]
fn leaves() {
    if !is_child() {
        return;
    }
    let context = context();
    let (layer, x, mut graph) = step(&context);
    graph.launch().unwrap();
    OPEN.lock().unwrap().push((layer, x, graph));
    // Dropped by the end of the thread, while statics go.
    HERE.with(|here| *here.borrow_mut() = Some(step(&context).2));
    eprintln!("{} open", live_handles());
    match std::env::var("HOW").unwrap().as_str() {
        "exit" => std::process::exit(7),
        "panic" => panic!("with everything open"),
        _ => std::mem::forget(context),
    }
}

#[test]
fn leaving_with_live_handles() {
    for (how, wanted) in [("return", 0), ("exit", 7), ("panic", 101)] {
        let (status, text) = child("leaves", &[("HOW", how)]);
        assert!(status == Some(wanted) && text.contains("7 open"), "{how}: {status:?} {text}");
    }
}
