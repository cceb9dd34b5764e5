#!/bin/sh
# Bash completion compared with --help: every command, every option, the words of options, files.
. "$(dirname "$0")/../lib/lib.sh"
needs bash
script=$(cd "$(dirname "$0")/../.." && pwd)/completions/amped_mpi
cd "$scratch" || exit 99
: >tensor.h5
: >table.csv

# complete WORD...: the offers for the last word, sorted, in one line.
complete() {
  bash -c '. "$0"
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _amped_mpi
    printf "%s\n" "${COMPREPLY[@]}"' "$script" "$amped" "$@" | sort | tr '\n' ' ' | sed 's/ $//'
}

commands=$("$amped" --help | awk '/^Commands/ { inside = 1; next } /^[^ ]/ { inside = 0 }
  inside && /^  [a-z]/ { print $1 }')
same "commands" "$(complete '')" "$(echo "$commands" | sort | tr '\n' ' ' | sed 's/ $//')"
same "a command" "$(complete conv)" "convert"
for c in $commands; do
  # Every word of the left column that begins with two dashes, without its value.
  want=$("$amped" $c --help | sed -n 's/^ \{2,6\}\(-., \)\{0,1\}\(--[a-z0-9-]*\)\(=\{0,1\}\).*/\2\3/p' |
    sort | tr '\n' ' ' | sed 's/ $//')
  same "options of $c" "$(complete $c --)" "$want"
  test -n "$want" && pass || fail "no options of $c"
done
same "an option" "$(complete cpd --iter)" "--iters="
same "without a command" "$(complete tensor.h5 --iter)" "--iters="
same "words" "$(complete cpd --precision =)" "double float"
same "a word" "$(complete cpd --placement = gr)" "greedy"
same "words beside a file's name" "$(complete cpd --init = r)" "random"
same "files" "$(complete convert t)" "table.csv tensor.h5"
same "a file without a command" "$(complete tens)" "tensor.h5"
same "a file as a value" "$(complete cpd --output = tens)" "tensor.h5"
finish
