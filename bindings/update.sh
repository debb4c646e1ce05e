#!/usr/bin/env bash
# Rewrites everything that is made from include/synfire/synfire.h: the description, then what each language makes of it; and
# the version of every package, from CMakeLists.txt. The one command after a change of the header or of the version.
set -eu
cd "$(dirname "$0")"
python3 api/describe.py >api/synfire.json
for generator in */generate.py; do python3 "$generator"; done
python3 version.py
