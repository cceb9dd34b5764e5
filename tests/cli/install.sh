#!/bin/sh
# make install into an empty folder: all promised files are there, and all of them have the version
# of configure.ac.
. "$(dirname "$0")/../lib/lib.sh"
build=$(dirname "$amped")
source=$(cd "$(dirname "$0")/../.." && pwd)
if ! test -f "$build/Makefile"; then
  echo "skipped: $amped lies in no build folder"
  exit 77
fi
cd "$scratch" || exit 99

# Make's variables belong to make check, so they are removed here.
expect 0 "" env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$build" install DESTDIR="$scratch/root" \
  prefix=/opt/amped
root=$scratch/root/opt/amped
for file in bin/amped_mpi share/man/man1/amped_mpi.1 share/bash-completion/completions/amped_mpi \
  share/doc/amped_mpi/README.md share/doc/amped_mpi/CHANGELOG.md \
  share/doc/amped_mpi/examples/load_result.py share/amped_mpi/jobs/frostt share/amped_mpi/jobs/estimate \
  share/amped_mpi/jobs/program.sh share/amped_mpi/jobs/thesis share/amped_mpi/jobs/paper/all share/amped_mpi/jobs/paper/lib.sh; do
  test -f "$root/$file" && pass || fail "$file is not installed"
done
for program in bin/amped_mpi share/amped_mpi/jobs/frostt share/amped_mpi/jobs/paper/all; do
  test -x "$root/$program" && pass || fail "$program is not executable"
done
# Every file that README.md links to is installed beside it.
for link in $(sed -n 's/.*](\([a-zA-Z_/-]*\.[a-z]*\)).*/\1/p' "$source/README.md"); do
  test -f "$root/share/doc/amped_mpi/$link" && pass || fail "README.md links to $link"
done
expect 0 "usage" "$root/share/amped_mpi/jobs/frostt" --help
# The jobs by which docs/papers.md draws figures are installed.
for job in $(grep -o 'jobs/[a-z-]*' "$source/docs/papers.md" | sort -u); do
  test ! -f "$source/$job" || test -x "$root/share/amped_mpi/$job" && pass || fail "docs/papers.md names $job"
done

version=$(sed -n 's/^AC_INIT(\[amped_mpi\], \[\(.*\)\])$/\1/p' "$source/configure.ac")
test -n "$version" && pass || fail "configure.ac has no version"
same "version of the program" "$("$root/bin/amped_mpi" --version | sed -n '1s/^amped_mpi \([^ ]*\).*/\1/p')" \
  "$version"
same "version of the man page" \
  "$(sed -n '1s/^\.TH AMPED_MPI 1 "" "amped_mpi \([^" ]*\)".*/\1/p' "$root/share/man/man1/amped_mpi.1")" "$version"
same "latest version of CHANGELOG.md" \
  "$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' "$source/CHANGELOG.md" | head -1)" "$version"
# The version is in one place: no source file repeats it. (Binsparse has versions, too.)
same "files that repeat the version" \
  "$(cd "$source" && grep -F "$version" src/*/*.[ch] src/*/*/*.[ch] docs/*.md README.md jobs/* completions/* 2>/dev/null |
    grep -v binsparse)" ""
finish
