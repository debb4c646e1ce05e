#!/usr/bin/env bash
# Finds a Julia that works, or unpacks Debian's into a private folder; prints the path of the program to run.
#
#   setup.sh           finds or unpacks
#   setup.sh --find    finds only: answers status 1 when there is none
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
suite=bullseye

complain() { printf '%s\n' "setup.sh: $*" >&2; }

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

# apt with sources, lists and cache of our own; the system's list of installed packages says what need not be fetched.
# apt_private FOLDER APT_GET_ARGUMENTS...
apt_private() {
  local work=$1
  shift
  apt-get -qq \
    -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::Etc::preferences="$work/preferences" -o Dir::Etc::preferencesparts=/dev/null \
    -o Dir::State::lists="$work/lists" -o Dir::Cache::archives="$work/archives" \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
    -o Acquire::Languages=none -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" "$@"
}

# The name of this machine's own release, and where the machine gets it from, whatever form its sources are written in.
own_codename() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release; }
own_uri() {
  # shellcheck disable=SC2016 # apt-get fills these in
  apt-get indextargets --no-release-info --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
    awk -v codename="$1" '$2 == codename && $3 == "main" { print $1; exit }'
}

unpack() {
  local work=$1 root=$1/julia/root libraries uri codename options="" package link target
  codename=$(own_codename)
  uri=$(own_uri "$codename")
  if [ -z "$uri" ]; then
    complain "no apt source of this machine's own release was found"
    return 1
  fi
  [ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ] ||
    options="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
  mkdir -p "$work/lists/partial" "$work/archives/partial" "$root" "$work/julia/bin" || return 1
  printf "deb $options$uri %s main\n" "$codename" "$suite" >"$work/sources.list"
  printf 'Package: *\nPin: release n=%s\nPin-Priority: 100\n' "$suite" >"$work/preferences"
  apt_private "$work" update >&2 || return 1
  apt_private "$work" install -y --no-install-recommends --download-only julia >&2 || return 1
  (cd "$work/archives" && apt_private "$work" download "libunwind8/$suite" >&2) || return 1
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
