// loaded.rs - a neuron as a string: what it returns, where it may be used, and what goes wrong.
//
// examples/own_neuron.rs trains the same text, and programs.rs compares its bits with those of C.
mod common;
use common::*;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use synfire::*;

#[allow(dead_code, unused_imports)]
#[path = "../examples/own_neuron.rs"]
mod own_neuron;
use own_neuron::SYNAPTIC_LIF;

/// One test after the other, so that what is not in the cache is compiled once.
static IN_TURN: Mutex<()> = Mutex::new(());

/// The default is for programs that cannot wait; on a machine that is busy enough, a compiler takes longer.
const TIME_OUT: Duration = Duration::from_secs(3600);

/// A surrogate by its smooth spike.
const SMOOTH: &str = r#"
#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>
SYNFIRE_MODEL_BEGIN
struct Smooth {
  static constexpr const char* name = "smooth";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 2;
  static constexpr ParameterSpec parameters[n_parameters] = {{"steepness", 4.0, 0.0, 1e6, true}};
  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    constants[0] = values[0];
    constants[1] = 1.0;
  }
  template <class C, class X>
  static SYNFIRE_MODEL_FN auto primitive(const C* c, X x) {
    return reciprocal(c[1] + exponential(-(c[0] * x)));
  }
};
SYNFIRE_MODEL_END
"#;

/// Both are used wherever built-in ones are, in layers and in stages of networks; what uses them outlives them.
#[test]
fn stand_for_built_in_ones() {
    let _turn = IN_TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let context = context();
    let mut stages = Vec::new();
    let model = Text::new("synaptic_lif", SYNAPTIC_LIF)
        .time_out(TIME_OUT)
        .cache_bytes(1 << 28)
        .progress(|stage, _| {
            stages.push(stage);
            true
        })
        .load_model(&context)
        .unwrap();
    stages.dedup();
    let all = [LoadStage::Check, LoadStage::Compile, LoadStage::Finish];
    assert!(stages == all || stages == [all[0], all[2]] || stages == [all[0]], "{stages:?}");
    let surrogate = Text::new("smooth", SMOOTH).time_out(TIME_OUT).load_surrogate(&context).unwrap();

    let (info, other) = (model.info().unwrap(), surrogate.info().unwrap());
    assert_eq!((info.name.as_str(), info.n_states, info.n_parameters), ("synaptic_lif", 2, 2));
    assert_eq!((other.name.as_str(), other.n_states, other.n_parameters), ("smooth", 0, 1));
    assert!(info.duration > Duration::ZERO);
    assert!(Text::new("synaptic_lif", SYNAPTIC_LIF).load_model(&context).unwrap_err().rule == "SYN-MODEL-EXISTS");

    // A check compiles the text again: of a surrogate, in a second.
    let report = surrogate.check(7, 1000).unwrap();
    assert!(report.n_samples >= 1000 && report.n_non_finite == 0 && report.largest_error < 1e-6, "{report:?}");
    assert!(!report.wrong_slope_reads_input && !report.wrong_slope_reads_w && !report.text.is_empty());
    assert_eq!(model.check(7, 0).unwrap_err().rule, "SYN-MODEL-SAMPLES");

    let builder = Layer::builder(Steps(8), Neurons(32)).model(&model).surrogate(&surrogate);
    let layer = builder.create(&context).unwrap();
    let names: Vec<_> = layer.parameters().unwrap().into_iter().map(|p| p.name).collect();
    assert_eq!(names, ["tau", "tau_i", "v_threshold", "v_reset", "steepness"]);
    let source = layer.source().unwrap();
    assert!(source.contains("struct SynapticLif") && source.ends_with('\n'), "{}", source.len());

    let network = Network::builder(Steps(8)).batch(2).create(&context).unwrap();
    network.add_input("input", NetworkInput::Rates, 4).unwrap();
    network.add_synapse("to_hidden", 8).unwrap();
    network.add_neurons("hidden", &model).unwrap();
    network.set("hidden", "surrogate", &surrogate).unwrap();
    model.close();
    surrogate.close();
    network.add_readout("readout", Readout::Sum, true).unwrap();
    network.build().unwrap();
    assert_eq!(network.layer("hidden").unwrap().parameters().unwrap().len(), 5);

    let x = layer.sequence::<f32>(Memory::Pinned).unwrap();
    let w = layer.state::<f32>(Memory::Pinned).unwrap();
    x.map_mut().unwrap().fill(1.0);
    layer.forward(Forward::new(&x).w_final(&w)).unwrap();
    assert!(w.map().unwrap().iter().all(|w| *w > 1.0));
}

#[test]
fn mistakes_are_told() {
    let _turn = IN_TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (context, other) = (context(), context());
    let wrong = SYNAPTIC_LIF.replace("fma(c[0], v, c[1]", "fma(c[0], y, c[1]");
    let line = 1 + wrong.lines().position(|line| line.contains("fma(c[0], y")).unwrap();
    let error = Text::new("synaptic_lif", &wrong).no_cache(true).time_out(TIME_OUT).load_model(&context).unwrap_err();
    assert_eq!((error.status, error.rule.as_str()), (Status::InvalidArgument, "SYN-MODEL-COMPILE"));
    assert!(error.text.contains(&format!("synaptic_lif.hpp:{line}:")), "{error}");

    let rule = |text: Text<'_>| text.load_model(&context).unwrap_err().rule;
    assert_eq!(rule(Text::new("other_lif", SYNAPTIC_LIF)), "SYN-MODEL-STRUCT");
    assert_eq!(rule(Text::new("synaptic_lif", "")), "SYN-MODEL-TEXT");
    assert_eq!(rule(Text::new("synaptic_lif", "a\0b")), "SYN-MODEL-TEXT");
    assert_eq!(rule(Text::new("a\0b", SYNAPTIC_LIF)), "SYN-RUST-NAME");
    assert_eq!(rule(Text::file("/nowhere/synaptic_lif.hpp")), "SYN-FILE-OPEN");
    assert_eq!(rule(Text::new("synaptic_lif", SYNAPTIC_LIF).cache("relative")), "SYN-MODEL-CACHE");
    assert_eq!(rule(Text::new("synaptic_lif", SYNAPTIC_LIF).progress(|_, _| false)), "SYN-MODEL-CANCELLED");

    // A panic comes out of the load, and no handle stays.
    let live = live_handles();
    let load = || Text::new("synaptic_lif", SYNAPTIC_LIF).progress(|_, _| panic!("enough")).load_model(&context);
    let panic = catch_unwind(AssertUnwindSafe(load)).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"enough"));
    assert_eq!(live_handles(), live);

    // From a file; in another context there is no such model, and after the last use there is none anywhere.
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/examples/models");
    let path = std::fs::canonicalize(models).unwrap().join("klif.hpp");
    let model = Text::file(path.to_str().unwrap()).time_out(TIME_OUT).load_model(&context).unwrap();
    let builder = Layer::builder(Steps(8), Neurons(32)).model(&model);
    assert_eq!(builder.create(&other).unwrap_err().rule, "SYN-HANDLE-FOREIGN");
    builder.create(&context).unwrap();
    assert_eq!(format!("{model:?}"), "LoadedModel \"klif\"");
    drop(model);
    reclaim().unwrap();
    assert_eq!(builder.create(&context).unwrap_err().rule, "SYN-LAYER-MODEL");
}
