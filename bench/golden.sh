#!/bin/sh
# Instructions of small cases, counted under callgrind, and the solver's own counters, against
# bench/golden.csv. Usage: golden.sh check|renew BUILD  (BUILD: a build directory, build/release)
#   check  prints each case whose count is off by more than 2 % or whose counters differ; exits 1 then
#   renew  writes bench/golden.csv anew
# Only instructions of our own code count (the program is linked with the static library): what libc,
# libm and BLAS do depends on their version and on the processor. Our own depend on compiler and
# options and on the instruction set that the kernels choose, which is why these are columns; where
# they are others than the file's, check says so and compares nothing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
golden=$here/golden.csv
tolerance=2 # percent
header=case,isa,build,instructions,symbolic,numeric,solves,refinements,fallbacks,sweeps

usage() {
  echo "usage: $0 check|renew BUILD" >&2
  exit 2
}

# Sum of the costs of the lines that belong to an object whose path ends with /golden. The line behind
# calls= holds what the called function cost, which is counted where it belongs.
count() {
  awk '
    /^ob=/ {
      name = $0
      sub(/^ob=/, "", name)
      id = name
      sub(/ .*/, "", id)
      if (name ~ / /) ours[id] = (name ~ /\/golden$/)
      own = ours[id]
      next
    }
    /^cob=.* / { # a name is given once, also here
      name = id = $0
      sub(/^cob=/, "", id)
      sub(/ .*/, "", id)
      ours[id] = (name ~ /\/golden$/)
      next
    }
    /^calls=/ { skip = 1; next }
    /^[0-9+*-]/ { if (!skip && own) sum += $2; skip = 0 }
    END { printf "%.0f\n", sum }' "$1"
}

# One case: measures it and writes a line of golden.csv to a file.
one() {
  program=$1
  name=$2
  work=$3
  # Which kernels BLAS takes would otherwise depend on the processor, and with them the last bits.
  line=$(OPENBLAS_CORETYPE=Prescott OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
    valgrind --tool=callgrind --dump-line=no --collect-atstart=no --toggle-collect=bench_measured \
    --callgrind-out-file="$work/$name.out" "$program" "$name" 2>"$work/$name.log") || {
    echo "golden: $name failed:" >&2
    cat "$work/$name.log" >&2
    exit 1
  }
  echo "$line" | awk -F, -v OFS=, -v sum="$(count "$work/$name.out")" '
    { printf "%s,%s,%s,%.0f,%s,%s,%s,%s,%s,%s\n", $1, $2, $3, sum / $4, $5, $6, $7, $8, $9, $10 }' \
    >"$work/$name.csv"
}

# All cases, as many at a time as there are processors; writes the whole table.
measure() {
  jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
  "$program" --list | xargs -P "$jobs" -I NAME sh "$here/golden.sh" one "$program" NAME "$work" ||
    return 1
  echo "$header"
  "$program" --list | while IFS= read -r name; do cat "$work/$name.csv"; done
}

compare() {
  awk -F, -v tolerance="$tolerance" '
    FNR == 1 { for (i = 1; i <= NF; i++) heading[i] = $i; next }
    FNR == NR { golden[$1] = $0; next }
    !($1 in golden) { print $1 ": not in golden.csv"; bad = 1; next }
    {
      split(golden[$1], old, ",")
      delete golden[$1]
      if (old[2] != $2 || old[3] != $3) {
        if (!skipped++) printf "golden: recorded with %s, %s; here %s, %s: nothing is compared\n", old[2], old[3], $2, $3
        next
      }
      compared++
      change = 100 * ($4 / old[4] - 1)
      if (change > tolerance || change < -tolerance) {
        printf "%s: %d instructions instead of %d: %+.1f %%\n", $1, $4, old[4], change
        bad = 1
      }
      for (i = 5; i <= NF; i++) {
        if ($i == old[i]) continue
        printf "%s: %s %d instead of %d\n", $1, heading[i], $i, old[i]
        bad = 1
      }
    }
    END {
      for (name in golden) { print name ": in golden.csv, but no case"; bad = 1 }
      printf "golden: %d of %d cases compared\n", compared, FNR - 1
      exit bad
    }' "$golden" "$1"
}

if [ "${1:-}" = one ] && [ $# -eq 4 ]; then
  one "$2" "$3" "$4"
  exit 0
fi
[ $# -eq 2 ] || usage
program=$2/bench/golden
case $1 in check | renew) ;; *) usage ;; esac
[ -x "$program" ] || { echo "golden: there is no $program: build first" >&2; exit 1; }
command -v valgrind >/dev/null 2>&1 || {
  echo "golden: valgrind is missing: run cmake/dependencies.sh tests" >&2
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
measure >"$work/all.csv"
if [ "$1" = renew ]; then
  cp "$work/all.csv" "$golden"
  echo "golden: $(($(wc -l <"$golden") - 1)) cases written to $golden"
  exit 0
fi
if ! compare "$work/all.csv"; then
  echo "golden: when that is intended, run: sh bench/golden.sh renew $2"
  exit 1
fi
