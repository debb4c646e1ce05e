// Network.cs - what networks have beside the functions of the C library: data from arrays, results as fractions, texts.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections;
using System.Collections.Generic;
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

    /// <summary>A stage that another one reads, its port, and the delay.</summary>
    public struct StageInput
    {
        /// <summary>
        /// The name of a stage that was added before. With a delay, a synapse, a convolution or a scale may name neurons
        /// that are added later.
        /// </summary>
        public string Stage { get; private set; }

        /// <summary>"spikes" or "v" of neurons; null for the one that the reader reads by default.</summary>
        public string Port { get; private set; }

        /// <summary>In steps; only spikes of neurons can be read with one.</summary>
        public long Delay { get; private set; }

        /// <summary>Names a stage and, if need be, its port and the delay.</summary>
        public StageInput(string stage, string port = null, long delay = 0) : this()
        {
            Stage = stage;
            Port = port;
            Delay = delay;
        }

        /// <summary>A stage by its name alone.</summary>
        public static implicit operator StageInput(string stage) { return new StageInput(stage); }
    }

    /// <summary>
    /// Values of a stage by their names: numbers, flags, constants such as <see cref="Surrogate.Atan"/>, or names of
    /// constants in lower case.
    /// </summary>
    public sealed class StageValues : IEnumerable
    {
        internal readonly List<KeyValuePair<string, object>> List = new List<KeyValuePair<string, object>>();

        /// <summary>Adds a number.</summary>
        public void Add(string name, double number) { Put(name, number); }

        /// <summary>Adds a flag.</summary>
        public void Add(string name, bool flag) { Put(name, flag ? 1.0 : 0.0); }

        /// <summary>Adds a constant.</summary>
        public void Add(string name, Enum constant)
        {
            Put(name, Convert.ToDouble(Errors.Given(constant, "constant")));
        }

        /// <summary>Adds a constant by its name, such as "mean".</summary>
        public void Add(string name, string text) { Put(name, Errors.Given(text, "text")); }

        /// <summary>The names and values.</summary>
        public IEnumerator GetEnumerator() { return List.GetEnumerator(); }

        private void Put(string name, object value)
        {
            List.Add(new KeyValuePair<string, object>(Errors.Given(name, "name"), value));
        }
    }

    /// <summary>Rows of an array for a stage of a network.</summary>
    public struct StageArray
    {
        /// <summary>The name of the stage; null for arrays of the rows, and where one stage takes such an array.</summary>
        public string Stage { get; private set; }

        /// <summary>Its role in the stage.</summary>
        public ArrayRole Role { get; private set; }

        /// <summary>The rows, without gaps.</summary>
        public BufferBase Buffer { get; private set; }

        /// <summary>Names the stage and the role of a buffer.</summary>
        public StageArray(string stage, ArrayRole role, BufferBase buffer) : this()
        {
            Stage = stage;
            Role = role;
            Buffer = buffer;
        }
    }

    /// <summary>Rows of an array of a data set in a file: <see cref="Network.OpenData(Data, DataFile[])"/>.</summary>
    public struct DataFile
    {
        /// <summary>The role of the array in its stage, or in the rows.</summary>
        public ArrayRole Role { get; private set; }

        /// <summary>
        /// The path: of a safetensors file, of the index of its shards, which ends in ".json", or of an array of NumPy, which
        /// ends in ".npy".
        /// </summary>
        public string Path { get; private set; }

        /// <summary>The name of the tensor in the file; null of an array of NumPy.</summary>
        public string Tensor { get; private set; }

        /// <summary>The name of the stage; null for arrays of the rows, and where one stage takes such an array.</summary>
        public string Stage { get; private set; }

        /// <summary>Names the array and its file.</summary>
        public DataFile(ArrayRole role, string path, string tensor = null, string stage = null) : this()
        {
            Role = role;
            Path = path;
            Tensor = tensor;
            Stage = stage;
        }
    }

    /// <summary>How to read a data set that stays in files. 0 is the default in every property.</summary>
    public sealed class DataFileOptions
    {
        /// <summary>Threads that read ahead (n_readers of the C ABI).</summary>
        public uint Readers { get; set; }

        /// <summary>Rows of a block (block_rows), which follow each other in the files.</summary>
        public long BlockRows { get; set; }

        /// <summary>Blocks of a window (window_blocks), whose rows are permuted together.</summary>
        public long WindowBlocks { get; set; }
    }

    /// <summary>An array of a file for an array of a network: <see cref="Network.LoadArrays(string, ArraySource[])"/>.</summary>
    public struct ArraySource
    {
        /// <summary>The name of the tensor in the file.</summary>
        public string Theirs { get; private set; }

        /// <summary>The name of the array, as in a file of the network, such as "hidden.weights"; null for the same.</summary>
        public string Ours { get; private set; }

        /// <summary>
        /// The order of the elements in the file, as PyTorch has them: "oi", "oihw", "iohw" or "chw-flatten". Null: that of
        /// the network.
        /// </summary>
        public string Layout { get; private set; }

        /// <summary>Names the two arrays.</summary>
        public ArraySource(string theirs, string ours = null, string layout = null) : this()
        {
            Theirs = theirs;
            Ours = ours;
            Layout = layout;
        }

        /// <summary>An array that has this name on both sides.</summary>
        public static implicit operator ArraySource(string name) { return new ArraySource(name); }
    }

    /// <summary>Rows of an array for a stage of a network, in memory of the program.</summary>
    public struct StageRows
    {
        internal readonly string Stage;
        internal readonly ArrayRole Role;
        internal readonly Array Rows;

        /// <summary>The inputs of an input, or with another role the targets of a loss.</summary>
        public StageRows(string stage, float[] rows, ArrayRole role = ArrayRole.Inputs)
        {
            Stage = stage;
            Role = role;
            Rows = rows;
        }

        /// <summary>The labels of a loss.</summary>
        public StageRows(string stage, uint[] labels)
        {
            Stage = stage;
            Role = ArrayRole.Labels;
            Rows = labels;
        }
    }

    /// <summary>The result of one loss of a network.</summary>
    public sealed class StageResult
    {
        internal StageResult(string stage, synfire_stage_result result)
        {
            Stage = stage;
            Loss = result.loss;
            Counted = result.n_counted;
            Correct = result.n_correct;
        }

        /// <summary>The name of the loss.</summary>
        public string Stage { get; private set; }

        /// <summary>As <see cref="NetworkResult.Loss"/>, of this loss, without its value "weight".</summary>
        public double Loss { get; private set; }

        /// <summary>As <see cref="NetworkResult.Counted"/>.</summary>
        public ulong Counted { get; private set; }

        /// <summary>As <see cref="NetworkResult.Correct"/>.</summary>
        public ulong Correct { get; private set; }
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

        /// <summary>Arrays to keep: the names of <see cref="Network.Keep(string)"/>. Null: none.</summary>
        public string Keep { get; set; }

        /// <summary>
        /// Every readout that is a sum, a mean or a maximum has the value "continues", even if that of the file does not
        /// have it.
        /// </summary>
        public bool Continues { get; set; }

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
            desc.continues = options.Continues ? 1 : 0;
            return desc;
        }

        // Pinned by the caller, for the descriptor.
        internal static byte[] Names(NetworkFileOptions options)
        {
            return options == null || options.Keep == null ? null : Synfire.Name.Long(options.Keep, "Keep");
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
            fixed (byte* text = Synfire.Name.Long(path, "path"), names = NetworkFileOptions.Names(options))
            {
                desc.keep = names;
                Errors.Check(Native.synfire_network_create_from_file(context.Raw, text, &desc, &made));
            }
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
            fixed (byte* data = &MemoryMarshal.GetReference(file), names = NetworkFileOptions.Names(options))
            {
                desc.keep = names;
                Errors.Check(Native.synfire_network_create_from_memory(context.Raw, data, (ulong)file.Length, &desc,
                                                                       &made));
            }
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
        /// Loads arrays of any safetensors file by their names, such as weights from another tool, or those of another
        /// network of which this one has a part. All others stay as they are. Everything is checked before anything changes.
        /// </summary>
        /// <param name="path">The path of the file.</param>
        /// <param name="leaveOut">True: tensors that the file does not have, or has in another shape, are left out.</param>
        /// <param name="sources">Which arrays.</param>
        /// <returns>The names of the arrays of the network that were left out.</returns>
        public string[] LoadArrays(string path, bool leaveOut, params ArraySource[] sources)
        {
            Errors.Given(path, "path");
            using (Call call = new Call(this))
            {
                synfire_array_source* list = Sources(call, sources);
                Errors.Check(Native.synfire_network_load_arrays(Raw, call.Text(path), list, (ulong)sources.Length,
                                                                leaveOut ? 1 : 0));
                return LeftOut(list, sources);
            }
        }

        /// <summary>Loads arrays that must all be in the file, with the shapes that the network needs.</summary>
        public Network LoadArrays(string path, params ArraySource[] sources)
        {
            LoadArrays(path, false, sources);
            return this;
        }

        /// <summary>
        /// Loads arrays of a safetensors file in memory, such as what <see cref="SaveToMemory"/> of another network has
        /// returned.
        /// </summary>
        /// <param name="file">The whole file.</param>
        /// <param name="leaveOut">True: tensors that the file does not have, or has in another shape, are left out.</param>
        /// <param name="sources">Which arrays.</param>
        /// <returns>The names of the arrays of the network that were left out.</returns>
        public string[] LoadArraysFromMemory(ReadOnlySpan<byte> file, bool leaveOut, params ArraySource[] sources)
        {
            Errors.GivenSpan(file, "file");
            using (Call call = new Call(this))
                fixed (byte* data = &MemoryMarshal.GetReference(file))
                {
                    synfire_array_source* list = Sources(call, sources);
                    Errors.Check(Native.synfire_network_load_arrays_from_memory(
                        Raw, data, (ulong)file.Length, list, (ulong)sources.Length, leaveOut ? 1 : 0));
                    return LeftOut(list, sources);
                }
        }

        private static synfire_array_source* Sources(Call call, ArraySource[] sources)
        {
            var list = (synfire_array_source*)call.Memory(sources.Length, sizeof(synfire_array_source));
            for (int i = 0; i < sources.Length; ++i)
            {
                list[i] = default(synfire_array_source);
                list[i].theirs = call.Text(Errors.Given(sources[i].Theirs, "sources"));
                list[i].ours = call.Text(sources[i].Ours);
                list[i].layout = call.Text(sources[i].Layout);
            }
            return list;
        }

        private static string[] LeftOut(synfire_array_source* list, ArraySource[] sources)
        {
            var names = new List<string>();
            for (int i = 0; i < sources.Length; ++i)
                if (list[i].is_loaded == 0) names.Add(sources[i].Ours ?? sources[i].Theirs);
            return names.ToArray();
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

        /// <summary>
        /// Evaluates rows with one label each, which become the evaluation data: <see cref="SetData{T}"/>, then Evaluate.
        /// </summary>
        /// <param name="inputs">All rows, one after the other, exactly as many as there are labels.</param>
        /// <param name="labels">The label of each row, 0 to C - 1.</param>
        public NetworkResult Evaluate<T>(T[] inputs, uint[] labels) where T : struct
        {
            return SetData(Data.Evaluation, inputs, labels).Evaluate();
        }

        /// <summary>Computes the output for rows of inputs in an array, and returns the outputs of all rows.</summary>
        /// <param name="inputs">Whole rows, one after the other, at least one; uint stands for packed spikes.</param>
        public float[] Infer<T>(T[] inputs) where T : struct { return Infer<T, float>(inputs); }

        /// <summary>
        /// Computes the output for rows of inputs in an array, and returns the outputs of all rows, of another type than
        /// float: double of an f64 network, uint of packed spikes.
        /// </summary>
        /// <param name="inputs">Whole rows, one after the other, at least one; uint stands for packed spikes.</param>
        public TOut[] Infer<TIn, TOut>(TIn[] inputs) where TIn : struct where TOut : struct
        {
            Errors.Given(inputs, "inputs");
            DType dtype, ofOutput;
            long row = RowOf("input", out dtype), count = inputs.LongLength / row;
            // Values of another type are left to the library, which names the type.
            if (ElementTypes.Of(typeof(TIn)) == dtype && (count == 0 || inputs.LongLength % row != 0))
                throw new SynfireException(
                    Status.ErrorInvalidArgument, "SYN-NETWORK-DATA",
                    FormattableString.Invariant($"inputs has {inputs.LongLength} elements; whole rows of {row} are needed"), 0);
            using (Buffer<TIn> rows = Context.CreateBuffer<TIn>(MemoryKind.Host, inputs.LongLength))
            using (Buffer<TOut> results = Context.CreateBuffer<TOut>(MemoryKind.Host, count * RowOf("output", out ofOutput)))
            {
                new ReadOnlySpan<TIn>(inputs).CopyTo(rows.Span);
                Infer(rows, count, results);
                return results.Span.ToArray();
            }
        }

        // The type of inputs, and the elements of one row as they are stored: of packed spikes, words.
        private long InputRow(out DType dtype) { return RowOf("input", out dtype); }

        private long RowOf(string which, out DType dtype)
        {
            using (new Use(Handle))
            {
                synfire_buffer_desc desc = synfire_buffer_desc.Init;
                synfire_buffer input;
                fixed (byte* name = Synfire.Name.Long(which, "name"))
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

        /// <summary>
        /// Adds a stage of any kind. The methods that add one kind of stage say which values there are; their parameters
        /// are values too, by the names that they have in the C library, such as "n_outputs".
        /// </summary>
        /// <param name="kind">Such as "synapse".</param>
        /// <param name="name">The name of the stage.</param>
        /// <param name="values">Its values; null for none.</param>
        /// <param name="inputs">The stages that it reads. None: the stage that was added last.</param>
        public Network AddStage(string kind, string name, StageValues values = null, params StageInput[] inputs)
        {
            using (Call call = new Call(this))
            {
                int count = values == null ? 0 : values.List.Count;
                var list = (synfire_stage_value*)call.Memory(count, sizeof(synfire_stage_value));
                for (int i = 0; i < count; ++i)
                {
                    string text = values.List[i].Value as string;
                    list[i] = default(synfire_stage_value);
                    list[i].name = call.Text(values.List[i].Key);
                    list[i].text = call.Text(text);
                    list[i].number = text == null ? (double)values.List[i].Value : 0;
                }
                var sources = (synfire_stage_input*)call.Memory(inputs.Length, sizeof(synfire_stage_input));
                for (int i = 0; i < inputs.Length; ++i)
                {
                    sources[i] = default(synfire_stage_input);
                    sources[i].stage = call.Text(Errors.Given(inputs[i].Stage, "inputs"));
                    sources[i].port = call.Text(inputs[i].Port);
                    sources[i].delay = inputs[i].Delay;
                }
                synfire_stage_desc desc = synfire_stage_desc.Init;
                desc.kind = call.Text(Errors.Given(kind, "kind"));
                desc.name = call.Text(Errors.Given(name, "name"));
                desc.inputs = sources;
                desc.n_inputs = (ulong)inputs.Length;
                desc.values = list;
                desc.n_values = (ulong)count;
                Errors.Check(Native.synfire_network_add_stage(Raw, &desc));
                return this;
            }
        }

        /// <summary>
        /// Sets a data set of rows with an array of its own for each stage that needs one. All are taken, or none.
        /// </summary>
        public Network SetArrays(Data set, long rows, params StageArray[] arrays)
        {
            using (Call call = new Call(this))
            {
                synfire_network_array* list = Arrays(call, arrays);
                Errors.Check(Native.synfire_network_set_arrays(Raw, (int)set, rows, list, (ulong)arrays.Length));
                return this;
            }
        }

        /// <summary>
        /// Sets a data set of rows that stay in files, and that may be larger than memory. The rows of several files of an
        /// array follow each other.
        /// </summary>
        /// <param name="set">Which of the network's data sets.</param>
        /// <param name="options">How to read them; null: all defaults.</param>
        /// <param name="files">The arrays.</param>
        public Network OpenData(Data set, DataFileOptions options, params DataFile[] files)
        {
            using (Call call = new Call(this))
            {
                var list = (synfire_data_file*)call.Memory(files.Length, sizeof(synfire_data_file));
                for (int i = 0; i < files.Length; ++i)
                {
                    list[i] = default(synfire_data_file);
                    list[i].path = call.Text(Errors.Given(files[i].Path, "files"));
                    list[i].tensor = call.Text(files[i].Tensor);
                    list[i].stage = call.Text(files[i].Stage);
                    list[i].role = (int)files[i].Role;
                }
                synfire_network_data_desc desc = synfire_network_data_desc.Init;
                if (options != null)
                {
                    desc.n_readers = options.Readers;
                    desc.block_rows = options.BlockRows;
                    desc.window_blocks = options.WindowBlocks;
                }
                Errors.Check(Native.synfire_network_open_data(Raw, (int)set, list, (ulong)files.Length, &desc));
                return this;
            }
        }

        /// <summary>The same with all defaults.</summary>
        public Network OpenData(Data set, params DataFile[] files) { return OpenData(set, null, files); }

        /// <summary>
        /// Sets a data set from arrays of the program, one for each stage that needs one. All are copied, or none.
        /// </summary>
        public Network SetArrays(Data set, long rows, params StageRows[] arrays)
        {
            var buffers = new List<BufferBase>();
            try
            {
                foreach (StageRows one in arrays) buffers.Add(HostBuffer(Errors.Given(one.Rows, "arrays")));
                StageArray[] list = new StageArray[arrays.Length];
                for (int i = 0; i < list.Length; ++i)
                    list[i] = new StageArray(arrays[i].Stage, arrays[i].Role, buffers[i]);
                return SetArrays(set, rows, list);
            }
            finally
            {
                foreach (BufferBase buffer in buffers) buffer.Dispose();
            }
        }

        private BufferBase HostBuffer(Array rows)
        {
            float[] numbers = rows as float[];
            if (numbers != null)
            {
                Buffer<float> made = Context.CreateBuffer<float>(MemoryKind.Host, numbers.LongLength);
                new ReadOnlySpan<float>(numbers).CopyTo(made.Span);
                return made;
            }
            Buffer<uint> labels = Context.CreateBuffer<uint>(MemoryKind.Host, DType.U32, 0, rows.LongLength);
            new ReadOnlySpan<uint>((uint[])rows).CopyTo(labels.Span);
            return labels;
        }

        /// <summary>
        /// Computes outputs for rows of inputs, with an array for each input and for any of the outputs.
        /// </summary>
        public Network InferArrays(long rows, params StageArray[] arrays)
        {
            using (Call call = new Call(this))
            {
                synfire_network_array* list = Arrays(call, arrays);
                Errors.Check(Native.synfire_network_infer_arrays(Raw, rows, list, (ulong)arrays.Length));
                return this;
            }
        }

        /// <summary>Trains, and returns the results of single losses.</summary>
        /// <param name="batches">How many batches; 0: those that are left of the epoch.</param>
        /// <param name="whole">Receives the sums over all losses of the network.</param>
        /// <param name="losses">The names of losses.</param>
        public StageResult[] TrainStages(long batches, out NetworkResult whole, params string[] losses)
        {
            return Results(batches, out whole, losses);
        }

        /// <summary>Evaluates, and returns the results of single losses.</summary>
        /// <param name="whole">Receives the sums over all losses of the network.</param>
        /// <param name="losses">The names of losses.</param>
        public StageResult[] EvaluateStages(out NetworkResult whole, params string[] losses)
        {
            return Results(null, out whole, losses);
        }

        // The results of a training of as many batches, or of the evaluation.
        private StageResult[] Results(long? batches, out NetworkResult whole, string[] losses)
        {
            using (Call call = new Call(this))
            {
                var list = (synfire_stage_result*)call.Memory(losses.Length, sizeof(synfire_stage_result));
                for (int i = 0; i < losses.Length; ++i)
                {
                    list[i] = default(synfire_stage_result);
                    list[i].stage = call.Text(Errors.Given(losses[i], "losses"));
                }
                synfire_network_result result = synfire_network_result.Init;
                ulong count = (ulong)losses.Length;
                Errors.Check(batches.HasValue
                                 ? Native.synfire_network_train_stages(Raw, batches.Value, list, count, &result)
                                 : Native.synfire_network_evaluate_stages(Raw, list, count, &result));
                whole = new NetworkResult(result);
                StageResult[] results = new StageResult[losses.Length];
                for (int i = 0; i < losses.Length; ++i) results[i] = new StageResult(losses[i], list[i]);
                return results;
            }
        }

        private static synfire_network_array* Arrays(Call call, StageArray[] arrays)
        {
            var list = (synfire_network_array*)call.Memory(arrays.Length, sizeof(synfire_network_array));
            for (int i = 0; i < arrays.Length; ++i)
            {
                list[i] = default(synfire_network_array);
                list[i].stage = call.Text(arrays[i].Stage);
                list[i].role = (int)arrays[i].Role;
                list[i].buffer = call.Use(Errors.Given(arrays[i].Buffer, "arrays"));
            }
            return list;
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
