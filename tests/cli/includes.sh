#!/bin/sh
# The floors of docs/architecture.md: no file includes a file of a higher floor, and no two modules
# include each other, directly or through other modules. A module is a .c or .cu file and its
# header.
. "$(dirname "$0")/../lib/lib.sh"
cd "$srcdir" || exit 99

# Lines "folder floor" from the floor plan: `src/NAME/` or `cuda/NAME/` first on a line of the
# block.
floors() {
  awk '/^```floors$/ { inside = 1; next }
    /^```/ { inside = 0 }
    inside && /^(src|cuda)(\/[a-z_0-9]+)*\/? / { n++; sub(/\/$/, "", $1); print $1, n }' docs/architecture.md
}

# Lines "from to": each file and a file that it includes, as paths below the top folder.
includes() {
  find src cuda -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | sort | while read -r file; do
    sed -n 's/^ *# *include "\(.*\)".*/\1/p' "$file" | while read -r header; do
      case $header in
        config.h | git_version.h) continue ;;
        cuda/*) ;;
        *) header=src/$header ;;
      esac
      echo "$file $header"
    done
  done
}

floors >"$scratch/floors"
includes >"$scratch/includes"
same "folders without a floor" "" \
  "$(find src cuda -name '*.[ch]' -o -name '*.cu' | sed 's|/[^/]*$||' | sort -u | while read -r folder; do
    grep -q "^$folder " "$scratch/floors" || echo "$folder"
  done)"
same "includes of what is not there" "" \
  "$(cut -d' ' -f2 "$scratch/includes" | sort -u | while read -r header; do [ -f "$header" ] || echo "$header"; done)"
same "includes that point up" "" "$(awk '
  function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
  NR == FNR { floor[$1] = $2; next }
  floor[folder($2)] < floor[folder($1)] { print $1 " includes " $2 }' "$scratch/floors" "$scratch/includes")"

# Modules that no module includes, or that include no module, are in no circle: remove them, until
# none is left to remove.
same "modules that include each other" "" "$(awk '
  function module(path) { sub(/\.[a-z]*$/, "", path); return path }
  { from = module($1); to = module($2) }
  $1 ~ /\.cu?$/ { has_code[from] = 1 }
  from != to { edges[++n] = from " " to }
  END {
    do {
      split("", out); split("", in_)
      for (i = 1; i <= n; i++) {
        split(edges[i], e, " ")
        if (has_code[e[1]] && has_code[e[2]]) { out[e[1]]++; in_[e[2]]++ }
      }
      kept = 0
      for (i = 1; i <= n; i++) {
        split(edges[i], e, " ")
        if (has_code[e[1]] && has_code[e[2]] && (e[2] in out) && (e[1] in in_)) edges[++kept] = edges[i]
      }
      gone = n - kept
      n = kept
    } while (gone > 0)
    for (i = 1; i <= n; i++) print edges[i]
  }' "$scratch/includes")"
finish
