#!/bin/sh
# --holdout-by: entries of whole fibres are held out together, whose error is that of whole gaps; a warning
# names the option. (complete.sh compares sweeps and errors with numpy.)
. "$(dirname "$0")/../lib/lib.sh"
needs_python
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 99
"$python" "$here/holdout_by.py" make || fail "holdout_by.py make"
fit="--rank=24 --reg=1e-4 --iters=60 --bias=none --holdout=20%"
number() { sed -n "s/^validate: rmse \([^,]*\),.*/\1/p" told; }
real() {
  "$amped" predict model.h5 -o model.npy --overwrite -q
  "$python" "$here/holdout_by.py" error model.npy
}
within() { # within WHAT LEAST A MOST: least <= a <= most
  awk -v l="$2" -v a="$3" -v m="$4" 'BEGIN { exit !(l <= a && a <= m) }' && pass || fail "$1: $3 is not from $2 to $4"
}

# The error in gaps of whole pixels: of entries held out one by one it is a fifth, of whole pixels the same.
# shellcheck disable=SC2086
{
  expect 0 "use --holdout-by=1,2" on 1 complete pixels.npy $fit -o model.h5
  on 1 complete pixels.npy $fit -o model.h5 --overwrite >told 2>err
  at_gaps=$(real)
  within "one by one" 0 "$(number)" "$(awk -v e="$at_gaps" 'BEGIN { print e / 4 }')"
  on 1 complete pixels.npy $fit --holdout-by=1,2 -o model.h5 --overwrite >told 2>err
  at_gaps=$(real)
  within "whole pixels" "$(awk -v e="$at_gaps" 'BEGIN { print e / 2 }')" "$(number)" "$(awk -v e="$at_gaps" 'BEGIN { print e * 2 }')"
  same "no warning" "$(cat err)" ""
}
expect 0 "all of the same 1 and 2 together" cat told
expect 0 "whole fibres" "$amped" info model.h5

# Which gaps are whole: pixels, also as weights of 0; of a video, in all frames and colours. Not: points, or whole frames.
short="--rank=2 --reg=1 --iters=1 --nowrite"
# shellcheck disable=SC2086
{
  expect 0 "of modes y and x .*use --holdout-by=y,x" on 3 complete pixels.npy $short --modes=y,x,band
  expect 0 "use --holdout-by=1,2" on 2 complete cells.tns --weights=mask.tns $short
  expect 0 "use --holdout-by=1,2$" on 1 complete video.npy $short
  on 1 complete points.npy $short >out 2>&1
  same "points" "$(grep -c holdout-by out)" 0
  on 1 complete frames.npy $short >out 2>&1
  same "whole frames" "$(grep -c holdout-by out)" 0
  on 1 complete cells.tns $short >out 2>&1
  same "no gaps" "$(grep -c holdout-by out)" 0
  on 1 complete pixels.npy $short --holdout=0 >out 2>&1
  same "nothing is held out" "$(grep -c holdout-by out)" 0
}

# The same entries are held out in any order of rows and labels, on any number of ranks.
awk 'BEGIN { print "user,item,month,stars"
  for (i = 0; i < 3000; i++) printf "u%d,i%d,m%d,%d\n", i * 7 % 41, i * 11 % 37, i % 7, i * i % 5 }' |
  sort -t, -u -k1,3 >rows
{ grep stars rows; grep -v stars rows; } >one.csv
{ grep stars rows; grep -v stars rows | sort -r -t, -k2; } >two.csv
for ranks in 1 3; do
  for f in one two; do
    # shellcheck disable=SC2086
    expect 0 "held out to validate" on $ranks complete $f.csv --value=stars $short --holdout-by=user,item --json=$f.json --overwrite
    same "$f, $ranks ranks" "$(grep -o '"validate": *[0-9]*' $f.json | head -1)" \
      "$(grep -o '"validate": *[0-9]*' one.json | head -1)"
  done
done
same "a resumed run" "$(
  # shellcheck disable=SC2086
  on 1 complete one.csv --value=stars $short --iters=2 --holdout-by=user,item --checkpoint=c.h5 --checkpoint-every=1 -q >/dev/null
  # shellcheck disable=SC2086
  on 1 complete one.csv --value=stars $short --iters=3 --checkpoint=c.h5 --resume 2>&1 | grep -c "holdout-by differs"
)" 1

# Pairs of user and item that come in several months: held-out entries whose pair is learnt in another month are
# counted, as numpy counts them from the state's held-out entries.
awk 'BEGIN { print "user,item,month,stars"
  for (i = 0; i < 900; i++) { u = i * 7 % 31; t = i * 11 % 29
    for (m = 1; m < 1 + (i % 3 == 0 ? 3 : 2); m += 1 + i % 2) printf "u%d,i%d,2024-%02d,%d\n", u, t, m, (u + t * m) % 5 } }' |
  sort -u >pairs.txt
{ grep stars pairs.txt; grep -v stars pairs.txt; } >pairs.csv
# Years are numbers; the name of their mode says that they are times.
sed '1s/month/year/; 1!s/,2024-0*\([0-9]*\),/,20\1,/' pairs.csv >years.csv
cat >pairs.py <<'PY'
import h5py, numpy as np
f = h5py.File("pairs.state")
held = np.stack([f[f"held/indices/{m}"][:] for m in range(3)], 1)
places = []
for k in range(3):
    data, ends = f[f"labels/mode_{k}/bytes"][:].tobytes(), f[f"labels/mode_{k}/offsets"][:]
    places.append({data[a:b].decode(): i for i, (a, b) in enumerate(zip(ends[:-1], ends[1:]))})
cells = {tuple(places[k][x] for k, x in enumerate(line.split(",")[:3])) for line in open("pairs.csv").read().split()[1:]}
held = {tuple(row) for row in held.tolist()}
learnt = {cell[:2] for cell in cells - held}
assert 0 < len(held) < len(cells)
print(sum(cell[:2] in learnt for cell in held))
PY
for ranks in 1 3; do
  # shellcheck disable=SC2086
  expect 0 "of them have the user and item of a learnt entry, with another month; for the error at new ones: --holdout-by=user,item" \
    on $ranks complete pairs.csv --value=stars --rank=2 --reg=1 --iters=1 --holdout=0.2 --nowrite --state=pairs.state --json=pairs.json --overwrite
  expect 0 "of them have the user and item of a learnt entry, with another year" \
    on $ranks complete years.csv --value=stars --rank=2 --reg=1 --iters=1 --holdout=0.2 --nowrite
  same "$ranks ranks: repeated pairs" "$(field repeated pairs.json | head -n 1)" "$("$python" pairs.py)"
  # shellcheck disable=SC2086
  expect 0 "all of the same user and item together" on $ranks complete pairs.csv --value=stars $short --holdout-by=user,item
  same "whole pairs" "$(grep -c 'of them have' out)" 0
done
# Numbers under another name are no times.
sed '1s/month/shop/; s/2024-//' pairs.csv >plain.csv
# shellcheck disable=SC2086
expect 0 "held out to validate" on 1 complete plain.csv --value=stars $short
same "no dates" "$(grep -c 'of them have' out)" 0

refuse() { # refuse PATTERN OPTION...
  pattern=$1
  shift
  expect 2 "$pattern" "$amped" complete one.csv --value=stars --rank=2 --nowrite "$@"
}
refuse "name two modes or more" --holdout-by=user
refuse "names all modes" --holdout-by=user,item,month
refuse "no mode shop" --holdout-by=user,shop
refuse "leave out one of the two" --holdout-by=user,item --holdout=0
refuse "leave out one of the two" --holdout-by=user,item --validate=two.csv
refuse "leave out --holdout-by" --holdout-by=user,item --state=s.state
finish
