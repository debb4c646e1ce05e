// Network.cs - a classifier of two layers: defined, trained, evaluated. It prints what docs/examples/network.c prints.
//
// SPDX-License-Identifier: MIT
using System;
using System.Globalization;
using System.Linq;
using Synfire;

static class NetworkProgram
{
    const int Inputs = 41, Classes = 3, Rows = 99;

    // Spikes per step. Every third input is more active; which ones depends on the class of the row.
    static float Rate(uint seed, int i)
    {
        return ((i % Inputs % Classes == i / Inputs % Classes ? 20 : 12) + (seed * (uint)i >> 28)) / 128.0f;
    }

    static float[] Rates(uint seed) { return Enumerable.Range(0, Rows * Inputs).Select(i => Rate(seed, i)).ToArray(); }

    static void Print(string what, NetworkResult result)
    {
        Console.WriteLine(FormattableString.Invariant($"{what}: loss {result.Loss:F9}, accuracy {result.Accuracy:F4}"));
    }

    static void Main()
    {
        using (var context = new Context()) // a GPU if there is one, else the host
        using (var network = new Network(context, new NetworkOptions { Steps = 20, Batch = 30 }))
        {
            network.AddInput("rates", NetworkInput.Rates, Inputs);
            network.AddSynapse("first", 53);
            network.AddNeurons("hidden", Model.Lif);
            network.AddSynapse("second", Classes);
            network.AddNeurons("potentials", Model.Li);
            network.AddReadout("scores", Readout.Mean);
            network.AddLoss("loss", LossKind.CrossEntropy);
            network.AddOptimizer("adam", OptimizerKind.Adam, 0.01);
            network.Build();
            uint[] labels = Enumerable.Range(0, Rows).Select(row => (uint)(row % Classes)).ToArray();
            network.SetData(Data.Training, Rates(2654435761), labels);
            network.SetData(Data.Evaluation, Rates(2246822519), labels);
            for (int i = 0; i < 5; ++i) Print("5 epochs", network.Train(20));
            Print("other rows", network.Evaluate());
        }
    }
}
