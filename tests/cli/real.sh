#!/bin/sh
# Real tensors with recorded sums, norms and fits: skipped where the tensors are missing.
. "$(dirname "$0")/../lib/lib.sh"
data=$(cd "$data" 2>/dev/null && pwd)
if test -z "$data" || ! test -f "$data/nations.tns.gz"; then
  echo "skipped: no real tensors (set AMPED_DATA to their folder)"
  exit 77
fi
cd "$scratch" || exit 99

dims_of() { tr -d ' \n' <"$1" | sed -n 's/.*"dims":\[\([0-9,]*\)\].*/\1/p'; }

# Every tensor: nonzeros and norm equal the records. The recorded norm is the norm of the stored
# entries, ours is the norm of the tensor. They are equal where no coordinate is stored twice.
for json in "$data"/*.json; do
  name=$(basename "$json" .json)
  test -f "$data/$name.tns.gz" || continue
  expect 0 "" "$amped" convert "$data/$name.tns.gz" "$name.h5" --dims="$(dims_of "$json")" \
    --duplicates=keep -q
  expect 0 "" "$amped" info "$name.h5" --json=info.json -q
  same "$name: nonzeros" "$(field nnz info.json)" "$(field stored "$json")"
  test "$(field duplicate_coordinates "$json")" = 0 || continue
  norm=$(field frobenius "$json")
  close "$name: norm" "$(field norm info.json)" "$norm" "$(awk -v n="$norm" 'BEGIN { print 1e-12 * n }')"
done

# fit NAME R SWEEPS LOW HIGH: the best of four starts, one on each number of ranks. It is at least
# the lowest fit of the recorded starts. Other starts may find a better optimum, so the upper bound
# leaves 5 %.
fit() {
  if ! test -f "$1.h5"; then
    echo "skipped: no $1.tns.gz"
    return
  fi
  best=0
  for ranks in 1 2 3 4; do
    expect 0 "" on $ranks "$1.h5" --rank="$2" --iters="$3" --tol=0 --seed=$ranks --nowrite -q \
      --json=fit.json
    best=$(awk -v a="$best" -v b="$(field fit fit.json)" 'BEGIN { print (b > a) ? b : a }')
  done
  if awk -v f="$best" -v lo="$4" -v hi="$5" \
    'BEGIN { exit !(f >= lo - 5e-5 && f <= 1.05 * hi) }'; then
    pass
  else
    fail "$1: best fit $best is not within $4 .. 1.05 * $5"
  fi
}
fit amino 3 100 0.8903 0.974951
fit nations 10 100 0.4393 0.4496
finish_on_gpus # the others are as on CPUs
fit kinship 10 100 0.1980 0.2010
fit umls 10 100 0.3376 0.3488
fit enron-jhu 10 50 0.3984 0.4350
if test "${AMPED_TEST_LONG:-0}" = 1; then
  fit icews14 10 50 0.0092 0.0104
  fit nycflights13 10 50 0.1571 0.1585
  fit uber-aprmay14 10 30 0.1425 0.1428
fi
finish
