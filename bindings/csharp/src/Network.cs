// Network.cs - what networks have beside the functions of the C library: data from arrays, results as fractions, texts.
//
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
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

        /// <summary>Loss and accuracy in words, and how many batches were skipped, if any were.</summary>
        public override string ToString()
        {
            string text = FormattableString.Invariant($"loss {Loss:F9}, accuracy {Accuracy:F4}");
            if (Skipped != 0) text += FormattableString.Invariant($", {Skipped} of {Batches} batches skipped");
            return text;
        }
    }

    /// <summary>Settings of a network from a file that replace those of the file; zero means that of the
    /// file.</summary>
    public sealed class NetworkFileOptions
    {
        /// <summary>
        /// Without the loss and the optimiser of the file, and without all that only training needs.
        /// </summary>
        public bool Inference { get; set; }

        /// <summary>The input has the value "replace_nonfinite", even if the input of the file does not have it.</summary>
        public bool ReplaceNonfinite { get; set; }

        /// <summary>Steps T of one replay.</summary>
        public long Steps { get; set; }

        /// <summary>Batch rows B.</summary>
        public long Batch { get; set; }

        /// <summary>As those of <see cref="NetworkOptions"/>.</summary>
        public uint Slots { get; set; }

        internal static synfire_network_file_desc Desc(NetworkFileOptions options)
        {
            synfire_network_file_desc desc = synfire_network_file_desc.Init;
            if (options == null) return desc;
            desc.inference = options.Inference ? 1 : 0;
            desc.n_steps = options.Steps;
            desc.batch = options.Batch;
            desc.n_slots = options.Slots;
            desc.replace_nonfinite = options.ReplaceNonfinite ? 1 : 0;
            return desc;
        }
    }

    public sealed unsafe partial class Network
    {
        private Network(Context context, synfire_network made) : base(new NetworkHandle())
        {
            Context = context;
            Handle.Adopt(made.Value);
        }

        /// <summary>Creates the network of a file: built, and with all that the file has.</summary>
        /// <param name="context">The context it belongs to.</param>
        /// <param name="path">What <see cref="Save(string)"/> has written.</param>
        /// <param name="options">What is not as in the file.</param>
        public static Network FromFile(Context context, string path, NetworkFileOptions options = null)
        {
            Errors.Given(context, "context");
            synfire_network_file_desc desc = NetworkFileOptions.Desc(options);
            synfire_network made;
            fixed (byte* text = Synfire.Name.Long(path, "path"))
                Errors.Check(Native.synfire_network_create_from_file(context.Raw, text, &desc, &made));
            GC.KeepAlive(context);
            return new Network(context, made);
        }

        /// <summary>Creates the network of a file that is in memory.</summary>
        /// <param name="context">The context it belongs to.</param>
        /// <param name="file">What <see cref="SaveToMemory"/> has returned.</param>
        /// <param name="options">What is not as in the file.</param>
        public static Network FromMemory(Context context, ReadOnlySpan<byte> file, NetworkFileOptions options = null)
        {
            Errors.Given(context, "context");
            Errors.GivenSpan(file, "file");
            synfire_network_file_desc desc = NetworkFileOptions.Desc(options);
            synfire_network made;
            fixed (byte* data = &MemoryMarshal.GetReference(file))
                Errors.Check(Native.synfire_network_create_from_memory(context.Raw, data, (ulong)file.Length, &desc,
                                                                       &made));
            GC.KeepAlive(context);
            return new Network(context, made);
        }

        /// <summary>The bytes of the file that <see cref="Save(string)"/> writes.</summary>
        public byte[] SaveToMemory()
        {
            using (new Use(Handle))
            {
                ulong bytes = 0;
                Errors.Check(Native.synfire_network_save_to_memory(Raw, null, &bytes));
                byte[] file = new byte[bytes];
                fixed (byte* data = file) Errors.Check(Native.synfire_network_save_to_memory(Raw, data, &bytes));
                return file;
            }
        }

        /// <summary>Loads what <see cref="SaveToMemory"/> has returned, into a network with the same stages.</summary>
        public Network LoadFromMemory(ReadOnlySpan<byte> file)
        {
            Errors.GivenSpan(file, "file");
            using (new Use(Handle))
                fixed (byte* data = &MemoryMarshal.GetReference(file))
                    Errors.Check(Native.synfire_network_load_from_memory(Raw, data, (ulong)file.Length));
            return this;
        }

        /// <summary>
        /// Sets a data set of rows with one label each, from arrays of the program. Both are copied.
        /// </summary>
        /// <param name="set">Which of the network's data sets.</param>
        /// <param name="inputs">
        /// All rows, one after the other, exactly as many as there are labels; uint stands for packed spikes.
        /// </param>
        /// <param name="labels">The label of each row, 0 to C - 1.</param>
        public Network SetData<T>(Data set, T[] inputs, uint[] labels) where T : struct
        {
            Errors.Given(inputs, "inputs");
            Errors.Given(labels, "labels");
            DType dtype;
            long row = InputRow(out dtype);
            // Values of another type are left to the library, which names the type.
            if (ElementTypes.Of(typeof(T)) == dtype && inputs.LongLength != labels.LongLength * row)
                throw new SynfireException(
                    Status.ErrorInvalidArgument, "SYN-NETWORK-DATA",
                    FormattableString.Invariant($"inputs has {inputs.LongLength} elements and labels {labels.LongLength}; ") +
                    FormattableString.Invariant($"as many rows of {row} elements are {labels.LongLength * row}"), 0);
            using (Buffer<T> rows = Context.CreateBuffer<T>(MemoryKind.Host, inputs.LongLength))
            using (Buffer<uint> numbers = Context.CreateBuffer<uint>(MemoryKind.Host, DType.U32, 0, labels.LongLength))
            {
                new ReadOnlySpan<T>(inputs).CopyTo(rows.Span);
                new ReadOnlySpan<uint>(labels).CopyTo(numbers.Span);
                return SetData(set, labels.LongLength, rows, numbers);
            }
        }

        // The type of inputs, and the elements of one row as they are stored: of packed spikes, words.
        private long InputRow(out DType dtype)
        {
            using (new Use(Handle))
            {
                synfire_buffer_desc desc = synfire_buffer_desc.Init;
                synfire_buffer input;
                fixed (byte* name = Synfire.Name.Long("input", "name"))
                    Errors.Check(Native.synfire_network_get_buffer(Raw, name, &input));
                try
                {
                    Errors.Check(Native.synfire_buffer_get_desc(input, &desc));
                }
                finally
                {
                    Native.synfire_buffer_destroy(input);
                }
                dtype = (DType)desc.dtype;
                return (long)(desc.shape[0] * desc.shape[2]);  // [T, B, K], rates [1, B, K]
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
