// NativeArrays.cs - Unity's NativeArray as memory of a buffer, and as source and destination of copies.
//
// SPDX-License-Identifier: MIT
using Unity.Collections;
using Unity.Collections.LowLevel.Unsafe;

namespace Synfire
{
    /// <summary>Unity's NativeArray with buffers.</summary>
    public static unsafe class NativeArrays
    {
        /// <summary>
        /// Borrows the memory of an array without a copy. The array must outlive the buffer, every graph that uses it,
        /// and every layer whose tape was made from it: allocate it with <c>Allocator.Persistent</c>, and dispose it
        /// last.
        /// </summary>
        public static Buffer<T> Borrow<T>(this Context context, NativeArray<T> values, params long[] shape)
            where T : struct
        {
            long count = 1;
            foreach (long length in shape) count *= length;
            if (count != values.Length)
                throw new System.ArgumentException("has " + values.Length + " elements; the shape has " + count,
                                                   "values");
            return context.Borrow<T>(NativeArrayUnsafeUtility.GetUnsafePtr(values), MemoryKind.Host, shape);
        }

        /// <summary>Copies an array into a buffer, from its first element on.</summary>
        public static void Upload<T>(this Buffer<T> buffer, NativeArray<T> values) where T : struct
        {
            buffer.UploadBytes(NativeArrayUnsafeUtility.GetUnsafeReadOnlyPtr(values),
                               (long)values.Length * UnsafeUtility.SizeOf<T>());
        }

        /// <summary>Copies the first elements of a buffer into an array.</summary>
        public static void Download<T>(this Buffer<T> buffer, NativeArray<T> values) where T : struct
        {
            buffer.DownloadBytes(NativeArrayUnsafeUtility.GetUnsafePtr(values),
                                 (long)values.Length * UnsafeUtility.SizeOf<T>());
        }
    }
}
