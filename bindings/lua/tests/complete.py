#!/usr/bin/env python3
"""Everything that synfire.h has is used above the declarations of synfire.lua: complete.py [HEADER]

The declarations name every function and field; bindings/api/complete.py reads the file without them.

SPDX-License-Identifier: MIT
"""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import generate  # noqa: E402
import model  # noqa: E402


def main():
    with tempfile.TemporaryDirectory() as folder:
        written = pathlib.Path(folder) / "synfire.lua"
        written.write_text(generate.source(model.read(), with_declarations=False), encoding="utf-8")
        sys.exit(subprocess.run([sys.executable, HERE.parents[1] / "api/complete.py", written], check=False).returncode)


if __name__ == "__main__":
    main()
