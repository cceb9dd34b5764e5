#!/bin/sh
# Entries of --validate and --test with labels that INPUT does not have: a new month, new users; their counts and errors.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# 40 users, 25 items, 3 months; the last month, m4, is only in later.csv, which has 3 new users, too.
awk 'BEGIN { srand(5); print "user,item,month,stars" >"train.csv"; print "user,item,month,stars" >"later.csv"
  for (m = 1; m <= 4; m++) for (u = 0; u < 40; u++) for (v = u % 2; v < 25; v += 2)
    printf "%s%d,v%d,m%d,%.3f\n", m == 4 && u < 3 ? "new" : "u", u, v, m, 3 + sin(u) + cos(v) + sin(u * v) / 2 + rand() / 4 >(m < 4 ? "train.csv" : "later.csv") }'
{ cat later.csv && sed -n '2,41p' train.csv | sed 's/,m1,/,m2,/; s/^u0,v0,/u0,v1,/'; } >mixed.csv
learn="complete train.csv --value=stars --rank=2 --reg=0.1 --iters=6 --nowrite --overwrite"
later=$(($(wc -l <later.csv) - 1))
new=$(grep -c ^new later.csv)

# A month of its own is accepted, with a warning that counts all new labels by their modes' names.
for ranks in 1 2; do
  for use in validate test; do
    # shellcheck disable=SC2086
    expect 0 "warning: later.csv: of its $later entries $new have a new user, $later a new month: in mode 3 (month) none is known, and a new one predicts like an average one" \
      on $ranks $learn --$use=later.csv --json=$use.json
    same "new labels of --$use in JSON" "$(grep -o "\"new_$use\": *\[[0-9, ]*\]" $use.json | tr -d ' ')" "\"new_$use\":[$new,0,$later]"
  done
done
# Its error is that of these entries beside others, of known months.
# shellcheck disable=SC2086
expect 0 "^later.csv\|^mixed.csv: of its [0-9]* entries $new have a new user, $later a new month$" on 1 $learn --holdout=0 --test=mixed.csv --json=mixed.json
same "no warning of some new labels" "$(grep -c 'none is known' err)" 0
# shellcheck disable=SC2086
expect 0 "" on 1 $learn --holdout=0 --test=later.csv --json=later.json
same "the error of the new month" "$(grep '"end"' mixed.json | grep -o '"cold":{[^}]*}')" "$(grep '"end"' later.json | grep -o '"cold":{[^}]*}')"
same "all entries are cold" "$(grep '"end"' later.json | grep -o '"count":[0-9]*' | sort -u)" "\"count\":$later"

# So does a month that is no context mode (cold.sh compares the errors with those of predict).
# shellcheck disable=SC2086
expect 0 "a new one predicts like an average one" on 1 $learn --context=none --validate=later.csv
# Without names, by the modes' numbers.
sed 1d train.csv >plain.csv
sed 1d later.csv >next.csv
expect 0 "next.csv: of its $later entries $new have a new index of mode 1, $later a new index of mode 3: in mode 3" on 1 complete plain.csv --no-header --keys=1,2,3 --value=4 --rank=1 --reg=1 --iters=2 --nowrite --test=next.csv
awk 'BEGIN { for (i = 0; i < 60; i++) print i % 12 + 1, i % 5 + 1, i % 3 + 1, i % 7 >"train.tns"; for (i = 0; i < 12; i++) print i % 12 + 1, i % 6 + 1, 4, 1 >"next.tns" }'
expect 0 "next.tns: of its 12 entries 2 have a new index of mode 2, 12 a new index of mode 3" on 1 complete train.tns --rank=1 --reg=1 --iters=2 --nowrite --test=next.tns
# Ranked entries of a new month.
sed 's/,[0-9.]*$/,1/; 1s/.*/user,item,month,stars/' train.csv >events.csv
sed 's/,[0-9.]*$/,1/; 1s/.*/user,item,month,stars/' later.csv >events_later.csv
expect 0 "components of a new one are 0" on 1 complete events.csv --value=stars --implicit=5 --rank=2 --reg=1 --iters=3 --nowrite --test=events_later.csv

# Known labels in another spelling are not new: the same numbers, or letters.
sed '1!s/,m\([0-9]\)/,\1/' train.csv >numbers.csv
sed '1!s/,m\([0-9]\)/,0\1/' train.csv >zeros.csv
sed '1!s/,m\([0-9]\)/,\1.0/; ' train.csv >floats.csv
sed '1!s/,m4/,4/' later.csv >four.csv
for file in zeros floats; do
  expect 3 "$file.csv: none of its [0-9]* entries has a label of mode 3 (month) that numbers.csv has; .* with the same spelling" \
    on 1 complete numbers.csv --value=stars --rank=1 --reg=1 --iters=2 --nowrite --test=$file.csv
done
expect 0 "$later a new month" on 1 complete numbers.csv --value=stars --rank=1 --reg=1 --iters=2 --nowrite --test=four.csv
sed '1!s/,m/, M/' train.csv >capitals.csv
# shellcheck disable=SC2086
expect 3 "capitals.csv: none of its" on 1 $learn --test=capitals.csv

# Nothing known in two modes: another tensor, or another spelling. Weights need all labels.
sed 's/,v/,w/' later.csv >other.csv
# shellcheck disable=SC2086
expect 3 "other.csv: none of its $later entries has a label of mode 2 (item) that train.csv has" on 1 $learn --test=other.csv
# shellcheck disable=SC2086
expect 3 "other.csv: none of its $later entries has a label of mode 2 (item)" on 2 $learn --validate=other.csv
# shellcheck disable=SC2086
expect 3 "later.csv: has a weight whose index in mode [13]" on 1 $learn --weights=later.csv
finish
