#!/usr/bin/env python3
"""Packs the crates and uses them from an empty folder, without the network:

    check_package.py WORK_FOLDER CARGO [OLD_CARGO]

CARGO packs the workspace; then a program that names the crates by their versions is built from what was packed, once by each
cargo, with the C library made from the sources that are in the package. It runs without any setting. This is about the build
and not about speed, so the library is compiled for this machine alone and without optimisation; that the package has every
source of a whole library shows CMake, which looks for them. The library stays in WORK_FOLDER/static, for check_build.py.

SPDX-License-Identifier: MIT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

WORKSPACE = pathlib.Path(__file__).resolve().parents[1]
NOWHERE = "/nonexistent"
PROGRAM = """[package]
name = "user"
version = "1.0.0"
edition = "2021"
[dependencies]
synfire = { version = "%s"%s }
[patch.crates-io]
synfire = { path = "../crates/synfire-%s" }
synfire-sys = { path = "../crates/synfire-sys-%s" }
"""


def expect(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def run(*command, cwd=None, fails=False, **environment):
    """Without anything by which a library could be found but what is given."""
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith(("SYNFIRE_", "PKG_CONFIG", "LD_LIBRARY", "RUSTC", "RUSTDOC", "CMAKE"))}
    kept |= {"PKG_CONFIG_LIBDIR": NOWHERE, "CARGO_NET_OFFLINE": "true"}
    answer = subprocess.run([str(part) for part in command], cwd=cwd, env=kept | environment, capture_output=True, text=True,
                            errors="replace")
    print("$", *command, "\n" + answer.stdout + answer.stderr, flush=True)
    expect((answer.returncode != 0) == fails, f"{command[1]} returned {answer.returncode}")
    return answer.stdout + answer.stderr


def pack(work, cargo):
    """The crates as published, unpacked into work/crates; their version."""
    workspace, target = work / "workspace", work / "package"
    run(sys.executable, WORKSPACE / "pack.py", workspace)
    answer = run(sys.executable, WORKSPACE / "pack.py", workspace, fails=True)
    expect("is there already" in answer, "packed over another folder")
    # The sources are compiled below, from the package, so cargo verifies the crates without them. It unpacks synfire-sys into its
    # home, and takes what was unpacked there for the same version and folder before.
    run(cargo, "package", "--workspace", "--offline", "--features", "load-dynamic", cwd=workspace,
        CARGO_TARGET_DIR=str(target), CARGO_HOME=str(work / "cargo"))
    packages = sorted(path for path in (target / "package").glob("*.crate"))
    expect(len(packages) == 2, f"packed: {packages}")
    version = re.fullmatch(r"synfire-(\d.*)\.crate", packages[0].name)[1]
    for path in packages:
        with tarfile.open(path) as archive:
            archive.extractall(work / "crates")
    crates = [work / "crates" / f"{name}-{version}" for name in ("synfire", "synfire-sys")]
    for name in ("include/synfire/synfire.h", "capi/synfire.cpp", "src/CMakeLists.txt", "cmake/Install.cmake", "LICENSE"):
        expect((crates[1] / "vendor" / name).is_file(), f"synfire-sys has no vendor/{name}")
    for crate in crates:
        expect((crate / "LICENSE").is_file(), f"{crate.name} has no LICENSE")
        for key in ("homepage", "repository", "authors"):
            expect(not re.search(f"^{key} *=", (crate / "Cargo.toml").read_text(), re.MULTILINE), f"an invented {key}")
    expect((crates[0] / "README.md").is_file(), "synfire has no README.md")
    return version


def check_sources(work, version):
    """Every file that a whole library is compiled from is in the package."""
    run("cmake", "-S", work / f"crates/synfire-sys-{version}/vendor", "-B", work / "whole", "-DSYNFIRE_CUDA=OFF",
        "-DSYNFIRE_HOST_LEVELS=ALL", "-DSYNFIRE_BUILD_TESTS=OFF", "-DSYNFIRE_BUILD_TOOLS=OFF", "-DSYNFIRE_BUILD_EXAMPLES=OFF")


def check_program(work, version, name, cargo, features, **environment):
    folder, target = work / name, work / f"target-{name}"
    (folder / "src").mkdir(parents=True)
    wanted = f', features = ["{features}"]' if features else ""
    (folder / "Cargo.toml").write_text(PROGRAM % (version, wanted, version, version))
    shutil.copy(work / f"crates/synfire-{version}/examples/quickstart.rs", folder / "src/main.rs")
    run(cargo, "build", "--offline", "--release", cwd=folder, CARGO_TARGET_DIR=str(target), CCACHE_BASEDIR=str(work), **environment)
    program = work / f"quickstart-{name}"  # nothing beside it
    shutil.copy(target / "release/user", program)
    built, = target.glob("release/build/synfire-sys-*/out/prefix")
    shutil.copytree(built, work / "static", dirs_exist_ok=True)
    shutil.rmtree(target)
    expect("1000 frames of 16 steps" in run("env", "-i", program), "the program does not run by itself")
    expect("libsynfire" not in run("readelf", "-d", program), "the program needs a shared libsynfire")


def check_features(work, version, cargo):
    """Checks the calls of CMake with one that only records them; and a compiler that is missing."""
    folder = work / "features"
    (folder / "src").mkdir(parents=True)
    (folder / "src/main.rs").write_text("fn main() {}\n")
    recorder = work / "cmake that only records"
    recorder.write_text(f'#!/bin/sh\necho "$@" >>"{work}/asked"\ncase $1 in -S) exit 0 ;; esac\nexit 3\n')
    recorder.chmod(0o755)
    for features, cuda in (("static", "OFF"), ("cuda", "ON")):
        (folder / "Cargo.toml").write_text(PROGRAM % (version, f', features = ["{features}"]', version, version))
        answer = run(cargo, "check", "--offline", "--jobs", "5", cwd=folder, fails=True, CMAKE=str(recorder),
                     CARGO_TARGET_DIR=str(work / "target-features"))
        expect("cmake could not build libsynfire from" in answer and "set SYNFIRE_LIB_DIR" in answer, "no clear error")
        asked = (work / "asked").read_text()
        (work / "asked").unlink()
        for part in (f"-DSYNFIRE_CUDA={cuda}", "-DBUILD_SHARED_LIBS=OFF", "--parallel 5"):
            expect(part in asked, f"cmake was not asked for {part}: {asked}")
    answer = run(cargo, "check", "--offline", cwd=folder, fails=True, CMAKE=NOWHERE,
                 CARGO_TARGET_DIR=str(work / "target-features"))
    expect("cmake could not build libsynfire" in answer and "No such file" in answer, "no clear error without CMake")


def main():
    work, cargo = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    version = pack(work, cargo)
    check_features(work, version, cargo)
    check_sources(work, version)
    quick = work / "quick.cmake"
    # Kernels have options of their own, and the last one counts.
    quick.write_text('set(CMAKE_CXX_COMPILE_OBJECT "<CMAKE_CXX_COMPILER> <DEFINES> <INCLUDES> <FLAGS> -O0 -o <OBJECT> -c <SOURCE>")\n')
    settings = {"CMAKE_TOOLCHAIN_FILE": str(quick), "SYNFIRE_HOST_LEVELS": "NATIVE"}
    check_program(work, version, "current", cargo, "", **settings)
    # The compiler's cache, where there is one, has what the first has compiled: the folders are as deep.
    if len(sys.argv) > 3:
        old = pathlib.Path(sys.argv[3])
        check_program(work, version, "oldest", old, "static", RUSTC=str(old.parent / "rustc"), **settings)


if __name__ == "__main__":
    main()
    print("passed")
