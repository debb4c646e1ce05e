#!/usr/bin/env python3
"""A new operation in synfire.h is usable from C++ without a line in synfire.hpp: new_operation.py COMPILER...

A copy of synfire.h gets the operations of decode_rate.h, a copy of synfire.hpp what follows from them, and a program
that uses them is compiled against the copies, at both levels of the language and with every warning an error. Against
the headers as they are it must not compile.

SPDX-License-Identifier: MIT
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
END = "/** @} */\n/** @cond PLATFORM */\n#ifdef __cplusplus\n}"


def compiles(compiler, standard, include):
    answer = subprocess.run([compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion",
                             "-Werror", "-fsyntax-only", f"-I{include}", HERE / "new_operation.cpp"],
                            capture_output=True, text=True, check=False)
    return answer.returncode == 0, answer.stderr


def main():
    if not sys.argv[1:]:
        sys.exit("new_operation.py: no compiler")
    with tempfile.TemporaryDirectory() as folder:
        include = pathlib.Path(folder)
        shutil.copytree(ROOT / "include/synfire", include / "synfire")
        header = include / "synfire/synfire.h"
        text = header.read_text(encoding="utf-8")
        if text.count(END) != 1:
            sys.exit("new_operation.py: the end of synfire.h looks different")
        new = (HERE / "decode_rate.h").read_text(encoding="utf-8")
        header.write_text(text.replace(END, f"{new}\n{END}"), encoding="utf-8")
        description = include / "synfire.json"
        subprocess.run([sys.executable, ROOT / "bindings/api/extract.py", header, description], check=True)
        wrapper = include / "synfire/synfire.hpp"
        subprocess.run([sys.executable, ROOT / "bindings/cpp/generate.py", description, wrapper], check=True)
        for compiler in sys.argv[1:]:
            for standard in ("c++17", "c++20"):
                good, errors = compiles(compiler, standard, include)
                if not good:
                    sys.exit(f"{compiler} -std={standard}:\n{errors}")
                if compiles(compiler, standard, ROOT / "include")[0]:
                    sys.exit(f"{compiler} -std={standard}: the program compiles without the new operations")
                print(f"{compiler} -std={standard}: compiles")


if __name__ == "__main__":
    main()
