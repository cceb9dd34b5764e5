#!/bin/sh
# Repeated coordinates: --duplicates=sum, mean, last, keep and error against numpy, of text, tables and
# HDF5, in memory and on disk; what a file tells of them afterwards. Zeros are values like others.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
needs_python

# make ORDER: text, a table with labels and a list in HDF5 of the same 120000 nonzeros. One coordinate
# begins and ends them, one comes 9000 times, many come twice, far apart; so do the first and the last
# in order. Some values are zero.
make() {
  "$python" - "$1" <<'PY'
import csv, json, sys
import h5py, numpy as np
order = int(sys.argv[1])
rng = np.random.default_rng(order)
dims = [37, 41, 1000, 5][:order]
i = np.stack([rng.integers(0, d, 120000) for d in dims])
i[:, 0] = i[:, 1] = i[:, -1] = 3
i[:, 10:-10:7][:, :9000] = np.arange(order)[:, None]
i[:, 60001:70001:2] = i[:, 1:10001:2]
v = np.round(rng.normal(size=i.shape[1]), 3)
v[rng.random(v.size) < 0.1] = 0
i[:, 50] = i[:, 51] = 0  # the first of all in order
for m, d in enumerate(dims):
    i[m, 100] = i[m, 200] = d - 1  # and the last
np.savez(f'{order}.npz', i=i, v=v)
with open(f'{order}.tns', 'w') as f:
    for k in range(v.size):
        print(*(i[:, k] + 1), repr(float(v[k])), file=f)
with open(f'{order}.csv', 'w', newline='') as f:
    w = csv.writer(f)
    w.writerow(['abcd'[m] for m in range(order)] + ['stars'])
    for k in range(v.size):
        w.writerow([f'{"wxyz"[m]} {9999 - i[m, k]}' for m in range(order)] + [repr(float(v[k]))])
level = {'level_desc': 'sparse', 'rank': order, 'level': {'level_desc': 'element'}}
with h5py.File(f'{order}.list.h5', 'w') as f:
    for m in range(order):
        f[f'indices_{m}'] = i[m]
    f['values'] = v
    f.attrs['binsparse'] = json.dumps({'version': '0.1.0', 'format': 'custom', 'shape': dims,
        'number_of_stored_values': v.size, 'custom': {'level': level}})
PY
}

# reference ORDER POLICY FILE [DROPPED]: compares the file with the nonzeros of `make`, and what it tells. DROPPED: zeros
# are left out, of last.
reference() {
  "$python" - "$@" <<'PY' && pass || fail "$3: not $2 of order $1"
import sys
import h5py, numpy as np
order, policy, name = int(sys.argv[1]), sys.argv[2], sys.argv[3]
with np.load(f'{order}.npz') as z:
    i, v = z['i'], z['v']
groups = {}
for at, x in zip(map(tuple, i.T.tolist()), v.tolist()):
    groups.setdefault(at, []).append(x)
assert max(map(len, groups.values())) > 8000 and sum(len(g) == 2 for g in groups.values()) > 2000
with h5py.File(name) as f:
    assert f.attrs['duplicates'] == policy.encode() or f.attrs['duplicates'] == policy
    got = [f[f'indices_{m}'][:].astype(int) for m in range(order)]
    values = f['values'][:].astype(float).tolist()
    for m in range(order):
        if f'labels/mode_{m}' in f:
            group = f[f'labels/mode_{m}']
            text, offsets = group['bytes'][:].tobytes(), group['offsets'][:].tolist()
            labels = [int(text[a:b].split()[1]) for a, b in zip(offsets, offsets[1:])]
            got[m] = 9999 - np.array(labels)[got[m]]
coordinates = list(map(tuple, np.stack(got).T.tolist()))
if policy == 'keep':
    for at, x in zip(coordinates, values):
        assert groups[at].pop(0) == x
    assert not any(groups.values())
    sys.exit()
if len(sys.argv) > 4:
    groups = {at: g for at, g in groups.items() if g[-1] != 0}
assert len(coordinates) == len(set(coordinates)) == len(groups)
for at, x in zip(coordinates, values):
    g = groups[at]
    if policy == 'sum':
        want = 0.0
        for y in g:
            want += y
        assert x == want or abs(x) == want == 0
    elif policy == 'last':
        assert x == g[-1]
    else:  # n additions are off by n eps of the sum of sizes, of which the mean is an n-th
        assert abs(x - np.sum(np.longdouble(g)) / len(g)) <= 2e-16 * sum(map(abs, g)) + 1e-300
PY
}

for order in 3 4; do
  make $order
  for policy in sum mean last keep; do
    for input in tns csv list.h5; do
      out=$policy.$order.${input%.h5}.h5
      options="--duplicates=$policy"
      test $input = csv && options="$options --value=stars"
      # shellcheck disable=SC2086
      expect 0 "[0-9] duplicates of coordinates" "$amped" convert $order.$input "$out" $options
      reference $order $policy "$out"
      # shellcheck disable=SC2086
      expect 0 "sorting on disk" "$amped" convert $order.$input disk.h5 $options --memory=1M --overwrite
      expect 0 "" cmp "$out" disk.h5
    done
    expect 0 "^duplicates *$policy" "$amped" info $policy.$order.tns.h5 --verify
    expect 0 "\"duplicates\":\"$policy\"" "$amped" info $policy.$order.tns.h5 --json=-
  done
done
for memory in 1G 1M; do
  expect 0 "" "$amped" convert 3.csv sorted.h5 --overwrite --duplicates=last --value=stars \
    --label-order=sorted --memory=$memory
  reference 3 last sorted.h5
  expect 0 "" "$amped" convert 3.tns list.h5 --overwrite --duplicates=mean --copies=none --memory=$memory
  reference 3 mean list.h5
  expect 0 "zeros" "$amped" convert 3.tns drop.h5 --overwrite --duplicates=last --drop-zeros --memory=$memory
  reference 3 last drop.h5 dropped
  expect 3 "duplicates of coordinates, the first is (1, 1, 1); .*sum, mean, last or keep" "$amped" \
    convert 3.tns x.h5 --duplicates=error --memory=$memory
done

# --- what a file tells ------------------------------------------------------------------------------
# tells FILE WORD: what info says of duplicates ("": nothing).
tells() { same "$1: duplicates" "$("$amped" info "$1" | sed -n 's/^duplicates *//p')" "$2"; }
printf '1 1 1 5\n2 2 2 0\n3 3 1 1\n' >once.tns
printf '1 1 1 5\n2 2 2 0\n1 1 1 1\n' >twice.tns
for policy in sum mean last keep error; do
  expect 0 "" "$amped" convert once.tns once.h5 --overwrite --duplicates=$policy -q
  tells once.h5 none
done
expect 0 "" "$amped" convert once.tns once.list.h5 --copies=none -q
tells once.list.h5 none
expect 0 "" "$amped" convert twice.tns twice.h5 -q
tells twice.h5 sum
expect 0 "" "$amped" convert twice.tns kept.h5 --duplicates=keep -q
tells kept.h5 keep
# A density of entries that share cells is no share of cells.
expect 0 "^nonzeros  *[0-9]*, several of some cells$" "$amped" info kept.h5
grep -q "density\|^form" out && fail "a density of repeats: $(cat out)" || pass
expect 0 "" on 1 cpd kept.h5 --rank=1 --iters=1 --nowrite
grep -q "of the cells are stored" out && fail "cells of repeats: $(cat out)" || pass
# Before a list is searched, more entries than cells are repeats.
printf '1 1 1 5\n2 1 1 1\n1 1 1 2\n' >crowded.tns
expect 0 "3 nonzeros" on 1 cpd crowded.tns --duplicates=keep --rank=1 --plan
grep -q "of the cells are stored" out && fail "cells of repeats: $(cat out)" || pass
for memory in 1G 1M; do # what was added up stays so; what was kept can be treated later
  expect 3 "sum.3.tns.h5: its repeated coordinates are one already, by --duplicates=sum" \
    "$amped" convert sum.3.tns.h5 x.h5 --overwrite --duplicates=mean --memory=$memory -q
  expect 0 "" "$amped" convert sum.3.tns.h5 x.h5 --overwrite --duplicates=sum --memory=$memory -q
  tells x.h5 sum
  expect 0 "" "$amped" convert keep.3.tns.h5 x.h5 --overwrite --duplicates=last --memory=$memory -q
  reference 3 last x.h5
done
expect 0 "" "$amped" generate made.h5 --dims=9x9x9 --nnz=20 -q
tells made.h5 none
tells twice.tns ""

# Zeros are observations: kept, counted and averaged.
printf 'u,i,w,stars\na,b,c,4\na,b,c,0\nd,b,c,0\n' >zeros.csv
expect 0 "1 stored value is zero and kept" "$amped" convert zeros.csv zeros.h5 --value=stars --duplicates=mean
expect 0 "nonzeros *2 " "$amped" info zeros.h5
expect 0 "" "$amped" convert zeros.h5 zeros.tns -q
same "zeros" "$(grep -v '^#' zeros.tns | awk '{ print $4 }' | tr '\n' ' ')" "2 0 "

# Earlier builds do not tell; other words, types and changes are refused.
"$python" - <<'PY'
import shutil
import h5py, numpy as np
def copy(name, value, sealed=False):
    shutil.copy('twice.h5', name)
    with h5py.File(name, 'r+') as f:
        if not sealed:
            del f.attrs['amped_seal']
        del f.attrs['duplicates']
        if value is not None:
            f.attrs['duplicates'] = value
copy('old.h5', None)
copy('words.h5', np.bytes_('median'))
copy('error.h5', np.bytes_('error'))
copy('empty.h5', np.bytes_(''))
copy('long.h5', np.bytes_('sum' * 10000))
copy('number.h5', 7)
copy('array.h5', np.array([b'sum', b'sum']))
copy('variable.h5', 'mean')
copy('changed.h5', np.bytes_('none'), sealed=True)
PY
tells old.h5 ""
expect 0 '"duplicates":null' "$amped" info old.h5 --json=-
expect 0 "" "$amped" convert old.h5 x.h5 --overwrite -q
tells x.h5 ""
tells variable.h5 mean
for name in words error empty long; do
  expect 3 "$name.h5: .*duplicates is not none, sum, mean, last or keep" "$amped" info $name.h5
done
for name in number array changed; do
  expect 3 "$name.h5: .*duplicates" "$amped" convert $name.h5 x.h5 --overwrite
done
expect 3 "words.h5: .*duplicates is not" on 2 words.h5 --rank=1 --nowrite

# --- cpd and bench, which read text themselves ----------------------------------------------------------
for policy in sum mean last keep; do
  for ranks in $(few 1 2 1); do
    expect 0 "duplicates of coordinates" on $ranks 3.csv --value=stars --duplicates=$policy --rank=2 \
      --iters=3 --tol=0 --precision=double -o text.h5 --overwrite --json=text.json
    expect 0 "" on $ranks $policy.3.csv.h5 --rank=2 --iters=3 --tol=0 --precision=double -o file.h5 \
      --overwrite --json=file.json
    close "$policy: fit on $ranks ranks" "$(field fit text.json)" "$(field fit file.json)" 1e-10
  done
  expect 0 "" on 1 bench 3.tns --duplicates=$policy --rank=2 --repeat=1 --json=b.json
done
expect 3 "the first is (a \"w 9996\", b \"x 9996\", c \"y 9996\")" on 2 3.csv --value=stars \
  --duplicates=error --rank=2 --nowrite
expect 2 "give --duplicates to amped_mpi convert" on 2 twice.h5 --duplicates=mean --rank=1 --nowrite
expect 2 "give --duplicates to amped_mpi convert" on 1 bench twice.h5 --duplicates=last
expect 0 "" on 1 twice.h5 --duplicates=sum --rank=1 --nowrite
expect 2 "leave out options for reading" on 1 bench --shape=amazon --duplicates=mean
expect 2 "info has no option --duplicates" "$amped" info 3.tns --duplicates=mean
expect 2 "sum, mean, last, keep or error" "$amped" convert 3.tns x.h5 --duplicates=median
expect 0 "" on 1 once.tns --rank=1 --iters=1 -o r.h5 -q
expect 2 "r.h5: is a result" "$amped" convert r.h5 x.npy --duplicates=last

finish
