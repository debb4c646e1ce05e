// Loaded.cs - models and surrogates that are loaded as text at run time, and the kernels of a layer as text.
//
// The C library hears of progress through one static method, which catches what the program's function throws, so that
// no exception crosses a frame of C. It ends the load, which then throws it.
//
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using System.Text;
using Synfire.Raw;

namespace Synfire
{
    /// <summary>How a text is loaded; everything has a default.</summary>
    public sealed class LoadOptions
    {
        /// <summary>
        /// Folder of the cache of compiled code, an absolute path. Null (default): the environment variable
        /// <c>SYNFIRE_CACHE</c>, else <c>synfire</c> in the user's cache folder.
        /// </summary>
        public string Cache { get; set; }

        /// <summary>
        /// Bytes of the cache above which entries that were not used for the longest time are removed. 0 (default): 256
        /// MiB.
        /// </summary>
        public ulong CacheBytes { get; set; }

        /// <summary>True if no compiled code is read from the cache or stored in it.</summary>
        public bool NoCache { get; set; }

        /// <summary>Processor time after which a compiler that is still at work is ended. Zero (default): 120 seconds.</summary>
        public TimeSpan TimeOut { get; set; }

        /// <summary>
        /// Hears how loading goes on, with the time since it began: at each stage, and about ten times a second while a
        /// compiler is at work. True: go on; false ends the compiler, and the load throws. What it throws ends the
        /// compiler too, and comes out of the load. It must not use the library. Null (default): nobody hears.
        /// </summary>
        public Func<Load, TimeSpan, bool> Progress { get; set; }
    }

    /// <summary>Properties of a loaded model or surrogate.</summary>
    public sealed class LoadInfo
    {
        internal unsafe LoadInfo(synfire_load_info raw)
        {
            Id = raw.id;
            States = raw.n_states;
            Parameters = raw.n_parameters;
            FromCache = raw.from_cache != 0;
            Time = Loading.Time(raw.nanoseconds);
            Name = Errors.TextOf(raw.name, 64);
        }

        /// <summary>The number of its model or surrogate in the context of the load. Never used again.</summary>
        public int Id { get; }

        /// <summary>State variables of a model; 0 of a surrogate.</summary>
        public int States { get; }

        /// <summary>Parameters of its own.</summary>
        public int Parameters { get; }

        /// <summary>
        /// True if the compiled code came from the cache, and no compiler ran. On a GPU, kernels are compiled for
        /// layers and come later.
        /// </summary>
        public bool FromCache { get; }

        /// <summary>How long loading took.</summary>
        public TimeSpan Time { get; }

        /// <summary>The text's <c>name</c>.</summary>
        public string Name { get; }
    }

    /// <summary>The result of a check of a text's functions.</summary>
    public sealed class CheckReport
    {
        internal unsafe CheckReport(synfire_check_report raw)
        {
            WrongSlopeReadsInput = raw.wrong_slope_reads_input != 0;
            WrongSlopeReadsW = raw.wrong_slope_reads_w != 0;
            Loops = raw.n_loops;
            Vectorized = raw.n_vectorized;
            Samples = raw.n_samples;
            NonFinite = raw.n_non_finite;
            LargestError = raw.largest_error;
            Text = Errors.TextOf(raw.text, 512);
        }

        /// <summary>
        /// True if the model says that no derivative depends on X (<c>slope_reads_input</c>), but one does. Its
        /// gradients are then wrong.
        /// </summary>
        public bool WrongSlopeReadsInput { get; }

        /// <summary>The same for further variables (<c>slope_reads_w</c>).</summary>
        public bool WrongSlopeReadsW { get; }

        /// <summary>
        /// Loops over neurons in the code for the host; 0 where the compiler does not say which of them it vectorised.
        /// </summary>
        public int Loops { get; }

        /// <summary>How many of them the compiler vectorised. A loop that it did not has a branch.</summary>
        public int Vectorized { get; }

        /// <summary>Random samples that were taken.</summary>
        public ulong Samples { get; }

        /// <summary>Values and derivatives in f32 that were infinite or not a number.</summary>
        public ulong NonFinite { get; }

        /// <summary>
        /// The largest difference between a derivative and its central difference, in f64, divided by 1 plus the
        /// derivative. Below 1e-6 unless a derivative is wrong; at a corner of the formula, the two differ.
        /// </summary>
        public double LargestError { get; }

        /// <summary>
        /// The same for people to read: which derivative has the largest error, and which loops are not vectorised.
        /// </summary>
        public string Text { get; }
    }

    internal sealed class LoadedModelHandle : NativeHandle
    {
        protected override string TypeName { get { return "LoadedModel"; } }

        protected override void Destroy() { Native.synfire_model_destroy(new synfire_model(handle)); }
    }

    internal sealed class LoadedSurrogateHandle : NativeHandle
    {
        protected override string TypeName { get { return "LoadedSurrogate"; } }

        protected override void Destroy() { Native.synfire_surrogate_destroy(new synfire_surrogate(handle)); }
    }

    // One load: the descriptor, and who hears of it.
    internal sealed unsafe class Loading
    {
        public delegate int Function(synfire_load_desc* desc);

        private readonly Func<Load, TimeSpan, bool> progress_;
        private ExceptionDispatchInfo failure_;

        private Loading(Func<Load, TimeSpan, bool> progress) { progress_ = progress; }

        public static TimeSpan Time(ulong nanoseconds) { return TimeSpan.FromTicks((long)(nanoseconds / 100)); }

        // Exactly one of text and file is given.
        public static void Run(string text, string file, string name, LoadOptions options, Function load)
        {
            options = options ?? new LoadOptions();
            if (options.TimeOut < TimeSpan.Zero)
                throw new ArgumentOutOfRangeException("TimeOut", options.TimeOut, "allowed: zero or more");
            byte[] textBytes = text == null ? null : Encoding.UTF8.GetBytes(text + "\0");
            byte[] fileBytes = file == null ? null : Name.Long(file, "path");
            byte[] nameBytes = name == null ? null : Name.Long(name, "name");
            byte[] cacheBytes = options.Cache == null ? null : Name.Long(options.Cache, "Cache");
            Loading loading = new Loading(options.Progress);
            GCHandle hears = GCHandle.Alloc(loading);
            int status;
            try
            {
                fixed (byte* textAt = textBytes, fileAt = fileBytes, nameAt = nameBytes, cacheAt = cacheBytes)
                {
                    synfire_load_desc desc = synfire_load_desc.Init;
                    desc.no_cache = options.NoCache ? 1 : 0;
                    desc.text = textAt;
                    desc.text_bytes = textBytes == null ? 0 : (ulong)textBytes.Length - 1;
                    desc.file = fileAt;
                    desc.name = nameAt;
                    desc.time_out = Math.Min((ulong)options.TimeOut.Ticks, ulong.MaxValue / 100) * 100;
                    desc.cache = cacheAt;
                    desc.cache_bytes = options.CacheBytes;
                    if (options.Progress != null)
                    {
                        desc.progress = pointer_;
                        desc.user = (void*)GCHandle.ToIntPtr(hears);
                    }
                    status = load(&desc);
                }
            }
            finally
            {
                hears.Free();
            }
            if (loading.failure_ != null) loading.failure_.Throw();
            Errors.Check(status);
        }

        // Called by the C library.

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int Callback(IntPtr user, int stage, ulong nanoseconds);

        private static readonly Callback callback_ = Hear;

        private static readonly IntPtr pointer_ = Marshal.GetFunctionPointerForDelegate(callback_);

        [MonoPInvokeCallback(typeof(Callback))]
        private static int Hear(IntPtr user, int stage, ulong nanoseconds)
        {
            Loading loading = null;
            try
            {
                loading = (Loading)GCHandle.FromIntPtr(user).Target;
                return loading.progress_((Load)stage, Time(nanoseconds)) ? 0 : 1;
            }
            catch (Exception problem)
            {
                if (loading != null) loading.failure_ = ExceptionDispatchInfo.Capture(problem);
                return 1;
            }
        }
    }

    /// <summary>
    /// A neuron model that was loaded as text, the header that <c>synfire_add_model</c> takes. It is used wherever a
    /// <see cref="Model"/> is. Layers and networks that use it stay valid when it is closed; its name is free from then
    /// on.
    /// </summary>
    public sealed unsafe class LoadedModel : SynfireObject
    {
        private LoadedModel(Context context, string text, string file, string name, LoadOptions options)
            : base(new LoadedModelHandle())
        {
            synfire_context owner = Errors.Given(context, "context").Raw;
            synfire_model made = default(synfire_model);
            Loading.Run(text, file, name, options, desc =>
            {
                synfire_model model;
                int status = Native.synfire_model_load(owner, desc, &model);
                made = model;
                return status;
            });
            Handle.Adopt(made.Value);
            GC.KeepAlive(context);
        }

        /// <summary>
        /// Loads a model. <b>This runs its author's code in this process, with all its rights.</b> A compiler runs
        /// unless the cache has the text; its errors have the line numbers of the text.
        /// </summary>
        /// <param name="context">Where it may be used.</param>
        /// <param name="name">
        /// What the file of the text would be called without <c>.hpp</c>, which names the struct: <c>"klif"</c> has
        /// <c>struct Klif</c>.
        /// </param>
        /// <param name="text">The header.</param>
        /// <param name="options">Everything else; null means all defaults.</param>
        public LoadedModel(Context context, string name, string text, LoadOptions options = null)
            : this(context, Errors.Given(text, "text"), null, Errors.Given(name, "name"), options)
        {
        }

        /// <summary>Loads a model from a file, which is called like its struct.</summary>
        /// <param name="context">Where it may be used.</param>
        /// <param name="path">The path of the file.</param>
        /// <param name="options">Everything else; null means all defaults.</param>
        public static LoadedModel FromFile(Context context, string path, LoadOptions options = null)
        {
            return new LoadedModel(context, null, Errors.Given(path, "path"), null, options);
        }

        internal synfire_model Raw { get { return new synfire_model(Handle.Value); } }

        /// <summary>Its number and how it was loaded.</summary>
        public LoadInfo Info
        {
            get
            {
                synfire_load_info info = synfire_load_info.Init;
                Errors.Check(Native.synfire_model_get_info(Raw, &info));
                GC.KeepAlive(this);
                return new LoadInfo(info);
            }
        }

        /// <summary>
        /// Runs its functions on random states, inputs and parameters, and compares each derivative with a central
        /// difference.
        /// </summary>
        /// <param name="seed">The same seed gives the same report.</param>
        /// <param name="samples">How many; 1 to 10,000,000.</param>
        public CheckReport Check(ulong seed = 0, ulong samples = 1000)
        {
            synfire_check_report report = synfire_check_report.Init;
            Errors.Check(Native.synfire_model_check(Raw, seed, samples, &report));
            GC.KeepAlive(this);
            return new CheckReport(report);
        }

        /// <summary>The loaded model in words.</summary>
        public override string ToString() { return IsClosed ? "LoadedModel (closed)" : "LoadedModel " + Info.Name; }
    }

    /// <summary>
    /// A surrogate that was loaded as text, as <see cref="LoadedModel"/> is a model. It is used wherever a
    /// <see cref="Surrogate"/> is.
    /// </summary>
    public sealed unsafe class LoadedSurrogate : SynfireObject
    {
        private LoadedSurrogate(Context context, string text, string file, string name, LoadOptions options)
            : base(new LoadedSurrogateHandle())
        {
            synfire_context owner = Errors.Given(context, "context").Raw;
            synfire_surrogate made = default(synfire_surrogate);
            Loading.Run(text, file, name, options, desc =>
            {
                synfire_surrogate surrogate;
                int status = Native.synfire_surrogate_load(owner, desc, &surrogate);
                made = surrogate;
                return status;
            });
            Handle.Adopt(made.Value);
            GC.KeepAlive(context);
        }

        /// <summary>
        /// Loads a surrogate. <b>This runs its author's code in this process, with all its rights.</b> A compiler runs
        /// unless the cache has the text; its errors have the line numbers of the text.
        /// </summary>
        /// <param name="context">Where it may be used.</param>
        /// <param name="name">
        /// What the file of the text would be called without <c>.hpp</c>, which names the struct:
        /// <c>"multi_gaussian"</c> has <c>struct MultiGaussian</c>. </param>
        /// <param name="text">The header.</param>
        /// <param name="options">Everything else; null means all defaults.</param>
        public LoadedSurrogate(Context context, string name, string text, LoadOptions options = null)
            : this(context, Errors.Given(text, "text"), null, Errors.Given(name, "name"), options)
        {
        }

        /// <summary>Loads a surrogate from a file, which is called like its struct.</summary>
        /// <param name="context">Where it may be used.</param>
        /// <param name="path">The path of the file.</param>
        /// <param name="options">Everything else; null means all defaults.</param>
        public static LoadedSurrogate FromFile(Context context, string path, LoadOptions options = null)
        {
            return new LoadedSurrogate(context, null, Errors.Given(path, "path"), null, options);
        }

        internal synfire_surrogate Raw { get { return new synfire_surrogate(Handle.Value); } }

        /// <summary>Its number and how it was loaded.</summary>
        public LoadInfo Info
        {
            get
            {
                synfire_load_info info = synfire_load_info.Init;
                Errors.Check(Native.synfire_surrogate_get_info(Raw, &info));
                GC.KeepAlive(this);
                return new LoadInfo(info);
            }
        }

        /// <summary>
        /// Checks that it is finite everywhere and 0 for a NaN and, if the text has a primitive, that the derivative is
        /// that of it.
        /// </summary>
        /// <param name="seed">The same seed gives the same report.</param>
        /// <param name="samples">How many; 1 to 10,000,000.</param>
        public CheckReport Check(ulong seed = 0, ulong samples = 1000)
        {
            synfire_check_report report = synfire_check_report.Init;
            Errors.Check(Native.synfire_surrogate_check(Raw, seed, samples, &report));
            GC.KeepAlive(this);
            return new CheckReport(report);
        }

        /// <summary>The loaded surrogate in words.</summary>
        public override string ToString()
        {
            return IsClosed ? "LoadedSurrogate (closed)" : "LoadedSurrogate " + Info.Name;
        }
    }

    /// <summary>A model that a layer takes: a built-in one, or one that was loaded. Both convert to it.</summary>
    public readonly struct ModelChoice
    {
        private readonly Model built_in_;
        private readonly LoadedModel loaded_;

        private ModelChoice(Model builtIn, LoadedModel loaded)
        {
            built_in_ = builtIn;
            loaded_ = loaded;
        }

        /// <summary>A built-in model, or one of <see cref="SynfireLibrary.FindModel"/>.</summary>
        public static implicit operator ModelChoice(Model model) { return new ModelChoice(model, null); }

        /// <summary>A model that was loaded.</summary>
        public static implicit operator ModelChoice(LoadedModel model)
        {
            return new ModelChoice(Model.Default, Errors.Given(model, "model"));
        }

        // Its number; throws if it was loaded and is closed.
        internal int Id { get { return loaded_ == null ? (int)built_in_ : loaded_.Info.Id; } }
    }

    /// <summary>A surrogate that a layer takes: a built-in one, or one that was loaded. Both convert to it.</summary>
    public readonly struct SurrogateChoice
    {
        private readonly Surrogate built_in_;
        private readonly LoadedSurrogate loaded_;

        private SurrogateChoice(Surrogate builtIn, LoadedSurrogate loaded)
        {
            built_in_ = builtIn;
            loaded_ = loaded;
        }

        /// <summary>A built-in surrogate, or one of <see cref="SynfireLibrary.FindSurrogate"/>.</summary>
        public static implicit operator SurrogateChoice(Surrogate surrogate)
        {
            return new SurrogateChoice(surrogate, null);
        }

        /// <summary>A surrogate that was loaded.</summary>
        public static implicit operator SurrogateChoice(LoadedSurrogate surrogate)
        {
            return new SurrogateChoice(Surrogate.Default, Errors.Given(surrogate, "surrogate"));
        }

        // Its number; throws if it was loaded and is closed.
        internal int Id { get { return loaded_ == null ? (int)built_in_ : loaded_.Info.Id; } }
    }

    public sealed unsafe partial class Network
    {
        /// <summary>Adds neurons of a model that was loaded, as those of a built-in one.</summary>
        public Network AddNeurons(string name, LoadedModel model)
        {
            AddNeurons(name, (Model)Errors.Given(model, "model").Info.Id);
            GC.KeepAlive(model);
            return this;
        }

        /// <summary>Sets a stage's <c>"surrogate"</c> to one that was loaded.</summary>
        public Network SetValue(string stage, string name, LoadedSurrogate value)
        {
            SetValue(stage, name, (double)Errors.Given(value, "value").Info.Id);
            GC.KeepAlive(value);
            return this;
        }
    }

    public sealed unsafe partial class Layer
    {
        /// <summary>
        /// The CUDA C++ of its forward and backward kernels: one readable text that nvcc compiles without Synfire, with
        /// how to compile and launch it. A layer of any context has one, also in a library without CUDA.
        /// </summary>
        public string Source()
        {
            using (new Use(Handle))
            {
                ulong bytes = 0;
                Errors.Check(Native.synfire_layer_source(Raw, null, &bytes));
                byte[] text = new byte[bytes];
                fixed (byte* data = text) Errors.Check(Native.synfire_layer_source(Raw, data, &bytes));
                return Encoding.UTF8.GetString(text, 0, (int)bytes - 1);
            }
        }
    }
}
