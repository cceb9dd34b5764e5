#!/bin/sh
# The scripts in jobs/slurm, submitted to a real Slurm of one node. This test starts Slurm in a
# folder of its own, with GPUs in name only: ranks compute on CPUs. Needs root, slurm-wlm, munge and
# a launcher that Open MPI understands (PMIx); skipped where these are missing.
. "$(dirname "$0")/../lib/lib.sh"
jobs=$(cd "$(dirname "$0")/../../jobs/slurm" && pwd) || exit 99
cd "$scratch" || exit 99

skip() {
  echo "skipped: $1"
  exit 77
}

down() {
  scancel --user=root --quiet 2>/dev/null
  for daemon in slurmd slurmctld munged; do
    test -s "$daemon.pid" || continue
    pid=$(cat "$daemon.pid")
    kill "$pid" 2>/dev/null
    for i in 1 2 3 4 5 6 7 8 9 10; do
      kill -0 "$pid" 2>/dev/null || break
      test "$i" -lt 10 || kill -9 "$pid" 2>/dev/null
      sleep 0.5
    done
  done
}

# Slurm without cgroups, accounting and binding, which containers do not allow; with more CPUs than
# the machine has. GPUs are links to a device. Slurm 22 drops GPUs without a file, and gives no
# numbers to GPUs whose file is not a device. A requeued job waits for the lifetime of credentials:
# 5 s, not 2 min.
configure() {
  host=$(hostname -s)
  port=$((20000 + $$ % 20000))
  mkdir ctld d key dev pmix
  chmod 0700 key
  chmod 0755 .
  (umask 077 && dd if=/dev/urandom of=key/munge.key bs=1024 count=1 2>/dev/null)
  cat >slurm.conf <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$scratch/munge.sock,cred_expire=5
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerParameters=bf_interval=2,sched_interval=2,batch_sched_delay=1
KillWait=5
JobRequeue=1
MailProg=/bin/true
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$scratch/ctld
SlurmdSpoolDir=$scratch/d
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
NodeName=$host NodeAddr=127.0.0.1 CPUs=64 Boards=1 SocketsPerBoard=2 CoresPerSocket=32 \
ThreadsPerCore=1 RealMemory=4000 Gres=gpu:8 State=UNKNOWN
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=cpu Nodes=ALL MaxTime=INFINITE State=UP
END
  for i in 0 1 2 3 4 5 6 7; do ln -s /dev/null "dev/nvidia$i"; done
  printf 'AutoDetect=off\nNodeName=%s Name=gpu File=%s/dev/nvidia[0-7]\n' "$host" "$scratch" >gres.conf
  echo "PMIxCliTmpDirBase=$scratch/pmix" >mpi.conf
}

up() {
  munged --key-file="$scratch/key/munge.key" --socket="$scratch/munge.sock" \
    --pid-file="$scratch/munged.pid" --log-file="$scratch/munged.log" \
    --seed-file="$scratch/key/seed" && slurmctld -c && slurmd || return
  for i in $(seq $patience); do
    test "$(sinfo -h -p gpu -o %t 2>/dev/null)" = idle && return
    sleep 0.5
  done
  return 1
}

# ended JOB: waits until the queue has no such job any more, and cancels it after too long.
ended() {
  for i in $(seq $patience); do
    test -z "$(squeue -h -j "$1" -t PD,R,CG,CF,S,RQ -o %i 2>/dev/null)" && return
    sleep 0.5
  done
  squeue -j "$1"
  scancel "$1"
  return 1
}

# submit NAME OPTION... SCRIPT ARGUMENT...: submits a job and waits for its end; the output goes to
# NAME.log.
submit() {
  name=$1
  shift
  if ! job=$(timeout $patience sbatch --parsable --output="$scratch/$name.log" "$@" 2>err); then
    fail "$name was not submitted: $(cat err)"
  elif ! ended "$job"; then
    fail "$name did not end"
    tail -n 20 "$name.log"
    finish
  else
    pass
  fi
}

# completed JOB NAME: the job ended with status 0.
completed() {
  status=$(scontrol -o show job "$1" | sed -n 's/.*JobState=\([A-Z]*\).*ExitCode=\([0-9:]*\).*/\1 \2/p')
  same "how $2 ended" "$status" "COMPLETED 0:0"
  case $status in
    COMPLETED*) ;;
    *) tail -n 20 "$2.log" ;;
  esac
}

# result NAME RANKS: the log has the command and the number of ranks, and the result is complete.
result() {
  expect 0 "" grep -q '^+ .*amped.* cpd ' "$1.log"
  expect 0 "" grep -q "on $2 ranks of 1 node" "$1.log"
  expect 0 "components *32" "$amped" info t.cpd.h5
  rm -f t.cpd.h5
}

test "$backend" = cpu || skip "this is about a batch system, not about GPUs"
test "$(id -u)" -eq 0 || skip "not root"
PATH=$PATH:/usr/sbin:/sbin
for tool in munged slurmctld slurmd sbatch; do
  command -v $tool >/dev/null || skip "no $tool (Debian, Ubuntu: apt-get install slurm-wlm munge)"
done
ls /sys/fs/cgroup/* >/dev/null 2>&1 || skip "no control groups, which slurmd asks for, are mounted here"
case $($mpirun --version 2>&1) in
  *"Open MPI"*) ;;
  *) skip "not Open MPI, which srun would start by PMIx" ;;
esac

SLURM_CONF=$scratch/slurm.conf
export SLURM_CONF
trap 'down; rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
configure
srun --mpi=list 2>&1 | grep -q pmix || skip "this Slurm knows no PMIx"
if ! up; then
  fail "no Slurm came up"
  tail -n 5 munged.log slurmctld.log slurmd.log
  finish
fi

# The program that scripts start: it also records its environment.
cat >program <<END
#!/bin/sh
echo "\${CUDA_VISIBLE_DEVICES-none} threads \${OMP_NUM_THREADS-none}" >>"$scratch/seen"
exec "$amped" "\$@"
END
# The program that container.sh starts where there is no Apptainer: it records its options and runs
# the command after the image's name.
mkdir bin
cat >bin/apptainer <<'END'
#!/bin/sh
echo "$*" >>apptainer.seen
while test "${1%.sif}" = "$1"; do shift; done
shift
exec "$@"
END
chmod +x program bin/apptainer
"$amped" generate t.h5 --dims=300x200x50 --nnz=5k --seed=3 -q || fail "generate"
AMPED=$scratch/program
AMPED_OPTIONS="--backend=cpu --iters=3 --tol=0"
PATH=$scratch/bin:$PATH
export AMPED AMPED_OPTIONS PATH
seen() { sort seen | uniq -c | sed 's/^ *//' | tr '\n' ';' && rm -f seen; }

# --- one node: as it is, with one GPU, and where each rank sees one GPU alone ---------------------
submit one "$jobs/one-node.sh" t.h5
completed "$job" one
same "every rank sees all GPUs" "$(seen)" "4 0,1,2,3 threads 8;"
result one 4
submit single --ntasks-per-node=1 --gpus-per-node=1 "$jobs/one-node.sh" t.h5
completed "$job" single
same "one GPU" "$(seen)" "1 0 threads 8;"
# (The srun of Slurm 23.11 takes the job's own --cpus-per-task, in that variable, for a contradiction.)
export LAUNCHER="env -u SLURM_TRES_PER_TASK srun --mpi=pmix --gpus-per-task=1"
submit masked --ntasks-per-node=2 --gpus-per-node=2 "$jobs/one-node.sh" t.h5
unset LAUNCHER
completed "$job" masked
same "one GPU for each rank" "$(seen)" "1 0 threads 8;1 1 threads 8;"
result masked 2

# --- resources of ranks ---------------------------------------------------------------------------
timeout $patience srun --mpi=pmix --ntasks=2 --gpus-per-task=1 "$amped" info --system >system.log 2>&1 ||
  fail "info --system by srun: $(tail -n 3 system.log)"
same "ranks by srun" \
  "$(sed -n 's/^rank \([01]\) .*local rank \([01]\):.*/\1 \2;/p' system.log | tr '\n' ' ')" "0 0; 1 1; "

# --- several nodes' script on the one that is here, by srun and by mpirun -------------------------
submit nodes --nodes=1 --cpus-per-task=2 "$jobs/multi-node.sh" t.h5
completed "$job" nodes
same "every rank sees all GPUs" "$(seen)" "4 0,1,2,3 threads 2;"
result nodes 4
export LAUNCHER="mpirun --bind-to none --map-by ppr:2:node"
submit mpirun --nodes=1 --ntasks-per-node=2 --gpus-per-node=2 "$jobs/multi-node.sh" t.h5
unset LAUNCHER
completed "$job" mpirun
same "by mpirun too" "$(seen)" "2 0,1 threads 8;"
result mpirun 2

# --- CPUs, a container ----------------------------------------------------------------------------
submit cpu --cpus-per-task=1 "$jobs/cpu.sh" t.h5
completed "$job" cpu
same "no GPU" "$(seen)" "2 none threads 1;"
same "partition" "$(scontrol -o show job "$job" | sed -n 's/.* Partition=\([a-z]*\).*/\1/p')" cpu
result cpu 2
submit container --ntasks-per-node=2 --gpus-per-node=2 "$jobs/container.sh" t.h5 image.sif
completed "$job" container
result container 2
same "container's options" "$(sort -u apptainer.seen | sed 's/ image.sif .*//')" \
  "exec --nv --bind $scratch,$scratch --pwd $scratch"

# --- an array, and the best of it -----------------------------------------------------------------
submit array-%a --array=0-3 --ntasks-per-node=1 --gpus-per-node=1 "$jobs/array.sh" t.h5 "2 4" "1 2"
for R in 2 4; do
  expect 0 "components *$R" "$amped" info t.r$R.s2.cpd.h5
  fits="$(field fit t.r$R.s1.json) $(field fit t.r$R.s2.json)"
  echo "$fits" | awk -v R=$R 'NF == 2 { print "t.r" R ".s" ($1 >= $2 ? 1 : 2) ".cpd.h5" }' >best.$R
done
echo '{"event":"start","rank":4}' >t.r4.s7.json
submit best "$jobs/pick-best.sh" t
completed "$job" best
same "the best of R = 2" "$(readlink t.r2.best.cpd.h5)" "$(cat best.2)"
same "the best of R = 4" "$(readlink t.r4.best.cpd.h5)" "$(cat best.4)"
same "a run that has not ended" "$(grep -c '4  *7  unfinished$' best.log)" 1
submit wrong-%a --array=0-1 --ntasks-per-node=1 --gpus-per-node=1 "$jobs/array.sh" t.h5 "2 4" "1 2"
expect 0 "" grep -q "need --array=0-3" wrong-0.log

# --- the limit comes near: a checkpoint, the queue, and on ----------------------------------------
if "$amped" cpd --help | grep -q -e --checkpoint; then
  # The first job ends by the signal alone, the second one soon.
  cat >program <<END
#!/bin/sh
tol=0
test "\${SLURM_RESTART_COUNT:-0}" -eq 0 || tol=1
exec "$amped" "\$@" --tol=\$tol
END
  AMPED_OPTIONS="--backend=cpu --iters=1000000 -o requeued.cpd.h5"
  job=$(sbatch --parsable --output=requeue.log --ntasks-per-node=2 --gpus-per-node=2 \
    --cpus-per-task=1 "$jobs/requeue.sh" t.h5) || fail "requeue was not submitted"
  for i in $(seq $patience); do
    grep -q '^sweep' requeue.log 2>/dev/null && break
    sleep 0.5
  done
  scancel --signal=USR1 --batch "$job"
  if ended "$job"; then pass; else fail "requeue did not end"; fi
  completed "$job" requeue
  same "turns" "$(grep -c '^+ .*--checkpoint=' requeue.log)" 2
  expect 0 "" grep -q '^resume: amped-.*after sweep [1-9]' requeue.log
  expect 0 "stopped on *tolerance" "$amped" info requeued.cpd.h5

  # scancel sends SIGTERM to all ranks at once, and no other signal for KillWait: a checkpoint, no
  # requeue. This is another job with a checkpoint of its own.
  cat >program <<END
#!/bin/sh
exec "$amped" "\$@" --tol=0
END
  job=$(sbatch --parsable --output=cancel.log --ntasks-per-node=2 --gpus-per-node=2 \
    --cpus-per-task=1 "$jobs/requeue.sh" t.h5) || fail "requeue was not submitted"
  for i in $(seq $patience); do
    grep -q '^sweep' cancel.log 2>/dev/null && break
    sleep 0.5
  done
  scancel "$job"
  if ended "$job"; then pass; else fail "a cancelled job did not end"; fi
  same "how a cancelled job ended" "$(scontrol -o show job "$job" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p')" CANCELLED
  expect 0 "" grep -q "amped-$job.ckpt: holds the run after sweep" cancel.log
  expect 0 "components *32" "$amped" info "amped-$job.ckpt"
  same "turns of a cancelled job" "$(grep -c '^+ .*--checkpoint=' cancel.log)" 1
else
  echo "skipped: requeue.sh, as this amped_mpi has no --checkpoint"
fi

finish
