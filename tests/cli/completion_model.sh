#!/bin/sh
# A completion model in the commands that show results: info, top, plot, compare, convert; and as a
# plain CP by examples/load_result.py.
. "$(dirname "$0")/../lib/lib.sh"
needs_python ${AMPED_PYTHON:+"$AMPED_PYTHON"}
here=$(cd "$(dirname "$0")" && pwd)
script=$(cd "$here/../../examples" && pwd)/load_result.py
cd "$scratch" || exit 99
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

for words in "biased labels" "labels" "biased"; do
  name=$(echo "$words" | tr ' ' _)
  # shellcheck disable=SC2086
  "$python" "$here/model_file.py" write "$name.h5" 1 7x5x4 3 $words || fail "model_file.py $words"
done

# info: what it is, and the errors of the model, which are those of its best sweep.
expect 0 "^model  *completion: mean 3.5, scale 1.25, with biases$" "$amped" info biased_labels.h5
expect 0 "^lambda  *0.75" "$amped" info biased_labels.h5
expect 0 "^context  *mode 3 (when)$" "$amped" info biased_labels.h5
expect 0 "^held out  *5 % of the entries, seed 7$" "$amped" info biased_labels.h5
expect 0 "^rmse  *0.5 train, 0.75 validate in the best sweep, 2 of 3$" "$amped" info biased_labels.h5
expect 0 "^model  *completion: mean 3.5, scale 1.25, without biases$" "$amped" info labels.h5
expect 0 "no content hash" "$amped" info biased_labels.h5 --verify
expect 0 "" "$amped" info biased_labels.h5 --json=info.json
same "model" "$(field model info.json) $(field best_sweep info.json) $(field reg info.json)" "completion 2 0.75"
same "errors" "$(field train info.json) $(field validate info.json) $(field test info.json)" "0.5 0.75 null"
same "rmse" "$(field rmse info.json)" 0.75
expect 0 "^rmse 0.5 train, 0.75 validate in the best sweep, 2 of 3$" "$amped" top biased_labels.h5
same "components" "$(grep -c '^component' out)" 3
expect 0 "factor match score 1.000000" "$amped" compare biased_labels.h5 biased_labels.h5

# plot: the errors of all sets, one curve each.
rows() {
  awk -v name="\$${2-}" 'index($0, name) == 1 && / << END$/ { inside = 1; next }
    $0 == "END" { inside = 0 } inside && !/^#/ && NF > 0' "$1"
}
expect 0 "" "$amped" plot biased_labels.h5 -o model.gp
same "training" "$(rows model.gp train | tr '\t\n' ', ')" "1,0.9 2,0.5 3,0.3 "
same "validation" "$(rows model.gp validate | tr '\t\n' ', ')" "1,0.95 2,0.75 3,0.8 "
same "curves" "$(grep -c '^plot \$train using .* title .train., \$validate using .* title .validate.' model.gp)" 1
expect 0 "rmse 0.5 train, 0.75 validate'.*'in the best sweep, 2 of 3" cat model.gp
if command -v gnuplot >/dev/null 2>&1; then
  expect 0 "" "$amped" plot biased_labels.h5 -o model.svg
  expect 0 "" test -s model.svg
fi

# convert: numbers in the values' own units, biases and mean beside weights and factors.
cat >check.py <<'PY'
import csv
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from model_file import Model, label
name, form = sys.argv[2:4]
model = Model(name + ".h5")
biased = "biased" in name
def load(part):
    path = f"{name}.{part}.{form}"
    return np.load(path) if form == "npy" else np.loadtxt(path, ndmin=1)
if form == "csv":
    with open(name + ".csv", newline="") as f:
        rows = list(csv.reader(f))[1:]
    with open(name + ".weights.csv", newline="") as f:
        weights = dict(list(csv.reader(f))[1:])
    mean = float(weights.pop("mean"))
    weights = np.array([float(weights[str(r + 1)]) for r in range(3)])
    factors, bias = [np.full(a.shape, np.nan) for a in model.factors], [np.zeros(len(a)) for a in model.factors]
    for component, mode, text, x in rows:
        names = ["who", "what", "when"] if "labels" in name else ["1", "2", "3"]
        k = names.index(mode)
        i = [label(k, j) if "labels" in name else str(j + 1) for j in range(len(factors[k]))].index(text)
        if component == "bias":
            bias[k][i] = float(x)
        else:
            factors[k][i, int(component) - 1] = float(x)
else:
    weights, mean = load("weights"), load("mean")[0]
    factors = [load(f"mode{k}") for k in range(3)]
    bias = [load(f"bias{k}") if biased else np.zeros(len(a)) for k, a in enumerate(factors)]
for cell in np.ndindex(*(len(a) for a in factors)):
    terms = weights * np.prod([a[i] for a, i in zip(factors, cell)], axis=0)
    found = mean + sum(b[i] for b, i in zip(bias, cell)) + terms.sum()
    assert abs(found - model.value(cell)) < 1e-12, (cell, found, model.value(cell))
PY
for name in biased_labels labels biased; do
  for form in csv npy txt; do
    expect 0 "" "$amped" convert $name.h5 $name.$form
    expect 0 "" "$python" check.py "$here" $name $form
  done
done
absent labels.bias0.npy
expect 0 "" test -e biased.bias0.npy
expect 1 "exists" "$amped" convert biased.h5 biased.npy

# A plain CP of R + N + 1 components: the values, and so the error at the entries, are the model's.
awk 'BEGIN { for (i = 0; i < 60; i++) print i % 7 + 1, i * 3 % 5 + 1, int(i / 15) + 1, i % 6 }' >t.tns
expect 0 "" "$amped" convert t.tns t.h5 -q
# real.h5 and bare.h5 are the program's own, whose texts are of fixed length.
expect 0 "" "$amped" complete t.h5 --rank=3 --reg=0.1 --iters=3 --holdout=0 -o real.h5 -q --backend="$backend"
expect 0 "" "$amped" complete t.h5 --rank=3 --reg=0.1 --iters=3 --holdout=0 --bias=none -o bare.h5 -q --backend="$backend"
for name in biased_labels labels real bare; do
  expect 0 "" "$amped" predict $name.h5 t.h5 --json=rmse.json
  for package in numpy pyttb tensorly; do
    "$python" "$script" $name.h5 t.h5 $package >out 2>err
    case $? in
      0)
        same "components by $package" "$(sed 's/.*: \([0-9]*\) components.*/\1/' out)" \
          "$(case $name in labels | bare) echo 4 ;; *) echo 7 ;; esac)"
        close "rmse by $package" "$(sed 's/.*, rmse \([^ ,]*\).*/\1/' out)" "$(field rmse rmse.json)" 1e-8 ;;
      77) test $package != numpy && cat out || fail "numpy is there" ;;
      *) fail "$package: $(tail -n 1 err)" ;;
    esac
  done
done
finish
