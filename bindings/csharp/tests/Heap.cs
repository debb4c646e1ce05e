// Heap.cs - the program's own functions for host memory and for messages: counted, refused, and throwing.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.InteropServices;
using System.Threading;

namespace Synfire.Tests
{
    public static class Heap
    {
        private static long bytes_, requests_, allowed_ = long.MaxValue;

        // With room in front, where the address that the system gave is kept.
        private static IntPtr Allocate(ulong bytes, ulong alignment, Tag tag)
        {
            if (Interlocked.Increment(ref requests_) > Interlocked.Read(ref allowed_))
                throw new InvalidOperationException("a heap that fails");
            Interlocked.Add(ref bytes_, (long)bytes);
            long given = Marshal.AllocHGlobal((IntPtr)(long)(bytes + alignment + 8)).ToInt64();
            long address = (given + 8 + (long)alignment - 1) / (long)alignment * (long)alignment;
            Marshal.WriteInt64((IntPtr)(address - 8), given);
            return (IntPtr)address;
        }

        private static void Release(IntPtr memory, ulong bytes, ulong alignment, Tag tag)
        {
            Interlocked.Add(ref bytes_, -(long)bytes);
            Marshal.FreeHGlobal((IntPtr)Marshal.ReadInt64((IntPtr)(memory.ToInt64() - 8)));
        }

        private static MemoryUse Work()
        {
            using (Context context = new Context(Backend.Host, threads: 2))
            using (Layer layer = new Layer(context, steps: 4, neurons: 37))
            using (Buffer<float> x = layer.CreateSequence<float>())
            using (Graph graph = Graph.Record(context, g => g.Forward(layer, new ForwardArguments { X = x })))
            {
                graph.Wait(graph.Launch());
                Check.That(layer.MemoryUse.LayerBytes > 0 && graph.MemoryUse.GraphBytes > 0, "bytes of parts");
                return context.MemoryUse;
            }
        }

        public static void EverythingComesBack()
        {
            Lifetime.CollectAll();
            SynfireLibrary.Reclaim();
            HostMemory.Set(Allocate, Release);
            MemoryUse use = Work();
            Check.That(use.HostBytes > 0 && use.BufferBytes > 0 && use.LayerBytes > 0, "bytes of a context");
            Context open = new Context(Backend.Host, threads: 1);
            SynfireException refused = Check.Throws<SynfireException>(HostMemory.Reset, "the heap is in use");
            Check.Equal(refused.RuleId, "SYN-MEMORY-IN-USE", "the rule");
            Interlocked.Exchange(ref allowed_, Interlocked.Read(ref requests_));
            Check.Status(Status.ErrorOutOfMemory, () => new Layer(open, steps: 4, neurons: 37), "a heap that throws");
            Interlocked.Exchange(ref allowed_, long.MaxValue);
            open.Dispose();
            HostMemory.Reset();
            Check.Equal(Interlocked.Read(ref bytes_), 0L, "bytes that did not come back");
            Check.Equal(HostMemory.Use.HostBlocks, 0UL, "blocks");
            Check.Throws<ArgumentNullException>(() => HostMemory.Set(null, Release), "no function");
        }

        public static void MessagesAreHeard()
        {
            List<string> heard = new List<string>();
            Messages.Set((level, text) =>
            {
                heard.Add(level + " " + text);
                throw new InvalidOperationException("a listener that fails");
            });
            Work();
            Check.That(heard.Any(line => line.StartsWith("Choice context: host", StringComparison.Ordinal)), "a context");
            Check.That(heard.Any(line => line.StartsWith("Choice graph: 1 operations", StringComparison.Ordinal)), "a graph");
            int count = heard.Count;
            Messages.Set((level, text) => heard.Add(text), Log.Warning);
            Work();
            Messages.Reset();
            Work();
            Check.Equal(heard.Count, count, "messages that are not warnings, or that nobody hears");
        }
    }
}
