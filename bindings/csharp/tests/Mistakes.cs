// Mistakes.cs - bad input: an exception that says what was wrong, and nothing left behind.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Linq;
using Synfire.Raw;

namespace Synfire.Tests
{
    public static unsafe class Mistakes
    {
        private static readonly Context context_ = new Context(Backend.Host);
        private static readonly Layer layer_ = new Layer(context_, steps: 3, neurons: 4);
        private static readonly Buffer<float> x_ = layer_.CreateSequence<float>();
        private static readonly Graph graph_ =
            Graph.Record(context_, g => g.Forward(layer_, new ForwardArguments { X = x_ }));

        private static void Refused<T>(Buffer<T> wrong, Status status, string what) where T : struct
        {
            using (wrong)
            {
                Check.Status(status, () => layer_.Forward(new ForwardArguments { X = wrong }), what + " as X");
                Check.Status(status, () => layer_.Forward(new ForwardArguments { X = x_, VSeq = wrong }),
                             what + " as V");
                Check.Status(status,
                             () => Graph.Record(context_, g => g.Forward(layer_, new ForwardArguments { X = wrong })),
                             what + ", recorded");
            }
        }

        public static void WhatAnErrorCarries()
        {
            SynfireException problem = Check.Throws<SynfireException>(() => layer_.SetParameter("tau", -1), "tau = -1");
            Check.Equal(problem.Status, Status.ErrorInvalidArgument, "status");
            Check.That(problem.RuleId.StartsWith("SYN-", StringComparison.Ordinal) && problem.Text.Contains("-1") &&
                           problem.CudaError == 0,
                       "parts");
            Check.Contains(problem.Message, "SYNFIRE_ERROR_INVALID_ARGUMENT [" + problem.RuleId + "]: " + problem.Text);
            Check.Equal(layer_.GetParameter("tau")[0], 2.0, "tau afterwards");
            Check.Equal(SynfireLibrary.StatusName(-8), "SYNFIRE_ERROR_STALE_TAPE", "name of a status");
            Check.Equal(SynfireLibrary.StatusName(12345), "SYNFIRE_UNKNOWN_STATUS", "name of an unknown status");
        }

        public static void Lengths()
        {
            Refused(context_.CreateBuffer<float>(MemoryKind.Device, 3, 3), Status.ErrorInvalidArgument, "9 elements");
            Refused(context_.CreateBuffer<float>(MemoryKind.Device, 11), Status.ErrorInvalidArgument, "11 elements");
            Check.Status(Status.ErrorInvalidArgument, () => layer_.SetParameter("tau", new[] { 1.0, 2.0, 3.0 }),
                         "three values for four neurons");
            Check.Status(Status.ErrorInvalidArgument, () => layer_.SetParameter("tau", new double[0]), "no values");
            Check.Status(Status.ErrorInvalidArgument, () => layer_.ReadState<float>("v", new float[3]),
                         "3 of 4 states");
            Check.Throws<ArgumentException>(() => x_.Upload(new float[13]), "13 of 12 elements");
            Check.Throws<ArgumentException>(() => x_.Upload(new float[3], 10), "3 elements from 10 on");
            Check.Throws<ArgumentException>(() => x_.Download(new float[13]), "13 of 12 elements back");
            Check.Throws<ArgumentException>(() => x_.CopyFrom(new float[4, 3]), "the shape turned round");
            Check.Throws<ArgumentException>(() => x_.CopyFrom(new float[12]), "another rank");
            Check.Throws<ArgumentException>(() => context_.Borrow<float>(new float[5], 2, 3), "5 elements as [2, 3]");
            Check.Throws<IndexOutOfRangeException>(() => x_[3, 0] = 1, "row 3 of 3");
            Check.Throws<IndexOutOfRangeException>(() => x_[0, -1] = 1, "column -1");
            Check.Throws<ArgumentException>(() => x_[0] = 1, "one index for two dimensions");
        }

        public static void ElementTypes()
        {
            Refused(context_.CreateBuffer<double>(MemoryKind.Device, 3, 4), Status.ErrorInvalidArgument, "f64");
            Refused(context_.CreateBuffer<uint>(MemoryKind.Device, 3, 4), Status.ErrorInvalidArgument, "bits");
            Check.Throws<ArgumentException>(() => context_.CreateBuffer<int>(MemoryKind.Device, 4), "int");
            Check.Throws<ArgumentException>(() => context_.CreateBuffer<DateTime>(MemoryKind.Device, 4), "DateTime");
            Check.Throws<ArgumentException>(() => context_.CreateBuffer<float>(MemoryKind.Device, DType.F64, 0, 4),
                                            "float as f64");
            Check.Throws<ArgumentException>(() => context_.CreateBuffer<float>(MemoryKind.Device, (DType)77, 0, 4),
                                            "type 77");
            Check.Throws<ArgumentException>(() => context_.CreateBuffer<uint>(new int[4]), "int[] as uint");
            Check.Throws<ArgumentException>(() => context_.CreateBuffer<float>(new[] { new float[3], new float[3] }),
                                            "an array of arrays");
            Check.Throws<ArgumentException>(() => x_.CopyTo(new double[3, 4]), "double[,]");
            Check.Throws<ArgumentException>(() => layer_.ReadState<double>("v", new double[4]), "a state as double");
        }

        public static void MemoryAndContexts()
        {
            Check.Status(Status.ErrorInvalidArgument, () => context_.CreateBuffer<float>((MemoryKind)17, 4),
                         "memory 17");
            Check.Status(Status.ErrorInvalidArgument, () => new Context(Backend.Host, threads: -1), "-1 threads");
            Check.Status(Status.ErrorInvalidArgument, () => new Context((Backend)9), "backend 9");
            Check.Throws<ArgumentNullException>(() => context_.Borrow<float>(null, MemoryKind.Host, 4),
                                                "the address 0");
            Check.Status(Status.ErrorInvalidArgument, () => context_.Borrow<float>((void*)3, MemoryKind.Host, 4),
                         "an odd address");
            Check.Status(Status.ErrorInvalidArgument, () => graph_.Launch((IntPtr)8), "a stream on the host");
            using (Context other = new Context(Backend.Host))
                Refused(other.CreateBuffer<float>(MemoryKind.Device, 3, 4), Status.ErrorInvalidHandle,
                        "a buffer of another context");
        }

        public static void ClosedObjects()
        {
            Layer layer = new Layer(context_, steps: 3, neurons: 4);
            Buffer<float> x = layer.CreateSequence<float>();
            Graph graph = new Graph(context_);
            Context context = new Context(Backend.Host);
            for (int twice = 0; twice < 2; ++twice)
                foreach (SynfireObject closed in new SynfireObject[] { layer, x, graph, context }) closed.Dispose();
            Check.That(layer.IsClosed && x.IsClosed && graph.IsClosed && context.IsClosed && !layer_.IsClosed,
                       "IsClosed");
            Action[] uses = { () => layer.SetParameter("tau", 1),
                              () => layer.GetParameter("tau"),
                              () => layer.Parameters.Count(),
                              () => layer.ResetState(),
                              () => layer.ReadState<float>("v", new float[4]),
                              () => layer.WriteState<float>("v", new float[4]),
                              () => layer.Forward(new ForwardArguments { X = x_ }),
                              () => layer.Backward(new BackwardArguments { GradXSeq = x_ }),
                              () => layer_.Forward(new ForwardArguments { X = x }),
                              () => layer_.Forward(new ForwardArguments { X = x_, Spikes = x }),
                              () => layer_.Backward(new BackwardArguments { GradXSeq = x }),
                              () => x.Upload(new float[1]),
                              () => x.Download(new float[1]),
                              () => x.Fill(1),
                              () => x.MarkWritten(),
                              () => x.ToArray(),
                              () => x[0, 0] = 1,
                              () => x.Span.Clear(),
                              () =>
                              { IntPtr pointer = x.Pointer; },
                              () =>
                              { IntPtr value = x.NativeValue; },
                              () => graph.Forward(layer_, new ForwardArguments { X = x_ }),
                              () => graph.Backward(layer_, new BackwardArguments { GradXSeq = x_ }),
                              () => graph.Copy(x_, x_),
                              () => graph.ConvertSpikes(x_, x_, steps: 3, neurons: 4),
                              () => graph.CountSpikes(CountKind.Total, x_, x_, steps: 3, neurons: 4),
                              () => graph.EncodeBernoulli(x_, x_, steps: 3, neurons: 4),
                              () => graph.Instantiate(),
                              () => graph.Launch(),
                              () => graph.Wait(1),
                              () => graph.IsDone(1),
                              () => context.Synchronize(),
                              () => context.Reclaim(),
                              () =>
                              { ContextProperties properties = context.Properties; },
                              () => new Layer(context, steps: 3, neurons: 4),
                              () => context.CreateBuffer<float>(MemoryKind.Device, 4),
                              () => new Graph(context),
                              () => context.ConvertSpikes(x_, x_, steps: 3, neurons: 4),
                              () => context.EncodeBernoulli(x_, x_, steps: 3, neurons: 4) };
            for (int i = 0; i < uses.Length; ++i)
            {
                ObjectDisposedException refused =
                    Check.Throws<ObjectDisposedException>(uses[i], "use " + i + " of something closed");
                Check.That(refused.ObjectName.StartsWith("Synfire.", StringComparison.Ordinal) &&
                               refused.Message.Contains(refused.ObjectName),
                           "use " + i + " says what is closed: " + refused.Message);
            }
            Check.That(layer.ToString().Contains("closed") && x.ToString().Contains("closed") &&
                           context.ToString().Contains("closed"),
                       "in words");
            // The C library itself refuses a handle that was destroyed behind the binding's back.
            using (Layer behind = new Layer(context_, steps: 3, neurons: 4))
            {
                Native.synfire_layer_destroy(new synfire_layer(behind.NativeValue));
                Check.Status(Status.ErrorInvalidHandle, () => behind.SetParameter("tau", 1),
                             "destroyed behind the back");
            }
        }

        public static void Sizes()
        {
            Check.Throws<ArgumentOutOfRangeException>(() => new Layer(context_, steps: 3, neurons: -4), "-4 neurons");
            Check.Throws<ArgumentOutOfRangeException>(() => new Layer(context_, steps: -3, neurons: 4), "-3 steps");
            LayerOptions negative = new LayerOptions { Batch = -1 };
            Check.Throws<ArgumentOutOfRangeException>(
                () => new Layer(context_, steps: 3, neurons: 4, options: negative), "-1 rows");
            Check.Throws<ArgumentOutOfRangeException>(() => Layer.QueryMemory(steps: 1, neurons: -1),
                                                      "memory of -1 neurons");
            Check.Throws<ArgumentOutOfRangeException>(() => context_.CreateBuffer<float>(MemoryKind.Device, -4),
                                                      "-4 elements");
            Check.Throws<ArgumentOutOfRangeException>(() => context_.CreateBuffer<float>(MemoryKind.Device, 4, 0),
                                                      "a dimension of 0");
            Check.Throws<ArgumentOutOfRangeException>(
                () => context_.CreateBuffer<float>(MemoryKind.Device, DType.F32, -1, 4), "a pitch of -1");
            Check.Throws<ArgumentOutOfRangeException>(
                () => context_.CreateBuffer<float>(MemoryKind.Device, DType.F32, 3, 2, 4), "a pitch of 3");
            Check.Throws<ArgumentException>(() => context_.CreateBuffer<float>(MemoryKind.Device), "no dimension");
            Check.Throws<OverflowException>(() => context_.CreateBuffer<float>(MemoryKind.Device, long.MaxValue, 4),
                                            "too many elements to count");
            Check.Status(Status.ErrorOutOfMemory,
                         () => context_.CreateBuffer<float>(MemoryKind.Device, long.MaxValue >> 3), "too many bytes");
            Check.Throws<ArgumentOutOfRangeException>(() => graph_.Copy(x_, x_, bytes: -8), "-8 bytes");
            Check.Throws<ArgumentOutOfRangeException>(() => x_.UploadBytes(null, -1), "-1 bytes");
            Check.Throws<ArgumentOutOfRangeException>(() => x_.Upload(new float[1], -1), "offset -1");
            Check.Status(Status.ErrorInvalidArgument, () => new Layer(context_, steps: 3, neurons: 0), "no neurons");
            Check.Throws<SynfireException>(() => new Layer(context_, steps: long.MaxValue, neurons: long.MaxValue),
                                           "too many neurons");
        }

        public static void NamesAndNulls()
        {
            Check.Throws<ArgumentNullException>(() => layer_.SetParameter(null, 1), "a null name");
            Check.Throws<ArgumentNullException>(() => layer_.GetParameter(null), "a null name");
            Check.Throws<ArgumentNullException>(() => layer_.SetParameter("tau", null), "null values");
            Check.Throws<ArgumentNullException>(() => layer_.ReadState<float>("v", null), "a null state to read into");
            Check.Throws<ArgumentNullException>(() => layer_.WriteState<float>("v", null), "a null state");
            Check.Throws<ArgumentNullException>(() => layer_.Restore(null), "a null snapshot");
            Check.Throws<ArgumentNullException>(() => x_.Upload(null), "a null array to upload");
            Check.Throws<ArgumentNullException>(() => x_.Download(null), "a null array to download into");
            x_.Upload(ReadOnlySpan<float>.Empty);
            Check.Throws<ArgumentException>(() => layer_.SetParameter("t\0au", 1), "a name with a null character");
            Check.Throws<ArgumentException>(() => layer_.SetParameter(new string('a', 5000), 1), "a long name");
            Check.Status(Status.ErrorInvalidArgument, () => layer_.SetParameter("", 1), "an empty name");
            Check.Status(Status.ErrorInvalidArgument, () => layer_.SetParameter("taü", 1), "an unknown name");
            Check.Status(Status.ErrorInvalidArgument, () => SynfireLibrary.FindModel("hodgkin_huxley"),
                         "an unknown model");
            Check.Throws<ArgumentNullException>(() => SynfireLibrary.FindSurrogate(null), "a null surrogate");
            Check.Throws<ArgumentNullException>(() => new Layer(null, steps: 3, neurons: 4), "a null context");
            Check.Throws<ArgumentNullException>(() => new Graph(null), "a null context");
            Check.Throws<ArgumentNullException>(() => layer_.Forward(null), "null arguments");
            Check.Throws<ArgumentNullException>(() => layer_.Forward(new ForwardArguments()), "no X");
            Check.Throws<ArgumentNullException>(() => graph_.Copy(null, x_), "a null source");
            Check.Throws<ArgumentNullException>(() => Graph.Record(context_, null), "a null recorder");
            Check.Throws<ArgumentNullException>(() => context_.CreateBuffer<float>((Array)null), "a null array");
            Check.Throws<ArgumentNullException>(() => context_.CreateBuffer<float>(MemoryKind.Device, null),
                                                "a null shape");
            BackwardArguments backward = new BackwardArguments();
            backward.ParameterGradients["tau"] = null;
            layer_.Forward(new ForwardArguments { X = x_ });
            Check.Throws<ArgumentNullException>(() => layer_.Backward(backward), "a null gradient");
            Check.Status(Status.ErrorInvalidArgument, () => layer_.Backward(new BackwardArguments()), "no output");
            LayerOptions unknown = new LayerOptions { Model = (Model)99 };
            Check.Status(Status.ErrorInvalidArgument,
                         () => new Layer(context_, steps: 3, neurons: 4, options: unknown), "model 99");
            // Nulls through the raw layer are statuses too.
            Check.Equal(
                Native.synfire_layer_forward(new synfire_layer(layer_.NativeValue), null, default(synfire_stream)),
                Native.SYNFIRE_ERROR_INVALID_ARGUMENT, "a null descriptor");
            Check.Equal(Native.synfire_layer_set_parameter(new synfire_layer(layer_.NativeValue), null, null, 1),
                        Native.SYNFIRE_ERROR_INVALID_ARGUMENT, "a null name");
            Check.Equal(Native.synfire_graph_launch(default(synfire_graph), default(synfire_stream), null),
                        Native.SYNFIRE_ERROR_INVALID_HANDLE, "a null graph");
        }

        public static void Order()
        {
            using (Graph graph = new Graph(context_))
            {
                Check.Status(Status.ErrorWrongOrder, () => graph.Instantiate(), "an empty graph");
                Check.Status(Status.ErrorWrongOrder, () => graph.Launch(), "launched before it is ready");
                Check.Status(Status.ErrorStaleTape,
                             () =>
                             {
                                 using (Layer fresh = new Layer(context_, steps: 3, neurons: 4))
                                     fresh.Backward(new BackwardArguments { GradXSeq = x_ });
                             },
                             "backward without a forward");
            }
            Check.Status(Status.ErrorInvalidArgument, () => graph_.Wait(1000), "a ticket never handed out");
            Check.Status(Status.ErrorInvalidArgument, () => graph_.Wait(graph_.Launch(), 0, (WaitPolicy)5), "policy 5");
            Check.Throws<InvalidOperationException>(() => SynfireLibrary.Location = "/elsewhere",
                                                    "a library chosen too late");
        }

        // The C library calls no function of the program. What the program throws while recording comes out as it was.
        public static void ExceptionsOfTheProgram()
        {
            Check.Throws<KeyNotFoundException>(() => Graph.Record(context_, g =>
            {
                g.Forward(layer_, new ForwardArguments { X = x_ });
                throw new KeyNotFoundException();
            }), "thrown while recording");
            Check.That(graph_.Wait(graph_.Launch()), "a replay afterwards");
        }

        // Runs last: tests are called in the order in which they are written.
        public static void NothingIsLeftBehind()
        {
            Lifetime.CollectAll();
            Check.Equal(SynfireLibrary.LiveHandles, 4L, "open objects");
            Check.Equal(context_.Reclaim(), 0L, "queued objects");
        }
    }
}
