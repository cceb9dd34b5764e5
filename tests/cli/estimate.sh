#!/bin/sh
# jobs/estimate: its memory is the memory of cpd --plan, and docs/cluster.md shows its real output.
. "$(dirname "$0")/../lib/lib.sh"
source=$(cd "$(dirname "$0")/../.." && pwd) || exit 99
estimate=$source/jobs/estimate
cd "$scratch" || exit 99

test "$backend" = cpu || { echo "skipped: this is about numbers, not about GPUs"; exit 77; }

# bytes "1.50 MiB": the number of bytes.
bytes() {
  echo "$1" | awk '{ printf "%.0f\n", $1 * 1024 ^ ((index("B  KiBMiBGiB", $2) - 1) / 3) }'
}

# Indices are uniform, so ranks have nearly the same number of rows. Blocks have at least dim / P
# rows, and for these dimensions at most 2 % more. Sizes are rounded to two decimals: at most 0.5 %.
# The estimate is of GPUs; factors are too small, or rows used too seldom, for CPUs to cut copies into tiles.
agree() {
  if awk -v a="$2" -v b="$3" 'BEGIN { exit !(a > 0 && b >= a * 0.995 && b <= a * 1.02) }'; then
    pass
  else
    fail "$1: estimated $2, planned $3"
  fi
}

for case in "4000x3000x5000 7 float" "700x200x300x400 7 double" "300x140000x400 32 float"; do
  # shellcheck disable=SC2086
  set -- $case
  "$amped" generate t.h5 --dims="$1" --nnz=400k --seed=2 -q --overwrite || fail "generate"
  for ranks in $(few 2 1 4 3 2); do
    on $ranks t.h5 --rank="$2" --precision="$3" --plan --json=plan.json >plan.txt 2>err.txt || fail "plan"
    line=$("$estimate" --dims="$1" --nnz=400k --rank="$2" --precision="$3" --gpus=$ranks --nodes=1 | tail -n 1)
    agree "factors of $case on $ranks" "$(bytes "$(echo "$line" | awk '{ print $3, $4 }')")" \
      "$(bytes "$(sed -n 's/^factors and MTTKRP result: \(.*\) on every rank/\1/p' plan.txt)")"
    planned=$(grep -o '"copy_bytes":\[[0-9]*' plan.json | awk -F'[' '{ n += $2 } END { print n }')
    # Host of a GPU's node: without factors, copies and workspace, which are in its memory. The file has floats.
    if test "$ranks-$3" = 1-float; then
      on 1 t.h5 --rank="$2" --precision="$3" --plan -v >rows.txt 2>err.txt || fail "plan -v"
      agree "host of $case" "$(bytes "$(echo "$line" | awk '{ print $7, $8 }')")" \
        "$(awk '/^  (residual|loading|result)/ { n += $NF } END { print n }' rows.txt)"
    fi
    agree "copies of $case on $ranks" "$(bytes "$(echo "$line" | awk '{ print $5, $6 }')")" "$planned"
  done
done

# --- the document ---------------------------------------------------------------------------------
# Every block "    $ jobs/estimate ..." up to the next empty line.
awk '/^    \$ jobs\/estimate/ { n++; print substr($0, 7) > ("command." n); inside = 1; next }
  inside && /^$/ { inside = 0 }
  inside { print substr($0, 5) > ("shown." n) }' "$source/docs/cluster.md"
test -f command.3 && pass || fail "docs/cluster.md shows fewer than three estimates"
for command in command.*; do
  (cd "$source" && sh "$scratch/$command") >said 2>&1
  if cmp -s said "shown.${command#*.}"; then
    pass
  else
    fail "docs/cluster.md shows other numbers than $(cat "$command")"
    diff said "shown.${command#*.}" | head -5
  fi
done

# --- refused options, and tensors that do not fit ---------------------------------------------------
refused() {
  if "$estimate" "$@" >out 2>err; then
    fail "not refused: $*"
  elif test "$(wc -l <err)" -eq 1 && grep -q '^jobs/estimate: ' err && test ! -s out; then
    pass
  else
    fail "not one line for $*: $(head -3 err)"
  fi
}
t="--dims=2x3x4 --nnz=10"
refused
refused --dims=2x3x4
refused --nnz=10
refused --dims=2x3 --nnz=10
refused --dims=2x3x4 --nnz=ten
for bad in --nodes=0 --nodes=1.5 --links=0 --links=a --gpus=0 --rank=-1 --one-gpu=1,2 --memory=0 --no; do
  # shellcheck disable=SC2086
  refused $t $bad
done
"$estimate" --dims=400000000x30x40 --nnz=1G --memory=40G --nodes=1 | grep -q 'factors do not fit' && pass ||
  fail "factors of 51 GB fit 40 GB"
"$estimate" --help | grep -q '^Usage: jobs/estimate' && pass || fail "no --help"

finish
