// Classifier.cs - a classifier of two layers, trained by operations that are recorded one by one.
//
// Three classes of 40 firing rates each, 30 samples in a batch. In every replay the rates become new spikes; a synapse
// and LIF neurons make 50 spike trains of them, another synapse and three leaky integrators the scores of the classes,
// whose mean over time is the prediction. The rest of the step is the cross-entropy, all gradients, and Adam. The
// program only launches, and prints the loss and the number of correct predictions. It prints what
// docs/examples/classifier.c prints, bit for bit.
//
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using Synfire;

static class Classifier
{
    const int Inputs = 40, Hidden = 50, Classes = 3, Steps = 20, Batch = 30, Epochs = 40;

    // Each class has a rate for each input, from 0 to 0.5: Knuth's 64-bit linear congruential generator (MMIX).
    static void WriteSamples(Span<float> rates, Span<uint> labels)
    {
        var ofClass = new float[Classes * Inputs];
        ulong seed = 1;
        for (int i = 0; i < ofClass.Length; ++i)
        {
            seed = unchecked(seed * 6364136223846793005 + 1442695040888963407);
            ofClass[i] = 0.5f * (float)(seed >> 40) / 16777216.0f;
        }
        for (int b = 0; b < Batch; ++b)
        {
            labels[b] = (uint)(b % Classes);
            ofClass.AsSpan(b % Classes * Inputs, Inputs).CopyTo(rates.Slice(b * Inputs));
        }
    }

    static string Bits(ReadOnlySpan<float> numbers, int i)
    {
        return MemoryMarshal.Cast<float, uint>(numbers)[i].ToString("x8");
    }

    static Synapse MakeSynapse(Context context, int inputs, int outputs, ulong seed)
    {
        return new Synapse(context, new SynapseOptions
        {
            Inputs = inputs, Outputs = outputs, Bias = true, Gain = 2, Seed = seed
        });
    }

    static void Main()
    {
        const MemoryKind pinned = MemoryKind.Pinned;
        using (var context = new Context(Backend.Host))
        using (var first = MakeSynapse(context, Inputs, Hidden, 1))
        using (var second = MakeSynapse(context, Hidden, Classes, 2))
        using (var hidden = new Layer(context, steps: Steps, neurons: Hidden,
                                      options: new LayerOptions { Batch = Batch }))
        using (var readout = new Layer(context, steps: Steps, neurons: Classes,
                                       options: new LayerOptions { Model = Model.Li, Batch = Batch }))
        using (var adam = new Optimizer(context, new OptimizerOptions
               {
                   Kind = OptimizerKind.Adam, LearningRate = 0.02
               }))
        using (var rates = context.CreateBuffer<float>(pinned, Batch, Inputs))
        using (var labels = context.CreateBuffer<uint>(pinned, DType.U32, 0, Batch))
        using (var samples = context.CreateBuffer<uint>(pinned, Steps, Batch, (Inputs + 31) / 32))
        using (var spikes = hidden.CreateSpikes(pinned))
        using (var gradSpikes = hidden.CreateSequence<float>(pinned))
        using (var v = readout.CreateSequence<float>(pinned))
        using (var gradV = readout.CreateSequence<float>(pinned))
        using (var scores = readout.CreateState<float>(pinned))
        using (var gradScores = readout.CreateState<float>(pinned))
        using (var hiddenRest = hidden.CreateState<float>(pinned)) // 0: every replay starts at rest
        using (var readoutRest = readout.CreateState<float>(pinned))
        using (var loss = context.CreateBuffer<float>(pinned, 1))
        using (var correct = context.CreateBuffer<uint>(pinned, DType.U32, 0, 1))
        using (var step = new Graph(context))
        {
            WriteSamples(rates.Span, labels.Span);
            foreach (Synapse synapse in new[] { first, second })
            {
                adam.AddWeights(synapse, 1, 1);
                adam.AddBias(synapse, 1, 0);
            }

            step.EncodeBernoulli(new EncodeBernoulliArguments
                {
                    Rates = rates, Spikes = samples, Steps = Steps, Neurons = Inputs, Batch = Batch
                })
                .Forward(hidden, new ForwardArguments
                {
                    Synapse = first, SynapseInput = samples, Spikes = spikes, VInit = hiddenRest
                })
                .Forward(readout, new ForwardArguments
                {
                    Synapse = second, SynapseInput = spikes, VSeq = v, VInit = readoutRest
                })
                .Reduce(new ReduceArguments
                {
                    Source = v, Destination = scores, Reduction = Reduce.Mean, Steps = Steps, Neurons = Classes,
                    Batch = Batch
                })
                .Loss(new LossArguments
                {
                    Source = scores, Labels = labels, Classes = Classes, Batch = Batch, Loss = loss, Correct = correct,
                    Gradient = gradScores
                })
                .ReduceBackward(new ReduceBackwardArguments
                {
                    GradDestination = gradScores, GradSource = gradV, Reduction = Reduce.Mean, Steps = Steps,
                    Neurons = Classes, Batch = Batch
                })
                .Backward(readout, new BackwardArguments { GradVSeq = gradV, GradSynapseInput = gradSpikes })
                .Backward(hidden, new BackwardArguments { GradSpikeSeq = gradSpikes })
                .OptimizerStep(adam, new OptimizerStepArguments())
                .Instantiate();

            for (int epoch = 0; epoch < Epochs; ++epoch)
            {
                step.Wait(step.Launch());
                Console.WriteLine(epoch + " " + Bits(loss.Span, 0) + " " + correct.Span[0]);
            }
            var weights = new float[Classes * Hidden];
            second.Read<float>("weight", weights);
            for (int i = 0; i < weights.Length; ++i) Console.WriteLine(Bits(weights, i));
        }
    }
}
