#!/bin/sh
# Rules of options: an option that cannot have an effect is refused, also if it repeats its default; and each
# command's --help reports the defaults that its runs have.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
"$amped" generate s.h5 --dims=9x8x7 --nnz=200 -q || fail "generate s.h5"
"$amped" generate d.h5 --dense --dims=6x5x4 -q || fail "generate d.h5"
"$amped" cpd s.h5 --rank=2 --iters=2 -o r.h5 -q || fail "cpd"
"$amped" complete s.h5 --rank=2 --reg=1 --iters=2 --state=s.state --nowrite -q || fail "complete"

# refused PATTERN ARGUMENT...: status 2, with a line.
refused() {
  pattern=$1
  shift
  expect 2 "$pattern" "$amped" "$@"
}
# Each option with its own default.
refused "for bench --stream" bench s.h5 --sweeps=3
refused "for bench --stream" bench s.h5 --history=equations
refused "for bench --complete" bench s.h5 --method=als
refused "for bench --complete and --stream" bench s.h5 --bias=full
refused "do not apply to --stream" bench s.h5 --stream=5 --placement=greedy
refused "do not apply to --stream" bench s.h5 --stream=5 --load=auto
refused "for the cells of --dense" bench s.h5 --type=float
refused "nothing is read" bench --dense --dims=3x4x5 --read=auto
refused "are for --shape" cpd s.h5 --scale=1
refused "are for --shape" bench s.h5 --values=real
refused "nothing is read; leave out --load" cpd --shape=nell2 --scale=1e-4 --load=auto
refused "are for --method=rbs" cpd s.h5 --sample=auto
refused "leave out --iters" cpd d.h5 --method=rbs --iters=50
refused "add that, or leave out --kkt" cpd s.h5 --kkt=1e-4
refused "has its own method" cpd s.h5 --loss=poisson --method=als
for option in --ridge=1 --l1=1 --corcondia --stop-fit=0.5; do
  refused "is for --loss=squares; leave out --" cpd s.h5 --loss=poisson $option
done
refused "there are momentum and none" cpd s.h5 --loss=poisson --accelerate=linesearch
refused "leave out --nonnegative" cpd s.h5 --loss=poisson --nonnegative
refused "leave out one of the two" cpd s.h5 --loss=poisson --init=r.h5 --fix=1
refused "leave out --init" cpd s.h5 --loss=poisson --init=normal
refused "leave out --copies" cpd s.h5 --loss=poisson --copies=one
refused "which --loss=poisson reads as lists" cpd d.h5 --loss=poisson --products=tf32
refused "needs --checkpoint" cpd s.h5 --checkpoint-every=10
refused "add --state" complete s.h5 --history=equations
refused "add --state" complete s.h5 --keep-validation=1M
refused "whole rows" complete s.h5 --method=sgd --block=1
refused "leave out --bias" complete s.h5 --implicit=1 --bias=full
refused "give --planted too" generate x.h5 --dims=3x4x5 --nnz=10 --noise=0
refused "leave out --shape, --nnz, --scale and --skew" generate x.h5 --dense --dims=3x4x5 --scale=1
refused "give --dense too" generate x.h5 --dims=3x4x5 --nnz=10 --type=float
refused "give --observed too" generate x.h5 --dims=3x4x5 --nnz=10 --factor-mean=0
refused "leave out --nan" convert s.h5 x.tns --nan=error
refused "leave out --label-order" convert r.h5 x.csv --label-order=first
refused "leave out --duplicates" convert r.h5 x.csv --duplicates=sum
refused "for sparse ones" convert d.h5 x.h5 --dense --label-order=first
refused "all cells" convert s.h5 x.h5 --dense --copies=all
refused "for the tensor of --exclude" recommend r.h5 --for=1 --of=2 --format=auto
refused "name a tensor with --exclude" evaluate r.h5 s.h5 --of=2 --for=1
refused "is a dense tensor, and --placement is for sparse ones" cpd d.h5 --rank=2 --nowrite --placement=greedy
refused "is a dense tensor, and --duplicates is for sparse ones" cpd d.h5 --rank=2 --nowrite --duplicates=sum
refused "leave out one of the two" cpd s.h5 --copies=one --tiles=auto
refused "counts indices of --by" stream s.state s.h5 --batch=1
# What says that a thing is off goes with what it would exclude.
expect 0 "" "$amped" cpd s.h5 --rank=2 --iters=1 --accelerate=none --ridge=1 --nowrite -q
expect 0 "" "$amped" cpd s.h5 --rank=2 --iters=1 --starts=1 --checkpoint=c.h5 --nowrite -q
"$amped" generate other.h5 --dims=9x8x7 --nnz=40 --seed=5 -q || fail "generate other.h5"
expect 0 "" "$amped" complete s.h5 --rank=2 --reg=1 --iters=1 --holdout=0 --validate=other.h5 --nowrite -q
refused "leave out one of the two" complete s.h5 --rank=2 --holdout=5% --validate=other.h5

# Defaults: what --help reports is what runs have.
reported() { # reported COMMAND OPTION
  "$amped" "$1" --help | tr '\n' ' ' | tr -s ' ' | sed -n "s/.*--$2=[^[]*\\[\\([^]]*\\)\\].*/\\1/p"
}
same "cpd --iters" "$(reported cpd iters)" "50; --loss=poisson: 200"
same "complete --iters" "$(reported complete iters)" 200
same "cpd --tol" "$(reported cpd tol)" "1e-5; --method=rbs: 1e-3; --shape: 0; --loss=poisson: 1e-6"
same "complete --tol" "$(reported complete tol)" 1e-4
expect 0 "1e-05 = --tol\|--iters reached" "$amped" cpd s.h5 --rank=2 --nowrite --json=c.json
expect 0 "" "$amped" cpd s.h5 --rank=2 -o c.h5 -q --overwrite
same "iters of a cpd" "$("$amped" info c.h5 | tr ',' '\n' | sed -n 's/.*"iters": *//p')" 50
expect 0 "" "$amped" complete s.h5 --rank=2 --reg=1 -o m.h5 -q
same "iters of a completion" "$("$amped" info m.h5 | tr ',' '\n' | sed -n 's/.*"iters": *//p')" 200
finish
