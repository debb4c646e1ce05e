// programs.rs - the examples beside their C twins: the same numbers, the same bytes. The tests are ignored unless asked
// for, because they need the C programs: SYNFIRE_PROGRAMS is the folder that has them. With `load-dynamic` the examples are the same.
#![cfg(not(feature = "load-dynamic"))]
mod common;
use common::*;
use std::fs;

#[test]
#[ignore = "needs the C programs"]
fn quickstart() {
    let (rust, c) = (example("quickstart", &[]), c("quickstart", &[]));
    let on_time = " spikes, 0 late frames";
    // On the host a replay is done when launch returns, so no frame is late, however slow the machine is. On a GPU one may
    // be, and then shows the spikes before it.
    if rust.contains(on_time) && c.contains(on_time) {
        assert_eq!(rust, c);
    } else {
        assert!(
            synfire::Context::new().unwrap().properties().unwrap().backend == synfire::Backend::Cuda,
            "late on the host: {rust}{c}"
        );
        assert!(rust.starts_with("1000 frames of 16 steps: ") && !rust.contains(" 0 spikes"), "{rust}");
    }
}

#[test]
#[ignore = "needs the C programs"]
fn hear() {
    let folder = std::env::temp_dir().join(format!("synfire-hear-{}", std::process::id()));
    let path = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let sound = setting("SYNFIRE_SOUND");
    let sound = sound.to_str().unwrap();
    let text = example("hear", &[sound, &path("rust")]);
    c("hear", &[sound, "--backend", "host", "--output", &path("c")]);
    let [rust, c] = ["rust", "c"].map(|name| fs::read(folder.join(name).join("spikes.npy")).unwrap());
    fs::remove_dir_all(&folder).unwrap();
    println!("hear: {}; spikes.npy of {} bytes", text.trim(), rust.len());
    assert!(rust.len() > 100_000 && rust == c, "spikes.npy is that of the C program");
}

#[test]
#[ignore = "needs the C programs"]
fn train() {
    let text = example("train", &[]);
    assert_eq!(text, c("bindings-train", &[]));
    let losses: Vec<i64> = text.lines().filter_map(|line| line.split_once(' ')?.1.parse().ok()).collect();
    println!("train: the loss falls from {} to {}", losses[0], losses[59]);
    assert!(losses.len() == 60 && losses[0] >= 10 * losses[59]);
}

#[test]
#[ignore = "needs the C programs"]
fn own_neuron() {
    let text = example("own_neuron", &[]);
    assert_eq!(text, c("bindings-own_neuron", &[]));
    let numbers: Vec<f64> = text.lines().filter_map(|line| line.split(' ').nth(2)?.parse().ok()).collect();
    println!("own_neuron: tau_i goes from {} to {}", numbers[0], numbers[numbers.len() - 1]);
    assert!(text.lines().count() == 95 && numbers[numbers.len() - 1] > 4.0);
}

// The example prints and writes what the C program does.
fn compare_with_file(name: &str, file: &str) {
    let folder = std::env::temp_dir().join(format!("synfire-{name}-{}", std::process::id()));
    let programs = [("rust", example_path(name)), ("c", setting("SYNFIRE_PROGRAMS").join(name))];
    let [rust, c] = programs.map(|(language, program)| {
        let own = folder.join(language);
        fs::create_dir_all(&own).unwrap();
        (run_in(&own, &program, &[]), fs::read(own.join(file)).unwrap())
    });
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(rust.0, c.0);
    assert!(rust.1 == c.1, "the file is that of the C program");
}

#[test]
#[ignore = "needs the examples"]
fn ranks() {
    let text = example("ranks", &[]);
    let (together, alone) = text.trim_end().split_once("alone: ").unwrap();
    let lines: Vec<String> = (0..2).map(|rank| format!("rank {rank} of 2: {alone}, the same file\n")).collect();
    assert_eq!(together, lines.concat());
}

#[test]
#[ignore = "needs the C programs"]
fn network() {
    compare_with_file("network", "network.safetensors");
}

#[test]
#[ignore = "needs the C programs"]
fn tuning() {
    compare_with_file("tuning", "body.safetensors");
}

// The C program draws pictures too.
#[test]
#[ignore = "needs the C programs"]
fn watch() {
    let folder = std::env::temp_dir().join(format!("synfire-watch-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let theirs = run_in(&folder, &setting("SYNFIRE_PROGRAMS").join("watch"), &[]);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(example("watch", &[]), theirs);
}

#[test]
#[ignore = "needs the C programs"]
fn senses() {
    assert_eq!(example("senses", &[]), c("senses", &[]));
}

#[test]
#[ignore = "needs the C programs"]
fn pictures() {
    assert_eq!(example("pictures", &[]), c("pictures", &[]));
}

#[test]
#[ignore = "needs the C programs"]
fn gestures() {
    let folder = std::env::temp_dir().join(format!("synfire-gestures-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let recording = folder.join("show.dat").to_str().unwrap().to_string();
    let network = setting("SYNFIRE_GESTURES");
    let network = network.to_str().unwrap();
    c("gestures", &["--record", &recording, "--seconds", "3"]);
    let rust = example("gestures", &[network, &recording]);
    let c = c("gestures", &["--network", network, "--recording", &recording]);
    fs::remove_dir_all(&folder).unwrap();
    println!("gestures:\n{rust}");
    // Its last line has times.
    assert!(rust.contains(" milliseconds, scores hash ") && rust.lines().count() > 4, "{rust}");
    assert!(c.starts_with(&rust), "{rust}{c}");
}

// Where the build has found MuJoCo.
#[test]
#[ignore = "needs the C programs"]
fn balance() {
    let (body, folder) = (setting("SYNFIRE_BALANCE_BODY"), setting("SYNFIRE_BALANCE"));
    if body.as_os_str().is_empty() {
        return println!("balance: the build has found no MuJoCo");
    }
    let files = ["cart_pole.xml", "brain.safetensors"].map(|name| folder.join(name).to_str().unwrap().to_string());
    let rust = example("balance", &[body.to_str().unwrap(), &files[0], &files[1], "2", "10"]);
    assert_eq!(rust, c("balance", &["run", &files[0], &files[1], "--runs", "2", "--seconds", "10"]));
    assert!(rust.ends_with("up           2 of 2\n"), "{rust}");
}

#[test]
#[ignore = "needs the C programs"]
fn policy() {
    let text = example("policy", &[]);
    assert_eq!(text, c("policy", &[]));
    println!("policy:\n{text}");
}

#[test]
#[ignore = "needs the C programs"]
fn classifier() {
    let text = example("classifier", &[]);
    assert_eq!(text, c("classifier", &[]));
    let last = text.lines().find(|line| line.starts_with("39 "));
    assert!(last.map_or(false, |line| line.ends_with(" 30")), "all thirty samples are right at the end: {last:?}");
}

#[test]
#[ignore = "needs the C programs"]
fn realtime() {
    let (rust, c) = (example("realtime", &["500"]), c("bindings-realtime", &["500"]));
    println!("realtime, Rust and C:\n{rust}{c}");
    let (rust, c): (Vec<_>, Vec<_>) = (rust.lines().collect(), c.lines().collect());
    // On the host a replay is done when launch returns, so no tick finds one that is not, however slow the machine is.
    assert_eq!(rust[0], c[0]);
    assert!(rust[1].starts_with("tick: p50 ") && rust[1].contains(" us, max "), "{}", rust[1]);
    assert!(rust[1].ends_with("; 0 late"), "{}", rust[1]);
}
