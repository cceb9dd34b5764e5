#!/bin/sh
# Disks that are full or fail during writing or reading, and folders that are missing or cannot be
# written. The program writes one line with a remedy; old files stay, and no file is incomplete.
. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/faults_lib.sh"
needs h5diff
cd "$scratch" || exit 99
mkdir refuge
TMPDIR=$scratch/refuge
export TMPDIR

"$amped" generate t.h5 --dims=30x20x40 --nnz=3k --seed=3 -q || fail "generate"
"$amped" convert t.h5 t.tns -q || fail "convert"
gzip -k t.tns
run="t.h5 --rank=3 --iters=4 --tol=0 -q"
# shellcheck disable=SC2086
expect 0 "" on 2 $run -o old.h5

# fails FILE FAULT PATTERN STATUS RANKS ARGUMENT...: with that fault the run fails, and FILE does
# not change.
fails() {
  file=$1
  order=$2
  pattern=$3
  want=$4
  shift 4
  cp old.h5 "$file"
  expect "$want" "$pattern" with "$order" "$@" --overwrite
  fired && pass || fail "$order: did not happen: $*"
  cmp -s old.h5 "$file" && pass || fail "$order: $file was changed: $*"
  absent "$file.lock"
  ls "$file".tmp.* >/dev/null 2>&1 && fail "$order: half a file stays: $*" || pass
  rm -f "$file"
}

# steps COUNT: numbers of calls from 0: all of them, or as many as make check has time for.
steps() {
  stride=1
  test "${AMPED_FAULTS-}" = all || stride=$(($1 / $2 + 1))
  seq 0 "$stride" $(($1 - 1))
}

# --- full disks, call by call ---------------------------------------------------------------------
remedy="free disk space\|name another"
for file in n.h5 n.tns n.tns.gz n.tns.zst; do
  n=$(calls write $file.tmp 0 convert t.h5 $file -q)
  test "$n" -gt 0 && pass || fail "no calls that write $file"
  rm -f $file
  for k in $(steps "$n" 6); do
    fails $file "ENOSPC write $file.tmp $k 0" "$remedy" 1 0 convert t.h5 $file -q
  done
  fails $file "EIO sync $file.tmp 0 0" "$remedy" 1 0 convert t.h5 $file -q
done
n=$(calls write n.h5.tmp 0 generate n.h5 --dims=9x8x7 --nnz=50 -q)
for k in $(steps "$n" 4); do
  fails n.h5 "ENOSPC write n.h5.tmp $k 0" "$remedy" 1 0 generate n.h5 --dims=9x8x7 --nnz=50 -q
done
while read -r file command; do
  # shellcheck disable=SC2086
  n=$(calls write $file.tmp 0 $command -q)
  test "$n" -gt 0 && pass || fail "no calls that write $file"
  rm -f "$file"
  for k in $(steps "$n" 4); do
    # shellcheck disable=SC2086
    fails "$file" "ENOSPC write $file.tmp $k 0" "$remedy" 1 0 $command -q
  done
  # shellcheck disable=SC2086
  fails "$file" "EIO sync $file.tmp 0 0" "$remedy" 1 0 $command -q
done <<'END'
n.h5 convert t.h5 n.h5 --dense
n.npy convert t.h5 n.npy --dense
n.h5 generate n.h5 --dense --dims=9x8x7
END
# shellcheck disable=SC2086
n=$(calls write r.h5.tmp 2 $run -o r.h5)
for k in $(steps "$n" 3); do
  # shellcheck disable=SC2086
  fails r.h5 "ENOSPC write r.h5.tmp $k 0" "$remedy" 1 2 $run -o r.h5
done
# shellcheck disable=SC2086
fails r.h5 "ENOSPC sync r.h5.tmp 0 0" "$remedy" 1 2 $run -o r.h5
# What was computed is kept in another folder, whatever lies there.
rm -f refuge/*
for name in r.partial.h5 r.partial2.h5; do
  # shellcheck disable=SC2086
  fails r.h5 "ENOSPC write r.h5.tmp 0 0" "$remedy.*; what was computed is in $TMPDIR/$name" 1 2 $run -o r.h5
  h5diff old.h5 refuge/$name /factors/1 /factors/1 && pass || fail "refuge/$name is not the result"
  expect 0 "fit .* after 4 sweeps" "$amped" info refuge/$name
done
# Where that disk is full, too, the first error is told.
# shellcheck disable=SC2086
fails r.h5 "ENOSPC write h5.tmp 0 0" "r.h5: .*$remedy" 1 2 $run -o r.h5
same "left in the refuge" "$(cd refuge && echo *.h5*)" "r.partial.h5 r.partial2.h5"

# bench --whole keeps nothing: neither its result nor the bytes that it writes to compare.
whole="bench t.h5 --rank=3 --repeat=2 --whole -q"
# shellcheck disable=SC2086
n=$(calls write r.h5.tmp 2 $whole -o r.h5)
test "$n" -gt 0 && pass || fail "no calls that write a whole run's result"
for k in $(steps "$n" 3) $((n - 1)); do
  # shellcheck disable=SC2086
  fails r.h5 "ENOSPC write r.h5.tmp $k 0" "$remedy" 1 2 $whole -o r.h5
done

# A completion model; what predict and recommend write; the tables of complete's entries.
complete="complete t.h5 --rank=3 --reg=1 --iters=2 --holdout=20% -q"
# shellcheck disable=SC2086
expect 0 "" on 2 $complete -o model.h5
# shellcheck disable=SC2086
n=$(calls write r.h5.tmp 2 $complete -o r.h5)
for k in $(steps "$n" 3); do
  # shellcheck disable=SC2086
  fails r.h5 "ENOSPC write r.h5.tmp $k 0" "$remedy" 1 2 $complete -o r.h5
done
for command in "predict model.h5 t.tns -q -o p.h5" "predict model.h5 t.h5 -q -o p.csv" \
  "predict model.h5 t.tns -q -o p.tns.gz" "recommend model.h5 --for=1 --of=2 -n 5 -q -o p.csv" \
  "recommend model.h5 --for=3 --of=1 -n 30 -q -o p.tsv" "similar model.h5 --for=1 -q -o p.csv"; do
  file=${command##* }
  # shellcheck disable=SC2086
  n=$(calls write $file.tmp 0 $command)
  test "$n" -gt 0 && pass || fail "no calls that write: $command"
  rm -f $file
  for k in $(steps "$n" 3); do
    # shellcheck disable=SC2086
    fails $file "ENOSPC write $file.tmp $k 0" "$remedy" 1 0 $command
  done
  # shellcheck disable=SC2086
  fails $file "EIO sync $file.tmp 0 0" "$remedy" 1 0 $command
done

# --- checkpoints: the one before is there, and can be gone on from --------------------------------
# Count the writes of one checkpoint. Then let writes of the second checkpoint fail, in runs that
# are long enough to begin it.
n=$(calls write c.h5.tmp 2 t.h5 --rank=3 --iters=1 -q --nowrite --checkpoint=c.h5 --checkpoint-every=1)
long="t.h5 --rank=3 --iters=10000000 --tol=0 -q --nowrite"
rm -f c.h5 c.h5.prev
for order in "write c.h5.tmp $n" "write c.h5.tmp $((2 * n - 2))" "sync c.h5.tmp 1"; do
  # shellcheck disable=SC2086
  expect 1 "$remedy" with "ENOSPC $order 0" 2 $long --checkpoint=c.h5 --checkpoint-every=1
  fired && pass || fail "$order: did not happen"
  ls c.h5.tmp.* >/dev/null 2>&1 && fail "$order: half a checkpoint stays" || pass
  # shellcheck disable=SC2086
  expect 0 "after sweep [1-9]" on 2 t.h5 --rank=3 --iters=4 --tol=0 --nowrite --checkpoint=c.h5 --resume
  rm -f c.h5 c.h5.prev
done
# complete's, in which the best sweep is kept, too.
search="complete t.h5 --rank=3 --reg=1,0.1 --holdout=20% --tol=0 --patience=1000000 -q --nowrite"
# shellcheck disable=SC2086
n=$(calls write c.h5.tmp 2 $search --iters=1 --reg=1 --checkpoint=c.h5 --checkpoint-every=1)
rm -f c.h5 c.h5.prev
for order in "write c.h5.tmp $n" "sync c.h5.tmp 1"; do
  # shellcheck disable=SC2086
  expect 1 "$remedy" with "ENOSPC $order 0" 2 $search --iters=100000 --checkpoint=c.h5 --checkpoint-every=1
  fired && pass || fail "$order: did not happen"
  ls c.h5.tmp.* >/dev/null 2>&1 && fail "$order: half a checkpoint stays" || pass
  # shellcheck disable=SC2086
  expect 0 "resume: c.h5" on 2 ${search% -q *} --nowrite --iters=100000 --time=1 --checkpoint=c.h5 --resume
  rm -f c.h5 c.h5.prev
done

# --- a real full disk -----------------------------------------------------------------------------
mkdir small
if test "$(id -u)" = 0 && mount -t tmpfs -o size=8k none small 2>/dev/null; then
  # shellcheck disable=SC2086
  expect 1 "small/r.h5.*\($remedy\)" on 2 $run -o small/r.h5
  # shellcheck disable=SC2086
  expect 1 "small/c.h5.*\($remedy\)" on 2 $run --nowrite --checkpoint=small/c.h5 --checkpoint-every=1
  expect 1 "small/n.h5.*\($remedy\)" "$amped" generate small/n.h5 --dims=30x20x40 --nnz=3k -q
  expect 1 "small/n.tns.*\($remedy\)" "$amped" convert t.h5 small/n.tns -q
  same "left on the full disk" "$(ls -A small)" ""
  # A full disk under --json ends no run that writes a result or a state elsewhere: one warning, and the same result.
  # goes_on COMMAND...: stderr has the warning once.
  goes_on() {
    "$@" >out 2>err </dev/null
    same "status of a run whose --json is full" $? 0
    same "one warning" "$(grep -c 'warning: small/j.json: cannot be written: No space left.*goes on' err)" 1
    rm -f small/j.json
  }
  long="--rank=3 --iters=40 --tol=0 --overwrite -q"
  # shellcheck disable=SC2086
  expect 0 "" on 2 t.h5 $long -o whole.h5
  # shellcheck disable=SC2086
  goes_on on 2 t.h5 $long -o full.h5 --json=small/j.json
  same_bits "with a full disk under --json" full.h5 whole.h5
  search="complete t.h5 --rank=2 --reg=1 --holdout=20% --iters=40 --tol=0 --patience=1000000 --overwrite -q"
  # shellcheck disable=SC2086
  expect 0 "" on 2 $search -o whole.m.h5
  # shellcheck disable=SC2086
  goes_on on 2 $search -o full.m.h5 --state=full.state --json=small/j.json
  expect 0 "factor match score 1.000000" "$amped" compare full.m.h5 whole.m.h5
  for n in 1 2 3 4 5 6 7 8; do printf '%d 1 1 1\n1 2 %d 2\n' "$n" "$n" >batch$n.tns; done
  goes_on on 2 stream full.state batch1.tns batch2.tns batch3.tns batch4.tns batch5.tns batch6.tns batch7.tns batch8.tns -q \
    --json=small/j.json
  expect 0 "batches *9, " "$amped" info full.state
  # shellcheck disable=SC2086
  expect 1 "small/j.json: cannot be written; free disk space or leave --json out" on 2 t.h5 $long --nowrite --json=small/j.json
  rm -f small/j.json
  mount -o remount,ro small
  # shellcheck disable=SC2086
  expect 1 "small/r.h5.*\(Read-only\|not writable\)" on 2 $run -o small/r.h5
  expect 1 "small/n.h5.*\(Read-only\|not writable\)" "$amped" convert t.h5 small/n.h5
  umount small
else
  echo "skipped: a full disk (needs root and the right to mount)"
fi
for command in "convert t.h5 no/such/n.h5" "generate no/such/n.h5 --dims=3x4x5 --nnz=9"; do
  # shellcheck disable=SC2086
  expect 1 "no/such/n.h5.*create its directory" "$amped" $command
done
# shellcheck disable=SC2086
expect 1 "no/such/r.h5.*create its directory" on 2 $run -o no/such/r.h5
if test -c /dev/full; then
  # shellcheck disable=SC2086
  expect 1 "/dev/full" on 2 $run --nowrite --json=/dev/full
  # shellcheck disable=SC2086
  expect 0 "warning: /dev/full: cannot be written" on 2 $run -o beside.h5 --json=/dev/full
  expect 0 "verified" "$amped" info beside.h5 --verify
fi
if test "$(id -u)" != 0; then
  mkdir closed && chmod 555 closed
  # shellcheck disable=SC2086
  expect 1 "closed/r.h5.*not writable" on 2 $run -o closed/r.h5
fi

# --- disks that cannot be read --------------------------------------------------------------------
# Status 1 where the disk fails; status 3 where the begin of a file cannot be read, so that its kind
# is unknown. In both cases one line, and soon.
unreadable() {
  order=$1
  shift
  with "$order" "$@" >out 2>err </dev/null
  got=$?
  if test $got -eq 1 || test $got -eq 3; then pass; else fail "$order: status $got: $*"; fi
  fired && pass || fail "$order: did not happen: $*"
  one_line "$order: $*"
}
for file in t.tns t.tns.gz t.h5; do
  n=$(calls read $file 0 convert $file x.h5 -q)
  for k in $(steps "$n" 5); do
    rm -f x.h5
    unreadable "EIO read $file $k 0" 0 convert $file x.h5 -q
    absent x.h5
  done
done
"$amped" convert t.h5 d.npy --dense -q || fail "convert"
"$amped" convert t.h5 d.h5 --dense -q || fail "convert"
for file in d.npy d.h5; do
  for form in dense sparse; do
    n=$(calls read $file 0 convert $file x.h5 --$form -q)
    rm -f x.h5
    for k in $(steps "$n" 3); do
      unreadable "EIO read $file $k 0" 0 convert $file x.h5 --$form -q
      absent x.h5
    done
  done
done
n=$(calls read t.h5 0 info t.h5 --verify)
for k in $(steps "$n" 5); do
  unreadable "EIO read t.h5 $k 0" 0 info t.h5 --verify
done
for command in "predict model.h5 t.tns -o x.csv" "recommend model.h5 --for=1 --of=2 -o x.csv --exclude=t.tns" \
  "evaluate model.h5 t.tns --of=2"; do
  for file in model.h5 t.tns; do
    # shellcheck disable=SC2086
    n=$(calls read $file 0 $command --overwrite)
    rm -f x.csv
    for k in $(steps "$n" 4); do
      # shellcheck disable=SC2086
      unreadable "EIO read $file $k 0" 0 $command
      absent x.csv
    done
  done
done
# shellcheck disable=SC2086
n=$(calls read t.tns 2 $complete --nowrite --test=t.tns)
for k in $(steps "$n" 2); do
  # shellcheck disable=SC2086
  unreadable "EIO read t.tns $k 0" 2 $complete -o x.h5 --test=t.tns
  absent x.h5
done
expect 1 "nput/output error" with "EIO read t.h5 $((n - 2)) 0" 0 info t.h5 --verify
# shellcheck disable=SC2086
n=$(calls read t.h5 2 $run --nowrite)
for k in $(steps "$n" 2); do
  # shellcheck disable=SC2086
  unreadable "EIO read t.h5 $k 0" 2 $run -o x.h5
  absent x.h5
done
# Both ranks read, in turn.
for rank in 0 1; do
  # shellcheck disable=SC2086
  with "ENOMEM read t.h5 1000000 $rank" 2 $run --nowrite --read=parallel >out 2>&1
  n=$(awk -v rank="$rank" '$2 == rank { print $6 }' "$report" | tail -n 1)
  for k in $(steps "$n" 2) $((n - 2)); do
    # shellcheck disable=SC2086
    unreadable "EIO read t.h5 $k $rank" 2 $run --read=parallel -o x.h5
    absent x.h5
  done
done

finish
