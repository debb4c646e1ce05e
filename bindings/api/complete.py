#!/usr/bin/env python3
"""Every function and every field of synfire.h is named in a binding's sources above the raw layer: complete.py SOURCE...

A function that no source names has no idiomatic wrapper; a field that no source names, if only in its documentation, can be
neither said nor read. Models and surrogates that are loaded at run time have only the raw layer so far.

SPDX-License-Identifier: MIT
"""
import json
import pathlib
import re
import sys

RAW_FUNCTIONS = re.compile(r"synfire_(model|surrogate)_(load|destroy|get_info|check)|synfire_layer_source")
RAW_STRUCTS = {"synfire_load_desc", "synfire_load_info", "synfire_check_report"}
DESCRIPTION = pathlib.Path(__file__).resolve().parent / "synfire.json"


def main():
    words = set()
    for source in sys.argv[1:]:
        words |= set(re.findall(r"\w+", pathlib.Path(source).read_text(encoding="utf-8")))
    api = json.loads(DESCRIPTION.read_text(encoding="utf-8"))
    functions = {function["name"] for function in api["functions"] if not RAW_FUNCTIONS.fullmatch(function["name"])}
    # A size is filled in by the raw layers, and what is reserved is zero.
    structs = [struct for struct in api["structs"] if struct["name"] not in RAW_STRUCTS]
    fields = {field["name"] for struct in structs for field in struct["fields"]} - {"struct_size", "reserved"}
    missing = sorted((functions | fields) - words)
    for name in missing:
        print(f"{name}: no source names it")
    if missing:
        sys.exit(1)
    print(f"{len(functions)} functions and {len(fields)} fields")


if __name__ == "__main__":
    main()
