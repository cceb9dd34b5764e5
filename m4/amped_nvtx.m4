# AMPED_CHECK_NVTX: ranges for NVIDIA's profilers, around the phases of a run. Headers only; without a
# profiler a range costs nothing.
#
# --with-nvtx=DIR     DIR/nvtx3/nvToolsExt.h; must work
# --with-nvtx         must be found, in CUDA's folder or the compiler's own, and work
# --without-nvtx      never looked for
# neither             looked for where the program is built with CUDA
#
# Needs AMPED_CHECK_CUDA. Substitutes NVTX_CFLAGS, NVTX_LIBS; defines AMPED_HAVE_NVTX.

AC_DEFUN([AMPED_CHECK_NVTX], [
  AC_ARG_WITH([nvtx],
    [AS_HELP_STRING([--with-nvtx=DIR],
      [ranges for NVIDIA's profilers; DIR holds nvtx3/ @<:@used where found with CUDA@:>@])],
    [], [with_nvtx=guess])
  AC_SUBST([NVTX_CFLAGS])
  AC_SUBST([NVTX_LIBS])
  NVTX_CFLAGS=
  NVTX_LIBS=
  amped_nvtx=no
  AS_CASE([$with_nvtx.$amped_cuda],
    [no.*|guess.no], [],
    [AS_CASE([$with_nvtx],
       [guess|yes],
         [# nvcc knows where its headers lie.
          amped_nvtx_dirs=
          AS_IF([test $amped_cuda = yes],
            [echo 'int probe;' >conftest.cu
             amped_nvtx_dirs=`$NVCC -dryrun conftest.cu 2>&1 |
               $SED -n 's/^#\\$ INCLUDES=//p' | tr -d '"' | tr ' ' '\n' | $SED -n 's/^-I//p'`
             rm -f conftest.cu])],
       [amped_nvtx_dirs=$with_nvtx
        AS_IF([test ! -f "$with_nvtx/nvtx3/nvToolsExt.h"],
          [AC_MSG_ERROR([--with-nvtx=$with_nvtx: there is no nvtx3/nvToolsExt.h in it])])])
     for amped_dir in $amped_nvtx_dirs; do
       AS_IF([test -f "$amped_dir/nvtx3/nvToolsExt.h"],
         [NVTX_CFLAGS="-isystem `cd "$amped_dir" && pwd -P`"])
     done
     AC_MSG_CHECKING([for NVTX ${NVTX_CFLAGS:+($NVTX_CFLAGS)}])
     for NVTX_LIBS in '' -ldl; do
       AMPED_LINKS([[#include <nvtx3/nvToolsExt.h>]], [[return nvtxRangePushA("probe");]],
         [$NVTX_CFLAGS], [$NVTX_LIBS], [amped_nvtx=yes], [])
       AS_IF([test $amped_nvtx = yes], [break])
     done
     AC_MSG_RESULT([$amped_nvtx])
     AS_IF([test $amped_nvtx = no && test "x$with_nvtx" != xguess],
       [AC_MSG_ERROR([NVTX does not work (config.log says why): its header is nvtx3/nvToolsExt.h, part
  of CUDA 10 and newer; say where it is with --with-nvtx=DIR, or use --without-nvtx])])])
  AS_IF([test $amped_nvtx = yes],
    [AC_DEFINE([AMPED_HAVE_NVTX], [1], [Define to 1 if built with NVTX ranges.])],
    [NVTX_CFLAGS= NVTX_LIBS=])
])
