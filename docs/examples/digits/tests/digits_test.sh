#!/bin/sh
# digits_test.sh - runs the program as a user would and checks its output:
#
#     digits_test.sh CASE DIGITS WORK DATA
#
# There is one function per case. WORK is a folder that is emptied first. DATA is the folder of the data, which the case
# `data` makes for the others: one of the manners only.
# Exit status: 0 passed, 77 skipped (espeak-ng is missing), otherwise failed.
#
# SPDX-License-Identifier: MIT
set -u
case_name=$1
digits=$2
work=$3
data=$4

fail() {
  echo "FAILED: $*"
  for file in "$work/out" "$work/err"; do
    if [ -s "$file" ]; then
      echo "--- $file"
      tail -n 30 "$file"
    fi
  done
  exit 1
}

# Runs the program. Its exit status is in $status, its output in $work/out and $work/err.
run() {
  "$digits" "$@" >"$work/out" 2>"$work/err"
  status=$?
}

run_well() {
  run "$@"
  [ "$status" -eq 0 ] || fail "exit status $status of: digits $*"
}

refused() { # STATUS MESSAGE ARGUMENT...
  expected=$1
  message=$2
  shift 2
  run "$@"
  [ "$status" -eq "$expected" ] || fail "exit status $status, not $expected, of: digits $*"
  grep -q -- "$message" "$work/err" || fail "no '$message' on stderr of: digits $*"
}

need_data() {
  [ -s "$data/digits.spikes" ] && return
  echo "SKIPPED: no data, because there is no espeak-ng"
  exit 77
}

case_options() {
  run_well --help
  grep -q '^usage: digits' "$work/out" || fail "no help"
  refused 2 'unknown option' --nonsense
  refused 2 'needs a value' --epochs
  refused 2 'an integer from 1 to 10000' --epochs 0
  refused 2 'an integer from 1 to 10000' --epochs 5x
  refused 2 'an integer from 1 to 4096' --sounds 0
  refused 2 'an integer from 0 to 100' --recurrent -1
  refused 2 'an integer from 0 to 50' --delays 51
  refused 2 'an integer from 1 to 64' --ranks 0
  refused 2 'needs --data' --ranks mpi
  refused 2 'auto, host, cuda' --backend tpu
  refused 2 'allowed: 8, 16, 24' --weight-bits 12
  refused 2 'only one of them' --data a --make-data b
  refused 2 'name of a folder' --data ''
  refused 1 'cannot be opened' --data "$work/nowhere" --output "$work/result"
  # A search path without espeak-ng.
  PATH="$work" "$digits" --make-data "$work/made" >"$work/out" 2>"$work/err" && fail "speaks without espeak-ng"
  grep -q 'espeak-ng cannot be run' "$work/err" || fail "does not say that espeak-ng is missing"
  [ ! -e "$work/made/digits.spikes" ] || fail "a file without spikes"
}

case_data() {
  rm -rf "$data"
  if ! command -v espeak-ng >/dev/null; then
    echo "SKIPPED: espeak-ng is not installed"
    exit 77
  fi
  mkdir -p "$data"
  run_well --make-data "$data" --manners 1
  grep -q '^data  *640 digits of 56 voices that are learnt and 8 that are not, hash [0-9a-f]\{16\}$' "$work/out" ||
    fail "other data"
  [ ! -e "$data/word.wav" ] || fail "a sound is left"
}

# Files that are not what they should be.
case_files() {
  need_data
  name=digits.spikes
  mkdir "$work/bad"
  : >"$work/bad/$name"
  refused 1 'not a file of spikes' --data "$work/bad" --output "$work/result"
  head -c 27 "$data/$name" >"$work/bad/$name"
  refused 1 'not a file of spikes' --data "$work/bad" --output "$work/result"
  head -c 5000 "$data/$name" >"$work/bad/$name"
  refused 1 'its length is not' --data "$work/bad" --output "$work/result"
  { cat "$data/$name" && printf x; } >"$work/bad/$name"
  refused 1 'its length is not' --data "$work/bad" --output "$work/result"
  # A spike more.
  { head -c 5000 "$data/$name" && printf '\377\377' && tail -c +5003 "$data/$name"; } >"$work/bad/$name"
  refused 1 'does not have its hash' --data "$work/bad" --output "$work/result"
  # More utterances than any machine can hold: 2^32 - 1.
  { head -c 16 "$data/$name" && printf '\377\377\377\377' && tail -c +21 "$data/$name"; } >"$work/bad/$name"
  refused 1 'its length is not' --data "$work/bad" --output "$work/result"
  # Spikes of 65 fibres.
  { head -c 8 "$data/$name" && printf 'A' && tail -c +10 "$data/$name"; } >"$work/bad/$name"
  refused 1 'other fibres' --data "$work/bad" --output "$work/result"
}

# A shortened run, twice: a floor, and the same numbers on one thread and on several.
case_learn() {
  need_data
  run_well --data "$data" --output "$work/first" --backend host --epochs 17
  right=$(sed -n 's/^right .*: \([0-9]*\)[.][0-9]* %$/\1/p' "$work/out")
  [ "${right:-0}" -ge 85 ] || fail "names only $right % of the digits of unheard voices; the floor is 85 %"
  [ "$(grep -c '^epoch ' "$work/out")" -eq 17 ] || fail "not 17 epochs"
  grep -q '^weights  *hash [0-9a-f]\{16\}$' "$work/out" || fail "no hash of the weights"
  grep -q '^zero  *[0-9]' "$work/out" || fail "no confusion matrix"
  streamed=$(sed -n 's/^streamed  *\([0-9]*\) of 80 right: .* missed, 0 invented$/\1/p' "$work/out")
  [ "${streamed:-0}" -ge 66 ] || fail "names only $streamed of 80 digits of a stream; the floor is 66"
  grep -q '>seven</text>' "$work/first/picture.svg" || fail "no words in the picture"
  # The time is another, and the memory of graphs is as large as the threads are many.
  grep -v '^learnt \|^synapses ' "$work/out" >"$work/numbers"
  run_well --data "$data" --output "$work/second" --backend host --epochs 17 --threads 1
  grep -v '^learnt \|^synapses ' "$work/out" | cmp - "$work/numbers" || fail "other numbers on one thread"
  cmp "$work/first/digits.safetensors" "$work/second/digits.safetensors" || fail "another file on one thread"
}

rm -rf "$work"
mkdir -p "$work" || exit 1
"case_$case_name"
