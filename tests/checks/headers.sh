#!/bin/sh
# Every public header compiles alone, as strict C11 and as C++17. Usage: headers.sh [root]
set -eu
cd "${1:-$(dirname "$0")/../..}"
bad=0
for header in include/vincula/*.h; do
  name=${header#include/}
  echo "#include \"$name\"" | gcc -std=c11 -pedantic -Wall -Wextra -Wstrict-prototypes -Werror -Iinclude \
    -fsyntax-only -x c - || { echo "$name: not C11"; bad=1; }
  echo "#include \"$name\"" | g++ -std=c++17 -Wall -Werror -Iinclude \
    -fsyntax-only -x c++ - || { echo "$name: not C++17"; bad=1; }
done
exit $bad
