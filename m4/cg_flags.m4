# CG_IF_LINKS(FLAGS, IF-YES, IF-NO): does a program compile and link with FLAGS?
AC_DEFUN([CG_IF_LINKS], [
AC_MSG_CHECKING([whether $CC takes $1])
cg_save_CFLAGS=$CFLAGS
CFLAGS="$CFLAGS $1"
AC_LINK_IFELSE([AC_LANG_PROGRAM()], [cg_links=yes], [cg_links=no])
CFLAGS=$cg_save_CFLAGS
AC_MSG_RESULT([$cg_links])
AS_IF([test $cg_links = yes], [$2], [$3])
])
