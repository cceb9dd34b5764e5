#!/bin/sh
# complete: errors without components, of the mean alone and of mean and biases, against numpy.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 99

# 30 users, 20 items, 5 weeks; an entry's weight; the last user is in the test alone.
awk 'BEGIN { srand(11); print "user,item,week,stars,weight"
  for (u = 0; u < 30; u++) for (v = 0; v < 20; v++) if (rand() < 0.5) { w = int(rand() * 5)
    printf "u%d,v%d,w%d,%.3f,%d\n", u, v, w, 3 + sin(u) + 2 * cos(v) / (u % 3 + 1) + w / 9 + rand(), 1 + rand() * 4 } }' >all.csv
awk -F, 'NR == 1 || (NR % 5 > 1 && $1 != "u29")' all.csv >train.csv
awk -F, 'NR == 1 || (NR % 5 == 0 && $1 != "u29")' all.csv >validate.csv
awk -F, 'NR == 1 || (NR % 5 == 1 || $1 == "u29")' all.csv >test.csv
cut -d, -f1-4 train.csv >plain.csv
for file in validate test; do cut -d, -f1-4 $file.csv >t && mv t $file.csv; done
common="--value=stars --reg=0.3 --iters=8 --validate=validate.csv --test=test.csv --nowrite --overwrite"

# Of any method, rank and model beside them; on several ranks.
for ranks in 1 2; do
  for model in "--rank=3" "--rank=1 --context=none --precision=double" "--rank=2 --method=ccd" "--rank=4 --nonnegative"; do
    # shellcheck disable=SC2086
    expect 0 "^validate: without components, rmse of the mean [0-9.]*, of mean and biases [0-9.]*$" on $ranks complete plain.csv $common $model --json=told.json
    expect 0 "" "$python" "$here/baselines.py" told.json plain.csv validate.csv test.csv 3
    enough 2 && break
  done
done
# shellcheck disable=SC2086
expect 0 "^test: without components" on 1 complete plain.csv $common --rank=2 --method=sgd --reg-bias=10 --json=told.json
expect 0 "" "$python" "$here/baselines.py" told.json plain.csv validate.csv test.csv 10
# shellcheck disable=SC2086
expect 0 "" on 1 complete train.csv $common --keys=user,item,week --weights=weight --rank=2 --json=told.json
expect 0 "" "$python" "$here/baselines.py" told.json train.csv validate.csv test.csv 3 weight
finish_on_gpus

# The model with so high a penalty that no component is left has the errors of mean and biases, held-out entries included.
expect 0 "" on 1 complete plain.csv --value=stars --rank=2 --reg=1e6 --iters=100 --tol=0 --patience=100 --holdout=20% --precision=double --nowrite --json=told.json --overwrite
close "biases by the penalty" "$(grep '"end"' told.json | sed 's/.*"biases_alone":{"validate":{[^}]*"rmse":\([0-9.]*\).*/\1/')" "$(grep '"end"' told.json | sed 's/.*"validate":{[^}]*"rmse":\([0-9.]*\),[^{]*"cold".*/\1/')" 1e-4

# Several numbers of components: the same errors without them. Models without biases: of the mean.
expect 0 "" on 1 complete plain.csv $common --rank=2,5 --json=told.json
same "of two ranks" "$(grep '"end"' told.json | grep -o '"mean_alone":.*"output"' | sort -u | wc -l)" 1
for bias in mean none; do
  # shellcheck disable=SC2086
  expect 0 "^test: without components, rmse of the mean [0-9.]*$" on 1 complete plain.csv $common --rank=2 --bias=$bias --json=$bias.json
  same "errors of the mean, --bias=$bias" "$(grep '"end"' $bias.json | grep -o '"mean_alone":.*"output"' | cut -c1-80)" \
    "$(grep '"end"' told.json | head -n 1 | grep -o '"mean_alone":.*' | cut -c1-80)"
done

# Without entries to judge, and with --implicit, there are none.
expect 0 "" on 1 complete plain.csv --value=stars --rank=2 --reg=1 --holdout=0 --iters=2 --nowrite
same "no entries" "$(grep -c 'without components' "$scratch/out")" 0
expect 0 "" on 1 complete plain.csv --value=stars --rank=2 --implicit=3 --reg=1 --iters=2 --nowrite
same "implicit" "$(grep -c 'without components' "$scratch/out")" 0
finish
