#!/bin/sh
# jobs/paper: every plot, small, on CPU ranks; wrong options; a failing run.
. "$(dirname "$0")/../lib/lib.sh"
needs python3
cd "$scratch" || exit 99
paper=$srcdir/jobs/paper
AMPED_MPI=$amped
export AMPED_MPI

rows() { # rows TABLE: without the header
  grep -v '^#' "plots/$1.csv" | sed 1d | wc -l | tr -d ' '
}
cells() { # cells TABLE COLUMN: how many rows hold a number above 0 there
  grep -v '^#' "plots/$1.csv" | sed 1d | awk -F , -v c="$2" '$c + 0 > 0 { n++ } END { print n + 0 }'
}

expect 0 "plots/total_time.csv" sh "$paper/all" --nnz=20k --ranks=1,2 --tensors=amazon,twitch \
  --repeat=1 --backend=cpu --out=plots --mpirun="$mpirun ${AMPED_MPIRUN_FLAGS-}"
for t in "total_time 2 2 2" "sustained 2 2 2" "breakdown 3 2 3" "overhead 2 4 2" "scaling 2 5 2" \
  "preprocessing 2 6 2" "balancing 5 5 2"; do
  # shellcheck disable=SC2086 # four words
  set -- $t
  same "rows of $1" "$(rows "$1")" "$2"
  same "numbers in column $3 of $1" "$(cells "$1" "$3")" "$4"
  for what in commit machine command date; do
    expect 0 "^# $what: ." cat "plots/$1.csv"
  done
  if command -v gnuplot >/dev/null 2>&1; then
    expect 0 "</svg>" cat "plots/$1.svg"
    same "$1.png is a picture" "$(dd if="plots/$1.png" bs=1 skip=1 count=3 2>/dev/null)" PNG
  fi
done
expect 0 "^# tensors: .*as the paper's, synthetic$" cat plots/total_time.csv
# Speed-ups follow from the times: total_time has both. The plot is drawn again from the table
# alone, in another folder.
if command -v gnuplot >/dev/null 2>&1; then
  mkdir again
  cp plots/breakdown.csv again/
  expect 0 "again/breakdown.csv, .png, .svg" sh "$paper/redraw" again/breakdown.csv
  if cmp -s plots/breakdown.svg again/breakdown.svg; then pass; else fail "redrawn otherwise"; fi
  # A long command is wrapped: all of it is in the picture.
  sed 's/^# command: .*/& --mpirun=mpirun --bind-to none --mca pml ucx --mca pml_ucx_tls any -x WORDS=a,b,c -x LAST=word/' \
    plots/breakdown.csv >again/long.csv
  expect 0 "again/long.csv, .png, .svg" sh "$paper/redraw" again/long.csv
  expect 0 "LAST=word<" cat again/long.svg
  # In a plot every series has a colour of its own; black is the geometric mean's, grey the paper's.
  for csv in plots/total_time.csv plots/breakdown.csv plots/scaling.csv plots/preprocessing.csv \
    plots/balancing.csv; do
    expect 0 "" sh -c '. "$0"
      csv=$1
      plotted=$(sed -n "s/^# plot: //p" "$csv")
      set -- ${plotted%%|*}
      for i in $(seq "$2" "$3"); do style $((i - $2 + 1)) "$(series "$i")"; done |
        cut -d " " -f 1 | sort | uniq -c | sed "s/^ *//" | grep -v "^1 \|^2 #808080" && exit 1
      exit 0' "$paper/lib.sh" "$csv"
  done
  same "black" "$(grep -c 'color="black" .*stroke-width="4' plots/scaling.svg |
    awk '{ print ($1 > 0) }')" 1
  sh "$paper/redraw" "$paper/lib.sh" 2>err
  same "a file that is no table" "$?" 2
fi

grep -v '^#' plots/total_time.csv | awk -F , 'NR > 1 { print $6 / $2, $10 }' >speedups
while read -r want got; do
  close "speed-up" "$got" "$want" "$(awk -v x="$want" 'BEGIN { print 1e-5 * x }')"
done <speedups
# The parts of a sum add up to 100 %.
grep -v '^#' plots/breakdown.csv | awk -F , 'NR > 1 && $6 == "nan" { print $2 + $3 + $4 + $5 }' >sums
while read -r sum; do
  close "the parts of a breakdown" "$sum" 100 1e-2
done <sums
# Known facts are not asked for again.
same "a second figure measures nothing" "$(sh "$paper/overhead" --nnz=20k --ranks=1,2 \
  --tensors=amazon,twitch --repeat=1 --backend=cpu --out=plots \
  --mpirun="$mpirun ${AMPED_MPIRUN_FLAGS-}" 2>&1 | grep -c '^+')" 0

# Without --ranks, a machine with two GPUs is measured on one and two; CPU ranks are four.
mkdir two
printf '#!/bin/sh\necho "GPU 0: A (UUID: a)"\necho "GPU 1: A (UUID: b)"\n' >two/nvidia-smi
chmod +x two/nvidia-smi
for t in "auto 2" "cpu 4"; do
  # shellcheck disable=SC2086 # two words
  set -- $t
  PATH=$scratch/two:$PATH expect 0 "" sh "$paper/overhead" --nnz=20k --tensors=amazon --repeat=1 --backend="$1" \
    --out="by_$1" --mpirun="$mpirun ${AMPED_MPIRUN_FLAGS-}"
  expect 0 "^# machine: $2 x" cat "by_$1/overhead.csv"
done

# --- errors ---------------------------------------------------------------------------------------
refused() { # refused PATTERN ARGUMENT...: status 2 and a line that says why
  pattern=$1
  shift
  sh "$paper/scaling" "$@" >said 2>&1
  same "status of $*" $? 2
  expect 0 "$pattern" cat said
}
refused "count" --nnz=x
refused "count" --repeat=0
refused "count" --repeat=x
refused "begins with 1" --ranks=2,4
refused "none of the paper" --tensors=nell2
refused "no option" --nnnz=5
refused "goes with --nnz" --full-dims
refused "no such command" --mpirun=no-such-mpirun
expect 0 "Usage: jobs/paper/scaling" sh "$paper/scaling" --help
# A failing run is reported, is nan in the table, and gives status 1.
cat >breaks <<'END'
#!/bin/sh
case "$*" in *twitch*) echo "amped_mpi: broken" >&2 && exit 1 ;; esac
exec "$REAL_AMPED" "$@"
END
chmod +x breaks
REAL_AMPED=$amped AMPED_MPI=./breaks sh "$paper/overhead" --nnz=20k --ranks=1 --repeat=1 \
  --tensors=amazon,twitch --backend=cpu --out=broken --mpirun="$mpirun" >said 2>&1
same "status where a run failed" $? 1
expect 0 "amped_mpi: broken" cat said
expect 0 "^twitch,nan" cat broken/overhead.csv
expect 0 "^amazon,0" cat broken/overhead.csv

# Plots that need GPUs: a replacement program claims to have them. Options are left out, the name is
# replaced.
cat >claims <<'END'
#!/bin/sh
for a in "$@"; do
  shift
  case $a in --residency=* | --kernel=*) continue ;; --backend=cuda) a=--backend=cpu ;; --json=*) told=${a#--json=} ;; esac
  set -- "$@" "$a"
done
"$REAL_AMPED" "$@" || exit
sed 's/"backend":"cpu"/"backend":"cuda"/' "$told" >changed && cat changed >"$told"
END
chmod +x claims
for figure in total_time breakdown scaling; do
  REAL_AMPED=$amped AMPED_MPI=./claims expect 0 "" sh "$paper/$figure" --nnz=20k --ranks=1 \
    --repeat=1 --tensors=amazon --backend=cuda --out=gpu --mpirun="$mpirun"
done
for column in 2 3 4 5 6 7 8 9 10; do
  same "total_time on GPUs, column $column" "$(grep -v '^#' gpu/total_time.csv | sed 1d |
    awk -F , -v c=$column '$c + 0 > 0 { n++ } END { print n + 0 }')" 1
done
same "breakdown on GPUs" "$(grep -c '^amazon' gpu/breakdown.csv)" 2
same "scaling, streamed" "$(grep -c '^1,1,1,1$' gpu/scaling_streamed.csv)" 1

finish
