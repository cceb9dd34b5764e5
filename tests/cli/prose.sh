#!/bin/sh
# Plain English: sentences of comments and pages (prose.py), the length of pages, their links, and paths that
# comments name.
. "$(dirname "$0")/../lib/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.." || exit 99
python=$(command -v python3) || python=
if test -z "$python"; then
  echo "skipped: no python3"
  exit 77
fi

# Sentences.
# shellcheck disable=SC2046
sentences() {
  "$python" "$here/prose.py" README.md CONTRIBUTING.md docs/*.md docs/decisions/*.md \
    $(find src cuda -name "*.[ch]" -o -name "*.cu" -o -name "*.cuh")
}
expect 0 "" sentences

# at_most LINES PAGE: a page that is read from top to bottom.
at_most() {
  lines=$(wc -l <"$2")
  if test "$lines" -le "$1"; then pass; else fail "$2 has $lines lines, more than $1"; fi
}
at_most 130 README.md
at_most 220 docs/benchmarks.md
for page in decompose counts ratings knowledge-graph streaming dense choosing cluster restart python words exit-status; do
  at_most 200 docs/$page.md
done
decisions=$(find docs/decisions -name "[0-9]*.md" | wc -l)
if test "$decisions" -le 42; then pass; else fail "$decisions pages of decisions, more than 42"; fi

# Links and paths.
expect 0 "" "$python" "$here/prose_links.py"

finish
