#!/usr/bin/env python3
"""Every function and every field of synfire.h is named in a binding's sources above the raw layer:
complete.py [--header HEADER] SOURCE...

A function that no source names has no idiomatic wrapper; a field that no source names, if only in its documentation, can be
neither said nor read.

SPDX-License-Identifier: MIT
"""
import argparse
import pathlib
import re
import sys

import model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--header", default=model.HEADER)
    parser.add_argument("sources", nargs="+")
    arguments, words = parser.parse_args(), set()
    for source in arguments.sources:
        words |= set(re.findall(r"\w+", pathlib.Path(source).read_text(encoding="utf-8")))
    api = model.read(arguments.header)
    functions = set(api.function)
    # A size is filled in by the raw layers, and what is reserved is zero.
    fields = {field.name for struct in api.structs for field in struct.given}
    missing = sorted((functions | fields) - words)
    for name in missing:
        print(f"{name}: no source names it")
    if missing:
        sys.exit(1)
    print(f"{len(functions)} functions and {len(fields)} fields")


if __name__ == "__main__":
    main()
