#!/bin/sh
# plot: pictures of results and runs where gnuplot is installed; data and script always.
. "$(dirname "$0")/../lib/lib.sh"
data=$(cd "$data" 2>/dev/null && pwd)
cd "$scratch" || exit 99

"$amped" generate t.h5 --dims=40x3000x5 --nnz=4000 --skew=0.5 --seed=1 -q || fail "generate"
expect 0 "" on 2 t.h5 --rank=3 --iters=4 --tol=0 --seed=1 --json=run.json -q
# Labels that would be commands or break the script if they were not quoted as text.
printf '%s\n' 'who,"it''s, `touch bad`",what,n' '"a""b\n$x",<&>,ä,1' \
  "c'd,'.system('touch bad').',@x,2" \
  'e,system,%s %d,3' >names.csv
expect 0 "" "$amped" convert names.csv names.h5 --value=n -q
expect 0 "" on 1 names.h5 --rank=2 --iters=2 -q

# Without gnuplot (in an empty PATH): data and script are written, and a line tells the next step.
mkdir empty
expect 1 "apt-get install gnuplot" env PATH="$scratch/empty" "$amped" plot t.cpd.h5 -o without.svg
absent without.svg
# 4 fits, 3 weights, and for 3 components 40 + 1500 (pairs) + 5 entries.
same "lines of data" "$(grep -c '^[0-9]' without.dat)" $((4 + 3 + 3 * (40 + 1500 + 5)))
same "blocks that the script draws are there" \
  "$(sed -n "s/.*index '\([^']*\)'.*/# \1/p" without.gp | sort -u)" \
  "$(grep '^# fit$\|^# weights$\|^# component-' without.dat | sort)"
same "the last fit" "$(field fit run.json)" \
  "$(awk '/^# fit$/ { inside = 1 } inside && /^4\t/ { print $2; exit }' without.dat | head -1 |
    awk -v f="$(field fit run.json)" '{ d = $1 - f; print (d < 1e-8 && d > -1e-8) ? f : $1 }')"
expect 1 "apt-get install gnuplot" env PATH="$scratch/empty" "$amped" plot run.json -o norun.png
absent norun.png
same "sweeps of a run" "$(grep -c '^[0-9]' norun.dat)" 4

# Several decompositions: one curve each.
expect 0 "" on 2 t.h5 --rank=2,3 --starts=2 --iters=3 --tol=0 --nowrite --json=several.json -q
expect 1 "apt-get install gnuplot" env PATH="$scratch/empty" "$amped" plot several.json -o several.png
same "sweeps of all" "$(grep -c '^[0-9]' several.dat)" 12
same "curves" "$(grep -c '^1.' several.dat) $(awk '/^1\t/ && before == "" { n++ } { before = $0 } END { print n }' several.dat)" "4 3"

same "names of curves" "$(grep -c "title 'R = [23], start [12]'" several.gp) $(grep -c "notitle" several.gp)" "8 0"

if command -v gnuplot >/dev/null 2>&1; then
  for in in t.cpd.h5 names.cpd.h5 run.json several.json; do
    expect 0 "p.$in.svg: drawn" "$amped" plot $in -o p.$in.svg
    expect 0 "</svg>" tail -n 3 p.$in.svg
    expect 0 "" "$amped" plot $in -o p.$in.png -q
    same "p.$in.png is a picture" "$(dd if=p.$in.png bs=1 skip=1 count=3 2>/dev/null)" PNG
    # The script draws the same picture again, from any folder.
    mkdir moved.$in && cp p.$in.dat p.$in.gp moved.$in/
    expect 0 "" sh -c 'cd "moved.$0" && gnuplot "p.$0.gp" && cmp "p.$0.png" "../p.$0.png"' $in
  done
  absent bad moved.names.cpd.h5/bad
  grep -q "&lt;&amp;" p.names.cpd.h5.svg && pass || fail "a label is not in the picture"
  expect 0 "" "$amped" plot t.cpd.h5
  expect 0 "" test -s t.cpd.svg
  # The JSON file of an unfinished run: its last line is incomplete.
  head -c -20 run.json >going.json
  expect 0 "" "$amped" plot going.json --json=plot.json
  same "output" "$(field output plot.json)" going.svg
  printf 'exit 1\n' >empty/gnuplot && chmod +x empty/gnuplot
  expect 1 "gnuplot failed" env PATH="$scratch/empty:$PATH" "$amped" plot run.json -o fails.svg
  absent fails.svg
else
  echo "skipped: no gnuplot (Debian: gnuplot-nox)"
fi

expect 2 "svg or .png" "$amped" plot t.cpd.h5 -o x.pdf
expect 2 "svg or .png" "$amped" plot t.cpd.h5 -o "it's.svg"
expect 2 "two outputs" "$amped" plot t.cpd.h5 -o x.svg --json=x.dat
expect 1 "create its directory" "$amped" plot t.cpd.h5 -o nowhere/x.svg
cp t.cpd.h5 own.dat
expect 1 "overwritten" "$amped" plot own.dat -o own.svg
expect 3 "t.h5" "$amped" plot t.h5 -o x.svg
expect 3 "no sweep" sh -c 'echo "{}" >none.json; "$0" plot none.json -o x.svg' "$amped"
expect 3 "line 2 is no JSON" sh -c 'printf "{}\nx\n" >bad.json; "$0" plot bad.json -o x.svg' "$amped"
expect 3 "without its numbers" \
  sh -c 'echo "{\"event\":\"iteration\"}" >bad.json; "$0" plot bad.json -o x.svg' "$amped"
expect 3 "missing.json" "$amped" plot missing.json -o x.svg
absent x.svg x.gp
finish
