#!/usr/bin/env python3
"""Runs synfire-bench with the command lines of one situation and checks the exit status, the output and the files.

    bench_test.py --list                              prints this interpreter, and each situation with its label
    bench_test.py SITUATION PROGRAM FOLDER [--cuda]   runs one in FOLDER, which is emptied first

CMakeLists.txt makes a test of each situation of situations.py.

SPDX-License-Identifier: MIT
"""
import os
import sys

import checks
import situations


def main():
    if sys.argv[1:] == ["--list"]:
        print(sys.executable)
        for name, (label, _) in situations.SITUATIONS.items():
            print(name, label)
        return
    name, checks.program, folder = sys.argv[1:4]
    situations.with_cuda = "--cuda" in sys.argv[4:]
    if name not in situations.SITUATIONS:
        sys.exit(f"bench_test.py: unknown situation {name}")
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    for file in os.listdir():
        os.remove(file)
    try:
        situations.SITUATIONS[name][1]()
    except checks.Failed as failure:
        sys.exit(f"{name}: {failure}")


if __name__ == "__main__":
    main()
