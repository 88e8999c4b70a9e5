#!/bin/sh
# Installs what is missing, builds vincula, and runs two examples to figures and plots. May be started
# from anywhere; writes into build/ only. Exits 1 when anything failed.
# Usage: run.sh
set -eu
case ${1:-} in
"") ;;
-h | --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;;
*) echo "$0: $1: there are no options; --help says what it does" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
output=build/output
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
mkdir -p "$output"

# quiet <log name> <command...>: shows the output only when the command fails.
quiet() {
  log=$output/$1.log
  shift
  "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    echo "examples/run.sh: this failed: $*" >&2
    exit 1
  }
}

echo "1. Programs and libraries that vincula needs"
sh cmake/dependencies.sh library examples
echo "   are there."

echo "2. Building the library and the examples ..."
quiet configure cmake --preset release -DVINCULA_TESTS=OFF -DVINCULA_BENCH=OFF
quiet build cmake --build --preset release --parallel "$jobs"
sed -n 's/^-- .*licence of the library/   licence of the library/p' "$output/configure.log"
examples=build/release/examples

echo
echo "3. Three satellites, tied together by rods, on their way round a planet"
echo
"$examples/tethered_satellites" --csv "$output/tethered_satellites.csv" \
  --plot "$output/tethered_satellites.png"

echo
echo "4. A chain of 10 000 links, released from the horizontal: 30 000 unknown positions"
echo
"$examples/chain" --links 10000 --csv "$output/chain.csv" --plot "$output/chain.png"

cat <<TEXT

How to read this: rods keep their length, so each rod is an equation (a constraint) that must hold at
every moment. "largest constraint error" says how well it did, in metres of length; near 1e-12 is as
good as the computer's numbers allow. Nothing takes energy away here, so the energy should stay what
it was: "largest change of energy" shows how well it did. "matrix work" shows that the structure of
the equations was analysed once only, however many steps followed.

The plots, to look at with any image viewer:
  $PWD/$output/tethered_satellites.png
  $PWD/$output/chain.png
The numbers behind them, for a spreadsheet or a script: the .csv files in the same place.

What to try next:
  $examples/chain --help                        options of an example
  $examples/chain --links 100000 --t 0.1        ten times as many links
  $examples/chain --links 50 --h 0.0005         half the step, compared with a known solution
  $examples/net --grid 30 --plot net.png        a net that falls
  $examples/custom_system                       your own equations
  $examples/joint_space_kkt                     your own mass matrix and Jacobian
  $examples/dae_index1                          a differential-algebraic problem of index 1
  $examples/dae_gallery --plot $PWD/$output    the examples of a course on DAEs, drawn
The programs are short; their sources are in examples/ and are meant to be copied.
TEXT
