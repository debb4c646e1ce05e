// Loaded.cs - a neuron as a string: what it returns, where it may be used, and what goes wrong.
//
// examples/OwnNeuron.cs trains a like text, and Examples compares its bits with those of C.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;

namespace Synfire.Tests
{
    public static class Loaded
    {
        private static readonly Context context_ = new Context(Program.Backend);

        private static string Folder { get { return Program.Setting("SYNFIRE_CSHARP_EXAMPLES"); } }

        // The text of the example, which is in the cache when that has run.
        private static string Neuron
        {
            get
            {
                string source = File.ReadAllText(Path.Combine(Folder, "OwnNeuron.cs"));
                int from = source.IndexOf("@\"") + 2;
                return source.Substring(from, source.IndexOf("\n\";", from) + 1 - from).Replace("\"\"", "\"");
            }
        }

        // The default is for programs that cannot wait; on a machine that is busy enough, a compiler takes longer.
        private static readonly LoadOptions patient_ = new LoadOptions { TimeOut = TimeSpan.FromHours(1) };

        // A surrogate by its smooth spike.
        private const string smooth_ = @"
#include <synfire/model/dual.hpp>
#include <synfire/model/layout.hpp>
SYNFIRE_MODEL_BEGIN
struct Smooth {
  static constexpr const char* name = ""smooth"";
  static constexpr int n_parameters = 1;
  static constexpr int n_constants = 2;
  static constexpr ParameterSpec parameters[n_parameters] = {{""steepness"", 4.0, 0.0, 1e6, true}};
  static SYNFIRE_MODEL_FN void derive(const double* values, double* constants) {
    constants[0] = values[0];
    constants[1] = 1.0;
  }
  template <class C, class X>
  static SYNFIRE_MODEL_FN auto primitive(const C* c, X x) {
    return reciprocal(c[1] + exponential(-(c[0] * x)));
  }
};
SYNFIRE_MODEL_END
";

        // Both are used wherever built-in ones are, in layers and in stages of networks; what uses them outlives them.
        public static void StandForBuiltInOnes()
        {
            List<Load> stages = new List<Load>();
            LoadOptions options = new LoadOptions { TimeOut = patient_.TimeOut, CacheBytes = 1 << 28 };
            options.Progress = (stage, time) =>
            {
                stages.Add(stage);
                return true;
            };
            LoadedModel model = new LoadedModel(context_, "synaptic_lif", Neuron, options);
            LoadedSurrogate surrogate = new LoadedSurrogate(context_, "smooth", smooth_, patient_);
            Check.Equal(stages[0], Load.Check, "first stage");
            Check.That(stages.SequenceEqual(stages.OrderBy(stage => stage)), "stages in order");
            LoadInfo info = model.Info, other = surrogate.Info;
            Check.Equal(info.Name + info.States + info.Parameters, "synaptic_lif22", "the model");
            Check.Equal(other.Name + other.States + other.Parameters, "smooth01", "the surrogate");
            Check.That(info.Time > TimeSpan.Zero && info.Id >= 1000, "time and id");
            Check.Equal(model + ", " + surrogate, "LoadedModel synaptic_lif, LoadedSurrogate smooth", "words");
            Rule("SYN-MODEL-EXISTS", () => new LoadedModel(context_, "synaptic_lif", Neuron), "twice");

            // A check compiles the text again: of a surrogate, in a second.
            CheckReport report = surrogate.Check(7, 1000);
            Check.That(report.Samples >= 1000 && report.NonFinite == 0 && report.LargestError < 1e-6, report.Text);
            Check.That(!report.WrongSlopeReadsInput && !report.WrongSlopeReadsW && report.Text.Length > 0, "slopes");
            Rule("SYN-MODEL-SAMPLES", () => model.Check(7, 0), "no samples");
            Rule("SYN-MODEL-SAMPLES", () => surrogate.Check(7, 0), "no samples");

            LayerOptions both = new LayerOptions { Model = model, Surrogate = surrogate };
            Layer layer = new Layer(context_, steps: 8, neurons: 32, options: both);
            string names = string.Join(" ", layer.Parameters.Select(parameter => parameter.Name));
            Check.Equal(names, "tau tau_i v_threshold v_reset steepness", "parameters");
            Check.That(Layer.QueryMemory(steps: 8, neurons: 32, options: both).StateBytes > 0, "memory");
            Check.Contains(layer.Source(), "struct SynapticLif");

            Network network = new Network(context_, new NetworkOptions { Steps = 8, Batch = 2 });
            network.AddInput("input", NetworkInput.Rates, 4)
                .AddSynapse("to_hidden", 8)
                .AddNeurons("hidden", model)
                .SetValue("hidden", "surrogate", surrogate);
            model.Dispose();
            surrogate.Dispose();
            network.AddReadout("readout", Readout.Sum, true).Build();
            Check.Equal(network.GetLayer("hidden").Parameters.Count, 5, "parameters of a stage");

            Check.Throws<ObjectDisposedException>(() => GC.KeepAlive(model.Info), "a closed model");
            Check.Throws<ObjectDisposedException>(() => new Layer(context_, steps: 8, neurons: 32, options: both),
                                                  "a layer of a closed model");
            Check.Throws<ObjectDisposedException>(() => network.AddNeurons("more", model), "a stage of a closed model");
            Check.Equal(model + "" + surrogate, "LoadedModel (closed)LoadedSurrogate (closed)", "words");
        }

        public static void MistakesAreTold()
        {
            string neuron = Neuron, wrong = neuron.Replace("fma(c[0], v, c[1]", "fma(c[0], y, c[1]");
            int line = 1 + Array.FindIndex(wrong.Split('\n'), text => text.Contains("fma(c[0], y"));
            LoadOptions fresh = new LoadOptions { NoCache = true, TimeOut = patient_.TimeOut };
            SynfireException problem = Check.Throws<SynfireException>(
                () => new LoadedModel(context_, "synaptic_lif", wrong, fresh), "an unknown name");
            Check.Equal(problem.RuleId, "SYN-MODEL-COMPILE", "an unknown name");
            Check.Contains(problem.Text, "synaptic_lif.hpp:" + line + ":");

            Rule("SYN-MODEL-STRUCT", () => new LoadedModel(context_, "other_lif", neuron), "another struct");
            Rule("SYN-MODEL-TEXT", () => new LoadedModel(context_, "synaptic_lif", ""), "no text");
            Rule("SYN-MODEL-TEXT", () => new LoadedModel(context_, "synaptic_lif", "a\0b"), "a null");
            Rule("SYN-FILE-OPEN", () => LoadedModel.FromFile(context_, "/nowhere/synaptic_lif.hpp"), "no file");
            Rule("SYN-FILE-OPEN", () => LoadedSurrogate.FromFile(context_, "/nowhere/smooth.hpp"), "no file");
            LoadOptions relative = new LoadOptions { Cache = "relative" };
            Rule("SYN-MODEL-CACHE", () => new LoadedModel(context_, "synaptic_lif", neuron, relative), "a cache");
            LoadOptions stopped = new LoadOptions { Progress = (stage, time) => false };
            Rule("SYN-MODEL-CANCELLED", () => new LoadedModel(context_, "synaptic_lif", neuron, stopped), "stopped");
            Check.Throws<ArgumentNullException>(() => new LoadedModel(context_, "synaptic_lif", null), "null");
            Check.Throws<ArgumentException>(() => new LoadedModel(context_, "a\0b", neuron), "a null in the name");
            LoadOptions negative = new LoadOptions { TimeOut = TimeSpan.FromSeconds(-1) };
            Check.Throws<ArgumentOutOfRangeException>(() => new LoadedModel(context_, "synaptic_lif", neuron, negative),
                                                      "a negative time-out");

            // An exception comes out of the load, and no handle stays.
            long live = SynfireLibrary.LiveHandles;
            LoadOptions thrown = new LoadOptions();
            thrown.Progress = (stage, time) => { throw new TimeZoneNotFoundException("enough"); };
            Check.Equal(Check.Throws<TimeZoneNotFoundException>(
                                 () => new LoadedModel(context_, "synaptic_lif", neuron, thrown), "thrown")
                            .Message,
                        "enough", "message");
            Check.Equal(SynfireLibrary.LiveHandles, live, "handles");

            // From a file; in another context there is no such model.
            string models = Path.GetFullPath(Path.Combine(Folder, "../../../docs/examples/models"));
            using (LoadedModel model = LoadedModel.FromFile(context_, Path.Combine(models, "klif.hpp"), patient_))
            using (Context other = new Context(Program.Backend))
            {
                LayerOptions options = new LayerOptions { Model = model };
                Rule("SYN-HANDLE-FOREIGN", () => new Layer(other, steps: 8, neurons: 32, options: options),
                     "elsewhere");
                new Layer(context_, steps: 8, neurons: 32, options: options).Dispose();
            }
        }

        private static void Rule(string rule, Action call, string what)
        {
            SynfireException problem = Check.Throws<SynfireException>(call, what);
            if (problem != null) Check.Equal(problem.RuleId, rule, what);
        }
    }
}
