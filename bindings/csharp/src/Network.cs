// Network.cs - what networks have beside the functions of the C library: data from arrays, results as fractions, texts.
//
// SPDX-License-Identifier: MIT
using System;
using System.Text;
using Synfire.Raw;

namespace Synfire
{
    public sealed partial class NetworkResult
    {
        /// <summary>
        /// The part of the samples that were predicted right, from 0 to 1; 0 if no sample counted.
        /// </summary>
        public double Accuracy { get { return Counted == 0 ? 0 : (double)Correct / Counted; } }

        /// <summary>Loss and accuracy in words.</summary>
        public override string ToString()
        {
            return FormattableString.Invariant($"loss {Loss:F9}, accuracy {Accuracy:F4}");
        }
    }

    public sealed unsafe partial class Network
    {
        /// <summary>
        /// Sets a data set of rows with one label each, from arrays of the program. Both are copied.
        /// </summary>
        /// <param name="set">Which of the network's data sets.</param>
        /// <param name="inputs">All rows, one behind the other; uint stands for packed spikes.</param>
        /// <param name="labels">The label of each row.</param>
        public Network SetData<T>(Data set, T[] inputs, uint[] labels) where T : struct
        {
            Errors.Given(inputs, "inputs");
            Errors.Given(labels, "labels");
            using (Buffer<T> rows = Context.CreateBuffer<T>(MemoryKind.Host, inputs.LongLength))
            using (Buffer<uint> numbers = Context.CreateBuffer<uint>(MemoryKind.Host, DType.U32, 0, labels.LongLength))
            {
                new ReadOnlySpan<T>(inputs).CopyTo(rows.Span);
                new ReadOnlySpan<uint>(labels).CopyTo(numbers.Span);
                return SetData(set, labels.LongLength, rows, numbers);
            }
        }

        /// <summary>Sets a flag of a stage.</summary>
        public Network SetValue(string stage, string name, bool value)
        {
            return SetValue(stage, name, value ? 1.0 : 0.0);
        }

        /// <summary>Sets a value of a stage to a constant, such as <see cref="Surrogate.Atan"/>.</summary>
        public Network SetValue(string stage, string name, Enum value)
        {
            return SetValue(stage, name, Convert.ToDouble(Errors.Given(value, "value")));
        }

        /// <summary>A table of the stages, and the bytes that the parts of the network take.</summary>
        public string Summary()
        {
            using (new Use(Handle))
            {
                ulong bytes = 0;
                Errors.Check(Native.synfire_network_write_summary(Raw, null, &bytes));
                byte[] text = new byte[bytes];
                fixed (byte* data = text) Errors.Check(Native.synfire_network_write_summary(Raw, data, &bytes));
                return Encoding.UTF8.GetString(text, 0, (int)bytes - 1);
            }
        }

        /// <summary>The stages as text in the DOT language of Graphviz.</summary>
        public string ToDot()
        {
            using (new Use(Handle))
            {
                ulong bytes = 0;
                Errors.Check(Native.synfire_network_write_dot(Raw, null, &bytes));
                byte[] text = new byte[bytes];
                fixed (byte* data = text) Errors.Check(Native.synfire_network_write_dot(Raw, data, &bytes));
                return Encoding.UTF8.GetString(text, 0, (int)bytes - 1);
            }
        }
    }
}
