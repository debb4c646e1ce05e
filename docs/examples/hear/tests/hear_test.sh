#!/bin/sh
# hear_test.sh - runs the program as a user would and checks its output:
#
#     hear_test.sh CASE HEAR SOUND WORK [EXTRA]
#
# There is one function per case. WORK is a folder that is emptied first. EXTRA is what the case needs in addition.
# Exit status: 0 passed, 77 skipped (something that the case needs is missing), otherwise failed.
#
# SPDX-License-Identifier: MIT
set -u
case_name=$1
hear=$2
sound=$3
work=$4
extra=${5:-}

fail() {
  echo "FAILED: $*"
  for file in "$work/out" "$work/err"; do
    if [ -s "$file" ]; then
      echo "--- $file"
      head -n 30 "$file"
    fi
  done
  exit 1
}

# Runs the program. Its exit status is in $status, its output in $work/out and $work/err.
run() {
  "$hear" "$@" >"$work/out" 2>"$work/err"
  status=$?
}

run_well() {
  run "$@"
  [ "$status" -eq 0 ] || fail "exit status $status of: hear $*"
}

has() {
  grep -q -- "$2" "$work/$1" || fail "no '$2' in std$1"
}

# The first number after a word at the start of a line of the table.
number() {
  sed -n "s/^$1 *\([0-9][0-9.]*\).*/\1/p" "$work/out" | head -n 1
}

find_python() { # with module $1
  for python in python3 /usr/bin/python3; do
    "$python" -c "import $1" 2>/dev/null && return 0
  done
  echo "skipped: no python3 with module $1"
  exit 77
}

case_plain() {
  run_well "$sound" --backend host --output "$work/result"
  for row in 'backend  *host: ' 'sound ' 'layer  *LIF, 128 channels x 1 = 128 neurons' 'frames  *2750 of 1.000 ms' \
    'spikes ' 'mean rate ' 'launch->done  *p50 [0-9.]* us, p99 [0-9.]* us, p99.9 [0-9.]* us, max [0-9.]* us' \
    'missed deadlines  *[0-9]* of 2750' 'written '; do
    has out "^$row"
  done
  [ "$(number spikes)" -gt 5000 ] || fail "hardly any spikes"
  [ -s "$work/result/spikes.npy" ] || fail "no spikes.npy"
  size=$(wc -c <"$work/result/raster.svg")
  { [ "$size" -gt 10000 ] && [ "$size" -lt 1500000 ]; } || fail "raster.svg has $size bytes"
}

# Silence between the words, and as many bursts as words: what a person sees in the raster, as numbers.
case_words() {
  find_python numpy
  run_well "$sound" --backend host --output "$work/result"
  "$python" "$extra" "$work/result/spikes.npy" "$(number spikes)" || fail "spikes.npy"
}

case_population() {
  find_python numpy
  run_well "$sound" --backend host --population 4 --output "$work/result"
  has out '^layer  *LIF, 128 channels x 4 = 512 neurons'
  "$python" "$extra" "$work/result/spikes.npy" "$(number spikes)" 512 || fail "spikes.npy"
}

case_raster() {
  find_python xml.dom.minidom
  "$python" -c 'import sys; s = open(sys.argv[1], "rb").read(); i = s.index(b"LIST"); n = int.from_bytes(s[i + 4:i + 8], "little")
open(sys.argv[2], "wb").write(s[:i] + s[i + 8 + n + n % 2:])' "$sound" "$work/a<b>&\"c.wav" # without its title
  for population in 1 3; do
    run_well "$work/a<b>&\"c.wav" --backend host --frames 700 --population $population --output "$work/result"
    "$python" -c 'import sys, xml.dom.minidom as m; t = m.parse(sys.argv[1]).documentElement
assert t.tagName == "svg" and len(t.getElementsByTagName("path")) > 60
texts = ["".join(n.data for n in e.childNodes) for e in t.getElementsByTagName("text")]
assert "time (s)" in texts and "channel centre frequency (Hz)" in texts and "1000" in texts
assert any(x.startswith("a<b>&\"c.wav, heard by 128") for x in texts)' "$work/result/raster.svg" ||
      fail "raster.svg is not what it should be"
  done
  run_well "$sound" --backend host --frames 700 --output "$work/result"
  grep -q ">.sound in, spikes out., heard by 128 spiking neurons<" "$work/result/raster.svg" || fail "no words in the title"
  has out '^sound .*speech.wav, "sound in, spikes out": 16000 Hz'
}

case_learn() {
  run_well "$sound" --backend host --learn --frames 5500 --output "$work/result" # two passes of ten
  has out '^|rate - target|  *mean over channels: [0-9.]* Hz before (first pass), [0-9.]* Hz after (last pass)'
  sed -n 's/^|rate.*: \([0-9.]*\) Hz before.*, \([0-9.]*\) Hz after.*/\1 \2/p' "$work/out" |
    awk '{ print "before", $1, "after", $2; good = $1 > 1 && $1 >= 5 * $2 } END { exit !good }' ||
    fail "the distance did not fall five times"
}

# Enough neurons for a second thread.
case_threads() {
  for threads in 1 2; do
    run_well "$sound" --backend host --threads $threads --population 64 --frames 300 --output "$work/$threads"
    [ "$(number spikes)" -gt 1000 ] || fail "hardly any spikes"
  done
  cmp "$work/1/spikes.npy" "$work/2/spikes.npy" || fail "one thread and two differ"
}

# A network that `digits` has learnt names the digits of a voice that it never heard. EXTRA is that network.
case_names() {
  network=$extra
  digits=$(dirname "$sound")/digits.wav
  run_well "$digits" --words "$network" --backend host
  sed -n 's/^ *[0-9.]* s to [0-9.]* s  //p' "$work/out" | tr -d '\r' >"$work/words"
  [ "$(tr '\n' ' ' <"$work/words")" = 'seven three zero nine ' ] || fail "other words: $(cat "$work/words")"
  has out '^network  *.*: 64 fibres in, 10 words out (digits), a frame of 160 samples'
  has out '^words  *4'
  grep ' s to ' "$work/out" >"$work/lines"
  # A stream of its samples, whose last one lacks a byte, has the same words at the same times. The header has 44 bytes.
  tail -c +45 "$digits" | head -c -1 | "$hear" - --words "$network" --backend host >"$work/out" 2>"$work/err" ||
    fail "standard input"
  grep ' s to ' "$work/out" | cmp - "$work/lines" || fail "other words in a stream"
  has out '^sound  *standard input: 16000 Hz'
  has out '^missed deadlines  *[0-9]* of '
  # Twice in a row, and only its beginning.
  run_well "$digits" --words "$network" --backend host --loop 9
  [ "$(grep -c ' s  seven' "$work/out")" -ge 2 ] || fail "not twice"
  run_well "$digits" --words "$network" --backend host --frames 1000
  has out '^words  *1'

  run_well "$digits" --words "$network" --backend host --realtime --loop 1 --csv "$work/times.csv" --svg "$work/times.svg"
  has out '^frames  *1000 of 1.000 ms: .*paced'
  has out '^due->done  *p50'
  has out '^missed deadlines  *[0-9]* of 1000'
  [ "$(wc -l <"$work/times.csv")" -eq 1001 ] || fail "not a line for every frame"
  [ -s "$work/times.svg" ] || fail "no picture"
}

unnamed() { # MESSAGE FILE: a network that is refused
  run "$sound" --words "$2" --backend host
  [ "$status" -eq 1 ] || fail "exit status $status, not 1, for $2"
  has err "$1"
  grep -q ' s to ' "$work/out" && fail "names words with $2"
}

# Files that do not contain a network of words, and options that do not go together.
case_unnamed() {
  network=$extra
  unnamed 'SYN-FILE-OPEN' "$work/none.safetensors"
  unnamed 'SYN-FILE-' "$sound"
  : >"$work/bad"
  unnamed 'SYN-FILE-' "$work/bad"
  head -c 3000 "$network" >"$work/bad"
  unnamed 'SYN-FILE-LENGTH' "$work/bad"
  head -c -1 "$network" >"$work/bad"
  unnamed 'SYN-FILE-' "$work/bad"
  # Lengths that wrap: of the header, 2^64 - 1, and of a tensor.
  { printf '\377\377\377\377\377\377\377\377' && tail -c +9 "$network"; } >"$work/bad"
  unnamed 'SYN-FILE-LENGTH' "$work/bad"
  LC_ALL=C sed 's/"shape":\[127,64\],"data_offsets":\[\([0-9]*\),[0-9]*\]/"shape":[9223372036854775807,4],"data_offsets":[\1,\1]/' \
    "$network" >"$work/bad"
  unnamed 'SYN-FILE-' "$work/bad"
  # Words that nobody knows: the list has another name.
  LC_ALL=C sed 's/name=digits /name=letter /; s/"digits\./"letter./g' "$network" >"$work/bad"
  unnamed 'unknown list of words' "$work/bad"
  # The right words, but a network that hears something else.
  LC_ALL=C sed 's/kind=input name=nerve width=64 choice=0/kind=input name=nerve width=64 choice=1/' "$network" >"$work/bad"
  unnamed 'SYN-\|reads [0-9]* and writes' "$work/bad"

  wrong_usage 'standard input is for --words' -
  wrong_usage '--realtime, --svg and --csv need a WAV file' - --words "$network" --realtime
  wrong_usage '--spin: only with --realtime or --live' "$sound" --words "$network" --spin
  wrong_usage 'not together with --learn' "$sound" --words "$network" --learn
  wrong_usage 'only for standard input' "$sound" --words "$network" --rate 16000
  wrong_usage '--rate 8000: allowed: an integer from 16000 to 192000' - --words "$network" --rate 8000
  wrong_usage '--words: allowed: the name of a file' "$sound" --words ''
}

case_realtime() {
  run_well "$sound" --backend host --realtime --spin --loop 0.2
  run_well "$sound" --backend host --realtime --loop 0.5
  has out 'frames  *500 of 1.000 ms: 0.500 s of sound'
  sed -n 's/^frames .* in \([0-9.]*\) s .*paced.*/\1/p' "$work/out" | awk '{ good = $1 >= 0.5 } END { exit !good }' ||
    fail "500 frames of 1 ms took less than half a second"
}

# Where stderr is not a terminal: lines without escape sequences, one picture a second. Watching changes no spike.
case_live() {
  run_well "$sound" --backend host --live --loop 1.2 --output "$work/watched"
  grep -q "$(printf '\033')" "$work/err" && fail "an escape sequence where no terminal is"
  [ "$(grep -c '^   Hz |spikes' "$work/err")" -eq 2 ] || fail "not two pictures"
  has err '^1\.[0-9]* of 1.200 s  speech.wav, "sound in, spikes out"'
  has err '^ *80 |.*| *#* *|'
  has err '^latency [0-9.]* us, p50 [0-9.]* us, p99 [0-9.]* us, max [0-9.]* us; [0-9]* of 1200 late'
  has err "^$(number spikes) spikes of 128 neurons, on "
  has out 'real time, paced'
  run_well "$sound" --backend host --frames 1200 --output "$work/result"
  cmp "$work/watched/spikes.npy" "$work/result/spikes.npy" || fail "other spikes when somebody watches"
  run_well "$sound" --backend host --live --population 3 --frames 10
  has err ' spikes of 384 neurons, on '
}

case_terminal() {
  find_python pty
  "$python" "$extra" "$hear" "$sound" || fail "the picture on a terminal"
}

# Short, and possibly on a busy machine: tests what is printed and written, not how late it was.
case_times() {
  find_python xml.dom.minidom
  run_well "$sound" --backend host --realtime --loop 0.3 --svg "$work/times.svg" --csv "$work/times.csv"
  for row in 'launch->done' 'due->done' 'woke up late'; do
    has out "^$row  *p50 [0-9.]* us, p99 [0-9.]* us, p99.9 [0-9.]* us, max [0-9.]* us"
  done
  missed=$(sed -n 's/^missed deadlines *\([0-9]*\) of 300.*/\1/p' "$work/out")
  shown=$missed
  [ "$missed" -le 100 ] || shown=101 # the last one says how many more there are
  [ "$(grep -c '^missed: ' "$work/out")" -eq "$shown" ] || fail "not a line for each missed frame"
  awk -F, -v expected="$missed" 'NR > 1 { n++; late += $8
      if ($1 != n - 1 || $3 < 0 || $4 < 0 || $4 > $3 || $5 <= 0 || $6 <= 0) bad = 1
      if ($7 < $3 + $5 + $6 - 0.01 || $7 > $3 + $5 + $6 + 0.01 || $8 != ($7 > 1000)) bad = 1
    } END { exit !(n == 300 && late == expected && !bad) }' "$work/times.csv" || fail "times.csv"
  "$python" -c 'import sys, xml.dom.minidom as m; t = m.parse(sys.argv[1]).documentElement
texts = ["".join(n.data for n in e.childNodes) for e in t.getElementsByTagName("text")]
assert "latency (us)" in texts and "deadline" in texts and "time (s)" in texts, texts
assert any(x.endswith(" of 300 frames missed") for x in texts), texts
assert len(t.getElementsByTagName("circle")) == int(sys.argv[2])' "$work/times.svg" "$missed" || fail "times.svg"
  run_well "$sound" --backend host --frames 20 --csv "$work/quick.csv" # also without real-time pacing
  [ "$(wc -l <"$work/quick.csv")" -eq 21 ] || fail "not a line for each frame"
  for option in --svg --csv; do # reported before the run, not afterwards
    run "$sound" --backend host $option "$work/no/such"
    [ "$status" -eq 1 ] || fail "exit status $status"
    has err 'no/such: cannot be written: No such file'
    [ ! -w /dev/full ] && continue
    run "$sound" --backend host --frames 20 $option /dev/full
    [ "$status" -eq 1 ] || fail "exit status $status with a full disk for $option"
    has err '/dev/full: cannot be written: No space left on device'
  done
}

# Half a million neurons, which few machines finish within a millisecond: however many frames are late, the run succeeds
# and says so. What is counted as late is tested with clocks and replays that are made up (deadline, pace).
case_late() {
  run_well "$sound" --backend host --population 4096 --frames 5
  has out '^missed deadlines  *[0-5] of 5'
}

case_wav() {
  "$extra" "$work" || fail "cannot write the WAV files"
  for file in "$work"/good_*.wav; do
    run_well "$file" --backend host --output "$work/result"
    has out '^frames  *301 of 1.000 ms'
    [ "$(number spikes)" -gt 100 ] || fail "$file: hardly any spikes"
    [ -e "$work/first.npy" ] || cp "$work/result/spikes.npy" "$work/first.npy"
    cmp "$work/first.npy" "$work/result/spikes.npy" || fail "$file: other spikes than the same sound before"
  done
  for group in coarse loud; do
    for file in "$work/$group"_*.wav; do
      run_well "$file" --backend host --output "$work/result"
      [ "$(number spikes)" -gt 100 ] || fail "$file: hardly any spikes"
      [ -e "$work/$group.npy" ] || cp "$work/result/spikes.npy" "$work/$group.npy"
      cmp "$work/$group.npy" "$work/result/spikes.npy" || fail "$file: other spikes than the same sound before"
    done
  done
  for file in "$work"/rate_*.wav; do run_well "$file" --backend host; done
  count=0
  for file in "$work"/bad_*.wav; do
    refused "$file" "$(cat "${file%.wav}.txt")"
    count=$((count + 1))
  done
  [ "$count" -ge 35 ] || fail "only $count bad files were tried"
  refused "$work/missing.wav" 'cannot be opened: No such file'
  refused "$work" 'cannot be'
  echo "$count bad files refused"
}

# One line that names the file and contains the expected text, nothing on stdout, no files, exit status 1.
refused() {
  rm -rf "$work/result"
  run "$1" --backend host --output "$work/result"
  [ "$status" -eq 1 ] || fail "exit status $status for $1"
  [ ! -s "$work/out" ] || fail "words on stdout for $1"
  [ "$(wc -l <"$work/err")" -eq 1 ] || fail "not one line for $1"
  case $(cat "$work/err") in
    "hear: $1: "*) ;;
    *) fail "the complaint does not begin with the file $1" ;;
  esac
  grep -qF -- "$2" "$work/err" || fail "no '$2' for $1"
  [ ! -e "$work/result" ] || fail "something was written for $1"
}

wrong_usage() {
  expected=$1
  shift
  run "$@"
  [ "$status" -eq 2 ] || fail "exit status $status of: hear $*"
  has err "$expected"
  has err '^usage: '
}

case_options() {
  wrong_usage '--loud: unknown option' "$sound" --loud
  wrong_usage '-x: unknown option' -x
  wrong_usage 'no sound given'
  wrong_usage 'a second sound' "$sound" "$sound"
  wrong_usage '--population: needs a value' "$sound" --population
  wrong_usage '--population 0: allowed: an integer from 1 to 4096' "$sound" --population 0
  wrong_usage '--population 4097: allowed' "$sound" --population 4097
  wrong_usage '--population 2x: allowed' "$sound" --population 2x
  wrong_usage '--threads -1: allowed: an integer from 0 to 1024' "$sound" --threads -1
  wrong_usage '--frames 99999999999999999999: allowed' "$sound" --frames 99999999999999999999
  wrong_usage '--loop nan: allowed: a number from' "$sound" --loop nan
  wrong_usage '--target 0: allowed' "$sound" --target 0
  wrong_usage '--backend tpu: allowed: auto, host, cuda' "$sound" --backend tpu
  wrong_usage '--frames and --loop: only one of them is allowed' "$sound" --frames 5 --loop 5
  wrong_usage '--svg: allowed: the name of a file' "$sound" --svg ''
  wrong_usage '--csv: needs a value' "$sound" --csv
  wrong_usage '--output: allowed: the name of a folder' "$sound" --output ''
  run_well --help
  has out '^usage: hear SOUND.wav'
  run "$sound" --backend host --device 1 # the library refuses, and its text is passed on
  [ "$status" -eq 1 ] || fail "exit status $status for a device on the host"
  has err 'device'
}

case_full_disk() {
  [ -w /dev/full ] || exit 77
  for file in spikes.npy raster.svg; do
    rm -rf "$work/result"
    mkdir "$work/result"
    ln -s /dev/full "$work/result/$file"
    run "$sound" --backend host --output "$work/result"
    [ "$status" -eq 1 ] || fail "exit status $status with a full disk for $file"
    has err "result/$file: cannot be written: No space left on device"
  done
  "$hear" "$sound" --backend host >/dev/full 2>"$work/err" && fail "a table that could not be written"
  has err 'the table cannot be written'
  run "$sound" --backend host --output "$work/err"
  [ "$status" -eq 1 ] || fail "a file as the folder"
  has err 'is not a folder'
  run "$sound" --backend host --output "$work/no/such"
  [ "$status" -eq 1 ] || fail "a folder in no folder"
  has err 'cannot be created'
}

# A folder in which nothing may be written, also by root if it can become somebody else.
case_read_only() {
  mkdir "$work/locked" && chmod 555 "$work/locked"
  if [ "$(id -u)" -eq 0 ]; then
    command -v setpriv >/dev/null || { echo "skipped: root may write everywhere, and there is no setpriv"; exit 77; }
    set -- setpriv --reuid=65534 --regid=65534 --clear-groups "$hear"
    "$@" --help >/dev/null 2>&1 || { echo "skipped: another user cannot run $hear"; exit 77; }
  else
    set -- "$hear"
  fi
  for output in --output --svg --csv; do
    "$@" "$sound" --backend host --frames 20 "$output" "$work/locked/new" >"$work/out" 2>"$work/err" &&
      fail "$output in a folder that is read-only"
    has err 'locked/new: cannot be \(created\|written\): Permission denied'
  done
  "$@" "$sound" --backend host --frames 20 --output "$work/locked" >"$work/out" 2>"$work/err" && fail "a read-only folder"
  has err 'locked/spikes.npy: cannot be written: Permission denied'
}

rm -rf "$work"
mkdir -p "$work" || exit 1
"case_$case_name"
echo passed
