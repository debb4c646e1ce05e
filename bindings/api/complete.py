#!/usr/bin/env python3
"""Every function and every field of synfire.h is named in a binding's sources above the raw layer:
complete.py [--header HEADER] [--raw RAW]... [--constants] SOURCE...

A function that no source names has no idiomatic wrapper; a field that no source names, if only in its documentation, can be
neither said nor read. Each RAW, a file of the raw layer, names every function. With --constants every constant is named
too: in the sources, and in a file of the raw layer.

SPDX-License-Identifier: MIT
"""
import argparse
import pathlib
import re
import sys

import model


def words_of(path):
    """Words, so that `synfire_layer_forward` is not found in `synfire_layer_forward_desc`."""
    return set(re.findall(r"\w+", pathlib.Path(path).read_text(encoding="utf-8")))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--header", default=model.HEADER)
    parser.add_argument("--raw", action="append", default=[])
    parser.add_argument("--constants", action="store_true")
    parser.add_argument("sources", nargs="+")
    arguments = parser.parse_args()
    api = model.read(arguments.header)
    functions = set(api.function)
    # A size is filled in by the raw layers, and what is reserved is zero.
    fields = {field.name for struct in api.structs for field in struct.given}
    constants = {constant.name for constant in api.constants} if arguments.constants else set()
    raw = [words_of(path) for path in arguments.raw]
    missing = [f"{name}: no source names it" for name in
               sorted((functions | fields | constants) - set().union(*map(words_of, arguments.sources)))]
    missing += [f"{name}: {path} does not name it" for path, words in zip(arguments.raw, raw)
                for name in sorted(functions - words)]
    missing += [f"{name}: the raw layer does not name it" for name in sorted(constants - set().union(*raw)) if raw]
    if missing:
        sys.exit("\n".join(missing))
    print(f"{len(functions)} functions, {len(fields)} fields and {len(constants)} constants")


if __name__ == "__main__":
    main()
