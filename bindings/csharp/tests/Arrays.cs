// Arrays.cs - arrays of any rank go in and come back in their shape; memory is shared without copies where asked for.
//
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;

namespace Synfire.Tests
{
    public static unsafe class Arrays
    {
        private static void RoundTrip<T>(Context context, Func<int, T> make, params int[] lengths) where T : struct
        {
            Array values = Array.CreateInstance(typeof(T), lengths);
            int[] index = new int[lengths.Length];
            for (int i = 0; i < values.Length; ++i)
            {
                for (int d = lengths.Length - 1, rest = i; d >= 0; rest /= lengths[d--]) index[d] = rest % lengths[d];
                values.SetValue(make(i), index);
            }
            using (Buffer<T> buffer = context.CreateBuffer<T>(values, MemoryKind.Pinned))
            {
                Array back = buffer.ToArray();
                Check.Equal(back.GetType(), values.GetType(), "type of the array");
                bool same = back.Length == values.Length;
                for (int d = 0; d < lengths.Length; ++d)
                    same &= back.GetLength(d) == lengths[d] && buffer.Shape[d] == lengths[d];
                System.Collections.IEnumerator left = values.GetEnumerator(), right = back.GetEnumerator();
                while (left.MoveNext() && right.MoveNext()) same &= left.Current.Equals(right.Current);
                Check.That(same, "round trip of " + typeof(T).Name + ", rank " + lengths.Length);
                // Row-major: element number i of the memory is element number i of the array.
                Check.That(buffer.Span.Length == values.Length &&
                               buffer.Span[values.Length - 1].Equals(make(values.Length - 1)),
                           "order");
            }
        }

        public static void EveryRankAndType()
        {
            using (Context context = new Context(Backend.Host))
            {
                int[][] shapes = { new[] { 7 }, new[] { 3, 5 }, new[] { 2, 3, 4 }, new[] { 2, 1, 3, 2 },
                                   new[] { 1, 2, 2, 2, 3 } };
                foreach (int[] shape in shapes)
                {
                    RoundTrip(context, i => i + 0.5f, shape);
                    RoundTrip(context, i => i + 0.25, shape);
                    RoundTrip(context, i => (uint)i * 1000003u, shape);
                    RoundTrip(context, i => (ulong)i << 40, shape);
                    RoundTrip(context, i => (byte)i, shape);
                    RoundTrip(context, i => (Float16)(i * 0.5f), shape);
                    RoundTrip(context, i => (BFloat16)(i * 0.5f), shape);
                }
            }
        }

        public static void BorrowedMemoryIsTheSameMemory()
        {
            using (Context context = new Context(Backend.Host))
            using (Layer layer =
                       new Layer(context, steps: 2, neurons: 4, options: new LayerOptions { Model = Model.If }))
            {
                float[] x = { 2, 0, 0, 2, 0, 2, 0, 2 }, spikes = new float[8];
                using (Buffer<float> input = context.Borrow<float>(x, 2, 4))
                using (Buffer<float> output = context.Borrow<float>(new Memory<float>(spikes), 2, 4))
                {
                    layer.Forward(new ForwardArguments { X = input, Spikes = output });
                    for (int i = 0; i < 8; ++i) Check.Equal(spikes[i], x[i] / 2, "spike " + i);
                    x[1] = 5;
                    Check.Equal(input[0, 1], 5.0f, "a write of the array");
                    input[1, 0] = 6;
                    Check.Equal(x[4], 6.0f, "a write of the buffer");
                }
                // Part of an array, and memory by its address, as Unity's NativeArray gives it.
                using (Buffer<float> part = context.Borrow(new Memory<float>(x, 4, 4)))
                    Check.That(part.Shape.Count == 1 && part[0] == 6, "a slice");
                IntPtr memory = Marshal.AllocHGlobal(32);
                using (Buffer<float> raw = context.Borrow<float>((void*)memory, MemoryKind.Host, 2, 4))
                {
                    raw.Fill(3);
                    Check.That(raw.Pointer == memory && ((float*)memory)[7] == 3, "memory by its address");
                    float* more = stackalloc float[8];
                    for (int i = 0; i < 8; ++i) more[i] = i;
                    raw.UploadBytes(more, 32);
                    more[3] = 0;
                    raw.DownloadBytes(more, 16);
                    Check.That(more[3] == 3 && raw[1, 3] == 7, "copies by address");
                }
                Marshal.FreeHGlobal(memory);
            }
        }

        public static void SpansAndMemory()
        {
            using (Context context = new Context(Backend.Host))
            {
                Buffer<float> buffer = context.CreateBuffer<float>(MemoryKind.Device, 3, 4);
                Check.That(buffer.Span.ToArray().Length == 12 && buffer[2, 3] == 0, "zeros");
                buffer.Upload(new float[] { 1, 2, 3 }, 5);
                float[] back = new float[4];
                buffer.Download(back, 4);
                Check.That(back[0] == 0 && back[1] == 1 && back[3] == 3, "offsets");
                Memory<float> memory = buffer.Memory;
                Span<float> through = memory.Span;
                through[0] = 9;
                using (System.Buffers.MemoryHandle pin = memory.Pin())
                    Check.Equal(*(float*)pin.Pointer, 9.0f, "pinned");
                Check.Equal(buffer[0, 0], 9.0f, "memory");
                buffer.Dispose();
                Check.Throws<ObjectDisposedException>(() =>
                                                      { float first = memory.Span[0]; },
                                                      "memory of a closed buffer");
                Check.Throws<ObjectDisposedException>(() =>
                                                      { float first = buffer.Span[0]; },
                                                      "span of a closed buffer");
            }
        }

        public static void RowsApart()
        {
            using (Context context = new Context(Backend.Host))
            using (Layer layer =
                       new Layer(context, steps: 2, neurons: 3, options: new LayerOptions { Model = Model.If }))
            using (Buffer<float> x = context.CreateBuffer<float>(MemoryKind.Host, DType.F32, 5, 2, 3))
            using (Buffer<float> spikes = layer.CreateSequence<float>())
            {
                Check.That(x.Bytes == 32 && x.RowPitch == 5, "size with a pitch");
                x.Fill(7);
                x.CopyFrom(new float[,] { { 1, 0, 0 }, { 0, 0, 1 } });
                Check.That(x.Span[3] == 7 && x.Span[4] == 7 && x[1, 2] == 1, "what lies between is left alone");
                layer.Forward(new ForwardArguments { X = x, Spikes = spikes });
                float[,] fired = (float[,])spikes.ToArray(), back = (float[,])x.ToArray();
                Check.That(fired[0, 0] == 1 && fired[0, 1] == 0 && fired[1, 2] == 1, "spikes");
                Check.That(back[0, 0] == 1 && back[1, 0] == 0 && back[1, 2] == 1, "rows back");
            }
        }

        // Against the formulas: every number of 16 bits there and back, and ties.
        public static void SixteenBits()
        {
            int good = 0;
            for (int bits = 0; bits < 65536; ++bits)
            {
                int exponent = bits >> 10 & 31, fraction = bits & 1023;
                double value =
                    (bits < 32768 ? 1 : -1) *
                    (exponent == 0 ? fraction * Math.Pow(2, -24) : (1024 + fraction) * Math.Pow(2, exponent - 25));
                float number = Float16.FromBits((ushort)bits);
                bool isNan = exponent == 31 && fraction > 0;
                bool right =
                    exponent == 31 ? (isNan ? float.IsNaN(number) : float.IsInfinity(number)) : number == (float)value;
                if (right && (isNan || ((Float16)number).Bits == bits) &&
                    (float.IsNaN(BFloat16.FromBits((ushort)bits)) ||
                     ((BFloat16)(float)BFloat16.FromBits((ushort)bits)).Bits == bits))
                    ++good;
            }
            Check.Equal(good, 65536, "numbers of 16 bits that come back");
            Check.Equal((int)((Float16)(1 + 1.0f / 2048)).Bits, 0x3c00, "a tie, to even");
            Check.Equal((int)((Float16)(1 + 3.0f / 2048)).Bits, 0x3c02, "a tie, to even");
            Check.Equal((int)((Float16)65519.0f).Bits, 0x7bff, "the largest");
            Check.Equal((int)((Float16)65520.0f).Bits, 0x7c00, "infinity");
            Check.Equal((int)((Float16)(float)Math.Pow(2, -25)).Bits, 0, "half of the smallest");
            Check.Equal((int)((Float16)(-1.5f * (float)Math.Pow(2, -25))).Bits, 0x8001,
                        "more than half of the smallest");
            Check.Equal((int)((BFloat16)(1 + 1.0f / 256)).Bits, 0x3f80, "a tie of bfloat16");
            Check.That(float.IsNaN((BFloat16)float.NaN) && float.IsNaN((Float16)float.NaN), "NaN");
            using (Context context = new Context(Backend.Host))
            using (Buffer<Float16> half = context.CreateBuffer<Float16>(MemoryKind.Host, 1))
            using (Buffer<BFloat16> brain = context.CreateBuffer<BFloat16>(MemoryKind.Host, 1))
                for (float value = -3; value < 3; value += 0.37f)
                {
                    half.Fill(value);
                    brain.Fill(value);
                    Check.That(half[0].Bits == ((Float16)value).Bits && brain[0].Bits == ((BFloat16)value).Bits,
                               "the library rounds " + value + " likewise");
                }
        }
    }
}
