#!/bin/sh
# The floors of docs/architecture.md: no file includes a file of a higher floor, and no two modules
# include each other, directly or through other modules. A module is a .c or .cu file and its
# header.
. "$(dirname "$0")/../lib/lib.sh"
cd "$srcdir" || exit 99

tests/house floors >"$scratch/floors"
tests/house includes >"$scratch/includes"
same "folders without a floor" "" \
  "$(find src cuda -name '*.[ch]' -o -name '*.cu' | sed 's|/[^/]*$||' | sort -u | while read -r folder; do
    grep -q "^$folder " "$scratch/floors" || echo "$folder"
  done)"
same "includes of what is not there" "" \
  "$(cut -d' ' -f2 "$scratch/includes" | sort -u | while read -r header; do [ -f "$header" ] || echo "$header"; done)"
same "includes that point up" "" "$(tests/house up)"
same "modules that include each other" "" "$(tests/house circles)"
finish
