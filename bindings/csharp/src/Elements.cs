// Elements.cs - element types and shapes: which C# type is which type of the library, 16-bit numbers.
//
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;

namespace Synfire
{
    internal static class ElementTypes
    {
        // The meaning of a C# type unless another one is stated.
        public static DType Of(Type type)
        {
            if (type == typeof(float)) return DType.F32;
            if (type == typeof(double)) return DType.F64;
            if (type == typeof(uint)) return DType.Bits;
            if (type == typeof(Float16)) return DType.F16;
            if (type == typeof(BFloat16)) return DType.Bf16;
            if (type == typeof(byte)) return DType.U8;
            if (type == typeof(ulong)) return DType.U64;
            throw new ArgumentException("an element type " + type.Name +
                                        "; allowed: float, double, uint, ulong, byte, Float16, BFloat16");
        }

        public static void Require(Type type, DType dtype)
        {
            DType natural = Of(type);
            bool isWord = natural == DType.Bits && (dtype == DType.TimeBits || dtype == DType.U32);
            if (dtype != natural && !isWord)
                throw new ArgumentException("elements of " + type.Name + " are no " + dtype, "dtype");
        }

        // An array whose elements are exactly T: .NET would take int[] for uint[].
        public static void RequireArray<T>(Array values, string name)
        {
            Errors.Given(values, name);
            if (values.GetType().GetElementType() != typeof(T))
                throw new ArgumentException(
                    "has elements of " + values.GetType().GetElementType().Name + "; allowed: " + typeof(T).Name, name);
        }
    }

    internal static class Shapes
    {
        public static long Count(long[] shape)
        {
            long count = 1;
            foreach (long length in shape)
            {
                if (length < 1)
                    throw new ArgumentOutOfRangeException("shape", length, "allowed: 1 or more in each dimension");
                count = checked(count * length);
            }
            return count;
        }

        public static string Text(long[] shape) { return "[" + string.Join(", ", shape) + "]"; }

        public static bool Equal(Array values, long[] shape)
        {
            if (values.Rank != shape.Length) return false;
            for (int i = 0; i < shape.Length; ++i)
                if (values.GetLongLength(i) != shape[i]) return false;
            return true;
        }
    }

    // The bits of a float and back.
    [StructLayout(LayoutKind.Explicit)]
    internal struct FloatBits
    {
        [FieldOffset(0)] public float Number;
        [FieldOffset(0)] public uint Bits;
    }

    /// <summary>A number of 16 bits, IEEE binary16: for storage; convert it to float to calculate.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public readonly struct Float16 : IEquatable<Float16>
    {
        /// <summary>The number as it is stored.</summary>
        public readonly ushort Bits;

        private Float16(ushort bits) { Bits = bits; }

        /// <summary>The number with these bits.</summary>
        public static Float16 FromBits(ushort bits) { return new Float16(bits); }

        /// <summary>Rounded to nearest, ties to even.</summary>
        public static explicit operator Float16(float value)
        {
            uint bits = new FloatBits { Number = value }.Bits;
            uint sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
            if (magnitude > 0x7f800000u) return new Float16((ushort)(sign | 0x7e00u));
            if (magnitude >= 0x477ff000u) return new Float16((ushort)(sign | 0x7c00u));
            if (magnitude < 0x38800000u)
            {
                // Subnormal here: the smallest step is 2^-24, and adding 0.5 puts that step at the float's last bit.
                FloatBits moved = new FloatBits { Bits = magnitude };
                moved.Number += 0.5f;
                return new Float16((ushort)(sign | (moved.Bits - 0x3f000000u)));
            }
            uint odd = magnitude >> 13 & 1u;
            return new Float16((ushort)(sign | ((magnitude + 0xfffu + odd - 0x38000000u) >> 13)));
        }

        /// <summary>Exact.</summary>
        public static implicit operator float(Float16 value)
        {
            uint sign = (uint)(value.Bits & 0x8000) << 16, rest = (uint)(value.Bits & 0x7fff);
            if (rest >= 0x7c00u) return new FloatBits { Bits = sign | 0x7f800000u | (rest & 0x3ffu) << 13 }.Number;
            if (rest >= 0x400u) return new FloatBits { Bits = sign | ((rest << 13) + 0x38000000u) }.Number;
            float small = rest / 16777216.0f;
            return sign != 0 ? -small : small;
        }

        /// <summary>True if both have the same bits.</summary>
        public bool Equals(Float16 other) { return Bits == other.Bits; }

        /// <summary>True if both have the same bits.</summary>
        public override bool Equals(object other) { return other is Float16 && Equals((Float16)other); }

        /// <summary>A number for hash tables.</summary>
        public override int GetHashCode() { return Bits; }

        /// <summary>The number in words.</summary>
        public override string ToString() { return ((float)this).ToString(); }
    }

    /// <summary>A bfloat16, the upper half of a float: for storage; convert it to float to calculate.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public readonly struct BFloat16 : IEquatable<BFloat16>
    {
        /// <summary>The number as it is stored.</summary>
        public readonly ushort Bits;

        private BFloat16(ushort bits) { Bits = bits; }

        /// <summary>The number with these bits.</summary>
        public static BFloat16 FromBits(ushort bits) { return new BFloat16(bits); }

        /// <summary>Rounded to nearest, ties to even.</summary>
        public static explicit operator BFloat16(float value)
        {
            uint bits = new FloatBits { Number = value }.Bits;
            if ((bits & 0x7fffffffu) > 0x7f800000u) return new BFloat16((ushort)(bits >> 16 | 0x40u));
            return new BFloat16((ushort)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16));
        }

        /// <summary>Exact.</summary>
        public static implicit operator float(BFloat16 value)
        {
            return new FloatBits { Bits = (uint)value.Bits << 16 }.Number;
        }

        /// <summary>True if both have the same bits.</summary>
        public bool Equals(BFloat16 other) { return Bits == other.Bits; }

        /// <summary>True if both have the same bits.</summary>
        public override bool Equals(object other) { return other is BFloat16 && Equals((BFloat16)other); }

        /// <summary>A number for hash tables.</summary>
        public override int GetHashCode() { return Bits; }

        /// <summary>The number in words.</summary>
        public override string ToString() { return ((float)this).ToString(); }
    }
}
