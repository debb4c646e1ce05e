// Layer.cs - a neuron model with a fixed shape, its parameters and its state.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Synfire.Raw;

namespace Synfire
{
    /// <summary>Properties of a layer besides its shape; everything has a default.</summary>
    public sealed class LayerOptions
    {
        /// <summary>The neuron model: a <see cref="Synfire.Model"/> or a <see cref="LoadedModel"/>. Default: LIF.</summary>
        public ModelChoice Model { get; set; }

        /// <summary>Batch rows B that share the parameters. Default: 1.</summary>
        public long Batch { get; set; } = 1;

        /// <summary>Storage of the sequences: f32 (default), f16, bf16 or f64.</summary>
        public DType DType { get; set; }

        /// <summary>The effect of a spike on V. Default: hard.</summary>
        public Reset Reset { get; set; }

        /// <summary>
        /// The surrogate derivative of the spike: a <see cref="Synfire.Surrogate"/> or a <see cref="LoadedSurrogate"/>.
        /// Default: sigmoid.
        /// </summary>
        public SurrogateChoice Surrogate { get; set; }

        /// <summary>True if the gradient stops at the spike inside the reset.</summary>
        public bool DetachReset { get; set; }

        /// <summary>LIF, PLIF and LI: whether X is added undivided by tau.</summary>
        public bool UndecayedInput { get; set; }

        /// <summary>True if a neuron fires above its threshold, not at it.</summary>
        public bool StrictThreshold { get; set; }

        /// <summary>
        /// Steps after a spike in which V stays as the reset left it, and nothing fires. Default: 0.
        /// </summary>
        public int RefractorySteps { get; set; }

        /// <summary>
        /// Steps of its own spikes that the layer keeps as a part of its state, for a recurrent synapse. Default: 0.
        /// </summary>
        public long HistorySteps { get; set; }

        /// <summary>
        /// CUDA threads in one block of its kernels, for measurements: 32, 64, 96 or 128; 0 (default): what measured
        /// best. Changes no result.
        /// </summary>
        public uint ThreadsPerBlock { get; set; }
    }

    /// <summary>One parameter of a layer.</summary>
    public sealed class ParameterInfo
    {
        internal unsafe ParameterInfo(synfire_parameter_info raw)
        {
            Name = Errors.TextOf(raw.name, 256);
            Length = (long)raw.length;
            DefaultValue = raw.default_value;
            Minimum = raw.minimum;
            Maximum = raw.maximum;
            IsOpenRange = raw.open_range != 0;
        }

        /// <summary>Its name.</summary>
        public string Name { get; }

        /// <summary>Values held now: 1, one per channel, or one per neuron.</summary>
        public long Length { get; }

        /// <summary>The value of a fresh layer.</summary>
        public double DefaultValue { get; }

        /// <summary>Smallest value allowed.</summary>
        public double Minimum { get; }

        /// <summary>Largest value allowed.</summary>
        public double Maximum { get; }

        /// <summary>True if the minimum itself is not allowed.</summary>
        public bool IsOpenRange { get; }
    }

    /// <summary>Bytes a layer needs on its device.</summary>
    public sealed class LayerMemory
    {
        internal LayerMemory(synfire_layer_memory raw)
        {
            CheckpointInterval = raw.checkpoint_interval;
            StateBytes = raw.state_bytes;
            ParameterBytes = raw.parameter_bytes;
            PerNeuronParameterBytes = raw.per_neuron_parameter_bytes;
            TapeBytes = raw.tape_bytes;
            GradientBytes = raw.gradient_bytes;
            PerNeuronGradientBytes = raw.per_neuron_gradient_bytes;
            StoredTapeBytes = raw.stored_tape_bytes;
            NarrowTapeBytes = raw.narrow_tape_bytes;
            NarrowTapeSpikeBytes = raw.narrow_tape_spike_bytes;
            PerNeuronValueBytes = raw.per_neuron_value_bytes;
            SynapseTapeBytes = raw.synapse_tape_bytes;
            RecurrentTapeBytes = raw.recurrent_tape_bytes;
        }

        /// <summary>Steps between two checkpoints of V on the tape.</summary>
        public uint CheckpointInterval { get; }

        /// <summary>The state.</summary>
        public ulong StateBytes { get; }

        /// <summary>The parameter block, with every parameter one number.</summary>
        public ulong ParameterBytes { get; }

        /// <summary>Added once, with the first parameter that becomes one number per neuron.</summary>
        public ulong PerNeuronParameterBytes { get; }

        /// <summary>The tape; never for inference.</summary>
        public ulong TapeBytes { get; }

        /// <summary>Added with the first gradient of a parameter.</summary>
        public ulong GradientBytes { get; }

        /// <summary>
        /// Added once, when gradients of parameters are asked for and parameters are one number per neuron.
        /// </summary>
        public ulong PerNeuronGradientBytes { get; }

        /// <summary>H of <see cref="Tape.Store"/>.</summary>
        public ulong StoredTapeBytes { get; }

        /// <summary>H of <see cref="Tape.StoreNarrow"/>.</summary>
        public ulong NarrowTapeBytes { get; }

        /// <summary>Spikes beside the H of <see cref="Tape.StoreNarrow"/>.</summary>
        public ulong NarrowTapeSpikeBytes { get; }

        /// <summary>X of a synapse; added to the tape of a forward with a synapse and <see cref="Tape.Recompute"/>.</summary>
        public ulong SynapseTapeBytes { get; }

        /// <summary>V, X and spikes of all steps: the tape of a forward with a recurrent synapse, in place of
        /// <see cref="TapeBytes"/> and <see cref="SynapseTapeBytes"/>. 0 without a history.</summary>
        public ulong RecurrentTapeBytes { get; }

        /// <summary>Values; added with each parameter that becomes one number per neuron.</summary>
        public ulong PerNeuronValueBytes { get; }
    }

    /// <summary>A neuron model with a fixed shape, its parameters, its state and its tape.</summary>
    public sealed unsafe partial class Layer : SynfireObject
    {
        private readonly DType dtype_;

        /// <summary>Creates a layer with default parameters and a reset state.</summary>
        /// <example><code>new Layer(context, steps: 20, neurons: 64)</code></example>
        /// <param name="context">The context it belongs to.</param>
        /// <param name="steps">Steps T of one forward; write the name.</param>
        /// <param name="neurons">Neurons N of one batch row; write the name.</param>
        /// <param name="options">Everything else; null means all defaults.</param>
        public Layer(Context context, NamedLength steps, NamedLength neurons, LayerOptions options = null)
            : base(new LayerHandle())
        {
            Context = Errors.Given(context, "context");
            synfire_layer_desc desc = Desc(steps, neurons, options);
            synfire_layer made;
            Errors.Check(Native.synfire_layer_create(context.Raw, &desc, &made));
            Handle.Adopt(made.Value);
            GC.KeepAlive(context);
            GC.KeepAlive(options); // with what was loaded
            Steps = steps.Value;
            Neurons = neurons.Value;
            Batch = desc.batch == 0 ? 1 : desc.batch;
            dtype_ = (DType)desc.dtype;
        }

        // Takes over a handle that another object gave.
        internal Layer(Context context, synfire_layer made) : base(new LayerHandle())
        {
            Context = context;
            Handle.Adopt(made.Value);
            synfire_layer_desc desc = synfire_layer_desc.Init;
            Errors.Check(Native.synfire_layer_get_desc(made, &desc));
            Steps = desc.n_steps;
            Neurons = desc.n_neurons;
            Batch = desc.batch;
            dtype_ = (DType)desc.dtype;
        }

        private static synfire_layer_desc Desc(NamedLength steps, NamedLength neurons, LayerOptions options)
        {
            LayerOptions chosen = options ?? new LayerOptions();
            synfire_layer_desc desc = synfire_layer_desc.Init;
            desc.model = chosen.Model.Id;
            desc.n_steps = Errors.NotNegative(steps.Value, "steps");
            desc.n_neurons = Errors.NotNegative(neurons.Value, "neurons");
            desc.batch = Errors.NotNegative(chosen.Batch, "Batch");
            desc.dtype = (int)chosen.DType;
            desc.reset = (int)chosen.Reset;
            desc.surrogate = chosen.Surrogate.Id;
            desc.detach_reset = chosen.DetachReset ? 1 : 0;
            desc.undecayed_input = chosen.UndecayedInput ? 1 : 0;
            desc.threads_per_block = chosen.ThreadsPerBlock;
            desc.strict_threshold = chosen.StrictThreshold ? 1 : 0;
            desc.refractory_steps = chosen.RefractorySteps;
            desc.history_steps = chosen.HistorySteps;
            return desc;
        }

        internal synfire_layer Raw { get { return new synfire_layer(Handle.Value); } }

        /// <summary>The context it belongs to.</summary>
        public Context Context { get; }

        /// <summary>Neurons N of one batch row.</summary>
        public long Neurons { get; }

        /// <summary>Steps T of one forward.</summary>
        public long Steps { get; }

        /// <summary>Batch rows B.</summary>
        public long Batch { get; }

        /// <summary>The bytes that a layer would need, before anything is allocated.</summary>
        /// <param name="steps">Steps T of one forward; write the name.</param>
        /// <param name="neurons">Neurons N of one batch row; write the name.</param>
        /// <param name="options">Everything else; null means all defaults.</param>
        public static LayerMemory QueryMemory(NamedLength steps, NamedLength neurons, LayerOptions options = null)
        {
            SynfireLibrary.Require();
            LayerMemory memory = Query(Desc(steps, neurons, options));
            GC.KeepAlive(options);
            return memory;
        }

        // A method of its own, because Mono looks up functions when it compiles a method.
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static LayerMemory Query(synfire_layer_desc desc)
        {
            synfire_layer_memory memory = synfire_layer_memory.Init;
            Errors.Check(Native.synfire_layer_query_memory(&desc, &memory));
            return new LayerMemory(memory);
        }

        // ---- Parameters and state ----------------------------------------------------------------------------------

        /// <summary>
        /// Sets a parameter to one number for all neurons. The next replay or call sees it: nothing is recorded again.
        /// Allocates nothing here.
        /// </summary>
        public void SetParameter(string name, double value)
        {
            byte* text = stackalloc byte[Name.Capacity];
            Name.Write(name, text);
            Errors.Check(Native.synfire_layer_set_parameter(Raw, text, &value, 1));
            GC.KeepAlive(this);
        }

        /// <summary>Sets a parameter to one number for each neuron. The next replay or call sees it.</summary>
        public void SetParameter(string name, ReadOnlySpan<double> values)
        {
            byte* text = stackalloc byte[Name.Capacity];
            Name.Write(name, text);
            Errors.GivenSpan(values, "values");
            fixed (double* data = &MemoryMarshal.GetReference(values))
                Errors.Check(Native.synfire_layer_set_parameter(Raw, text, data, (ulong)values.Length));
            GC.KeepAlive(this);
        }

        /// <summary>Sets a parameter to one number for each neuron, or for each channel.</summary>
        public void SetParameter(string name, double[] values)
        {
            SetParameter(name, new ReadOnlySpan<double>(Errors.Given(values, "values")));
        }

        /// <summary>
        /// Reads a parameter, as it was set or as the latest replay that updates it left it: one number, one for each
        /// channel, or one for each neuron.
        /// </summary>
        public double[] GetParameter(string name)
        {
            byte* text = stackalloc byte[Name.Capacity];
            Name.Write(name, text);
            double one;
            // Asking for one number is refused when there are more.
            if (Native.synfire_layer_get_parameter(Raw, text, &one, 1) >= 0) return new[] { one };
            double[] all = new double[LengthOf(name)];
            fixed (double* data = all)
                Errors.Check(Native.synfire_layer_get_parameter(Raw, text, data, (ulong)all.Length));
            GC.KeepAlive(this);
            return all;
        }

        // A second name of a parameter, as tau of PLIF, is not listed.
        private long LengthOf(string name)
        {
            foreach (ParameterInfo one in Parameters)
                if (one.Name == name) return one.Length;
            return Neurons;
        }

        /// <summary>All parameters, the surrogate's last.</summary>
        public IReadOnlyList<ParameterInfo> Parameters
        {
            get
            {
                List<ParameterInfo> all = new List<ParameterInfo>();
                synfire_layer open = Raw;
                for (uint i = 0; ; ++i)
                {
                    synfire_parameter_info info = synfire_parameter_info.Init;
                    int status = Native.synfire_layer_get_parameter_info(open, i, &info);
                    if (status == Native.SYNFIRE_ERROR_INVALID_ARGUMENT && i > 0) break;
                    Errors.Check(status);
                    all.Add(new ParameterInfo(info));
                }
                GC.KeepAlive(this);
                return all;
            }
        }

        /// <summary>
        /// Sets several parameters, each to one number, one for each channel or one for each neuron: all of them or,
        /// when one is refused, none. The next replay or call sees all of them together.
        /// </summary>
        public void SetParameters(IDictionary<string, double[]> values)
        {
            int n = Errors.Given(values, "values").Count, total = 0, i = 0;
            foreach (double[] numbers in values.Values) total += Errors.Given(numbers, "values").Length;
            byte[] names = new byte[Math.Max(1, n * Name.Capacity)];
            double[] all = new double[Math.Max(1, total)];
            synfire_parameter_values[] list = new synfire_parameter_values[Math.Max(1, n)];
            fixed (byte* text = names)
            fixed (double* data = all)
            fixed (synfire_parameter_values* entries = list)
            {
                total = 0;
                foreach (KeyValuePair<string, double[]> pair in values)
                {
                    Name.Write(pair.Key, text + i * Name.Capacity);
                    entries[i].name = text + i * Name.Capacity;
                    entries[i].values = data + total;
                    entries[i].count = (ulong)pair.Value.Length;
                    pair.Value.CopyTo(all, total);
                    total += pair.Value.Length;
                    ++i;
                }
                Errors.Check(Native.synfire_layer_set_parameters(Raw, entries, (ulong)n));
            }
            GC.KeepAlive(this);
        }

        /// <summary>
        /// Chooses how many of the batch rows are active: the first ones, 0 to <see cref="Batch"/>. The next launch
        /// sees it. The state of the others is kept, and their part of every output untouched. Allocates nothing.
        /// </summary>
        public void SetActiveRows(long rows)
        {
            Errors.Check(Native.synfire_layer_set_n_active(Raw, Errors.NotNegative(rows, "rows")));
            GC.KeepAlive(this);
        }

        /// <summary>Puts the state back to its start.</summary>
        /// <param name="stream">A CUDA stream; zero is the context's own.</param>
        public void ResetState(IntPtr stream = default(IntPtr))
        {
            Errors.Check(Native.synfire_layer_reset_state(Raw, new synfire_stream(stream)));
            GC.KeepAlive(this);
        }

        /// <summary>Reads the state <c>[B, N]</c>.</summary>
        /// <param name="name">The variable: <c>v</c>, or <c>w</c> in models with two.</param>
        /// <param name="values">Receives it: float, in an f64 layer double.</param>
        public void ReadState<T>(string name, Span<T> values) where T : struct
        {
            Errors.GivenSpan<T>(values, "values");
            RequireState<T>();
            byte* text = stackalloc byte[Name.Capacity];
            Name.Write(name, text);
            Span<byte> bytes = MemoryMarshal.AsBytes(values);
            fixed (byte* data = &MemoryMarshal.GetReference(bytes))
                Errors.Check(Native.synfire_layer_read_state(Raw, text, data, (ulong)bytes.Length));
            GC.KeepAlive(this);
        }

        /// <summary>Writes the state <c>[B, N]</c>.</summary>
        /// <param name="name">The variable: <c>v</c>, or <c>w</c> in models with two.</param>
        /// <param name="values">The values: float, in an f64 layer double.</param>
        public void WriteState<T>(string name, ReadOnlySpan<T> values) where T : struct
        {
            Errors.GivenSpan<T>(values, "values");
            RequireState<T>();
            byte* text = stackalloc byte[Name.Capacity];
            Name.Write(name, text);
            ReadOnlySpan<byte> bytes = MemoryMarshal.AsBytes(values);
            fixed (byte* data = &MemoryMarshal.GetReference(bytes))
                Errors.Check(Native.synfire_layer_write_state(Raw, text, data, (ulong)bytes.Length));
            GC.KeepAlive(this);
        }

        private void RequireState<T>()
        {
            Type state = dtype_ == DType.F64 ? typeof(double) : typeof(float);
            if (typeof(T) != state)
                throw new ArgumentException("a state of " + typeof(T).Name + "; allowed: " + state.Name, "values");
        }

        // ---- Buffers of the right shape ----------------------------------------------------------------------------

        /// <summary>
        /// A buffer for a sequence of this layer: <c>[T, N]</c>, or <c>[T, B, N]</c>. In a 16-bit layer float may be
        /// used too.
        /// </summary>
        public Buffer<T> CreateSequence<T>(MemoryKind memory = MemoryKind.Device) where T : struct
        {
            return Context.CreateBuffer<T>(memory, Dims(Steps, Neurons));
        }

        /// <summary>
        /// A buffer for a state of this layer: <c>[N]</c>, or <c>[B, N]</c>; float, in an f64 layer double.
        /// </summary>
        public Buffer<T> CreateState<T>(MemoryKind memory = MemoryKind.Device) where T : struct
        {
            return Context.CreateBuffer<T>(memory, Batch == 1 ? new[] { Neurons } : new[] { Batch, Neurons });
        }

        /// <summary>
        /// A buffer for spikes, 32 neurons a word: <c>[T, ceil(N/32)]</c>, or with the batch in between. Bit i of word
        /// w is neuron 32 w + i.
        /// </summary>
        public Buffer<uint> CreateSpikes(MemoryKind memory = MemoryKind.Device)
        {
            return Context.CreateBuffer<uint>(memory, Dims(Steps, (Neurons + 31) / 32));
        }

        /// <summary>
        /// A buffer for spikes, 32 steps a word: <c>[ceil(T/32), N]</c>, or with the batch in between.
        /// </summary>
        public Buffer<uint> CreateTimePackedSpikes(MemoryKind memory = MemoryKind.Device)
        {
            return Context.CreateBuffer<uint>(memory, DType.TimeBits, 0, Dims((Steps + 31) / 32, Neurons));
        }

        private long[] Dims(long first, long last)
        {
            return Batch == 1 ? new[] { first, last } : new[] { first, Batch, last };
        }

        /// <summary>Its shape in words.</summary>
        public override string ToString()
        {
            return "Layer of " + Neurons + " neurons, " + Steps + " steps" +
                   (Batch > 1 ? ", " + Batch + " batch rows" : "") + (IsClosed ? " (closed)" : "");
        }
    }
}
