#!/bin/sh
# Tables out: tensors and results with their labels; what holds none says so.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

cat >in.csv <<'CSV'
who,"what, or ""it""",when,n
ann,"a ""b""",mon,1
ann,"x,y",tue,2.5
bob,"x,y",mon,-3
eve,"two
lines",mon,4
CSV
expect 0 "" "$amped" convert in.csv in.h5 --value=n -q
expect 0 "4 nonzeros" "$amped" convert in.h5 out.csv
cat >want.csv <<'CSV'
who,"what, or ""it""",when,value
ann,"a ""b""",mon,1
ann,"x,y",tue,2.5
bob,"x,y",mon,-3
eve,"two
lines",mon,4
CSV
same "a tensor as a table" "$(cat out.csv)" "$(cat want.csv)"

# The table is read back as the same tensor, compressed or not.
expect 0 "" "$amped" convert in.h5 out.csv.gz -q
expect 0 "" "$amped" convert out.csv.gz back.h5 --value=value -q
same "the same hash" "$("$amped" info back.h5 | grep hash)" "$("$amped" info in.h5 | grep hash)"
expect 0 "" "$amped" convert back.h5 again.csv -q
expect 0 "" cmp again.csv out.csv

# TSV has no quotes: a tab or a line end cannot be told.
expect 3 "name OUT.csv" "$amped" convert in.h5 out.tsv
absent out.tsv
printf 'a\tb\tc\nx"y\tp q\t1\n' >in.tsv
expect 0 "" "$amped" convert in.tsv tabs.h5 -q
expect 0 "" "$amped" convert tabs.h5 out.tsv -q
same "a table with tabs" "$(cat out.tsv)" "$(printf 'a\tb\tc\tvalue\nx"y\tp q\t1\t1')"

# Modes without names and labels; a name that is taken.
printf '1 2 3 5\n3 1 1 0.25\n' >plain.tns
expect 0 "" "$amped" convert plain.tns plain.csv -q
same "indices from 1" "$(cat plain.csv)" "$(printf 'mode1,mode2,mode3,value\n1,2,3,5\n3,1,1,0.25')"
printf 'value,b,c,n\nx,y,z,7\n' >named.csv
expect 0 "" "$amped" convert named.csv named.h5 --value=n -q
expect 0 "" "$amped" convert named.h5 named.out.csv -q
same "distinct columns" "$(cat named.out.csv)" "$(printf 'value,b,c,value_2\nx,y,z,7')"
expect 2 "copies" "$amped" convert plain.tns copies.csv --copies=none
expect 1 "nowhere" "$amped" convert in.h5 nowhere/out.csv

# Sorted on disk: the same table.
awk 'BEGIN { for (i = 0; i < 90000; i++) printf "k%d,l%d,m%d,%d\n", i * 7 % 4001, i % 307, i * i % 11, i }' |
  { echo a,b,c,n; cat; } >many.csv
expect 0 "" "$amped" convert many.csv memory.csv --value=n -q
expect 0 "temporary files" "$amped" convert many.csv disk.csv --value=n --memory=1M -v
expect 0 "" cmp memory.csv disk.csv

# A result: entries with labels, components numbered as top does, and their weights.
expect 0 "" on 1 in.h5 --rank=2 --iters=20 --precision=double -q
expect 0 "wrote the factors' entries to r.csv, the components' weights to r.weights.csv" \
  "$amped" convert in.cpd.h5 r.csv
same "columns" "$(head -n 1 r.csv) $(head -n 1 r.weights.csv)" "component,mode,label,weight component,weight"
same "entries" "$(tr '\n' ' ' <r.csv | grep -o '[12],[^ ]*,' | wc -l)" $((2 * (3 + 3 + 2)))
"$amped" top in.cpd.h5 -n 1 >top.txt
for r in 1 2; do
  same "weight $r" "$(sed -n "s/^$r,//p" r.weights.csv | awk '{ printf "%.6g", $1 }')" \
    "$(sed -n "s/^component $r of 2, weight //p" top.txt)"
done
# The leading label of the first mode and component, as top tells it.
same "the leading label" \
  "$(awk -F, '$1 == 1 && $2 == "who" { x = $4 < 0 ? -$4 : $4; if (x > m) { m = x; s = sprintf("%s %.3e", $3, $4) } } END { print s }' r.csv)" \
  "$(sed -n '6s/^  \([a-z]*\)  *\([^ ]*\).*/\1 \2/p' top.txt)"
expect 0 "" on 1 plain.tns --rank=1 --iters=2 -o plain.cpd.h5 -q
expect 0 "" "$amped" convert plain.cpd.h5 p.tsv -q
same "modes and indices from 1" "$(cut -f 1-3 p.tsv | sed -n '2p;6p;$p' | tr '\t\n' ' ;')" "1 1 1;1 2 2;1 3 3;"
expect 0 "" test -s p.weights.tsv

# Formats without labels say so.
expect 0 "r.npy: labels are left out" "$amped" convert in.cpd.h5 r.npy
expect 0 "r.txt: labels are left out" "$amped" convert in.cpd.h5 r.txt
expect 0 "r.tns: labels are left out" "$amped" convert in.h5 r.tns
# Numbers in another order than indices: the warning names the first of them.
printf 'row,col,band,v\n2,0,0,1\n0,1,1,2\n1,2,2,3\n3,0,1,4\n' >mixed.csv
for out in mixed.npy mixed.tns; do
  expect 0 "The first of them are 2, 0, 1, ...: .*--label-order=sorted" "$amped" convert mixed.csv $out --value=v \
    $(case $out in *.npy) echo --dense ;; esac)
  "$amped" convert mixed.csv sorted.$out --value=v --label-order=sorted $(case $out in *.npy) echo --dense ;; esac) 2>&1 |
    grep -q "first of them" && fail "sorted labels are in order" || pass
done
"$amped" convert plain.cpd.h5 p.npy 2>&1 | grep -q "left out" && fail "no labels are left out" || pass
expect 2 "name OUT.csv" "$amped" convert in.cpd.h5 r.xls
# A derived name is neither the input nor the file of --json.
for pair in y.csv:y.weights.csv y.npy:y.mode1.npy; do
  expect 2 "named for two outputs" "$amped" convert in.cpd.h5 "${pair%:*}" --json="${pair#*:}"
  rm -f "${pair#*:}"
  ln -s in.cpd.h5 "${pair#*:}"
  expect 2 "is an input of this run" "$amped" convert in.cpd.h5 "${pair%:*}" --overwrite
done
finish
