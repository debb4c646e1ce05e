#!/usr/bin/env python3
"""Packs the Python package with the library of a build into a wheel: wheel.py BUILD_FOLDER OUTPUT_FOLDER

The wheel is pure Python with the shared library inside: it needs no compiler, works with every Python from 3.9 on, and
its name says the system and, on Linux, the oldest C library that it runs with. Of the same build, its bytes are the
same.

SPDX-License-Identifier: MIT
"""
import argparse
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NAME, SUMMARY = "synfire", "Spiking-neuron layers, recorded once and replayed as one graph"


def version():
    return re.search(r"project\(synfire VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]


def library_of(build):
    """The file with the library, and the name under which programs look for it."""
    for folder in (build / "lib", build / "bin", build):
        for name in ("libsynfire0.so.0", "libsynfire0.0.dylib", "synfire0.dll", "libsynfire0.dll"):
            if (folder / name).exists():
                return (folder / name).resolve(), "synfire0.dll" if name.endswith(".dll") else name
    sys.exit(f"wheel.py: {build} has no shared library of Synfire; is it a build folder, and was it built?")


def glibc_of(library):
    """The newest version of the C library that the library asks for."""
    text = subprocess.run(["objdump", "-T", str(library)], check=True, stdout=subprocess.PIPE,
                          universal_newlines=True).stdout
    found = [tuple(map(int, one.split("."))) for one in re.findall(r"GLIBC_(\d+\.\d+)", text)]
    return max(found, default=(2, 17))


def platform_of(library, name):
    if name.endswith(".dll"):
        return "win_amd64"
    if name.endswith(".dylib"):
        return "macosx_11_0_arm64"
    machine = {0x3E: "x86_64", 0xB7: "aarch64"}.get(int.from_bytes(library.read_bytes()[18:20], "little"), "x86_64")
    return "manylinux_{}_{}_{}".format(*glibc_of(library), machine)


def contents(build):
    """The files of the wheel, and its platform."""
    library, name = library_of(build)
    platform = platform_of(library, name)
    files = {path.relative_to(HERE).as_posix(): path.read_bytes()
             for path in sorted((HERE / "synfire").rglob("*")) if path.suffix in (".py", ".typed")}
    files[f"synfire/lib/{name}"] = library.read_bytes()
    info = f"{NAME}-{version()}.dist-info"
    files[f"{info}/METADATA"] = "\n".join([
        "Metadata-Version: 2.1", f"Name: {NAME}", f"Version: {version()}", f"Summary: {SUMMARY}", "License: MIT",
        "Requires-Python: >=3.9", "Provides-Extra: numpy", "Requires-Dist: numpy; extra == 'numpy'",
        "Description-Content-Type: text/markdown", "", (HERE / "README.md").read_text(encoding="utf-8")]).encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: wheel.py\nRoot-Is-Purelib: false\n"
                              f"Tag: py3-none-{platform}\n").encode()
    for path in [ROOT / "LICENSE", *sorted((build / "licenses").glob("*"))]:
        if path.is_file():
            files[f"{info}/licenses/{path.name}"] = path.read_bytes()
    return files, info, platform


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    arguments = parser.parse_args()
    files, info, platform = contents(arguments.build)
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for name, data in files.items()) + f"{info}/RECORD,,\n"
    files[f"{info}/RECORD"] = record.encode()
    arguments.output.mkdir(parents=True, exist_ok=True)
    # A wheel with the CUDA backend has a build tag, which installers prefer to none.
    cache = arguments.build / "CMakeCache.txt"
    has_cuda = cache.exists() and "\nCMAKE_CUDA_COMPILER:" in cache.read_text(encoding="utf-8")
    wheel = arguments.output / f"{NAME}-{version()}{'-1cuda' if has_cuda else ''}-py3-none-{platform}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if "/lib/" in name else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, data)
    print(wheel)


if __name__ == "__main__":
    main()
