// RealTime.cs - a loop with a tick each millisecond that never blocks: what a game's FixedUpdate does.
//
// Every tick looks whether the replay of the tick before is done. If so, it acts on its spikes and launches the next
// one; if not, it lets the replay go on. How long each tick took is reported as percentiles. The first line that it
// prints is that of bindings/programs/realtime.c.
//
//   RealTime.exe [TICKS]
//
// SPDX-License-Identifier: MIT
using System;
using System.Diagnostics;
using System.Globalization;
using System.Threading;
using Synfire;

static class RealTime
{
    const int Neurons = 128, Steps = 16;

    // Input number k of neuron n: a wave that travels over the neurons.
    static void ReadSensor(Span<float> x, ulong k)
    {
        for (int t = 0; t < Steps; ++t)
            for (int n = 0; n < Neurons; ++n)
                x[t * Neurons + n] = (float)((k * Steps + (ulong)t + 3 * (ulong)n) % 96) / 32.0f;
    }

    static double Microseconds(long stopwatchTicks) { return stopwatchTicks * 1e6 / Stopwatch.Frequency; }

    static void Main(string[] arguments)
    {
        int ticks = arguments.Length > 0 ? int.Parse(arguments[0], CultureInfo.InvariantCulture) : 1000;
        long[] taken = new long[ticks];
        ulong ticket = 0, spikes = 0;
        int late = 0;

        using (var context = new Context(Backend.Host))
        using (var layer = new Layer(context, steps: Steps, neurons: Neurons))
        using (var x = layer.CreateSequence<float>(MemoryKind.Pinned))
        using (var words = layer.CreateSpikes(MemoryKind.Pinned))
        {
            layer.SetParameter("tau", 4.0);
            var forward = new ForwardArguments { X = x, Spikes = words, Tape = Tape.None };
            using (var step = Graph.Record(context, graph => graph.Forward(layer, forward)))
            {
                long start = Stopwatch.GetTimestamp();
                for (int tick = 0; tick < ticks; ++tick)
                {
                    long due = start + (long)(tick * (double)Stopwatch.Frequency / 1000.0), begin;
                    while ((begin = Stopwatch.GetTimestamp()) < due) Thread.Sleep(1);
                    if (ticket > 0 && !step.IsDone(ticket))
                    {
                        ++late;
                    }
                    else
                    {
                        if (ticket > 0)
                            foreach (uint word in words.Span)
                                for (uint left = word; left != 0; left &= left - 1) ++spikes;
                        ReadSensor(x.Span, ticket);
                        ticket = step.Launch();
                    }
                    taken[tick] = Stopwatch.GetTimestamp() - begin;
                }
            }
        }
        Array.Sort(taken);
        Console.WriteLine(ticket + " replays, " + spikes + " spikes read");
        Console.WriteLine(
            string.Format(CultureInfo.InvariantCulture, "tick: p50 {0:F1} us, p99 {1:F1} us, max {2:F1} us; {3} late",
                          Microseconds(taken[(ticks - 1) / 2]), Microseconds(taken[(int)((ticks - 1) * 99L / 100)]),
                          Microseconds(taken[ticks - 1]), late));
    }
}
