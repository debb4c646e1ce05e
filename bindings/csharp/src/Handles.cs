// Handles.cs - the SafeHandle of each type, and the base of the public classes.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;
using Synfire.Raw;

namespace Synfire
{
    // A handle is a type tag, a slot and a generation, never an address, and the C library refuses a stale one. So a
    // handle may be released while a call runs. The exception are functions of native nodes: their graph releases them
    // after the last call that uses its handle. Lent returns borrowed memory.
    internal abstract class NativeHandle : SafeHandle
    {
        private static long n_live_;

        protected NativeHandle() : base(IntPtr.Zero, true) { }

        public static long LiveCount { get { return Interlocked.Read(ref n_live_); } }

        public override bool IsInvalid { get { return handle == IntPtr.Zero; } }

        // Takes a handle that was just created. Creating an object frees those that were closed before.
        public void Adopt(IntPtr value)
        {
            SetHandle(value);
            Interlocked.Increment(ref n_live_);
            Lent.TakeBack();
        }

        // The value of the handle; throws when it is closed.
        public IntPtr Value
        {
            get
            {
                if (IsClosed || handle == IntPtr.Zero) throw Closed();
                return handle;
            }
        }

        // As DangerousAddRef, whose own text for a closed handle names nothing.
        public void Hold(ref bool held)
        {
            try
            {
                DangerousAddRef(ref held);
            }
            catch (ObjectDisposedException)
            {
                throw Closed();
            }
        }

        protected abstract void Destroy();

        protected sealed override bool ReleaseHandle()
        {
            Destroy();
            Interlocked.Decrement(ref n_live_);
            return true;
        }

        protected abstract string TypeName { get; }

        private ObjectDisposedException Closed() { return new ObjectDisposedException("Synfire." + TypeName); }
    }

    internal sealed class ContextHandle : NativeHandle
    {
        protected override string TypeName { get { return "Context"; } }

        protected override void Destroy() { Native.synfire_context_destroy(new synfire_context(handle)); }
    }

    internal sealed class BufferHandle : NativeHandle
    {
        protected override string TypeName { get { return "Buffer"; } }

        protected override void Destroy() { Native.synfire_buffer_destroy(new synfire_buffer(handle)); }
    }

    internal sealed class LayerHandle : NativeHandle
    {
        protected override string TypeName { get { return "Layer"; } }

        protected override void Destroy() { Native.synfire_layer_destroy(new synfire_layer(handle)); }
    }

    internal sealed class GraphHandle : NativeHandle
    {
        private List<GCHandle> nodes_;

        protected override string TypeName { get { return "Graph"; } }

        // True if calls must hold the handle, because its functions are released with it. Nodes are recorded before
        // the first launch.
        public bool HasNodes { get { return nodes_ != null; } }

        // The GCHandle of a native node, freed with the graph. The graph's object keeps the node itself.
        public void Own(GCHandle node)
        {
            lock (this)
            {
                List<GCHandle> nodes = nodes_ ?? new List<GCHandle>();
                nodes.Add(node);
                Volatile.Write(ref nodes_, nodes);
            }
        }

        protected override void Destroy()
        {
            Native.synfire_graph_destroy(new synfire_graph(handle));
            if (nodes_ != null)
                foreach (GCHandle node in nodes_) node.Free();
        }
    }

    // Keeps handles from being released by another thread for the length of a call.
    internal struct Use : IDisposable
    {
        private readonly NativeHandle[] handles_;
        private int n_held_;

        public Use(params NativeHandle[] handles)
        {
            handles_ = handles;
            n_held_ = 0;
            try
            {
                foreach (NativeHandle handle in handles)
                {
                    bool held = false;
                    if (handle != null) handle.Hold(ref held);
                    ++n_held_;
                }
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        public void Dispose()
        {
            for (int i = 0; i < n_held_; ++i)
                if (handles_[i] != null) handles_[i].DangerousRelease();
            n_held_ = 0;
        }
    }

    /// <summary>
    /// An object of the C library. <see cref="Dispose"/> closes it; otherwise the garbage collector does. Objects may
    /// be closed in any order and on any thread: each keeps what it needs.
    /// </summary>
    public abstract class SynfireObject : IDisposable
    {
        internal readonly NativeHandle Handle;

        internal SynfireObject(NativeHandle handle) { Handle = handle; }

        /// <summary>True if it was closed. Every other use of a closed object throws ObjectDisposedException.</summary>
        public bool IsClosed { get { return Handle.IsClosed; } }

        /// <summary>
        /// The handle as the C library knows it, for calls of <see cref="Native"/>. Keep the object alive during the
        /// call.
        /// </summary>
        public IntPtr NativeValue { get { return Handle.Value; } }

        /// <summary>Closes it. Never blocks; twice is fine. What is in use is freed later.</summary>
        public void Dispose()
        {
            Handle.Dispose();
            GC.SuppressFinalize(this);
        }
    }
}
