#!/bin/sh
# Wrong options (status 2), bad input (3) and failing output (1): one line each, and no file stays.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

"$amped" generate good.h5 --dims=10x11x12 --nnz=200 --seed=1 -q || fail "generate"

# Every command is in README's table, and has a help text that ends with an example.
for command in $("$amped" --complete commands); do
  grep -q "^| \`$command" "$srcdir/README.md" && pass || fail "README's table has no line of $command"
  expect 0 "Example:" "$amped" $command --help
done

# --- usage ----------------------------------------------------------------------------------------
expect 2 "did you mean --rank" "$amped" good.h5 --rnak=3
expect 2 "did you mean 'convert'" "$amped" converd good.h5 x.tns
# Commands are suggested by meaning, too.
expect 2 "did you mean 'cpd'" "$amped" decompose good.h5
expect 2 "did you mean 'top'" "$amped" Show good.h5
expect 2 "did you mean '--help'" "$amped" help
expect 2 "1 to 1024" "$amped" good.h5 --rank=0
expect 2 "1 to 1024" "$amped" good.h5 --rank=1025
expect 2 "1 to 1024" "$amped" good.h5 --rank=x
expect 2 "needs a value" "$amped" good.h5 --rank
expect 2 "takes no value" "$amped" good.h5 --nowrite=1
expect 2 "float or double" "$amped" good.h5 --precision=half
expect 2 "whole number" "$amped" good.h5 --iters=0
expect 2 "missing.*--help" "$amped"
expect 2 "missing" "$amped" cpd
expect 2 "missing" "$amped" convert good.h5
expect 2 "too many" "$amped" good.h5 good.h5
expect 2 "has no option --tol" "$amped" bench good.h5 --tol=1
expect 2 "has no option --rank" "$amped" convert good.h5 x.tns --rank=3
expect 2 "2 to 8 dimensions" "$amped" convert good.h5 x.tns --dims=3
expect 2 "" "$amped" convert good.h5 x.h5 --keys=a,b,c
expect 2 "" "$amped" convert good.h5 x.unknown
absent x.unknown x.tns x.h5
expect 2 "" "$amped" generate x.h5
expect 2 "" "$amped" generate x.h5 --dims=3x3x3 --nnz=5 --noise=0.1
expect 2 "has no option" "$amped" -n 3 good.h5
expect 2 "takes no value" "$amped" good.h5 --help=3
# Options without effect are refused.
expect 2 "nowrite" "$amped" good.h5 --nowrite -o x.h5
expect 2 "plan" "$amped" good.h5 --plan -o x.h5
absent x.h5
# Only similar names are suggested.
for wrong in "question" "good.h5 -x"; do
  # shellcheck disable=SC2086
  expect 2 "" "$amped" $wrong
  grep -q "did you mean" "$scratch/err" && fail "a far suggestion for $wrong" || pass
done
# Many ranks write one line together.
expect 2 "did you mean --rank" $mpirun -np 3 "$amped" good.h5 --rnak=3

# --- help and version -----------------------------------------------------------------------------
expect 0 "Usage" "$amped" --help
for c in $("$amped" --complete commands); do
  expect 0 "Usage.* $c " "$amped" $c --help
  same "options that $c has twice" "$("$amped" $c --help | sed -n 's/^  \(    \|-., \)--\([a-z0-9-]*\).*/\2/p' | sort | uniq -d)" ""
  grep -q "$c" "$scratch/out" || fail "help of $c"
done
expect 0 "amped_mpi [0-9]" "$amped" --version
"$amped" cpd --help | grep -q "not implemented" && fail "--help promises what is not there" || pass

# --- bad text -------------------------------------------------------------------------------------
bad() { # bad PATTERN TEXT [OPTION]...: convert refuses it and names the line
  pattern=$1
  printf "$2" >bad.tns
  shift 2
  expect 3 "$pattern" "$amped" convert bad.tns bad.h5 "$@"
  absent bad.h5
}
bad "empty" ""
bad "no nonzeros" "# only a comment\n\n"
bad "line 2.*index-base" "1 1 1 1\n0 1 1 1\n"
bad "line 1" "1 -1 1 1\n"
bad "line 2" "1 1 1 1\n4 1 1 1\n" --dims=3x3x3
bad "line 1" "1 99999999999999999999 1 1\n"
bad "line 3" "1 1 1 1\n1 1 2 1\n1 1 1\n"
bad "line 1" "1 1 one 1\n"
bad "line 2" "1 1 1 1\n1 2 1 x\n"
bad "line 1" "1 1 1 nan\n"
bad "line 1" "1 1 1 inf\n"
bad "line 1" "1 1 1 1e999\n"
bad "order" "1 1\n"
bad "order" "1 1 1 1 1 1 1 1 1 1\n"
bad "3 nonzeros are announced, but 2 follow; is the file truncated" \
  "sptensor\n3\n9 9 9\n3\n1 1 1 1\n2 2 2 2\n"
bad "1 nonzeros are announced, but 2 follow; correct" "sptensor\n3\n9 9 9\n1\n1 1 1 1\n2 2 2 2\n"
bad "twice\|duplicate" "1 2 3 4\n1 2 3 4\n" --duplicates=error
bad "" "1 2 3 0\n" --drop-zeros
expect 3 "No such file" "$amped" convert missing.tns x.h5
mkdir folder.tns
expect 3 "is a directory" "$amped" convert folder.tns x.h5
printf '1 1 1 1\n' | gzip | head -c 20 >cut.tns.gz
expect 3 "" "$amped" convert cut.tns.gz x.h5
absent x.h5

# --- bad tables -----------------------------------------------------------------------------------
printf 'a,b,c,n\nx,y,z,1\nx,y,w,many\n' >bad.csv
expect 3 "line 3" "$amped" convert bad.csv x.h5 --value=n
expect 3 "a, *b, *c" "$amped" convert bad.csv x.h5 --keys=a,b,nope --value=n
absent x.h5

# --- bad tensor files, seen by every command ------------------------------------------------------
printf 'this is not HDF5' >text.h5
head -c 3000 good.h5 >cut.h5
: >empty.h5
for f in missing.h5 empty.h5 text.h5 cut.h5; do
  expect 3 "$f" on 2 $f --rank=2 -o out.h5
  expect 3 "$f" "$amped" info $f
  expect 3 "$f" "$amped" top $f
  expect 3 "$f" "$amped" convert $f out.tns
  absent out.h5 out.tns
done
expect 3 "" "$amped" top good.h5
expect 3 "" on 2 good.h5 --rank=2 --init=good.h5 -o out.h5
absent out.h5
expect 0 "" on 1 good.h5 --rank=3 --iters=1 -o three.h5 -q
expect 3 "3 components" on 2 good.h5 --rank=2 --init=three.h5 -o out.h5
expect 3 "" on 2 three.h5 --rank=2 -o out.h5
absent out.h5
# On every rank a checksum shows damage in the middle of the data.
size=$(wc -c <good.h5)
cp good.h5 damaged.h5
python=$(find_python)
expect 0 "verified" "$amped" info good.h5 --verify
if test -n "$python"; then
  "$python" - damaged.h5 <<'PY'
import h5py, sys
f = h5py.File(sys.argv[1], 'r')
o = f['/amped/mode_1/values'].id.get_chunk_info(0).byte_offset
f.close()
b = bytearray(open(sys.argv[1], 'rb').read())
b[o + 17] ^= 4
open(sys.argv[1], 'wb').write(b)
PY
  expect 3 "damaged.h5" on 2 damaged.h5 --rank=2 -o out.h5
  expect 3 "damaged.h5" on 2 damaged.h5 --rank=2 --read=parallel -o out.h5
  expect 3 "damaged.h5" "$amped" info damaged.h5 --verify
  absent out.h5
else
  echo "skipped: no python3 with numpy and h5py"
fi

# --- names and numbers that JSON does not hold ------------------------------------------------------
odd=$(printf 'odd\377.h5')
if cp good.h5 "$odd" 2>/dev/null; then
  expect 0 "" on 2 "$odd" --rank=2 --iters=1 --json=odd.json -o "$odd.cpd.h5"
  expect 0 '"input":"odd\\\\xff.h5"' cat odd.json
  expect 0 '"output":"odd\\\\xff.h5.cpd.h5"' cat odd.json
  expect 0 "" on 2 good.h5 --rank=2 --iters=1 --init="$odd.cpd.h5" -o again.h5
  expect 0 '"file":"odd\\\\xff.h5"' "$amped" info "$odd" --json=-
fi
printf '1 1 1 1e200\n2 2 2 1\n' >large.tns
expect 0 '"norm":null' "$amped" convert large.tns copy.tns --json=-
expect 0 "" on 1 good.h5 --rank=2 --iters=1 --seed=18446744073709551615 -o seed.h5
expect 0 '"seed":1.8446744073709552e19' "$amped" info seed.h5

# --- what commands or misleads a terminal is escaped -----------------------------------------------
printf '"a\033[2J",b,c\nx,y,\032\n' >control.csv
expect 0 "" "$amped" convert control.csv control.h5
expect 0 'a\\u001b\[2J: x' "$amped" info control.h5
# Raw bytes of C1, C1 as characters, an override, an isolate, a line separator, a mark, a tag, bytes
# that are no UTF-8: as names of a mode, labels, names of files.
evil=$(printf 'e\302\233m\342\200\256f\342\201\246\342\200\250\357\273\277\363\240\201\201')
raw=$(printf 'r\233m\355\240\200\300\257')
seen='e\\u009bm\\u202ef\\u2066\\u2028\\ufeff\\udb40\\udc41'
# plain FILE...: nothing of that, and UTF-8 alone.
plain() {
  LC_ALL=C grep -q -e "$(printf '\033')" -e "$(printf '\302[\200-\237]')" -e "$(printf '\342\200[\250-\256]')" \
    -e "$(printf '\342\201[\246-\251]')" -e "$(printf '\357\273\277')" -e "$(printf '\363\240')" "$@" &&
    fail "escapes are missing: $*" || pass
  iconv -f UTF-8 -t UTF-32 "$@" >/dev/null 2>&1 && pass || fail "no UTF-8: $*"
}
printf '%s,k,j,v\n%s,1,1,1\n%s,2,2,2\nplain,3,3,3\n' "$evil" "$evil" "$raw" >"raw.csv"
expect 3 '"r\\x9bm\\xed\\xa0\\x80\\xc0\\xaf" is not UTF-8' "$amped" convert raw.csv raw.h5 --value=v
plain "$scratch/err"
printf '%s,k,j,v\n%s,1,1,1\nx,2,2,2\nplain,3,3,3\n' "$evil" "$evil" >"$evil.csv"
expect 0 "" "$amped" convert "$evil.csv" evil.h5 --value=v
plain "$scratch/out" "$scratch/err"
expect 0 "$seen: $seen" "$amped" info evil.h5
plain "$scratch/out" "$scratch/err"
expect 0 "$(printf '"mode_names":\\["%s"' "$seen")" "$amped" info evil.h5 --json=-
plain "$scratch/out" "$scratch/err"
expect 0 "" on 1 evil.h5 --rank=1 --iters=2 -o "$evil.h5"
plain "$scratch/out" "$scratch/err"
expect 0 "$seen" "$amped" top "$evil.h5"
plain "$scratch/out" "$scratch/err"
for option in --json=- --width=40; do
  expect 0 "" "$amped" top "$evil.h5" $option
  plain "$scratch/out" "$scratch/err"
done
expect 0 "" "$amped" compare "$evil.h5" "$evil.h5" --json=-
plain "$scratch/out" "$scratch/err"
for command in info top plot; do
  expect 3 "" "$amped" $command "$evil.no.h5"
  plain "$scratch/err"
  expect 2 "" "$amped" $command "$evil.h5" "--$evil"
  plain "$scratch/err"
done
expect 2 "" "$amped" "$evil"
plain "$scratch/err"
printf '1 1 %s 5\n' "$evil" >evil.tns
expect 3 "$seen" "$amped" info evil.tns
plain "$scratch/err"
# JSON means what it meant; tables keep every byte.
if command -v python3 >/dev/null; then
  expect 0 "" "$amped" info evil.h5 --json=evil.json
  expect 0 "same" python3 -c 'import json, os, sys
names = json.load(open("evil.json"))["mode_names"]
print("same" if os.fsencode(names[0]) == os.fsencode(sys.argv[1]) else names)' "$evil"
fi
expect 0 "" "$amped" convert evil.h5 back.csv --overwrite
same "labels of the table as they were" "$(LC_ALL=C grep -c -F -e "$evil" back.csv)" 2
if command -v gnuplot >/dev/null; then
  expect 0 "" "$amped" plot "$evil.h5" -o evil.svg
  plain evil.svg "$scratch/out" "$scratch/err"
fi

# --- JSON lines never replace an input -------------------------------------------------------------
cp good.h5 kept.h5
expect 2 "overwritten" "$amped" info kept.h5 --json=kept.h5
expect 2 "overwritten" on 2 kept.h5 --rank=2 --iters=1 --nowrite --json=./kept.h5
expect 2 "overwritten" on 1 good.h5 --rank=3 --nowrite --init=three.h5 --json=three.h5
expect 0 "" cmp good.h5 kept.h5
expect 0 "" "$amped" info three.h5

printf 'a,b,c\nx,y,z\n' >named.csv
expect 0 "" "$amped" convert named.csv named.h5 -q

# --- output that cannot be written ----------------------------------------------------------------
expect 1 "" on 2 good.h5 --rank=2 -o nowhere/out.h5
expect 2 "results are HDF5" on 2 good.h5 --rank=2 -o out.tns
expect 2 "results are HDF5" on 2 good.h5 --rank=2 -o -
absent out.tns
expect 0 "labels are left out" "$amped" convert named.h5 named.tns
expect 2 "overwritten" on 2 good.h5 --rank=2 -o good.h5
for name in out.npy out.json out.svg out.h5.gz; do
  expect 2 "results are HDF5" on 2 good.h5 --rank=2 -o $name
  absent $name
done
expect 1 "nowhere/out.ckpt.h5: cannot be written" on 2 good.h5 --rank=2 --nowrite --checkpoint=nowhere/out.ckpt.h5 --json=early.json
grep -q '"event":"plan"' early.json && fail "a checkpoint that cannot be written: the tensor was read first" || pass
expect 1 "name another" "$amped" convert good.h5 nowhere/out.tns
grep -q -e " -o" "$scratch/err" && fail "a remedy is an option that convert lacks" || pass
# An output file must not replace a device or a pipe.
mkdir folder.h5 && expect 1 "is a directory" on 2 good.h5 --rank=2 --iters=1 -o folder.h5
expect 0 "verified" "$amped" info good.h5 --verify
# Lost lines are an error, unless the reader closed the pipe.
if test -w /dev/full; then
  expect 1 "standard output" sh -c '"$0" --help >/dev/full' "$amped"
  expect 1 "standard output" sh -c '"$0" info good.h5 >/dev/full' "$amped"
fi
expect 0 "" sh -c '{ "$0" info good.h5; echo $? >status; } | true; exit "$(cat status)"' "$amped"

# Two outputs with one name are refused, also if the file does not exist yet.
for name in fresh.h5 ./fresh.h5; do
  expect 2 "fresh.h5: is named" "$amped" convert good.h5 fresh.h5 --json=$name
  rm -f fresh.h5
  expect 2 "fresh.h5: is named" "$amped" generate fresh.h5 --dims=3x3x3 --nnz=3 --json=$name
  rm -f fresh.h5
done
# This is more text than a pipe holds.
expect 0 "" "$amped" generate text.h5 --dims=1000x1000x1000 --nnz=20k -q --overwrite
expect 1 "closed by its reader" sh -c '{ "$0" convert text.h5 - -q; echo $? >status; } | head -c 1 >/dev/null; exit "$(cat status)"' "$amped"
# A result as .npy is several files.
expect 0 "" "$amped" good.h5 --rank=2 --iters=1 -o named.cpd.h5 -q
expect 0 "wrote the weights to n.weights.npy, the factors to n.mode0.npy ... n.mode2.npy" "$amped" convert named.cpd.h5 n.npy
for name in n.weights.npy n.mode0.npy n.mode1.npy n.mode2.npy; do expect 0 "" test -s $name; done
# A launcher's variables also reach programs that a job's script starts. A command that needs no ranks
# does not ask them, and one on ranks believes MPI.
for variable in SLURM_PROCID=1 PMI_RANK=1 OMPI_COMM_WORLD_RANK=3; do
  expect 3 "missing.h5" env $variable "$amped" info missing.h5
  expect 0 "wrote" env $variable "$amped" convert good.h5 part1.h5
  expect 0 "" test -s part1.h5
  rm -f part1.h5
done
expect 2 "rank=x" env SLURM_PROCID=1 "$amped" good.h5 --rank=x
expect 3 "missing.h5" env SLURM_PROCID=1 "$amped" missing.h5 --rank=2
expect 0 "fit" env SLURM_PROCID=1 "$amped" good.h5 --rank=2 --iters=1 --nowrite

# --- mistakes in text -------------------------------------------------------------------------------
printf '1,4,3,1\n2,2,2,1\n' >numbers.csv
expect 2 "should name the columns.*--no-header" "$amped" convert numbers.csv numbers.h5
cp numbers.csv numbers.tns
expect 3 "this is a table.*--format=csv --separator=comma" "$amped" convert numbers.tns numbers.h5
printf '9223372036854775808 1 1 5\n1 2 2 1\n' >vast.tns
expect 3 "leave out --copies=none" "$amped" convert vast.tns vast.h5 --copies=none
expect 0 "" "$amped" convert vast.tns vast.h5
# Errors are reported at once, also if the writer of a pipe stays open.
mkfifo text.pipe
{ echo "1 2 x 4" && yes "1 1 1 1" | head -c 3000000 && while sleep 1; do :; done; } >text.pipe 2>/dev/null &
writer=$!
expect 3 "line 1" timeout $patience sh -c 'exec "$0" convert - piped.h5 <text.pipe' "$amped"
kill $writer 2>/dev/null

# --- standard streams that are closed: no file of ours may take their place ------------------------
expect 0 "" sh -c '"$0" convert good.h5 closed.tns -q <&- >&- 2>&-' "$amped"
expect 0 "" sh -c '"$0" good.h5 --rank=2 --iters=1 -o closed.h5 -q <&- >&- 2>&-' "$amped"
expect 1 "standard output" sh -c '"$0" good.h5 --rank=2 --iters=1 -o closed2.h5 <&- >&-' "$amped"
expect 0 "verified" "$amped" info closed2.h5 --verify
expect 0 "200 nonzeros" "$amped" convert closed.tns closed2.h5 --overwrite
expect 0 "verified" "$amped" info closed.h5 --verify
expect 1 "standard output" sh -c '"$0" info good.h5 >&-' "$amped"

# --- modes are counted from 1 ---------------------------------------------------------------------
printf 'who,what,when,n\nx,y,z,1\nv,y,z,2\n' >base.csv
"$amped" convert base.csv base.h5 --value=n -v >base.txt
same "labels that convert read" "$(grep -o 'mode [0-9]: [0-9]* labels of [a-z]*' base.txt | tr '\n' ' ')" \
  "mode 1: 2 labels of who mode 2: 1 labels of what mode 3: 1 labels of when "
on 2 base.h5 --rank=1 --iters=1 -v >>base.txt
on 2 bench base.h5 --rank=2 --repeat=1 -v >>base.txt
for command in info "top -n 2" "compare base.cpd.h5"; do
  # shellcheck disable=SC2086
  "$amped" $command base.cpd.h5 >>base.txt
done
"$amped" info base.h5 >>base.txt
expect 0 "^copy 3  *1 iDps\|^labels 3  *when: z" cat base.txt
same "numbers of modes in tables" \
  "$(awk '/^mode  / { inside = 1; next } inside && $1 ~ /^[0-9]$/ { print $1 } !($1 ~ /^[0-9]$/) { inside = 0 }' base.txt | sort -u | tr '\n' ' ')" \
  "1 2 3 "
grep -n 'mode 0\|copy 0\|labels 0' base.txt && fail "a mode is counted from 0" || pass

# --- a letter's value has no '=' --------------------------------------------------------------------
expect 2 "write -o eq.h5 or --output=eq.h5" "$amped" base.h5 -r2 -o=eq.h5
expect 2 "write -r 2 or --rank=2" "$amped" base.h5 -r=2
expect 2 "a letter takes no '='" "$amped" base.h5 -q=1
absent eq.h5 =eq.h5
# bench -q prints its times also where -o names a file for the result that it times.
expect 0 "sweep" on 2 bench base.h5 --whole --rank=2 --repeat=1 -q -o whole.h5
expect 2 "who\" is named twice" "$amped" convert base.csv twice.h5 --value=n --same-labels=who,who

finish
