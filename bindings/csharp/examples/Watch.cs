// Watch.cs - a network that one watches while it learns. It shows how far it is on the error stream, and prints what
// docs/examples/watch.c prints.
//
// SPDX-License-Identifier: MIT
using System;
using System.Diagnostics;
using System.Globalization;
using System.Linq;
using Synfire;

static class WatchProgram
{
    const int Inputs = 41, Classes = 3, Rows = 99, Batch = 33, Rounds = 10, Batches = 9;

    // Spikes per step. Every third input is more active; which ones depends on the class of the row.
    static float Rate(uint seed, int i) =>
        ((i % Inputs % Classes == i / Inputs % Classes ? 24 : 12) + (seed * (uint)i >> 28)) / 128.0f;

    static float[] Rates(uint seed) => Enumerable.Range(0, Rows * Inputs).Select(i => Rate(seed, i)).ToArray();

    static string Text(string format, params object[] values) =>
        string.Format(CultureInfo.InvariantCulture, format, values);

    static void Main()
    {
        using (var context = new Context()) // a GPU if there is one, else the host
        using (var network = new Network(context, new NetworkOptions { Steps = 20, Batch = Batch }))
        {
            network.AddInput("rates", NetworkInput.Rates, Inputs)
                .AddSynapse("first", 53).AddNeurons("hidden", Model.Lif)
                .AddSynapse("second", Classes).AddNeurons("potentials", Model.Li)
                .AddReadout("scores", Readout.Mean)
                .AddLoss("loss", LossKind.CrossEntropy)
                .AddOptimizer("adam", OptimizerKind.Adam, 0.005)
                .Keep("hidden.monitor first.monitor")
                .Build();
            uint[] labels = Enumerable.Range(0, Rows).Select(row => (uint)(row % Classes)).ToArray();
            network.SetData(Data.Training, Rates(2654435761), labels);
            network.SetData(Data.Evaluation, Rates(2246822519), labels);
            string last = "";
            Stopwatch watch = Stopwatch.StartNew();
            // [watch]
            for (int round = 1; round <= Rounds; ++round)
            {
                NetworkResult learnt = network.Train(Batches);
                NetworkMonitor hidden = network.GetMonitor("hidden"), first = network.GetMonitor("first"); // of this call
                NetworkResult tested = network.Evaluate();
                last = Text("loss {0:F9}, other rows {1:F9}, accuracy {2:F4}, rate {3:F9}, silent {4:F4}, weights {5:F9}, " +
                    "gradients {6:F9}", learnt.Loss, tested.Loss, tested.Accuracy, hidden.Rate, hidden.Silent,
                    first.WeightNorm, first.GradientNorm);
                double each = watch.Elapsed.TotalSeconds / round;
                Console.Error.Write(Text("\r{0} of {1}, loss {2:F4}, accuracy {3:F4}, rate {4:F4}, {5:F0} rows/s, {6:F1} s left ", round,
                    Rounds, learnt.Loss, tested.Accuracy, hidden.Rate, Batches * Batch / each, each * (Rounds - round)));
            }
            Console.Error.WriteLine();
            // [watch]
            Console.WriteLine(last);
        }
    }
}
