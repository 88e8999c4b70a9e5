#!/bin/sh
# Builds into build/bench and prints the tables of docs/performance.md: saddle-point systems against
# other libraries, whole steps, then the DAE test set. Some minutes; keep the machine quiet.
# Usage: run.sh [OPTION...]
# Options go to all programs: --json, --repetitions N, --plain-malloc
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in
-h | --help) sed -n '2,5s/^# //p' bench/run.sh; exit 0 ;;
esac
build=build/bench
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
mkdir -p build

sh cmake/dependencies.sh library examples
log=build/bench.log
{
  cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DVINCULA_TESTS=OFF -DVINCULA_EXAMPLES=OFF &&
    cmake --build "$build" --parallel "$jobs"
} >"$log" 2>&1 || { cat "$log" >&2; exit 1; }

say() { echo "$@" >&2; } # not into the table, which may be JSON

kkt() {
  say "kkt $*"
  "$build/bench/kkt" "$@"
}

step() {
  say "step $*"
  "$build/bench/step" "$@"
}

kkt --bodies 1000 --library "$@"
kkt --bodies 10000 --library --repetitions 5 "$@"
kkt --family hub --bodies 2001 --library "$@"
kkt --family point-chain --bodies 1e6 --backend ldlt --library --repetitions 3 "$@"
step --case chain-point --solver all "$@"
step --case chain-rod --solver all "$@"
step --case net-point --bodies 900 --solver all "$@"
step --case net-point --bodies 10000 --steps 200 --solver ldlt "$@"
step --case net-rod --bodies 900 --steps 100 --solver ldlt "$@"
step --case chain-point --bodies 1e5 --steps 100 "$@"
step --case chain-rod --bodies 1e5 --steps 100 "$@"
step --case chain-rod --bodies 1e6 --steps 20 --repetitions 2 "$@"
say "dae_testset"
"$build/bench/dae_testset" "$@"
