// Policy.cs - a policy gradient: sixteen carts on a line learn to come to rest in the middle. The loss is the program's
// own. It prints what docs/examples/policy.c prints.
//
// SPDX-License-Identifier: MIT
using System;
using Synfire;

static class PolicyProgram
{
    const int Carts = 16, Ticks = 24, Episodes = 300;

    // Numbers from 0 to 1, the same in every language.
    static double Drawn(ref uint state)
    {
        state = unchecked(state * 1664525 + 1013904223);
        return (state >> 8) / 16777216.0;
    }

    // The probability of a push to the right, and its slope.
    static double Right(double z, out double slope)
    {
        double size = 1 + Math.Abs(z);
        slope = 0.5 / (size * size);
        return 0.5 + 0.5 * (z / size);
    }

    static void Replay(Graph graph) { graph.Wait(graph.Launch()); }

    static void Main()
    {
        var options = new NetworkOptions { Steps = 8, Batch = Carts, OwnLoss = OwnLoss.Starts };
        using (var context = new Context()) // a GPU if there is one, else the host
        using (var network = new Network(context, options))
        {
            network.AddStage("input", "cart", new StageValues { { "kind", "values" }, { "n_features", 2 }, { "n_steps", 1 } })
                .AddSynapse("first", 32).SetValue("first", "gain", 3).AddNeurons("hidden", Model.Lif)
                .AddSynapse("second", 1).AddNeurons("potential", Model.Li).AddReadout("push", Readout.Mean)
                .AddOptimizer("adam", OptimizerKind.Adam, 0.003).Build();
            using (Graph forward = network.GetGraph(NetworkGraph.Forward), backward = network.GetGraph(NetworkGraph.Backward))
            using (Buffer<float> input = network.GetBuffer<float>("input"), output = network.GetBuffer<float>("output"))
            using (Buffer<float> gradient = network.GetBuffer<float>("push.gradient"))
            {
                float[][] frames = new float[Ticks][];
                double[,] rewards = new double[Ticks + 1, Carts];
                bool[,] pushes = new bool[Ticks, Carts];
                double[] baseline = new double[Ticks], x = new double[Carts], v = new double[Carts];
                uint state = 1;
                double sum = 0, slope;
                for (int episode = 1; episode <= Episodes; ++episode)
                {
                    for (int i = 0; i < Carts; ++i)
                    {
                        x[i] = 2 * Drawn(ref state) - 1;
                        v[i] = Drawn(ref state) - 0.5;
                    }
                    for (int t = 0; t < Ticks; ++t)
                    {
                        frames[t] = new float[2 * Carts];
                        for (int i = 0; i < Carts; ++i) frames[t][2 * i] = (float)x[i];
                        for (int i = 0; i < Carts; ++i) frames[t][2 * i + 1] = (float)v[i];
                        frames[t].CopyTo(input.Span);
                        Replay(forward);
                        for (int i = 0; i < Carts; ++i)
                        {
                            pushes[t, i] = Drawn(ref state) < Right(output.Span[i], out slope);
                            v[i] = 0.95 * v[i] + (pushes[t, i] ? 0.15 : -0.15);
                            x[i] += 0.2 * v[i];
                            rewards[t, i] = -(x[i] * x[i]);
                            sum += rewards[t, i];
                        }
                    }
                    // The reward of a push is all that follows it: from the last to the first.
                    for (int t = Ticks - 1; t >= 0; --t)
                    {
                        double mean = 0;
                        for (int i = 0; i < Carts; ++i)
                        {
                            rewards[t, i] += 0.8 * rewards[t + 1, i];
                            mean += rewards[t, i] / Carts;
                        }
                        baseline[t] = episode == 1 ? mean : 0.9 * baseline[t] + 0.1 * mean;
                        frames[t].CopyTo(input.Span);
                        Replay(forward);
                        Span<float> ofPushes = gradient.Span;
                        for (int i = 0; i < Carts; ++i)
                        {
                            double p = Right(output.Span[i], out slope);
                            double ofPush = pushes[t, i] ? slope / p : -slope / (1 - p);
                            ofPushes[i] = (float)(-(rewards[t, i] - baseline[t]) * ofPush / Carts);
                        }
                        Replay(backward);
                    }
                    if (episode % 50 != 0) continue;
                    Console.WriteLine(FormattableString.Invariant(
                        $"episodes to {episode}: reward {sum / (50.0 * Ticks * Carts):F9}"));
                    sum = 0;
                }
            }
        }
    }
}
