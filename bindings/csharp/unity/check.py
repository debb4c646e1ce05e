#!/usr/bin/env python3
"""Makes the Unity package, checks its layout, compiles it against stand-ins for Unity and drives the samples:
check.py --compiler MCS --library FILE FOLDER

What this shows: that Unity finds what it looks for, and that the sources are C# that Unity's compiler takes, with the
symbols that Unity defines. What it does not: the editor, a player, IL2CPP.

SPDX-License-Identifier: MIT
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

import pack

STUBS = pathlib.Path(__file__).resolve().parent / "stubs"


def fail(text):
    sys.exit(f"check.py: {text}")


def check_layout(folder):
    manifest = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    for key in ("name", "version", "displayName", "description", "unity", "samples"):
        if not manifest.get(key):
            fail(f"package.json has no {key}")
    if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+){2,}", manifest["name"]):
        fail(f"{manifest['name']} is not a package name")
    for sample in manifest["samples"]:
        if not list((folder / sample["path"]).glob("*.cs")):
            fail(f"no sample in {sample['path']}")
    definition = json.loads((folder / "Runtime/Synfire.asmdef").read_text(encoding="utf-8"))
    if definition["name"] != "Synfire" or definition["allowUnsafeCode"] is not True:
        fail("Synfire.asmdef must be named Synfire and allow unsafe code")
    if not (folder / pack.PLUGIN).exists():
        fail(f"{pack.PLUGIN} is missing")
    # A managed assembly of the same name would be taken for the plug-in.
    if pathlib.Path(pack.PLUGIN).name.removeprefix("lib").split(".")[0] == definition["name"].lower():
        fail("the plug-in has the name of the assembly")

    guids = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if "~" in name:
            if path.suffix == ".meta":
                fail(f"{name}: Unity does not look there")
            continue
        if path.suffix == ".meta":
            if not path.with_suffix("").exists():
                fail(f"{name} belongs to nothing")
            text = path.read_text(encoding="utf-8")
            guid = re.search(r"^guid: ([0-9a-f]{32})$", text, re.MULTILINE)
            if not text.startswith("fileFormatVersion: 2\n") or not guid:
                fail(f"{name} has no identifier")
            if guid[1] in guids:
                fail(f"{name} has the identifier of {guids[guid[1]]}")
            guids[guid[1]] = name
        elif not path.with_name(path.name + ".meta").exists():
            fail(f"{name} has no .meta file")
    settings = (folder / f"{pack.PLUGIN}.meta").read_text(encoding="utf-8")
    for word in ("PluginImporter", "Linux64", "CPU: x86_64", "isPreloaded: 0"):
        if word not in settings:
            fail(f"the plug-in's .meta has no {word}")
    return len(guids)


def check_callbacks(folder):
    """Ahead-of-time compilers need static, marked methods for what C calls: here C calls nothing."""
    for source in (folder / "Runtime").glob("*.cs"):
        text = source.read_text(encoding="utf-8")
        if "GetFunctionPointerForDelegate" in text and "MonoPInvokeCallback" not in text:
            fail(f"{source.name} hands a delegate to C without MonoPInvokeCallback")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--compiler", required=True)
    arguments.add_argument("--library", type=pathlib.Path, required=True)
    arguments.add_argument("folder", type=pathlib.Path)
    given = arguments.parse_args()
    package, built = given.folder / "com.synfire.synfire", given.folder / "built"
    pack.pack(package, given.library)
    n_files = check_layout(package)
    check_callbacks(package)

    built.mkdir(parents=True, exist_ok=True)
    compiler = [given.compiler, "-nologo", "-langversion:7.2", "-warn:4", "-warnaserror", "-optimize", "-define:UNITY_5_3_OR_NEWER"]
    subprocess.run([*compiler, "-target:library", f"-out:{built}/UnityEngine.dll", "-unsafe", STUBS / "UnityEngine.cs"], check=True)
    subprocess.run([*compiler, "-target:library", f"-out:{built}/Synfire.dll", "-unsafe", f"-doc:{built}/Synfire.xml",
                    f"-r:{built}/UnityEngine.dll", *sorted((package / "Runtime").glob("*.cs"))], check=True)
    subprocess.run([*compiler, f"-out:{built}/Drive.exe", f"-r:{built}/UnityEngine.dll", f"-r:{built}/Synfire.dll",
                    *sorted((package / "Samples~").rglob("*.cs")), STUBS / "Drive.cs"], check=True)
    # As in a player: the plug-in beside the program, no variable that points elsewhere.
    environment = {name: value for name, value in os.environ.items() if name != "SYNFIRE_LIBRARY"}
    environment["LD_LIBRARY_PATH"] = str((package / pack.PLUGIN).parent)
    network = package / "Samples~/TrainedNetwork/classifier.bytes"
    subprocess.run(["mono", built / "Drive.exe", network], check=True, env=environment)
    print(f"Unity package: {n_files} assets, compiles with UNITY_5_3_OR_NEWER, the samples run with stand-ins")


if __name__ == "__main__":
    main()
