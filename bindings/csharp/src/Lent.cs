// Lent.cs - memory of the program that the C library borrows: its owner is disposed of when no buffer, graph or tape
// needs it any more.
//
// The library reports this on whichever thread frees the buffer, possibly after the domain or the collectible context
// of this assembly is gone. So its `release` and `release_user` are not used: it sets a flag in unmanaged memory,
// `release_flag`, and TakeBack looks at these flags whenever an object is created or reclaimed.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;

namespace Synfire
{
    internal static unsafe class Lent
    {
        private static readonly Dictionary<IntPtr, IDisposable> owners_ = new Dictionary<IntPtr, IDisposable>();
        private static int n_lent_;

        // Keeps an owner until the flag that is returned is set.
        public static uint* Lend(IDisposable owner)
        {
            uint* flag = (uint*)Marshal.AllocHGlobal(sizeof(uint));
            *flag = 0;
            lock (owners_)
            {
                owners_.Add((IntPtr)flag, owner);
                Volatile.Write(ref n_lent_, owners_.Count);
            }
            return flag;
        }

        // The library did not take the memory; the owner remains the caller's.
        public static void Unlend(uint* flag)
        {
            lock (owners_)
            {
                owners_.Remove((IntPtr)flag);
                Volatile.Write(ref n_lent_, owners_.Count);
            }
            Marshal.FreeHGlobal((IntPtr)flag);
        }

        // Disposes of the owners of memory that the library no longer uses.
        public static void TakeBack()
        {
            if (Volatile.Read(ref n_lent_) == 0) return;
            List<KeyValuePair<IntPtr, IDisposable>> given = null;
            lock (owners_)
            {
                foreach (KeyValuePair<IntPtr, IDisposable> lent in owners_)
                {
                    if (Volatile.Read(ref *(uint*)lent.Key) == 0) continue;
                    if (given == null) given = new List<KeyValuePair<IntPtr, IDisposable>>();
                    given.Add(lent);
                }
                if (given == null) return;
                foreach (KeyValuePair<IntPtr, IDisposable> lent in given) owners_.Remove(lent.Key);
                Volatile.Write(ref n_lent_, owners_.Count);
            }
            foreach (KeyValuePair<IntPtr, IDisposable> lent in given)
            {
                Marshal.FreeHGlobal(lent.Key);
                try
                {
                    lent.Value.Dispose();
                }
                catch
                {
                    // The call that led here has nothing to do with this owner.
                }
            }
        }
    }
}
