# AMPED_CHECK_CUDA: the CUDA toolkit.
#
# --with-cuda=DIR     DIR/bin/nvcc; must work
# --with-cuda         must be found and work
# --without-cuda      never looked for
# neither             guessed: NVCC, CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda, /opt/cuda,
#                     Debian's nvidia-cuda-toolkit; a compiler that does not work is reported, and
#                     the program is built for CPUs (an error where NVCC or --with-cuda-arch is set)
# --with-cuda-arch=LIST   compute capabilities, e.g. 90 or 80,86,90; machine code for each, and PTX
#                     of the newest for cards to come. Those that nvcc does not know are left out.
# --with-cuda-arch=native those of this machine's GPUs, from nvidia-smi
#
# Precious: NVCC, NVCCFLAGS. Substitutes CUDA_ARCHFLAGS, CUDA_GROUP_ARCHFLAGS, CUDA_PACKFLAGS,
# CUDA_LIBS; defines AMPED_HAVE_CUDA, AMPED_CUDA_ARCHS, AMPED_CUDA_GROUPS; conditional AMPED_CUDA.
#
# The runtime is linked statically and the driver's library not at all, so that the program also
# starts on a machine without a GPU. Proves by compiling a kernel and linking it with CC.

m4_define([AMPED_CUDA_DEFAULT_ARCHS], [80,86,89,90])

# Sets NVCC to the first that is there.
AC_DEFUN([AMPED_FIND_NVCC], [
  AS_CASE([$with_cuda],
    [guess|yes],
      [AC_PATH_PROG([NVCC], [nvcc], [],
        [${CUDA_HOME:+$CUDA_HOME/bin:}${CUDA_PATH:+$CUDA_PATH/bin:}$PATH:/usr/local/cuda/bin:/opt/cuda/bin:/usr/lib/nvidia-cuda-toolkit/bin])],
    [AC_MSG_CHECKING([for nvcc in $with_cuda/bin])
     AS_IF([test -x "$with_cuda/bin/nvcc"],
       [NVCC=$with_cuda/bin/nvcc
        AC_MSG_RESULT([yes])],
       [NVCC=
        AC_MSG_RESULT([no])])])
])

# Resolves --with-cuda-arch=native: sets with_cuda_arch to the compute capabilities of the GPUs that
# nvidia-smi reports, each once.
AC_DEFUN([AMPED_CUDA_NATIVE], [
  AC_MSG_CHECKING([which compute capabilities the GPUs of this machine have])
  with_cuda_arch=`nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    $SED -n 's/^ *\(@<:@0-9@:>@@<:@0-9@:>@*\)\.\(@<:@0-9@:>@\) *$/\1\2/p' | sort -u -n |
    tr '\n' ',' | $SED 's/,$//'`
  AS_IF([test "x$with_cuda_arch" = x],
    [AC_MSG_RESULT([none])
     AC_MSG_ERROR([--with-cuda-arch=native: nvidia-smi reports no GPU on this machine;
  give a list of compute capabilities, such as --with-cuda-arch=90])])
  AC_MSG_RESULT([$with_cuda_arch])
])

# AMPED_CUDA_KNOWS(MACHINE, [IF-YES], [IF-NO]): whether nvcc compiles conftest.cu for it.
AC_DEFUN([AMPED_CUDA_KNOWS], [
  AC_MSG_CHECKING([whether nvcc knows compute capability $1])
  AS_IF([AC_RUN_LOG([$NVCC $NVCCFLAGS -gencode arch=compute_$1,code=sm_$1 -cubin -o conftest.cubin conftest.cu >&AS_MESSAGE_LOG_FD 2>&1])],
    [AC_MSG_RESULT([yes])
     $2],
    [AC_MSG_RESULT([no])
     $3])
])

# Sets CUDA_ARCHFLAGS, CUDA_GROUP_ARCHFLAGS and amped_cuda_archs from $with_cuda_arch, or
# amped_cuda_problem. Products of warp groups take 9.0's own instructions (90a), which no later card
# has. Only the file that uses them is compiled for 90a: any other file is compiled once for 9.0's
# machine code and for PTX, where 90a would compile it a second time for PTX.
AC_DEFUN([AMPED_CUDA_ARCH_FLAGS], [
  amped_cuda_archs=
  amped_cuda_dropped=
  CUDA_ARCHFLAGS=
  CUDA_GROUP_ARCHFLAGS=
  amped_cuda_last=0
  cat >conftest.cu <<_AMPED_EOF
__global__ void probe(int *x) { *x = 1; }
_AMPED_EOF
  for amped_arch in `AS_ECHO(["$with_cuda_arch"]) | tr ',;' '  '`; do
    AMPED_CUDA_KNOWS([$amped_arch],
      [amped_group=$amped_arch
       AS_CASE([$amped_arch], [90], [AMPED_CUDA_KNOWS([90a], [amped_group=90a])])
       AS_VAR_APPEND([CUDA_ARCHFLAGS],
         [" -gencode arch=compute_$amped_arch,code=sm_$amped_arch"])
       AS_VAR_APPEND([CUDA_GROUP_ARCHFLAGS],
         [" -gencode arch=compute_$amped_group,code=sm_$amped_group"])
       AS_CASE([$amped_group], [90a],
         [AC_DEFINE([AMPED_CUDA_GROUPS], [1],
            [Define to 1 if there is machine code for products of warp groups (9.0).])])
       AS_VAR_APPEND([amped_cuda_archs], [" $amped_arch"])
       # 90a and the like give no PTX that a newer card takes.
       AS_CASE([$amped_arch], [*[[!0-9]]*], [],
         [AS_IF([test "$amped_arch" -gt "$amped_cuda_last"], [amped_cuda_last=$amped_arch])])],
      [AS_VAR_APPEND([amped_cuda_dropped], [" $amped_arch"])])
  done
  rm -f conftest.cu conftest.cubin
  AS_IF([test "$amped_cuda_last" -gt 0],
    [amped_ptx=" -gencode arch=compute_$amped_cuda_last,code=compute_$amped_cuda_last"
     AS_VAR_APPEND([CUDA_ARCHFLAGS], ["$amped_ptx"])
     AS_VAR_APPEND([CUDA_GROUP_ARCHFLAGS], ["$amped_ptx"])])
  AS_IF([test "x$amped_cuda_archs" = x],
    [amped_cuda_problem="$NVCC compiles for none of --with-cuda-arch=$with_cuda_arch"],
    [test "x$amped_cuda_dropped" != x],
    [AC_MSG_WARN([$NVCC does not know compute capability$amped_cuda_dropped: left out])])
])

# Sets CUDA_PACKFLAGS: machine code and PTX are compressed for size, a quarter of the bytes, if nvcc
# is of CUDA 13.0 or newer. Drivers before 12.4 cannot load such code; those of CUDA 13 all can.
AC_DEFUN([AMPED_CUDA_PACK_FLAGS], [
  AC_MSG_CHECKING([whether nvcc compresses kernels for size])
  cat >conftest.cu <<_AMPED_EOF
#if __CUDACC_VER_MAJOR__ < 13
#error drivers of this toolkit may not load compressed kernels
#endif
__global__ void probe(int *x) { *x = 1; }
_AMPED_EOF
  AS_IF([AC_RUN_LOG([$NVCC $NVCCFLAGS $CUDA_ARCHFLAGS -compress-mode=size -c -o conftest.o conftest.cu >&AS_MESSAGE_LOG_FD 2>&1])],
    [CUDA_PACKFLAGS=-compress-mode=size
     AC_MSG_RESULT([yes])],
    [CUDA_PACKFLAGS=
     AC_MSG_RESULT([no])])
  rm -f conftest.cu conftest.o
])

# Sets CUDA_LIBS; amped_cuda_problem where a program with a kernel does not link.
AC_DEFUN([AMPED_CUDA_LINK], [
  AC_MSG_CHECKING([where the CUDA libraries are])
  # Toolkits are laid out in many ways; nvcc itself knows where its libraries lie.
  echo 'int probe;' >conftest.cu
  amped_cuda_libdirs=`$NVCC -dryrun conftest.cu 2>&1 |
    $SED -n 's/^#\\$ LIBRARIES=//p' | tr -d '"' | tr ' ' '\n' |
    $SED -n 's/^-L//p' | $SED '/stubs$/d' | sort -u`
  CUDA_LIBS=
  amped_cuda_where=
  for amped_dir in $amped_cuda_libdirs; do
    amped_dir=`cd "$amped_dir" 2>/dev/null && pwd -P` || continue
    AS_VAR_APPEND([amped_cuda_where], [" $amped_dir"])
    AS_VAR_APPEND([CUDA_LIBS], [" -L$amped_dir"])
    # The system's own folders are searched anyway; named in an rpath they would come too early.
    AS_CASE([$amped_dir], [/lib|/lib64|/usr/lib|/usr/lib64|/usr/lib/*-linux-gnu], [],
      [AS_VAR_APPEND([CUDA_LIBS], [" -Wl,-rpath,$amped_dir"])])
  done
  AC_MSG_RESULT([${amped_cuda_where:- in the system's folders}])
  AS_VAR_APPEND([CUDA_LIBS], [" -lcudart_static -lstdc++ -lrt -ldl -lpthread"])

  AC_MSG_CHECKING([whether CUDA kernels compile, and link with $CC])
  cat >conftest.cu <<_AMPED_EOF
#include <cublas_v2.h>
#include <cuda_runtime.h>
__global__ void kernel(int *x) { *x = 1; }
extern "C" int probe(void) {
  int count = 0;
  cublasHandle_t handle;
  kernel<<<1, 1>>>(0);
  return cudaGetDeviceCount(&count) != cudaSuccess || cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS;
}
_AMPED_EOF
  cat >conftest.c <<_AMPED_EOF
extern int probe(void);
int main(void) { return probe(); }
_AMPED_EOF
  AS_IF([AC_RUN_LOG([$NVCC $NVCCFLAGS $CUDA_ARCHFLAGS -std=c++17 -c -o conftest_cuda.o conftest.cu >&AS_MESSAGE_LOG_FD 2>&1])],
    [AS_IF([AC_RUN_LOG([$CC $CFLAGS $LDFLAGS -o conftest conftest.c conftest_cuda.o -lcublas $CUDA_LIBS $LIBS >&AS_MESSAGE_LOG_FD 2>&1])],
      [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       amped_cuda_problem="CUDA programs do not link (cuBLAS or the static runtime is missing?)"])],
    [AC_MSG_RESULT([no])
     amped_cuda_problem="$NVCC does not compile a small program (a host compiler that it does not take?)"])
  rm -f conftest conftest.c conftest.cu conftest_cuda.o
])

AC_DEFUN([AMPED_CHECK_CUDA], [
  amped_cuda_wanted=no
  AS_IF([test "x$NVCC" != x], [amped_cuda_wanted=yes])
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=DIR], [the CUDA toolkit; --without-cuda: CPUs only
      @<:@used where found@:>@])],
    [], [with_cuda=guess])
  AC_ARG_WITH([cuda-arch],
    [AS_HELP_STRING([--with-cuda-arch=LIST], [compute capabilities to compile for, or
      native: those of the GPUs here @<:@]AMPED_CUDA_DEFAULT_ARCHS[@:>@])],
    [amped_cuda_wanted=yes], [with_cuda_arch="AMPED_CUDA_DEFAULT_ARCHS"])
  AC_ARG_VAR([NVCC], [CUDA compiler])
  AC_ARG_VAR([NVCCFLAGS], [CUDA compiler flags @<:@-O3; with --enable-debug
    -O1 -g -lineinfo, which triples the program@:>@])
  AC_SUBST([CUDA_ARCHFLAGS])
  AC_SUBST([CUDA_GROUP_ARCHFLAGS])
  AC_SUBST([CUDA_PACKFLAGS])
  AC_SUBST([CUDA_LIBS])
  AS_CASE([$with_cuda/$with_cuda_arch], [no/*], [], [*/native], [AMPED_CUDA_NATIVE])
  AS_CASE([$with_cuda_arch],
    [native], [],
    [yes|no|''|*[[!0-9a-z,\;\ ]]*|[[!0-9]]*],
      [AC_MSG_ERROR([--with-cuda-arch=$with_cuda_arch: give a list of compute capabilities,
  such as --with-cuda-arch=90 or --with-cuda-arch=80,86,90, or native])])

  amped_cuda=no
  amped_cuda_problem=
  amped_cuda_version=
  AS_IF([test "x$with_cuda" != xno],
    [AS_IF([test "x$enable_debug" = xyes], [: ${NVCCFLAGS=-O1 -g -lineinfo}],
           [: ${NVCCFLAGS=-O3}])
     AMPED_FIND_NVCC
     AS_IF([test "x$NVCC" = x],
       [amped_cuda_problem="no nvcc found"],
       [amped_cuda_version=`$NVCC --version 2>/dev/null | $SED -n 's/^.*release \([[0-9.]]*\).*$/\1/p'`
        AMPED_CUDA_ARCH_FLAGS
        AS_IF([test "x$amped_cuda_problem" = x],
          [AMPED_CUDA_PACK_FLAGS
           AMPED_CUDA_LINK])])
     # Who names architectures or a compiler wants CUDA.
     AS_IF([test "x$amped_cuda_problem" = x],
       [amped_cuda=yes],
       [test "x$with_cuda" != xguess || test $amped_cuda_wanted = yes],
       [AC_MSG_ERROR([CUDA: $amped_cuda_problem (config.log may say more);
  install the toolkit (NVIDIA's, or Debian, Ubuntu: apt-get install nvidia-cuda-toolkit), say
  where it is with --with-cuda=DIR, choose a host compiler with NVCCFLAGS="-O3 -ccbin g++-11",
  or build for CPUs with --without-cuda])],
       [test "x$NVCC" != x],
       [AC_MSG_WARN([CUDA is left out: $amped_cuda_problem (config.log says more);
  --with-cuda makes this an error, --without-cuda silences it])])])

  AS_IF([test $amped_cuda = yes],
    [AC_DEFINE([AMPED_HAVE_CUDA], [1], [Define to 1 if built with CUDA.])
     AC_DEFINE_UNQUOTED([AMPED_CUDA_ARCHS], ["`echo $amped_cuda_archs`"],
       [Compute capabilities that the kernels are compiled for.])
     AS_IF([test "x$enable_sanitize" = xyes],
       [AC_MSG_WARN([AddressSanitizer keeps CUDA from starting unless
  ASAN_OPTIONS=protect_shadow_gap=0 is set; --without-cuda is better for unit tests])])],
    [CUDA_LIBS= CUDA_ARCHFLAGS= CUDA_GROUP_ARCHFLAGS= CUDA_PACKFLAGS=])
  AM_CONDITIONAL([AMPED_CUDA], [test $amped_cuda = yes])

  AS_CASE([$with_cuda],
    [guess], [amped_cuda_distcheck="--with-cuda-arch='$with_cuda_arch'"],
    [amped_cuda_distcheck="--with-cuda='$with_cuda' --with-cuda-arch='$with_cuda_arch'"])
])
