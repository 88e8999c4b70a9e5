#!/bin/sh
# The include rule of docs and DESIGN: a layer includes only itself and the layers above it in this
# list, and only linsys sees SuiteSparse and METIS. Usage: layers.sh [root]
set -eu
cd "${1:-$(dirname "$0")/../..}"
find lib include -name '*.[ch]' | sort | xargs -r awk '
  BEGIN {
    n = split("base sparse linsys kkt system dae project integrate model sim study", list, " ")
    for (i = 1; i <= n; i++) rank[list[i]] = i
    rank["vincula"] = n + 1 # the umbrella header: for users only
    split("umfpack.h cholmod.h SuiteSparseQR_C.h amd.h metis.h SuiteSparse_config.h klu.h ldl.h", names, " ")
    for (i in names) backend[names[i]] = 1
  }
  FNR == 1 {
    split(FILENAME, part, "/") # lib/<layer>/<file> or include/vincula/<layer>[_<part>].h
    layer = part[1] == "lib" ? part[2] : part[3]
    sub(/(_[a-z]+)?\.h$/, "", layer)
    if (!(layer in rank)) complain("layer \"" layer "\" is not in the list")
  }
  /^[ \t]*#[ \t]*include[ \t]*["<]/ {
    target = $0
    sub(/^[^"<]*["<]/, "", target)
    sub(/[">].*/, "", target)
    name = target
    sub(/.*\//, "", name)
    if (name in backend) {
      if (part[1] != "lib" || layer != "linsys") complain("only lib/linsys may include " target)
      next
    }
    if (index($0, "\"") == 0 && target !~ /^vincula\//) next # a system header
    if (target !~ /^[^\/]+\/[^\/]+$/) { complain("write \"<layer>/" target "\""); next }
    other = target
    if (target ~ /^vincula\//) { sub(/^vincula\//, "", other); sub(/(_[a-z]+)?\.h$/, "", other) }
    else {
      sub(/\/.*/, "", other)
      if (part[1] == "include") complain("a public header includes private " target)
    }
    if (!(other in rank)) complain("includes " target ", whose layer is not in the list")
    else if (rank[other] > rank[layer]) complain(layer " may not include " target)
  }
  function complain(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
  END { exit bad }'
