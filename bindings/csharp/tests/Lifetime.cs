// Lifetime.cs - closing, collecting, many threads, leaving with everything open: no leak, no crash.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
#if NETCOREAPP
using System.Runtime.Loader;
#endif

namespace Synfire.Tests
{
    public static class Lifetime
    {
        public static void CollectAll()
        {
            for (int i = 0; i < 5; ++i)
            {
                // Mono scans stacks conservatively: from a fresh thread, with a stack of its own, nothing old is seen.
                Thread fresh = new Thread(() =>
                {
                    GC.Collect();
                    GC.WaitForPendingFinalizers();
                });
                fresh.Start();
                fresh.Join();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void OnFreshThread(Action work)
        {
            Exception thrown = null;
            Thread thread = new Thread(() =>
            {
                try
                {
                    work();
                }
                catch (Exception problem)
                {
                    thrown = problem;
                }
            });
            thread.Start();
            thread.Join();
            if (thrown != null) throw new InvalidOperationException("on its thread", thrown);
        }

        private static List<SynfireObject> Make(Context context, int count)
        {
            List<SynfireObject> made = new List<SynfireObject>();
            for (int i = 0; i < count; ++i)
            {
                if (i % 4 == 0) made.Add(new Layer(context, steps: 4, neurons: 8));
                else if (i % 4 == 1) made.Add(context.CreateBuffer<float>(MemoryKind.Device, 4, 8));
                else if (i % 4 == 2) made.Add(context.Borrow<float>(new float[32], 4, 8));
                else
                    made.Add(
                        Graph.Record(context, g => g.Forward((Layer)made[i - 3],
                                                             new ForwardArguments { X = (BufferBase)made[i - (context.IsHost ? 1 : 2)] })));
            }
            return made;
        }

        public static void AThousandHandles()
        {
            CollectAll();
            long before = SynfireLibrary.LiveHandles;
            OnFreshThread(() =>
            {
                Context context = new Context(Program.Backend);
                List<SynfireObject> made = Make(context, 1000);
                Check.Equal(SynfireLibrary.LiveHandles, before + 1001, "a thousand, and their context");
                Random random = new Random(3);
                foreach (SynfireObject closed in made.OrderBy(o => random.Next()).Take(500).ToList()) closed.Dispose();
                Check.Equal(SynfireLibrary.LiveHandles, before + 501, "half of them closed");
                context.Dispose(); // before its children
            });
            CollectAll();
            Check.Equal(SynfireLibrary.LiveHandles, before, "the rest collected");
            Check.Equal(SynfireLibrary.Reclaim(), 0L, "objects still in use");
        }

        public static void TheCollectorWhileCallsRun()
        {
            OnFreshThread(() =>
            {
                using (Context context = new Context(Program.Backend))
                using (Layer layer = new Layer(context, steps: 4, neurons: 8))
                using (Buffer<float> x = layer.CreateSequence<float>())
                using (Graph graph = Graph.Record(context, g => g.Forward(layer, new ForwardArguments { X = x })))
                {
                    bool stop = false;
                    Thread collector = new Thread(() =>
                    {
                        while (!Volatile.Read(ref stop))
                        {
                            GC.Collect();
                            Thread.Sleep(1);
                        }
                    });
                    collector.Start();
                    for (int i = 0; i < 300; ++i)
                    {
                        Make(context, 4);
                        // The text of an error survives finalizers that run before it is read.
                        SynfireException problem =
                            Check.Throws<SynfireException>(() => layer.SetParameter("nope", 1), "an unknown name");
                        Check.Equal(problem.RuleId, "SYN-PARAMETER-NAME", "rule");
                        Check.That(graph.Wait(graph.Launch()), "replay");
                    }
                    Volatile.Write(ref stop, true);
                    collector.Join();
                }
            });
            CollectAll();
            Check.Equal(SynfireLibrary.Reclaim(), 0L, "objects still in use");
        }

        // Memory of the program is pinned until the last graph and layer that use it are gone.
        private static WeakReference borrowed_, kept_;

        public static void BorrowedMemoryIsGivenBack()
        {
            if (Program.Backend != Backend.Host) return; // where a GPU does not reach memory of the program
            OnFreshThread(() =>
            {
                using (Context context = new Context(Program.Backend))
                using (Layer layer = new Layer(context, steps: 4, neurons: 1000))
                {
                    OnFreshThread(() =>
                    {
                        float[] first = new float[4000], second = new float[4000];
                        borrowed_ = new WeakReference(first);
                        kept_ = new WeakReference(second);
                        using (Buffer<float> a = context.Borrow<float>(first, 4, 1000))
                            layer.Forward(new ForwardArguments { X = a });
                        using (Buffer<float> b = context.Borrow<float>(second, 4, 1000))
                            layer.Forward(new ForwardArguments { X = b });
                    });
                    context.Reclaim();
                    CollectAll();
                    Check.That(!borrowed_.IsAlive, "memory of the tape before");
                    Check.That(kept_.IsAlive, "memory of the tape");
                    using (Buffer<float> gradient = layer.CreateSequence<float>())
                        layer.Backward(new BackwardArguments { GradXSeq = gradient });
                }
            });
            SynfireLibrary.Reclaim();
            CollectAll();
            Check.That(!kept_.IsAlive, "memory of a closed layer");
        }

        private static float[] Values(int count)
        {
            return Enumerable.Range(0, count).Select(i => i * 7 % 41 * 0.05f).ToArray();
        }

        // Runs the layer over an array that nothing else refers to afterwards.
        private delegate void Lend(Context context, Layer layer, float[] memory);

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static WeakReference RunWith(Lend lend, Context context, Layer layer)
        {
            float[] memory = Values(4000);
            lend(context, layer, memory);
            return new WeakReference(memory);
        }

        // Closed or collected in any order, what a tape was made from stays for the backward, at once or in a graph of
        // its own, and no longer.
        public static void BorrowedMemoryStaysForTheBackward()
        {
            if (Program.Backend != Backend.Host) return; // as above
            Dictionary<string, Lend> ways = new Dictionary<string, Lend> {
                { "a call",
                  (context, layer, memory) =>
                  {
                      using (Buffer<float> x = context.Borrow<float>(memory, 4, 1000))
                          layer.Forward(new ForwardArguments { X = x });
                  } },
                { "a graph",
                  (context, layer, memory) =>
                  {
                      using (Buffer<float> x = context.Borrow<float>(memory, 4, 1000))
                      using (Graph graph = Graph.Record(context, g => g.Forward(layer, new ForwardArguments { X = x })))
                          graph.Wait(graph.Launch());
                  } },
                { "a graph that was collected",
                  (context, layer, memory) =>
                  {
                      Buffer<float> x = context.Borrow<float>(memory, 4, 1000);
                      Graph graph = Graph.Record(context, g => g.Forward(layer, new ForwardArguments { X = x }));
                      graph.Wait(graph.Launch());
                  } },
                { "a graph bound to it later",
                  (context, layer, memory) =>
                  {
                      using (Buffer<float> own = context.CreateBuffer<float>(MemoryKind.Host, 4, 1000))
                      using (Buffer<float> x = context.Borrow<float>(memory, 4, 1000))
                      using (Graph graph = Graph.Record(context, g => g.Forward(layer, new ForwardArguments { X = own })))
                      {
                          graph.Rebind(own, x);
                          graph.Wait(graph.Launch());
                          graph.Rebind(x, own);
                      }
                  } }
            };
            using (Context context = new Context(Program.Backend))
            using (Layer layer = new Layer(context, steps: 4, neurons: 1000))
            using (Buffer<float> own = layer.CreateSequence<float>())
            using (Buffer<float> spikes = layer.CreateSequence<float>())
            using (Buffer<float> gradient = layer.CreateSequence<float>())
            {
                own.Upload(Values(4000));
                spikes.Fill(1);
                BackwardArguments arguments = new BackwardArguments { GradSpikeSeq = spikes, GradXSeq = gradient };
                layer.Forward(new ForwardArguments { X = own });
                layer.Backward(arguments);
                float[,] expected = (float[,])gradient.ToArray();
                Action<string> expect = what =>
                {
                    Check.That(((float[,])gradient.ToArray()).Cast<float>().SequenceEqual(expected.Cast<float>()), what);
                    gradient.Fill(-7);
                };
                Action collect = () =>
                {
                    CollectAll();
                    SynfireLibrary.Reclaim();
                    CollectAll();
                };
                foreach (KeyValuePair<string, Lend> way in ways)
                {
                    layer.ResetState();
                    WeakReference memory = null;
                    OnFreshThread(() => memory = RunWith(way.Value, context, layer));
                    collect();
                    Check.That(memory.IsAlive, "memory of the tape of " + way.Key);
                    OnFreshThread(() => layer.Backward(arguments));
                    expect("the gradient of " + way.Key);
                    using (Graph graph = Graph.Record(context, g => g.Backward(layer, arguments)))
                    {
                        layer.Forward(new ForwardArguments { X = own, Tape = Tape.None });
                        collect();
                        Check.That(memory.IsAlive, "memory that the graph of a backward reads, of " + way.Key);
                    }
                    collect();
                    Check.That(!memory.IsAlive, "memory after inference, of " + way.Key);
                }
            }
        }

        private sealed class Owner : IDisposable
        {
            public int Disposed;

            public void Dispose()
            {
                ++Disposed;
                throw new InvalidOperationException("nobody hears of it");
            }
        }

        public static unsafe void AnOwnerIsDisposedOfOnce()
        {
            Owner owner = new Owner();
            float* memory = stackalloc float[4];
            using (Context context = new Context(Program.Backend))
            {
                Check.Throws<SynfireException>(
                    () => context.Borrow<float>((IntPtr)3, MemoryKind.Host, DType.F32, owner, 4), "an odd address");
                context.Reclaim();
                Check.Equal(owner.Disposed, 0, "of what was not made");
                Buffer<float> x = context.Borrow<float>((IntPtr)memory, MemoryKind.Host, DType.F32, owner, 4);
                context.Reclaim();
                Check.Equal(owner.Disposed, 0, "of an open buffer");
                x.Dispose();
                context.CreateBuffer<float>(MemoryKind.Host, 1).Dispose();
                Check.Equal(owner.Disposed, 1, "of a closed one");
                context.Reclaim();
                Check.Equal(owner.Disposed, 1, "and no more");
            }
        }

        public static void ManyThreads()
        {
            using (Context context = new Context(Program.Backend))
            {
                Action<int> work = seed =>
                {
                    using (Layer layer = new Layer(context, steps: 8, neurons: 32))
                    using (Buffer<float> x = layer.CreateSequence<float>())
                    using (Buffer<uint> spikes = layer.CreateSpikes())
                    {
                        x.Fill(1.5 + seed);
                        using (Graph graph = Graph.Record(context, g => g.Forward(layer, new ForwardArguments {
                            X = x, Spikes = spikes
                        }))) for (int i = 0; i < 200; ++i)
                        {
                            if (!graph.Wait(graph.Launch())) throw new InvalidOperationException("not done");
                            if (i % 10 == 0) Make(context, 4);
                            }
                    }
                };
                Exception thrown = null;
                Thread[] threads = Enumerable.Range(0, 8).Select(i => new Thread(() =>
                {
                    try
                    {
                        work(i);
                    }
                    catch (Exception problem)
                    {
                        thrown = problem;
                    }
                })).ToArray();
                foreach (Thread thread in threads) thread.Start();
                foreach (Thread thread in threads) thread.Join();
                Check.That(thrown == null, "threads with graphs of their own: " + thrown);
            }
        }

        // One graph, many threads: each launch works or says BUSY; closing it meanwhile ends them all in order.
        public static void OneGraphOnManyThreads()
        {
            if (Program.Backend != Backend.Host) return; // as above
            for (int round = 0; round < 5; ++round)
            {
                int launched = 0, closed = 0;
                Exception thrown = null;
                using (Context context = new Context(Program.Backend, threads: 1))
                using (Layer layer = new Layer(context, steps: 16, neurons: 64))
                {
                    float[] memory = new float[64 * 16];
                    Graph graph;
                    using (Buffer<float> x = context.Borrow<float>(memory, 16, 64)) graph =
                        Graph.Record(context, g => g.Forward(layer, new ForwardArguments { X = x, Tape = Tape.None }));
                    Thread[] threads = Enumerable.Range(0, 4).Select(i => new Thread(() =>
                    {
                        for (;;)
                            try
                            {
                                graph.Wait(graph.Launch());
                                Interlocked.Increment(ref launched);
                            }
                            catch (SynfireException problem) when (problem.Status == Status.ErrorBusy)
                            {
                                Thread.Sleep(1);
                            }
                            catch (ObjectDisposedException)
                            {
                                Interlocked.Increment(ref closed);
                                return;
                            }
                            catch (SynfireException problem) when (problem.Status == Status.ErrorInvalidHandle)
                            {
                                Interlocked.Increment(ref closed); // closed between the check and the call
                                return;
                            }
                            catch (Exception problem)
                            {
                                thrown = problem;
                                return;
                            }
                    })).ToArray();
                    foreach (Thread thread in threads) thread.Start();
                    while (Volatile.Read(ref launched) < 50 && thrown == null) Thread.Sleep(1);
                    graph.Dispose();
                    foreach (Thread thread in threads) thread.Join();
                    Check.That(thrown == null && closed == 4, "closed on " + closed + " threads: " + thrown);
                }
            }
        }

        public static void LeavingWithLiveHandles()
        {
            foreach (string how in new[] { "return", "exit", "throw" })
            {
                Output output = Program.Managed("Tests", "child leave " + how);
                Check.Contains(output.Text, "4 open");
                Check.Equal(output.Status, how == "throw" ? 3 : how == "exit" ? 7 : 0, "status after " + how);
            }
        }

#if NETCOREAPP
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static WeakReference LoadAndUnload()
        {
            AssemblyLoadContext place = new AssemblyLoadContext("second", true);
            System.Reflection.Assembly copy = place.LoadFromAssemblyPath(typeof(Context).Assembly.Location);
            Type type = copy.GetType("Synfire.Context", true);
            Check.That(type != typeof(Context), "a second copy of the binding");
            using (IDisposable context = (IDisposable)Activator.CreateInstance(
                       type, Enum.ToObject(copy.GetType("Synfire.Backend"), 1), 0, 0, 0))
                Check.Contains(context.ToString(), "host");
            // The tests' own assembly there finds that copy, and C calls back into it.
            Type children = place.LoadFromAssemblyPath(typeof(Program).Assembly.Location).GetType(
                "Synfire.Tests.Children", true);
            Check.That((bool)children.GetMethod("UseAndClose").Invoke(null, new object[] { typeof(Context) }),
                       "a native node of the copy");
            WeakReference weak = new WeakReference(place);
            place.Unload();
            return weak;
        }

        // Nothing static holds on: a second copy of the assembly can be unloaded after use.
        public static void ACollectibleContextUnloads()
        {
            WeakReference place = null;
            OnFreshThread(() => place = LoadAndUnload());
            for (int i = 0; i < 10 && place.IsAlive; ++i) CollectAll();
            Check.That(!place.IsAlive, "unloaded");
        }
#else
        // Unity's editor unloads the domain when scripts change, with everything open in it.
        public static void ADomainUnloads()
        {
            for (int i = 0; i < 3; ++i)
            {
                AppDomain domain = AppDomain.CreateDomain("second");
                domain.DoCallBack(Children.OpenAndLeave);
                domain.DoCallBack(Children.LendAndLeave);
                AppDomain.Unload(domain);
            }
            using (Context context = new Context(Program.Backend))
            {
                context.Reclaim();
                Check.Equal(context.Properties.Backend, Program.Backend, "the backend");
            }
        }
#endif
    }

    public static class Children
    {
        private static readonly List<object> open_ = new List<object>();

        // Uses every class on the host and closes it again. Returns true if it ran in a copy of the binding other than
        // `not`.
        public static bool UseAndClose(Type not)
        {
            bool called = false;
            using (Context context = new Context(Backend.Host))
            using (Buffer<float> x = context.Borrow<float>(new float[4], 4))
            using (Graph graph = Graph.Record(
                       context, g => g.AddNative(call => called = true, null, new BufferBase[] { x }))) graph.Launch();
            return called && typeof(Context) != not;
        }

        public static void OpenAndLeave()
        {
            Context context = new Context(Program.Backend);
            Layer layer = new Layer(context, steps: 8, neurons: 64);
            Buffer<float> x = layer.CreateSequence<float>();
            Graph graph = Graph.Record(context, g => g.Forward(layer, new ForwardArguments { X = x }));
            graph.Wait(graph.Launch());
            open_.AddRange(new object[] { context, layer, x, graph });
        }

        // Memory of this domain, which the tape of a layer was made from.
        public static void LendAndLeave()
        {
            Context context = new Context(Backend.Host);
            Layer layer = new Layer(context, steps: 8, neurons: 64);
            Buffer<float> x = context.Borrow<float>(new float[64 * 8], 8, 64);
            layer.Forward(new ForwardArguments { X = x });
            open_.AddRange(new object[] { context, layer, x });
        }

        public static int Run(string[] arguments)
        {
            if (arguments[1] == "load")
            {
                try
                {
                    using (Context context = new Context(Program.Backend))
                        Console.WriteLine("worked: " + SynfireLibrary.Path);
                }
                catch (Exception problem)
                {
                    Console.WriteLine(problem.GetType().Name + ": " + problem.Message);
                }
                return 0;
            }
            OpenAndLeave();
            AppDomain.CurrentDomain.ProcessExit += (sender, e) => ((Graph)open_[3]).Launch();
            Console.WriteLine(SynfireLibrary.LiveHandles + " open");
            if (arguments[2] == "exit") Environment.Exit(7);
            if (arguments[2] == "throw")
            {
                AppDomain.CurrentDomain.UnhandledException += (sender, e) => Environment.Exit(3);
                throw new InvalidOperationException("with everything open");
            }
            return 0;
        }
    }
}
