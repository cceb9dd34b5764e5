#!/bin/sh
# The examples of README and of the pages for users run, and print what the pages show (pages.py).
. "$(dirname "$0")/../lib/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
python=$(command -v python3) || python=
if test -z "$python"; then
  echo "skipped: no python3"
  exit 77
fi
for page in README.md docs/decompose.md docs/counts.md docs/ratings.md docs/knowledge-graph.md docs/known-model.md docs/streaming.md docs/dense.md docs/choosing.md \
  docs/cluster.md docs/restart.md docs/python.md docs/exit-status.md docs/json.md docs/video.md docs/gaps.md; do
  mkdir "$scratch/$(basename $page .md)"
  cd "$scratch/$(basename $page .md)" || exit 99
  # shellcheck disable=SC2046
  expect 0 "" "$python" "$here/pages.py" "$top/$page" "$top/examples" "$amped" "$mpirun" \
    ${AMPED_PYTHON-$(plain_python)}
done

finish
