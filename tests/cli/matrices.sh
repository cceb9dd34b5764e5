#!/bin/sh
# Tensors of order 2: complete, predict, recommend, evaluate, similar and stream against numpy, in double,
# on several ranks; cpd --nonnegative against numpy, of lists and arrays, and its refusals; files that hold
# matrices; nothing is printed or stored for a third mode; checkpoints to the bit.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
needs h5diff
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 99

reference() { # reference SCRIPT ARGUMENT...
  script=$1
  shift
  if "$python" "$here/$script.py" "$@" >said.txt 2>&1; then pass; else fail "$script $*: $(tail -1 said.txt)"; fi
}
alone() { # alone STATUS PATTERN ARGUMENT...: expect, without mpirun, which waits for seconds after a failure
  want=$1 pattern=$2
  shift 2
  expect "$want" "$pattern" "$amped" "$@" --backend="$backend"
}
# same_sets A.h5 B.h5 SET...: to the bit
same_sets() {
  one=$1 other=$2
  shift 2
  for set in "$@"; do
    if h5diff "$one" "$other" "/$set" "/$set" >/dev/null 2>&1; then pass; else fail "other bits: $one $other $set"; fi
  done
}

# Stars that 60 users gave 40 items: a.tns has 800, of which user 1 gave 40. heavy.tns: 40 % of 2000 entries
# are of user 7, which ranks share. week1.tns and week2.tns have later entries, of new users and items.
awk 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
  function entry(file, i, j) {
    if (seen[file != "heavy.tns", i, j]++) return
    printf "%d %d %.4f\n", i, j, 3 + a[i] * b[j] + 0.5 * a[i + 1] + 0.3 * b[j + 1] + 0.2 * (random() - 0.5) >file
  }
  BEGIN {
    seed = 5
    for (i = 1; i <= 2000; i++) { a[i] = 2 * random() - 1; b[i] = 2 * random() - 1 }
    for (j = 1; j <= 40; j++) entry("a.tns", 1, j)
    for (i = 1; i <= 60; i++) entry("a.tns", i, 1 + i % 40)
    for (n = 0; n < 760; n++) entry("a.tns", 1 + int(60 * random()), 1 + int(40 * random()))
    for (n = 0; n < 2000; n++) entry("heavy.tns", random() < 0.4 ? 7 : 1 + int(400 * random()), 1 + int(1000 * random()))
    for (n = 0; n < 150; n++) entry("week1.tns", 1 + int(70 * random()), 1 + int(45 * random()))
    for (n = 0; n < 150; n++) entry("week2.tns", 1 + int(80 * random()), 1 + int(50 * random()))
  }'
for t in a heavy; do
  awk '{ $3 = NR % 9 / 4; print }' $t.tns >$t.weights
  mv $t.weights $t.weights.tns
  awk '{ $3 = 1 + NR % 5; print }' $t.tns >$t.counts
  mv $t.counts $t.counts.tns
done
"$amped" convert heavy.tns heavy.h5 -q || fail "convert"
reference complete_reference start start-a.h5 3 60 40
reference complete_reference start start-heavy.h5 3 "$(awk '$1 > n { n = $1 } END { print n }' heavy.tns)" \
  "$(awk '$2 > n { n = $2 } END { print n }' heavy.tns)"

# --- complete: three sweeps from the same start ------------------------------------------------------
against_numpy() { # against_numpy TENSOR RANKS REG POWER HOW-OF-THE-REFERENCE OPTION...
  t=$1 n=$2 reg=$3 power=$4 how=$5
  start=start-${t%%.*}.h5
  shift 5
  expect 0 "" on "$n" complete "$t.tns" --rank=3 --init="$start" --reg="$reg" --reg-power="$power" --holdout=0.1 \
    --split-seed=5 --iters=3 --tol=0 --precision=double -o result.h5 --overwrite -q "$@"
  # shellcheck disable=SC2086
  reference complete_reference compare "$t.tns" "$start" result.h5 "$reg" "$power" 3 none 0.1 5 3 1e-9 $how
}
for n in $(few 2 1 2 3 4); do
  against_numpy a $n 0.5 0.5 ""
  against_numpy heavy $n 1 0.5 "" --bias=none
done
against_numpy heavy 3 1 1 "block=1" --method=ccd
against_numpy a 2 0.5 0 "block=2" --block=2 --bias=none
against_numpy a 1 0.5 0.5 "block=1" --method=ccd --bias=none
against_numpy a 2 0.5 0.5 weights=a.weights.tns --weights=a.weights.tns
against_numpy heavy 4 1 0.5 "weights=heavy.weights.tns block=1" --weights=heavy.weights.tns --method=ccd
against_numpy a.counts 2 0.5 0.5 "implicit=1.5 2" --implicit=1.5 --of=2
# Wide rows, and an R that is no multiple of anything: from the same seed, one objective on all ranks.
for method in als ccd sgd; do
  for r in $(few 2 1 5 33); do
    objective=
    for n in $(few 2 1 3 4); do
      expect 0 "" on "$n" complete heavy.h5 --rank="$r" --reg=1 --iters=4 --tol=0 --precision=double --method=$method \
        --nowrite -q --json=f.json --overwrite
      test -n "$objective" || objective=$(field objective f.json)
      test $method = sgd || close "$method, R = $r, on $n ranks" 1 \
        "$(awk -v a="$(field objective f.json)" -v b="$objective" 'BEGIN { printf "%.17g", a / b }')" 1e-10
    done
  done
done
expect 0 "" on 2 complete a.tns --rank=3 --reg=0.05 --nonnegative --iters=8 -q -o nonnegative.h5
if "$python" -c 'import h5py; f = h5py.File("nonnegative.h5"); assert all((f[f"factors/{m}"][:] >= 0).all() for m in range(2))'; then
  pass
else
  fail "--nonnegative: negative entries"
fi
# The scores on held-out and test cells.
awk 'NR % 7 == 0' a.tns >test.tns
awk 'NR % 7 != 0' a.tns >rest.tns
expect 0 "test: rmse .* on [0-9]* entries" on 2 complete rest.tns --rank=2 --reg=0.3 --test=test.tns -o tested.h5

# --- results: nothing of a third mode ----------------------------------------------------------------
awk 'BEGIN { print "who,what,stars" } { printf "a%d,b%d,%s\n", $1 - 1, $2 - 1, $3 }' a.tns >a.csv
expect 0 "" on 2 complete a.csv --value=stars --rank=3 --reg=0.3 --holdout=5% --iters=10 --precision=double -o m.h5 --state=m.state
expect 0 "dimensions   60 x 40" "$amped" info m.h5
if "$python" -c 'import h5py; f = h5py.File("m.h5"); assert sorted(f["factors"]) == ["0", "1"] == sorted(f["bias"])'; then
  pass
else
  fail "m.h5 has other factors than two"
fi
expect 0 "mode 1: who *mode 2: what *$" "$amped" top m.h5
if "$amped" top m.h5 | grep -q "mode 3"; then fail "top shows a third mode"; else pass; fi
awk -F, 'NR > 1 && NR % 3 == 0 || NR == 1' a.csv >cells.csv
expect 0 "rmse" "$amped" predict m.h5 cells.csv --value=stars -o predicted.csv --json=p.json
reference predict_reference m.h5 cells.csv p.json predicted.csv
expect 0 "" "$amped" recommend m.h5 --for=who --of=what -n 4 --exclude=a.csv --value=stars --json=r.json -o recommended.csv
reference recommend_reference m.h5 r.json recommended.csv 0 1 4 seen a.csv
expect 0 "MRR" "$amped" evaluate m.h5 cells.csv --value=stars --of=what --json=e.json
reference evaluate_reference ranks m.h5 e.json cells.csv 1
expect 0 "" "$amped" similar m.h5 --for=what -n 3 --json=s.json -o similar.csv
reference evaluate_reference similar m.h5 s.json similar.csv 1 3
expect 0 "factor match score 1.0000" "$amped" compare m.h5 m.h5
expect 0 "wrote" "$amped" predict m.h5 -o all.npy
expect 0 "wrote" "$amped" convert m.h5 factors.csv
if command -v gnuplot >/dev/null; then
  expect 0 "" "$amped" plot m.h5 -o m.svg
  if grep -q "what" m.svg && ! grep -q "mode 3" m.svg; then pass; else fail "plot shows other modes than who and what"; fi
fi
# A line of cells has two indices and a value.
printf '1 2\n' >short.tns
expect 3 "a tensor of order 1; orders 2 to 8 are supported" "$amped" predict m.h5 short.tns -o never.csv

# --- streams -----------------------------------------------------------------------------------------
for history in equations model published; do
  rm -f begun.state*
  bias=full
  test $history = published && bias=none
  expect 0 'state: .*, for amped_mpi stream' on 1 complete a.tns --rank=3 --reg=0.5 --iters=6 --tol=0 --holdout=10% \
    --split-seed=3 --precision=double -o begun.h5 --overwrite --state=begun.state --history=$history --bias=$bias
  for n in $(few 2 1 3 2 4); do
    rm -f live.state*
    cp begun.state live.state
    expect 0 "learnt 2 batches" on "$n" stream live.state week1.tns week2.tns --sweeps=2 --forget=0.9 -o live.h5 --json=live.json --overwrite
    reference stream_reference begun.state a.tns live.json live.h5 2 0.9 auto 1e-9 week1.tns week2.tns
  done
done
expect 0 "dimensions" "$amped" info live.state
expect 0 "" on 2 stream m.state a.csv --value=stars

# --- cpd: components of a matrix are unique only if nonnegative ---------------------------------------
alone 2 "is a matrix, whose components are not unique .*; add --nonnegative" cpd heavy.h5 --rank=3 -o x.h5
alone 2 "is a matrix, whose components are not unique .*; add --nonnegative" cpd heavy.h5 --rank=3 --nonnegative=1 -o x.h5
alone 2 "corcondia is about 100 % for any matrix" cpd heavy.h5 --rank=3 --nonnegative --corcondia -o x.h5
"$python" - <<'END'
import numpy as np
rng = np.random.default_rng(11)
u, v = (np.maximum(rng.standard_normal((n, 4)), 0.0) for n in (33, 21))
x = u @ v.T + 0.05 * rng.standard_normal((33, 21))
np.save("x.npy", x)
np.save("fortran.npy", np.asfortranarray(x))
with open("x.tns", "w") as f:
    for i, j in np.argwhere(rng.random(x.shape) < 0.3):
        print(i + 1, j + 1, "%.17g" % x[i, j], file=f)
END
reference accelerate_reference start start-x.h5 4 33 21
decompose() { # decompose TENSOR RANKS RIDGE L1 OPTION...
  tensor=$1 n=$2 ridge=$3 l1=$4
  shift 4
  expect 0 "" on "$n" "$tensor" --rank=4 --init=start-x.h5 --iters=25 --tol=0 --precision=double --nonnegative --ridge="$ridge" \
    --l1="$l1" --nowrite -q --json=run.json --overwrite "$@"
  reference rows_reference compare "$tensor" start-x.h5 0,1 "$ridge" "$l1" run.json 1e-9
  reference rows_reference falls run.json
}
for n in $(few 2 1 2 3 4); do
  decompose x.tns $n 0 0
  decompose x.npy $n 0 0
done
decompose x.tns 2 0 0 --copies=one
decompose fortran.npy 3 0.3 0.2
decompose x.tns 1 0 0.1
# The conditions of an optimum, after many sweeps.
for x in x.tns x.npy; do
  expect 0 "" on 2 $x --rank=4 --nonnegative --iters=2000 --tol=1e-13 --precision=double --json=run.json -o out.h5 -q --overwrite
  reference rows_reference result $x out.h5 0,1 0 0 run.json
done
expect 0 "polish" on 2 x.npy --rank=3 --nonnegative --method=rbs --nowrite
expect 0 "factor match score of two starts" on 1 x.npy --rank=4 --nonnegative --starts=2 --nowrite
# Checkpoints, and going on, to the bit.
part="--rank=4 --nonnegative --tol=0 --deterministic -q --overwrite"
for x in x.tns x.npy; do
  # shellcheck disable=SC2086
  expect 0 "" on 2 $x $part --iters=12 -o whole.h5
  # shellcheck disable=SC2086
  expect 0 "" on 2 $x $part --iters=7 --checkpoint=c.h5 --checkpoint-every=7 -o half.h5
  # shellcheck disable=SC2086
  expect 0 "" on 2 $x $part --iters=12 --checkpoint=c.h5 --resume -o rest.h5
  same_sets whole.h5 rest.h5 factors/0 factors/1 weights
done
part="--rank=3 --reg=0.5 --tol=0 --deterministic -q --overwrite"
# shellcheck disable=SC2086
expect 0 "" on 2 complete heavy.h5 $part --iters=9 -o whole.h5
# shellcheck disable=SC2086
expect 0 "" on 2 complete heavy.h5 $part --iters=5 --checkpoint=c.h5 --checkpoint-every=5 -o half.h5
# shellcheck disable=SC2086
expect 0 "" on 2 complete heavy.h5 $part --iters=9 --checkpoint=c.h5 --resume -o rest.h5
same_sets whole.h5 rest.h5 factors/0 factors/1 bias/0 bias/1 weights
finish_on_gpus

# --- files -------------------------------------------------------------------------------------------
printf '%%%%MatrixMarket matrix coordinate real general\n%% stars\n3 4 5\n1 1 1.5\n2 2 2\n3 4 -1\n1 3 4\n3 1 2\n' >a.mtx
printf '1 1 1.5\n1 3 4\n2 2 2\n3 1 2\n3 4 -1\n' >a.want
expect 0 "read a.mtx: 3 x 4, 5 nonzeros" "$amped" convert a.mtx market.h5
"$amped" convert market.h5 - -q | grep -v '^#' >a.got
same "the cells of a.mtx" "$(cat a.want)" "$(cat a.got)"
gzip -k a.mtx
expect 0 "read a.mtx.gz: 3 x 4" "$amped" convert a.mtx.gz again.h5
expect 2 "unknown suffix" "$amped" convert market.h5 out.mtx
sed 's/general/symmetric/' a.mtx >symmetric.mtx
expect 3 "Matrix Market file of kind symmetric" "$amped" info symmetric.mtx
expect 0 "dimensions   60 x 40" "$amped" info a.csv --value=stars
expect 0 "verified" "$amped" info heavy.h5 --verify
expect 0 "made 30 x 20" "$amped" generate g.h5 --dims=30x20 --planted=2 --nnz=300
expect 0 "wrote g.planted" "$amped" generate g.h5 --dims=30x20 --planted=2 --dense --overwrite
expect 0 "verified" "$amped" info g.h5 --verify
expect 0 "" "$amped" convert g.h5 g.npy --dense
expect 0 "dimensions   33 x 21" "$amped" info x.npy
expect 0 "" "$amped" complete x.npy --rank=2 --reg=0.1 --nowrite
# In HDF5 files of others a matrix is a tensor only if it is named. Binsparse has a name for lists of it.
"$python" - <<'END'
import h5py, json, numpy as np
with h5py.File("foreign.h5", "w") as f:
    f["x"] = np.load("x.npy")
    f["index"] = np.arange(12).reshape(4, 3)
for format in "COO", "COOR", "CSR":
    with h5py.File(f"{format}.h5", "w") as f:
        f.attrs["binsparse"] = json.dumps({"binsparse": {"version": "0.1", "format": format, "shape": [3, 4],
            "number_of_stored_values": 3, "data_types": {"indices_0": "uint64", "indices_1": "uint64", "values": "float64"}}})
        f["indices_0"], f["indices_1"] = np.array([0, 1, 2], "u8"), np.array([0, 3, 1], "u8")
        f["values"] = np.array([1.0, 2.0, 3.0])
END
expect 0 "fit" "$amped" cpd foreign.h5 --dataset=x --rank=2 --nonnegative --nowrite
expect 3 "holds no tensor: no dataset of 3 to 8 dimensions.*name a matrix with --dataset" "$amped" cpd foreign.h5 --rank=2 --nonnegative --nowrite
printf '1 1 1\n2 4 2\n3 2 3\n' >coo.want
for format in COO COOR; do
  "$amped" convert $format.h5 - -q | grep -v '^#' >coo.got
  same "the cells of $format.h5" "$(cat coo.want)" "$(cat coo.got)"
done
expect 3 "binsparse format is CSR; store the tensor as a coordinate list" "$amped" info CSR.h5
finish
