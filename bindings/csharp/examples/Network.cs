// Network.cs - a classifier of two layers: defined, trained, evaluated, saved and loaded. It prints what
// docs/examples/network.c prints.
//
// SPDX-License-Identifier: MIT
using System;
using System.Linq;
using Synfire;

static class NetworkProgram
{
    const int Inputs = 41, Classes = 3, Rows = 99;

    // Spikes per step. Every third input is more active; which ones depends on the class of the row.
    static float Rate(uint seed, int i) =>
        ((i % Inputs % Classes == i / Inputs % Classes ? 20 : 12) + (seed * (uint)i >> 28)) / 128.0f;

    static float[] Rates(uint seed) => Enumerable.Range(0, Rows * Inputs).Select(i => Rate(seed, i)).ToArray();

    static void Main()
    {
        using (var context = new Context()) // a GPU if there is one, else the host
        using (var network = new Network(context, new NetworkOptions { Steps = 20, Batch = 30 }))
        {
            network.AddInput("rates", NetworkInput.Rates, Inputs)
                .AddSynapse("first", 53).AddNeurons("hidden", Model.Lif)
                .AddSynapse("second", Classes).AddNeurons("potentials", Model.Li)
                .AddReadout("scores", Readout.Mean)
                .AddLoss("loss", LossKind.CrossEntropy)
                .AddOptimizer("adam", OptimizerKind.Adam, 0.01)
                .Build();
            uint[] labels = Enumerable.Range(0, Rows).Select(row => (uint)(row % Classes)).ToArray();
            network.SetData(Data.Training, Rates(2654435761), labels);
            network.SetData(Data.Evaluation, Rates(2246822519), labels);
            for (int i = 0; i < 5; ++i) Console.WriteLine("5 epochs: " + network.Train(20));
            Console.WriteLine("other rows: " + network.Evaluate());
            network.Save("network.safetensors");
            using (Network loaded = Network.FromFile(context, "network.safetensors"))
                Console.WriteLine("loaded: " + loaded.SetData(Data.Evaluation, Rates(2246822519), labels).Evaluate());
        }
    }
}
