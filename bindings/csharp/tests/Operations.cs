// Operations.cs - operations by their classes of arguments: recorded, run now, refused, and what a graph keeps of them.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;

namespace Synfire.Tests
{
    public static class Operations
    {
        private static readonly Context context_ = new Context(Backend.Host);

        private static float[] Elements(Buffer<float> buffer)
        {
            float[] all = new float[buffer.Length];
            buffer.Download(all);
            return all;
        }

        private static void Same<T>(IEnumerable<T> got, IEnumerable<T> wanted, string what)
        {
            Check.That(got.SequenceEqual(wanted), what + ": got " + string.Join(" ", got));
        }

        public static void RunNow()
        {
            using (Layer layer = new Layer(context_, steps: 2, neurons: 3, options: new LayerOptions { Batch = 2 }))
            using (Layer other = new Layer(context_, steps: 2, neurons: 3, options: new LayerOptions { Batch = 2 }))
            using (Buffer<float> x = layer.CreateSequence<float>())
            using (Buffer<float> v = layer.CreateState<float>())
            using (Buffer<float> spikes = layer.CreateSequence<float>())
            using (Buffer<uint> bits = layer.CreateSpikes())
            using (Buffer<ulong> total = context_.CreateBuffer<ulong>(MemoryKind.Device, 1))
            using (Buffer<byte> mask = context_.CreateBuffer<byte>(new byte[] { 0, 1 }))
            {
                x.Fill(10);
                layer.Forward(new ForwardArguments { X = x, Spikes = bits });
                context_.ConvertSpikes(new ConvertSpikesArguments { Steps = 2, Neurons = 3, Batch = 2, Source = bits,
                                                                    Destination = spikes });
                Same(Elements(spikes), Enumerable.Repeat(1f, 12), "spikes");
                context_.CountSpikes(new CountSpikesArguments { Kind = CountKind.Total, Steps = 2, Neurons = 3,
                                                                Batch = 2, Spikes = bits, Counts = total });
                Check.Equal(total[0], 12ul, "their number");
                context_.ScaleAdd(new ScaleAddArguments { Source = spikes, Destination = x, Scale = -1, Keep = 0.5 });
                Same(Elements(x), Enumerable.Repeat(4f, 12), "a sum");
                x.Fill(1);
                context_.EncodeBernoulli(new EncodeBernoulliArguments { Steps = 2, Neurons = 3, Batch = 2, Rates = x,
                                                                        Spikes = spikes, RatesPerStep = true });
                Same(Elements(spikes), Enumerable.Repeat(1f, 12), "rates of 1");
                Combined(bits, spikes);

                v.Upload(new float[] { 1, 2, 3, 4, 5, 6 });
                layer.WriteRows(new WriteRowsArguments { Buffer = v });
                layer.ResetRows(new ResetRowsArguments { Buffer = mask });
                other.CopyRows(new CopyRowsArguments { Source = layer, FirstRow = 0, Rows = 1, DestinationRow = 1 });
                layer.ReadRows(new ReadRowsArguments { Name = "v", Buffer = v });
                Same(Elements(v), new float[] { 1, 2, 3, 0, 0, 0 }, "rows, the second of them reset");
                other.ReadRows(new ReadRowsArguments { Buffer = v });
                Same(Elements(v), new float[] { 0, 0, 0, 1, 2, 3 }, "rows of another layer");
            }
        }

        // Twelve spikes in two formats.
        private static void Combined(Buffer<uint> bits, Buffer<float> spikes)
        {
            using (Buffer<byte> counts = context_.CreateBuffer<byte>(new byte[12]))
            using (Buffer<float> sum = context_.CreateBuffer<float>(new float[12]))
            using (Buffer<float> part = context_.CreateBuffer<float>(new float[8]))
            {
                context_.Combine(new CombineArguments { Steps = 2, Neurons = 3, Batch = 2, Sources = { bits, spikes },
                                                        Destination = counts });
                context_.Combine(new CombineArguments { Steps = 2, Neurons = 3, Batch = 2, Sources = { counts, spikes },
                                                        Bounds = { 2, 0 }, Destination = sum });
                Same(Elements(sum), Enumerable.Repeat(3f, 12), "counts of two and a spike");
                context_.CombineBackward(new CombineBackwardArguments {
                    Kind = Combine.Concatenate, Steps = 2, Neurons = 3, Batch = 2, Channels = { 1, 2 }, Source = 1,
                    GradDestination = sum, GradSource = part });
                Same(Elements(part), Enumerable.Repeat(3f, 8), "the channels of the second source");
                context_.GroupMean(new GroupMeanArguments { Steps = 2, Groups = 2, GroupSize = 3, Source = sum,
                                                            Destination = part });
                context_.GroupMeanBackward(new GroupMeanBackwardArguments {
                    Steps = 2, Groups = 2, GroupSize = 3, GradDestination = part, GradSource = sum, Accumulate = true });
                Same(Elements(sum), Enumerable.Repeat(4f, 12), "a mean that is spread");
            }
        }

        // Objects that nothing but the graph refers to when it is replayed.
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static Graph Record(Buffer<float> gradient, Buffer<float> result)
        {
            Layer layer = new Layer(context_, steps: 1, neurons: 3), source = new Layer(context_, steps: 1, neurons: 3);
            source.WriteState<float>("v", new float[] { 0.1f, 0.2f, 0.3f });
            Buffer<float> x = layer.CreateSequence<float>();
            Buffer<float> first = context_.CreateBuffer<float>(new float[] { 7, 8, 9 });
            x.Fill(3);
            return Graph.Record(context_, graph =>
                graph.CopyRows(layer, new CopyRowsArguments { Source = source })
                    .ReadRows(layer, new ReadRowsArguments { Name = "v", Buffer = result })
                    .Forward(layer, new ForwardArguments { X = x })
                    .Fill(new FillArguments { Buffer = gradient, Value = 1 })
                    .Backward(layer, new BackwardArguments { GradSpikeSeq = x,
                                                             ParameterGradients = { { "tau", gradient } } })
                    .UpdateParameter(layer, new UpdateParameterArguments { Name = "tau", Gradient = gradient })
                    .Copy(new CopyArguments { Source = first, Destination = result, SourceOffset = 4, Bytes = 4 })
                    .Snapshot(layer, new SnapshotArguments { Buffer = SnapshotOf(layer) }));
        }

        private static Buffer<byte> SnapshotOf(Layer layer)
        {
            return context_.CreateBuffer<byte>(MemoryKind.Device, layer.Snapshot().Length);
        }

        public static void SynapsesAndOptimisersRunNow()
        {
            SynapseOptions options = new SynapseOptions { Inputs = 4, Outputs = 3, Bias = true, Seed = 7 };
            using (Synapse synapse = new Synapse(context_, options))
            using (Optimizer optimizer = new Optimizer(context_, new OptimizerOptions { Kind = OptimizerKind.Adam }))
            using (Buffer<float> output = context_.CreateBuffer<float>(MemoryKind.Device, 6))
            using (Buffer<byte> input = context_.CreateBuffer<byte>(MemoryKind.Device, 8))
            {
                float[] weight = Enumerable.Range(1, 12).Select(i => (float)i).ToArray(), read = new float[12];
                synapse.Write<float>("weight", weight);
                synapse.Read<float>("weight", read);
                Same(read, weight, "weights");
                synapse.Write<float>("bias", new float[3]);
                input.Upload(new byte[] { 1, 1, 1, 1, 0, 1, 0, 0 });
                synapse.Forward(new SynapseForwardArguments { Steps = 1, Batch = 2, Input = input, Output = output });
                Same(Elements(output), new float[] { 10, 26, 42, 2, 6, 10 }, "y");
                synapse.Backward(new SynapseBackwardArguments { Steps = 1, Batch = 2, GradOutput = output, Input = input });
                optimizer.AddWeights(synapse, 1, 1);
                optimizer.Step(new OptimizerStepArguments());
                ulong[] count = new ulong[1];
                optimizer.Read<ulong>(Optimizer.Itself, "step_count", count);
                Check.That(count[0] == 1, "one step");
                optimizer.Read<float>(0, "moment1", read);
                optimizer.Write<float>(0, "moment1", read);
                Check.That(Synapse.QueryMemory(context_, options).WeightBytes == 60, "bytes of weights and bias");
                Check.That(synapse.Info.Kind == "dense" && synapse.Info.OutputChannels == 3, "what it is");
                Same(synapse.GetArrayInfo(0).Shape, new long[] { 3, 4, 0, 0 }, "the shape of the weights");
                Check.That(synapse.Info.GradientBits == 24 && synapse.GetRounding(-1).HasGrid, "its bits and its grid");
            }
            OneToOneOptions scale = new OneToOneOptions { Channels = 4, Scope = Scope.Channel, InitialWeight = 3 };
            using (Synapse synapse = Synapse.OneToOne(context_, scale))
            using (Optimizer optimizer = new Optimizer(context_))
            using (Buffer<float> output = context_.CreateBuffer<float>(MemoryKind.Device, 8))
            using (Buffer<byte> input = context_.CreateBuffer<byte>(MemoryKind.Device, 8))
            {
                Check.That(synapse.Info.Kind == "one_to_one", "what it is");
                Check.That(Synapse.QueryMemory(context_, scale).WeightBytes == 16, "bytes of weights");
                input.Upload(new byte[] { 1, 1, 1, 1, 0, 1, 0, 0 });
                synapse.Forward(new SynapseForwardArguments { Steps = 1, Batch = 2, Input = input, Output = output });
                Same(Elements(output), new float[] { 3, 3, 3, 3, 0, 3, 0, 0 }, "y");
                optimizer.AddArray(synapse, "weight", 1, 1);
                optimizer.Step(new OptimizerStepArguments());
            }
            Convolution(context_);
            Cells(context_);
            Delays(context_);
        }

        // Two cells for each of two numbers.
        private static void Cells(Context context)
        {
            PopulationOptions options = new PopulationOptions { Channels = 2, Cells = 2, Lower = -1, Upper = 1, Sigma = 1 };
            using (Synapse synapse = Synapse.Population(context, options))
            using (Buffer<float> output = context.CreateBuffer<float>(MemoryKind.Device, 4))
            using (Buffer<float> input = context.CreateBuffer<float>(MemoryKind.Device, 2))
            {
                Check.That(synapse.Info.Kind == "population" && synapse.Info.OutputChannels == 4, "what it is");
                Check.That(Synapse.QueryMemory(context, options).WeightBytes == 32, "bytes of mu and sigma");
                float[] mu = new float[4];
                synapse.Read<float>("mu", mu);
                Same(mu, new float[] { -1, 1, -1, 1 }, "mu");
                input.Upload(new float[] { -1, 1 });
                synapse.Forward(new SynapseForwardArguments { Steps = 1, Batch = 1, Input = input, Output = output });
                Check.That(Elements(output)[0] == 1 && Elements(output)[3] == 1 && Elements(output)[1] < 0.2f, "y");
            }
        }

        // A spike that arrives a step later.
        private static void Delays(Context context)
        {
            DelayedOptions options = new DelayedOptions { Inputs = 1, Outputs = 1, MaxDelay = 2 };
            options.Delays.Add(1);
            using (Synapse synapse = Synapse.Delayed(context, options))
            using (Buffer<float> output = context.CreateBuffer<float>(MemoryKind.Device, 3))
            using (Buffer<float> input = context.CreateBuffer<float>(MemoryKind.Device, 3))
            {
                Check.That(synapse.Info.Kind == "delayed", "what it is");
                Check.That(Synapse.QueryMemory(context, options).WeightBytes == 8, "bytes of the weight and the delay");
                synapse.Write<float>("weight", new float[] { 3 });
                input.Upload(new float[] { 1, 0, 0 });
                synapse.Forward(new SynapseForwardArguments { Steps = 3, Batch = 1, Input = input, Output = output });
                Same(Elements(output), new float[] { 0, 3, 0 }, "y");
            }
        }

        // Kernels of two weights over maps of four places.
        private static void Convolution(Context context)
        {
            Conv2dOptions options =
                new Conv2dOptions { Channels = 1, OutputChannels = 2, Width = 4, KernelWidth = 2, WeightBits = 8,
                                    Mask = { 1, 1, 1, 1 } };
            using (Synapse synapse = Synapse.Conv2d(context, options))
            using (Buffer<float> output = context.CreateBuffer<float>(MemoryKind.Device, 12))
            using (Buffer<byte> input = context.CreateBuffer<byte>(MemoryKind.Device, 8))
            {
                Check.That(synapse.Info.Kind == "conv2d" && synapse.Info.OutputWidth == 3, "what it is");
                Check.That(Synapse.QueryMemory(context, options).WeightBytes == 24, "bytes of weights and mask");
                synapse.Write<float>("weight", new float[] { 1, 2, 10, 20 });
                int[] integers = new int[4];
                synapse.ReadIntegers("weight", integers);
                Same(integers, new int[] { 32, 64, 40, 80 }, "integers");
                input.Upload(new byte[] { 1, 1, 1, 1, 0, 1, 0, 0 });
                synapse.Forward(new SynapseForwardArguments { Steps = 1, Batch = 2, Input = input, Output = output });
                Same(Elements(output), new float[] { 3, 30, 3, 30, 3, 30, 2, 20, 1, 10, 0, 0 }, "y");
            }
        }

        // Spikes, dL/dW and dL/d(input), which are then cleared.
        private static float[] Results(Synapse synapse, params Buffer<float>[] written)
        {
            float[] gradient = new float[12], cleared = Enumerable.Repeat(-1f, 12).ToArray();
            synapse.Read<float>("weight_gradient", gradient);
            float[] all = written.SelectMany(Elements).Concat(gradient).ToArray();
            synapse.Write<float>("weight_gradient", cleared);
            foreach (Buffer<float> buffer in written) buffer.Fill(-1);
            return all;
        }

        public static void ASynapseInThePlaceOfX()
        {
            using (Synapse synapse = new Synapse(context_, new SynapseOptions { Inputs = 4, Outputs = 3, Gain = 3 }))
            using (Layer layer = new Layer(context_, steps: 2, neurons: 3))
            using (Buffer<byte> input = context_.CreateBuffer<byte>(MemoryKind.Device, 8))
            using (Buffer<float> x = layer.CreateSequence<float>(), spikes = layer.CreateSequence<float>())
            using (Buffer<float> grad = layer.CreateSequence<float>(), gradX = layer.CreateSequence<float>())
            using (Buffer<float> rest = layer.CreateState<float>())
            using (Buffer<float> gradInput = context_.CreateBuffer<float>(MemoryKind.Device, 8))
            using (Graph graph = new Graph(context_))
            {
                input.Upload(new byte[] { 1, 0, 1, 1, 0, 1, 1, 0 });
                grad.Fill(1);
                synapse.Forward(new SynapseForwardArguments { Steps = 2, Input = input, Output = x });
                layer.Forward(new ForwardArguments { X = x, Spikes = spikes, VInit = rest });
                layer.Backward(new BackwardArguments { GradSpikeSeq = grad, GradXSeq = gradX });
                synapse.Backward(new SynapseBackwardArguments
                {
                    Steps = 2, GradOutput = gradX, Input = input, GradInput = gradInput
                });
                float[] apart = Results(synapse, spikes, gradInput);
                Check.That(apart.Distinct().Count() > 3, "gradients");

                var forward = new ForwardArguments
                {
                    Synapse = synapse, SynapseInput = input, Spikes = spikes, VInit = rest
                };
                var backward = new BackwardArguments { GradSpikeSeq = grad, GradSynapseInput = gradInput };
                layer.Forward(forward);
                layer.Backward(backward);
                Same(Results(synapse, spikes, gradInput), apart, "one after the other");
                graph.Forward(layer, forward).Backward(layer, backward).Instantiate();
                graph.Wait(graph.Launch());
                Same(Results(synapse, spikes, gradInput), apart, "in a graph");

                forward.X = x;
                Check.Status(Status.ErrorInvalidArgument, () => layer.Forward(forward), "X and a synapse");
                forward.X = forward.SynapseInput = null;
                Missing(() => layer.Forward(forward), "SynapseInput");
                Missing(() => context_.Loss(new LossArguments { Source = x, Classes = 3, Loss = rest }), "Labels");
            }
        }

        // Two neurons that wake each other: a spike goes back and forth, also from one call to the next.
        public static void ALayerThatReadsItsOwnSpikes()
        {
            var options = new SynapseOptions { Inputs = 2, Outputs = 2, NoSelfConnections = true };
            using (Synapse back = new Synapse(context_, options))
            using (Layer layer = new Layer(context_, steps: 3, neurons: 2,
                                           options: new LayerOptions { Model = Model.If, HistorySteps = 1 }))
            using (Buffer<float> x = layer.CreateSequence<float>(), spikes = layer.CreateSequence<float>())
            using (Buffer<float> grad = layer.CreateSequence<float>())
            {
                var weights = new float[] { 1, 1, 1, 1 };
                back.Write<float>("weight", weights);
                back.Read<float>("weight", weights);
                Same(weights, new float[] { 0, 1, 1, 0 }, "weights");
                x.Upload(new float[] { 1, 0, 0, 0, 0, 0 });
                grad.Fill(1);
                var forward = new ForwardArguments { X = x, RecurrentSynapse = back, RecurrentDelay = 1, Spikes = spikes };
                layer.Forward(forward);
                Same(Elements(spikes), new float[] { 1, 0, 0, 1, 1, 0 }, "spikes");
                layer.Backward(new BackwardArguments { GradSpikeSeq = grad });
                back.Read<float>("weight_gradient", weights);
                Check.That(weights[0] == 0 && weights[1] > 0 && weights[2] > 0 && weights[3] == 0, "gradients");
                x.Fill(0);
                layer.Forward(forward);
                Same(Elements(spikes), new float[] { 0, 1, 1, 0, 0, 1 }, "spikes of the next call");
            }
        }

        public static void EventsOfACamera()
        {
            // Column 1 became darker in the first step, column 0 brighter in the second.
            using (Buffer<ulong> events = context_.CreateBuffer<ulong>(new ulong[] { 3 | 1ul << 32, 15 | 1ul << 60 }))
            using (Buffer<uint> eventCounts = context_.CreateBuffer<uint>(MemoryKind.Device, DType.U32, 0, 1))
            using (Buffer<uint> faults = context_.CreateBuffer<uint>(MemoryKind.Device, DType.U32, 0, 5))
            using (Buffer<float> counts = context_.CreateBuffer<float>(new float[8]))
            using (Graph graph = new Graph(context_))
            {
                eventCounts.Upload(new uint[] { 2 });
                BinEventsArguments bins =
                    new BinEventsArguments { Steps = 2, Capacity = 2, SensorHeight = 1, SensorWidth = 2, TicksPerStep = 10,
                                             Events = events, EventCounts = eventCounts, Destination = counts,
                                             Faults = faults };
                graph.BinEvents(bins).Instantiate();
                graph.Wait(graph.Launch());
                Same(Elements(counts), new float[] { 0, 0, 1, 0, 0, 1, 0, 0 }, "counts by time");
                bins.Split = EventsBy.Count;
                bins.TicksPerStep = 0;
                bins.FlipX = 1;
                context_.BinEvents(bins);
                Same(Elements(counts), new float[] { 1, 0, 0, 0, 0, 0, 0, 1 }, "counts by count, mirrored");
                bins.SensorWidth = 1;
                Check.Status(Status.ErrorInvalidArgument, () => context_.BinEvents(bins), "an event outside of the sensor");
            }
        }

        public static void AGraphKeepsWhatArgumentsName()
        {
            using (Buffer<float> gradient = context_.CreateBuffer<float>(MemoryKind.Device, 1))
            using (Buffer<float> result = context_.CreateBuffer<float>(MemoryKind.Device, 3))
            {
                long before = SynfireLibrary.LiveHandles;
                using (Graph graph = Record(gradient, result))
                {
                    Lifetime.CollectAll();
                    Check.Equal(SynfireLibrary.LiveHandles, before + 6, "the graph, two layers and three buffers");
                    graph.Wait(graph.Launch());
                    Same(Elements(result), new float[] { 8, 0.2f, 0.3f }, "the state, its first number copied over");
                    Check.That(gradient[0] != 1 && gradient[0] != 0, "a gradient of a parameter");
                }
            }
        }

        private static void Missing(Action call, string property)
        {
            ArgumentNullException problem = Check.Throws<ArgumentNullException>(call, "no " + property);
            if (problem != null) Check.Equal(problem.ParamName, property, "what is missing");
        }

        public static void WhatIsMissing()
        {
            using (Layer layer = new Layer(context_, steps: 1, neurons: 3))
            using (Buffer<float> x = layer.CreateSequence<float>())
            using (Graph graph = new Graph(context_))
            {
                Missing(() => graph.Copy(null), "arguments");
                Missing(() => graph.Copy(new CopyArguments { Source = x }), "Destination");
                Missing(() => graph.Forward(null, new ForwardArguments { X = x }), "layer");
                Missing(() => graph.Forward(layer, new ForwardArguments()), "X");
                Missing(() => graph.UpdateParameter(layer, new UpdateParameterArguments { Gradient = x }), "Name");
                Missing(() => layer.CopyRows(new CopyRowsArguments()), "Source");
                Missing(() => context_.ConvertSpikes(new ConvertSpikesArguments { Source = x }), "Destination");
                BackwardArguments backward = new BackwardArguments { ParameterGradients = { { "tau", null } } };
                Missing(() => graph.Backward(layer, backward), "ParameterGradients");
                Check.Status(Status.ErrorInvalidArgument,
                             () => context_.ConvertSpikes(new ConvertSpikesArguments { Source = x, Destination = x,
                                                                                       Steps = -1, Neurons = 3 }),
                             "-1 steps");
                Check.Status(Status.ErrorWrongOrder, () => graph.Instantiate(), "nothing was recorded");
            }
        }

        // More gradients than anybody has parameters: the C library refuses them, not the binding.
        public static void AListMayBeLong()
        {
            using (Layer layer = new Layer(context_, steps: 1, neurons: 3))
            using (Buffer<float> x = layer.CreateSequence<float>())
            {
                BackwardArguments backward = new BackwardArguments { GradXSeq = x };
                for (int i = 0; i < 1000; ++i) backward.ParameterGradients["parameter" + i] = x;
                layer.Forward(new ForwardArguments { X = x });
                Check.Status(Status.ErrorInvalidArgument, () => layer.Backward(backward), "1,000 gradients");
            }
        }
    }
}
