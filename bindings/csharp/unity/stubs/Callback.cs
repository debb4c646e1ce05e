// Callback.cs - a function of the program between two operations of a graph, which C calls: what ahead-of-time compilers
// must know beforehand. With --where it prints the folder of Mono's class libraries instead.
//
// SPDX-License-Identifier: MIT
using System;
using System.IO;
using Synfire;

static class CallbackProgram
{
    static int Main(string[] arguments)
    {
        if (arguments.Length == 1 && arguments[0] == "--where")
        {
            Console.WriteLine(Path.GetDirectoryName(typeof(object).Assembly.Location));
            return 0;
        }
        int calls = 0;
        using (Context context = new Context(Backend.Host))
        using (Buffer<float> values = context.CreateBuffer<float>(MemoryKind.Pinned, 4))
        using (Graph graph = Graph.Record(context, g => g.AddNative(call =>
        {
            var written = call.Write<float>(0);
            written[3] = ++calls;
        }, null, new BufferBase[] { values }, "count")))
        {
            for (int i = 0; i < 100; ++i) graph.Wait(graph.Launch());
            Console.WriteLine(calls + " calls, the last one wrote " + values[3]);
            if (calls != 100 || values[3] != 100) return 1;
            bool refused = false;
            try
            {
                context.CreateBuffer<float>(MemoryKind.Pinned, -1);
            }
            catch (ArgumentException)
            {
                refused = true;
            }
            return refused ? 0 : 1;
        }
    }
}
