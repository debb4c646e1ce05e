// Support for the tests: a context, and programs to run beside them.
#![allow(dead_code)]
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use synfire::*;

/// On the host, or where SYNFIRE_TEST_BACKEND says (`cuda`).
pub fn backend() -> Backend {
    match std::env::var("SYNFIRE_TEST_BACKEND").as_deref() {
        Ok("cuda") => Backend::Cuda,
        Ok("host") | Err(_) => Backend::Host,
        Ok(other) => panic!("SYNFIRE_TEST_BACKEND={other}; allowed: host, cuda"),
    }
}
pub fn context() -> Context {
    Context::builder().backend(backend()).create().unwrap()
}
/// 4 steps of 32 neurons, their input, and the graph of one forward.
pub fn step(context: &Context) -> (Layer, Buffer<f32>, Graph) {
    let layer = Layer::builder(Steps(4), Neurons(32)).create(context).unwrap();
    let x = layer.sequence::<f32>(Memory::Pinned).unwrap();
    let graph = Graph::record(context, |graph| graph.forward(&layer, Forward::new(&x).tape(Tape::None))).unwrap();
    (layer, x, graph)
}
pub fn replay(graph: &mut Graph) {
    let ticket = graph.launch().unwrap();
    assert!(graph.wait(ticket, Wait::Spin, None).unwrap());
}

/// If two threads get into each other's way, the one that is this far ahead waits for the other. So both get on, whatever
/// the scheduler does and however long it takes.
pub const AHEAD: u64 = 20;

/// Set when this goes out of scope, even where an assertion ends the scope.
pub struct Ends<'a>(pub &'a AtomicBool);
impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// A setting without which a test cannot run: such tests are ignored unless asked for.
pub fn setting(name: &str) -> PathBuf {
    PathBuf::from(std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set")))
}
pub fn run(program: &Path, arguments: &[&str]) -> String {
    run_in(Path::new("."), program, arguments)
}
pub fn run_in(folder: &Path, program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
/// A C program that was built beside the library.
pub fn c(program: &str, arguments: &[&str]) -> String {
    run(&setting("SYNFIRE_PROGRAMS").join(program), arguments)
}
/// One of this crate's examples. Cargo builds them beside the tests.
pub fn example(name: &str, arguments: &[&str]) -> String {
    run(&example_path(name), arguments)
}
pub fn example_path(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.parent().unwrap().parent().unwrap().join("examples").join(name)
}
/// This test program again, with one of its tests that is otherwise ignored.
pub fn child(test: &str, environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env("SYNFIRE_CHILD", "1").envs(environment.iter().copied());
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}
/// Returns true if this is the process that [`child`] started, and not somebody who runs all ignored tests.
pub fn is_child() -> bool {
    std::env::var_os("SYNFIRE_CHILD").is_some()
}
