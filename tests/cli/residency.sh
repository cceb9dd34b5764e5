#!/bin/sh
# Residency of copies: the plan reports it, and the answer does not depend on it.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

run="r.h5 --load=copies --copies=all --rank=8 --iters=4 --tol=0 --precision=double --nowrite"
"$amped" generate r.h5 --dims=500x300x200 --nnz=300k --skew=0.5 --seed=1 -q || fail "generate"

expect 0 "bytes/nnz  copy" on 1 r.h5 --load=copies --rank=8 --precision=double --plan --json=plan.json
expect 0 "resident" on 2 r.h5 --rank=8 --plan --json=two.json
if grep -q '"streamed_bytes": *\[0, *0\]' two.json; then pass; else fail "copies do not stay"; fi
# shellcheck disable=SC2086
expect 0 "" on 1 $run --json=all.json

if test "$backend" != cuda; then
  expect 2 "for GPUs" on 1 r.h5 --residency=stream
  expect 2 "for GPUs" on 1 r.h5 --device-memory=1G
  finish
fi

# The device has no room for a third of three copies of 12 bytes a nonzero, or for any of them.
tight="--device-memory=$(($(field device_bytes plan.json) / 1024 - 3600))K"
# shellcheck disable=SC2086
{
  expect 0 "mode 1: [1-9][0-9.]* % on the device, .* streamed a sweep" on 1 $run $tight --json=part.json
  expect 0 "streamed a sweep" on 1 $run --residency=stream --json=stream.json
  expect 0 "at least .* streamed a sweep" on 2 r.h5 --rank=8 --residency=stream --plan
  expect 1 "residency=auto" on 1 $run $tight --residency=resident
}
for way in part stream; do
  close "fit, $way" "$(field fit $way.json)" "$(field fit all.json)" 1e-10
done

finish
