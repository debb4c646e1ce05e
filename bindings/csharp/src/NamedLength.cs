// NamedLength.cs - steps and neurons, which calls write with their names.
//
// Two integers side by side are easily swapped. A parameter of the type NamedLength takes any integer. Beside each
// method that has two of them there is an obsolete overload that fits integers better, but has other parameter names: a
// call without names chooses it, and the compiler's error shows how to write the call. A call with names never does.
//
// SPDX-License-Identifier: MIT
using System;
using System.ComponentModel;

namespace Synfire
{
    /// <summary>
    /// A number of steps or of neurons, which a call writes with its name:
    /// <c>new Layer(context, steps: 20, neurons: 64)</c>. Integers convert to it.
    /// </summary>
    public readonly struct NamedLength
    {
        private NamedLength(long value) { Value = value; }

        /// <summary>The number.</summary>
        public long Value { get; }

        /// <summary>Any integer as an argument.</summary>
        public static implicit operator NamedLength(long value) { return new NamedLength(value); }

        /// <summary>The number in words.</summary>
        public override string ToString() { return Value.ToString(); }
    }

    public sealed partial class Layer
    {
        /// <summary>Not for use: steps and neurons need their names.</summary>
        [Obsolete("write new Layer(context, steps: ..., neurons: ...)", true)]
        [EditorBrowsable(EditorBrowsableState.Never)]
        public Layer(Context context, long position1, long position2, LayerOptions options = null)
            : this(context, steps: position2, neurons: position1, options: options)
        {
        }

        /// <summary>Not for use: steps and neurons need their names.</summary>
        [Obsolete("write Layer.QueryMemory(steps: ..., neurons: ...)", true)]
        [EditorBrowsable(EditorBrowsableState.Never)]
        public static LayerMemory QueryMemory(long position1, long position2, LayerOptions options = null)
        {
            return QueryMemory(steps: position2, neurons: position1, options: options);
        }
    }

    // The type parameters match the two integers before the buffers and after them.
    public sealed partial class Context
    {
        /// <summary>Not for use: steps and neurons need their names.</summary>
        [Obsolete("write ConvertSpikes(source, destination, steps: ..., neurons: ...)", true)]
        [EditorBrowsable(EditorBrowsableState.Never)]
        public void ConvertSpikes<T1, T2, T3, T4>(T1 position1, T2 position2, T3 position3, T4 position4,
                                                  long batch = 1, IntPtr stream = default(IntPtr))
        {
            throw new NotSupportedException();
        }

        /// <summary>Not for use: steps and neurons need their names.</summary>
        [Obsolete("write CountSpikes(kind, spikes, counts, steps: ..., neurons: ...)", true)]
        [EditorBrowsable(EditorBrowsableState.Never)]
        public void CountSpikes<T1, T2, T3, T4>(CountKind kind, T1 position1, T2 position2, T3 position3,
                                                T4 position4, long batch = 1, IntPtr stream = default(IntPtr))
        {
            throw new NotSupportedException();
        }

        /// <summary>Not for use: steps and neurons need their names.</summary>
        [Obsolete("write EncodeBernoulli(rates, spikes, steps: ..., neurons: ...)", true)]
        [EditorBrowsable(EditorBrowsableState.Never)]
        public void EncodeBernoulli<T1, T2, T3, T4>(T1 position1, T2 position2, T3 position3, T4 position4,
                                                    long batch = 1, ulong seed = 0, ulong offset = 0,
                                                    bool ratesPerStep = false, IntPtr stream = default(IntPtr))
        {
            throw new NotSupportedException();
        }
    }

    public sealed partial class Graph
    {
        /// <summary>Not for use: steps and neurons need their names.</summary>
        [Obsolete("write ConvertSpikes(source, destination, steps: ..., neurons: ...)", true)]
        [EditorBrowsable(EditorBrowsableState.Never)]
        public Graph ConvertSpikes<T1, T2, T3, T4>(T1 position1, T2 position2, T3 position3, T4 position4,
                                                   long batch = 1)
        {
            throw new NotSupportedException();
        }

        /// <summary>Not for use: steps and neurons need their names.</summary>
        [Obsolete("write CountSpikes(kind, spikes, counts, steps: ..., neurons: ...)", true)]
        [EditorBrowsable(EditorBrowsableState.Never)]
        public Graph CountSpikes<T1, T2, T3, T4>(CountKind kind, T1 position1, T2 position2, T3 position3,
                                                 T4 position4, long batch = 1)
        {
            throw new NotSupportedException();
        }

        /// <summary>Not for use: steps and neurons need their names.</summary>
        [Obsolete("write EncodeBernoulli(rates, spikes, steps: ..., neurons: ...)", true)]
        [EditorBrowsable(EditorBrowsableState.Never)]
        public Graph EncodeBernoulli<T1, T2, T3, T4>(T1 position1, T2 position2, T3 position3, T4 position4,
                                                     long batch = 1, ulong seed = 0, ulong offset = 0,
                                                     bool ratesPerStep = false)
        {
            throw new NotSupportedException();
        }
    }
}
