// Changes.cs - what changes between replays: slots, operations that are left out, other buffers, native nodes; and what
// a graph tells about itself.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Synfire.Tests
{
    public static class Changes
    {
        private static void Replay(Graph graph) { Check.That(graph.Wait(graph.Launch()), "a replay"); }

        private static bool AllAre(Span<float> values, float wanted)
        {
            foreach (float value in values)
                if (value != wanted) return false;
            return true;
        }

        // A layer that fires where X is 1 or more, from rest.
        private sealed class Firing : IDisposable
        {
            public readonly Context Context = new Context(Program.Backend);
            public readonly Layer Layer;
            public readonly Buffer<float> X, Spikes;

            public Firing()
            {
                Layer = new Layer(Context, steps: 2, neurons: 4, options: new LayerOptions { Model = Model.If });
                X = Layer.CreateSequence<float>(MemoryKind.Pinned);
                Spikes = Layer.CreateSequence<float>(MemoryKind.Pinned);
            }

            public ForwardArguments Forward { get { return new ForwardArguments { X = X, Spikes = Spikes }; } }

            public void Dispose()
            {
                foreach (SynfireObject made in new SynfireObject[] { X, Spikes, Layer, Context }) made.Dispose();
            }
        }

        public static void ASharedSlotIsForAnyNumberOfReplays()
        {
            using (Firing f = new Firing())
            using (Graph graph = Graph.Record(f.Context, g => g.Forward(f.Layer, f.Forward), (int)Slots.Shared))
            {
                Check.That(graph.TryGetSlot(f.X, out Span<float> frame), "the buffer's own memory");
                frame.Fill(2);
                ulong last = 0;
                for (int i = 0; i < 20; ++i) last = graph.Launch();
                Check.That(last == 20, "twenty launches that nobody waited for");
                Check.That(graph.Wait(last), "the last of them");
                Check.That(graph.TryGetSlot(f.Spikes, out frame, last) && AllAre(frame, 1), "what it wrote");
                Check.Status(Status.ErrorInvalidArgument, () => graph.TryGetSlot(f.Spikes, out Span<float> _, last - 1),
                             "an earlier one has no frames of its own");
            }
        }

        public static void SlotsAreFramesOfTheirOwn()
        {
            using (Firing f = new Firing())
            using (Graph graph = Graph.Record(f.Context, g => g.Forward(f.Layer, f.Forward), 3))
            using (Buffer<float> other = f.Layer.CreateSequence<float>(MemoryKind.Pinned))
            {
                ulong[] tickets = new ulong[9];
                Span<float> frame;
                for (int round = 0; round < 9; ++round)
                {
                    Check.That(graph.TryGetSlot(f.X, out frame) && frame.Length == 8, "a slot that is free");
                    frame.Fill(round % 2 == 0 ? 2 : 0);
                    tickets[round] = graph.Launch();
                    Check.That(graph.Wait(tickets[round]), "a replay");
                    for (int back = 0; back < Math.Min(3, round + 1); ++back)
                    {
                        Check.That(graph.TryGetSlot(f.Spikes, out frame, tickets[round - back]),
                                   "a replay that is done");
                        Check.That(AllAre(frame, (round - back) % 2 == 0 ? 1 : 0),
                                   "round " + round + ", " + back + " back");
                    }
                }
                Check.Status(Status.ErrorInvalidArgument,
                             () => graph.TryGetSlot(f.Spikes, out Span<float> _, tickets[4]),
                             "a slot that was taken since");
                Check.Status(Status.ErrorInvalidArgument, () => graph.TryGetSlot(f.Spikes, out Span<float> _, 1000),
                             "a ticket never handed out");
                Check.Status(Status.ErrorInvalidArgument, () => graph.TryGetSlot(other, out Span<float> _),
                             "a buffer of no operation");
                Check.Status(Status.ErrorInvalidArgument, () => new Graph(f.Context, 65), "65 slots");
                Check.Throws<ArgumentOutOfRangeException>(() => new Graph(f.Context, -1), "-1 slots");
                Check.Throws<ArgumentNullException>(() => graph.TryGetSlot<float>(null, out Span<float> _),
                                                    "no buffer");
                long before = GC.GetAllocatedBytesForCurrentThread();
                for (int i = 0; i < 1000; ++i)
                {
                    graph.TryGetSlot(f.X, out frame);
                    graph.Wait(graph.Launch());
                }
                Check.Equal(GC.GetAllocatedBytesForCurrentThread() - before, 0L, "bytes allocated by 1,000 frames");
            }
        }

        public static void AnOperationIsLeftOut()
        {
            using (Firing f = new Firing())
            using (Buffer<float> marks = f.Context.CreateBuffer<float>(MemoryKind.Pinned, 8))
            using (Graph graph = new Graph(f.Context), empty = new Graph(f.Context))
            {
                f.X.Fill(2);
                graph.Forward(f.Layer, f.Forward);
                Check.Equal(graph.LastOperation, 0, "the first operation");
                int copy = graph.Copy(f.Spikes, marks).LastOperation;
                Check.Equal(copy, 1, "the second");
                graph.SetEnabled(copy, false);
                graph.Instantiate();
                Replay(graph);
                Check.That(AllAre(marks.Span, 0) && AllAre(f.Spikes.Span, 1), "left out");
                graph.SetEnabled(copy, true);
                Replay(graph);
                Check.That(AllAre(marks.Span, 1), "there again");
                Check.Status(Status.ErrorInvalidArgument, () => graph.SetEnabled(2, true), "operation 2 of 2");
                Check.Status(Status.ErrorInvalidArgument, () => graph.SetEnabled(-1, true), "operation -1");
                Check.Throws<SynfireException>(() => empty.LastOperation.ToString(), "the last of none");
                long before = GC.GetAllocatedBytesForCurrentThread();
                for (int i = 0; i < 1000; ++i)
                {
                    graph.SetEnabled(copy, i % 2 == 0);
                    graph.Wait(graph.Launch());
                }
                Check.Equal(GC.GetAllocatedBytesForCurrentThread() - before, 0L, "bytes allocated by 1,000 changes");
            }
        }

        public static void ATransientBufferPassesNumbersOn()
        {
            using (Firing f = new Firing())
            using (Buffer<float> between = f.Context.CreateBuffer<float>(MemoryKind.Transient, 8))
            using (Buffer<float> result = f.Context.CreateBuffer<float>(MemoryKind.Pinned, 8))
            using (Graph graph = new Graph(f.Context))
            {
                Check.That(!between.IsHostAccessible, "it has no memory");
                Check.Throws<InvalidOperationException>(() => between.Span.ToString(), "its span");
                Check.Status(Status.ErrorInvalidArgument, () => between.Fill(1), "a fill");
                int fill = graph.Fill(between, 3).LastOperation;
                graph.Copy(between, result);
                graph.Instantiate();
                Replay(graph);
                Check.That(AllAre(result.Span, 3), "what it passed on");
                graph.SetEnabled(fill, false);
                Check.Status(Status.ErrorWrongOrder, () => graph.Launch(), "nothing has written what the copy reads");
            }
        }

        public static void AnotherBufferTakesThePlace()
        {
            using (Firing f = new Firing())
            using (Graph graph = Graph.Record(f.Context, g => g.Forward(f.Layer, f.Forward)))
            using (Buffer<float> loud = f.Layer.CreateSequence<float>(MemoryKind.Pinned))
            using (Buffer<float> small = f.Context.CreateBuffer<float>(MemoryKind.Pinned, 3))
            {
                loud.Fill(2);
                Replay(graph);
                Check.That(AllAre(f.Spikes.Span, 0), "before");
                graph.Rebind(f.X, loud);
                f.X.Dispose();
                loud.Dispose(); // the graph has it
                Replay(graph);
                Check.That(AllAre(f.Spikes.Span, 1), "afterwards");
                Check.Status(Status.ErrorInvalidArgument, () => graph.Rebind(f.Spikes, small), "another size");
                Check.Status(Status.ErrorInvalidArgument, () => graph.Rebind(small, f.Spikes),
                             "a buffer of no operation");
                Check.Throws<ArgumentNullException>(() => graph.Rebind(f.Spikes, null), "no buffer");
                Check.Throws<ObjectDisposedException>(() => graph.Rebind(f.Spikes, loud), "a closed buffer");
                Replay(graph);
            }
        }

        private sealed class NoMood : Exception { }

        public static void NativeNodes()
        {
            if (Program.Backend != Backend.Host) return; // there they enqueue: NativeNodesEnqueueOnAGpu
            using (Firing f = new Firing())
            using (Buffer<float> before = f.Layer.CreateSequence<float>(MemoryKind.Pinned))
            {
                int calls = 0, mood = 0;
                NativeFunction twice = call =>
                {
                    ++calls;
                    if (mood == 1) throw new NoMood();
                    if (mood == 2) call.Read<double>(0);
                    if (mood == 3) call.Write<float>(1);
                    Check.That(call.Stream == IntPtr.Zero && call.Slot == 0, "stream and slot");
                    Check.That(call.ReadPointer(0) != IntPtr.Zero && call.WritePointer(0) != call.ReadPointer(0),
                               "addresses");
                    ReadOnlySpan<float> input = call.Read<float>(0);
                    Span<float> output = call.Write<float>(0);
                    Check.That(input.Length == 8 && output.Length == 8, "lengths");
                    for (int i = 0; i < 8; ++i) output[i] = 2 * input[i];
                };
                BufferBase[] reads = { before }, writes = { f.X };
                using (Graph graph = Graph.Record(
                           f.Context,
                           g => g.AddNative(twice, reads, writes, "double").Forward(f.Layer, f.Forward)))
                {
                    Check.Equal(calls, 0, "calls before a launch");
                    foreach (float value in new[] { 0.6f, 0.2f })
                    {
                        before.Fill(value);
                        f.Layer.ResetState();
                        Replay(graph);
                        Check.Equal(f.Spikes[0, 0], value > 0.5f ? 1f : 0f, "a spike of " + value);
                    }
                    Check.Equal(calls, 2, "calls");
                    Check.Contains(graph.ToDot(), "double");
                    mood = 1;
                    NoMood thrown = Check.Throws<NoMood>(() => graph.Launch(), "what the function throws");
                    Check.That(thrown != null && thrown.StackTrace.Contains("Launch"), "comes out of the launch");
                    mood = 2;
                    Check.Throws<ArgumentException>(() => graph.Launch(), "another element type");
                    mood = 3;
                    Check.Throws<ArgumentOutOfRangeException>(() => graph.Launch(), "buffer 1 of 1");
                    mood = 0;
                    Replay(graph);
                    // The function is called after collections, too.
                    GC.Collect();
                    GC.WaitForPendingFinalizers();
                    Replay(graph);
                    Check.Equal(calls, 7, "calls");
                }
                using (Graph graph = new Graph(f.Context))
                {
                    Check.Throws<ArgumentNullException>(() => graph.AddNative(null), "no function");
                    Check.Throws<ArgumentNullException>(() => graph.AddNative(twice, new BufferBase[] { null }),
                                                        "no buffer");
                    Check.Throws<ArgumentException>(() => graph.AddNative(twice, name: "a\0b"), "a null character");
                    Check.Throws<ArgumentException>(() => graph.AddNative(twice, name: new string('n', 500)),
                                                    "500 letters");
                }
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static WeakReference Captured(Firing f, bool close)
        {
            object captured = new object();
            Graph graph = new Graph(f.Context);
            graph.AddNative(call => GC.KeepAlive(captured), null, new BufferBase[] { f.X });
            if (f.Context.IsHost) Replay(graph.Instantiate());
            if (close) graph.Dispose();
            return new WeakReference(captured);
        }

        // Nothing of a native node outlives its graph, whether that is closed or collected.
        public static void NativeNodesAreCollected()
        {
            using (Firing f = new Firing())
                foreach (bool close in new[] { true, false })
                {
                    List<WeakReference> captured = new List<WeakReference>();
                    Thread thread = new Thread(() => // no stack of ours refers to them
                    {
                        for (int i = 0; i < 20; ++i) captured.Add(Captured(f, close));
                    });
                    thread.Start();
                    thread.Join();
                    for (int i = 0; i < 20 && captured.Any(one => one.IsAlive); ++i)
                    {
                        GC.Collect();
                        GC.WaitForPendingFinalizers();
                    }
                    // Mono's collector takes what lies on a stack for a reference: one may seem to be used.
                    int alive = captured.Count(one => one.IsAlive);
                    Check.That(alive <= 1, alive + " of 20 live, of graphs " + (close ? "closed" : "collected"));
                }
        }

        [DllImport("libcuda.so.1")]
        private static extern int cuMemsetD32Async(IntPtr data, uint value, UIntPtr count, IntPtr stream);

        public static void NativeNodesEnqueueOnAGpu()
        {
            if (Program.Backend == Backend.Host) return;
            using (Firing f = new Firing())
            {
                BufferBase[] writes = { f.X };
                // Finalizers close layers and buffers while the stream is being captured; the graph does not mind.
                Action collect = () =>
                {
                    long before = SynfireLibrary.LiveHandles;
                    for (int i = 0; i < 20 && SynfireLibrary.LiveHandles > before - 30; ++i)
                    {
                        GC.Collect();
                        GC.WaitForPendingFinalizers();
                    }
                    Check.That(SynfireLibrary.LiveHandles <= before - 30, "finalizers during a capture");
                };
                Action litter = () =>
                {
                    Thread thread = new Thread(() =>
                    {
                        for (int i = 0; i < 20; ++i)
                            GC.KeepAlive(new Layer(f.Context, steps: 8, neurons: 64).CreateSequence<float>());
                    });
                    thread.Start();
                    thread.Join();
                };
                NativeFunction fails = call =>
                {
                    Check.That(call.Stream != IntPtr.Zero && call.WritePointer(0) != IntPtr.Zero, "stream and address");
                    collect();
                    call.Write<float>(0);
                };
                litter();
                Check.Throws<InvalidOperationException>(
                    () => Graph.Record(f.Context, g => g.AddNative(fails, null, writes)), "memory of the GPU as a span");
                int calls = 0;
                NativeFunction twos = call =>
                {
                    ++calls;
                    collect();
                    int status = cuMemsetD32Async(call.WritePointer(0), 0x40000000, (UIntPtr)8, call.Stream);
                    if (status != 0) throw new InvalidOperationException("cuMemsetD32Async: " + status);
                };
                litter();
                try
                {
                    using (Graph graph = Graph.Record(
                               f.Context, g => g.AddNative(twos, null, writes).Forward(f.Layer, f.Forward)))
                        for (int i = 0; i < 3; ++i)
                        {
                            f.X.Fill(0);
                            Replay(graph);
                            Check.That(AllAre(f.Spikes.Span, 1), "what the node enqueued");
                        }
                    Check.Equal(calls, 1, "captured once, replayed three times");
                }
                catch (DllNotFoundException)
                {
                    Console.WriteLine("no driver: nothing to enqueue with");
                }
            }
        }

        private static string[] Bits(Backend backend)
        {
            using (Context context = new Context(backend))
            using (Layer layer = new Layer(context, steps: 40, neurons: 70, options: new LayerOptions { Batch = 2 }))
            using (Buffer<float> x = layer.CreateSequence<float>(MemoryKind.Pinned))
            using (Buffer<uint> spikes = layer.CreateSpikes(MemoryKind.Pinned))
            using (Buffer<float> seed = layer.CreateSequence<float>(MemoryKind.Pinned))
            using (Buffer<float> gradX = layer.CreateSequence<float>(MemoryKind.Pinned))
            using (Buffer<float> gradTau = context.CreateBuffer<float>(MemoryKind.Pinned, 1))
            {
                ulong noise = 1;
                Span<float> values = x.Span;
                for (int i = 0; i < values.Length; ++i)
                {
                    noise = unchecked(noise * 6364136223846793005 + 1442695040888963407);
                    values[i] = 3.0f * (float)(noise >> 40) / 16777216.0f;
                }
                seed.Fill(1);
                BackwardArguments backward = new BackwardArguments { GradSpikeSeq = seed, GradXSeq = gradX };
                backward.ParameterGradients.Add("tau", gradTau);
                using (Graph graph = Graph.Record(
                           context, g => g.Forward(layer, new ForwardArguments { X = x, Spikes = spikes })
                                             .Backward(layer, backward)
                                             .UpdateParameter(layer, "tau", gradTau, 1e-4)))
                    for (int i = 0; i < 3; ++i) Replay(graph);
                return new[] { Convert.ToBase64String(MemoryMarshal.AsBytes(spikes.Span).ToArray()),
                               Convert.ToBase64String(MemoryMarshal.AsBytes(gradX.Span).ToArray()),
                               gradTau[0].ToString("R"), layer.GetParameter("tau")[0].ToString("R") };
            }
        }

        public static void AGpuHasTheBitsOfTheHost()
        {
            string[] host = Bits(Backend.Host), here = Bits(Program.Backend);
            for (int i = 0; i < 4; ++i) Check.Equal(here[i], host[i], "output " + i);
            Check.That(host[0].Trim('A', '=').Length > 0 && host[2] != "0" && host[3] != "2", "there are spikes");
        }

        public static void AGraphTellsAboutItself()
        {
            using (Firing f = new Firing())
            using (Graph graph = Graph.Record(f.Context, g => g.Forward(f.Layer, f.Forward)))
            {
                for (int i = 0; i < 100; ++i) graph.Wait(graph.Launch());
                GraphStatistics told = graph.Statistics;
                Check.That(told.Replays == 100 && told.Seen == 100 && told.LateWaits == 0, "counts");
                Check.That(0 < told.P50 && told.P50 <= told.P99 && told.P99 <= told.P999 && told.P50 <= 1.04 * told.Max,
                           "percentiles");
                graph.ResetStatistics();
                Check.Equal(graph.Statistics.Replays, 0L, "replays after a reset");
                string dot = graph.ToDot().Trim();
                Check.That(dot.StartsWith("digraph", StringComparison.Ordinal) && dot.Last() == '}', dot);
            }
        }

        public static void ClosedGraphs()
        {
            using (Firing f = new Firing())
            {
                Graph graph = Graph.Record(f.Context, g => g.Forward(f.Layer, f.Forward));
                graph.Dispose();
                Action[] uses = { () => graph.LastOperation.ToString(),
                                  () => graph.SetEnabled(0, true),
                                  () => graph.SetValue(0, "value", 1),
                                  () => graph.Rebind(f.X, f.X),
                                  () => graph.TryGetSlot(f.X, out Span<float> _),
                                  () => graph.ToDot(),
                                  () => graph.Statistics.ToString(),
                                  () => graph.ResetStatistics(),
                                  () => graph.Fill(f.X, 1),
                                  () => graph.ScaleAdd(1, f.X, 1, f.Spikes),
                                  () => graph.UpdateParameter(f.Layer, "tau", f.X, 1),
                                  () => graph.ResetRows(f.Layer),
                                  () => graph.ReadRows(f.Layer, "v", f.X),
                                  () => graph.WriteRows(f.Layer, "v", f.X),
                                  () => graph.CopyRows(f.Layer, f.Layer),
                                  () => graph.AddNative(call => { }) };
                for (int i = 0; i < uses.Length; ++i)
                    Check.Throws<ObjectDisposedException>(uses[i], "use " + i + " of a closed graph");
            }
        }
    }
}
