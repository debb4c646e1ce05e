# shellcheck shell=bash
# Packages of Debian's bullseye without installing any; sourced by the setup.sh of a language that needs one. The system's
# packages and its apt sources stay as they are, so no root is needed.
#
# bullseye_prepare FOLDER           a folder with apt's sources, lists and cache: this machine's own release, from wherever
#                                   the machine gets it, and bullseye from the same place, which only what the release
#                                   lacks is taken from
# bullseye_apt FOLDER ARGUMENTS...  apt-get with these
# Packages that are fetched come into FOLDER/archives. What is wrong is told by complain(), which the caller defines.

bullseye_apt() {
  local work=$1
  shift
  apt-get -qq \
    -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::Etc::preferences="$work/preferences" -o Dir::Etc::preferencesparts=/dev/null \
    -o Dir::State::lists="$work/lists" -o Dir::Cache::archives="$work/archives" \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
    -o Acquire::Languages=none -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" "$@"
}

# In whatever form the sources are written.
bullseye_uri() {
  # shellcheck disable=SC2016 # apt-get fills these in
  apt-get indextargets --no-release-info --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
    awk -v codename="$1" '$2 == codename && $3 == "main" { print $1; exit }'
}

bullseye_prepare() {
  local work=$1 codename uri options="" keys=/usr/share/keyrings/debian-archive-keyring.gpg
  codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  uri=$(bullseye_uri "$codename")
  if [ -z "$uri" ]; then
    complain "no apt source of this machine's own release was found"
    return 1
  fi
  [ ! -e "$keys" ] || options="[signed-by=$keys] "
  mkdir -p "$work/lists/partial" "$work/archives/partial" || return 1
  printf "deb $options$uri %s main\n" "$codename" bullseye >"$work/sources.list"
  printf 'Package: *\nPin: release n=bullseye\nPin-Priority: 100\n' >"$work/preferences"
  bullseye_apt "$work" update >&2
}
