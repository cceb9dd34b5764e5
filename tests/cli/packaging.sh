#!/bin/sh
# packaging/: the checks that build no packages (packaging/build-deb and test-deb build them). Also:
# a release contains every file of the source.
. "$(dirname "$0")/../lib/lib.sh"
source=$(cd "$(dirname "$0")/../.." && pwd) || exit 99
packaging=$source/packaging
build=$(dirname "$amped")
cd "$scratch" || exit 99
version=$(sed -n 's/^AC_INIT(\[amped_mpi\], \[\(.*\)\])$/\1/p' "$source/configure.ac")
test -n "$version" && pass || fail "configure.ac has no version"

# --- Debian ---------------------------------------------------------------------------------------
for script in build-deb test-deb; do
  sh -n "$packaging/$script" && pass || fail "$script is no shell script"
  "$packaging/$script" >out 2>err && fail "$script without arguments did not fail"
  grep -q "^usage: $script " err && pass || fail "$script without arguments: $(cat err)"
done
# The packages of jobs/install-packages, except the packages that debhelper adds.
for package in $(sed -n 's/^packages="\(\$packages \)\{0,1\}\(.*\)"$/\2/p' "$source/jobs/install-packages"); do
  case $package in
    build-essential | autoconf | automake) ;;
    *) grep -q "[ :]$package,\{0,1\}\$" "$packaging/debian/control" && pass || fail "control lacks $package" ;;
  esac
done
"$packaging/build-deb" --changelog "$version" >changelog || fail "no changelog"
if command -v dpkg-parsechangelog >/dev/null; then
  same "version of the package" "$(dpkg-parsechangelog -l changelog -S Version 2>err)" "$version-1"
  same "source of the package" "$(dpkg-parsechangelog -l changelog -S Source)" \
    "$(sed -n 's/^Source: //p' "$packaging/debian/control")"
  same "words about the changelog" "$(cat err)" ""
fi
test -x "$packaging/debian/rules" && make -n -f "$packaging/debian/rules" build >/dev/null && pass ||
  fail "debian/rules is no makefile"

# --- Spack ----------------------------------------------------------------------------------------
cat >check.py <<'END'
import ast, sys
tree = ast.parse(open(sys.argv[1]).read(), sys.argv[1])
package = next(n for n in tree.body if isinstance(n, ast.ClassDef))
assert package.name == "AmpedMpi" and [b.id for b in package.bases] == ["AutotoolsPackage", "CudaPackage"]
calls = [n.value for n in package.body if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call)]
def first(name):
    return [c.args[0].value for c in calls if c.func.id == name]
assert first("version") == [sys.argv[2]], first("version")
assert sys.argv[2] in ast.unparse(next(n.value for n in package.body
    if isinstance(n, ast.Assign) and n.targets[0].id == "url"))
assert {"mpi", "openblas", "jansson", "zlib-api", "zstd"} <= set(first("depends_on"))
assert {"configure_args", "check"} <= {n.name for n in package.body if isinstance(n, ast.FunctionDef)}
print("fine")
END
if python3 -c 'import ast; ast.unparse' 2>/dev/null; then
  expect 0 "fine" python3 check.py "$packaging/spack/package.py" "$version"
else
  echo "skipped: the Spack recipe, as there is no Python 3.9"
fi

# --- Apptainer --------------------------------------------------------------------------------------
# Sections have the names of the manual; every stage names its base; scripts are scripts.
def=$packaging/apptainer/amped.def
same "unknown sections" "$(sed -n 's/^\(%[a-z]*\).*/\1/p' "$def" |
  grep -v -x -e '%arguments' -e '%files' -e '%post' -e '%environment' -e '%test' -e '%runscript' -e '%help')" ""
same "stages" "$(sed -n 's/^Stage: //p' "$def" | tr '\n' ' ')" "build final "
same "what stages start from" "$(grep -c '^From: ' "$def") $(grep -c '^Bootstrap: docker$' "$def")" "2 2"
awk '/^%/ || /^Bootstrap:/ { close(out); out = "" }
  /^%(post|environment|test|runscript)$/ { out = "section." ++n; next }
  out != "" { print > out }' "$def"
test -f section.5 && pass || fail "fewer than five scripts in $def"
for section in section.*; do
  sed 's/{{ [a-z_]* }}/x/g' "$section" | sh -n && pass || fail "$section of $def is no shell script"
done
for argument in $(sed -n 's/.*{{ \([a-z_]*\) }}.*/\1/p' "$def" | sort -u); do
  grep -q "^    $argument=" "$def" && pass || fail "$def does not say what {{ $argument }} is"
done
same "images without a digest" "$(grep '^From: ' "$def" | grep -v '@sha256:[0-9a-f]\{64\}$')" ""
same "downloads that are not compared with a sum" "$(grep -c '^    wget ' "$def")" \
  "$(grep -c '^    echo "{{ [a-z]*_sha256 }}  .* | sha256sum -c -$' "$def")"
same "sums that are none" "$(sed -n 's/^    [a-z]*_sha256=//p' "$def" | grep -v -c '^[0-9a-f]\{64\}$')" 0
same "version of the image" "$(sed -n 's/^    version=//p' "$def")" "$version"

# --- jobs for Slurm, outside of it ------------------------------------------------------------------
for job in array container cpu multi-node one-node requeue; do
  line=$(env -u SLURM_JOB_ID bash "$source/jobs/slurm/$job.sh" 2>&1)
  same "status of $job.sh" $? 1
  same "line of $job.sh" "${line#*: line *: }" "SLURM_JOB_ID: is not set: start this script with sbatch"
done

# Several nodes: rank k of a node uses the k-th card, by srun and by mpirun; without CARDS no card is chosen.
printf '#!/bin/sh\necho "${UCX_NET_DEVICES-any} $*" >>cards.seen\n' >cards
chmod +x cards
nodes_script() {
  env -u UCX_NET_DEVICES -u CARDS -u AMPED_OPTIONS -u OMPI_COMM_WORLD_LOCAL_RANK SLURM_JOB_ID=1 SLURM_CPUS_PER_TASK=1 \
    AMPED="$scratch/cards" "$@" bash "$source/jobs/slurm/multi-node.sh" x.h5 >out 2>err
}
nodes_script LAUNCHER="env SLURM_LOCALID=1" CARDS="mlx5_0:1 mlx5_1:1" || fail "multi-node.sh with CARDS: $(cat err)"
nodes_script LAUNCHER="env SLURM_LOCALID=0 OMPI_COMM_WORLD_LOCAL_RANK=1" CARDS="mlx5_2:1 mlx5_3:1" ||
  fail "multi-node.sh by mpirun: $(cat err)"
nodes_script LAUNCHER=env || fail "multi-node.sh without CARDS: $(cat err)"
same "cards of ranks" "$(cut -d ' ' -f 1,2,3 cards.seen | tr '\n' ';')" "mlx5_1:1 cpd x.h5;mlx5_3:1 cpd x.h5;any cpd x.h5;"
if nodes_script LAUNCHER="env SLURM_LOCALID=2" CARDS="mlx5_0:1 mlx5_1:1"; then
  fail "a rank without a card was started"
else
  same "a rank without a card" "$(grep -c 'unbound variable' err)" 1
fi

# --- jobs that build ------------------------------------------------------------------------------
# quickstart, with a configure, a make and GPUs that are made up: it ends where make fails.
mkdir -p tree/jobs tree/bin && cp "$source/jobs/quickstart" "$source/jobs/help.sh" "$source/jobs/local-mpi.sh" tree/jobs
cat >tree/configure <<'END'
#!/bin/sh
echo "configured with: $*"
case "$*" in *native*) test ! -e unknown-gpu || exit 1 ;; esac
echo >Makefile
echo '#define AMPED_CUDA_ARCHS "80 90"' >config.h
END
printf '#!/bin/sh\nexit 3\n' >tree/bin/make
printf '#!/bin/sh\nprintf "8.0\\n9.0\\n9.0\\n"\n' >tree/bin/nvidia-smi
chmod +x tree/configure tree/bin/*
quickstart() {
  rm -f tree/build/Makefile
  PATH=$scratch/tree/bin:$PATH AMPED_SKIP_PACKAGES=1 AMPED_CONFIGURE_FLAGS=$1 tree/jobs/quickstart
}
# configures FLAGS GIVEN GPUS: what configure is given, and the GPUs that a line names.
configures() {
  quickstart "$1" >out 2>err
  same "status of the quickstart, $2" "$?" 3
  same "last configure, $2" "$(sed -n 's/^configured with: //p' out | tail -n 1)" "$2"
  same "line about GPUs, $2" "$(sed -n 's/^kernels for the GPUs of this machine alone (\(.*\)); for.*/\1/p' out)" "$3"
}
configures -q "--with-cuda-arch=native -q" "compute capability 80 90"
configures --without-cuda --without-cuda ""
touch tree/build/unknown-gpu
configures -q -q ""
printf '#!/bin/sh\nexit 9\n' >tree/bin/nvidia-smi
configures -q -q ""
same "configures without GPUs" "$(grep -c 'native' out)" 0

# build-times, with an nvcc that is made up: seconds of each unit, and limits.
mkdir -p times/cuda
printf 'NVCC = ./nvcc\namped_mpi:\n\t$(NVCC) -c -o cuda/short.o x && $(NVCC) -c -o cuda/long.o x && echo >$@\n' >times/Makefile
cat >times/nvcc <<'END'
#!/bin/sh
case $* in *long*) awk 'BEGIN { for (i = 0; i < 5000000; i++) x += i }' ;; esac
END
chmod +x times/nvcc
# ends STATUS LINE ARGUMENT...: build-times with these arguments.
ends() {
  want=$1 line=$2
  shift 2
  rm -f times/amped_mpi
  "$source/jobs/build-times" "$@" >out 2>err
  same "status of build-times $*" "$?" "$want"
  grep -q "$line" out err && pass || fail "no '$line' from build-times $*: $(cat out err)"
}
ends 2 "not configured with CUDA" times
echo '#define AMPED_HAVE_CUDA 1' >times/config.h
ends 0 "all 2 units" times
same "units, the longest first" "$(sed -n 's/^ *[0-9.]*  cuda/cuda/p' out | tr '\n' ' ')" "cuda/long.o cuda/short.o "
ends 1 "build-times: cuda/long.o: .* s, more than 0.01" --unit-seconds=0.01 times
ends 1 "build-times: all units: .* s, more than 0.02" --total-seconds=0.02 times
ends 2 "give a number" --megabytes=many times

# --- FROSTT -----------------------------------------------------------------------------------------
# A curl of ours gives the file `served`.
mkdir frostt_bin data_frostt
cat >frostt_bin/curl <<'END'
#!/bin/sh
while test $# -gt 1; do
  test "$1" = --output && cp "$SERVED" "$2"
  shift
done
END
chmod +x frostt_bin/curl
frostt() {
  SERVED=$scratch/served PATH=$scratch/frostt_bin:$PATH sh "$source/jobs/frostt" "$@"
}
echo "1 1 1 5" | gzip -n >served
sum=$(sha256sum <served)
sum=${sum%% *}
expect 0 "$sum" frostt matmul-2-2-2 data_frostt
tensor=data_frostt/matmul-2-2-2.tns.gz
expect 0 "OK" sh -c "cd data_frostt && sha256sum -c matmul-2-2-2.tns.gz.sha256"
expect 0 "already there" frostt matmul-2-2-2 data_frostt
expect 0 "" frostt --sha256="$(echo "$sum" | tr a-f A-F)" matmul-2-2-2 data_frostt
# refuses PATTERN ARGUMENT...: status 1 and a line.
refuses() {
  pattern=$1
  shift
  frostt "$@" >out.frostt 2>&1
  test $? -eq 1 && grep -q -e "$pattern" out.frostt && pass || fail "not refused: frostt $*"
}
refuses "--sha256 says" --sha256="$(echo "$sum" | tr 0-9 1-90)" matmul-2-2-2 data_frostt
rm $tensor
echo "1 1 1 6" | gzip -n >served
refuses "tns.gz.sha256 says $sum" matmul-2-2-2 data_frostt
test ! -e $tensor && pass || fail "another file than the first download is taken"
rm -f $tensor.part
refuses "--sha256 says" --sha256="$sum" matmul-3-3-3 data_frostt
test ! -e data_frostt/matmul-3-3-3.tns.gz -a ! -e data_frostt/matmul-3-3-3.tns.gz.sha256 && pass ||
  fail "a sum that is wrong is kept"
frostt --sha256=12 matmul-3-3-3 >out.frostt 2>&1
same "status of a sum that is none" $? 2

# --- a release holds everything ----------------------------------------------------------------------
if test -f "$build/Makefile" && git -C "$source" rev-parse --git-dir >/dev/null 2>&1; then
  # Make's variables belong to make check, so they are removed here.
  if env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$build" distdir distdir="$scratch/release" >make.log 2>&1; then
    pass
  else
    fail "make distdir: $(tail -n 3 make.log)"
  fi
  # Files for git and continuous integration are not part of a release.
  git -C "$source" ls-files | grep -v -e '^\.gitignore$' -e '^\.ci/' |
    while read -r file; do test -e "release/$file" || echo "$file"; done >missing
  same "files that a release lacks" "$(head -n 5 missing | tr '\n' ' ')" ""
  test -x release/configure && test -f release/amped_mpi.1 && pass || fail "a release lacks what it is built with"
fi

finish
