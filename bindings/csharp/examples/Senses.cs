// Senses.cs - two inputs, a block with a shortcut, and two heads. It prints what docs/examples/senses.c prints.
//
// SPDX-License-Identifier: MIT
using System;
using System.Linq;
using Synfire;

static class SensesProgram
{
    // Rates of 24 inputs, of which every n-th depends on the class of the row.
    static float Rate(int k, int n, uint[] labels) =>
        ((k % 24 % n == labels[k / 24] ? 48 : 12) + (2654435761 * (uint)k >> 28)) / 128.0f;

    static float[] Rates(int n, uint[] of) => Enumerable.Range(0, 96 * 24).Select(k => Rate(k, n, of)).ToArray();

    static void Main()
    {
        using (var context = new Context()) // a GPU if there is one, else the host
        using (var network = new Network(context, new NetworkOptions { Steps = 20, Batch = 32 }))
        {
            network.AddInput("sound", NetworkInput.Rates, 24).AddSynapse("cochlea", 24).AddNeurons("ear", Model.Lif)
                .AddInput("touch", NetworkInput.Rates, 24).AddSynapse("nerve", 24).AddNeurons("skin", Model.Lif)
                .AddStage("concatenate", "both", null, "ear", "skin")
                .AddSynapse("inner", 48).AddNeurons("block", Model.Lif)
                .AddStage("sum", "state", null, "block", "both"); // the shortcut goes around the block
            foreach (string head in new[] { "what", "where" })
                network.AddStage("synapse", "to-" + head, new StageValues { { "n_outputs", head == "what" ? 3 : 2 } },
                                 "state").AddNeurons(head + "-v", Model.Li).AddReadout(head, Readout.Mean)
                    .AddLoss(head + "-loss", LossKind.CrossEntropy);
            network.AddOptimizer("adam", OptimizerKind.Adam, 0.01).Build();
            uint[] what = Enumerable.Range(0, 96).Select(row => (uint)(row % 3)).ToArray();
            uint[] where = Enumerable.Range(0, 96).Select(row => (uint)(row / 3 % 2)).ToArray();
            network.SetArrays(Data.Training, 96, new StageRows("sound", Rates(3, what)),
                              new StageRows("touch", Rates(2, where)), new StageRows("what-loss", what),
                              new StageRows("where-loss", where));
            for (int i = 0; i < 5; ++i)
                foreach (StageResult of in network.TrainStages(15, out NetworkResult all, "what-loss", "where-loss"))
                    Console.WriteLine(FormattableString.Invariant($"{of.Stage} {of.Loss:F9}, {of.Correct} of 480"));
        }
    }
}
