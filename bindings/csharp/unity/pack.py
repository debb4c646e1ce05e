#!/usr/bin/env python3
"""Makes the Unity package: pack.py FOLDER [--library FILE]

FOLDER then holds what Unity's package manager takes ("Add package from disk"): the binding's sources, the assembly
definition, the sample, the C library as a plug-in, and a .meta file for each, with identifiers that never change.

The package's own files are in package/, the sources in ../src.

SPDX-License-Identifier: MIT
"""
import argparse
import hashlib
import pathlib
import shutil

HERE = pathlib.Path(__file__).resolve().parent
PLUGIN = "Runtime/Plugins/Linux/x86_64/libsynfire0.so"

FOLDER_META = "folderAsset: yes\nDefaultImporter:\n  externalObjects: {}\n"
IMPORTERS = {".cs": "MonoImporter:\n  externalObjects: {}\n  serializedVersion: 2\n  defaultReferences: []\n  executionOrder: 0\n",
             ".asmdef": "AssemblyDefinitionImporter:\n  externalObjects: {}\n",
             ".json": "PackageManifestImporter:\n  externalObjects: {}\n",
             ".md": "TextScriptImporter:\n  externalObjects: {}\n",
             ".txt": "TextScriptImporter:\n  externalObjects: {}\n"}

# For the editor and for players, on Linux with x86-64 only, loaded when it is first used.
PLUGIN_META = """PluginImporter:
  externalObjects: {}
  serializedVersion: 2
  iconMap: {}
  executionOrder: {}
  defineConstraints: []
  isPreloaded: 0
  isOverridable: 0
  isExplicitlyReferenced: 0
  validateReferences: 1
  platformData:
  - first:
      Any:
    second:
      enabled: 0
      settings: {}
  - first:
      Editor: Editor
    second:
      enabled: 1
      settings:
        CPU: x86_64
        DefaultValueInitialized: true
        OS: Linux
  - first:
      Standalone: Linux64
    second:
      enabled: 1
      settings:
        CPU: x86_64
"""


def write_meta(path, name):
    guid = hashlib.md5(f"com.synfire.synfire/{name}".encode()).hexdigest()
    body = FOLDER_META if path.is_dir() else PLUGIN_META if name == PLUGIN else IMPORTERS[path.suffix]
    pathlib.Path(f"{path}.meta").write_text(f"fileFormatVersion: 2\nguid: {guid}\n{body}", encoding="utf-8")


def pack(folder, library):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "package", folder)
    for source in sorted((HERE.parent / "src").glob("*.cs")):
        shutil.copy(source, folder / "Runtime" / source.name)
    shutil.copy(HERE.parent / "README.md", folder / "README.md")
    shutil.copy(HERE.parents[2] / "LICENSE", folder / "LICENSE.md")
    (folder / PLUGIN).parent.mkdir(parents=True)
    if library:
        shutil.copy(library, folder / PLUGIN)
    # Unity does not look into folders whose names end with ~, so what is in them has no .meta.
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if "~" not in name:
            write_meta(path, name)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Makes the Unity package.")
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--library", type=pathlib.Path, help="the C library, libsynfire0.so")
    given = arguments.parse_args()
    pack(given.folder, given.library)
    print(given.folder)
