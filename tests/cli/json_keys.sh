#!/bin/sh
# --json of cpd, complete and stream: each event has a section in docs/json.md, and each key stands there.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
needs_python
page=$srcdir/docs/json.md
cat >keys.py <<'END'
"""keys.py PAGE JSON...: keys that do not stand in the section of their event, or in that of errors."""
import json, re, sys
sections = {}
for part in open(sys.argv[1], encoding='utf8').read().split('\n## ')[1:]:
    title, text = part.split('\n', 1)
    sections[title] = set(word for span in re.findall(r'`([^`]*)`', text) for word in [span])
errors = sections['Errors']
missing = set()
seen = set()
def walk(event, value):
    if isinstance(value, dict):
        for key, inner in value.items():
            seen.add((event, key))
            if key != 'event' and key not in sections.get(event, ()) and key not in errors:
                missing.add(f'{event}.{key}')
            walk(event, inner)
    elif isinstance(value, list):
        for inner in value:
            walk(event, inner)
for path in sys.argv[2:]:
    for line in open(path, encoding='utf8'):
        fields = json.loads(line)
        if fields['event'] not in sections:
            missing.add(f'event {fields["event"]}')
        walk(fields['event'], fields)
print(len({event for event, key in seen}), 'events;', 'not on the page:', *(sorted(missing) or ['none']))
END

"$amped" generate s.h5 --dims=30x20x10 --nnz=2k --planted=3 --seed=7 -q || fail "generate s.h5"
"$amped" generate d.h5 --dense --dims=24x20x18 --planted=2 --noise=0.1 -q || fail "generate d.h5"
"$amped" generate o.h5 --dims=30x20x10 --planted=2 --observed=0.3 --noise=0.1 -q || fail "generate o.h5"
awk 'BEGIN { print "user,film,time,n"
  for (i = 0; i < 305; i++) print "u" i % 12 ",f" int(i / 12) % 5 ",2024-0" 1 + int(i / 61) "," 1 + i % 5 }' >all.csv
grep -v 2024-05 all.csv >most.csv
awk 'NR == 1 || NR % 7 == 0' most.csv >validate.csv
awk 'NR == 1 || NR % 7 > 0' most.csv >train.csv
awk -F, 'NR == 1 { print $0 ",w" } NR > 1 { print $0 ",1" }' train.csv | awk -F, '!seen[$1 $2 $3]++' >weights.csv
{ head -n 1 all.csv && grep 2024-05 all.csv && echo u99,f1,2024-05,3; } >batch.csv

# writes RANKS ARGUMENT...: one more file of lines.
count=0
writes() {
  ranks=$1
  shift
  count=$((count + 1))
  expect 0 "" on "$ranks" "$@" --json=$count.json -q
}
writes 2 s.h5 --rank=3 --iters=5 -o a.h5 --checkpoint=c.h5 --checkpoint-every=2
writes 1 s.h5 --rank=3 --iters=9 -o b.h5 --checkpoint=c.h5 --resume
writes 1 s.h5 --rank=2,3 --starts=2 --iters=4 --corcondia --nowrite
writes 1 s.h5 --rank=3 --iters=4 --method=lm --nowrite
writes 1 s.h5 --rank=3 --iters=4 --nonnegative --ridge=0.1 --l1=0.01 --nowrite
writes 1 s.h5 --rank=3 --iters=6 --accelerate=linesearch --nowrite
writes 2 d.h5 --rank=2 --method=rbs --epochs=4 --search=1 --nowrite
writes 1 d.h5 --rank=2 --method=rbs --epochs=2 --memory=20K --nowrite
writes 1 d.h5 --rank=2 --iters=4 --nowrite
writes 1 s.h5 --rank=3 --copies=one --plan
writes 1 all.csv --value=n --rank=2 --starts=2 --iters=4 --loss=poisson --nowrite
writes 2 s.h5 --rank=3 --init=a.h5 --fix=1 --iters=3 --nowrite
writes 1 complete o.h5 --rank=2 --iters=4 --nowrite
writes 2 complete train.csv --value=n --rank=1,2 --reg=1,0.1 --iters=4 --test=validate.csv --nowrite
writes 1 complete train.csv --value=n --rank=2 --iters=4 --implicit=4 --of=film --validate=validate.csv --nowrite
writes 1 complete o.h5 --rank=2 --reg=1 --holdout=0 --iters=4 --nonnegative --bias=none --nowrite
writes 1 complete weights.csv --value=n --weights=w --rank=1 --reg=1 --holdout=0 --iters=2 --nowrite
writes 2 complete train.csv --value=n --rank=2 --reg=1 --iters=3 --holdout=0.1 --state=t.state --clip=1:5 --nowrite
writes 2 stream t.state batch.csv --value=n --order=random
writes 1 stream t.state batch.csv --value=n
same "keys" "$("$python" keys.py "$page" ./*.json)" "18 events; not on the page: none"

finish
