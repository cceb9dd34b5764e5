#!/bin/sh
# Tensors that exceed --memory give the same files, byte by byte. Disks that are too small are
# detected before writing. Lists without copies.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# on_disk IN OUT OPTION...: converting with little memory gives the same file as with all memory.
on_disk() {
  in=$1
  out=$2
  shift 2
  expect 0 "" "$amped" convert "$in" "m.$out" -q "$@"
  expect 0 "" "$amped" convert "$in" "d.$out" -q "$@" --memory=1M --json=d.json
  if cmp "m.$out" "d.$out"; then pass; else fail "$in to $out $*: another file on disk"; fi
  if test "$(field temporary_bytes d.json)" -gt 0; then pass; else fail "$in $*: not on disk"; fi
}

# --- the same bytes -------------------------------------------------------------------------------
"$amped" generate a.tns --dims=40x3000x500 --nnz=120k --seed=1 -q || fail "generate"
# Some coordinates occur twice, some of them far apart, with values whose sum depends on their
# order. There are also zeros.
{
  grep -v '^#' a.tns
  grep -v '^#' a.tns | awk 'NR % 50 == 1 { print $1, $2, $3, 0.1 * NR }'
  grep -v '^#' a.tns | awk 'NR % 100 == 1 { print $1, $2, $3, 1e-3 * NR; print $1, $2, $3, 0 }'
  grep -v '^#' a.tns | awk 'NR % 70 == 0 { print $1, $2, 501 + NR % 13, 0 }'
} >b.tns
gzip -k b.tns
on_disk a.tns a.h5
on_disk b.tns b.h5
on_disk b.tns keep.h5 --duplicates=keep
on_disk b.tns drop.h5 --duplicates=keep --drop-zeros
on_disk b.tns.gz none.h5 --copies=none -t 1
on_disk m.b.h5 b.tns
on_disk m.keep.h5 again.h5 --duplicates=keep --temporary=.
same "sums in the same order" "$(grep -c . m.b.tns)" "$(grep -c . d.b.tns)"
expect 0 "" sh -c '"$0" convert - pipe.h5 -q --memory=1M <b.tns' "$amped"
expect 0 "" cmp pipe.h5 m.b.h5
expect 0 "" sh -c '"$0" convert m.b.h5 - -q --memory=1M >pipe.tns' "$amped"
expect 0 "" cmp pipe.tns m.b.tns
awk 'BEGIN { print "from,to,hour,n"; for (i = 0; i < 90000; i++)
  print "f" i * 7919 % 1000 ",\"t, " i * 104729 % 777 "\"," i % 24 "," i % 9 }' >c.csv
on_disk c.csv c.h5 --value=n
on_disk c.csv none.c.h5 --keys=from,to,hour,n --copies=none --duplicates=keep
# A dense tensor whose nonzeros are all at the beginning.
awk 'BEGIN { print "tensor\n3\n100 100 150"; for (i = 0; i < 1500000; i++) print i < 300000 ? i % 7 : 0 }' >dense.tns
on_disk dense.tns dense.h5
"$amped" generate e.h5 --dims=9x300x7x70000x11 --nnz=60k --seed=2 -q || fail "generate"
on_disk e.h5 e.h5
on_disk e.h5 e.tns
for f in d.b.h5 d.keep.h5 d.none.h5 d.c.h5 d.e.h5; do
  expect 0 "verified" "$amped" info $f --verify
done

# --- reports --------------------------------------------------------------------------------------
expect 0 "sorting on disk.*1.00 MiB.*temporary files in \., about .*of output" \
  "$amped" convert b.tns x.h5 --memory=1M
expect 0 "indices have no nonzero" "$amped" convert b.tns x.h5 --memory=1M -v
same "duplicates" "$("$amped" convert b.tns x.h5 --memory=1M 2>&1 | grep -o '[0-9]* duplicates')" \
  "$("$amped" convert b.tns x.h5 2>&1 | grep -o '[0-9]* duplicates')"
expect 3 "duplicates of coordinates, the first is (1," "$amped" convert b.tns y.h5 --memory=1M \
  --duplicates=error
message=$(cat "$scratch/lines")
expect 3 "" "$amped" convert b.tns y.h5 --duplicates=error
same "the duplicates' message" "$message" "$(cat "$scratch/lines")"
grep -v '^#' a.tns | awk '{ print $1, $2, $3, 0 }' >zeros.tns
expect 3 "all values are zero" "$amped" convert zeros.tns y.h5 --memory=1M --drop-zeros
{ cat b.tns; echo "1 2 x 4"; } >bad.tns
expect 3 "line $(wc -l <bad.tns): field 3" "$amped" convert bad.tns y.h5 --memory=1M
expect 3 "are announced" sh -c '{ printf "# nnz: 7\n"; cat b.tns; } | "$0" convert - y.h5 --memory=1M' \
  "$amped"
expect 2 "at least 1M" "$amped" convert b.tns y.h5 --memory=1000
expect 2 "other formats have no copies" "$amped" convert b.tns y.tns --copies=none
expect 2 "all or none" "$amped" convert b.tns y.h5 --copies=some
for memory in 1M 1G; do
  expect 1 "no/folder.*--temporary" "$amped" convert b.tns y.h5 --memory=$memory --temporary=no/folder
done
absent y.h5 y.tns
if ls -A | grep -q "amped_mpi.tmp"; then fail "temporary files stayed"; else pass; fi

# --- indices without an entry, which a table does not have, are told of in both ways -----------------
"$amped" convert b.tns b.csv -q >memory.txt 2>&1
"$amped" convert b.tns b.csv -q --overwrite --memory=1M >disk.txt 2>&1
same "warnings of left-out indices" "$(cat disk.txt)" "$(cat memory.txt)"

# --- a disk that is too small ----------------------------------------------------------------------
mkdir small
if test "$(id -u)" = 0 && mount -t tmpfs -o size=3m none small 2>/dev/null; then
  expect 1 "small/y.h5: there is no room for it: it takes up to .* is free" \
    "$amped" convert b.tns small/y.h5
  expect 1 "^amped_mpi: small/y.h5: there is no room" \
    "$amped" convert b.tns small/y.h5 --memory=1M
  expect 1 "^amped_mpi: small/y.h5: there is no room" \
    "$amped" convert b.tns small/y.h5 --memory=1M --temporary=.
  expect 1 "^amped_mpi: small: " "$amped" convert b.tns y.h5 --memory=1M --temporary=small
  absent small/y.h5 y.h5
  same "left on the small disk" "$(ls -A small)" ""
  umount small
else
  echo "skipped: a full disk (needs root and the right to mount)"
fi

# --- lists without copies --------------------------------------------------------------------------
expect 0 "copies *none" "$amped" info m.none.h5
expect 0 "norm" "$amped" info m.none.h5
for ranks in 1 2; do
  expect 0 "" on $ranks m.none.h5 --rank=3 --iters=3 --tol=0 --nowrite --precision=double \
    --json=n.json
  expect 0 "" on $ranks m.b.h5 --rank=3 --iters=3 --tol=0 --nowrite --precision=double --json=c.json
  close "fit on $ranks ranks" "$(field fit n.json)" "$(field fit c.json)" 1e-12
done
python=$(find_python)
if test -n "$python"; then
  # A list that disagrees with its stored sums, with valid checksums; and a list with a flipped bit.
  "$python" - m.none.h5 <<'PY'
import h5py, json, shutil, sys
import numpy as np
name = sys.argv[1]
with h5py.File(name) as f:
    assert 'amped' not in f and f.attrs['nnz'] == f['values'].size
    assert json.loads(f.attrs['binsparse'])['number_of_stored_values'] == f['values'].size
    i = np.stack([f[f'indices_{m}'][:].astype(int) for m in range(3)])
    assert (np.lexsort(i[::-1]) == np.arange(i.shape[1])).all()
    offset = f['values'].id.get_chunk_info(0).byte_offset
shutil.copy(name, 'other.h5')
with h5py.File('other.h5', 'r+') as f:
    f['values'][7] *= 2
shutil.copy(name, 'flip.h5')
with open('flip.h5', 'r+b') as f:
    f.seek(offset + 99)
    byte = f.read(1)[0]
    f.seek(offset + 99)
    f.write(bytes([byte ^ 4]))
PY
  expect 3 "its list holds other nonzeros" "$amped" info other.h5 --verify
  expect 3 "values cannot be read (the checksum" "$amped" info flip.h5 --verify
  expect 3 "values cannot be read (the checksum" on 2 flip.h5 --rank=2 --nowrite
else
  echo "skipped: no python3 with numpy and h5py"
fi

finish
