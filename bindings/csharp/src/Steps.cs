// Steps.cs - arithmetic inside a replay: fills, sums, gradient descent on parameters.
//
// SPDX-License-Identifier: MIT
using System;
using Synfire.Raw;

namespace Synfire
{
    public sealed unsafe partial class Context
    {
        /// <summary>
        /// Computes destination = keep * destination + scale * source now: the same operation that
        /// <see cref="Graph.ScaleAdd"/> records.
        /// </summary>
        /// <param name="scale">Of the source.</param>
        /// <param name="source">Read.</param>
        /// <param name="keep">Of the destination; with 0 it is not read.</param>
        /// <param name="destination">Read and written.</param>
        /// <param name="stream">A CUDA stream; zero is the context's own.</param>
        public void ScaleAdd(double scale, BufferBase source, double keep, BufferBase destination,
                             IntPtr stream = default(IntPtr))
        {
            using (new Use(Handle, Errors.Given(source, "source").Handle,
                           Errors.Given(destination, "destination").Handle))
            {
                synfire_scale_add_desc desc = Sums.Desc(scale, source, keep, destination);
                Errors.Check(Native.synfire_scale_add(Raw, &desc, new synfire_stream(stream)));
            }
        }
    }

    internal static class Sums
    {
        public static synfire_scale_add_desc Desc(double scale, BufferBase source, double keep, BufferBase destination)
        {
            synfire_scale_add_desc desc = synfire_scale_add_desc.Init;
            desc.source = source.Raw;
            desc.destination = destination.Raw;
            desc.scale = scale;
            desc.keep = keep;
            return desc;
        }
    }

    public sealed unsafe partial class Graph
    {
        /// <summary>Appends a fill. Its number <c>value</c> can be changed between replays.</summary>
        public Graph Fill(BufferBase buffer, double value)
        {
            using (new Use(Handle, Errors.Given(buffer, "buffer").Handle))
            {
                synfire_fill_desc desc = synfire_fill_desc.Init;
                desc.buffer = buffer.Raw;
                desc.value = value;
                Errors.Check(Native.synfire_graph_record_fill(Raw, &desc));
                Keep(null, new[] { buffer });
            }
            return this;
        }

        /// <summary>
        /// Appends destination = keep * destination + scale * source. Its numbers <c>scale</c> and <c>keep</c> can be
        /// changed between replays.
        /// </summary>
        /// <param name="scale">Of the source.</param>
        /// <param name="source">Read.</param>
        /// <param name="keep">Of the destination; with 0 it is not read.</param>
        /// <param name="destination">Read and written.</param>
        public Graph ScaleAdd(double scale, BufferBase source, double keep, BufferBase destination)
        {
            using (new Use(Handle, Errors.Given(source, "source").Handle,
                           Errors.Given(destination, "destination").Handle))
            {
                synfire_scale_add_desc desc = Sums.Desc(scale, source, keep, destination);
                Errors.Check(Native.synfire_graph_record_scale_add(Raw, &desc));
                Keep(null, new[] { source, destination });
            }
            return this;
        }

        /// <summary>
        /// Appends one step of gradient descent on a parameter of a layer: p = clamp(p - learning rate * gradient). Its
        /// number <c>learning_rate</c> can be changed between replays. Operations after it see the new value.
        /// </summary>
        /// <param name="layer">The layer.</param>
        /// <param name="name">The parameter.</param>
        /// <param name="gradient">Its gradient, read: one element, or one for each neuron as the parameter has.</param>
        /// <param name="learningRate">The learning rate.</param>
        /// <param name="lower">The smallest value that it may take; null: that of its own range.</param>
        /// <param name="upper">The largest value that it may take; null: that of its own range.</param>
        public Graph UpdateParameter(Layer layer, string name, BufferBase gradient, double learningRate,
                                     double? lower = null, double? upper = null)
        {
            using (new Use(Handle, Errors.Given(layer, "layer").Handle, Errors.Given(gradient, "gradient").Handle))
            {
                byte* text = stackalloc byte[Name.Capacity];
                Name.Write(name, text);
                synfire_update_parameter_desc desc = synfire_update_parameter_desc.Init;
                desc.bounds = (lower.HasValue ? (uint)Native.SYNFIRE_BOUND_LOWER : 0) |
                              (upper.HasValue ? (uint)Native.SYNFIRE_BOUND_UPPER : 0);
                desc.name = text;
                desc.gradient = gradient.Raw;
                desc.learning_rate = learningRate;
                desc.lower = lower.GetValueOrDefault();
                desc.upper = upper.GetValueOrDefault();
                Errors.Check(Native.synfire_graph_record_update_parameter(Raw, layer.Raw, &desc));
                Keep(layer, new[] { gradient });
            }
            return this;
        }
    }
}
