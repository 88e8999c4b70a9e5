#!/bin/sh
# Work-precision figure of the public DAE test set: error against processor time, a panel for each problem.
# Reads the lines of `dae_testset --json` from a file or standard input; needs gnuplot.
# Usage: dae_testset_plot.sh OUT.png [LINES.json]
set -eu
out=${1:?usage: dae_testset_plot.sh OUT.png [LINES.json]}
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT

# one file for each problem and method; runs that failed have no numbers
cat "${2:-/dev/stdin}" | awk -v directory="$data" '
  function value(key) {
    if (!match($0, "\"" key "\": *[^,}]*")) return ""
    text = substr($0, RSTART, RLENGTH)
    sub("^\"" key "\": *", "", text)
    gsub("\"", "", text)
    return text
  }
  value("error") != "null" && value("error") != "" {
    print value("cpu_s"), value("error") > (directory "/" value("problem") "+" value("method"))
  }'

{
  echo "set terminal pngcairo size 1200,800 font 'sans,10'"
  echo "set output '$out'"
  echo "set multiplot layout 2,3"
  echo "set logscale xy; set format '10^{%L}'; set grid; set key bottom left spacing 0.9"
  echo "set xlabel 'processor time, s'; set ylabel 'largest relative error'"
  for panel in transistor water-tube crank fekete andrews caraxis; do
    echo "set title '$panel'"
    plots=""
    for file in "$data/$panel"+* "$data/$panel"-[12]+*; do
      [ -e "$file" ] || continue
      name=$(basename "$file")
      form=${name%%+*}
      plots="$plots${plots:+, }'$file' with linespoints title '${name#*+}${form#"$panel"}'"
    done
    [ -z "$plots" ] || echo "plot $plots"
  done
  echo "unset multiplot"
} >"$data/script.gp"
gnuplot "$data/script.gp"
