#!/usr/bin/env python3
"""A new operation of the C library needs no line written by hand: check_generator.py MCS FOLDER

A copy of synfire.h gets one more descriptor with fields of every kind, a function that records it and one that runs
it. The description and the C# files are made from that header, and compiled together with the sources written by hand
and with a program that uses the operation. A field that no rule fits must stop the generator.

SPDX-License-Identifier: MIT
"""
import pathlib
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

PROGRAM = """using System;
using System.Collections.Generic;
using Synfire;

static class Program
{
    static void Run(Context context, Graph graph, Layer layer, Buffer<uint> spikes, Buffer<float> rates)
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

# Lines that fill in the descriptor.
FILLED = ["desc.kind = (int)Kind;", "desc.bounds = (uint)Bounds;", "desc.add = Add ? 1 : 0;", "desc.n_steps = Steps;",
          'desc.spikes = call.Use(Errors.Given(Spikes, "Spikes"));',
          'desc.rates = call.Use(Errors.Given(Rates, "Rates"));',
          "desc.mask = call.Use(Mask);", "desc.reference = call.Use(Reference);",
          'desc.label = call.Text(Errors.Given(Label, "Label"));', "desc.n_weights = (ulong)Weights.Count;",
          "desc.weights = (double*)call.Numbers(Weights);", "desc.n_others = (uint)Others.Count;",
          'desc.others = call.Use(Others, "Others");', "desc.tau = Tau;"]

# Members of the documentation, and words of them.
DOCUMENTED = {"T:Synfire.DecodeRateArguments": "", "P:Synfire.DecodeRateArguments.Kind": "Default: per neuron.",
              "P:Synfire.DecodeRateArguments.Add": "true: rates are added to what",
              "P:Synfire.DecodeRateArguments.Spikes": "Read, in any format;",
              "P:Synfire.DecodeRateArguments.Rates": "Read and written. Its shape is [B, N].",
              "P:Synfire.DecodeRateArguments.Mask": "Which rows count. Read. Its shape is [B]. Optional.",
              "P:Synfire.DecodeRateArguments.Tau": "The time constant in steps; the larger, the smoother.",
              "M:Synfire.Graph.DecodeRate(Synfire.DecodeRateArguments)": "Appends a decoding of rates",
              "M:Synfire.Context.DecodeRate(Synfire.DecodeRateArguments,System.IntPtr)": "Decodes rates from spikes"}


def run(*command):
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def generate(folder, field):
    """The description and the C# files of a header with the operation, whose descriptor ends with `field`."""
    header, description = folder / "synfire.h", folder / "synfire.json"
    text = (ROOT / "include/synfire/synfire.h").read_text(encoding="utf-8")
    if text.count(END) != 1:
        sys.exit("synfire.h does not end as expected")
    header.write_text(text.replace(END, DECODE_RATE.replace("FIELD", field) + END), encoding="utf-8")
    made = run(sys.executable, ROOT / "bindings/api/extract.py", header, description)
    if made.returncode != 0:
        sys.exit(made.stdout)
    return run(sys.executable, ROOT / "bindings/csharp/generate.py", description, folder)


def main():
    mcs, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    refused = generate(folder, "  /** An address. */\n  void *address SYNFIRE_NULLABLE;\n")
    if refused.returncode == 0 or "synfire_decode_rate_desc.address: no rule" not in refused.stdout:
        sys.exit(f"a field that no rule fits: {refused.returncode}, {refused.stdout}")

    made = generate(folder, "")
    if made.returncode != 0:
        sys.exit(made.stdout)
    text = (folder / "Operations.g.cs").read_text(encoding="utf-8")
    for line in FILLED:
        if f"            {line}\n" not in text:
            sys.exit(f"Operations.g.cs has no '{line}'")

    (folder / "Program.cs").write_text(PROGRAM, encoding="utf-8")
    written = [path for path in (ROOT / "bindings/csharp/src").glob("*.cs") if not path.name.endswith(".g.cs")]
    options = ["-nologo", "-unsafe", "-langversion:7.2", "-warn:4", "-warnaserror"]
    for command in ([mcs, *options, "-target:library", f"-doc:{folder}/Synfire.xml", f"-out:{folder}/Synfire.dll",
                     *sorted(written), *sorted(folder.glob("*.g.cs"))],
                    [mcs, *options, f"-out:{folder}/Program.exe", f"-r:{folder}/Synfire.dll", folder / "Program.cs"]):
        compiled = run(*command)
        if compiled.returncode != 0:
            sys.exit(compiled.stdout)

    documentation = xml.etree.ElementTree.parse(folder / "Synfire.xml")
    members = {member.get("name"): " ".join("".join(member.find("summary").itertext()).split())
               for member in documentation.iter("member") if member.find("summary") is not None}
    for name, words in DOCUMENTED.items():
        if words not in members.get(name, "") or not members.get(name):
            sys.exit(f"{name}: '{words}' is not in '{members.get(name)}'")
    print(f"a new operation: {len(FILLED)} fields, its class and both methods documented, nothing written by hand")


if __name__ == "__main__":
    main()
