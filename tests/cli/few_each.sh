#!/bin/sh
# Three and four nodes of one rank, and two nodes of two ranks and one: the answers of as many ranks on one node, to the
# bit, in every way. The way is told.
. "$(dirname "$0")/../lib/lib.sh"
lib=$(cd "$(dirname "$0")/../lib" && pwd)
cd "$scratch" || exit 99
sizes="1 1 1 1"
. "$lib/nodes.sh"

"$amped" generate a.h5 --dims=3000x200x50 --nnz=20k --skew=0.7 --seed=3 -q || fail "generate"
"$amped" generate d.h5 --dims=40x30x20 --dense --planted=3 --noise=0.1 --seed=2 -q || fail "generate"
for day in 1 2; do
  "$amped" generate day$day.tns --dims=60x40x$((5 + day)) --nnz=600 --seed=$day -q || fail "generate"
done
expect 0 "" "$amped" complete day1.tns --rank=3 --reg=0.5 --iters=3 --holdout=0 --nowrite --state=begun.state --backend=cpu

# told WAY: the beginning of the line that tells it. Rows go round one ring if each node has one rank.
told() {
  case $1 in
    allgatherv) echo "exchange: MPI_Allgatherv in place on host memory" ;;
    auto) test "$spread_ranks" -eq "$machines" && told ring || told rails ;;
    *) echo "exchange: $1 in place on host memory" ;;
  esac
}
# run FILE COMMAND...: what the command, which writes FILE.h5, finds.
run() {
  file=$1
  shift
  rm -f live.state*
  cp begun.state live.state
  expect 0 "$pattern" "$@" --backend=cpu --deterministic -v -o "$file.h5" --overwrite
  rm -f "$file".*txt
  "$amped" convert "$file.h5" "$file.txt" -q && cat "$file".*txt >"$file"
}

for layout in $(few 2 1,1,1,1 2,1 1,1,1 1,2); do
  # shellcheck disable=SC2046
  lay_out $(echo "$layout" | tr ',' ' ')
  machines=$(wc -l <hosts)
  for command in "cpd a.h5 --rank=24" "cpd a.h5 --rank=5 --copies=one" "cpd d.h5 --rank=3" "complete a.h5 --rank=4 --reg=1" \
    "stream live.state day2.tns"; do
    steps="--iters=3 --tol=0 --precision=double --seed=1"
    test "${command#stream}" = "$command" || steps="--forget=0.9"
    pattern=
    # shellcheck disable=SC2086
    run one on $spread_ranks $command $steps
    expect 0 "" test -s one
    for way in auto rails ring; do
      for by in slot node; do
        test "$by" = slot || test "$spread_ranks" -ne "$machines" && test $way != ring || continue # the same
        pattern="$(told $way)"
        test "${command#stream}" != "$command" || pattern="$pattern.*; .*, $machines nodes; "
        # shellcheck disable=SC2086
        run many spread $command $steps --exchange=$way
        cmp one many && pass || fail "$layout by $by, $way: $command"
      done
    done
  done
done
finish
