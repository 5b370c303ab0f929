#!/bin/sh
exec sh "$top_srcdir/test/compat/headers.sh" trixie 5.0.7-1 5
