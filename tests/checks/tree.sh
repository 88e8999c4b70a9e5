#!/bin/sh
# The top level holds what the design lists, and no file names a place of one machine or a server of
# packages. Usage: tree.sh [root]
set -eu
cd "$(dirname "$0")"
. ./files.sh
cd "${1:-../..}"
bad=0

for entry in $(files | cut -d/ -f1 | sort -u); do
  case $entry in
  lib | include | bench | tests | examples | docs | cmake | .*) ;;
  CMakeLists.txt | CMakePresets.json | README.md | CHANGELOG.md | LICENSE) ;;
  *) echo "$entry: does not belong on the top level"; bad=1 ;;
  esac
done

# The brackets keep these patterns from finding themselves.
places='(^|[^A-Za-z0-9_.$}-])/([w]ork|[h]ome|[r]oot)/'
servers='([d]eb|[s]napshot|[f]tp)\.debian\.org|[a]rchive\.ubuntu\.com|[p]ypi\.org|[p]ythonhosted\.org'
servers="$servers|[r]egistry\\.npmjs|[c]rates\\.io|[p]roxy\\.golang\\.org|[a]naconda\\.org"
if files | tr '\n' '\0' | xargs -0 -r grep -nIE "$places|$servers" /dev/null; then
  echo "above: paths of one machine or package servers"
  bad=1
fi
exit $bad
