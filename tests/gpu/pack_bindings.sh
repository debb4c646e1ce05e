#!/usr/bin/env bash
# Packs the tests of the Rust and C# bindings as programs that a machine with a GPU can run without cargo and Mono:
#
#   tests/gpu/pack_bindings.sh [FOLDER]     default: build/gpu-bindings
#
# The folder holds Rust's test programs, which open the library at run time, and C#'s, with this machine's Mono and its
# runtime files. It can be moved. It is for Linux on the same kind of processor, with a C library at least as new as
# this machine's. If the tools of a language are missing, the script says so and leaves it out. The stage "bindings" of
# gpu_suite.py runs the programs.
set -eu

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mkdir -p "${1:-$root/build/gpu-bindings}" && cd "${1:-$root/build/gpu-bindings}" && pwd)
rm -rf "$folder/rust" "$folder/csharp" "$folder/programs"

if command -v cargo >/dev/null 2>&1; then
  mkdir -p "$folder/rust"
  cd "$root/bindings/rust"
  # Cargo names each program on its standard output, followed by a hash; "name" is that of its source.
  target=${CARGO_TARGET_DIR:-$root/build/gpu-bindings-target}
  CARGO_NET_OFFLINE=true CARGO_TARGET_DIR="$target" cargo test --release -p synfire --features load-dynamic --no-run \
    --message-format=json 2>/dev/null |
    python3 -c '
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable") and message["target"]["kind"] == ["test"]:
        print(message["target"]["name"], message["executable"])
' | while read -r name program; do
    case $name in
      arrays | graphs | layers | lifetimes | mistakes | operations | overhead | shapes | steps)
        cp "$program" "$folder/rust/$name"
        strip "$folder/rust/$name"
        ;;
    esac
  done
  mkdir -p "$folder/programs"
  CARGO_NET_OFFLINE=true CARGO_TARGET_DIR="$target" cargo build --release --quiet -p synfire --features load-dynamic --example resume
  cp "$target/release/examples/resume" "$folder/programs/resume"
  strip "$folder/programs/resume"
  [ "$(find "$folder/rust" -type f | wc -l)" = 9 ] || { echo "pack_bindings.sh: Rust's tests were not built" >&2; exit 1; }
else
  echo "pack_bindings.sh: cargo was not found, so Rust is skipped" >&2
fi

if command -v mono >/dev/null 2>&1 && command -v mcs >/dev/null 2>&1; then
  mkdir -p "$folder/csharp"
  cd "$root/bindings/csharp"
  compile=(mcs -nologo -unsafe -optimize -langversion:7.2 "-nowarn:168,219")
  "${compile[@]}" -target:library "-out:$folder/csharp/Synfire.dll" src/*.cs
  "${compile[@]}" "-out:$folder/csharp/Tests.exe" "-r:$folder/csharp/Synfire.dll" -r:System.Xml tests/*.cs
  "${compile[@]}" "-out:$folder/csharp/Resume.exe" "-r:$folder/csharp/Synfire.dll" examples/Resume.cs
  # Mono finds its files relative to its own program: prefix/bin, prefix/lib/mono, prefix/etc.
  prefix=$folder/csharp/mono
  installed=$(dirname "$(dirname "$(readlink -f "$(command -v mono)")")")
  mkdir -p "$prefix/bin" "$prefix/lib/mono/4.5" "$prefix/etc/mono/4.5"
  cp "$(readlink -f "$(command -v mono)")" "$prefix/bin/mono"
  for assembly in mscorlib System System.Core System.Configuration System.Xml System.Numerics System.Security Mono.Security; do
    cp -L "$installed/lib/mono/4.5/$assembly.dll" "$prefix/lib/mono/4.5/"
  done
  cp -L "$installed"/lib/libmono-native.so* "$installed/lib/libMonoPosixHelper.so" "$prefix/lib/"
  cp /etc/mono/config "$prefix/etc/mono/"
  cp /etc/mono/4.5/machine.config "$prefix/etc/mono/4.5/"
else
  echo "pack_bindings.sh: mono or mcs was not found, so C# is skipped" >&2
fi
du -sh "$folder"
