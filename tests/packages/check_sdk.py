#!/usr/bin/env python3
"""Packs the archive for engines, unpacks it into an empty folder and uses it from there:

    check_sdk.py WORK_FOLDER LINUX_BUILD WINDOWS_BUILD VERSION C_COMPILER CXX_COMPILER

WINDOWS_BUILD may be empty or a folder without a build; what is for Windows is then reported as not tested. Programs for
Windows are compiled by mingw-w64 and run under Wine. Exit status 77: skipped.

SPDX-License-Identifier: MIT
"""
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
CONSUMER = TESTS / "install" / "consumer"
MINGW = "x86_64-w64-mingw32-"
KEPT = {k: v for k, v in os.environ.items() if not k.startswith(("SYNFIRE", "PKG_CONFIG", "LD_LIBRARY", "CMAKE_PREFIX"))}


def expect(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def run(*command, status=0, env=None):
    answer = subprocess.run([str(part) for part in command], capture_output=True, env=env or KEPT)
    text = (answer.stdout + answer.stderr).decode("utf-8", "replace")
    print("$", *command, "\n" + text)
    expect(answer.returncode == status, f"{command[0]} returned {answer.returncode}, not {status}")
    return text


def check_refusals(work, linux):
    """Builds that cannot be packed are refused with the reason, and nothing is left."""
    script = ROOT / "cmake/pack_sdk.cmake"
    for arguments, text in (((), "give -D LINUX_BUILD=FOLDER"),
                            ((f"-DLINUX_BUILD={work}/nowhere",), "which is not a build folder")):
        answer = run("cmake", *arguments, f"-DOUTPUT={work}/refused", "-P", script, status=1)
        expect(text in " ".join(answer.split()), f"no '{text}'")
    other = work / "other version"
    other.mkdir(exist_ok=True)
    (other / "CMakeCache.txt").write_text("CMAKE_PROJECT_VERSION:STATIC=9.9.9\n")
    answer = run("cmake", f"-DLINUX_BUILD={linux}", f"-DWINDOWS_BUILD={other}", f"-DOUTPUT={work}/refused", "-P", script, status=1)
    expect("has version 9.9.9, the other build" in " ".join(answer.split()), "builds of two versions were packed")
    expect(not list((work / "refused").glob("*.zip")), "a refused archive was written")


def check_linux(sdk, work, version, compilers):
    for compiler, source in zip(compilers, ("main.c", "main.cpp")):
        program = sdk / source.replace(".", "_")
        run(compiler, CONSUMER / source, f"-I{sdk}/include", f"-L{sdk}/linux-x64", "-lsynfire0",
            "-Wl,-rpath,$ORIGIN/linux-x64", "-o", program)
        expect(version in run(program), f"{source} does not run")
    if shutil.which("luajit"):
        answer = run("luajit", "-e", "print(require('synfire').version())",
                     env={**KEPT, "SYNFIRE_LIBRARY": str(sdk / "linux-x64"), "LUA_PATH": f"{sdk}/lua/?.lua"})
        expect(version in answer, "synfire.lua does not run")
    build = work / "cmake"
    run("cmake", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={sdk}", f"-DWANTED_VERSION={version}",
        f"-DCMAKE_C_COMPILER={compilers[0]}")
    run("cmake", "--build", build)
    expect(version in run(build / "consumer"), "the program of find_package does not run")
    numbers = [int(part) for part in version.split(".")]
    answer = run("cmake", "-S", CONSUMER, "-B", work / "version", f"-DCMAKE_PREFIX_PATH={sdk}",
                 f"-DWANTED_VERSION={numbers[0]}.{numbers[1] + 1}", status=1)
    expect(f"version: {version}" in answer, "another minor version was accepted")


def check_windows(sdk, work, version):
    wine = {**KEPT, "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml=", 
            "WINEPREFIX": KEPT.get("WINEPREFIX", str(work / "wine"))}
    folder, programs = sdk / "windows-x64", sdk / "Größe 空"
    programs.mkdir()
    library = programs / "synfire0.dll"
    shutil.copy(folder / "synfire0.dll", library)  # beside the programs, as it is shipped
    warnings = ("-Wall", "-Wextra", "-Werror")
    for tool, source in (("gcc-posix", "main.c"), ("g++-posix", "main.cpp")):
        program = programs / f"{source.replace('.', '_')}.exe"
        run(MINGW + tool, *warnings, CONSUMER / source, f"-I{sdk}/include", folder / "libsynfire0.dll.a", "-static", "-o", program)
        expect(version in run("wine", program, env=wine), f"{source} does not run under Wine")
    made = work / "from_def.a"
    run(MINGW + "dlltool", "-d", folder / "synfire0.def", "-D", "synfire0.dll", "-l", made)
    run(MINGW + "gcc-posix", CONSUMER / "main.c", f"-I{sdk}/include", made, "-o", programs / "def.exe")
    expect(version in run("wine", programs / "def.exe", env=wine), "the program of the .def file does not run")

    toolchain = ROOT / "cmake/toolchains/windows.cmake"
    run("cmake", "-S", CONSUMER, "-B", work / "windows", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", f"-Dsynfire_DIR={sdk}",
        f"-DWANTED_VERSION={version}")
    run("cmake", "--build", work / "windows")
    shutil.copy(folder / "synfire0.dll", work / "windows")
    expect(version in run("wine", work / "windows/consumer.exe", env=wine), "find_package's program does not run")

    # Opened at run time: by a name in several scripts, and not if it is of another ABI, cut off or missing.
    program, foreign = programs / "open.exe", programs / "foreign.dll"
    run(MINGW + "gcc-posix", *warnings, TESTS / "packages/open_windows.c", f"-I{sdk}/include", "-lshell32", "-o", program)
    expect(version in run("wine", program, library, env=wine), "the library was not opened by its name")
    run(MINGW + "gcc-posix", "-shared", "-DSYNFIRE_FOREIGN_VERSION=(99u<<16)",
        ROOT / "bindings/programs/foreign_library.c", "-o", foreign)
    expect("of another ABI" in run("wine", program, foreign, status=2, env=wine), "another ABI was accepted")
    (programs / "cut.dll").write_bytes(library.read_bytes()[:100000])
    for name in ("cut.dll", "missing.dll"):
        expect("not opened: error" in run("wine", program, programs / name, status=1, env=wine), f"{name} was opened")


def main():
    work, linux = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    windows = pathlib.Path(sys.argv[3]) if sys.argv[3] else None
    version, compilers = sys.argv[4], sys.argv[5:7]
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    check_refusals(work, linux)
    tools = [tool for tool in (MINGW + "gcc-posix", MINGW + "dlltool", "wine") if not shutil.which(tool)]
    has_windows = windows is not None and (windows / "CMakeCache.txt").exists() and not tools

    run("cmake", f"-DLINUX_BUILD={linux}", f"-DWINDOWS_BUILD={windows if has_windows else ''}", f"-DOUTPUT={work}/packed", "-P",
        ROOT / "cmake/pack_sdk.cmake")
    archive = work / "packed" / f"synfire-sdk-{version}.zip"
    empty = work / "an empty folder plein d'été"
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(empty)
        print("\n".join(packed.namelist()))
    sdk = empty / f"synfire-sdk-{version}"
    expect([path.name for path in empty.iterdir()] == [sdk.name], "the archive is not a single folder")
    for name in ("LICENSE", "README.txt", "CHANGELOG.md", "include/synfire/synfire.h", "include/synfire/synfire.hpp",
                 "licenses/linux-x64/LINKED.txt", "licenses/linux-x64/gcc.txt", "linux-x64/libsynfire0.so",
                 "linux-x64/libsynfire0.so.0", "lua/synfire.lua"):
        expect((sdk / name).is_file(), f"no {name}")
    check_linux(sdk, work, version, compilers)
    if not has_windows:
        print(f"Windows: not tested; there is no build {windows}, or {tools} are not installed")
        return
    for name in ("windows-x64/synfire0.dll", "licenses/windows-x64/gcc.txt", "licenses/windows-x64/mingw-w64.txt"):
        expect((sdk / name).is_file(), f"no {name}")
    check_windows(sdk, work, version)


if __name__ == "__main__":
    main()
    print("passed")
