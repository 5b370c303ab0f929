#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Line and branch coverage of plan/ and proxy/ by the tests that are about them. usage: test/coverage.sh [FOLDER]
# Configures and builds in FOLDER (default: build-coverage). Prints a table for each directory; exit status 1 if less
# than 90 % of the lines or of the branches ran, 77 without gcovr. CONFIGURE_FLAGS and MAKEFLAGS are passed on.
top=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$top/build-coverage}
command -v gcovr >/dev/null || {
    echo "skipped: no gcovr"
    exit 77
}
[ -x "$top/configure" ] || (cd "$top" && ./autogen.sh) || exit 1
mkdir -p "$folder" && cd "$folder" || exit 1
export top_srcdir="$top" top_builddir="$PWD"

programs='test/unit/plan test/unit/plan_faults test/unit/choose test/unit/nodes test/unit/predict
    test/sim/sim test/sim/exhaustive
    test/fuzz/plan test/fuzz/table test/proxy/loop test/proxy/transports test/proxy/proxy test/proxy/faults
    test/proxy/example test/proxy/cache test/proxy/every_step test/proxy/ucx_faults test/engine/engine
    test/engine/failures test/engine/paths test/engine/collectives test/engine/choices test/engine/nodes
    test/links/links_pool test/links/links_faults'
{
    # shellcheck disable=SC2086
    [ -f Makefile ] || "$top/configure" ${CONFIGURE_FLAGS:-} --with-cuda=no --disable-sanitize \
        CFLAGS='-O0 --coverage' LDFLAGS=--coverage
    # shellcheck disable=SC2086
    make -j"$(nproc)" all && make -j"$(nproc)" $programs
} >build.log 2>&1 || {
    tail -n 30 build.log
    exit 1
}
find . -name '*.gcda' -delete
# Not run, and full of the sanitizers' branches.
find . \( -name '*libcg_asan*.gcno' -o -name '*libcg_tsan*.gcno' \) -delete
status=0
for program in $programs; do
    timeout -k 10 300 "$program" >program.log 2>&1 || {
        echo "FAILED: $program"
        tail -n 20 program.log
        status=1
    }
done
for directory in plan proxy; do
    gcovr -r "$top" --object-directory . --filter "$top/$directory/" -o "$directory.txt" --print-summary \
        --fail-under-line 90 --fail-under-branch 90 >summary.txt 2>gcovr.log || status=1
    gcovr -r "$top" --object-directory . --filter "$top/$directory/" --branches -o branches.txt 2>>gcovr.log
    cat "$directory.txt" branches.txt
    sed "s|^|$directory/: |" summary.txt
done
exit $status
