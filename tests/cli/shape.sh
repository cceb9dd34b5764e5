#!/bin/sh
# --shape: tensors made in memory, timed and decomposed, on any number of ranks; the output of bench;
# wrong options.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

"$amped" generate good.h5 --dims=10x11x12 --nnz=200 --seed=1 -q || fail "generate"

expect 2 "missing" "$amped" bench
expect 2 "two tensors" "$amped" bench good.h5 --shape=amazon
expect 2 "of a --shape" "$amped" bench good.h5 --nnz=5
expect 2 "of a --shape" "$amped" bench good.h5 --values=real
expect 2 "leave out --skew" "$amped" bench --shape=amazon --skew=0.5
expect 2 "leave out --skew" "$amped" bench --shape=amazon --skew=0,0,0
expect 2 "leave out --read" "$amped" bench --shape=amazon --read=parallel
expect 2 "real or counts" "$amped" bench --shape=amazon --values=int
expect 2 "amazon, patents" on 2 bench --shape=amazone
expect 2 "smaller --scale" on 1 bench --shape=twitch --scale=1000
expect 2 "of a --shape" "$amped" good.h5 --values=real
expect 2 "two tensors" "$amped" good.h5 --shape=amazon
expect 2 "missing" "$amped" cpd --nnz=5
expect 2 "leave out --checkpoint" "$amped" cpd --shape=amazon --checkpoint=c.h5
expect 2 "has no option --shape" "$amped" info --shape=amazon

# The tensor does not depend on the number of ranks: its norm is exact except for one rounding a
# rank.
for shape in "patents --scale=3e-5" "twitch --scale=1e-4" "nell2 --nnz=30k --scale=1e-3 --skew=0"; do
  for ranks in 1 2 3; do
    # shellcheck disable=SC2086
    expect 0 "all modes" on $ranks bench --shape=$shape --rank=5 --repeat=1 --json=s.$ranks.json
    same "$shape: norm on $ranks ranks" "$(field norm s.$ranks.json | cut -c1-14)" \
      "$(field norm s.1.json | cut -c1-14)"
  done
done

# Decomposed: the fits agree on any number of ranks, within the rounding of doubles, and the result
# is like any other.
for ranks in 1 2 3; do
  expect 0 "made 3 copies" on $ranks cpd --shape=nell2 --nnz=30k --scale=1e-3 --rank=4 --iters=5 \
    --tol=0 --precision=double --json=d.$ranks.json -o d.$ranks.h5
  same "fit on $ranks ranks" "$(field fit d.$ranks.json | cut -c1-11)" \
    "$(field fit d.1.json | cut -c1-11)"
done
expect 0 "" on 2 cpd --shape=nell2 --nnz=30k --scale=1e-3 --rank=4 --iters=1
expect 0 "of  *nell2" "$amped" info nell2.cpd.h5

expect 0 "bytes/nnz" on 1 bench --shape=amazon --scale=1e-4 --rank=32 --values=counts \
  --precision=double --repeat=1 --json=c.json
expect 0 "" on 1 bench --shape=amazon --scale=1e-4 --rank=32 --repeat=1 --json=r.json
if awk -v r="$(field bytes_per_nonzero r.json)" -v c="$(field bytes_per_nonzero c.json)" \
  'BEGIN { exit !(c > 0 && c < r) }'; then pass; else fail "counts do not take fewer bytes"; fi

# bench gives the same output for a file.
expect 0 "of the gather ceiling" on 2 bench good.h5 --rank=8 --repeat=1 --json=f.json
for name in gnnz_per_second gathered_gb_per_second bytes_per_nonzero ceiling_percent \
  bandwidth_percent read_bytes_per_second rows_per_second all_modes_ceiling_percent; do
  if awk -v x="$(field $name f.json)" 'BEGIN { exit !(x > 0) }'; then pass; else fail "no $name"; fi
done

# The atomic kernel (AMPED Algorithm 2) reads plain nonzeros: row, two inputs and value, 4 bytes
# each.
if test "$backend" = cuda; then
  expect 0 "" on 1 bench good.h5 --rank=8 --repeat=1 --kernel=published --json=p.json
  if awk -v x="$(field bytes_per_nonzero p.json)" 'BEGIN { exit !(x == 16) }'; then pass; else
    fail "published: $(field bytes_per_nonzero p.json) bytes a nonzero, not 16"
  fi
else
  expect 2 "does not run with --backend=cpu" on 1 bench good.h5 --kernel=published
fi

finish
