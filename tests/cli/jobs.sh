#!/bin/sh
# Every job of jobs/: --help prints the job's head, and the pages that it names have its figures. An unknown argument is
# refused, and so is a missing program. The tables and figures of cpd's methods (fit-table, rbs-table, rbs-figure), of completion and of copies run on small tensors.
. "$(dirname "$0")/../lib/lib.sh"
jobs=$srcdir/jobs
cd "$scratch" || exit 99
AMPED_MPI=$amped AMPED_STARTS=3 MPIRUN=
export AMPED_MPI AMPED_STARTS MPIRUN

for job in "$jobs"/* "$jobs"/paper/*; do
  case $job in
    */help.sh | */program.sh | */local-mpi.sh | */paper/lib.sh | *.py) continue ;; # sourced or started by jobs
  esac
  test -f "$job" || continue
  case $(head -n 1 "$job") in
    *python3) command -v python3 >/dev/null 2>&1 || continue ;;
  esac
  timeout 60 "$job" --help >help 2>err </dev/null
  same "status of $job --help" $? 0
  same "$job --help writes no error" "$(cat err)" ""
  test -s help && pass || fail "$job --help prints nothing"
  for page in $(grep -o 'docs/[a-z0-9/-]*\.md' help | sort -u); do
    test -f "$srcdir/$page" && pass || fail "$job --help names $page, which does not exist"
  done
  # "The figure of PAGE", and DIR/NAME.svg: the page has the figure.
  page=$(sed -n 's/^The \(two plots\|plot\|figure\) of \(docs\/[a-z-]*\.md\).*/\2/p' help)
  for figure in $(test -z "$page" || grep -o '[a-z_][a-z_]*\.svg' help); do
    grep -q "figures/$figure" "$srcdir/$page" && pass || fail "$page has no $figure, which $job draws"
  done
done
same "files that --help leaves" "$(ls)" "err
help"

# Unknown arguments, before anything is measured.
for job in stream-table check-stream check-completion blco-table thesis fit-table rbs-table rbs-figure copies-figure stream-plot \
  side-by-side completion-plot install-packages; do
  "$jobs/$job" --nosuch >said 2>&1
  same "status of $job --nosuch" $? 2
  expect 0 "nosuch" cat said
done
for job in stream-table check-stream blco-table; do
  "$jobs/$job" nosuch --small >said 2>&1
  same "status of $job nosuch" $? 2
  expect 0 "nosuch" cat said
done

# --- tables and figures of cpd's methods ------------------------------------------------------------------
test "$backend" = cpu || finish
"$amped" generate t.h5 --dense --dims=30x24x20 --planted=2 --noise=0.1 -q || fail "generate"
# table FILE COLUMNS: a table of Markdown has one row of t.h5, with so many columns.
table() {
  same "rows of $1" "$(grep -c '^| t.h5' "$1")" 1
  same "columns of $1" "$(grep '^| t.h5' "$1" | awk -F '|' '{ print NF - 2 }')" "$2"
}
# The program: AMPED_MPI, also by a path from here; ./amped_mpi; amped_mpi in PATH.
mkdir bin
printf '#!/bin/sh\necho here >>"%s/used"\nexec "%s" "$@"\n' "$scratch" "$amped" >bin/amped_mpi
chmod +x bin/amped_mpi
for way in "AMPED_MPI=bin/amped_mpi" "AMPED_MPI= PATH=$scratch/bin:$PATH"; do
  rm -f used
  expect 0 "" env $way AMPED_STARTS=1 "$jobs/rbs-table" t.h5:2
  same "starts of bin/amped_mpi by $way" "$(wc -l <used | tr -d ' ')" 2
done
rm used
(cd bin && AMPED_MPI='' AMPED_STARTS=1 "$jobs/rbs-table" ../t.h5:2 >/dev/null)
same "starts of ./amped_mpi" "$(wc -l <used | tr -d ' ')" 2
AMPED_MPI=nosuch "$jobs/rbs-table" t.h5:2 >said 2>&1
same "status without a program" $? 2
expect 0 "rbs-table: nosuch: no such program" cat said
expect 0 "" "$jobs/fit-table" t.h5:2:0.9
cp out fits
table fits 5
if grep '^| t.h5' fits | grep -q inf; then fail "a method never has the fit: $(cat fits)"; else pass; fi
AMPED_ITERS=1 expect 0 "inf / inf / inf" "$jobs/fit-table" t.h5:2:0.99999
expect 0 "" "$jobs/rbs-table" t.h5:2
cp out sampling
table sampling 5
# ALS and sampling end at the planted model, whose noise is a tenth: a fit of 0.9.
for column in 3 4; do
  close "fit of column $column" "$(grep '^| t.h5' sampling | awk -F '|' -v c=$column '{ print $c + 0 }')" 0.9 0.02
done
if command -v gnuplot >/dev/null 2>&1 && command -v python3 >/dev/null 2>&1; then
  AMPED_BLOCKS="2 4 80" AMPED_RANK=2 expect 0 "Q = 80 is left out: a mode has 40 indices" "$jobs/rbs-figure" --cube=40
  same "runs of the figure" "$(grep -v '^#' figures/rbs.csv | sed 1d | cut -d , -f 1 | uniq | tr '\n' ',')" "ALS,Q = 2,Q = 4,"
  expect 0 "</svg>" cat figures/rbs.svg

  # A tensor in place of the real one.
  mkdir texts
  "$amped" generate r.h5 --dims=20x18x16 --planted=2 --factor-mean=1 --observed=0.3 --noise=0.1 -q || fail "generate"
  "$amped" convert r.h5 texts/tiny.tns.gz -q || fail "convert"
  AMPED_DATA=texts expect 0 "figures/completion.svg" "$jobs/completion-plot" tiny 2
  test "$(grep -v '^#' figures/completion.csv | sed 1d | cut -d , -f 1 | uniq | wc -l)" -gt 3 && pass || fail "methods of completion.csv"
  expect 0 "</svg>" cat figures/completion.svg

  # Copies over the memory of a GPU: a program that passes --device-memory over; nothing runs with 1G.
  printf '#!/bin/sh\nfor a in "$@"; do\n  shift\n  case $a in --device-memory=1G) exit 1 ;; --device-memory=* | --backend=cuda) ;; *) set -- "$@" "$a" ;; esac\ndone\nexec "%s" "$@"\n' \
    "$amped" >claims
  chmod +x claims
  # refuses PATTERN STATUS ARGUMENT...: with one line, and draws nothing.
  refuses() {
    pattern=$1 status=$2
    shift 2
    "$jobs/copies-figure" --out=none "$@" >said 2>&1
    same "status of copies-figure $*" $? "$status"
    expect 0 "$pattern" cat said
    absent none/copies.csv
  }
  AMPED_MPI=$amped refuses "copies-figure: the program reaches no GPU here (--backend=cuda" 2 --nnz=2k amazon=2G
  refuses "copies-figure: --nnz=x: a count is expected" 2 --nnz=x
  refuses "copies-figure: --runs=nosuch: no such folder" 2 --runs=nosuch
  AMPED_MPI=./claims refuses "copies-figure: no run succeeded; nothing is drawn" 1 --nnz=2k amazon=1G
  AMPED_MPI=./claims expect 0 "figures/copies.svg" "$jobs/copies-figure" --nnz=2k --keep=kept amazon=1G,2G twitch=3G
  same "rows of copies.csv" "$(grep -v '^#' figures/copies.csv | sed 1d | cut -d , -f 1,2 | tr '\n' ' ')" "amazon,2 twitch,3 "
  same "numbers of copies.csv" "$(grep -c '^[a-z]*,[23],[0-9.]*,[0-9.]*,[0-9.]*$' figures/copies.csv)" 2
  AMPED_MPI=nosuch expect 0 "again/copies.svg" "$jobs/copies-figure" --runs=kept --out=again
  cmp -s figures/copies.csv again/copies.csv && pass || fail "--runs draws other numbers"
fi
finish
