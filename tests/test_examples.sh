#!/bin/sh
# Runs the examples with --json and checks results, exit statuses and messages.
# Usage: test_examples.sh DIRECTORY_OF_THE_BUILT_EXAMPLES
set -eu
bin=${1:?usage: $0 DIRECTORY_OF_THE_BUILT_EXAMPLES}
bin=$(cd "$bin" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
passed=0
failed=0

verdict() { # name, status, text shown on failure
  if [ "$2" -eq 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $1: $3"
  fi
}

# run <example> <options...>: the JSON line goes to $work/json and, for humans, into $line.
run() {
  program=$1
  shift
  status=0
  "$bin/$program" --json "$@" >"$work/json" 2>"$work/stderr" || status=$?
  line=$(cat "$work/json")
  label="$program $*"
  if [ "$status" -ne 0 ] || [ "$(grep -c . "$work/json")" -ne 1 ]; then
    verdict "$label" 1 "status $status, $(cat "$work/stderr")"
  fi
}

# The value of a key of the last run; the objects are flat and their words hold no comma.
field() {
  tr '{},' '\n\n\n' <"$work/json" | sed -n "s/^\"$1\"://p" | tr -d '"'
}

# holds <expression of awk>: a key of the last run stands for its value.
holds() {
  values=""
  for key in $(printf '%s' "$1" | tr -cs 'a-z_' ' '); do
    value=$(field "$key")
    [ -n "$value" ] && values="$values $key=$value; " || case $key in
    e) ;; # of 1e-9
    *) verdict "$label: $1" 1 "no key $key in $line"; return 0 ;;
    esac
  done
  result=0
  awk "BEGIN { $values exit !($1) }" </dev/null || result=1
  verdict "$label: $1" $result "not so in $line"
}

has_keys() {
  for key in n m method solver h t steps energy_start energy_drift constraint_max hidden_max \
    symbolic numeric solves wall_s peak_mb "$@"; do
    result=0
    [ -n "$(field "$key")" ] || result=1
    verdict "$label: key $key" $result "missing in $line"
  done
}

# order <order> <step> <example> <options...>: halving the step divides the error by 2^order; a
# quarter either side, because the next term of the error is still visible.
order() {
  expected=$1
  step=$2
  shift 2
  run "$@" --h "$step"
  coarse=$(field error)
  run "$@" --h "$(awk "BEGIN { print $step / 2 }")"
  fine=$(field error)
  result=0
  awk "BEGIN { r = ${coarse:-0} / ${fine:-1}; e = 2 ^ $expected; exit !(r > 0.75 * e && r < 1.25 * e) }" || result=1
  verdict "$label: order $expected" $result "errors $coarse and $fine"
}

# refuses <text> <example> <options...>: exit status 2 and a message with the text, nothing printed.
refuses() {
  text=$1
  program=$2
  shift 2
  status=0
  "$bin/$program" "$@" >"$work/stdout" 2>"$work/stderr" || status=$?
  result=0
  [ "$status" -eq 2 ] && [ ! -s "$work/stdout" ] && grep -qF -- "$text" "$work/stderr" || result=1
  verdict "$program $*: refused with '$text'" $result "status $status, $(cat "$work/stderr")"
}

# ---- every example: contract ------------------------------------------------------------------

for program in tethered_satellites chain net custom_system custom_caraxis joint_space_kkt; do
  status=0
  "$bin/$program" --help >"$work/stdout" 2>"$work/stderr" || status=$?
  result=0
  [ "$status" -eq 0 ] && grep -q -- --method "$work/stdout" && [ ! -s "$work/stderr" ] || result=1
  verdict "$program --help" $result "status $status"
  refuses "--hurry" "$program" --hurry
  refuses "--h" "$program" --h -1
  refuses "--h" "$program" --h 0.1x
  refuses "--t" "$program" --t nan
  refuses "--t" "$program" --t
  refuses "--method" "$program" --method magic
  refuses "--projection" "$program" --projection sideways
  refuses "--solver" "$program" --solver prayer
  refuses "--csv" "$program" --csv "$work/nowhere/file.csv"
  refuses "--csv" "$program" --csv "$work"
  refuses "--plot" "$program" --plot "$work"
  refuses "--h" "$program" --t 1e300
done
refuses "--links" chain --links 0
refuses "--links" chain --links 1.5
refuses "--links" chain --links 1e12
refuses "not point or rod" chain --kind rope
refuses "--grid" net --grid 2
refuses "--method" joint_space_kkt --method rattle

# ---- results ------------------------------------------------------------------------------------

run tethered_satellites --t 10
has_keys error
holds 'n == 9 && m == 3 && symbolic == 1 && steps == 200'
holds 'constraint_max < 1e-13 && hidden_max < 1e-13'
order 2 0.05 tethered_satellites --t 10
order 2 0.05 tethered_satellites --t 100
order 4 0.02 tethered_satellites --t 10 --method rk4
order 4 0.01 tethered_satellites --t 100 --method rk4
run tethered_satellites --t 10 --method rk4 --h 0.005
holds 'error < 1e-11'

run chain --links 10 --t 0.5 --h 0.001
has_keys links error ns_per_step_per_link
holds 'n == 30 && m == 10 && links == 10'
for links in 10 50; do
  order 2 0.001 chain --links $links --t 0.5
  order 4 0.0025 chain --links $links --t 0.5 --method rk4
done
run chain --links 1e3 --t 0.1
holds 'symbolic == 1 && constraint_max < 1e-11'
run chain --links 100 --t 0.1 --kind rod
holds 'symbolic == 1 && constraint_max < 1e-11 && m == 100'

run net --grid 10 --t 0.5
has_keys grid links
holds 'n == 294 && m == 180 && grid == 10 && symbolic == 1 && constraint_max < 1e-12'

run custom_system --t 2
has_keys
holds 'n == 2 && m == 1 && constraint_max < 1e-12 && hidden_max < 1e-12'

run custom_caraxis # to 3, against 20 digits
has_keys error
holds 't == 3 && error < 1e-8'

run joint_space_kkt
has_keys error
# 4 stages and 3 projections in each step, each with one factorisation; the error is 9.4e-10
holds 'symbolic == 1 && numeric == 7 * steps && solves == numeric && error < 1e-8'
order 4 0.004 joint_space_kkt --t 0.5

# its own command line: --json alone
run dae_index1
holds 'symbolic == 1 && colours <= 6 && order > 1.9 && order < 2.1'
refuses "usage" dae_index1 --hurry

# its own command line; every value is compared by the program, the published ones here once more
status=0
"$bin/dae_gallery" --json >"$work/gallery" 2>"$work/stderr" || status=$?
result=0
[ "$status" -eq 0 ] && [ ! -s "$work/stderr" ] && [ "$(grep -c '"as_expected":true' "$work/gallery")" -ge 97 ] &&
  ! grep -q '"as_expected":false' "$work/gallery" || result=1
verdict "dae_gallery --json" $result "status $status, $(cat "$work/stderr"), $(grep false "$work/gallery")"
gallery() { # example, part of the quantity, lower and upper bound of its value
  value=$(grep "\"example\":\"$1\"" "$work/gallery" | grep -F -- "$2" | sed 's/.*"value":\([^,]*\),.*/\1/')
  result=0
  awk "BEGIN { v = \"$value\" + 0; exit !(\"$value\" != \"\" && v >= $3 && v <= $4) }" </dev/null || result=1
  verdict "dae_gallery: $1, $2" $result "value '$value', not in $3 to $4"
}
gallery linear-crank-nicolson "4 k x_0 / h" 159.99 160.01
gallery implicit-euler "energy at 20 s" -9.7755 -9.7745
gallery implicit-euler "max|Phi|" 0 1e-12
gallery third-order "1000: max|V|" 0.002295 0.002305
gallery third-order "without: max|V|" 0.1315 0.1325
gallery projection "rk4: order of positions" 3.75 4.25
gallery partitioning "partition-collatz: order of velocities" 1.75 2.25
gallery order-reduction "index 2: order of multiplier" 2.7 3.3
gallery van-der-pol "tau = 1: V(t)" 0 1e-8
refuses "--hurry" dae_gallery --hurry
refuses "--example" dae_gallery --example nonsense
refuses "--example" dae_gallery --example
refuses "--plot" dae_gallery --plot "$work/nowhere"

# an end time far shorter than the step is one step
for program in tethered_satellites custom_system joint_space_kkt; do
  run $program --t 0.01 --h 1e9
  holds 'steps == 1 && h > 0 && constraint_max < 1e-12'
done

# ---- failure: exit status 1, nothing on standard output, the reason on standard error ----------

for arguments in "--links 10 --h 1 --t 5" "--links 10 --h 1 --t 1000 --method euler --projection none"; do
  status=0
  # shellcheck disable=SC2086 # words on purpose
  "$bin/chain" $arguments >"$work/stdout" 2>"$work/stderr" || status=$?
  result=0
  [ "$status" -eq 1 ] && [ ! -s "$work/stdout" ] && grep -q 'VIN_.* t = ' "$work/stderr" || result=1
  verdict "chain $arguments: fails" $result "status $status, $(cat "$work/stderr")"
done

status=0
"$bin/joint_space_kkt" --h 1e9 --t 1e9 >"$work/stdout" 2>"$work/stderr" || status=$?
result=0
[ "$status" -eq 1 ] && [ ! -s "$work/stdout" ] && grep -q 'smaller step' "$work/stderr" || result=1
verdict "joint_space_kkt --h 1e9: fails" $result "status $status, $(cat "$work/stderr")"

# ---- files ----------------------------------------------------------------------------------------

for program in tethered_satellites chain net custom_system custom_caraxis joint_space_kkt; do
  run "$program" --t 0.5 --csv "$work/$program.csv" --plot "$work/$program.png"
  result=0
  head -n 1 "$work/$program.csv" | grep -q '^t,energy,' || result=1
  verdict "$label: CSV" $result "$(head -c 200 "$work/$program.csv")"
  result=0
  [ "$(od -An -c -N 4 "$work/$program.png" | tr -d ' ')" = '211PNG' ] || result=1
  verdict "$label: plot" $result "no PNG file"
done

for name in $("$bin/dae_gallery" --list | cut -d' ' -f1); do
  [ "$name" != initialisation ] || continue # a table of values only
  "$bin/dae_gallery" --example "$name" --csv "$work" --plot "$work" >/dev/null || true
  result=0
  [ "$(head -n 1 "$work/$name.csv")" = panel,curve,x,y ] &&
    [ "$(od -An -c -N 4 "$work/$name.png" | tr -d ' ')" = '211PNG' ] || result=1
  verdict "dae_gallery --example $name: files" $result "missing or something else"
done

if [ -e /dev/full ]; then
  status=0
  "$bin/dae_gallery" >/dev/full 2>"$work/stderr" || status=$?
  result=0
  [ "$status" -eq 1 ] && grep -q 'standard output' "$work/stderr" || result=1
  verdict "dae_gallery >/dev/full" $result "status $status, $(cat "$work/stderr")"
  status=0
  "$bin/chain" --links 3 --t 0.01 >/dev/full 2>"$work/stderr" || status=$?
  result=0
  [ "$status" -eq 1 ] && grep -q 'standard output' "$work/stderr" || result=1
  verdict "chain >/dev/full" $result "status $status, $(cat "$work/stderr")"
fi

echo "test_examples: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
