// Memory.cs - the program's own functions for host memory and for messages, and how much memory the library holds.
//
// The C library calls static methods, which catch what the program's functions throw, so that no exception crosses a frame of
// C. Tensors of other libraries (DLPack) are for programs that have such a library: Native.synfire_buffer_from_dlpack with a
// synfire_from_dlpack_desc (tensor, unversioned, stream, words), and Native.synfire_buffer_to_dlpack with a
// synfire_to_dlpack_desc (with_sign).
//
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using Synfire.Raw;

namespace Synfire
{
    /// <summary>
    /// Gives memory of this size and alignment to the library, or <see cref="IntPtr.Zero"/> if there is none: the call then
    /// fails as one without memory, and so it does if the function throws.
    /// </summary>
    public delegate IntPtr AllocateMemory(ulong bytes, ulong alignment, Tag tag);

    /// <summary>Takes back what <see cref="AllocateMemory"/> gave, with what it was asked for. It must not throw.</summary>
    public delegate void ReleaseMemory(IntPtr memory, ulong bytes, ulong alignment, Tag tag);

    /// <summary>The host memory of the library in this process.</summary>
    public static unsafe class HostMemory
    {
        /// <summary>
        /// Lets the program's functions give all host memory to the library: before the first context, or when everything is
        /// closed and freed. Otherwise it throws, with the rule <c>SYN-MEMORY-IN-USE</c>. The functions are called on threads
        /// that call the library, by several at once, never by a launch or a wait. They must not use the library. A program
        /// that unloads its code, as Unity does when play begins, calls <see cref="Reset"/> before.
        /// </summary>
        public static void Set(AllocateMemory allocate, ReleaseMemory release)
        {
            SynfireLibrary.Require();
            Pair pair = new Pair(Errors.Given(allocate, "allocate"), Errors.Given(release, "release"));
            GCHandle handle = GCHandle.Alloc(pair);
            synfire_memory_desc desc = synfire_memory_desc.Init;
            desc.allocate = allocatePointer_;
            desc.release = releasePointer_;
            desc.user = (void*)GCHandle.ToIntPtr(handle);
            lock (lock_) // what the library has is what is kept
            {
                try
                {
                    Errors.Check(Native.synfire_memory_set_functions(&desc));
                }
                catch
                {
                    handle.Free();
                    throw;
                }
                Keep(handle);
            }
        }

        /// <summary>Lets the C library give host memory to the library, as at first. It throws as <see cref="Set"/> does.</summary>
        public static void Reset()
        {
            SynfireLibrary.Require();
            lock (lock_)
            {
                Errors.Check(Native.synfire_memory_set_functions(null));
                Keep(default(GCHandle));
            }
        }

        /// <summary>The memory that the library holds in this process.</summary>
        public static MemoryUse Use
        {
            get
            {
                SynfireLibrary.Require();
                synfire_memory_use use = synfire_memory_use.Init;
                Errors.Check(Native.synfire_memory_get_use(&use));
                return new MemoryUse(use);
            }
        }

        private sealed class Pair
        {
            public readonly AllocateMemory Allocate;
            public readonly ReleaseMemory Release;

            public Pair(AllocateMemory allocate, ReleaseMemory release)
            {
                Allocate = allocate;
                Release = release;
            }
        }

        private static readonly object lock_ = new object();
        private static GCHandle kept_;

        // Under lock_.
        private static void Keep(GCHandle handle)
        {
            if (kept_.IsAllocated) kept_.Free();
            kept_ = handle;
        }

        // Called by the C library.

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate IntPtr AllocateCallback(IntPtr user, ulong bytes, ulong alignment, int tag);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void ReleaseCallback(IntPtr user, IntPtr memory, ulong bytes, ulong alignment, int tag);

        private static readonly AllocateCallback allocateCallback_ = CallAllocate;
        private static readonly ReleaseCallback releaseCallback_ = CallRelease;
        private static readonly IntPtr allocatePointer_ = Marshal.GetFunctionPointerForDelegate(allocateCallback_);
        private static readonly IntPtr releasePointer_ = Marshal.GetFunctionPointerForDelegate(releaseCallback_);

        [MonoPInvokeCallback(typeof(AllocateCallback))]
        private static IntPtr CallAllocate(IntPtr user, ulong bytes, ulong alignment, int tag)
        {
            try
            {
                return ((Pair)GCHandle.FromIntPtr(user).Target).Allocate(bytes, alignment, (Tag)tag);
            }
            catch (Exception)
            {
                return IntPtr.Zero;
            }
        }

        [MonoPInvokeCallback(typeof(ReleaseCallback))]
        private static void CallRelease(IntPtr user, IntPtr memory, ulong bytes, ulong alignment, int tag)
        {
            try
            {
                ((Pair)GCHandle.FromIntPtr(user).Target).Release(memory, bytes, alignment, (Tag)tag);
            }
            catch (Exception)
            {
                // Nobody waits for a result.
            }
        }
    }

    /// <summary>The library's messages in this process: warnings, and what was chosen. Never of a launch or a wait.</summary>
    public static unsafe class Messages
    {
        /// <summary>
        /// Lets a function hear messages up to a level, on the thread that calls the library. It must not use the library; what
        /// it throws is ignored.
        /// </summary>
        public static void Set(Action<Log, string> listener, Log level = Log.Choice)
        {
            SynfireLibrary.Require();
            GCHandle handle = GCHandle.Alloc(Errors.Given(listener, "listener"));
            synfire_log_desc desc = synfire_log_desc.Init;
            desc.level = (int)level;
            desc.log = pointer_;
            desc.user = (void*)GCHandle.ToIntPtr(handle);
            lock (lock_) // what the library has is what is kept
            {
                try
                {
                    Errors.Check(Native.synfire_log_set_function(&desc));
                }
                catch
                {
                    handle.Free();
                    throw;
                }
                Keep(handle);
            }
        }

        /// <summary>Nobody hears messages, as at first.</summary>
        public static void Reset()
        {
            SynfireLibrary.Require();
            lock (lock_)
            {
                Errors.Check(Native.synfire_log_set_function(null));
                Keep(default(GCHandle));
            }
        }

        private static readonly object lock_ = new object();
        private static GCHandle kept_;

        // Under lock_.
        private static void Keep(GCHandle handle)
        {
            if (kept_.IsAllocated) kept_.Free();
            kept_ = handle;
        }

        // Called by the C library.

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void Callback(IntPtr user, int level, IntPtr text);

        private static readonly Callback callback_ = Hear;
        private static readonly IntPtr pointer_ = Marshal.GetFunctionPointerForDelegate(callback_);

        [MonoPInvokeCallback(typeof(Callback))]
        private static void Hear(IntPtr user, int level, IntPtr text)
        {
            try
            {
                Action<Log, string> listener = (Action<Log, string>)GCHandle.FromIntPtr(user).Target;
                listener((Log)level, Errors.TextOf((byte*)text, 4096));
            }
            catch (Exception)
            {
                // A message is no reason to fail.
            }
        }
    }
}
