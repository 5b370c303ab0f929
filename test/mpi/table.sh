#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The table of choices: by file, by parameter, on all ranks or not; what is wrong in it is told, and nothing ends.
. "${top_srcdir:=.}/test/mpi/lib.sh"
file=$(mktemp) || exit 99
trap 'rm -f "$out" "$out".* "$file"' EXIT
always="enable=always verbose=4"
by() { echo "allreduce of [0-9]* bytes by $1, chosen by line $2 of $3: "; }

cat >"$file" <<'ROWS'
# host ranks
allreduce any any 3-max any owners general 1   # more than two
allreduce any shm 2     any exchange general 0
ROWS
ok 2 "$always table=$file" bits hh hh 2
said "$(by exchange 3 "$file")"
ok 3 "$always table=$file" bits hh hh 2
said "$(by owners 2 "$file")allreduce any any 3-max any owners general 1"
ok 2 "$always table=$file virtual_nodes=2" bits hh hh 2
said "$(by '[a-z]*' '[0-9]*' built-in)"
ok 2 "$always" bits hh hh 2
said "$(by exchange '[0-9]*' built-in)allreduce any any 2-8 0-8192 exchange general 0"

# Rows in a parameter go first. With spaces: from the environment.
OMPI_MCA_coll_gpu_rows="allreduce any any any any owners general 2" && export OMPI_MCA_coll_gpu_rows
ok 2 "$always table=$file" bits hh hh 2
said "$(by owners 1 coll_gpu_rows)"
launch "$OMPI_INFO" --param coll gpu --level 9 --parsable >"$out" 2>&1
said "coll_gpu_rows_in_use:value:allreduce any any any any owners general 2; allreduce device p2p 2-8 any - lead 0"
said "coll_gpu_plans:value:allreduce copy .*exchange owners "
said "coll_gpu_protocols:value:general ll ll128 two_shot"
unset OMPI_MCA_coll_gpu_rows

# One rank alone has it: nobody uses it, and rank 0 says so.
on_rank 1 "OMPI_MCA_coll_gpu_table=$file"
ok 3 "$always" bits hh hh 2
said "rank 0 of .*: rank 1 has another table of choices; all ranks use the built-in one" 1
said "of $file: " 0
on_rank

wrong() { # TEXT OF THE ROW, MESSAGE
    printf '# one\n%s\n' "$1" >"$file"
    ok 2 "enable=always table=$file" errors native
    said "coll_gpu: rank [01]: table of choices: $file, line 2: $2; the built-in table is used" 2
}
wrong "allreduce any any any any quickly general 0" "'quickly' is no algorithm of allreduce"
wrong "allreduce any any any 4Q owners general 0" "'4Q' is no number or range of bytes"
wrong "allreduce any any" "'any' is the last of 3 words; a row has 8"
printf 'allreduce any any any any owners general 0\n\377\000\n' >"$file"
ok 2 "enable=always table=$file" errors native
said "table of choices: $file, line 2: '?' holds a byte 0\|table of choices: $file, line 2: '' holds a byte 0" 2
ok 2 "enable=always table=$file.missing" errors native
said "table of choices: $file.missing: No such file or directory; the built-in table is used" 2
end
