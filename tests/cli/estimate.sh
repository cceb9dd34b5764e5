#!/bin/sh
# jobs/estimate: its memory is the memory of cpd --plan, its exchange follows the formulas of docs/methods.md, and
# docs/cluster.md and decision 024 show its real output.
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

# One copy for all modes: nonzeros. The plan's copy also has tables of boxes and pieces; ranks of two hold half.
"$amped" generate t.h5 --dims=4000x3000x5000 --nnz=400k --seed=2 -q --overwrite || fail "generate"
for ranks in 1 2; do
  on $ranks t.h5 --rank=7 --copies=one --plan --json=plan.json >plan.txt 2>err.txt || fail "plan"
  line=$("$estimate" --dims=4000x3000x5000 --nnz=400k --rank=7 --copies=one --one-gpu=1 --gpus=$ranks --nodes=1 | tail -n 1)
  awk -v a="$(bytes "$(echo "$line" | awk '{ print $5, $6 }')")" -v b="$(grep -o '"copy_bytes":\[[0-9]*' plan.json | awk -F'[' '{ n += $2 } END { print n }')" \
    'BEGIN { exit !(a > 0 && b >= a * 0.995 && b <= a * 1.04) }' && pass || fail "one copy on $ranks: $line"
done
# Cells of a slab, and two arrays of partial sums of the longest other mode: 8 bytes and 40 in rows of 64.
same "memory of a dense tensor" "$("$estimate" --dims=64x100x90 --dense --precision=double --rank=5 --one-gpu=1 --gpus=2 --nodes=1 |
  awk 'END { print $3, $4, $5, $6 }')" "$(awk 'BEGIN { printf "%.2f KiB %.2f MiB", 64 * (254 + 50 + 2 * 100) / 1024, 8 * 32 * 100 * 90 / 1024 ^ 2 }')"

# --- the document ---------------------------------------------------------------------------------
# Every block "    $ jobs/estimate ..." up to the next empty line.
awk '/^    \$ jobs\/estimate/ { n++; print substr($0, 7) > ("command." n); inside = 1; next }
  inside && /^$/ { inside = 0 }
  inside { print substr($0, 5) > ("shown." n) }' "$source/docs/cluster.md"
test -f command.1 && pass || fail "docs/cluster.md shows no estimate"
for command in command.*; do
  (cd "$source" && sh "$scratch/$command") >said 2>&1
  if cmp -s said "shown.${command#*.}"; then
    pass
  else
    fail "docs/cluster.md shows other numbers than $(cat "$command")"
    diff said "shown.${command#*.}" | head -5
  fi
done

# table PAGE HEADING OPTION...: in a table of docs/PAGE whose first line begins with "| HEADING |", a row begins with a
# name and options of the job in backticks. Its cells, one per number of nodes in the first line, must be what
# `tell`, an awk program, prints for the job's line of that number of nodes.
table() {
  page=$source/docs/$1
  heading=$2
  shift 2
  awk -v heading="| $heading |" 'index($0, heading) == 1 { on = 1 } !/^\|/ { on = 0 } on' "$page" >rows.txt
  nodes=$(head -n 1 rows.txt | grep -o '| [0-9][^|]*' | sed 's/[^0-9]//g' | tr '\n' ',' | sed 's/,$//')
  sed -n '3,$p' rows.txt | while IFS= read -r row; do
    given=$(echo "$row" | sed 's/^[^`]*`\([^`]*\)`.*/\1/')
    # shellcheck disable=SC2086
    "$estimate" $given "$@" --nodes="$nodes" >all.txt || echo "no estimate"
    sed 's/[()]/ /g' all.txt | awk "$tell"' END { print "|" }' >told.txt
    test "$(echo "$row" | sed 's/^|[^|]*//')" = "$(cat told.txt)" || echo "$row <> $(cat told.txt)"
  done >differ.txt
  count=$(sed -n '3,$p' rows.txt | wc -l)
  if test "$count" -ge 4 && test ! -s differ.txt; then
    pass
  else
    fail "table \"$heading\" of $page, $count rows"
    head -n 4 differ.txt
  fi
}

# Ring and rails, times one GPU.
tell='$1 ~ /^[0-9]+$/ { printf "| %s, %s ", $(NF - 2), $NF }'
table cluster.md "times one GPU" --links=45 --rails=1,4
# Milliseconds of rails, of a grid, and of rows in 16 bits.
tell='$1 ~ /^[0-9]+$/ { printf "| %s, %s, %s ", $(NF - 5), $(NF - 3), $(NF - 1) }'
table decisions/024-ring-exchange.md "ms, 4 GPUs a node" --links=45 --gpus=4 --rails=4 --what-if=grid,half
table decisions/024-ring-exchange.md "ms, 8 GPUs a node" --links=45 --gpus=8 --rails=8 --what-if=grid,half

# --- exchange between nodes -------------------------------------------------------------------------
# One ring is what the job said before it had --rails.
reddit="--dims=8211298x176962x8116559 --nnz=4.7G --one-gpu=487.8"
# shellcheck disable=SC2086
same "one rail is the ring" "$("$estimate" $reddit --rails=1)" "$("$estimate" $reddit)"
# shellcheck disable=SC2086
same "the ring" "$("$estimate" $reddit --links=45 --nodes=1,2,4,16 | sed -n 's/.* % *//p' | tr -s ' ' | tr '\n' ';')" \
  "122.0 126.2 ( 3.9);61.0 102.6 ( 4.8);30.5 75.7 ( 6.4);7.6 58.7 ( 8.3);"

# near WHAT A B: equal within rounding of the job's decimals.
near() {
  if awk -v a="$2" -v b="$3" 'BEGIN { exit !(a - b < 0.06 && b - a < 0.06) }'; then pass; else fail "$1: $2, not $3"; fi
}
# last OPTION...: milliseconds of the last column.
last() { "$estimate" "$@" | sed -n '$s/.* \([0-9.]*\) ([^(]*$/\1/p'; }

# Formulas once more, one tensor, from the text of docs/methods.md.
for case in "3 4 4 45" "3 4 2 45" "5 8 8 90" "2 1 1 22" "4 2 2 300"; do
  # shellcheck disable=SC2086
  set -- $case
  # shellcheck disable=SC2086
  near "rails, $case" "$(last $reddit --nodes="$1" --gpus="$2" --rails="$3" --links="$4")" "$(awk -v N="$1" -v g="$2" -v R="$3" -v B="$4" 'BEGIN {
    P = N * g
    t = 487.8 / P
    split("8211298 176962 8116559", dim, " ")
    for (n = 1; n <= 3; n++) {
      S = 32 * 4 * dim[n] / 1e6
      if (R == 1) { t += S * (P - 1) / P / B + (P - 1) * 0.026; continue }
      network = S * (N - 1) / (N * R * B)
      inside = S * (R == g ? P - N : P - 1) / P / 390
      t += (network > inside ? network : inside) + S * (g - 1) / (2 * N * R * 390) + (N + g - 2) * 0.026
    }
    print t }')"
done
# Sums over ranks, once more from the text: all modes but the longest, or but that of slabs (whole).
for case in "3 4 4 45 --copies=one 1" "5 8 8 90 --copies=one 1" "4 4 2 45 --copies=one 1" "2 4 1 22 --copies=one 1" "1 4 1 45 --copies=one 1" \
  "1 1 1 45 --copies=one 1" "2 8 8 45 --dense 1" "2 8 1 45 --dense 1"; do
  # shellcheck disable=SC2086
  set -- $case
  tensor="--dims=8211298x176962x8116559"
  test "$5" = --dense || tensor="$tensor --nnz=4.7G"
  # shellcheck disable=SC2086
  near "sums, $case" "$(last $tensor "$5" --one-gpu=487.8 --memory=9000000T --nodes="$1" --gpus="$2" --rails="$3" --links="$4")" \
    "$(awk -v N="$1" -v g="$2" -v K="$3" -v B="$4" -v whole="$6" 'BEGIN {
    P = N * g
    t = 487.8 / P
    split("8211298 176962 8116559", dim, " ")
    for (n = 1; n <= 3 && P > 1; n++) {
      S = 32 * 4 * dim[n] / 1e6
      network = S * (N - 1) / (N * K * B)
      inside = S * (K == g ? P - N : P - 1) / P / 390
      if (N > 1 && K > 1) t += (network > inside ? network : inside) + S * (g - 1) / (2 * N * K * 390) + (N + g - 2) * 0.026
      else t += S * (P - 1) / P / (N > 1 ? B : 390) + (P - 1) * 0.026
      if (n == whole) continue
      if (N > 1 && K > 1) { t += S * (1 - 1 / g) / 390 + S * (1 - 1 / N) / (K * B) + 2 * 0.026; continue }
      far = N > 1 ? S * (1 - 1 / N) / B : 0
      near = S * (g - 1) / P / 390
      t += (far > near ? far : near) + 0.026
    }
    print t }')"
done
# Slabs are of the first mode if it is long enough for all ranks, else of the longest.
slabs() { "$estimate" --dims="$1" --dense --one-gpu=1 --gpus="$2" --nodes=1 | awk 'END { print $5, $6 }'; }
same "slabs of the first mode" "$(slabs 64x256x256 8)" "2.00 MiB"
same "slabs of the longest mode" "$(slabs 63x256x250 8)" "1.92 MiB"

# A slow network is all that counts: R rails take 1/R of its time, and one ring brings in own rows as well.
awk -v ring="$(last --dims=9000000x80x90 --nnz=9 --nodes=4 --links=0.01 --rails=1)" \
  -v two="$(last --dims=9000000x80x90 --nnz=9 --nodes=4 --links=0.01 --rails=2)" \
  -v four="$(last --dims=9000000x80x90 --nnz=9 --nodes=4 --links=0.01 --rails=4)" 'BEGIN {
    a = two / four; b = ring / four / (4 * (15 / 16) / (3 / 4)); exit !(a > 1.999 && a < 2.001 && b > 0.999 && b < 1.001) }' &&
  pass || fail "time of the network over rails"
# 16 bits of 32 or 64.
awk -v four="$(last --dims=9000000x80x90 --nnz=9 --nodes=4 --links=0.01 --rails=4)" \
  -v half="$(last --dims=9000000x80x90 --nnz=9 --nodes=4 --links=0.01 --what-if=half)" \
  -v fourth="$(last --dims=9000000x80x90 --nnz=9 --nodes=4 --links=0.01 --what-if=half --precision=double)" 'BEGIN {
    a = four / half; b = half / fourth; exit !(a > 1.999 && a < 2.001 && b > 0.999 && b < 1.001) }' &&
  pass || fail "time of the network in 16 bits"
# The best grid of six nodes of one GPU, from all that there are. Tables this small are gathered at one rate.
near "grid" "$(last --dims=3000x2000x900 --nnz=9 --one-gpu=600 --nodes=6 --gpus=1 --what-if=grid --links=0.01)" "$(awk 'BEGIN {
  split("3000 2000 900", dim, " ")
  for (p[1] = 1; p[1] <= 6; p[1]++) for (p[2] = 1; p[2] <= 6; p[2]++) for (p[3] = 1; p[3] <= 6; p[3]++) {
    if (p[1] * p[2] * p[3] != 6) continue
    t = 600 / 6
    for (n = 1; n <= 3; n++) t += 2 * (128 * dim[n] / p[n] * (1 - p[n] / 6) / 0.01e6 + (6 / p[n] - 1) * 0.026)
    if (!best || t < best) best = t
  }
  print best }')"
# Four nodes cut the long mode, whose 256 MB are gathered at 42 a ns, and 64 MB at 61; the short modes at 95.
near "gathers in a grid" "$(last --dims=2000000x3000x2000 --nnz=9 --one-gpu=400 --nodes=4 --gpus=1 --what-if=grid --links=45)" \
  "$(awk 'BEGIN { print 100 * (1 / 61 + 2 / 95) / (1 / 42 + 2 / 95) + 2 * (128 * 5000 * 3 / 4 / 45e6 + 6 * 0.026) }')"
# One node has no rails, and headings name what columns are.
# shellcheck disable=SC2086
same "one node" "$("$estimate" $reddit --nodes=1 --links=45 --rails=1,4 --what-if=grid,half | sed -n '$s/.* % *//p' | tr -s ' ')" \
  "122.0 126.2 ( 3.9) 126.2 ( 3.9) 126.2 ( 3.9) 126.2 ( 3.9)"
# shellcheck disable=SC2086
same "headings" "$("$estimate" $reddit --links=22,45 --rails=1,4 --what-if=half | sed -n '2s/.*compute *//p' | tr -s ' ')" \
  "22 GB/s ring 22 GB/s x 4 22 GB/s half 45 GB/s ring 45 GB/s x 4 45 GB/s half"

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
for bad in --nodes=0 --nodes=1.5 --links=0 --links=a --gpus=0 --rank=-1 --one-gpu=1,2 --memory=0 --no --rails=0 --rails=5 \
  --rails=1,5 --rails=1.5 --rails=a --rails= --what-if=no --what-if=grid, --what-if=; do
  # shellcheck disable=SC2086
  refused $t $bad
done
for bad in --copies=one --copies=two "--copies=one --one-gpu=1 --what-if=grid" "--dense --one-gpu=1"; do
  # shellcheck disable=SC2086
  refused $t $bad
done
refused --dims=2x3x4 --dense
"$estimate" --dims=400000000x30x40 --nnz=1G --memory=40G --nodes=1 | grep -q 'factors do not fit' && pass ||
  fail "factors of 51 GB fit 40 GB"
"$estimate" --help | grep -q '^Usage: jobs/estimate' && pass || fail "no --help"

finish
