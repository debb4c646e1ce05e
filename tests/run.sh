#!/usr/bin/env bash
# Builds Synfire and runs its tests. The last line is "N passed, N failed".
#
#   tests/run.sh               shows that the library works on this machine: every test, the languages, the installation, the demo
#   tests/run.sh quick         for the inner loop: checks what has changed, builds build/dev, runs its quick tests
#   tests/run.sh all           adds other compilers, processors, sanitizers and the documentation, as continuous integration does
#   tests/run.sh STEP...       only these steps
#   tests/run.sh --list        the steps and what each one shows
#
# Installs what its steps need and what is missing (Debian packages, as root), or says what to install. Two steps run side
# by side where there are two processors or more: SYNFIRE_LANES=1 runs one after the other. SYNFIRE_MINUTES=N begins no step
# that is expected to end later than N minutes after the start, and reports what it leaves out.
#
# This script has the steps and the counting. The tests themselves are CTest tests in the subfolders; their labels, which
# say in which step they run, are in tests/Labels.cmake. Tests on a GPU have their own command, tests/gpu/run.sh.
set -u

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 1
cd "$root" || exit 1
export LC_ALL=C.UTF-8 CTEST_OUTPUT_ON_FAILURE=1
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
jobs=$(nproc 2>/dev/null || echo 2)
logs=$root/build/logs

passed=0
failed=0
skips=()      # what was not tested, reported before the last line
warnings=()

# In the order in which they are started: long ones first.
default_steps=(setup test bindings demo install)
all_steps=(setup test scripts windows clang tsan asan bindings aarch64 demo docs threading install evidence)
quick_steps=(scripts dev)
declare -A step_text=(
  [setup]="installs what the other steps need (Debian packages, as root), or lists what is missing"
  [scripts]="shell and Python scripts pass their linters; C, C++ and CUDA code passes clang-format, C and C++ code in every folder clang-tidy"
  [test]="g++ build; every test. With CUDA if a toolkit is found (and, in the default size, a GPU)"
  [dev]="the developers' build in build/dev, with warnings as errors; a sample of each test but the slow ones"
  [threading]="the host backend on OpenMP and on one thread; the tests of what runs on threads"
  [clang]="clang build, host only, each file by itself; the tests of what the compiler computes, texts compiled at run time, fuzzers"
  [aarch64]="cross-compiled for 64-bit Arm and run under QEMU: the same bits, the golden cases, the mathematics, the C ABI's numbers"
  [windows]="cross-compiled for 64-bit Windows and run under Wine: the same bits, the C ABI, files, threads, synfire.hpp, hear"
  [asan]="AddressSanitizer and UndefinedBehaviorSanitizer; the tests of every part"
  [tsan]="ThreadSanitizer; the tests of objects that several threads use"
  [docs]="the documentation builds without a warning; every function states its contract"
  [install]="a C program finds the installed library with CMake and pkg-config, or builds it with FetchContent"
  [bindings]="the bindings' generated files are up to date; the tests of each language pass; packages install from an empty folder"
  [demo]="the demo command, in a copy of the sources without any build folder"
  [evidence]="warns if more than comments of GPU code have changed since the last recorded run on a GPU"
)
# Steps that must have ended before.
declare -A step_needs=([install]="test" [bindings]="test windows" [threading]="test" [asan]="test")
# Seconds on one processor, from nothing: what is left is estimated from them (docs/pages/test-times.md).
declare -A step_seconds=([setup]=90 [test]=2130 [dev]=200 [windows]=560 [asan]=1100 [scripts]=640 [clang]=790 [bindings]=620
  [tsan]=800 [aarch64]=410 [demo]=300 [docs]=150 [threading]=150 [install]=130 [evidence]=5)

# ---- Counting and logging --------------------------------------------------------------------------------------------

step=""       # the running step; its output goes to $logs/$step.log

say() { printf '%s\n' "$*"; }
skip() { skips+=("$step: $*"); say "    SKIPPED: $*"; }
warn() { warnings+=("$step: $*"); say "    WARNING: $*"; }

# The end of a failing command's output, without the lines of CTest's passed tests.
show_log() {
  say "    ---- $1 (last lines) ----"
  grep -vE '^ *Start +[0-9]+: | Passed +[0-9.]+ sec$' "$1" | tail -n 150 | sed 's/^/    | /'
  say "    ----"
}

# run LOG COMMAND...: the command's output goes to LOG; its status is returned.
run() {
  local log=$1
  shift
  { printf '$'; printf ' %q' "$@"; printf '\n'; } >"$log"
  "$@" >>"$log" 2>&1 </dev/null
}

# check NAME COMMAND...: one counted check.
check() {
  local name=$1 log
  shift
  log=$logs/$step-${name//[^A-Za-z0-9]/_}.log
  if run "$log" "$@"; then
    passed=$((passed + 1))
    say "    ok: $name"
    return 0
  fi
  failed=$((failed + 1))
  say "    FAILED: $name"
  show_log "$log"
  return 1
}

# run_ctest BUILD_DIR CTEST_ARGUMENTS...: counts each test of CTest's summary; "Not run" counts as failed. One test more than
# there are processors for it, because many wait: for clocks, time-outs, threads of others.
run_ctest() {
  local build=$1 log=$logs/$step-ctest.log status=0 summary total bad skipped
  shift
  run "$log" ctest --test-dir "$build" -j "$((jobs + 1))" --no-tests=error "$@" || status=$?
  summary=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$log" | tail -n 1)
  if [ -z "$summary" ]; then
    failed=$((failed + 1))
    say "    FAILED: ctest ran no test"
    show_log "$log"
    return 1
  fi
  bad=$(sed -E 's/.*passed, ([0-9]+) tests? failed.*/\1/' <<<"$summary")
  total=$(sed -E 's/.*out of ([0-9]+).*/\1/' <<<"$summary")
  if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
    bad=1
    total=$((total + 1))
  fi
  passed=$((passed + total - bad))
  failed=$((failed + bad))
  say "    ctest: $((total - bad)) passed, $bad failed"
  skipped=$(sed -nE 's/^[[:space:]]*[0-9]+ - (.*) \((Skipped|Disabled)\)$/\1/p' "$log" | paste -sd ' ')
  if [ -n "$skipped" ]; then skip "tests that skipped themselves: $skipped"; fi
  if [ "$bad" -gt 0 ]; then show_log "$log"; fi
  [ "$bad" -eq 0 ]
}

# ---- Building --------------------------------------------------------------------------------------------------------

# The generator of an existing build folder, else Ninja if it is found, else CMake's default.
generator_of() {
  local cache=$1/CMakeCache.txt
  if [ -f "$cache" ]; then
    sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$cache"
  elif command -v ninja >/dev/null 2>&1; then
    echo Ninja
  else
    echo "Unix Makefiles"
  fi
}

# A Python that has NumPy, which need not be the first one on the path.
python_with_numpy() {
  local candidate
  for candidate in "$(command -v python3)" /usr/bin/python3; do
    if [ -x "$candidate" ] && "$candidate" -c 'import numpy' >/dev/null 2>&1; then
      echo "$candidate"
      return 0
    fi
  done
  return 1
}

# configure_and_build DIR TARGET CMAKE_ARGUMENTS...
configure_and_build() {
  local dir=$1 target=$2
  shift 2
  cmake -G "$(generator_of "$dir")" "$@" -B "$dir" && cmake --build "$dir" --target "$target" --parallel "$jobs"
}

# build_preset PRESET DIR CMAKE_ARGUMENTS...: configures and builds PRESET in build/DIR; counted as one check.
build_preset() {
  local preset=$1 dir=build/$2 python
  shift 2
  if python=$(python_with_numpy); then set -- "$@" "-DPython3_EXECUTABLE=$python"; fi
  check "build $dir" configure_and_build "$dir" "$([ "$preset" = docs ] && echo docs || echo all)" \
    --preset "$preset" "$@" || return 1
  grep -hE '^-- Synfire' "$logs/$step-build_${dir//[^A-Za-z0-9]/_}.log" | sed 's/^-- /    /'
}

# build_targets PRESET CMAKE_ARGUMENTS...: configures a preset and builds the targets that it names.
build_targets() {
  local preset=$1
  shift
  cmake -G "$(generator_of "build/$preset")" --preset "$preset" "$@" && cmake --build --preset "$preset" --parallel "$jobs"
}

have_cuda_toolkit() { command -v nvcc >/dev/null 2>&1 || [ -x /usr/local/cuda/bin/nvcc ]; }

# ---- Steps -----------------------------------------------------------------------------------------------------------

step_setup() {
  # tool or file that shows that a package is installed -> the Debian package
  local -a missing=() failed_packages=()
  need() {
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
  }
  need g++ command -v g++
  need cmake command -v cmake
  need make command -v make
  need ninja-build command -v ninja
  need ccache command -v ccache
  need pkg-config command -v pkg-config
  need binutils command -v readelf
  need libgtest-dev test -e /usr/include/gtest/gtest.h
  need nlohmann-json3-dev test -e /usr/include/nlohmann/json.hpp
  need python3-numpy python_with_numpy
  need file command -v file
  need git command -v git
  if wanted test dev; then
    need espeak-ng command -v espeak-ng # the tests of docs/examples/digits
    need love command -v love           # and of docs/examples/engines, whose game draws itself
    need xvfb command -v xvfb-run
    need xauth command -v xauth
    # The two MPIs of tests/ranks.
    need openmpi-bin command -v mpirun.openmpi
    need libopenmpi-dev command -v mpicc.openmpi
    need mpich command -v mpirun.mpich
    need libmpich-dev command -v mpicc.mpich
  fi
  if [ "$size" = all ]; then # the nodes of docs/examples/engines/ros; half a minute
    need ros-core command -v roslaunch
    need libroscpp-dev test -e /usr/include/ros/ros.h
    need libsensor-msgs-dev test -e /usr/include/sensor_msgs/LaserScan.h
    need libgeometry-msgs-dev test -e /usr/include/geometry_msgs/Twist.h
    need libdiagnostic-msgs-dev test -e /usr/include/diagnostic_msgs/DiagnosticArray.h
    need libmujoco-dev test -e /usr/include/mujoco/mujoco.h # docs/examples/engines/balance; half a minute
  fi
  if wanted bindings; then
    need dpkg-dev command -v dpkg-shlibdeps # the tests of packages
    need fakeroot command -v fakeroot
    need bindgen command -v bindgen
    need rustc test -x /usr/bin/rustc # the oldest supported Rust, in addition to a newer one on the path
    need cargo test -x /usr/bin/cargo
    need mono-mcs command -v mcs
    need mono-runtime command -v mono
    need luajit command -v luajit
    need python3-numpy /usr/bin/python3 -c 'import numpy'
    need python3-torch /usr/bin/python3 -c 'import torch'
    need python3-venv /usr/bin/python3 -c 'import venv, ensurepip'
  fi
  if wanted scripts; then
    need shellcheck command -v shellcheck
    need clang-format command -v clang-format
    need clang-tidy command -v clang-tidy
  fi
  if wanted scripts clang tsan; then need clang command -v clang++; fi
  if wanted clang tsan; then need libclang-rt-dev clang_has_tsan; fi
  if wanted docs; then
    need doxygen command -v doxygen
    need doxygen-awesome-css test -d /usr/share/doxygen-awesome-css
    need graphviz command -v dot
    need libjs-mathjax test -d /usr/share/javascript/mathjax
  fi
  if wanted aarch64 windows; then need googletest test -e /usr/src/googletest/CMakeLists.txt; fi
  if wanted aarch64; then
    need g++-aarch64-linux-gnu command -v aarch64-linux-gnu-g++
    need qemu-user command -v qemu-aarch64
  fi
  if wanted windows; then
    need g++-mingw-w64-x86-64-posix command -v x86_64-w64-mingw32-g++-posix
    need wine command -v wine
    need wine64 test -x /usr/lib/wine/wine64
  fi

  if [ ${#missing[@]} -eq 0 ]; then
    say "    nothing is missing"
  elif [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    skip "not installed (needs root and Debian's apt); install: ${missing[*]}"
  else
    say "    installing: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    run "$logs/setup-update.log" apt-get update || say "    apt-get update reported errors; continuing with the existing lists"
    if ! run "$logs/setup-install.log" apt-get install -y --no-install-recommends "${missing[@]}"; then
      # A name that this release does not have must not prevent the others from being installed.
      local package
      for package in "${missing[@]}"; do
        run "$logs/setup-install-$package.log" apt-get install -y --no-install-recommends "$package" ||
          failed_packages+=("$package")
      done
      [ ${#failed_packages[@]} -eq 0 ] || skip "could not be installed: ${failed_packages[*]}"
    fi
  fi

  if ! wanted bindings; then return; fi
  # No Debian release after bullseye has Julia: it is unpacked into its own folder, which needs no root.
  if ! bindings/julia/setup.sh --find >/dev/null 2>&1 && ! run "$logs/setup-julia.log" bindings/julia/setup.sh; then
    skip "no Julia found, and it could not be downloaded: $(tail -n 1 "$logs/setup-julia.log")"
  fi

  # Debian has Mono but no .NET: an SDK is unpacked into its own folder too.
  if ! bindings/csharp/setup.sh --find >/dev/null 2>&1 && ! run "$logs/setup-dotnet.log" bindings/csharp/setup.sh; then
    skip "no .NET SDK found, and it could not be downloaded: $(tail -n 1 "$logs/setup-dotnet.log")"
  fi
  if wanted windows && ! bindings/csharp/setup.sh --windows --find >/dev/null 2>&1 &&
    ! run "$logs/setup-dotnet-windows.log" bindings/csharp/setup.sh --windows; then
    skip "no .NET for Windows, and it could not be downloaded: $(tail -n 1 "$logs/setup-dotnet-windows.log")"
  fi
}

clang_links() {
  local dir status
  command -v clang++ >/dev/null 2>&1 || return 1
  dir=$(mktemp -d) || return 1
  echo 'int main() { return 0; }' >"$dir/probe.cpp"
  clang++ "$@" "$dir/probe.cpp" -o "$dir/probe" >/dev/null 2>&1 && "$dir/probe"
  status=$?
  rm -rf "$dir"
  return $status
}
clang_has_tsan() { clang_links -fsanitize=thread; }

step_scripts() {
  local -a scripts
  mapfile -t scripts < <(find tests docs cmake bindings .ci -type f \( -name '*.sh' -o -path .ci/run \) | sort)
  if command -v shellcheck >/dev/null 2>&1; then
    check "shellcheck" shellcheck "${scripts[@]}"
  else
    skip "shellcheck is not installed"
  fi
  mapfile -t scripts < <(find tests docs tools bindings -type f -name '*.py' | sort)
  check "python syntax" python3 -c 'import ast, sys
for path in sys.argv[1:]: ast.parse(open(path, encoding="utf-8").read(), path)' "${scripts[@]}"
  check "groups and cache of clang-tidy" python3 tests/tidy_test.py
  check_format
  check_tidy
}

# Versions other than Debian 12's break some lines differently and report other things, so they are not used.
is_version_14() { "$1" --version | grep -q ' version 14\.'; }

# Headers that record an older ABI must not change.
format_is_kept() {
  find include src capi tests tools docs bindings -type f -not -path 'tests/abi/synfire-*.h' \
    \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
    xargs -0 clang-format --dry-run -Werror
}
check_format() {
  if ! command -v clang-format >/dev/null 2>&1; then skip "clang-format is not installed"; return; fi
  if ! is_version_14 clang-format; then skip "clang-format: needs version 14, found $(clang-format --version)"; return; fi
  check "clang-format" format_is_kept
}

# Configured for clang, because clang-tidy does not know every option of g++. Nothing is compiled; what Python writes of the
# ABI for the tests is made. Includes the files of the CUDA backend if a toolkit is found.
configure_tidy() {
  cmake -G "$(generator_of build/tidy)" --preset test -B build/tidy -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DSYNFIRE_UNITY=ON -DSYNFIRE_BUILD_BINDINGS_TESTS=ON && cmake --build build/tidy --target synfire-abi-list
}
check_tidy() {
  if ! command -v clang-tidy >/dev/null 2>&1 || ! command -v clang++ >/dev/null 2>&1; then
    skip "clang-tidy or clang is not installed"
    return
  fi
  if ! is_version_14 clang-tidy; then skip "clang-tidy: needs version 14, found $(clang-tidy --version | grep version)"; return; fi
  check "clang-tidy: configure build/tidy" configure_tidy &&
    check "clang-tidy" python3 tests/tidy.py build/tidy && say "    $(tail -n 1 "$logs/$step-clang_tidy.log")"
}

# Warnings are errors where the project is developed; a user's compiler may know warnings that these do not.
strict() { if [ "$size" = default ]; then echo OFF; else echo ON; fi; }
# Where there is no GPU, nothing of the CUDA backend works on this machine: its kernels, half of the time to compile, and the
# fake device are left to the other sizes.
step_test() {
  local cuda=AUTO
  if [ "$size" = default ] && have_cuda_toolkit && ! nvidia-smi -L >/dev/null 2>&1; then
    cuda=OFF
    skip "the CUDA backend: this machine has no GPU (tests/run.sh test compiles it, and tests it on a fake device)"
  fi
  build_preset test test "-DSYNFIRE_WARNINGS_AS_ERRORS=$(strict)" "-DSYNFIRE_CUDA=$cuda" && run_ctest build/test -LE '^(install|threading)$'
}

# The build of a developer. Texts compiled at run time and other tests that take longest are left to the other sizes.
step_dev() {
  build_preset dev dev || return
  export SYNFIRE_TEST_SAMPLE=8
  run_ctest build/dev -LE '^(install|threading|slow)$'
}

# clang's warnings about every file are findings of clang-tidy (step scripts).
step_clang() {
  if ! command -v clang++ >/dev/null 2>&1; then skip "clang is not installed"; return; fi
  check "build build/clang" build_targets clang && run_ctest build/clang --preset clang
}

# The programs are those of step test, with other libraries.
step_threading() {
  if [ ! -f build/test/CMakeCache.txt ]; then build_preset test test || return; fi
  check "build the libraries of tests/threading" cmake --build build/test --parallel "$jobs" --target synfire-threading &&
    run_ctest build/test -L '^threading$'
}

# Emulation is slow, so the preset builds and runs only what depends on the processor.
step_aarch64() {
  if [ "$(uname -m)" = aarch64 ]; then skip "this machine is 64-bit Arm: the other steps have tested it"; return; fi
  if ! command -v aarch64-linux-gnu-g++ >/dev/null 2>&1 || ! command -v qemu-aarch64 >/dev/null 2>&1; then
    skip "g++-aarch64-linux-gnu or qemu-user is not installed"
    return
  fi
  check "build build/aarch64" build_targets aarch64 && run_ctest build/aarch64 --preset aarch64
}

# A new Wine prefix now and then fails or hangs.
make_wine_prefix() {
  local try
  for try in 1 2 3; do
    if timeout -k 10 120 wine wineboot --init; then return 0; fi
    say "wineboot: try $try failed"
    wineserver -k
    rm -rf "$WINEPREFIX"
  done
  return 1
}
# Wine's services run while any program does. One that waits keeps them, so that a test starts in 0.05 s instead of 2.4.
# Without it, one program in some runs hung for 145 s at its start; with it, none has.
step_windows() {
  if ! command -v x86_64-w64-mingw32-g++-posix >/dev/null 2>&1 || ! command -v wine >/dev/null 2>&1; then
    skip "g++-mingw-w64-x86-64-posix or wine is not installed"
    return
  fi
  local dotnet dotnet_windows
  if ! dotnet=$(bindings/csharp/setup.sh --find) || ! dotnet_windows=$(bindings/csharp/setup.sh --windows --find); then
    skip "C# for Windows: no .NET found (the setup step downloads it)"
  fi
  check "build build/windows" build_targets windows "-DSYNFIRE_DOTNET=$dotnet" "-DSYNFIRE_DOTNET_WINDOWS=${dotnet_windows:-}" ||
    return
  local -x WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml=" WINEPREFIX=$root/build/windows/wine
  check "a Wine prefix" make_wine_prefix || return
  coproc exec wine cmd /q >/dev/null 2>&1
  run_ctest build/windows --preset windows
  wineserver -k
}

# The programs that only know the C ABI are those of step test, if its build is there.
step_asan() {
  local programs=
  if [ -f build/test/CMakeCache.txt ]; then
    check "build the programs of build/test" cmake --build build/test --parallel "$jobs" --target synfire-capi-tests || return
    programs=$root/build/test/bin
  fi
  check "build build/asan" build_targets asan "-DSYNFIRE_TEST_PROGRAMS=$programs" && run_ctest build/asan --preset asan
}

step_tsan() {
  if ! clang_has_tsan; then
    skip "clang with ThreadSanitizer is not installed"
    return
  fi
  check "build build/tsan" build_targets tsan && run_ctest build/tsan --preset tsan
}

step_docs() {
  if ! command -v doxygen >/dev/null 2>&1; then skip "doxygen is not installed"; return; fi
  build_preset docs docs && run_ctest build/docs
}

step_install() {
  if [ ! -f build/test/CMakeCache.txt ]; then build_preset test test || return; fi
  run_ctest build/test -L '^install$'
}

# One host-only build serves every language and is what is packed; the compiler cache has its kernels from step test.
# Packages for CUDA and Windows are of the builds of steps before. If the tools of a language are missing, it is skipped
# with a message.
step_bindings() {
  local julia dotnet
  julia=$(bindings/julia/setup.sh --find) || skip "Julia: not found (the setup step downloads it)"
  dotnet=$(bindings/csharp/setup.sh --find) || skip "C# on .NET: no SDK found (the setup step downloads one)"
  command -v cargo >/dev/null 2>&1 || skip "Rust: cargo is not installed"
  command -v luajit >/dev/null 2>&1 || skip "Lua: luajit is not installed"
  /usr/bin/python3 -c 'import numpy, torch, ensurepip' 2>/dev/null || skip "Python: python3-numpy, python3-torch or python3-venv is not installed"
  if ! command -v mcs >/dev/null 2>&1 || ! command -v mono >/dev/null 2>&1; then
    skip "C# on Mono: mono-mcs or mono-runtime is not installed"
  fi
  [ "$size" = default ] || grep -qs '^CMAKE_CUDA_COMPILER:' build/test/CMakeCache.txt || skip "the CUDA package: build/test has no CUDA backend"
  [ "$size" = default ] || [ -f build/windows/CMakeCache.txt ] || skip "what is packed for Windows: there is no build/windows (step windows)"
  build_preset test bindings "-DSYNFIRE_WARNINGS_AS_ERRORS=$(strict)" -DSYNFIRE_CUDA=OFF -DSYNFIRE_BUILD_TESTS=OFF \
    -DSYNFIRE_BUILD_TOOLS=OFF -DSYNFIRE_BUILD_BINDINGS_TESTS=ON "-DSYNFIRE_JULIA=$julia" "-DSYNFIRE_DOTNET=$dotnet" \
    "-DSYNFIRE_PACKAGED_CUDA=$root/build/test" "-DSYNFIRE_PACKAGED_WINDOWS=$root/build/windows" &&
    run_ctest build/bindings -L '^(bindings|install)$'
}

# A fresh clone has only the committed files; this copy also has those that are not committed yet.
step_demo() {
  local copy
  copy=$(mktemp -d) || return
  if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard |
      tar -cf - --null --files-from=- --ignore-failed-read 2>/dev/null | tar -xf - -C "$copy"
  else
    tar -cf - --exclude=./build . | tar -xf - -C "$copy"
  fi
  # With the flags and the generator of step `test`, most CUDA files, and parts of the host's, are in the compiler cache.
  local -x CMAKE_GENERATOR CCACHE_BASEDIR=$copy SYNFIRE_WARNINGS_AS_ERRORS
  CMAKE_GENERATOR=$(generator_of "$copy/build/demo")
  SYNFIRE_WARNINGS_AS_ERRORS=$(strict)
  if check "cmake --workflow --preset demo" env -C "$copy" cmake --workflow --preset demo; then
    sed -n '/demo-run/,$p' "$logs/demo-cmake___workflow___preset_demo.log" | tail -n 40 | sed 's/^/    | /'
    check "it leaves raster.svg" test -s "$copy/build/demo/raster.svg"
    check "it leaves spikes.npy" test -s "$copy/build/demo/spikes.npy"
  fi
  if [ "$size" != default ]; then demo_with_few_kernels "$copy"; fi
  rm -rf "$copy"
}

# Without a GPU, the example runs on the host.
demo_with_few_kernels() {
  local copy=$1
  if ! command -v nvcc >/dev/null 2>&1 && [ ! -x /usr/local/cuda/bin/nvcc ]; then skip "demo-gpu: no CUDA toolkit"; return; fi
  check "cmake --workflow --preset demo-gpu" env -C "$copy" cmake --workflow --preset demo-gpu || return
  check "it has the kernels of f32, lif and li, and no others" only_kernels_of \
    "$copy/build/demo-gpu/lib/libsynfire0.so" 'Lif|Li' 'float|synfire::cuda::AnyStorage'
}

# Symbols of a library's neuron kernels name model (by itself or with rules), surrogate and storage: there are some, and
# all are of these.
only_kernels_of() {
  local library=$1 storages=$3 kernels
  local models="$2|Ruled<synfire::model::cuda::($2)>"
  kernels=$(nm -C "$library" | sed -nE 's/.*::(forward|backward|linear_backward)<(synfire::model::cuda::.*)/\2/p' | sort -u)
  printf '%s\n' "$kernels"
  grep -qE '^synfire::model::cuda::' <<<"$kernels" &&
    ! grep -qvE "^synfire::model::cuda::($models), (.*Surrogate, |synfire::model::cuda::[A-Za-z]+, )?($storages)," <<<"$kernels"
}

step_evidence() {
  local evidence=docs/evidence/gpu.json now tested commit
  if [ ! -f "$evidence" ]; then
    warn "$evidence is missing: the GPU code has no recorded run on a GPU (tests/gpu/run.sh creates it)"
    return
  fi
  now=$(tests/gpu/run.sh --hash)
  tested=$(sed -n 's/.*"gpu_sources_sha256": *"\([0-9a-f]*\)".*/\1/p' "$evidence")
  commit=$(sed -n 's/.*"commit": *"\([^"]*\)".*/\1/p' "$evidence" | head -n 1)
  if [ "$now" != "$tested" ] && tests/gpu/same_code.sh "$commit" "$tested"; then now=$tested; fi
  if [ "$now" = "$tested" ] && ! grep -q '^  "green": true' "$evidence"; then
    warn "the recorded run on a GPU, at commit $commit, is not whole or has failures: run tests/gpu/run.sh"
  elif [ "$now" = "$tested" ]; then
    say "    the sources that run on a GPU are as tested there at commit $commit, comments apart"
  else
    warn "sources that run on a GPU (tests/gpu/run.sh --sources) have changed since commit $commit, the last one tested there: run tests/gpu/run.sh"
  fi
}

# ---- Running steps ---------------------------------------------------------------------------------------------------

# Succeeds if one of these steps is among those of this run.
wanted() {
  local name other
  for name in "$@"; do
    for other in "${selected[@]}"; do
      if [ "$name" = "$other" ]; then return 0; fi
    done
  done
  return 1
}

# processor_seconds PID: seconds of processor time of that shell and of what it has run.
processor_seconds() { awk '{ print int(($14 + $15 + $16 + $17) / 100) }' "/proc/$1/stat" 2>/dev/null || echo 0; }

# run_step NAME: in a shell of its own. Its counts, skips and warnings go to a file, which collect() reads.
run_step() {
  step=$1
  passed=0
  failed=0
  skips=()
  warnings=()
  local begin=$SECONDS shell=$BASHPID
  say ""
  say "==> $step: ${step_text[$step]}"
  "step_$step"
  say "<== $step: $passed passed, $failed failed, $((SECONDS - begin)) s, $(processor_seconds "$shell") s of processor time"
  {
    printf 'counts\t%s\t%s\n' "$passed" "$failed"
    if [ ${#skips[@]} -gt 0 ]; then printf 'skip\t%s\n' "${skips[@]}"; fi
    if [ ${#warnings[@]} -gt 0 ]; then printf 'warning\t%s\n' "${warnings[@]}"; fi
  } >"$logs/$step.result"
}

# collect NAME: adds what a step has counted. A step that left no counts has failed.
collect() {
  local kind first second counted=no
  while IFS=$'\t' read -r kind first second; do
    case $kind in
      counts)
        passed=$((passed + first))
        failed=$((failed + second))
        counted=yes ;;
      skip) skips+=("$first") ;;
      warning) warnings+=("$first") ;;
    esac
  done < <(cat "$logs/$1.result" 2>/dev/null)
  if [ "$counted" = no ]; then
    failed=$((failed + 1))
    say "    FAILED: step $1 did not come to its end"
  fi
}

# Prints how long the steps that have not ended are expected to take, scaled by how long the ended ones took.
minutes_left() {
  local name expected=0 known=0 took=0
  for name in "${selected[@]}"; do
    case ${state[$name]} in
      waiting) expected=$((expected + step_seconds[$name])) ;;
      running)
        expected=$((expected + step_seconds[$name] - (SECONDS - started[$name] < step_seconds[$name] ? SECONDS - started[$name] : step_seconds[$name]))) ;;
      ended)
        if [ "$name" != setup ]; then
          known=$((known + step_seconds[$name]))
          took=$((took + ${seconds_of[$name]}))
        fi ;;
    esac
  done
  if [ $known -gt 0 ]; then expected=$((expected * took / known)); fi
  echo $(((expected / lanes + 59) / 60))
}

# The steps that can begin: their predecessors have ended.
ready_steps() {
  local name need
  for name in "${selected[@]}"; do
    [ "${state[$name]}" = waiting ] || continue
    for need in setup ${step_needs[$name]:-}; do
      if [ "$need" != "$name" ] && [ -n "${state[$need]:-}" ] && [[ ${state[$need]} != @(ended|left_out) ]]; then continue 2; fi
    done
    echo "$name"
  done
}
next_step() { ready_steps | head -n 1; }

# expected_seconds NAME: of a step on its lane, scaled by how long the ended ones took.
expected_seconds() {
  local name known=0 took=0
  for name in "${!seconds_of[@]}"; do
    if [ "$name" = setup ]; then continue; fi
    known=$((known + step_seconds[$name]))
    took=$((took + seconds_of[$name]))
  done
  echo $((known > 0 ? step_seconds[$1] * took / known : step_seconds[$1]))
}

# Leaves out the steps that would end too late.
leave_out_late_steps() {
  local name
  [ -n "${SYNFIRE_MINUTES:-}" ] || return 0
  for name in "${selected[@]}"; do
    [ "${state[$name]}" = waiting ] || continue
    if [ $((SECONDS - begin + $(expected_seconds "$name"))) -gt $((60 * SYNFIRE_MINUTES)) ]; then
      state[$name]=left_out
      skips+=("$name: not begun, because it would end later than SYNFIRE_MINUTES=$SYNFIRE_MINUTES minutes after the start")
    fi
  done
}

# Processors for a step that begins: its share, or all of them if what can run beside it takes less than half as long.
jobs_of() {
  local name beside=0
  for name in $(ready_steps); do beside=$((beside + step_seconds[$name])); done
  for name in "${selected[@]}"; do
    if [ "${state[$name]}" = running ] && [ "$name" != "$1" ]; then beside=$((beside + step_seconds[$name])); fi
  done
  echo $((2 * beside < step_seconds[$1] ? all_jobs : jobs))
}

# ---- Main ------------------------------------------------------------------------------------------------------------

size=steps # default, quick, all, or steps by their names
case ${1:-} in
  --list)
    for name in "${all_steps[@]}" dev; do printf '%-10s %s\n' "$name" "${step_text[$name]}"; done
    printf '\n%-10s %s\n' default "${default_steps[*]}" quick "${quick_steps[*]}" all "${all_steps[*]}"
    exit 0 ;;
  -h | --help)
    sed -n '2,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0 ;;
  "")
    size=default selected=("${default_steps[@]}")
    if ! nvidia-smi -L >/dev/null 2>&1; then step_seconds[test]=1300; fi ;;
  all) size=all selected=("${all_steps[@]}") ;;
  quick) size=quick selected=("${quick_steps[@]}") step_seconds[scripts]=70 ;; # what has changed
  *) selected=("$@") ;;
esac
if [ "$size" != steps ] && [ $# -gt 1 ]; then
  say "'$1' takes no steps after it" >&2
  exit 2
fi
declare -A state=() started=() seconds_of=() step_of=()
for name in "${selected[@]}"; do
  if [ -z "${step_text[$name]:-}" ]; then
    say "unknown step '$name'; the steps are: ${all_steps[*]} dev" >&2
    exit 2
  fi
  state[$name]=waiting
done

mkdir -p "$logs"
lanes=${SYNFIRE_LANES:-$((jobs > 1 && ${#selected[@]} > 1 ? 2 : 1))}
all_jobs=$jobs
jobs=$(((all_jobs + lanes - 1) / lanes))
say "Steps: ${selected[*]}. About $(minutes_left) minutes with an empty compiler cache on two processors; logs are in build/logs."
trap 'trap - INT TERM; kill 0' INT TERM

begin=$SECONDS
running=0
while :; do
  leave_out_late_steps
  while [ $running -lt "$lanes" ] && name=$(next_step) && [ -n "$name" ]; do
    rm -f "$logs/$name.result"
    state[$name]=running
    started[$name]=$SECONDS
    if [ "$lanes" -gt 1 ]; then say "$(date +%H:%M) $name began; about $(minutes_left) minutes are left"; fi
    (
      jobs=$(jobs_of "$name")
      if [ "$lanes" -gt 1 ]; then run_step "$name" >"$logs/$name.out" 2>&1; else run_step "$name"; fi
    ) </dev/null &
    step_of[$!]=$name
    running=$((running + 1))
  done
  [ $running -gt 0 ] || break
  wait -n -p ended
  running=$((running - 1))
  name=${step_of[$ended]}
  state[$name]=ended
  seconds_of[$name]=$((SECONDS - started[$name]))
  if [ "$lanes" -gt 1 ]; then cat "$logs/$name.out"; fi
  collect "$name"
done

say ""
say "All steps took $(((SECONDS - begin) / 60)) min $(((SECONDS - begin) % 60)) s; their logs are in build/logs."
if [ ${#skips[@]} -gt 0 ]; then
  say ""
  say "!!! SKIPPED, so not tested:"
  printf '!!!   %s\n' "${skips[@]}"
fi
if [ ${#warnings[@]} -gt 0 ]; then
  say ""
  say "!!! WARNINGS:"
  printf '!!!   %s\n' "${warnings[@]}"
fi
say ""
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
