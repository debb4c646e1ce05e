#!/usr/bin/env python3
"""What is new in the C library needs no line written by hand: check_generator.py MCS FOLDER

A copy of synfire.h gets an operation whose descriptor has fields of every kind, an object with methods and an operation
of its own, another one that needs buffers, and methods of objects that there are. The description and the C# files are
made from that header, and compiled together with the sources written by hand and with a program that uses all of it.
What no rule fits must stop the generator.

SPDX-License-Identifier: MIT
"""
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[3]
END = "/** @} */\n/** @cond PLATFORM */\n#ifdef __cplusplus\n}"

DECODE_RATE = """/** How to decode rates from spikes. */
typedef struct synfire_decode_rate_desc {
  /** `sizeof(synfire_decode_rate_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_COUNT_*`. Default: per neuron. */
  int32_t kind SYNFIRE_ONE_OF(SYNFIRE_COUNT);
  /** `SYNFIRE_BOUND_*`, added up. Default: none. */
  uint32_t bounds SYNFIRE_ANY_OF(SYNFIRE_BOUND);
  /** 1: rates are added to what `rates` holds. Default 0: they replace it. */
  int32_t add SYNFIRE_FLAG;
  /** Steps T, at least 1. */
  int64_t n_steps;
  /** Neurons N, at least 1. */
  int64_t n_neurons;
  /** Read, in any format; `n_steps` steps. */
  synfire_buffer spikes SYNFIRE_READ("spikes [T, B, N]");
  /** The rates: ::SYNFIRE_DTYPE_F32. */
  synfire_buffer rates SYNFIRE_UPDATED("[B, N]");
  /** Which rows count. */
  synfire_buffer mask SYNFIRE_READ("[B]") SYNFIRE_NULLABLE;
  /** A layer to compare with. Optional. */
  synfire_layer reference SYNFIRE_NULLABLE;
  /** What delays the spikes, as synfire_delay_line_create() made it. Optional. */
  synfire_delay_line line SYNFIRE_NULLABLE;
  /** What the rates are called. */
  const char *label;
  /** The weight of each step. */
  const double *weights SYNFIRE_NULLABLE;
  /** How many. */
  uint64_t n_weights SYNFIRE_LENGTH_OF(weights);
  /** Further spikes. */
  const synfire_buffer *others SYNFIRE_READ("spikes [T, B, N]") SYNFIRE_NULLABLE;
  /** How many. */
  uint32_t n_others SYNFIRE_LENGTH_OF(others);
  /** Must be zero. */
  uint32_t reserved;
  /** The time constant in steps; the larger, the smoother. */
  double tau;
FIELD} synfire_decode_rate_desc;

/**
 * Appends a decoding of rates; as synfire_decode_rate().
 *
 * @param graph A graph.
 * @param desc  What to decode.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_decode_rate(synfire_graph graph,
                                                                         const synfire_decode_rate_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Decodes rates from spikes now.
 *
 * @param context A context.
 * @param desc    What to decode.
 * @param stream  A stream.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_decode_rate(synfire_context context,
                                                            const synfire_decode_rate_desc *desc, synfire_stream stream)
    SYNFIRE_NOEXCEPT;

"""

DELAY_LINE = """/** A line that delays what goes into it. */
typedef struct synfire_delay_line_ *synfire_delay_line;

/** How to create a delay line. */
typedef struct synfire_delay_line_desc {
  /** `sizeof(synfire_delay_line_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_RESET_*`. Default: hard. */
  int32_t reset SYNFIRE_ONE_OF(SYNFIRE_RESET);
  /** Taps of the line, at least 1. */
  int64_t n_taps;
  /** What the line holds at first; `n_taps` values. */
  synfire_buffer initial SYNFIRE_READ("[n_taps]") SYNFIRE_NULLABLE;
} synfire_delay_line_desc;

/** What a delay line has seen. */
typedef struct synfire_delay_line_status {
  /** `sizeof(synfire_delay_line_status)`; set before the call. */
  uint32_t struct_size;
  /** One of `SYNFIRE_DTYPE_*`: what the line stores. */
  int32_t dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** 1: the line has been filled once. */
  int32_t is_full SYNFIRE_FLAG;
  /** Must be zero. */
  uint32_t reserved;
  /** Values that went in. */
  uint64_t n_values;
  /** The largest of the `n_values` values. */
  double maximum;
  /** Its name. */
  char name[32];
  /** Where it was made. */
  const char *origin;
} synfire_delay_line_status;

/** A delay: what goes in and what comes out. */
typedef struct synfire_delay_desc {
  /** `sizeof(synfire_delay_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** What goes in. */
  synfire_buffer source SYNFIRE_READ("[T, B, N]");
  /** What comes out. */
  synfire_buffer destination SYNFIRE_WRITTEN("[T, B, N]");
} synfire_delay_desc;

/** Creates a delay line; synfire_delay_line_desc::n_taps says how long. @since ABI 0.1 */
FUNCTION(synfire_delay_line_create, synfire_context context, const synfire_delay_line_desc *desc,
         synfire_delay_line *line)
/** Destroys a delay line. @since ABI 0.1 */
SYNFIRE_API void SYNFIRE_CALL synfire_delay_line_destroy(synfire_delay_line line SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;
/** Sets what every tap is multiplied by: `gain`. Then synfire_delay_line_query() counts anew. @since ABI 0.1 */
FUNCTION(synfire_delay_line_set_gain, synfire_delay_line line, double gain)
/** Names a tap. @since ABI 0.1 */
FUNCTION(synfire_delay_line_set_name, synfire_delay_line line, uint32_t index, const char *label, const char *unit,
         int32_t visible SYNFIRE_FLAG, int32_t reset SYNFIRE_ONE_OF(SYNFIRE_RESET), uint32_t bounds
         SYNFIRE_ANY_OF(SYNFIRE_BOUND))
/** Sets the taps. @since ABI 0.1 */
FUNCTION(synfire_delay_line_set_taps, synfire_delay_line line, const double *values,
         uint64_t count SYNFIRE_LENGTH_OF(values), synfire_stream stream SYNFIRE_NULLABLE)
/** Reads the taps. @since ABI 0.1 */
FUNCTION(synfire_delay_line_get_taps, synfire_delay_line line, double *values, uint64_t count
         SYNFIRE_LENGTH_OF(values))
/** Tells what a delay line has seen. @since ABI 0.1 */
FUNCTION(synfire_delay_line_query, synfire_delay_line line, synfire_delay_line_status *status)
/** Tells how much went in and came out. @since ABI 0.1 */
FUNCTION(synfire_delay_line_get_flow, synfire_delay_line line, uint64_t *n_in, double *share)
/** Copies what another line holds, where a mask is set. @since ABI 0.1 */
FUNCTION(synfire_delay_line_take, synfire_delay_line line, synfire_delay_line other, synfire_buffer mask
         SYNFIRE_READ("[N]") SYNFIRE_NULLABLE, synfire_stream stream SYNFIRE_NULLABLE)
/** Adds buffers to a line. @since ABI 0.1 */
FUNCTION(synfire_delay_line_add, synfire_delay_line line, const synfire_buffer *buffers, uint64_t count
         SYNFIRE_LENGTH_OF(buffers), const synfire_parameter_gradient *gradients,
         uint64_t n_gradients SYNFIRE_LENGTH_OF(gradients))
/** Clears a line whose signals have this shape. @since ABI 0.1 */
FUNCTION(synfire_delay_line_clear, synfire_delay_line line, int64_t n_steps, int32_t n_neurons, int64_t batch)
/** Appends a delay; as synfire_delay_line_delay(). @since ABI 0.1 */
FUNCTION(synfire_graph_record_delay, synfire_graph graph, synfire_delay_line line, const synfire_delay_desc *desc)
/** Delays now: the same operation that synfire_graph_record_delay() records. @since ABI 0.1 */
FUNCTION(synfire_delay_line_delay, synfire_delay_line line, const synfire_delay_desc *desc, synfire_stream stream)
/** Tells the mean of the state of a layer. @since ABI 0.1 */
FUNCTION(synfire_layer_get_mean, synfire_layer layer, double *mean)
/** Tells the kind of the elements that lie at an index. @since ABI 0.1 */
FUNCTION(synfire_buffer_find, synfire_buffer buffer, uint64_t index, int32_t *dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE))
/** Replaces one delay line by another. @since ABI 0.1 */
FUNCTION(synfire_graph_exchange, synfire_graph graph, synfire_delay_line old_line, synfire_delay_line new_line)
/** Tells the properties that the host of a context has. @since ABI 0.1 */
FUNCTION(synfire_context_get_host, synfire_context context, synfire_context_properties *properties)

/** Sums of buffers. */
typedef struct synfire_mixer_ *synfire_mixer;

/** How to create a mixer. */
typedef struct synfire_mixer_desc {
  /** `sizeof(synfire_mixer_desc)`. */
  uint32_t struct_size;
  /** 1: sums are rounded once. Default 0: at each addition. */
  int32_t exact SYNFIRE_FLAG;
  /** What it is called. */
  const char *label;
  /** The line behind it. */
  synfire_delay_line line;
  /** `n_sources` buffers. */
  const synfire_buffer *sources SYNFIRE_READ("[N]");
  /** How many. */
  uint64_t n_sources SYNFIRE_LENGTH_OF(sources);
} synfire_mixer_desc;

/** Creates a mixer. @since ABI 0.1 */
FUNCTION(synfire_mixer_create, synfire_context context, const synfire_mixer_desc *desc, synfire_mixer *mixer)
/** Destroys a mixer. @since ABI 0.1 */
SYNFIRE_API void SYNFIRE_CALL synfire_mixer_destroy(synfire_mixer mixer SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

"""

PROGRAM = """using System;
using System.Collections.Generic;
using Synfire;

static class Program
{
    static void Objects(Context context, Graph graph, Layer layer, Buffer<float> buffer)
    {
        using (DelayLine line = new DelayLine(context, new DelayLineOptions { Taps = 3, Initial = buffer }))
        using (DelayLine other = new DelayLine(context))
        {
            line.SetGain(0.5);
            line.SetName(1, "first", "mV", true, Reset.Soft, Bound.Lower | Bound.Upper);
            double[] taps = new double[3];
            line.GetTaps(taps);
            line.GetTaps(taps.AsSpan(1));
            line.SetTaps(taps);
            line.SetTaps(taps.AsSpan(1), IntPtr.Zero);
            DelayLineStatus status = line.Query();
            string text = status.Name + status.Origin + status.Values + status.Maximum + line;
            bool full = status.IsFull && status.Dtype == DType.F32 && line.NativeValue != IntPtr.Zero;
            (ulong entered, double share) = line.GetFlow();
            ulong again = line.GetFlow().In;
            line.Take(other);
            line.Take(other, buffer, IntPtr.Zero);
            line.Add(new[] { buffer }, new Dictionary<string, BufferBase> { { "tau", buffer } });
            line.Clear(neurons: 4, steps: 2, batch: 1);
            graph.Delay(line, new DelayArguments { Source = buffer, Destination = buffer }).Exchange(line, other);
            line.Delay(new DelayArguments { Source = buffer, Destination = buffer });
            double mean = layer.Mean;
            DType found = buffer.Find(2);
            string host = context.Host.Name;
            using (Mixer mixer = new Mixer(line.Context,
                                           new MixerOptions { Label = "m", Line = line, Sources = { buffer, buffer } }))
                mixer.Dispose();
        }
    }

    static void Run(Context context, Graph graph, Layer layer, DelayLine line, Buffer<uint> spikes, Buffer<float> rates)
    {
        DecodeRateArguments arguments = new DecodeRateArguments
        {
            Kind = CountKind.PerStep,
            Bounds = Bound.Lower | Bound.Upper,
            Add = true,
            Steps = 20L,
            Neurons = 64L,
            Spikes = spikes,
            Rates = rates,
            Mask = null,
            Reference = layer,
            Line = line,
            Label = "rates",
            Weights = { 0.5, 0.5 },
            Others = { spikes, spikes },
            Tau = 4.0
        };
        IList<double> weights = arguments.Weights;
        graph.DecodeRate(arguments).Fill(rates, weights[0]);
        context.DecodeRate(arguments);
        context.DecodeRate(arguments, IntPtr.Zero);
    }

    static void Main() { }
}
"""

# Without their names, steps and neurons do not compile.
UNNAMED = """static class Program
{
    static void Run(Synfire.DelayLine line) { line.Clear(2, 4, 1); }

    static void Main() { }
}
"""

# A list whose entries no rule fits.
UNKNOWN = """/** Sets everything. @since ABI 0.1 */
FUNCTION(synfire_layer_set_all, synfire_layer layer, const synfire_parameter_values *values,
         uint64_t count SYNFIRE_LENGTH_OF(values))

"""

# Lines that fill in the descriptor.
FILLED = ["desc.kind = (int)Kind;", "desc.bounds = (uint)Bounds;", "desc.add = Add ? 1 : 0;", "desc.n_steps = Steps;",
          'desc.spikes = call.Use(Errors.Given(Spikes, "Spikes"));',
          'desc.rates = call.Use(Errors.Given(Rates, "Rates"));',
          "desc.mask = call.Use(Mask);", "desc.reference = call.Use(Reference);", "desc.line = call.Use(Line);",
          'desc.label = call.Text(Errors.Given(Label, "Label"));', "desc.n_weights = (ulong)Weights.Count;",
          "desc.weights = (double*)call.Numbers(Weights);", "desc.n_others = (uint)Others.Count;",
          'desc.others = call.Use(Others, "Others");', "desc.tau = Tau;"]

# Lines of Objects.g.cs: what creates an object, what it keeps, and how its methods call.
CALLED = ["desc.n_taps = Taps;", "desc.initial = call.Use(Initial);", "desc.exact = Exact ? 1 : 0;",
          'desc.line = call.Use(Errors.Given(Line, "Line"));',
          "Errors.Check(Native.synfire_mixer_create(context.Raw, &desc, &made));", "Uses = call.Used;",
          "Errors.Check(Native.synfire_delay_line_set_gain(Raw, gain));",
          "synfire_delay_line_status status = synfire_delay_line_status.Init;", "return new DelayLineStatus(status);",
          "Checked(Native.synfire_graph_exchange(", "Keep(call.Used);", "GC.KeepAlive(this);", "return (@in, share);",
          "Dtype = (DType)raw.dtype;"]

# Members of the documentation, and words of them.
DOCUMENTED = {"T:Synfire.DecodeRateArguments": "", "P:Synfire.DecodeRateArguments.Kind": "Default: per neuron.",
              "P:Synfire.DecodeRateArguments.Add": "true: rates are added to what",
              "P:Synfire.DecodeRateArguments.Spikes": "Read, in any format;",
              "P:Synfire.DecodeRateArguments.Rates": "Read and written. Its shape is [B, N].",
              "P:Synfire.DecodeRateArguments.Mask": "Which rows count. Read. Its shape is [B]. Optional.",
              "P:Synfire.DecodeRateArguments.Tau": "The time constant in steps; the larger, the smoother.",
              "P:Synfire.DecodeRateArguments.Line": "What delays the spikes",
              "T:Synfire.DelayLine": "A line that delays what goes into it.",
              "T:Synfire.DelayLineOptions": "is created with",
              "P:Synfire.DelayLineOptions.Taps": "Taps of the line, at least 1.",
              "P:Synfire.DelayLineOptions.Initial": "What the line holds at first; values. Read.",
              "M:Synfire.DelayLine.#ctor(Synfire.Context,Synfire.DelayLineOptions)": "Creates a delay line",
              "M:Synfire.DelayLine.SetGain(System.Double)": "Sets what every tap is multiplied by",
              "M:Synfire.DelayLine.Query": "Tells what a delay line has seen.",
              "T:Synfire.DelayLineStatus": "What a delay line has seen.",
              "P:Synfire.DelayLineStatus.IsFull": "true: the line has been filled once.",
              "P:Synfire.DelayLineStatus.Maximum": "The largest of the values.",
              "M:Synfire.Graph.Delay(Synfire.DelayLine,Synfire.DelayArguments)": "Appends a delay",
              "M:Synfire.DelayLine.Delay(Synfire.DelayArguments,System.IntPtr)": "Delays now: the same operation",
              "P:Synfire.Layer.Mean": "The mean of the state of a layer.",
              "M:Synfire.BufferBase.Find(System.UInt64)": "Tells the kind of the elements",
              "T:Synfire.MixerOptions": "is created with",
              "P:Synfire.MixerOptions.Sources": "Buffers. Read. Its shape is [N].",
              "M:Synfire.Graph.DecodeRate(Synfire.DecodeRateArguments)": "Appends a decoding of rates",
              "M:Synfire.Context.DecodeRate(Synfire.DecodeRateArguments,System.IntPtr)": "Decodes rates from spikes"}


def run(*command):
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def generate(folder, field="", more=""):
    """The description and the C# files of a header with what is new; the operation's descriptor ends with `field`."""
    header, description = folder / "synfire.h", folder / "synfire.json"
    text = (ROOT / "include/synfire/synfire.h").read_text(encoding="utf-8")
    if text.count(END) != 1:
        sys.exit("synfire.h does not end as expected")
    new = re.sub(r"^FUNCTION\((\w+), (.*?)\)\n(?=/\*\*|\n)",
                 r"SYNFIRE_API synfire_status SYNFIRE_CALL \1(\2) SYNFIRE_NOEXCEPT;\n",
                 DELAY_LINE + DECODE_RATE.replace("FIELD", field) + more, flags=re.S | re.M)
    new = new.replace(" @since ABI 0.1 */", "\n\n@since ABI 0.1 */")
    header.write_text(text.replace(END, new + END), encoding="utf-8")
    made = run(sys.executable, ROOT / "bindings/api/extract.py", header, description)
    if made.returncode != 0:
        sys.exit(made.stdout)
    return run(sys.executable, ROOT / "bindings/csharp/generate.py", description, folder)


def refused(made, what):
    if made.returncode == 0 or what not in made.stdout:
        sys.exit(f"'{what}' was not refused: {made.returncode}, {made.stdout}")


def main():
    mcs, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    refused(generate(folder, field="  /** An address. */\n  void *address SYNFIRE_NULLABLE;\n"),
            "synfire_decode_rate_desc.address: no rule")
    refused(generate(folder, more=UNKNOWN), "synfire_layer_set_all: no rule makes a list of")

    made = generate(folder)
    if made.returncode != 0:
        sys.exit(made.stdout)
    for file, lines in (("Operations.g.cs", FILLED), ("Objects.g.cs", CALLED)):
        text = (folder / file).read_text(encoding="utf-8")
        for line in lines:
            if not re.search(rf"^ +{re.escape(line)}", text, re.M):
                sys.exit(f"{file} has no '{line}'")

    (folder / "Program.cs").write_text(PROGRAM, encoding="utf-8")
    (folder / "Unnamed.cs").write_text(UNNAMED, encoding="utf-8")
    written = [path for path in (ROOT / "bindings/csharp/src").glob("*.cs") if not path.name.endswith(".g.cs")]
    options = ["-nologo", "-unsafe", "-langversion:7.2", "-warn:4", "-warnaserror"]
    program = [mcs, *options, "-nowarn:219", f"-out:{folder}/Program.exe", f"-r:{folder}/Synfire.dll"]
    for command in ([mcs, *options, "-target:library", f"-doc:{folder}/Synfire.xml", f"-out:{folder}/Synfire.dll",
                     *sorted(written), *sorted(folder.glob("*.g.cs"))],
                    [*program, folder / "Program.cs"]):
        compiled = run(*command)
        if compiled.returncode != 0:
            sys.exit(compiled.stdout)
    refused(run(*program, folder / "Unnamed.cs"), "write Clear(steps: ..., neurons: ..., batch: ...)")

    documentation = xml.etree.ElementTree.parse(folder / "Synfire.xml")
    members = {member.get("name"): " ".join("".join(member.find("summary").itertext()).split())
               for member in documentation.iter("member") if member.find("summary") is not None}
    for name, words in DOCUMENTED.items():
        if words not in members.get(name, "") or not members.get(name):
            sys.exit(f"{name}: '{words}' is not in '{members.get(name)}'")

    # Without anything new no file is left behind.
    again = run(sys.executable, ROOT / "bindings/csharp/generate.py", ROOT / "bindings/api/synfire.json", folder)
    if again.returncode != 0 or (folder / "Objects.g.cs").exists():
        sys.exit(f"Objects.g.cs is left behind: {again.stdout}")
    print(f"an operation of {len(FILLED)} fields, two objects and their methods: compiled and documented, nothing by hand")


if __name__ == "__main__":
    main()
