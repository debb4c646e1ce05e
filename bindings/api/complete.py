#!/usr/bin/env python3
"""Every function and every field of synfire.h is named in a binding's sources above the raw layer: complete.py SOURCE...

A function that no source names has no idiomatic wrapper; a field that no source names, if only in its documentation, can be
neither said nor read.

SPDX-License-Identifier: MIT
"""
import json
import pathlib
import re
import sys

DESCRIPTION = pathlib.Path(__file__).resolve().parent / "synfire.json"


def main():
    words = set()
    for source in sys.argv[1:]:
        words |= set(re.findall(r"\w+", pathlib.Path(source).read_text(encoding="utf-8")))
    api = json.loads(DESCRIPTION.read_text(encoding="utf-8"))
    functions = {function["name"] for function in api["functions"]}
    # A size is filled in by the raw layers, and what is reserved is zero.
    fields = {field["name"] for struct in api["structs"] for field in struct["fields"]} - {"struct_size", "reserved"}
    missing = sorted((functions | fields) - words)
    for name in missing:
        print(f"{name}: no source names it")
    if missing:
        sys.exit(1)
    print(f"{len(functions)} functions and {len(fields)} fields")


if __name__ == "__main__":
    main()
