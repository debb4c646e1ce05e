// OwnNeuron.cs - a neuron of one's own, loaded as text: a synaptic current learns how fast to decay.
//
// 32 current-based LIF neurons receive the same noise in every replay. A teacher with a slower synaptic current says at
// which steps they should fire. One graph holds the whole step: forward, dL/dS = 2 S - 2 wanted, backward, and the
// update of tau_i. It prints what bindings/programs/own_neuron.c prints, bit for bit.
//
// SPDX-License-Identifier: MIT
using System;
using System.Globalization;
using Synfire;

static class OwnNeuron
{
    const int Neurons = 32, Steps = 48, Epochs = 30;

    // [text]
    // W is the synaptic current I. All variables are those of the step before.
    const string SynapticLif = @"// I[t] = (1 - 1/tau_i) I[t-1] + X[t],  H[t] = V[t-1] + (I[t] - V[t-1]) / tau
#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>

SYNFIRE_MODEL_BEGIN

struct SynapticLif {
  static constexpr const char* name = ""synaptic_lif"";
  static constexpr int n_states = 2;
  static constexpr int n_parameters = 2;
  static constexpr int n_constants = 3;
  static constexpr double default_v_reset = 0.0;
  static constexpr bool has_input_decay = false;
  static constexpr ParameterSpec parameters[n_parameters] = {
      {""tau"", 4.0, 1.0, unbounded, false, nullptr, ""steps""},
      {""tau_i"", 2.0, 1.0, unbounded, false, nullptr, ""steps""},
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
";
    // [text]

    // Noise in [0, 2): the upper 24 bits of Knuth's 64-bit linear congruential generator (MMIX), as every language has
    // it.
    static void WriteNoise(Span<float> x)
    {
        ulong seed = 1;
        for (int i = 0; i < x.Length; ++i)
        {
            seed = unchecked(seed * 6364136223846793005 + 1442695040888963407);
            x[i] = 2.0f * (float)(seed >> 40) / 16777216.0f;
        }
    }

    static void PrintBits(Span<float> values)
    {
        for (int n = 0; n < Neurons; ++n)
            Console.WriteLine(BitConverter.ToUInt32(BitConverter.GetBytes(values[n]), 0).ToString("x8"));
    }

    // [load]
    static Layer CreateLayer(Context context)
    {
        using (var model = new LoadedModel(context, "synaptic_lif", SynapticLif))
        {
            LoadInfo info = model.Info;
            Console.WriteLine(info.Name + ": " + info.States + " variables, " + info.Parameters + " parameters");
            return new Layer(context, steps: Steps, neurons: Neurons, options: new LayerOptions { Model = model });
        } // the layer keeps what it needs
    }
    // [load]

    static void Main()
    {
        using (var context = new Context(Backend.Host))
        using (var layer = CreateLayer(context))
        using (var x = layer.CreateSequence<float>(MemoryKind.Pinned))
        using (var spikes = layer.CreateSequence<float>(MemoryKind.Pinned))
        using (var wanted = layer.CreateSequence<float>(MemoryKind.Pinned))
        using (var gradSpikes = layer.CreateSequence<float>(MemoryKind.Pinned))
        using (var gradX = layer.CreateSequence<float>(MemoryKind.Pinned))
        using (var rest = layer.CreateState<float>(MemoryKind.Pinned))
        using (var noCurrent = layer.CreateState<float>(MemoryKind.Pinned))
        using (var current = layer.CreateState<float>(MemoryKind.Pinned))
        using (var gradTau = context.CreateBuffer<float>(MemoryKind.Pinned, 1))
        using (var step = new Graph(context))
        {
            var forward =
                new ForwardArguments { X = x, Spikes = spikes, VInit = rest, WInit = noCurrent, WFinal = current };
            var backward = new BackwardArguments { GradSpikeSeq = gradSpikes, GradXSeq = gradX };
            backward.ParameterGradients.Add("tau_i", gradTau);

            WriteNoise(x.Span);
            layer.SetParameter("tau_i", 6.0); // the teacher's
            layer.Forward(forward);
            spikes.Span.CopyTo(wanted.Span);

            layer.SetParameter("tau_i", 2.0);
            step.Forward(layer, forward)
                .ScaleAdd(2.0, spikes, 0.0, gradSpikes)
                .ScaleAdd(-2.0, wanted, 1.0, gradSpikes)
                .Backward(layer, backward)
                .UpdateParameter(layer, "tau_i", gradTau, 0.001)
                .Instantiate();

            for (int epoch = 0; epoch < Epochs; ++epoch)
            {
                step.Wait(step.Launch());
                int loss = 0;
                for (int i = 0; i < Neurons * Steps; ++i) loss += spikes.Span[i] != wanted.Span[i] ? 1 : 0;
                string tau = layer.GetParameter("tau_i")[0].ToString("F6", CultureInfo.InvariantCulture);
                Console.WriteLine(epoch + " " + loss + " " + tau);
            }
            PrintBits(current.Span); // I after the last step, then dL/dX of the first
            PrintBits(gradX.Span);
        }
    }
}
