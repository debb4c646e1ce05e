#!/usr/bin/env python3
"""One training that passes from language to language, and from backend to backend, through its file: at the end the file
must have the bytes of a training that was not stopped.

    check_resume.py FOLDER [--backends host,cuda] C_PROGRAM [NAME=COMMAND ...]

C_PROGRAM is resume.c's, which begins. NAME=COMMAND is the program of another language, with `|` between the words of its
command. Every language follows every other one: the training goes through all of them forwards and backwards. It stops in
the middle of epochs. With several backends, each program runs on another one than the program before.

SPDX-License-Identifier: MIT
"""
import argparse
import itertools
import pathlib
import subprocess
import sys

BATCHES = (3, 2, 4, 1, 5)  # of an epoch of four


def chain(c_program, others):
    """(name, command) of every program in turn; C begins and ends."""
    c = ("c", [c_program])
    turns = [c, *others, c]
    return turns + [*reversed(others), c] if len(others) > 1 else turns


def resume(command, source, target, batches, backend):
    words = [*command, source, target, batches, backend]
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode != 0 or " batches, loss " not in text:
        raise RuntimeError(f"{' '.join(map(str, words))}: exit status {done.returncode}: {text}")
    return text.splitlines()[-1]


def check(folder, backends, c_program, others):
    """The lines of a report. Throws RuntimeError if a program fails or the bytes differ."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    lines, source, total = [], "new", 0
    turns = chain(c_program, others)
    for (name, command), batches, backend in zip(turns, itertools.cycle(BATCHES), itertools.cycle(backends)):
        target = folder / "passed.safetensors"
        lines.append(f"{name} on {backend}: {resume(command, source, target, batches, backend)}")
        source, total = target, total + batches
    for backend in dict.fromkeys(backends):
        whole = folder / f"whole-{backend}.safetensors"
        resume([c_program], "new", whole, total, backend)
        if whole.read_bytes() != source.read_bytes():
            raise RuntimeError("\n".join([*lines, f"other bytes than {total} batches on {backend} without a stop"]))
        lines.append(f"the bytes of {total} batches on {backend} without a stop: {whole.stat().st_size}")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--backends", default="host")
    parser.add_argument("c_program")
    parser.add_argument("others", nargs="*")
    given = parser.parse_args()
    others = [(name, command.split("|")) for name, command in (other.split("=", 1) for other in given.others)]
    try:
        print("\n".join(check(given.folder, given.backends.split(","), given.c_program, others)))
    except RuntimeError as failed:
        sys.exit(f"check_resume.py: {failed}")


if __name__ == "__main__":
    main()
