#!/usr/bin/env python3
"""Copies the workspace into a folder from which it can be packed and published, with the C library's sources in synfire-sys:

    pack.py FOLDER
    cd FOLDER && cargo package --workspace          # or: cargo publish --workspace

FOLDER must not exist, or be empty. SPDX-License-Identifier: MIT
"""
import pathlib
import shutil
import sys

WORKSPACE = pathlib.Path(__file__).resolve().parent
ROOT = WORKSPACE.parents[1]
# The files that CMake reads to build and install the library alone.
LIBRARY = ("CMakeLists.txt", "LICENSE", "CHANGELOG.md", "cmake", "include", "src", "capi")


def copy(source, target):
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("target", "vendor", "__pycache__", ".*"))
    else:
        shutil.copy(source, target)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        sys.exit(f"{folder} is there already, and not an empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("Cargo.toml", "Cargo.lock", "README.md", "synfire", "synfire-sys"):
        copy(WORKSPACE / name, folder / name)
    vendor = folder / "synfire-sys/vendor"
    vendor.mkdir()
    for name in LIBRARY:
        copy(ROOT / name, vendor / name)
    for crate in ("synfire", "synfire-sys"):
        shutil.copy(ROOT / "LICENSE", folder / crate / "LICENSE")


if __name__ == "__main__":
    main()
