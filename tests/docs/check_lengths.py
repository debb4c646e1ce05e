#!/usr/bin/env python3
"""Checks that programs with networks are as short as the documentation promises: check_lengths.py ROOT

What lives here: the most lines that each program may have in each language. Empty lines and lines of comments only do
not count, and no line is longer than the style of the repository allows.

SPDX-License-Identifier: MIT
"""
import pathlib
import sys

MOST_COLUMNS = 120
MOST_LINES = {
    "docs/examples/network.c": 60,
    "docs/examples/network.cpp": 35,
    "bindings/rust/synfire/examples/network.rs": 35,
    "bindings/csharp/examples/Network.cs": 35,
    "bindings/julia/Synfire/examples/network.jl": 35,
    "bindings/lua/examples/network.lua": 35,
    "bindings/python/examples/network.py": 35,
    "docs/examples/senses.c": 60,
    "docs/examples/senses.cpp": 35,
    "bindings/rust/synfire/examples/senses.rs": 35,
    "bindings/csharp/examples/Senses.cs": 35,
    "bindings/julia/Synfire/examples/senses.jl": 35,
    "bindings/lua/examples/senses.lua": 40,
    "bindings/python/examples/senses.py": 35,
    "docs/examples/pictures.c": 60,
    "docs/examples/pictures.cpp": 35,
    "bindings/rust/synfire/examples/pictures.rs": 35,
    "bindings/csharp/examples/Pictures.cs": 35,
    "bindings/julia/Synfire/examples/pictures.jl": 35,
    "bindings/lua/examples/pictures.lua": 35,
    "bindings/python/examples/pictures.py": 35,
    "bindings/python/examples/digits.py": 35,
}


def is_code(line):
    return line.strip() and not line.strip().startswith(("//", "#!", "# ", "/*", "--")) and line.strip() not in ("#", "//")


def main():
    root, failed = pathlib.Path(sys.argv[1]), False
    for name, most in MOST_LINES.items():
        lines = (root / name).read_text(encoding="utf-8").splitlines()
        count = sum(bool(is_code(line)) for line in lines)
        widest = max(map(len, lines))
        print(f"{name}: {count} lines of code of at most {most}, {widest} columns")
        failed |= count > most or widest > MOST_COLUMNS
    if failed:
        sys.exit("check_lengths.py: too long")


if __name__ == "__main__":
    main()
