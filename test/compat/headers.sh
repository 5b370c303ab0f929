#!/bin/sh
# Compile the component, without linking, against the headers of newer Open MPI versions, as Debian packages them.
# usage: headers.sh SUITE PACKAGE-VERSION MAJOR
# The packages are fetched once, with apt in a directory of its own, from the mirrors that this Debian machine uses
# already, and unpacked under $CG_COMPAT_CACHE (default ~/.cache/coll_gpu). 77 where they cannot be had.
suite=$1 version=$2 major=$3
cache=${CG_COMPAT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/coll_gpu}/$suite-$version
root=$cache/root

skip() {
    echo "skipped: $*"
    exit 77
}

# The sources of this machine's own suite, its name replaced. Security and update suites have no such package.
sources() {
    apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
        awk -v suite="$suite" '$3 == "main" && $2 !~ /-/ && $1 ~ /debian\/?$/ { print $1, suite, "main" }' | sort -u |
        sed 's|^|deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] |'
}

private_apt() { # TOOL ARGUMENT...
    tool=$1
    shift
    "$tool" -q -o Dir::State="$cache/apt" -o Dir::State::status="$cache/apt/status" -o Dir::Cache="$cache/apt/cache" \
        -o Dir::Etc::sourcelist="$cache/apt/sources.list" -o Dir::Etc::sourceparts=- -o Acquire::Languages=none \
        -o Acquire::Check-Valid-Until=false \
        -o Acquire::http::Timeout=20 -o Acquire::Retries=1 -o APT::Sandbox::User=root "$@"
}

fetch() {
    rm -rf "$cache"
    mkdir -p "$cache/apt/lists/partial" "$cache/apt/cache/archives/partial" "$cache/deb" || skip "cannot write $cache"
    : >"$cache/apt/status"
    sources >"$cache/apt/sources.list"
    [ -s "$cache/apt/sources.list" ] || skip "this machine's apt knows no Debian mirror"
    private_apt apt-get update >"$cache/log" 2>&1
    (cd "$cache/deb" &&
        private_apt apt-get download "libopenmpi-dev=$version" libpmix-dev libhwloc-dev libevent-dev) \
        >>"$cache/log" 2>&1 ||
        skip "libopenmpi-dev $version cannot be had from $suite: $(grep -m 1 '^E:' "$cache/log")"
    mkdir "$root.part" || exit 99
    for deb in "$cache"/deb/*.deb; do dpkg -x "$deb" "$root.part" || exit 99; done
    rm -rf "$cache/apt" "$cache/deb"
    mv "$root.part" "$root"
}

for tool in apt-get dpkg; do command -v $tool >/dev/null || skip "$tool is missing: not a Debian machine"; done
[ -d "$root" ] || fetch

internal=$(dirname "$(find "$root/usr" -name ompi_config.h -path '*/openmpi/ompi_config.h' | head -n 1)")
flags="-std=gnu11 -Wall -Wextra -Werror -fsyntax-only -I$top_srcdir"
[ "$(uname -m)" = x86_64 ] && flags="$flags -mcx16"
pmix=$(find "$root/usr" -type d -path '*/pmix*/include')
for dir in "$internal" "$(dirname "$internal")" $pmix "$root/usr/include"; do
    flags="$flags -isystem $dir"
done
flags="$flags -isystem $top_srcdir/ompi_coll_gpu/shims"

printf '%s\n' '#include "ompi_config.h"' '#include "mpi.h"' \
    "_Static_assert(OMPI_MAJOR_VERSION == $major, \"headers of Open MPI $major\");" |
    ${CC:-cc} $flags -x c - || exit 99
failed=0 files=0
for file in "$top_srcdir"/ompi_coll_gpu/*.c; do
    [ -f "$file" ] || continue
    files=$((files + 1))
    ${CC:-cc} $flags "$file" || failed=$((failed + 1))
    # a function that a header of Open MPI calls and no header declares, which -isystem hides
    undeclared=$(${CC:-cc} $flags -Wno-error -Wsystem-headers "$file" 2>&1 | grep 'implicit declaration')
    [ -z "$undeclared" ] || { failed=$((failed + 1)) && echo "$undeclared"; }
done
echo "Open MPI $major ($version): $files files, $failed do not compile"
[ $files -gt 0 ] && [ $failed -eq 0 ]
