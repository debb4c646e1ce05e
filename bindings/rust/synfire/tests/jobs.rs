// jobs.rs - a job system of the program's: the same spikes, items left out, run again and lost to a panic.
mod common;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use synfire::*;

const STEPS: usize = 16;
const NEURONS: usize = 60_000; // work for several threads

fn spikes(builder: ContextBuilder) -> Result<Vec<f32>> {
    let context = builder.create()?;
    let layer = Layer::builder(Steps(STEPS as i64), Neurons(NEURONS as i64)).create(&context)?;
    let x: Vec<f32> = (0..STEPS * NEURONS).map(|i| (i % 201) as f32 / 100.0).collect();
    let x = Buffer::from_vec(&context, STEPS * NEURONS, x)?;
    let spikes = Buffer::<f32>::zeros(&context, Memory::Host, STEPS * NEURONS)?;
    layer.forward(Forward::new(&x).spikes(&spikes))?;
    spikes.to_vec()
}
fn host() -> ContextBuilder {
    Context::builder().backend(Backend::Host)
}

/// Scoped threads, each with every third item.
struct Scoped(AtomicUsize);
impl JobSystem for Scoped {
    fn run(&self, task: &Task<'_>) {
        self.0.fetch_add(1, Relaxed);
        std::thread::scope(|scope| {
            for first in 0..3 {
                scope.spawn(move || (first..task.len()).step_by(3).for_each(|item| task.run(item..item + 1)));
            }
        });
    }
}

#[test]
fn same_spikes() {
    static JOBS: Scoped = Scoped(AtomicUsize::new(0));
    assert_eq!(spikes(host().job_system(&JOBS, 3)).unwrap(), spikes(host().threads(1)).unwrap());
    assert_eq!(JOBS.0.load(Relaxed), 1);
}

struct Wrong(fn(&Task<'_>));
impl JobSystem for Wrong {
    fn run(&self, task: &Task<'_>) {
        (self.0)(task)
    }
}

#[test]
fn mistakes_are_errors() {
    static MISSING: Wrong = Wrong(|task| task.run(1..task.len()));
    static TWICE: Wrong = Wrong(|task| (0..2).for_each(|_| task.run(0..task.len())));
    static OUTSIDE: Wrong = Wrong(|task| task.run(0..usize::MAX));
    static PANIC: Wrong = Wrong(|_| panic!("a job system that fails"));
    let wrong = [
        (&MISSING, "SYN-TASK-MISSING"),
        (&TWICE, "SYN-TASK-TWICE"),
        (&OUTSIDE, "SYN-TASK-RANGE"),
        (&PANIC, "SYN-TASK-MISSING"),
    ];
    for (jobs, rule) in wrong {
        let error = spikes(host().job_system(jobs, 4)).unwrap_err();
        assert_eq!((error.status, error.rule.as_str()), (Status::Callback, rule));
    }
}
