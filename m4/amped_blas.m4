# AMPED_CHECK_BLAS: CBLAS with its header, and Fortran LAPACK. Substitutes BLAS_CFLAGS, BLAS_LIBS.
#
# --with-blas=LIBS   link these, e.g. --with-blas="-lflexiblas" or "-L/opt/x/lib -lcblas -llapack"
# Otherwise OpenBLAS (pkg-config, then -lopenblas), FlexiBLAS, then the reference libraries.
# Proves by linking every routine that the program calls.

AC_DEFUN([AMPED_TRY_BLAS], [
  AS_IF([test "x$amped_blas" = xno],
    [AC_MSG_CHECKING([for CBLAS and LAPACK in $2])
     AMPED_LINKS([[#include <cblas.h>
extern void dpotrf_(void), dpotri_(void), dsyevd_(void);]],
       [[double a[1] = {1.0}, c[1] = {0.0};
         cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, 1, 1, 1.0, a, 1, 0.0, c, 1);
         cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1.0, a, 1, a, 1, 0.0, c, 1);
         dpotrf_();
         dpotri_();
         dsyevd_();]],
       [$1], [$2],
       [AC_MSG_RESULT([yes])
        amped_blas=yes
        BLAS_CFLAGS="$1"
        BLAS_LIBS="$2"],
       [AC_MSG_RESULT([no])])])
])

AC_DEFUN([AMPED_CHECK_BLAS], [
  AC_ARG_WITH([blas],
    [AS_HELP_STRING([--with-blas=LIBS], [linker flags for CBLAS and LAPACK @<:@OpenBLAS@:>@])],
    [], [with_blas=yes])
  AC_SUBST([BLAS_CFLAGS])
  AC_SUBST([BLAS_LIBS])
  amped_blas=no
  AS_CASE([$with_blas],
    [no], [AC_MSG_ERROR([amped_mpi cannot do without BLAS and LAPACK; leave --without-blas out])],
    [yes],
      [PKG_CHECK_MODULES([OPENBLAS], [openblas],
         [AMPED_TRY_BLAS([$OPENBLAS_CFLAGS], [$OPENBLAS_LIBS])], [:])
       AMPED_TRY_BLAS([], [-lopenblas])
       AMPED_TRY_BLAS([], [-lflexiblas])
       AMPED_TRY_BLAS([], [-lcblas -llapack -lblas])],
    [AMPED_TRY_BLAS([$BLAS_CFLAGS], [$with_blas])])
  AS_IF([test $amped_blas = no],
    [AC_MSG_ERROR([no CBLAS (with cblas.h) and LAPACK found (config.log says what was tried);
  install OpenBLAS (Debian, Ubuntu: apt-get install libopenblas-dev), or say what to link:
  --with-blas="-L/path -lopenblas", with CPPFLAGS=-I/path/to/include for cblas.h])])
  amped_saved_libs=$LIBS
  LIBS="$BLAS_LIBS $LIBS"
  AC_CHECK_FUNCS([openblas_set_num_threads openblas_get_corename])
  LIBS=$amped_saved_libs
])
