#!/usr/bin/env bash
# Rewrites everything in bindings/ that is made from include/synfire/synfire.h: the description, then each language's
# raw layer. The one command after a change of the header.
set -eu
cd "$(dirname "$0")"
python3 api/extract.py
for generator in */generate.py; do python3 "$generator"; done
