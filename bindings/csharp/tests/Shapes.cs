// Shapes.cs - a buffer of another shape than an operation needs is refused, with both shapes; what fits goes through.
//
// SPDX-License-Identifier: MIT
using System;

namespace Synfire.Tests
{
    public static class Shapes
    {
        private const long T = 20, N = 64;
        private static readonly Context context_ = new Context(Backend.Host);
        private static readonly Layer layer_ = new Layer(context_, steps: T, neurons: N);
        private static readonly Layer batched_ =
            new Layer(context_, steps: T, neurons: N, options: new LayerOptions { Batch = 3 });

        private static Buffer<E> Of<E>(params long[] shape) where E : struct
        {
            return context_.CreateBuffer<E>(MemoryKind.Device, shape);
        }

        private static void Refused(Action call, string what, string got, string wanted,
                                    string rule = "SYN-BUFFER-SHAPE")
        {
            SynfireException problem = Check.Throws<SynfireException>(call, what);
            if (problem == null) return;
            Check.Equal(problem.Status, Status.ErrorInvalidArgument, what);
            Check.Equal(problem.RuleId, rule, what);
            Check.Contains(problem.Text, got);
            Check.Contains(problem.Text, wanted);
        }

        private static void Refused(Layer layer, ForwardArguments arguments, string what, string got, string wanted)
        {
            Refused(() => layer.Forward(arguments), what, got, wanted);
            Refused(() => Graph.Record(context_, graph => graph.Forward(layer, arguments)), what + ", recorded", got,
                    wanted);
        }

        public static void NamesStandInAnyOrder()
        {
            using (Layer other = new Layer(context_, neurons: N, steps: T))
                foreach (Layer layer in new[] { layer_, other })
                {
                    Check.Equal(layer.Steps, T, "steps");
                    Check.Equal(layer.Neurons, N, "neurons");
                }
            Check.Equal(Layer.QueryMemory(neurons: 64, steps: 20).TapeBytes,
                        Layer.QueryMemory(steps: 20, neurons: 64).TapeBytes, "bytes");
            using (Buffer<float> dense = layer_.CreateSequence<float>())
            using (Buffer<uint> bits = layer_.CreateSpikes())
            {
                dense[2, 33] = 1;
                context_.ConvertSpikes(dense, bits, neurons: N, steps: T);
                Check.Equal(bits[2, 1], 2u, "a bit");
            }
        }

        public static void ATransposedBufferIsRefused()
        {
            using (Buffer<float> x = layer_.CreateSequence<float>())
            using (Buffer<float> turned = Of<float>(N, T))
            using (Buffer<float> array = context_.CreateBuffer<float>(new float[N, T]))
            using (Buffer<float> borrowed = context_.Borrow<float>(new float[N * T], N, T))
            {
                foreach (Buffer<float> wrong in new[] { turned, array, borrowed })
                {
                    Refused(layer_, new ForwardArguments { X = wrong }, "X", "[64, 20]", "[20, 1, 64]");
                    Refused(layer_, new ForwardArguments { X = x, Spikes = wrong }, "spikes", "[64, 20]",
                            "[20, 1, 64]");
                    Refused(layer_, new ForwardArguments { X = x, VSeq = wrong }, "V", "[64, 20]", "[20, 1, 64]");
                }
                layer_.Forward(new ForwardArguments { X = x });
                Refused(() => layer_.Backward(new BackwardArguments { GradSpikeSeq = x, GradXSeq = turned }),
                        "gradient", "[64, 20]", "[20, 1, 64]");
                using (Buffer<uint> bits = layer_.CreateSpikes())
                    Refused(() => context_.ConvertSpikes(turned, bits, steps: T, neurons: N), "source", "[64, 20]",
                            "[20, 1, 64]");
                Refused(() => context_.ScaleAdd(1, x, 1, turned), "a sum", "[64, 20]", "[20, 64]");
            }
        }

        public static void PackedSpikesHaveTheirShapeInWords()
        {
            using (Buffer<float> x = layer_.CreateSequence<float>())
            using (Buffer<uint> bits = layer_.CreateSpikes())
            using (Buffer<uint> inTime = layer_.CreateTimePackedSpikes())
            using (Buffer<uint> turned = Of<uint>(2, T))
            using (Buffer<uint> time = context_.CreateBuffer<uint>(MemoryKind.Device, DType.TimeBits, 0, 2, N / 2))
            {
                Check.That(bits.Shape[0] == T && bits.Shape[1] == 2 && inTime.Shape[0] == 1 && inTime.Shape[1] == N,
                           "shapes");
                layer_.Forward(new ForwardArguments { X = x, Spikes = bits });
                layer_.Forward(new ForwardArguments { X = x, Spikes = inTime });
                Refused(layer_, new ForwardArguments { X = x, Spikes = turned }, "bits", "[2, 20]", "[20, 1, 2 words]");
                Refused(layer_, new ForwardArguments { X = x, Spikes = time }, "bits in time", "[2, 32]",
                        "[1 words, 1, 64]");
            }
        }

        public static void BatchesAndStates()
        {
            using (Buffer<float> x = batched_.CreateSequence<float>())
            using (Buffer<float> v = batched_.CreateState<float>())
            using (Buffer<uint> bits = batched_.CreateSpikes())
            using (Buffer<uint> inTime = batched_.CreateTimePackedSpikes())
            using (Buffer<float> rowsFirst = Of<float>(3, T, N))
            using (Buffer<float> flat = Of<float>(T, 3 * N))
            using (Buffer<float> turned = Of<float>(N, 3))
            {
                batched_.Forward(new ForwardArguments { X = x, Spikes = bits, VFinal = v });
                batched_.Forward(new ForwardArguments { X = x, Spikes = inTime });
                Refused(batched_, new ForwardArguments { X = rowsFirst }, "X", "[3, 20, 64]", "[20, 3, 64]");
                Refused(batched_, new ForwardArguments { X = flat }, "X", "[20, 192]", "[20, 3, 64]");
                Refused(batched_, new ForwardArguments { X = x, VFinal = turned }, "V", "[64, 3]", "[3, 64]");
                batched_.ReadRows("v", v);
                Refused(() => batched_.ReadRows("v", turned), "rows", "[64, 3]", "[3, 64]");
            }
        }

        public static void OneDimensionCountsAsNoShape()
        {
            using (Buffer<float> x = Of<float>(T * N))
            using (Buffer<float> borrowed = context_.Borrow<float>(new float[T * N]))
            using (Buffer<uint> bits = Of<uint>(T * 2))
            using (Buffer<float> tooShort = Of<float>(T * N - 1))
            {
                layer_.Forward(new ForwardArguments { X = x, Spikes = bits });
                layer_.Forward(new ForwardArguments { X = borrowed });
                Check.Status(Status.ErrorInvalidArgument, () => layer_.Forward(new ForwardArguments { X = tooShort }),
                             "one element missing");
            }
        }

        public static void LengthsOfOneAreIgnored()
        {
            using (Buffer<float> x = Of<float>(T, 1, N))
            using (Buffer<float> four = Of<float>(1, T, 1, N))
            using (Buffer<float> column = Of<float>(T * N, 1))
            using (Buffer<float> turned = Of<float>(N, 1, T))
            using (Buffer<uint> bits = Of<uint>(1, T, 2))
            {
                foreach (Buffer<float> fits in new[] { x, four, column })
                    layer_.Forward(new ForwardArguments { X = fits, Spikes = bits });
                Refused(layer_, new ForwardArguments { X = turned }, "X", "[64, 1, 20]", "[20, 1, 64]");
            }
            using (Layer one = new Layer(context_, steps: T, neurons: 1))
            using (Buffer<float> row = Of<float>(1, T))
                one.Forward(new ForwardArguments { X = row });
        }

        // The C library knows four dimensions; of a buffer with more only the size is checked.
        public static void FiveDimensions()
        {
            using (Buffer<float> five = Of<float>(2, 10, 2, 8, 4))
                layer_.Forward(new ForwardArguments { X = five });
        }

        public static void RowsWithAPitch()
        {
            using (Buffer<float> x = context_.CreateBuffer<float>(MemoryKind.Device, DType.F32, 80, T, N))
            using (Buffer<float> turned = context_.CreateBuffer<float>(MemoryKind.Device, DType.F32, 80, N, T))
            {
                layer_.Forward(new ForwardArguments { X = x });
                Refused(layer_, new ForwardArguments { X = turned }, "X", "[64, 20]", "[20, 1, 64]");
            }
        }

        public static void ABufferThatTakesThePlaceOfOne()
        {
            using (Buffer<float> x = layer_.CreateSequence<float>())
            using (Buffer<float> array = Of<float>(T * N))
            using (Buffer<float> turned = Of<float>(N, T))
            using (Graph graph = Graph.Record(context_, g => g.Forward(layer_, new ForwardArguments { X = x })))
            {
                Refused(() => graph.Rebind(x, turned), "another shape", "[64, 20]", "[20, 1, 64]",
                        "SYN-REBIND-SHAPE");
                graph.Rebind(x, array);
                Check.That(graph.Wait(graph.Launch()), "a replay with another buffer");
            }
        }

        // Operations that only move memory need no shape.
        public static void CopiesTakeAnyShape()
        {
            using (Buffer<float> x = layer_.CreateSequence<float>())
            using (Buffer<float> turned = Of<float>(N, T))
            using (Graph graph = Graph.Record(context_, g => g.Fill(x, 3).Copy(x, turned)))
            {
                graph.Wait(graph.Launch());
                Check.Equal(turned[63, 19], 3f, "the last element");
            }
        }
    }
}
