#!/bin/sh
# Files of dense tensors: convert to cells and to a list of nonzeros, info, generate; arrays of all
# kinds, and arrays that must be refused. numpy and h5py write the inputs, and read the outputs.
. "$(dirname "$0")/../lib/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 99
needs_python
reference() { "$python" "$here/dense_files.py" "$@"; }
reference good . || exit 99
reference bad . || exit 99

# tells FILE: its hash and number of nonzeros.
tells() {
  "$amped" info "$@" --json=tells.json >/dev/null || echo failed
  echo "$(field hash tells.json) $(field nnz tells.json)"
}

# The reference: numpy writes the nonzeros as text.
reference list le_f8.npy x.tns
expect 0 "" "$amped" convert x.tns x.h5
wanted=$(tells x.h5)

# All kinds of cells, both orders of modes, .npy and HDF5 of other programs: cells keep their type,
# and all forms have one hash.
for f in le_*.npy be_*.npy i1*.npy u1*.npy le_*.h5 be_*.h5 i1.h5 u1.h5; do
  expect 0 "" "$amped" convert "$f" d.h5 --dense --overwrite
  case $f in
  *.npy) expect 0 "" reference same "$f" d.h5 ;;
  *) expect 0 "" reference same "$f:deep/down/x" d.h5 ;;
  esac
  same "hash of $f, dense" "$(tells d.h5 --verify)" "$wanted"
  same "hash of $f itself" "$(tells "$f")" "$wanted"
  expect 0 "" "$amped" convert "$f" s.h5 --sparse --overwrite
  same "hash of $f, sparse" "$(tells s.h5 --verify)" "$wanted"
done
expect 0 "" "$amped" convert le_f8.fortran.npy five.h5 --dense
expect 0 "" reference same le_f8.npy five.h5
expect 0 "" "$amped" convert five.npy order5.npy --dense --memory=1M
expect 0 "" reference same five.npy order5.npy
expect 0 "matlab.mat: a file of MATLAB: its first dimension is the last" "$amped" convert matlab.mat m.h5 --dense
expect 0 "a file of MATLAB: its first dimension is the last" on 2 complete matlab.mat --rank=2 --iters=2 --bias=none -o matlab.h5
expect 0 "a file of MATLAB: its first dimension is the last" "$amped" predict matlab.h5 matlab.mat
rm -f matlab.h5
expect 0 "" reference same matlab.mat:x m.h5
expect 0 "dataset      /x of MATLAB" "$amped" info matlab.mat
# A user block of text, or of zeros, before HDF5, under a name without a known suffix.
for block in "MATLAB 7.3 MAT-file" ""; do
  { printf '%s' "$block" && head -c 512 /dev/zero; } | head -c 512 >block.jld2
  cat m.h5 >>block.jld2
  expect 0 "block.jld2" "$amped" info block.jld2
done
# Dimensions that read the same backwards do not show it: a warning, also with -q.
expect 0 "warning: cube.mat: a file of MATLAB: its first dimension is the last" on 2 cube.mat --rank=2 --iters=2 --nowrite -q
expect 0 "fit" on 2 matlab.mat --rank=2 --iters=2 -o matlab.h5
expect 0 "" "$amped" convert two.h5 t.h5 --dense --dataset=b
expect 0 "" reference same two.h5:b t.h5
expect 0 "" "$amped" convert le_f2.npy half.npy --dense
expect 0 "" reference same le_f2.npy half.npy

# From lists: text, tables, ordered copies, copies none; and back.
expect 0 "1001 cells of float32, 3.91 KiB" "$amped" convert x.tns y.h5 --dense
expect 0 "" reference same le_f4.npy y.h5
expect 0 "" "$amped" convert x.h5 y.npy --dense
expect 0 "" reference same le_f4.npy y.npy
expect 0 "" "$amped" convert y.h5 z.tns --sparse
expect 0 "" "$amped" convert z.tns z.h5
same "hash of a list of a list's cells" "$(tells z.h5)" "$wanted"
expect 0 "" "$amped" convert y.h5 plain.h5 --sparse --copies=none
expect 0 "" "$amped" convert plain.h5 y.h5 --dense
same "hash of cells of one list" "$(tells y.h5 --verify)" "$wanted"
printf 'a,b,c,v\nx,y,z,0.1\nx,w,z,2\nx,w,z,3\nq,w,z,0\n' >t.csv
expect 0 "the labels of mode 1 (a) are left out" "$amped" convert t.csv c.npy --dense --value=v --json=c.json
same "type of 0.1" "$(field cell_type c.json)" float64
same "zeros, which are cells as others" "$(field zeros_dropped c.json)" 1
expect 0 "" "$python" -c 'import numpy as np; x = np.load("c.npy"); assert x.tolist() == [[[0.1], [5.0]], [[0.0], [0.0]]]'
expect 0 "" "$amped" convert y.h5 small.csv --sparse --compact
expect 0 "" "$amped" convert t.csv - --value=v

# In little memory: sorted on disk, into the same files. The output has several pieces.
"$amped" generate many.tns --dims=60x500x100 --nnz=200k --seed=4 -q || fail "generate"
expect 0 "" "$amped" convert many.tns whole.h5 --dense
expect 0 "sorting on disk" "$amped" convert many.tns little.h5 --dense --memory=1M
expect 0 "" cmp whole.h5 little.h5
expect 0 "" "$amped" convert whole.h5 whole.sparse.h5 --sparse
expect 0 "sorting on disk" "$amped" convert whole.h5 little.sparse.h5 --sparse --memory=1M
expect 0 "" cmp whole.sparse.h5 little.sparse.h5
same "hash of many" "$(tells whole.sparse.h5)" "$(tells little.h5 --verify)"

# Cells that are not finite: named, or made zeros, which is said.
expect 3 "bad_cells.npy: the cell at (3, 4, 5) is not a number" "$amped" convert bad_cells.npy n.h5 --dense
expect 3 "bad_cells.h5: the cell at (3, 4, 5) is not a number" "$amped" convert bad_cells.h5 n.h5 --sparse
absent n.h5
expect 0 "bad_cells.npy: 2 cells were missing or not finite, and became 0" "$amped" convert bad_cells.npy n.h5 --dense --nan=zero --json=n.json
same "number of them" "$(field not_finite n.json)" 2
expect 0 "" reference same cells_made_zero.npy n.h5
expect 0 "bad_cells.h5: 2 cells were missing or not finite, and became 0" "$amped" convert bad_cells.h5 o.h5 --sparse --nan=zero
same "hash without them" "$(tells o.h5)" "$(tells n.h5)"
expect 0 "not finite   2 cells" "$amped" info bad_cells.npy

# What must be refused: a status, a line, and nothing left behind.
while read -r file status message; do
  expect "$status" "$file: .*$message" "$amped" info "$file"
  test "$file" = flat.h5 && message="is not a file of a dense tensor" && status=2
  expect "$status" "$file: .*$message" "$amped" convert "$file" out.h5 --sparse
  test "$file" = flat.h5 && message="holds no tensor" && status=3
  expect "$status" "$file: .*$message" "$amped" convert "$file" out.h5 --dense
  absent out.h5
done <<END
$(cat npy.list h5.list)
END
expect 3 "zeros.npy: has only zeros" "$amped" convert zeros.npy out.h5 --sparse
expect 3 "missing.npy: cannot be read" "$amped" convert missing.npy out.h5 --dense
expect 3 "60000000000000000 cells\|63 bits\|more cells" "$amped" convert x.tns out.h5 --dense --dims=10000000000x10000000000x11
expect 1 "there is no room" "$amped" convert x.tns out.h5 --dense --dims=1000000x1000000x1000
absent out.h5

# Options that do not fit, status 2.
refused() {
  expect 2 "$@"
  absent out.h5
}
refused "give --dense .* or --sparse" "$amped" convert le_f4.npy out.h5
refused "exclude each other" "$amped" convert le_f4.npy out.h5 --dense --sparse
refused "is not a file of a dense tensor" "$amped" convert x.tns out.h5 --sparse
# netCDF's conventions: packed cells are refused, missing ones too, as NaN is.
for kind in le_f4 le_f8 le_i2 be_i4; do
  for attribute in _FillValue missing_value; do
    expect 3 "cdf.$kind$attribute.h5: the cell at (3, 4, 5) is -9999, which means a missing cell" on 2 cdf.$kind$attribute.h5 --rank=1 --nowrite
    expect 0 "2 cells" "$amped" convert cdf.$kind$attribute.h5 filled.npy --dense --nan=zero --overwrite
  done
done
expect 0 "" "$amped" convert cdf.le_f4_FillValue.h5 filled.npy --dense --nan=zero --overwrite
expect 0 "" cmp filled.npy cdf.zeros.npy
expect 0 "" on 2 cdf.whole.h5 --rank=1 --iters=1 --nowrite
expect 0 "coordinates  of its dimensions are not read; convert --axis stores labels" "$amped" info cdf.scales.h5
expect 0 "" "$amped" info cdf.whole.h5
grep -q coordinates out && fail "coordinates of no dimension" || pass
expect 0 "" on 1 cdf.unit.h5 --rank=1 --iters=1 --nowrite
for file in two half; do
  expect 3 "cdf.$file.h5: the cell at (3, 4, 5) is -999, which means" on 1 cdf.$file.h5 --rank=1 --nowrite
  expect 0 "2 cells" "$amped" convert cdf.$file.h5 filled.npy --dense --nan=zero --overwrite
done
# A valid range, a number as text, netCDF's default fill value if it is the dataset's.
for file in valid_range valid_min missing_value; do
  expect 3 "cdf.$file.h5: the cell at (3, 4, 5) is -199, which means" on 1 cdf.$file.h5 --rank=1 --nowrite
  expect 0 "2 cells" "$amped" convert cdf.$file.h5 filled.npy --dense --nan=zero --overwrite
  expect 0 "" cmp filled.npy cdf.zeros.npy
done
for file in words table rows; do
  for command in "info cdf.$file.h5" "complete cdf.$file.h5 --rank=1 --nowrite" "convert cdf.$file.h5 out.h5 --sparse --nan=missing"; do
    # shellcheck disable=SC2086
    expect 3 "cdf.$file.h5: attribute [a-zA-Z_]* of dataset /x is not a number or a list of numbers" "$amped" $command
  done
done
for kind in le_f4 be_f8 le_i2 le_u4; do
  expect 3 "cdf.${kind}default.h5: the cell at (3, 4, 5) is .*, which means" on 1 cdf.${kind}default.h5 --rank=1 --nowrite
  expect 0 "2 cells" "$amped" convert cdf.${kind}default.h5 filled.npy --dense --nan=zero --overwrite
  expect 0 "" on 1 cdf.${kind}other.nc --rank=1 --iters=1 --nowrite
done
# Integers of 8 bytes are compared with them as such, not as doubles.
for file in fill unsigned most least range text default; do
  expect 0 "missing or not finite, and became 0" "$amped" convert long.$file.h5 filled.npy --dense --nan=zero --overwrite
  expect 0 "" reference same filled.npy long.$file.npy
  expect 0 "" "$amped" convert long.$file.h5 list.tns --sparse --nan=missing --overwrite -q
  expect 0 "" "$amped" convert long.$file.npy kept.tns --sparse --overwrite -q
  expect 0 "" cmp list.tns kept.tns
done
# _Unsigned says the sign of integers, whatever their type: also of values that mean a missing cell.
for sign in i1.true u1.true u1.false i1.false be_i2.true be_u4.false; do
  file=cdf.sign.$sign
  expect 0 "" "$amped" convert $file.h5 read.npy --dense --overwrite
  expect 0 "" reference same read.npy $file.npy
  expect 0 "2 cells" "$amped" convert $file.blank.h5 read.npy --dense --nan=zero --overwrite
  expect 0 "" reference same read.npy $file.blank.npy
  expect 0 "" on 2 $file.h5 --rank=2 --iters=3 --precision=double --seed=1 -o sign.h5 --overwrite
  expect 0 "" on 1 $file.npy --rank=2 --iters=3 --precision=double --seed=1 -o plain.h5 --overwrite
  expect 0 "score.* 1\|1.0000" "$amped" compare sign.h5 plain.h5
done
for sign in i1.true be_i2.true; do
  expect 0 "2 cells" "$amped" convert cdf.sign.$sign.range.h5 read.npy --dense --nan=zero --overwrite
  expect 0 "" reference same read.npy cdf.sign.$sign.blank.npy
done
for attribute in scale_factor add_offset _Unsigned; do
  for command in "cpd cdf.$attribute.h5 --rank=1 --nowrite" "info cdf.$attribute.h5" "convert cdf.$attribute.h5 p.npy --dense"; do
    # shellcheck disable=SC2086
    expect 3 "cdf.$attribute.h5: dataset /x has the attribute $attribute: its cells are packed numbers" "$amped" $command
  done
done
refused "leave out --nan" "$amped" convert x.tns out.h5 --nan=zero
refused "one value" "$amped" convert x.tns out.h5 --dense --duplicates=keep
refused "writes .h5, .hdf5 or .npy" "$amped" convert x.tns out.csv --dense
refused "give --dense" "$amped" convert x.tns out.npy
refused "--dataset=b needs" "$amped" convert x.tns out.h5 --dataset=b
refused "--dataset=c: there is no such dataset" "$amped" convert two.h5 out.h5 --dense --dataset=c
refused "leave out --format" "$amped" convert two.h5 out.h5 --dense --dataset=a --format=tns
for option in --drop-zeros --copies=none; do
  refused "for sparse" "$amped" convert x.tns out.h5 --dense $option
done
for option in --compact --label-order=sorted --temporary=. --dims=7,13,11 --duplicates=mean --index-base=0; do
  refused "for sparse" "$amped" convert le_f4.npy out.h5 --dense $option
done
refused "for sparse" "$amped" convert le_f4.npy out.h5 --sparse --drop-zeros
expect 0 "" "$amped" x.h5 --rank=2 --iters=2 -o result.h5 -q
refused "is a result" "$amped" convert result.h5 out.h5 --dense
refused "is a result" "$amped" convert result.h5 out.npy --sparse
refused "--dataset=a needs" "$amped" convert result.h5 out.h5 --dataset=a
# A file in the way stays, unless it is the same tensor.
expect 1 "another input" "$amped" convert five.npy y.h5 --dense
expect 0 "will be replaced" "$amped" convert le_f4.npy y.h5 --dense
expect 1 "" "$amped" convert le_f4.npy y.npy --dense
same "y.h5" "$(tells y.h5 --verify)" "$wanted"

# Damage that leaves sizes as they are.
"$python" - <<'END'
import h5py
with h5py.File("y.h5", "r+") as f:
    f["dense"][1, 2, 3] += 1
END
expect 3 "y.h5: its cells were changed after they were written" "$amped" info y.h5 --verify
expect 3 "y.h5: its cells were changed after they were written" "$amped" convert y.h5 out.h5 --sparse
expect 3 "y.h5: its cells were changed after they were written" "$amped" convert y.h5 out.h5 --dense
absent out.h5

# info: the form that is better, of dense tensors and of full lists.
expect 0 "layout       Fortran" "$amped" info le_f4.fortran.npy
expect 0 "cells        1001 of uint8, 1001 B" "$amped" info u1.npy
expect 0 "form         dense is faster .* and smaller" "$amped" info u1.npy --json=i.json
same "faster" "$(field faster i.json)" dense
same "smaller" "$(field smaller i.json)" dense
expect 0 "form         dense is faster" "$amped" info x.tns
"$python" - <<'END'
import numpy as np
for name, nnz in (("sparse", 20), ("between", 100)):
    x = np.zeros(1000, "f4")
    x[:nnz] = 1
    np.save(name + ".npy", x.reshape(10, 10, 10))
END
expect 0 "form         sparse is faster .* and smaller" "$amped" info sparse.npy
expect 0 "form         dense is faster .*, sparse is smaller" "$amped" info between.npy --json=b.json
same "smaller" "$(field smaller b.json)" sparse
expect 0 "" "$amped" convert sparse.npy sparse.h5 --sparse
expect 0 "" "$amped" info sparse.h5 --json=s.json
same "no hint of thin lists" "$(field faster s.json)" ""
# cpd tells of full lists alone.
expect 0 "note: .* % of the cells are stored" "$amped" x.h5 --rank=2 --iters=1 --nowrite
for f in sparse.h5 le_f4.npy; do
  expect 0 "" "$amped" $f --rank=2 --iters=1 --nowrite
  if grep -q "of the cells are stored" out; then fail "a hint for $f"; else pass; fi
done

# generate: the model and its noise, whatever the threads; cells in either type.
expect 0 "" "$amped" generate g.h5 --dense --dims=23x29x31 --planted=4
expect 0 "" reference planted g.h5 g.planted.h5 0
expect 0 "with noise" "$amped" generate n1.h5 --dense --dims=23x29x31x5 --planted=4 --noise=0.1 --collinear=0.9 --signed -t 1 --json=g.json
expect 0 "" reference planted n1.h5 n1.planted.h5 "$(field noise_sd g.json)"
expect 0 "" "$amped" generate n3.h5 --dense --dims=23x29x31x5 --planted=4 --noise=0.1 --collinear=0.9 --signed -t 3
expect 0 "" cmp n1.h5 n3.h5
expect 0 "" "$amped" compare n1.planted.h5 n3.planted.h5
expect 0 "" "$amped" generate u.h5 --dense --dims=50x60x70 --type=double --seed=3
expect 0 "" "$python" -c 'import h5py
x = h5py.File("u.h5")["dense"][...]
assert x.dtype == "f8" and x.min() > 0 and x.max() <= 1 and abs(x.mean() - 0.5) < 5 / (12 * x.size) ** 0.5'
expect 0 "" "$amped" info n1.h5 --verify
# Its fit is that of the noise: 1 - 0.1 / sqrt(1 + 0.1^2), where a start finds the model.
expect 0 "" "$amped" generate f.h5 --dense --dims=30x40x50 --planted=3 --noise=0.1 --signed
expect 0 "" on 2 f.h5 --rank=3 --starts=3 --iters=200 --json=f.json --nowrite -q
close "fit" "$(field fit f.json)" 0.9005 0.001
expect 2 "needs --dims" "$amped" generate out.h5 --dense
expect 2 "leave out --shape, --nnz" "$amped" generate out.h5 --dense --dims=3x3x3 --nnz=5
expect 2 "leave out --dense, or --observed" "$amped" generate out.h5 --dense --dims=3x3x3 --planted=1 --observed=0.1
expect 2 "give --planted too" "$amped" generate out.h5 --dense --dims=3x3x3 --signed
expect 2 "give --dense too" "$amped" generate out.h5 --dims=30x30x30 --nnz=5 --type=double
expect 2 "is not an HDF5 file" "$amped" generate out.tns --dense --dims=3x3x3
expect 2 "2^63 bytes" "$amped" generate out.h5 --dense --dims=3000000000x3000000000x5
expect 1 "there is no room" "$amped" generate out.h5 --dense --dims=1000000x1000000x1000
absent out.h5 out.tns out.planted.h5

finish
