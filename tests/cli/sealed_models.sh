#!/bin/sh
# Results, models, checkpoints and states with one damaged dataset: each command that reads the dataset
# refuses the file (sealed_models.py). sealed.sh does the same for tensors.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
script=$(cd "$(dirname "$0")" && pwd)/sealed_models.py
cd "$scratch" || exit 99
awk 'BEGIN {
  print "user,item,week,stars"
  for (i = 0; i < 400; i++) print "u" i * 7 % 12 ",i" i * 11 % 10 ",w" i % 6 "," 1 + i * 13 % 5
}' >ratings.csv
awk 'BEGIN { print "user,item,week,stars"; for (i = 0; i < 60; i++) print "u" i * 7 % 13 ",i" i * 3 % 10 ",w" i % 6 "," 1 + i * 5 % 5 }' >more.csv
table="--value=stars --duplicates=mean"
# shellcheck disable=SC2086
{
  expect 0 "" "$amped" convert ratings.csv t.h5 $table -q
  expect 0 "" on 1 t.h5 --rank=2 --iters=4 --tol=0 --starts=2 -o result.h5 -q
  expect 0 "" on 1 t.h5 --rank=2 --iters=4 --tol=0 --nowrite -q --checkpoint=cpd.ckpt --checkpoint-every=2
  expect 0 "" on 1 t.h5 --rank=2 --iters=4 --tol=0 --nowrite -q --checkpoint=fast.ckpt --checkpoint-every=2 \
    --accelerate=momentum
  expect 0 "" on 1 complete t.h5 --rank=2 --reg=0.3 --iters=4 --tol=0 -o model.h5 -q --state=s.state
  expect 0 "" on 1 complete t.h5 --rank=2 --reg=0.3 --iters=4 --tol=0 --nowrite -q --checkpoint=search.ckpt \
    --checkpoint-every=2
}
for file in result.h5 model.h5 cpd.ckpt fast.ckpt search.ckpt s.state; do
  expect 0 "" "$python" "$script" $file "$amped"
done
finish
