#!/usr/bin/env python3
"""Packs the NuGet package, looks inside, and runs a program that has nothing else:

    check_nuget.py DOTNET FRAMEWORK C_LIBRARY BUILD_FOLDER WORK_FOLDER [WINDOWS_BUILD DOTNET_EXE]

The package is restored from a folder, without the network. With the last two arguments it has Windows' library too, and the
same program runs under Wine.

SPDX-License-Identifier: MIT
"""
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROJECT = ROOT / "bindings/csharp/Synfire.csproj"
PROGRAM = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>%s</TargetFramework>
    <LangVersion>7.3</LangVersion>
  </PropertyGroup>
  <ItemGroup>
    <PackageReference Include="Synfire" Version="%s" />
  </ItemGroup>
</Project>
"""
SOURCES = """<?xml version="1.0" encoding="utf-8"?>
<configuration>
  <packageSources>
    <clear />
    <add key="packed" value="%s" />
  </packageSources>
</configuration>
"""


def expect(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def run(*command, fails=False, cwd=None, **environment):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SYNFIRE_", "LD_LIBRARY"))}
    answer = subprocess.run([str(part) for part in command], cwd=cwd, env=kept | environment, capture_output=True)
    text = (answer.stdout + answer.stderr).decode("utf-8", "replace")
    print("$", *command, "\n" + text, flush=True)
    # Under Wine a program that ends by an exception goes to a debugger, whose status it has.
    expect((answer.returncode != 0) == fails or (fails and command[0] == "wine"), f"{command[0]} returned {answer.returncode}")
    return text


def pack(dotnet, folder, *properties, fails=False):
    answer = run(dotnet, "pack", "-nologo", "-v", "q", "-c", "Release", PROJECT, f"-p:SynfireBuild={folder}/build",
                 *properties, "-o", folder, fails=fails)
    return None if fails else next(folder.glob("Synfire.*.nupkg")), answer


def check_contents(package, natives):
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
        wanted = {"lib/netstandard2.1/Synfire.dll", "lib/netstandard2.1/Synfire.xml", "README.md", "LICENSE", "Synfire.nuspec",
                  *natives}
        expect(not wanted - names, f"not in {package.name}: {sorted(wanted - names)}; it has {sorted(names)}")
        libraries = {name for name in names if name.startswith("runtimes/")}
        expect(libraries == {name for name in natives if name.startswith("runtimes/")}, f"other libraries: {libraries}")
        for name, file in natives.items():
            expect(archive.read(name) == file.read_bytes(), f"{name} is another file than {file}")
        description = archive.read("Synfire.nuspec").decode()
    expect("<dependency " not in description and '<license type="expression">MIT</license>' in description,
           "the package depends on others, or states no license:\n" + description)
    expect("<projectUrl>" not in description and "<repository" not in description, "an invented address:\n" + description)
    print(f"{package.name}: {len(names)} files, no dependency")


def main():
    dotnet, framework, library = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).absolute()
    build, folder = pathlib.Path(sys.argv[4]), pathlib.Path(sys.argv[5]).absolute()
    windows, dotnet_exe = (pathlib.Path(sys.argv[6]), sys.argv[7]) if len(sys.argv) > 7 else (None, "")
    if windows and not (windows / "CMakeCache.txt").exists():
        print(f"Windows: not tested, there is no build {windows}")
        windows = None
    shutil.rmtree(folder, ignore_errors=True)

    package, _ = pack(dotnet, folder / "one", f"-p:SynfireNative={library}")
    check_contents(package, {"runtimes/linux-x64/native/libsynfire0.so": library})
    _, answer = pack(dotnet, folder / "none", f"-p:SynfireSdk={folder}/nowhere", fails=True)
    expect("where neither linux-x64/libsynfire0.so nor" in answer, "no clear error without libraries")

    run("cmake", f"-DLINUX_BUILD={build}", f"-DWINDOWS_BUILD={windows or ''}", f"-DOUTPUT={folder}/sdk", "-P",
        ROOT / "cmake/pack_sdk.cmake")
    with zipfile.ZipFile(next((folder / "sdk").glob("*.zip"))) as archive:
        archive.extractall(folder / "sdk")
    sdk = next(path for path in (folder / "sdk").iterdir() if path.is_dir())
    package, _ = pack(dotnet, folder / "all", f"-p:SynfireSdk={sdk}")
    natives = {"runtimes/linux-x64/native/libsynfire0.so": sdk / "linux-x64/libsynfire0.so",
               "licenses/linux-x64/LINKED.txt": sdk / "licenses/linux-x64/LINKED.txt"}
    if windows:
        natives |= {"runtimes/win-x64/native/synfire0.dll": sdk / "windows-x64/synfire0.dll",
                    "licenses/windows-x64/mingw-w64.txt": sdk / "licenses/windows-x64/mingw-w64.txt"}
    check_contents(package, natives)

    user = folder / "an empty folder"
    user.mkdir()
    version = package.name[len("Synfire."):-len(".nupkg")]
    (user / "user.csproj").write_text(PROGRAM % (framework, version))
    (user / "nuget.config").write_text(SOURCES % package.parent)
    shutil.copy(ROOT / "bindings/csharp/examples/Quickstart.cs", user)
    run(dotnet, "build", "-nologo", "-v", "q", "-c", "Release", "-o", user / "out", cwd=user, NUGET_PACKAGES=str(folder / "cache"))
    program = user / "out/user.dll"
    expect("1000 frames of 16 steps" in run(dotnet, program), "the program does not find the library of its package")

    # A library elsewhere, in a folder with a space and letters of several scripts; one of another ABI; none.
    odd = folder / "Größe 空"
    odd.mkdir()
    shutil.copy(library, odd / "libsynfire0.so")
    expect("1000 frames" in run(dotnet, program, SYNFIRE_LIBRARY=str(odd)), "a folder with odd letters")
    foreign = library.parent / "libbindings-newer_major.so"
    answer = run(dotnet, program, fails=True, SYNFIRE_LIBRARY=str(foreign))
    expect("has ABI 99.0; this binding needs" in answer and foreign.name in answer, "another ABI is not named")
    if not windows:
        print("Windows: not tested")
        return
    wine = {"WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml=", 
            "WINEPREFIX": os.environ.get("WINEPREFIX", str(folder / "wine")),
            "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}
    expect("1000 frames of 16 steps" in run("wine", dotnet_exe, program, **wine), "the program does not run under Wine")
    shutil.copy(sdk / "windows-x64/synfire0.dll", odd)
    expect("1000 frames" in run("wine", dotnet_exe, program, SYNFIRE_LIBRARY=str(odd), **wine), "odd letters under Wine")
    foreign = odd / "foreign.dll"
    run("x86_64-w64-mingw32-gcc-posix", "-shared", "-DSYNFIRE_FOREIGN_VERSION=(99u<<16)",
        ROOT / "bindings/programs/foreign_library.c", "-o", foreign)
    answer = run("wine", dotnet_exe, program, fails=True, SYNFIRE_LIBRARY=str(foreign), **wine)
    expect("has ABI 99.0; this binding needs" in answer and foreign.name in answer, "a DLL of another ABI is not named")


if __name__ == "__main__":
    main()
    print("passed")
