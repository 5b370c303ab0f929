# SPDX-License-Identifier: BSD-3-Clause
# A newer Open MPI, as Debian packages it, with all libraries and headers, unpacked beside this machine's own. Sourced,
# with suite and version set; sets root, and cpu and headers: the compiler's flags for internal headers.
# The packages are fetched once, with apt in a directory of its own, from the mirrors that this Debian machine uses
# already, and unpacked under $CG_COMPAT_CACHE (default ~/.cache/coll_gpu). 77 where they cannot be had.
cache=${CG_COMPAT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/coll_gpu}/$suite-$version-all
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

# What openmpi-bin and a shell need; without AMD's compiler, which is half of it, and what is no library.
runtime_packages() {
    private_apt apt-get install --print-uris -y --no-install-recommends "openmpi-bin=$version" dash coreutils sed grep \
        diffutils findutils |
        sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p" |
        grep -v -E '^(libllvm|libamd|libclang|libz3|libhsa|libperl|perl|systemd|libsystemd-shared|openssh|passwd|gcc-)'
}

unpack() { # no maintainer script runs
    for dir in bin sbin lib lib64; do mkdir -p "$1/usr/$dir" && ln -s "usr/$dir" "$1/$dir"; done
    mkdir -p "$1/proc" "$1/sys" "$1/dev" "$1/tmp" "$1/etc" "$1/root"
    for deb in "$cache"/deb/*.deb; do dpkg -x "$deb" "$1" || exit 99; done
    for file in passwd group hosts nsswitch.conf; do cp "/etc/$file" "$1/etc/" 2>/dev/null; done
    ln -sf dash "$1/usr/bin/sh"
    [ -e "$1/usr/bin/mpirun.openmpi" ] || ln -s prterun "$1/usr/bin/mpirun.openmpi"
}

fetch() {
    rm -rf "$cache"
    mkdir -p "$cache/apt/lists/partial" "$cache/apt/cache/archives/partial" "$cache/deb" || skip "cannot write $cache"
    : >"$cache/apt/status"
    sources >"$cache/apt/sources.list"
    [ -s "$cache/apt/sources.list" ] || skip "this machine's apt knows no Debian mirror"
    private_apt apt-get update >"$cache/log" 2>&1
    # shellcheck disable=SC2046
    (cd "$cache/deb" &&
        private_apt apt-get download "libopenmpi-dev=$version" libpmix-dev libhwloc-dev libevent-dev \
            $(runtime_packages)) >>"$cache/log" 2>&1 ||
        skip "Open MPI $version cannot be had from $suite: $(grep -m 1 '^E:' "$cache/log")"
    mkdir "$root.part" && unpack "$root.part" || exit 99
    rm -rf "$cache/apt" "$cache/deb"
    mv "$root.part" "$root"
}

for tool in apt-get dpkg; do command -v $tool >/dev/null || skip "$tool is missing: not a Debian machine"; done
[ -d "$root" ] || fetch

internal=$(dirname "$(find "$root/usr" -name ompi_config.h -path '*/openmpi/ompi_config.h' | head -n 1)")
cpu=
[ "$(uname -m)" = x86_64 ] && cpu=-mcx16
headers=
for dir in "$internal" "$(dirname "$internal")" $(find "$root/usr" -type d -path '*/pmix*/include') \
    "$root/usr/include"; do
    headers="$headers -isystem $dir"
done
headers="$headers -isystem $top_srcdir/ompi_coll_gpu/shims"
