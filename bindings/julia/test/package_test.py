#!/usr/bin/env python3
"""Packs the Julia package with its artifacts, and adds it by Pkg.add(path=...) to an empty depot, without the network:

    package_test.py JULIA BUILD_FOLDER WORK_FOLDER LIBRARY_FOLDER

Then a program runs that has nothing but the package. Also reads the recipe of the JLL with a stand-in for BinaryBuilder.

SPDX-License-Identifier: MIT
"""
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
JULIA = ROOT / "bindings/julia"
ADD = """
import Pkg
isdefined(Pkg, :offline) && Pkg.offline(true)
Pkg.UPDATED_REGISTRY_THIS_SESSION[] = true
Pkg.add(Pkg.PackageSpec(path=ARGS[1]))
"""
USE = """
using Synfire
println("library ", library_path())
println("package ", pathof(Synfire))
include(joinpath(dirname(dirname(pathof(Synfire))), "examples", "quickstart.jl"))
"""
RECIPE = """
module BinaryBuilder
    export DirectorySource, FileSource, Platform, LibraryProduct, Dependency, build_tarballs
    DirectorySource(path; target="") = (path=path, target=target)
    FileSource(url, hash) = (path=replace(url, "file://" => ""), hash=hash)
    Platform(arch, os; libc="") = (arch=arch, os=os)
    LibraryProduct(names, variable) = (names=names, variable=variable)
    struct Dependency name; end
    function build_tarballs(arguments, name, version, sources, script, platforms, products, dependencies; options...)
        for source in sources
            ispath(source.path) || error("no $(source.path)")
        end
        write(ENV["RECIPE_SCRIPT"], script)
        println("recipe ", name, " ", version, " ", products[1].variable, " for ",
                join((string(p.arch, "-", p.os) for p in platforms), ' '))
    end
end
using .BinaryBuilder
text = replace(read(ARGS[1], String), "using BinaryBuilder" => "")
include_string(Main, text, ARGS[1])
"""


def expect(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def run(*command, fails=False, **environment):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SYNFIRE_", "JULIA_", "LD_LIBRARY"))}
    answer = subprocess.run([str(part) for part in command], env=kept | environment, capture_output=True, text=True,
                            errors="replace")
    print("$", *command, "\n" + answer.stdout + answer.stderr, flush=True)
    expect((answer.returncode != 0) == fails, f"{command[0]} returned {answer.returncode}")
    return answer.stdout + answer.stderr


def main():
    julia, build, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]).resolve()
    if not shutil.which("git"):
        print("skipped: git is not installed")
        sys.exit(77)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    run("cmake", f"-DLINUX_BUILD={build}", f"-DOUTPUT={work}/sdk", "-P", ROOT / "cmake/pack_sdk.cmake")
    with zipfile.ZipFile(next((work / "sdk").glob("*.zip"))) as archive:
        archive.extractall(work / "sdk")
    sdk = next(path for path in (work / "sdk").iterdir() if path.is_dir())
    packed = work / "packed"
    run(sys.executable, JULIA / "pack.py", sdk, packed, f"file://{packed}")
    answer = run(sys.executable, JULIA / "pack.py", sdk, packed, "x", fails=True)
    expect("is there already" in answer, "packed over another folder")

    # Pkg adds what is committed.
    package = packed / "Synfire"
    git = ("git", "-C", package, "-c", "user.name=nobody", "-c", "user.email=", "-c", "init.defaultBranch=main")
    run(*git, "init", "--quiet")
    run(*git, "add", "--all")
    run(*git, "commit", "--quiet", "--message", "packed", GIT_COMMITTER_EMAIL="", GIT_AUTHOR_EMAIL="")

    # A depot with an empty registry, so that Pkg asks for none.
    depot = work / "depot"
    registry = depot / "registries/Empty"
    registry.mkdir(parents=True)
    (registry / "Registry.toml").write_text('name = "Empty"\nuuid = "00000000-1111-2222-3333-444444444444"\nrepo = "none"\n[packages]\n')
    started = (julia, "--startup-file=no", "--history-file=no")
    environment = {"JULIA_DEPOT_PATH": str(depot), "JULIA_PROJECT": str(work / "project"), "JULIA_PKG_SERVER": "",
                   "JULIA_LOAD_PATH": "@:@stdlib"}
    run(*started, "-e", ADD, package, **environment)
    answer = run(*started, "-e", USE, **environment)
    expect(f"library {depot}/artifacts/" in answer, "the library is not that of the artifact")
    expect(f"package {depot}/packages/" in answer, "the package is not the added one")
    expect("1000 frames of 16 steps" in answer, "the program does not run")

    # SYNFIRE_LIBRARY goes before it, also with odd letters; a library of another ABI is named.
    odd = work / "Größe 空"
    odd.mkdir()
    shutil.copyfile(sdk / "linux-x64/libsynfire0.so", odd / "libsynfire0.so")
    answer = run(*started, "-e", USE, SYNFIRE_LIBRARY=str(odd), **environment)
    expect(f"library {odd}/libsynfire0.so" in answer, "SYNFIRE_LIBRARY was not taken")
    foreign = pathlib.Path(sys.argv[4]) / "libbindings-newer_major.so"
    answer = run(*started, "-e", USE, fails=True, SYNFIRE_LIBRARY=str(foreign), **environment)
    expect("has ABI 99.0" in answer and foreign.name in answer, "another ABI is not named")

    script = work / "recipe.sh"
    answer = run(*started, "-e", RECIPE, JULIA / "build_tarballs.jl", RECIPE_SCRIPT=str(script))
    expect("recipe Synfire " in answer and " libsynfire0 for " in answer and "x86_64-windows" in answer, "the recipe")
    run("bash", "-n", script)
    expect("install_license LICENSE" in script.read_text(), "the recipe installs no licence")


if __name__ == "__main__":
    main()
    print("passed")
