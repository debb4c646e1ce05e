#!/usr/bin/env bash
# Rewrites everything that each language makes of include/synfire/synfire.h, and the version of every package, from
# CMakeLists.txt. The one command after a change of the header or of the version.
set -eu
cd "$(dirname "$0")"
for generator in */generate.py; do python3 "$generator"; done
python3 version.py
