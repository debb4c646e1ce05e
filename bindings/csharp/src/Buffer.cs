// Buffer.cs - typed memory of a context, the library's own or borrowed.
//
// SPDX-License-Identifier: MIT
using System;
using System.Buffers;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Synfire.Raw;

namespace Synfire
{
    /// <summary>Typed memory of a context, whatever its element type: <see cref="Buffer{T}"/>.</summary>
    public abstract unsafe partial class BufferBase : SynfireObject
    {
        private readonly long[] shape_;

        // Once the buffer is made, Lent disposes of the owner of borrowed memory.
        internal BufferBase(Context context, MemoryKind memory, DType dtype, long rowPitch, long[] shape, IntPtr data,
                            IDisposable owner)
            : base(new BufferHandle())
        {
            Errors.Given(context, "context");
            if (Errors.Given(shape, "shape").Length == 0) throw new ArgumentException("has no dimension", "shape");
            Errors.NotNegative(rowPitch, "rowPitch");
            shape_ = (long[])shape.Clone();
            Length = Shapes.Count(shape_);
            RowLength = Length / shape_[0];
            RowPitch = rowPitch == 0 ? RowLength : rowPitch;
            if (RowPitch < RowLength)
                throw new ArgumentOutOfRangeException(
                    "rowPitch", rowPitch, "allowed: 0, or at least the " + RowLength + " elements of a row");
            Context = context;
            DType = dtype;
            MemoryKind = memory;
            synfire_buffer_desc desc = synfire_buffer_desc.Init;
            desc.memory = (int)memory;
            desc.dtype = (int)dtype;
            desc.n_elements = (ulong)checked((shape_[0] - 1) * RowPitch + RowLength);
            desc.data = (void*)data;
            desc.row_pitch = (ulong)rowPitch;
            // The C library takes up to four dimensions; with more it checks the size only.
            if (shape_.Length <= 4)
                for (int i = 0; i < shape_.Length; ++i) desc.shape[i] = (ulong)shape_[i];
            synfire_buffer made;
            if (owner != null) desc.release_flag = Lent.Lend(owner);
            try
            {
                Errors.Check(Native.synfire_buffer_create(context.Raw, &desc, &made));
            }
            catch
            {
                if (owner != null) Lent.Unlend(desc.release_flag);
                throw;
            }
            Handle.Adopt(made.Value);
            GC.KeepAlive(context);
            void* address;
            ulong bytes;
            Errors.Check(Native.synfire_buffer_get_data(made, &address, &bytes));
            Address = (IntPtr)address;
            Bytes = (long)bytes;
        }

        // Takes over a handle that another object gave.
        internal BufferBase(Context context, synfire_buffer made, Type element) : base(new BufferHandle())
        {
            Context = context;
            Handle.Adopt(made.Value);
            synfire_buffer_desc desc = synfire_buffer_desc.Init;
            Errors.Check(Native.synfire_buffer_get_desc(made, &desc));
            int rank = 0;
            while (rank < 4 && desc.shape[rank] != 0) ++rank;
            shape_ = new long[Math.Max(rank, 1)];
            for (int i = 0; i < rank; ++i) shape_[i] = (long)desc.shape[i];
            if (rank == 0) shape_[0] = (long)desc.n_elements;
            Length = Shapes.Count(shape_);
            RowLength = Length / shape_[0];
            RowPitch = desc.row_pitch == 0 ? RowLength : (long)desc.row_pitch;
            DType = (DType)desc.dtype;
            MemoryKind = (MemoryKind)desc.memory;
            void* address;
            ulong bytes;
            Errors.Check(Native.synfire_buffer_get_data(made, &address, &bytes));
            Address = (IntPtr)address;
            Bytes = (long)bytes;
            try
            {
                ElementTypes.Require(element, DType);
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        internal IntPtr Address { get; }

        // The type of one element in C#.
        internal abstract Type Element { get; }

        internal synfire_buffer Raw { get { return new synfire_buffer(Handle.Value); } }

        // Elements of one index of the first dimension, and from one such row to the next.
        internal long RowLength { get; }

        /// <summary>The context it belongs to.</summary>
        public Context Context { get; }

        /// <summary>The type of the elements.</summary>
        public DType DType { get; }

        /// <summary>Which kind of memory it is.</summary>
        public MemoryKind MemoryKind { get; }

        /// <summary>
        /// The length of each dimension; the last is contiguous. An operation refuses a buffer of another shape than it
        /// needs. Lengths of 1 are ignored, and of a buffer of one dimension only the size is checked.
        /// </summary>
        public IReadOnlyList<long> Shape { get { return shape_; } }

        /// <summary>How many elements the shape has.</summary>
        public long Length { get; }

        /// <summary>Elements from one index of the first dimension to the next.</summary>
        public long RowPitch { get; }

        /// <summary>Bytes of memory.</summary>
        public long Bytes { get; }

        /// <summary>True if the program can reach the memory: it can, unless it is a GPU's own or there is none.</summary>
        public bool IsHostAccessible
        {
            get
            {
                return MemoryKind != MemoryKind.Transient && (MemoryKind != MemoryKind.Device || Context.IsHost);
            }
        }

        /// <summary>
        /// The address of the memory: a device address for a GPU's own. It is good for as long as the buffer is open.
        /// </summary>
        public IntPtr Pointer
        {
            get
            {
                IntPtr open = Handle.Value;
                return open == IntPtr.Zero ? IntPtr.Zero : Address;
            }
        }

        /// <summary>Sets every element to one value.</summary>
        public void Fill(double value)
        {
            using (new Use(Handle)) Errors.Check(Native.synfire_buffer_fill(Raw, value));
        }

        /// <summary>
        /// Reports that the memory was written through its address. A backward whose X was overwritten since the
        /// forward is then refused, instead of computing the gradient of other numbers.
        /// </summary>
        public void MarkWritten()
        {
            Errors.Check(Native.synfire_buffer_mark_written(Raw));
            GC.KeepAlive(this);
        }

        /// <summary>
        /// Copies bytes from an address, such as that of a <c>NativeArray</c>, into the buffer. Blocks until it is
        /// done.
        /// </summary>
        /// <param name="source">The address in the program's memory.</param>
        /// <param name="bytes">How many bytes.</param>
        /// <param name="offset">First byte in the buffer.</param>
        public void UploadBytes(void* source, long bytes, long offset = 0)
        {
            Errors.NotNegative(bytes, "bytes");
            Errors.NotNegative(offset, "offset");
            using (new Use(Handle))
                Errors.Check(Native.synfire_buffer_upload(Raw, (ulong)offset, source, (ulong)bytes));
        }

        /// <summary>Copies bytes of the buffer to an address. Blocks until it is done.</summary>
        /// <param name="destination">The address in the program's memory.</param>
        /// <param name="bytes">How many bytes.</param>
        /// <param name="offset">First byte in the buffer.</param>
        public void DownloadBytes(void* destination, long bytes, long offset = 0)
        {
            Errors.NotNegative(bytes, "bytes");
            Errors.NotNegative(offset, "offset");
            using (new Use(Handle))
                Errors.Check(Native.synfire_buffer_download(Raw, (ulong)offset, destination, (ulong)bytes));
        }

        /// <summary>Type, shape and kind of memory in words.</summary>
        public override string ToString()
        {
            return "Buffer " + DType + " " + Shapes.Text(shape_) + ", " + MemoryKind + (IsClosed ? " (closed)" : "");
        }

        internal long[] ShapeArray { get { return shape_; } }
    }

    /// <summary>
    /// Typed memory of a context: <see cref="Synfire.Context.CreateBuffer{T}(MemoryKind, long[])"/> makes one.
    /// </summary>
    /// <typeparam name="T">float, double, uint, ulong, byte, <see cref="Float16"/> or <see
    /// cref="BFloat16"/>.</typeparam>
    public sealed unsafe class Buffer<T> : BufferBase where T : struct
    {
        private Manager manager_;

        internal override Type Element { get { return typeof(T); } }

        internal Buffer(Context context, MemoryKind memory, DType dtype, long rowPitch, long[] shape,
                        IntPtr data = default(IntPtr), IDisposable owner = null)
            : base(context, memory, Checked(dtype), rowPitch, shape, data, owner)
        {
        }

        internal Buffer(Context context, synfire_buffer made) : base(context, made, typeof(T)) { }

        private static DType Checked(DType dtype)
        {
            ElementTypes.Require(typeof(T), dtype);
            return dtype;
        }

        /// <summary>
        /// The memory itself, all rows with what lies between them. No copy, no allocation: for use between replays.
        /// Like any span over native memory it is good only for as long as the buffer is open and referenced (by a
        /// variable, or by a graph or layer that uses it); <see cref="Memory"/> and the indexers check that.
        /// </summary>
        public Span<T> Span
        {
            get
            {
                RequireAccess();
                return new Span<T>((void*)Address, checked((int)(Bytes / ElementSize)));
            }
        }

        /// <summary>
        /// The memory itself as a Memory, which keeps the buffer alive; its Span throws once the buffer is closed.
        /// </summary>
        public Memory<T> Memory
        {
            get
            {
                RequireAccess();
                if (manager_ == null) manager_ = new Manager(this);
                return manager_.Memory;
            }
        }

        /// <summary>One element of a buffer of one dimension, checked.</summary>
        public T this[long i]
        {
            get { return Get(Index(i)); }
            set { Set(Index(i), value); }
        }

        /// <summary>One element of a buffer of two dimensions, checked.</summary>
        public T this[long i, long j]
        {
            get { return Get(Index(i, j)); }
            set { Set(Index(i, j), value); }
        }

        /// <summary>One element of a buffer of three dimensions, checked.</summary>
        public T this[long i, long j, long k]
        {
            get { return Get(Index(i, j, k)); }
            set { Set(Index(i, j, k), value); }
        }

        /// <summary>Copies elements into the buffer. Blocks until it is done.</summary>
        /// <param name="source">What to copy.</param>
        /// <param name="offset">First element in the buffer.</param>
        public void Upload(ReadOnlySpan<T> source, long offset = 0)
        {
            Errors.NotNegative(offset, "offset");
            RequireRoom(source.Length, offset, "source");
            if (source.Length == 0) return;
            fixed (byte* data = &MemoryMarshal.GetReference(MemoryMarshal.AsBytes(source)))
                UploadBytes(data, checked(source.Length * (long)ElementSize), checked(offset * ElementSize));
        }

        /// <summary>Copies an array into the buffer. Blocks until it is done.</summary>
        /// <param name="source">What to copy.</param>
        /// <param name="offset">First element in the buffer.</param>
        public void Upload(T[] source, long offset = 0)
        {
            Upload(new ReadOnlySpan<T>(Errors.Given(source, "source")), offset);
        }

        /// <summary>Copies elements out of the buffer. Blocks until it is done.</summary>
        /// <param name="destination">Where to.</param>
        /// <param name="offset">First element in the buffer.</param>
        public void Download(Span<T> destination, long offset = 0)
        {
            Errors.NotNegative(offset, "offset");
            RequireRoom(destination.Length, offset, "destination");
            if (destination.Length == 0) return;
            fixed (byte* data = &MemoryMarshal.GetReference(MemoryMarshal.AsBytes(destination)))
                DownloadBytes(data, checked(destination.Length * (long)ElementSize), checked(offset * ElementSize));
        }

        /// <summary>Copies elements into an array, as many as it has. Blocks until it is done.</summary>
        /// <param name="destination">Where to.</param>
        /// <param name="offset">First element in the buffer.</param>
        public void Download(T[] destination, long offset = 0)
        {
            Download(new Span<T>(Errors.Given(destination, "destination")), offset);
        }

        /// <summary>
        /// Copies an array of the buffer's shape into it: <c>float[,]</c>, <c>double[,,]</c> ... Blocks until it is
        /// done.
        /// </summary>
        public void CopyFrom(Array values)
        {
            RequireShape(values);
            Rows(values, true);
        }

        /// <summary>Copies the buffer into an array of its shape. Blocks until it is done.</summary>
        public void CopyTo(Array values)
        {
            RequireShape(values);
            Rows(values, false);
        }

        /// <summary>
        /// A copy as an array of the buffer's shape: <c>(float[,])x.ToArray()</c>. Blocks until it is done.
        /// </summary>
        public Array ToArray()
        {
            Array made = Array.CreateInstance(typeof(T), ShapeArray);
            Rows(made, false);
            return made;
        }

        // sizeof(T) without the constraint that C# 7.2 of mcs lacks.
        private static readonly int ElementSize = Marshal.SizeOf(typeof(T));

        private void Rows(Array values, bool upload)
        {
            GCHandle pin = GCHandle.Alloc(values, GCHandleType.Pinned);
            try
            {
                byte* data = (byte*)Marshal.UnsafeAddrOfPinnedArrayElement(values, 0);
                bool dense = RowPitch == RowLength;
                long n = dense ? 1 : ShapeArray[0], bytes = (dense ? Length : RowLength) * ElementSize;
                for (long row = 0; row < n; ++row)
                {
                    byte* at = data + row * RowLength * ElementSize;
                    long offset = row * RowPitch * ElementSize;
                    if (upload) UploadBytes(at, bytes, offset);
                    else DownloadBytes(at, bytes, offset);
                }
            }
            finally
            {
                pin.Free();
            }
        }

        private void RequireShape(Array values)
        {
            ElementTypes.RequireArray<T>(values, "values");
            if (!Shapes.Equal(values, ShapeArray))
            {
                long[] got = new long[values.Rank];
                for (int i = 0; i < got.Length; ++i) got[i] = values.GetLongLength(i);
                throw new ArgumentException(
                    "has the shape " + Shapes.Text(got) + "; allowed: " + Shapes.Text(ShapeArray), "values");
            }
        }

        private void RequireRoom(long count, long offset, string name)
        {
            IntPtr open = Handle.Value;
            long held = open == IntPtr.Zero ? 0 : Bytes / ElementSize;
            if (offset > held || count > held - offset)
                throw new ArgumentException(
                    "has " + count + " elements, from element " + offset + " on; the buffer has " + held, name);
        }

        private void RequireAccess()
        {
            IntPtr open = Handle.Value;
            if (open == IntPtr.Zero || !IsHostAccessible)
                throw new InvalidOperationException(
                    MemoryKind == MemoryKind.Transient
                        ? "A transient buffer has contents during a replay only"
                        : "The memory is the GPU's own: use Upload and Download, or MemoryKind.Pinned");
        }

        private long Index(long i)
        {
            RequireRank(1);
            return At(i, 0) * RowPitch;
        }

        private long Index(long i, long j)
        {
            RequireRank(2);
            return At(i, 0) * RowPitch + At(j, 1);
        }

        private long Index(long i, long j, long k)
        {
            RequireRank(3);
            return At(i, 0) * RowPitch + At(j, 1) * ShapeArray[2] + At(k, 2);
        }

        private void RequireRank(int rank)
        {
            if (ShapeArray.Length != rank)
                throw new ArgumentException("The buffer has " + ShapeArray.Length + " dimensions");
        }

        private long At(long index, int dimension)
        {
            if (index < 0 || index >= ShapeArray[dimension])
                throw new IndexOutOfRangeException("index " + index + " of dimension " + dimension + ", which has " +
                                                   ShapeArray[dimension]);
            return index;
        }

        private T Get(long element)
        {
            RequireAccess();
            using (new Use(Handle))
            {
                byte* at = (byte*)Address + element * ElementSize;
                return MemoryMarshal.Read<T>(new ReadOnlySpan<byte>(at, ElementSize));
            }
        }

        private void Set(long element, T value)
        {
            RequireAccess();
            using (new Use(Handle))
                MemoryMarshal.Write(new Span<byte>((byte*)Address + element * ElementSize, ElementSize), ref value);
        }

        private sealed class Manager : MemoryManager<T>
        {
            private readonly Buffer<T> buffer_;

            public Manager(Buffer<T> buffer) { buffer_ = buffer; }

            public override Span<T> GetSpan() { return buffer_.Span; }

            // Native memory does not move; what is pinned keeps the buffer open until it is unpinned.
            public override MemoryHandle Pin(int elementIndex = 0)
            {
                bool held = false;
                buffer_.Handle.Hold(ref held);
                return new MemoryHandle((byte*)buffer_.Address + (long)elementIndex * ElementSize, default(GCHandle),
                                        this);
            }

            public override void Unpin() { buffer_.Handle.DangerousRelease(); }

            protected override void Dispose(bool disposing) { }
        }
    }
}
