#!/bin/sh
# Missing memory: the k-th allocation of a whole run fails; limits of the process; tensors that no
# machine holds. The program writes one line and returns the right status. It does not leak or hang,
# and files are complete.
. "$(dirname "$0")/../lib/lib.sh"
needs h5diff
. "$(dirname "$0")/faults_lib.sh"
cd "$scratch" || exit 99

"$amped" generate t.tns --dims=9x7x5 --nnz=60 --seed=3 -q || fail "generate"
"$amped" convert t.tns t.h5 -q || fail "convert"
cp t.tns two.tns
sed '/^# nnz:/d' t.tns | head -n 5 >few.tns
awk '!/^#/ { print $1, $2, $3, 1 + NR % 3 }' t.tns >counts.tns
"$amped" convert t.tns d.npy --dense -q || fail "convert"
saved="-q -o out.h5 --checkpoint=c.h5 --checkpoint-every=1"
run="t.h5 --rank=3 --iters=2 --tol=0 --deterministic $saved"
# shellcheck disable=SC2086
expect 0 "" on 1 $run
mv out.h5 whole1.h5
rm -f c.h5 c.h5.prev
# shellcheck disable=SC2086
expect 0 "" on 2 $run
mv out.h5 whole2.h5
rm -f c.h5 c.h5.prev

# checked K RANKS RANK: checks the last run, in which allocation K of a rank failed.
checked() {
  what="${run%% *}, allocation $1 of rank $3 of $2"
  # The number of checkpoints, and so of allocations, depends on time. The child that looks at the
  # file first may not reach allocation K.
  if test $status -eq 0; then
    h5diff out.h5 whole.h5 >diff.txt 2>&1 && pass || fail "$what: another result"
    same "$what: error lines" "$(error_lines err | wc -l)" 0
  else
    same "$what: status" $status 1
    one_line "$what"
    grep -q "out of memory" err && pass || fail "$what: $(error_lines err)"
    # A failure after the result was written does not damage the result. complete writes its best model so far
    # if a checkpoint fails.
    if test -e out.h5 && "$amped" info out.h5 | grep -q "lost checkpoint"; then
      same "$what: a model so far" "${run%% *}" complete
      "$amped" info out.h5 --verify >diff.txt 2>&1 && pass || fail "$what: $(cat diff.txt)"
    elif test -e out.h5; then
      h5diff out.h5 whole.h5 >diff.txt 2>&1 && pass || fail "$what: another result"
    fi
  fi
  # Blocks that were not freed, where the process ended by itself.
  leaks=$(awk '$5 == 0 && $4 != 0' "$report" 2>/dev/null)
  same "$what: leaks" "$leaks" ""
  ls out.h5.tmp.* c.*.tmp.* >/dev/null 2>&1 && fail "$what: half a file" || pass
  for f in c.*h5 c.*prev; do
    test -e $f || continue
    "$amped" info $f >/dev/null 2>&1 && pass || fail "$what: $f is damaged"
  done
}

allocations_fail() { # lines of ranks, the rank whose allocations fail, a stride, --read
  while read -r ranks rank stride read; do
    test "${AMPED_FAULTS-}" = all && stride=1
    rm -f out.h5 c.*
    # shellcheck disable=SC2086
    with "ENOMEM alloc - 1000000 $rank" "$ranks" $run --read=$read >/dev/null 2>&1 </dev/null
    n=$(awk -v r="$rank" '$2 == r { print $6 }' "$report")
    test "$n" -gt 50 && pass || fail "only $n allocations"
    mv out.h5 whole.h5
    for k in 0 $(seq $((stride / 2)) "$stride" $((n - 1))); do
      rm -f out.h5 c.*
      # shellcheck disable=SC2086
      with "ENOMEM alloc - $k $rank" "$ranks" $run --read=$read >out 2>err </dev/null
      status=$?
      checked "$k" "$ranks" "$rank"
    done
  done
}
allocations_fail <<'END'
1 0 25 root
2 0 40 root
2 1 25 root
2 0 60 parallel
2 1 40 parallel
END
# Ranks that fail in a sweep of another method.
for method in "t.h5 --starts=3" "t.h5 --method=lm" "d.npy --method=rbs --epochs=2 --polish=0" "t.h5 --nonnegative=1 --l1=0.1" "counts.tns --loss=poisson"; do
  run="$method --rank=3 --iters=2 --tol=0 --deterministic $saved"
  case $method in *rbs*) run="$method --rank=3 --deterministic $saved" ;; esac
  echo "2 1 40 root" >faults.txt
  allocations_fail <faults.txt
done
run="complete t.h5 --rank=3 --iters=2 --reg=1,0.5 --holdout=20% --test=t.tns --test=two.tns --deterministic $saved"
allocations_fail <<'END'
1 0 60 root
2 0 90 root
2 1 60 root
END
mv whole.h5 model.h5

# Commands without MPI: every allocation of a few commands.
for command in "convert t.tns n.h5 -q" "convert t.h5 n.tns.gz -q" "info t.h5 --verify" \
  "generate n.h5 --dims=5x4x3 --nnz=20 -q" "compare whole1.h5 whole2.h5" "top whole1.h5" \
  "convert t.tns n.h5 --dense -q" "convert t.h5 n.npy --dense -q" "convert d.npy n.h5 --dense -q" \
  "convert d.npy n.h5 --sparse -q" "convert d.npy n.h5 --dense --modes=a,b,c --axis=b:1:2 -q" "info d.npy" "generate n.h5 --dense --dims=5x4x3 -q" \
  "predict whole1.h5 t.h5 -o n.h5 -q" "recommend whole1.h5 --for=1 --of=2 --exclude=t.h5 -o n.csv -q" \
  "predict model.h5 t.tns -o n.csv -q --cold=predict --clip=0:1" \
  "recommend model.h5 --for=1:2 --of=2 --at=3:1 --exclude=t.tns -o n.csv -q" \
  "evaluate model.h5 t.tns --of=2 --exclude=t.tns --exclude=few.tns -q" "similar model.h5 --for=1 -o n.csv -q" \
  "bench t.h5 --complete --rank=3 --repeat=1 --backend=$backend"; do
  # shellcheck disable=SC2086
  n=$(calls alloc - 0 $command)
  stride=1
  test "${AMPED_FAULTS-}" = all || stride=$((n / 8 + 1))
  for k in $(seq 0 "$stride" $((n - 1))); do
    rm -f n.h5 n.tns.gz n.csv n.npy
    # shellcheck disable=SC2086
    with "ENOMEM alloc - $k 0" 0 $command >out 2>err </dev/null
    status=$?
    if test $status -eq 1; then one_line "$command, allocation $k"; else same "$command, allocation $k: status" $status 0; fi
    same "$command, allocation $k: leaks" "$(awk '$5 == 0 && $4 != 0' "$report")" ""
    test $status -eq 0 || absent n.h5 n.tns.gz n.csv n.npy
  done
done

# --- memory that libraries lack -------------------------------------------------------------------
# An allocation of HDF5 or jansson fails, in the child that looks first or later: that is no damage.
# HDF5 itself may crash where it starts, as one of its allocations fails: AMPED looks for memory
# before, which this test does not take.
while read -r library least command; do
  # shellcheck disable=SC2086
  n=$(calls library "$library" 0 $command)
  test "$n" -gt "$least" && pass || fail "$command: only $n allocations of $library"
  stride=$((n / 25 + 1))
  test "${AMPED_FAULTS-}" = all && stride=1
  crashes=0
  reports=0
  tries=0
  for k in $(seq 0 "$stride" $((n - 1))); do
    rm -f n.tns n.json
    # shellcheck disable=SC2086
    with "ENOMEM library $library $k 0" 0 $command >out 2>err </dev/null
    status=$?
    what="$command, allocation $k of $library"
    tries=$((tries + 1))
    if test $status -eq 139; then
      crashes=$((crashes + 1))
    elif grep -q '^    #[01] .* in H5' err; then # AddressSanitizer found an error of HDF5 itself
      reports=$((reports + 1))
    elif test $status -eq 0; then
      same "$what: error lines" "$(error_lines err | wc -l)" 0
    else
      same "$what: status" $status 1
      one_line "$what"
      grep -q "out of memory" err && pass || fail "$what: $(error_lines err)"
      absent n.tns
    fi
  done
  test $crashes -le $((tries / 50 + 1)) && pass || fail "$command: $crashes crashes of $tries"
  test $reports -le $((tries / 5 + 1)) && pass || fail "$command: $reports errors of HDF5 in $tries"
done <<'END'
libhdf5 1000 info t.h5 --verify
libhdf5 1000 convert t.h5 n.tns -q
libhdf5 1000 top whole1.h5
libjansson 20 info t.h5 --verify --json=n.json
libjansson 20 info whole1.h5 --json=n.json
END

# --- limits of the process ------------------------------------------------------------------------
# limited KIB COMMAND...: a result or an error, but no hang. OpenBLAS waits for ever for address
# space that it does not get; some of its versions do so before main.
limited() {
  (
    ulimit -v "$1"
    shift
    exec timeout -k 5 $patience "$@"
  )
}
"$amped" generate b.h5 --dims=300x40x500 --nnz=20k --seed=3 -q || fail "generate"
if ! limited 4000000 "$amped" --version 2>&1 | grep -q AddressSanitizer; then
  for kib in $(few 3 100000 200000 300000 60000 150000 250000 400000); do
    # Where the program itself does not fit the system ends it before it begins.
    test $kib -gt $(($(wc -c <"$amped") / 1024)) || continue
    for command in "info b.h5" "compare whole1.h5 whole2.h5" "convert t.tns n.h5 -q"; do
      # shellcheck disable=SC2086
      limited $kib "$amped" $command >out 2>err </dev/null
      status=$?
      if test $status -eq 0 || { test $status -eq 1 && grep -q "^amped_mpi: .*ulimit\|out of memory" err; } ||
        { test $status -eq 127 && grep -q "error while loading shared libraries" err; }; then
        pass
      else
        fail "$command within $kib KiB: status $status: $(head -2 err)"
      fi
    done
  done
  expect 0 "" limited 4000000 "$amped" info b.h5
  # OpenBLAS's threads also need memory that this limit refuses.
  (
    ulimit -d 100000
    exec timeout -k 5 $patience "$amped" --version >out 2>err
  )
  status=$?
  if ! grep -q "error while loading shared libraries\|^amped_mpi: BLAS needs .* ulimit -d" err; then
    same "status with ulimit -d" $status 0
  fi
  # starts KIB: does the loader have room for the program's libraries? CUDA's libraries need more than
  # the tests below leave.
  starts() {
    limited "$1" "$amped" --version >/dev/null 2>&1 && return 0
    echo "skipped: $1 KiB do not hold the program's libraries"
    return 1
  }
  if test "$backend" = cpu && starts 500000; then
    expect 1 "needs .* of host memory and the limit of the process leaves .*ulimit -v" \
      limited 500000 $mpirun -np 1 "$amped" b.h5 --iters=2 -t 2 --nowrite --backend=cpu
    expect 0 "fit" limited 4000000 $mpirun -np 1 "$amped" b.h5 --iters=2 -t 2 --nowrite --backend=cpu
  fi

  # A text tensor is ordered in memory, so a tensor beyond the limit is refused. (Growing buffers and
  # arrays may meet the limit before the count of nonzeros does.)
  awk 'BEGIN { for (i = 1; i <= 2000000; i++) print i, i % 77 + 1, i % 1009 + 1, 1 }' >long.tns
  # Where a text of five nonzeros is not read either, the program itself takes too much: its kernels do.
  head -n 5 long.tns >short.tns
  if test "$backend" = cpu && starts 300000 && ! limited 300000 $mpirun -np 1 "$amped" short.tns --rank=2 --iters=1 \
    --nowrite --backend=cpu -t 1 >out 2>&1 </dev/null; then
    echo "skipped: 300000 KiB do not hold the program and its threads: $(grep '^amped_mpi: ' out | head -n 1)"
  elif test "$backend" = cpu && starts 300000; then
    expect 1 "long.tns: has more than .* too many for .* amped_mpi convert\|out of memory: .* nonzeros" \
      limited 300000 $mpirun -np 1 "$amped" long.tns --rank=2 --iters=1 --nowrite --backend=cpu -t 1
  fi
else
  echo "skipped: limits of the process, which are below what AddressSanitizer reserves"
fi

# --- tensors that no machine holds ----------------------------------------------------------------
last=9223372036854775807
printf '%s 1 1 1\n1 2 3 2\n' $last >huge.tns
expect 0 "" "$amped" convert huge.tns huge.h5 -q
expect 0 "verified" "$amped" info huge.h5 --verify
expect 0 "$last" "$amped" convert huge.h5 - -q
for ranks in 1 2; do
  expect 1 "mode 1 has too many rows ($last) for any machine" on $ranks huge.h5 --plan
done
printf '9223372036854775808 1 1 1\n' >most.tns
expect 0 "" "$amped" convert most.tns most.h5 -q
expect 0 "verified" "$amped" info most.h5 --verify
printf '9223372036854775809 1 1 1\n' >more.tns
expect 3 "more.tns: line 1" "$amped" convert more.tns more.h5 -q
printf '1099511627776 1 1 1\n1 2 3 2\n' >large.tns
expect 0 "" "$amped" convert large.tns large.h5 -q
for ranks in 1 2 3; do
  expect 1 "need [0-9.]* [TP]iB of host memory and .* free; use more nodes or fewer components" on $ranks large.h5 --iters=1 --rank=32
done
# All modes, the most components: no size overflows before the refusal.
printf '1099511627776 1099511627776 1099511627776 1099511627776 1099511627776 1099511627776 1099511627776 1099511627776 1\n' >all.tns
expect 0 "" "$amped" convert all.tns all.h5 -q
for ranks in 1 3; do
  expect 1 "need [0-9.]* [PE]iB of host memory" on $ranks all.h5 --iters=1 --rank=1024 --precision=double --nowrite
done

finish
