# SPDX-License-Identifier: BSD-3-Clause
# after FILE COMMAND...: the status of the command; $took: the seconds from when FILE is no longer empty to its end,
# counted in naps of this shell: a machine that stands still, or runs others, lets neither the job nor the count go on.
after() {
    file=$1 took=0 ended=$(mktemp)
    shift
    ("$@"; echo $? >"$ended") &
    while [ ! -s "$ended" ]; do
        sleep 0.5
        [ ! -s "$file" ] || took=$((took + 1))
    done
    wait
    took=$(((took + 1) / 2)) status=$(cat "$ended")
    rm -f "$ended"
    return "$status"
}
