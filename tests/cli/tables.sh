#!/bin/sh
# Tables: what is a key and what a value, separators, headers, pipes, empty keys, duplicates, shared
# labels, the order of labels, and rows that are left out. For cpd as for convert.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

printf 'user,item,week,stars\nann,tea,9,5\nbob,rum,10,3\nann,"a, b",10,4\n' >r.csv
expect 0 "" "$amped" convert r.csv r.h5 --value=stars -q

# hash FILE: the hash of a tensor's nonzeros. labels FILE: its lines of labels.
hash() { "$amped" info "$1" --json=- 2>/dev/null | grep -o '"hash":"[^"]*"'; }
labels() { "$amped" info "$1" | grep '^labels'; }
# equal NAME FILE: the same tensor with the same labels as r.h5.
equal() {
  same "$1: nonzeros" "$(hash "$2")" "$(hash r.h5)"
  same "$1: labels" "$(labels "$2")" "$(labels r.h5)"
}

# --- keys and values --------------------------------------------------------------------------------
expect 2 "say --value=stars, or --keys=user,item,week,stars" "$amped" convert r.csv x.h5 --overwrite
expect 2 "say --value=stars, or --keys=user,item,week,stars" on 2 r.csv --rank=1 -o x.h5 --overwrite
expect 0 "every row counts 1, its keys are user, item, week (" "$amped" convert r.csv x.h5 --overwrite \
  --keys=user,item,week
expect 0 "every row counts 1, its keys are user, item, week, stars" on 1 r.csv --rank=1 \
  --keys=user,item,week,stars -o x.h5 --overwrite
expect 0 "" on 2 r.csv --rank=1 --iters=5 --tol=0 --value=stars -o table.h5 -q
expect 0 "" on 2 r.h5 --rank=1 --iters=5 --tol=0 -o tensor.h5 -q
expect 0 "factor match score 1.000000" "$amped" compare table.h5 tensor.h5
expect 0 "labels 3 *week: 9 ... 10" "$amped" info table.h5
expect 0 "" on 1 bench r.csv --value=stars --rank=2 --repeat=1
expect 2 "generate has no option --value" "$amped" generate g.h5 --value=counts
expect 2 "--memory are for --method=rbs" "$amped" r.csv --memory=1M
expect 2 "r.h5: --keys is for tables" on 1 r.h5 --keys=a,b,c
expect 2 "leave out options for reading" on 1 --shape=amazon --keys=a,b,c
printf '1 1 1 5\n2 2 2 1\n' >zero.tns
expect 0 "3 x 3 x 3" on 1 zero.tns --rank=1 --index-base=0 -o x.h5 --overwrite
expect 0 "4 x 5 x 6" on 1 zero.tns --rank=1 --dims=4x5x6 -o x.h5 --overwrite

# --- separators, headers, marks, line ends ------------------------------------------------------------
tr ',' ';' <r.csv | sed 's/"a; b"/a, b/' >semicolons.csv
expect 0 "semicolons separate its cells" "$amped" convert semicolons.csv x.h5 --overwrite --value=stars
equal "semicolons" x.h5
sed 's/"a, b"/a; b/; s/,/\t/g; s/a; b/"a, b"/' r.csv >tabs.csv
expect 0 "tabs separate its cells" "$amped" convert tabs.csv x.h5 --overwrite --value=stars
equal "tabs" x.h5
{ printf '\357\273\277'; sed 's/$/\r/' semicolons.csv; } >dos.csv
expect 0 "" "$amped" convert dos.csv x.h5 --overwrite --value=stars --separator=semicolon
equal "a byte-order mark and CRLF" x.h5
# Files of spreadsheets that cat joined: each begins with a mark.
mark='\357\273\277'
# shellcheck disable=SC2059
{
  printf "${mark}user,item\nann,tea\nbob,milk\n${mark}user,item\nann,milk\nbob,tea\n" >joined.csv
  printf "${mark}ann,tea,1\nbob,tea,2\n\n${mark}${mark}\"ann\",milk,3\nbob,milk,4\n${mark}" >joined-bare.csv
  printf "${mark}# a\n1 1 1 1\n2 1 1 2\n${mark}# b\n${mark}1 2 1 3\n${mark}%% c\n2 2 1 4\n" >joined.tns
  printf "${mark}tensor\n${mark}2\n2 2\n1\n${mark}2\n3\n${mark}4\n" >joined-dense.tns
}
for keys in "" --keys=user,item; do
  # shellcheck disable=SC2086
  expect 3 "joined.csv: line 4: the row has the names of the columns again" "$amped" convert joined.csv x.h5 --overwrite $keys
done
expect 0 "2 x 2, 4 nonzeros" "$amped" convert joined-bare.csv x.h5 --overwrite --no-header --value=3
expect 3 "in lines 1 and 6" sh -c 'cat joined-bare.csv joined-bare.csv >twice.csv; "$0" convert twice.csv x.h5 --overwrite --no-header --value=3 --duplicates=error' "$amped"
expect 0 "2 x 2 x 1, 4 nonzeros" "$amped" convert joined.tns x.h5 --overwrite
expect 0 "2 x 2, 4 nonzeros" "$amped" convert joined-dense.tns x.h5 --overwrite
tr ';' '|' <semicolons.csv >pipes.csv
expect 0 "" "$amped" convert pipes.csv x.h5 --overwrite --value=stars '--separator=|'
equal "a separator of the user's" x.h5
expect 3 "1 key columns.*--separator" "$amped" convert pipes.csv x.h5 --overwrite
expect 2 "one character such as" "$amped" convert r.csv x.h5 --overwrite --separator=ab
expect 2 "one character such as" "$amped" convert r.csv x.h5 --overwrite '--separator="'
sed 1d r.csv >bare.csv
expect 2 "9 is a number.*--no-header" "$amped" convert bare.csv x.h5 --overwrite
expect 0 "" "$amped" convert bare.csv x.h5 --overwrite --no-header --value=4
same "nonzeros without a header" "$(hash x.h5)" "$(hash r.h5)"
expect 0 "" "$amped" convert bare.csv x.h5 --overwrite --no-header --keys=3,2,1
expect 0 "labels 1 *[0-9]: 9 ... 10" "$amped" info x.h5

# --- texts whose first line is a header, or looks like one --------------------------------------------
awk 'BEGIN { for (i = 0; i < 400; i++) printf "%d %d %d %.3f\n", i * 7 % 20 + 1, i * 3 % 15 + 1, i % 10 + 1, i % 9 / 9 + 0.01 }' >plain.tns
(echo 20 15 10 400 && cat plain.tns) >header.tns
(echo '# extended FROSTT format' && echo 3 400 && echo 20 15 10 && cat plain.tns) >mlir.tns
(echo '%%MatrixMarket tensor coordinate real' && echo '% c' && echo 20 15 10 400 && cat plain.tns) >market.tns
(echo 20 15 10 400 && head -n 5 plain.tns) >short.tns
(echo 20 15 10 && cat plain.tns) >dims.tns
expect 0 "" "$amped" convert plain.tns plain.h5 -q
expect 0 "line 1 (20 15 10 400) is a header" "$amped" convert header.tns x.h5 --overwrite
for f in header mlir market; do
  for memory in 1G 1M; do
    expect 0 "" sh -c 'gzip -c $1.tns | "$0" convert - x.h5 --overwrite --memory=$2' "$amped" $f $memory
    same "$f, $memory" "$(hash x.h5)" "$(hash plain.h5)"
  done
done
expect 0 "401 nonzeros" "$amped" convert header.tns x.h5 --overwrite --header=none
expect 3 "400 nonzeros are announced, but 5 follow" "$amped" convert short.tns x.h5 --overwrite --header=dims-nnz
expect 3 "give --header=dims" on 1 dims.tns --rank=1 --nowrite
expect 0 "20 x 15 x 10" on 1 dims.tns --rank=1 --nowrite --header=dims
printf '2 2 2 3\n2 1 1 4\n1 2 1 5\n1 1 2 6\n' >few.tns
expect 2 "line 1 (2 2 2 3) may be a nonzero, or a header" "$amped" convert few.tns x.h5 --overwrite
expect 0 "4 nonzeros" "$amped" convert few.tns x.h5 --overwrite --header=none
expect 2 "--header is for text" "$amped" convert r.csv x.h5 --overwrite --value=stars --header=none

# --- standard input and pipes -----------------------------------------------------------------------
sh -c '"$0" convert - x.h5 --overwrite --value=stars -q <r.csv' "$amped"
equal "standard input" x.h5
sh -c 'cat r.csv | "$0" convert /dev/stdin x.h5 --overwrite --value=stars -q' "$amped"
equal "/dev/stdin, a pipe" x.h5
sh -c '"$0" convert /dev/stdin x.h5 --overwrite --value=stars -q <r.csv' "$amped"
equal "/dev/stdin, a file" x.h5
mkfifo pipe
cat r.csv >pipe &
expect 0 "" "$amped" convert pipe x.h5 --overwrite --format=csv --value=stars -q
wait
equal "a named pipe" x.h5
cat r.csv >pipe &
expect 0 "" on 2 pipe --rank=1 --iters=5 --tol=0 --value=stars -o piped.h5 --overwrite -q
wait
expect 0 "factor match score 1.000000" "$amped" compare table.h5 piped.h5
cat r.csv | on 2 - --rank=1 --iters=5 --tol=0 --value=stars -o piped.h5 --overwrite -q 2>/dev/null
expect 0 "factor match score 1.000000" "$amped" compare table.h5 piped.h5
sed 1d semicolons.csv | tr ';' '\t' | "$amped" convert - x.h5 --overwrite --format=tsv --no-header -q
expect 0 "order *4" "$amped" info x.h5
cp r.csv r.data
expect 2 "unknown suffix.*--format=" "$amped" convert r.data x.h5 --overwrite --value=stars
expect 0 "" "$amped" convert r.data x.h5 --overwrite --value=stars --format=csv
equal "another suffix" x.h5
expect 3 "standard input.*--format=csv" sh -c '"$0" convert - x.h5 --overwrite <r.csv' "$amped"

# --- empty keys, duplicates, shared labels ------------------------------------------------------------
printf 'user,item,week,stars\nann,,9,5\nbob,"",10,3\nann,-,9,4\n' >empty.csv
expect 3 "line 2: column \"item\": the key is empty.*--empty=LABEL" "$amped" convert empty.csv x.h5 --overwrite \
  --value=stars
expect 0 "1 duplicate" "$amped" convert empty.csv x.h5 --overwrite --value=stars --empty=-
expect 0 "labels 2 *item: - ... -" "$amped" info x.h5
{ cat r.csv; printf 'x,"y\ny",1,1\nbob,rum,10,7\n'; } >twice.csv
for memory in 1G 1M; do
  expect 3 'the first is (user "bob", item "rum", week "10") in lines 3 and 7' "$amped" convert \
    twice.csv x.h5 --overwrite --value=stars --duplicates=error --memory=$memory
done
expect 3 'the first is (user "bob", item "rum", week "10"); correct' sh -c \
  'cat twice.csv | "$0" convert - x.h5 --overwrite --value=stars --duplicates=error' "$amped"
expect 0 "--duplicates=error names the first" "$amped" convert twice.csv x.h5 --overwrite --value=stars
printf 'a,b,c\nx,y,z\nx,y,w\nx,y,z\nx,y,z\n' >log.csv
expect 0 "2 rows repeat earlier rows" on 1 log.csv --rank=1 -o y.h5 --overwrite
expect 0 "2 rows repeat earlier rows" "$amped" convert log.csv x.h5 --overwrite
same "no warning of counted rows" "$(grep -c warning "$scratch/err")" 0
expect 0 "range *1 ... 3" sh -c '"$0" convert x.h5 x.tns -q && "$0" info x.tns' "$amped"
printf 'head,relation,tail\na,of,b\nc,of,a\nb,of,d\n' >graph.csv
expect 0 "4 x 1 x 4" "$amped" convert graph.csv x.h5 --overwrite --same-labels=head,tail
same "shared labels" "$(labels x.h5 | grep -c 'a \.\.\. d')" 2
expect 0 "4 x 1 x 4" on 1 graph.csv --same-labels=head,tail --rank=1 -o x.h5 --overwrite
expect 2 "is not a key" "$amped" convert graph.csv x.h5 --overwrite --same-labels=head,stars

# --- natural order of labels ----------------------------------------------------------------------
awk 'BEGIN { print "day,hour,place,n"; for (i = 0; i < 60000; i++)
  printf "%d/%d/2013,%d:00,place %d,%d\n", i * 7 % 12 + 1, int(i / 12) * 5 % 28 + 1, i * 11 % 24, i * 13 % 400, i % 9 + 1
}' >days.csv
expect 0 "" "$amped" convert days.csv first.h5 --value=n -q
expect 0 "mode 1 (day): labels sorted as dates" "$amped" convert days.csv sorted.h5 --value=n \
  --label-order=sorted
expect 0 "mode 2 (hour): labels sorted as times" "$amped" convert first.h5 again.h5 --label-order=sorted
expect 0 "sorting on disk" "$amped" convert days.csv disk.h5 --overwrite --value=n --label-order=sorted --memory=1M
expect 0 "" cmp sorted.h5 disk.h5
expect 0 "" cmp sorted.h5 again.h5
expect 0 "labels 1 *day: 1/1/2013 ... 12/28/2013" "$amped" info sorted.h5
expect 0 "labels 2 *hour: 0:00 ... 23:00" "$amped" info sorted.h5
expect 0 "labels 3 *place: place 0 ... place 399" "$amped" info sorted.h5
# Dates that are ordered as texts get a warning; other texts do not.
sorted() { # sorted LABELS: they are sorted, a bar between two of them
  { echo day,place,n && echo "$1" | tr '|' '\n' | awk '{ print "\"" $0 "\",a,1" }'; } >texts.csv
  "$amped" convert texts.csv texts.h5 --value=n --label-order=sorted --overwrite 2>&1
}
for texts in "Jan-24|Feb-24|Dec-23" "Q1 2024|Q3 2023|Q2 2024" "1Q24|2Q23" "1-Feb-24|13-Jan-24|total" \
  "week 10 2023|week 9 2024" "Mon 9|Tue 10" "05.01.24|04.02.24|17.12.23" "Mon|Tue|holiday" "29/2/2023|30/3/2023|1/1/2022"; do
  sorted "$texts" | grep -q "texts.csv: labels of mode 1 (day) are not numbers, dates or times: .* alphabetical" && pass ||
    fail "no warning: $texts"
done
for texts in "ann|bob" "week 9|week 10" "2024Q1|2023Q4" "Jan 2024|Feb 2023" "Mon|Tue" "May|Bob" "Q1|Q2" "Mar 5|Ann 6" \
  "W1-10|W2-20" "1|2|unknown" "2024-W09 a|2024-W10 a" "April Smith|June 1" "1.2.10|1.10.2" \
  "Tues|Thurs" "Jan.|Sept."; do
  sorted "$texts" | grep "alphabetical" && fail "a warning: $texts" || pass
done
expect 0 "labels 2 *hour: 0:00 ... 13:00" "$amped" info first.h5
expect 0 "" "$amped" info sorted.h5 --verify
norm=$("$amped" info first.h5 | grep '^norm')
same "norm" "$("$amped" info sorted.h5 | grep '^norm')" "$norm"
expect 0 "" on 1 sorted.h5 --rank=2 --iters=3 -o x.h5 --overwrite -q

# --- indices without nonzeros -----------------------------------------------------------------------
awk 'BEGIN { for (i = 0; i < 60000; i++)
  printf "%.0f %d %d %d\n", (i * 7919 % 1000) * 1000000007 + 5, i % 50 + 1, 2 * (i * 13 % 3000) + 2, i % 4 }' >ids.tns
expect 0 "mode 1: .* indices have no nonzero and are left out" "$amped" convert ids.tns c.h5 --overwrite --compact
expect 0 "1000 x 50 x 3000" "$amped" info c.h5
expect 0 "labels 1 *5 ... 999000006998" "$amped" info c.h5
expect 0 "labels 3 *2 ... 6000" "$amped" info c.h5
same "a mode without gaps" "$("$amped" info c.h5 | grep -c '^labels 2')" 0
expect 0 "" "$amped" info c.h5 --verify
expect 0 "" "$amped" convert ids.tns disk.h5 --overwrite --compact --memory=1M -q
expect 0 "" cmp c.h5 disk.h5
expect 0 "" "$amped" convert ids.tns whole.h5 -q
expect 0 "" "$amped" convert whole.h5 x.h5 --overwrite --compact -q
expect 0 "" cmp c.h5 x.h5
expect 0 "" "$amped" convert ids.tns c.h5 --overwrite --compact --drop-zeros -q
expect 0 "" "$amped" convert ids.tns disk.h5 --overwrite --compact --drop-zeros --memory=1M -q
expect 0 "" cmp c.h5 disk.h5
# Text has the old ids again, in memory and sorted on disk; with --compact, and a mode without gaps, new numbers.
expect 0 "" "$amped" convert ids.tns whole.tns
expect 0 "" "$amped" convert c.h5 ids.again.tns --drop-zeros
same "a warning of labels" "$(grep -c 'labels are left out' err)" 0
expect 0 "" "$amped" convert c.h5 disk.tns --memory=1M
expect 0 "" cmp ids.again.tns disk.tns
expect 0 "" "$amped" convert ids.tns dropped.tns --drop-zeros
expect 0 "" cmp ids.again.tns dropped.tns
expect 0 "" "$amped" convert c.h5 sorted.h5 --label-order=sorted --overwrite -q
expect 0 "" "$amped" convert sorted.h5 sorted.tns
same "a warning of labels" "$(grep -c 'labels are left out' err)" 0
same "ids after sorting" "$(sort sorted.tns | md5sum)" "$(sort ids.again.tns | md5sum)"
expect 0 "labels are left out" "$amped" convert c.h5 new.tns --compact
same "new numbers" "$(head -n 1 new.tns)" "# dims: 750 50 2250"
printf '0 5 1\n7 5 2\n' >zero.tns
expect 0 "" "$amped" convert zero.tns zero.h5 --compact --index-base=0
expect 0 "" "$amped" convert zero.h5 from1.tns
same "ids from 0, counted from 1" "$(grep -v '#' from1.tns | tr '\n' ,)" "1 6 1,8 6 2,"
printf 'user,item,week,stars\nann,tea,9,5\nbob,tea,9,0\n' >zeros.csv
expect 0 "mode 1 (user): 1 of 2" "$amped" convert zeros.csv x.h5 --overwrite --value=stars --compact --drop-zeros
expect 0 "" "$amped" convert ids.tns x.h5 --overwrite --compact --index-base=0 -q
expect 0 "labels 1 *5 ... 999000006998" "$amped" info x.h5
expect 2 "would separate" "$amped" convert graph.csv x.h5 --overwrite --compact --same-labels=head,tail
expect 1 "mode 1 has 999000006998 indices.*convert --compact" on 1 ids.tns --rank=2 --nowrite
expect 0 "mode 1 has 999000006998 indices.*convert --compact" on 1 ids.tns --rank=2 --plan
expect 0 "" on 2 c.h5 --rank=2 --iters=2 -o x.h5 --overwrite -q
expect 2 "is a result.*--compact" "$amped" convert x.h5 y.npy --compact

# --- info of text -----------------------------------------------------------------------------------
expect 0 "999000006998 x 50 x 6000" "$amped" info ids.tns
expect 0 "range *0 ... 3" "$amped" info ids.tns --verify
expect 0 "labels 3 *place: place 0 ... place" "$amped" info days.csv --value=n
expect 0 '"nnz":60000.*"mode_names":."day","hour","place".,"labels":.336,24,400.' "$amped" info \
  days.csv --value=n --json=-
expect 2 "looks like values" "$amped" info days.csv
expect 3 "missing.csv" "$amped" info missing.csv
# Values need not be the last column; a blank line is no header; a header in the middle is no entry.
printf 'user,film,rating,time\na,x,3,7\nb,y,4,8\n' >films.csv
expect 2 'column "rating" looks like values, .*--value=rating, or --keys=user,film,rating,time' "$amped" info films.csv
expect 0 "2 x 2 x 2" "$amped" info films.csv --value=rating
# Fractions are values, whatever the column's name; several such columns are a wide table.
printf 'user,film,time,x\na,x,3,0.5\nb,y,4,8\n' >half.csv
expect 2 'column "x" looks like values, .*--value=x, or --keys=user,film,time,x' "$amped" info half.csv
expect 0 "2 x 2 x 2 x 2" "$amped" info half.csv --keys=user,film,time,x
# Half steps, and one fraction behind many rows of whole numbers.
for column in x version; do
  awk -v column=$column 'BEGIN { srand(1); print "user,film," column; for (k = 0; k < 400; k++) print "u" int(rand() * 30) ",f" int(rand() * 20) "," (1 + k % 10) / 2 }' >steps.csv
  awk -v column=$column 'BEGIN { print "user,film," column; for (k = 0; k < 400; k++) print "u" k % 30 ",f" k % 20 "," (k == 300 ? 2.5 : k % 5 + 1) }' >one.csv
  for file in steps one; do
    for ranks in 1 2; do
      expect 2 "$file.csv: column \"$column\" looks like values, .*--value=$column, or --keys=user,film,$column" on $ranks complete $file.csv --rank=1 --reg=1 --nowrite
    done
    expect 0 "30 x 20 x" "$amped" info $file.csv --keys=user,film,$column
    expect 0 "dimensions *30 x 20$" "$amped" info $file.csv --value=$column
  done
done
expect 2 'column "3" looks like values' sh -c 'sed 1d one.csv | "$0" info - --no-header' "$amped"
# Time stamps have fractions, too; ids with a gap are whole.
printf 'user,film,time\na,x,1715946300.5\nb,y,1715946300\n' >stamps.csv
expect 0 "2 x 2 x 1" "$amped" info stamps.csv --date=time:day
printf 'user,film,day\na,x,3.0\nb,y,nan\n' >whole.csv
expect 0 "2 x 2 x 2" "$amped" info whole.csv
# Names of counts and ratings, if the column holds numbers.
for name in plays num_plays playCount Clicks views purchases "total visits" votes trips hours units grade note stars minutes; do
  printf 'user,item,%s\na,x,3\nb,y,4\n' "$name" >named.csv
  expect 2 "column \"$name\" looks like values" "$amped" info named.csv
  printf 'user,item,%s\na,x,c\nb,y,4\n' "$name" >named.csv
  expect 0 "2 x 2 x 2" "$amped" info named.csv
done
sed 1d half.csv >no-names.csv
expect 2 'column "4" looks like values, .*--value=4' "$amped" info no-names.csv --no-header
expect 0 "2 x 2 x 2" "$amped" info no-names.csv --no-header --value=4
# A number that an option names is a column's, whatever the order of the keys.
awk 'BEGIN { for (n = 0; n < 90; n++) printf "%d,a%d,c%d,b%d\n", n % 7, n % 3, n % 5, n % 4 }' >turned.csv
expect 0 "context modes: 2$" "$amped" complete turned.csv --no-header --keys=4,2,3 --value=1 --rank=1 --reg=1 --context=2 --duplicates=mean --iters=1 --nowrite
expect 0 "context modes: 1$" "$amped" complete turned.csv --no-header --keys=4,2,3 --value=1 --rank=1 --reg=1 --context=4 --duplicates=mean --iters=1 --nowrite
# Line ends of one carriage return.
printf 'user,film,day,n\ra,x,1,3\rb,y,2,4\r' >returns.csv
expect 3 "returns.csv: line 1: column 4: its name holds a carriage return, .*tr '.r' '.n'" "$amped" info returns.csv --value=n
# A line that gives spreadsheets the separator is no row of names; a column may be called so.
for separator in ';' ','; do
  printf 'sep=%s\nuser%sfilm\na%sx\n' "$separator" "$separator" "$separator" >spreadsheet.csv
  for how in "" --no-header --separator=semicolon; do
    # shellcheck disable=SC2086
    expect 3 "spreadsheet.csv: line 1: it names the separator for spreadsheets, .*sed 1d" "$amped" info spreadsheet.csv $how
  done
done
printf 'sep=,film\na,x\nb,y\n' >spreadsheet.csv
expect 0 "its keys are sep=, film" "$amped" info spreadsheet.csv
# Banners of Matrix Market in other spellings are banners.
for banner in %MatrixMarket %%matrixmarket %%MATRIXMARKET; do
  (echo "$banner tensor coordinate real symmetric" && echo 3 3 3 1 && echo 1 1 1 2) >symmetric.tns
  expect 3 "symmetric.tns: line 1: a Matrix Market file of kind symmetric" "$amped" info symmetric.tns
done
# Times of which most come once are no mode; periods of them are.
awk 'BEGIN { srand(4); print "user,film,rating,timestamp"
  for (n = 0; n < 400; n++) printf "%d,%d,%d,%d\n", rand() * 20, rand() * 15, rand() * 5, 964980000 + rand() * 300 }' >times.csv
expect 0 "warning: times.csv: column timestamp has [0-9]* labels in 400 rows, fewer than two rows a label, .*periods" "$amped" info times.csv --value=rating
same "warnings" "$(grep -c 'rows a label' err)" 1
awk -F, -v OFS=, 'NR > 1 { $4 = int($4 / 100) } { print }' times.csv >periods.csv
expect 0 "" "$amped" info periods.csv --value=rating
same "warnings" "$(grep -c 'rows a label' err)" 0
# Times that all differ, as in a log of events, are times all the same; other labels are row numbers.
awk 'BEGIN { print "user,film,rating,timestamp"; for (n = 0; n < 40; n++) print n % 7 "," n % 11 ",2," 964980000 + 61 * n }' >log.csv
awk -F, -v OFS=, 'NR > 1 { $4 = sprintf("2024-05-%02d 10:%02d:00", 1 + NR % 28, NR) } { print }' log.csv >dates.csv
awk -F, -v OFS=, 'NR > 1 { $4 = "n" NR } { print }' log.csv >numbered.csv
for table in log.csv dates.csv; do
  expect 0 "warning: $table: column timestamp has 40 labels in 40 rows, one a row, as times and row numbers have; make periods .*--date=.*--keys=user,film" \
    "$amped" info $table --value=rating
  expect 0 "" "$amped" info $table --value=rating --date=timestamp:day
  same "warnings" "$(grep -c 'one a row' err)" 0
done
expect 0 "column timestamp has 40 labels in 40 rows, one a row, as a row number has; leave it out" "$amped" info numbered.csv --value=rating
# A table whose name says text.
printf 'user item week stars\nann tea 9 5\n' >words.txt
expect 3 'words.txt: line 1: "user" is not a number: this is a table, .*--format=csv --separator=space' "$amped" info words.txt
expect 0 "1 x 1 x 1" "$amped" info words.txt --format=csv --separator=space --value=stars
printf '1\tann\t9\t5\n' >words.tns
expect 3 'words.tns: line 1: "ann" is not a number: this is a table, .*--separator=tab' on 1 words.tns --rank=1 --nowrite
expect 3 'words.tns: line 1: "ann" .*--separator=tab' "$amped" info words.tns --header=none
printf 'Ann;9;5;3\n' >words.tns
expect 3 '"Ann;9;5;3" is not a number: this is a table, .*--separator=semicolon' "$amped" info words.tns
printf '1 1 1 3,5\n' >comma.tns
expect 3 'field 4: "3,5" is not a number' "$amped" info comma.tns
printf '1 1 1 NaN\n' >nan.tns
expect 3 'field 4: value NaN is not finite' "$amped" info nan.tns
# Row indices of pandas are left out, also of a second file; a column of words without a name is a key.
printf ',Unnamed: 0,user,film,day,n\n0,0,a,x,d1,3\n1,1,b,y,d1,4\n2,5,a,y,d2,4\n' >index.csv
cut -d, -f3- index.csv >no-index.csv
cut -d, -f1,3- index.csv >one-index.csv
expect 0 "index.csv: 2 columns without a name hold whole numbers, as a row index does, and are left out" "$amped" \
  convert index.csv index.h5 --value=n
expect 0 "" "$amped" convert no-index.csv no-index.h5 --value=n -q
same "without row indices" "$(hash index.h5)" "$(hash no-index.h5)"
same "labels without row indices" "$(labels index.h5)" "$(labels no-index.h5)"
expect 0 "2 x 2 x 2, 3 nonzeros" on 2 one-index.csv --value=n --rank=1 --iters=2 -o index-model.h5
expect 0 "rmse" "$amped" predict index-model.h5 index.csv --value=n
expect 0 "rmse" "$amped" predict index-model.h5 no-index.csv --value=n
expect 0 "3 x 2 x 2 x 2" "$amped" info one-index.csv --value=n --keys=,user,film,day
expect 0 "3 x 2 x 2 x 2" "$amped" info index.csv --value=n "--keys=Unnamed: 0,user,film,day"
sed '2,$s/^/r/' one-index.csv >words-index.csv
expect 0 "warning: words-index.csv: column (no name) has 3 labels in 3 rows" "$amped" info words-index.csv --value=n
expect 3 "1 key columns" sh -c 'cut -d, -f1-2 one-index.csv | "$0" info - --format=csv' "$amped"
# Missing cells: refused, or rows left out and counted. Values and weights leave out the same rows.
printf 'user,film,day,n,w\na,x,d1,3,1\n,y,d1,4,1\nb,y,d1,,1\nb,x,d2,NA,2\nb,"",d1,1,1\nNA,x,d2,NaN,1\nNA,y,d2,2,\nNA,y,d1,5,2\n' >missing.csv
printf 'user,film,day,n,w\na,x,d1,3,1\nNA,y,d2,2,1\nNA,y,d1,5,2\n' >there.csv
expect 3 'line 3: column "user": the key is empty; .*--missing=skip' "$amped" convert missing.csv x.h5 --overwrite --keys=user,film,day --value=n
sed 3d missing.csv >value.csv
expect 3 'line 3: column "n": the value is empty; .*--missing=skip' "$amped" convert value.csv x.h5 --overwrite --keys=user,film,day --value=n
sed 3d value.csv >value.csv.2 && mv value.csv.2 value.csv
expect 3 'line 3: column "n": the value is NA; .*--missing=skip' on 1 value.csv --keys=user,film,day --value=n --rank=1 --nowrite
expect 0 "missing.csv: 5 of 8 rows have a missing cell and are left out (first one: user 1, film 1, n 3)" "$amped" convert missing.csv x.h5 \
  --overwrite --keys=user,film,day --value=n --missing=skip
expect 0 "" "$amped" convert there.csv there.h5 --keys=user,film,day --value=n -q
same "rows without missing cells" "$(hash x.h5)" "$(hash there.h5)"
same "their labels" "$(labels x.h5)" "$(labels there.h5)"
# Words for a missing key are labels; a warning counts them.
for word in nan NaN None '<NA>' NULL N/A NA; do
  printf 'user,item,r\n1.0,a,3\n2.0,b,4\n%s,a,5\n1.0,b,1\n"%s",b,2\n' "$word" "$word" >words.csv
  for skip in "" --missing=skip; do
    for ranks in 1 2; do
      # shellcheck disable=SC2086
      expect 0 "warning: words.csv: 2 rows of column user have a word for a missing key ($word), .*--missing=skip leaves out rows with an empty key only" \
        on $ranks words.csv --value=r $skip --rank=1 --iters=1 --nowrite --nonnegative
    done
  done
done
expect 0 "3 x 2" "$amped" info words.csv --value=r
expect 0 "1 row of column user has a word for a missing key (nan)" sh -c 'grep -v NA words.csv | sed "2s/.*/nan,a,3/" | "$0" info - --value=r' "$amped"
expect 0 "" sh -c 'sed "s/^NA,/,/" words.csv | grep -v \" | "$0" info - --value=r --empty=NA' "$amped"
grep -q 'a missing key' err && fail "--empty: a warning" || pass
expect 0 "" sh -c 'sed "s/NA/Nancy/" words.csv | "$0" info - --value=r' "$amped"
grep -q 'a missing key' err && fail "a name: a warning" || pass
expect 0 "3 of 8 rows .*(first one: n 3)" "$amped" info missing.csv --keys=user,film,day --value=n --missing=skip --empty=none
expect 0 "(first one: user 1, film 1, n 3, w 1)" on 1 complete missing.csv --keys=user,film,day --value=n --weights=w --missing=skip \
  --rank=1 --reg=1 --iters=1 --holdout=0 --nowrite
expect 0 "weights: w, 3 in all for the 2 entries" on 1 complete missing.csv --keys=user,film,day --value=n --weights=w --missing=skip --rank=1 --reg=1 \
  --iters=1 --holdout=0 --nowrite
awk 'BEGIN { print "a,b,c,n"; for (i = 0; i < 90000; i++) printf "%d,%d,%d,%s\n", i % 300, i % 70, i % 11, i % 7 ? i % 5 + 1 : "null" }' >many.csv
awk -F, '$4 != "null"' many.csv >fewer.csv
expect 0 "12858 of 90000 rows" "$amped" convert many.csv x.h5 --overwrite --value=n --missing=skip --memory=1M
expect 0 "" "$amped" convert fewer.csv y.h5 --overwrite --value=n -q
same "chunks with missing values" "$(hash x.h5)" "$(hash y.h5)"
printf 'a,b,c,n\nx,y,z,NA\nx,y,z,\n' >none.csv
expect 3 "has a missing cell in each of its 2 rows (n 2)" "$amped" info none.csv --value=n --missing=skip
expect 2 "x.h5: --missing is for tables" "$amped" info x.h5 --missing=skip
expect 2 'column "n" looks like values' "$amped" info missing.csv
# Names in quotes, as R writes them, where quotes are data.
printf '"user"\t"film"\t"day"\t"n"\n"a"\t"x"\t"1"\t3\n' >quoted.tsv
expect 2 "quoted.tsv: line 1: all names of columns are in quotes, .*--format=csv --separator=tab" "$amped" info quoted.tsv --value=n
expect 0 "labels 1 *user: a" "$amped" info quoted.tsv --format=csv --separator=tab --value=n
expect 0 "labels 1 *\"user\": \"a\"" "$amped" info quoted.tsv --format=tsv --value='"n"'
printf 'user,film,m1,m2,m3,m4\na,x,0.5,1.5,2,.1\nb,y,8,2.5,1e-3,4\n' >wide.csv
expect 2 'wide.csv: 4 columns (m1, m2, m3, ...) hold numbers with fractions, .*melt' on 2 complete wide.csv --rank=1 --nowrite
expect 0 "2 x 2 x 2" "$amped" info wide.csv --keys=user,film,m1 --value=m2
expect 0 'warning: wide.csv: 3 key columns (m2, m3, m4) hold numbers with fractions' "$amped" info wide.csv --value=m1
expect 0 "2 x 2 x 2" "$amped" info half.csv --value=time
# Wide tables of whole numbers: a row for each station, or names that are times.
melt='make one row of each value (melt in pandas)'
wide() { awk -v head="$1" -v stations="$2" 'BEGIN { print head; for (k = 0; k < 40; k++) print "s" k % stations "," k * 7 % 31 "," k * 11 % 29 "," k * 13 % 37 }' >wide.csv; }
wide station,north,south,east 40
expect 0 "column station has 40 labels .*; leave it out with --keys=north,south,east; if the other columns hold values, $melt" "$amped" info wide.csv
sed 's/^s//' wide.csv | sed 's/^tation/station/' >ids.csv
expect 0 "column station has 40 labels .*; leave it out with --keys=north,south,east; if the other columns hold values, $melt" "$amped" info ids.csv
for head in 2024-01,2024-02,2024-03 Jan,Feb,Mar "Jan 2024,Feb 2024,Mar 2024" Mon,Tue,Wed 2024-W01,2024-W02,2024-W03; do
  wide "station,$head" 8
  first=$(echo "$head" | cut -d, -f1)
  for ranks in 1 2; do
    expect 0 "warning: wide.csv: 3 key columns ($first, .*) hold numbers and are called as times are; if these are values, $melt" on $ranks wide.csv --rank=1 --iters=1 --nowrite
  done
  expect 0 "warning: wide.csv: 2 key columns" "$amped" info wide.csv "--value=$first"
  expect 0 "" "$amped" info wide.csv "--keys=station,$first"
  grep -q melt err && fail "chosen keys: a warning" || pass
done
wide station,2021,2022,2023 8
expect 2 "line 1 should name the columns, and 2021 is a number; .*; if columns are years that hold values, $melt" "$amped" info wide.csv
for head in station,user,item,day city,year,month,day station,day,week,May; do
  wide "$head" 8
  expect 0 "" "$amped" info wide.csv
  grep -q melt err && fail "$head: a warning" || pass
done
printf '\n\r\nuser,film,day,stars\na,x,1,3\n' >blank.csv
expect 0 "1 x 1 x 1" "$amped" info blank.csv --value=stars
printf 'user,page,day\na,x,1\nuser,page,day\nb,y,2\n' >joined.csv
expect 3 "joined.csv: line 3.*the row has the names of the columns again" on 2 joined.csv --rank=1 --nowrite
printf '1,2,3\n1,2,3\n' >numbers.csv
expect 0 "1 x 1 x 1" "$amped" info numbers.csv --no-header
expect 0 "1 x 1 x 1" "$amped" info numbers.csv --keys=1,2,3
expect 2 "--keys is for tables" "$amped" info first.h5 --keys=a,b,c
# The first line may hold a number that is a column's place, too.
printf 'Ann,tea,Jan,3\nBob,tea,Feb,4\nCem,tea,Jan,5\n' >place.csv
expect 0 "warning: place.csv: --value=3 is a name in the first line, which holds no entry; .* --no-header" "$amped" info place.csv --value=3
printf 'who,what,when,2001\nBob,tea,Feb,4\nCem,tea,Jan,5\n' >years.csv
expect 0 "" "$amped" info years.csv --value=2001
grep -q warning "$scratch/err" && fail "a warning of a year" || pass
# A first row that is no header: a column has its own name as a label.
printf 'anna,likes,tea\nbob,likes,anna\ncarl,hates,tea\nbob,likes,tea\n' >facts.csv
expect 0 "warning: facts.csv: its first row is taken for the header, and column likes has its own name as a label" "$amped" \
  convert facts.csv facts.h5 --overwrite
expect 0 "wrote" "$amped" convert facts.csv facts.h5 --overwrite --no-header
same "warnings of a table without a header" "$(grep -c 'taken for the header' err)" 0
printf 'word,next,n\na,word,2\nword,b,3\n' >pairs.csv
expect 0 "" "$amped" info pairs.csv --value=n
same "warnings of columns that the user names" "$(grep -c 'taken for the header' err)" 0
# Days of a spreadsheet, read as seconds.
printf 'user,item,day,n\na,x,45842,1\nb,y,45843,2\na,y,45900,3\n' >days.csv
expect 0 "warning: days.csv: all time stamps of day are in the years 1970 to 1973" "$amped" convert days.csv days.h5 --value=n \
  --date=day:month --overwrite
sed 's/45842/1717939800/' days.csv >seconds.csv
expect 0 "wrote" "$amped" convert seconds.csv days.h5 --value=n --date=day:month --overwrite
same "warnings of time stamps of which one is late" "$(grep -c '1970 to 1973' err)" 0
# One name in two forms of Unicode: a letter and a combining accent (NFD), or one character (NFC). A warning names them,
# once per set of labels; other accents, and tables of one form, get none.
nfc=$(printf 'Caf\303\251')
nfd=$(printf 'Cafe\314\201')
other=$(printf 'B\303\274ro')
{ echo shop,to,day,n; echo "$nfc,x,d1,1"; echo "$other,$nfd,d2,2"; echo "$nfd,$nfc,d2,3"; echo "Cafe,y,d1,4"; } >forms.csv
expect 0 "warning: forms.csv: 1 label of mode 1 (shop) may be another one in a second form of Unicode, and counts as different; the first are Caf" \
  "$amped" convert forms.csv forms.h5 --value=n --overwrite
same "warnings of two modes" "$(grep -c "second form of Unicode" err)" 2
expect 0 "" "$amped" convert forms.h5 forms.back.csv --overwrite
same "labels of both forms" "$(cut -d, -f1 forms.back.csv | sort -u | wc -l)" 5
expect 0 "" "$amped" convert forms.csv forms.h5 --value=n --overwrite --same-labels=shop,to
same "warnings of joined labels" "$(grep -c "second form of Unicode" err)" 1
grep -v "^$nfc" forms.csv | sed "s/,$nfc,/,z,/" >forms1.csv
expect 0 "" "$amped" convert forms1.csv forms.h5 --value=n --overwrite
grep -q "second form" err && fail "$(cat err)" || pass
# A label that begins with a byte-order mark comes back, in the first column, too; TSV cannot keep it there.
printf "a,b,v\n\"${mark}z\",x,1\nz,x,2\n" >marked.csv
expect 0 "" "$amped" convert marked.csv marked.h5 --value=v
expect 0 "" "$amped" convert marked.h5 back.csv
expect 0 "" "$amped" convert back.csv back.h5 --value=value
same "a label with a mark" "$("$amped" info back.h5 | grep '^norm')" "$("$amped" info marked.h5 | grep '^norm')"
expect 3 "begins with a byte-order mark, which TSV cannot keep; name OUT.csv" "$amped" convert marked.h5 back.tsv
# A label for empty keys that other rows have.
printf 'user,item,n\nunknown,a,1\n,a,2\n,b,2\nu1,b,1\n' >empty.csv
expect 0 "warning: empty.csv: 2 empty keys of column user and 1 keys that are unknown in the file get one label" \
  "$amped" convert empty.csv empty.h5 --value=n --empty=unknown
expect 0 "" "$amped" convert empty.csv empty.h5 --value=n --empty=nobody --overwrite
grep -q "get one label" err && fail "a label of its own" || pass
# Spaces and signs that nobody sees: at the end, inside, in place of a blank.
{ echo user,item,n; printf 'u1,a,1\nu1\302\240,b,2\nu\342\200\2131,c,3\nJo Ann,a,1\nJo\302\240Ann,b,1\n\357\273\277u2,a,1\n'; } >unseen.csv
expect 0 "warning: unseen.csv: 3 labels of mode 1 (user) may be another one with spaces or signs that are not seen (no-break or zero-width), and count as different; the first are u1 and u1" \
  "$amped" convert unseen.csv unseen.h5 --value=n
{ echo user,item,n; printf 'u1,a,1\nu\302\2402,b,2\nu\303\241,c,3\n'; } >unseen.csv
expect 0 "" "$amped" convert unseen.csv unseen.h5 --value=n --overwrite
grep -q "not seen" err && fail "labels without a twin: $(cat err)" || pass
# Vietnamese has two marks on a letter; a mark may have no letter.
{ echo a,b,n; printf 'Vi\341\273\207t,x,1\nVie\314\243\314\202t,y,2\n\314\201,z,1\n\314\202x,t,1\n\303\251\314\201,u,1\n'; } >forms2.csv
expect 0 "warning: forms2.csv: 1 label of mode 1 (a) may be another one" "$amped" convert forms2.csv forms.h5 --value=n --overwrite

# A text with more nonzeros than cells has no density.
printf '1 1 1\n1 1 2\n2 1 3\n1 2 2\n2 2 2\n' >dense.tns
expect 0 "nonzeros     5, several of some cells" "$amped" info dense.tns

# --- files of other kinds: their first bytes say it, whatever the name --------------------------------
printf 'PK\3\4\24\0\0\0zip' >zip.bytes
for name in log.csv log.csv.zip log.zip book.xlsx arrays.npz log.h5 log.mat log.npy log.dat; do
  cp zip.bytes $name
  expect 3 "$name: is not .* but a zip archive or a workbook; unpack it first" "$amped" info $name
  case $name in *.h5 | *.mat | *.npy) continue ;; esac
  expect 3 "$name: is not .* but a zip archive or a workbook; unpack it first" "$amped" info $name --value=n
done
expect 3 "log.zip: is not an HDF5 file but a zip archive" "$amped" top log.zip
printf '{"user": 1, "n": 2}\n' >log.jsonl
expect 3 "log.jsonl: is JSON; write it as .csv" "$amped" info log.jsonl --value=n
echo a,b,n >log.old
expect 2 "log.old: unknown suffix" "$amped" info log.old --value=n
expect 2 "log.old: unknown suffix.*; for another name give --format=tns, csv or tsv" "$amped" info log.old
expect 3 "log.old: is not an HDF5 file; make one" "$amped" top log.old

# Keys that are the names of columns are a header that comes again, unless the row has a number as its value.
printf 'word,next,n\na,b,1\nword,next,5\nb,a,2\n' >words.csv
expect 0 "" "$amped" convert words.csv words.h5 --value=n
same "rows" "$("$amped" info words.h5 | sed -n 's/^nonzeros *\([0-9]*\).*/\1/p')" 3
printf 'word,next,n\na,b,1\nword,next,n\nb,a,2\n' >words.csv
expect 3 "line 3" "$amped" convert words.csv words.h5 --value=n --overwrite
# A table has no rows for indices without entries.
printf '%%%%MatrixMarket matrix coordinate real general\n3 5 2\n1 1 1.5\n2 2 2.5\n' >wide.mtx
expect 0 "wide.csv: 1 of 3 indices of mode 1 have no entry, so the table does not have them; OUT.h5 keeps them" "$amped" convert wide.mtx wide.csv --overwrite
same "modes with such indices" "$(grep -c 'have no entry' err)" 2
expect 0 "" "$amped" convert wide.mtx wide.h5 --overwrite
same "a warning of a file that keeps them" "$(grep -c 'have no entry' err)" 0

finish
