#!/bin/sh
# Dense arrays with missing cells: complete takes those that are observed, zeros too; predict writes the
# completed array; convert lists the observed cells. numpy makes the arrays, and the models' values.
. "$(dirname "$0")/../lib/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 99
needs_python
reference() { "$python" "$here/complete_dense.py" "$@"; }
reference make . || exit 99
fit="--rank=2 --reg=0.3 --iters=12 -q"

# complete: the bits of a run on the list of the same cells, on one rank and on three.
for ranks in 1 3; do
  # shellcheck disable=SC2086
  {
    expect 0 "" on $ranks complete list.tns --dims=13x9x6 $fit -o list$ranks.h5
    for f in xlf8 fortran; do
      expect 0 "" on $ranks complete $f.npy $fit -o $f.$ranks.h5
      expect 0 "" reference same list$ranks.h5 $f.$ranks.h5
    done
  }
done
expect 0 "305 of 702 cells are observed, and 151 of these are 0; 397 are missing" \
  on 1 complete xlf8.npy --rank=2 --nowrite --plan
expect 0 "" on 3 complete fill_i2.h5 --rank=2 --reg=0.3 --iters=12 -q -o fill.h5
expect 0 "" reference same list3.h5 fill.h5

# A part of the array, as cells of the model or to be tested: its place is unknown.
"$python" -c "import numpy as np; np.save('part.npy', np.load('xlf8.npy')[1:])"
expect 3 "part.npy: is an array of 12 indices in mode 1, without labels, but list3.h5 has 13" "$amped" predict list3.h5 part.npy
# shellcheck disable=SC2086
expect 3 "part.npy: is an array of 12 indices in mode 1, without labels, but xlf8.npy has 13" \
  on 1 complete xlf8.npy $fit --test=part.npy --nowrite
expect 0 "305 cells" "$amped" predict list3.h5 xlf8.npy

# predict: the model's value at every cell, and observed cells as they are.
expect 0 "predicted and 0 observed" "$amped" predict list3.h5 -o full.npy --type=double
expect 0 "" reference array list3.h5 full.npy f8
expect 0 "the model at the" "$amped" predict list3.h5 -o kept.npy --observed=fortran.npy --json=kept.json
expect 0 "" reference array list3.h5 kept.npy f8 fortran.npy
finish_on_gpus

# Whole numbers are whole in every type, so that all arrays of the same cells make the same model.
for f in xbf8.npy xlf4.npy xbf4.npy xlf2.npy nan.h5 fill_i2.h5 fill_bi4.h5 fill_f4.h5 fill_i8.h5 range.h5; do
  # shellcheck disable=SC2086
  expect 0 "" on 1 complete $f $fit -o one.h5 --overwrite
  expect 0 "" reference same list1.h5 one.h5
done
# shellcheck disable=SC2086
{
  expect 0 "" on 1 complete two.h5 --dataset=b $fit -o one.h5 --overwrite
  expect 0 "" reference same list1.h5 one.h5
  expect 2 "has 2 datasets" on 1 complete two.h5 $fit --nowrite
}

# The type of the output holds the observed cells to the bit.
while read -r observed type; do
  expect 0 "" "$amped" predict list3.h5 -o kept.npy --observed="$observed" --overwrite
  expect 0 "" reference array list3.h5 kept.npy "$type" "$observed"
done <<END
xlf8.npy f8
xbf8.npy f8
xlf4.npy f4
xbf4.npy f4
xlf2.npy f4
nan.h5 f4
fill_i2.h5 f4
fill_bi4.h5 f8
fill_f4.h5 f4
fill_i8.h5 f8
END
expect 0 "" "$amped" predict list3.h5 -o kept.npy --observed=xlf4.npy --type=double --overwrite
expect 0 "" reference array list3.h5 kept.npy f8 xlf4.npy
expect 0 "" "$amped" predict list3.h5 -o kept.npy --observed=xlf8.npy --clip=0.5:2 --overwrite --json=clip.json
expect 0 "" reference array list3.h5 kept.npy f8 xlf8.npy 0.5 2
expect 0 "" "$amped" predict list3.h5 -o kept.npy --observed=two.h5 --dataset=b --overwrite
expect 0 "" reference array list3.h5 kept.npy f8 xlf8.npy
expect 0 "of float32" "$amped" predict list3.h5 -o full.h5
expect 0 "" reference array list3.h5 full.h5 f4
expect 0 "" "$amped" info full.h5 --verify
expect 0 "mode 1: 2 of 13 indices have no learnt entry" "$amped" predict list3.h5 -o full.h5
expect 0 "mode 3: 1 of 6 indices" "$amped" predict list3.h5 -o full.h5
# Its numbers are those of predict at these cells.
expect 0 "" "$amped" predict list3.h5 xlf8.npy --json=cells.json
for name in rmse mae; do
  same "$name" "$(field $name kept.json)" "$(field $name cells.json)"
done
same "observed" "$(field observed kept.json)" "$(field cells cells.json)"
expect 0 "" "$amped" predict list3.h5 xlf8.npy --clip=0.5:2 --json=cells.json
same "rmse_clipped" "$(field rmse_clipped clip.json)" "$(field rmse_clipped cells.json)"
expect 0 "" "$amped" predict list3.h5 gaps.tns --cold=predict -o gaps.csv
expect 0 "" "$python" -c 'import numpy as np
x, gone = np.load("full.npy"), np.isnan(np.load("xlf8.npy"))
assert (np.loadtxt("gaps.csv", delimiter=",", skiprows=1)[:, 3] == x[gone]).all()'
# Results of cpd are models too.
expect 0 "" on 2 whole.npy --rank=3 --iters=5 -q -o cpd.h5
expect 0 "" "$amped" predict cpd.h5 -o cpd.npy --type=double
expect 0 "" reference array cpd.h5 cpd.npy f8

# Several pieces, in both orders of cells.
reference large . || exit 99
expect 0 "" on 1 complete large.npy --rank=2 --reg=1 --iters=2 --holdout=0 -q
for f in large large.fortran; do
  expect 0 "" "$amped" predict large.completion.h5 -o $f.full.npy --observed=$f.npy
  expect 0 "" reference array large.completion.h5 $f.full.npy f4 $f.npy
done
expect 0 "" cmp large.full.npy large.fortran.full.npy
expect 0 "" "$amped" predict large.completion.h5 -o large.h5
expect 0 "" reference array large.completion.h5 large.h5 f4

# Arrays of entries that judge, and of weights.
expect 0 "on [0-9]* entries" on 2 complete xlf8.npy --validate=held.npy --rank=2 --reg=1 --iters=3 --nowrite
expect 0 "test" on 1 complete list.tns --dims=13x9x6 --test=held.npy --rank=2 --reg=1 --iters=3 --nowrite
"$python" -c 'import numpy as np
x = np.load("xlf8.npy")
np.save("weights.npy", np.where(np.isnan(x), x, 2))'
expect 0 "" on 1 complete xlf8.npy --weights=weights.npy --rank=2 --reg=1 --iters=3 --nowrite

# convert: zeros are cells that were observed.
expect 0 "of 702 cells are observed" "$amped" convert xlf8.npy o.tns --sparse --nan=missing
expect 0 "" reference list o.tns xlf8.npy
expect 0 "" "$amped" convert fortran.npy o.h5 --sparse --nan=missing --json=o.json
expect 0 "" "$amped" convert list.tns l.h5 --dims=13x9x6 --json=l.json
same "entries" "$(field nnz o.json)" "$(field nnz l.json)"
same "zeros" "$(field zeros_kept o.json)" "$(field zeros_kept l.json)"
same "cells that were missing" $((702 - $(field nnz o.json))) "$(field not_finite o.json)"
expect 0 "" cmp o.h5 l.h5
if grep -q "drop-zeros" "$scratch/err"; then fail "advice to drop observed zeros"; else pass; fi
expect 0 "dropped" "$amped" convert xlf8.npy d.h5 --sparse --nan=missing --drop-zeros
expect 0 "" "$amped" convert list.tns e.h5 --dims=13x9x6 --drop-zeros
expect 0 "" cmp d.h5 e.h5
expect 0 "observed zeros are left out with them; --nan=missing keeps these" "$amped" convert xlf8.npy d.h5 --sparse --nan=zero --overwrite
expect 0 "" "$amped" convert large.fortran.npy o.h5 --sparse --nan=missing --copies=none --overwrite
expect 0 "sorting on disk" "$amped" convert large.npy p.h5 --sparse --nan=missing --copies=none --memory=1M
expect 0 "" cmp o.h5 p.h5

# Nothing is missing: complete says so.
expect 0 "no cell is missing" on 2 complete whole.npy --rank=2 --reg=1 --iters=2 --nowrite
expect 0 "" on 1 complete xlf8.npy --rank=2 --reg=1 --iters=2 --nowrite
if grep -q "no cell is missing" "$scratch/err"; then fail "a warning of missing cells"; else pass; fi

# The ways that other commands name.
expect 3 "xlf8.npy: the cell at (.*) is not a number; if it is missing, use amped_mpi complete" on 1 cpd xlf8.npy --rank=1 --nowrite
expect 3 "missing cell there.*amped_mpi complete" on 1 cpd fill_i2.h5 --rank=1 --nowrite
expect 0 "amped_mpi complete takes the other cells" "$amped" info xlf8.npy
expect 2 "--sparse --nan=missing makes one" "$amped" recommend list3.h5 --for=1 --of=2 --exclude=xlf8.npy
expect 2 "convert --sparse --nan=missing" on 1 bench xlf8.npy --complete

# What must be refused: a status, a line, and nothing left behind.
refused() {
  expect "$@"
  absent out.npy out.h5 out.completion.h5
}
refused 3 "infinite.npy: the cell at (3, 4, 5) is infinite.*NaN" on 2 complete infinite.npy --rank=1 -o out.completion.h5
refused 3 "the cell at (3, 4, 5) is infinite" "$amped" convert infinite.npy out.h5 --sparse --nan=missing
refused 3 "the cell at (3, 4, 5) is infinite" "$amped" predict list3.h5 -o out.npy --observed=infinite.npy
refused 3 "line.npy: has 1 dimensions; tensors of 2 to 8" on 2 complete line.npy --rank=1 -o out.completion.h5
refused 3 "all of its cells are missing" on 2 complete nothing.npy --rank=1 -o out.completion.h5
refused 3 "only missing cells" "$amped" convert nothing.npy out.h5 --sparse --nan=missing
refused 2 "leave out --read=parallel" on 2 complete xlf8.npy --rank=1 --read=parallel -o out.completion.h5
refused 2 "cells do not repeat" on 1 complete xlf8.npy --rank=1 --duplicates=mean -o out.completion.h5
refused 2 "--value is for tables" on 1 complete xlf8.npy --rank=1 --value=v -o out.completion.h5
refused 2 "--dataset=b needs" on 1 complete list.tns --rank=1 --dataset=b -o out.completion.h5
refused 2 "add --sparse" "$amped" convert xlf8.npy out.h5 --dense --nan=missing
refused 2 "xlf8.npy: --format is for text and tables" "$amped" convert xlf8.npy out.h5 --sparse --format=csv
refused 2 "add --sparse" "$amped" convert list.tns out.h5 --nan=missing
refused 3 "small.npy: is 12 x 9 x 6, and the model of list3.h5 is 13 x 9 x 6" "$amped" predict list3.h5 -o out.npy --observed=small.npy
# Labels say which row an index is: rows of a table stand in another order than the array's.
expect 0 "" "$amped" generate every.h5 --dense --dims=5x4x3 --seed=2
expect 0 "" "$amped" convert every.h5 rows.csv --sparse --nan=missing
{ sed -n 1p rows.csv && sed 1d rows.csv | tac; } >turned.csv
expect 0 "" "$amped" complete turned.csv --value=value --rank=2 --reg=0.1 --iters=3 -o turned.h5
refused 3 "a number could mean either" "$amped" predict turned.h5 -o out.npy --observed=every.h5
refused 2 "--type=float would round" "$amped" predict list3.h5 -o out.npy --observed=xlf8.npy --type=float
refused 3 "big.h5: the cell at .* below 2^53" "$amped" predict list3.h5 -o out.npy --observed=big.h5
refused 2 "name OUT.npy or OUT.h5" "$amped" predict list3.h5 -o out.csv
refused 2 "name OUT.npy or OUT.h5" "$amped" predict list3.h5 -o -
refused 2 "leave out gaps.tns" "$amped" predict list3.h5 gaps.tns -o out.npy
refused 2 "the cells are missing" "$amped" predict list3.h5
refused 2 "--observed is for an array of all cells" "$amped" predict list3.h5 gaps.tns -o out.h5 --observed=xlf8.npy
refused 2 "--cold is for a file of cells" "$amped" predict list3.h5 -o out.npy --cold=predict
refused 2 "--value is for a file of cells" "$amped" predict list3.h5 -o out.npy --value=v
refused 2 "--dataset is for" "$amped" predict list3.h5 -o out.npy --dataset=b
refused 2 "xlf8.npy: is an input of this run and would be overwritten" "$amped" predict list3.h5 -o xlf8.npy --observed=xlf8.npy --overwrite
refused 3 "absent.npy: cannot be read" "$amped" predict list3.h5 -o out.npy --observed=absent.npy
expect 1 "--overwrite" "$amped" predict list3.h5 -o full.npy

# Floats are too coarse for values far from 0, and have too small a range for tiny ones: cells are doubles then.
cat >far.py <<'END'
import sys, numpy as np
if len(sys.argv) < 2:
    rng = np.random.default_rng(1)
    x = np.einsum('ir,jr,kr->ijk', rng.random((6, 2)), rng.random((5, 2)), rng.random((11, 2)))
    gap = rng.random(x.shape) < 0.2
    for name, y in ('late', 1.7e9 + 30 * x), ('tiny', 1e-50 * x), ('near', 30 * x):
        y[gap] = np.nan
        np.save(name + '.npy', y)
for name in sys.argv[1:]:
    got, want = np.load(name + '.full.npy'), np.load(name + '.npy')
    known = ~np.isnan(want)
    off = np.sqrt(np.mean((got - want)[known] ** 2)) / want[known].std()
    assert got.dtype == (np.float32 if name == 'near' else np.float64) and off < 0.1, (name, got.dtype, off)
END
expect 0 "" "$python" far.py
for name in late tiny near; do
  expect 0 "" "$amped" complete $name.npy --rank=2 --reg=0.01 -q -o $name.h5
  expect 0 "wrote $name.full.npy: 330 cells of float" "$amped" predict $name.h5 -o $name.full.npy
done
expect 0 "" "$python" far.py late tiny near
refused 2 "--type=float has too few digits, or too small a range, for the values of late.h5" "$amped" predict late.h5 -o out.npy --type=float
refused 2 "--type=float has too few digits" "$amped" predict tiny.h5 -o out.h5 --type=float
# Models without a mean: their values' mean and differences are found from the factors.
"$python" - <<'END'
import numpy as np
i, j, k = np.ogrid[:12, :10, :8]
np.save('days.npy', 20240101.0 + i * 2.0 + j + k * 0.5)
np.save('mild.npy', 20.0 + i * 2.0 + j + k * 0.5)
END
for name in days mild; do
  expect 0 "" "$amped" cpd $name.npy --rank=2 --precision=double --method=lm --iters=200 --tol=0 -q -o $name.h5
  expect 0 "" "$amped" predict $name.h5 -o $name.full.npy -q
done
expect 0 "" "$amped" complete days.npy --rank=2 --precision=double --bias=none --reg=0.001 -q -o plain.h5
expect 0 "wrote plain.npy: 960 cells of float64" "$amped" predict plain.h5 -o plain.npy
expect 0 "" "$python" -c 'import numpy as np
for name, kind in (("days", "f8"), ("mild", "f4")):
    got, want = np.load(name + ".full.npy"), np.load(name + ".npy")
    assert got.dtype == kind and np.sqrt(np.mean((got - want) ** 2)) < 0.01 * want.std(), name'
refused 2 "--type=float has too few digits" "$amped" predict days.h5 -o out.npy --type=float
# Lists show digits in which their values differ.
expect 0 "1  17000000[0-9]*\.[0-9]" "$amped" recommend late.h5 --for=1:1 --of=3 -n 3

finish
