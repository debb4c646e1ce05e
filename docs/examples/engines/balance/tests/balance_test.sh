#!/bin/sh
# balance_test.sh - runs the program as a user would and checks its output:
#
#     balance_test.sh CASE BALANCE FOLDER WORK
#
# There is one function per case. FOLDER has the model and the trained networks, WORK is a folder that is emptied first.
# Exit status: 0 passed, 77 skipped (MuJoCo is missing), otherwise failed.
#
# SPDX-License-Identifier: MIT
set -u
case_name=$1
balance=$2
folder=$3
work=$4
model=$folder/cart_pole.xml
brain=$folder/brain.safetensors
plain=$folder/without_recurrence.safetensors

fail() {
  echo "FAILED: $*"
  for file in "$work"/*.out "$work"/*.err; do
    if [ -s "$file" ]; then
      echo "--- $file"
      tail -n 30 "$file"
    fi
  done
  exit 1
}

# Runs the program. Its exit status is in $status, its output in balance.out and balance.err.
run() {
  "$balance" "$@" >"$work/balance.out" 2>"$work/balance.err"
  status=$?
}

run_well() {
  run "$@"
  [ "$status" -eq 0 ] || fail "exit status $status of: balance $*"
}

refused() { # STATUS MESSAGE ARGUMENT...
  expected=$1
  message=$2
  shift 2
  run "$@"
  [ "$status" -eq "$expected" ] || fail "exit status $status, not $expected, of: balance $*"
  grep -q -e "$message" "$work/balance.err" || fail "no '$message' on stderr of: balance $*"
}

has() {
  grep -q -e "$2" "$work/$1" || fail "no '$2' in $1"
}

need_mujoco() {
  run run "$model" "$brain" --runs 1 --seconds 1
  if grep -q 'this program was built without MuJoCo (Debian: libmujoco-dev)' "$work/balance.err"; then
    echo "SKIPPED: there is no MuJoCo, so nothing was balanced (libmujoco-dev)"
    exit 77
  fi
}

case_options() {
  run_well --help
  has balance.out '^usage: balance train MODEL BRAIN'
  refused 2 'balance: no task'
  refused 2 'balance: allowed: train, run' fly
  refused 2 'balance: no MODEL' run
  refused 2 'balance: no BRAIN' run "$model"
  refused 2 'balance: --seed: needs a value' run "$model" "$brain" --seed
  refused 2 'balance: --epochs: unknown option of this task' run "$model" "$brain" --epochs 3
  refused 2 'balance: --forget: unknown option of this task' train "$model" "$brain" --forget
  refused 2 'balance: --epochs 0: allowed: an integer from 1 to 10000' train "$model" "$work/brain.safetensors" --epochs 0
  refused 2 'balance: --seconds x: allowed: an integer from 1 to 3600' run "$model" "$brain" --seconds x
  refused 2 'balance: --latency: needs --realtime' run "$model" "$brain" --latency "$work/latency.svg"
}

# Files that are missing, damaged, or of another model or network; results where there is no folder.
case_files() {
  need_mujoco
  refused 1 'missing.xml: ' run "$work/missing.xml" "$brain"
  echo '<mujoco><worldbody/></mujoco>' >"$work/empty.xml"
  refused 1 'empty.xml: the model is not that of a cart with a pole' run "$work/empty.xml" "$brain"
  sed 's/name="top"/name="tip"/' "$model" >"$work/no_top.xml"
  refused 1 'no_top.xml: the model has no pole with a top' run "$work/no_top.xml" "$brain"
  sed 's/timestep="0.002"/timestep="0.001"/' "$model" >"$work/fast.xml"
  refused 1 'fast.xml: a step of the model is not 2 ms' run "$work/fast.xml" "$brain"
  refused 1 'SYN-' run "$model" "$work/missing.safetensors"
  head -c 1000 "$brain" >"$work/cut.safetensors"
  refused 1 'SYN-' run "$model" "$work/cut.safetensors"
  refused 1 'digits.safetensors: the network does not read the 4 numbers of two positions and write a force' \
    run "$model" "$folder/../../hear/digits.safetensors"
  for picture in film plot; do
    refused 1 'missing/picture.svg: ' run "$model" "$brain" --runs 1 --seconds 1 --$picture "$work/missing/picture.svg"
  done
  refused 1 'missing/brain.safetensors' train "$model" "$work/missing/brain.safetensors" --epochs 1 --threads 1
}

# 50 steps of training give the same bytes on one thread and on three, with recurrence and without. A build that takes samples
# (SYNFIRE_TEST_SAMPLE), which checks memory, trains once.
case_learn() {
  need_mujoco
  if [ -n "${SYNFIRE_TEST_SAMPLE:-}" ]; then
    run_well train "$model" "$work/3.safetensors" --epochs 1 --threads 3
    has balance.out '^epoch   1    loss 0[.][0-9]*, 0 falls$'
    return
  fi
  for recurrence in '' --without-recurrence; do
    for threads in 1 3; do
      # shellcheck disable=SC2086 # an empty word is none
      run_well train "$model" "$work/$threads.safetensors" --epochs 1 --threads "$threads" $recurrence
      has balance.out '^epoch   1    loss 0[.][0-9]*, 0 falls$'
      has balance.out '^network      hash [0-9a-f]*$'
    done
    cmp "$work/1.safetensors" "$work/3.safetensors" || fail "one thread and three have learnt other networks"
  done
}

# Runs of 60 s with pushes that are stronger than all that the training had, in stepped time; the same twice, to the byte.
# The network that forgets before each step falls at once. The one that does not read its own spikes has the same traces, and
# stays up.
case_run() {
  need_mujoco
  for time in first second; do
    run_well run "$model" "$brain" --runs 4 --plot "$work/$time.plot.svg" --film "$work/$time.film.svg"
    has balance.out '^up           4 of 4$'
    mv "$work/balance.out" "$work/$time.out"
  done
  cmp "$work/first.out" "$work/second.out" || fail "the runs differ"
  cmp "$work/first.plot.svg" "$work/second.plot.svg" || fail "the plots differ"
  cmp "$work/first.film.svg" "$work/second.film.svg" || fail "the films differ"
  run_well run "$model" "$brain" --forget --runs 4
  has balance.out '^up           0 of 4$'
  run_well run "$model" "$plain" --runs 4
  has balance.out '^up           4 of 4$'
}

# The loop by the clock: a thousand steps in two seconds, of which the machine may make some late.
case_pace() {
  need_mujoco
  run_well run "$model" "$brain" --realtime --seconds 2 --latency "$work/latency.svg"
  has balance.out '^steps        1000, [0-9]* of them late$'
  has balance.out '^due->done    p50 [0-9.]* us, p99 [0-9.]* us, max [0-9.]* us$'
  has latency.svg '>[0-9]* of 1000 late</text>'
}

rm -rf "$work"
mkdir -p "$work" || exit 1
"case_$case_name"
echo "passed"
