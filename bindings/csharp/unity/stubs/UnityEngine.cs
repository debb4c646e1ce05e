// UnityEngine.cs - stand-ins with the signatures of what the package uses of Unity, to compile and drive it without
// Unity.
//
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;

namespace UnityEngine
{
    public class MonoBehaviour
    {
    }

    public class TextAsset
    {
        public byte[] bytes { get; set; }
    }

    public static class Debug
    {
        public static void Log(object message) { Console.WriteLine(message); }
    }
}

namespace Unity.Collections
{
    public enum Allocator
    {
        Persistent = 4
    }

    public struct NativeArray<T> : IDisposable where T : struct
    {
        internal IntPtr Data;

        public NativeArray(int length, Allocator allocator)
        {
            Length = length;
            Data = Marshal.AllocHGlobal(length * Marshal.SizeOf(typeof(T)));
        }

        public int Length { get; }

        public void Dispose() { Marshal.FreeHGlobal(Data); }
    }
}

namespace Unity.Collections.LowLevel.Unsafe
{
    public static unsafe class NativeArrayUnsafeUtility
    {
        public static void* GetUnsafePtr<T>(NativeArray<T> array) where T : struct { return (void*)array.Data; }

        public static void* GetUnsafeReadOnlyPtr<T>(NativeArray<T> array) where T : struct { return (void*)array.Data; }
    }

    public static class UnsafeUtility
    {
        public static int SizeOf<T>() where T : struct { return Marshal.SizeOf(typeof(T)); }
    }
}
