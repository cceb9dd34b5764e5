#!/bin/sh
# Names that are there before a run writes its files: links, pipes, locks, temporary names of other
# runs and of other users. What is not the run's own is neither written nor removed. (outputs.sh:
# whole files that it replaces.)
. "$(dirname "$0")/../lib/lib.sh"
needs perl
cd "$scratch" || exit 99
chmod 755 .
umask 022

"$amped" generate t.h5 --dims=30x20x40 --nnz=3k --seed=3 -q || fail "generate"
"$amped" t.h5 --rank=2 --iters=1 -q -o r.h5 || fail "cpd"
"$amped" convert t.h5 t.tns -q || fail "convert"
echo "a secret" >secret
chmod 600 secret

# untouched WHAT: the secret is as it was.
untouched() {
  test "$(tr -cd "[:print:]" <secret)" = "a secret" && pass || fail "$1: the secret was written"
  echo "a secret" >secret
}
# mode FILE: its mode.
mode() {
  perl -e 'printf "%o\n", (stat $ARGV[0])[2] & 07777' "$1"
}
# link_stays LINK FILE: it is still a link to FILE.
link_stays() {
  same "the link $1" "$(readlink "$1")" "$2"
}

# --- temporary names that can be guessed ----------------------------------------------------------
# The shell becomes the program: its number is known before.
mkdir shared
chmod 1777 shared
for command in "convert t.h5 shared/x.h5" "convert t.h5 shared/x.tns" "convert r.h5 shared/x.npy" \
  "t.h5 --rank=2 --iters=1 -o shared/x.h5" "t.h5 --rank=2 --iters=1 --nowrite --trace=shared/x.h5" \
  "t.h5 --rank=2 --iters=1 --nowrite --checkpoint=shared/x.h5"; do
  # shellcheck disable=SC2016
  expect 0 "" sh -c 'for f in x.h5 x.tns x.weights.npy x.mode0.npy x.h5.lock; do
    ln -s ../secret shared/$f.tmp.$$
  done
  exec "$@"' sh "$amped" $command -q
  untouched "$command"
  same "$command: links that are gone" "$(find shared -type l | wc -l)" 5
  rm -f shared/*
done

# --- links that the user names --------------------------------------------------------------------
mkdir far
# follows NAME ARGUMENT...: the output NAME is a link to far/NAME, which may not exist yet.
follows() {
  name=$1
  shift
  for there in no yes; do
    ln -sf "far/$name" "$name"
    # shellcheck disable=SC2086
    expect 0 "" "$amped" "$@" -q
    link_stays "$name" "far/$name"
    test -s "far/$name" && ! test -L "far/$name" && pass || fail "$*, $there: far/$name was not written"
    same "$*: beside them" "$(ls . far | grep -c '\.tmp\.\|\.lock')" 0
    chmod 640 "far/$name"
  done
  same "$*: mode of the second" "$(mode "far/$name")" 640
}
follows l.h5 convert t.h5 l.h5 --overwrite
follows l.tns convert t.h5 l.tns --overwrite
follows l.csv convert r.h5 l.csv --overwrite
follows m.h5 t.h5 --rank=2 --iters=1 -o m.h5
follows l.json info t.h5 --json=l.json
follows l.trace t.h5 --rank=2 --iters=1 --nowrite --trace=l.trace
command -v gnuplot >/dev/null && follows l.svg plot r.h5 -o l.svg
# Both generations of a checkpoint are beside the target, and found there.
ln -s far/c.h5 c.h5
long="t.h5 --rank=2 --tol=0 --nowrite --checkpoint=c.h5 --checkpoint-every=1"
# shellcheck disable=SC2086
expect 0 "" "$amped" $long --iters=1 -q
# shellcheck disable=SC2086
expect 0 "after sweep 1" "$amped" $long --iters=2 --resume
test -s far/c.h5.prev && ! test -e c.h5.prev && pass || fail "the earlier generation is not beside the target"
# shellcheck disable=SC2086
expect 0 "after sweep 2" "$amped" $long --iters=3 --resume
link_stays c.h5 far/c.h5
printf x >far/c.h5
# shellcheck disable=SC2086
expect 0 "far/c.h5.prev, is used" "$amped" $long --iters=4 --resume
# One lock for all names of a file, and two names of one output are one.
ln -s far/two.h5 one.h5
expect 2 "named for two outputs" "$amped" t.h5 --rank=2 --nowrite --json=one.h5 --trace=far/two.h5
expect 2 "named for two outputs" "$amped" t.h5 --rank=2 -o ./same --json=same
ln -s loop loop
expect 1 "loop: .*Too many levels" "$amped" info t.h5 --json=loop
absent far/two.h5
# A second name of a file keeps what it has.
ln secret hard
expect 0 "" "$amped" info t.h5 --json=hard --overwrite
untouched "a hard link"

# --- modes ----------------------------------------------------------------------------------------
for file in a.h5 a.tns a.json a.trace a.c.h5; do
  case $file in
    a.h5 | a.tns) set -- convert t.h5 $file ;;
    a.json) set -- info t.h5 --json=$file ;;
    a.trace) set -- t.h5 --rank=2 --iters=1 --nowrite --trace=$file ;;
    a.c.h5) set -- t.h5 --rank=2 --iters=1 --nowrite --checkpoint=$file --checkpoint-every=1 ;;
  esac
  expect 0 "" sh -c 'umask 027; exec "$@"' sh "$amped" "$@" -q
  same "$file: mode of a new file" "$(mode $file)" 640
  for old in 600 664 444; do
    chmod $old $file
    expect 0 "" "$amped" "$@" -q --overwrite
    same "$file: mode of a replaced file" "$(mode $file)" $old
  done
done

# --- pipes, devices, descriptors ------------------------------------------------------------------
mkfifo pipe.tns pipe.json
cat pipe.tns >from.tns &
expect 0 "" "$amped" convert t.h5 pipe.tns -q
wait $!
cmp -s from.tns t.tns && pass || fail "a pipe has other text"
cat pipe.json >from.json &
expect 0 "" "$amped" info t.h5 --json=pipe.json
wait $!
grep -q '^{"' from.json && pass || fail "a pipe has no JSON"
expect 0 "" "$amped" info t.h5 --json=/dev/null
test -c /dev/null && pass || fail "/dev/null was replaced"
echo before >log
"$amped" info t.h5 --json=/dev/stdout >>log || fail "JSON to /dev/stdout"
same "lines before" "$(head -n 1 log)" before
grep -q '^{"' log && pass || fail "no JSON behind the lines before"
"$amped" info t.h5 --json=/dev/fd/3 3>three >/dev/null || fail "JSON to descriptor 3"
grep -q '^{"' three && pass || fail "no JSON in descriptor 3"

# --- locks ----------------------------------------------------------------------------------------
run="t.h5 --rank=2 --iters=1 -o k.h5 -q"
host=$(uname -n)
# not_a_lock WHAT: k.h5.lock is not ours, and stays.
not_a_lock() {
  # shellcheck disable=SC2086
  expect 1 "k.h5: cannot be locked: k.h5.lock $2" "$amped" $run
  expect 1 "k.h5: cannot be locked: k.h5.lock $2" "$amped" convert t.h5 k.h5
  same "$1" "$(ls -d k.h5* | tr '\n' ' ')" "k.h5.lock "
}
for text in "my own notes" "process 12 on $host and more" "amped_mpi lock: process twelve on $host" ""; do
  printf '%s' "$text" >k.h5.lock
  not_a_lock "a file with '$text'" "is not a lock file of amped_mpi"
  same "its text" "$(cat k.h5.lock)" "$text"
done
rm k.h5.lock
ln -s secret k.h5.lock
not_a_lock "a link" "cannot be opened as a lock"
untouched "a link in the place of a lock"
rm k.h5.lock
mkfifo k.h5.lock
not_a_lock "a pipe" "is not a lock file"
rm k.h5.lock
mkdir k.h5.lock
not_a_lock "a folder" "cannot be opened as a lock"
rmdir k.h5.lock
for arguments in "t.h5 --rank=2 -o k.h5 --json=k.h5.lock" "t.h5 --rank=2 -o k.h5 --json=./k.h5.lock" \
  "t.h5 --rank=2 -o k.h5 --trace=far/../k.h5.lock" "t.h5 --rank=2 --nowrite --checkpoint=k.h5 --trace=k.h5.lock" \
  "t.h5 --rank=2 -o k.h5.lock --checkpoint=k.h5" "t.h5 --rank=2 -o k.h5 --checkpoint=k.h5.lock" \
  "convert t.h5 k.h5 --json=k.h5.lock" "generate k.h5 --dims=3x4x5 --nnz=2 --json=k.h5.lock"; do
  # shellcheck disable=SC2086
  expect 2 "lock" "$amped" $arguments
  absent k.h5 k.h5.lock
done
# A killed job's lock, of this build or of the first one, is taken over. Its drafts go, of every form
# that there was; nothing else goes.
dead=$(sh -c 'echo $$')
for text in "amped_mpi lock: process $dead on $host" "process $dead on $host"; do
  echo "$text" >k.h5.lock
  cp t.h5 k.h5.tmp.$dead
  : >k.h5.tmp.$dead.0123456789abcdef
  printf '\0\0\0\0\0\0\0\0\0\0\0\0' >k.h5.tmp.$dead.00000000000000ff
  echo "1 2 3 4" >k.h5.lock.tmp.$dead.0123456789abcdef
  echo mine >k.h5.tmp.notes
  echo mine >k.h5.tmp.$dead.notes
  echo mine >k.h5.tmp.$$
  printf '\1\2\0\4and so on' >k.h5.tmp.$dead.1111111111111111
  ln secret k.h5.tmp.$dead.2222222222222222
  ln -s secret k.h5.tmp.$dead.3333333333333333
  # shellcheck disable=SC2086
  expect 0 "" "$amped" $run --overwrite
  same "what stays" "$(ls k.h5* | sed "s/\.$dead/.DEAD/;s/tmp\.$$\$/tmp.OWN/" | LC_ALL=C sort | tr '\n' ' ')" \
    "k.h5 k.h5.tmp.DEAD.1111111111111111 k.h5.tmp.DEAD.2222222222222222 k.h5.tmp.DEAD.3333333333333333 k.h5.tmp.DEAD.notes k.h5.tmp.OWN k.h5.tmp.notes "
  untouched "another name"
  rm -f k.h5*
done
# A job on another host may live, where locks do not reach so far.
echo "amped_mpi lock: process $dead on $host.elsewhere" >k.h5.lock
: >k.h5.tmp.$dead
# shellcheck disable=SC2086
expect 0 "" "$amped" $run
test -e k.h5.tmp.$dead && pass || fail "another host's draft was removed"
rm -f k.h5*

# --- another user ---------------------------------------------------------------------------------
if test "$(id -u)" -ne 0; then
  echo "skipped: names of another user (not root)"
  finish
fi
# stranger FILE: it belongs to another user from now on.
stranger() {
  chown -h 65534:65534 "$1"
}
for name in x.h5 x.tns x.json; do
  case $name in
    x.h5) set -- t.h5 --rank=2 --iters=1 -o shared/$name ;;
    x.tns) set -- convert t.h5 shared/$name ;;
    x.json) set -- info t.h5 --json=shared/$name ;;
  esac
  for to in ../secret ../none; do
    ln -s $to shared/$name
    stranger shared/$name
    expect 1 "shared/$name: is a link or a pipe of another user" "$amped" "$@" --overwrite
    untouched "another user's link $name"
    link_stays shared/$name $to
    rm shared/$name
  done
  absent none
  mkfifo shared/$name
  stranger shared/$name
  expect 1 "shared/$name: is a link or a pipe of another user" "$amped" "$@" --overwrite
  rm shared/$name
  # A file of another user does not make ours his, nor open to him.
  : >shared/$name
  chmod 606 shared/$name
  stranger shared/$name
  expect 0 "" "$amped" "$@" --overwrite
  same "$name: owner and mode" "$(perl -e 'printf "%d %o", (stat $ARGV[0])[4], (stat _)[2] & 07777' shared/$name)" "0 604"
  rm shared/$name
done
# In the user's own folder the same links are followed.
ln -s far/own.json own.json
stranger own.json
expect 0 "" "$amped" info t.h5 --json=own.json
test -s far/own.json && pass || fail "a link in a folder of one's own is not followed"
# Locks and drafts.
echo "amped_mpi lock: process $dead on $host" >shared/x.h5.lock
stranger shared/x.h5.lock
expect 1 "shared/x.h5.lock was left by a job of another user" "$amped" convert t.h5 shared/x.h5
rm shared/x.h5.lock
echo "amped_mpi lock: process $dead on $host" >shared/x.h5.lock
: >shared/x.h5.tmp.$dead
ln -s ../secret shared/x.h5.tmp.$dead.0123456789abcdef
stranger shared/x.h5.tmp.$dead
stranger shared/x.h5.tmp.$dead.0123456789abcdef
expect 0 "" "$amped" convert t.h5 shared/x.h5 -q
same "another user's files" "$(ls shared | wc -l)" 3
untouched "another user's link in the place of a draft"
rm -f shared/*
# The same, the other way round: root's files, and another user who runs.
if command -v setpriv >/dev/null && setpriv --reuid=65534 --regid=65534 --clear-groups "$amped" --version >/dev/null 2>&1; then
  chmod 644 secret
  ln -s ../secret shared/x.json
  ln -s ../far/new shared/x.h5
  chmod 777 far
  as="setpriv --reuid=65534 --regid=65534 --clear-groups"
  # The folder is root's: its owner's links are trusted.
  expect 0 "" $as "$amped" convert t.h5 shared/x.h5 -q
  test -s far/new && pass || fail "the link of the folder's owner is not followed"
  expect 1 "cannot be written" $as "$amped" info t.h5 --json=shared/x.json --overwrite
  untouched "root's link, another user runs"
  : >shared/y.tns
  expect 1 "y.tns: cannot be written" $as "$amped" convert t.h5 shared/y.tns --overwrite
  same "what is left" "$(ls shared | tr '\n' ' ')" "x.h5 x.json y.tns "
  echo "amped_mpi lock: process $dead on $host" >shared/z.h5.lock
  expect 1 "z.h5.lock was left by a job of another user" $as "$amped" convert t.h5 shared/z.h5
else
  echo "skipped: runs of another user (no setpriv, or no way to the program)"
fi
# --- standard input and output are two ------------------------------------------------------------------
"$amped" convert t.h5 std.tns -q || fail "convert"
"$amped" complete t.h5 --rank=2 --reg=1 --iters=1 --nowrite --state=std.st -q --backend="$backend" ||
  fail "complete"
for args in "predict r.h5 - -o -" "predict r.h5 - --json=-" \
  "complete - --rank=2 --reg=1 --iters=1 --nowrite --json=- --backend=$backend" \
  "stream std.st - --json=- --backend=$backend"; do
  # shellcheck disable=SC2086
  if "$amped" $args <std.tns >std.out 2>std.err && test -s std.out; then
    pass
  else
    fail "$args: $(cat std.err)"
  fi
done
expect 2 "-: is named for two outputs" "$amped" convert std.tns - --json=-

finish
