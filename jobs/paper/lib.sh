# Shared by the scripts of this folder and by jobs/thesis, which source it: options, runs, tables, plots.
# POSIX sh, awk, and Python 3 for JSON.
#
# A script calls `paper_begin "$0" "$@"`, then for each run `bench RANKS TENSOR OPTION...` and `get`,
# `total` or `rank_compute`, which read what that run told; `table`, `row` and `plot` write; and
# `paper_end`. A run that fails is "nan" in the table and makes the script's exit status 1.

# shellcheck shell=sh disable=SC2015,SC2034 # A && B || die; names for the scripts
set -eu
export LC_ALL=C
folder=$(cd "$(dirname "$0")" && pwd)

paper_usage() {
  cat <<END
Usage: jobs/paper/$name [OPTION]...
$(sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0")

Options [defaults]:
  --nnz=N            shrink each tensor to at most N nonzeros, dimensions along with it
                     [the paper's sizes]
  --full-dims        with --nnz: keep the dimensions
  --ranks=A,B,...    numbers of ranks, from 1; the last is the paper's "4 GPUs" [1,2,3,4, or up to
                     the GPUs of this machine if it has fewer]
  --tensors=A,B,...  shapes of bench [amazon,patents,reddit,twitch]
  --backend=NAME     auto, cuda or cpu [auto]
  --repeat=N         timed passes [5]
  --file-nnz=N       nonzeros of the files of the figure of preprocessing, at most [10M]
  --out=DIR          where tables, plots and runs/ go [paper]
  --mpirun=COMMAND   starts ranks; -np N follows [mpirun]
AMPED_MPI names the program [./amped_mpi, or amped_mpi in PATH].
END
}

die() {
  echo "${job:-jobs/paper/$name}: $*" >&2
  exit 2
}

# number TEXT: "100k" is 100000; nothing where it is no count above 0.
number() {
  echo "$1" | awk '/^[0-9]+(\.[0-9]+)?[kKMGT]?$/ {
    s = $0; sub(/[0-9.]+/, "", s)
    n = $0 * (s == "" ? 1 : 10 ^ (3 * index("KMGT", toupper(s))))
    if (n >= 1 && n == int(n)) printf "%.0f\n", n }'
}

paper_options() {
  nnz='' full_dims='' ranks='' tensors="amazon patents reddit twitch" backend=auto repeat=5
  file_nnz=10000000 out=paper mpirun=mpirun
  for argument in "$@"; do
    value=${argument#*=}
    case $argument in
      --nnz=*) nnz=$(number "$value") && test -n "$nnz" || die "$argument: a count is expected" ;;
      --full-dims) full_dims=1 ;;
      --ranks=*) ranks=$(echo "$value" | tr ',' ' ') ;;
      --tensors=*) tensors=$(echo "$value" | tr ',' ' ') ;;
      --backend=auto | --backend=cuda | --backend=cpu) backend=$value ;;
      --repeat=*) repeat=$(number "$value") && test -n "$repeat" || die "$argument: a count is expected" ;;
      --file-nnz=*)
        file_nnz=$(number "$value") && test -n "$file_nnz" || die "$argument: a count is expected" ;;
      --out=?*) out=$value ;;
      --mpirun=?*) mpirun=$value ;;
      --help | -h) paper_usage && exit 0 ;;
      *) die "$argument is no option, or has a wrong value; see --help" ;;
    esac
  done
  test -n "$ranks" || ranks=$(default_ranks)
  test -z "$full_dims" || test -n "$nnz" || die "--full-dims goes with --nnz"
  for most in $ranks; do
    test -n "$(number "$most")" || die "--ranks: whole numbers are expected"
  done
  test "${ranks%% *}" = 1 || die "--ranks begins with 1: speed-ups are over one rank"
  for tensor in $tensors; do
    test -n "$(full_nnz "$tensor")" || die "--tensors: $tensor is none of the paper's"
  done
}

# The paper's numbers of GPUs, as far as this machine has them. CPU ranks need none.
default_ranks() {
  gpus=4
  test "$backend" = cpu || gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)
  case $gpus in
    1) echo 1 ;;
    2) echo 1 2 ;;
    3) echo 1 2 3 ;;
    *) echo 1 2 3 4 ;;
  esac
}

# The paper's table 3.
full_nnz() {
  case $1 in
    amazon) echo 1700000000 ;;
    patents) echo 3600000000 ;;
    reddit) echo 4700000000 ;;
    twitch) echo 500000000 ;;
  esac
}

# shape TENSOR LIMIT: the options of bench and generate that make it.
shape() {
  if test -z "$2" || test "$2" -ge "$(full_nnz "$1")"; then
    echo "--shape=$1"
  elif test -n "$full_dims"; then
    echo "--shape=$1 --nnz=$2"
  else
    echo "--shape=$1 --scale=$(awk -v n="$2" -v of="$(full_nnz "$1")" 'BEGIN { printf "%.17g", n / of }')"
  fi
}

# flatten: JSON lines as "event.name.0.name value" lines; numbers as they were written.
flatten() {
  python3 -c '
import json, sys

def tell(path, value):
    if isinstance(value, dict):
        for name in value:
            tell(path + "." + name, value[name])
    elif isinstance(value, list):
        for i, item in enumerate(value):
            tell("%s.%d" % (path, i), item)
    else:
        print(path, value if isinstance(value, str) else json.dumps(value))

for line in sys.stdin:
    event = json.loads(line, parse_int=str, parse_float=str)
    tell(event["event"], event)'
}

# told KEY COMMAND...: run it once for all scripts that share --out; $result is then what it told.
# What this very program told on this machine is not asked again; remove DIR/runs to measure anew.
told() {
  result=$runs/$(echo "$1" | tr -c 'A-Za-z0-9.=\n-' '_')
  shift
  test ! -s "$result" || return 0
  echo "+ $*" >&2
  # To a file: mpirun's output may hold more than the program's.
  rm -f "$result.json"
  if "$@" --json="$result.json" </dev/null >"$result.log" 2>&1 &&
    flatten <"$result.json" >"$result.tmp" 2>>"$result.log"; then
    { echo "command $*" && cat "$result.tmp"; } >"$result"
    rm "$result.tmp"
  else
    { grep '^amped_mpi: ' "$result.log" || tail -n 3 "$result.log"; } | sed 's/^/  | /' >&2
    failures=$((failures + 1))
    : >"$result"
  fi
}

# bench RANKS TENSOR OPTION...
bench() {
  on=$1 of=$2
  shift 2
  # shellcheck disable=SC2046,SC2086 # lists of words
  told "bench.$on.$(shape "$of" "$nnz").$backend.$repeat.$*" $mpirun -np "$on" "$amped" bench \
    $(shape "$of" "$nnz") --backend="$backend" --repeat="$repeat" "$@"
}

# get KEY: a value of $result; total KEY: its sum over modes; nan where there is none.
get() {
  awk -v key="$1" '$1 == key { sub(/^[^ ]* /, ""); print; found = 1; exit }
    END { if (!found) print "nan" }' "$result"
}
total() {
  awk -v key="$1" '
    $1 ~ /^bench\.modes\.[0-9]+\./ { k = $1; sub(/^bench\.modes\.[0-9]+\./, "", k) }
    k == key { sum += $2; found = 1 }
    { k = "" }
    END { print found ? sum : "nan" }' "$result"
}

# The least and the most compute time that a rank has over all modes, in ms.
rank_compute() {
  awk '
    $1 ~ /^bench\.modes\.[0-9]+\.ranks\.[0-9]+\.compute_ms$/ { split($1, a, "."); t[a[5]] += $2 }
    END {
      least = most = "nan"
      for (p in t) {
        if (least == "nan" || t[p] < least) least = t[p]
        if (most == "nan" || t[p] > most) most = t[p]
      }
      print least, most
    }' "$result"
}

# The largest imbalance of nonzeros of a mode, in per cent.
nnz_imbalance() {
  awk '$1 ~ /^plan\.modes\.[0-9]+\.imbalance_percent$/ { if (!n++ || $2 > most) most = $2 }
    END { print n ? most : "nan" }' "$result"
}

# words ARGUMENT...: as they are typed.
words() {
  for word in "$@"; do
    case $word in
      *[!A-Za-z0-9_=,.:/+-]*) printf ' "%s"' "$word" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
}

# calc EXPRESSION NAME=VALUE...: rounded to six digits; nan where a value is.
calc() {
  expression=$1
  shift
  for pair in "$@"; do
    case $pair in *=nan | *=) echo nan && return ;; esac
    set -- "$@" -v "$pair"
    shift
  done
  awk "$@" "BEGIN { printf(\"%.6g\\n\", ($expression)) }"
}

# geometric_mean VALUE...: of those that are numbers.
geometric_mean() {
  echo "$@" | awk '{ for (i = 1; i <= NF; i++) if ($i != "nan") { sum += log($i); n++ } }
    END { if (n) printf "%.6g\n", exp(sum / n); else print "nan" }'
}

# table NAME COLUMN,...: begin $out/NAME.csv; row VALUE...: add to it; note TEXT: add a comment line.
table() {
  csv=$out/$1.csv
  {
    echo "# commit: $revision"
    echo "# machine: $machine"
    echo "# command: $command"
    echo "# date: $date"
    made="R = 32, float32, ${nnz:+at most $nnz nonzeros${full_dims:+, full dimensions}, }shapes and skew as the paper's, synthetic"
    echo "# tensors: ${tensors_are:-$made}"
    echo "$2"
  } >"$csv"
}
row() {
  first=$1
  shift
  for cell in "$@"; do
    case $cell in *.*) cell=$(printf '%.6g' "$cell") ;; esac
    first=$first,$cell
  done
  echo "$first" >>"$csv"
}
note() {
  echo "# $*" >>"$csv"
}

# plot KIND FIRST LAST YLABEL TITLE: draw columns FIRST to LAST of the table over its first one.
# KIND: bars, logbars, stacked (bars), lines or loglines. What `redraw` needs is left in the table.
plot() {
  note "plot: $1 $2 $3|$4|$5"
  draw "$@"
}

draw() {
  if test -z "$(filled "$2" "$3")"; then
    echo "$csv (no plot: the table has no number)"
    return
  elif command -v gnuplot >/dev/null 2>&1; then
    gnuplot_plot "$@"
  elif python3 -c 'import matplotlib' >/dev/null 2>&1; then
    python3 "$folder/plot.py" "$csv" "$@" "$(footer)" "$(
      i=$2
      while test "$i" -le "$3"; do
        style $((i - $2 + 1)) "$(series "$i")"
        i=$((i + 1))
      done
    )"
  else
    echo "$csv (no plot: neither gnuplot nor matplotlib is installed)"
    return
  fi
  echo "$csv, .png, .svg"
}

# Lines of a length that the plot has room for.
footer() {
  echo "commit $revision, $date, $machine"
  echo "$command" | fold -s -w 165
}

# style NUMBER NAME: colour, line width, dash and marker of the series NAME, the NUMBERth of its plot.
# A colour has one meaning in all plots that share a series, and is told from the others by everyone
# (Okabe's and Ito's). Black is the geometric mean; grey is the paper.
style() {
  case $2 in
    "paper: geometric mean") echo "#808080 3 2 6" ;;
    paper*) echo "#808080 2 2 6" ;;
    "geometric mean") echo "#000000 4 1 7" ;;
    amazon | ours | computation | "convert: read text") echo "#0072b2 2 1 4" ;;
    patents | "published kernel streamed" | "run: distribute") echo "#d55e00 2 1 8" ;;
    reddit | "equal placement" | "ours over equal" | "convert: write file") echo "#009e73 2 1 10" ;;
    twitch | "ours over block" | waiting) echo "#cc79a7 2 1 12" ;;
    "ours streamed" | "convert: order copies") echo "#56b4e9 2 1 2" ;;
    "one GPU or rank" | exchange | "run: tables and plan") echo "#e69f00 2 1 1" ;;
    "one GPU streamed") echo "#f0e442 2 1 3" ;;
    rest) echo "#d0d0d0 2 1 5" ;;
    *) echo "$(echo '#0072b2 #d55e00 #009e73 #cc79a7 #56b4e9 #e69f00 #f0e442 #000000' |
      cut -d ' ' -f $((($1 - 1) % 8 + 1))) 2 1 $1" ;;
  esac
}

# series N: the name of the table's column N.
series() {
  grep -v '^#' "$csv" | sed -n 1p | cut -d , -f "$1"
}

quoted() { # a text in gnuplot's single quotes
  printf "'%s'" "$(printf '%s' "$1" | sed "s/'/''/g")"
}

# Those of the columns FIRST to LAST that hold a number.
filled() {
  grep -v '^#' "$csv" | awk -F , -v a="$1" -v b="$2" '
    NR > 1 { for (i = a; i <= b; i++) if ($i != "nan") some[i] = 1 }
    END { for (i = a; i <= b; i++) if (i in some) printf "%d ", i }'
}

# listed KIND FIRST LAST: the columns that hold numbers as gnuplot's list of what to plot.
listed() {
  comma=
  for i in $(filled "$2" "$3"); do
    # shellcheck disable=SC2046 # four words
    set -- "$1" "$2" "$3" $(style $((i - $2 + 1)) "$(series "$i")")
    case $1 in
      *lines) using="1:(column($i)) linecolor rgb '$4' linewidth $5 dashtype $6 pointtype $7" ;;
      *) using="(column($i)):xtic(1) linecolor rgb '$4'" ;;
    esac
    printf "%s%s using %s title columnheader(%d)" "$comma" "$(quoted "$csv")" "$using" "$i"
    comma=', '
  done
}

# The numbers of the table's first column, which stand below the axis.
abscissas() {
  grep -v '^#' "$csv" | awk -F , 'NR > 1 { printf "%s%s", (NR > 2 ? ", " : ""), $1 }'
}

gnuplot_plot() {
  look="set style data linespoints; set xtics ($(abscissas)); set xlabel $(quoted "$(series 1)"); set offsets 0.1, 0.1; set autoscale xfix; set pointsize 1.2"
  case $1 in
    *bars) look="set style data histograms; set style histogram clustered gap 1; set xlabel $(quoted "$(series 1)")" ;;
    stacked) look="set style data histograms; set style histogram rowstacked; set boxwidth 0.7" ;;
  esac
  case $1 in
    log*) look="$look; set logscale y" ;;
  esac
  case $1 in
    *bars) look="$look; set style fill solid 1.0 border rgb 'white'" ;;
    stacked) look="$look; set style fill solid 1.0 noborder" ;;
  esac
  range='[0:*]'
  case $1$4 in
    log*) range='[*:*]' ;;
    stacked%*) range='[0:100]' ;;
  esac
  margin=$((4 + $(footer | wc -l)))
  test "$(grep -vc '^#' "$csv")" -le 7 || { look="$look; set xtics rotate by -25" && margin=$((margin + 3)); }
  for type in png svg; do
    terminal="pngcairo noenhanced size 1000,640"
    test $type = png || terminal="svg noenhanced size 1000,640 dynamic background rgb 'white'"
    gnuplot <<END
set terminal $terminal font 'sans,11'
set output $(quoted "${csv%.csv}.$type")
set datafile separator ','
set datafile missing 'nan'
set key outside right top vertical Left reverse
set border 3
set tics nomirror
set bmargin $margin
set grid ytics linetype 1 linecolor rgb '#dddddd'
set title $(quoted "$5")
set ylabel $(quoted "$4")
set yrange $range
$(footer | awk -v q="'" '{ gsub(q, q q); line[NR] = $0 }
  END { for (i = 1; i <= NR; i++) printf "set label %s%s%s at screen 0.01,%.4f font %ssans,8%s\n",
    q, line[i], q, 0.02 + 0.022 * (NR - i), q, q }')
$look
plot $(listed "$1" "$2" "$3")
END
  done
}

# What all scripts need to know of the machine: from a small run on the most ranks.
paper_probe() {
  command -v "${mpirun%% *}" >/dev/null 2>&1 || die "$mpirun: no such command; see --mpirun"
  . "$folder/../program.sh"
  command -v python3 >/dev/null 2>&1 || die "python3: no such command; install Python 3"
  revision=$("$amped" --version | sed -n '1s/^amped_mpi [^ ]* *(\(.*\))$/\1/p')
  revision=${revision:-$("$amped" --version | sed -n '1s/^amped_mpi //p')}
  runs=$out/runs/$({ cksum <"$(command -v "$amped")" && uname -n && echo "$mpirun"; } | cksum | cut -d ' ' -f 1)
  mkdir -p "$runs"
  # shellcheck disable=SC2086 # a list of words
  told "probe.$most.$backend" $mpirun -np "$most" "$amped" bench --shape=amazon --scale=1e-6 --repeat=1 \
    --backend="$backend"
  test "$failures" -eq 0 || { rm -f "$result" && exit 1; }
  backend=$(get start.backend)
  # "NVIDIA H200" of "node: GPU 0 NVIDIA H200, 139.28 GiB free, UUID ..."
  machine=$(get start.ranks.0 | sed 's/^[^:]*: //; s/^GPU [0-9]* //; s/, [^,]* free.*//')
  if test "$backend" = cpu; then
    machine="$machine, $(sed -n 's/^model name.*: //p' /proc/cpuinfo 2>/dev/null | sed 1q)"
  fi
  machine="$most x $machine; $(get start.nodes) node(s), $(getconf _NPROCESSORS_ONLN) cores"
  device=ranks
  test "$backend" = cpu || device=GPUs
}

paper_begin() {
  name=$(basename "$1")
  shift
  failures=0
  date=$(date -u +%Y-%m-%d)
  command="jobs/paper/$name$(words "$@")"
  paper_options "$@"
  paper_probe
}

paper_end() {
  if test "$failures" -gt 0; then
    echo "${job:-jobs/paper/$name}: $failures runs failed (nan in the table)" >&2
    exit 1
  fi
}
