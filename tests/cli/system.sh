#!/bin/sh
# info --system: the resources of each rank, as text and as JSON, and refused options.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# ranks N ARGUMENT...: the program on N ranks, without an option for the backend.
ranks() {
  n=$1
  shift
  # shellcheck disable=SC2086
  timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np "$n" "$amped" "$@"
}

# --- text -----------------------------------------------------------------------------------------
expect 0 "^MPI  *[A-Z].*, standard [2-9]" "$amped" info --system
grep -q "1 rank on 1 node" out && pass || fail "not one rank: $(head -1 out)"
expect 0 "^HDF5  *1\\." ranks 3 info --system
same "a line for every rank" "$(grep -c '^rank [0-2] ' out)" 3
same "said once" "$(grep -c '^MPI ' out)" 1
grep -q '^CUDA-aware  *\(yes\|no\).*(MPI.s header: ' out && pass || fail "no line on CUDA-aware MPI"
grep -q '^BLAS  *.' out && pass || fail "no BLAS"
grep -q "^node  *$(uname -n | cut -d. -f1)" out && pass || fail "no node: $(grep ^node out)"
# Kernels of an old processor are slow: said once, by runs too. An OpenBLAS without a choice of kernels
# has its own.
"$amped" generate t.h5 --dims=9x8x7 --nnz=100 --seed=1 -q || fail "generate"
export OPENBLAS_CORETYPE=Prescott
ranks 2 info --system >old 2>&1
if grep -q '^BLAS .*Prescott' old && grep -qw avx2 /proc/cpuinfo; then
  ranks 2 t.h5 --rank=2 --iters=1 --nowrite --backend=cpu >run 2>&1
  for file in old run; do
    same "warnings of slow kernels, $file" \
      "$(grep -c 'warning: OpenBLAS computes with kernels of an old processor (Prescott)' $file)" 1
  done
  grep -q 'OPENBLAS_CORETYPE=[HS]' run && pass || fail "no remedy: $(cat run)"
  OPENBLAS_CORETYPE=Haswell ranks 2 t.h5 --rank=2 --iters=1 --nowrite --backend=cpu >run 2>&1
  grep -q 'old processor' run && fail "warned of Haswell's kernels" || pass
else
  echo "skipped: slow kernels (OpenBLAS has no others here, or the processor has no AVX2)"
fi
unset OPENBLAS_CORETYPE
# The number of threads that a run would have.
OMP_NUM_THREADS=3 "$amped" info --system >three 2>&1
grep -q '^rank 0 .* 3 threads' three && pass || fail "not 3 threads: $(grep '^rank' three)"
if command -v taskset >/dev/null 2>&1; then
  env -u OMP_NUM_THREADS OMP_PROC_BIND=true taskset -c 0 "$amped" info --system >bound 2>&1
  grep -q '^rank 0 .* 1 core (0), 1 thread;' bound && pass || fail "not bound: $(grep '^rank' bound)"
fi

# srun and MPI do not know each other here: every process is a job of one rank.
SLURM_STEP_NUM_TASKS=2 "$amped" info --system >alone 2>&1 || fail "status $? as a job of its own"
grep -q 'warning: srun started 2 processes, and MPI takes this one for a job' alone && pass ||
  fail "no warning of ranks that are alone: $(cat alone)"
SLURM_STEP_NUM_TASKS=2 ranks 2 info --system >both 2>&1
grep -q 'warning: srun' both && fail "warned of two ranks that are one job" || pass

# --- JSON: the same as one object, and the text on standard error ----------------------------------
ranks 2 info --system --json=- >j 2>text || fail "status $? with --json=-"
same "JSON lines" "$(grep -c '^{.*}$' j) of $(wc -l <j | tr -d ' ')" "1 of 1"
same "text lines of ranks" "$(grep -c '^rank' text)" 2
python=$(find_python)
if test -n "$python"; then
  cat >read.py <<'END'
import json, os, sys
s = json.load(open(sys.argv[1]))
assert s["kind"] == "system" and s["nranks"] == 2 and len(s["ranks"]) == 2 and len(s["nodes"]) == 1
assert s["nodes"][0]["ranks"] == 2 and s["nodes"][0]["first_rank"] == 0
assert [r["local_rank"] for r in s["ranks"]] == [0, 1]
total = s["nodes"][0]["memory_bytes"]
assert all(0 < r["memory_free_bytes"] <= total for r in s["ranks"])
assert all(1 <= r["cores"] <= os.cpu_count() for r in s["ranks"])
assert s["mpi"]["cuda_aware"] in (True, False)
assert (s["cuda"] is None) == (s["ranks"][0]["no_gpu"] == "this program was built without CUDA")
for node in s["nodes"]:
    for i, g in enumerate(node["gpus"]):
        assert g["uuid"].startswith("GPU-") and g["memory_bytes"] > 0 and g["pci"].count(":") == 2
        assert len(g["links"]) == len(node["gpus"]) and g["links"][i] is None
for r in s["ranks"]:
    assert (r["gpu"] is None) == (r["gpus_visible"] == 0)
print("fine")
END
  expect 0 "fine" "$python" read.py j
fi

# --- GPUs, or why there are none -------------------------------------------------------------------
"$amped" --version >version
if test "$backend" = cuda; then
  expect 0 "^CUDA  *runtime [0-9]" "$amped" info --system
  expect 0 "^  GPU 0 .*GPU-" "$amped" info --system
  expect 0 "^rank 0 .*: GPU 0, .* free" "$amped" info --system
  CUDA_VISIBLE_DEVICES=0 ranks 2 info --system >shared 2>&1 || fail "two ranks on a GPU"
  grep -q 'warning: ranks 0 and 1 take the same GPU' shared && pass || fail "no warning: $(cat shared)"
  grep -q '1 visible (CUDA_VISIBLE_DEVICES=0)' shared && pass || fail "no CUDA_VISIBLE_DEVICES"
elif grep -q cuda version; then
  CUDA_VISIBLE_DEVICES='' "$amped" info --system >none 2>&1 || fail "status $? without a visible GPU"
  grep -q '^CUDA  *no rank has a GPU: ' none && pass || fail "not told why there is no GPU"
else
  expect 0 "^CUDA  *built without CUDA" "$amped" info --system
fi

# --- refused --------------------------------------------------------------------------------------
expect 2 "leave out x.h5" "$amped" info x.h5 --system
expect 2 "leave out --verify" "$amped" info --system --verify
expect 2 "missing; give one, or --system" "$amped" info
expect 2 "has no option --system" "$amped" top x.h5 --system
expect 1 "no/such" ranks 2 info --system --json=no/such/x.json
expect 0 "" "$amped" info --system -q
same "answer with -q" "$(grep -c '^rank 0' out)" 1

finish
