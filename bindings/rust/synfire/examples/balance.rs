//! Keeps the pole of a cart in MuJoCo up with what docs/examples/engines/balance has learnt, and prints what
//! `balance run MODEL BRAIN --runs RUNS --seconds SECONDS` prints. With --realtime, by the clock.
//!
//!     balance BODY MODEL BRAIN RUNS SECONDS [--realtime]
//!
//! BODY is the library of the C++ program that has the body, libbalance-body.so. It is opened when the program runs, so that this
//! one compiles where there is none.
use std::error::Error;
use std::ffi::{c_void, CStr, CString};
use std::os::raw::{c_char, c_int};
use std::time::{Duration, Instant};
use synfire::*;

const STEPS_PER_SECOND: usize = 500;
const STRONGEST: f64 = 20.0; // newtons, of the motor
const PUSHES: (f64, f64) = (0.6, 0.8); // the weakest and the strongest

extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The functions of body.h.
struct Body {
    body: *mut c_void,
    close: extern "C" fn(*mut c_void),
    place: extern "C" fn(*mut c_void, *const f64),
    read: extern "C" fn(*const c_void, *mut f64),
    step: extern "C" fn(*mut c_void, f64, f64),
}

impl Body {
    fn open(library: &str, model: &str) -> std::result::Result<Body, Box<dyn Error>> {
        let (path, model) = (CString::new(library)?, CString::new(model)?);
        // SAFETY: the functions have the types that body.h says; the error is zero-terminated.
        unsafe {
            let opened = dlopen(path.as_ptr(), 2);
            let find = |name: &[u8]| match dlsym(opened, name.as_ptr().cast()) {
                found if opened.is_null() || found.is_null() => {
                    Err(format!("{library}: is not the library of the body"))
                }
                found => Ok(found),
            };
            let open: extern "C" fn(*const c_char, *mut c_char, c_int) -> *mut c_void =
                std::mem::transmute(find(b"body_open\0")?);
            let mut error = [0 as c_char; 512];
            let body = open(model.as_ptr(), error.as_mut_ptr(), error.len() as c_int);
            if body.is_null() {
                return Err(CStr::from_ptr(error.as_ptr()).to_string_lossy().into());
            }
            Ok(Body {
                body,
                close: std::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void)>(find(b"body_close\0")?),
                place: std::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void, *const f64)>(find(
                    b"body_place\0",
                )?),
                read: std::mem::transmute::<*mut c_void, extern "C" fn(*const c_void, *mut f64)>(find(b"body_read\0")?),
                step: std::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void, f64, f64)>(find(b"body_step\0")?),
            })
        }
    }
    fn state(&self) -> [f64; 4] {
        let mut state = [0.0; 4];
        (self.read)(self.body, state.as_mut_ptr());
        state
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        (self.close)(self.body);
    }
}

/// Numbers that look drawn, the same in every language.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0
    }
    fn between(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * ((self.next() >> 40) as f64 / 16777216.0)
    }
}

/// Pushes against the top of the pole. Between two are one to three seconds.
struct Pushes {
    left: usize,
    pushing: bool,
    push: f64,
}

impl Pushes {
    fn next(&mut self, random: &mut Random) -> f64 {
        if self.left == 0 {
            self.pushing = !self.pushing;
            let seconds = if self.pushing { random.between(0.05, 0.15) } else { random.between(1.0, 3.0) };
            self.left = (seconds * STEPS_PER_SECOND as f64) as usize;
            let size = random.between(PUSHES.0, PUSHES.1);
            self.push = match self.pushing {
                false => 0.0,
                true if random.next() >> 63 == 0 => size,
                true => -size,
            };
        }
        self.left -= 1;
        self.push
    }
}

/// Each position as it is, and once more five times as large, cut at 1. The network does not see how fast they change.
fn write_input(state: &[f64; 4], input: &mut [f32]) {
    for (i, unit) in [0.8, 0.4].iter().enumerate() {
        let position = state[i] / unit;
        input[2 * i] = position as f32;
        input[2 * i + 1] = (5.0 * position).clamp(-1.0, 1.0) as f32;
    }
}

fn fell(state: &[f64; 4]) -> bool {
    !(state[0].abs() < 1.5 && state[1].abs() < 0.8)
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [library, model, brain, runs, seconds] = match &arguments[1..] {
        [library, model, brain, runs, seconds, ..] => [library, model, brain, runs, seconds],
        _ => return Err("balance BODY MODEL BRAIN RUNS SECONDS [--realtime]".into()),
    };
    let (runs, steps) = (runs.parse::<u64>()?, STEPS_PER_SECOND * seconds.parse::<usize>()?);
    let by_clock = arguments.get(6).map_or(false, |option| option == "--realtime");
    let body = Body::open(library, model)?;
    let context = Context::builder().backend(Backend::Host).threads(1).create()?;
    let network = NetworkFile::new().inference(true).n_steps(Steps(1)).batch(1).load(&context, brain)?;
    let (input, output) = (network.buffer::<f32>("input")?, network.buffer::<f32>("output")?);
    let mut graph = network.graph(NetworkGraph::Inference)?;
    let period = Duration::from_secs(1) / STEPS_PER_SECOND as u32;
    let (mut up, mut late) = (0, 0);
    for seed in 1001..1001 + runs {
        let mut random = Random(seed);
        let mut pushes = Pushes { left: 0, pushing: true, push: 0.0 };
        let state = [0.3, 0.1, 0.2, 0.2].map(|most| random.between(-most, most));
        (body.place)(body.body, state.as_ptr());
        network.reset_state()?;
        let (mut t, mut fallen) = (0, false);
        let start = Instant::now() + period;
        while t < steps && !fallen {
            let due = start + period * t as u32;
            if by_clock {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            write_input(&body.state(), &mut input.map_mut()?);
            let ticket = graph.launch()?;
            graph.wait(ticket, Wait::Spin, None)?;
            let force = (10.0 * f64::from(output.map()?[0])).clamp(-STRONGEST, STRONGEST);
            late += u32::from(by_clock && due.elapsed() > period);
            (body.step)(body.body, force, pushes.next(&mut random));
            fallen = fell(&body.state());
            t += 1;
        }
        up += u32::from(!fallen);
        let what = if fallen { "fell after" } else { "up for" };
        println!("run {seed:<8} {what} {:.2} s", t as f64 / STEPS_PER_SECOND as f64);
    }
    println!("up           {up} of {runs}");
    if by_clock {
        println!("late         {late}");
    }
    Ok(())
}
