// State.cs - rows of the state of a layer: reset, read, written, copied, kept and put back; now, or recorded.
//
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using Synfire.Raw;

namespace Synfire
{
    // Descriptors of rows; the name is on the stack of the caller.
    internal static unsafe class Rows
    {
        public static synfire_state_desc Desc(long firstRow, long rows, BufferBase buffer, byte* name)
        {
            synfire_state_desc desc = synfire_state_desc.Init;
            desc.first_row = Errors.NotNegative(firstRow, "firstRow");
            desc.n_rows = Errors.NotNegative(rows, "rows");
            desc.name = name;
            desc.buffer = Passes.Raw(buffer);
            return desc;
        }

        public static synfire_copy_rows_desc Copy(Layer source, long firstRow, long rows, long destinationRow)
        {
            synfire_copy_rows_desc desc = synfire_copy_rows_desc.Init;
            desc.source = source.Raw;
            desc.first_row = Errors.NotNegative(firstRow, "firstRow");
            desc.n_rows = Errors.NotNegative(rows, "rows");
            desc.destination_row = Errors.NotNegative(destinationRow, "destinationRow");
            return desc;
        }

        public static SafeHandle Handle(BufferBase buffer) { return buffer == null ? null : buffer.Handle; }
    }

    public sealed unsafe partial class Layer
    {
        /// <summary>Puts batch rows of the state back to their start, or those of them that a mask chooses.</summary>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        /// <param name="mask">
        /// Null, or a byte for each batch row <c>[B]</c>, which is not 0 where it shall be reset.
        /// </param>
        /// <param name="stream">A CUDA stream; zero is the context's own.</param>
        public void ResetRows(long firstRow = 0, long rows = 0, Buffer<byte> mask = null,
                              IntPtr stream = default(IntPtr))
        {
            using (new Use(Handle, Rows.Handle(mask)))
            {
                synfire_state_desc desc = Rows.Desc(firstRow, rows, mask, null);
                Errors.Check(Native.synfire_layer_reset_rows(Raw, &desc, new synfire_stream(stream)));
            }
        }

        /// <summary>Copies batch rows of a state variable into a buffer <c>[rows, N]</c>.</summary>
        /// <param name="name">The variable: <c>v</c>, or <c>w</c> in models with two.</param>
        /// <param name="destination">Written: float, in an f64 layer double.</param>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        /// <param name="stream">A CUDA stream; zero is the context's own.</param>
        public void ReadRows(string name, BufferBase destination, long firstRow = 0, long rows = 0,
                             IntPtr stream = default(IntPtr))
        {
            using (new Use(Handle, Errors.Given(destination, "destination").Handle))
            {
                byte* text = stackalloc byte[Name.Capacity];
                Name.Write(name, text);
                synfire_state_desc desc = Rows.Desc(firstRow, rows, destination, text);
                Errors.Check(Native.synfire_layer_read_rows(Raw, &desc, new synfire_stream(stream)));
            }
        }

        /// <summary>Copies a buffer <c>[rows, N]</c> into batch rows of a state variable.</summary>
        /// <param name="name">The variable: <c>v</c>, or <c>w</c> in models with two.</param>
        /// <param name="source">Read: float, in an f64 layer double.</param>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        /// <param name="stream">A CUDA stream; zero is the context's own.</param>
        public void WriteRows(string name, BufferBase source, long firstRow = 0, long rows = 0,
                              IntPtr stream = default(IntPtr))
        {
            using (new Use(Handle, Errors.Given(source, "source").Handle))
            {
                byte* text = stackalloc byte[Name.Capacity];
                Name.Write(name, text);
                synfire_state_desc desc = Rows.Desc(firstRow, rows, source, text);
                Errors.Check(Native.synfire_layer_write_rows(Raw, &desc, new synfire_stream(stream)));
            }
        }

        /// <summary>
        /// Copies batch rows of the state of another layer, of the same model and neurons, into this one.
        /// </summary>
        /// <param name="source">Read.</param>
        /// <param name="firstRow">First batch row of the source.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        /// <param name="destinationRow">First batch row that is written.</param>
        /// <param name="stream">A CUDA stream; zero is the context's own.</param>
        public void CopyRows(Layer source, long firstRow = 0, long rows = 0, long destinationRow = 0,
                             IntPtr stream = default(IntPtr))
        {
            using (new Use(Handle, Errors.Given(source, "source").Handle))
            {
                synfire_copy_rows_desc desc = Rows.Copy(source, firstRow, rows, destinationRow);
                Errors.Check(Native.synfire_layer_copy_rows(Raw, &desc, new synfire_stream(stream)));
            }
        }

        /// <summary>
        /// The state of batch rows, with a header that says what it is of. Parameters are not in it.
        /// </summary>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        public byte[] Snapshot(long firstRow = 0, long rows = 0)
        {
            using (new Use(Handle))
            {
                synfire_state_desc desc = Rows.Desc(firstRow, rows, null, null);
                ulong bytes = 0;
                Errors.Check(Native.synfire_layer_snapshot(Raw, &desc, null, &bytes));
                byte[] snapshot = new byte[bytes];
                fixed (byte* data = snapshot) Errors.Check(Native.synfire_layer_snapshot(Raw, &desc, data, &bytes));
                return snapshot;
            }
        }

        /// <summary>
        /// Puts a snapshot back into as many batch rows. What is none, or one of another layer, is refused.
        /// </summary>
        /// <param name="snapshot">What <see cref="Snapshot"/> gave, or a replay left in a buffer.</param>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        public void Restore(ReadOnlySpan<byte> snapshot, long firstRow = 0, long rows = 0)
        {
            using (new Use(Handle))
            {
                synfire_state_desc desc = Rows.Desc(firstRow, rows, null, null);
                byte none;
                fixed (byte* data = &MemoryMarshal.GetReference(snapshot))
                    Errors.Check(Native.synfire_layer_restore(Raw, &desc, data == null ? &none : data,
                                                              (ulong)snapshot.Length));
            }
        }
    }

    public sealed unsafe partial class Graph
    {
        private delegate int Recorder(synfire_state_desc* desc);

        private Graph RecordRows(Layer layer, string name, BufferBase buffer, long firstRow, long rows, Recorder record)
        {
            using (new Use(Handle, layer.Handle, Rows.Handle(buffer)))
            {
                byte* text = stackalloc byte[Name.Capacity];
                if (name != null) Name.Write(name, text);
                synfire_state_desc desc = Rows.Desc(firstRow, rows, buffer, name == null ? null : text);
                Errors.Check(record(&desc));
                Keep(layer, new[] { buffer });
            }
            return this;
        }

        /// <summary>
        /// Appends a reset of batch rows, as <see cref="Layer.ResetRows"/>. Every replay reads the mask.
        /// </summary>
        /// <param name="layer">The layer.</param>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        /// <param name="mask">
        /// Null, or a byte for each batch row <c>[B]</c>, which is not 0 where it shall be reset.
        /// </param>
        public Graph ResetRows(Layer layer, long firstRow = 0, long rows = 0, Buffer<byte> mask = null)
        {
            synfire_layer raw = Errors.Given(layer, "layer").Raw;
            return RecordRows(layer, null, mask, firstRow, rows,
                              desc => Native.synfire_graph_record_reset_rows(Raw, raw, desc));
        }

        /// <summary>Appends a copy of batch rows into a buffer, as <see cref="Layer.ReadRows"/>.</summary>
        /// <param name="layer">The layer.</param>
        /// <param name="name">The variable: <c>v</c>, or <c>w</c> in models with two.</param>
        /// <param name="destination">Written.</param>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        public Graph ReadRows(Layer layer, string name, BufferBase destination, long firstRow = 0, long rows = 0)
        {
            synfire_layer raw = Errors.Given(layer, "layer").Raw;
            Errors.Given(destination, "destination");
            return RecordRows(layer, Errors.Given(name, "name"), destination, firstRow, rows,
                              desc => Native.synfire_graph_record_read_rows(Raw, raw, desc));
        }

        /// <summary>Appends a copy of a buffer into batch rows, as <see cref="Layer.WriteRows"/>.</summary>
        /// <param name="layer">The layer.</param>
        /// <param name="name">The variable: <c>v</c>, or <c>w</c> in models with two.</param>
        /// <param name="source">Read.</param>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        public Graph WriteRows(Layer layer, string name, BufferBase source, long firstRow = 0, long rows = 0)
        {
            synfire_layer raw = Errors.Given(layer, "layer").Raw;
            Errors.Given(source, "source");
            return RecordRows(layer, Errors.Given(name, "name"), source, firstRow, rows,
                              desc => Native.synfire_graph_record_write_rows(Raw, raw, desc));
        }

        /// <summary>Appends a copy of batch rows from one layer to another, as <see cref="Layer.CopyRows"/>.</summary>
        /// <param name="layer">The layer that is written.</param>
        /// <param name="source">Read.</param>
        /// <param name="firstRow">First batch row of the source.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        /// <param name="destinationRow">First batch row that is written.</param>
        public Graph CopyRows(Layer layer, Layer source, long firstRow = 0, long rows = 0, long destinationRow = 0)
        {
            using (new Use(Handle, Errors.Given(layer, "layer").Handle, Errors.Given(source, "source").Handle))
            {
                synfire_copy_rows_desc desc = Rows.Copy(source, firstRow, rows, destinationRow);
                Errors.Check(Native.synfire_graph_record_copy_rows(Raw, layer.Raw, &desc));
                Keep(layer, new BufferBase[0]);
                Keep(source, new BufferBase[0]);
            }
            return this;
        }

        /// <summary>
        /// Appends a snapshot of batch rows into a buffer, as long as that of <see cref="Layer.Snapshot"/>, which
        /// <see cref="Layer.Restore"/> takes.
        /// </summary>
        /// <param name="layer">The layer.</param>
        /// <param name="destination">Written.</param>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        public Graph Snapshot(Layer layer, Buffer<byte> destination, long firstRow = 0, long rows = 0)
        {
            synfire_layer raw = Errors.Given(layer, "layer").Raw;
            return RecordRows(layer, null, Errors.Given(destination, "destination"), firstRow, rows,
                              desc => Native.synfire_graph_record_snapshot(Raw, raw, desc));
        }

        /// <summary>
        /// Appends the restoring of a snapshot. A replay that finds none of this layer there leaves the state as it is.
        /// </summary>
        /// <param name="layer">The layer.</param>
        /// <param name="source">Read.</param>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        public Graph Restore(Layer layer, Buffer<byte> source, long firstRow = 0, long rows = 0)
        {
            synfire_layer raw = Errors.Given(layer, "layer").Raw;
            return RecordRows(layer, null, Errors.Given(source, "source"), firstRow, rows,
                              desc => Native.synfire_graph_record_restore(Raw, raw, desc));
        }
    }
}
