// Learning.cs - what synapses and optimisers do beside being recorded: arrays read and written by name, and the memory
// of a synapse.
//
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using Synfire.Raw;

namespace Synfire
{
    /// <summary>Bytes of device memory that a synapse takes.</summary>
    public sealed class SynapseMemory
    {
        internal SynapseMemory(synfire_synapse_memory raw)
        {
            WeightBytes = raw.weight_bytes;
            DerivedBytes = raw.derived_bytes;
            GradientBytes = raw.gradient_bytes;
        }

        /// <summary>Weights, bias and mask.</summary>
        public ulong WeightBytes { get; }

        /// <summary>Memory that products use: the weights on their grid, in the orders of both directions.</summary>
        public ulong DerivedBytes { get; }

        /// <summary>Gradients of weights and bias; added with the first backward that needs them.</summary>
        public ulong GradientBytes { get; }
    }

    public sealed unsafe partial class Synapse
    {
        /// <summary>Bytes that a synapse with these options takes, before anything is allocated.</summary>
        /// <param name="context">The context it would belong to.</param>
        /// <param name="options">What it is created with.</param>
        public static SynapseMemory QueryMemory(Context context, SynapseOptions options)
        {
            using (Call call = new Call(Errors.Given(context, "context")))
            {
                synfire_synapse_desc desc = Errors.Given(options, "options").Desc(call);
                synfire_synapse_memory memory = synfire_synapse_memory.Init;
                Errors.Check(Native.synfire_synapse_query_memory(&desc, &memory));
                return new SynapseMemory(memory);
            }
        }

        /// <summary>Reads an array, after every replay that was launched before.</summary>
        /// <param name="name">
        /// <c>weight</c> or <c>weight_gradient</c> <c>[N, K]</c>, <c>bias</c> or <c>bias_gradient</c> <c>[N]</c>.
        /// </param>
        /// <param name="values">Receives it: float, in an f64 synapse double.</param>
        public void Read<T>(string name, Span<T> values) where T : struct
        {
            Errors.GivenSpan<T>(values, "values");
            byte* text = stackalloc byte[Name.Capacity];
            Name.Write(name, text);
            Span<byte> bytes = MemoryMarshal.AsBytes(values);
            fixed (byte* data = &MemoryMarshal.GetReference(bytes))
                Errors.Check(Native.synfire_synapse_read(Raw, text, data, (ulong)bytes.Length));
            GC.KeepAlive(this);
        }

        /// <summary>Writes an array of finite values.</summary>
        /// <param name="name">As in <see cref="Read{T}"/>.</param>
        /// <param name="values">The values: float, in an f64 synapse double.</param>
        public void Write<T>(string name, ReadOnlySpan<T> values) where T : struct
        {
            Errors.GivenSpan<T>(values, "values");
            byte* text = stackalloc byte[Name.Capacity];
            Name.Write(name, text);
            ReadOnlySpan<byte> bytes = MemoryMarshal.AsBytes(values);
            fixed (byte* data = &MemoryMarshal.GetReference(bytes))
                Errors.Check(Native.synfire_synapse_write(Raw, text, data, (ulong)bytes.Length));
            GC.KeepAlive(this);
        }
    }

    public sealed unsafe partial class Optimizer
    {
        /// <summary>The member that stands for the optimiser itself.</summary>
        public const int Itself = -1;

        /// <summary>Reads a number of the optimiser, or an array of a member.</summary>
        /// <param name="member">The number of the member, or <see cref="Itself"/>.</param>
        /// <param name="name">
        /// Of the optimiser: <c>step_count</c>, <c>skipped</c> (ulong), <c>beta1_power</c>, <c>beta2_power</c>,
        /// <c>gradient_norm</c> (double). A member has <c>momentum</c>, <c>moment1</c>, <c>moment2</c>.
        /// </param>
        /// <param name="values">Receives it.</param>
        public void Read<T>(int member, string name, Span<T> values) where T : struct
        {
            Errors.GivenSpan<T>(values, "values");
            byte* text = stackalloc byte[Name.Capacity];
            Name.Write(name, text);
            Span<byte> bytes = MemoryMarshal.AsBytes(values);
            fixed (byte* data = &MemoryMarshal.GetReference(bytes))
                Errors.Check(Native.synfire_optimizer_read(Raw, member, text, data, (ulong)bytes.Length));
            GC.KeepAlive(this);
        }

        /// <summary>
        /// Writes what <see cref="Read{T}"/> reads, so that training continues where it stopped, with the same bits.
        /// </summary>
        /// <param name="member">The number of the member, or <see cref="Itself"/>.</param>
        /// <param name="name">As in <see cref="Read{T}"/>.</param>
        /// <param name="values">The values.</param>
        public void Write<T>(int member, string name, ReadOnlySpan<T> values) where T : struct
        {
            Errors.GivenSpan<T>(values, "values");
            byte* text = stackalloc byte[Name.Capacity];
            Name.Write(name, text);
            ReadOnlySpan<byte> bytes = MemoryMarshal.AsBytes(values);
            fixed (byte* data = &MemoryMarshal.GetReference(bytes))
                Errors.Check(Native.synfire_optimizer_write(Raw, member, text, data, (ulong)bytes.Length));
            GC.KeepAlive(this);
        }
    }
}
