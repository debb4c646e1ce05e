#!/usr/bin/env bash
# Finds a Julia that works, or unpacks Debian's into a private folder; prints the path of the program to run.
#
#   setup.sh           finds or unpacks
#   setup.sh --find    finds only: returns status 1 when there is none
#
# What lives here: where the tests' Julia comes from. Nothing is installed: the system's packages, its apt sources and
# its libraries stay as they are, so no root is needed, and removing the folder removes everything.
#
# Debian ships Julia in bullseye only (1.5.3). Its packages are fetched from wherever this machine fetches its own,
# unpacked, and run with their own libraries, among them bullseye's libunwind: with the one of later releases that Julia
# crashes when an exception is thrown.
#
#   JULIA                 the program to use; nothing else is tried
#   SYNFIRE_JULIA_HOME    the private folder; default: synfire/julia in the user's cache folder
set -u

home=${SYNFIRE_JULIA_HOME:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/synfire/julia}

complain() { printf '%s\n' "setup.sh: $*" >&2; }
# shellcheck source=bindings/bullseye.sh
. "$(dirname "${BASH_SOURCE[0]}")/../bullseye.sh"

# A Julia that throws from a freshly compiled function and lives, which is what a wrong libunwind breaks.
works() {
  command -v "$1" >/dev/null 2>&1 || return 1
  [ "$("$1" --startup-file=no --history-file=no -e '
      thrower(x) = x > 0 ? error("thrown") : x
      try thrower(length(ARGS) + 1) catch; print("caught") end' 2>/dev/null)" = caught ]
}

find_julia() {
  if [ -n "${JULIA:-}" ]; then
    works "$JULIA" && command -v "$JULIA"
    return
  fi
  local candidate
  for candidate in julia "$home/bin/julia"; do
    if works "$candidate"; then
      command -v "$candidate"
      return 0
    fi
  done
  return 1
}

# The system's list of installed packages says what need not be fetched.
unpack() {
  local work=$1 root=$1/julia/root libraries package link target
  bullseye_prepare "$work" && mkdir -p "$root" "$work/julia/bin" || return 1
  bullseye_apt "$work" install -y --no-install-recommends --download-only julia >&2 || return 1
  (cd "$work/archives" && bullseye_apt "$work" download libunwind8/bullseye >&2) || return 1
  for package in "$work"/archives/*.deb; do dpkg-deb -x "$package" "$root" || return 1; done

  libraries=$(dirname "$(find "$root" -name 'libjulia.so.?' | head -n 1)") || return 1
  # Links to libraries that the system has already, and which were not fetched therefore.
  find "$libraries" -xtype l | while read -r link; do
    target=$(readlink -m "$link")
    target=${target#"$root"}
    [ ! -e "$target" ] || ln -sfn "$target" "$link"
  done
  # The folder of the libraries, relative to the launcher's own: the whole can be moved.
  libraries=${libraries#"$root"}
  cat >"$work/julia/bin/julia" <<EOF
#!/bin/sh
root=\$(dirname "\$(readlink -f "\$0")")/../root
libraries=\$root$libraries
LD_LIBRARY_PATH=\$libraries:\$libraries/julia\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} exec "\$root/usr/bin/julia" "\$@"
EOF
  chmod +x "$work/julia/bin/julia" && works "$work/julia/bin/julia"
}

find_julia && exit 0
[ "${1:-}" != --find ] || exit 1
if [ -n "${JULIA:-}" ]; then
  complain "JULIA=$JULIA does not run, or crashes when an exception is thrown"
  exit 1
fi
if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-deb >/dev/null 2>&1; then
  complain "no julia on the path, and none can be fetched: this needs Debian's apt"
  exit 1
fi
mkdir -p "$(dirname "$home")" || exit 1
work=$(mktemp -d "$home.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
if ! unpack "$work"; then
  complain "Debian's julia could not be fetched, or does not run"
  exit 1
fi
# Another run may have finished first; its Julia is as good. A folder that does not work is replaced.
if [ -e "$home" ] && ! works "$home/bin/julia"; then rm -rf "$home"; fi
[ -e "$home" ] || mv -T "$work/julia" "$home" 2>/dev/null
find_julia
