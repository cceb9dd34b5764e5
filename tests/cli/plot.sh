#!/bin/sh
# plot: pictures of results and runs where gnuplot is installed; scripts with their data always.
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

# rows SCRIPT BLOCK: the lines of data of a block, or of all.
rows() {
  awk -v name="\$${2-}" 'index($0, name) == 1 && / << END$/ { inside = 1; next }
    $0 == "END" { inside = 0 } inside && !/^#/ && NF > 0' "$1"
}

# pdf_offsets FILE: "right" if the last startxref leads to a table of offsets, and each of these to its object.
pdf_offsets() {
  python=$(plain_python)
  test -n "$python" || { echo right; return; }
  "$python" -c '
import re, sys
b = open(sys.argv[1], "rb").read()
at = int(re.search(rb"startxref\s+(\d+)\s+%%EOF\s*\Z", b).group(1))
table = re.match(rb"xref\s+0 (\d+)\s+", b[at:])
n, first = int(table.group(1)), at + table.end()
for i in range(1, n):
    offset = int(b[first + 20 * i:][:10])
    assert re.match(rb"%d 0 obj" % i, b[offset:offset + 20]), i
trailer = b[first + 20 * n:]
assert trailer.startswith(b"trailer") and (b"/Size %d" % n) in trailer and b"/Root" in trailer
print("right")' "$1"
}

# A script needs no gnuplot, and holds all of the data: 4 fits, 3 weights, and for 3 components 40 + 5 entries and the
# least and the largest of 320 columns of pixels, which are one row if they are equal.
mkdir empty
expect 0 "t.gp: the script" env PATH="$scratch/empty" "$amped" plot t.cpd.h5 -o t.gp
same "rows of data" "$(rows t.gp | wc -l | tr -d ' ')" \
  $((4 + 3 + 3 * (40 + 5) + $(for c in 1 2 3; do rows t.gp component_${c}_mode_2; done | wc -l)))
same "the last fit" "$(field fit run.json)" "$(rows t.gp metric | awk -v f="$(field fit run.json)" '
  { last = $2 } END { d = last - f; print (d < 1e-8 && d > -1e-8) ? f : last }')"
same "numbers, weights and shares of components" "$(grep -c \
  "^set label 'component [123]: weight [0-9.e+]*, share [0-9.]* %'" t.gp)" 3
same "the sum of shares" "$(sed -n "s/.*, share \([0-9.]*\) %'.*/\1/p" t.gp |
  awk '{ s += $1 } END { print (s > 99.7 && s < 100.3) }')" 1
# A model of counts: its shares are of events, as top has them. A block of 434 events, and one cell of 300.
awk 'BEGIN { for (i = 1; i <= 20; i++) for (j = 1; j <= 20; j++) print i, j, 1 + (i + j < 5); print 21, 21, 300 }' >events.tns
expect 0 "" on 1 cpd events.tns --rank=2 --loss=poisson --iters=200 -o events.cpd.h5
expect 0 "" env PATH="$scratch/empty" "$amped" plot events.cpd.h5 -o events.gp
"$amped" top events.cpd.h5 -n 1 | sed -n 's/.*(\([0-9.]*\) %).*/\1/p' | head -n 2 | tr '\n' ' ' >shares.txt
same "shares of events" "$(sed -n "s/.*, share \([0-9.]*\) %'.*/\1/p" events.gp | tr '\n' ' ')" "$(cat shares.txt)"
expect 0 "5[0-9].*4[0-9]" cat shares.txt
expect 0 "" env PATH="$scratch/empty" "$amped" plot run.json -o run.gp
same "sweeps of a run" "$(rows run.gp sweeps | wc -l | tr -d ' ')" 4
# Without gnuplot, the line tells the next step. Nothing is left behind.
ls >before
expect 1 "apt-get install gnuplot" env PATH="$scratch/empty" "$amped" plot t.cpd.h5 -o without.svg
expect 1 "script with -o OUT.gp" env PATH="$scratch/empty" "$amped" plot run.json -o without.png
same "files" "$(ls | grep -v '^err$\|^out$\|^lines$')" "$(grep -v '^err$\|^out$\|^lines$' before)"

# Several decompositions: one curve each, one colour and one line in the legend for each R.
expect 0 "" on 2 t.h5 --rank=2,3 --starts=2 --iters=3 --tol=0 --nowrite --json=several.json -q
expect 0 "" "$amped" plot several.json -o several.gp
same "sweeps of all" "$(rows several.gp sweeps | wc -l | tr -d ' ')" 12
same "curves" "$(grep -c 'every :::[0-3]::[0-3] using [13]:2' several.gp)" 8
same "legend" "$(grep -o "title 'R = [23]'" several.gp | sort | uniq -c | tr -s ' \n' ' ')" \
  " 2 title 'R = 2' 2 title 'R = 3' "
same "colours" "$(grep 'every :::' several.gp | grep -o "rgb '[^']*'" | sort -u | wc -l | tr -d ' ')" 2

# Batches of a stream: errors, of which those of no entries are left out, and phases that add up to the last.
"$amped" convert t.h5 t.tns -q
awk '!/^#/ && $3 <= 2' t.tns >first.tns
awk '!/^#/ && $3 == 3' t.tns >three.tns
awk '!/^#/ && $3 > 3' t.tns >four.tns
for share in 0 20%; do
  expect 0 "" on 1 complete first.tns --rank=2 --reg=1 --iters=2 --holdout=$share --nowrite --state=s.state --overwrite -q
  expect 0 "" on 2 stream s.state three.tns four.tns three.tns --json=stream$share.json --overwrite
  expect 0 "" "$amped" plot stream$share.json -o stream$share.gp
  same "batches" "$(rows stream$share.gp batches | wc -l | tr -d ' ')" 2
  same "parts of a batch" "$(rows stream$share.gp batches | awk '
    $6 > 0 && $7 >= $6 && $8 >= $7 && $9 >= $8 && $10 > $9 && $11 > 0.9 * $10 && $12 > 0 && $15 > 0' | wc -l | tr -d ' ')" 2
done
same "entries, rows, new rows of a batch" "$(rows stream0.gp batches | head -1 | cut -f 12-14 | tr '\t' ' ')" \
  "$(wc -l <three.tns | tr -d ' ') $(for m in 1 2 3; do cut -d ' ' -f $m three.tns | sort -u; done | wc -l |
    tr -d ' ') $(for m in 1 2 3; do
    cut -d ' ' -f $m first.tns | sort -u >had
    cut -d ' ' -f $m three.tns | sort -u | comm -13 had -
  done | wc -l | tr -d ' ')"
same "curves where nothing is held out" "$(grep -c 'held out' stream0.gp)" 1 # the comment of the data
same "curves of held-out entries" "$(grep -c "title '.*held out" stream20%.gp)" 2
for json in '{"event":"batch","batch":2}' '{"event":"batch","batch":2,"touched":["x"]}'; do
  expect 3 "line 1: a batch without its numbers" sh -c 'echo "$1" >bad.json; "$0" plot bad.json -o x.svg' "$amped" "$json"
done
cat run.json stream0.json >both.json
expect 3 "has both sweeps and batches of a stream" "$amped" plot both.json -o x.svg

# --components: those, in their order; what is left out is said in the line and in the picture.
expect 0 "t.cpd.h5: components 1,3 of 3, by weight; the others with --components=2$" \
  "$amped" plot t.cpd.h5 -o some.gp --components=3,1
expect 0 "set label 'components 1,3 of 3, by weight; the others with --components=2'" cat some.gp
same "order" "$(sed -n "s/^set label 'component \([0-9]*\):.*/\1/p" some.gp | tr '\n' ' ')" "3 1 "
same "same entries" "$(rows some.gp component_3_mode_1)" "$(rows t.gp component_3_mode_1)"
expect 0 "" on 1 t.h5 --rank=9 --iters=2 -o nine.cpd.h5 -q
expect 0 "components 1-6 of 9, by weight; the others with --components=7-9" \
  "$amped" plot nine.cpd.h5 -o nine.gp
expect 2 "no component 4; its components are 1 to 3" "$amped" plot t.cpd.h5 -o x.svg --components=1-4
expect 2 "1,4-6" "$amped" plot t.cpd.h5 -o x.svg --components=2-1
expect 2 "components, which is for results" "$amped" plot run.json -o x.svg --components=1
expect 2 "heat, which is for results" "$amped" plot run.json -o x.svg --heat=1,2
expect 2 "is one mode; name two" "$amped" plot t.cpd.h5 -o x.svg --heat=1
expect 2 "names one mode twice" "$amped" plot t.cpd.h5 -o x.svg --heat=2,2
expect 2 "no mode for --heat=4" "$amped" plot t.cpd.h5 -o x.svg --heat=1,4
expect 2 "no mode for --heat=day,1" "$amped" plot t.cpd.h5 -o x.svg --heat=day,1

# Bars and lines start at 0: the range of every panel of entries has it.
same "ranges without 0" "$(sed -n 's/^set [xy]range \[\(-*[0-9.e+-]*\):\(-*[0-9.e+-]*\)\]$/\1 \2/p' t.gp |
  awk '$2 != 0.5 && $1 != 0.5 && ($1 > 0 || $2 < 0)' | wc -l | tr -d ' ')" 0

# Labels: numbers, dates and times in their order, whatever the rows' order; of many names the
# largest, and how many there are.
awk 'BEGIN { print "year,day,hour,name,n"
  for (i = 0; i < 300; i++) printf "%d,2013-%02d-%02d,%d:30,name %d,%d\n",
    1900 + (i * 7) % 50, 1 + (i * 5) % 12, 1 + (i * 3) % 28, (i * 11) % 24, i % 100, 1 + i % 3 }' >labels.csv
expect 0 "" "$amped" convert labels.csv labels.h5 --value=n -q
expect 0 "" on 1 labels.h5 --rank=2 --iters=3 -o labels.cpd.h5 -q
expect 0 "" "$amped" plot labels.cpd.h5 -o labels.gp
for mode in 1 2 3; do
  rows labels.gp component_1_mode_$mode | cut -f 3 >column
  same "mode $mode is in order" "$(sort -V column)" "$(cat column)"
done
expect 0 "set xtics ('1900' 1, '1910' 11, '1920' 21, '1930' 31, '1940' 41)" cat labels.gp
expect 0 "set title 'name, 14 largest of 100'" cat labels.gp
same "names shown" "$(rows labels.gp component_2_mode_4 | wc -l | tr -d ' ')" 14

# Several runs: a block and a curve each, named by their files; the distance from the best of all.
expect 0 "" on 1 t.h5 --rank=2 --iters=7 --tol=0 --nowrite --json=one.json -q
expect 0 "" on 1 t.h5 --rank=3 --iters=4 --tol=0 --nowrite --json=two.json -q
expect 0 "" "$amped" plot one.json two.json -o both.gp
same "sweeps of the first run" "$(rows both.gp run0 | wc -l | tr -d ' ')" 7
same "sweeps of the second run" "$(rows both.gp run1 | wc -l | tr -d ' ')" 4
expect 0 "title 'two'" cat both.gp
last=$(cut -f 4 <<END | sort -g | head -n 1
$(rows both.gp run0; rows both.gp run1)
END
)
same "the best is 0 from itself" "$last" 0
expect 2 "need a name for the picture" "$amped" plot one.json two.json
expect 2 "is not a RUN.json" "$amped" plot one.json t.cpd.h5 -o no.gp
expect 2 "is an input" "$amped" plot one.json two.json -o two.json
expect 3 "has several decompositions" "$amped" plot one.json several.json -o no.gp
expect 0 "" on 1 complete first.tns --rank=2 --reg=1 --iters=2 --holdout=0 --nowrite --json=complete.json -q
expect 3 "has the metric" "$amped" plot one.json complete.json -o no.gp
# Errors that rise again at the end: the least is the best.
for value in 0.5 0.3 0.6; do
  echo "{\"event\":\"iteration\",\"sweep\":$((sweep = ${sweep:-0} + 1)),\"metric\":\"rmse\",\"rmse\":$value,\"seconds\":1," \
    '"mttkrp_seconds":{"min":1,"mean":1,"max":1},"solve_seconds":0,"exchange_seconds":0}'
done >rises.json
expect 0 "" "$amped" plot rises.json rises.json -o rises.gp
same "the least error has the distance 0" "$(rows rises.gp run0 | cut -f 4 | tr '\n' ' ')" "0.2 0 0.3 "
absent no.gp

# A picture writes no other file, and leaves none.
for f in t.dat p.dat p.gp; do echo mine >$f; done
if command -v gnuplot >/dev/null 2>&1; then
  for in in t.cpd.h5 names.cpd.h5 labels.cpd.h5 run.json several.json stream0.json stream20%.json; do
    expect 0 "p.$in.svg: drawn" "$amped" plot $in -o p.$in.svg
    expect 0 "</svg>" tail -n 3 p.$in.svg
    expect 0 "" "$amped" plot $in -o p.$in.png -q
    same "p.$in.png is a picture" "$(dd if=p.$in.png bs=1 skip=1 count=3 2>/dev/null)" PNG
    # A .pdf: the table of offsets leads to every object, also with the program's mark, so that a second plot replaces it.
    for again in first second; do
      expect 0 "p.$in.pdf: drawn" "$amped" plot $in -o p.$in.pdf
    done
    same "offsets of p.$in.pdf" "$(pdf_offsets p.$in.pdf)" right
    # The script draws the same picture, from any folder.
    mkdir moved.$in
    expect 0 "" "$amped" plot $in -o moved.$in/p.$in.gp -q
    expect 0 "" sh -c 'cd "moved.$0" && gnuplot "p.$0.gp" && for f in . ..; do
      grep -v "made by amped_mpi" "$f/p.$0.svg" >"$f/drawn"; done && cmp drawn ../drawn' $in
  done
  absent bad moved.names.cpd.h5/bad
  grep -q "&lt;&amp;" p.names.cpd.h5.svg && pass || fail "a label is not in the picture"
  expect 0 "" "$amped" plot t.cpd.h5
  expect 0 "" test -s t.cpd.svg
  for f in t p; do
    expect 0 "" "$amped" plot t.cpd.h5 -o $f.svg
  done
  same "the user's files" "$(cat t.dat p.dat p.gp | head -n 3 | tr '\n' ' ')" "mine mine mine "
  # The JSON file of an unfinished run: its last line is incomplete.
  head -c -20 run.json >going.json
  expect 0 "" "$amped" plot going.json --json=plot.json
  same "output" "$(field output plot.json)" going.svg
  # gnuplot fails, or is interrupted: its complaint is told, and nothing stays, not even in TMPDIR.
  printf '#!/bin/sh\necho "  line 3: no such thing" >&2\nexit 1\n' >empty/gnuplot
  chmod +x empty/gnuplot
  expect 1 "gnuplot failed (line 3: no such thing)" env PATH="$scratch/empty:$PATH" \
    "$amped" plot run.json -o fails.svg
  absent fails.svg
  printf '#!/bin/sh\necho $$ >started\nexec sleep 100\n' >empty/gnuplot
  mkdir tmp
  for signal in INT TERM KILL; do
    rm -f started
    # A shell in the background ignores SIGINT, and so would what it starts; env sets it back.
    PATH="$scratch/empty:$PATH" TMPDIR=$scratch/tmp env --default-signal=INT \
      "$amped" plot run.json -o killed.svg >killed.out 2>&1 &
    plotting=$!
    tries=0
    while ! test -s started && test $tries -lt 600; do
      sleep 0.1
      tries=$((tries + 1))
    done
    kill -$signal $plotting
    wait $plotting
    test $? -gt 128 && pass || fail "a plot lives through SIG$signal"
    absent killed.svg
    same "files after SIG$signal" "$(ls tmp; ls -A | grep '^\.\|killed\.svg' | grep -vx '\.mpi')" ""
    drawer=$(cat started)
    tries=0
    while kill -0 "$drawer" 2>/dev/null && test $tries -lt 100; do
      sleep 0.1
      tries=$((tries + 1))
    done
    if kill "$drawer" 2>/dev/null; then fail "gnuplot lives on after SIG$signal"; else pass; fi
  done
else
  echo "skipped: no gnuplot (Debian: gnuplot-nox)"
fi

expect 2 "svg, .png or .pdf, scripts .gp" "$amped" plot t.cpd.h5 -o x.eps
expect 2 "svg, .png or .pdf" "$amped" plot t.cpd.h5 -o "it's.svg"
expect 2 "two outputs" "$amped" plot t.cpd.h5 -o x.gp --json=x.gp
expect 1 "create its directory" "$amped" plot t.cpd.h5 -o nowhere/x.svg
cp t.cpd.h5 own.svg
expect 1 "overwritten" "$amped" plot own.svg -o own.svg
expect 3 "t.h5" "$amped" plot t.h5 -o x.svg
expect 3 "no sweep" sh -c 'echo "{}" >none.json; "$0" plot none.json -o x.svg' "$amped"
expect 3 "line 2 is not a JSON" sh -c 'printf "{}\nx\n" >bad.json; "$0" plot bad.json -o x.svg' "$amped"
expect 3 "without its numbers" \
  sh -c 'echo "{\"event\":\"iteration\"}" >bad.json; "$0" plot bad.json -o x.svg' "$amped"
expect 3 "missing.json" "$amped" plot missing.json -o x.svg
absent x.svg x.gp
finish
