"""Every kernel begins by waiting for the one in front of it: a replay may launch it before that one has ended. None lets
the next one come before it has waited itself, so that never more than two overlap.

Usage: check_kernels_wait.py FOLDER    the folder that has the CUDA sources
"""

import pathlib
import re
import sys

BOUNDS = r"(?:__launch_bounds__\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?"
KERNEL = re.compile(rf"__global__\s+void\s+{BOUNDS}(\w+)\([^{{;]*\)\s*\{{\s*([^;]*;)")


def main():
    folder = pathlib.Path(sys.argv[1])
    n_kernels, problems = 0, []
    for path in sorted(folder.rglob("*.cu*")):
        text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        found = KERNEL.findall(text)
        if len(found) != text.count("__global__"):
            problems.append(f"{path}: {text.count('__global__')} kernels, but only {len(found)} were recognised")
        if path.name != "wait.cuh" and re.search(r"cudaTriggerProgrammatic|launch_dependents", text):
            problems.append(f"{path}: lets the next kernel begin without let_next_begin()")
        for name, first in found:
            n_kernels += 1
            if first != "wait_for_previous();":
                problems.append(f"{path}: {name} begins with {first!r} instead of wait_for_previous();")
    if n_kernels == 0:
        problems.append(f"no kernels in {folder}")
    for problem in problems:
        print(problem)
    print(f"{n_kernels} kernels, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
