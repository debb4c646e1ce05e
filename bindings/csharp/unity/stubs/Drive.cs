// Drive.cs - what Unity would do with the samples: enable them, update them a hundred times, disable them, twice over.
//
// SPDX-License-Identifier: MIT
using System;
using System.IO;
using System.Reflection;
using Synfire;
using Unity.Collections;
using UnityEngine;

static class Drive
{
    static void Send(object behaviour, string message)
    {
        behaviour.GetType().GetMethod(message, BindingFlags.Instance | BindingFlags.NonPublic).Invoke(behaviour, null);
    }

    // The class of 41 rates whose every third is a little more active than the others: which third tells the class.
    static bool Classifies(string file)
    {
        TrainedNetwork sample = new TrainedNetwork { file = new TextAsset { bytes = File.ReadAllBytes(file) } };
        bool good = true;
        for (int wanted = 0; wanted < TrainedNetwork.Classes; ++wanted)
        {
            for (int i = 0; i < TrainedNetwork.Sensors; ++i)
                sample.rates[i] = (i % TrainedNetwork.Classes == wanted ? 27 : 19) / 128.0f;
            Send(sample, "OnEnable");
            int right = 0;
            for (int i = 0; i < 200; ++i)
            {
                Send(sample, "FixedUpdate");
                if (i >= 20 && sample.Decision == wanted) ++right;
            }
            Send(sample, "OnDisable");
            Console.WriteLine("class " + wanted + ": " + right + " of 180 decisions right");
            good = good && right >= 120 && SynfireLibrary.LiveHandles == 0;
        }
        // Another network is refused, and nothing stays open.
        sample.file.bytes = new byte[] { 1, 2, 3 };
        try
        {
            Send(sample, "OnEnable");
            good = false;
        }
        catch (TargetInvocationException problem)
        {
            good = good && problem.InnerException is SynfireException;
        }
        Send(sample, "OnDisable");
        return good && SynfireLibrary.LiveHandles == 0;
    }

    static int Main(string[] arguments)
    {
        if (!Classifies(arguments[0])) return 1;
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
