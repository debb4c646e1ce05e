#!/usr/bin/env bash
# The GPU suite: everything that must be tested on a real GPU, as one command. The last line is "N passed, N failed".
#
#   tests/gpu/run.sh [EVIDENCE]   writes its findings to EVIDENCE (default: docs/evidence/gpu.json)
#   tests/gpu/run.sh --hash       prints the hash of the sources that run on a GPU
#   tests/gpu/run.sh --sources    prints their folders
#
# It runs the programs of build/gpu, which may have been built on another machine (only its bin/ and lib/ are needed).
# If there is no such folder, it builds one (cmake --workflow --preset gpu).
#   SYNFIRE_BUILD_DIR     another build folder
#   SYNFIRE_LOOP_SECONDS  also run hear in real time on each backend for this long (60 for docs/pages/measurements.md)
#   SYNFIRE_BINDINGS      the folder that tests/gpu/pack_bindings.sh created; its Rust and C# programs run too (default:
#                         build/gpu-bindings; without the folder they are skipped with a message)
#   SYNFIRE_DIGITS        the folder of `digits --make-data`: the example learns all of it on both backends (about 2 minutes;
#                         default: build/gpu-digits, if it is there)
#   SYNFIRE_ONLY          only these stages of gpu_suite.py, as in bindings,resume; EVIDENCE keeps the others. "failed": only
#                         the tests that failed
#   SYNFIRE_COMMIT        the commit to record if there is no git
#
# The stage "python" tests synfire.torch if python3 has PyTorch with CUDA.
#
# gpu_suite.py in this folder has the tests and the recording.
set -u

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd) || exit 1
cd "$root" || exit 1
export LC_ALL=C.UTF-8

# Depends on content, not history: the same for a clone, a copy and an archive.
gpu_sources=(src/backends/cuda src/operations src/synapses src/neurons src/optimizer src/fusion src/kinds include/synfire/model
  src/base/element_types.hpp src/base/extents.hpp src/base/window_axis.hpp) # kernels read these of base
gpu_sources_hash() {
  find "${gpu_sources[@]}" -type f | sort | xargs sha256sum | sha256sum | cut -d ' ' -f 1
}

case ${1:-} in
  --hash)
    gpu_sources_hash
    exit ;;
  --sources)
    printf '%s\n' "${gpu_sources[@]}"
    exit ;;
esac

build=${SYNFIRE_BUILD_DIR:-build/gpu}
evidence=${1:-docs/evidence/gpu.json}
if [ ! -x "$build/bin/synfire-golden" ]; then
  echo "no programs in $build/bin; building them"
  cmake --workflow --preset gpu || exit 1
  build=build/gpu
fi

commit=${SYNFIRE_COMMIT:-}
[ -n "$commit" ] || commit=$(git describe --always --dirty=-modified --abbrev=40 '--exclude=*' 2>/dev/null)
[ -n "$commit" ] || commit=$(cat "$build/bin/commit.txt" 2>/dev/null || echo unknown)

case $build in
  /*) libraries=$build/lib ;;
  *) libraries=$root/$build/lib ;;
esac
digits=${SYNFIRE_DIGITS:-}
[ -n "$digits" ] || [ ! -s build/gpu-digits/digits.spikes ] || digits=build/gpu-digits
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} PYTHONUNBUFFERED=1
exec python3 tests/gpu/gpu_suite.py --build "$build" --evidence "$evidence" --commit "$commit" \
  --gpu-sources-sha256 "$(gpu_sources_hash)" --loop-seconds "${SYNFIRE_LOOP_SECONDS:-0}" \
  --bindings "${SYNFIRE_BINDINGS:-build/gpu-bindings}" ${digits:+--digits "$digits"} ${SYNFIRE_ONLY:+--only "$SYNFIRE_ONLY"}
