#!/bin/sh
# The lint scripts find what they are there to find: each is shown a tree or a component that breaks one rule.
here=$top_srcdir/test/lint
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0

check() { # WHAT EXPECTED-STATUS EXPECTED-TEXT SCRIPT ARGUMENT
    out=$(sh "$here/$4" "$5" 2>&1)
    status=$?
    if [ $status -ne "$2" ] || ! printf '%s\n' "$out" | grep -q "$3"; then
        echo "FAILED: $1: status $status instead of $2, or no '$3' in: $out"
        failed=1
    fi
}

breaks_include() { # FILE LINE EXPECTED-TEXT
    rm -rf "$tmp/tree"
    mkdir -p "$tmp/tree/core" "$(dirname "$tmp/tree/$1")"
    echo '#include <stdint.h>' >"$tmp/tree/core/good.h"
    check "a good tree" 0 '^$' includes.sh "$tmp/tree"
    echo "$2" >>"$tmp/tree/$1"
    check "$2 in $1" 1 "$3" includes.sh "$tmp/tree"
}
breaks_include core/a.h '#include "plan/plan.h"' 'plan lies above core'
breaks_include kernels/a.c '# include "proxy/net.h"' 'proxy lies above kernels'
breaks_include links/a.c '#include "engine/engine.h"' 'engine lies above links'
breaks_include engine/a.c '#include <mpi.h>' 'mpi.h: not in this directory'
breaks_include engine/a.c '#include "opal/util/output.h"' 'opal/util/output.h: not in this directory'
breaks_include ompi_coll_gpu/a.c '#include <cuda_runtime.h>' 'cuda_runtime.h: not in this directory'
breaks_include proxy/net_loop.c '#include <ucp/api/ucp.h>' 'ucp/api/ucp.h: not in this directory'
breaks_include links/a.c '#include <hwloc.h>' 'hwloc.h: not in this directory'
breaks_include plan/a.c '#ifdef __CUDA_ARCH__' 'only in core/port.h'
breaks_include ompi_coll_gpu/a.c '#if OMPI_MAJOR_VERSION > 4' 'only in ompi_coll_gpu/compat.h'

mkdir -p "$tmp/long/core"
seq 450 >"$tmp/long/core/a.c"
check "450 lines" 0 '^$' length.sh "$tmp/long"
echo >>"$tmp/long/core/a.c"
check "451 lines" 1 '451 lines' length.sh "$tmp/long"
printf '%0121d\n' 0 >"$tmp/long/core/a.c"
check "121 columns" 1 '121 columns' length.sh "$tmp/long"

breaks_repository() { # WHAT FORMAT EXPECTED-TEXT
    printf "$2" "" >"$tmp/repository/file"
    git -C "$tmp/repository" add file
    check "$1" 1 "file: $3" tracked.sh "$tmp/repository"
}
if git init -q "$tmp/repository" 2>/dev/null; then
    echo text >"$tmp/repository/a.c"
    git -C "$tmp/repository" add a.c
    check "a good repository" 0 '^$' tracked.sh "$tmp/repository"
    breaks_repository "a program" 'a\000b%s' 'no text'
    breaks_repository "a large file" '%0200001d' 'more than 200 KB'
fi

breaks_symbol() { # NAME FLAGS SOURCE EXPECTED-TEXT
    printf '%s\n' 'int mca_coll_gpu_component;' "$3" >"$tmp/a.c"
    if ! ${CC:-cc} -shared -fPIC -Wl,-z,nodelete $2 "$tmp/a.c" -o "$tmp/a.so"; then
        echo "FAILED: $1 does not compile"
        failed=1
    elif [ -z "$4" ]; then
        check "$1" 0 '^$' symbols.sh "$tmp/a.so"
    else
        check "$1" 1 "$4" symbols.sh "$tmp/a.so"
    fi
}
breaks_symbol good '' '#include <stdio.h>
int opal_progress(void); int mca_coll_gpu_f(void) { return puts("") + opal_progress(); }' ''
breaks_symbol driver '' 'int cuInit(int); int mca_coll_gpu_f(void) { return cuInit(0); }' 'needs symbol cuInit'
breaks_symbol own '' 'int cg_missing(void); int mca_coll_gpu_f(void) { return cg_missing(); }' 'needs symbol cg_missing'
breaks_symbol export '' 'int cg_visible;' 'exports cg_visible'
printf 'int foreign;\n' >"$tmp/foreign.c"
${CC:-cc} -shared -fPIC "$tmp/foreign.c" -o "$tmp/libforeign.so" || failed=1
breaks_symbol library "-L$tmp -Wl,--no-as-needed -lforeign" '' 'needs library libforeign.so'
breaks_symbol nameless '-Dmca_coll_gpu_component=mca_coll_gpu_x' '' 'does not export mca_coll_gpu_component'
check "no component" 1 'does not exist' symbols.sh "$tmp/none.so"

[ $failed -eq 0 ] && echo "every broken rule was found"
exit $failed
