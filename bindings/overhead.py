#!/usr/bin/env python3
"""Measures a replay and a wait from each language, beside C; fails if one of them costs too much:

    overhead.py [--rounds N] C_PROGRAM [NAME=COMMAND ...]

The target synfire-bindings-overhead calls it. C_PROGRAM is programs/overhead.c, which prints nanoseconds. NAME=COMMAND is the
program of another language, with `|` between the words of its command. It prints lines: `replay NS`; `c NS` if it measures C's
functions itself, on the same graph; `calls NS` for what its runtime takes for two calls of native code that do nothing, which
is not the binding's doing. All programs run N times, in turns, and the smallest figures count. Figures are good on a machine
that does nothing else, with a library that was built with optimisation.

SPDX-License-Identifier: MIT
"""
import argparse
import re
import subprocess
import sys

ALLOWED_NS = 100       # more than C and the runtime
ALLOWED_RUST_NS = 20   # no runtime is in between; or this share of what C takes, on a slower machine
ALLOWED_RUST_SHARE = 0.15


def measure(name, command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    figures = {key: float(value) for key, value in re.findall(r"^(\w+) ([0-9.]+)$", done.stdout, re.MULTILINE)}
    if done.returncode != 0 or "replay" not in figures:
        sys.exit(f"overhead.py: {name}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return figures


def measure_c(program):
    return {"replay": float(subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout)}


def judge(name, figures, c_program_ns):
    """A row of the table, and whether it is within what is allowed."""
    c = figures.get("c", c_program_ns)
    calls = figures.get("calls", 0.0)
    more = figures["replay"] - c - calls
    allowed = max(ALLOWED_RUST_NS, ALLOWED_RUST_SHARE * c) if "c" in figures else ALLOWED_NS
    good = more <= allowed
    return (f"{name:<10}{figures['replay']:>10.1f}{c:>10.1f}{calls:>10.1f}{more:>10.1f}{allowed:>10.1f}"
            f"{'' if good else '  too much'}", good)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("c_program")
    parser.add_argument("others", nargs="*")
    given = parser.parse_args()
    programs = [(name, command.split("|")) for name, command in (other.split("=", 1) for other in given.others)]
    best = {}
    for _ in range(given.rounds):
        measured = [("c", measure_c(given.c_program))] + [(name, measure(name, command)) for name, command in programs]
        for name, figures in measured:
            kept = best.setdefault(name, figures)
            best[name] = {key: min(value, kept[key]) for key, value in figures.items()}
    c = best.pop("c")["replay"]
    print("A replay and a wait, nanoseconds: in all, from C, two empty native calls of the runtime, the rest, what it may be")
    print(f"{'':<10}{'replay':>10}{'C':>10}{'calls':>10}{'more':>10}{'allowed':>10}\n{'c':<10}{c:>10.1f}")
    rows = [judge(name, figures, c) for name, figures in best.items()]
    print("\n".join(row for row, _ in rows))
    if not all(good for _, good in rows):
        sys.exit("overhead.py: more than is allowed. On a busy machine, run it again.")


if __name__ == "__main__":
    main()
