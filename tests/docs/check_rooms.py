#!/usr/bin/env python3
"""Checks the dependencies between folders: each includes only what it may, and no machine names a kind of operation.

Usage: check_rooms.py SOURCE    the folder of the sources
"""

import pathlib
import re
import sys

MAY_INCLUDE = {
    "base": {"base"},
    "layer": {"base", "synapse", "layer"},
    "synapse": {"base", "synapse"},
    "files": {"base", "files"},
    "graph": {"base", "layer", "synapse", "graph"},
    "host": {"base", "graph", "host"},
    "cuda": {"base", "layer", "graph", "cuda"},
    "operations": {"base", "layer", "synapse", "graph", "host", "cuda", "operations"},
    "jit": {"base", "files", "layer", "host", "cuda", "operations", "jit"},
    "network": {"base", "files", "layer", "synapse", "graph", "operations", "network"},
}
INCLUDE = re.compile(r'^#include [<"]([^>"]+)[>"]', re.MULTILINE)
KIND = re.compile(r"SYNFIRE_DECLARE_KIND\((\w+)\)")


def main():
    source = pathlib.Path(sys.argv[1]) / "src"
    problems, n_files = [], 0
    kinds = {name for path in source.glob("operations/*/*.hpp") for name in KIND.findall(path.read_text(encoding="utf-8"))}
    listed = set(re.findall(r"KIND\((\w+)\)", (source / "operations/kinds.hpp").read_text(encoding="utf-8")))
    for name in sorted(kinds ^ listed):
        problems.append(f"operations/kinds.hpp: {name} is {'not in the list' if name in kinds else 'no kind'}")
    for room in sorted(path.name for path in source.iterdir() if path.is_dir()):
        if room not in MAY_INCLUDE:
            problems.append(f"src/{room}: no such room; tests/docs/check_rooms.py lists them")
            continue
        for path in sorted((source / room).rglob("*")):
            if path.suffix not in {".hpp", ".cpp", ".cuh", ".cu"}:
                continue
            n_files += 1
            text = path.read_text(encoding="utf-8")
            for name in INCLUDE.findall(text):
                other = name.split("/")[0]
                if other in MAY_INCLUDE and other not in MAY_INCLUDE[room]:
                    problems.append(f"{path.relative_to(source.parent)} includes <{name}>: {room} may not use {other}")
            if room in {"host", "cuda"}:
                for name in sorted(kinds):
                    if re.search(rf"\boperations::{name}\b", text):
                        problems.append(f"{path.relative_to(source.parent)} names operations::{name}: machines know no kind")
    for problem in problems:
        print(problem)
    print(f"{n_files} files, {len(kinds)} kinds, {len(problems)} problems")
    return 1 if problems or n_files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
