#!/bin/sh
# The C code in README.md, docs/guide.md and docs/choosing.md is compiled; blocks with a main() are run too. What they
# print must be the ```text block that follows: same words, numbers equal to 2e-5 (absolute below 1).
# The guide's first program must be README's, its table of statuses that of base.h. Each table of
# docs/performance.md must follow the command that prints it, in its section.
# Usage: readme.sh <directory of libvincula.so> <include directory>
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
library=$(cd "$1" && pwd)
include=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
bad=0

# Cuts a file into <name>_<k>.c and, where a text block comes next, <name>_<k>.txt. A block without
# main() becomes the body of a function, in which the usual objects are declared.
extract() {
  awk -v name="$2" '
    /^```c$/ { n++; inside = "c"; body = ""; program = 0; next }
    /^```text$/ && n > 0 && !(n in text) { inside = "text"; file = name "_" n ".txt"; printf "" > file; text[n]; next }
    /^```/ {
      if (inside == "c") {
        file = name "_" n (program ? ".c" : "_part.c")
        if (!program) {
          print "#include <stdio.h>\n#include <vincula/vincula.h>" > file
          print "void part(vin_model *model, vin_sim *sim, vin_system *system, vin_kkt *kkt," > file
          print "          vin_options options, vin_status status, double *p, double *v);" > file
          print "void part(vin_model *model, vin_sim *sim, vin_system *system, vin_kkt *kkt," > file
          print "          vin_options options, vin_status status, double *p, double *v) {" > file
          print "(void)model, (void)sim, (void)system, (void)kkt, (void)options, (void)status, (void)p, (void)v;" > file
        }
        printf "%s", body > file
        if (!program) { print "}" > file; text[n] }
        close(file)
      } else if (inside == "text") close(file)
      inside = ""; next
    }
    inside == "c" { body = body $0 "\n"; if ($0 ~ /^int main\(/) program = 1 }
    inside == "text" { print > file }' "$1"
}

# same <expected> <printed>
same() {
  awk '
    function number(x) { return x ~ /^[-+]?[0-9.]+([eE][-+]?[0-9]+)?[,;:)]*$/ }
    FNR == NR { line[FNR] = $0; lines = FNR; next }
    {
      count = split(line[FNR], want, /[ (]+/); got_count = split($0, got, /[ (]+/)
      if (count != got_count) { print "line " FNR ": " $0; bad = 1; next }
      for (i = 1; i <= count; i++) {
        if (want[i] == got[i]) continue
        a = want[i] + 0; b = got[i] + 0; d = a > b ? a - b : b - a; s = a < 0 ? -a : a
        if (number(want[i]) && number(got[i]) && d <= 2e-5 * (s > 1 ? s : 1)) continue
        print "line " FNR ": printed \"" got[i] "\" instead of \"" want[i] "\""; bad = 1
      }
    }
    END { if (FNR != lines) { print FNR " lines instead of " lines; bad = 1 }; exit bad }' "$1" "$2"
}

extract "$root/README.md" README
extract "$root/docs/guide.md" guide
extract "$root/docs/choosing.md" choosing
for file in *.c; do
  name=${file%.c}
  case $name in
  *_part) extra="-Wno-unused -c" ;;
  *) extra="-Wl,-rpath,$library -L$library" libraries="-lvincula -lm" ;;
  esac
  # shellcheck disable=SC2086 # options are meant to be split
  ${CC:-cc} -std=c11 -Wall -Wextra -Werror -I"$include" "$file" -o "$name" $extra ${libraries-} ||
    { echo "$name: does not compile"; bad=1; continue; }
  unset libraries
  case $name in *_part) continue ;; esac
  ./"$name" >"$name.out" 2>"$name.err" || { echo "$name: failed: $(cat "$name.err")"; bad=1; continue; }
  [ ! -s "$name.err" ] || { echo "$name: wrote to standard error: $(cat "$name.err")"; bad=1; }
  [ -e "$name.txt" ] || { echo "$name: no text block shows what it prints"; bad=1; continue; }
  same "$name.txt" "$name.out" || { echo "$name: prints something else than the document says"; bad=1; }
done

programs=$(find . -name '*.out' | wc -l)
[ "$programs" -ge 7 ] || { echo "only $programs programs were found"; bad=1; }
cmp README_1.c guide_1.c || { echo "the first programs of README.md and docs/guide.md differ"; bad=1; }

# shellcheck disable=SC2016 # the backquotes are markdown
sed -n 's/^  X(\(VIN_[A-Z_]*\), \(-*[0-9]*\), "\(.*\)").*/| `\1` | \2 | \3 |/p' \
  "$include/vincula/base.h" >statuses
[ -s statuses ] || { echo "no statuses found in base.h"; bad=1; }
while read -r row; do
  grep -qF "$row" "$root/docs/guide.md" || { echo "docs/guide.md lacks: $row"; bad=1; }
done <statuses

awk '
  /^## / { command = 0; section = $0 }
  /^    .*(build\/|sh bench\/|make -C bench\/)/ { command = 1 }
  /^\|/ && !table && !command { print "docs/performance.md: no command for the table in: " section; bad = 1 }
  { table = /^\|/; tables += table }
  END { exit bad || tables < 20 }' "$root/docs/performance.md" || bad=1
exit $bad
