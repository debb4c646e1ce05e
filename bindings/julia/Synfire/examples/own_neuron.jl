# own_neuron.jl - a neuron of one's own, loaded as text: a synaptic current learns how fast to decay.
#
# 32 current-based LIF neurons receive the same noise in every replay. A teacher with a slower synaptic current says at which
# steps they shall fire. One graph holds the whole step: forward, dL/dS = 2 S - 2 wanted, backward, and the update of tau_i.
#
# It prints what bindings/programs/own_neuron.c prints, bit for bit.
#
# SPDX-License-Identifier: MIT
using Synfire, Printf

const neurons, steps, epochs = 32, 48, 30

# [text]
# W is the synaptic current I. All variables are those of the step before.
const synaptic_lif = """
// I[t] = (1 - 1/tau_i) I[t-1] + X[t],  H[t] = V[t-1] + (I[t] - V[t-1]) / tau
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
"""
# [text]

# Noise in [0, 2): the upper 24 bits of Knuth's 64-bit linear congruential generator (MMIX).
function write_noise!(x)
    seed = UInt64(1)
    for i in eachindex(x)
        seed = seed * 0x5851f42d4c957f2d + 0x14057b7ef767814f
        x[i] = 2.0f0 * Float32(seed >> 40) / 16777216.0f0
    end
end

print_bits(values) = foreach(value -> println(string(reinterpret(UInt32, value); base=16, pad=8)), values)

function main()
    Context(backend=:host) do context
        # [load]
        model = LoadedModel(context, "synaptic_lif", synaptic_lif)
        layer = Layer(context; model=model, steps=steps, neurons=neurons)
        # [load]
        info = load_info(model)
        println(info.name, ": ", info.states, " variables, ", info.parameters, " parameters")
        close(model)                                   # the layer keeps what it needs

        x, spikes, wanted, grad_spikes, grad_x = ntuple(_ -> sequence_buffer(layer; memory=:pinned), 5)
        rest, no_current, current = ntuple(_ -> state_buffer(layer; memory=:pinned), 3)
        grad_tau = Buffer{Float32}(context, 1; memory=:pinned)
        forward = (x=x, spikes=spikes, v_init=rest, w_init=no_current, w_final=current)

        write_noise!(hostarray(x))
        layer[:tau_i] = 6.0                            # the teacher's
        forward!(layer; forward...)
        copyto!(hostarray(wanted), hostarray(spikes))

        layer[:tau_i] = 2.0
        step = record(context) do graph
            forward!(graph, layer; forward...)
            scale_add!(graph, grad_spikes, spikes; scale=2, keep=0)
            scale_add!(graph, grad_spikes, wanted; scale=-2)
            backward!(graph, layer; grad_spike_seq=grad_spikes, grad_x_seq=grad_x, parameter_gradients=(tau_i=grad_tau,))
            update_parameter!(graph, layer, :tau_i, grad_tau; learning_rate=0.001)
        end

        for epoch in 0:epochs-1
            wait(step, launch!(step))
            @printf("%d %d %.6f\n", epoch, count(hostarray(spikes) .!= hostarray(wanted)), layer[:tau_i])
        end
        print_bits(hostarray(current))                 # I after the last step, then dL/dX of the first
        print_bits(hostarray(grad_x)[:, 1])
    end
end

main()
