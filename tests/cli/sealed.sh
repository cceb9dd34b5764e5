#!/bin/sh
# Damage that checksums of chunks do not show, in every kind of file: each command refuses it before
# it publishes anything. Words 0x0000 that become 0xFFFF leave Fletcher's sums as they are, and
# zeros have a checksum of zero.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# hex FILE [FIRST]: its bytes from number FIRST on, in hexadecimal.
hex() { tail -c +"${2:-1}" "$1" | od -An -v -tx1 | tr -d ' \n'; }

# place FILE HEX: where these bytes are first.
place() {
  hex "$1" | awk -v bytes="$2" '{
    for (from = 1; (i = index(substr($0, from), bytes)) > 0; from += i)
      if ((from + i) % 2 == 0) { print (from + i - 2) / 2; exit }
  }'
}

# put FILE AT COUNT OCTAL: COUNT equal bytes.
put() { head -c "$3" /dev/zero | tr '\0' "\\$4" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }

# zeroed FROM TO HEX: a copy where the chunk of these bytes, and its checksum, are zeros.
zeroed() {
  at=$(place "$1" "$3")
  test -n "$at" && pass || fail "$1: no chunk of $3"
  cp "$1" "$2" && put "$2" "$at" $((${#3} / 2 + 4)) 000
}

# --- tensors --------------------------------------------------------------------------------------
printf '1 1 1 5\n1 2 1 3\n2 1 2 4\n3 2 2 2\n3 3 1 1\n' >five.tns
values=0000a04000004040000080400000004000 # 5 3 4 2, as float
values=${values}00803f                     # 1
expect 0 "" "$amped" convert five.tns copies.h5 -q
expect 0 "" "$amped" convert five.tns list.h5 -q --copies=none
for kind in copies list; do
  cp $kind.h5 $kind.word.h5
  put $kind.word.h5 "$(place $kind.h5 $values)" 2 377 # 5 becomes 5.03
  zeroed $kind.h5 $kind.zero.h5 $values
  for damage in word zero; do
    for out in new.h5 new.tns -; do
      expect 3 "$kind.$damage.h5: .*hash" "$amped" convert $kind.$damage.h5 $out
    done
    absent new.h5 new.tns
    test -s out && grep -q '^[0-9]* [0-9]* [0-9]* ' out && fail "$kind.$damage: nonzeros were written" || pass
    expect 3 "$kind.$damage.h5: .*hash" "$amped" info $kind.$damage.h5 --verify
    expect 3 "$kind.$damage.h5: " on 1 $kind.$damage.h5 --rank=2 -o new.h5
    expect 3 "$kind.$damage.h5: " on 2 $kind.$damage.h5 --rank=2 -o new.h5 --read=parallel
    expect 3 "$kind.$damage.h5: " on 1 bench $kind.$damage.h5 --rank=2
    absent new.h5
  done
done

# Larger than the memory: sorted on disk.
awk 'BEGIN { for (i = 1; i <= 60000; i++) print i, i % 77 + 1, i % 1009 + 1, 1 + i % 3 }' >long.tns
expect 0 "" "$amped" convert long.tns long.h5 -q
cp long.h5 long.word.h5
put long.word.h5 "$(place long.h5 00000040000040400000803f00000040)" 2 377
for out in new.h5 new.tns; do
  expect 3 "long.word.h5: .*hash" "$amped" convert long.word.h5 $out --memory=1M
done
absent new.h5 new.tns

# --- every way of reading -------------------------------------------------------------------------
# Each kind of file, damaged in all of its copies, and each command that reads such a file. A command
# that is not in this list reads no nonzeros of a tensor file.
all_fives() { # FILE: 5 becomes 5.03 wherever two values of 5 lie side by side
  for at in $(hex "$1" | awk '{
    fives = "0000a0400000a040"
    for (from = 1; (i = index(substr($0, from), fives)) > 0; from += i + length(fives) - 1)
      print (from + i - 2) / 2
  }'); do
    put "$1" "$at" 2 377
  done
}
awk 'BEGIN { for (i = 0; i < 64; i++) if (i % 3) print i % 4 + 1, int(i / 4) % 4 + 1, int(i / 16) + 1, 5 }' >fives.tns
awk 'BEGIN { for (i = 0; i < 64; i++) if (i % 3 == 0) print i % 4 + 1, int(i / 4) % 4 + 1, int(i / 16) + 1, i + 1 }' >rest.tns
expect 0 "" "$amped" convert fives.tns fives.copies.h5 -q
expect 0 "" "$amped" convert fives.tns fives.list.h5 -q --copies=none
expect 0 "" "$amped" convert fives.tns fives.dense.h5 -q --dense
expect 0 "" on 1 complete rest.tns --rank=1 --iters=2 --reg=0.1 --state=s.state -o m.h5 -q
for kind in copies list dense; do
  cp fives.$kind.h5 bad.$kind.h5 && all_fives bad.$kind.h5
  cmp -s fives.$kind.h5 bad.$kind.h5 && fail "$kind: no damage" || pass
done
# every KINDS COMMAND ARGUMENT...: takes the whole file of the first kind for the word FILE, and refuses
# the damaged file of every kind with status 3.
every() {
  kinds=$1
  shift
  for file in fives.${kinds%% *} $(printf 'bad.%s ' $kinds); do
    words=
    for word in "$@"; do
      words="$words $(printf '%s' "$word" | sed "s/FILE/$file.h5/")"
    done
    rm -f x.state x.state.* new.*
    cp s.state x.state
    # shellcheck disable=SC2086
    case $file in
    fives.*) expect 0 "" $words ;;
    *) expect 3 "$file.h5: " $words && absent new.h5 new.csv new.npy new.state ;;
    esac
  done
}
complete="on 1 complete rest.tns --rank=1 --iters=2 --reg=0.1 -q -o new.h5"
# shellcheck disable=SC2086
{
  every "copies list dense" "$amped" info FILE --verify
  every "copies list" "$amped" convert FILE new.csv
  every dense "$amped" convert FILE new.npy --dense
  every dense "$amped" convert FILE new.csv --sparse
  every "copies list dense" on 1 FILE --rank=1 --iters=2 -o new.h5
  every copies on 1 FILE --rank=1 --iters=2 -o new.h5 --load=list
  every copies on 2 FILE --rank=1 --iters=2 -o new.h5 --read=parallel
  every dense on 1 FILE --rank=1 --method=rbs -o new.h5
  every dense on 2 FILE --rank=1 --method=rbs --memory=1K --block=2 -o new.h5
  every dense on 1 bench FILE --rank=1
  every "copies list" on 2 complete FILE --rank=1 --iters=2 --reg=0.1 -o new.h5
  every list on 2 complete FILE --rank=1 --iters=2 --reg=0.1 --state=new.state
  every "copies list" $complete --validate=FILE
  every "copies list" $complete --test=FILE
  every "copies list" on 1 complete fives.tns --rank=1 --iters=2 --reg=0.1 -q -o new.h5 --weights=FILE
  every "copies list" "$amped" predict m.h5 FILE -o new.csv
  every "copies list" "$amped" recommend m.h5 --for=1 --of=2 --exclude=FILE -o new.csv
  every "copies list" on 1 stream x.state FILE
  every "copies list" on 1 stream x.state FILE --by=3
  every "copies list" on 1 stream x.state FILE --by=1 --batch=2
  every "copies list" on 2 stream x.state FILE --boxes=2x2x2,+1x1x1
}

# --- labels ---------------------------------------------------------------------------------------
printf 'user,item,week,stars\nanna,tea,mon,5\nbert,tea,tue,3\nanna,jam,tue,4\n' >table.csv
expect 0 "" "$amped" convert table.csv table.h5 -q --keys=user,item,week --value=stars
zeroed table.h5 table.zero.h5 "$(printf annabert | od -An -v -tx1 | tr -d ' \n')"
label="table.zero.h5: dataset /labels/mode_0/bytes disagrees with its content hash"
expect 3 "$label" "$amped" convert table.zero.h5 new.h5
expect 3 "$label" "$amped" info table.zero.h5
expect 3 "$label" on 1 table.zero.h5 --rank=1 -o new.h5
absent new.h5

# --- results and starts ---------------------------------------------------------------------------
expect 0 "" on 1 table.h5 --rank=2 --iters=3 --tol=0 -o r.h5 -q
expect 0 "" "$amped" convert r.h5 r.npy -q
weights=$(hex r.weights.npy 129)
same "two weights" ${#weights} 32
zeroed r.h5 zero.h5 "$weights"
weight="zero.h5: dataset /weights disagrees with its content hash"
for command in "info zero.h5" "info zero.h5 --verify" "top zero.h5" "compare zero.h5 r.h5" \
  "compare r.h5 zero.h5" "convert zero.h5 new.npy" "plot zero.h5 -o new.svg"; do
  # shellcheck disable=SC2086
  expect 3 "$weight" "$amped" $command
done
absent new.weights.npy new.svg
for rank in --rank=2 ''; do # without --rank, R comes from the start
  # shellcheck disable=SC2086
  expect 3 "$weight.*--force-init" on 2 table.h5 $rank --init=zero.h5 -o new.h5
  # shellcheck disable=SC2086
  expect 0 "warning: $weight.*--force-init" on 2 table.h5 $rank --init=zero.h5 --force-init --nowrite
done
expect 3 "$weight.*--force-init" on 1 table.h5 --init=zero.h5 --fix=1 --nowrite
expect 0 "warning: $weight.*--force-init" on 1 table.h5 --init=zero.h5 --fix=1 --force-init --nowrite
absent new.h5
expect 0 "warning: $weight.*--force-init" on 2 table.h5 --rank=2 --init=zero.h5 --force-init -o new.h5
expect 0 "" on 2 table.h5 --rank=2 --init=r.h5 --nowrite
expect 2 "--init" on 1 table.h5 --rank=2 --force-init --nowrite
grep -q warning err && fail "a sound start has a warning" || pass
expect 0 "verified" "$amped" info r.h5 --verify
grep -q "no content hash" out && fail "no content hash in a new file" || pass
# What no reader but --verify reads.
expect 0 "" on 1 table.h5 --rank=2 --iters=3 --tol=0 --starts=2 --seed=7 -o starts.h5 -q
zeroed starts.h5 starts.zero.h5 07000000000000000800000000000000
expect 3 "starts.zero.h5: dataset /starts/seed disagrees" "$amped" info starts.zero.h5 --verify

# --- checkpoints ----------------------------------------------------------------------------------
expect 0 "" on 1 table.h5 --rank=2 --iters=3 --tol=0 --checkpoint=c.h5 --checkpoint-every=1 --nowrite
rm -f c.h5.prev
expect 0 "" "$amped" convert c.h5 c.npy -q
cp c.h5 whole.h5
zeroed whole.h5 c.h5 "$(hex c.weights.npy 129)"
expect 3 "c.h5: dataset /weights disagrees with its content hash" \
  on 1 table.h5 --rank=2 --iters=9 --checkpoint=c.h5 --resume -o new2.h5
absent new2.h5
cp whole.h5 c.h5.prev
expect 0 "warning: c.h5: dataset /weights disagrees .*c.h5.prev, is used" \
  on 1 table.h5 --rank=2 --iters=9 --checkpoint=c.h5 --resume -o new2.h5

# --- attributes, and datasets under other names -----------------------------------------------------
# As h5py writes them: all checksums and content hashes are right.
python=$(find_python)
if test -z "$python"; then
  echo "skipped: changed attributes, for want of a Python with numpy and h5py"
  finish
fi
# edited FROM TO COMMAND ARGUMENT...: a copy that h5py_files.py changes.
edited() {
  cp "$1" "$2"
  to=$2
  edit=$3
  shift 3
  "$python" "$srcdir/tests/cli/h5py_files.py" "$edit" "$to" "$@" && pass || fail "$edit $to $*"
}
seal="disagrees with the file's seal"
rm -f new.h5
edited copies.h5 norm.h5 attribute / norm_squared 99
expect 3 "norm.h5: attribute norm_squared of / $seal" on 1 norm.h5 --rank=2 -o new.h5
expect 3 "norm.h5: attribute norm_squared of / $seal" "$amped" convert norm.h5 new.h5
edited list.h5 norm.h5 attribute / norm_squared 99
expect 3 "norm.h5: attribute norm_squared of / $seal" on 1 norm.h5 --rank=2 -o new.h5
edited table.h5 named.h5 attribute /labels/mode_0 name week
expect 3 "named.h5: attribute name of /labels/mode_0 $seal" "$amped" info named.h5
absent new.h5
expect 0 "" "$amped" generate cube.h5 --dims=4x4x4 --nnz=20 -q
for seed in 1 2; do
  expect 0 "" on 1 cube.h5 --rank=2 --iters=3 --tol=0 --seed=$seed -o cube.$seed.h5 -q
done
edited cube.1.h5 turned.h5 rename factors/0 factors/1
edited cube.1.h5 mixed.h5 take cube.2.h5 factors/1
for bad in turned mixed; do
  for command in "info $bad.h5 --verify" "top $bad.h5" "compare cube.1.h5 $bad.h5" "convert $bad.h5 new.npy"; do
    # shellcheck disable=SC2086
    expect 3 "$bad.h5: attribute amped_hash of /factors/[01] $seal" "$amped" $command
  done
  expect 3 "$bad.h5: .*--force-init" on 1 cube.h5 --rank=2 --init=$bad.h5 -o new.h5
  expect 0 "warning: $bad.h5: .*--force-init" on 1 cube.h5 --rank=2 --init=$bad.h5 --force-init --nowrite
  expect 0 "warning: $bad.h5: .*--force-init" on 1 cube.h5 --init=$bad.h5 --force-init --nowrite
done
absent new.h5 new.weights.npy
# What is gone, or has another name: no reader looks for what may be missing.
edited table.h5 gone.h5 delete labels
edited table.h5 moved.h5 move labels/mode_1 labels/mode_x
edited table.h5 nameless.h5 remove /labels/mode_1 name
edited table.h5 unsealed.h5 remove /labels/mode_1/bytes amped_hash
for bad in gone moved nameless unsealed; do
  expect 3 "$bad.h5: .* seal" "$amped" info $bad.h5 --verify
  expect 3 "$bad.h5: .* seal" "$amped" convert $bad.h5 new.csv
  expect 3 "$bad.h5: .* seal" on 1 $bad.h5 --rank=1 -o new.h5
done
edited cube.1.h5 short.h5 delete fit
edited cube.1.h5 unseeded.h5 remove / seed
for bad in short unseeded; do
  expect 3 "$bad.h5: .* seal" "$amped" info $bad.h5 --verify
  expect 3 "$bad.h5: .* seal" "$amped" top $bad.h5
done
absent new.h5 new.csv
# Attributes that others add, and files without a seal, are no damage.
"$python" - cube.1.h5 <<'END' && pass || fail "adding an attribute"
import h5py, sys
with h5py.File(sys.argv[1], "r+") as f:
    f.attrs["note"] = "the best of ten"
END
expect 0 "verified" "$amped" info cube.1.h5 --verify
"$python" - cube.1.h5 <<'END' && pass || fail "removing the seal"
import h5py, sys
with h5py.File(sys.argv[1], "r+") as f:
    del f.attrs["amped_seal"]
    f.attrs["seed"] = 77
END
expect 0 "verified" "$amped" info cube.1.h5 --verify

finish
