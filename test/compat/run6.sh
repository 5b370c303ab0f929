#!/bin/sh
exec sh "$top_srcdir/test/compat/run.sh" sid 6.0.0~rc2-2 6
