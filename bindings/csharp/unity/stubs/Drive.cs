// Drive.cs - what Unity would do with the sample: enable it, update it a hundred times, disable it, twice over.
//
// SPDX-License-Identifier: MIT
using System;
using System.Reflection;
using Synfire;
using Unity.Collections;

static class Drive
{
    static void Send(object behaviour, string message)
    {
        behaviour.GetType().GetMethod(message, BindingFlags.Instance | BindingFlags.NonPublic).Invoke(behaviour, null);
    }

    static int Main()
    {
        SpikingLayer sample = new SpikingLayer();
        for (int play = 0; play < 2; ++play)
        {
            Send(sample, "OnEnable");
            for (int i = 0; i < 100; ++i) Send(sample, "FixedUpdate");
            Send(sample, "OnDisable");
            Console.WriteLine(sample.Spikes + " spikes in the last replay, " + sample.LateUpdates + " late updates");
            if (sample.Spikes <= 0 || SynfireLibrary.LiveHandles != 0) return 1;
        }
        NativeArray<float> values = new NativeArray<float>(8, Allocator.Persistent),
                           copy = new NativeArray<float>(8, Allocator.Persistent);
        using (Context context = new Context(Backend.Host))
        using (Buffer<float> borrowed = context.Borrow(values, 2, 4))
        using (Buffer<float> owned = context.CreateBuffer<float>(MemoryKind.Device, 2, 4))
        {
            borrowed.Fill(3);
            owned.Upload(values);
            owned.Download(copy);
            if (owned[1, 3] != 3) return 1;
        }
        values.Dispose();
        copy.Dispose();
        return 0;
    }
}
