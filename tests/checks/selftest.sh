#!/bin/sh
# A check that cannot fail checks nothing: each one must refuse a small tree with a known fault.
# Usage: selftest.sh <scratch directory, emptied>
set -eu
checks=$(cd "$(dirname "$0")" && pwd)
rm -rf "$1"
mkdir -p "$1"
cd "$1"
bad=0

# refuses <words its output must have> <command...>
refuses() {
  words=$1
  shift
  if "$@" >output 2>&1; then
    echo "accepted, although '$words': $*"
    bad=1
  elif ! grep -q -e "$words" output; then
    echo "refused, but not for '$words': $*"
    cat output
    bad=1
  fi
}

# tree <file> <content>: a fresh tree with one file
tree() {
  rm -rf tree
  mkdir -p tree/lib/base tree/include/vincula "tree/$(dirname "$1")"
  printf '%s\n' "$2" >"tree/$1"
}

tree lib/sparse/a.c '#include "kkt/kkt.h"'
refuses "sparse may not include kkt/kkt.h" sh "$checks/layers.sh" tree
tree lib/sparse/a.c '#include "vincula/sim.h"'
refuses "sparse may not include vincula/sim.h" sh "$checks/layers.sh" tree
tree lib/kkt/a.c '#  include <suitesparse/umfpack.h>'
refuses "only lib/linsys" sh "$checks/layers.sh" tree
tree lib/odd/a.c 'int a;'
refuses "not in the list" sh "$checks/layers.sh" tree
tree lib/base/a.c '#include "base.h"'
refuses "write" sh "$checks/layers.sh" tree
tree include/vincula/kkt.h '#include "kkt/kkt.h"'
refuses "public header includes private" sh "$checks/layers.sh" tree

tree include/vincula/a.h 'void a(void) { unknown x; }'
refuses "not C11" sh "$checks/headers.sh" tree
tree include/vincula/a.h 'static inline int *a(void *p) { return p; }'
refuses "not C++17" sh "$checks/headers.sh" tree
tree lib/base/a.c 'int   a ;'
refuses "not formatted\|clang-format-violations" sh "$checks/format.sh" "$PWD/tree"
tree stray.txt ''
refuses "top level" sh "$checks/tree.sh" "$PWD/tree"
tree lib/base/a.c "/* see /$(printf home)/someone/notes */"
refuses "paths of one machine" sh "$checks/tree.sh" "$PWD/tree"

# library <code>: builds libt.so and libt.a from it
library() {
  printf '#include <stdio.h>\n#include <stdlib.h>\nvoid vin_a(void) {}\n%s\n' "$1" >t.c
  gcc -O2 -fPIC -c t.c
  gcc -shared -o libt.so t.o
  rm -f libt.a
  ar rc libt.a t.o
}
library 'static int x; int *vin_x(void) { return &x; }'
refuses "writable global" sh "$checks/symbols.sh" libt.so libt.a
library 'static _Thread_local int x; int *vin_x(void) { return &x; }'
refuses "writable global" sh "$checks/symbols.sh" libt.so libt.a
library 'void b(void) {}'
refuses "not vin_" sh "$checks/symbols.sh" libt.so libt.a
library 'void vin_b(int n) { printf("%d\n", n); }'
refuses "forbidden" sh "$checks/symbols.sh" libt.so libt.a
library 'void vin_b(void) { abort(); }'
refuses "forbidden" sh "$checks/symbols.sh" libt.so libt.a
library 'static const char *const table[] = {"a", "b"}; const char *vin_b(int i) { return table[i]; }
int vin_c(char *t, size_t n, double x) { static const int k[3] = {1, 2, 3}; return snprintf(t, n, "%g", x) + k[n]; }'
sh "$checks/symbols.sh" libt.so libt.a || { echo "refused, although in order"; bad=1; }

exit $bad
