// Train.cs - thresholds that learn when to fire: forward, backward through time and their update in one replay.
//
// A teacher with a threshold for each neuron says at which steps each of them shall fire. One graph holds the whole
// step: forward, dL/dS = 2 S - 2 wanted, backward, and the update of the thresholds. Between replays the program looks
// at the spikes, to print the loss, and lowers the learning rate. It prints what bindings/programs/train.c prints, bit
// for bit.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using Synfire;

static class Train
{
    const int Neurons = 128, Steps = 64, Epochs = 60;

    // Noise in [0, 3): the upper 24 bits of Knuth's 64-bit linear congruential generator (MMIX), as every language has
    // it.
    static void WriteNoise(Span<float> x)
    {
        ulong seed = 1;
        for (int i = 0; i < x.Length; ++i)
        {
            seed = unchecked(seed * 6364136223846793005 + 1442695040888963407);
            x[i] = 3.0f * (float)(seed >> 40) / 16777216.0f;
        }
    }

    static void Main()
    {
        using (var context = new Context(Backend.Host))
        using (var layer = new Layer(context, steps: Steps, neurons: Neurons,
                                     options: new LayerOptions { DetachReset = true }))
        using (var x = layer.CreateSequence<float>(MemoryKind.Pinned))
        using (var spikes = layer.CreateSequence<float>(MemoryKind.Pinned))
        using (var wanted = layer.CreateSequence<float>(MemoryKind.Pinned))
        using (var gradSpikes = layer.CreateSequence<float>(MemoryKind.Pinned))
        using (var rest = layer.CreateState<float>(MemoryKind.Pinned))
        using (var gradThreshold = layer.CreateState<float>(MemoryKind.Pinned))
        using (var step = new Graph(context))
        {
            layer.SetParameters(new Dictionary<string, double[]> { { "tau", new[] { 4.0 } },
                                                                   { "alpha", new[] { 1.5 } } });
            var forward = new ForwardArguments { X = x, Spikes = spikes, VInit = rest };
            var backward = new BackwardArguments { GradSpikeSeq = gradSpikes };
            backward.ParameterGradients.Add("v_threshold", gradThreshold);

            WriteNoise(x.Span);
            double[] threshold = new double[Neurons];
            for (int n = 0; n < Neurons; ++n) threshold[n] = 0.6 + 0.8 * n / Neurons; // the teacher's
            layer.SetParameter("v_threshold", threshold);
            layer.Forward(forward);
            spikes.Span.CopyTo(wanted.Span);

            double learningRate = 0.04;
            for (int n = 0; n < Neurons; ++n) threshold[n] = 1.0;
            layer.SetParameter("v_threshold", threshold);
            step.Forward(layer, forward)
                .ScaleAdd(2.0, spikes, 0.0, gradSpikes)
                .ScaleAdd(-2.0, wanted, 1.0, gradSpikes)
                .Backward(layer, backward)
                .UpdateParameter(layer, "v_threshold", gradThreshold, learningRate);
            int learn = step.LastOperation;
            step.Instantiate();

            for (int epoch = 0; epoch < Epochs; ++epoch)
            {
                step.Wait(step.Launch());
                int loss = 0;
                for (int i = 0; i < Neurons * Steps; ++i) loss += spikes.Span[i] != wanted.Span[i] ? 1 : 0;
                Console.WriteLine(epoch + " " + loss);
                learningRate *= 0.95;
                step.SetValue(learn, "learning_rate", learningRate);
            }
            foreach (double value in layer.GetParameter("v_threshold"))
                Console.WriteLine(BitConverter.DoubleToInt64Bits(value).ToString("x16"));
        }
    }
}
