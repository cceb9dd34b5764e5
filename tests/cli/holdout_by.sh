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
