#!/bin/sh
# Compares vincula with other libraries on the same chain, net and pendulum:
#   sh bench/peers/run.sh [--quick]
# Installs the libraries that are missing (Debian packages, for this comparison only), builds
# vincula in release and the peers, interleaves the runs and prints a table. May be started from
# anywhere; writes into build/ only. A peer that is missing or fails is shown as such. Three to five
# minutes, --quick about one. Exits 1 when vincula itself cannot be built or run.
set -u
self=$0
case $self in /*) ;; *) self=$PWD/$self ;; esac
cd "$(dirname "$0")/../.." || exit 1

rounds=3 t_end=1 pendulum_t=20 quick=0
case "$*" in
"") ;;
--quick) quick=1 t_end=0.2 ;;
-h | --help) sed -n '2,7s/^# *//p' "$self"; exit 0 ;;
*)
  echo "usage: $0 [--quick]" >&2
  exit 2
  ;;
esac
out=build/peers
seconds=3   # CPU time after which a run ends early
timeout=120 # s; a run that hangs is ended
finer=8     # the reference for errors is vincula with h / 8
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# One thread each, so that CPU time means the same for all.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
mkdir -p "$out"

fail() {
  echo "bench/peers/run.sh: $*" >&2
  exit 1
}

# ---- what is needed --------------------------------------------------------------------------

# peer, Debian package
packages="
ode     libode-dev
bullet  libbullet-dev
simbody libsimbody-dev
mujoco  libmujoco-dev
ida     libsundials-dev"

have_package() {
  dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'
}

install_package() {
  have_package "$1" && return
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "   $1 is missing, and there is no apt-get here to install it"
    return
  fi
  as_root=""
  [ "$(id -u)" -eq 0 ] || as_root=sudo
  echo "   installing $1 (only for this comparison)"
  log=$out/apt-$1.log
  install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $1"
  $install >"$log" 2>&1 || { $as_root apt-get update -q && $install; } >"$log" 2>&1 ||
    echo "   could not install $1, see $log"
}

echo "1. Libraries"
sh cmake/dependencies.sh library || exit 1
install_package g++
echo "$packages" | while read -r peer package; do
  [ -z "$peer" ] || install_package "$package" </dev/null
done

echo "2. Building"
[ -f build/release/CMakeCache.txt ] ||
  cmake --preset release -DVINCULA_TESTS=OFF -DVINCULA_EXAMPLES=OFF -DVINCULA_BENCH=OFF \
    >"$out/configure.log" 2>&1 || fail "cmake failed, see $out/configure.log"
cmake --build build/release --target vincula_shared --parallel "$jobs" >"$out/library.log" 2>&1 ||
  fail "vincula does not build, see $out/library.log"
for peer in vincula ode bullet simbody mujoco ida; do
  rm -f "$out/$peer"
  make -s -C bench/peers "OUT=$PWD/$out" "VINCULA=$PWD/build/release" "$peer" \
    >"$out/make-$peer.log" 2>&1 || echo "   $peer does not build, see $out/make-$peer.log"
done
[ -x "$out/vincula" ] || fail "without vincula there is nothing to compare with"

# ---- what is run ------------------------------------------------------------------------------

# case, bodies, then peers as name or name:variant
plan="
chain       1000 vincula bullet simbody:euler simbody:verlet simbody:rk-merson ode:quick20 ida:index1 ida:ggl ode:step mujoco:euler
chain-point 1000 vincula bullet simbody:euler simbody:verlet simbody:rk-merson ode:quick20 ida:index1 ida:ggl
net         900  vincula ode:quick20 ida:index1 ode:step mujoco:euler simbody:euler bullet
pendulum    1    vincula bullet simbody:euler simbody:verlet simbody:rk-merson ode:quick20 ode:step mujoco:euler mujoco:rk4 ida:index1 ida:ggl"
smaller="
chain       100  vincula bullet simbody:euler simbody:verlet simbody:rk-merson ode:quick20 ode:step mujoco:euler mujoco:rk4 ida:index1 ida:ggl
net         100  vincula ode:quick20 ode:step mujoco:euler simbody:euler simbody:verlet ida:index1 ida:ggl"
[ "$quick" -eq 1 ] || plan="$plan$smaller"

end_of() { # case
  if [ "$1" = pendulum ]; then echo "$pendulum_t"; else echo "$t_end"; fi
}

reference_of() { # case bodies
  echo "$out/reference-$1-$2.txt"
}

# Prints a line of JSON for a run that could not print its own.
report_failure() { # peer variant case bodies why
  printf '{"peer": "%s", "variant": "%s", "version": "", "case": "%s", "bodies": %s, "status": "%s"}\n' \
    "$@"
}

run_one() { # case bodies peer variant
  set -- "$1" "$2" "$3" "$4" "$(reference_of "$1" "$2")"
  if [ ! -x "$out/$3" ]; then
    report_failure "$3" "$4" "$1" "$2" "not available"
    return
  fi
  variant=${4:+--variant $4} reference=""
  [ -f "$5" ] && reference="--reference $5"
  # shellcheck disable=SC2086 # two words each, or none
  timeout "$timeout" "$out/$3" --case "$1" --bodies "$2" --h 1e-3 --t "$(end_of "$1")" \
    --seconds "$seconds" $variant $reference >"$out/line.json" 2>>"$out/stderr.log"
  status=$?
  if grep -q '^{.*}$' "$out/line.json"; then
    grep '^{.*}$' "$out/line.json"
  else
    report_failure "$3" "$4" "$1" "$2" "ended with exit status $status"
  fi
}

run_round() {
  echo "$plan" | while read -r case bodies peers; do
    for peer in $peers; do
      variant=${peer#*:}
      [ "$variant" != "$peer" ] || variant=""
      run_one "$case" "$bodies" "${peer%%:*}" "$variant" </dev/null
    done
  done
}

echo "3. Reference solutions (vincula, h / $finer)"
: >"$out/stderr.log"
echo "$plan" | while read -r case bodies peers; do
  case $case in "" | pendulum) continue ;; esac
  h=$(awk "BEGIN { print 1e-3 / $finer }")
  file=$(reference_of "$case" "$bodies")
  "$out/vincula" --case "$case" --bodies "$bodies" --h "$h" --t "$t_end" --seconds 100 \
    --write "$file" >/dev/null 2>>"$out/stderr.log" </dev/null || rm -f "$file"
done

: >"$out/results.jsonl"
round=1
while [ "$round" -le "$rounds" ]; do
  echo "4. Round $round of $rounds"
  run_round >>"$out/results.jsonl"
  round=$((round + 1))
done
rm -f "$out/line.json"

echo
awk -f bench/peers/table.awk "$out/results.jsonl" || exit 1
echo
echo "Every run: $out/results.jsonl. How the peers are set up: bench/peers/README.md"
