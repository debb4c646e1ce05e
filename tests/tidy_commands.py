#!/usr/bin/env python3
"""Writes what clang-tidy checks: tidy_commands.py BUILD

BUILD/compile_commands.json becomes BUILD/once/compile_commands.json, with one command for each C and C++ file of the
project; the files are listed in BUILD/once/files.txt. A file that is compiled for several programs or instruction
levels keeps one command, because clang-tidy would check it once for each. Files that CMake compiles as one
(cmake/Unity.cmake) are checked as one, which takes a third of the time.

Left out are kernels (.cu), because clang 14 cannot read the headers of CUDA newer than 11.5, and the programs in the
tests of bindings/, because they include headers that these tests write.

SPDX-License-Identifier: MIT
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]

# Files that CMake compiles in projects of their own or not at all, and the files whose commands they get.
LIKE = {
    "docs/examples/models/fit.c": "docs/examples/quickstart.c",
    "tests/abi/header_alone.c": "tests/abi/init_macros.c",
    "tests/added/added_test.cpp": "tests/capi/parameter_test.cpp",
    "tests/added/examples_test.cpp": "tests/capi/parameter_test.cpp",
    "tests/added/further_states_test.cpp": "tests/capi/parameter_test.cpp",
    "tests/hpp/positional.cpp": "tests/hpp/wrapper_test.cpp",
    "tests/install/consumer/main.c": "tests/abi/init_macros.c",
    "tests/install/consumer/main.cpp": "tests/hpp/wrapper_test.cpp",
    "tools/bench/bare_none.cpp": "tools/bench/main.cpp",
    "tools/bench/cublas_none.cpp": "tools/bench/main.cpp",
}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    once, together = {}, set()
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(entry["file"])
        if path.parent.name == "Unity":
            files = set(re.findall(r'^#include "(.+)"$', path.read_text(encoding="utf-8"), flags=re.M))
            if any(ROOT / "build" not in pathlib.Path(file).parents for file in files):  # else copies that a build makes
                once[str(path)] = entry
                together |= files
        elif path.suffix in {".c", ".cpp"} and ROOT in path.parents and ROOT / "build" not in path.parents:
            once[str(path)] = entry
    for path in together:
        once.pop(path, None)
    for name, other in LIKE.items():
        path, like = str(ROOT / name), str(ROOT / other)
        once.setdefault(path, {**once[like], "file": path, "command": once[like]["command"].replace(like, path)})
    (build / "once").mkdir(exist_ok=True)
    (build / "once/compile_commands.json").write_text(json.dumps(list(once.values()), indent=1), encoding="utf-8")
    (build / "once/files.txt").write_text("".join(f"{path}\n" for path in sorted(once)), encoding="utf-8")


if __name__ == "__main__":
    main()
