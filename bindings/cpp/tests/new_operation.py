#!/usr/bin/env python3
"""New functions in synfire.h are usable from C++ without a line in synfire.hpp: new_operation.py COMPILER...

A copy of synfire.h gets the operations of decode_rate.h and the object and the functions of delay_line.h, a copy of
synfire.hpp what follows from them. Programs that use them are compiled against the copies, at both levels of the
language and with every warning an error. new_object.cpp is run too: as C++17 by the first compiler, as C++20 by the last. Against
the headers as they are, the programs must not compile.
Each new function is documented in the copy, and nothing outside the generated blocks has changed.

SPDX-License-Identifier: MIT
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "bindings/api"))
import model  # noqa: E402

PROGRAMS = ("new_operation.cpp", "new_object.cpp")
END = "/** @} */\n/** @cond PLATFORM */\n#ifdef __cplusplus\n}"
BLOCKS = re.compile(r"(bindings/cpp/generate.py: begin ([\w ]+)\n).*?(?=[ ]*// ---- generated [^\n]*: end \2\n)", re.S)


def compiled(compiler, standard, include, program, *options):
    """Returns whether a program compiles, and the compiler's messages."""
    answer = subprocess.run([compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion",
                             "-Werror", *options, f"-I{include}", HERE / program],
                            capture_output=True, text=True, check=False)
    return answer.returncode == 0, answer.stderr


def check_documentation(header, wrapper):
    """Every function of the new headers is called by a function whose documentation says so."""
    api = model.read(header)
    new = "".join((HERE / name).read_text(encoding="utf-8") for name in ("decode_rate.h", "delay_line.h"))
    names = [name for name in api.function if f"{name}(" in new]
    text = wrapper.read_text(encoding="utf-8")
    for name in names:
        doc = api.function[name].doc
        if not name.endswith("_destroy") and not re.search(rf"\* {re.escape(doc)}\n *\*\n *\* Calls {name}\(\)", text):
            sys.exit(f"synfire.hpp does not document {name}")
    if BLOCKS.sub(r"\1", text) != BLOCKS.sub(r"\1", (ROOT / "include/synfire/synfire.hpp").read_text(encoding="utf-8")):
        sys.exit("synfire.hpp has changed outside the generated blocks")
    print(f"{len(names)} functions")


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
        new = "\n".join((HERE / name).read_text(encoding="utf-8") for name in ("decode_rate.h", "delay_line.h"))
        header.write_text(text.replace(END, f"{new}\n{END}"), encoding="utf-8")
        wrapper = include / "synfire/synfire.hpp"
        subprocess.run([sys.executable, ROOT / "bindings/cpp/generate.py", header, wrapper], check=True)
        check_documentation(header, wrapper)
        first, last = sys.argv[1], sys.argv[-1]
        for program in PROGRAMS:
            if compiled(first, "c++17", ROOT / "include", program, "-fsyntax-only")[0]:
                sys.exit(f"{first}: {program} compiles without the new functions")
        for compiler in sys.argv[1:]:
            for standard in ("c++17", "c++20"):
                runs = (compiler, standard) in ((first, "c++17"), (last, "c++20"))
                for program in PROGRAMS:
                    linked = runs and program == "new_object.cpp"
                    options = ["-o", include / "new_object"] if linked else ["-fsyntax-only"]
                    good, errors = compiled(compiler, standard, include, program, *options)
                    if not good:
                        sys.exit(f"{compiler} -std={standard}:\n{errors}")
                if runs:
                    subprocess.run([include / "new_object"], check=True)
                print(f"{compiler} -std={standard}: compiles{', and new_object runs' if runs else ''}")


if __name__ == "__main__":
    main()
