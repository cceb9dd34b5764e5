#!/bin/sh
# Initialisers of structs with a pointer to a function, with a bool, or with a name in _needs or _ops:
# they name their members, so that a member that is added later moves no value. {0} and {} are free.
# Tables of the CPU backend have a twin of each member in the CUDA backend.
. "$(dirname "$0")/../lib/lib.sh"
cd "$srcdir" || exit 99
finder=$srcdir/tests/cli/initialisers.awk

# by_position FOLDER...: lines "FILE:LINE: TYPE" of initialisers by position.
by_position() {
  headers=$(find "$@" -name '*.h' -o -name '*.cuh' | sort)
  sources=$(find "$@" -name '*.c' -o -name '*.cu' | sort)
  # shellcheck disable=SC2086
  awk -f "$finder" next_pass=1 $headers next_pass=2 $headers $sources
}

# Made-up sources. Lines that end in "// bad" are to be found, and no others.
mkdir "$scratch/made" || exit 99
cat >"$scratch/made/types.h" <<'END'
typedef void made_visit(void *self);
typedef struct made_needs { int rows; int cells; } made_needs;
typedef struct made_table {
  const char *name; /* not a brace: { */
  made_needs needs;
  int (*require)(void);
  struct { unsigned own; bool on; } inner[2];
} made_table;
struct made_pair { int at; bool held; };
typedef struct made_plain { int a, b; const bool *flags; } made_plain;
typedef struct made_outer { int a; made_plain plain; struct made_pair pair; } made_outer;
#define MADE_EACH(X) X(one) X(two)
#define MADE_PAIR {1, true} // bad
#define MADE_NAMED .at = 1, .held = true
END
cat >"$scratch/made/bad.c" <<'END'
#include "types.h"
static const made_table table = {"a", {.cells = 1}, require}; // bad
static const made_table nested = {.name = "{", .needs = {0, 1}, .require = require}; // bad
static const made_table deep = {.inner = {{.on = true}, {3, false}}}; // bad
static const made_table
    far[] =
{{.name = "x"},
 {"y", {0}, require}, // bad
 [2] = {"z"}}; // bad
static const struct made_pair elided[] = {1, true}; // bad
static made_outer outer = {1, {2, 3}, {4, true}}; // bad
static struct made_pair from_macro = MADE_PAIR;
struct made_pair a = {0}, b = {5, false}; // bad
typedef struct { made_visit *visit; void *self; } hook;
enum { K = '{' };
void f(void) {
  struct { bool here; int x; } rows[] = {{.here = true}, {false, 1}}; // bad
  g(&(hook){visit, NULL}); // bad
  p->pair = (struct made_pair){1, false}; // bad
  h((const hook[]){{.visit = v}, {v, p}}); // bad
}
#define ROW(CPU) {HAS_##CPU, run_##CPU}, // bad
static const struct { bool here; void (*run)(void); } each[] = {MADE_EACH(ROW)};
#undef ROW
#define ROW(CPU) {.here = HAS_##CPU, .run = run_##CPU},
static const struct { bool here; void (*run)(void); } named[] = {MADE_EACH(ROW)};
#define CALL(x) \
  g(&(hook){x, NULL}) // bad
END
cat >"$scratch/made/bad.cu" <<'END'
template <typename T> struct rows_of { const T *rows; bool is_float; __device__ T at(int i) const { return rows[i]; } };
struct launch_ops { int threads; };
struct alignas(16) pass { cudaError_t (*launch)(void *self, cudaStream_t stream); void *self; };
namespace launch_ops { int x; }
template <typename T> rows_of<T> make(const T *rows) {
  if (rows)
    return {.rows = rows, .is_float = true};
  return {rows, false}; // bad
}
void run() {
  const pass first = {begin, &x}; // bad
  const pass second{begin, &x}; // bad
  const rows_of<float> r = {rows, true}; // bad
  use(launch_ops{128}); // bad
  const pass good = {.launch = begin, .self = nullptr};
  const pass none = {};
}
END
cat >"$scratch/made/good.c" <<'END'
#include "types.h"
/* {1, true} of struct made_pair x = {1, true}; in a comment */
static const made_plain plain = {1, 2, NULL}, more[] = {{1, 2}, {3, 4}};
static const struct made_pair zero = {0}, zeros[3] = {{0}}, empty = {};
static const struct made_pair *const pointers[] = {&zero, zeros};
static const struct made_pair rows[] = {[A] = {.at = 1}, [B] = {.held = true}, {MADE_NAMED}};
static const made_outer outer = {1, {2, 3, NULL}, {.at = 4}};
static const made_table tables[2] = {{.name = "a, {1, true}", .needs = {.cells = 1}, .inner = {{.own = 1}}}};
struct made_pair f(struct made_pair a, made_plain b) {
  made_plain p = {a.at, b.b};
  if (a.held) { return (struct made_pair){.at = p.a}; }
  return made(a, (made_plain){1, 2, 0});
}
END
same "initialisers by position in made-up sources" \
  "$(cd "$scratch" && grep -n '// bad' made/* | sed 's/^\([^:]*:[0-9]*\):.*/\1/' | LC_ALL=C sort)" \
  "$(cd "$scratch" && by_position made | sed 's/: .*//' | LC_ALL=C sort)"

same "initialisers by position" "" "$(by_position src cuda tests)"
# --- twins: each member of a table of the CPU backend is in the CUDA backend's table, too -------------
# no_twin FOLDER: lines "TABLE MEMBER" of members that only src/cpu below that folder has.
no_twin() {
  (
    cd "$1" || exit 99
    # shellcheck disable=SC2046
    awk -f "$srcdir/tests/cli/twins.awk" $(find src/cpu cuda -name '*.c' -o -name '*.cu' | sort) | sort -u |
      awk '$NF == "cuda" { sub(/ cuda$/, ""); there[$0] = 1 } $NF == "cpu" { sub(/ cpu$/, ""); here[$0] = 1 }
        END { for (x in here) if (!(x in there)) print x }' | sort
  )
}
# A GPU makes synthetic nonzeros in the copies' own memory, so require_synthetic is left out there.
same "members without a twin" "$(no_twin . | grep -v ' require_synthetic$')" ""
test "$(awk -f tests/cli/twins.awk src/cpu/*.c src/cpu/*/*.c | wc -l)" -gt 100 && pass || fail "few members of tables are found"
mkdir -p "$scratch/twins/src/cpu" "$scratch/twins/cuda/dense"
printf '%s\n' 'const amped_format_ops amped_dense = {' '    .name = "dense",' '    .needs = {.cells = true},' \
  '    .go_on = go_on,' '};' 'const amped_row_ops rows = {.begin = begin, .wait = wait};' >"$scratch/twins/src/cpu/a.c"
printf '%s\n' 'static const amped_format_ops amped_dense_cuda = {' '    .name = "dense",' '    .go_on = go_on,' '};' \
  'const amped_row_ops rows_cuda = {.begin = begin,' '                                 .stage = stage};' >"$scratch/twins/cuda/dense/a.cu"
same "members without a twin in made-up tables" "$(no_twin "$scratch/twins" | tr '\n' ',')" \
  "amped_format_ops dense cells,amped_format_ops dense needs,amped_row_ops wait,"
finish
