// Lent.cs - memory of the program that the C library borrows: whoever owns it has it back when no buffer, graph or tape
// needs it any more.
//
// The library tells that on whichever thread frees the buffer, and perhaps after the domain or the collectible context of
// this assembly is gone. So no function of C# is its `release` with a `release_user`: it sets a flag in memory that no
// collector knows, `release_flag`, and this looks at the flags whenever something was created or reclaimed.
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

        // Keeps an owner until the flag is set, which it answers.
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

        // The library has not got it; the owner is still the caller's.
        public static void Unlend(uint* flag)
        {
            lock (owners_)
            {
                owners_.Remove((IntPtr)flag);
                Volatile.Write(ref n_lent_, owners_.Count);
            }
            Marshal.FreeHGlobal((IntPtr)flag);
        }

        // Gives back what the library has given up.
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
                    // The call that came by has nothing to do with it.
                }
            }
        }
    }
}
