#!/bin/sh
# clang-format would change nothing. Usage: format.sh [root]; to repair: format.sh --fix
set -eu
cd "$(dirname "$0")"
. ./files.sh
mode="--dry-run -Werror"
root=../..
case ${1:-} in
--fix) mode=-i ;;
?*) root=$1 ;;
esac
cd "$root"
# shellcheck disable=SC2086 # mode is two words
files include lib tests examples bench | grep '\.[ch]$' | xargs -r clang-format $mode
