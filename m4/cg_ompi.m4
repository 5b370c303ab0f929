# CG_OMPI: the Open MPI to build for, and what it needs of a component.
# Sets MPICC MPIRUN OMPI_INFO OMPI_VERSION OMPI_MAJOR componentdir pkglibdir_ompi
#   MPI_CPPFLAGS MPI_LIBS    for MPI programs
#   OMPI_CPPFLAGS OMPI_LIBS  for the component
AC_DEFUN([CG_OMPI], [
AC_ARG_WITH([ompi], [AS_HELP_STRING([--with-ompi=DIR], [Open MPI installed in DIR (default: the mpicc in PATH)])],
    [], [with_ompi=yes])
AC_ARG_WITH([component-dir],
    [AS_HELP_STRING([--with-component-dir=DIR], [install the component in DIR (default: where Open MPI looks)])])

AS_CASE([$with_ompi],
    [no], [AC_MSG_ERROR([--with-ompi=no: there is nothing to build without Open MPI])],
    [yes], [cg_path=$PATH],
    [cg_path=$with_ompi/bin])
AC_PATH_PROGS([MPICC], [mpicc.openmpi mpicc], [], [$cg_path])
AS_IF([test -z "$MPICC"], [AC_MSG_ERROR([no mpicc in $cg_path: install libopenmpi-dev or say --with-ompi=DIR])])
AC_PATH_PROGS([MPIRUN], [mpirun.openmpi mpirun], [], [$cg_path])
AC_PATH_PROGS([OMPI_INFO], [ompi_info], [], [$cg_path])
AS_IF([test -z "$MPIRUN" || test -z "$OMPI_INFO"],
    [AC_MSG_ERROR([mpirun or ompi_info is missing beside $MPICC: install openmpi-bin])])

AC_MSG_CHECKING([version of Open MPI])
OMPI_VERSION=`$MPICC --showme:version 2>/dev/null | sed -n 's/.*Open MPI v*\(@<:@0-9@:>@@<:@^ @:>@*\).*/\1/p'`
AS_IF([test -z "$OMPI_VERSION"],
    [AC_MSG_ERROR([$MPICC is not Open MPI's: install libopenmpi-dev or say --with-ompi=DIR])])
OMPI_MAJOR=`echo "$OMPI_VERSION" | sed 's/\..*//'`
AC_MSG_RESULT([$OMPI_VERSION])
AS_CASE([$OMPI_VERSION], [@<:@0-3@:>@.*|4.0.*],
    [AC_MSG_ERROR([Open MPI $OMPI_VERSION is too old: 4.1 or later is needed (Debian 12: libopenmpi-dev)])])

cg_incdirs=`$MPICC --showme:incdirs`
cg_libdirs=`$MPICC --showme:libdirs`
MPI_CPPFLAGS= cg_internal= MPI_LIBS=
for cg_dir in $cg_incdirs; do
    MPI_CPPFLAGS="$MPI_CPPFLAGS -I$cg_dir"
    for cg_sub in "$cg_dir/openmpi" "$cg_dir"; do
        AS_IF([test -z "$cg_internal" && test -f "$cg_sub/ompi/mca/coll/coll.h"], [cg_internal=$cg_sub])
    done
done
for cg_dir in $cg_libdirs; do MPI_LIBS="$MPI_LIBS -L$cg_dir"; done
AS_IF([test "$with_ompi" != yes], [for cg_dir in $cg_libdirs; do MPI_LIBS="$MPI_LIBS -Wl,-rpath,$cg_dir"; done])
OMPI_LIBS=$MPI_LIBS
dnl From 6.0 on handles such as MPI_COMM_WORLD are in a library of their own.
for cg_lib in `$MPICC --showme:libs`; do MPI_LIBS="$MPI_LIBS -l$cg_lib"; done
AS_IF([test "$OMPI_MAJOR" -ge 6], [OMPI_LIBS="$OMPI_LIBS -lopen_mpi"], [OMPI_LIBS="$OMPI_LIBS -lmpi"])

AS_IF([test -z "$cg_internal"], [AC_MSG_ERROR(m4_normalize([
    Open MPI $OMPI_VERSION has no internal headers (ompi/mca/coll/coll.h) in $cg_incdirs:
    install libopenmpi-dev or build Open MPI with --with-devel-headers]))])
OMPI_CPPFLAGS="-I$cg_internal $MPI_CPPFLAGS"
AS_IF([test "$OMPI_MAJOR" -ge 5], [
    PKG_CHECK_EXISTS([pmix], [OMPI_CPPFLAGS="$OMPI_CPPFLAGS `$PKG_CONFIG --cflags pmix`"])])

cg_save_CPPFLAGS=$CPPFLAGS
cg_save_CFLAGS=$CFLAGS
CPPFLAGS="$CPPFLAGS $OMPI_CPPFLAGS $HWLOC_CPPFLAGS -I$srcdir/ompi_coll_gpu/shims"
CFLAGS="$CFLAGS -w"
AC_MSG_CHECKING([whether Open MPI's internal headers compile])
AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#undef PACKAGE_NAME
#undef PACKAGE_TARNAME
#undef PACKAGE_VERSION
#undef PACKAGE_STRING
#undef PACKAGE_BUGREPORT
#undef PACKAGE_URL
#include "ompi_config.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/op/op.h"
int main(void) { return 0; }]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
    AC_MSG_ERROR(m4_normalize([Open MPI's internal headers do not compile, see config.log: they need the headers of
        libevent-dev and libhwloc-dev, and for Open MPI 5.0 and later libpmix-dev]))])
CPPFLAGS=$cg_save_CPPFLAGS
CFLAGS=$cg_save_CFLAGS

cg_save_LIBS=$LIBS
LIBS="$MPI_LIBS $LIBS"
CPPFLAGS="$CPPFLAGS $MPI_CPPFLAGS"
AC_MSG_CHECKING([whether MPI programs link])
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[return MPI_Barrier(MPI_COMM_WORLD);]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
    AC_MSG_ERROR([cannot link with $MPI_LIBS: install libopenmpi-dev or say --with-ompi=DIR])])
LIBS=$cg_save_LIBS
CPPFLAGS=$cg_save_CPPFLAGS

AC_MSG_CHECKING([where Open MPI looks for components])
pkglibdir_ompi=`$OMPI_INFO --path pkglibdir --parsable 2>/dev/null | sed -n 's/^path:pkglibdir://p'`
AS_IF([test -z "$pkglibdir_ompi"], [AC_MSG_ERROR([$OMPI_INFO --path pkglibdir says nothing: say --with-component-dir])])
AC_MSG_RESULT([$pkglibdir_ompi])
AS_CASE([$with_component_dir],
    [''|yes|no], [componentdir=$pkglibdir_ompi],
    [/*|'$'*], [componentdir=$with_component_dir],
    [AC_MSG_ERROR([--with-component-dir=$with_component_dir: an absolute path is needed])])
AC_SUBST([OMPI_VERSION])
AC_SUBST([OMPI_MAJOR])
AC_SUBST([MPI_CPPFLAGS])
AC_SUBST([MPI_LIBS])
AC_SUBST([OMPI_CPPFLAGS])
AC_SUBST([OMPI_LIBS])
AC_SUBST([pkglibdir_ompi])
AC_SUBST([componentdir])
])
