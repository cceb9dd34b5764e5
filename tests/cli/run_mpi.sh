#!/bin/sh
# The whole program on 1 to 4 ranks: the same start gives the same answer, for any readers and any
# storage.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# Tolerance of the fits of two runs that differ only in the order of sums. In double a fit near f
# changes by about sweeps * eps * cond; 1e-10 leaves four digits for the condition of these small
# problems. In float the rounding of the MTTKRP (6e-8 an addition, random) gives about 1e-6.
double_tol=1e-10
float_tol=2e-5

"$amped" generate a.h5 --dims=57x1x31 --nnz=600 --skew=0.7 --seed=3 -q || fail "generate a"
"$amped" generate b.h5 --dims=40,3,200,17 --nnz=5k --skew=0,0,1.1,0.5 --seed=4 -q || fail "generate b"
"$amped" generate c.h5 --dims=9x8x7x6x5 --nnz=700 --seed=5 -q || fail "generate c"
"$amped" generate one.h5 --dims=3x3x3 --nnz=1 --seed=6 -q || fail "generate one"
"$amped" generate p.h5 --dims=60x50x40 --nnz=9k --planted=3 --seed=7 -q || fail "generate p"

some=$(few 2 4 3 2)
for t in a b c; do
  for precision in double float; do
    for ranks in 1 $some; do
      expect 0 "" on $ranks $t.h5 --rank=5 --iters=8 --tol=0 --precision=$precision \
        --json=$t.$ranks.json -o $t.$ranks.h5 -q
    done
    expect 0 "" on 3 $t.h5 --rank=5 --iters=8 --tol=0 --precision=$precision --read=parallel \
      --json=$t.parallel.json --nowrite -q
    tol=$double_tol
    test $precision = float && tol=$float_tol
    for ranks in $some parallel; do
      close "$t, $precision: fit on $ranks against 1 rank" "$(field fit $t.$ranks.json)" \
        "$(field fit $t.1.json)" $tol
    done
  done
done

# Copies of several slabs with split rows, read by rank 0 or by all ranks in turn: the same bits.
# Damage in the middle ends all ranks, whichever rank reads it.
"$amped" generate slabs.h5 --dims=5x3000x2000 --nnz=3500k --skew=0.9,0.5,0 --seed=8 -q || fail "generate slabs"
for read in root parallel; do
  expect 0 "" on 3 slabs.h5 --load=copies --rank=3 --iters=2 --tol=0 --read=$read --json=slabs.$read.json --nowrite -q
done
same "slabs: fit, read in parallel" "$(field fit slabs.parallel.json)" "$(field fit slabs.root.json)"
printf 'damage' | dd of=slabs.h5 bs=1 seek=$(($(wc -c <slabs.h5) / 2)) conv=notrunc 2>dd.txt
for read in root parallel; do
  expect 3 "slabs.h5: .*make it again" on 3 slabs.h5 --load=copies --rank=3 --nowrite --read=$read -q
done
rm -f slabs.h5

# Rows that travel in parts are the same rows.
expect 0 "" on 1 b.h5 --rank=5 --iters=8 --tol=0 --precision=double --nowrite -q --json=b.whole.json
for parts in 2 3 8; do
  expect 0 "" on $((parts % 3 + 2)) b.h5 --rank=5 --iters=8 --tol=0 --precision=double --nowrite -q \
    --overlap=$parts --json=b.parts.json
  close "b, in $parts parts: fit against whole blocks" "$(field fit b.parts.json)" \
    "$(field fit b.whole.json)" $double_tol
done
expect 2 "overlap=9: auto, off, or a whole number from 2 to 8" on 1 b.h5 --overlap=9

# The parts of a sweep never exceed it, in lines, in JSON, and at the end: ranks have unequal work.
expect 0 "" on 3 b.h5 --rank=5 --iters=20 --tol=0 --placement=block --nowrite --json=parts.json
same "sweeps whose parts exceed them" "$(awk '{ gsub(/[(),;:]/, " ") }
  / s .*mttkrp / { n++; for (i = 1; i <= NF; i++) { if ($i == "s") t = $(i - 1)
      if ($i == "mttkrp") m = $(i + 1)
      if ($i == "solve") s = $(i + 1)
      if ($i == "exchange") x = $(i + 1) }
    if (m + s + x > t + 1e-9) print }
  END { print n + 0, "lines" }' out)" "21 lines"
same "sweeps of JSON whose parts exceed them" "$(tr ',{}' '\n\n\n' <parts.json | awk -F '": *' '
  $1 == "\"seconds" { t = $2 } $1 == "\"mean" { m = $2 } $1 == "\"solve_seconds" { s = $2 }
  $1 == "\"exchange_seconds" && m != "" { n++; if (m + s + $2 > t + 1e-9) print; m = "" }
  END { print n + 0, "sweeps" }')" "20 sweeps"

# More ranks than nonzeros and than indices.
expect 0 "" on 4 one.h5 --rank=2 --iters=3 --nowrite -q --json=one.json
close "one nonzero is fitted exactly" "$(field fit one.json)" 1 1e-5

# A planted model of rank 3 is found again.
best=0
for seed in 1 2 3; do
  expect 0 "" on 2 p.h5 --rank=3 --iters=200 --tol=1e-9 --seed=$seed --precision=double --nowrite \
    -q --json=p.json
  best=$(awk -v a="$best" -v b="$(field fit p.json)" 'BEGIN { print (b > a) ? b : a }')
done
if awk -v b="$best" 'BEGIN { exit !(b > 0.999) }'; then pass; else fail "planted: fit $best"; fi

# The same seed gives the same start on any number of ranks: continue from a written result of one
# sweep, and from the run itself. Other inputs of convert can be run, too; they are ordered in
# memory.
expect 0 "" "$amped" convert b.h5 b.tns -q
expect 0 "" on 3 b.tns --rank=5 --iters=8 --tol=0 --precision=double --nowrite -q --json=b.text.json
expect 0 "" on 1 b.h5 --rank=5 --iters=8 --tol=0 --precision=double --nowrite -q --json=b.one.json
close "text input against tensor file" "$(field fit b.text.json)" "$(field fit b.one.json)" \
  $double_tol

# --init continues: 8 sweeps equal 3 sweeps and then 5.
expect 0 "" on 2 b.h5 --rank=5 --iters=3 --tol=0 --precision=double -o b3.h5 -q
expect 0 "" on 3 b.h5 --rank=5 --iters=5 --tol=0 --precision=double --init=b3.h5 --nowrite -q \
  --json=b8.json
close "3 + 5 sweeps against 8" "$(field fit b8.json)" "$(field fit b.one.json)" $double_tol


# --tol stops, --tol=0 does not.
expect 0 "" on 2 p.h5 --rank=2 --tol=0.5 --iters=50 --nowrite -q --json=p.json
same "stop reason" "$(field reason p.json)" tolerance
same "sweeps" "$(field sweeps p.json)" 2
expect 0 "" on 2 p.h5 --rank=2 --tol=0 --iters=4 --nowrite -q --json=p.json
same "stop reason" "$(field reason p.json)" iterations
same "sweeps" "$(field sweeps p.json)" 4

# The plan alone: no output file; bench; quiet is quiet, but for the last line.
expect 0 "imbalance" on 4 b.h5 --rank=5 --plan
absent b.cpd.h5
expect 0 "all modes" on 3 bench b.h5 --rank=5 --repeat=2
# MPI may write lines of its own to standard error; ours have the program's name.
on 2 b.h5 --rank=2 --iters=2 --nowrite -q >out 2>err || fail "quiet run"
same "quiet output" "$(sed 's/fit [0-9.]* after 2 sweeps (--iters reached; .*)/fit/' out
  tr -d '\000' <err | grep -a '^amped_mpi')" "fit"
expect 0 "" on 2 b.h5 --rank=2 --iters=2 --nowrite --json=-
same "JSON on standard output alone" "$(grep -c -v '^{.*}$' "$scratch/out")" 0

# Default output name, in the current folder.
expect 0 "b.cpd.h5" on 2 ./b.h5 --rank=2 --iters=2
test -f b.cpd.h5 && pass || fail "no b.cpd.h5"
expect 0 "component" "$amped" top b.cpd.h5 -n 2

finish
