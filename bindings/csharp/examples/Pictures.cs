// Pictures.cs - convolutions tell four shapes apart. It prints what docs/examples/pictures.c prints.
//
// SPDX-License-Identifier: MIT
using System;
using System.Linq;
using Synfire;

static class PicturesProgram
{
    static uint Mixed(uint k) => (k + 1) * 2654435761u >> 16;

    // A bar, a column, a frame or a cross of 7 x 7 pixels, and noise.
    static float Pixel(uint i)
    {
        uint row = i / 144, y = i / 12 % 12 - Mixed(row) % 6, x = i % 12 - Mixed(3 * row) % 6;
        bool[] drawn = { y == 3, x == 3, y % 6 == 0 || x % 6 == 0, x == y || x + y == 6 };
        return ((x < 7 && y < 7 && drawn[row % 4] ? 160u : 0u) + Mixed(i) % 64) / 256.0f;
    }

    static float[] Pictures(int from) => Enumerable.Range(from * 144, 256 * 144).Select(i => Pixel((uint)i)).ToArray();

    static StageValues Conv => new StageValues { { "output_channels", 12 }, { "kernel", 3 } };

    static void Main()
    {
        using (var context = new Context()) // a GPU if there is one, else the host
        using (var network = new Network(context, new NetworkOptions { Steps = 10, Batch = 32 }))
        {
            network.AddStage("input", "in", new StageValues { { "kind", "rates" }, { "height", 12 },
                                                                   { "width", 12 }, { "channels", 1 } })
                .AddStage("conv2d", "conv1", Conv).AddStage("normalization", "norm1").AddNeurons("lif1", Model.Lif)
                .AddStage("pool", "largest", new StageValues { { "kind", "max" }, { "window", 2 } })
                .AddStage("conv2d", "conv2", Conv).AddStage("normalization", "norm2").AddNeurons("lif2", Model.Lif)
                .AddSynapse("to-shapes", 4).AddNeurons("v", Model.Li).AddReadout("scores", Readout.Mean)
                .AddLoss("loss", LossKind.CrossEntropy).AddOptimizer("adam", OptimizerKind.Adam, 0.01).Build();
            uint[] shapes = Enumerable.Range(0, 256).Select(row => (uint)(row % 4)).ToArray();
            network.SetData(Data.Training, Pictures(0), shapes).SetData(Data.Evaluation, Pictures(256), shapes);
            for (int i = 0; i < 5; ++i) Console.WriteLine("train: " + network.Train(24));
            Console.WriteLine("test: " + network.Evaluate());
        }
    }
}
