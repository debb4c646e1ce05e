// Steps.cs - arithmetic inside replays, gradient descent, active rows, rows of the state and snapshots of it.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;

namespace Synfire.Tests
{
    public static class Steps
    {
        private static readonly Context context_ = new Context(Program.Backend);

        private static void Replay(Graph graph) { Check.That(graph.Wait(graph.Launch()), "a replay"); }

        private static void Refused(Action call, string what) { Check.Status(Status.ErrorInvalidArgument, call, what); }

        private static void Same<T>(IEnumerable<T> got, IEnumerable<T> wanted, string what)
        {
            Check.That(got.SequenceEqual(wanted), what + ": got " + string.Join(" ", got));
        }

        private static float[] Voltages(Layer layer)
        {
            float[] v = new float[layer.Batch * layer.Neurons];
            layer.ReadState<float>("v", v);
            return v;
        }

        public static void SumsAndFills()
        {
            using (Buffer<float> source = context_.CreateBuffer<float>(new float[] { 1, 2, 3 }))
            using (Buffer<float> to = context_.CreateBuffer<float>(new float[] { 10, 20, 30 }))
            using (Buffer<float> two = context_.CreateBuffer<float>(MemoryKind.Device, 2))
            using (Buffer<byte> bytes = context_.CreateBuffer<byte>(MemoryKind.Device, 3))
            using (Graph graph = new Graph(context_))
            {
                context_.ScaleAdd(2, source, 0.5, to);
                Same((float[])to.ToArray(), new float[] { 7, 14, 21 }, "now");
                int fill = graph.Fill(to, 1).LastOperation, sum = graph.ScaleAdd(1, source, 1, to).LastOperation;
                graph.Instantiate();
                Replay(graph);
                Same((float[])to.ToArray(), new float[] { 2, 3, 4 }, "recorded");
                graph.SetValue(fill, "value", 5);
                graph.SetValue(sum, "scale", -1);
                graph.SetValue(sum, "keep", 2);
                Replay(graph);
                Same((float[])to.ToArray(), new float[] { 9, 8, 7 }, "with other numbers");
                long before = GC.GetAllocatedBytesForCurrentThread();
                for (int i = 0; i < 1000; ++i)
                {
                    graph.SetValue(fill, "value", i);
                    graph.Wait(graph.Launch());
                }
                Check.Equal(GC.GetAllocatedBytesForCurrentThread() - before, 0L, "bytes allocated by 1,000 values");
                Refused(() => graph.SetValue(fill, "scale", 1), "a number that a fill does not have");
                Refused(() => graph.SetValue(sum, "scale", double.NaN), "a NaN");
                Refused(() => graph.SetValue(9, "scale", 1), "operation 9");
                Check.Throws<ArgumentNullException>(() => graph.SetValue(sum, null, 1), "no name");
                Refused(() => context_.ScaleAdd(1, source, 1, two), "another length");
                Refused(() => context_.ScaleAdd(1, source, 1, bytes), "bytes");
                Check.Throws<ArgumentNullException>(() => context_.ScaleAdd(1, null, 1, to), "no source");
                two.Dispose();
                Check.Throws<ObjectDisposedException>(() => context_.ScaleAdd(1, two, 1, to), "a closed source");
            }
        }

        public static void GradientDescentInsideTheReplay()
        {
            using (Layer layer = new Layer(context_, steps: 1, neurons: 3))
            using (Buffer<float> gradient = context_.CreateBuffer<float>(new float[] { 1, -1, 0 }))
            using (Graph graph = new Graph(context_), other = new Graph(context_))
            {
                layer.SetParameter("tau", new double[] { 5, 6, 7 });
                int learn = graph.UpdateParameter(layer, "tau", gradient, 0.5, 4, 6.75).LastOperation;
                graph.Instantiate();
                Replay(graph);
                Same(layer.GetParameter("tau"), new[] { 4.5, 6.5, 6.75 }, "one step, and bounds");
                graph.SetValue(learn, "learning_rate", 10);
                Replay(graph);
                Same(layer.GetParameter("tau"), new[] { 4, 6.75, 6.75 }, "a larger one");
                layer.SetParameter("tau", new double[] { 5, 5, 5 });
                graph.SetValue(learn, "learning_rate", 0.25);
                Replay(graph);
                Same(layer.GetParameter("tau"), new[] { 4.75, 5.25, 5 }, "from what was set");
                Refused(() => other.UpdateParameter(layer, "nope", gradient, 1), "a parameter that there is not");
                Refused(() => other.UpdateParameter(layer, "tau", gradient, double.NaN), "a NaN");
                Check.Throws<ArgumentNullException>(() => other.UpdateParameter(layer, "tau", null, 1), "no gradient");
                Check.Throws<ArgumentNullException>(() => other.UpdateParameter(null, "tau", gradient, 1), "no layer");
            }
        }

        public static void SeveralParametersOrNone()
        {
            using (Layer layer = new Layer(context_, steps: 1, neurons: 3))
            {
                Dictionary<string, double[]> bad = new Dictionary<string, double[]> {
                    { "tau", new[] { 3.0 } }, { "v_reset", new[] { double.NaN } }
                };
                Refused(() => layer.SetParameters(bad), "a NaN among them");
                bad["v_reset"] = new[] { 1.0, 2.0 };
                Refused(() => layer.SetParameters(bad), "two values");
                bad["v_reset"] = null;
                Check.Throws<ArgumentNullException>(() => layer.SetParameters(bad), "null among them");
                Check.Throws<ArgumentNullException>(() => layer.SetParameters(null), "null");
                Refused(() => layer.SetParameters(new Dictionary<string, double[]>()), "none at all");
                Same(layer.GetParameter("tau"), new[] { 2.0 }, "tau");
                bad["v_reset"] = new double[] { -1, -2, -3 };
                layer.SetParameters(bad);
                Same(layer.GetParameter("tau"), new[] { 3.0 }, "tau");
                Same(layer.GetParameter("v_reset"), new double[] { -1, -2, -3 }, "v_reset");
            }
        }

        public static void OnlyTheFirstRowsAreActive()
        {
            LayerOptions three = new LayerOptions { Model = Model.If, Batch = 3 };
            using (Layer layer = new Layer(context_, steps: 1, neurons: 2, options: three))
            using (Buffer<float> x = layer.CreateSequence<float>())
            using (Graph graph = Graph.Record(context_, g => g.Forward(layer, new ForwardArguments { X = x })))
            {
                x.Fill(0.25);
                float[][] after = { new[] { 0.25f, 0.25f, 0 }, new[] { 0.25f, 0.25f, 0 }, new[] { 0.5f, 0.5f, 0.25f } };
                int[] active = { 2, 0, 3 };
                for (int i = 0; i < 3; ++i)
                {
                    layer.SetActiveRows(active[i]);
                    Replay(graph);
                    Same(Voltages(layer).Where((v, n) => n % 2 == 0), after[i], active[i] + " rows");
                }
                Refused(() => layer.SetActiveRows(4), "4 of 3 rows");
                Check.Throws<ArgumentOutOfRangeException>(() => layer.SetActiveRows(-1), "-1 rows");
            }
        }

        public static void RowsOfTheState()
        {
            LayerOptions four = new LayerOptions { Batch = 4 };
            using (Layer layer = new Layer(context_, steps: 1, neurons: 2, options: four),
                         agents = new Layer(context_, steps: 1, neurons: 2, options: four))
            using (Layer other = new Layer(context_, steps: 3, neurons: 2, options: new LayerOptions { Batch = 2 }))
            using (Buffer<byte> mask = context_.CreateBuffer<byte>(new byte[] { 1, 0, 0, 1 }))
            using (Buffer<float> some = context_.CreateBuffer<float>(new float[,] { { 7, 8 }, { 9, 10 } }))
            using (Buffer<float> read = context_.CreateBuffer<float>(MemoryKind.Pinned, 2, 2))
            {
                layer.WriteState<float>("v", new float[] { 1, 1, 2, 2, 3, 3, 4, 4 });
                layer.ResetRows(1, 1);
                Same(Voltages(layer), new float[] { 1, 1, 0, 0, 3, 3, 4, 4 }, "row 1 reset");
                layer.ResetRows(1, 0, mask);
                Same(Voltages(layer), new float[] { 1, 1, 0, 0, 3, 3, 0, 0 }, "by a mask, from row 1 on");
                layer.WriteRows("v", some, 2, 2);
                layer.ReadRows("v", read, 1, 2);
                Same(read.Span.ToArray(), new float[] { 0, 0, 7, 8 }, "rows 1 and 2");
                other.CopyRows(layer, 2);
                Same(Voltages(other), new float[] { 7, 8, 9, 10 }, "copied");
                using (Graph graph = Graph.Record(context_, g => g.WriteRows(agents, "v", some, 0, 2)
                                                                     .CopyRows(agents, other, 0, 0, 2)
                                                                     .ResetRows(agents, 0, 0, mask)
                                                                     .ResetRows(agents, 2, 1)
                                                                     .ReadRows(agents, "v", read, 1, 2)))
                    Replay(graph);
                Same(Voltages(agents), new float[] { 0, 0, 9, 10, 0, 0, 0, 0 }, "recorded");
                Same(read.Span.ToArray(), new float[] { 9, 10, 0, 0 }, "read in the replay");
                Refused(() => layer.ResetRows(0, 5), "5 of 4 rows");
                Refused(() => layer.ReadRows("u", read, 0, 2), "a variable that there is not");
                Refused(() => layer.ReadRows("v", read), "a buffer that is too small");
                Refused(() => layer.CopyRows(other, 0, 0, 3), "beyond the last row");
                Check.Throws<ArgumentOutOfRangeException>(() => layer.ResetRows(-1, 1), "row -1");
                Check.Throws<ArgumentOutOfRangeException>(() => layer.ResetRows(0, -1), "-1 rows");
                Check.Throws<ArgumentNullException>(() => layer.ReadRows(null, read), "no name");
                Check.Throws<ArgumentNullException>(() => layer.WriteRows("v", null), "no buffer");
                Check.Throws<ArgumentNullException>(() => layer.CopyRows((Layer)null), "no layer");
                other.Dispose();
                Check.Throws<ObjectDisposedException>(() => layer.CopyRows(other), "a closed source");
                Check.Throws<ObjectDisposedException>(() => other.ResetRows(), "a closed layer");
                Check.Throws<ObjectDisposedException>(() => other.SetActiveRows(1), "active rows of a closed layer");
                Check.Throws<ObjectDisposedException>(() => other.Snapshot(), "a snapshot of a closed layer");
            }
        }

        public static void Snapshots()
        {
            LayerOptions options = new LayerOptions { Model = Model.Izhikevich, Batch = 3 };
            using (Layer layer = new Layer(context_, steps: 1, neurons: 2, options: options),
                         wider = new Layer(context_, steps: 1, neurons: 3, options: options))
            {
                float[] v = { 1, 2, 3, 4, 5, 6 };
                layer.WriteState<float>("v", v);
                byte[] whole = layer.Snapshot(), last = layer.Snapshot(2);
                Check.That(whole.Length > last.Length && last.Length > 0, "lengths");
                layer.ResetState();
                layer.Restore(whole);
                Same(Voltages(layer), v, "restored");
                layer.Restore(last, 0, 1);
                float[] before = { 5, 6, 3, 4, 5, 6 };
                Same(Voltages(layer), before, "the last row in the first");
                byte[] damaged = (byte[])whole.Clone();
                damaged[damaged.Length - 1] ^= 1;
                byte[][] bad = { damaged, whole.Take(whole.Length - 1).ToArray(),
                                 Encoding.ASCII.GetBytes("no snapshot"), new byte[0] };
                for (int i = 0; i < bad.Length; ++i) Refused(() => layer.Restore(bad[i]), "bad snapshot " + i);
                Refused(() => layer.Restore(whole, 0, 2), "into 2 of 3 rows");
                Refused(() => wider.Restore(whole), "into another layer");
                Same(Voltages(layer), before, "nothing changed");
                using (Buffer<byte> kept = context_.CreateBuffer<byte>(MemoryKind.Pinned, whole.Length))
                using (Graph keep = Graph.Record(context_, g => g.Snapshot(layer, kept)))
                using (Graph restore = Graph.Record(context_, g => g.Restore(layer, kept)))
                {
                    Replay(keep);
                    layer.ResetState();
                    Replay(restore);
                    Same(Voltages(layer), before, "restored by a replay");
                    layer.ResetState();
                    layer.Restore(kept.Span);
                    Same(Voltages(layer), before, "restored from a replay's snapshot");
                }
            }
        }
    }
}
