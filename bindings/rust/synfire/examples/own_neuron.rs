//! A neuron of one's own, loaded as text; prints exactly what bindings/programs/own_neuron.c prints.
//!
//! 32 current-based LIF neurons receive the same noise in every replay. A teacher with a slower synaptic current says at
//! which steps they should fire, and the student learns how fast its current should decay. One graph holds the whole step:
//! forward, dL/dS = 2 S - 2 wanted, backward, and the update of tau_i.
use synfire::*;

const N: usize = 32;
const T: usize = 48;

// [text]
/// W is the synaptic current I. All variables are those of the step before.
pub const SYNAPTIC_LIF: &str = r#"// I[t] = (1 - 1/tau_i) I[t-1] + X[t],  H[t] = V[t-1] + (I[t] - V[t-1]) / tau
#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

struct SynapticLif {
  static constexpr const char* name = "synaptic_lif";
  static constexpr int n_states = 2;
  static constexpr int n_parameters = 2;
  static constexpr int n_constants = 3;
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {"tau", 4.0, 1.0, unbounded, false, nullptr, "steps"},
      {"tau_i", 2.0, 1.0, unbounded, false, nullptr, "steps"},
  };

  template <class T>
  static SYNFIRE_MODEL_FN void derive(const T* values, bool, T* constants) {
    const T one = Lift<T>::from(1.0), rate = inverse(values[0]);
    constants[0] = one - rate;
    constants[1] = rate;
    constants[2] = one - inverse(values[1]);
  }

  template <class C, class V, class I, class X>
  static SYNFIRE_MODEL_FN auto charge(const C* c, V v, I i, X x) {
    return fma(c[0], v, c[1] * fma(c[2], i, x));
  }
  template <class C, class V, class I, class X, class H, class S>
  static SYNFIRE_MODEL_FN auto adapt(const C* c, V, I i, X x, H, S) {
    return fma(c[2], i, x);
  }
};

SYNFIRE_MODEL_END
"#;
// [text]

/// Noise in [0, 2): the upper 24 bits of Knuth's 64-bit linear congruential generator (MMIX).
fn write_noise(x: &mut [f32]) {
    let mut seed = 1u64;
    for x in x {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *x = 2.0 * (seed >> 40) as f32 / 16777216.0;
    }
}

fn main() -> Result<()> {
    let context = Context::builder().backend(Backend::Host).create()?;
    // [load]
    let model = Text::new("synaptic_lif", SYNAPTIC_LIF).load_model(&context)?;
    let layer = Layer::builder(Steps(T as i64), Neurons(N as i64)).model(&model).create(&context)?;
    // [load]
    let info = model.info()?;
    println!("{}: {} variables, {} parameters", info.name, info.n_states, info.n_parameters);
    model.close(); // the layer keeps what it needs

    let sequence = || layer.sequence::<f32>(Memory::Pinned);
    let (x, spikes, wanted, grad_spikes, grad_x) = (sequence()?, sequence()?, sequence()?, sequence()?, sequence()?);
    let state = || layer.state::<f32>(Memory::Pinned);
    let (rest, no_current, current) = (state()?, state()?, state()?);
    let grad_tau = Buffer::<f32>::zeros(&context, Memory::Pinned, 1)?;
    let forward = Forward::new(&x).spikes(&spikes).v_init(&rest).w_init(&no_current).w_final(&current);

    write_noise(&mut x.map_mut()?);
    layer.set_parameter("tau_i", &[6.0])?; // the teacher's
    layer.forward(forward.clone())?;
    wanted.write(&spikes.map()?)?;

    layer.set_parameter("tau_i", &[2.0])?;
    let mut step = Graph::record(&context, |step| {
        step.forward(&layer, forward)?;
        step.scale_add(2.0, &spikes, 0.0, &grad_spikes)?;
        step.scale_add(-2.0, &wanted, 1.0, &grad_spikes)?;
        let backward = Backward::new().grad_spike_seq(&grad_spikes).grad_x_seq(&grad_x);
        step.backward(&layer, &backward.grad_parameter("tau_i", &grad_tau))?;
        step.update_parameter(&layer, Update::new("tau_i", &grad_tau, 0.001))
    })?;

    for epoch in 0..30 {
        let ticket = step.launch()?;
        step.wait(ticket, Wait::Spin, None)?;
        let loss = spikes.map()?.iter().zip(wanted.map()?.iter()).filter(|(s, wanted)| s != wanted).count();
        let mut tau_i = [0.0];
        layer.parameter("tau_i", &mut tau_i)?;
        println!("{epoch} {loss} {:.6}", tau_i[0]);
    }
    // I after the last step, then dL/dX of the first.
    let (current, grad_x) = (current.map()?, grad_x.map()?);
    current.iter().chain(&grad_x[..N]).for_each(|value| println!("{:08x}", value.to_bits()));
    Ok(())
}
