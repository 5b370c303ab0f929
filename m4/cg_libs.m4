# CG_LIB(NAME, pkg-config module, header, library, function, Debian package, yes|optional)
# A library in --with-NAME=DIR, or as pkg-config knows it. Sets NAME_CPPFLAGS, NAME_LIBS, cg_have_NAME.
AC_DEFUN([CG_LIB], [
m4_pushdef([CG_UP], m4_toupper([$1]))
AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1=DIR], [$2 installed in DIR]m4_if([$7], [optional], [[, or no]]))],
    [], [with_$1=yes])
CG_UP[]_CPPFLAGS= CG_UP[]_LIBS= cg_have_$1=no
AS_CASE([$with_$1],
    [no], [m4_if([$7], [optional], [], [AC_MSG_ERROR([--with-$1=no: $2 is needed])])],
    [yes], [PKG_CHECK_EXISTS([$2], [
            CG_UP[]_CPPFLAGS=`$PKG_CONFIG --cflags $2`
            CG_UP[]_LIBS=`$PKG_CONFIG --libs $2`], [CG_UP[]_LIBS=-l$4])],
    [AS_IF([test ! -d "$with_$1/include"], [AC_MSG_ERROR([--with-$1=$with_$1: there is no $with_$1/include])])
     CG_UP[]_CPPFLAGS="-isystem $with_$1/include" # its headers' warnings are not ours
     cg_libdir=$with_$1/lib
     AS_IF([test ! -d "$cg_libdir"], [cg_libdir=$with_$1/lib64])
     CG_UP[]_LIBS="-L$cg_libdir -Wl,-rpath,$cg_libdir -l$4"])
AS_IF([test "$with_$1" != no], [
    cg_save_CPPFLAGS=$CPPFLAGS
    cg_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $CG_UP[]_CPPFLAGS"
    LIBS="$CG_UP[]_LIBS $LIBS"
    AC_MSG_CHECKING([for $2])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
        #include <setjmp.h>
        #include <stdarg.h>
        #include <stddef.h>
        #include <stdint.h>
        #include <$3>]], [[return (void (*)(void))&$5 == (void (*)(void))0;]])], [cg_have_$1=yes])
    AC_MSG_RESULT([$cg_have_$1])
    CPPFLAGS=$cg_save_CPPFLAGS
    LIBS=$cg_save_LIBS
    AS_IF([test $cg_have_$1 = no], [AC_MSG_ERROR(m4_normalize([$2 ($3, lib$4) was not found: install $6 or say
        --with-$1=DIR]m4_if([$7], [optional], [[ or --with-$1=no]])))])])
AC_SUBST(CG_UP[_CPPFLAGS])
AC_SUBST(CG_UP[_LIBS])
m4_popdef([CG_UP])
])
