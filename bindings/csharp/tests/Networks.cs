// Networks.cs - networks: their parts, which outlive them, data from arrays, wrong names and orders, threads, closing.
//
// SPDX-License-Identifier: MIT
using System;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;

namespace Synfire.Tests
{
    public static class Networks
    {
        private const int Inputs = 5, Rows = 7, Batch = 3;

        private static Network Stages(Context context)
        {
            return new Network(context, new NetworkOptions { Steps = 4, Batch = Batch })
                .AddInput("rates", NetworkInput.Rates, Inputs)
                .AddSynapse("first", 6).AddNeurons("hidden", Model.Lif)
                .AddSynapse("second", 2).AddNeurons("potentials", Model.Li)
                .AddReadout("scores", Readout.Mean)
                .AddLoss("loss", LossKind.CrossEntropy)
                .AddOptimizer("adam", OptimizerKind.Adam);
        }

        private static Network Built(Context context)
        {
            float[] rates = Enumerable.Range(0, Rows * Inputs).Select(i => i % 4 / 4f).ToArray();
            uint[] labels = Enumerable.Range(0, Rows).Select(row => (uint)row % 2).ToArray();
            return Stages(context).Build().SetData(Data.Training, rates, labels)
                .SetData(Data.Evaluation, rates, labels);
        }

        private static void Refused(Status status, string word, Action call)
        {
            try
            {
                call();
            }
            catch (SynfireException problem)
            {
                Check.That(problem.Status == status && problem.Message.Contains(word), word + " in " + problem.Message);
                return;
            }
            Check.That(false, "a call that must be refused: " + word);
        }

        // Described by names, with arrays for its stages, it is the network of the other methods.
        public static void StagesAreDescribedByNames()
        {
            using (Context context = new Context(Backend.Host))
            using (Network expected = Stages(context))
            using (Network network = new Network(context, new NetworkOptions { Steps = 4, Batch = Batch }))
            using (Buffer<float> inputs = context.CreateBuffer<float>(MemoryKind.Host, Rows * Inputs))
            using (Buffer<uint> labels = context.CreateBuffer<uint>(MemoryKind.Host, DType.U32, 0, Rows))
            using (Buffer<float> scores = context.CreateBuffer<float>(MemoryKind.Host, Rows * 2))
            {
                network.AddStage("input", "rates", new StageValues { { "kind", "rates" }, { "n_features", Inputs } })
                    .AddStage("synapse", "first", new StageValues { { "n_outputs", 6 } })
                    .AddStage("neurons", "hidden", new StageValues { { "model", Model.Lif }, { "detach_reset", false } }, "first")
                    .AddStage("synapse", "second", new StageValues { { "n_outputs", 2 } }, new StageInput("hidden", "spikes"))
                    .AddStage("neurons", "potentials", new StageValues { { "model", "li" } })
                    .AddStage("readout", "scores", new StageValues { { "reduction", "mean" } })
                    .AddStage("loss", "loss", new StageValues { { "kind", "cross_entropy" } })
                    .AddStage("optimizer", "adam", new StageValues { { "kind", OptimizerKind.Adam } });
                Check.That(network.ToDot() == expected.ToDot(), "the same stages");
                Refused(Status.ErrorInvalidArgument, "SYN-NETWORK-READS",
                        () => network.AddStage("readout", "early", new StageValues { { "reduction", "mean" } }, "early"));
                network.Build().SetArrays(Data.Evaluation, Rows, new StageArray("loss", ArrayRole.Labels, labels),
                                          new StageArray(null, ArrayRole.Inputs, inputs));
                NetworkResult whole;
                StageResult[] losses = network.EvaluateStages(out whole, "loss");
                Check.That(losses[0].Loss == whole.Loss && losses[0].Counted == Rows, "the result of the loss");
                network.InferArrays(Rows, new StageArray("rates", ArrayRole.Inputs, inputs),
                                    new StageArray("scores", ArrayRole.Outputs, scores));
                Refused(Status.ErrorInvalidArgument, "SYN-NETWORK-ARRAY",
                        () => network.SetArrays(Data.Evaluation, Rows, new StageArray("scores", ArrayRole.Labels, labels)));
            }
        }

        // An array of NumPy.
        private static string Npy(string name, string descr, string shape, Array elements)
        {
            string dictionary = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
            byte[] bytes = new byte[elements.Length * 4];
            System.Buffer.BlockCopy(elements, 0, bytes, 0, bytes.Length);
            byte[] head = { 0x93, (byte)'N', (byte)'U', (byte)'M', (byte)'P', (byte)'Y', 1, 0, 118, 0 };
            string path = System.IO.Path.GetTempFileName() + name + ".npy";
            System.IO.File.WriteAllBytes(
                path, head.Concat(System.Text.Encoding.ASCII.GetBytes(dictionary.PadRight(118))).Concat(bytes).ToArray());
            return path;
        }

        public static void RowsStayInFiles()
        {
            float[] rates = Enumerable.Range(0, Rows * Inputs).Select(i => i % 4 / 4f).ToArray();
            uint[] labels = Enumerable.Range(0, Rows).Select(row => (uint)row % 2).ToArray();
            string inputs = Npy("rates", "<f4", Rows + ", " + Inputs, rates), numbers = Npy("labels", "<u4", Rows + ",", labels);
            using (Context context = new Context(Backend.Host))
            using (Network network = Built(context))
            {
                double expected = network.Evaluate().Loss;
                var files = new[] { new DataFile(ArrayRole.Inputs, inputs, null, "rates"),
                                    new DataFile(ArrayRole.Labels, numbers) };
                Check.That(network.OpenData(Data.Evaluation, files).Evaluate().Loss == expected, "the same rows");
                var options = new DataFileOptions { BlockRows = 2, WindowBlocks = 1, Readers = 1 };
                Check.That(network.OpenData(Data.Training, options, files).Train().Epoch == 1, "an epoch");
                Refused(Status.ErrorInvalidArgument, "SYN-NETWORK-ARRAY", () => network.OpenData(Data.Training, files[0]));
            }
            System.IO.File.Delete(inputs);
            System.IO.File.Delete(numbers);
        }

        // Rows in arrays: each has its output, whatever rows are beside it.
        public static void TakesAndGivesArrays()
        {
            using (Context context = new Context(Backend.Host))
            using (Network network = Built(context))
            {
                float[] rates = Enumerable.Range(0, Rows * Inputs).Select(i => i % 5 / 5f).ToArray();
                uint[] labels = Enumerable.Range(0, Rows).Select(row => (uint)row % 2).ToArray();
                float[] all = network.Infer(rates);
                Check.Equal(all.Length, Rows * 2, "outputs");
                Check.That(network.Infer(rates.Take(Inputs).ToArray()).SequenceEqual(all.Take(2)), "the first row");
                Check.That(network.Evaluate(rates, labels).Counted == Rows, "all rows counted");
                float[] less = rates.Skip(1).ToArray();
                Refused(Status.ErrorInvalidArgument, "34", () => network.Infer(less));
                Refused(Status.ErrorInvalidArgument, "34", () => network.Evaluate(less, labels));
                Refused(Status.ErrorInvalidArgument, "whole rows of 5", () => network.Infer(new float[0]));
                Refused(Status.ErrorInvalidArgument, "f64", () => network.Infer<float, double>(rates));
            }
        }

        // Arrays of other files, frozen stages and schedules: the wrong ones are refused, and change nothing.
        public static void TuningIsChecked()
        {
            using (Context context = new Context(Backend.Host))
            using (Network network = Built(context), other = Stages(context), more = Stages(context))
            {
                other.SetValue("adam", "schedule", Schedule.Cosine).SetValue("adam", "schedule_steps", 2).Build();
                byte[] before = network.SaveToMemory(), file = other.SaveToMemory();
                Action<string, ArraySource> wrong = (words, source) => Refused(
                    Status.ErrorInvalidArgument, words, () => network.LoadArraysFromMemory(file, false, source));
                wrong("did you mean \"first.weights\"", new ArraySource("first.weights", "first.weight"));
                wrong("did you mean \"first.bias\"", new ArraySource("first.bios", "first.bias"));
                wrong("[6, 5]", new ArraySource("first.weights", "second.weights"));
                wrong("SYN-FILE-DTYPE", new ArraySource("adam.step_count", "first.bias"));
                wrong("SYN-NETWORK-LAYOUT", new ArraySource("first.weights", null, "io"));
                Refused(Status.ErrorInvalidArgument, "SYN-FILE",
                        () => network.LoadArraysFromMemory(new byte[100], false, "first.bias"));
                Refused(Status.ErrorInvalidArgument, "SYN-FILE-OPEN", () => network.LoadArrays("no such file", "first.bias"));
                network.SetValue("first", "frozen", true).SetValue("first", "frozen", false);
                Check.That(network.SaveToMemory().SequenceEqual(before), "nothing changed");
                string[] left = network.LoadArraysFromMemory(file, true, new ArraySource("first.weights", null, "oi"),
                                                             new ArraySource("second.bias", "first.bias"));
                Check.That(left.SequenceEqual(new[] { "first.bias" }), "what was left out");
                network.LoadFromMemory(file); // with its schedule
                network.Train(2);
                Refused(Status.ErrorInvalidArgument, "2 were taken", () => network.Train(1));
                // The best weights of another network.
                more.AddStage("readout", "extra", new StageValues { { "reduction", "sum" } }, "hidden").Build();
                Refused(Status.ErrorInvalidArgument, "SYN-NETWORK-OTHER", () => network.LoadFromMemory(more.SaveToMemory()));
            }
        }

        // A branch that cannot be is refused, and named.
        public static void BranchesAreChecked()
        {
            using (Context context = new Context(Backend.Host))
            using (Network network = Stages(context), more = Stages(context))
            using (Network open = new Network(context, new NetworkOptions { Steps = 4, Batch = Batch }))
            {
                Refused(Status.ErrorInvalidArgument, "SYN-NETWORK-READS",
                        () => network.AddStage("sum", "a", null, "hidden", "later"));
                Refused(Status.ErrorInvalidArgument, "SYN-NETWORK-SHAPE",
                        () => network.AddStage("sum", "a", null, "hidden", "rates"));
                Refused(Status.ErrorInvalidArgument, "SYN-COUNT-BOUND",
                        () => network.AddStage("input", "a", new StageValues {
                            { "kind", "counts" }, { "n_features", 2 }, { "bound", 256 } }));
                open.AddInput("rates", NetworkInput.Rates, Inputs).AddSynapse("first", 6);
                Refused(Status.ErrorWrongOrder, "SYN-NETWORK-INCOMPLETE", () => open.Build());
                open.AddNeurons("hidden", Model.Lif).AddStage("input", "c", new StageValues {
                    { "kind", "counts" }, { "n_features", 6 }, { "bound", 255 } });
                Refused(Status.ErrorInvalidArgument, "SYN-COUNT-BOUND",
                        () => open.AddStage("sum", "a", null, "hidden", "c"));
                // A head more than the network has.
                more.AddStage("readout", "extra", new StageValues { { "reduction", "sum" } }, "hidden").Build();
                network.Build();
                byte[] file = more.SaveToMemory();
                Refused(Status.ErrorInvalidArgument, "SYN-NETWORK-OTHER", () => network.LoadFromMemory(file));
            }
        }

        // Stages of maps that cannot be are refused, and their names stay free.
        public static void MapsAreChecked()
        {
            using (Context context = new Context(Backend.Host))
            using (Network network = new Network(context, new NetworkOptions { Steps = 2 }))
            using (Network large = new Network(context, new NetworkOptions { Steps = 2 }))
            {
                Action<string, string, StageValues> refused = (word, kind, values) =>
                    Refused(Status.ErrorInvalidArgument, word, () => network.AddStage(kind, "y", values));
                network.AddStage("input", "x", new StageValues { { "kind", "spikes" }, { "height", 3 }, { "width", 4 },
                                                                 { "channels", 6 } });
                refused("SYN-CONV-KERNEL", "conv2d", new StageValues { { "output_channels", 4 }, { "kernel", 5 } });
                refused("SYN-CONV-GROUPS", "conv2d", new StageValues { { "output_channels", 4 }, { "groups", 4 } });
                refused("SYN-POOL-WINDOW", "pool", new StageValues { { "kind", "sum" }, { "window", 5 } });
                network.AddStage("conv2d", "y", new StageValues { { "output_channels", 4 }, { "kernel", 3 } });
                Refused(Status.ErrorInvalidArgument, "[2, 1, 3x4x6] of stage \"x\" and [2, 1, 1x2x4] of stage \"y\"",
                        () => network.AddStage("sum", "z", null, "x", "y"));
                Refused(Status.ErrorInvalidArgument, "SYN-SYNAPSE-MASK", () => network.SetMask("y", new byte[10]));
                large.AddStage("input", "x", new StageValues { { "kind", "counts" }, { "bound", 255 }, { "height", 300 },
                                                               { "width", 300 }, { "channels", 1 } });
                Refused(Status.ErrorUnsupported, "SYN-POOL-BOUND",
                        () => large.AddStage("pool", "y", new StageValues { { "kind", "sum" } }));
            }
        }

        // V = (X + v_rest) / 2 with a v_rest for each channel. The loss is the mean of V^2 over four neurons, and a step
        // of SGD takes off the sum of V / 4 over the places of a channel.
        public static void ChannelsHaveParametersOfTheirOwn()
        {
            using (Context context = new Context(Backend.Host))
            using (Network network = new Network(context, new NetworkOptions { Steps = 1 }))
            using (Buffer<float> x = context.CreateBuffer<float>(new float[] { 1, 2, 3, 4 }))
            using (Buffer<float> targets = context.CreateBuffer<float>(new float[4]))
            {
                network.AddStage("input", "x", new StageValues { { "kind", "values" }, { "height", 2 },
                                                                 { "channels", 2 } })
                    .AddStage("neurons", "v", new StageValues { { "model", "li" }, { "tau", 2 } }, "x")
                    .SetScope("v", "v_rest", Scope.Channel).TrainParameter("v", "v_rest", false, 1, 0)
                    .AddStage("readout", "out", new StageValues { { "reduction", "last" } }, new StageInput("v", "v"))
                    .AddLoss("loss", LossKind.MeanSquaredError).AddOptimizer("sgd", OptimizerKind.Sgd, 1).Build();
                network.SetArrays(Data.Training, 1, new StageArray("x", ArrayRole.Inputs, x),
                                  new StageArray("loss", ArrayRole.Targets, targets));
                Check.Equal(network.Train(1).Loss, 1.875, "the loss");
                using (Layer v = network.GetLayer("v"))
                    Check.That(v.GetParameter("v_rest").SequenceEqual(new[] { -0.5, -0.75 }), "one for each channel");
            }
        }

        public static void PartsAreTheirOwn()
        {
            using (Context context = new Context(Backend.Host))
            using (Network network = Built(context))
            using (Synapse first = network.GetSynapse("first"))
            using (Synapse second = network.GetSynapse("second"))
            using (Layer hidden = network.GetLayer("hidden"))
            using (Optimizer adam = network.GetOptimizer("adam"))
            using (Buffer<float> input = network.GetBuffer<float>("input"))
            {
                float[] before = new float[6 * Inputs], after = new float[6 * Inputs];
                first.Read<float>("weight", before);
                network.Train();
                first.Read<float>("weight", after);
                Check.That(!before.SequenceEqual(after), "training changes the part's weights");
                // Weights that are written by hand are those of the next evaluation: without any, both classes are as
                // likely.
                second.Write<float>("weight", new float[12]);
                second.Write<float>("bias", new float[2]);
                NetworkResult result = network.Evaluate();
                Check.That(Math.Abs(result.Loss - Math.Log(2)) < 1e-6, "written weights count: " + result);
                Check.That(result.Accuracy == (double)result.Correct / Rows, "accuracy");
                Check.That(!result.ToString().Contains("skipped"), "nothing was skipped: " + result);
                // Gradients that are infinite in f32 change nothing, and the text says so.
                network.SetValue("loss", "gradient_scale", 1e300);
                result = network.Train();
                Check.That(result.ToString().EndsWith(", 3 of 3 batches skipped"), "skipped batches: " + result);
                network.SetValue("loss", "gradient_scale", 1.0);
                Check.That(hidden.Neurons == 6 && hidden.Steps == 4 && hidden.Batch == Batch, "a layer's shape");
                hidden.SetParameter("tau", 5);
                Check.That(network.GetValue("hidden", "tau") == 5, "a parameter that is set by hand");
                ulong[] count = new ulong[1];
                adam.Read<ulong>(-1, "step_count", count);
                Check.That(count[0] == 3, "steps of the optimiser");
                Check.That(input.Shape.SequenceEqual(new long[] { 1, Batch, Inputs }) && input.DType == DType.F32 &&
                           input.MemoryKind == MemoryKind.Pinned, "what a buffer is: " + input);
                try
                {
                    network.GetBuffer<double>("input");
                    Check.That(false, "float is not double");
                }
                catch (ArgumentException)
                {
                }
            }
        }

        public static void PartsOutliveThem()
        {
            using (Context context = new Context(Backend.Host))
            {
                Network network = Built(context);
                network.Train();
                using (Synapse first = network.GetSynapse("first"))
                using (Graph inference = network.GetGraph(NetworkGraph.Inference))
                using (Graph training = network.GetGraph(NetworkGraph.Training))
                using (Buffer<float> input = network.GetBuffer<float>("input"))
                using (Buffer<float> output = network.GetBuffer<float>("output"))
                using (Optimizer adam = network.GetOptimizer("adam"))
                {
                    network.Dispose();
                    for (int i = 0; i < 2; ++i)
                    {
                        input.Span.Fill(0.5f);
                        inference.Wait(inference.Launch());
                        training.Wait(training.Launch());
                        Check.That(output.Span.ToArray().All(score => !float.IsNaN(score)), "scores of a frame");
                    }
                    ulong[] count = new ulong[1];
                    adam.Read<ulong>(-1, "step_count", count);
                    Check.That(count[0] == 5, "replays by hand go on");
                    first.Read<float>("bias", new float[6]);
                }
                try
                {
                    network.Evaluate();
                    Check.That(false, "a closed network");
                }
                catch (ObjectDisposedException)
                {
                }
                Check.That(network.IsClosed && network.ToString() == "network (closed)", "closed");
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Abandon()
        {
            Context context = new Context(Backend.Host);
            for (int i = 0; i < 20; ++i)
            {
                Network network = Built(context);
                network.GetSynapse("first");
                network.GetGraph(NetworkGraph.Training);
                network.GetBuffer<float>("output").Span.Fill(i);
                network.Train(1);
            }
        }

        public static void TheCollectorClosesThem()
        {
            long before = SynfireLibrary.LiveHandles;
            Abandon();
            Lifetime.CollectAll();
            // Mono's collector looks at stacks conservatively, and may see a few of the last ones.
            Check.That(SynfireLibrary.LiveHandles - before < 20, "left: " + (SynfireLibrary.LiveHandles - before));
        }

        public static void WrongNamesAndOrders()
        {
            using (Context context = new Context(Backend.Host))
            using (Network network = Stages(context))
            {
                Refused(Status.ErrorWrongOrder, "SYN-NETWORK", () => network.GetSynapse("first"));
                Refused(Status.ErrorWrongOrder, "SYN-NETWORK", () => network.Train());
                Refused(Status.ErrorWrongOrder, "SYN-NETWORK", () => network.AddSynapse("third", 2));
                Refused(Status.ErrorInvalidArgument, "hidden", () => network.SetValue("hiden", "tau", 3));
                Refused(Status.ErrorInvalidArgument, "tau", () => network.SetValue("hidden", "tua", 3));
                network.SetValue("hidden", "surrogate", Surrogate.Atan).SetValue("hidden", "detach_reset", true);
                Check.That(network.GetValue("hidden", "surrogate") == (int)Surrogate.Atan &&
                           network.GetValue("hidden", "detach_reset") == 1, "constants and flags are values");
                Check.Throws<ArgumentNullException>(() => network.SetMask("first", null), "no mask");
                Check.Throws<ArgumentNullException>(() => network.SetClassWeights("loss", null), "no weights of classes");
                network.Build();
                using (Layer hidden = network.GetLayer("hidden"))
                    Check.Throws<ArgumentNullException>(
                        () => hidden.SetParameter("tau", new ReadOnlySpan<double>(null)), "no values");
                Refused(Status.ErrorWrongOrder, "SYN-NETWORK", () => network.Build());
                Refused(Status.ErrorInvalidArgument, "first", () => network.GetSynapse("firts"));
                Refused(Status.ErrorInvalidArgument, "hidden", () => network.GetSynapse("hidden"));
                Refused(Status.ErrorInvalidArgument, "input", () => network.GetBuffer<float>("inputs"));
                Refused(Status.ErrorWrongOrder, "SYN-NETWORK", () => network.GetGraph(NetworkGraph.Training));
                // Rows that do not fit the labels: too few, too many, and a part of one more.
                foreach (int size in new[] { 0, 9, 11, 15 })
                {
                    Refused(Status.ErrorInvalidArgument, "inputs has " + size + " elements and labels 2",
                            () => network.SetData(Data.Training, new float[size], new uint[2]));
                    Refused(Status.ErrorInvalidArgument, "SYN-NETWORK-DATA",
                            () => network.SetData(Data.Training, new float[size], new uint[2]));
                }
                Refused(Status.ErrorInvalidArgument, "row 1",
                        () => network.SetData(Data.Training, new float[10], new uint[] { 0, 2 }));
                Check.That(network.Summary().Contains("hidden") && network.ToDot().StartsWith("digraph"), "texts");
            }
        }

        public static void Files()
        {
            string path = Path.Combine(Path.GetTempPath(), Path.GetRandomFileName() + new string('n', 100));
            using (Context context = new Context(Backend.Host))
            using (Network network = Built(context))
            using (Network other = Built(context))
            {
                network.Train(2);
                double expected = network.Evaluate().Loss;
                byte[] file = network.SaveToMemory();
                Refused(Status.ErrorInvalidArgument, "SYN-", () => other.LoadFromMemory(file.Skip(1).ToArray()));
                Refused(Status.ErrorInvalidArgument, "SYN-", () => other.LoadFromMemory(new byte[0]));
                Check.Throws<ArgumentNullException>(() => other.LoadFromMemory(null), "no file");
                Check.Throws<ArgumentNullException>(() => Network.FromMemory(context, null), "a network of no file");
                Check.That(other.Evaluate().Loss != expected, "nothing has changed");
                Check.That(other.LoadFromMemory(file).Evaluate().Loss == expected, "loaded from memory");
                network.Save(path);
                Check.That(File.ReadAllBytes(path).SequenceEqual(file), "the file has the bytes");
                using (Network loaded = Network.FromFile(context, path))
                    Check.That(loaded.SaveToMemory().SequenceEqual(file), "a network from a file");
                using (Network smaller = Network.FromMemory(context, file,
                                                            new NetworkFileOptions { Inference = true, Batch = 1 }))
                using (Buffer<float> output = smaller.GetBuffer<float>("output"))
                    Check.That(output.Length == 2, "another batch");
                // A network for a loop, which replaces what is not finite and counts it.
                using (Network looped = Network.FromMemory(context, file,
                                                           new NetworkFileOptions { ReplaceNonfinite = true }))
                using (Buffer<float> rates = context.CreateBuffer<float>(MemoryKind.Host, Inputs))
                using (Buffer<float> scores = context.CreateBuffer<float>(MemoryKind.Host, 2))
                using (Buffer<ulong> replaced = looped.GetBuffer<ulong>("n_replaced"))
                {
                    new[] { 0.5f, float.NaN, 0, float.PositiveInfinity, 1 }.CopyTo(rates.Span);
                    looped.Infer(rates, 1, scores);
                    Check.That(replaced.Span[0] == 2, "two numbers are replaced");
                }
                // A program asks for arrays, monitors, and readouts that continue.
                var asked = new NetworkFileOptions { Keep = "hidden.v hidden.counts hidden.monitor", Continues = true };
                using (Network watched = Network.FromMemory(context, file, asked))
                using (Buffer<float> v = watched.GetBuffer<float>("hidden.v"))
                {
                    NetworkMonitor hidden = watched.GetMonitor("hidden", true);
                    Check.That(v.Length > 0 && hidden.Replays == 0 && double.IsNaN(hidden.WeightNorm), "it is kept");
                    Check.That(watched.GetValue("scores", "continues") == 1, "the readout continues");
                    Refused(Status.ErrorInvalidArgument, "SYN-NETWORK-MONITOR", () => watched.GetMonitor("scores"));
                }
                Refused(Status.ErrorWrongOrder, "SYN-NETWORK-NOT-KEPT", () => network.GetBuffer<float>("hidden.v"));
                Refused(Status.ErrorWrongOrder, "SYN-NETWORK-BUILT", () => network.Keep("hidden.v"));
                Refused(Status.ErrorInvalidArgument, "did you mean \"hidden.spikes\"",
                        () => Network.FromMemory(context, file, new NetworkFileOptions { Keep = "hidden.spike" }));
                network.Train(2);
                Check.That(network.Load(path).SaveToMemory().SequenceEqual(file), "loaded from a file");
                File.Delete(path);
                Refused(Status.ErrorInvalidArgument, "SYN-", () => network.Load(path));
            }
        }

        // The file with another header, in which a text stands for another.
        private static byte[] WithHeader(byte[] file, string from, string to)
        {
            int end = 8 + (int)BitConverter.ToInt64(file, 0);
            string header = Encoding.UTF8.GetString(file, 8, end - 8);
            int at = header.IndexOf(from, StringComparison.Ordinal);
            Check.That(at >= 0, from + " in " + header);
            byte[] changed = Encoding.UTF8.GetBytes(header.Substring(0, at) + to + header.Substring(at + from.Length));
            return BitConverter.GetBytes((long)changed.Length).Concat(changed).Concat(file.Skip(end)).ToArray();
        }

        public static void BadFilesChangeNothing()
        {
            using (Context context = new Context(Backend.Host))
            using (Network network = Built(context))
            using (Network other = new Network(context, new NetworkOptions { Steps = 4, Batch = Batch }))
            {
                network.Train(1);
                byte[] file = network.SaveToMemory();
                other.AddInput("rates", NetworkInput.Rates, Inputs);
                // Stages that do not chain.
                Refused(Status.ErrorWrongOrder, "rates", () => other.AddNeurons("hidden", Model.Lif));
                Refused(Status.ErrorWrongOrder, "SYN-NETWORK", () => other.AddLoss("loss", LossKind.CrossEntropy));
                other.AddSynapse("first", 7).AddNeurons("hidden", Model.Lif).Build();
                var cases = new[]
                {
                    Tuple.Create(other.SaveToMemory(), "SYN-NETWORK-OTHER"),
                    Tuple.Create(file.Take(file.Length - 1).ToArray(), "SYN-FILE-"),
                    Tuple.Create(file.Take(100).ToArray(), "SYN-FILE-"),
                    Tuple.Create(BitConverter.GetBytes(-1L).Concat(file.Skip(8)).ToArray(), "SYN-FILE-LENGTH"),
                    Tuple.Create(WithHeader(file, "\"shape\":[6,5]", "\"shape\":[4611686018427387904,4]"), "SYN-FILE-"),
                    Tuple.Create(WithHeader(file, "kind=neurons", "kind=words"), "SYN-NETWORK-FILE"),
                };
                foreach (var one in cases)
                {
                    Refused(Status.ErrorInvalidArgument, one.Item2, () => network.LoadFromMemory(one.Item1));
                    Check.That(network.SaveToMemory().SequenceEqual(file), "nothing has changed: " + one.Item2);
                    if (one.Item2 != "SYN-NETWORK-OTHER")
                        Refused(Status.ErrorInvalidArgument, one.Item2, () => Network.FromMemory(context, one.Item1));
                }
                // The list of words that a network names is that after which its last neurons are called.
                Refused(Status.ErrorInvalidArgument, "potentials", () => network.GetLayer("digits"));
            }
        }

        // Each call of two threads is done, or refused.
        public static void TwoThreads()
        {
            using (Context context = new Context(Backend.Host))
            using (Network network = Built(context))
            {
                Exception thrown = null;
                ThreadStart train = () =>
                {
                    for (int i = 0; i < 20; ++i)
                    {
                        try
                        {
                            network.Train();
                        }
                        catch (SynfireException problem)
                        {
                            if (problem.Status != Status.ErrorBusy) thrown = problem;
                        }
                    }
                };
                Thread other = new Thread(train);
                other.Start();
                train();
                other.Join();
                Check.That(thrown == null, "only busy: " + thrown);
                Check.That(network.Evaluate().Counted == Rows, "usable afterwards");
            }
        }
    }
}
