#!/usr/bin/env bash
# Runs all tests: installs what is missing, builds and tests. The last line is "N passed, N failed".
#
#   tests/run.sh               every step
#   tests/run.sh STEP...       only these
#   tests/run.sh --list        the steps and what each one shows
#
# This script has the steps and the counting. The tests themselves are CTest tests in the subfolders. Tests on a GPU
# have their own command, tests/gpu/run.sh.
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

step_names=(setup scripts dev clang thrust openmp serial aarch64 windows bits asan tsan docs install bindings demo evidence)
declare -A step_text=(
  [setup]="installs what the other steps need (Debian packages, as root), or lists what is missing"
  [scripts]="shell and Python scripts pass their linters; C, C++ and CUDA code passes clang-format, C and C++ code in every folder clang-tidy"
  [dev]="g++ build with warnings as errors, with CUDA if a toolkit is found; every test"
  [clang]="clang build, host only; the tests of what the compiler computes and of texts that are loaded at run time"
  [thrust]="host-only build, thread pool through Thrust's algorithms; the tests of what runs on threads"
  [openmp]="host-only build with OpenMP instead of the thread pool; the tests of what runs on threads"
  [serial]="host-only build with one thread; the tests of what runs on threads"
  [aarch64]="cross-compiled for 64-bit Arm and run under QEMU: the same bits, the golden cases, the mathematics"
  [windows]="cross-compiled for 64-bit Windows and run under Wine: the same bits, the C ABI, the golden cases, synfire.hpp, hear"
  [bits]="all builds above print the same hashes of spikes, potentials and gradients"
  [asan]="AddressSanitizer and UndefinedBehaviorSanitizer; the tests of every part"
  [tsan]="ThreadSanitizer; the tests of what runs on threads"
  [docs]="the documentation builds without a warning; every function states its contract"
  [install]="a C program finds the installed library with CMake and pkg-config, or builds it with FetchContent"
  [bindings]="the bindings' generated files are up to date; the tests of each language pass; packages install from an empty folder"
  [demo]="the demo command, in a copy of the sources without any build folder"
  [evidence]="warns if more than comments of GPU code have changed since the last recorded run on a GPU"
)

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

# run_ctest BUILD_DIR CTEST_ARGUMENTS...: counts each test of CTest's summary; "Not run" counts as failed.
run_ctest() {
  local build=$1 log=$logs/$step-ctest.log status=0 summary total bad skipped
  shift
  run "$log" ctest --test-dir "$build" -j "$jobs" --no-tests=error "$@" || status=$?
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

# Programs whose results could depend on how the library's threads are made.
thread_programs=(synfire-bits synfire-golden synfire-core-tests synfire-capi-tests synfire-capi-c89)

# build_and_test_threads NAME TESTS CMAKE_ARGUMENTS...: preset dev, host only, in build/NAME, of these programs; their
# tests that match TESTS. The rest of the code is that of dev and clang, in fewer files.
build_and_test_threads() {
  local name=$1 tests=$2
  shift 2
  check "build build/$name" build_programs "$name" dev "${thread_programs[@]}" synfire-fork-test -- "$@" &&
    run_ctest "build/$name" -R "$tests"
}
# Tests of what several threads compute together.
threaded_tests='^(host\.(bits_default_|fork$)|core\.|golden\.f|capi\.(.*(Thread|JobSystem|Native|Callback|Lifetime|InFlight|Busy)|ForwardBackward|Graphs|Gradient|Synapse|Network|Learn|Loss|Optimizer))'
# build_programs NAME PRESET PROGRAM... -- CMAKE_ARGUMENTS...
build_programs() {
  local name=$1 preset=$2 dir=build/$1
  local -a programs=()
  shift 2
  while [ "$1" != -- ]; do
    programs+=("$1")
    shift
  done
  shift
  cmake -G "$(generator_of "$dir")" --preset "$preset" -B "$dir" -DSYNFIRE_CUDA=OFF -DSYNFIRE_UNITY=ON "$@" &&
    cmake --build "$dir" --parallel "$jobs" --target "${programs[@]}"
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
  need clang command -v clang++
  need libclang-rt-dev clang_has_tsan
  need doxygen command -v doxygen
  need doxygen-awesome-css test -d /usr/share/doxygen-awesome-css
  need graphviz command -v dot
  need libjs-mathjax test -d /usr/share/javascript/mathjax
  need python3-numpy python_with_numpy
  need shellcheck command -v shellcheck
  need clang-format command -v clang-format
  need clang-tidy command -v clang-tidy
  need g++-aarch64-linux-gnu command -v aarch64-linux-gnu-g++
  need qemu-user command -v qemu-aarch64
  need g++-mingw-w64-x86-64-posix command -v x86_64-w64-mingw32-g++-posix
  need wine command -v wine
  need wine64 test -x /usr/lib/wine/wine64
  need googletest test -e /usr/src/googletest/CMakeLists.txt
  if ! have_cuda_toolkit; then need libthrust-dev test -d /usr/include/thrust; fi
  need espeak-ng command -v espeak-ng # the tests of docs/examples/digits
  need dpkg-dev command -v dpkg-shlibdeps # the tests of packages
  need fakeroot command -v fakeroot
  need file command -v file
  need git command -v git
  need bindgen command -v bindgen
  need rustc test -x /usr/bin/rustc # the oldest supported Rust, in addition to a newer one on the path
  need cargo test -x /usr/bin/cargo
  need mono-mcs command -v mcs
  need mono-runtime command -v mono

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

  # No Debian release after bullseye has Julia: it is unpacked into its own folder, which needs no root.
  if ! bindings/julia/setup.sh --find >/dev/null 2>&1 && ! run "$logs/setup-julia.log" bindings/julia/setup.sh; then
    skip "no Julia found, and it could not be downloaded: $(tail -n 1 "$logs/setup-julia.log")"
  fi

  # Debian has Mono but no .NET: an SDK is unpacked into its own folder too.
  if ! bindings/csharp/setup.sh --find >/dev/null 2>&1 && ! run "$logs/setup-dotnet.log" bindings/csharp/setup.sh; then
    skip "no .NET SDK found, and it could not be downloaded: $(tail -n 1 "$logs/setup-dotnet.log")"
  fi
  if ! bindings/csharp/setup.sh --windows --find >/dev/null 2>&1 &&
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

# Configured for clang, because clang-tidy does not know every option of g++; nothing is compiled. Includes the files of
# the CUDA backend if a toolkit is found.
configure_tidy() {
  cmake -G "$(generator_of build/tidy)" --preset test -B build/tidy -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DSYNFIRE_UNITY=ON -DSYNFIRE_BUILD_BINDINGS_TESTS=ON
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

step_dev() { build_preset dev dev && run_ctest build/dev -LE '^install$'; }

# clang's warnings about every file are findings of clang-tidy (step scripts).
step_clang() {
  if ! command -v clang++ >/dev/null 2>&1; then skip "clang is not installed"; return; fi
  check "build build/clang" build_programs clang dev "${thread_programs[@]}" synfire-fork-test synfire-model-tests synfire-jit-tests \
    synfire-fuzz -- -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ &&
    run_ctest build/clang \
      -R '^(host\.(bits_|fork$)|core\.|model\.|capi\.|golden\.(f|b)|files\.fuzz_|jit\.(Loaded|LoadRefused\.(Members|Mistakes)))' \
      -E '^jit\.Loaded\.(ACheckFindsMistakes|TakesEverySurrogate)'
}

step_thrust() {
  if ! have_cuda_toolkit && [ ! -d /usr/include/thrust ]; then skip "no Thrust: neither a CUDA toolkit nor libthrust-dev"; return; fi
  build_and_test_threads thrust "$threaded_tests" -DSYNFIRE_HOST_PARALLEL=THRUST
}
step_openmp() { build_and_test_threads openmp "$threaded_tests" -DSYNFIRE_HOST_PARALLEL=OPENMP; }
# Its kernels are this machine's alone, as in the demo.
step_serial() {
  build_and_test_threads serial '^(host\.(bits_|fork$)|core\.|capi\.|golden\.(f|b))' -DSYNFIRE_HOST_PARALLEL=NONE -DSYNFIRE_HOST_LEVELS=NATIVE
}

# Emulation is slow, so the presets build and run only what depends on the architecture: bits, mathematics, golden
# cases, the floating-point control register, and gradients and graphs through the ABI.
build_aarch64() {
  cmake -G "$(generator_of build/aarch64)" --preset aarch64 && cmake --build --preset aarch64 --parallel "$jobs"
}
step_aarch64() {
  if [ "$(uname -m)" = aarch64 ]; then skip "this machine is 64-bit Arm: the other steps have tested it"; return; fi
  if ! command -v aarch64-linux-gnu-g++ >/dev/null 2>&1 || ! command -v qemu-aarch64 >/dev/null 2>&1; then
    skip "g++-aarch64-linux-gnu or qemu-user is not installed"
    return
  fi
  check "build build/aarch64" build_aarch64 && run_ctest build/aarch64 --preset aarch64
}

# The whole library as shipped; of the tests, those that a program for Windows can run by itself.
build_windows() {
  cmake -G "$(generator_of build/windows)" --preset windows "$@" && cmake --build --preset windows --parallel "$jobs"
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
  check "build build/windows" build_windows "-DSYNFIRE_DOTNET=$dotnet" "-DSYNFIRE_DOTNET_WINDOWS=${dotnet_windows:-}" ||
    return
  local -x WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml=" WINEPREFIX=$root/build/windows/wine
  check "a Wine prefix" make_wine_prefix || return
  coproc exec wine cmd /q >/dev/null 2>&1
  run_ctest build/windows --preset windows
  wineserver -k
}

# synfire-bits prints one hash per case. CTest compares it with the record at every instruction level and thread count,
# in each of these builds. Here the builds are compared with one another, without the record.
step_bits() {
  local name hashes reference="" reference_name=""
  for name in dev clang thrust openmp serial; do
    [ -d "build/$name/bin" ] || continue
    hashes=$logs/bits-$name.txt
    if ! run "$hashes" "build/$name/bin/synfire-bits"; then
      check "build/$name prints its hashes" "build/$name/bin/synfire-bits"
      continue
    fi
    sed -i 1d "$hashes" # the command
    if [ -z "$reference" ]; then
      reference=$hashes
      reference_name=$name
      say "    $(grep -c . "$reference") lines of hashes from $name"
      check "there are hashes" test -s "$reference"
    else
      check "$name has the bits of $reference_name" diff -u "$reference" "$hashes"
    fi
  done
  [ -n "$reference" ] || skip "no builds to compare: run dev, clang, thrust, openmp, serial first"
}

# Kernels run with two threads, once at each instruction level. What texts compute, dev tests: they are compiled without
# sanitizers.
step_asan() {
  build_preset asan asan && run_ctest build/asan -LE '^(install|docs)$' \
    -E '^(host\.bits_[a-z0-9]+_[14]_threads$|jit\.(Nvrtc|Loaded|LoadedSurrogate)\.|capi\.(Gradients|FloatEnvironment)\..*<double>|hpp\.(header|positional)\.)'
}

# Races do not depend on the instruction level, so only the library's own level is hashed.
step_tsan() {
  if ! clang_has_tsan; then
    skip "clang with ThreadSanitizer is not installed"
    return
  fi
  check "build build/tsan" build_programs tsan tsan "${thread_programs[@]}" synfire-hpp-tests-20 \
    frame-loop job-system -- &&
    run_ctest build/tsan -R "$threaded_tests|^(hpp\\.c\\+\\+20\\.|examples\\.(frame-loop|job-system)$)" \
      -E '^(host\.bits_default_[12]|golden\.f(16|64)|capi\.(Gradients\.MatchTheOracle|FloatEnvironment))'
}

step_docs() {
  if ! command -v doxygen >/dev/null 2>&1; then skip "doxygen is not installed"; return; fi
  build_preset docs docs && run_ctest build/docs
}

step_install() {
  if [ ! -f build/dev/CMakeCache.txt ]; then build_preset dev dev || return; fi
  run_ctest build/dev -L '^install$'
}

# One host-only build serves every language and is what is packed; packages for CUDA and Windows are of the builds of steps
# before. If the tools of a language are missing, it is skipped with a message.
step_bindings() {
  local julia dotnet
  julia=$(bindings/julia/setup.sh --find) || skip "Julia: not found (the setup step downloads it)"
  dotnet=$(bindings/csharp/setup.sh --find) || skip "C# on .NET: no SDK found (the setup step downloads one)"
  command -v cargo >/dev/null 2>&1 || skip "Rust: cargo is not installed"
  if ! command -v mcs >/dev/null 2>&1 || ! command -v mono >/dev/null 2>&1; then
    skip "C# on Mono: mono-mcs or mono-runtime is not installed"
  fi
  grep -qs '^CMAKE_CUDA_COMPILER:' build/dev/CMakeCache.txt || skip "the CUDA package: build/dev has no CUDA backend"
  [ -f build/windows/CMakeCache.txt ] || skip "what is packed for Windows: there is no build/windows (step windows)"
  build_preset dev bindings -DSYNFIRE_CUDA=OFF -DSYNFIRE_UNITY=ON -DSYNFIRE_BUILD_TESTS=OFF -DSYNFIRE_BUILD_TOOLS=OFF \
    -DSYNFIRE_BUILD_BINDINGS_TESTS=ON "-DSYNFIRE_JULIA=$julia" "-DSYNFIRE_DOTNET=$dotnet" \
    "-DSYNFIRE_PACKAGED_CUDA=$root/build/dev" "-DSYNFIRE_PACKAGED_WINDOWS=$root/build/windows" &&
    run_ctest build/bindings -R '^(bindings|install)\.'
}

# Seconds of processor time of all programs that this script has run.
children_seconds() { awk '{ print int(($14 + $15 + $16 + $17) / 100) }' /proc/$$/stat; }
# A fresh clone has only the committed files; this copy also has those that are not committed yet.
step_demo() {
  local copy before took
  copy=$(mktemp -d) || return
  if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard |
      tar -cf - --null --files-from=- --ignore-failed-read 2>/dev/null | tar -xf - -C "$copy"
  else
    tar -cf - --exclude=./build . | tar -xf - -C "$copy"
  fi
  before=$(children_seconds)
  if check "cmake --workflow --preset demo" env -C "$copy" CCACHE_DISABLE=1 cmake --workflow --preset demo; then
    took=$(($(children_seconds) - before))
    say "    $took s of processor time"
    [ "$took" -le 90 ] || warn "the demo took $took s of processor time; on a machine that does nothing else it may take 90"
    sed -n '/demo-run/,$p' "$logs/demo-cmake___workflow___preset_demo.log" | tail -n 40 | sed 's/^/    | /'
    check "it leaves raster.svg" test -s "$copy/build/demo/raster.svg"
    check "it leaves spikes.npy" test -s "$copy/build/demo/spikes.npy"
  fi
  demo_with_few_kernels "$copy"
  rm -rf "$copy"
}

# Without a GPU, the example runs on the host.
demo_with_few_kernels() {
  local copy=$1 before took
  if ! command -v nvcc >/dev/null 2>&1 && [ ! -x /usr/local/cuda/bin/nvcc ]; then skip "demo-gpu: no CUDA toolkit"; return; fi
  before=$(children_seconds)
  check "cmake --workflow --preset demo-gpu" env -C "$copy" CCACHE_BASEDIR="$copy" cmake --workflow --preset demo-gpu || return
  took=$(($(children_seconds) - before))
  say "    $took s of processor time, with what ccache had"
  check "it has the kernels of f32, lif and li, and no others" only_kernels_of \
    "$copy/build/demo-gpu/lib/libsynfire0.so" 'Lif|Li' 'float|synfire::cuda::AnyStorage'
}

# Symbols of a library's neuron kernels name model, surrogate and storage: there are some, and all are of these.
only_kernels_of() {
  local library=$1 models=$2 storages=$3 kernels
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
    say "    src/cuda, src/operations and include/synfire/model are as tested on the GPU at commit $commit, comments apart"
  else
    warn "src/cuda, src/operations or include/synfire/model have changed since commit $commit, the last one tested on a GPU: run tests/gpu/run.sh"
  fi
}

# ---- Main ------------------------------------------------------------------------------------------------------------

case ${1:-} in
  --list)
    for name in "${step_names[@]}"; do printf '%-10s %s\n' "$name" "${step_text[$name]}"; done
    exit 0 ;;
  -h | --help)
    sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0 ;;
esac

selected=("$@")
[ $# -gt 0 ] || selected=("${step_names[@]}")
for name in "${selected[@]}"; do
  if [ -z "${step_text[$name]:-}" ]; then
    say "unknown step '$name'; the steps are: ${step_names[*]}" >&2
    exit 2
  fi
done

mkdir -p "$logs"
begin=$SECONDS
for step in "${selected[@]}"; do
  say ""
  say "==> $step: ${step_text[$step]}"
  step_begin=$SECONDS
  before_passed=$passed
  before_failed=$failed
  "step_$step"
  say "<== $step: $((passed - before_passed)) passed, $((failed - before_failed)) failed, $((SECONDS - step_begin)) s"
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
