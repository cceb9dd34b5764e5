#!/bin/sh
# Checkpoints on other numbers of ranks, and files that killed runs leave: tensors, options, ranks and moments
# are drawn (AMPED_TEST_SEED, printed).
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
seed=${AMPED_TEST_SEED:-$(date +%s)}
echo "AMPED_TEST_SEED=$seed"
# draw N: a whole number from 0 to N - 1.
draw() {
  seed=$(awk -v s="$seed" 'BEGIN { printf "%.0f", (s % 2147483647 * 16807) % 2147483647 }')
  drawn=$((seed % $1))
}
# choose ITEM...: one of them, in $drawn.
choose() {
  draw $#
  shift $drawn
  drawn=$1
}

# --- a run goes on, on any number of ranks ---------------------------------------------------------------
# What a checkpoint says of its tensor must not depend on the order of sums: values of every size, whole and not.
for round in $(few 8 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20); do
  choose 1e-25 0.001 1 3 1e18
  scale=$drawn
  draw 100000
  awk -v seed="$drawn" -v scale="$scale" 'BEGIN {
    srand(seed)
    for (i = 1; i <= 23; i++) for (j = 1; j <= 17; j++) for (k = 1; k <= 9; k++)
      if (i <= 9 && j <= 9 || rand() < 0.3) printf "%d %d %d %.7g\n", i, j, k, scale * (0.01 + rand()) }' >t.tns
  choose t.tns t.h5 list.h5 dense.npy
  input=$drawn
  case $input in
    t.h5) expect 0 "" "$amped" convert t.tns t.h5 --overwrite -q ;;
    list.h5) expect 0 "" "$amped" convert t.tns list.h5 --copies=none --overwrite -q ;;
    dense.npy) expect 0 "" "$amped" convert t.tns dense.npy --dense --overwrite -q ;;
  esac
  choose "" --nonnegative "--ridge=1" "--accelerate=linesearch" "--accelerate=momentum" "--method=lm"
  options="$drawn --rank=3 --tol=0 --precision=double -q"
  choose 1 2 3 4
  first=$drawn
  choose 1 2 3 4
  second=$drawn
  what="round $round: $input, values of $scale, $options, $first and then $second ranks"
  rm -f c.h5 c.h5.*
  # shellcheck disable=SC2086
  expect 0 "" on "$first" $input $options --iters=3 --nowrite --checkpoint=c.h5 --checkpoint-every=1
  # shellcheck disable=SC2086
  expect 0 "resume: c.h5, after sweep [123]," on "$second" $input ${options% -q} --iters=6 --nowrite --checkpoint=c.h5 --resume \
    --json=resumed.json
  # shellcheck disable=SC2086
  expect 0 "" on 1 $input $options --iters=6 --nowrite --json=whole.json
  close "$what" "$(field fit resumed.json)" "$(field fit whole.json)" 1e-6
done

# --- killed runs leave nothing that a later run does not remove -------------------------------------------
awk 'BEGIN { srand(5); for (n = 0; n < 40000; n++)
  printf "%d %d %d %.3f\n", 1 + rand() * 300, 1 + rand() * 200, 1 + rand() * 30, 1 + rand() }' >big.tns
head -n 900 big.tns >small.tns
expect 0 "" "$amped" complete big.tns --rank=4 --reg=1 --iters=2 --duplicates=mean --state=begun.st -o begun.h5 -q
mkdir place && cd place || exit 99
# killed FILES ARGUMENT...: after a SIGKILL at a drawn moment the same command, run to its end, leaves these files.
killed() {
  files=$1
  shift
  for again in $(few 2 1 2 3 4 5 6 7 8); do
    rm -rf ./* ./.[!.]*
    cp ../begun.st s.st
    draw 30
    "$amped" "$@" >../out 2>../err </dev/null &
    victim=$!
    sleep "0.$(printf '%02d' "$drawn")"
    kill -KILL $victim 2>/dev/null
    wait $victim 2>/dev/null
    sleep 0.1 # children of the victim, which have its lock open, end with it
    expect 0 "" "$amped" "$@"
    same "files after kill $again of $*" "$(ls -A | grep -v "^c.h5.prev$" | tr '\n' ' ')" "$files "
  done
}
killed "c.h5 r.h5 s.st" cpd ../big.tns --rank=8 --iters=4 --tol=0 -o r.h5 --checkpoint=c.h5 --checkpoint-every=1 --overwrite
killed "n.st r.h5 s.st" complete ../big.tns --rank=4 --reg=1 --iters=4 --duplicates=mean -o r.h5 --state=n.st --overwrite
killed "r.h5 s.st s.st.journal" stream s.st ../small.tns --duplicates=mean -o r.h5 --overwrite
killed "p.csv s.st" predict ../begun.h5 ../big.tns -o p.csv --overwrite
killed "l.csv s.st" recommend ../begun.h5 --for=1 --of=2 -o l.csv --overwrite
killed "g.h5 s.st" generate g.h5 --dims=3000x2000x100 --nnz=200k --overwrite
killed "s.st t.h5" convert ../big.tns t.h5 --duplicates=sum --overwrite
cd ..
finish
