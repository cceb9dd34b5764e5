#!/bin/sh
# Whole numbers above 2^53 that a double does not hold: one warning per file names the first, its place and
# their number; numbers that a double holds give none. Labels and indices keep all digits. Numbers nearer to 0
# than any double get such a warning, too; numbers beyond the largest are refused.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
cd "$scratch" || exit 99
cat >make.py <<'PY'
import json
import h5py
import numpy as np

EXACT = ["9007199254740992", "-9007199254740992", "9007199254740994", "18014398509481988", "1000000000000000000000", "0.12345678901234567",
         "123456789.12345678", "1.2345678901234567e17", "0000000000000000000012.5", "9007199254740992.000", "12345678901234567.5", "1e22", "7"]
CUT = ["9007199254740993", "-9007199254740993", "12345678901234567", "1700000000123456789", "+9007199254740995", "0009007199254740993",
       "9007199254740993.000", "100000000000000000000000", "18446744073709551615"]


def tns(name, values, head=""):
    with open(name, "w") as f:
        f.write(head)
        for k, v in enumerate(values):
            print(k % 3 + 1, k // 3 % 3 + 1, k // 9 + 1, v, file=f)


def csv(name, values):
    with open(name, "w") as f:
        print("a,b,c,x", file=f)
        for k, v in enumerate(values):
            print("u%d,%d,%d,%s" % (k % 3, k // 3 % 3, k // 9, '"%s"' % v if k % 2 else " " + v), file=f)


tns("exact.tns", EXACT)
tns("cut.tns", EXACT + CUT)
csv("exact.csv", EXACT)
csv("cut.csv", EXACT + CUT)
with open("dense.tns", "w") as f:  # Tensor Toolbox
    print("tensor\n3\n2 2 2", file=f)
    print("\n".join(EXACT[:7] + CUT[:1]), file=f)
with open("many.tns", "w") as f:  # several chunks and threads
    for k in range(400000):
        print(k % 100 + 1, k // 100 % 100 + 1, k // 10000 + 1, "9007199254740993" if k % 1000 == 777 else "1234567890123456", file=f)
g = np.random.default_rng(1)
whole = g.integers(1, 9, (3, 4, 5))
for name, kind, cells in (("signed", np.int64, {(1, 2, 3): -(2 ** 53) - 1, (2, 0, 0): 2 ** 53, (2, 3, 4): 2 ** 62 + 1}),
                          ("unsigned", np.uint64, {(1, 2, 3): 2 ** 64 - 1, (2, 3, 4): 2 ** 63 + 1, (2, 0, 0): 2 ** 63}), ("small", np.int64, {(1, 2, 3): 2 ** 62})):
    x = whole.astype(kind)
    for at, v in cells.items():
        x[at] = v
    np.save(name + ".npy", x)
    np.save(name + ".f.npy", np.asfortranarray(x))
    with h5py.File(name + ".h5", "w") as f:
        f["x"] = x
        f["missing"] = x
        f["missing"].attrs["_FillValue"] = x[1, 2, 3]
for name, values in (("list", [3, 2 ** 53 + 1, -(2 ** 53) - 3, 2 ** 60]), ("fine", [3, 2 ** 53, -(2 ** 53), 2 ** 60])):
    with h5py.File(name + ".h5", "w") as f:
        f.attrs["binsparse"] = json.dumps({"binsparse": {
            "version": "0.1.0", "format": "custom", "custom": {"level": {"level_desc": "sparse", "rank": 3, "level": {"level_desc": "element"}}},
            "shape": [4, 4, 4], "number_of_stored_values": 4, "data_types": {"values": "int64"}}})
        for m in range(3):
            f["indices_%d" % m] = np.arange(4, dtype=np.uint64)
        f["values"] = np.array(values, dtype=np.int64)
big = [2 ** 53 + k for k in range(6)]
with open("ids.csv", "w") as f:
    print("user,item,time,x", file=f)
    for k, id in enumerate(big):
        print("%d,%d,%d,%d" % (id, 10 * id + k, 1700000000123456789 + k, k + 1), file=f)
tns("ids.tns", [])
with open("ids.tns", "w") as f:
    for k, id in enumerate(big):
        print(id, k + 1, 1, k + 1, file=f)
PY
"$python" make.py || exit 99

none() { # none ARGUMENT...: no warning of digits
  expect 0 "" "$@"
  grep -q "all digits" out err && fail "a warning of digits: $*" || pass
}
run="--rank=1 --iters=2 --nowrite"
says="because a double does not hold all digits of whole numbers above 2^53; the first is"
for ranks in 1 3; do
  # shellcheck disable=SC2086
  {
    none on $ranks cpd exact.tns $run
    none on $ranks cpd exact.csv --value=x $run
    expect 0 "warning: cut.tns: 9 values are rounded, $says 9007199254740993 in line 14; subtract" on $ranks cpd cut.tns $run
    same "lines of cut.tns" "$(grep -c "all digits" err)" 1
    expect 0 "warning: cut.csv: 9 values are rounded, $says 9007199254740993 in line 15; subtract" on $ranks cpd cut.csv --value=x $run
    expect 0 "warning: dense.tns: 1 value is rounded, $says 9007199254740993 in line 11; subtract" on $ranks cpd dense.tns $run
    expect 0 "warning: many.tns: 400 values are rounded, $says 9007199254740993 in line 778; subtract" on $ranks cpd many.tns $run
    expect 0 "warning: signed.npy: 2 values are rounded, $says -9007199254740993 at (2, 3, 4); subtract" on $ranks cpd signed.npy $run
    expect 0 "warning: signed.f.npy: 2 values are rounded, $says .* at (" on $ranks cpd signed.f.npy $run
    expect 0 "warning: unsigned.npy: 2 values are rounded, $says 18446744073709551615 at (2, 3, 4); subtract" on $ranks cpd unsigned.npy $run
    expect 0 "warning: signed.h5: 2 values are rounded, $says -9007199254740993 at (2, 3, 4); subtract" on $ranks cpd signed.h5 --dataset=x $run
    same "lines of signed.h5 on $ranks ranks" "$(grep -c "all digits" err)" 1
    expect 0 "warning: signed.npy: 2 values are rounded, $says -9007199254740993 at (2, 3, 4); subtract" on $ranks complete signed.npy $run --reg=1
    expect 0 "warning: signed.h5: 1 value is rounded, $says 4611686018427387905 at (3, 4, 5); subtract" on $ranks complete signed.h5 --dataset=missing $run --reg=1
    none on $ranks cpd small.npy $run
    none on $ranks cpd small.h5 --dataset=x $run
    none on $ranks cpd fine.h5 $run
    expect 0 "warning: list.h5: some values are rounded, $says 9007199254740993 (element 1); subtract" on $ranks cpd list.h5 $run
  }
done
# Files that other commands read: weights, cells.
expect 0 "warning: cut.tns: 9 values are rounded" "$amped" convert cut.tns cut.h5
none on 1 cpd cut.h5 --rank=1 --iters=2 --precision=double -o cut.cpd.h5
expect 0 "warning: cut.tns: 9 values are rounded" "$amped" predict cut.cpd.h5 cut.tns
expect 0 "warning: list.h5: some values are rounded" "$amped" convert list.h5 copy.h5
expect 0 "warning: signed.npy: 2 values are rounded" "$amped" convert signed.npy copy.h5 --sparse --overwrite
none "$amped" convert signed.npy copy.dense.h5 --dense # cells keep their type

# Numbers that become 0, in text of all kinds, on the lines of a comment, a header and several threads.
awk 'BEGIN { print "# x"; for (k = 0; k < 300000; k++)
  print k % 100 + 1, int(k / 100) % 100 + 1, int(k / 10000) + 1, k % 1000 == 777 ? (k % 2000 == 777 ? "-1e-400" : "0.00002E-330") : k % 3 ? "0e-999" : 1.5 }' >gone.tns
printf 'a,b,x\nu,v,0.0\nu,w,"1e-400"\nt,v, 4e-324\nt,w,2\n' >gone.csv
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1e-330\n1 2 000.000e5\n2 2 1\n' >gone.mtx
{ printf 'tensor\n3\n2 2 2\n'; printf '1\n0\n-0.0\n1e-999\n5\n6\n7\n8\n'; } >gone.dense.tns
near="nearer to 0 than any double; the first is"
for ranks in 1 3; do
  # shellcheck disable=SC2086
  {
    expect 0 "warning: gone.tns: 300 values become 0, because they are $near -1e-400 in line 779; multiply" on $ranks cpd gone.tns $run
    expect 0 "warning: gone.csv: 1 value becomes 0, because it is $near 1e-400 in line 3; multiply" on $ranks complete gone.csv --value=x --reg=1 $run --holdout=0
    expect 0 "warning: gone.dense.tns: 1 value becomes 0, because it is $near 1e-999 in line 7; multiply" on $ranks cpd gone.dense.tns $run
  }
done
expect 0 "warning: gone.mtx: 1 value becomes 0, because it is $near 1e-330 in line 3; multiply" "$amped" convert gone.mtx gone.h5
printf '1 1 1 0\n2 2 2 0.000e-400\n1 2 1 5e-324\n2 1 1 -2.5e-310\n' >here.tns
expect 0 "" "$amped" convert here.tns gone.h5 --overwrite
grep -q "become" out err && fail "$(cat err)" || pass
echo "1 1 1 1e400" >huge.tns
printf 'a,b,x\nu,v,-1e309\n' >huge.csv
expect 3 "huge.tns: line 1: field 4: value 1e400 is not finite" "$amped" convert huge.tns gone.h5 --overwrite
expect 3 "huge.csv: line 2: .*\"-1e309\" is not a finite number" "$amped" convert huge.csv gone.h5 --value=x --overwrite

# Labels and indices keep all digits.
none "$amped" convert ids.csv ids.h5 --value=x
none "$amped" convert ids.h5 back.csv
same "labels above 2^53" "$(sed 1d back.csv | sort)" "$(sed 1d ids.csv | sort)"
none "$amped" convert ids.tns big.h5
none "$amped" convert big.h5 back.tns
same "indices above 2^53" "$(grep -v '^[#%]' back.tns | sort)" "$(sort ids.tns)"
finish
