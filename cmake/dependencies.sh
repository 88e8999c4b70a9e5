#!/bin/sh
# Installs what vincula needs, and only what is missing: sh cmake/dependencies.sh [library|examples|tests]...
# Without arguments: all three groups. Quiet when nothing is missing. Uses apt-get (as root, or with
# sudo); elsewhere it names what is missing and exits 1.
set -eu

usage() {
  echo "usage: $0 [library] [examples] [tests]" >&2
  exit 2
}

have_program() { command -v "$1" >/dev/null 2>&1; }

have_header() {
  echo "#include <$1>" | cc -E -I/usr/include/suitesparse -x c - >/dev/null 2>&1
}

have_cmake() { # 3.25 or later
  have_program cmake || return 1
  cmake --version | awk 'NR == 1 { split($3, v, "."); exit !(v[1] > 3 || (v[1] == 3 && v[2] >= 25)) }'
}

# package, how to tell that it (or something in its place) is there
packages_library="
gcc                have_program gcc
libc6-dev          have_header stdio.h
cmake              have_cmake
make               have_program make
pkg-config         have_program pkg-config
libsuitesparse-dev have_header umfpack.h
libmetis-dev       have_header metis.h"
packages_examples="
gnuplot-nox        have_program gnuplot
libjansson-dev     have_header jansson.h"
packages_tests="
libcriterion-dev   have_header criterion/criterion.h
clang              have_program clang
clang-format       have_program clang-format
valgrind           have_program valgrind
g++                have_program g++
binutils           have_program nm"

# Prints the packages of $wanted that are missing, on one line.
missing() {
  echo "$wanted" | while read -r package probe; do
    [ -z "$package" ] || $probe </dev/null || printf '%s ' "$package"
  done
}

[ $# -gt 0 ] || set -- library examples tests
wanted=""
for group in "$@"; do
  case $group in
  library) wanted="$wanted$packages_library" ;;
  examples) wanted="$wanted$packages_examples" ;;
  tests) wanted="$wanted$packages_tests" ;;
  *) usage ;;
  esac
done

list=$(missing)
[ -n "$list" ] || exit 0

if ! have_program apt-get; then
  echo "dependencies: missing: $list(Debian's package names)." >&2
  echo "dependencies: there is no apt-get here; please install them with your system's tools." >&2
  echo "dependencies: cmake must be 3.25 or later." >&2
  exit 1
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
  have_program sudo || {
    echo "dependencies: missing: $list- run as root: apt-get install $list" >&2
    exit 1
  }
  as_root=sudo
fi

echo "dependencies: installing $list"
install() {
  # shellcheck disable=SC2086 # the list is meant to be split
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $list
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The package lists may be absent or old: only then are they fetched.
if ! install >"$log" 2>&1; then
  echo "dependencies: updating the package lists"
  if ! { $as_root apt-get update -q && install; } >"$log" 2>&1; then
    cat "$log" >&2
    echo "dependencies: apt-get could not install $list" >&2
    exit 1
  fi
fi

list=$(missing)
if [ -n "$list" ]; then
  echo "dependencies: installed, but still not usable: $list(cmake must be 3.25 or later)" >&2
  exit 1
fi
