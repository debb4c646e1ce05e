#!/bin/sh
# gestures_test.sh - runs the program as a user would and checks its output:
#
#     gestures_test.sh CASE GESTURES WORK NETWORK
#
# There is one function per case. WORK is a folder that is emptied first. NETWORK is a network that was learnt before.
# Exit status: 0 passed, otherwise failed.
#
# SPDX-License-Identifier: MIT
set -u
case_name=$1
gestures=$2
work=$3
network=$4

fail() {
  echo "FAILED: $*"
  for file in "$work/out" "$work/err"; do
    if [ -s "$file" ]; then
      echo "--- $file"
      tail -n 40 "$file"
    fi
  done
  exit 1
}

# Runs the program. Its exit status is in $status, its output in $work/out and $work/err.
run() {
  "$gestures" "$@" >"$work/out" 2>"$work/err"
  status=$?
}

run_well() {
  run "$@"
  [ "$status" -eq 0 ] || fail "exit status $status of: gestures $*"
}

refused() { # STATUS MESSAGE ARGUMENT...
  expected=$1
  message=$2
  shift 2
  run "$@"
  [ "$status" -eq "$expected" ] || fail "exit status $status, not $expected, of: gestures $*"
  grep -q -- "$message" "$work/err" || fail "no '$message' on stderr of: gestures $*"
}

case_options() {
  run_well --help
  grep -q '^usage: gestures' "$work/out" || fail "no help"
  refused 2 'unknown option' --nonsense
  refused 2 'needs a value' --epochs
  refused 2 'an integer from 1 to 10000' --epochs 0
  refused 2 'an integer from 1 to 10000' --films 5x
  refused 2 'auto, host, cuda' --backend tpu
  refused 2 'name of a folder' --output ''
  refused 2 'name of a file' --network ''
  refused 2 'only one of them' --record a --network b
  refused 2 'need the --network' --realtime
  refused 2 'need the --network' --recording a
  refused 1 'nowhere' --network "$work/nowhere" --backend host
  refused 1 'cannot be created' --output "$work/nowhere/deeper" --backend host
}

# Recordings that are not what they should be.
case_files() {
  run_well --record "$work/short.dat" --seconds 1
  grep -q '^recorded  *[1-9][0-9]* events in 1 s$' "$work/out" || fail "nothing was recorded"
  header=$(($(wc -c <"$work/short.dat") - 8 * $(sed -n 's/^recorded  *\([0-9]*\) .*/\1/p' "$work/out")))
  refused 1 'nowhere.dat' --network "$network" --recording "$work/nowhere.dat" --backend host
  head -c 1003 "$work/short.dat" >"$work/cut.dat"
  refused 1 'cut.dat: ' --network "$network" --recording "$work/cut.dat" --backend host
  sed 's/Width 24/Width 32/' "$work/short.dat" >"$work/wide.dat"
  refused 1 'a sensor of 32 x 24 pixels; the network sees 24 x 24' --network "$network" --recording "$work/wide.dat" --backend host
  # The first event again, after the last one.
  bytes=$(wc -c <"$work/short.dat")
  { cat "$work/short.dat" && tail -c $(((bytes - 71) / 8 * 8)) "$work/short.dat" | head -c 8; } >"$work/back.dat"
  refused 1 'older than the one before' --network "$network" --recording "$work/back.dat" --backend host
  # Two events of a clock that wraps between them, and one of a clock that began an hour before: named from 320
  # milliseconds before the first one on.
  head -c "$header" "$work/short.dat" >"$work/wraps.dat"
  cp "$work/wraps.dat" "$work/late.dat"
  printf '\000\000\377\377\012\000\003\020\000\000\001\000\012\000\003\020' >>"$work/wraps.dat"
  printf '\000\244\223\326\012\000\003\020' >>"$work/late.dat"
  run_well --network "$network" --recording "$work/wraps.dat" --backend host
  grep -q '^named  *452 milliseconds' "$work/out" || fail "not all of a recording whose clock wraps"
  run_well --network "$network" --recording "$work/late.dat" --backend host
  grep -q '^named  *321 milliseconds' "$work/out" || fail "not from the window of the first event on"
  if [ -w /dev/full ]; then
    "$gestures" --network "$network" --recording "$work/short.dat" --backend host >/dev/full 2>"$work/err" && fail "results that could not be written"
    grep -q 'the results cannot be written' "$work/err" || fail "not said that the results cannot be written"
  fi
  # A network that reads sound.
  refused 1 'a network that does not read 20 x 20 x 2 spikes' --network "$(dirname "$network")/../hear/digits.safetensors" \
    --seconds 1 --backend host
}

# The network that was learnt before names what it never saw, with the same scores everywhere, and a recording of it the same.
case_name() {
  run_well --network "$network" --seconds 10 --seed 5 --backend host
  right=$(sed -n 's/^right  *\([0-9]*\) of 10 gestures$/\1/p' "$work/out")
  [ "${right:-0}" -ge 8 ] || fail "names only $right of 10 gestures; the floor is 8"
  grep -q "^named  *10000 milliseconds, scores hash $SCORES\$" "$work/out" || fail "the scores are not $SCORES"
  sed -n '/ s  /p' "$work/out" >"$work/names"
  run_well --record "$work/show.dat" --seconds 10 --seed 5
  run_well --network "$network" --recording "$work/show.dat" --backend host --threads 1
  # The recording ends with its last event.
  sed -n '/ s  /p' "$work/out" | cmp - "$work/names" || fail "other names in a recording"
}

# The loop by the clock: how many steps are late depends on the machine.
case_realtime() {
  run_well --network "$network" --seconds 2 --realtime --backend host
  grep -q '^late  *[0-9]* of 2000 (deadline: 1 ms after the events)$' "$work/out" || fail "not 2000 steps"
}

# A shortened run, on all threads and on one: pictures, a floor, and the same bytes.
case_learn() {
  run_well --output "$work/first" --backend host --films 20 --tests 6 --epochs 5
  right=$(sed -n 's/^right .*: \([0-9]*\)[.][0-9]* %$/\1/p' "$work/out")
  [ "${right:-0}" -ge 50 ] || fail "names only $right % of the films; the floor is 50 %"
  [ "$(grep -c '^epoch ' "$work/out")" -eq 5 ] || fail "not 5 epochs"
  grep -q '^anticlockwise  *[0-9]' "$work/out" || fail "no confusion matrix"
  grep -q "^weights  *hash $WEIGHTS\$" "$work/out" || fail "the weights are not $WEIGHTS"
  for picture in events spikes confusion; do
    tail -n 1 "$work/first/$picture.svg" | grep -q '^</svg>$' || fail "no picture of $picture"
  done
  # The times are others, and the memory of graphs is as large as the threads are many.
  grep -v '^learnt \|^filmed \|^synapses ' "$work/out" >"$work/numbers"
  run_well --output "$work/second" --backend host --films 20 --tests 6 --epochs 5 --threads 1
  grep -v '^learnt \|^filmed \|^synapses ' "$work/out" | cmp - "$work/numbers" || fail "other numbers on one thread"
  for file in gestures.safetensors namer.safetensors events.svg spikes.svg confusion.svg; do
    cmp "$work/first/$file" "$work/second/$file" || fail "another $file on one thread"
  done
  # Without their times, gestures that are each other played backwards look alike.
  run_well --output "$work/third" --backend host --films 20 --tests 6 --epochs 5 --without-time
  blind=$(sed -n 's/^right .*: \([0-9]*\)[.][0-9]* %$/\1/p' "$work/out")
  [ "${blind:-100}" -lt "$right" ] || fail "names $blind % without the times, $right % with them"
}

rm -rf "$work"
mkdir -p "$work" || exit 1
"case_$case_name"
