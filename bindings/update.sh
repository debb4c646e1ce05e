#!/usr/bin/env bash
# Rewrites everything that each language, and capi/, make of include/synfire/synfire.h, and the version of every package,
# from CMakeLists.txt. The one command after a change of the header or of the version.
set -eu
cd "$(dirname "$0")"
for generator in ../capi/generate.py */generate.py; do python3 "$generator"; done
python3 version.py
