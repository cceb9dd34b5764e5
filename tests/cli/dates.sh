#!/bin/sh
# Periods of time stamps (--date): beside Python's datetime, in second files, and what is refused.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
needs_python
reference="$srcdir/tests/cli/dates_reference.py"
hash() { "$amped" info "$1" --json=- 2>/dev/null | grep -o '"hash":"[^"]*"'; }

# --- every period, beside datetime -----------------------------------------------------------------
for period in year month week day hour weekday hour-of-day; do
  $python "$reference" make raw.csv $period.csv $period || fail "no table of $period"
  expect 0 "raw.csv: time stamps of time are read as periods: $period" "$amped" convert raw.csv $period.h5 --value=n \
    --date=time:$period --duplicates=mean
  expect 0 "labels agree" $python "$reference" check $period.h5 $period.csv
  expect 0 "" "$amped" convert $period.csv spelt.h5 --value=n --duplicates=mean --overwrite -q
  same "nonzeros of $period" "$(hash $period.h5)" "$(hash spelt.h5)"
  # Periods are periods of themselves.
  expect 0 "" "$amped" convert $period.csv spelt.h5 --value=n --date=time:$period --duplicates=mean --overwrite -q
  same "periods of periods: $period" "$(hash $period.h5)" "$(hash spelt.h5)"
  expect 0 "labels 3 .*($period of a time stamp)" "$amped" info $period.h5
done
# Periods have the natural order of labels.
for period in year month week day hour weekday hour-of-day; do
  case $period in
    year) kind=numbers ;;
    hour-of-day) kind=times ;;
    *) kind=dates ;;
  esac
  expect 0 "mode 3 (.*): labels sorted as $kind" "$amped" convert $period.h5 sorted.h5 --label-order=sorted --overwrite
  expect 0 "labels 3 .*($period of a time stamp)" "$amped" info sorted.h5
done
expect 0 "labels 3 *time: 00:00 ... 23:00" "$amped" info sorted.h5
expect 0 "($period of a time stamp)" sh -c '"$0" convert hour-of-day.h5 x.h5 --overwrite --compact -q && "$0" info x.h5 --verify' "$amped"
expect 0 "" "$amped" convert raw.csv disk.h5 --value=n --date=time:week --duplicates=mean --memory=1M -q
same "on disk" "$(hash disk.h5)" "$(hash week.h5)"
expect 0 "(week of a time stamp)" "$amped" info disk.h5

# --- second files --------------------------------------------------------------------------------------
# Films of two months and their ratings, as time stamps and as months.
awk 'BEGIN { for (n = 0; n < 240; n++) { u = n % 12; f = int(n / 12) % 5; m = int(n / 60)
    row = "u" u ",f" f ","; value = 1 + (u * f + m) % 5; kind = (u * 5 + f * 3 + m) % 4 ? "train" : "test"
    print row (1704067200 + m * 2678400 + n * 60) "," value >(kind ".rows")
    printf "%s2024-0%d,%d\n", row, 1 + m, value >(kind ".months") } }'
for kind in train test; do
  for form in rows months; do { echo user,film,time,n && cat $kind.$form; } >$kind.$form.csv; done
done
expect 0 "" on 2 complete train.rows.csv --value=n --date=time:month --rank=2 --reg=1 --iters=3 --holdout=0 -o m.h5 --state=m.state -q
expect 0 "labels 3 *time: 2024-01 ... 2024-04 (month of a time stamp)" "$amped" info m.h5
cp m.state spelt.state
for form in rows months; do
  expect 0 "rmse" "$amped" predict m.h5 test.$form.csv --value=n -o $form.predicted.csv
  "$amped" evaluate m.h5 test.$form.csv --value=n --of=film --exclude=train.$form.csv 2>/dev/null | grep '^MRR' >$form.ranks
  "$amped" recommend m.h5 --for=user:u1 --of=film --exclude=train.$form.csv --value=n -o $form.list.csv -q
done
expect 0 "" cmp rows.predicted.csv months.predicted.csv
expect 0 "MRR" cat rows.ranks
expect 0 "" cmp rows.ranks months.ranks
expect 0 "" cmp rows.list.csv months.list.csv
# tested INPUT ARGUMENTS...: the line of the errors on test entries.
tested() { on 2 complete "$@" --rank=1 --reg=1 --iters=3 --nowrite 2>/dev/null | grep '^test:'; }
expect 0 "" "$amped" convert train.rows.csv train.h5 --value=n --date=time:month -q
errors=$(tested train.months.csv --value=n --test=test.months.csv)
same "test entries" "$(echo "$errors" | grep -c 'on 60 entries')" 1
same "a tensor file, and time stamps to test" "$(tested train.h5 --value=n --test=test.rows.csv)" "$errors"
same "a tensor file, and months to test" "$(tested train.h5 --value=n --test=test.months.csv)" "$errors"
same "tables of time stamps" "$(tested train.rows.csv --value=n --date=time:month --test=test.rows.csv)" "$errors"
same "a table of time stamps, and months" "$(tested train.rows.csv --value=n --date=time:month --test=test.months.csv)" "$errors"
printf 'u1,f1,2024-05-01 00:00:00,4\n' >>test.rows.csv
printf 'u1,f1,2024-05,4\n' >>test.months.csv
expect 0 "" on 2 stream m.state test.rows.csv --value=n -o streamed.h5 -q
expect 0 "" on 2 stream spelt.state test.months.csv --value=n -o spelt-stream.h5 -q
expect 0 "factor match score 1.000000" "$amped" compare streamed.h5 spelt-stream.h5
expect 0 "labels 3 *time: 2024-01 ... 2024-05 (month of a time stamp)" "$amped" info streamed.h5
expect 0 "" on 1 stream m.state test.rows.csv --value=n -q
expect 0 "same\|learnt\|skipped" on 1 stream m.state test.months.csv --value=n
expect 2 "--date: time is given as week, and has the period month" "$amped" predict m.h5 test.rows.csv --value=n --date=time:week
# Another kind of second file has its own message, before any time stamp is read.
expect 3 "has 4 modes, but m.h5 has 3" "$amped" predict m.h5 test.rows.csv -o x.csv

# --- two periods of a column -------------------------------------------------------------------------
# The column once, two periods: the same tensor as with the column twice. Second files have the column once, or a column
# for each mode; their options and commands name the modes COLUMN_PERIOD.
awk -F, 'NR == 1 { print "user,film,time,again,n" } NR > 1 { print $1 "," $2 "," $3 "," $3 "," $4 }' train.rows.csv >copied.csv
expect 0 "" "$amped" convert copied.csv copied.h5 --value=n --date=time:month,again:weekday -q
expect 0 "keys are user, film, time_month, time_weekday," "$amped" convert train.rows.csv both.h5 --value=n --date=time:month --date=time:weekday
same "a column once" "$(hash both.h5)" "$(hash copied.h5)"
expect 0 "" "$amped" convert train.rows.csv both2.h5 --value=n --date=time:month,time:weekday,time:month -q
same "one --date" "$(hash both.h5)" "$(hash both2.h5)"
expect 0 "labels 3 *time_month: 2024-01 ... 2024-04 (month of a time stamp)" "$amped" info both.h5
expect 0 "labels 4 *time_weekday: .*(weekday of a time stamp)" "$amped" info both.h5
expect 0 "" on 2 complete both.h5 --rank=2 --reg=1 --iters=3 --holdout=0 -o both.m.h5 --state=both.state -q
expect 0 "rmse" "$amped" predict both.m.h5 train.rows.csv --value=n -o both.csv
expect 0 "user,film,time_month,time_weekday,value" cat both.csv
expect 0 "" "$amped" predict both.m.h5 both.csv --value=value -o again.csv -q
expect 0 "" cmp both.csv again.csv
sed 1d train.rows.csv >bare.csv
expect 0 "" "$amped" predict both.m.h5 bare.csv --no-header --value=4 -o again.csv -q --overwrite
sed 1d again.csv >bare.out
expect 0 "" sh -c 'sed 1d both.csv | cmp - bare.out'
expect 0 "" "$amped" recommend both.m.h5 --for=user:u1 --of=film --at=time_month:2024-01 --at=time_weekday:Mon
expect 0 "new rows: 1 time_month" on 1 stream both.state test.rows.csv --value=n
expect 3 '"2024-.*" is no time stamp' on 1 complete both.h5 --rank=1 --reg=1 --iters=3 --nowrite --test=test.months.csv --value=n
expect 2 "--date: time is given as day, and has the period weekday" "$amped" predict both.m.h5 train.rows.csv --value=n --date=time:day
expect 2 "same-labels: user and time_month have different periods" "$amped" info train.rows.csv --value=n --date=time:month,time:day --same-labels=user,time
expect 3 'line 2: column "time": "x" is no time stamp' sh -c 'printf "user,film,time,n\na,b,x,1\n" | "$0" info - --value=n --date=time:month,time:day' "$amped"
expect 2 "makes more than 8 modes" sh -c 'printf "a,b,c,d,e,f,g,time\n1,1,1,1,1,1,1,2024-01-01\n" | "$0" info - --format=csv --date=time:month,time:day' "$amped"

# --- what is refused -----------------------------------------------------------------------------------
# refused TEXT PERIOD STAMP: the message about a time stamp in line 3.
refused() {
  printf 'user,film,time,n\na,x,2024-05-17T10,1\na,x,%s,1\n' "$3" >bad.csv
  expect 3 "bad.csv: line 3: column \"time\": \"$3\" $1" "$amped" convert bad.csv x.h5 --overwrite --value=n --date=time:$2
}
for stamp in 2023-02-29 1900-02-29 2024-02-30 2024-13-01 2024-00-10 2024-04-31 0000-01-01 20230229T10; do
  refused "is not in the calendar" day $stamp
done
for stamp in yesterday 17.5.2024 2024-5-17 2024-05-17T2 2024-05-17T10:60 2024-05-17T25:00 2024-05-17T24:01 \
  2024-05-17T10:00+24:00 2024-05-17T10:00+ 2024-W20 2024-W20-5 2024-137 1.7e9 2024-05-17T10:00:00. 12:30 NaN - 2024-05-17X; do
  refused "is no time stamp" day "$stamp"
done
refused "is no time stamp" week 2023-W53
refused "is no time stamp" month 2023-13
refused "has no time of day, which hours need" hour 2024-05-17
refused "has no time of day, which hours need" hour-of-day 2024-05-17
refused "is not in the years 1 to 9999" day 0001-01-01T00:00+01:00
refused "is not in the years 1 to 2999 as seconds since 1970; milliseconds" day 1715946300000
for stamp in 20240517 202405 2024; do refused "may be a date or seconds since 1970" day $stamp; done
printf 'user,film,time,n\na,x,20240517.0,1\n' >seconds.csv
expect 0 "time: 1970-08-23 ... 1970-08-23" "$amped" info seconds.csv --value=n --date=time:day
printf 'user,film,time,n\na,x,2016-12-31T23:59:60Z,1\na,y,2016-12-31T24:00:00,1\na,z,2020-W53,1\n' >leap.csv
expect 3 '"2020-W53" is no time stamp' "$amped" info leap.csv --value=n --date=time:day
expect 0 "time: 2016-W52 ... 2020-W53" "$amped" info leap.csv --value=n --date=time:week
sed -i '$d' leap.csv
expect 0 "time: 2016-12-31 ... 2017-01-01" "$amped" info leap.csv --value=n --date=time:day
printf 'user,film,time,n\na,x,2024-05-17,1\nb,x,NaT,1\nb,y,,2\n' >some.csv
expect 3 'line 3: column "time": "NaT" is no time stamp.*--missing=skip' "$amped" info some.csv --value=n --date=time:day
expect 0 "2 of 3 rows .*(first one: time 2)" "$amped" info some.csv --value=n --date=time:day --missing=skip
expect 0 "1 of 3 rows .*(first one: time 1)" "$amped" info some.csv --value=n --date=time:day --missing=skip --empty=never
for date in time time:fortnight :day time:; do
  expect 2 "--date: " "$amped" info some.csv --value=n --date=$date
done
expect 2 '--date: "n" is not a key; keys are user, film, time' "$amped" info some.csv --value=n --date=n:day
expect 2 "x.h5: --date is for tables" "$amped" info x.h5 --date=time:day
printf 'from,to,n,k\n2024-05-17,2024-05-18,1,2\n' >two.csv
expect 2 "have different periods" "$amped" info two.csv --same-labels=from,to --date=from:day
expect 0 "2 x 2 x 1 x 1" "$amped" info two.csv --keys=from,to,n,k --same-labels=from,to --date=from:day,to:day
sed 1d seconds.csv >bare.csv
expect 0 "labels 3 *[3: ]*1970-08-23 ... 1970-08-23" "$amped" info bare.csv --no-header --value=4 --date=3:day
expect 0 "" "$amped" convert leap.csv twice.h5 --value=n --date=time:year -q
printf 'a,x,2016-12-31,1\n' >>leap.csv
expect 3 'time "2016".*in lines 2 and 4' "$amped" convert leap.csv x.h5 --overwrite --value=n --date=time:year --duplicates=error
# The label of empty keys in a mode of periods: as an empty cell, and as tables of predict write it.
printf 'user,film,time,n\na,x,2024-05-17,1\na,y,,2\nb,x,2024-06-01,3\nb,y,,4\nb,x,,2\n' >holes.csv
expect 0 "" on 1 complete holes.csv --value=n --date=time:month --empty=none --rank=1 --reg=1 --holdout=0 --iters=3 -o holes.h5 -q
expect 0 "" "$amped" predict holes.h5 holes.csv --value=n --empty=none -o told.csv
expect 0 "5 cells of told.csv" "$amped" predict holes.h5 told.csv --value=value --empty=none
# With --missing=skip, too, if the label is a word for a missing key; without a label such a key is missing.
printf 'user,film,day,n\na,x,2024-05-17,1\na,y,,2\nb,x,NA,3\nb,y,2024-06-01,4\n' >na.csv
expect 0 "" "$amped" convert na.csv na.h5 --value=n --date=day:month --empty=NA --missing=skip
same "rows with the label of empty keys" "$("$amped" info na.h5 | sed -n 's/^nonzeros *\([0-9]*\).*/\1/p')" 4
expect 0 "" "$amped" convert na.csv na.h5 --value=n --date=day:month --missing=skip --overwrite
same "rows without empty keys" "$("$amped" info na.h5 | sed -n 's/^nonzeros *\([0-9]*\).*/\1/p')" 2
expect 3 "is no time stamp.*; if it is a label for empty keys, give it as --empty=LABEL" "$amped" predict holes.h5 told.csv --value=value
finish
