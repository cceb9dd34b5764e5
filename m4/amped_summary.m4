# AMPED_SUMMARY: what configure found, in one screen, after AC_OUTPUT.

AC_DEFUN([AMPED_SUMMARY], [
  amped_compiler=`$CC --version 2>/dev/null | $SED q`
  AS_IF([test $amped_cuda = yes],
    [amped_cuda_says="$amped_cuda_version ($NVCC), compute capability$amped_cuda_archs"],
    [test "x$with_cuda" = xno],
    [amped_cuda_says="no (--without-cuda): CPUs only"],
    [amped_cuda_says="no ($amped_cuda_problem): CPUs only"])
  AS_CASE([$enable_cuda_aware_mpi.$amped_mpi_cuda],
    [auto.yes], [amped_aware_says="takes device pointers (asked again at run time)"],
    [auto.no], [amped_aware_says="takes no device pointers: GPUs exchange through the host"],
    [yes.*], [amped_aware_says="takes device pointers (--enable-cuda-aware-mpi)"],
    [amped_aware_says="is given no device pointers (--disable-cuda-aware-mpi)"])
  AS_IF([test $amped_check = yes], [amped_check_says=yes],
    [amped_check_says="no: make check needs it (Debian, Ubuntu: apt-get install check)"])

  AS_ECHO(["
$PACKAGE_NAME $PACKAGE_VERSION

  compiler   $CC: $amped_compiler
  flags      $AMPED_CFLAGS $OPENMP_CFLAGS $CFLAGS
  MPI        $amped_aware_says
  launcher   ${MPIRUN:-none found: make check needs mpirun}
  CUDA       $amped_cuda_says
  NVTX       $amped_nvtx
  HDF5       $amped_hdf5_version ($HDF5_LIBS)
  BLAS       $BLAS_LIBS
  OpenMP     $OPENMP_CFLAGS
  Check      $amped_check_says
  install    $prefix
"])
  AS_IF([test "x$enable_debug" = xyes || test "x$enable_sanitize" = xyes],
    [AS_ECHO(["  This is a build for finding errors: do not measure speed with it.
"])])
])
