#!/bin/sh
# Everything that must hold before a change is pushed; also what CI runs. Builds into build/, may be
# started from anywhere, runs all stages whatever fails, exits 1 when anything did.
# Usage: run.sh
set -eu
case ${1:-} in
"") ;;
-h | --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;;
*) echo "$0: $1: there are no options; --help says what it does" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
begin=$(date +%s)
passed=0
failed=""
mkdir -p build/logs

sh cmake/dependencies.sh # a failure ends the run: nothing else could work

pass() { passed=$((passed + ${1:-1})); }

fail() {
  failed="$failed
  $1"
  echo "FAILED: $1"
}

# stage <name> <function>: heading, run, verdict with the time it took. Functions return 0 or 1; they
# join steps with &&, because set -e does not act inside a condition. Where a function has named what
# failed, the stage is not counted again.
stage() {
  stage_begin=$(date +%s)
  failed_before=$failed
  echo
  echo "== $1"
  if "$2"; then pass; elif [ "$failed" = "$failed_before" ]; then fail "$1"; fi
  echo "-- $1: $(($(date +%s) - stage_begin)) s"
}

# quiet <log name> <command...>: shows the output only when the command fails.
quiet() {
  quiet_log=build/logs/$1.log
  shift
  "$@" >"$quiet_log" 2>&1 || { cat "$quiet_log"; return 1; }
}

# build <preset> <cmake options...>; the variable `target` names what is built (all).
target=all
build() {
  preset=$1
  shift
  quiet "configure-$preset" cmake --fresh --preset "$preset" -DVINCULA_WERROR=ON "$@" &&
    quiet "build-$preset" cmake --build "build/$preset" --parallel "$jobs" --target "$target" &&
    grep 'licence of the library' "build/logs/configure-$preset.log"
}

# tests <preset> <ctest options...>: runs and counts; each failed test is listed by name.
tests() {
  preset=$1
  shift
  log=build/logs/ctest-$preset.log
  status=0
  ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure --no-tests=error "$@" \
    >"$log" 2>&1 || status=$?
  # passed tests take one line each, failed ones their whole output
  cat "$log"
  pass "$(grep -c '^ *[0-9]*/[0-9]* Test .* Passed ' "$log" || :)"
  for name in $(sed -n 's/^[ \t]*[0-9][0-9]* - \(test_[A-Za-z0-9_]*\) (.*/\1/p' "$log"); do
    fail "$name ($preset)"
  done
  return $status
}

# ---- stages -------------------------------------------------------------------------------------

release_build() { build release; }
release_tests() { tests release; }
example_tests() { sh tests/test_examples.sh build/release/examples; }
instruction_counts() { sh bench/golden.sh check build/release; }
readme_programs() { sh tests/checks/readme.sh build/release include; }

minimal() { # no UMFPACK, CHOLMOD, SuiteSparseQR, METIS
  build minimal -DVINCULA_EXAMPLES=OFF -DVINCULA_BENCH=OFF && tests minimal -LE long
}

asan_build() { build asan -DVINCULA_BENCH=OFF; }

# Criterion runs each test in a child process whose leak report does not fail the run, so the reports
# go to files, and any file is a failure.
asan_tests() {
  logs=$PWD/build/asan/logs
  rm -rf "$logs" && mkdir -p "$logs" || return 1
  status=0
  ASAN_OPTIONS="log_path=$logs/asan:detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1" \
    UBSAN_OPTIONS="print_stacktrace=1" tests asan -LE long || status=1
  for log in "$logs"/*; do
    [ -e "$log" ] || continue
    status=1
    echo "$log:"
    cat "$log"
  done
  return $status
}

# OpenMP is kept to one thread: libgomp, which CHOLMOD uses, is not built for this sanitizer.
tsan() {
  if ! ls tests/test_threads*.c >/dev/null 2>&1; then
    echo "there is no tests/test_threads*.c"
    return 0
  fi
  target=vincula_thread_tests
  status=0
  build tsan -DVINCULA_BENCH=OFF -DVINCULA_EXAMPLES=OFF &&
    OMP_NUM_THREADS=1 TSAN_OPTIONS="halt_on_error=1" tests tsan -R '^test_threads' || status=1
  target=all
  return $status
}

check_layers() { sh tests/checks/layers.sh; }
check_headers() { sh tests/checks/headers.sh; }
check_format() { sh tests/checks/format.sh; }
check_tree() { sh tests/checks/tree.sh; }
check_selftest() { sh tests/checks/selftest.sh build/checks; }
check_symbols() { sh tests/checks/symbols.sh build/release/libvincula.so build/release/libvincula.a; }
clang_build() { build clang; }
install_and_link() { sh tests/install/run.sh build/release build/install; }

stage "release build" release_build
stage "release tests" release_tests
stage "examples" example_tests
stage "programs of README and guide" readme_programs
stage "instruction counts" instruction_counts
stage "check: include layers" check_layers
stage "check: symbols" check_symbols
stage "check: headers alone" check_headers
stage "check: clang-format" check_format
stage "check: tree and paths" check_tree
stage "check: the checks can fail" check_selftest
stage "install and link" install_and_link
stage "without UMFPACK, CHOLMOD, SuiteSparseQR, METIS" minimal
stage "address sanitizer build" asan_build
stage "address sanitizer tests" asan_tests
stage "clang without warnings" clang_build
stage "thread sanitizer" tsan

echo
echo "total: $(($(date +%s) - begin)) s"
[ -z "$failed" ] || echo "failed:$failed"
echo "vincula: $passed passed, $(printf '%s' "$failed" | grep -c . || :) failed"
[ -z "$failed" ]
