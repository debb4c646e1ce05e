// Changes.cs - changes of a graph between replays: operations by number, slots, other buffers; statistics, pictures.
//
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using System.Text;
using Synfire.Raw;

namespace Synfire
{
    /// <summary>
    /// Counts and times of a graph since it was created or reset. Times are nanoseconds from the call of a
    /// launch to the first wait that saw the replay done.
    /// </summary>
    public readonly struct GraphStatistics
    {
        internal GraphStatistics(synfire_graph_statistics raw)
        {
            Replays = (long)raw.n_replays;
            LateWaits = (long)raw.n_late_waits;
            Seen = (long)raw.n_seen;
            P50 = (long)raw.p50_ns;
            P99 = (long)raw.p99_ns;
            P999 = (long)raw.p999_ns;
            Max = (long)raw.max_ns;
        }

        /// <summary>Launches that gave a ticket.</summary>
        public long Replays { get; }

        /// <summary>Waits whose time was up first, and was more than none.</summary>
        public long LateWaits { get; }

        /// <summary>Replays whose times are in the percentiles: those waited for in order.</summary>
        public long Seen { get; }

        /// <summary>Half of the replays took at most this many nanoseconds.</summary>
        public long P50 { get; }

        /// <summary>99 % of the replays.</summary>
        public long P99 { get; }

        /// <summary>99.9 % of the replays.</summary>
        public long P999 { get; }

        /// <summary>The longest, exact.</summary>
        public long Max { get; }
    }

    public sealed unsafe partial class Graph
    {
        /// <summary>
        /// The number of the operation recorded last, from 0: calls that change an operation between replays take it.
        /// </summary>
        public int LastOperation
        {
            get
            {
                int operation;
                Errors.Check(Native.synfire_graph_get_last_operation(Raw, &operation));
                GC.KeepAlive(this);
                return operation;
            }
        }

        /// <summary>
        /// Lets an operation run in later replays, or leaves it out. All changes since the last launch take effect
        /// together with the next one. Allocates nothing.
        /// </summary>
        /// <param name="operation">Its number: what <see cref="LastOperation"/> was after it was recorded.</param>
        /// <param name="enabled">Whether it runs.</param>
        public void SetEnabled(int operation, bool enabled)
        {
            Errors.Check(Native.synfire_graph_set_enabled(Raw, operation, enabled ? 1 : 0));
            GC.KeepAlive(this);
        }

        /// <summary>
        /// Changes a number that an operation uses. The next launch sees it, together with everything else that was set
        /// since the launch before. Allocates nothing.
        /// </summary>
        /// <param name="operation">Its number: what <see cref="LastOperation"/> was after it was recorded.</param>
        /// <param name="name">
        /// <c>value</c> of a fill, <c>scale</c> or <c>keep</c> of a sum, <c>learning_rate</c> of an update, <c>seed</c>
        /// or <c>offset</c> of an encoding (integers from 0 to 2^53).
        /// </param>
        /// <param name="value">The number.</param>
        public void SetValue(int operation, string name, double value)
        {
            byte* text = stackalloc byte[Name.Capacity];
            Name.Write(name, text);
            Errors.Check(Native.synfire_graph_set_value(Raw, operation, text, value));
            GC.KeepAlive(this);
        }

        /// <summary>
        /// Replaces a buffer by another one of the same type, shape and kind of memory, in all operations. Slow: it
        /// waits for replays in flight, and on a GPU the graph is captured anew.
        /// </summary>
        public void Rebind(BufferBase oldBuffer, BufferBase newBuffer)
        {
            Errors.Given(oldBuffer, "oldBuffer");
            using (new Use(Handle, oldBuffer.Handle, Errors.Given(newBuffer, "newBuffer").Handle))
            {
                Checked(Native.synfire_graph_rebind(Raw, oldBuffer.Raw, newBuffer.Raw));
                lock (keeps_) keeps_.Remove(oldBuffer);
                Keep(new[] { newBuffer });
            }
        }

        /// <summary>
        /// The memory of a pinned buffer that one replay reads and writes, which the program may touch until the launch
        /// that takes the slot. Returns false while the replay that uses it is in flight. Allocates nothing.
        /// </summary>
        /// <param name="buffer">A pinned buffer that the graph was recorded with.</param>
        /// <param name="memory">The memory. It is good only as long as the graph is open and referenced.</param>
        /// <param name="ticket">
        /// 0 (default): the next launch. Else one of the last launches, as many as there are slots.
        /// </param>
        public bool TryGetSlot<T>(Buffer<T> buffer, out Span<T> memory, ulong ticket = 0) where T : struct
        {
            Errors.Given(buffer, "buffer");
            void* data;
            ulong bytes;
            Errors.Check(Native.synfire_graph_get_slot(Raw, ticket, buffer.Raw, &data, &bytes));
            GC.KeepAlive(this);
            GC.KeepAlive(buffer);
            memory = data == null ? default(Span<T>)
                                  : new Span<T>(data, checked((int)((long)bytes / Marshal.SizeOf(typeof(T)))));
            return data != null;
        }

        /// <summary>
        /// The graph as text in the DOT language of Graphviz: operations, and which passes what to which.
        /// </summary>
        public string ToDot()
        {
            using (new Use(Handle))
            {
                ulong bytes = 0;
                Errors.Check(Native.synfire_graph_write_dot(Raw, null, &bytes));
                byte[] text = new byte[bytes];
                fixed (byte* data = text) Errors.Check(Native.synfire_graph_write_dot(Raw, data, &bytes));
                return Encoding.UTF8.GetString(text, 0, (int)bytes - 1);
            }
        }

        /// <summary>How many replays there were, how late and how long. Allocates nothing.</summary>
        public GraphStatistics Statistics
        {
            get
            {
                synfire_graph_statistics statistics = synfire_graph_statistics.Init;
                Errors.Check(Native.synfire_graph_get_statistics(Raw, &statistics));
                GC.KeepAlive(this);
                return new GraphStatistics(statistics);
            }
        }

        /// <summary>Forgets what <see cref="Statistics"/> tells.</summary>
        public void ResetStatistics()
        {
            Errors.Check(Native.synfire_graph_reset_statistics(Raw));
            GC.KeepAlive(this);
        }
    }
}
