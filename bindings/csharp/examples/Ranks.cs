// Ranks.cs - two threads, each a rank, learn one network together: it is the one that a single rank learns, with the same
// bits. Processes that mpirun starts do the same: each then has new Communicator(context).
//
// SPDX-License-Identifier: MIT
using System;
using System.Globalization;
using System.Linq;
using System.Threading;
using Synfire;

static class RanksProgram
{
    const int Inputs = 41, Classes = 3, Rows = 99, Ranks = 2;

    static float Rate(uint seed, int i) =>
        ((i % Inputs % Classes == i / Inputs % Classes ? 20 : 12) + (seed * (uint)i >> 28)) / 128.0f;

    // The last loss, and the network as a file.
    static double Learn(Context context, Communicator communicator, out byte[] file)
    {
        var options = new NetworkOptions { Steps = 20, Batch = 30, Communicator = communicator };
        using (var network = new Network(context, options))
        {
            network.AddInput("rates", NetworkInput.Rates, Inputs)
                .AddSynapse("first", 53).AddNeurons("hidden", Model.Lif)
                .AddSynapse("second", Classes).AddNeurons("potentials", Model.Li)
                .AddReadout("scores", Readout.Mean)
                .AddLoss("loss", LossKind.CrossEntropy)
                .AddOptimizer("adam", OptimizerKind.Adam, 0.01)
                .Build();
            float[] rates = Enumerable.Range(0, Rows * Inputs).Select(i => Rate(2654435761, i)).ToArray();
            network.SetData(Data.Training, rates, Enumerable.Range(0, Rows).Select(row => (uint)(row % Classes)).ToArray());
            double loss = network.Train(20).Loss;
            file = network.SaveToMemory();
            return loss;
        }
    }

    static double LearnAs(int rank, out byte[] file)
    {
        var place = new CommunicatorOptions { Transport = Transport.Loopback, Rank = rank, Size = Ranks };
        using (var context = new Context(Backend.Host, threads: 1))
        using (var communicator = new Communicator(context, place))
        {
            try
            {
                return Learn(context, communicator, out file);
            }
            catch
            {
                communicator.Abort(); // or the others would wait for this rank
                throw;
            }
        }
    }

    static void Main()
    {
        CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
        byte[] alone;
        double loss;
        using (var context = new Context(Backend.Host)) loss = Learn(context, null, out alone);
        var losses = new double[Ranks];
        var files = new byte[Ranks][];
        Thread[] threads = Enumerable.Range(0, Ranks).Select(
            rank => new Thread(() => losses[rank] = LearnAs(rank, out files[rank]))).ToArray();
        foreach (Thread thread in threads) thread.Start();
        foreach (Thread thread in threads) thread.Join();
        for (int rank = 0; rank < Ranks; ++rank)
            Console.WriteLine("rank " + rank + " of " + Ranks + ": loss " + losses[rank].ToString("F9") + ", " +
                              (files[rank].SequenceEqual(alone) ? "the same file" : "ANOTHER FILE"));
        Console.WriteLine("alone: loss " + loss.ToString("F9"));
    }
}
