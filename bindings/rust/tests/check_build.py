#!/usr/bin/env python3
"""How the build script finds the library, each way for itself: check_build.py CARGO BUILD_FOLDER TARGET_FOLDER [STATIC]

BUILD_FOLDER is a build of this repository, which is installed into a folder of our own for pkg-config to find.
TARGET_FOLDER is where cargo works. What is built each time is the smallest example, which then runs. STATIC is where
check_package.py has installed what the same build script made of the same sources: the repository is configured, and then that
is taken instead of compiling it once more. Without STATIC it is compiled.

SPDX-License-Identifier: MIT
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

WORKSPACE = pathlib.Path(__file__).resolve().parents[1]
CRATE = WORKSPACE / "synfire-sys"
NOWHERE = "/nonexistent"
# CMake as the build script calls it: configure, build, install.
CMAKE = """#!/bin/sh
echo "$@" >>"%(asked)s"
case $1 in
  --build) test -f "$2/CMakeCache.txt" ;;
  --install) cp -R "%(static)s" "$4" ;;
  *) exec cmake "$@" ;;
esac
"""


class Builder:
    def __init__(self, cargo, target):
        self.cargo, self.target = cargo, target

    def build(self, environment, *arguments, workspace=WORKSPACE):
        """The folders that the library is looked for in, the example's path, and what cargo said."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SYNFIRE_", "PKG_CONFIG", "LD_LIBRARY"))}
        answer = subprocess.run(
            [self.cargo, "build", "--offline", "--message-format=json", "--example", "quickstart", *arguments],
            cwd=workspace, env={**kept, "CARGO_TARGET_DIR": str(self.target), **environment}, capture_output=True, text=True)
        folders, program = [], None
        for line in answer.stdout.splitlines():
            message = json.loads(line)
            if message["reason"] == "build-script-executed":
                folders += [path.replace("native=", "") for path in message["linked_paths"]]
            if message["reason"] == "compiler-artifact" and message["target"]["name"] == "quickstart":
                program = message["executable"]
        return folders, program, answer


def expect(condition, what, answer):
    if not condition:
        sys.exit(f"{what}\n{answer.stdout}\n{answer.stderr}")


def runs(program, folder, variable="LD_LIBRARY_PATH"):
    answer = subprocess.run([program], env={**os.environ, variable: str(folder)}, capture_output=True, text=True)
    expect("1000 frames of 16 steps" in answer.stdout, f"{program} does not run with {folder}", answer)


def cmake_for(static, target):
    """The setting with which the build script compiles nothing; what was asked for is written into a file."""
    asked, script = target.parent / "asked", target.parent / "cmake that compiles nothing"
    asked.unlink(missing_ok=True)
    if not static:
        return {}, None
    script.write_text(CMAKE % {"asked": asked, "static": static})
    script.chmod(0o755)
    return {"CMAKE": str(script)}, asked


def main():
    build, target = pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3])
    static = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None
    target.parent.mkdir(parents=True, exist_ok=True)
    builder = Builder(sys.argv[1], target)

    folder = build / "lib"
    folders, program, answer = builder.build({"SYNFIRE_LIB_DIR": str(folder)})
    expect(folders == [str(folder)] and program, "SYNFIRE_LIB_DIR was not what was linked", answer)
    runs(program, folder)
    _, program, answer = builder.build({"SYNFIRE_LIB_DIR": NOWHERE})
    expect(answer.returncode != 0 and "SYNFIRE_LIB_DIR is /nonexistent, where no libsynfire0 is" in answer.stderr,
           "an empty SYNFIRE_LIB_DIR was accepted", answer)
    print("SYNFIRE_LIB_DIR: linked, and refused where nothing is")

    prefix = target.parent / "prefix"
    shutil.rmtree(prefix, ignore_errors=True)
    subprocess.run(["cmake", "--install", str(build), "--prefix", str(prefix)], check=True, capture_output=True)
    described, = prefix.rglob("synfire.pc")
    folders, program, answer = builder.build({"PKG_CONFIG_PATH": str(described.parent)})
    installed = [pathlib.Path(folder).resolve() for folder in folders]
    expect(installed == [described.parent.parent.resolve()] and program, "pkg-config's library was not linked", answer)
    runs(program, folders[0])
    print(f"pkg-config: {folders[0]}")

    # For this machine alone, which takes half as long.
    cmake, asked = cmake_for(static, target)
    folders, program, answer = builder.build({"PKG_CONFIG_LIBDIR": NOWHERE, "SYNFIRE_HOST_LEVELS": "NATIVE", **cmake})
    expect(len(folders) == 1 and str(target) in folders[0] and program, "the repository was not built", answer)
    alone = subprocess.run(["env", "-i", program], capture_output=True, text=True)
    expect("1000 frames of 16 steps" in alone.stdout, "what was built does not run without LD_LIBRARY_PATH", alone)
    cache = (pathlib.Path(folders[0]).parents[1] / "synfire/CMakeCache.txt").read_text(encoding="utf-8")
    expect("SYNFIRE_HOST_LEVELS:STRING=NATIVE\n" in cache, "SYNFIRE_HOST_LEVELS did not reach CMake", answer)
    expect("SYNFIRE_CUDA_MODELS:STRING=ALL\n" in cache, "an option that was not given has another default", answer)
    if asked:
        configured, built, installed = asked.read_text(encoding="utf-8").splitlines()
        expect(f"-S {CRATE}/../../.." in configured and "-DSYNFIRE_UNITY=ON" in configured, f"asked for {configured}", answer)
        expect("--target synfire --parallel" in built, f"asked for {built}", answer)
        expect("--prefix" in installed, f"asked for {installed}", answer)
    print(f"the repository: {folders[0]}")
    _, _, answer = builder.build({"PKG_CONFIG_LIBDIR": NOWHERE, "SYNFIRE_CUDA_DTYPES": "f8"})
    expect(answer.returncode != 0 and 'SYNFIRE_CUDA_DTYPES has "f8"' in answer.stderr, "f8 was accepted", answer)
    print("options of CMake: from environment variables, refused where CMake refuses them")
    archive = pathlib.Path(folders[0])
    folders, program, answer = builder.build({"SYNFIRE_LIB_DIR": str(archive)}, "--features", "static")
    expect(folders[:1] == [str(archive)] and program, "a static library was not linked from SYNFIRE_LIB_DIR", answer)
    alone = subprocess.run(["env", "-i", program], capture_output=True, text=True)
    expect("1000 frames of 16 steps" in alone.stdout, "a static library was linked, but does not run", alone)
    _, program, answer = builder.build({"SYNFIRE_LIB_DIR": str(folder)}, "--features", "static")
    expect(answer.returncode != 0 and "where no libsynfire0.a is, which the feature `static` needs" in answer.stderr,
           "a shared library was linked with the feature `static`", answer)
    print("static: linked in, and refused where only a shared library is")

    with tempfile.TemporaryDirectory() as elsewhere:
        copy = pathlib.Path(elsewhere) / "rust"
        shutil.copytree(WORKSPACE, copy, ignore=shutil.ignore_patterns("target"))
        builder.target = copy / "target"  # cargo takes a copy for the original when they share a target folder
        _, program, answer = builder.build({"PKG_CONFIG_LIBDIR": NOWHERE}, workspace=copy)
        expect(answer.returncode != 0 and "libsynfire was not found: SYNFIRE_LIB_DIR is not set" in answer.stderr,
               "no library at all was accepted", answer)
        _, program, answer = builder.build({"PKG_CONFIG_LIBDIR": NOWHERE}, "--features", "load-dynamic", workspace=copy)
        expect(program, "load-dynamic needs a library to build", answer)
        runs(program, folder, "SYNFIRE_LIBRARY")
    print("nowhere: refused; with load-dynamic built, and opened when it runs")


if __name__ == "__main__":
    main()
