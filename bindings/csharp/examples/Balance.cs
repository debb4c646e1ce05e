// Balance.cs - keeps the pole of a cart in MuJoCo up with what docs/examples/engines/balance has learnt, and prints what
// `balance run MODEL BRAIN --runs RUNS --seconds SECONDS` prints. With --realtime, by the clock.
//
//   Balance.exe MODEL BRAIN RUNS SECONDS [--realtime]
//
// The body is that of the C++ program: the system's loader must find its library, libbalance-body.so.
//
// SPDX-License-Identifier: MIT
using System;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using Synfire;

static class Balance
{
    const int StepsPerSecond = 500;
    const double Strongest = 20, WeakestPush = 0.6, StrongestPush = 0.8; // newtons

    [DllImport("balance-body")]
    static extern IntPtr body_open(string file, StringBuilder error, int errorSize);
    [DllImport("balance-body")]
    static extern void body_close(IntPtr body);
    [DllImport("balance-body")]
    static extern void body_place(IntPtr body, double[] state);
    [DllImport("balance-body")]
    static extern void body_read(IntPtr body, [Out] double[] state);
    [DllImport("balance-body")]
    static extern void body_step(IntPtr body, double force, double push);

    // Numbers that look drawn, the same in every language.
    sealed class Random
    {
        ulong state;
        public Random(ulong seed) { state = seed; }
        public bool Coin() { return (Next() >> 32) * 2 >> 32 != 0; }
        public double Between(double least, double most)
        {
            return least + (most - least) * ((Next() >> 40) / 16777216.0);
        }
        ulong Next() { return state = unchecked(state * 6364136223846793005 + 1442695040888963407); }
    }

    // Between two pushes are one to three seconds.
    sealed class Pushes
    {
        readonly Random random;
        int left;
        bool pushing = true;
        double push;
        public Pushes(Random random) { this.random = random; }
        public double Next()
        {
            if (left == 0)
            {
                pushing = !pushing;
                left = (int)((pushing ? random.Between(0.05, 0.15) : random.Between(1, 3)) * StepsPerSecond);
                double size = random.Between(WeakestPush, StrongestPush);
                push = !pushing ? 0 : random.Coin() ? -size : size;
            }
            --left;
            return push;
        }
    }

    // Each position as it is, and once more five times as large, cut at 1. The network does not see how fast they change.
    static void WriteInput(double[] state, Span<float> input)
    {
        for (int i = 0; i < 2; ++i)
        {
            double position = state[i] / (i == 0 ? 0.8 : 0.4);
            input[2 * i] = (float)position;
            input[2 * i + 1] = (float)Math.Min(Math.Max(5 * position, -1), 1);
        }
    }

    static bool Fell(double[] state) { return !(Math.Abs(state[0]) < 1.5 && Math.Abs(state[1]) < 0.8); }

    static int Main(string[] arguments)
    {
        int runs = int.Parse(arguments[2], CultureInfo.InvariantCulture), up = 0, late = 0;
        int steps = StepsPerSecond * int.Parse(arguments[3], CultureInfo.InvariantCulture);
        bool byClock = arguments.Length > 4 && arguments[4] == "--realtime";
        var error = new StringBuilder(512);
        IntPtr body = body_open(arguments[0], error, error.Capacity);
        if (body == IntPtr.Zero)
        {
            Console.Error.WriteLine("Balance: " + error);
            return 1;
        }
        using (var context = new Context(Backend.Host, threads: 1))
        using (var network = Network.FromFile(context, arguments[1],
                                              new NetworkFileOptions { Inference = true, Steps = 1, Batch = 1 }))
        using (var input = network.GetBuffer<float>("input"))
        using (var output = network.GetBuffer<float>("output"))
        using (var graph = network.GetGraph(NetworkGraph.Inference))
        {
            long period = Stopwatch.Frequency / StepsPerSecond;
            for (int run = 0; run < runs; ++run)
            {
                var random = new Random((ulong)(1001 + run));
                var pushes = new Pushes(random);
                var state = new double[4];
                for (int i = 0; i < 4; ++i)
                    state[i] = random.Between(i == 0 ? -0.3 : i == 1 ? -0.1 : -0.2, i == 0 ? 0.3 : i == 1 ? 0.1 : 0.2);
                body_place(body, state);
                network.ResetState();
                int t = 0;
                long start = Stopwatch.GetTimestamp() + period;
                for (; t < steps && !Fell(state); ++t)
                {
                    long due = start + t * period;
                    while (byClock && Stopwatch.GetTimestamp() < due)
                        Thread.Sleep(due - Stopwatch.GetTimestamp() > period / 2 ? 1 : 0);
                    body_read(body, state);
                    WriteInput(state, input.Span);
                    graph.Wait(graph.Launch());
                    double force = Math.Min(Math.Max(10 * (double)output.Span[0], -Strongest), Strongest);
                    if (byClock && Stopwatch.GetTimestamp() - due > period) ++late;
                    body_step(body, force, pushes.Next());
                    body_read(body, state);
                }
                bool fallen = Fell(state);
                if (!fallen) ++up;
                Console.WriteLine(string.Format(CultureInfo.InvariantCulture, "run {0,-8} {1} {2:F2} s", 1001 + run,
                                                fallen ? "fell after" : "up for", t / (double)StepsPerSecond));
            }
        }
        body_close(body);
        Console.WriteLine("up           " + up + " of " + runs);
        if (byClock) Console.WriteLine("late         " + late);
        return 0;
    }
}
