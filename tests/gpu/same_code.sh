#!/usr/bin/env bash
# Whether the sources that run on a GPU differ from those of a recorded run in comments only, so that its evidence holds:
#
#   tests/gpu/same_code.sh COMMIT HASH
#
# COMMIT and HASH are those of the evidence; HASH must be that of the sources of COMMIT. Exits with 0 if every file is
# the same, or the same without its comments, and with 1 if not or if that cannot be found out.
set -eu -o pipefail

commit=$1 hash=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
git cat-file -e "$commit^{commit}" 2>/dev/null || exit 1
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
mapfile -t sources < <(tests/gpu/run.sh --sources)
git archive "$commit" "${sources[@]}" 2>/dev/null | tar -x -C "$before" 2>/dev/null || exit 1 # a folder was not there
mkdir -p "$before/tests/gpu"
cp tests/gpu/run.sh "$before/tests/gpu/"
[ "$("$before/tests/gpu/run.sh" --hash)" = "$hash" ] || exit 1

files_in() { (cd "$1" && find "${sources[@]}" -type f | sort); }
[ "$(files_in .)" = "$(files_in "$before")" ] || exit 1
# The preprocessor takes comments away and leaves directives and macros as they are.
code_of() { g++ -fpreprocessed -dD -E -P -x c++ "$1" -o "$2" 2>/dev/null && [ -s "$2" ]; }
while read -r file; do
  cmp -s "$file" "$before/$file" && continue
  case $file in
    *.cpp | *.hpp | *.cu | *.cuh | *.h) ;;
    *) exit 1 ;;
  esac
  code_of "$file" "$before/now" && code_of "$before/$file" "$before/then" && cmp -s "$before/now" "$before/then" || exit 1
done < <(files_in .)
