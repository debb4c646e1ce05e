#!/usr/bin/env python3
"""The package for Unity without a just-in-time compiler: check_aot.py --mono MONO --compiler MCS FOLDER

Mono compiles the assembly that check.py has made of the package, the programs that drive it and the class libraries that
these load to machine code (--aot=full), and runs them in a mode that refuses to compile anything (--full-aot). This is as
near to IL2CPP as Debian comes: what only a just-in-time compiler can do fails here. The class libraries are copies of
Mono's, compiled once for this folder.

SPDX-License-Identifier: MIT
"""
import argparse
import os
import pathlib
import shutil
import subprocess

STUBS = pathlib.Path(__file__).resolve().parent / "stubs"
CLASS_LIBRARIES = ("mscorlib", "System", "System.Core", "Mono.Security")


def compile_ahead(mono, folder, name):
    """Compiles an assembly unless that was done since it changed."""
    assembly, code = folder / name, folder / f"{name}.so"
    if code.exists() and code.stat().st_mtime >= assembly.stat().st_mtime:
        return
    done = subprocess.run([mono, "--aot=full", name], cwd=folder, env=os.environ | {"MONO_PATH": str(folder)}, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(f"{name}: {next((line for line in done.stdout.splitlines() if line.startswith('Compiled:')), 'compiled')}")


def copy(source, folder):
    target = folder / source.name
    if not target.exists() or target.read_bytes() != source.read_bytes():
        shutil.copyfile(source, target)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--mono", required=True)
    arguments.add_argument("--compiler", required=True)
    arguments.add_argument("folder", type=pathlib.Path)
    given = arguments.parse_args()
    folder, package = given.folder / "aot", given.folder / "com.synfire.synfire"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("UnityEngine.dll", "Synfire.dll", "Drive.exe"):
        copy(given.folder / "built" / name, folder)
    subprocess.run([given.compiler, "-nologo", "-langversion:7.2", "-warn:4", "-warnaserror", "-optimize", f"-out:{folder}/Callback.exe",
                    f"-r:{folder}/Synfire.dll", f"-r:{folder}/UnityEngine.dll", STUBS / "Callback.cs"], check=True)
    where = subprocess.run([given.mono, folder / "Callback.exe", "--where"], stdout=subprocess.PIPE, text=True, check=True)
    for name in CLASS_LIBRARIES:
        copy(pathlib.Path(where.stdout.strip()) / f"{name}.dll", folder)
    for name in (*(f"{library}.dll" for library in CLASS_LIBRARIES), "UnityEngine.dll", "Synfire.dll", "Drive.exe", "Callback.exe"):
        compile_ahead(given.mono, folder, name)
    environment = {name: value for name, value in os.environ.items() if name != "SYNFIRE_LIBRARY"}
    plugin = next(package.glob("**/libsynfire0.so"))
    environment |= {"MONO_PATH": str(folder), "LD_LIBRARY_PATH": str(plugin.parent)}
    network = package / "Samples~/TrainedNetwork/classifier.bytes"
    for program in (["Drive.exe", network], ["Callback.exe"]):
        subprocess.run([given.mono, "--full-aot", *program], cwd=folder, env=environment, check=True)
    print("the package runs without a just-in-time compiler")


if __name__ == "__main__":
    main()
