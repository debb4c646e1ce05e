// Quickstart.cs - the shortest complete program: 128 leaky integrate-and-fire neurons, 16 steps a replay.
//
// It prints what docs/examples/quickstart.c prints.
//
// SPDX-License-Identifier: MIT
using System;
using Synfire;

static class Quickstart
{
    const int Frames = 1000, Steps = 16, Neurons = 128;
    static long seen;

    // Stands for a microphone, a camera, a joint: every neuron gets a constant input, from 0 to twice the threshold.
    static void ReadSensor(Span<float> x)
    {
        for (int i = 0; i < x.Length; ++i) x[i] = 2.0f * (i % Neurons) / Neurons;
    }

    // Stands for a motor, a screen: counts spikes. Bit i of word w is neuron 32 w + i.
    static void Act(ReadOnlySpan<uint> words)
    {
        foreach (uint word in words)
            for (uint left = word; left != 0; left &= left - 1) ++seen;
    }

    static void Main()
    {
        uint[] previous = new uint[Steps * Neurons / 32];             // no spikes before the first frame
        int lateFrames = 0;

        // [quickstart]
        using (var context = new Context())                                    // a GPU if one is usable, else the host
        using (var lif = new Layer(context, steps: Steps, neurons: Neurons))   // LIF, f32, hard reset: all defaults
        using (var x = lif.CreateSequence<float>(MemoryKind.Pinned))           // x [16, 128]
        using (var spikes = lif.CreateSpikes(MemoryKind.Pinned))               // spikes [16, 4], 32 a word
        {
            lif.SetParameter("tau", 20.0);                                     // in steps: one value, or one per neuron
            var forward = new ForwardArguments { X = x, Spikes = spikes };
            using (var step = Graph.Record(context, graph => graph.Forward(lif, forward))) // the slow part
                for (int frame = 0; frame < Frames; ++frame)
                {
                    ReadSensor(x.Span);
                    ulong ticket = step.Launch();                              // one replay; then wait 1 ms at most
                    bool late = !step.Wait(ticket, 1000000);
                    Act(late ? previous : spikes.Span);                        // a late frame is your decision
                    if (late) step.Wait(ticket);                               // before buffers are used again
                    spikes.Span.CopyTo(previous);
                    lateFrames += late ? 1 : 0;
                }
        }
        // [quickstart]

        Console.WriteLine(Frames + " frames of " + Steps + " steps: " + seen + " spikes, " + lateFrames +
                          " late frames");
    }
}
