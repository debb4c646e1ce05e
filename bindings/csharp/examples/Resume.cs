// Resume.cs - goes on with a training that another program has begun: Resume.exe FILE_IN FILE_OUT BATCHES [host | cuda]
//
// The network of FILE_IN is trained for BATCHES steps and becomes FILE_OUT; bindings/programs/resume.c says more.
//
// SPDX-License-Identifier: MIT
using System;
using System.Globalization;
using System.Linq;
using Synfire;

static class Resume
{
    const int Inputs = 41, Classes = 3, Rows = 99;

    static float Rate(int i) =>
        ((i % Inputs % Classes == i / Inputs % Classes ? 20 : 12) + (2654435761 * (uint)i >> 28)) / 128.0f;

    static void Main(string[] arguments)
    {
        Backend backend = arguments.Length > 3 && arguments[3] == "cuda" ? Backend.Cuda : Backend.Host;
        using (var context = new Context(backend))
        using (Network network = Network.FromFile(context, arguments[0]))
        {
            float[] rates = Enumerable.Range(0, Rows * Inputs).Select(Rate).ToArray();
            uint[] labels = Enumerable.Range(0, Rows).Select(row => (uint)(row % Classes)).ToArray();
            network.SetData(Data.Training, rates, labels);
            NetworkResult result = network.Train(long.Parse(arguments[2], CultureInfo.InvariantCulture));
            network.Save(arguments[1]);
            Console.WriteLine(string.Format(CultureInfo.InvariantCulture, "{0} batches, loss {1:F9}", arguments[2], result.Loss));
        }
    }
}
