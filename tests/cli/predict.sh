#!/bin/sh
# predict: values and errors of models against numpy; labels in and out; cells that the model lacks;
# clipping; its outputs; its errors.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 99
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

model() { "$python" "$here/model_file.py" write "$@" || fail "model_file.py $*"; }
reference() { expect 0 "" "$python" "$here/predict_reference.py" "$@"; }

# Cells of 7x5x4 by labels, in an order that is not the model's; some more than once; 2000 in all.
awk 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
  BEGIN {
    seed = 3
    print "who,what,when,stars"
    for (i = 0; i < 2000; i++)
      printf "a%d,b%d,c%d,%.2f\n", 6 - int(7 * random()), int(5 * random()), int(4 * random()), 1 + 4 * random()
  }' >cells.csv
cut -d, -f1-3 cells.csv >keys.csv

model biased.h5 1 7x5x4 3 biased labels
model bare.h5 2 7x5x4 1 labels
model plain.h5 3 7x5x4 6 labels plain
for m in biased bare plain; do
  expect 0 "^rmse  *[0-9]" "$amped" predict $m.h5 cells.csv --value=stars --json=$m.json -o $m.csv
  reference $m.h5 cells.csv $m.json $m.csv
  expect 0 "" "$amped" predict $m.h5 keys.csv --json=$m.keys.json -o $m.keys.csv
  reference $m.h5 keys.csv $m.keys.json $m.keys.csv
  expect 0 "" cmp $m.csv $m.keys.csv
  expect 0 "rmse clipped" "$amped" predict $m.h5 cells.csv --value=stars --clip=2.5:4 --json=clip.json -o clip.csv --overwrite
  reference $m.h5 cells.csv clip.json clip.csv clip 2.5 4
  expect 0 "" "$amped" predict $m.h5 cells.csv --value=stars --json=one.json -o one.csv --threads=1 --overwrite
  expect 0 "" cmp one.csv $m.csv
done
expect 0 "" "$amped" predict biased.h5 cells.csv --value=stars --clip=-2e0:4 --json=clip.json
reference biased.h5 cells.csv clip.json - clip -2 4

# Without labels: indices from 1 in tables and text; order 4.
model four.h5 4 3x4x5x2 5 biased
awk 'BEGIN { print "p,q,r,s,stars"; for (i = 0; i < 60; i++) print i % 3 + 1 "," i % 4 + 1 "," i % 5 + 1 "," i % 2 + 1 "," i % 6 }' >four.csv
sed 's/p,q,r,s/mode1,mode2,mode3,mode4/' four.csv >want.csv
expect 0 "" "$amped" predict four.h5 four.csv --value=stars --json=four.json -o four.out.csv
reference four.h5 four.csv four.json four.out.csv
sed 1d four.csv | tr , ' ' >four.tns
expect 0 "" "$amped" predict four.h5 four.tns --json=tns.json -o tns.out.csv
reference four.h5 want.csv tns.json tns.out.csv
expect 0 "" "$amped" convert four.tns list.h5 --duplicates=keep -q
expect 0 "" "$amped" predict four.h5 list.h5 --json=list.json
close "rmse of a tensor file" "$(field rmse list.json)" "$(field rmse tns.json)" 1e-12

# Labels of the model, where the cells have none; labels are left out of text.
printf '1 1 1 3\n7 5 4 2\n' >two.tns
expect 0 "mode 1 (who): by index" "$amped" predict biased.h5 two.tns -o two.csv
same "labels of the model" "$(cut -d, -f1-3 two.csv | tr '\n' ' ')" "who,what,when a0,b0,c0 a6,b4,c3 "
expect 0 "labels are left out" "$amped" predict biased.h5 two.tns -o two.out.tns
same "text" "$(grep -v '^#' two.out.tns | cut -d' ' -f1-3 | tr '\n' ' ')" "1 1 1 7 5 4 "
expect 0 "" "$amped" predict biased.h5 two.tns -o two.h5
expect 0 "^nonzeros  *[0-9]* (density" "$amped" info two.h5 --verify
{ cat two.tns && sed -n '$p' two.tns; } >twice.tns
expect 0 "" "$amped" predict biased.h5 twice.tns -o twice.h5
expect 0 "several of some cells" "$amped" info twice.h5
expect 0 "" "$amped" convert two.h5 again.csv -q
expect 0 "" cmp two.csv again.csv
expect 0 "" "$amped" predict biased.h5 two.tns -o -
cp out standard.csv
expect 0 "" cmp standard.csv two.csv

# Cells that the model lacks.
printf 'who,what,when,stars\na1,b1,c1,4\na99,b1,c1,3\nnobody,nothing,c2,2\n' >cold.csv
expect 3 "cold.csv: cell 2: a99 of mode 1 (who) is not in the model of biased.h5 (2 such cells)" "$amped" predict biased.h5 cold.csv --value=stars
for m in biased plain; do
  expect 0 "2 of these cells have an index that the model does not know" "$amped" predict $m.h5 cold.csv --value=stars --cold=predict --json=cold.json -o cold.out.csv --overwrite
  reference $m.h5 cold.csv cold.json cold.out.csv
done
# Cells of a month that the model lacks: errors where all else is known, and where it is not.
awk 'BEGIN { print "who,what,when,stars"
  for (i = 0; i < 40; i++) printf "a%d,b%d,c99,%d\n", i % 3 == 0 ? 90 + i : i % 5, i % 7 == 1 ? 80 : i % 4, i % 6 }' >month.csv
expect 0 "40 of these cells have an index that the model does not know: [1-9][0-9]* who, [1-9][0-9]* what, 40 when" \
  "$amped" predict biased.h5 month.csv --value=stars --cold=predict --json=month.json -o month.out.csv --overwrite
same "rmse of all" "$(grep -c "rmse of cells with an index" out)" 0
expect 0 "" "$amped" predict biased.h5 month.csv --value=stars --cold=predict --json=month.json -o month.out.csv --overwrite
"$python" - >reason.txt 2>&1 <<'PY' && pass || fail "two kinds of cells: $(tail -n 1 reason.txt)"
import csv, json, math
told = json.loads(open("month.json").read().splitlines()[-1])
read = lambda name: list(csv.DictReader(open(name)))
parts = [[], []]
for cell, guess in zip(read("month.csv"), read("month.out.csv")):
    new = int(cell["who"][1:]) >= 80 or int(cell["what"][1:]) >= 80
    parts[new].append((float(cell["stars"]) - float(guess["value"])) ** 2)
for part, key in zip(parts, ("known_otherwise", "cold_otherwise")):
    rmse = math.sqrt(sum(part) / len(part))
    assert told[key] == len(part) > 5 and abs(told["rmse_" + key] - rmse) < 1e-9, (key, told, len(part), rmse)
assert told["cold_of"][2] == 40, told
PY
# Cells of which the model knows no index at all: a warning, and no word of other indices.
sed '1!s/^a[0-9]*,b[0-9]*/nobody,nothing/' month.csv >strange.csv
expect 0 "warning: strange.csv: biased.h5 knows no index of any of its cells" "$amped" predict biased.h5 strange.csv --value=stars --cold=predict
grep -q "other indices" out && fail "$(grep 'other indices' out)" || pass
grep -q "rmse of cells with an index that the model does not know" out && pass || fail "no rmse of unknown cells"
printf '8 1 1 3\n' >beyond.tns
expect 3 "cell 1: 8 of mode 1" "$amped" predict biased.h5 beyond.tns
expect 0 "" "$amped" predict biased.h5 beyond.tns --cold=predict -o beyond.csv
same "an index that has no label" "$(sed -n '2s/,[^,]*$//p' beyond.csv)" "8,b0,c0"
# Cells of known indices have the model's dimensions.
printf '1 1 1 3\n2 1 1 2\n' >corner.tns
for model in biased four; do
  test $model = biased || sed 's/ / 1 /' corner.tns >corner4.tns
  cells=corner.tns
  test $model = biased || cells=corner4.tns
  expect 0 "" "$amped" predict $model.h5 $cells -o corner.out.tns --overwrite
  same "dimensions of $model" "$(sed -n 's/^# dims: //p' corner.out.tns)" \
    "$("$amped" info $model.h5 | grep -o '[0-9]* x [0-9]* x [0-9]*\( x [0-9]*\)*' | head -n 1 | sed 's/ x / /g')"
done
# Known indices of that mode have their labels, and the table names the same cells when it is read again.
printf '8 1 1 3\n1 2 1 3\n3 1 2 2\n8 2 2 2\n12 1 1 1\n' >beyond.tns
for out in beyond.csv beyond.h5; do
  expect 0 "" "$amped" predict biased.h5 beyond.tns --cold=predict -o $out --overwrite
  value=
  test $out = beyond.h5 || value=--value=value
  # shellcheck disable=SC2086
  expect 0 "3 of these cells have an index that the model does not know: 3 who" "$amped" predict biased.h5 $out $value --cold=predict \
    --json=again.json --overwrite
  close "$out read again" "$(field rmse again.json)" 0 1e-12
done
same "labels beside numbers" "$(cut -d , -f 1 beyond.csv | tr '\n' ' ')" "who 8 a0 a2 8 12 "
printf 'p,q,r,s\n1,1,1,x\n' >text.csv
expect 3 "x of mode 4" "$amped" predict four.h5 text.csv -o never.csv
printf 'p,q,r,s\n0,1,1,1\n' >zero.csv
expect 3 "0 of mode 1" "$amped" predict four.h5 zero.csv -o never.csv

# Errors, each in one line.
expect 2 "nothing to report" "$amped" predict biased.h5 keys.csv
expect 2 "lesser first" "$amped" predict biased.h5 cells.csv --value=stars --clip=4:2
expect 2 "lesser first" "$amped" predict biased.h5 cells.csv --value=stars --clip=4
expect 2 "give LO:HI" "$amped" predict biased.h5 cells.csv --value=stars --clip=data
printf '1 1 1\n2 1 1\n' >bare3.tns
expect 3 "bare3.tns: has 3 numbers per line, but the model of biased.h5 has order 3: text needs 3 indices and a value" \
  "$amped" predict biased.h5 bare3.tns -o none.csv
printf '1 1 1 1\n2 1 1 1\n' >bare4.tns
expect 3 "bare4.tns: has 4 numbers per line, but the model of four.h5 has order 4: text needs 4 indices and a value" \
  "$amped" predict four.h5 bare4.tns -o none.csv
expect 2 "refuse or predict" "$amped" predict biased.h5 cells.csv --value=stars --cold=yes
expect 2 "missing" "$amped" predict biased.h5
expect 3 "four.tns: has 4 modes, but biased.h5 has 3" "$amped" predict biased.h5 four.tns
expect 3 "is not a result" "$amped" predict cells.csv cells.csv
expect 3 "No such file" "$amped" predict biased.h5 missing.csv -o never.csv
expect 2 "unknown suffix" "$amped" predict biased.h5 cells.csv -o never.xls
expect 2 "would mix" "$amped" predict biased.h5 cells.csv --value=stars -o - --json=-
expect 2 "would be overwritten" "$amped" predict biased.h5 cells.csv --value=stars -o cells.csv --overwrite
expect 2 "would be overwritten" "$amped" predict biased.h5 cells.csv --value=stars -o biased.h5 --overwrite
expect 1 "exists" "$amped" predict biased.h5 keys.csv -o two.csv
sed '1s/.*/what,who,when/' keys.csv >names.csv
expect 3 "mode 1 is called what, but that is mode 2 of biased.h5.*--keys" "$amped" predict biased.h5 names.csv -o never.csv
absent never.csv

# A damaged model.
cat >damage.py <<'PY'
import sys
import h5py, numpy as np
with h5py.File("biased.h5") as source, h5py.File("damaged.h5", "w") as f:
    for name in source:
        source.copy(name, f)
    f.attrs.update(source.attrs)
    exec(sys.argv[1])
PY
for change in 'del f["bias/1"]' 'del f["bias/1"]; f["bias/1"] = np.ones(6)' 'f["bias/1"][2] = np.nan' \
  'f.attrs["scale"] = 0.0' 'f.attrs["amped_model"] = "magic"' 'f.attrs["best_sweep"] = np.uint64(9)' \
  'f.attrs["context"] = np.ones(2, "u8")' 'del f.attrs["mean"]'; do
  "$python" damage.py "$change" || fail "damage.py $change"
  expect 3 "damaged.h5: " "$amped" predict damaged.h5 cells.csv --value=stars
done

# Labels that repeat tell no index; indices still do.
"$python" damage.py 'f["labels/mode_0/bytes"][3] = ord("0")' || fail "damage.py: labels"
expect 3 "labels of mode 1 (who) repeat" "$amped" predict damaged.h5 cells.csv --value=stars
expect 0 "" "$amped" predict damaged.h5 two.tns

# The result of a run of cpd.
"$amped" generate t.h5 --dims=30x20x10 --nnz=1500 --planted=4 --seed=1 -q || fail "generate"
expect 0 "" on 1 t.h5 --rank=3 --iters=8 --tol=0 --precision=double -q
expect 0 "" "$amped" predict t.cpd.h5 t.h5 --json=cpd.json
cat >cpd.py <<'PY'
import sys
import h5py, numpy as np
sys.path.insert(0, sys.argv[1])
from model_file import Model
with h5py.File("t.h5") as f:
    cells = np.stack([f[f"indices_{m}"][:] for m in range(3)], axis=1).astype(int)
    values = f["values"][:].astype(float)
model = Model("t.cpd.h5")
print(np.sqrt(np.mean([(model.value(c) - x) ** 2 for c, x in zip(cells, values)])))
PY
close "rmse of a decomposition" "$(field rmse cpd.json)" "$("$python" cpd.py "$here")" 1e-12
# Text has the model's indices: labels of the cells are no indices, unless the model has indices alone.
printf '10 5 1 2\n20 7 1 3\n10 7 2 4\n30 5 2 1\n20 5 3 5\n' >ids.tns
printf 'u,i,t\n20,5,1\n30,5,2\n' >ids.csv
for base in 0 1; do
  expect 0 "" on 1 complete ids.tns --index-base=$base --rank=1 --holdout=0 --reg=0.1 -q -o ids.h5 --overwrite
  expect 0 "" "$amped" predict ids.h5 ids.csv -o ids.out.tns --overwrite
  same "indices in text, base $base" "$(grep -v '^#' ids.out.tns | cut -d' ' -f1-3 | tr '\n' ',')" "20 5 1,30 5 2,"
  expect 0 "rmse  *0$" "$amped" predict ids.h5 ids.out.tns
done
expect 0 "" "$amped" convert ids.tns ids.compact.h5 --compact -q
expect 0 "" on 1 complete ids.compact.h5 --rank=1 --holdout=0 --reg=0.1 -q -o compact.h5
expect 0 "" "$amped" predict compact.h5 ids.tns -o same.tns
same "ids in text" "$(grep -v '^#' same.tns | cut -d' ' -f1-3 | tr '\n' ',')" "10 5 1,20 7 1,10 7 2,30 5 2,20 5 3,"
expect 2 "mode 1 (u) of ids.csv has labels, which text of numbers cannot hold" "$amped" predict compact.h5 ids.csv -o none.tns
absent none.tns

# --by: errors by label, the largest first, are those of the predictions that -o writes.
cat >by.py <<'END'
import csv, json, sys
import numpy as np
cells, predictions, table, lines, column, n = sys.argv[1:]
rows = lambda path: list(csv.reader(open(path)))[1:]
column = int(column)
groups = {}
for cell, told in zip(rows(cells), rows(predictions)):
    groups.setdefault(cell[column], []).append(float(cell[3]) - float(told[3]))
want = {label: (len(e), np.sqrt(np.mean(np.square(e))), np.mean(np.abs(e))) for label, e in groups.items()}
found = rows(table)
assert sorted(want) == sorted(row[0] for row in found), found
for label, *numbers in found:
    assert np.allclose([float(x) for x in numbers], want[label], rtol=1e-6), label
assert [float(row[2]) for row in found] == sorted((float(row[2]) for row in found), reverse=True)
by = json.loads(open(lines).read())['by']
assert by['found'] == len(found)
assert [(x['label'], x['cells'], x['rmse']) for x in by['labels']] == [(r[0], int(r[1]), float(r[2])) for r in found[:int(n)]]
END
for mode in who:0 what:1 3:2; do
  expect 0 "labels of mode .* with cells, by rmse" "$amped" predict biased.h5 cells.csv --value=stars --by=${mode%:*} -n 3 -o by.csv \
    --json=by.json --overwrite
  expect 0 "" "$python" by.py cells.csv biased.csv by.csv by.json "${mode#*:}" 3
done
expect 0 "^who,cells,rmse,mae$" "$amped" predict biased.h5 cells.csv --value=stars --by=who -o - -q
expect 2 "no mode for --by=where; its modes are who, what, when" "$amped" predict biased.h5 cells.csv --value=stars --by=where
expect 2 "the cells have no values" "$amped" predict biased.h5 keys.csv --by=who -o none.csv
expect 2 "name OUT.csv or OUT.tsv" "$amped" predict biased.h5 cells.csv --value=stars --by=who -o none.tns
expect 2 "n is for --by" "$amped" predict biased.h5 cells.csv --value=stars -n 3
expect 2 "by is for a file of cells" "$amped" predict biased.h5 --by=who -o none.npy
# Cells of unknown labels count for the labels of other modes only. A dense array is a file of cells, too.
printf 'who,what,when,stars\na0,b0,c0,1\nnew,b0,c1,2\n' >new.csv
expect 0 '"found":1,"labels":\[{"index":0,.*"cells":1,"label":"a0"' "$amped" predict biased.h5 new.csv --value=stars --by=who --cold=predict --json=- -q
expect 0 '"cells":2,"label":"b0"' "$amped" predict biased.h5 new.csv --value=stars --by=what --cold=predict --json=- -q
cat >unknown.py <<'END'
# The cells that are in no row, and their rmse.
import csv, json
told = [float(r[-1]) for r in list(csv.reader(open('told.csv')))[1:]]
by = json.loads(open('unknown.json').read())['by']
assert by['unknown'] == 1 and abs(by['rmse_unknown'] - abs(told[1] - 2)) < 1e-9, by
END
expect 0 "" "$amped" predict biased.h5 new.csv --value=stars --cold=predict -o told.csv
expect 0 "^1 cells are in no row, as their label of mode 1 (who) is unknown" "$amped" predict biased.h5 new.csv \
  --value=stars --by=who --cold=predict --json=unknown.json
expect 0 "" "$python" unknown.py
"$python" -c 'import numpy as np; np.save("dense.npy", np.arange(24.0).reshape(2, 3, 4))' || fail "dense.npy"
expect 0 "" on 1 dense.npy --rank=1 -o dense.h5 -q
expect 0 "2 of the 2 labels of mode 1 with cells" "$amped" predict dense.h5 dense.npy --by=1
absent none.csv
# A state has no cells to predict.
printf '1 1 1\n1 2 2\n2 1 3\n' >cells.tns
expect 0 "" "$amped" complete cells.tns --rank=1 --reg=1 --iters=2 --holdout=0 --state=cells.state --nowrite -q
expect 3 "cells.state: is the state of a stream, which does not keep its cells" "$amped" predict biased.h5 cells.state -o none.csv
absent none.csv
finish
