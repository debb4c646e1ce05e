// Context.cs - one device, a GPU or the host, and everything created on it.
//
// SPDX-License-Identifier: MIT
using System;
using System.Buffers;
using System.Runtime.CompilerServices;
using Synfire.Raw;

namespace Synfire
{
    /// <summary>
    /// One device, an NVIDIA GPU or the host, and everything created on it. Safe for use from any thread.
    /// </summary>
    public sealed unsafe partial class Context : SynfireObject
    {
        /// <summary>
        /// Creates a context: by default on a GPU if one is usable, else on the host.
        /// </summary>
        /// <param name="backend">What to run on.</param>
        /// <param name="device">Number of the GPU.</param>
        /// <param name="threads">Threads the host backend may use; 0 means all processors.</param>
        /// <param name="streamPriority">Priority of the context's own CUDA stream; lower is more urgent.</param>
        public Context(Backend backend = Backend.Auto, int device = 0, int threads = 0, int streamPriority = 0)
            : base(new ContextHandle())
        {
            SynfireLibrary.Require();
            synfire_context_desc desc = synfire_context_desc.Init;
            desc.backend = (int)backend;
            desc.device = device;
            // enqueue_task, finish_task and job_system stay null: a job system calls back on threads of its own.
            desc.n_threads = threads;
            desc.stream_priority = streamPriority;
            Handle.Adopt(Create(&desc));
            IsHost = Properties.Backend == Backend.Host;
        }

        // Not in the constructor, which loads the library first: Mono looks up functions when it compiles a method.
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static IntPtr Create(synfire_context_desc* desc)
        {
            synfire_context made;
            Errors.Check(Native.synfire_context_create(desc, &made));
            return made.Value;
        }

        internal synfire_context Raw { get { return new synfire_context(Handle.Value); } }

        /// <summary>True if it runs on the host: then the program reaches all of its memory.</summary>
        public bool IsHost { get; }

        /// <summary>The properties of the context and of its device.</summary>
        public ContextProperties Properties
        {
            get
            {
                synfire_context_properties properties = synfire_context_properties.Init;
                Errors.Check(Native.synfire_context_get_properties(Raw, &properties));
                GC.KeepAlive(this);
                return new ContextProperties(properties);
            }
        }

        /// <summary>
        /// Waits until everything enqueued on the context's own stream is done. Returns at once on the host.
        /// </summary>
        public void Synchronize()
        {
            Errors.Check(Native.synfire_context_synchronize(Raw));
            GC.KeepAlive(this);
        }

        /// <summary>
        /// Frees what closed objects of this context left behind, and returns how many are still in use.
        /// </summary>
        public long Reclaim()
        {
            ulong stillQueued;
            Errors.Check(Native.synfire_context_reclaim(Raw, &stillQueued));
            GC.KeepAlive(this);
            Lent.TakeBack();
            return (long)stillQueued;
        }

        // ---- Buffers ---------------------------------------------------------------------------------------------

        /// <summary>Memory of the library, filled with zeros.</summary>
        /// <typeparam name="T">float, double, uint, ulong, byte, <see cref="Float16"/> or <see
        /// cref="BFloat16"/>.</typeparam>
        /// <param name="memory">Which kind of memory.</param>
        /// <param name="shape">The length of each dimension, such as <c>16, 128</c>; the last is contiguous.</param>
        public Buffer<T> CreateBuffer<T>(MemoryKind memory, params long[] shape) where T : struct
        {
            return new Buffer<T>(this, memory, ElementTypes.Of(typeof(T)), 0, shape);
        }

        /// <summary>Memory of the library, with its element type and row pitch stated.</summary>
        /// <param name="memory">Which kind of memory.</param>
        /// <param name="dtype">What the elements are: uint may be packed spikes of either kind, or counts.</param>
        /// <param name="rowPitch">Elements from one step to the next; 0 means that they follow each other
        /// directly.</param>
        /// <param name="shape">The length of each dimension.</param>
        public Buffer<T> CreateBuffer<T>(MemoryKind memory, DType dtype, long rowPitch, params long[] shape)
            where T : struct { return new Buffer<T>(this, memory, dtype, rowPitch, shape); }

        /// <summary>A copy of an array of any rank, in its shape: <c>float[,]</c>, <c>double[,,]</c> ...</summary>
        public Buffer<T> CreateBuffer<T>(Array values, MemoryKind memory = MemoryKind.Device) where T : struct
        {
            ElementTypes.RequireArray<T>(values, "values");
            long[] shape = new long[values.Rank];
            for (int i = 0; i < shape.Length; ++i) shape[i] = values.GetLongLength(i);
            Buffer<T> made = new Buffer<T>(this, memory, ElementTypes.Of(typeof(T)), 0, shape);
            try
            {
                made.CopyFrom(values);
            }
            catch
            {
                made.Dispose();
                throw;
            }
            return made;
        }

        /// <summary>
        /// Borrows memory of the program without a copy: a buffer of <see cref="MemoryKind.Host"/>. It stays pinned
        /// until no buffer, graph or tape of a layer needs it any more: each may be closed at any time. It is unpinned
        /// when something is created then, or by <see cref="Reclaim"/>.
        /// </summary>
        /// <param name="values">The memory; its length is the product of the shape.</param>
        /// <param name="shape">The length of each dimension; nothing means one dimension.</param>
        public Buffer<T> Borrow<T>(Memory<T> values, params long[] shape) where T : struct
        {
            return Borrow(values, ElementTypes.Of(typeof(T)), shape);
        }

        /// <summary>Borrows memory of the program, with its element type stated.</summary>
        public Buffer<T> Borrow<T>(Memory<T> values, DType dtype, params long[] shape) where T : struct
        {
            ElementTypes.Require(typeof(T), dtype);
            if (Errors.Given(shape, "shape").Length == 0) shape = new long[] { values.Length };
            if (Shapes.Count(shape) != values.Length)
                throw new ArgumentException("has " + values.Length + " elements; the shape " + Shapes.Text(shape) +
                                                " has " + Shapes.Count(shape),
                                            "values");
            MemoryHandle memory = values.Pin();
            try
            {
                return new Buffer<T>(this, MemoryKind.Host, dtype, 0, shape, (IntPtr)memory.Pointer, memory);
            }
            catch
            {
                memory.Dispose();
                throw;
            }
        }

        /// <summary>
        /// Borrows memory by its address, such as that of Unity's <c>NativeArray</c>
        /// (<c>NativeArrayUnsafeUtility.GetUnsafePtr</c>) or of a CUDA allocation. It must outlive the last use: by the
        /// buffer, by a graph that uses it, and by a layer whose tape was made from it.
        /// </summary>
        /// <param name="data">The address of as many elements as the shape has.</param>
        /// <param name="memory">Which kind of memory it is.</param>
        /// <param name="shape">The length of each dimension.</param>
        public Buffer<T> Borrow<T>(void* data, MemoryKind memory, params long[] shape) where T : struct
        {
            return Borrow<T>((IntPtr)data, memory, ElementTypes.Of(typeof(T)), shape);
        }

        /// <summary>Borrows memory by its address, with its element type stated.</summary>
        public Buffer<T> Borrow<T>(IntPtr data, MemoryKind memory, DType dtype, params long[] shape) where T : struct
        {
            return Borrow<T>(data, memory, dtype, null, shape);
        }

        /// <summary>Borrows memory by its address, from an owner that is told when it is no longer needed.</summary>
        /// <param name="data">The address of as many elements as the shape has.</param>
        /// <param name="memory">Which kind of memory it is.</param>
        /// <param name="dtype">What the elements are.</param>
        /// <param name="owner">
        /// Disposed of once no buffer, graph or tape of a layer needs the memory any more and no GPU uses it: by a
        /// thread that creates something then, or by <see cref="Reclaim"/>. What it throws is dropped. When this call
        /// throws, it is still the caller's. Null: nobody.
        /// </param>
        /// <param name="shape">The length of each dimension.</param>
        public Buffer<T> Borrow<T>(IntPtr data, MemoryKind memory, DType dtype, IDisposable owner, params long[] shape)
            where T : struct
        {
            if (data == IntPtr.Zero) throw new ArgumentNullException("data");
            return new Buffer<T>(this, memory, dtype, 0, shape, data, owner);
        }

        // ---- Spikes ----------------------------------------------------------------------------------------------

        /// <summary>
        /// Writes spikes <c>[T, B, N]</c> in another format: packed, unpacked, transposed or as another type, now.
        /// </summary>
        /// <param name="source">Read.</param>
        /// <param name="destination">Written.</param>
        /// <param name="steps">Steps T; write the name.</param>
        /// <param name="neurons">Neurons N of one batch row; write the name.</param>
        /// <param name="batch">Batch rows B.</param>
        /// <param name="stream">A CUDA stream; zero is the context's own.</param>
        public void ConvertSpikes(BufferBase source, BufferBase destination, NamedLength steps, NamedLength neurons,
                                  long batch = 1, IntPtr stream = default(IntPtr))
        {
            ConvertSpikes(Spikes.Conversion(source, destination, steps, neurons, batch), stream);
        }

        /// <summary>Counts spikes <c>[T, B, N]</c> exactly, now.</summary>
        /// <param name="kind">What is counted.</param>
        /// <param name="spikes">Read, in any format.</param>
        /// <param name="counts">Written: uint as <see cref="DType.U32"/>, or ulong.</param>
        /// <param name="steps">Steps T; write the name.</param>
        /// <param name="neurons">Neurons N of one batch row; write the name.</param>
        /// <param name="batch">Batch rows B.</param>
        /// <param name="stream">A CUDA stream; zero is the context's own.</param>
        public void CountSpikes(CountKind kind, BufferBase spikes, BufferBase counts, NamedLength steps,
                                NamedLength neurons, long batch = 1, IntPtr stream = default(IntPtr))
        {
            CountSpikes(Spikes.Count(kind, spikes, counts, steps, neurons, batch), stream);
        }

        /// <summary>
        /// Encodes rates as spikes <c>[T, B, N]</c>, now: each neuron spikes in each step with the probability of its
        /// rate, independently of all others. What is drawn follows from the seed, the number of the step, the batch
        /// row, the neuron and the rate alone: it is the same in every format and on every backend.
        /// </summary>
        /// <param name="rates">Read: float, <see cref="Float16"/> or <see cref="BFloat16"/>, <c>[B, N]</c>.</param>
        /// <param name="spikes">Written, in any format.</param>
        /// <param name="steps">Steps T; write the name.</param>
        /// <param name="neurons">Neurons N of one batch row; write the name.</param>
        /// <param name="batch">Batch rows B.</param>
        /// <param name="seed">Any number; another one gives other spikes.</param>
        /// <param name="offset">
        /// The number of the first step since the seed. Calls do not count steps: to continue, pass an offset that is
        /// larger by <paramref name="steps"/>.
        /// </param>
        /// <param name="ratesPerStep">Rates are <c>[T, B, N]</c>.</param>
        /// <param name="stream">A CUDA stream; zero is the context's own.</param>
        public void EncodeBernoulli(BufferBase rates, BufferBase spikes, NamedLength steps, NamedLength neurons,
                                    long batch = 1, ulong seed = 0, ulong offset = 0, bool ratesPerStep = false,
                                    IntPtr stream = default(IntPtr))
        {
            EncodeBernoulli(Spikes.Encoding(rates, spikes, steps, neurons, batch, seed, offset, ratesPerStep), stream);
        }

        /// <summary>The device in words.</summary>
        public override string ToString() { return IsClosed ? "Context (closed)" : "Context on " + Properties.Name; }
    }

    // The arguments of operations on spikes, for Context and Graph.
    internal static class Spikes
    {
        public static ConvertSpikesArguments Conversion(BufferBase source, BufferBase destination, NamedLength steps,
                                                        NamedLength neurons, long batch)
        {
            return new ConvertSpikesArguments
            {
                Source = source,
                Destination = destination,
                Steps = Errors.NotNegative(steps.Value, "steps"),
                Neurons = Errors.NotNegative(neurons.Value, "neurons"),
                Batch = Errors.NotNegative(batch, "batch")
            };
        }

        public static CountSpikesArguments Count(CountKind kind, BufferBase spikes, BufferBase counts,
                                                 NamedLength steps, NamedLength neurons, long batch)
        {
            return new CountSpikesArguments
            {
                Kind = kind,
                Spikes = spikes,
                Counts = counts,
                Steps = Errors.NotNegative(steps.Value, "steps"),
                Neurons = Errors.NotNegative(neurons.Value, "neurons"),
                Batch = Errors.NotNegative(batch, "batch")
            };
        }

        public static EncodeBernoulliArguments Encoding(BufferBase rates, BufferBase spikes, NamedLength steps,
                                                        NamedLength neurons, long batch, ulong seed, ulong offset,
                                                        bool ratesPerStep)
        {
            return new EncodeBernoulliArguments
            {
                Rates = rates,
                Spikes = spikes,
                Steps = Errors.NotNegative(steps.Value, "steps"),
                Neurons = Errors.NotNegative(neurons.Value, "neurons"),
                Batch = Errors.NotNegative(batch, "batch"),
                Seed = seed,
                Offset = offset,
                RatesPerStep = ratesPerStep
            };
        }
    }

    /// <summary>Properties of a context and of the device that it runs on.</summary>
    public sealed class ContextProperties
    {
        internal unsafe ContextProperties(synfire_context_properties raw)
        {
            Backend = (Backend)raw.backend;
            Device = raw.device;
            FallbackReason = (FallbackReason)raw.fallback_reason;
            Threads = raw.n_threads;
            ComputeCapability = new Version(raw.compute_major, raw.compute_minor);
            Multiprocessors = raw.n_multiprocessors;
            DriverVersion = raw.driver_version;
            RuntimeVersion = raw.runtime_version;
            MemoryBytes = raw.memory_bytes;
            Name = Errors.TextOf(raw.name, 128);
        }

        /// <summary>The host or CUDA.</summary>
        public Backend Backend { get; }

        /// <summary>Number of the GPU; -1 on the host.</summary>
        public int Device { get; }

        /// <summary>Why automatic selection ended on the host.</summary>
        public FallbackReason FallbackReason { get; }

        /// <summary>Threads the host backend may use; 0 on CUDA.</summary>
        public int Threads { get; }

        /// <summary>Compute capability; 0.0 on the host.</summary>
        public Version ComputeCapability { get; }

        /// <summary>Multiprocessors of the GPU; 0 on the host.</summary>
        public int Multiprocessors { get; }

        /// <summary>CUDA driver version; 0 if there is none.</summary>
        public int DriverVersion { get; }

        /// <summary>CUDA runtime version inside the library; 0 when built without CUDA.</summary>
        public int RuntimeVersion { get; }

        /// <summary>Bytes of device memory; 0 on the host.</summary>
        public ulong MemoryBytes { get; }

        /// <summary>Name of the GPU, or of the host backend.</summary>
        public string Name { get; }
    }
}
