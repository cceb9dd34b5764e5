#!/bin/sh
# jobs/blco-table --small: rows of all 11 tensors; bytes and rates follow from times; the paper's numbers beside ours; files
# of FROSTT are taken; a failing run leaves dashes.
. "$(dirname "$0")/../lib/lib.sh"
needs python3
table=$(cd "$(dirname "$0")/../.." && pwd)/jobs/blco-table
cd "$scratch" || exit 99
AMPED_MPI=$amped AMPED_REPEAT=1 AMPED_OPTIONS=--backend=$backend MPIRUN=
export AMPED_MPI AMPED_REPEAT AMPED_OPTIONS MPIRUN

expect 0 "" "$table" --small
cp out all.md
# The table of modes by itself: a time of exactly 1 to 4 ms in the next table reads like a mode.
awk '/^\| tensor \|/ { modes = /^\| tensor \| mode \|/ } modes' all.md >modes.md
same "tensors" "$(grep -c '^| [a-z0-9-]* | generate |' all.md)" 11
same "modes" "$(grep -c '^| [a-z0-9-]* | [1-4] |' modes.md)" 39
same "cells of a mode" "$(awk -F '|' '/^\| [a-z0-9-]* \| [1-4] \|/ { print NF }' modes.md | sort -u)" 16
same "ours without a number" "$(awk -F ' *[|] *' '/^\| [a-z0-9-]* \| [1-4] \|/ {
  for (k = 4; k <= 9; k++) bad += !($k > 0) } END { print bad + 0 }' modes.md)" 0
expect 0 "| 4 |.*| 0.986 | 2.73 | 2.77 | 6.62 | 2.12 | 0.32 |$" grep "^| uber | 4 " modes.md
expect 0 "| 44.1 | 108 | 2.44 | 55.7 | 123 | 2.21 |$" grep "^| nell-1 | 1" modes.md
# 9.73 to 10.9 ms of a mode of BLCO; MM-CSF is 4.47 times as slow. Sizes differ, so nothing is over ours.
expect 0 "| 40.7 | 1.12 | 182 | 10.8 | 4.47 | - |$" grep "^| enron | [0-9.]* | [0-9.]* | [0-9.]* | [0-9.]* | [0-9.]* | 40.7" all.md
# 3309 nonzeros: three rows of 32 doubles and the packed nonzero each, and 20 rows of the output.
bytes=$(awk -F ' *[|] *' '$2 == "uber" && $3 == "generate" { print $6 }' all.md)
close "GB of uber, mode 1" "$(awk -F ' *[|] *' '$2 == "uber" && $3 == 1 { print $5 }' modes.md)" \
  "$(awk -v b="$bytes" 'BEGIN { print 1e-9 * (3309 * (3 * 256 + b) + 20 * 256) }')" 2e-5
awk -F ' *[|] *' '$2 == "uber" && $3 == 1 { print $5 / $4, $6 }' modes.md >rates
read -r want got <rates
close "TB/s of uber, mode 1" "$got" "$want" "$(awk -v x="$want" 'BEGIN { print 0.02 * x }')"

# --- FROSTT's files, several ranks, floats ------------------------------------------------------------------
mkdir frostt
expect 0 "" "$amped" generate frostt/uber.h5 --dims=18x5x30x40 --nnz=2000
flags=
test "$backend" = cuda && flags=--share-gpus
expect 0 "^| uber | a file | 18x5x30x40 | 2000 |" env MPIRUN="$mpirun ${AMPED_MPIRUN_FLAGS-} -np 2" \
  AMPED_OPTIONS="$AMPED_OPTIONS $flags --precision=float" "$table" --files=frostt uber
cp out files.md
expect 0 "float32, 2 ranks" cat files.md
same "bytes of a file" "$(test -f frostt/uber.h5 && echo kept)" kept

# --- errors -------------------------------------------------------------------------------------------------
refused() { # refused PATTERN ARGUMENT...: status 2 and a line that says why
  pattern=$1
  shift
  "$table" "$@" >said 2>&1
  same "status of $*" $? 2
  expect 0 "$pattern" cat said
}
refused "no tensor is called 'amazon'" amazon
refused "no option" --smal
refused "no such folder" --files=nowhere
refused "leave out --files" --small --files=frostt
expect 0 "jobs/blco-table \[--small\]" "$table" --help
cat >breaks <<'END'
#!/bin/sh
case "$*" in *--copies=one*) echo "amped_mpi: broken" >&2 && exit 1 ;; esac
exec "$REAL_AMPED" "$@"
END
chmod +x breaks
expect 1 "^| uber | - | - | [0-9]" env REAL_AMPED="$amped" AMPED_MPI="$scratch/breaks" "$table" --small uber
cp out broken.md
expect 0 "^| uber | 1 | - | - | - | [0-9]" cat broken.md

finish
