#!/bin/sh
# A stream with default options ends near a new fit of all data: three cuts of real tensors by time.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
for name in nyc-taxi ml-small; do
  test -f "$data/$name.tns.gz" || {
    echo "skipped: no $name.tns.gz"
    exit 77
  }
done
needs_python
cat >rmse.py <<'PY'
import sys
import h5py
import numpy as np

entries = np.loadtxt(sys.argv[1])
index, values = entries[:, :-1].astype(int) - 1, entries[:, -1]
for path in sys.argv[2:]:
    with h5py.File(path) as f:
        model = np.tile(f["weights"][:], (len(index), 1))
        for m in range(index.shape[1]):
            model *= f[f"factors/{m}"][:][index[:, m]]
        model = model.sum(axis=1)
        for m in range(index.shape[1] if "bias" in f else 0):
            model += f[f"bias/{m}"][:][index[:, m]]
        model = float(f.attrs["mean"]) + float(f.attrs["scale"]) * model
    print(np.sqrt(np.mean((model - values) ** 2)))
PY

# near MODE FIRST WIDTH TENSOR: the first fit has indices up to FIRST of the mode, each batch the next WIDTH.
near() {
  awk -v m="$1" -v first="$2" -v width="$3" -v name="$4" '{
    print >(name "." ($m <= first ? "first" : sprintf("%03d", int(($m - first - 1) / width))) ".tns")
  }' "$4.tns"
  expect 0 "" on 1 complete "$4.first.tns" --rank=4 --state="$4.state" --nowrite
  expect 0 "" on 2 stream "$4.state" "$4".[0-9]*.tns -o "$4.stream.h5"
  expect 0 "" on 1 complete "$4.tns" --rank=4 -o "$4.refit.h5"
  $python rmse.py "$4.tns" "$4.stream.h5" "$4.refit.h5" >errors.txt
  awk -v name="$4" '{ error[NR] = $1 }
    END { print name ": rmse of the stream", error[1], "of the new fit", error[2]; exit !(NR == 2 && error[1] <= 1.05 * error[2]) }' \
    errors.txt && pass || fail "$4: the stream is over 5 % above a new fit"
}

# Trips between ten zones by hour, a day a batch; from 150 pairs of zones by day and hour; ratings by month, a year a batch.
gzip -dc "$data/nyc-taxi.tns.gz" | awk '$1 <= 10 && $2 <= 10 && $3 <= 24 * 14' >hours.tns
near 3 168 24 hours
gzip -dc "$data/nyc-taxi.tns.gz" | awk '{ pair = ($1 - 1) * 30 + $2; hour = $3 - 1 }
  pair <= 150 && hour < 24 * 14 { print pair, int(hour / 24) + 1, hour % 24 + 1, $4 }' >days.tns
near 2 5 1 days
gzip -dc "$data/ml-small.tns.gz" | awk '{ print $1, $2, int(($3 - 1) / 12) + 1, $4 }' >years.tns
near 3 12 1 years
finish
