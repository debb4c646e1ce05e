// Train.cs - thresholds that learn how often to fire: forward and backward through time in one replay.
//
// 128 LIF neurons hear the same noise in every replay. A teacher with a threshold for each neuron says how many spikes
// are wanted; the student starts with all thresholds 1 and follows the gradient of L = sum over neurons of (count -
// wanted)^2. The gradient that it reads is that of the replay before. It prints what bindings/programs/train.c prints,
// bit for bit.
//
// SPDX-License-Identifier: MIT
using System;
using Synfire;

static class Train
{
    const int Neurons = 128, Steps = 64, Epochs = 60;
    const double LearningRate = 0.0002;

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

    static int[] CountSpikes(ReadOnlySpan<uint> words)
    {
        int[] counts = new int[Neurons];
        for (int t = 0; t < Steps; ++t)
            for (int n = 0; n < Neurons; ++n) counts[n] += (int)(words[t * Neurons / 32 + n / 32] >> (n % 32) & 1);
        return counts;
    }

    static void Main()
    {
        using (var context = new Context(Backend.Host))
        using (var layer = new Layer(context, Neurons, Steps))
        using (var x = layer.CreateSequence<float>(MemoryKind.Pinned))
        using (var words = layer.CreateSpikes(MemoryKind.Pinned))
        using (var rest = layer.CreateState<float>(MemoryKind.Pinned))
        using (var gradSpikes = layer.CreateSequence<float>(MemoryKind.Pinned))
        using (var gradThreshold = layer.CreateState<float>(MemoryKind.Pinned))
        {
            layer.SetParameter("tau", 4.0);
            var forward = new ForwardArguments { X = x, Spikes = words, VInit = rest };
            var backward = new BackwardArguments { GradSpikeSeq = gradSpikes };
            backward.ParameterGradients.Add("v_threshold", gradThreshold);
            using (var step = Graph.Record(context, graph => graph.Forward(layer, forward).Backward(layer, backward)))
            {
                WriteNoise(x.Span);
                double[] threshold = new double[Neurons];
                for (int n = 0; n < Neurons; ++n) threshold[n] = 0.6 + 0.8 * n / Neurons; // the teacher's
                layer.SetParameter("v_threshold", threshold);
                step.Wait(step.Launch());
                int[] wanted = CountSpikes(words.Span);

                for (int n = 0; n < Neurons; ++n) threshold[n] = 1.0;
                for (int epoch = 0; epoch < Epochs; ++epoch)
                {
                    layer.SetParameter("v_threshold", threshold);
                    step.Wait(step.Launch());
                    for (int n = 0; n < Neurons && epoch > 0; ++n)
                        threshold[n] -= LearningRate * (double)gradThreshold.Span[n];
                    int[] counts = CountSpikes(words.Span);
                    Span<float> gradient = gradSpikes.Span;
                    long loss = 0;
                    for (int n = 0; n < Neurons; ++n)
                    {
                        int error = counts[n] - wanted[n];
                        loss += (long)error * error;
                        for (int t = 0; t < Steps; ++t) gradient[t * Neurons + n] = 2.0f * error;
                    }
                    Console.WriteLine(epoch + " " + loss);
                }
                foreach (double value in threshold)
                    Console.WriteLine(BitConverter.DoubleToInt64Bits(value).ToString("x16"));
            }
        }
    }
}
