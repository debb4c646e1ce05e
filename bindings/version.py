#!/usr/bin/env python3
"""The version of every package is that of CMakeLists.txt: version.py writes it, version.py --check compares.

SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
NUMBER = r"\d+\.\d+\.\d+"
# The file, and the text before the version in it, as often as it occurs.
PLACES = (
    ("bindings/rust/synfire-sys/Cargo.toml", r'^version = "', 1),
    ("bindings/rust/synfire/Cargo.toml", r'^version = "', 1),
    ("bindings/rust/synfire/Cargo.toml", r'^synfire-sys = \{ version = "', 1),
    ("bindings/rust/Cargo.lock", r'^name = "synfire(?:-sys)?"\nversion = "', 2),
    ("bindings/csharp/Synfire.csproj", r"<Version>", 1),
    ("bindings/csharp/unity/package/package.json", r'"version": "', 1),
    ("bindings/julia/Synfire/Project.toml", r'^version = "', 1),
)
# Where users write down which minor version they want.
MINOR_PLACES = (
    ("README.md", r"find_package\(synfire ", 1),
    ("docs/pages/building.md", r"find_package\(synfire ", 1),
    ("docs/pages/start-c.md", r"find_package\(synfire ", 1),
    ("docs/pages/start-cpp.md", r"find_package\(synfire ", 1),
)


def main():
    check = "--check" in sys.argv[1:]
    version = re.search(rf"^project\(synfire VERSION ({NUMBER})", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    minor = version.rsplit(".", 1)[0]
    other = []
    for places, number, wanted in ((PLACES, NUMBER, version), (MINOR_PLACES, r"\d+\.\d+", minor)):
        for name, before, count in places:
            path = ROOT / name
            text = path.read_text(encoding="utf-8")
            changed, found = re.subn(f"({before}){number}", rf"\g<1>{wanted}", text, flags=re.MULTILINE)
            if found != count:
                sys.exit(f"{name} has its version {found} times, expected {count}")
            if changed != text:
                other.append(name)
                if not check:
                    path.write_text(changed, encoding="utf-8")
    if other and check:
        sys.exit(f"not version {version}: {', '.join(other)}; bindings/update.sh rewrites them")
    print(f"version {version}" + (f", written to {', '.join(other)}" if other else ""))


if __name__ == "__main__":
    main()
