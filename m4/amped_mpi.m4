# MPI, the C compiler beneath it, and OpenMP.
#
# AMPED_PROG_MPICC    before AC_PROG_CC: CC is MPI's wrapper compiler, unless the user set CC.
#                     Precious variables: MPICC (the wrapper), MPIRUN (the launcher of the tests).
# AMPED_CHECK_MPI     proves that CC compiles and links an MPI program, sets MPIRUN, and finds out
#                     whether MPI takes device pointers.
#                     --enable-cuda-aware-mpi=auto|yes|no
#   AMPED_HAVE_MPI_EXT       MPI is to be asked: mpi-ext.h has MPIX_Query_cuda_support (auto)
#   AMPED_ASSUME_CUDA_AWARE  MPI is not asked: the answer is yes (yes); with neither it is no
# AMPED_CHECK_C11     -std=c11 works, into AMPED_CFLAGS.
# AMPED_CHECK_OPENMP  OpenMP works: OPENMP_CFLAGS.

AC_DEFUN([AMPED_PROG_MPICC], [
  AC_ARG_VAR([MPICC], [MPI's C compiler @<:@mpicc@:>@; the compiler beneath it is chosen by
    OMPI_CC (Open MPI) or MPICH_CC (MPICH)])
  AC_ARG_VAR([MPIRUN], [MPI's launcher, for the tests @<:@mpirun beside mpicc@:>@])
  amped_user_cc=${CC+set}
  AS_IF([test "x$amped_user_cc" != xset],
    [AC_CHECK_PROGS([MPICC], [mpicc mpicc.openmpi mpicc.mpich cc])
     CC=$MPICC])
])

AC_DEFUN([AMPED_CHECK_MPI], [
  AC_ARG_ENABLE([cuda-aware-mpi],
    [AS_HELP_STRING([--enable-cuda-aware-mpi=auto|yes|no],
      [whether MPI takes device pointers; auto asks mpi-ext.h, and MPI again at run time;
       yes is for an MPI that cannot say])],
    [], [enable_cuda_aware_mpi=auto])
  AS_CASE([$enable_cuda_aware_mpi], [auto|yes|no], [],
    [AC_MSG_ERROR([--enable-cuda-aware-mpi=$enable_cuda_aware_mpi: use auto, yes or no])])

  AC_MSG_CHECKING([whether $CC compiles and links MPI programs])
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]],
      [[int n = 0;
        MPI_Comm node;
        MPI_Init_thread(0, 0, MPI_THREAD_FUNNELED, &n);
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
        MPI_Finalize();]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AS_IF([test "x$amped_user_cc" = xset],
       [AC_MSG_ERROR([CC=$CC does not compile and link MPI programs (config.log says why);
  leave CC out, or set CC=mpicc; to choose the compiler beneath mpicc set OMPI_CC or MPICH_CC])],
       [AC_MSG_ERROR([no MPI found (config.log says what was tried);
  install it (Debian, Ubuntu: apt-get install libopenmpi-dev openmpi-bin), load your
  cluster's MPI module, or set MPICC=/path/to/mpicc])])])

  # The launcher of the same MPI: beside the wrapper, then anywhere.
  AS_IF([test "x$MPIRUN" = x],
    [set dummy $CC
     amped_wrapper=`command -v "$[2]" 2>/dev/null`
     amped_mpi_bin=`AS_DIRNAME(["$amped_wrapper"])`
     AC_PATH_PROGS([MPIRUN], [mpirun mpiexec], [], [$amped_mpi_bin$PATH_SEPARATOR$PATH])])

  amped_mpi_cuda=$enable_cuda_aware_mpi
  AS_CASE([$enable_cuda_aware_mpi],
    [auto],
      [AC_MSG_CHECKING([for mpi-ext.h with MPIX_Query_cuda_support])
       AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
#include <mpi-ext.h>]], [[return MPIX_Query_cuda_support();]])],
         [AC_MSG_RESULT([yes])
          AC_DEFINE([AMPED_HAVE_MPI_EXT], [1],
            [Define to 1 if mpi-ext.h says whether MPI takes device pointers.])],
         [AC_MSG_RESULT([no])])
       # Not run: the answer at run time is no on a machine without a GPU.
       AC_MSG_CHECKING([whether MPI was built with CUDA])
       AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
#include <mpi-ext.h>
#if !defined MPIX_CUDA_AWARE_SUPPORT || !MPIX_CUDA_AWARE_SUPPORT
#error no
#endif]])],
         [amped_mpi_cuda=yes], [amped_mpi_cuda=no])
       AC_MSG_RESULT([$amped_mpi_cuda])],
    [yes],
      [AC_DEFINE([AMPED_ASSUME_CUDA_AWARE], [1],
         [Define to 1 if MPI takes device pointers because the user says so.])])
])

AC_DEFUN([AMPED_CHECK_C11], [
  AC_MSG_CHECKING([whether $CC takes -std=c11])
  amped_save_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS -std=c11"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <stddef.h>
_Static_assert(sizeof(size_t) >= 8, "64-bit machines only");]], [[_Alignas(16) char x[16]; x[0] = 0;]])],
    [AC_MSG_RESULT([yes])
     AMPED_CFLAGS="-std=c11 $AMPED_CFLAGS"],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([a C11 compiler for a 64-bit machine is needed (config.log says what failed);
  install one (Debian, Ubuntu: apt-get install build-essential), or choose the one beneath
  mpicc with OMPI_CC or MPICH_CC])])
  CFLAGS=$amped_save_CFLAGS
])

AC_DEFUN([AMPED_CHECK_OPENMP], [
  AC_OPENMP
  AC_MSG_CHECKING([whether $CC compiles and links OpenMP programs])
  amped_save_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS $OPENMP_CFLAGS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <omp.h>
#ifndef _OPENMP
#error no
#endif]], [[return omp_get_max_threads();]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([OpenMP is needed; use gcc, or install the OpenMP library of your compiler
  (Debian, Ubuntu: apt-get install build-essential, for clang: libomp-dev)])])
  CFLAGS=$amped_save_CFLAGS
])
