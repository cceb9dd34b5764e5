#!/bin/sh
# Files of some MB that declare hundreds of MiB: no command takes more memory than docs/reliability.md says, and
# where a command needs all of it, it refuses before it reads. The preloaded library says that 512 MiB
# are free; what a command takes is measured. AMPED_BOUNDS_MIB: what each file declares.
. "$(dirname "$0")/../lib/lib.sh"
library=$(dirname "$amped")/tests/faults/fault.so
bombs=$(dirname "$amped")/tests/faults/bombs
if nm -D "$amped" 2>/dev/null | grep -q __asan_init; then
  echo "skipped: sanitizers take memory of their own, and forbid preloaded libraries"
  exit 77
fi
cd "$scratch" || exit 99
mib=${AMPED_BOUNDS_MIB-640}
size=$(awk -v m="$mib" 'BEGIN { printf m < 1024 ? "%.2f MiB" : "%.2f GiB", m < 1024 ? m : m / 1024 }')
expect 0 "" "$bombs" make "$mib"
printf 'MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n' >meminfo

# What the program itself takes, with its libraries: much where it is built with CUDA.
"$bombs" run "$amped" --version 3>mib >/dev/null || fail "--version"
program=$(cat mib)

# takes MIB STATUS PATTERN COMMAND...: as expect; the command takes so many MiB more at most.
takes() {
  bound=$((program + $1))
  want=$2
  pattern=$3
  shift 3
  expect "$want" "$pattern" "$bombs" run env LD_PRELOAD="$library${LD_PRELOAD:+:$LD_PRELOAD}" AMPED_FAULT_MEMINFO=meminfo "$amped" "$@" 3>mib
  test "$(cat mib)" -le "$bound" && pass || fail "$(cat mib) MiB, not $bound at most: $*"
}
least=90   # pieces of 8 MiB
chunk=620  # and a chunk of 256 MiB, twice
# needs_for WHAT: the line of a refusal.
needs_for() {
  echo "needs [0-9.]* [GM]iB of memory for $1, and 512.00 MiB are free; use a machine with more memory"
}

# What needs a part reads in pieces.
takes $least 0 "components   4" info factors.h5
takes $least 0 "component 4 of 4" top factors.h5
takes $chunk 0 "components   4" info chunks.h5
takes $least 0 'labels 1 .* zzzzzzzz\|labels 1 ' info labels.h5
takes $least 0 "component 4 of 4" top labels.h5
takes $least 0 "component 4 of 4" top labels.h5 --json=-
takes $least 0 "after [0-9]* sweeps" info history.h5
takes $least 0 "after [0-9]* sweeps" top history.h5
takes $least 0 "nonzeros" info nonzeros.h5
takes $least 0 "labels 1" info tensor_labels.h5
takes $least 0 "copy 1 .* iDps of 1 index" info tables.h5
takes $least 0 "verified" info factors.h5 --verify
takes $least 0 "verified" info labels.h5 --verify
takes $least 0 "verified" info tensor_labels.h5 --verify
takes $least 3 "beyond.h5: dataset /factors/0 has parts that were never written" info beyond.h5
# What needs all refuses before it reads, and names file, need, what is free and a remedy.
for file in factors chunks; do
  takes $chunk 1 "$file.h5: $(needs_for "its factors")" compare $file.h5 $file.h5
  takes $chunk 1 "$file.h5: $(needs_for "its factors")" plot $file.h5 -o out.svg
  takes $chunk 1 "$file.h5: $(needs_for "its factors")" convert $file.h5 out.npy
done
takes $least 1 "labels.h5: $(needs_for "/labels/mode_0/bytes and its offsets")" compare labels.h5 labels.h5
takes $least 1 "labels.h5: $(needs_for "/labels/mode_0/bytes and its offsets")" convert labels.h5 out.csv
takes $least 1 "history.h5: $(needs_for "its lists")" plot history.h5 -o out.svg
takes $least 1 "nonzeros.h5: $(needs_for "its nonzeros")" convert nonzeros.h5 out.h5 --memory=8G
takes $least 1 "tensor_labels.h5: needs [0-9.]* [GM]iB of memory for its labels, and .* are allowed; allow more" \
  convert tensor_labels.h5 out.h5 --memory=256M
takes $least 1 "tensor_labels.h5: $(needs_for "its labels")" convert tensor_labels.h5 out.h5 --memory=8G
takes $least 1 "tables.h5: $(needs_for "its iDp tables")" info tables.h5 --verify
# The text of an attribute is in the file, which has 64 MiB of it.
takes 490 3 "attribute.h5: attribute options has 67108864 bytes of text" info attribute.h5
# Lines of JSON.
takes $least 3 "sparse.json: has $size, and plot reads 256.00 MiB of lines at most" plot sparse.json -o out.svg
takes $least 3 "line.json: line 1 has more than 1 MiB" plot line.json -o out.svg
# A run: the start, the tables, the labels; and MPI has memory of its own.
"$amped" generate t.tns --dims=3x3x3 --nnz=9 -q || fail "generate"
takes 380 1 "factors.h5: $(needs_for "its factors")" t.tns --rank=4 --init=factors.h5 --nowrite --backend=cpu
takes 380 1 "tables.h5: $(needs_for "its iDp tables")" tables.h5 --rank=2 --nowrite --backend=cpu
takes 380 1 "tensor_labels.h5: $(needs_for "/labels/mode_0/bytes and its offsets")" tensor_labels.h5 --rank=2 \
  -o r.h5 --backend=cpu
finish
