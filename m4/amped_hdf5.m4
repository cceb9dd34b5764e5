# AMPED_CHECK_HDF5: serial HDF5, 1.10 or newer. Substitutes HDF5_CFLAGS and HDF5_LIBS.
#
# --with-hdf5=DIR   take DIR/include and DIR/lib
# Otherwise pkg-config's hdf5-serial, then its hdf5 (which may be a parallel one: that works too),
# then -lhdf5. A pair HDF5_CFLAGS, HDF5_LIBS that the user set is taken as it is.
# Proves by linking calls of 1.10.

AC_DEFUN([AMPED_CHECK_HDF5], [
  AC_ARG_WITH([hdf5],
    [AS_HELP_STRING([--with-hdf5=DIR], [HDF5 in DIR/include and DIR/lib])],
    [], [with_hdf5=yes])
  AS_CASE([$with_hdf5],
    [no], [AC_MSG_ERROR([amped_mpi cannot do without HDF5; leave --without-hdf5 out])],
    [yes],
      [PKG_CHECK_MODULES([HDF5], [hdf5-serial], [],
        [PKG_CHECK_MODULES([HDF5], [hdf5], [], [HDF5_CFLAGS= HDF5_LIBS=-lhdf5])])],
    [AC_SUBST([HDF5_CFLAGS])
     AC_SUBST([HDF5_LIBS])
     HDF5_CFLAGS="-I$with_hdf5/include"
     HDF5_LIBS="-L$with_hdf5/lib -Wl,-rpath,$with_hdf5/lib -lhdf5"])

  AC_MSG_CHECKING([whether HDF5 1.10 or newer links ($HDF5_LIBS)])
  AMPED_LINKS([[#include <hdf5.h>
#if !H5_VERSION_GE(1, 10, 2)
#error too old
#endif]],
    [[hid_t list = H5Pcreate(H5P_FILE_ACCESS);
      return H5Pset_libver_bounds(list, H5F_LIBVER_V18, H5F_LIBVER_V110) < 0;]],
    [$HDF5_CFLAGS], [$HDF5_LIBS],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([HDF5 1.10.2 or newer is needed (config.log says what failed);
  install it (Debian, Ubuntu: apt-get install libhdf5-dev), or say where it is:
  --with-hdf5=DIR, or HDF5_CFLAGS and HDF5_LIBS])])

  AC_MSG_CHECKING([for HDF5's version])
  amped_save_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $HDF5_CFLAGS"
  AC_COMPUTE_INT([amped_hdf5_major], [H5_VERS_MAJOR], [[#include <hdf5.h>]])
  AC_COMPUTE_INT([amped_hdf5_minor], [H5_VERS_MINOR], [[#include <hdf5.h>]])
  AC_COMPUTE_INT([amped_hdf5_release], [H5_VERS_RELEASE], [[#include <hdf5.h>]])
  CPPFLAGS=$amped_save_CPPFLAGS
  amped_hdf5_version=$amped_hdf5_major.$amped_hdf5_minor.$amped_hdf5_release
  AC_MSG_RESULT([$amped_hdf5_version])
])
