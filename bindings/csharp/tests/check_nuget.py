#!/usr/bin/env python3
"""Packs the NuGet package and looks inside: check_nuget.py DOTNET C_LIBRARY BUILD_FOLDER

SPDX-License-Identifier: MIT
"""
import pathlib
import shutil
import subprocess
import sys
import zipfile

PROJECT = pathlib.Path(__file__).resolve().parent.parent / "Synfire.csproj"


def main():
    dotnet, library, folder = sys.argv[1], pathlib.Path(sys.argv[2]).absolute(), pathlib.Path(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([dotnet, "pack", "-nologo", "-v", "q", "-c", "Release", str(PROJECT), f"-p:SynfireBuild={folder}/build",
                    f"-p:SynfireNative={library}", "-o", str(folder)], check=True)
    package, = folder.glob("Synfire.*.nupkg")
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
        wanted = {"lib/netstandard2.1/Synfire.dll", "lib/netstandard2.1/Synfire.xml", "README.md",
                  "runtimes/linux-x64/native/libsynfire0.so", "Synfire.nuspec"}
        if wanted - names:
            sys.exit(f"not in {package.name}: {', '.join(sorted(wanted - names))}; it has {', '.join(sorted(names))}")
        if archive.read("runtimes/linux-x64/native/libsynfire0.so") != library.read_bytes():
            sys.exit("the packed C library is another file")
        description = archive.read("Synfire.nuspec").decode()
        if "<dependency " in description or "<license type=\"expression\">MIT</license>" not in description:
            sys.exit("the package depends on others, or states no license:\n" + description)
    print(f"{package.name}: {len(names)} files, no dependency")


if __name__ == "__main__":
    main()
