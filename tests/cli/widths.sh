#!/bin/sh
# A list of numbers of components that grows, and one that falls: each result is that of its R alone, whatever the method
# keeps from one R to the next.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
awk 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
  BEGIN { seed = 3
    for (n = 0; n < 400; n++)
      print 1 + int(9 * random()), 1 + int(8 * random()), 1 + int(7 * random()), 1 + int(5 * random()) }' >t.tns
"$amped" convert t.tns t.npy --dense --duplicates=sum -q 2>err || fail "convert"

# Mode 1 is so long that its rows of 200 components are visited in tiles, and those of 2 components are not.
"$amped" generate long.tns --dims=700x9x8 --nnz=9000 --seed=4 -q || fail "generate"

# alike KEY COMMAND INPUT OPTION...: each R of a growing list on one rank, and of a falling one on two, is as it is alone.
few_components=1 many_components=40
sweeps="--iters=6 --tol=0"
common="--precision=double --nowrite -q --overwrite"
alike() {
  key=$1
  shift
  for r in $few_components $many_components; do
    # shellcheck disable=SC2086
    expect 0 "" on 1 "$@" --rank=$r $sweeps $common --json=one.json
    events end "$key" one.json >value.$r
    same "$*: $key" "$(grep -c . value.$r)" 1
  done
  ranks=0
  for list in $few_components,$many_components $many_components,$few_components; do
    ranks=$((ranks + 1))
    # shellcheck disable=SC2086
    expect 0 "" on $ranks "$@" --rank=$list $sweeps $common $apart --json=list.json
    events end "$key" list.json >values
    same "$*: $key of all" "$(grep -c . values)" 2
    for r in $(echo $list | tr ',' ' '); do
      read -r value && close "$* --rank=$list, R = $r" "$value" "$(cat value.$r)" 1e-8
    done <values
  done
}

# Side by side would be one set of columns.
apart=--side-by-side=off
alike fit cpd t.tns
alike fit cpd t.tns --nonnegative
alike fit cpd t.tns --ridge=0.1
alike fit cpd t.tns --accelerate=momentum
alike fit cpd t.tns --copies=one
alike deviance cpd t.tns --loss=poisson
alike fit cpd t.npy
apart=
alike fit cpd t.tns --method=lm
sweeps=--epochs=6
alike fit cpd t.npy --method=rbs
sweeps="--iters=6 --tol=0"
model="complete t.tns --reg=0.3 --holdout=0"
# shellcheck disable=SC2086
{
  alike objective $model
  alike objective $model --block=3
  alike objective $model --nonnegative
  alike objective $model --method=ccd
  alike objective $model --method=sgd
  alike objective $model --implicit=3
}
few_components=2 many_components=200
alike deviance cpd long.tns --loss=poisson
alike fit cpd long.tns --method=lm
finish
