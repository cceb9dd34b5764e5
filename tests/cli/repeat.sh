#!/bin/sh
# Options that are given twice: lists of files add up, other files are refused, of all others the last counts.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

awk 'BEGIN { print "user,item,week,stars"; srand(7)
  for (i = 0; i < 400; i++) printf "u%d,v%d,w%d,%.2f\n", rand() * 20, i % 37, i % 4, 1 + 4 * rand() }' >all.csv
{ head -n 1 all.csv && sed -n '2,301p' all.csv; } >train.csv
{ head -n 1 all.csv && sed -n '302,351p' all.csv; } >one.csv
{ head -n 1 all.csv && sed -n '352,401p' all.csv; } >two.csv
learn="complete train.csv --value=stars --duplicates=mean --rank=1 --reg=1 --iters=3"

# Names of files: a second one is refused, in every command that has the option, before anything is read.
for option in output json init validate weights state checkpoint trace; do
  # shellcheck disable=SC2086
  expect 2 "^amped_mpi: --$option is given twice, with a.h5 and b.h5; give one$" on 1 $learn --$option=a.h5 --$option=b.h5
done
expect 2 "^amped_mpi: --output is given twice" on 1 train.csv -o a.h5 --rank=2 -o b.h5
expect 2 "^amped_mpi: --observed is given twice" "$amped" predict m.h5 -o a.npy --observed=a.npy --observed=b.npy
expect 2 "^amped_mpi: --follow is given twice" on 1 stream m.state --follow=a --follow=b
absent a.h5 b.h5

# Values: the last one counts.
# shellcheck disable=SC2086
expect 0 "" on 1 $learn --rank=2 --rank=3 --holdout=10% --holdout=0 -o m.h5 -q
expect 0 "components *3" "$amped" info m.h5
expect 0 "" on 1 train.csv --value=stars --rank=2 --seed=1 --seed=5 --iters=1 --nowrite --json=seeds.json -q
same "the last --seed" "$(grep -o '"seed": *[0-9]*' seeds.json | head -n 1 | tr -cd 0-9)" 5

# --test: entries of all files, together.
{ cat one.csv && tail -n +2 two.csv; } >both.csv
for ranks in 1 2; do
  # shellcheck disable=SC2086
  expect 0 "test: rmse .* on [89][0-9] entries" on $ranks $learn --test=one.csv --test=two.csv --nowrite --json=apart.json --overwrite
  # shellcheck disable=SC2086
  expect 0 "" on $ranks $learn --test=both.csv --nowrite --json=joined.json --overwrite
  same "errors of two files on $ranks" "$(grep -o '"test":{"count".*' apart.json | tail -n 1 | grep -o '"count":[0-9]*\|"mae":[0-9.]\{12\}' | head -n 2)" \
    "$(grep -o '"test":{"count".*' joined.json | tail -n 1 | grep -o '"count":[0-9]*\|"mae":[0-9.]\{12\}' | head -n 2)"
done
# shellcheck disable=SC2086
expect 2 "one.csv: is named twice with --test; leave out one" on 1 $learn --test=one.csv --test=./one.csv
# shellcheck disable=SC2086
expect 2 "two.csv: is an input of this run" on 1 $learn --test=one.csv --test=two.csv --json=two.csv
# shellcheck disable=SC2086
expect 2 "two.csv: .*results are HDF5 files\|two.csv: is an input of this run" on 1 $learn --test=one.csv --test=two.csv -o two.csv
# shellcheck disable=SC2046,SC2086
expect 2 "^amped_mpi: --test is given more than 32 times" on 1 $learn $(i=0; while test $i -lt 33; do echo "--test=$i.csv"; i=$((i + 1)); done)

# --help says which options add up, and what becomes of the others.
expect 0 "If an option is given twice, the last value counts" "$amped" recommend --help
same "options of recommend that add up" "$("$amped" recommend --help | tr '\n' ' ' | tr -s ' ' | grep -o 'repeat the option for more' | wc -l)" 3
finish
