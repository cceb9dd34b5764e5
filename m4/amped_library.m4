# Small libraries.
#
# AMPED_CHECK_LIBRARY(VAR, PKG-CONFIG-NAME, HEADER, FUNCTION, LIBRARY, DEBIAN-PACKAGE)
#   Asks pkg-config, then the compiler alone; proves by linking FUNCTION; fails with the package's
#   name. Substitutes VAR_CFLAGS and VAR_LIBS, which the user may set.
# AMPED_LINKS(HEADER-LINES, BODY, CFLAGS, LIBS, IF-YES, IF-NO)
#   Does this program link with these flags? They are put back afterwards.

AC_DEFUN([AMPED_LINKS], [
  amped_save_CPPFLAGS=$CPPFLAGS
  amped_save_LIBS=$LIBS
  CPPFLAGS="$CPPFLAGS $3"
  LIBS="$4 $LIBS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([$1], [$2])], [amped_links=yes], [amped_links=no])
  CPPFLAGS=$amped_save_CPPFLAGS
  LIBS=$amped_save_LIBS
  AS_IF([test $amped_links = yes], [$5], [$6])
])

AC_DEFUN([AMPED_CHECK_LIBRARY], [
  PKG_CHECK_MODULES([$1], [$2], [], [$1_CFLAGS= $1_LIBS=-l$5])
  AC_MSG_CHECKING([for $4 ($$1_LIBS)])
  AMPED_LINKS([[#include <stdio.h>
#include <$3>]], [[return (void *)$4 == NULL;]], [$$1_CFLAGS], [$$1_LIBS],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([$2 is needed (header $3, library $5);
  install it (Debian, Ubuntu: apt-get install $6), or set $1_CFLAGS and $1_LIBS])])
])

# AMPED_CHECK_CHECK: the unit test library, which only `make check` needs.
# Sets the conditional AMPED_CHECK.
AC_DEFUN([AMPED_CHECK_CHECK], [
  PKG_CHECK_MODULES([CHECK], [check >= 0.15], [amped_check=yes], [amped_check=no])
  AS_IF([test $amped_check = yes],
    [AC_MSG_CHECKING([whether Check links ($CHECK_LIBS)])
     AMPED_LINKS([[#include <check.h>]], [[return srunner_create((Suite *)0) != 0;]],
       [$CHECK_CFLAGS], [$CHECK_LIBS], [], [amped_check=no])
     AC_MSG_RESULT([$amped_check])])
  AM_CONDITIONAL([AMPED_CHECK], [test $amped_check = yes])
])
