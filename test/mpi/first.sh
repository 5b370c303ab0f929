# SPDX-License-Identifier: BSD-3-Clause
# Sourced by scripts that measure: a session of their own, whose processes come first where that may be asked for. The
# priority is that of a whole session: written in the caller's, all that is done there later would have it.
if [ -z "${CG_FIRST:-}" ] && command -v setsid >/dev/null; then
    CG_FIRST=1 && export CG_FIRST
    exec setsid -w sh "$0" "$@"
fi
if [ -n "${CG_FIRST:-}" ]; then
    { echo -19 >/proc/self/autogroup; } 2>/dev/null
    unset CG_FIRST
fi
