#!/bin/sh
# --copies=one: the decomposition is that of a copy for each mode, for any ranks, threads and inputs;
# what it does not go with is refused. --copies=auto takes one where memory is short.
. "$(dirname "$0")/../lib/lib.sh"
needs h5diff
data=$(cd "$data" 2>/dev/null && pwd)
cd "$scratch" || exit 99

"$amped" generate a.h5 --dims=57x1x331 --nnz=6k --skew=0.7 --seed=3 -q || fail "generate a"
"$amped" generate b.h5 --dims=40,3,2000,17 --nnz=40k --skew=0,0,1.1,0.5 --seed=4 -q || fail "generate b"
"$amped" generate c.h5 --dims=9x8x7x6x5x4 --nnz=2k --seed=5 -q || fail "generate c"
"$amped" generate one.h5 --dims=3x3x3 --nnz=1 --seed=6 -q || fail "generate one"
"$amped" generate long.h5 --dims=5x6x100000 --nnz=100k --skew=0,0,1.5 --seed=7 -q || fail "generate long"
"$amped" generate p.h5 --dims=60x50x40 --nnz=9k --planted=3 --seed=7 -q || fail "generate p"

# Two runs in double that differ in the order of sums alone; in float run_mpi.sh's bound.
fits_agree() {
  name=$1
  tol=$2
  shift 2
  expect 0 "" on 1 "$name" "$@" --json=all.json --nowrite -q
  for ranks in $(few 2 3 1 4); do
    expect 0 "" on $ranks "$name" "$@" --copies=one --json=one.json --nowrite -q
    grep -q '"kept":"one"' one.json && pass || fail "$name: one.json does not say what is kept"
    close "$name: fit on $ranks ranks" "$(field fit one.json)" "$(field fit all.json)" "$tol"
  done
}
few_tensors="a b c one long"
test "$backend" = cpu || few_tensors="b one" # backends.sh has others
for t in $few_tensors; do
  fits_agree $t.h5 1e-12 --rank=5 --iters=6 --tol=0 --precision=double
done
for t in $(few 2 b long a c one); do
  test "$backend" = cpu || break
  fits_agree $t.h5 2e-5 --rank=5 --iters=6 --tol=0
done

# One start of a file; all that cpd does with copies.
expect 0 "" on 1 b.h5 --rank=4 --iters=2 --tol=0 -o start.h5 -q
fits_agree b.h5 1e-12 --rank=4 --iters=5 --tol=0 --precision=double --init=start.h5
fits_agree b.h5 1e-9 --rank=4 --iters=5 --tol=0 --precision=double --accelerate=momentum
fits_agree b.h5 1e-12 --rank=4 --iters=3 --tol=0 --precision=double --overlap=3
fits_agree b.h5 1e-12 --rank=4 --iters=3 --tol=0 --precision=double --placement=equal
fits_agree p.h5 1e-9 --rank=3 --iters=40 --tol=0 --precision=double # near 1: products
expect 0 "" on 3 b.h5 --rank=2,4 --starts=2 --iters=3 --copies=one -o several.h5 -q
expect 0 "core consistency" on 3 b.h5 --rank=2 --iters=3 --copies=one --corcondia --nowrite
expect 0 "one copy for all modes: .* a copy for each mode would take" on 2 b.h5 --copies=one --plan
expect 0 "in the copy of mode 3" on 2 b.h5 --copies=one --plan

# Any input, any readers, any threads: the same bits; on GPUs those are asked for.
always=
test "$backend" = cuda && always="--deterministic --device-memory=1G" # other tests run beside it
"$amped" convert b.h5 list.h5 --copies=none -q || fail "convert to a list"
"$amped" convert b.h5 b.tns -q || fail "convert to text"
bits() {
  # shellcheck disable=SC2086
  expect 0 "" on "$@" --rank=6 --iters=3 --tol=0 --copies=one -o r.h5 --overwrite -q $always
  if ! test -f first.h5; then
    mv r.h5 first.h5
    return
  fi
  for set in weights factors/0 factors/1 factors/2 factors/3; do
    if h5diff r.h5 first.h5 /$set /$set >diff.txt 2>&1; then pass; else fail "$*, $set: $(cat diff.txt)"; fi
  done
}
for ranks in 3 1; do
  rm -f first.h5
  bits $ranks b.h5 --threads=1
  bits $ranks b.h5 --threads=3
  bits $ranks b.h5 --deterministic
  bits $ranks b.h5 --load=list --read=parallel
  bits $ranks list.h5
  bits $ranks b.tns --dims=40,3,2000,17
  test "$backend" = cpu || break # a start on a GPU takes seconds
done
expect 0 "" on 2 --shape=netflix --scale=1e-4 --iters=2 --copies=one --nowrite -q
expect 0 "all modes:" on 2 bench b.h5 --repeat=2 --copies=one

# A checkpoint knows nothing of copies.
expect 0 "" on 2 b.h5 --rank=3 --iters=4 --tol=0 --precision=double --nowrite -q --json=whole.json
expect 0 "" on 2 b.h5 --rank=3 --iters=2 --tol=0 --precision=double --nowrite -q --checkpoint=ck
expect 0 "" on 2 b.h5 --rank=3 --iters=4 --tol=0 --precision=double --nowrite -q --checkpoint=ck \
  --copies=one --resume --json=rest.json
close "fit after a checkpoint" "$(field fit rest.json)" "$(field fit whole.json)" 1e-12

# Real tensors.
for t in $(few 3 nations kinship enron-jhu icews14 uber-aprmay14); do
  test "$backend" = cpu || break # real.sh has them
  test -n "$data" && test -f "$data/$t.tns.gz" || continue
  "$amped" convert "$data/$t.tns.gz" "$t.h5" -q || fail "convert $t"
  fits_agree $t.h5 1e-12 --rank=8 --iters=4 --tol=0 --precision=double
done

# If a copy for each mode does not fit, one is taken: under limits between the needs.
limited() {
  (
    ulimit -v "$1"
    shift
    exec timeout -k 5 $patience "$@"
  )
}
wide="wide.h5 --rank=4 --iters=3 --tol=0 --threads=1 --nowrite --backend=cpu"
# tells COPIES: "NEED LEFT" in MiB, of a run under a limit that is too low.
tells() {
  # shellcheck disable=SC2086
  limited "$limit" "$amped" $wide --copies="$1" 2>&1 |
    sed -n 's/.* needs \([0-9.]*\) MiB .* leaves \([0-9.]*\) MiB.*/\1 \2/p'
}
if test "$backend" = cpu && limited 350000 "$amped" --version >version.txt 2>&1 &&
  ! grep -q AddressSanitizer version.txt; then
  "$amped" generate wide.h5 --dims=300x200x100x400x500 --nnz=2M --skew=1.1 --seed=3 -q || fail "generate wide"
  # The libraries of the MPI take more or less of the limit: one in which not even one copy fits.
  for limit in 500000 450000 400000 350000; do
    needs=$(echo "$(tells all) $(tells one)" |
      awk -v k=$limit 'NF == 4 { one = k + 1024 * ($3 - $2); print int(one + 4096), int((k + 1024 * ($1 - $2) + one) / 2) }')
    test -z "$needs" || break
  done
  # shellcheck disable=SC2086
  if test -n "$needs"; then
    least=${needs% *}
    between=${needs#* }
    expect 1 "ulimit -v" limited "$between" "$amped" $wide --copies=all
    expect 0 "one copy for all modes: .*, which does not fit" limited "$least" "$amped" $wide
    expect 0 "one copy for all modes: .*, which does not fit" limited "$between" "$amped" $wide --json=short.json
    grep -q '"kept":"one"' short.json && pass || fail "short.json does not say what is kept"
    expect 0 "choice 1: one copy for all modes: .* a rank" limited "$least" "$amped" $wide --plan
    expect 0 "fit" limited 4000000 "$amped" $wide --json=free.json
    grep -q '"kept":"all"' free.json && pass || fail "one copy is kept where all fit"
    close "fit of one copy" "$(field fit short.json)" "$(field fit free.json)" 1e-5
    expect 0 "in the copy of mode 5" limited "$between" "$amped" $wide --plan
    expect 0 "one copy for all modes" limited "$between" "$amped" $wide --copies=one
  else
    fail "no limits between the needs: $(tells all), $(tells one)"
  fi
  rm -f wide.h5
fi

# On GPUs the copies that take less time are kept, where a copy for each mode does not fit.
if test "$backend" = cuda; then
  "$amped" generate wide.h5 --dims=300x200x100x400x500 --nnz=2M --skew=1.1 --seed=3 -q || fail "generate wide"
  expect 0 "of which .* streamed (.* ms a sweep against" on 1 wide.h5 --rank=4 --iters=1 --nowrite --device-memory=100M
  expect 0 "which does not fit" on 1 wide.h5 --rank=4 --iters=1 --nowrite --device-memory=70M
  expect 0 "fit" on 1 wide.h5 --rank=4 --iters=3 --tol=0 --nowrite --device-memory=400M --json=free.json
  grep -q '"kept":"all"' free.json && pass || fail "one copy is kept where all fit"
  for run in "1 130" "1 150" "2 110"; do
    # shellcheck disable=SC2086
    set -- $run
    expect 0 "" on "$1" wide.h5 --rank=4 --iters=3 --tol=0 --nowrite -q --device-memory="$2M" --json=short.json
    close "fit in $2M on $1 ranks" "$(field fit short.json)" "$(field fit free.json)" 1e-5
  done
  expect 0 "choice 1: .* a rank, .* streamed, .* ms a sweep" on 1 wide.h5 --rank=4 --plan --device-memory=100M
  expect 2 "leave out one of them" on 1 b.h5 --copies=one --deterministic --device-memory=1G --precision=double --nowrite
  rm -f wide.h5
fi

expect 2 "leave out one of the two" "$amped" bench b.h5 --copies=one --kernel=published
expect 2 "leave out one of the two" "$amped" bench b.h5 --copies=one --tiles=16M
expect 2 "leave out one of them" "$amped" bench b.h5 --copies=one --complete
expect 2 "leave out one of them" "$amped" bench b.h5 --copies=one --stream=100
expect 2 "dense" "$amped" bench --dense --dims=4x5x6 --copies=one
expect 2 "takes any file" "$amped" convert b.h5 other.h5 --copies=one
expect 2 "auto, all or one" "$amped" cpd b.h5 --copies=none
finish
