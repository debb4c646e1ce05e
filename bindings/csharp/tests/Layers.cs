// Layers.cs - parameters, states, forward and backward; recording, replaying, waiting.
//
// SPDX-License-Identifier: MIT
using System;
using System.Linq;
using System.Runtime.CompilerServices;

namespace Synfire.Tests
{
    public static class Layers
    {
        public static void ParametersAndState()
        {
            LayerOptions options = new LayerOptions { Model = Model.Izhikevich, Batch = 2, Surrogate = Surrogate.Atan };
            using (Context context = new Context(Backend.Host, threads: 1))
            using (Layer layer = new Layer(context, steps: 3, neurons: 5, options: options))
            {
                Check.That(context.IsHost && context.Properties.Threads == 1 &&
                               context.Properties.Name.StartsWith("host", StringComparison.Ordinal),
                           "properties");
                Check.That(layer.Neurons == 5 && layer.Steps == 3 && layer.Batch == 2 && layer.Context == context,
                           "shape");
                string names = string.Join(" ", layer.Parameters.Select(p => p.Name));
                Check.That(names.Contains("tau_w") && names.EndsWith("alpha", StringComparison.Ordinal),
                           "parameters: " + names);
                ParameterInfo tau = layer.Parameters.First(p => p.Name == "tau");
                Check.That(tau.Length == 1 && tau.DefaultValue > 0 && tau.Minimum < tau.Maximum,
                           "what is allowed of tau");
                layer.SetParameter("tau", 7.5);
                Check.That(layer.GetParameter("tau").SequenceEqual(new[] { 7.5 }), "one number");
                double[] many = { 1.5, 2.5, 3.5, 4.5, 5.5 };
                layer.SetParameter("tau", many);
                Check.That(layer.GetParameter("tau").SequenceEqual(many), "one per neuron");
                Check.Equal(layer.Parameters.First(p => p.Name == "tau").Length, 5L, "length");
                float[] v = Enumerable.Range(0, 10).Select(i => i * 0.1f).ToArray(), back = new float[10];
                layer.WriteState<float>("w", v);
                layer.ReadState<float>("w", back);
                Check.That(back.SequenceEqual(v), "state");
                layer.ResetState();
                layer.ReadState<float>("w", back);
                Check.That(back.All(w => w == 0), "state after a reset");
                LayerMemory memory = Layer.QueryMemory(steps: 3, neurons: 5, options: new LayerOptions { Batch = 2 });
                Check.That(memory.StateBytes == 256 && memory.TapeBytes > 0 && memory.CheckpointInterval == 32,
                           "bytes");
                Check.Equal(SynfireLibrary.FindModel("izhikevich"), Model.Izhikevich, "a model by its name");
                Check.Equal(SynfireLibrary.FindSurrogate("super_spike"), Surrogate.SuperSpike,
                            "a surrogate by its name");
            }
        }

        // Models with a current and with an adaptive threshold, and the rules of firing, against numbers that were worked
        // out in fractions. X of neuron n at step t is (5t + 3n) mod 8, halved.
        public static void ModelsAndRules()
        {
            float[,] values = new float[6, 4];
            for (int i = 0; i < 24; ++i) values[i / 4, i % 4] = (5 * (i / 4) + 3 * (i % 4)) % 8 / 2.0f;
            using (Context context = new Context(Backend.Host))
            using (Buffer<float> x = context.CreateBuffer<float>(values))
            {
                Action<LayerOptions, Action<Layer>, string, string, float[], float[]> check =
                    (options, set, fired, second, wantedV, wantedSecond) =>
                {
                    using (Layer layer = new Layer(context, steps: 6, neurons: 4, options: options))
                    using (Buffer<float> spikes = layer.CreateSequence<float>())
                    {
                        set(layer);
                        layer.Forward(new ForwardArguments { X = x, Spikes = spikes });
                        Check.Equal(string.Concat(spikes.Span.ToArray().Select(s => s == 1 ? '1' : '0')), fired,
                                    "spikes of " + options.Model);
                        float[] found = new float[4];
                        layer.ReadState<float>("v", found);
                        Check.That(found.SequenceEqual(wantedV), "v of " + options.Model + ": " + string.Join(" ", found));
                        layer.ReadState<float>(second, found);
                        Check.That(found.SequenceEqual(wantedSecond),
                                   second + " of " + options.Model + ": " + string.Join(" ", found));
                    }
                };
                check(new LayerOptions { Model = Model.Alif, Reset = Reset.Soft }, layer =>
                {
                    layer.SetParameter("tau", 2);
                    layer.SetParameter("rho", 0.5);
                    layer.SetParameter("beta_a", 1);
                }, "001010010100101001010010", "a", new[] { 0.953125f, 1.4296875f, 0.8125f, 0.6953125f },
                      new[] { 0.15625f, 0.3125f, 0.640625f, 0.28125f });
                check(new LayerOptions { Model = Model.CubaLif }, layer =>
                {
                    layer.SetParameter("tau", 4);
                    layer.SetParameter("tau_syn", 2);
                    layer.SetParameter("gain", 2);
                    layer.SetParameter("input_gain", 1);
                }, "000000101101101011010110", "current", new[] { 0.6640625f, 0, 0, 0.66015625f },
                      new[] { 1.328125f, 2.1796875f, 2.40625f, 1.3203125f });
                check(new LayerOptions { Model = Model.Lif, Reset = Reset.SoftDelayed },
                      layer => layer.SetParameter("tau", 2), "001010010100101001010010", "countdown",
                      new[] { 0.703125f, 0.9296875f, 1.84375f, 0.1953125f }, new float[] { 0, 0, 1, 0 });
                // Two channels, each with a threshold of its own. At step 4 a neuron is at its threshold and does not
                // fire.
                check(new LayerOptions { Model = Model.If, StrictThreshold = true, RefractorySteps = 2 },
                      layer => layer.SetParameter("v_threshold", new[] { 1, 2.5 }), "001010010100001010000001",
                      "countdown", new float[] { 0, 2, 0, 0 }, new float[] { 2, 0, 1, 3 });
            }
        }

        // IF, one step: dL/dX is the derivative of the surrogate.
        public static void Gradients()
        {
            LayerOptions f64 = new LayerOptions { Model = Model.If, DType = DType.F64 };
            using (Context context = new Context(Backend.Host))
            using (Layer layer = new Layer(context, steps: 1, neurons: 6, options: f64))
            using (Buffer<double> x = context.CreateBuffer<double>(new double[,] { { 0, 0.5, 0.9, 1, 1.5, 2 } }))
            using (Buffer<double> seed = layer.CreateSequence<double>())
            using (Buffer<double> gradX = layer.CreateSequence<double>())
            using (Buffer<double> gradThreshold = layer.CreateState<double>())
            {
                seed.Fill(1);
                BackwardArguments backward = new BackwardArguments { GradSpikeSeq = seed, GradXSeq = gradX };
                backward.ParameterGradients["v_threshold"] = gradThreshold;
                layer.Forward(new ForwardArguments { X = x });
                layer.Backward(backward);
                for (int i = 0; i < 6; ++i)
                {
                    double s = 1 / (1 + Math.Exp(-4 * (x[0, i] - 1))), wanted = 4 * s * (1 - s);
                    Check.That(Math.Abs(gradX[0, i] - wanted) < 1e-12,
                               "gradient " + i + ": " + gradX[0, i] + ", wanted " + wanted);
                    Check.That(Math.Abs(gradThreshold[i] + wanted) < 1e-12, "gradient of the threshold " + i);
                }
                backward.AddParameterGradients = true;
                layer.Backward(backward);
                Check.That(Math.Abs(gradThreshold[3] + 2 * gradX[0, 3]) < 1e-12, "gradients that are added");

                // In a graph the layer occurs twice, and each backward is of the forward that it names.
                using (Buffer<double> other = context.CreateBuffer<double>(new double[,] { { 2, 1.5, 1, 0.9, 0.5, 0 } }))
                using (Buffer<double> rest = layer.CreateState<double>())
                using (Buffer<double> gradOther = layer.CreateSequence<double>())
                using (Graph graph = new Graph(context))
                {
                    graph.Forward(layer, new ForwardArguments { X = x, VInit = rest });
                    int first = graph.LastOperation;
                    graph.Forward(layer, new ForwardArguments { X = other, VInit = rest });
                    int second = graph.LastOperation;
                    graph.Backward(layer, new BackwardArguments { GradSpikeSeq = seed, GradXSeq = gradX, Forward = first });
                    graph.Backward(layer,
                                   new BackwardArguments { GradSpikeSeq = seed, GradXSeq = gradOther, Forward = second });
                    graph.Instantiate();
                    graph.Wait(graph.Launch());
                    for (int i = 0; i < 6; ++i) Check.Equal(gradX[0, i], gradOther[0, 5 - i], "shared weights " + i);
                    Check.That(gradX[0, 2] != gradOther[0, 2], "two forwards");
                }
            }
        }

        public static void SpikesInAnyFormat()
        {
            using (Context context = new Context(Backend.Host))
            using (Layer layer = new Layer(context, steps: 40, neurons: 70, options: new LayerOptions { Batch = 2 }))
            using (Buffer<float> x = layer.CreateSequence<float>())
            using (Buffer<uint> bits = layer.CreateSpikes())
            using (Buffer<uint> inTime = layer.CreateTimePackedSpikes())
            using (Buffer<byte> dense = layer.CreateSequence<byte>())
            using (Buffer<ulong> total = context.CreateBuffer<ulong>(MemoryKind.Host, 1))
            using (Buffer<uint> perStep = context.CreateBuffer<uint>(MemoryKind.Host, DType.U32, 0, 40))
            {
                Random random = new Random(1);
                Span<float> input = x.Span;
                for (int i = 0; i < input.Length; ++i) input[i] = (float)random.NextDouble() * 4;
                Check.That(bits.Shape.SequenceEqual(new long[] { 40, 2, 3 }) &&
                               inTime.Shape.SequenceEqual(new long[] { 2, 2, 70 }),
                           "shapes");
                layer.Forward(new ForwardArguments { X = x, Spikes = bits });
                context.ConvertSpikes(bits, dense, steps: 40, neurons: 70, batch: 2);
                context.ConvertSpikes(dense, inTime, steps: 40, neurons: 70, batch: 2);
                context.CountSpikes(CountKind.Total, inTime, total, steps: 40, neurons: 70, batch: 2);
                context.CountSpikes(CountKind.PerStep, bits, perStep, steps: 40, neurons: 70, batch: 2);
                long seen = 0, steps = 0;
                bool same = true;
                for (int t = 0; t < 40; ++t)
                {
                    steps += perStep[t];
                    for (int b = 0; b < 2; ++b)
                        for (int n = 0; n < 70; ++n)
                        {
                            uint one = bits[t, b, n / 32] >> (n % 32) & 1;
                            same &= one == dense[t, b, n] && one == (inTime[t / 32, b, n] >> (t % 32) & 1);
                            seen += one;
                        }
                }
                Check.That(same && seen > 1000, "the same spikes: " + seen);
                Check.That((long)total[0] == seen && steps == seen, "counts");
            }
        }

        public static void RatesAsSpikes()
        {
            using (Context context = new Context(Backend.Host))
            using (Buffer<float> rates = context.CreateBuffer<float>(MemoryKind.Host, 2, 35))
            using (Buffer<byte> all = context.CreateBuffer<byte>(MemoryKind.Host, 60, 2, 35))
            using (Buffer<uint> inTime = context.CreateBuffer<uint>(MemoryKind.Host, DType.TimeBits, 0, 2, 2, 35))
            using (Buffer<float> each = context.CreateBuffer<float>(MemoryKind.Host, 60, 2, 35))
            using (Buffer<byte> part = context.CreateBuffer<byte>(MemoryKind.Host, 20, 2, 35))
            using (Graph graph = new Graph(context))
            {
                Span<float> once = rates.Span, perStep = each.Span;
                for (int i = 0; i < 70; ++i) once[i] = i / 69f;
                for (int i = 0; i < 4200; ++i) perStep[i] = once[i % 70];
                context.EncodeBernoulli(rates, all, steps: 60, neurons: 35, batch: 2, seed: ulong.MaxValue, offset: 7);
                context.EncodeBernoulli(each, inTime, steps: 60, neurons: 35, batch: 2,
                                        seed: ulong.MaxValue, offset: 7, ratesPerStep: true);
                long seen = 0;
                bool same = true;
                for (int t = 0; t < 60; ++t)
                    for (int i = 0; i < 70; ++i)
                    {
                        uint one = all[t, i / 35, i % 35];
                        same &= one == (inTime[t / 32, i / 35, i % 35] >> (t % 32) & 1) && one <= 1;
                        same &= (i != 0 || one == 0) && (i != 69 || one == 1);
                        seen += one;
                    }
                Check.That(same && seen > 1900 && seen < 2300, "spikes drawn: " + seen);
                int encode = graph
                                 .EncodeBernoulli(rates, part, steps: 20, neurons: 35, batch: 2, seed: ulong.MaxValue,
                                                  offset: 7)
                                 .LastOperation;
                graph.Instantiate();
                Action<int, string> expect = (first, what) =>
                {
                    graph.Wait(graph.Launch());
                    Check.That(all.Span.Slice(70 * first, 1400).SequenceEqual(part.Span), what);
                };
                expect(0, "the first replay");
                expect(20, "the second goes on");
                graph.SetEnabled(encode, false);
                expect(20, "disabled");
                graph.SetEnabled(encode, true);
                expect(40, "the third goes on from the second");
                graph.SetValue(encode, "offset", 8);
                expect(1, "another offset");
                Check.Status(Status.ErrorInvalidArgument, () => graph.SetValue(encode, "offset", 0.5), "half a step");
                Check.Status(Status.ErrorInvalidArgument,
                             () => context.EncodeBernoulli(rates, all, steps: 60, neurons: 35, batch: 2,
                                                           ratesPerStep: true),
                             "rates of one step");
                Check.Throws<ArgumentOutOfRangeException>(
                    () => context.EncodeBernoulli(rates, all, steps: -1, neurons: 35), "-1 steps");
                Check.Throws<ArgumentNullException>(() => graph.EncodeBernoulli(null, all, steps: 60, neurons: 35),
                                                    "no rates");
            }
        }

        public static void ReplaysEqualCalls()
        {
            using (Context context = new Context(Backend.Host))
            using (Layer eager = new Layer(context, steps: 8, neurons: 33))
            using (Layer recorded = new Layer(context, steps: 8, neurons: 33))
            using (Buffer<float> x = eager.CreateSequence<float>(MemoryKind.Pinned))
            using (Buffer<uint> expected = eager.CreateSpikes())
            using (Buffer<uint> got = eager.CreateSpikes())
            using (Buffer<uint> copied = eager.CreateSpikes())
            using (Buffer<uint> counts = context.CreateBuffer<uint>(MemoryKind.Host, DType.U32, 0, 33))
            using (Buffer<byte> dense = eager.CreateSequence<byte>())
            using (Graph graph = new Graph(context))
            {
                graph.Forward(recorded, new ForwardArguments { X = x, Spikes = got }).Copy(got, copied);
                graph.ConvertSpikes(got, dense, steps: 8, neurons: 33)
                    .CountSpikes(CountKind.PerNeuron, got, counts, steps: 8, neurons: 33)
                    .Instantiate();
                Random random = new Random(2);
                for (ulong replay = 1; replay <= 20; ++replay)
                {
                    Span<float> input = x.Span;
                    for (int i = 0; i < input.Length; ++i) input[i] = (float)random.NextDouble() * 3;
                    eager.Forward(new ForwardArguments { X = x, Spikes = expected });
                    ulong ticket = graph.Launch();
                    Check.Equal(ticket, replay, "ticket");
                    Check.That(graph.Wait(ticket) && graph.IsDone(ticket) && graph.Wait(ticket, 0, WaitPolicy.Yield) &&
                               graph.Wait(ticket, TimeSpan.FromMilliseconds(1), WaitPolicy.Block), "done");
                    Check.That(expected.Span.SequenceEqual(got.Span) && got.Span.SequenceEqual(copied.Span),
                               "spikes of replay " + replay);
                    long sum = 0, ones = 0;
                    foreach (uint count in counts.Span) sum += count;
                    foreach (byte one in dense.Span) ones += one;
                    Check.That(sum == ones && sum > 0, "counts of replay " + replay);
                }
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static Graph OutOfParts(out Buffer<float> spikes)
        {
            Context context = new Context(Backend.Host);
            Layer layer = new Layer(context, steps: 2, neurons: 4, options: new LayerOptions { Model = Model.If });
            float[] x = { 2, 2, 2, 2, 2, 2, 2, 2 };
            Buffer<float> output = layer.CreateSequence<float>();
            spikes = output;
            return Graph.Record(
                context,
                g => g.Forward(layer, new ForwardArguments { X = context.Borrow<float>(x, 2, 4), Spikes = output }));
        }

        public static void WhatAGraphUsesLives()
        {
            Buffer<float> spikes;
            Graph graph = OutOfParts(out spikes);
            for (int i = 0; i < 3; ++i)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
                byte[][] litter = Enumerable.Range(0, 100).Select(k => new byte[1000]).ToArray();
                Check.That(graph.Wait(graph.Launch()) && litter.Length == 100, "replay");
                foreach (float spike in spikes.Span) Check.Equal(spike, 1.0f, "spike");
            }
            graph.Context.Dispose();
            spikes.Dispose();
            Check.That(graph.Wait(graph.Launch()), "a replay after its parts were closed");
            graph.Dispose();
        }
    }
}
