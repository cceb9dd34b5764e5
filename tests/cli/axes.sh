#!/bin/sh
# --modes and --axis: names and values of the modes of arrays, in results, tables, pictures and dense files.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
cd "$scratch" || exit 99

"$python" - <<'END' || fail "arrays"
import numpy as np
rng = np.random.default_rng(3)
a, b, c = rng.random((4, 2)), rng.random((21, 2)), rng.random((33, 2))
x = np.einsum('ir,jr,kr->ijk', a, b, c) + .01 * rng.random((4, 21, 33))
np.save('x.npy', x)
x[rng.random(x.shape) < .2] = np.nan
np.save('gaps.npy', x)
END
printf 'north\r\nsüd\n  east \nwest' >sites.txt
# labels FILE: what an HDF5 file holds of each mode: name, whether it is an array's, first and last label.
labels() {
  "$python" -c '
import h5py, sys
f = h5py.File(sys.argv[1])
for m in range(3):
    g = f.get(f"labels/mode_{m}")
    if g is None:
        print("none")
        continue
    text, at = bytes(g["bytes"][:]), g["offsets"][:]
    label = lambda i: text[at[i]:at[i + 1]].decode()
    print(g.attrs["name"].decode() if "name" in g.attrs else "-", int(g.attrs.get("array", 0)), len(at) - 1, label(0), label(len(at) - 2))' "$1"
}
all="--modes=site,wave,time --axis=site:sites.txt --axis=wave:250:450 --axis=time:0:1"
kept="site 1 4 north west
wave 1 21 250 450
time 1 33 0 1"

# cpd, on ranks that all read, and on one; complete of the array with gaps.
for read in parallel root; do
  expect 0 "" on 2 x.npy --rank=2 --iters=5 -q --read=$read --overwrite $all
  same "labels of cpd, --read=$read" "$(labels x.cpd.h5)" "$kept"
done
expect 0 "" on 2 complete gaps.npy --rank=2 --iters=4 --reg=0.01 --bias=none -q $all
same "labels of complete" "$(labels gaps.completion.h5)" "$kept"
same "evenly spaced" "$("$python" -c '
import h5py, numpy as np
f = h5py.File("x.cpd.h5")
for m, first, last in (1, 250, 450), (2, 0, 1):
    at = f[f"labels/mode_{m}/offsets"][:]
    text = bytes(f[f"labels/mode_{m}/bytes"][:])
    got = np.array([float(text[i:j]) for i, j in zip(at, at[1:])])
    want = np.linspace(first, last, got.size)
    print(np.abs(got - want).max() <= 1e-3 * (want[1] - want[0]), end=" ")')" "True True "

# What a reader sees.
expect 0 "labels 1     site: north ... west" "$amped" info x.cpd.h5
expect 0 "mode 1: site .*mode 2: wave .*mode 3: time" "$amped" top x.cpd.h5 -n 1
same "top names a value" "$("$amped" top x.cpd.h5 -n 1 --json=- -q | tr ',' '\n' | grep -c '"label": *"\(north\|süd\|east\|west\)"')" 2
expect 0 "" "$amped" plot x.cpd.h5 -o x.gp --heat=wave,time
expect 0 "set title 'wave x time'" cat x.gp
expect 0 "set xtics ('2[0-9]*' .*'300' .*'400' " cat x.gp
printf 'site,wave,time\nsüd,260,0.5\n' >cell.csv
expect 0 "süd,260,0.5," "$amped" predict gaps.completion.h5 cell.csv -o -
expect 0 "" on 1 x.npy --rank=2 --iters=2 -q --nonnegative=wave --nowrite $all

# A name alone: indices are its labels. An axis alone: the mode has no name.
expect 0 "" on 1 x.npy --rank=2 --iters=2 -q -o named.cpd.h5 --modes=site,wave,time
same "names alone" "$(labels named.cpd.h5)" "site 1 4 1 4
wave 1 21 1 21
time 1 33 1 33"
expect 0 "" on 1 x.npy --rank=2 --iters=2 -q -o axis.cpd.h5 --axis=2:-1:1
same "an axis alone" "$(labels axis.cpd.h5)" "none
- 1 21 -1 1
none"
same "0 has no sign" "$("$amped" convert axis.cpd.h5 axis.csv -q && grep -c ',-0,' axis.csv)" 0

# Arrays match by place: the array that was completed needs no axes a second time, nor do cells to predict.
expect 0 "wrote full.h5" "$amped" predict gaps.completion.h5 --observed=gaps.npy -o full.h5
same "labels of the completed array" "$(labels full.h5)" "$kept"
expect 0 "labels 2     wave: 250 ... 450" "$amped" info full.h5
expect 0 "labels of mode 2 (wave) are left out; OUT.h5 holds them" \
  "$amped" predict gaps.completion.h5 --observed=gaps.npy -o full.npy
expect 0 "" "$amped" predict gaps.completion.h5 x.npy -o at.csv
same "cells" "$(head -n 2 at.csv | cut -d , -f 1-3 | tr '\n' ' ')" "site,wave,time north,250,0 "
same "the same values" "$("$python" -c '
import csv, h5py, numpy as np
full, gaps = h5py.File("full.h5")["dense"][:], np.load("gaps.npy")
at = np.array([float(r["value"]) for r in csv.DictReader(open("at.csv", encoding="utf8"))]).reshape(full.shape)
m = np.isnan(gaps)
print(np.allclose(full[~m], gaps[~m], rtol=1e-6) and np.allclose(full[m], at[m], rtol=1e-6))')" True
# Text has indices, which could also be values: refused as before. An array of other dimensions, too.
expect 0 "" "$amped" convert x.npy x.tns --sparse -q
expect 3 "labels that are numbers, so that a number could mean either" "$amped" predict gaps.completion.h5 x.tns -o -
"$python" -c 'import numpy as np; np.save("less.npy", np.load("x.npy")[:, :20])'
expect 3 "is an array of 20 indices in mode 2 (wave), without labels, but gaps.completion.h5 has 21" "$amped" predict gaps.completion.h5 less.npy -o -

# convert: dense files and lists keep names and values, and --modes renames those of a file.
expect 0 "" "$amped" convert x.npy dense.h5 --dense -q $all
same "labels of a dense file" "$(labels dense.h5)" "$kept"
expect 0 "" on 2 dense.h5 --rank=2 --iters=5 -q
same "labels of its result" "$(labels dense.cpd.h5)" "$kept"
expect 0 "" "$amped" convert dense.h5 other.h5 --dense -q --modes=Ort,Welle,Zeit --axis=Zeit:10:42
same "other names" "$(labels other.h5)" "Ort 1 4 north west
Welle 1 21 250 450
Zeit 1 33 10 42"
expect 0 "" "$amped" convert other.h5 list.h5 --sparse -q
same "labels of a list" "$(labels list.h5)" "$(labels other.h5)"
expect 0 "labels of mode 1 (Ort) are left out" "$amped" convert other.h5 other.npy --dense
printf 'who,what,n\na,x,1\nb,y,2\na,z,3\n' | sed 's/,/,u,/' >table.csv
expect 0 "" "$amped" convert table.csv table.h5 --dense --value=n -q
expect 0 "labels 3     what: x ... z" "$amped" info table.h5

# Values of an axis are numbers, in any spelling: in cells, and in options. A value beside them is unknown.
printf 'site,wave,time\nnorth,260,0.25\nwest,450,0\n' >same.csv
printf 'site,wave,time\nnorth,260.0,0.250\nwest,4.5e2,0.0\n' >spelt.csv
expect 0 "" "$amped" predict dense.cpd.h5 same.csv -o same.out.csv -q
expect 0 "" "$amped" predict dense.cpd.h5 spelt.csv -o spelt.out.csv -q
same "predictions by value" "$(sed 1d spelt.out.csv | sed 's/.*,//')" "$(sed 1d same.out.csv | sed 's/.*,//')"
printf 'site,wave,time\nnorth,260.5,0\n' >between.csv
expect 3 "260.5 of mode 2 (wave) is not in the model" "$amped" predict dense.cpd.h5 between.csv -o never.csv
expect 0 "" "$amped" similar dense.cpd.h5 --for=wave:260.0 -n 2
cp out spelt.txt
expect 0 "" "$amped" similar dense.cpd.h5 --for=wave:260 -n 2
cp out exact.txt
expect 0 "" cmp exact.txt spelt.txt
expect 3 "has no label 260.5" "$amped" similar dense.cpd.h5 --for=wave:260.5 -n 2
# Labels of evenly spaced values are rounded to 6 digits, and numbers of tables and options are compared at these.
"$python" - <<'PY'
import numpy as np
at = np.linspace(1, 2, 8)
np.save("thirds.npy", np.exp(np.arange(5))[:, None, None] * at[:, None] * np.arange(1, 4))
with open("full.csv", "w") as full, open("short.csv", "w") as short, open("past.csv", "w") as past:
    for f in full, short, past:
        print("a,b,c", file=f)
    for i, x in enumerate(at):
        print(f"2,{float(x)!r},{i % 3 + 1}", file=full)
        print(f"2,{x:.6g},{i % 3 + 1}", file=short)
    print("2,1.1429,1", file=past)
PY
expect 0 "" on 1 cpd thirds.npy --rank=1 --modes=a,b,c --axis=b:1:2 -o thirds.h5 -q
expect 0 "" "$amped" predict thirds.h5 short.csv -o short.out.csv -q
expect 0 "" "$amped" predict thirds.h5 full.csv -o full.out.csv -q
same "predictions at values of more digits" "$(sed 1d full.out.csv | sed 's/.*,//')" "$(sed 1d short.out.csv | sed 's/.*,//')"
expect 3 "1.1429 of mode 2 (b) is not in the model" "$amped" predict thirds.h5 past.csv -o never.csv
expect 0 "" "$amped" similar thirds.h5 --for=b:1.142857142857 -n 2
expect 3 "has no label 1.1429" "$amped" similar thirds.h5 --for=b:1.1429 -n 2
# Names of a table are texts: 7.0 is not 7.
printf 'who,what,n\n7,x,1\n8,y,2\n7,z,3\n8,x,2\n' | sed 's/,/,u,/' | sed '1s/u/when/' >names.csv
expect 0 "" on 1 complete names.csv --value=n --rank=1 --reg=1 --iters=2 --holdout=0 -o names.model.h5 -q
printf 'who,when,what\n7.0,u,x\n' >name.csv
expect 3 "7.0 of mode 1 (who) is not in the model" "$amped" predict names.model.h5 name.csv -o never.csv

# Files of other programs, whose labels are none of ours.
"$python" -c '
import h5py, numpy as np
with h5py.File("foreign.h5", "w") as f:
    f["entry/data"] = np.load("x.npy")
    f["labels/site"] = np.arange(4)'
expect 0 "" on 2 foreign.h5 --dataset=/entry/data --rank=2 --iters=5 -q $all
same "labels of a result of another file" "$(labels foreign.cpd.h5)" "$kept"

# What is refused, before a sweep and on all ranks.
refused() {
  status=$1 message=$2
  shift 2
  expect "$status" "$message" on 2 x.npy --rank=2 --iters=1 -q --nowrite "$@"
}
refused 2 "has 3 modes, and --modes=a,b names 2" --modes=a,b
refused 2 "the name of mode 2 is empty" --modes=a,,c
refused 2 "modes 1 and 3 have one name" --modes=a,b,a
refused 2 "no mode of that name; its modes are a, b, c" --modes=a,b,c --axis=d:1:2
refused 2 "number them from 1 to 3" --axis=4:1:2
refused 2 "mode 2 has an axis already" --modes=a,b,c --axis=b:1:2 --axis=2:sites.txt
refused 2 "two different, finite numbers" --axis=1:5:5
refused 2 "two different, finite numbers" --axis=1:0:1e999
refused 2 "not all different" --axis=2:1:1.000000000000001
refused 2 "a mode with its values" --axis=wave
refused 3 "sites.txt: has 4 lines, and mode 2 has 21 indices" --axis=2:sites.txt
refused 3 "nothing.txt: cannot be read" --axis=2:nothing.txt
seq 34 >long.txt
refused 3 "has 34 lines, and mode 3 has 33 indices" --axis=3:long.txt
printf 'a\nb\n\nd\n' >empty.txt
refused 3 "empty.txt: line 3 is empty" --axis=1:empty.txt
printf 'a\nb\na\nd\n' >twice.txt
refused 3 "twice.txt: line 3 repeats an earlier value" --axis=1:twice.txt
printf 'a\nb\n\377\nd\n' >bytes.txt
refused 3 "bytes.txt: line 3 is not UTF-8 text" --axis=1:bytes.txt
expect 2 "is no dense array" on 2 list.h5 --rank=2 --iters=1 -q --nowrite --modes=a,b,c
expect 2 "is no dense array" on 2 complete table.csv --rank=2 --iters=1 -q --nowrite --axis=who:1:2
expect 2 "is not a dense tensor; leave out --axis" "$amped" convert table.csv t.h5 --axis=who:1:2
expect 2 "has no names and values of modes" on 1 cpd --shape=nell2 --modes=a,b,c

# Values of an axis are no indices: a fit with them is compared by place with one without.
"$amped" generate plain.h5 --dense --dims=9x30x12 --planted=2 >/dev/null || fail "generate"
expect 0 "" on 1 cpd plain.h5 --rank=2 --seed=3 -o without.h5 -q
expect 0 "" on 1 cpd plain.h5 --rank=2 --seed=3 --modes=a,b,c --axis=b:11:40 -o with.h5 -q
expect 0 "factor match score 1.000000" "$amped" compare without.h5 with.h5
expect 0 "factor match score 1.000000" "$amped" compare with.h5 without.h5

# A column of few pixels keeps each peak: of more indices than pixels, each cell is the largest of its range.
$python - <<'PY'
import numpy as np
x = np.zeros((366, 24, 3)) + 0.01
x[:, :, 0] += np.outer(np.arange(366) == 200, np.arange(24) == 7)
np.save("peak.npy", x)
PY
expect 0 "" on 1 cpd peak.npy --rank=1 --modes=day,hour,what --axis=day:1:366 --axis=hour:0:23 -o peak.h5 -q
expect 0 "" "$amped" plot peak.h5 --heat=day,hour -o peak.gp
expect 0 "each cell the largest of its range" cat peak.gp

# The text of an axis is an input, which no output replaces.
seq 9 >nine.values
cp nine.values kept.txt
for output in -o --json --trace --checkpoint; do
  expect 2 "nine.values: is an input of this run" on 1 cpd plain.h5 --rank=2 --modes=a,b,c --axis=a:nine.values --overwrite $output nine.values
done
expect 2 "nine.values: is an input of this run" "$amped" convert plain.h5 nine.values --sparse --axis=1:nine.values --overwrite
expect 0 "" cmp nine.values kept.txt

finish
