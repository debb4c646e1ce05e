// State.cs - rows of the state of a layer: reset, read, written, copied, kept and put back; now, or recorded.
//
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using Synfire.Raw;

namespace Synfire
{
    // The arguments of operations on rows, for Layer and Graph.
    internal static class Rows
    {
        public static ResetRowsArguments Reset(long firstRow, long rows, BufferBase mask)
        {
            return new ResetRowsArguments
            {
                FirstRow = Errors.NotNegative(firstRow, "firstRow"),
                Rows = Errors.NotNegative(rows, "rows"),
                Buffer = mask
            };
        }

        public static ReadRowsArguments Read(string name, BufferBase destination, long firstRow, long rows)
        {
            return new ReadRowsArguments
            {
                Name = Errors.Given(name, "name"),
                Buffer = Errors.Given(destination, "destination"),
                FirstRow = Errors.NotNegative(firstRow, "firstRow"),
                Rows = Errors.NotNegative(rows, "rows")
            };
        }

        public static WriteRowsArguments Write(string name, BufferBase source, long firstRow, long rows)
        {
            return new WriteRowsArguments
            {
                Name = Errors.Given(name, "name"),
                Buffer = Errors.Given(source, "source"),
                FirstRow = Errors.NotNegative(firstRow, "firstRow"),
                Rows = Errors.NotNegative(rows, "rows")
            };
        }

        public static CopyRowsArguments Copy(Layer source, long firstRow, long rows, long destinationRow)
        {
            return new CopyRowsArguments
            {
                Source = source,
                FirstRow = Errors.NotNegative(firstRow, "firstRow"),
                Rows = Errors.NotNegative(rows, "rows"),
                DestinationRow = Errors.NotNegative(destinationRow, "destinationRow")
            };
        }
    }

    public sealed unsafe partial class Layer
    {
        /// <summary>Resets batch rows of the state, or those of them that a mask selects.</summary>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        /// <param name="mask">
        /// Null, or a byte for each batch row <c>[B]</c>, which is not 0 where the row is reset.
        /// </param>
        /// <param name="stream">A CUDA stream; zero is the context's own.</param>
        public void ResetRows(long firstRow = 0, long rows = 0, Buffer<byte> mask = null,
                              IntPtr stream = default(IntPtr))
        {
            ResetRows(Rows.Reset(firstRow, rows, mask), stream);
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
            ReadRows(Rows.Read(name, destination, firstRow, rows), stream);
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
            WriteRows(Rows.Write(name, source, firstRow, rows), stream);
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
            CopyRows(Rows.Copy(source, firstRow, rows, destinationRow), stream);
        }

        private static synfire_state_desc Range(long firstRow, long rows)
        {
            synfire_state_desc desc = synfire_state_desc.Init;
            desc.first_row = Errors.NotNegative(firstRow, "firstRow");
            desc.n_rows = Errors.NotNegative(rows, "rows");
            return desc;
        }

        /// <summary>
        /// Runs one forward now, over addresses. The tape is the caller's, so several forwards may wait for their
        /// backwards.
        /// </summary>
        /// <param name="pointers">
        /// The arrays. Addresses are not checked: one that is wrong is undefined behaviour. The <c>struct_size</c> is
        /// filled in. <c>spike_dtype</c> says the format of spikes. <c>tape_memory</c> has <c>tape_bytes</c> bytes and,
        /// for the <c>gradient_pointers</c> (<c>n_gradient_pointers</c> of them), <c>scratch</c> has <c>scratch_bytes</c>.
        /// </param>
        /// <param name="stream">The CUDA stream; null is the context's own.</param>
        public unsafe void RunForward(synfire_pointers_desc pointers, synfire_stream stream = default)
        {
            pointers.struct_size = (uint)sizeof(synfire_pointers_desc);
            using (new Use(Handle)) Errors.Check(Native.synfire_layer_run_forward(Raw, &pointers, stream));
        }

        /// <summary>
        /// Runs the backward of a forward over addresses, as its stamp says.
        /// </summary>
        /// <param name="pointers">As in <see cref="RunForward"/>, with gradients added.</param>
        /// <param name="stream">The CUDA stream; null is the context's own.</param>
        public unsafe void RunBackward(synfire_pointers_desc pointers, synfire_stream stream = default)
        {
            pointers.struct_size = (uint)sizeof(synfire_pointers_desc);
            using (new Use(Handle)) Errors.Check(Native.synfire_layer_run_backward(Raw, &pointers, stream));
        }

        /// <summary>
        /// The state of batch rows, with a header that identifies the layer. Parameters are not included.
        /// </summary>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        public byte[] Snapshot(long firstRow = 0, long rows = 0)
        {
            using (new Use(Handle))
            {
                synfire_state_desc desc = Range(firstRow, rows);
                ulong bytes = 0;
                Errors.Check(Native.synfire_layer_snapshot(Raw, &desc, null, &bytes));
                byte[] snapshot = new byte[bytes];
                fixed (byte* data = snapshot) Errors.Check(Native.synfire_layer_snapshot(Raw, &desc, data, &bytes));
                return snapshot;
            }
        }

        /// <summary>
        /// Restores a snapshot into as many batch rows. One of another layer, or other bytes, are refused.
        /// </summary>
        /// <param name="snapshot">What <see cref="Snapshot"/> gave, or a replay left in a buffer.</param>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        public void Restore(ReadOnlySpan<byte> snapshot, long firstRow = 0, long rows = 0)
        {
            Errors.GivenSpan(snapshot, "snapshot");
            using (new Use(Handle))
            {
                synfire_state_desc desc = Range(firstRow, rows);
                byte none;
                fixed (byte* data = &MemoryMarshal.GetReference(snapshot))
                    Errors.Check(Native.synfire_layer_restore(Raw, &desc, data == null ? &none : data,
                                                              (ulong)snapshot.Length));
            }
        }
    }

    public sealed partial class Graph
    {
        /// <summary>
        /// Appends a reset of batch rows. Every replay reads the mask.
        /// </summary>
        /// <param name="layer">The layer.</param>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        /// <param name="mask">
        /// Null, or a byte for each batch row <c>[B]</c>, which is not 0 where the row is reset.
        /// </param>
        public Graph ResetRows(Layer layer, long firstRow = 0, long rows = 0, Buffer<byte> mask = null)
        {
            return ResetRows(layer, Rows.Reset(firstRow, rows, mask));
        }

        /// <summary>Appends a copy of batch rows into a buffer.</summary>
        /// <param name="layer">The layer.</param>
        /// <param name="name">The variable: <c>v</c>, or <c>w</c> in models with two.</param>
        /// <param name="destination">Written.</param>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        public Graph ReadRows(Layer layer, string name, BufferBase destination, long firstRow = 0, long rows = 0)
        {
            return ReadRows(layer, Rows.Read(name, destination, firstRow, rows));
        }

        /// <summary>Appends a copy of a buffer into batch rows.</summary>
        /// <param name="layer">The layer.</param>
        /// <param name="name">The variable: <c>v</c>, or <c>w</c> in models with two.</param>
        /// <param name="source">Read.</param>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        public Graph WriteRows(Layer layer, string name, BufferBase source, long firstRow = 0, long rows = 0)
        {
            return WriteRows(layer, Rows.Write(name, source, firstRow, rows));
        }

        /// <summary>Appends a copy of batch rows from one layer to another.</summary>
        /// <param name="layer">The layer that is written.</param>
        /// <param name="source">Read.</param>
        /// <param name="firstRow">First batch row of the source.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        /// <param name="destinationRow">First batch row that is written.</param>
        public Graph CopyRows(Layer layer, Layer source, long firstRow = 0, long rows = 0, long destinationRow = 0)
        {
            return CopyRows(layer, Rows.Copy(source, firstRow, rows, destinationRow));
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
            return Snapshot(layer, new SnapshotArguments
            {
                Buffer = destination,
                FirstRow = Errors.NotNegative(firstRow, "firstRow"),
                Rows = Errors.NotNegative(rows, "rows")
            });
        }

        /// <summary>
        /// Appends the restoring of a snapshot. A replay that finds no snapshot of this layer leaves the state as it
        /// is.
        /// </summary>
        /// <param name="layer">The layer.</param>
        /// <param name="source">Read.</param>
        /// <param name="firstRow">First batch row.</param>
        /// <param name="rows">How many; 0 means all that follow.</param>
        public Graph Restore(Layer layer, Buffer<byte> source, long firstRow = 0, long rows = 0)
        {
            return Restore(layer, new RestoreArguments
            {
                Buffer = source,
                FirstRow = Errors.NotNegative(firstRow, "firstRow"),
                Rows = Errors.NotNegative(rows, "rows")
            });
        }
    }
}
