#!/usr/bin/env python3
"""Checks that `digits` or `gestures` learns the same on every backend: the same safetensors file to the byte.

    compare_backends.py DIGITS DATA [--epochs N] [--floor PER_CENT] [--weights HASH] [--backends host,host:1,host:1:2,cuda]
    compare_backends.py GESTURES - [...] [OPTION OF GESTURES]...

DIGITS and GESTURES are the programs, DATA the folder that `digits --make-data` has filled, or a packed file of spikes such
as few.spikes.gz. Each backend learns from them; host:1 is the host with one thread, and host:1:2 are two ranks of one thread each.
All must print the same numbers, but
for the times, and write the same bytes; with --weights, these weights. The first backend must name at least PER_CENT of
what was not learnt. Without --epochs, the training is the whole one. Options that are not listed go to the program.

few.spikes.gz has every fourth of the voices that are learnt and two that are not, in the first of the manners.

SPDX-License-Identifier: MIT
"""
import argparse
import gzip
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile


class Different(Exception):
    """Raised when a result is not as it must be."""


def unpacked(data, folder):
    """The folder of the spikes; None for a program that makes its own."""
    if data is None or pathlib.Path(data).is_dir():
        return data
    with gzip.open(data) as packed:
        (folder / "digits.spikes").write_bytes(packed.read())
    return folder


def learn(program, data, output, backend, epochs, options):
    """Returns the program's output without progress and times, the seconds of learning, and its file."""
    name, threads, ranks = (backend.split(":") + ["", ""])[:3]
    command = [program, "--output", output, "--backend", name, *options]
    command += ["--data", data] if data else []
    command += ["--threads", threads] if threads else []
    command += ["--ranks", ranks] if ranks else []
    command += ["--epochs", str(epochs)] if epochs else []
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    text = done.stdout.decode("utf-8", "replace").replace("\r", "")
    if done.returncode != 0:
        raise Different(f"{' '.join(map(str, command))}: exit status {done.returncode}: {done.stderr.decode()[-2000:]}")
    seconds = re.search(r"^learnt +in ([0-9.]+) s$", text, re.MULTILINE)
    numbers = re.sub(r"^(learnt|filmed) .*\n", "", text, flags=re.MULTILINE)
    # How much memory it takes depends on the backend.
    numbers = re.sub(r"^synapses .*\n", "", numbers, flags=re.MULTILINE)
    return numbers, float(seconds[1]), (output / f"{pathlib.Path(program).stem}.safetensors").read_bytes()


def compare(program, data, backends, epochs=None, floor=0.0, weights=None, options=()):
    """The lines of a report. Throws Different."""
    lines, first = [], None
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        spikes = unpacked(data, folder)
        for number, backend in enumerate(backends):
            numbers, seconds, file = learn(program, spikes, folder / str(number), backend, epochs, options)
            right = re.search(r"^right .*: ([0-9.]+) %$", numbers, re.MULTILINE)
            own_weights = re.search(r"^weights +hash ([0-9a-f]{16})$", numbers, re.MULTILINE)
            if not right or not own_weights:
                raise Different(f"no results on {backend}:\n{numbers}")
            lines.append(f"{backend}: learnt in {seconds} s, {right[1]} % right, weights {own_weights[1]}, "
                         f"file {hashlib.sha256(file).hexdigest()}")
            if weights and own_weights[1] != weights:
                raise Different("\n".join([*lines, f"the weights are not {weights}"]))
            if first is None:
                first = (numbers, file)
                if float(right[1]) < floor:
                    raise Different("\n".join([*lines, f"the floor is {floor} %"]))
                lines[:0] = re.findall(r"^(?:data|films|unseen|streamed) .*", numbers, re.MULTILINE)
            elif numbers != first[0]:
                raise Different("\n".join([*lines, f"other numbers on {backend}:", first[0], numbers]))
            elif file != first[1]:
                raise Different("\n".join([*lines, f"another file on {backend}"]))
    lines.append(f"the same file of {len(first[1])} bytes on {', '.join(backends)}")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--floor", type=float, default=0.0)
    parser.add_argument("--weights")
    parser.add_argument("--backends", default="host,cuda")
    given, options = parser.parse_known_args()
    try:
        print("\n".join(compare(pathlib.Path(given.program), None if given.data == "-" else given.data,
                                given.backends.split(","), given.epochs, given.floor, given.weights, options)))
    except Different as failed:
        sys.exit(f"compare_backends.py: {failed}")


if __name__ == "__main__":
    main()
