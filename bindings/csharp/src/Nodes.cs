// Nodes.cs - native nodes: functions of the program between two operations of a graph.
//
// The C library calls one static method, which catches what the program's function throws, so that no exception crosses
// a frame of C. The node holds the exception until the call that led to it returns; that call then throws it.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using Synfire.Raw;

namespace Synfire
{
    /// <summary>
    /// The function of a native node. On the host it does its work before it returns; on a GPU it enqueues kernels on
    /// <see cref="NativeCall.Stream"/>, which is being captured. What it throws comes out of the call that led to it.
    /// </summary>
    public delegate void NativeFunction(NativeCall call);

    /// <summary>Arguments for the function of a native node. They are valid during the call only.</summary>
    public unsafe ref struct NativeCall
    {
        private readonly synfire_native_call* raw_;
        private readonly NativeNode node_;

        internal NativeCall(synfire_native_call* raw, NativeNode node)
        {
            raw_ = raw;
            node_ = node;
        }

        /// <summary>The CUDA stream to enqueue on; zero on the host.</summary>
        public IntPtr Stream { get { return raw_->stream.Value; } }

        /// <summary>The slot of the graph whose memory this is.</summary>
        public int Slot { get { return (int)raw_->slot; } }

        /// <summary>The address of a buffer that is read: a device address on a GPU.</summary>
        public IntPtr ReadPointer(int index) { return (IntPtr)At(raw_->reads, node_.Reads, index).data; }

        /// <summary>The address of a buffer that is written: a device address on a GPU.</summary>
        public IntPtr WritePointer(int index) { return (IntPtr)At(raw_->writes, node_.Writes, index).data; }

        /// <summary>The memory of a buffer that is read, on the host.</summary>
        /// <param name="index">Its place among the buffers that are read.</param>
        public ReadOnlySpan<T> Read<T>(int index) where T : struct
        {
            return Memory<T>(At(raw_->reads, node_.Reads, index), node_.Reads[index]);
        }

        /// <summary>The memory of a buffer that is written, on the host.</summary>
        /// <param name="index">Its place among the buffers that are written.</param>
        public Span<T> Write<T>(int index) where T : struct
        {
            return Memory<T>(At(raw_->writes, node_.Writes, index), node_.Writes[index]);
        }

        private static synfire_memory At(synfire_memory* all, Type[] types, int index)
        {
            if (index < 0 || index >= types.Length)
                throw new ArgumentOutOfRangeException("index", index, "allowed: less than " + types.Length);
            return all[index];
        }

        private Span<T> Memory<T>(synfire_memory memory, Type element) where T : struct
        {
            if (!node_.IsHost)
                throw new InvalidOperationException("The memory is the GPU's: enqueue on the stream");
            if (typeof(T) != element)
                throw new ArgumentException("elements of type " + typeof(T).Name + "; allowed: " + element.Name);
            return new Span<T>(memory.data, checked((int)((long)memory.bytes / Marshal.SizeOf(element))));
        }
    }

    internal sealed class NativeNode
    {
        public readonly NativeFunction Function;
        public readonly Type[] Reads, Writes;
        public readonly bool IsHost;
        public ExceptionDispatchInfo Failure;

        public NativeNode(NativeFunction function, BufferBase[] reads, BufferBase[] writes, bool isHost)
        {
            Function = function;
            Reads = Array.ConvertAll(reads, buffer => Errors.Given(buffer, "reads").Element);
            Writes = Array.ConvertAll(writes, buffer => Errors.Given(buffer, "writes").Element);
            IsHost = isHost;
        }

        // Called by the C library.

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int Callback(IntPtr user, IntPtr call);

        private static readonly Callback callback_ = Call;

        public static readonly IntPtr Pointer = Marshal.GetFunctionPointerForDelegate(callback_);

        [MonoPInvokeCallback(typeof(Callback))]
        private static unsafe int Call(IntPtr user, IntPtr call)
        {
            NativeNode node = null;
            try
            {
                node = (NativeNode)GCHandle.FromIntPtr(user).Target;
                node.Function(new NativeCall((synfire_native_call*)call, node));
                return Native.SYNFIRE_OK;
            }
            catch (Exception problem)
            {
                if (node != null) node.Failure = ExceptionDispatchInfo.Capture(problem);
                return Native.SYNFIRE_ERROR_CALLBACK;
            }
        }
    }

    // Ahead-of-time compilers, such as Unity's, recognize by the name of this attribute what C may call.
    [AttributeUsage(AttributeTargets.Method)]
    internal sealed class MonoPInvokeCallbackAttribute : Attribute
    {
        public MonoPInvokeCallbackAttribute(Type type) { }
    }

    public sealed unsafe partial class Graph
    {
        private List<NativeNode> nodes_;

        /// <summary>
        /// Appends a native node: a function of the program. On the host it runs with each launch, on the launching
        /// thread. On a GPU it is called when the graph is instantiated, once for each slot, and enqueues kernels on a
        /// stream that is being captured.
        /// </summary>
        /// <param name="function">What runs. An exception comes out of the call that led to it.</param>
        /// <param name="reads">Buffers that it reads; null: none.</param>
        /// <param name="writes">Buffers that it writes; null: none.</param>
        /// <param name="name">What error texts and pictures call it; null: its number.</param>
        public Graph AddNative(NativeFunction function, BufferBase[] reads = null, BufferBase[] writes = null,
                               string name = null)
        {
            Errors.Given(function, "function");
            reads = reads ?? new BufferBase[0];
            writes = writes ?? new BufferBase[0];
            NativeNode node = new NativeNode(function, reads, writes, Context.IsHost);
            using (Call call = new Call(this))
            {
                synfire_native_desc desc = synfire_native_desc.Init;
                desc.callback = NativeNode.Pointer;
                desc.name = call.Text(name);
                desc.reads = call.Use(reads, "reads");
                desc.n_reads = (ulong)reads.Length;
                desc.writes = call.Use(writes, "writes");
                desc.n_writes = (ulong)writes.Length;
                // Weak: the graph's object keeps the node, and C calls it only within calls on that object.
                GCHandle handle = GCHandle.Alloc(node, GCHandleType.Weak);
                desc.user = (void*)GCHandle.ToIntPtr(handle);
                bool recorded = false;
                try
                {
                    Errors.Check(Native.synfire_graph_record_native(Raw, &desc));
                    recorded = true;
                }
                finally
                {
                    if (!recorded) handle.Free();
                }
                ((GraphHandle)Handle).Own(handle);
                lock (keeps_)
                {
                    if (nodes_ == null) nodes_ = new List<NativeNode>();
                    nodes_.Add(node);
                }
                Keep(call.Used);
            }
            return this;
        }

        // Throws what a native node threw, else the C library's own error.
        private void Checked(int status)
        {
            if (status < 0) Fail(status);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private void Fail(int status)
        {
            ExceptionDispatchInfo thrown = null;
            if (status == Native.SYNFIRE_ERROR_CALLBACK)
                lock (keeps_)
                    foreach (NativeNode node in nodes_ ?? new List<NativeNode>())
                    {
                        thrown = thrown ?? node.Failure;
                        node.Failure = null;
                    }
            if (thrown != null) thrown.Throw();
            Errors.Check(status);
        }
    }
}
