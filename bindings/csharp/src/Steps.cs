// Steps.cs - arithmetic inside a replay: fills, sums, gradient descent on parameters.
//
// SPDX-License-Identifier: MIT
using System;

namespace Synfire
{
    public sealed partial class Context
    {
        /// <summary>
        /// Computes destination = keep * destination + scale * source now: the same operation that a graph
        /// records.
        /// </summary>
        /// <param name="scale">Of the source.</param>
        /// <param name="source">Read.</param>
        /// <param name="keep">Of the destination; with 0 it is not read.</param>
        /// <param name="destination">Read and written.</param>
        /// <param name="stream">A CUDA stream; zero is the context's own.</param>
        public void ScaleAdd(double scale, BufferBase source, double keep, BufferBase destination,
                             IntPtr stream = default(IntPtr))
        {
            ScaleAdd(Sums.Arguments(scale, source, keep, destination), stream);
        }
    }

    internal static class Sums
    {
        public static ScaleAddArguments Arguments(double scale, BufferBase source, double keep, BufferBase destination)
        {
            return new ScaleAddArguments { Scale = scale, Source = source, Keep = keep, Destination = destination };
        }
    }

    public sealed partial class Graph
    {
        /// <summary>Appends a fill. Its number <c>value</c> can be changed between replays.</summary>
        public Graph Fill(BufferBase buffer, double value)
        {
            return Fill(new FillArguments { Buffer = buffer, Value = value });
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
            return ScaleAdd(Sums.Arguments(scale, source, keep, destination));
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
            return UpdateParameter(layer, new UpdateParameterArguments
            {
                Name = name,
                Gradient = gradient,
                LearningRate = learningRate,
                Bounds = (lower.HasValue ? Bound.Lower : 0) | (upper.HasValue ? Bound.Upper : 0),
                Lower = lower.GetValueOrDefault(),
                Upper = upper.GetValueOrDefault()
            });
        }
    }
}
