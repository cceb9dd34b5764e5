#!/bin/sh
# Rows of a state without a learnt entry: a header's dims declared them, all their entries had weight 0, or a
# batch left them out. A stream treats them as new rows: it forecasts them from the last learnt row before
# them, --by learns them, once, and known cells do not count what was not learnt.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
needs_python
cat >draw.py <<'PY'
import sys
import h5py
import numpy as np

if sys.argv[1] == "error":  # of a batch, with a month's row for all its months
    with h5py.File(sys.argv[2]) as f:
        rows = [f["factors/%d" % m][:] for m in range(3)]
        bias = [f["bias/%d" % m][:] for m in range(3)]
        weights, mean, scale = f["weights"][:], float(f.attrs["mean"]), float(f.attrs["scale"])
    t = np.loadtxt(sys.argv[3])
    u, i, m = t[:, 0].astype(int) - 1, t[:, 1].astype(int) - 1, int(sys.argv[4]) - 1
    x = mean + scale * ((rows[0][u] * rows[1][i] * rows[2][m]) @ weights + bias[0][u] + bias[1][i] + bias[2][m])
    print(float(np.sqrt(np.mean((x - t[:, 3]) ** 2))))
    sys.exit()
g = np.random.default_rng(int(sys.argv[2]))
a, b = g.normal(0, 0.6, (40, 2)), g.normal(0, 0.6, (30, 2))
cells = {(int(g.integers(40)), int(g.integers(30)), int(g.integers(8))) for _ in range(1500)}
rows = [(u, i, m, 3.5 + a[u] @ b[i] + 0.3 * m + 0.2 * g.normal()) for u, i, m in sorted(cells, key=lambda c: (c[2], c[0], c[1]))]


def tns(name, months, dims=None):
    part = [r for r in rows if r[2] + 1 in months]
    with open(name, "w") as f:
        if dims:
            print("sptensor\n3\n40 30 %d\n%d" % (dims, len(part)), file=f)
        for r in part:
            print("%d %d %d %.3f" % (r[0] + 1, r[1] + 1, r[2] + 1, r[3]), file=f)


def csv(name, months, masked=()):
    with open(name, "w") as f:
        print("user,item,month,stars" + (",w" if masked else ""), file=f)
        for u, i, m, v in rows:
            if m + 1 in months:
                w = ",%d" % (m + 1 not in masked) if masked else ""
                print("u%02d,i%02d,2025-%02d,%.3f%s" % (u, i, m + 1, v, w), file=f)


early, late = range(1, 6), range(6, 9)
tns("five.tns", early, 5)
tns("eight.tns", early, 8)
tns("gap.tns", [1, 2, 5], 8)
tns("march.tns", [3])
tns("june.tns", [6])
tns("august.tns", [8])
tns("all.tns", range(1, 9), 8)


def lists(name, cells, dims):  # a batch of the last users and items
    with open(name, "w") as f:
        print("sptensor\n3\n%d %d %d\n%d" % (*dims, len(cells)), file=f)
        for u, i, m in cells:
            print("%d %d %d %.3f" % (u + 1, i + 1, m + 1, 3.5 + a[u] @ b[i] + 0.3 * m), file=f)


known = sorted({(u % 36, i % 28, m % 5) for u, i, m in cells})
lists("declared.tns", known, (40, 30, 8))
lists("tight.tns", known, (36, 28, 5))
last = {(int(g.integers(30, 40)), int(g.integers(20, 30)), int(g.integers(5))) for _ in range(80)}
last = sorted(last | {(39, 29, 4), (38, 29, 4), (37, 28, 4), (36, 28, 4)})
lists("late.tns", last, (40, 30, 5))
lists("later.tns", [(u, i, 5) for u, i in sorted({c[:2] for c in last})], (40, 30, 6))
print(sum(u > 35 or i > 27 for u, i, m in last), file=open("late.new", "w"))
csv("masked.csv", range(1, 9), masked=late)
csv("kept.csv", early)
csv("plain.csv", range(1, 9))
PY
fit="--rank=2 --reg=0.3 --iters=15 --precision=double --overwrite --nowrite"
# The errors before, and rows, of the batches of a run.
batches() { sed -n 's/.*"new_rows":\(\[[0-9,]*\]\).*"before":{"count":\([0-9]*\),"rmse":\([0-9.e-]*\).*/\1 \2 \3/p' "$1"; }
errors() { batches "$1" | sed 's/.* //'; }
seed=${AMPED_TEST_SEED:-$(date +%s)}
echo "AMPED_TEST_SEED=$seed"
$python draw.py write "$seed"

for history in equations model; do
  for ranks in 1 3; do
    what="$history, $ranks ranks"
    rm -f ./*.st* ./*.by* ./*.two*
    # Rows that a header declares: in text, and in HDF5.
    "$amped" convert eight.tns eight.h5 -q --overwrite
    for f in five.tns eight.tns eight.h5; do
      # shellcheck disable=SC2086
      expect 0 "" on 1 complete $f $fit --history=$history --state=$f.st -q
      cp $f.st $f.by
      expect 0 "june.tns: new rows of mode 3 begin as copies of 5" on $ranks stream $f.st june.tns --json=$f.json --overwrite
      expect 0 "learnt 3 batches" on $ranks stream $f.by all.tns --by=3 --json=$f.by.json --overwrite
      expect 0 "learnt 0 batches, 3 skipped" on 1 stream $f.by all.tns --by=3
      # Two indices at a time, and again.
      # shellcheck disable=SC2086
      expect 0 "" on 1 complete $f $fit --history=$history --state=$f.two -q
      expect 0 "learnt 2 batches" on $ranks stream $f.two all.tns --by=3 --batch=2
      expect 0 "learnt 0 batches, 2 skipped" on $ranks stream $f.two all.tns --by=3
    done
    for f in eight.tns eight.h5; do
      same "$what: batches of $f" "$(batches $f.json | cut -d' ' -f1,2)" "$(batches five.tns.json | cut -d' ' -f1,2)"
      close "$what: a forecast of $f" "$(errors $f.json)" "$(errors five.tns.json)" 1e-9
      for k in 1 2 3; do
        close "$what: forecast $k of $f" "$(errors $f.by.json | sed -n ${k}p)" "$(errors five.tns.by.json | sed -n ${k}p)" 1e-9
      done
    done
    expect 0 "the state had 1 of them without a learnt entry" on $ranks stream eight.h5.st august.tns
    # A month that was learnt from a file of its own is not cut again.
    expect 0 "learnt 2 batches;" on $ranks stream eight.tns.st all.tns --by=3
    grep -q "never learnt\|again\|twice" err && fail "$what: a month of its own file" || pass

    # Boxes pass over them, which is said.
    # shellcheck disable=SC2086
    expect 0 "" on 1 complete eight.tns $fit --history=$history --state=eight.box.st -q
    late=$(awk 'NR > 4 && $3 > 5' all.tns | wc -l)
    expect 0 "warning: all.tns: $late of these entries have an index of which eight.box.st has learnt no entry" on $ranks \
      stream eight.box.st all.tns --boxes=40x30x5,+1x1x1

    # A row between learnt ones begins as the one before it; numpy has the error.
    # shellcheck disable=SC2086
    expect 0 "" on 1 complete gap.tns --rank=2 --reg=0.3 --iters=15 --precision=double --overwrite -o gap.h5 --history=$history --state=gap.st -q
    expect 0 "march.tns: new rows of mode 3 begin as copies of 2; the state had 1" on $ranks stream gap.st march.tns --json=g.json --overwrite
    close "$what: a gap" "$(errors g.json)" "$($python draw.py error gap.h5 march.tns 2)" 1e-9

    # Users and items that a header declares are new ones, too, also if a batch holds all their entries out.
    for share in 0.6 0.05; do
      for f in declared tight; do
        # shellcheck disable=SC2086
        expect 0 "" on 1 complete $f.tns $fit --holdout=$share --history=$history --state=$f.st -q
      done
      for batch in late later; do
        for f in declared tight; do
          rm -f one.st*
          cp $f.st one.st
          words=
          test $f = tight || words=" ([67] of them were in the state, without a learnt entry)"
          expect 0 "; new rows: 4 of mode 1, 2 of mode 2.*$words; rmse .* entries of known rows, .* with a new index of mode 1 or index of mode 2" \
            on $ranks stream one.st $batch.tns --json=$f.json --overwrite
        done
        same "$what: new rows of $batch" "$(sed -n 's/.*"new_rows":\(\[[0-9,]*\]\).*/\1/p' declared.json)" \
          "$(sed -n 's/.*"new_rows":\(\[[0-9,]*\]\).*/\1/p' tight.json)"
        same "$what: entries of new rows of $batch" "$(sed -n 's/.*"before_new":{"count":\([0-9]*\).*/\1/p' declared.json)" \
          "$(sed -n 's/.*"before_new":{"count":\([0-9]*\).*/\1/p' tight.json)"
      done
    done
    rm -f one.st*
    cp declared.st one.st
    expect 0 "" on $ranks stream one.st late.tns --json=one.json --overwrite
    same "$what: entries of declared rows" "$(sed -n 's/.*"before_new":{"count":\([0-9]*\).*/\1/p' one.json)" "$(cat late.new)"
    # They are known from now on.
    expect 0 "; new rows: 1 of mode 3 (1 of them was in the state, without a learnt entry); rmse" on $ranks stream one.st later.tns

    # Rows of weight 0: as a fit without these rows.
    # shellcheck disable=SC2086
    expect 0 "" on 1 complete masked.csv --value=stars --weights=w --keys=user,item,month $fit --history=$history --state=masked.st -q
    # shellcheck disable=SC2086
    expect 0 "" on 1 complete kept.csv --value=stars $fit --history=$history --state=kept.st -q
    for f in masked kept; do
      expect 0 "learnt 3 batches" on $ranks stream $f.st plain.csv --value=stars --by=month --json=$f.json --overwrite
      grep -q "known\|same value" out err && fail "$what: cells of weight 0 are told as known" || pass
    done
    for k in 1 2 3; do
      close "$what: forecast $k after weights of 0" "$(errors masked.json | sed -n ${k}p)" "$(errors kept.json | sed -n ${k}p)" 0.05
    done
    expect 0 "learnt 0 batches, 3 skipped" on $ranks stream masked.st plain.csv --value=stars --by=month
  done
done

# compare and top leave them out: a fit with weights of 0 is the fit without these rows.
for f in masked kept; do
  weights=
  test $f = kept || weights=--weights=w
  # shellcheck disable=SC2086
  expect 0 "" on 1 complete $f.csv --value=stars --keys=user,item,month $weights --rank=2 --reg=0.3 --iters=15 --context=month \
    --precision=double --overwrite -o $f.h5 -q
done
expect 0 "mode 3 (month): by labels, 5 shared, 3 only in A, 3 of 8 in A have no learnt entry and are left out" \
  "$amped" compare masked.h5 kept.h5 --json=c.json --overwrite
close "score of a fit with weights of 0" "$(field score c.json)" 1 1e-3
expect 0 '"unlearnt_a":0,"unlearnt_b":3' "$amped" compare kept.h5 masked.h5 --json=-
expect 0 "mode 3 (month): 3 of 8 indices have no learnt entry, so they are in no list" "$amped" top masked.h5 -n 8
same "lists with months of weight 0" "$(grep -c '2025-0[678]' out)" 0

# A table that grows under another name is cut as it was: no slice is learnt twice, whatever --batch is.
head -n 1 plain.csv >july.csv
grep -v 2025-08 plain.csv | sed 1d >>july.csv
cp july.csv grown.csv # a slice that grew, too: July gets late rows
grep 2025-08 plain.csv >>grown.csv
sed -n 's/^\(u0[0-9],i0[0-9]\),2025-0[12],/\1x,2025-07,/p' plain.csv | head -n 5 >>grown.csv
for batch in 1 2 3; do
  # shellcheck disable=SC2086
  expect 0 "" on 1 complete kept.csv --value=stars $fit --state=kept.st -q
  expect 0 "learnt 1 batch;" on 1 stream kept.st july.csv --value=stars --by=month --batch=2
  for part in st st.journal; do
    cp kept.$part other.$part
  done
  expect 0 "learnt 1 batch, 1 skipped" on 2 stream kept.st plain.csv --value=stars --by=month --batch=$batch
  same "batch $batch: entries of a copy that grew" "$("$amped" info kept.st | sed -n 's/^batches *[0-9]*, \([0-9]*\) .*/\1/p')" \
    "$(($(wc -l <plain.csv) - 1))"
  # Its first slice has late rows: most of its cells are known.
  expect 0 "2025-07.* was learnt before, as batch 2, with [0-9]* entries, and has [0-9]* now; it is skipped" on 1 \
    stream other.st grown.csv --value=stars --by=month --batch=$batch
done
finish
