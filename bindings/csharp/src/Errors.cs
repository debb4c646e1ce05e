// Errors.cs - the C library's errors as exceptions, and the checks of arguments that C# makes itself.
//
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using Synfire.Raw;

namespace Synfire
{
    /// <summary>
    /// An error of the C library: a status, the id of the rule that was broken, and a text.
    /// </summary>
    [Serializable]
    public sealed class SynfireException : Exception
    {
        internal SynfireException(Status status, string ruleId, string text, int cudaError)
            : base(Describe(status, ruleId, text, cudaError))
        {
            Status = status;
            RuleId = ruleId;
            Text = text;
            CudaError = cudaError;
        }

        /// <summary>The kind of error. A newer library may return numbers that have no name here.</summary>
        public Status Status { get; }

        /// <summary>The stable id of the rule, such as <c>SYN-LAYER-STEPS</c>; empty when there is none.</summary>
        public string RuleId { get; }

        /// <summary>The value that was received, and the values that are allowed.</summary>
        public string Text { get; }

        /// <summary>The <c>cudaError_t</c> that caused it, or 0.</summary>
        public int CudaError { get; }

        private static string Describe(Status status, string ruleId, string text, int cudaError)
        {
            string name = SynfireLibrary.StatusName((int)status);
            return name + (ruleId.Length > 0 ? " [" + ruleId + "]" : "") + ": " + text +
                   (cudaError != 0 ? " (CUDA error " + cudaError + ")" : "");
        }
    }

    internal static unsafe class Errors
    {
        // Throws for an error, else returns the status: 0, or a note.
        public static int Check(int status)
        {
            if (status < 0) Throw(status);
            return status;
        }

        // The text belongs to this thread, and destroy functions never touch it: a finalizer cannot change it.
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Throw(int status)
        {
            const int capacity = 4096;
            byte* text = stackalloc byte[capacity];
            int cudaError;
            Native.synfire_last_error(text, capacity, &cudaError);
            string message = TextOf(text, capacity);
            int end = message.StartsWith("[", StringComparison.Ordinal) ? message.IndexOf(']') : -1;
            if (end < 0) throw new SynfireException((Status)status, "", message, cudaError);
            throw new SynfireException((Status)status, message.Substring(1, end - 1),
                                       message.Substring(end + 1).TrimStart(), cudaError);
        }

        // A C string of at most `capacity` bytes.
        public static string TextOf(byte* text, int capacity)
        {
            if (text == null) return "";
            int length = 0;
            while (length < capacity && text[length] != 0) ++length;
            return Encoding.UTF8.GetString(text, length);
        }

        public static T Given<T>(T value, string name) where T : class
        {
            if (value == null) throw new ArgumentNullException(name);
            return value;
        }

        // Null becomes a span of no memory, which an empty array does not.
        public static void GivenSpan<T>(ReadOnlySpan<T> values, string name)
        {
            if (values == default(ReadOnlySpan<T>)) throw new ArgumentNullException(name);
        }

        public static long NotNegative(long value, string name)
        {
            if (value < 0) throw new ArgumentOutOfRangeException(name, value, "allowed: 0 or more");
            return value;
        }
    }

    // A C string on the stack of the caller: no allocation.
    internal static unsafe class Name
    {
        public const int Capacity = 256;

        public static void Write(string name, byte* utf8, string parameter = "name")
        {
            Errors.Given(name, parameter);
            if (name.IndexOf('\0') >= 0) throw new ArgumentException("contains a null character", parameter);
            if (name.Length >= Capacity / 3)
                throw new ArgumentException("has " + name.Length + " characters; allowed: " + (Capacity / 3 - 1),
                                            parameter);
            int written = 0;
            if (name.Length > 0)
                fixed (char* characters = name)
                    written = Encoding.UTF8.GetBytes(characters, name.Length, utf8, Capacity - 1);
            utf8[written] = 0;
        }

        // A text of any length, such as the path of a file.
        public static byte[] Long(string text, string parameter)
        {
            Errors.Given(text, parameter);
            if (text.IndexOf('\0') >= 0) throw new ArgumentException("contains a null character", parameter);
            return Encoding.UTF8.GetBytes(text + "\0");
        }
    }
}
