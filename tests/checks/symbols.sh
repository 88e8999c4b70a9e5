#!/bin/sh
# What the built library shows and uses. Usage: symbols.sh <libvincula.so> <libvincula.a>
# Build it in release and without sanitizers, which add symbols of their own.
set -eu
shared=$1
static=$2
bad=0

# Prints a heading and the lines on standard input and fails; does nothing when there are none.
complain() {
  awk -v heading="$1" 'NR == 1 { print heading } { print "  " $0 } END { exit NR > 0 }'
}

nm -D --defined-only "$shared" >/dev/null # a missing file fails here
nm "$static" >/dev/null

nm -D --defined-only "$shared" | awk '$NF !~ /^vin_[a-z]/ { print $NF }' |
  complain "$shared: exported, but not vin_*:" || bad=1
[ "$(nm -D --defined-only "$shared" | grep -c ' T vin_')" -gt 0 ] ||
  echo "no vin_* function" | complain "$shared:" || bad=1

# Archive members are joined without a prefix in other codes, so their global names need one too.
nm -g --defined-only "$static" | awk 'NF == 3 && $3 !~ /^vini?_/ { print $3 }' |
  complain "$static: global, but neither vin_* nor vini_*:" || bad=1

# No state outside objects. Tables of pointers are written by the loader only (.data.rel.ro). The one
# exception is the lock around METIS, whose own random numbers are process-wide.
nm -A -f sysv "$static" | awk -F'|' '
  { section = $NF; gsub(/ /, "", section) }
  section ~ /^(\.l?data|\.l?bss|\.sdata|\.sbss|\.tdata|\.tbss|\*COM\*)/ && section !~ /^\.data\.rel\.ro/ {
    gsub(/ +/, " ", $1)
    if ($1 !~ /order\.c\.o:metis_lock ?$/) print $1 " in " section
  }' | complain "$static: writable global data:" || bad=1

# Never prints, exits, aborts, touches locale and signals. snprintf is fine, and so is fprintf to a file
# that was opened: without stdout and stderr nothing can be printed by it.
nm -A --undefined-only "$static" | awk '
  BEGIN {
    split("printf vprintf dprintf vdprintf puts putchar putchar_unlocked perror psignal " \
          "stdout stderr stdin exit _Exit quick_exit abort atexit __assert_fail setlocale signal " \
          "sigaction raise kill __printf_chk __vprintf_chk", list, " ")
    for (i in list) forbidden[list[i]] = 1
  }
  $NF in forbidden { print $1 " " $NF }' | complain "$static: used, but forbidden in lib/:" || bad=1

exit $bad
