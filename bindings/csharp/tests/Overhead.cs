// Overhead.cs - what a replay costs from C#: no memory, which is a test, and nanoseconds, which bindings/overhead.py measures
// with "Tests.exe overhead".
//
// SPDX-License-Identifier: MIT
using System;
using System.Diagnostics;
using System.Globalization;

namespace Synfire.Tests
{
    public static class Allocations
    {
        // By the runtime's own counter.
        public static void AReplayAllocatesNothing()
        {
            using (Context context = new Context(Program.Backend, threads: 1))
            using (Layer layer = new Layer(context, steps: 1, neurons: 1))
            using (Buffer<float> x = layer.CreateSequence<float>(MemoryKind.Pinned))
            using (Graph graph = Overhead.Step(context, layer, x))
            {
                long measured = -1;
                bool done = true;
                // The first rounds are not counted: the runtime still compiles methods then.
                for (int i = 0; i < 3; ++i)
                {
                    long before = GC.GetAllocatedBytesForCurrentThread();
                    for (int k = 0; k < 10000; ++k)
                    {
                        ulong ticket = graph.Launch();
                        graph.IsDone(ticket);
                        done &= graph.Wait(ticket);
                        layer.SetParameter("tau", 2.0);
                        Span<float> input = x.Span;
                        input[0] = k;
                    }
                    measured = GC.GetAllocatedBytesForCurrentThread() - before;
                }
                Check.That(done, "every replay ends");
                Check.Equal(measured, 0L, "bytes allocated by 10,000 replays");
            }
            long counted = GC.GetAllocatedBytesForCurrentThread();
            GC.KeepAlive(new byte[50000]);
            Check.That(GC.GetAllocatedBytesForCurrentThread() - counted >= 50000, "the counter counts");
        }
    }

    internal static class Overhead
    {
        private const int Replays = 20000;

        // The smallest graph.
        public static Graph Step(Context context, Layer layer, Buffer<float> x)
        {
            return Graph.Record(context, g => g.Forward(layer, new ForwardArguments { X = x, Tape = Tape.None }));
        }

        // The smallest mean of a hundred rounds: a busy machine disturbs single ones.
        private static double Nanoseconds(Action<int> round)
        {
            round(1000);
            double best = double.MaxValue;
            for (int i = 0; i < 100; ++i)
            {
                long begin = Stopwatch.GetTimestamp();
                round(Replays);
                best = Math.Min(best, (Stopwatch.GetTimestamp() - begin) * 1e9 / Stopwatch.Frequency / Replays);
            }
            return best;
        }

        // "replay": a replay and a wait. "calls": what the runtime takes for two calls of native code that do nothing, the
        // least that they can cost.
        public static int Print()
        {
            using (Context context = new Context(Backend.Host, threads: 1))
            using (Layer layer = new Layer(context, steps: 1, neurons: 1))
            using (Buffer<float> x = layer.CreateSequence<float>())
            using (Graph graph = Step(context, layer, x))
            {
                double replay = Nanoseconds(n =>
                {
                    for (int i = 0; i < n; ++i) graph.Wait(graph.Launch());
                });
                double calls = Nanoseconds(n =>
                {
                    for (int i = 0; i < n; ++i)
                    {
                        Raw.Native.synfire_abi_version();
                        Raw.Native.synfire_abi_version();
                    }
                });
                Console.WriteLine(string.Format(CultureInfo.InvariantCulture, "replay {0:F1}\ncalls {1:F1}", replay, calls));
            }
            return 0;
        }
    }
}
