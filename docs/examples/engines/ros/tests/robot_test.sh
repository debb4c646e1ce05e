#!/bin/sh
# robot_test.sh - runs the program and its nodes as a user would and checks their output:
#
#     robot_test.sh CASE ROBOT BRAIN PACKAGE WORK
#
# There is one function per case. BRAIN is the trained network, PACKAGE the folder of the nodes, WORK a folder that is
# emptied first. Exit status: 0 passed, 77 skipped (ROS is missing), otherwise failed.
#
# SPDX-License-Identifier: MIT
set -u
case_name=$1
robot=$2
brain=$3
package=$4
work=$5

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

# Runs the program. Its exit status is in $status, its output in robot.out and robot.err.
run() {
  "$robot" "$@" >"$work/robot.out" 2>"$work/robot.err"
  status=$?
}

run_well() {
  run "$@"
  [ "$status" -eq 0 ] || fail "exit status $status of: robot $*"
}

refused() { # STATUS MESSAGE ARGUMENT...
  expected=$1
  message=$2
  shift 2
  run "$@"
  [ "$status" -eq "$expected" ] || fail "exit status $status, not $expected, of: robot $*"
  grep -q -e "$message" "$work/robot.err" || fail "no '$message' on stderr of: robot $*"
}

has() {
  grep -q -e "$2" "$work/$1" || fail "no '$2' in $1"
}

case_options() {
  run_well --help
  has robot.out '^usage: robot train FILE'
  refused 2 'robot: no task'
  refused 2 'robot: allowed: train, drive, pace' fly
  refused 2 'robot: no FILE' drive
  refused 2 'robot: --svg: needs a value' drive "$brain" --svg
  refused 2 'robot: --epochs: unknown option of this task' drive "$brain" --epochs 3
  refused 2 'robot: --epochs 0: allowed: an integer from 1 to 10000' train "$work/brain.safetensors" --epochs 0
  refused 2 'robot: --rate 1001: allowed: an integer from 1 to 1000' pace "$brain" --rate 1001
  refused 2 'robot: --seed x: allowed: an integer from 0 to 900000' drive "$brain" --seed x
}

# Files that are missing, cut, or of another network; a picture where there is no folder.
case_files() {
  refused 1 'SYN-' drive "$work/missing.safetensors"
  head -c 1000 "$brain" >"$work/cut.safetensors"
  refused 1 'SYN-' drive "$work/cut.safetensors"
  refused 1 'digits.safetensors: the network does not read the 61 numbers of a scan and write the 2 of a command' drive "$(dirname "$brain")/../../hear/digits.safetensors"
  refused 1 'missing/paths.svg: ' drive "$brain" --drives 1 --svg "$work/missing/paths.svg"
  refused 1 'missing/brain.safetensors' train "$work/missing/brain.safetensors" --epochs 1 --drives 1 --threads 1
}

# A few steps of training give the same bytes on one thread and on three, and the weights that every machine learns.
case_learn() {
  for threads in 1 3; do
    run_well train "$work/$threads.safetensors" --epochs 2 --drives 2 --threads "$threads"
    has robot.out '^weights      hash 694668142ec92953$'
  done
  cmp "$work/1.safetensors" "$work/3.safetensors" || fail "one thread and three have learnt other networks"
}

# Ten rooms that the training has not seen, in stepped time; the same twice, to the byte.
case_drive() {
  for time in first second; do
    run_well drive "$brain" --drives 10 --seed 1001 --svg "$work/$time.svg"
    has robot.out '^arrived  *\(9\|10\) of 10$'
    mv "$work/robot.out" "$work/$time.out"
  done
  cmp "$work/first.out" "$work/second.out" || fail "the drives differ"
  cmp "$work/first.svg" "$work/second.svg" || fail "the pictures differ"
  cmp "$work/first.svg" "$(dirname "$brain")/../../../images/robot.svg" || fail "the picture of the pages is another one"
}

# The loop by the clock: about two hundred steps a second, of which the machine may make some late.
case_pace() {
  run_well pace "$brain" --seconds 2
  steps=$(sed -n 's/^steps  *\([0-9]*\),.*/\1/p' "$work/robot.out")
  if [ "$steps" -lt 380 ] || [ "$steps" -gt 405 ]; then fail "$steps steps in two seconds, not about 400"; fi
  has robot.out '^drives  *0 arrived, 0 touched a wall$'
  has robot.out '^due->done  *p50 [0-9.]* us, p99 [0-9.]* us, max [0-9.]* us$'
}

# ---- With ROS, on the loopback --------------------------------------------------------------------------------------

stop_roscore() {
  kill "$roscore" 2>/dev/null
  wait "$roscore" 2>/dev/null
}

need_ros() {
  if [ ! -x "$package/pilot" ] || ! command -v roslaunch >/dev/null 2>&1 || ! command -v roscore >/dev/null 2>&1; then
    echo "SKIPPED: there is no ROS, so the nodes have not been run (ros-core, libroscpp-dev, libsensor-msgs-dev," \
      "libgeometry-msgs-dev, libdiagnostic-msgs-dev)"
    exit 77
  fi
  port=$((20000 + $$ % 20000))
  ROS_MASTER_URI=http://127.0.0.1:$port
  ROS_PACKAGE_PATH=$(dirname "$package")
  ROS_IP=127.0.0.1
  ROS_HOME=$work/ros
  export ROS_MASTER_URI ROS_PACKAGE_PATH ROS_IP ROS_HOME
  trap stop_roscore EXIT
  roscore -p "$port" >"$work/roscore.out" 2>&1 &
  roscore=$!
}

case_ros() {
  need_ros
  timeout 100 roslaunch --wait synfire_robot robot.launch "seed:=1022" >"$work/roslaunch.out" 2>&1 ||
    fail "exit status $? of roslaunch"
  has roslaunch.out 'arrived after [0-9.]* s$'
  has roslaunch.out '^[1-9][0-9]* steps, [0-9]* late$'
  has roslaunch.out '^pilot: loop: steps [1-9][0-9]*$'
  has roslaunch.out '^pilot: loop: late steps [0-9]*$'
  for key in 'steps without a fresh scan' 'latency p50 (us)' 'latency p99 (us)' 'latency max (us)'; do
    has roslaunch.out "^pilot: loop: $key [0-9.]*\$"
  done
}

node_refused() { # MESSAGE PARAMETER...
  message=$1
  shift
  timeout 60 "$package/pilot" "$@" >"$work/pilot.out" 2>&1 && fail "exit status 0 of: pilot $*"
  has pilot.out "$message"
}

# The node refuses, and ends with an error: no file, a file of another network, a rate, a laser with other beams.
case_ros_refused() {
  need_ros
  node_refused 'the parameter ~network is missing'
  node_refused 'digits.safetensors: the network does not read the 61 numbers of a scan' "_network:=$(dirname "$brain")/../../hear/digits.safetensors"
  node_refused 'a rate of 2000.000000; allowed: 1 to 1000 steps per second' "_network:=$brain" _rate:=2000.0
  timeout 60 roslaunch --wait synfire_robot robot.launch "beams:=60" >"$work/roslaunch.out" 2>&1
  has roslaunch.out 'the scan has 60 beams from -2.094395 rad on, 0.069813 apart; the network reads 61'
}

rm -rf "$work"
mkdir -p "$work" || exit 1
"case_$case_name"
echo "passed"
