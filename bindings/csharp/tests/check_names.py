#!/usr/bin/env python3
"""Steps and neurons compile with their names, in any order, and not without, and an element of a Span is written as the
README says: check_names.py COMPILER SYNFIRE_DLL FOLDER

COMPILER is mcs, or dotnet, whose own compiler is then run.

SPDX-License-Identifier: MIT
"""
import pathlib
import subprocess
import sys

PROGRAM = """using Synfire;

static class Program
{{
    static void Run(Context context, Graph graph, Buffer<uint> bits, Buffer<float> dense, LayerOptions options)
    {{
        int neurons = 64;
        long steps = 20;
        {0}
    }}

    static void Main() {{ }}
}}
"""

GOOD = """new Layer(context, steps: 20, neurons: 64);
new Layer(context, neurons: 64, steps: 20);
new Layer(context, steps: steps, neurons: neurons, options: options);
new Layer(context, neurons: (short)neurons, options: options, steps: (uint)steps);
new Layer(context: context, neurons: 64, steps: 20);
Layer.QueryMemory(steps: 20, neurons: 64);
Layer.QueryMemory(neurons: 64, steps: 20, options: options);
context.ConvertSpikes(bits, dense, steps: steps, neurons: neurons);
context.ConvertSpikes(bits, dense, neurons: neurons, steps: steps, batch: 2);
context.ConvertSpikes(steps: 20, neurons: 64, source: bits, destination: dense, stream: default(System.IntPtr));
context.CountSpikes(CountKind.Total, bits, bits, steps: 20, neurons: 64);
context.CountSpikes(neurons: 64, steps: 20, kind: CountKind.Total, spikes: bits, counts: bits, batch: 2);
context.EncodeBernoulli(dense, bits, steps: 20, neurons: 64, seed: 7);
context.EncodeBernoulli(dense, bits, neurons: 64, steps: 20, batch: 2, seed: 7, offset: 20, ratesPerStep: true);
graph.ConvertSpikes(bits, dense, steps: 20, neurons: 64).ConvertSpikes(bits, dense, neurons: 64, steps: 20, batch: 2);
graph.CountSpikes(CountKind.Total, bits, bits, steps: 20, neurons: 64, batch: 2);
graph.EncodeBernoulli(dense, bits, neurons: 64, steps: 20, seed: 7);
new ConvertSpikesArguments { Steps = 20, Neurons = 64, Source = bits, Destination = dense }.ToString();"""

# Code that does not compile, and the compiler's message.
LAYER = "write new Layer(context, steps: ..., neurons: ...)"
MEMORY = "write Layer.QueryMemory(steps: ..., neurons: ...)"
CONVERT = "write ConvertSpikes(source, destination, steps: ..., neurons: ...)"
COUNT = "write CountSpikes(kind, spikes, counts, steps: ..., neurons: ...)"
ENCODE = "write EncodeBernoulli(rates, spikes, steps: ..., neurons: ...)"
BAD = [("new Layer(context, 64, 20);", LAYER),
       ("new Layer(context, neurons, steps);", LAYER),
       ("new Layer(context, (byte)64, 20u, options);", LAYER),
       ("new Layer(context, 64, 20, options: options);", LAYER),
       ("Layer.QueryMemory(64, 20);", MEMORY),
       ("Layer.QueryMemory(neurons, steps, options);", MEMORY),
       ("context.ConvertSpikes(20, 64, bits, dense);", CONVERT),
       ("context.ConvertSpikes(20, 64, bits, dense, batch: 2);", CONVERT),
       ("context.ConvertSpikes(bits, dense, 20, 64);", CONVERT),
       ("context.ConvertSpikes(bits, dense, steps, neurons, 2);", CONVERT),
       ("context.CountSpikes(CountKind.Total, 20, 64, bits, bits);", COUNT),
       ("context.CountSpikes(CountKind.Total, bits, bits, 20, 64, batch: 2);", COUNT),
       ("context.EncodeBernoulli(20, 64, dense, bits, 2, seed: 7);", ENCODE),
       ("context.EncodeBernoulli(dense, bits, steps, neurons, seed: 7);", ENCODE),
       ("graph.ConvertSpikes(20, 64, bits, dense);", CONVERT),
       ("graph.ConvertSpikes(bits, dense, 20, 64, 2);", CONVERT),
       ("graph.CountSpikes(CountKind.Total, 20, 64, bits, bits, 2);", COUNT),
       ("graph.CountSpikes(CountKind.Total, bits, bits, 20, 64);", COUNT),
       ("graph.EncodeBernoulli(20, 64, dense, bits);", ENCODE),
       ("graph.EncodeBernoulli(dense, bits, 20, 64, ratesPerStep: true);", ENCODE)]


# An element of a buffer's memory. Mono's compiler refuses the first form; the README has the sentence about it.
WRITE = "dense.Span[1] = 2.0f;"
WRITE_EVERYWHERE = "var memory = dense.Span; memory[1] = 2.0f;"


def command(compiler):
    if not compiler.endswith("dotnet"):
        return [compiler]

    def newest(what, name):
        listed = subprocess.run([compiler, what], check=True, capture_output=True, text=True).stdout.splitlines()
        version, folder = [line for line in listed if name in line][-1].removeprefix(name).strip().split(" ", 1)
        return pathlib.Path(folder.strip("[]")) / version

    runtime = newest("--list-runtimes", "Microsoft.NETCore.App ")
    parts = [runtime / f"{name}.dll" for name in ("System.Private.CoreLib", "System.Runtime", "netstandard")]
    csc = newest("--list-sdks", "") / "Roslyn/bincore/csc.dll"
    return [compiler, "exec", str(csc), "-nostdlib", *(f"-r:{part}" for part in parts)]


def main():
    compiler, library, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    base = [*command(compiler), "-nologo", "-langversion:7.2", f"-out:{folder}/names.exe", f"-r:{library}"]

    def compile_with(body):
        source = folder / "names.cs"
        source.write_text(PROGRAM.format(body), encoding="utf-8")
        made = subprocess.run([*base, str(source)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return made.returncode, made.stdout

    status, text = compile_with(GOOD)
    if status != 0:
        sys.exit(f"calls with names do not compile:\n{text}")
    status, text = compile_with(WRITE_EVERYWHERE)
    if status != 0:
        sys.exit(f"does not compile: {WRITE_EVERYWHERE}\n{text}")
    status, text = compile_with(WRITE)
    if status != 0 if compiler.endswith("dotnet") else "error CS1612" not in text:
        sys.exit(f"the README says otherwise of: {WRITE}\n{text}")
    for line, wanted in BAD:
        status, text = compile_with(line)
        if status == 0:
            sys.exit(f"compiles: {line}")
        if wanted not in text or text.count("error CS") != 1:
            sys.exit(f"{line}\n'{wanted}' is not the one error:\n{text}")
    print(f"{len(GOOD.splitlines())} calls with names compile, {len(BAD)} without show how to write them")


if __name__ == "__main__":
    main()
