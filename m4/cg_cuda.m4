# CG_CUDA: nvcc, the architectures of the fat binary, and the static CUDA runtime.
# Sets NVCC NVCC_ARCH CUDA_CPPFLAGS CUDA_LIBS cg_have_cuda.
AC_DEFUN([CG_CUDA], [
AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=DIR],
    [CUDA toolkit in DIR, or no (default: the nvcc in PATH or /usr/local/cuda, if any)])], [], [with_cuda=auto])
AC_ARG_WITH([cuda-arch], [AS_HELP_STRING([--with-cuda-arch=LIST],
    [e.g. 80,90 (default: all that nvcc knows from 70 to 90)])])

NVCC= cg_have_cuda=no
AS_CASE([$with_cuda],
    [no], [],
    [yes|auto], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH:/usr/local/cuda/bin])
        AS_IF([test "$with_cuda$NVCC" = yes],
            [AC_MSG_ERROR([no nvcc in PATH or /usr/local/cuda/bin: install nvidia-cuda-toolkit or say --with-cuda=DIR])])],
    [AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])
        AS_IF([test -z "$NVCC"], [AC_MSG_ERROR([no nvcc in $with_cuda/bin: install nvidia-cuda-toolkit])])])

AS_IF([test -n "$NVCC"], [
    AC_MSG_CHECKING([CUDA architectures that nvcc knows])
    # 72, 87 and 88 are Jetson's: not joined to anything that this component serves.
    cg_known=`$NVCC --list-gpu-code 2>/dev/null | sed -n 's/^sm_\(@<:@789@:>@@<:@0-9@:>@\)$/\1/p' |
        sort -n | grep -v -x -e 72 -e 87 -e 88 -e '9@<:@1-9@:>@' | tr '\n' ' '`
    AC_MSG_RESULT([$cg_known])
    AS_IF([test -z "$cg_known"], [AC_MSG_ERROR([$NVCC knows no architecture from sm_70 to sm_90: say --with-cuda=no])])
    AS_CASE([$with_cuda_arch],
        [''|yes|no], [cg_archs=$cg_known],
        [cg_archs=`echo "$with_cuda_arch" | tr ', ' '\n\n' | sed 's/^sm_//' | sort -nu | tr '\n' ' '`])
    NVCC_ARCH= cg_newest=
    for cg_a in $cg_archs; do
        AS_CASE([" $cg_known "], [*" $cg_a "*], [],
            [AC_MSG_ERROR([--with-cuda-arch: $cg_a is not among those that $NVCC knows: $cg_known])])
        NVCC_ARCH="$NVCC_ARCH -gencode=arch=compute_$cg_a,code=sm_$cg_a"
        cg_newest=$cg_a
    done
    NVCC_ARCH="$NVCC_ARCH -gencode=arch=compute_$cg_newest,code=compute_$cg_newest"

    AC_MSG_CHECKING([for the static CUDA runtime])
    cg_cuda=`$NVCC --dryrun -x cu /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p' | head -n 1`
    CUDA_CPPFLAGS= CUDA_LIBS=
    for cg_dir in "$cg_cuda/lib64" "$cg_cuda/lib" "$cg_cuda/targets/x86_64-linux/lib" /usr/lib/x86_64-linux-gnu \
        "$cg_cuda/targets/sbsa-linux/lib" /usr/lib/aarch64-linux-gnu; do
        AS_IF([test -z "$CUDA_LIBS" && test -f "$cg_dir/libcudart_static.a"],
            [CUDA_LIBS="-L$cg_dir -lcudart_static -lrt -ldl -lpthread"])
    done
    AS_IF([test -d "$cg_cuda/include"], [CUDA_CPPFLAGS="-I$cg_cuda/include"])
    AC_MSG_RESULT([$CUDA_LIBS])
    AS_IF([test -z "$CUDA_LIBS"],
        [AC_MSG_ERROR([libcudart_static.a was not found beside $NVCC: install nvidia-cuda-toolkit or say --with-cuda=no])])

    AC_MSG_CHECKING([whether nvcc compiles])
    echo '__global__ void k(int *p) { *p = 1; }' >conftest.cu
    AS_IF([$NVCC -std=c++17 -Xcompiler -fPIC -gencode=arch=compute_$cg_newest,code=sm_$cg_newest -c conftest.cu \
            -o conftest.$ac_objext >&AS_MESSAGE_LOG_FD 2>&1],
        [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])
        AC_MSG_ERROR([$NVCC does not compile, see config.log: is it too old for this gcc? Else say --with-cuda=no])])
    rm -f conftest.cu conftest.$ac_objext
    cg_have_cuda=yes])
AC_SUBST([NVCC])
AC_SUBST([NVCC_ARCH])
AC_SUBST([CUDA_CPPFLAGS])
AC_SUBST([CUDA_LIBS])
])
