// Call.cs - what one call of the C library needs until it returns.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using Synfire.Raw;

namespace Synfire
{
    // One call: no other thread releases the handles that it uses, and the names and lists that it reads stay in
    // memory. Arguments fill in a descriptor through it, so that whatever is in a descriptor is held and can be kept.
    internal sealed unsafe partial class Call : IDisposable
    {
        private readonly List<SynfireObject> used_ = new List<SynfireObject>();
        private readonly List<IntPtr> memory_ = new List<IntPtr>();

        public Call(SynfireObject callee) { Hold(callee); }

        // The object that is called first, then what its arguments named.
        public IReadOnlyList<SynfireObject> Used { get { return used_; } }

        public synfire_buffer Use(BufferBase buffer)
        {
            if (buffer == null) return default(synfire_buffer);
            Hold(buffer);
            return buffer.Raw;
        }

        public synfire_layer Use(Layer layer)
        {
            if (layer == null) return default(synfire_layer);
            Hold(layer);
            return layer.Raw;
        }

        // A list of handles; null when there are none.
        public synfire_buffer* Use(IList<BufferBase> buffers, string name)
        {
            int count = buffers.Count;
            synfire_buffer* list = (synfire_buffer*)Memory(count, sizeof(synfire_buffer));
            for (int i = 0; i < count; ++i) list[i] = Use(Errors.Given(buffers[i], name));
            return list;
        }

        // A list of numbers; null when there are none.
        public void* Numbers<T>(IList<T> values) where T : struct
        {
            int count = values.Count;
            void* list = Memory(count, Marshal.SizeOf(typeof(T)));
            Span<T> numbers = new Span<T>(list, count);
            for (int i = 0; i < count; ++i) numbers[i] = values[i];
            return list;
        }

        // A C string; null for null.
        public byte* Text(string text)
        {
            if (text == null) return null;
            byte* utf8 = (byte*)Memory(Name.Capacity, 1);
            Name.Write(text, utf8);
            return utf8;
        }

        // Memory for that many entries, null for none.
        public void* Memory(int count, int size)
        {
            if (count == 0) return null;
            IntPtr block = Marshal.AllocHGlobal((IntPtr)((long)count * size));
            memory_.Add(block);
            return (void*)block;
        }

        public void Dispose()
        {
            foreach (SynfireObject used in used_) used.Handle.DangerousRelease();
            foreach (IntPtr block in memory_) Marshal.FreeHGlobal(block);
        }

        private void Hold(SynfireObject used)
        {
            bool held = false;
            used.Handle.Hold(ref held);
            used_.Add(used);
        }
    }
}
