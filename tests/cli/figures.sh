#!/bin/sh
# jobs/figures --small: a run of each kind, whose numbers are those that the program prints; runs that are not repeated, runs
# that fail, wrong options; tables made of the file. Tables of docs/benchmarks.md are those of its file.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
needs python3
AMPED_MPI=$amped
MPIRUN="$mpirun ${AMPED_MPIRUN_FLAGS-}"
export AMPED_MPI MPIRUN
figures() { python3 "$srcdir/jobs/figures" "$@"; }
# ends STATUS PATTERN OPTION...: jobs/figures ends with this status, and says this.
ends() {
  status=$1 pattern=$2
  shift 2
  figures "$@" >said 2>&1
  same "status of figures $*" $? "$status"
  expect 0 "$pattern" cat said
}

each="^(mttkrp amazon( @2)?|one copy nell2|sweep patents|counts nell2|models amazon 6 .*|dense 200.4 float exact 16"
each="$each|complete netflix 16|batches netflix|cores 2330000x.*|peers 46x[0-9x]*|load text)\$"
expect 0 "13 runs in f.json, 0 missing" figures --small --only="$each" --out=f.json
expect 0 "13 runs in f.json, 0 missing, 0 s" figures --small --only="$each" --out=f.json
cat >positive.py <<'END'
import json
runs = json.load(open("f.json"))["runs"]
assert all(r["command"].split("amped_mpi ")[1].split()[0] in ("bench", "cpd") for r in runs.values())
assert all(r["ms"] > 0 for n, r in runs.items() if not n.startswith("load")), runs
assert runs["load text"]["parts"]["whole"] > runs["load text"]["parts"]["load"] > 0
assert runs["mttkrp amazon @2"]["ranks"] == 2 and runs["mttkrp amazon"]["ranks"] == 1
counts = runs["counts nell2"]
assert abs(counts["ratio"] - counts["ms"] / counts["mttkrp_ms"]) < 1e-12
END
if python3 positive.py; then pass; else fail "values of the runs"; fi

# Milliseconds of the JSON line are those of the text, which has three digits after the point.
expect 0 "" "$amped" bench --shape=nell2 --scale=0.001 --loss=poisson --repeat=3 --json=c.json
for column in "2 mttkrp_ms" "3 ratios_ms"; do
  close "${column#* } of all modes" "$(grep '"event":"counts"' c.json | sed "s/.*\"modes\":\[.*\]//; s/.*\"${column#* }\":\([0-9.e+-]*\).*/\1/")" \
    "$(awk -v c="${column% *}" '$1 == "all" { print $c }' out)" 0.00051
done

# Tables: a run that is there, one that is not, a name that is none.
printf 'before\n<!-- figures counts -->\nold\n<!-- end -->\nafter\n' >page.md
ends 1 "page.md has other tables" --page=page.md --check f.json
expect 0 "" figures --page=page.md f.json
expect 0 "" figures --page=page.md --check f.json
same "lines around a table" "$(sed -n '1p;$p' page.md | tr '\n' ' ')" "before after "
same "rows of a table" "$(grep -c '^| [a-z0-9]* | [0-9.e-]* | [0-9.e-]* | [0-9.]* |$' page.md)" 1
same "rows without a run" "$(grep -c '^| [a-z]* | - | - | - |$' page.md)" 4
printf '<!-- figures nosuch -->\n<!-- end -->\n' >page.md
ends 2 "page.md: no table is called nosuch" --page=page.md f.json
expect 0 "" figures --page="$srcdir/docs/benchmarks.md" --check "$srcdir/docs/figures/h200.json"

# A program that fails: each run is named, and the status says so.
printf '#!/bin/sh\ntest "$1" = --version && exec "%s" --version\necho "broken" >&2\nexit 3\n' "$amped" >fails
chmod +x fails
AMPED_MPI=./fails
ends 1 "mttkrp amazon: failed: broken" --small --only='^mttkrp amazon$' --out=g.json
expect 0 '"mttkrp amazon": "broken"' cat g.json
AMPED_MPI=$amped
ends 1 "0 runs in h.json, 1 missing" --small --only='^mttkrp amazon$' --seconds=0 --out=h.json
AMPED_MPI=nosuch
ends 2 "nosuch: no such program"
AMPED_MPI=$amped
ends 2 "is no option" --smal
ends 2 "one or --all" --one --all
ends 2 "needs the files" --page=page.md
expect 0 "^counts twitch: bench --shape=twitch --nnz=500M --loss=poisson$" figures --list
finish
