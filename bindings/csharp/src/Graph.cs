// Graph.cs - an ordered list of operations: recorded once, instantiated once, replayed many times.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using Synfire.Raw;

namespace Synfire
{
    /// <summary>
    /// An ordered list of operations: record with <see cref="Forward"/>, <see cref="Backward"/> and the others, then
    /// <see cref="Instantiate"/> once and <see cref="Launch"/> as often as you like. A graph keeps the buffers and
    /// layers it uses. One thread at a time records or launches; any thread may wait.
    /// </summary>
    public sealed unsafe partial class Graph : SynfireObject
    {
        private readonly List<SynfireObject> keeps_ = new List<SynfireObject>();

        /// <summary>Creates an empty graph.</summary>
        /// <param name="context">The context it belongs to.</param>
        /// <param name="slots">
        /// Copies of the pinned buffers that it reads and writes, up to 64: that many replays can be in flight, each
        /// with frames of its own (<see cref="TryGetSlot{T}"/>), and one more launch is refused. 0 (default): one,
        /// the buffers' own memory. <see cref="Slots.Shared"/>: that memory for any number of replays in flight.
        /// </param>
        public Graph(Context context, int slots = 0) : base(new GraphHandle())
        {
            Context = Errors.Given(context, "context");
            synfire_graph_desc desc = synfire_graph_desc.Init;
            desc.n_slots = (uint)Errors.NotNegative(slots, "slots");
            synfire_graph made;
            Errors.Check(Native.synfire_graph_create(context.Raw, &desc, &made));
            Handle.Adopt(made.Value);
            GC.KeepAlive(context);
        }

        // Takes over a handle that another object gave.
        internal Graph(Context context, synfire_graph made) : base(new GraphHandle())
        {
            Context = context;
            Handle.Adopt(made.Value);
        }

        /// <summary>
        /// A graph that is ready to be replayed: <paramref name="record"/> gets an empty graph and records into it.
        /// </summary>
        /// <param name="context">The context it belongs to.</param>
        /// <param name="record">Records. What it throws comes out, and the graph is closed.</param>
        /// <param name="slots">As in the constructor.</param>
        public static Graph Record(Context context, Action<Graph> record, int slots = 0)
        {
            Errors.Given(record, "record");
            Graph graph = new Graph(context, slots);
            try
            {
                record(graph);
                graph.Instantiate();
            }
            catch
            {
                graph.Dispose();
                throw;
            }
            return graph;
        }

        internal synfire_graph Raw { get { return new synfire_graph(Handle.Value); } }

        /// <summary>The context it belongs to.</summary>
        public Context Context { get; }

        // ---- Recording ----------------------------------------------------------------------------------------------

        /// <summary>
        /// Appends a copy. Offsets and <paramref name="bytes"/> are in bytes; 0 bytes means all of the source from its
        /// offset.
        /// </summary>
        /// <param name="source">Read.</param>
        /// <param name="destination">Written.</param>
        /// <param name="sourceOffset">First byte in the source.</param>
        /// <param name="destinationOffset">First byte in the destination.</param>
        /// <param name="bytes">How many bytes.</param>
        public Graph Copy(BufferBase source, BufferBase destination, long sourceOffset = 0, long destinationOffset = 0,
                          long bytes = 0)
        {
            return Copy(new CopyArguments
            {
                Source = source,
                Destination = destination,
                SourceOffset = (ulong)Errors.NotNegative(sourceOffset, "sourceOffset"),
                DestinationOffset = (ulong)Errors.NotNegative(destinationOffset, "destinationOffset"),
                Bytes = (ulong)Errors.NotNegative(bytes, "bytes")
            });
        }

        /// <summary>Appends a conversion of spikes <c>[T, B, N]</c> into another format.</summary>
        /// <param name="source">Read.</param>
        /// <param name="destination">Written.</param>
        /// <param name="steps">Steps T; write the name.</param>
        /// <param name="neurons">Neurons N of one batch row; write the name.</param>
        /// <param name="batch">Batch rows B.</param>
        public Graph ConvertSpikes(BufferBase source, BufferBase destination, NamedLength steps, NamedLength neurons,
                                   long batch = 1)
        {
            return ConvertSpikes(Spikes.Conversion(source, destination, steps, neurons, batch));
        }

        /// <summary>Appends an exact count of spikes <c>[T, B, N]</c>.</summary>
        /// <param name="kind">What is counted.</param>
        /// <param name="spikes">Read, in any format.</param>
        /// <param name="counts">Written: uint as <see cref="DType.U32"/>, or ulong.</param>
        /// <param name="steps">Steps T; write the name.</param>
        /// <param name="neurons">Neurons N of one batch row; write the name.</param>
        /// <param name="batch">Batch rows B.</param>
        public Graph CountSpikes(CountKind kind, BufferBase spikes, BufferBase counts, NamedLength steps,
                                 NamedLength neurons, long batch = 1)
        {
            return CountSpikes(Spikes.Count(kind, spikes, counts, steps, neurons, batch));
        }

        /// <summary>
        /// Appends an encoding of rates as spikes <c>[T, B, N]</c>. Each replay continues where the one before it
        /// ended; one in which the operation is disabled does not advance. Its numbers <c>seed</c> and <c>offset</c>
        /// can be changed between replays.
        /// </summary>
        /// <param name="rates">Read: float, <see cref="Float16"/> or <see cref="BFloat16"/>, <c>[B, N]</c>.</param>
        /// <param name="spikes">Written, in any format.</param>
        /// <param name="steps">Steps T; write the name.</param>
        /// <param name="neurons">Neurons N of one batch row; write the name.</param>
        /// <param name="batch">Batch rows B.</param>
        /// <param name="seed">Any number; another one gives other spikes.</param>
        /// <param name="offset">The number of the first step of the first replay.</param>
        /// <param name="ratesPerStep">Rates are <c>[T, B, N]</c>.</param>
        public Graph EncodeBernoulli(BufferBase rates, BufferBase spikes, NamedLength steps, NamedLength neurons,
                                     long batch = 1, ulong seed = 0, ulong offset = 0, bool ratesPerStep = false)
        {
            return EncodeBernoulli(
                Spikes.Encoding(rates, spikes, steps, neurons, batch, seed, offset, ratesPerStep));
        }

        // Keeps what a recording used, except the graph itself.
        private void Keep(IEnumerable<SynfireObject> used)
        {
            lock (keeps_)
            {
                foreach (SynfireObject item in used)
                    if (item != this && !keeps_.Contains(item)) keeps_.Add(item);
            }
        }

        /// <summary>Prepares the recorded list for replay: everything slow happens here. Once per graph.</summary>
        public Graph Instantiate()
        {
            using (new Use(Handle)) Checked(Native.synfire_graph_instantiate(Raw));
            return this;
        }

        // ---- Replaying ----------------------------------------------------------------------------------------------

        /// <summary>
        /// Replays the graph once, and returns the ticket of this replay: 1, 2, 3 ... On a GPU it enqueues and returns;
        /// on the host the replay is done when it returns. On a stream that is being captured it becomes part of the
        /// capture instead, and the ticket is 0. Allocates nothing.
        /// </summary>
        /// <param name="stream">A CUDA stream; zero is the context's own.</param>
        public ulong Launch(IntPtr stream = default(IntPtr))
        {
            GraphHandle handle = (GraphHandle)Handle;
            ulong ticket;
            if (handle.HasNodes)
            {
                // Functions of native nodes stay until the call returns, even if another thread closes the graph.
                bool held = false;
                handle.Hold(ref held);
                try
                {
                    Checked(Native.synfire_graph_launch(Raw, new synfire_stream(stream), &ticket));
                }
                finally
                {
                    handle.DangerousRelease();
                }
            }
            else
            {
                Errors.Check(
                    Native.synfire_graph_launch(new synfire_graph(handle.Value), new synfire_stream(stream), &ticket));
            }
            GC.KeepAlive(this);
            return ticket;
        }

        /// <summary>
        /// Waits for a replay. Returns true when it is done and everything it wrote is visible; false on a time-out. An
        /// error of the replay is thrown here. Allocates nothing.
        /// </summary>
        /// <param name="ticket">What <see cref="Launch"/> returned.</param>
        /// <param name="timeoutNanoseconds">How long at most; 0 looks once, negative waits forever.</param>
        /// <param name="policy">How: spinning has the lowest latency, blocking the lowest load.</param>
        public bool Wait(ulong ticket, long timeoutNanoseconds = -1, WaitPolicy policy = WaitPolicy.Spin)
        {
            int status =
                Native.synfire_graph_wait(new synfire_graph(Handle.Value), ticket, (int)policy, timeoutNanoseconds);
            GC.KeepAlive(this);
            return Errors.Check(status) != Native.SYNFIRE_PENDING;
        }

        /// <summary>Waits for a replay, as the other overload does.</summary>
        /// <param name="ticket">What <see cref="Launch"/> returned.</param>
        /// <param name="timeout">How long at most; <c>Timeout.InfiniteTimeSpan</c> waits forever.</param>
        /// <param name="policy">How.</param>
        public bool Wait(ulong ticket, TimeSpan timeout, WaitPolicy policy = WaitPolicy.Spin)
        {
            long ticks = timeout.Ticks; // of 100 ns
            return Wait(ticket, ticks < 0 ? -1 : ticks > long.MaxValue / 100 ? long.MaxValue : ticks * 100, policy);
        }

        /// <summary>True if a replay is done. Never blocks, allocates nothing.</summary>
        public bool IsDone(ulong ticket)
        {
            int status = Native.synfire_graph_poll(new synfire_graph(Handle.Value), ticket);
            GC.KeepAlive(this);
            return Errors.Check(status) != Native.SYNFIRE_PENDING;
        }
    }
}
