// Tuning.cs - a trained body with a new head, the rate of a schedule, and the best of all weights. It prints what
// docs/examples/tuning.c prints.
//
// SPDX-License-Identifier: MIT
using System;
using System.Globalization;
using System.Linq;
using Synfire;

static class TuningProgram
{
    const int Inputs = 41, Classes = 3, Rows = 99;

    // Spikes per step. Every third input is more active; which ones depends on the row.
    static float Rate(uint seed, int i) =>
        ((i % Inputs % Classes == i / Inputs % Classes ? 20 : 12) + (seed * (uint)i >> 28)) / 128.0f;

    static float[] Rates(uint seed) => Enumerable.Range(0, Rows * Inputs).Select(i => Rate(seed, i)).ToArray();

    static Network Make(Context context, int classes)
    {
        Network network = new Network(context, new NetworkOptions { Steps = 20, Batch = 30 })
            .AddInput("rates", NetworkInput.Rates, Inputs)
            .AddSynapse("first", 53).AddNeurons("hidden", Model.Lif)
            .AddSynapse("head", classes).AddNeurons("potentials", Model.Li)
            .AddReadout("scores", Readout.Mean)
            .AddLoss("loss", LossKind.CrossEntropy)
            .AddOptimizer("adam", OptimizerKind.Adam, 0.01)
            .SetValue("adam", "warmup_steps", 8).SetValue("adam", "schedule", Schedule.Step)
            .SetValue("adam", "schedule_steps", 40).SetValue("adam", "schedule_factor", 0.5)
            .Build();
        uint[] labels = Enumerable.Range(0, Rows).Select(row => (uint)(row % Classes % classes)).ToArray();
        network.SetData(Data.Training, Rates(2654435761), labels);
        return network.SetData(Data.Evaluation, Rates(2246822519), labels);
    }

    static double Print(string what, NetworkResult result)
    {
        Console.WriteLine(string.Format(CultureInfo.InvariantCulture, "{0}: loss {1:F9}", what, result.Loss));
        return result.Loss;
    }

    static void Main()
    {
        using (var context = new Context()) // a GPU if there is one, else the host
        {
            using (Network body = Make(context, Classes))
            {
                Print("body", body.Train(40));
                body.Save("body.safetensors");
            }
            // [fine tuning]
            using (Network network = Make(context, 2)) // with a new head
            {
                network.LoadArrays("body.safetensors", "first.weights", "first.bias");
                network.SetValue("first", "frozen", true);
                Print("head", network.Train(20));
                network.SetValue("first", "frozen", false); // then all of it, the body slowly
                network.SetValue("first", "learning_rate_factor", 0.1);
                Print("both", network.Train(20));
                // [fine tuning]
                // [best]
                double best = double.PositiveInfinity;
                byte[] file = null;
                for (int worse = 0; worse < 2;) // until two epochs in a row were no better
                {
                    network.Train(0); // an epoch
                    double loss = Print("epoch", network.Evaluate());
                    worse = loss < best ? 0 : worse + 1;
                    if (worse == 0) file = network.SaveToMemory();
                    best = Math.Min(best, loss);
                }
                network.LoadFromMemory(file);
                // [best]
                Print("best", network.Evaluate());
            }
        }
    }
}
