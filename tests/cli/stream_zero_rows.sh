#!/bin/sh
# Nonnegative rows that are 0 and have learnt entries: results of stream know them as complete's do, and the
# error before a batch is that of the stored model. Rows without entries are not known.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
needs_python
cat >rows.py <<'PY'
import sys
import h5py
import numpy as np


def write(path, months, count, g):
    cells = {(int(g.integers(30)), int(g.integers(10)), int(g.choice(months))) for _ in range(count)}
    with open(path, "w") as f:
        for u, i, m in sorted(cells):
            stars = 3 + np.sin(1.7 * u) * (1 if i < 5 else -1) + 0.8 * g.standard_normal()
            f.write("%d %d %d %.3f\n" % (u + 1 + (u > 20), i + 1, m, stars))


def model(path):
    with h5py.File(path) as f:
        return ([f["factors/%d" % m][:] for m in range(3)], [f["observed/%d" % m][:] for m in range(3)],
                f["weights"][:], float(f.attrs["mean"]), float(f.attrs["scale"]))


if sys.argv[1] == "write":
    g = np.random.default_rng(5)
    write("first.tns", [1, 2, 3], 500, g)
    write("next.tns", [4], 60, g)
elif sys.argv[1] == "known":  # rows of 0 that are known, rows that are not, and whether both files agree
    factors, observed, *_ = model(sys.argv[2])
    zero = [~a.any(axis=1) for a in factors]
    print(sum(int((z & (o == 1)).sum()) for z, o in zip(zero, observed)),
          sum(int((o == 0).sum()) for o in observed),
          all((x == y).all() for x, y in zip(observed, model(sys.argv[3])[1])))
else:  # the error of month 4, which starts as month 3
    factors, _, weights, mean, scale = model(sys.argv[2])
    entries = np.loadtxt("next.tns")
    at = entries[:, :3].astype(int) - 1
    x = mean + scale * np.sum(weights * factors[0][at[:, 0]] * factors[1][at[:, 1]] * factors[2][2], axis=1)
    print(float(np.sqrt(np.mean((x - entries[:, 3]) ** 2))))
PY
$python rows.py write

for history in equations model; do
  for ranks in 1 3; do
    rm -f state* s.h5
    expect 0 "" on 1 complete first.tns --rank=1 --reg=0.3 --nonnegative --bias=mean --holdout=0 \
      --precision=double --history=$history --state=state -o c.h5 --overwrite
    expect 0 "" on $ranks stream state -o s.h5
    same "$history, $ranks ranks: rows" "$($python rows.py known s.h5 c.h5 | sed 's/^[1-9][0-9]*/some/')" "some 1 True"
    expect 0 "batch 2" on $ranks stream state next.tns --json=b.json -o s2.h5 --overwrite
    close "$history, $ranks ranks: before" "$(sed -n 's/.*"before":{"count":[0-9]*,"rmse":\([0-9.e-]*\).*/\1/p' b.json)" \
      "$($python rows.py before c.h5)" 1e-9
    expect 0 "" "$amped" predict s2.h5 next.tns --json=p.json
    close "$history, $ranks ranks: after" "$(sed -n 's/.*"after":{"count":[0-9]*,"rmse":\([0-9.e-]*\).*/\1/p' b.json)" \
      "$(field rmse p.json)" 1e-9
  done
done
finish
