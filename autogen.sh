#!/bin/sh
# Make ./configure from configure.ac.
set -e
cd "$(dirname "$0")"
for tool in autoconf:autoconf automake:automake libtoolize:libtool; do
    command -v "${tool%:*}" >/dev/null || {
        echo "autogen.sh: ${tool%:*} is missing (Debian package ${tool#*:})" >&2
        exit 1
    }
done
mkdir -p build-aux m4
autoreconf --install --force -Wall,no-portability,no-obsolete
# configure removes core files after each check; here core is a directory.
sed 's/rm -f core conftest/rm -f conftest/; s/rm -f core \*\.core core/rm -f core/' configure >configure.tmp
cat configure.tmp >configure
rm -f configure.tmp
